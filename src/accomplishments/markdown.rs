//! The sections of a note, and the markers before and after the words of its lines.

use crate::markdown::blocks::{Kind, line_end};
use crate::markdown::edit::splice;
use crate::markdown::parts;
use crate::slice::Part;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// The lines below the heading of the second level with this name, ignoring case, up to the next
/// heading of the first or second level.
pub(super) fn section(note: &parts::Note<'_>, name: &str) -> Option<Range<usize>> {
    let headings = note.headings();
    let number = headings
        .iter()
        .position(|heading| heading.level == 2 && heading.text.eq_ignore_ascii_case(name))?;
    Some(headings.get(number)?.lines.end..note.section_end(&headings, number))
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Whether a line is indented, and so belongs to a list item above it.
pub(super) fn is_indented(line: &str) -> bool {
    line.starts_with(['\t', ' ']) && !is_blank(line)
}

/// What follows the marker of a list item that is not indented.
pub(super) fn item<'a>(note: &parts::Note<'a>, at: usize) -> Option<&'a str> {
    let Some(Kind::Item { .. }) = note.kind(at) else { return None };
    let line = note.line(at);
    let unnumbered =
        line.strip_prefix(' ').unwrap_or(line).trim_start_matches(|c: char| c.is_ascii_digit());
    let content = unnumbered.strip_prefix(['-', '*', '+', '.', ')'])?;
    Some(content.strip_prefix([' ', '\t']).unwrap_or(content))
}

/// The list items among some lines that are not indented: the lines of each, and what follows its
/// marker.
pub(super) fn items<'a>(
    note: &parts::Note<'a>,
    body: Range<usize>,
) -> Vec<(Range<usize>, &'a str)> {
    let mut items: Vec<(Range<usize>, &str)> = Vec::new();
    let mut blank = 0;
    for at in body {
        if is_blank(note.line(at)) {
            blank += 1;
            continue;
        }
        // Below a block of another kind, nothing belongs to the item above it.
        let last = items.last_mut().filter(|(lines, _)| lines.end + blank == at);
        match (item(note, at), last) {
            (Some(item), _) => items.push((at..at + 1, item)),
            (None, Some((lines, _))) if continues_item(note, at, blank > 0) => lines.end = at + 1,
            _ => {}
        }
        blank = 0;
    }
    items
}

/// Whether a line still belongs to the list item above it: an indented one does, and a paragraph
/// without a blank line in between; a heading, or an unindented block of another kind, does not.
fn continues_item(note: &parts::Note<'_>, at: usize, is_below_blank: bool) -> bool {
    if is_below_blank || is_indented(note.line(at)) {
        return is_indented(note.line(at)) && !matches!(note.kind(at), Some(Kind::Heading(_)));
    }
    let begun = note.line(at).trim_start();
    let is_rule = begun.len() > 2
        && ["-", "*", "_"].iter().any(|sign| begun.replace(sign, "").trim().is_empty());
    note.kind(at) == Some(Kind::Text)
        && !is_rule
        && ![">", "%%", "|", "$$", "^", "[^"].iter().any(|sign| begun.starts_with(sign))
}

/// Where the marks at the end of a text begin, with the white space before them: block ids (`^id`),
/// footnotes (`[^1]`) and dates of the Tasks plugin (`✅ 2026-11-22`). They belong to the line and
/// not to its words.
pub(super) fn marks_start(text: &str) -> usize {
    static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?:\s+\^[A-Za-z0-9-]+|\s*\[\^[^\]\s]+\]|\s*[✅➕❌📅⏳🛫]\s*\d{4}-\d\d-\d\d)*\s*$",
        )
        .ok()
    });
    MARKS.as_ref().and_then(|marks| marks.find(text)).map_or(text.len(), |found| found.start())
}

/// Filler that earlier versions wrote into the empty sections of a new note; it is read as nothing.
pub(super) const NOTHING: [&str; 4] =
    ["_No outcome yet._", "_No criteria yet._", "_No tasks yet._", "_No notes yet._"];

/// A new text with the block id at the end of the old one, to which links may point.
pub(super) fn with_block_id(old: &str, new: &str) -> String {
    let id = old.trim_end().part(without_block_id(old).len()..);
    if id.is_empty() || new.is_empty() || new.ends_with(id.trim_start()) {
        return new.to_owned();
    }
    // Behind a block of code or mathematics, a table or a quote it has a line of its own.
    let last = new.lines().next_back().unwrap_or_default().trim_start();
    let is_paragraph = !["```", "~~~", "$$", "|", ">"].iter().any(|sign| last.starts_with(sign));
    if is_paragraph { format!("{new}{id}") } else { format!("{new}\n\n{}", id.trim_start()) }
}

