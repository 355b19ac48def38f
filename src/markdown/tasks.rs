//! The tasks of a note, and the metadata after their texts: dates, priority and recurrence, as
//! emoji of the Tasks plugin or as Dataview fields.

use super::inline;
use super::parts::Note;
use crate::clock::parse_date;
use crate::slice::Part;
use crate::text::floor;
use crate::text::fold::fold;
use std::ops::Range;
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
    pub created: Option<&'a str>,
    pub cancelled: Option<&'a str>,
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
        created: dated(&['➕'], &["created"]),
        cancelled: dated(&['❌'], &["cancelled"]),
        priority: sign.or_else(|| field(text, "priority")),
        is_recurring: text.contains('🔁') || field(text, "repeat").is_some(),
    }
}

/// The rule by which a task recurs: `every month`.
pub fn rule_of(text: &str) -> Option<&str> {
    let behind = text.rsplit_once('🔁').map(|(_, behind)| behind.trim_start_matches('\u{fe0f}'));
    let of_sign = behind.map(|behind| {
        let is_rule = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | ' ' | '!');
        behind.part(..behind.find(|c| !is_rule(c)).unwrap_or(behind.len())).trim()
    });
    of_sign.or_else(|| field(text, "repeat"))
}

/// The text of a task without the dates on which it was done or cancelled.
pub fn without_end(text: &str) -> String {
    without_dates(text, &['✅', '❌'], &["completion", "done", "cancelled"])
}

/// The text of a task without the date on which it was made.
pub fn without_created(text: &str) -> String {
    without_dates(text, &['➕'], &["created"])
}

fn without_dates(text: &str, signs: &[char], fields: &[&str]) -> String {
    let mut text = text.to_owned();
    for sign in signs {
        if let Some(at) = text.rfind(*sign) {
            let behind = text.part(at + sign.len_utf8()..);
            let date_at = behind.trim_start_matches(['\u{fe0f}', ' ']);
            if date(date_at).is_some() {
                let end = text.len() - date_at.len() + 10;
                cut(&mut text, at..end);
            }
        }
    }
    for name in fields {
        if field(&text, name).is_some_and(|value| date(value).is_some()) {
            cut_field(&mut text, name);
        }
    }
    text
}

/// The text of a task without its block id, its id, and the ids of what it depends on.
pub fn without_ids(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    if let Some(id) = block_id(&text) {
        let start = text.len() - id.len();
        let end = text.len();
        cut(&mut text, start..end);
    }
    for sign in ['🆔', '⛔'] {
        if let Some(at) = text.rfind(sign) {
            let behind = text.part(at + sign.len_utf8()..);
            let ids = behind.trim_start_matches(['\u{fe0f}', ' ']);
            let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ',');
            let end = text.len() - ids.len() + ids.find(|c| !is_id(c)).unwrap_or(ids.len());
            cut(&mut text, at..end);
        }
    }
    for name in ["id", "dependsOn"] {
        cut_field(&mut text, name);
    }
    text
}

/// Removes a field of Dataview, with its brackets.
fn cut_field(text: &mut String, name: &str) {
    if let Some((whole, _)) = field_at(text, name) {
        cut(text, whole);
    }
}

/// The block id at the end of a task, with its `^`.
fn block_id(text: &str) -> Option<&str> {
    text.rsplit(' ').next().filter(|word| word.starts_with('^') && word.len() > 1)
}

/// Removes a range, and the space before it.
fn cut(text: &mut String, range: Range<usize>) {
    let start = text.part(..range.start).trim_end_matches(' ').len();
    text.replace_range(start..range.end, "");
}

/// The text of a task with a date behind it, before a block id: `✅ 2026-11-22`, or as a field.
pub fn with_date(text: &str, dated: Dated, day: &str, as_field: bool) -> String {
    let (sign, name) = match dated {
        Dated::Done => ('✅', "completion"),
        Dated::Cancelled => ('❌', "cancelled"),
        Dated::Created => ('➕', "created"),
    };
    let date = if as_field { format!("[{name}:: {day}]") } else { format!("{sign} {day}") };
    let whole = text.trim_end();
    match block_id(whole) {
        Some(id) => format!("{} {date} {id}", whole.part(..whole.len() - id.len()).trim_end()),
        None => format!("{whole} {date}"),
    }
}

/// What happened to a task on a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dated {
    Done,
    Cancelled,
    Created,
}

/// The date that a text begins with.
fn date(text: &str) -> Option<&str> {
    text.get(..10).filter(|date| parse_date(date).is_some())
}

/// The value of `[name:: value]` or `(name:: value)`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    field_at(text, name).map(|(_, value)| text.part(value).trim())
}

/// Where `[name:: value]` or `(name:: value)` is, with its brackets, and its value.
fn field_at(text: &str, name: &str) -> Option<(Range<usize>, Range<usize>)> {
    text.match_indices(name).find_map(|(at, _)| {
        let closing = match text.get(..at)?.chars().next_back()? {
            '[' => ']',
            '(' => ')',
            _ => return None,
        };
        let value = text.get(at + name.len()..)?.trim_start().strip_prefix("::")?;
        let start = text.len() - value.len();
        let end = start + value.get(..floor(value, FIELD_BYTES))?.find(closing)?;
        Some((at - 1..end + 1, start..end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_task_comes_and_goes() {
        for (open, ended, status, as_field) in [
            ("pay ^id", "pay ✅ 2026-11-22 ^id", Dated::Done, false),
            ("pay 📅 2026-11-30", "pay 📅 2026-11-30 ❌ 2026-11-22", Dated::Cancelled, false),
            ("pay", "pay [completion:: 2026-11-22]", Dated::Done, true),
        ] {
            assert_eq!(with_date(open, status, "2026-11-22", as_field), ended);
            assert_eq!(without_end(ended), open);
        }
        assert_eq!(without_end("a ✅ soon [done:: no]"), "a ✅ soon [done:: no]");
    }

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
            ..TaskFields::default()
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
