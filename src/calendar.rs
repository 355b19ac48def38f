//! Dates and times of day in the owner's time zone, and how Obsidian writes them (moment.js).

use crate::clock::{Now, civil};
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
    /// The zone with a name such as `Europe/Berlin`; `None` if the system has no data of it.
    pub fn named(name: &str) -> Option<Zone> {
        TimeZone::from_posix_tz(name).ok().map(Zone)
    }

    /// That of `/etc/localtime`, else UTC.
    pub fn system() -> Zone {
        TimeZone::local().map(Zone).unwrap_or_default()
    }

    /// The date and time of day at a moment.
    pub fn at(&self, now: Now) -> DateTime {
        let seconds = i64::try_from(now.0).unwrap_or(i64::MAX);
        let offset = self.0.find_local_time_type(seconds).map_or(0, |local| i64::from(local.ut_offset()));
        DateTime(now.0.saturating_add_signed(offset))
    }
}

/// Seconds since 1970-01-01T00:00:00 of the local calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime(u64);

const DAY: u64 = 86_400;
const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// What a format can have, the longest of those that begin alike first.
const TOKENS: [&str; 38] = [
    "YYYY", "YY", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDD", "DD", "Do", "D", "dddd", "ddd", "dd", "d", "E", "ww", "w", "WW", "W",
    "gggg", "gg", "GGGG", "GG", "Q", "HH", "H", "hh", "h", "mm", "m", "ss", "s", "A", "a", "X", "x",
];

impl DateTime {
    /// Midnight of a day (`2026-11-22`); `None` for another text.
    pub fn of_date(text: &str) -> Option<DateTime> {
        crate::clock::parse(text).filter(|(first, last)| first < last).map(|(first, _)| DateTime(first.0))
    }

    /// A day of a week (`2026-W48`): by ISO 8601, or as weeks are counted in English, from Sunday and the one of 1 January.
    pub fn of_week(text: &str, is_iso: bool) -> Option<DateTime> {
        let (year, week) = text.split_once("-W")?;
        let week: u64 = week.parse().ok().filter(|week| (1..=53).contains(week))?;
        // The first ISO week is that of 4 January.
        let first = DateTime::of_date(&format!("{year}-01-{}", if is_iso { "04" } else { "01" }))?;
        let monday = DateTime(((first.days() + (week - 1) * 7).checked_sub(if is_iso { first.weekday() } else { 0 })?) * DAY);
        let number = if is_iso { monday.iso_week() } else { monday.english_week() };
        (number == (year.parse().ok()?, week)).then_some(monday)
    }

    /// The same time of day so many days later or earlier.
    pub fn plus_days(self, days: i64) -> DateTime {
        DateTime(self.0.saturating_add_signed(days.saturating_mul(86_400)))
    }

    /// The time of day of another moment on this day.
    pub fn with_time_of(self, other: DateTime) -> DateTime {
        DateTime(self.days() * DAY + other.0 % DAY)
    }

    fn days(self) -> u64 {
        self.0 / DAY
    }

    /// 0 for Monday.
    fn weekday(self) -> u64 {
        (self.days() + 3) % 7
    }

    /// Days since 1 January.
    fn day_of_year(self) -> u64 {
        let (year, ..) = civil(self.days());
        (0..=365).find(|back| civil(self.days().saturating_sub(back + 1)).0 != year).unwrap_or(365)
    }

    fn iso_week(self) -> (u64, u64) {
        DateTime((self.days() + 3).saturating_sub(self.weekday()) * DAY).year_and_week()
    }

    /// Weeks begin on Sunday, and the first is that of 1 January.
    fn english_week(self) -> (u64, u64) {
        DateTime((self.days() + 6).saturating_sub((self.weekday() + 1) % 7) * DAY).year_and_week()
    }

    fn year_and_week(self) -> (u64, u64) {
        (civil(self.days()).0, self.day_of_year() / 7 + 1)
    }

    /// The moment in a format of moment.js in English; what is in brackets, and what is no token, is text.
    pub fn format(self, format: &str) -> String {
        let mut shown = String::new();
        let mut rest = format;
        while let Some(first) = rest.chars().next() {
            let literal = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let token = TOKENS.iter().find_map(|token| Some((token, rest.strip_prefix(token)?)));
            rest = match (literal, token) {
                (Some((text, behind)), _) => {
                    shown.push_str(text);
                    behind
                }
                (None, Some((token, behind))) => {
                    shown.push_str(&self.token(token));
                    behind
                }
                (None, None) => {
                    shown.push(first);
                    rest.get(first.len_utf8()..).unwrap_or_default()
                }
            };
        }
        shown
    }

