//! The fields of a task, as list items: `- **Goal:** value`.

use super::markdown::items;
use super::status::split_comments;
use crate::markdown::parts;
use crate::slice::Part;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// A pattern for hours with their unit, at the beginning of a line.
const HOURS: &str = r"(?i)^[0-9.]+(?: *(?:h|hrs?|hours?)\b)?";

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
    /// The range that a new value replaces, and its text. A status is replaced whole, but for
    /// comments (`%%`) and a block id; in an estimate only the words that state it are.
    pub(super) fn replacement(&self, text: &str, value: &str, eol: &str) -> (Range<usize>, String) {
        match self.name.as_str() {
            "Status" => {
                let line = text.part(self.value.start..self.first_end);
                let (words, marks) = line.split_at(super::markdown::marks_start(line));
                let comments = split_comments(words, true).into_iter();
                let comments: String = comments.map(|words| format!(" %%{words}%%")).collect();
                let new = format!(" {value}{comments}{}", marks.trim_end());
                (self.value.start..self.first_end, new)
            }
            "Estimate" => {
                let line = text.part(self.value.start..self.first_end);
                // In another unit there are no words that state hours.
                let words = if hours(line).is_some() { HOURS } else { "" };
                (
                    self.value.start..self.first_end,
                    with_leading(line, value, words, |line| hours(line) == hours(value)),
                )
            }
            _ => (self.value.clone(), written(value, eol)),
        }
    }
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

/// A line with a new value instead of the words that stated the old one, so that what a person
/// wrote after them stays. Where that would be read as something else, the old line becomes a
/// comment (Obsidian's `%%`).
pub(super) fn with_leading(
    line: &str,
    value: &str,
    words: &str,
    is_read: impl Fn(&str) -> bool,
) -> String {
    let old = line.trim_start();
    let old_words =
        Regex::new(words).ok().and_then(|words| words.find(old)).map_or(0, |found| found.end());
    let rest = old.part(old_words..);
    let gap = if rest.is_empty()
        || rest.starts_with(|c: char| c.is_whitespace() || c.is_ascii_punctuation())
    {
        ""
    } else {
        " "
    };
    let new = format!(" {value}{gap}{rest}");
    let is_known = old_words > 0
        || rest.is_empty()
        || rest.starts_with("%%")
        || super::markdown::marks_start(rest) == 0;
    if value.is_empty() || is_known && is_read(&new) {
        return new;
    }
    let marks = old.part(super::markdown::marks_start(old)..);
    let words = old.part(..old.len() - marks.len()).replace("%%", "").trim().to_owned();
    format!(" {value} %% {words} %%{marks}")
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
