//! The clocks, which nothing else reads, and days and times of RFC 3339.
//!
//! Decisions take a [`Moment`] as an argument, so that a test can set any time and clock jumps are
//! plain test cases. Deadlines use the monotonic clock and are not affected by jumps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tz::UtcDateTime;

/// A moment of the wall clock: whole seconds since 1970-01-01T00:00:00Z, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// The current moment.
    pub fn read() -> Moment {
        Moment::of(SystemTime::now())
    }

    /// The moment of a file's time stamp; times before 1970 count as 1970.
    pub fn of(time: SystemTime) -> Moment {
        Moment(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// The moment `life` later.
    pub fn after(self, life: Duration) -> Moment {
        Moment(self.0.saturating_add(life.as_secs()))
    }

    /// The time since an earlier moment, in whole seconds; 0 if the clock was set back in between.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339 in UTC with whole seconds, for example `2026-02-08T14:30:00Z`.
    pub fn rfc3339(self) -> String {
        let second = self.0 % 86_400;
        let (year, month, day) = date_of_day(i64::try_from(self.0 / 86_400).unwrap_or(i64::MAX));
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }
}

/// The days from 1970-01-01 to a date (`2026-02-08`); `None` for any other text.
pub fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if (year.len(), month.len(), day.len(), parts.next()) != (4, 2, 2, None) {
        return None;
    }
    days_of(i64::try_from(number(year)?).ok()?, number(month)?, number(day)?)
}

/// Parses a number made of digits only, without a sign.
pub fn number(text: &str) -> Option<u64> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The Gregorian date of a day counted from 1970-01-01; 1970-01-01 itself for one out of range.
pub fn date_of_day(days_since_1970: i64) -> (i64, u64, u64) {
    let date = UtcDateTime::from_timespec(days_since_1970.saturating_mul(86_400), 0);
    date.map_or((1970, 1, 1), |date| {
        (date.year().into(), date.month().into(), date.month_day().into())
    })
}

/// The days from 1970-01-01 to a Gregorian date, the inverse of [`date_of_day`]; `None` for a date
/// that does not exist.
pub fn days_of(year: i64, month: u64, day: u64) -> Option<i64> {
    let (year, month, day) = (year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    UtcDateTime::new(year, month, day, 0, 0, 0, 0)
        .ok()
        .map(|date| date.unix_time().div_euclid(86_400))
}

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

    /// Calls `attempt`, with a pause after each time, until it gives a value; `None` when the
    /// deadline has passed.
    ///
    /// # Errors
    /// Those of `attempt`.
    pub fn poll<T, E>(
        self,
        pause: Duration,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        loop {
            let value = attempt()?;
            if value.is_some() || self.left().is_none() {
                return Ok(value);
            }
            std::thread::sleep(pause);
        }
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
            assert_eq!(Moment(seconds).rfc3339(), expected);
        }
    }

    #[test]
    fn a_clock_set_back_gives_no_negative_age() {
        assert_eq!(Moment(10).since(Moment(20)), Duration::ZERO);
        assert_eq!(Moment::of(UNIX_EPOCH - Duration::from_secs(5)), Moment(0));
    }
}