    fn token(self, token: &str) -> String {
        let (year, month, day) = civil(self.days());
        let (hour, minute, second) = (self.0 % DAY / 3600, self.0 / 60 % 60, self.0 % 60);
        let month_name = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
        let weekday = WEEKDAYS.get(self.weekday() as usize).copied().unwrap_or_default();
        let short = |name: &str, letters: usize| name.chars().take(letters).collect::<String>();
        let hour_of_half = (hour + 11) % 12 + 1;
        let half = if hour < 12 { "am" } else { "pm" };
        match token {
            "YYYY" => format!("{year:04}"),
            "YY" => format!("{:02}", year % 100),
            "MMMM" => month_name.to_owned(),
            "MMM" => short(month_name, 3),
            "MM" => format!("{month:02}"),
            "Mo" => ordinal(month),
            "M" => month.to_string(),
            "DDDD" => format!("{:03}", self.day_of_year() + 1),
            "DDD" => (self.day_of_year() + 1).to_string(),
            "DD" => format!("{day:02}"),
            "Do" => ordinal(day),
            "D" => day.to_string(),
            "dddd" => weekday.to_owned(),
            "ddd" => short(weekday, 3),
            "dd" => short(weekday, 2),
            "d" => ((self.weekday() + 1) % 7).to_string(),
            "E" => (self.weekday() + 1).to_string(),
            "ww" => format!("{:02}", self.english_week().1),
            "w" => self.english_week().1.to_string(),
            "WW" => format!("{:02}", self.iso_week().1),
            "W" => self.iso_week().1.to_string(),
            "gggg" => format!("{:04}", self.english_week().0),
            "gg" => format!("{:02}", self.english_week().0 % 100),
            "GGGG" => format!("{:04}", self.iso_week().0),
            "GG" => format!("{:02}", self.iso_week().0 % 100),
            "Q" => ((month - 1) / 3 + 1).to_string(),
            "HH" => format!("{hour:02}"),
            "H" => hour.to_string(),
            "hh" => format!("{hour_of_half:02}"),
            "h" => hour_of_half.to_string(),
            "mm" => format!("{minute:02}"),
            "m" => minute.to_string(),
            "ss" => format!("{second:02}"),
            "s" => second.to_string(),
            "A" => half.to_uppercase(),
            "a" => half.to_owned(),
            other => other.to_owned(),
        }
    }
}

fn ordinal(number: u64) -> String {
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
            DateTime::of_date(date).unwrap().plus_days(0).with_time_of(DateTime(13 * 3600 + 5 * 60 + 9)).format(format)
        };
        for (date, format, expected) in [
            ("2026-11-22", "YYYY-MM-DD", "2026-11-22"),
            ("2026-11-22", "YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2026/11-November/2026-11-22-Sunday"),
            ("2026-11-02", "dddd, MMMM Do YYYY [at] H:mm:ss", "Monday, November 2nd 2026 at 13:05:09"),
            ("2026-02-03", "YY M D ddd dd d E hh:mm a A Q DDDD", "26 2 3 Tue Tu 2 2 01:05 pm PM 1 034"),
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
    fn weeks_are_named_by_their_number() {
        for (week, monday) in [("2026-W48", "2026-11-23"), ("2026-W01", "2025-12-29"), ("2026-W53", "2026-12-28")] {
            assert_eq!(DateTime::of_week(week, true).unwrap().format("YYYY-MM-DD"), monday);
        }
        assert_eq!(DateTime::of_week("2027-W01", false).unwrap().format("gggg-[W]ww"), "2027-W01");
        for wrong in ["1970-W01", "2025-W53", "2026-W0", "2026-48", "W48", "2026-W99"] {
            assert_eq!(DateTime::of_week(wrong, true), None, "{wrong}");
        }
    }

    #[test]
    fn zones_have_summer_time() {
        let berlin = Zone::named("Europe/Berlin").expect("zone data");
        // 2026-07-01T22:30:00Z and 2026-12-31T23:30:00Z.
        assert_eq!(berlin.at(Now(1_782_945_000)).format("YYYY-MM-DD HH:mm"), "2026-07-02 00:30");
        assert_eq!(berlin.at(Now(1_798_759_800)).format("YYYY-MM-DD HH:mm"), "2027-01-01 00:30");
        assert!(Zone::named("Europe/Atlantis").is_none());
    }
}
