//! Dates and times of day in the owner's time zone, and how Obsidian writes them (moment.js).

pub(crate) mod duration;

use crate::clock::{Moment, date_of_day, days_of, number, parse_date};
use crate::slice::Part;
use regex::Regex;
use std::sync::LazyLock;
use tz::TimeZone;

/// A time zone of the system's zone data.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Zone {
        Zone(TimeZone::utc())
    }
}

impl Zone {
    /// UTC, or the zone with a name such as `Europe/Berlin`; `None` if the system has no data for
    /// it.
    pub fn named(name: &str) -> Option<Zone> {
        if name == "UTC" {
            return Some(Zone::default());
        }
        // After a colon only a name is read: as a rule of POSIX, `UTC+2` would be two hours west.
        TimeZone::from_posix_tz(&format!(":{name}")).ok().map(Zone)
    }

    /// The zone of `/etc/localtime`, or else UTC.
    pub fn system() -> Zone {
        TimeZone::local().map(Zone).unwrap_or_default()
    }

    /// The date and time of day at a moment.
    pub fn at(&self, now: Moment) -> DateTime {
        let seconds = i64::try_from(now.0).unwrap_or(i64::MAX);
        DateTime(seconds.saturating_add(self.offset(seconds)))
    }

    fn offset(&self, seconds: i64) -> i64 {
        self.0.find_local_time_type(seconds).map_or(0, |local| i64::from(local.ut_offset()))
    }

    /// Seconds since 1970-01-01T00:00:00Z of a local date and time in this zone.
    pub fn seconds_at(&self, local: DateTime) -> i64 {
        // Twice: the offset at the local time read as UTC may be that of the other side of a clock
        // change.
        let first = local.0.saturating_sub(self.offset(local.0));
        local.0.saturating_sub(self.offset(first))
    }

    /// Parses a date, or a date and time with or without an offset (ISO 8601, `T` or a space
    /// between them); and whether it has a time.
    pub fn parse(&self, text: &str) -> Option<(DateTime, bool)> {
        static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"^[Tt ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(?:\.[0-9]+)?([Zz]|([+-])([0-9]{1,2}):?([0-9]{2}))?$").ok()
        });
        let (date, time) = text.split_at_checked(10)?;
        let day = DateTime(parse_date(date)? * DAY);
        if time.is_empty() {
            return Some((day, false));
        }
        let found = TIME.as_ref()?.captures(time)?;
        let field = |group: usize, end: u64| match found.get(group) {
            Some(field) => i64::try_from(number(field.as_str()).filter(|value| *value < end)?).ok(),
            None => Some(0),
        };
        let local = DateTime(day.0 + field(1, 24)? * 3600 + field(2, 60)? * 60 + field(3, 60)?);
        if found.get(4).is_none() {
            return Some((local, true));
        }
        // With an offset the text is an instant; it is converted to this zone.
        let ahead = field(6, 24)? * 3600 + field(7, 60)? * 60;
        let is_behind = found.get(5).is_some_and(|sign| sign.as_str() == "-");
        let moment = if is_behind { local.0 + ahead } else { local.0 - ahead };
        Some((DateTime(moment + self.offset(moment)), true))
    }
}

/// The first and last second of a date (`2026-02-08`, in UTC), or a moment twice (RFC 3339, in UTC
/// without an offset); `None` for any other text.
pub fn span(text: &str) -> Option<(Moment, Moment)> {
    let (DateTime(first), has_time) = Zone::default().parse(text)?;
    let first = u64::try_from(first).ok()?;
    Some((Moment(first), Moment(if has_time { first } else { first + 86_399 })))
}

/// Seconds since 1970-01-01T00:00:00 of the local calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

const DAY: i64 = 86_400;
/// The bounds of dates: about ten thousand years from 1970, in seconds, and from the year 0, in
/// months.
const LAST: i64 = 10_000 * 366 * DAY;
const LAST_MONTH: i64 = 10_000 * 12;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The number of a day of the week, 0 for Monday, by its English name or the first three letters of
/// it, in any case.
pub fn weekday_named(name: &str) -> Option<i64> {
    let is_named = |weekday: &&str| {
        let forms = [Some(*weekday), weekday.get(..3)];
        forms.into_iter().flatten().any(|form| form.eq_ignore_ascii_case(name))
    };
    i64::try_from(WEEKDAYS.iter().position(is_named)?).ok()
}

