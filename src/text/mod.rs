//! The loops of index and search over the text of notes, and nothing else: functions over what is in memory. No file, no
//! protocol, no clock.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@fold`] | text without case, and where it is in the original |
//! | [`kept`] | a text that is searched without case and takes little memory |
//! | [`pattern`] | regular expressions |
//! | [`query`], `condition` | Obsidian's search language, and what it asks of a file |
//! | [`words`] | the words of a query, their stems and what stands in for them |
//! | [`mod@snippet`] | the text around a match |

mod condition;
pub mod fold;
pub mod kept;
pub mod pattern;
pub mod query;
#[cfg(test)]
pub(crate) mod random;
pub mod snippet;
pub mod words;

use serde::Serialize;

/// The last offset, up to `at`, where a character of a text begins; its end for one behind that.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The first offset, from `at` on, where a character of a text begins; its end for one behind that.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// Takes items as long as their JSON has not more characters together, at least one; the rest is for the next page.
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
