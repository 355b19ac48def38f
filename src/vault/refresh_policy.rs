//! When to walk a vault whose file system does not report changes: rule 6 of the vault. A walk is valid for ten times the duration
//! of the shortest recent walk, so walking takes at most a tenth of a core, and a temporarily busy machine does not make walks valid
//! for longer.

use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What a call has to do before it may trust the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing: the last walk is valid.
    Nothing,
    /// A walk, which the call waits for.
    Foreground,
    /// A walk in the background, while the call uses the index as it is.
    Background,
}

#[derive(Debug, Default)]
struct State {
    /// When the last walk began.
    began: Option<Instant>,
    /// How long the last walks took.
    took: VecDeque<Duration>,
    /// When the last call came.
    called: Option<Instant>,
}

/// The last walks, and when the last call came.
#[derive(Debug, Default)]
pub(super) struct RefreshPolicy(Mutex<State>);

impl RefreshPolicy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unpoisoned()
    }

    /// Records a call at this time, and returns what is due before it.
    pub(super) fn due_before_call(&self, now: Instant) -> Due {
        let mut state = self.state();
        let called = state.called.replace(now);
        let (Some(began), Some(&shortest)) = (state.began, state.took.iter().min()) else {
            return Due::Foreground;
        };
        let is_recent = |moment: Instant| {
            now.saturating_duration_since(moment) < shortest * limits::WALK_VALID_TIMES
        };
        if is_recent(began) {
            Due::Nothing
        } else if shortest >= limits::FOREGROUND_WALK && called.is_some_and(is_recent) {
            Due::Background
        } else {
            Due::Foreground
        }
    }

    /// When the last walk began, if there was one.
    pub(super) fn last_began(&self) -> Option<Instant> {
        self.state().began
    }

    /// Records a walk.
    pub(super) fn record_walk(&self, began: Instant, took: Duration) {
        let mut state = self.state();
        state.began = Some(began);
        state.took.push_back(took);
        if state.took.len() > limits::WALKS_COMPARED {
            state.took.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn a_walk_is_valid_for_ten_times_the_shortest_and_then_runs_in_the_background() {
        const MS: Duration = Duration::from_millis(1);
        let (policy, start) = (RefreshPolicy::default(), clock::instant());
        assert_eq!(policy.due_before_call(start), Due::Foreground, "nothing is known yet");
        policy.record_walk(start, 100 * MS);
        assert_eq!(policy.due_before_call(start + 500 * MS), Due::Nothing);
        assert_eq!(policy.due_before_call(start + 999 * MS), Due::Nothing);
        assert_eq!(policy.due_before_call(start + 1001 * MS), Due::Background, "calls keep coming");
        policy.record_walk(start + 1001 * MS, 4000 * MS);
        assert_eq!(policy.due_before_call(start + 1950 * MS), Due::Nothing);
        assert_eq!(
            policy.due_before_call(start + 2002 * MS),
            Due::Background,
            "a busy machine makes no walk valid for longer"
        );
        assert_eq!(policy.due_before_call(start + 9000 * MS), Due::Foreground, "after a pause");
        policy.record_walk(start + 9000 * MS, MS);
        assert_eq!(
            policy.due_before_call(start + 9011 * MS),
            Due::Foreground,
            "a short walk is waited for"
        );
    }
}
