//! Metadata after the text of a task: dates, priority and recurrence, as emoji of the Tasks plugin
//! or as Dataview fields.

use crate::clock::parse_date;
use crate::text::floor;

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