impl DateTime {
    /// Midnight of a day (`2026-11-22`); `None` for any other text.
    pub fn of_date(text: &str) -> Option<DateTime> {
        parse_date(text).map(|days| DateTime(days * DAY))
    }

    /// The day that stands for a week (`2026-W48`): the Monday of an ISO 8601 week; in US numbering
    /// (weeks from Sunday, week 1 contains 1 January) the day with the weekday of 1 January.
    pub fn of_week(text: &str, is_iso: bool) -> Option<DateTime> {
        let (year, week) = text.split_once("-W")?;
        let week = i64::try_from(number(week)?).ok().filter(|week| (1..=53).contains(week))?;
        // The first ISO week is that of 4 January.
        let first = DateTime::of_date(&format!("{year}-01-{}", if is_iso { "04" } else { "01" }))?;
        let day = DateTime(
            (first.days() + (week - 1) * 7 - if is_iso { first.weekday() } else { 0 }) * DAY,
        );
        let number = if is_iso { day.iso_week() } else { day.us_week() };
        (number == (year.parse().ok()?, week)).then_some(day)
    }

    /// The first day of its week: Monday, or in US numbering Sunday.
    pub fn first_of_week(self, is_iso: bool) -> DateTime {
        self.plus_days(if is_iso { -self.weekday() } else { -((self.weekday() + 1) % 7) })
    }

    /// The same time of day this many days later, or earlier if negative.
    pub fn plus_days(self, days: i64) -> DateTime {
        self.plus_seconds(days.saturating_mul(DAY))
    }

    /// The time of day of another moment on this day.
    pub fn with_time_of(self, other: DateTime) -> DateTime {
        DateTime(self.midnight().0 + other.0.rem_euclid(DAY))
    }

    pub fn plus_seconds(self, seconds: i64) -> DateTime {
        DateTime(self.0.saturating_add(seconds).clamp(-LAST, LAST))
    }

    /// The same day of a later or earlier month, or that month's last day.
    pub fn plus_months(self, months: i64) -> DateTime {
        let (year, month, day) = date_of_day(self.days());
        let count =
            (year * 12 + month as i64 - 1).saturating_add(months).clamp(-LAST_MONTH, LAST_MONTH);
        let (year, month) = (count.div_euclid(12), count.rem_euclid(12).unsigned_abs() + 1);
        let days = (1..=day).rev().find_map(|day| days_of(year, month, day));
        days.map_or(self, |days| DateTime(days.saturating_mul(DAY)).with_time_of(self))
    }

    /// Seconds from another moment to this one.
    pub fn seconds_since(self, other: DateTime) -> i64 {
        self.0.saturating_sub(other.0)
    }

    /// The beginning of the day.
    pub fn midnight(self) -> DateTime {
        DateTime(self.days().saturating_mul(DAY))
    }

