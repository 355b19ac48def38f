//! The lines of a note: which are headings, and which only look like it because they stand in code or a comment.

use crate::markdown::blocks::{self, line_end};
use crate::markdown::parts::without_closing;
use crate::markdown::properties::splice;
use crate::slice::Part;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading of this level.
    Heading(usize),
    /// Further lines of a heading, and what underlines it.
    Underline,
    /// The first line of a list item.
    Item,
    /// Anything else that is read.
    Text,
    /// In a code block or a comment: it is kept, and means nothing here.
    Opaque,
}

/// One line of a note's body.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    /// Where it is, its end included.
    pub(super) range: Range<usize>,
    /// What it says, without its end.
    pub(super) text: &'a str,
    /// What it is.
    pub(super) kind: Kind,
}

impl<'a> Line<'a> {
    /// The words of a heading, without the signs before and after them.
    pub(super) fn heading(&self) -> &'a str {
        without_closing(self.text.trim().trim_start_matches('#'))
    }

    /// Whether there is nothing on it.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether it is set in, and so belongs to a list item above it.
    pub(super) fn is_indented(&self) -> bool {
        self.text.starts_with(['\t', ' ']) && !self.is_blank()
    }

    /// What follows the sign of a list item that is not set in.
    pub(super) fn item(&self) -> Option<&'a str> {
        if self.kind != Kind::Item {
            return None;
        }
        let line = self.text.strip_prefix(' ').unwrap_or(self.text);
        let signless = line.strip_prefix(['-', '*', '+']).or_else(|| {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            digits.strip_prefix(['.', ')']).filter(|_| digits.len() < line.len() && line.len() - digits.len() < 10)
        })?;
        if signless.is_empty() { Some("") } else { signless.strip_prefix([' ', '\t']) }
    }
}

/// A part of a note that a heading of the second level begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The last line of the heading.
    pub(super) heading: usize,
    /// The lines after it, up to the next heading of the first or second level.
    pub(super) body: Range<usize>,
}

/// The lines of a note after its frontmatter.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let all = blocks::lines(text);
    let mut is_setext_open = false;
    let mut lines = Vec::new();
    for (number, line) in all.iter().enumerate() {
        let kind = match line.kind {
            blocks::Kind::Frontmatter => continue,
            blocks::Kind::Heading(level) => Kind::Heading(usize::from(level)),
            // The first line of it is the heading.
            blocks::Kind::Setext(level) if !is_setext_open => Kind::Heading(usize::from(level)),
            blocks::Kind::Setext(_) | blocks::Kind::Underline => Kind::Underline,
            blocks::Kind::Code | blocks::Kind::Hidden => Kind::Opaque,
            blocks::Kind::Item { .. } => Kind::Item,
            blocks::Kind::Blank | blocks::Kind::Text => Kind::Text,
        };
        is_setext_open = matches!(line.kind, blocks::Kind::Setext(_));
        let end = all.get(number + 1).map_or(text.len(), |next| next.range.start);
        let own = text.part(line.range.clone());
        lines.push(Line { range: line.range.start..end, text: own, kind });
    }
    lines
}

/// The first section of this name, in any case.
pub(super) fn section(lines: &[Line<'_>], name: &str) -> Option<Section> {
    let is_it = |line: &Line<'_>| line.kind == Kind::Heading(2) && line.heading().eq_ignore_ascii_case(name);
    let first = lines.iter().position(is_it)?;
    let heading = first + lines.iter().skip(first + 1).take_while(|line| line.kind == Kind::Underline).count();
    Some(Section { heading, body: heading + 1..end(lines, heading, 2) })
}

/// The line after the part that a heading begins: the next heading of `level` or above it.
pub(super) fn end(lines: &[Line<'_>], heading: usize, level: usize) -> usize {
    let after = lines.iter().skip(heading + 1).position(|line| matches!(line.kind, Kind::Heading(other) if other <= level));
    after.map_or(lines.len(), |after| heading + 1 + after)
}

/// Where the marks at the end of a text begin, with the white space before them: block ids (`^id`), footnotes (`[^1]`) and dates of
/// the Tasks plugin (`✅ 2026-11-22`). They belong to the line and not to its words.
pub(super) fn marks_at(text: &str) -> usize {
    static MARKS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:\s+\^[A-Za-z0-9-]+|\s*\[\^[^\]\s]+\]|\s*[✅➕❌📅⏳🛫]\s*\d{4}-\d\d-\d\d)*\s*$").ok());
    MARKS.as_ref().and_then(|marks| marks.find(text)).map_or(text.len(), |found| found.start())
}

/// What stood in an empty section of a new note of earlier versions; it reads as nothing.
pub(super) const NOTHING: [&str; 4] = ["_No outcome yet._", "_No criteria yet._", "_No tasks yet._", "_No notes yet._"];

/// A text with the block id at the end of the one that it replaces: links lead to it.
pub(super) fn with_block_id(old: &str, new: &str) -> String {
    let id = old.trim_end().part(without_block_id(old).len()..);
    if id.is_empty() || new.is_empty() || new.ends_with(id.trim_start()) { new.to_owned() } else { format!("{new}{id}") }
}

