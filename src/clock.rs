//! The only place that asks what time it is.
//!
//! Decisions take a [`Now`] as an argument, so that a test can let a day pass and a clock that jumps is one case of a
//! table instead of a mystery. Deadlines use the monotonic clock and are not affected by jumps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment of the wall clock: whole seconds since 1970-01-01T00:00:00Z, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now(pub u64);

impl Now {
    /// The current moment.
    pub fn read() -> Now {
        Now::of(SystemTime::now())
    }

    /// The moment of a file's time stamp; times before 1970 count as 1970.
    pub fn of(time: SystemTime) -> Now {
        Now(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// The moment `life` later.
    pub fn after(self, life: Duration) -> Now {
        Now(self.0.saturating_add(life.as_secs()))
    }

    /// Seconds since an earlier moment; 0 when the clock was set back in between.
    pub fn since(self, earlier: Now) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339 in UTC with whole seconds, for example `2026-02-08T14:30:00Z`.
    pub fn rfc3339(self) -> String {
        let second = self.0 % 86_400;
        let (year, month, day) = civil(i64::try_from(self.0 / 86_400).unwrap_or(i64::MAX));
        format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// The day of a date (`2026-02-08`) counted from 1970-01-01; `None` for another text.
pub fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if (year.len(), month.len(), day.len(), parts.next()) != (4, 2, 2, None) {
        return None;
    }
    days_of(i64::try_from(number(year)?).ok()?, number(month)?, number(day)?)
}

/// A number of digits alone, without a sign.
pub fn number(text: &str) -> Option<u64> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The Gregorian date of a day counted from 1970-01-01: the years are counted from 1 March of year 0, so that the leap
/// day is the last of its year and month lengths follow one linear formula.
pub fn civil(days_since_1970: i64) -> (i64, u64, u64) {
    let days = days_since_1970.saturating_add(DAYS_FROM_YEAR_0_TO_1970);
    let era = days.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = days.rem_euclid(DAYS_OF_400_YEARS).unsigned_abs();
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + i64::try_from(year_of_era).unwrap_or(0) + i64::from(month <= 2);
    (year, month, day)
}

/// The day of a Gregorian date counted from 1970-01-01, as [`civil`]; `None` for a date that does not exist.
pub fn days_of(year: i64, month: u64, day: u64) -> Option<i64> {
    let (years, months) = if month > 2 { (year, month.checked_sub(3)?) } else { (year.checked_sub(1)?, month.checked_add(9)?) };
    let day_of_year = (153_u64.checked_mul(months)? + 2) / 5 + day.checked_sub(1)?;
    let year_of_era = years.rem_euclid(400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + i64::try_from(day_of_year).ok()?;
    let days = years.div_euclid(400).checked_mul(DAYS_OF_400_YEARS)?.checked_add(day_of_era)? - DAYS_FROM_YEAR_0_TO_1970;
    (civil(days) == (year, month, day)).then_some(days)
}

const DAYS_FROM_YEAR_0_TO_1970: i64 = 719_468;
const DAYS_OF_400_YEARS: i64 = 146_097;

/// A point on the monotonic clock by which something has to be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// A deadline `life` from now.
    pub fn after(life: Duration) -> Deadline {
        Deadline(Instant::now() + life)
    }

    /// The same deadline, later by `more`.
    pub fn extended(self, more: Duration) -> Deadline {
        Deadline(self.0 + more)
    }

    /// What is left; `None` when it has passed.
    pub fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

/// Reads the monotonic clock, for durations.
pub fn instant() -> Instant {
    Instant::now()
}

/// Reads the wall clock with the precision of a file's time stamp.
pub fn system() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_770_561_000, "2026-02-08T14:30:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Now(seconds).rfc3339(), expected);
        }
    }

    #[test]
    fn a_clock_set_back_gives_no_negative_age() {
        assert_eq!(Now(10).since(Now(20)), Duration::ZERO);
        assert_eq!(Now::of(UNIX_EPOCH - Duration::from_secs(5)), Now(0));
    }
}
