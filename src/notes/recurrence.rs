//! The next occurrence of a task that recurs, as the Tasks plugin writes it.

use crate::calendar::{DateTime, weekday_named};
use crate::markdown::tasks::{self, Dated, TaskFields};
use crate::slice::Part;

/// Months or days that are looked at for a date that a rule has: the 29 February comes after eight
/// years at most.
const LOOKED_AT: i64 = 100;

/// `every 2 weeks on Monday, Friday when done`.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    /// Every so many units.
    every: i64,
    unit: Unit,
    /// It counts from the day on which the task is done.
    when_done: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Unit {
    Day,
    /// On these days, 0 for Monday; without any, on that of the date before.
    Week(Vec<i64>),
    /// On this day; without one, on that of the date before, or a shorter month's last.
    Month(Option<u64>),
    Year,
}

impl Rule {
    /// Parses a rule; `None` for one of another form.
    fn parse(text: &str) -> Option<Rule> {
        let text = text.trim().to_ascii_lowercase();
        let (text, when_done) = match text.strip_suffix("when done") {
            Some(rest) => (rest.trim_end(), true),
            None => (text.as_str(), false),
        };
        let rest = text.strip_prefix("every")?.trim_start();
        let (rule, on) = match rest.split_once(" on ") {
            Some((rule, on)) => (rule.trim(), Some(on.trim())),
            None => (rest, None),
        };
        let (every, unit) = match rule.split_once(' ') {
            Some((count, unit)) => {
                (count.parse().ok().filter(|count| (1..=1000).contains(count))?, unit.trim())
            }
            None => (1, rule),
        };
        let unit = match (unit, on) {
            ("day" | "days", None) => Unit::Day,
            ("weekday" | "weekdays", None) if every == 1 => Unit::Week((0..5).collect()),
            ("week" | "weeks", None) => Unit::Week(Vec::new()),
            ("week" | "weeks", Some(on)) => Unit::Week(weekdays(on)?),
            ("month" | "months", None) => Unit::Month(None),
            ("month" | "months", Some(on)) => {
                let day = on.strip_prefix("the ")?;
                let number = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let is_ordinal = matches!(day.part(number.len()..), "st" | "nd" | "rd" | "th");
                let number = number.parse().ok().filter(|day| (1..=31).contains(day));
                Unit::Month(Some(number.filter(|_| is_ordinal)?))
            }
            ("year" | "years", None) => Unit::Year,
            (day, None) if every == 1 => Unit::Week(weekdays(day)?),
            _ => return None,
        };
        Some(Rule { every, unit, when_done })
    }

    /// The first date after another one, from which the rule counts.
    fn next(&self, after: DateTime) -> Option<DateTime> {
        match &self.unit {
            Unit::Day => Some(after.plus_days(self.every)),
            Unit::Week(days) if days.is_empty() => Some(after.plus_days(7 * self.every)),
            Unit::Week(days) => {
                let monday = after.first_of_week(true);
                let dates = [0, self.every]
                    .into_iter()
                    .flat_map(|week| days.iter().map(move |day| monday.plus_days(7 * week + day)));
                dates.filter(|date| *date > after).min()
            }
            Unit::Month(None) => Some(after.plus_months(self.every)),
            Unit::Month(Some(wanted)) => {
                let (year, month, _) = after.date();
                let first = DateTime::of_date(&format!("{year:04}-{month:02}-01"))?;
                (0..LOOKED_AT).find_map(|number| {
                    let (year, month, _) = first.plus_months(number * self.every).date();
                    DateTime::of_date(&format!("{year:04}-{month:02}-{wanted:02}"))
                        .filter(|date| *date > after)
                })
            }
            Unit::Year => Some(after.plus_months(12 * self.every)),
        }
    }
}

/// The days of a list such as `Monday, Wednesday and Friday`, in order.
fn weekdays(text: &str) -> Option<Vec<i64>> {
    let names = text.split([',', ' ']).filter(|name| !name.is_empty() && *name != "and");
    let mut days: Vec<i64> = names.map(weekday_named).collect::<Option<_>>()?;
    days.sort_unstable();
    days.dedup();
    (!days.is_empty()).then_some(days)
}

