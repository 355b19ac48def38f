//! Text as it is compared: functions on data in memory, without files, protocol or clock.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@fold`] | case folding |
//! | [`kept`] | a compact text that is searched ignoring case, and mapping back to the original |
//! | [`words`] | the words of a query, their stems and their spellings |

pub mod fold;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod kept;
pub mod words;

use serde::Serialize;

/// The last character boundary at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The first character boundary at or after `at`; the end of the text if there is none.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// Takes items, at least one, as long as their JSON fits into `left` characters in total; the rest
/// is for the next page.
pub fn fitting_in<T: Serialize>(mut left: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut taken = Vec::new();
    for item in items {
        let cost = serde_json::to_string(&item).map_or(0, |json| json.chars().count() + 1);
        if cost > left && !taken.is_empty() {
            break;
        }
        left = left.saturating_sub(cost);
        taken.push(item);
    }
    taken
}

/// Text made safe for HTML, in element content and in quoted attributes.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The text between two marks at the beginning of a text, and the text after the second; a mark may
/// be escaped with a backslash.
pub(crate) fn unescaped(text: &str, mark: char) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(mark)?;
    let mut is_escaped = false;
    let end = inner.find(|c| {
        let closes = c == mark && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        closes
    })?;
    let (inside, rest) = inner.split_at_checked(end)?;
    Some((inside, rest.strip_prefix(mark)?))
}

/// Pseudo-random numbers for tests, the same in every run.
#[cfg(test)]
pub(crate) mod random {
    /// A linear congruential generator; Knuth's constants.
    pub(crate) struct Random(u64);

    impl Random {
        pub(crate) fn new() -> Random {
            Random(1)
        }

        /// A number below `end`.
        pub(crate) fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }
}