    fn days(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// 0 for Monday.
    fn weekday(self) -> i64 {
        (self.days() + 3).rem_euclid(7)
    }

    /// Days since 1 January.
    fn day_of_year(self) -> i64 {
        let (year, ..) = date_of_day(self.days());
        days_of(year, 1, 1).map_or(0, |first| self.days() - first)
    }

    fn iso_week(self) -> (i64, i64) {
        DateTime((self.days() + 3 - self.weekday()) * DAY).year_and_week()
    }

    /// Year and week in US numbering.
    fn us_week(self) -> (i64, i64) {
        DateTime((self.days() + 6 - (self.weekday() + 1) % 7) * DAY).year_and_week()
    }

    fn year_and_week(self) -> (i64, i64) {
        (date_of_day(self.days()).0, self.day_of_year() / 7 + 1)
    }

    /// The moment in a format of moment.js in English; what is in brackets, and what is no token,
    /// is text.
    pub fn format(self, format: &str) -> String {
        let mut shown = String::new();
        let mut rest = format;
        while let Some(first) = rest.chars().next() {
            let literal = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let literal = literal.map(|(text, behind)| (text.to_owned(), behind));
            let token = || {
                (1..=4).rev().find_map(|length| {
                    Some((self.token(rest.get(..length)?)?, rest.part(length..)))
                })
            };
            let other = || (first.to_string(), rest.part(first.len_utf8()..));
            let (text, behind) = literal.or_else(token).unwrap_or_else(other);
            shown.push_str(&text);
            rest = behind;
        }
        shown
    }

    /// Year, month and day.
    pub fn date(self) -> (i64, u64, u64) {
        date_of_day(self.days())
    }

    /// Hour, minute and second.
    pub fn time(self) -> (i64, i64, i64) {
        let seconds = self.0.rem_euclid(DAY);
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// The value of a format token; `None` if it is not one.
    fn token(self, token: &str) -> Option<String> {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.time();
        let month_name = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
        let weekday = WEEKDAYS.get(self.weekday() as usize).copied().unwrap_or_default();
        let short =
            |name: &str, letters: usize| Some(name.chars().take(letters).collect::<String>());
        let half = if hour < 12 { "am" } else { "pm" };
        let number = match token {
            "MMMM" => return Some(month_name.to_owned()),
            "MMM" => return short(month_name, 3),
            "dddd" => return Some(weekday.to_owned()),
            "ddd" => return short(weekday, 3),
            "dd" => return short(weekday, 2),
            "A" => return Some(half.to_uppercase()),
            "a" => return Some(half.to_owned()),
            "YYYY" | "YY" => year,
            "MM" | "Mo" | "M" => month as i64,
            "DDDD" | "DDD" => self.day_of_year() + 1,
            "DD" | "Do" | "D" => day as i64,
            "d" => (self.weekday() + 1) % 7,
            "E" => self.weekday() + 1,
            "ww" | "w" => self.us_week().1,
            "WW" | "W" => self.iso_week().1,
            "gggg" | "gg" => self.us_week().0,
            "GGGG" | "GG" => self.iso_week().0,
            "Q" => (month as i64 - 1) / 3 + 1,
            "HH" | "H" => hour,
            "hh" | "h" => (hour + 11) % 12 + 1,
            "mm" | "m" => minute,
            "ss" | "s" => second,
            _ => return None,
        };
        Some(match token {
            "YY" | "gg" | "GG" => format!("{:02}", number % 100),
            "Mo" | "Do" => ordinal(number),
            "DDD" => number.to_string(),
            "DDDD" => format!("{number:03}"),
            _ => format!("{number:0width$}", width = token.len()),
        })
    }
}

fn ordinal(number: i64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_moment_writes_them() {
        let of = |date: &str, format: &str| {
            DateTime::of_date(date)
                .unwrap()
                .plus_days(0)
                .with_time_of(DateTime(13 * 3600 + 5 * 60 + 9))
                .format(format)
        };
        for (date, format, expected) in [
            ("2026-11-22", "YYYY-MM-DD", "2026-11-22"),
            ("2026-11-22", "YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2026/11-November/2026-11-22-Sunday"),
            (
                "2026-11-02",
                "dddd, MMMM Do YYYY [at] H:mm:ss",
                "Monday, November 2nd 2026 at 13:05:09",
            ),
            (
                "2026-02-03",
                "YY M D ddd dd d E hh:mm a A Q DDDD",
                "26 2 3 Tue Tu 2 2 01:05 pm PM 1 034",
            ),
            // ISO weeks, at the turn of years.
            ("2026-11-22", "GGGG-[W]WW gggg-[w]ww", "2026-W47 2026-w48"),
            ("2027-01-01", "GGGG-[W]WW gggg-ww", "2026-W53 2027-01"),
            ("2024-12-30", "GGGG-[W]W gggg-w", "2025-W1 2025-1"),
            ("2023-01-01", "GGGG-WW gggg-ww", "2022-52 2023-01"),
            ("2026-11-22", "[Day] D [", "Day 22 ["),
        ] {
            assert_eq!(of(date, format), expected, "{date} {format}");
        }
    }

    #[test]
    fn days_are_distinguished_from_other_names() {
        assert!(DateTime::of_date("2026-02-08").is_some());
        for other in [
            "2026-2-8",
            "2026-02-08 Trip",
            "20260208",
            "2026_02_08",
            "",
            "2026-99-99",
            "2026-02-31",
            "2026-00-10",
            "２026-02-0",
        ] {
            assert!(DateTime::of_date(other).is_none(), "{other}");
        }
    }

    #[test]
    fn what_follows_a_time_is_no_part_of_it() {
        let parse = |text: &str| {
            Zone::default()
                .parse(text)
                .map(|(time, has_time)| (time.format("YYYY-MM-DD HH:mm"), has_time))
        };
        for text in ["2026-11-22T10:30", "2026-11-22 10:30:00.123Z"] {
            assert_eq!(parse(text), Some(("2026-11-22 10:30".into(), true)), "{text}");
        }
        for text in
            ["2026-11-22 10:30. Call", "2026-11-22T10:30:00.", "2026-11-22 10", "2026-11-22T10:30x"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn weeks_are_named_by_their_number() {
        for (week, monday) in [
            ("2026-W48", "2026-11-23"),
            ("2026-W01", "2025-12-29"),
            ("2026-W53", "2026-12-28"),
            ("1970-W01", "1969-12-29"),
        ] {
            assert_eq!(DateTime::of_week(week, true).unwrap().format("YYYY-MM-DD"), monday);
        }
        assert_eq!(DateTime::of_week("2027-W01", false).unwrap().format("gggg-[W]ww"), "2027-W01");
        for wrong in ["2025-W53", "2026-W0", "2026-W+8", "2026-48", "W48", "2026-W99"] {
            assert_eq!(DateTime::of_week(wrong, true), None, "{wrong}");
        }
    }

    #[test]
    fn dates_are_read_with_and_without_a_time_and_an_offset() {
        let berlin = Zone::named("Europe/Berlin").expect("zone data");
        for (text, expected) in [
            ("2026-11-22", Some(("2026-11-22 00:00:00", false))),
            ("1815-12-10", Some(("1815-12-10 00:00:00", false))),
            ("2024-02-29 23:59", Some(("2024-02-29 23:59:00", true))),
            ("2026-11-22T12:34:56.789", Some(("2026-11-22 12:34:56", true))),
            ("2026-11-22T12:34:56Z", Some(("2026-11-22 13:34:56", true))),
            ("2026-07-01T12:00+05:30", Some(("2026-07-01 08:30:00", true))),
            ("2026-07-01T12:00+5:30", Some(("2026-07-01 08:30:00", true))),
            ("2026-07-01T12:00+05", None),
            ("2026-07-01T12:00.\u{663}", None),
            ("2023-02-29", None),
            ("2026-11-22T", None),
            ("2026-11-22T25:00", None),
            ("2026-11-22 is a day", None),
            ("2026-1-2", None),
            ("26-11-2022", None),
        ] {
            let found = berlin
                .parse(text)
                .map(|(at, has_time)| (at.format("YYYY-MM-DD HH:mm:ss"), has_time));
            assert_eq!(
                found,
                expected.map(|(text, has_time)| (text.to_owned(), has_time)),
                "{text}"
            );
        }
        let (local, _) = berlin.parse("2026-07-01 02:00:00").unwrap();
        assert_eq!(berlin.seconds_at(local), 1_782_864_000);
        assert_eq!(
            DateTime::of_date("2024-01-31").unwrap().plus_months(1).format("YYYY-MM-DD"),
            "2024-02-29"
        );
        assert_eq!(
            DateTime::of_date("2024-01-31").unwrap().plus_months(-2).format("YYYY-MM-DD"),
            "2023-11-30"
        );
    }

    #[test]
    fn zones_have_summer_time() {
        let berlin = Zone::named("Europe/Berlin").expect("zone data");
        // 2026-07-01T22:30:00Z and 2026-12-31T23:30:00Z.
        assert_eq!(berlin.at(Moment(1_782_945_000)).format("YYYY-MM-DD HH:mm"), "2026-07-02 00:30");
        assert_eq!(berlin.at(Moment(1_798_759_800)).format("YYYY-MM-DD HH:mm"), "2027-01-01 00:30");
        assert!(Zone::named("Europe/Atlantis").is_none());
    }
}