/// The text of the next task, when one that recurs is done on the day `today`: its dates moved on,
/// without the date of the end, block id, id and what it depends on. `sets_created`: whether the
/// settings want the day on which it was made.
///
/// # Errors
/// Its rule, where it is not understood.
pub(super) fn next_text(
    text: &str,
    today: &str,
    sets_created: bool,
    has_fields: bool,
) -> Result<String, String> {
    let open = tasks::without_end(text);
    let rule_text = tasks::rule_of(&open).unwrap_or_default();
    let rule = Rule::parse(rule_text).ok_or_else(|| rule_text.to_owned())?;
    let TaskFields { due, scheduled, start, created, .. } = tasks::fields_of(&open);
    let date = |text: Option<&str>| text.and_then(DateTime::of_date);
    let mut next = open.clone();
    if let Some(before) = date(due).or(date(scheduled)).or(date(start)) {
        let from = if rule.when_done { date(Some(today)).unwrap_or(before) } else { before };
        let after = rule.next(from).ok_or_else(|| rule_text.to_owned())?;
        let shift = after.seconds_since(before);
        for dated in [due, scheduled, start].into_iter().flatten() {
            let Some(moved) = date(Some(dated)) else { continue };
            let at = dated.as_ptr().addr() - open.as_ptr().addr();
            let moved = moved.plus_seconds(shift).format("YYYY-MM-DD");
            // Offsets stay while all dates are equally long: those of four digits of a year.
            if moved.len() != dated.len() || moved.starts_with('-') {
                return Err(rule_text.to_owned());
            }
            next.replace_range(at..at + dated.len(), &moved);
        }
    }
    match created {
        Some(created) if sets_created => {
            let at = created.as_ptr().addr() - open.as_ptr().addr();
            next.replace_range(at..at + created.len(), today);
        }
        Some(_) => next = tasks::without_created(&next),
        None => {}
    }
    let next = tasks::without_ids(&next);
    Ok(match created {
        None if sets_created => tasks::with_date(&next, Dated::Created, today, has_fields),
        _ => next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_give_the_next_date() {
        // 2026-11-25 is a Wednesday.
        for (rule, after, next) in [
            ("every day", "2026-11-25", "2026-11-26"),
            ("Every 3 days", "2026-11-29", "2026-12-02"),
            ("every week", "2026-11-25", "2026-12-02"),
            ("every week on Monday, Friday", "2026-11-25", "2026-11-27"),
            ("every 2 weeks on Mon and Tue", "2026-11-25", "2026-12-07"),
            ("every weekday", "2026-11-27", "2026-11-30"),
            ("every Sunday", "2026-11-25", "2026-11-29"),
            ("every month", "2026-01-31", "2026-02-28"),
            ("every 2 months on the 15th", "2026-11-10", "2026-11-15"),
            ("every month on the 31st", "2026-11-10", "2026-12-31"),
            ("every year", "2024-02-29", "2025-02-28"),
        ] {
            let parsed = Rule::parse(rule).unwrap();
            let found = parsed.next(DateTime::of_date(after).unwrap()).unwrap();
            assert_eq!(found.format("YYYY-MM-DD"), next, "{rule}");
        }
        for unknown in [
            "",
            "every",
            "every month on the last Friday",
            "every January",
            "every 0 days",
            "every week on the 3rd",
            "every blue moon",
        ] {
            assert_eq!(Rule::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_next_task_has_its_dates_moved_and_its_ids_removed() {
        let next = |text: &str| next_text(text, "2026-11-28", false, false).unwrap();
        assert_eq!(
            next("pay #a 🔁 every month 🛫 2026-11-20 📅 2026-11-25 ✅ 2026-11-28 ^id"),
            "pay #a 🔁 every month 🛫 2026-12-20 📅 2026-12-25"
        );
        assert_eq!(
            next("pay 🔁 every 2 days when done ➕ 2026-01-01 ⏳ 2026-11-20 🆔 abc ⛔ def,ghi"),
            "pay 🔁 every 2 days when done ⏳ 2026-11-30"
        );
        assert_eq!(
            next("water [repeat:: every week]  [due:: 2026-11-25]"),
            "water [repeat:: every week]  [due:: 2026-12-02]"
        );
        assert_eq!(next("no date 🔁 every day"), "no date 🔁 every day");
        let kept = next_text("x ➕ 2026-01-01 🔁 every day", "2026-11-28", true, false).unwrap();
        assert_eq!(kept, "x ➕ 2026-11-28 🔁 every day");
        assert_eq!(
            next_text("x 🔁 every day", "2026-11-28", true, true).unwrap(),
            "x 🔁 every day [created:: 2026-11-28]"
        );
        let far = "x 🔁 every day 📅9999-12-31 ⏳9999-12-31";
        assert!(next_text(far, "2026-11-28", false, false).is_err());
        assert_eq!(
            next_text("x 🔁 every full moon", "2026-11-28", true, false).unwrap_err(),
            "every full moon"
        );
    }
}
