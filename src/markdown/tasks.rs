//! The tasks of a note, and the metadata after their texts: dates, priority and recurrence, as
//! emoji of the Tasks plugin or as Dataview fields.

use super::inline;
use super::parts::Note;
use crate::clock::parse_date;
use crate::slice::Part;
use crate::text::floor;
use crate::text::fold::fold;
use std::sync::Arc;

/// Maximum bytes of the value of a field: a date or a recurrence rule.
const FIELD_BYTES: usize = 200;

/// Dates are `YYYY-MM-DD`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TaskFields<'a> {
    pub due: Option<&'a str>,
    pub scheduled: Option<&'a str>,
    pub start: Option<&'a str>,
    pub done: Option<&'a str>,
    pub priority: Option<&'a str>,
    pub is_recurring: bool,
}

const PRIORITIES: [(char, &str); 5] =
    [('🔺', "highest"), ('⏫', "high"), ('🔼', "medium"), ('🔽', "low"), ('⏬', "lowest")];

/// A task of a note.
#[derive(Debug, Clone)]
pub struct NoteTask {
    /// From 1.
    pub line: usize,
    /// The character in the box.
    pub status: char,
    /// The text after the box.
    pub text: Arc<str>,
    /// The heading above it.
    pub heading: Option<Arc<str>>,
    /// The tags in its line, folded, without `#`.
    pub tags: Box<[Box<str>]>,
}

impl NoteTask {
    /// Bytes that it takes, without its heading, which it shares.
    pub fn bytes(&self) -> usize {
        let tags = self.tags.iter().map(|tag| tag.len() + size_of::<Box<str>>());
        // With the counters in front of the text.
        size_of::<NoteTask>() + 2 * size_of::<usize>() + self.text.len() + tags.sum::<usize>()
    }
}

/// The tasks of a note, in order.
pub fn tasks_in(text: &str) -> Vec<NoteTask> {
    let note = Note::of(text);
    let tasks = note.tasks();
    if tasks.is_empty() {
        return Vec::new();
    }
    let headings = note.headings();
    let names: Vec<Arc<str>> =
        headings.iter().map(|heading| heading.text.as_str().into()).collect();
    let tags = inline::tags(text);
    let task = |task: super::parts::Task| {
        let above = headings.partition_point(|heading| heading.lines.start < task.line);
        let first = tags.partition_point(|tag| tag.start < task.content.start);
        let own = tags.iter().skip(first).take_while(|tag| tag.end <= task.content.end);
        NoteTask {
            line: task.line + 1,
            status: task.status,
            text: text.part(task.content.clone()).trim_end().into(),
            heading: above.checked_sub(1).and_then(|last| names.get(last)).cloned(),
            tags: own
                .map(|tag| fold(text.part(tag.clone()).trim_matches(['#', '/'])).into())
                .collect(),
        }
    };
    tasks.into_iter().map(task).collect()
}

/// Whether a task with this status counts as open; `-` is a cancelled one.
pub fn is_open(status: char) -> bool {
    !matches!(status, 'x' | 'X' | '-')
}

/// Whether it counts as done.
pub fn is_done(status: char) -> bool {
    matches!(status, 'x' | 'X')
}

/// Parses the metadata in the text of a task.
pub fn fields_of(text: &str) -> TaskFields<'_> {
    let dated = |signs: &[char], fields: &[&str]| {
        let behind =
            text.rsplit_once(signs).map(|(_, rest)| rest.trim_start_matches(['\u{fe0f}', ' ']));
        behind.and_then(date).or_else(|| fields.iter().find_map(|name| date(field(text, name)?)))
    };
    let sign = PRIORITIES.iter().find(|(sign, _)| text.contains(*sign)).map(|(_, name)| *name);
    TaskFields {
        due: dated(&['📅', '📆', '🗓'], &["due"]),
        scheduled: dated(&['⏳', '⌛'], &["scheduled"]),
        start: dated(&['🛫'], &["start"]),
        done: dated(&['✅'], &["completion", "done"]),
        priority: sign.or_else(|| field(text, "priority")),
        is_recurring: text.contains('🔁') || field(text, "repeat").is_some(),
    }
}

/// The date that a text begins with.
fn date(text: &str) -> Option<&str> {
    text.get(..10).filter(|date| parse_date(date).is_some())
}

/// The value of `[name:: value]` or `(name:: value)`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.match_indices(name).find_map(|(at, _)| {
        let closing = match text.get(..at)?.chars().next_back()? {
            '[' => ']',
            '(' => ')',
            _ => return None,
        };
        let value = text.get(at + name.len()..)?.trim_start().strip_prefix("::")?;
        let near = value.get(..floor(value, FIELD_BYTES))?;
        Some(near.split_once(closing)?.0.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_in_both_notations() {
        let signs = fields_of(
            "pay rent #home 🔼 🔁 every month 🛫 2026-11-01 ⏳ 2026-11-20 📅 2026-11-30 ✅ \
             2026-11-22 ^id",
        );
        let expected = TaskFields {
            due: Some("2026-11-30"),
            scheduled: Some("2026-11-20"),
            start: Some("2026-11-01"),
            done: Some("2026-11-22"),
            priority: Some("medium"),
            is_recurring: true,
        };
        assert_eq!(signs, expected);
        let fields = "pay [start:: 2026-11-01] (scheduled:: 2026-11-20) [due::2026-11-30] \
                      [completion:: 2026-11-22] [priority:: medium] [repeat:: every month]";
        assert_eq!(fields_of(fields), expected);
        assert_eq!(
            fields_of(
                "due: 2026-11-30, 📅 soon (due) [due:: later] ✅ 2026-02-31 [start:: 2026-13-01]"
            ),
            TaskFields::default()
        );
        assert_eq!(
            fields_of("🗓️ 2026-11-30 ⌛ 2026-11-20"),
            TaskFields {
                due: expected.due,
                scheduled: expected.scheduled,
                ..TaskFields::default()
            }
        );
    }
}
