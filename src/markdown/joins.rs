//! Whether a text and the lines around it would form one block, so that a blank line has to
//! separate them.

use super::blocks::Kind;
use super::marks::{can_interrupt_paragraph, is_delimiter_row, underline};
use super::parts::Note;

/// Whether a line turns the paragraph above it into a heading.
pub(super) fn is_underline(line: &str) -> bool {
    !line.trim().is_empty() && underline(line.trim_start()).is_some()
}

/// Whether the first line of a new text would continue line `before`, turn it into a heading, or be
/// swallowed by its HTML block.
pub(super) fn needs_blank_line_above(note: &Note<'_>, before: usize, new: &Note<'_>) -> bool {
    let (above, first) = (note.line(before), new.line(0));
    let is_text = matches!(note.kind(before), Some(Kind::Text));
    let is_item = matches!(note.kind(before), Some(Kind::Item { .. }));
    let (above, bare) = (above.trim_start(), first.trim_start());
    let is_indented = first.len() > bare.len();
    match new.kind(0) {
        _ if is_text && is_underline(first) => true,
        Some(_) if is_html(note, before) => true,
        // Rows continue a table and lines a quote, but a new table or callout does not.
        Some(Kind::Text) if bare.starts_with('|') && above.starts_with('|') => {
            is_delimiter_row(new.line(1))
        }
        // A block id ends its paragraph.
        Some(_) if bare.starts_with('>') && above.starts_with('>') => {
            is_callout(bare)
                || (is_text
                    && note
                        .blocks()
                        .iter()
                        .any(|block| block.id_line.is_none() && block.lines.end == before + 1))
        }
        Some(Kind::Text) if bare.starts_with('>') => false,
        // Indented text is meant to continue the list item, but not behind its block id.
        Some(Kind::Text | Kind::Code) if is_indented => {
            is_text || above.rsplit(' ').next().is_some_and(|word| word.starts_with('^'))
        }
        Some(Kind::Text | Kind::Setext(_)) => is_text || is_item,
        Some(Kind::Item { .. }) => {
            is_text && (is_indented || !is_of_item(note, before)) && !can_interrupt_paragraph(bare)
        }
        _ => false,
    }
}

/// Whether a line is a list item or a continuation line of one.
fn is_of_item(note: &Note<'_>, line: usize) -> bool {
    let above = (0..=line).rev().map(|line| note.kind(line)).find(|kind| *kind != Some(Kind::Text));
    matches!(above, Some(Some(Kind::Item { .. })))
}

fn is_callout(quote: &str) -> bool {
    quote
        .trim_start()
        .strip_prefix('>')
        .is_some_and(|inner| inner.trim_start_matches(['>', ' ']).starts_with("[!"))
}

fn is_html(note: &Note<'_>, line: usize) -> bool {
    // A comment that ends on its line is a block of its own.
    let text = note.line(line).trim();
    let is_comment = text.starts_with("<!--") && text.ends_with("-->");
    note.lines.get(line).is_some_and(|line| line.is_html) && !is_comment
}

/// Whether the line after a new text would continue its last line.
pub(super) fn needs_blank_line_below(new: &Note<'_>, note: &Note<'_>, behind: usize) -> bool {
    let Some(last) = new.lines.len().checked_sub(1) else { return false };
    if !matches!(new.kind(last), Some(Kind::Text | Kind::Item { .. })) {
        return false;
    }
    let (above, next) = (new.line(last).trim_start(), note.line(behind));
    let bare = next.trim_start();
    match note.kind(behind) {
        Some(kind) if is_html(new, last) => kind != Kind::Blank,
        Some(Kind::Text) if bare.starts_with('|') && above.starts_with('|') => {
            is_delimiter_row(note.line(behind + 1))
        }
        // A quote after a callout, or one that is a callout itself, is separate.
        Some(Kind::Text) if bare.starts_with('>') => {
            above.starts_with('>')
                && (is_callout(bare) || (0..=last).any(|line| is_callout(new.line(line))))
        }
        Some(Kind::Text | Kind::Setext(_)) => true,
        // An empty item (`-`) would make a heading of the last new line.
        Some(Kind::Item { .. }) => {
            (!is_of_item(new, last) && !can_interrupt_paragraph(bare)) || bare.trim_end() == "-"
        }
        Some(Kind::Code) => next.len() > bare.len(),
        _ => false,
    }
}