/// A text without a block id at its end.
pub(super) fn without_block_id(text: &str) -> &str {
    let text = text.trim_end();
    let words = text.rfind(char::is_whitespace).map_or("", |at| text.part(..at));
    let last = text.part(words.len()..);
    if last.trim_start().starts_with('^') && marks_at(text) <= words.len() { words.trim_end() } else { text }
}

/// A note's text with this content in a section, which is made where it is missing. The blank lines around stay.
pub(super) fn with_section(text: &str, name: &str, content: &str) -> String {
    let eol = line_end(text, 0);
    let content = content.replace("\r\n", "\n").replace('\n', eol);
    let all = lines(text);
    if let Some(section) = section(&all, name) {
        let body = all.part(section.body.clone());
        let has_text = |line: &&Line<'_>| !line.is_blank();
        if let (Some(first), Some(last)) = (body.iter().find(has_text), body.iter().rev().find(has_text)) {
            return splice(text, first.range.start..last.range.start + last.text.len(), &content);
        }
        let Some(heading) = all.get(section.heading) else { return text.to_owned() };
        if content.is_empty() {
            return text.to_owned();
        }
        let unfinished = if text.get(heading.range.clone()).is_some_and(|line| line.ends_with('\n')) { "" } else { eol };
        let gap = if body.is_empty() { eol } else { "" };
        let is_last = section.body.end == all.len();
        // One of the blank lines stays above; below, there has to be one before the next heading.
        let above = body.first().map_or(heading.range.end, |blank| blank.range.end);
        let below = if is_last || body.len() > 1 { "" } else { eol };
        return splice(text, above..above, &format!("{unfinished}{gap}{content}{eol}{below}"));
    }
    let order = |name: &str| SECTIONS.iter().position(|section| section.eq_ignore_ascii_case(name));
    let later = all.iter().find(|line| line.kind == Kind::Heading(2) && order(line.heading()) > order(name));
    let at = later.map_or(text.len(), |later| later.range.start);
    let before = text.part(..at);
    let gap = match before.trim_end_matches(['\r', ' ']) {
        before if before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n") => String::new(),
        before if before.ends_with('\n') => eol.to_owned(),
        _ => format!("{eol}{eol}"),
    };
    let end = if later.is_some() { eol } else { "" };
    splice(text, at..at, &format!("{gap}## {name}{eol}{eol}{content}{eol}{end}"))
}

/// The sections, in the order in which they are written.
pub(super) const SECTIONS: [&str; 4] = ["Outcome", "Acceptance Criteria", "Tasks", "Notes"];

pub(super) fn section_text(text: &str, lines: &[Line<'_>], name: &str) -> String {
    let Some(section) = section(lines, name) else { return String::new() };
    let body = lines.get(section.body).unwrap_or_default();
    let range = body.first().map_or(0..0, |first| first.range.start..body.last().map_or(0, |last| last.range.end));
    let content = text.part(range).trim();
    if NOTHING.contains(&content) { String::new() } else { content.replace("\r\n", "\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(text: &str) -> Vec<(usize, &str)> {
        let level = |line: &Line<'_>| match line.kind {
            Kind::Heading(level) => Some(level),
            _ => None,
        };
        lines(text).iter().filter_map(|line| Some((level(line)?, line.heading()))).collect()
    }

    #[test]
    fn headings_are_distinguished_from_similar_lines() {
        let text = "\u{feff}---\r\na: b\r\n---\r\n# One ##\r\n```md\r\n## code\r\n````\r\n## Two\r\n<!--\r\n## no\r\n-->\r\n%%\n## hidden\n%%\n    ## set in\n#hashtag\n~~~\n```\n## still code\n~~~\n### C# ###\n## C#\n";
        assert_eq!(headings(text), [(1, "One"), (2, "Two"), (3, "C#"), (2, "C#")]);
        let all: String = lines(text).iter().map(|line| &text[line.range.clone()]).collect();
        assert_eq!(all, "# One ##\r\n```md\r\n## code\r\n````\r\n## Two\r\n".to_owned() + text.split("## Two\r\n").nth(1).unwrap());
    }

    #[test]
    fn underlined_headings_and_signs_in_code_are_what_they_are() {
        let text = "Title\nmore\n===\n\n- item\n\n  para\n---\n\na | b\n--- | ---\n1 | 2\n---\n\n<div>\n---\n\n$$\nx\n---\n$$\n- item\n---\n\nx `%%` y\n## A\nMine\n----\n> q\n---\n";
        assert_eq!(headings(text), [(1, "Title"), (2, "A"), (2, "Mine")]);
    }

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
            assert_eq!(&text[..marks_at(text)], words, "{text:?}");
        }
    }

    #[test]
    fn sections_end_where_the_next_begins() {
        let text = "# T\n## Tasks\n### a\n#### b\n## Notes\nx";
        let lines = lines(text);
        assert_eq!(section(&lines, "tasks"), Some(Section { heading: 1, body: 2..4 }));
        assert_eq!(section(&lines, "Notes"), Some(Section { heading: 4, body: 5..6 }));
        assert_eq!(section(&lines, "Outcome"), None);
        assert_eq!(end(&lines, 2, 3), 4);
    }
}
