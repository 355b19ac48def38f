//! How long the answer to a failed login is delayed, and what is known of its source.

use super::source::Source;
use super::store::State;
use crate::clock::Now;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::{Bounds, Permit, Quota};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// As it is stored.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            None => write!(f, "{}", self.network),
            Some(user) => write!(f, "{} {user}", self.network),
        }
    }
}

/// What is known of a source that wants to log in; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// A login came from there before.
    Known,
    /// Nothing.
    New,
    /// The last attempt failed.
    Failed,
}

/// Failures by source, and the answers to them that are held back.
pub(super) struct Throttle {
    failures: Mutex<HashMap<Source, (u32, Now)>>,
    held: Arc<Quota>,
}

impl Default for Throttle {
    fn default() -> Throttle {
        let bounds = Bounds { all: limits::THROTTLE_HELD, per_owner: usize::MAX, waiting: 0 };
        Throttle { failures: Mutex::default(), held: Quota::new(bounds) }
    }
}

impl Throttle {
    /// Records a failure; gives how long to hold back its answer: a quarter second, then twice as long each time.
    pub(super) fn failed(&self, from: &Source, now: Now) -> Duration {
        let mut failures = self.failures.lock().unpoisoned();
        free_entry(&mut failures, from, |(_, last)| *last);
        let (count, last) = failures.entry(from.clone()).or_insert((0, now));
        *count = if now.since(*last) > limits::THROTTLE_MEMORY { 1 } else { count.saturating_add(1) };
        *last = now;
        (Duration::from_millis(250) * 2_u32.pow((*count - 1).min(8))).min(limits::THROTTLE_MAX_DELAY)
    }

    /// A permit for an answer that is held back: each holds a connection.
    pub(super) fn hold(&self) -> Option<Permit> {
        self.held.take("", Duration::ZERO)
    }

    /// Forgets the failures of a source.
    pub(super) fn succeeded(&self, from: &Source) {
        self.failures.lock().unpoisoned().remove(from);
    }

    /// What is known of a source. One that has logged in and failed since counts as new: others may share its address.
    pub(super) fn standing(&self, state: &State, from: &Source, now: Now) -> Standing {
        let failed = self.failures.lock().unpoisoned().get(from).copied();
        let failed = failed.is_some_and(|(_, last)| now.since(last) <= limits::THROTTLE_MEMORY);
        match (state.has_logged_in(from), failed) {
            (true, false) => Standing::Known,
            (true, true) | (false, false) => Standing::New,
            (false, true) => Standing::Failed,
        }
    }
}

/// Frees an entry for one more source, if none is free, by removing the one seen longest ago.
pub(super) fn free_entry<K: Clone + Eq + Hash, T>(sources: &mut HashMap<K, T>, newcomer: &K, when: impl Fn(&T) -> Now) {
    if sources.len() < limits::THROTTLED_SOURCES || sources.contains_key(newcomer) {
        return;
    }
    let oldest = sources.iter().min_by_key(|(_, about)| when(about)).map(|(source, _)| source.clone());
    oldest.and_then(|oldest| sources.remove(&oldest));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_each_time_and_are_forgotten() {
        let throttle = Throttle::default();
        let source = |address: &str| Source::new(address.parse().unwrap(), false, "");
        let from = &source("203.0.113.1");
        let waits: Vec<u128> = (0..7).map(|_| throttle.failed(from, Now(100)).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 4000, 4000]);
        assert_eq!(throttle.failed(&source("203.0.113.2"), Now(100)).as_millis(), 250, "another address");
        let later = Now(100 + limits::THROTTLE_MEMORY.as_secs() + 1);
        assert_eq!(throttle.failed(from, later).as_millis(), 250);
        throttle.succeeded(from);
        assert_eq!(throttle.failed(from, later).as_millis(), 250);
    }
}
