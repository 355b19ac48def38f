//! Durations: years and months are calendar units, all others are seconds.

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Duration {
    pub(crate) months: f64,
    /// Seconds, in addition to the months.
    pub(crate) rest: f64,
}

const DAY: f64 = 86_400.0;
/// Average days of a month: 400 years have 146,097.
const DAYS_OF_MONTH: f64 = 146_097.0 / 4_800.0;

/// Units by their names: months and seconds of each.
const UNITS: [(&[&str], f64, f64); 8] = [
    (&["y", "year", "years"], 12.0, 0.0),
    (&["M", "month", "months"], 1.0, 0.0),
    (&["w", "week", "weeks"], 0.0, 7.0 * DAY),
    (&["d", "day", "days"], 0.0, DAY),
    (&["h", "hr", "hrs", "hour", "hours"], 0.0, 3_600.0),
    (&["m", "min", "mins", "minute", "minutes"], 0.0, 60.0),
    (&["s", "second", "seconds"], 0.0, 1.0),
    (&["ms", "millisecond", "milliseconds"], 0.0, 0.001),
];

impl Duration {
    /// `7d`, `1 week`, `2h 30m`, also negative.
    pub(crate) fn parse(text: &str) -> Option<Duration> {
        let mut rest = text.trim();
        let is_negative = rest.starts_with('-');
        rest = rest.trim_start_matches(['-', '+']);
        let mut sum = Duration::default();
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, behind) = rest.split_at(digits);
            let behind = behind.trim_start();
            let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
            let (unit, behind) = behind.split_at(end);
            let number: f64 = number.parse().ok()?;
            sum = sum.plus(Duration::unit(unit)?.times(number));
            rest = behind.trim_start_matches([' ', ',']);
        }
        Some(if is_negative { sum.times(-1.0) } else { sum })
    }

    /// One of a unit: `d`, `day` or `days`.
    pub(crate) fn unit(name: &str) -> Option<Duration> {
        let (_, months, rest) = UNITS.iter().find(|(names, ..)| {
            // `m` is a minute, and `M` a month.
            names.contains(&name)
                || name.len() > 1 && names.iter().any(|own| own.eq_ignore_ascii_case(name))
        })?;
        Some(Duration { months: *months, rest: *rest })
    }

    pub(crate) fn plus(self, other: Duration) -> Duration {
        Duration { months: self.months + other.months, rest: self.rest + other.rest }
    }

    pub(crate) fn times(self, factor: f64) -> Duration {
        Duration { months: self.months * factor, rest: self.rest * factor }
    }

    /// All of it in seconds.
    pub(crate) fn seconds(self) -> f64 {
        self.months * DAYS_OF_MONTH * DAY + self.rest
    }

    /// In words, as moment.js writes it: `a day`, `2 hours`.
    #[cfg(feature = "notes")]
    pub(crate) fn text(self) -> String {
        let seconds = self.seconds().abs();
        let (minutes, hours, days) =
            ((seconds / 60.0).round(), (seconds / 3_600.0).round(), (seconds / DAY).round());
        let (months, years) = (
            (seconds / DAY / DAYS_OF_MONTH).round(),
            (seconds / DAY / DAYS_OF_MONTH / 12.0).round(),
        );
        if seconds.round() < 45.0 {
            return "a few seconds".into();
        }
        let steps = [
            (minutes, 45.0, "a minute", "minutes"),
            (hours, 22.0, "an hour", "hours"),
            (days, 26.0, "a day", "days"),
            (months, 11.0, "a month", "months"),
            (years, f64::INFINITY, "a year", "years"),
        ];
        let phrase = steps.iter().find_map(|(count, end, one, many)| {
            if *count <= 1.0 {
                Some((*one).to_owned())
            } else {
                (count < end).then(|| format!("{count} {many}"))
            }
        });
        phrase.unwrap_or_else(|| "a very long time".into())
    }

    /// As a time relative to now: `in 2 hours`, `a day ago`.
    #[cfg(feature = "notes")]
    pub(crate) fn relative(self) -> String {
        if self.seconds() > 0.0 {
            format!("in {}", self.text())
        } else {
            format!("{} ago", self.text())
        }
    }
}
