//! Whether a text and the lines around it would be read as one: then a blank line has to part them.

use super::blocks::{Kind, begins_html, is_delimiter_row, unquoted};
use super::parts::Note;

/// Whether a line makes a heading of the paragraph above it.
pub(super) fn is_underline(line: &str) -> bool {
    let bare = line.trim();
    !bare.is_empty() && (bare.bytes().all(|byte| byte == b'-') || bare.bytes().all(|byte| byte == b'='))
}

/// Whether the first line of a new text would go on what stands in the line before it, or make a heading of it.
pub(super) fn joins_before(note: &Note<'_>, before: usize, new: &Note<'_>) -> bool {
    let (above, first) = (note.line(before), new.line(0));
    let is_paragraph = matches!(note.kind(before), Some(Kind::Text));
    let is_item = matches!(note.kind(before), Some(Kind::Item { .. }));
    let (above, bare) = (above.trim_start(), first.trim_start());
    let is_indented = first.len() > bare.len();
    match new.kind(0) {
        _ if is_paragraph && is_underline(first) => true,
        // Rows go on a table and lines a quote, but a callout begins a new one.
        Some(_) if is_html(note, before) => true,
        Some(Kind::Text) if bare.starts_with('|') && above.starts_with('|') => is_delimiter_row(new.line(1)),
        // An id ends its block.
        Some(_) if bare.starts_with('>') && above.starts_with('>') => {
            is_callout(bare) || note.blocks().iter().any(|block| block.id_line.is_none() && block.lines.end == before + 1)
        }
        Some(Kind::Text) if bare.starts_with('>') => false,
        // What is indented is meant to go on the item.
        Some(Kind::Text | Kind::Code) if is_indented => is_paragraph,
        Some(Kind::Text | Kind::Setext(_)) => is_paragraph || is_item,
        Some(Kind::Item { .. }) => is_paragraph && !ends_paragraph(bare),
        _ => false,
    }
}

/// Whether a list item ends a paragraph above it: an empty one and one that does not begin with 1 do not.
fn ends_paragraph(item: &str) -> bool {
    let (marker, rest) = item.split_once([' ', '\t']).unwrap_or((item, ""));
    let number = marker.strip_suffix(['.', ')']).and_then(|number| number.parse().ok());
    !rest.trim().is_empty() && number.is_none_or(|number: u32| number == 1)
}

fn is_callout(quote: &str) -> bool {
    quote.trim_start().strip_prefix('>').is_some_and(|inner| inner.trim_start_matches(['>', ' ']).starts_with("[!"))
}

/// Whether a line is of a block of HTML, which goes on to the next blank line.
fn is_html(note: &Note<'_>, line: usize) -> bool {
    let of_paragraph = (0..=line).rev().take_while(|line| note.kind(*line) == Some(Kind::Text));
    let begins = |line: usize| {
        let is_first = line.checked_sub(1).is_none_or(|before| note.kind(before) != Some(Kind::Text));
        begins_html(unquoted(note.line(line)).1.trim_start(), is_first)
    };
    of_paragraph.into_iter().any(begins)
}

/// Whether the line behind a new text would go on its last line.
pub(super) fn joins_behind(new: &Note<'_>, note: &Note<'_>, behind: usize) -> bool {
    let Some(last) = new.lines.len().checked_sub(1) else { return false };
    if !matches!(new.kind(last), Some(Kind::Text | Kind::Item { .. })) {
        return false;
    }
    let (above, next) = (new.line(last).trim_start(), note.line(behind));
    let bare = next.trim_start();
    match note.kind(behind) {
        Some(kind) if is_html(new, last) => kind != Kind::Blank,
        Some(Kind::Text) if bare.starts_with('|') && above.starts_with('|') => is_delimiter_row(note.line(behind + 1)),
        // A quote that begins below a callout, or with one, is another one.
        Some(Kind::Text) if bare.starts_with('>') => {
            above.starts_with('>') && (is_callout(bare) || (0..=last).any(|line| is_callout(new.line(line))))
        }
        Some(Kind::Text | Kind::Setext(_)) => true,
        // An empty item would make a heading of it.
        Some(Kind::Item { .. }) => new.kind(last) == Some(Kind::Text) && !ends_paragraph(bare) || bare.trim_end() == "-",
        Some(Kind::Code) => next.len() > bare.len(),
        _ => false,
    }
}
