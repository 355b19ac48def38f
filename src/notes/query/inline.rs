//! Inline fields of Dataview in the text of a note: `rating:: 5`, `[due:: 2026-12-01]`, `(x:: y)`.

use crate::markdown::blocks::{self, Kind};
use crate::slice::Part;
use crate::text::floor;
use crate::text::fold::fold;
use crate::vault::entry::Id;

/// Fields of one note that are read.
const FIELDS: usize = 1_000;
/// Bytes of a name, and of a value in brackets.
const NAME_BYTES: usize = 100;
const VALUE_BYTES: usize = 1_000;

/// The fields of a note of the index.
#[derive(Debug)]
pub(super) struct InlineFields {
    pub(super) entry: Id,
    /// Keys and values.
    pub(super) fields: Vec<(String, String)>,
}

/// The fields of a note: names as [`key_of`] gives them, and values as they are written, in order.
pub(super) fn fields(text: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for line in blocks::lines(text) {
        if matches!(line.kind, Kind::Frontmatter | Kind::Code | Kind::Opaque | Kind::Blank) {
            continue;
        }
        let content = text.part(line.content..line.range.end);
        if !content.contains("::") || fields.len() >= FIELDS {
            continue;
        }
        let content = without_code(content);
        let bracketed = in_brackets(&content);
        if bracketed.is_empty() {
            fields.extend(whole_line(&content));
        }
        fields.extend(bracketed);
    }
    fields.truncate(FIELDS);
    fields
}

/// The name of a field for comparison: without emphasis and case, a space as a hyphen.
pub(super) fn key_of(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !"*_~`".contains(*c)).collect();
    fold(plain.trim()).split_whitespace().collect::<Vec<_>>().join("-")
}

/// A line whose code in backticks is replaced by spaces: what is in it is no field.
fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    let mut is_code = true;
    let rest: Vec<&str> = parts.collect();
    for (number, part) in rest.iter().enumerate() {
        // Without a closing backtick it is text.
        let is_last = number + 1 == rest.len();
        if is_code && !is_last {
            kept.push(' ');
        } else {
            kept.push_str(part);
        }
        is_code = !is_code;
    }
    kept
}

/// `[name:: value]` and `(name:: value)`; the value ends with the bracket that fits.
fn in_brackets(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in line.match_indices("::") {
        let before = line.part(floor(line, at.saturating_sub(NAME_BYTES)).max(from)..at);
        let Some(opened) = before.rfind(['[', '(']) else { continue };
        let (bracket, name) = before.split_at(opened + 1);
        let (open, close) = if bracket.ends_with('[') { ('[', ']') } else { ('(', ')') };
        let behind = line.part(at + 2..floor(line, at + 2 + VALUE_BYTES));
        if let Some(end) = closing(behind, open, close).filter(|_| is_name(name)) {
            found.push((key_of(name), behind.part(..end).trim().to_owned()));
            from = at + 2 + end;
        }
    }
    found
}

/// Where the bracket that was opened in front of a text is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == close {
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        } else if c == open {
            depth += 1;
        }
    }
    None
}

/// `name:: value`, which is all of a line.
fn whole_line(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once("::").filter(|(name, _)| name.len() <= NAME_BYTES)?;
    is_name(name).then(|| (key_of(name), value.trim().to_owned()))
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || " -_/*~".contains(c) || !c.is_ascii();
    !key_of(name).is_empty() && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_text_and_no_code() {
        let text = "---\na:: 1\n---\nrating:: 5\n- **Due Date**:: 2026-12-01\nread [pages:: 12] and \
                    (by:: [[Ann (a)]])\n`x:: 1` and more\n```\ny:: 2\n```\n> mood:: good\n\
                    empty::\nhttp://x.com::a\n";
        let found = fields(text);
        let expected = [
            ("rating", "5"),
            ("due-date", "2026-12-01"),
            ("pages", "12"),
            ("by", "[[Ann (a)]]"),
            ("mood", "good"),
            ("empty", ""),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }
}