/// A text without a block id at its end.
pub(super) fn without_block_id(text: &str) -> &str {
    let text = text.trim_end();
    let words = text.rfind(char::is_whitespace).map_or("", |at| text.part(..at));
    let last = text.part(words.len()..);
    if last.trim_start().starts_with('^') && marks_start(text) <= words.len() {
        words.trim_end()
    } else {
        text
    }
}

/// A note's text with this content in a section, which is created if missing. The blank lines
/// around it stay.
pub(super) fn with_section(text: &str, name: &str, content: &str) -> String {
    let eol = line_end(text, 0);
    let content = content.replace("\r\n", "\n").replace('\n', eol);
    let note = parts::Note::of(text);
    if let Some(body) = section(&note, name) {
        let mut filled = body.clone().filter(|at| !is_blank(note.line(*at)));
        if let Some(first) = filled.next() {
            let last = filled.next_back().unwrap_or(first);
            return splice(
                text,
                note.start(first)..note.start(last) + note.line(last).len(),
                &content,
            );
        }
        if content.is_empty() {
            return text.to_owned();
        }
        // One of the blank lines stays above; below, there has to be one before the next heading.
        let above = note.start(body.start + usize::from(!body.is_empty()));
        let unfinished = if text.part(..above).ends_with('\n') { "" } else { eol };
        let gap = if body.is_empty() { eol } else { "" };
        let below = if body.end == note.lines.len() || body.len() > 1 { "" } else { eol };
        return splice(text, above..above, &format!("{unfinished}{gap}{content}{eol}{below}"));
    }
    let order = |name: &str| SECTIONS.iter().position(|section| section.eq_ignore_ascii_case(name));
    let later = note
        .headings()
        .into_iter()
        .find(|heading| heading.level == 2 && order(&heading.text) > order(name));
    let at = later.as_ref().map_or(text.len(), |later| note.start(later.lines.start));
    let before = text.part(..at);
    let gap = match before.trim_end_matches(['\r', ' ']) {
        before if before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n") => {
            String::new()
        }
        before if before.ends_with('\n') => eol.to_owned(),
        _ => format!("{eol}{eol}"),
    };
    let end = if later.is_some() { eol } else { "" };
    splice(text, at..at, &format!("{gap}## {name}{eol}{eol}{content}{eol}{end}"))
}

/// A note's text with a block at the end of a section, below what a person wrote there.
pub(super) fn with_appended(text: &str, name: &str, block: &str) -> String {
    let eol = line_end(text, 0);
    let note = parts::Note::of(text);
    let mut filled =
        section(&note, name).unwrap_or_default().filter(|at| !is_blank(note.line(*at)));
    let (first, last) = (filled.next(), filled.next_back());
    match last.or(first.filter(|first| !NOTHING.contains(&note.line(*first).trim()))) {
        None => with_section(text, name, block),
        Some(last) => {
            let end = note.start(last) + note.line(last).len();
            let gap = if is_blank(note.line(last + 1)) { "" } else { eol };
            splice(text, end..end, &format!("{eol}{eol}{block}{gap}"))
        }
    }
}

/// The sections, in the order in which they are written.
pub(super) const SECTIONS: [&str; 4] = ["Outcome", "Acceptance Criteria", "Tasks", "Notes"];

pub(super) fn section_text(note: &parts::Note<'_>, name: &str) -> String {
    let Some(body) = section(note, name) else { return String::new() };
    let content = note.text.part(note.start(body.start)..note.start(body.end)).trim();
    if NOTHING.contains(&content) { String::new() } else { content.replace("\r\n", "\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_ids_are_distinguished_from_words() {
        for (text, words) in [
            ("Starts cold ^c1", "Starts cold"),
            ("Starts cold[^1]", "Starts cold"),
            ("Starts cold [^1] ✅ 2026-11-22 ^c1", "Starts cold"),
            ("Done on 2026-11-22", "Done on 2026-11-22"),
            ("x^2", "x^2"),
            ("two\nlines\n^id", "two\nlines"),
            ("^only", "^only"),
            ("", ""),
        ] {
            assert_eq!(&text[..marks_start(text)], words, "{text:?}");
        }
    }

    #[test]
    fn sections_end_where_the_next_begins() {
        let text = "# T\n## Tasks\n### a\n#### b\n## Notes\nx";
        let note = parts::Note::of(text);
        assert_eq!(section(&note, "tasks"), Some(2..4));
        assert_eq!(section(&note, "Notes"), Some(5..6));
        assert_eq!(section(&note, "Outcome"), None);
    }
}
