//! The fields of a task, as list items: `- **Goal:** value`.

use super::markdown::items;
use crate::markdown::parts;
use crate::slice::Part;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Hours with their unit, at the beginning of a line.
static HOURS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^\s*[0-9.]+(?: *(?:h|hrs?|hours?)\b)?").ok());

/// The fields, by the name they have in a note, in the order in which they are written.
pub(super) const FIELDS: [&str; 6] =
    ["Goal", "Description", "Technical Notes", "Estimate", "Status", "Notes"];

#[derive(Debug)]
pub(super) struct Field {
    /// Its name as in [`FIELDS`]; any other name as in the note.
    pub(super) name: String,
    pub(super) lines: Range<usize>,
    /// The bytes of its value: from after the colon to the end of the last line, without the line
    /// end.
    pub(super) value: Range<usize>,
    /// Where the value's first line ends: in a status or an estimate, what follows is a person's.
    pub(super) first_end: usize,
}

impl Field {
    /// The range that a new value replaces, and its text. In a status and an estimate a comment
    /// (`%%`) or a block id at the end of the line stays, and so does what follows the hours.
    pub(super) fn replacement(&self, text: &str, value: &str, eol: &str) -> (Range<usize>, String) {
        if !matches!(self.name.as_str(), "Status" | "Estimate") {
            return (self.value.clone(), written(value, eol));
        }
        let line = text.part(self.value.start..self.first_end);
        let hours_end = || hours(line).and_then(|_| Some(HOURS.as_ref()?.find(line)?.end()));
        let end = match self.name.as_str() {
            "Estimate" => hours_end().unwrap_or_else(|| comment_start(line)),
            _ => comment_start(line),
        };
        let rest = line.part(end..).trim_end();
        let would_join = rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '%' | '^'));
        let gap = if would_join { " " } else { "" };
        (self.value.start..self.first_end, format!(" {value}{gap}{rest}"))
    }
}

/// Where the comments or the block id at the end of a line begin.
fn comment_start(line: &str) -> usize {
    let marks = super::markdown::marks_start(line);
    line.find("%%").map_or(marks, |comment| comment.min(marks))
}

pub(super) fn fields(note: &parts::Note<'_>, body: Range<usize>) -> Vec<Field> {
    let end = |at: usize| note.start(at) + note.line(at).len();
    let field = |(lines, item): (Range<usize>, &str)| {
        let first_end = end(lines.start);
        let (name, start) = named(item)
            .map_or((String::new(), first_end), |(name, value)| (name, first_end - value.len()));
        Field { name, value: start..end(lines.end - 1), first_end, lines }
    };
    items(note, body).into_iter().map(field).collect()
}

/// The name and the value of `**Goal:** value`.
pub(super) fn named(item: &str) -> Option<(String, &str)> {
    let (name, rest) = item.trim_start().strip_prefix("**")?.split_once("**")?;
    let (name, value) = match (name.trim().strip_suffix(':'), rest.trim_start().strip_prefix(':')) {
        (Some(name), _) => (name, rest),
        (None, Some(value)) => (name, value),
        (None, None) => return None,
    };
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = FIELDS.iter().find(|known| known.eq_ignore_ascii_case(&words));
    Some((known.map_or(words, |known| (*known).to_owned()), value))
}

/// A field's value; further lines without the indentation that makes them part of the item.
pub(super) fn value(note: &parts::Note<'_>, field: &Field) -> String {
    let text = note.text.part(field.value.start..field.first_end).trim().to_owned();
    let text = field.lines.clone().skip(1).map(|at| note.line(at)).fold(text, |text, line| {
        text + "\n"
            + line
                .strip_prefix("\t")
                .or_else(|| line.strip_prefix("  "))
                .unwrap_or(line.trim_start())
                .trim_end()
    });
    text.trim_matches('\n').to_owned()
}

/// The hours that a line states; `None` for days and other known units, minutes besides hours, a
/// decimal comma or a range.
pub(super) fn hours(text: &str) -> Option<f64> {
    static OTHERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[0-9.]+ *(?:[,–-] *[0-9]|(?:h|hrs?|hours?) *[–-]? *[0-9]|-?(?:m|mins?|minutes?|d|days?|w|weeks?|mo|months?)\b)")
            .ok()
    });
    let text = text.trim_start();
    if OTHERS.as_ref().is_some_and(|others| others.is_match(text)) {
        return None;
    }
    let number = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    number.parse().ok().filter(|hours: &f64| hours.is_finite())
}

/// Hours as they are written: `4h`, `2.5h`.
pub(super) fn shown_hours(hours: f64) -> String {
    format!("{hours}h")
}

/// A value as it will be read again after it was written.
pub(super) fn as_read_back(value: &str) -> String {
    let value = value.replace("\r\n", "\n");
    let mut lines = value.trim_matches('\n').trim_end().split('\n');
    let first = lines.next().unwrap_or_default().trim();
    lines.fold(first.to_owned(), |text, line| text + "\n" + line.trim_end())
}

/// A field's value as it is written after its colon: further lines are indented, so that they stay
/// part of the field.
pub(super) fn written(value: &str, eol: &str) -> String {
    let value = value.replace("\r\n", "\n");
    let value = value.trim_matches('\n').trim_end();
    let mut lines = value.split('\n').map(str::trim_end);
    let first = lines.next().unwrap_or_default().trim_start();
    // A block is not recognized right after the name, so it gets its own line.
    let block = value.contains('\n')
        && ["```", "~~~", "- ", "* ", "+ ", "1. ", "1) ", "> ", "|"]
            .iter()
            .any(|sign| first.starts_with(sign));
    let mut text = match (block, first.is_empty()) {
        (true, _) => format!("{eol}  {first}"),
        (false, true) => String::new(),
        (false, false) => format!(" {first}"),
    };
    for line in lines {
        text.push_str(eol);
        if !line.is_empty() {
            text.push_str("  ");
            text.push_str(line);
        }
    }
    text
}
