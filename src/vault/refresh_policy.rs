//! When the disk is looked at: rule 6 of the vault. A walk is valid for ten times its own duration, so looking takes at
//! most a tenth of the time (of a core, or of those that share a large vault's walk); while calls keep coming it runs
//! beside them, after a pause in front of the first one.

use crate::clock;
use crate::limits;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a call has to do before it may trust the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing: the last walk still tells the state of the disk.
    Nothing,
    /// A walk, and wait for it.
    InFront,
    /// A walk beside the call, which goes on with what is known.
    Beside,
}

/// The last walk.
#[derive(Debug, Clone, Copy)]
struct Walked {
    began: Instant,
    took: Duration,
}

impl Walked {
    /// How long it tells the state of the disk.
    fn valid_for(&self) -> Duration {
        self.took * limits::WALK_VALID_TIMES
    }

    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < self.valid_for()
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    walked: Option<Walked>,
    /// When the last call came.
    called: Option<Instant>,
    /// Walking time that was saved up by pauses between calls.
    credit: Duration,
}

/// The last walk, when the last call came, and the walking time saved up since.
#[derive(Debug, Default)]
pub(super) struct RefreshPolicy(Mutex<State>);

impl RefreshPolicy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call at this time; what is due before it.
    pub(super) fn call(&self, now: Instant) -> Due {
        let mut state = self.state();
        let before = *state;
        let since = before.called.map_or(Duration::ZERO, |called| now.saturating_duration_since(called));
        let credit = (before.credit + since / limits::WALK_VALID_TIMES).min(limits::WALK_CREDIT);
        let took = before.walked.map_or(Duration::ZERO, |walked| walked.took);
        let saved = credit.checked_sub(took).filter(|_| took < limits::WALK_IN_FRONT);
        state.called = Some(now);
        state.credit = saved.unwrap_or(credit);
        let Some(walked) = before.walked else { return Due::InFront };
        // A small vault is looked at for each call as long as the time for it was saved up by the pauses before.
        if walked.is_valid(now) && saved.is_none() {
            return Due::Nothing;
        }
        let calls_keep_coming = before.called.is_some_and(|called| now.saturating_duration_since(called) < walked.valid_for());
        if walked.took < limits::WALK_IN_FRONT || !calls_keep_coming { Due::InFront } else { Due::Beside }
    }

    /// Whether the last walk still tells the state of the disk.
    pub(super) fn is_valid(&self) -> bool {
        self.state().walked.is_some_and(|walked| walked.is_valid(clock::instant()))
    }

    /// When the last walk began, if there was one.
    pub(super) fn last_began(&self) -> Option<Instant> {
        self.state().walked.map(|walked| walked.began)
    }

    /// Notes a walk.
    pub(super) fn walked(&self, began: Instant, took: Duration) {
        self.state().walked = Some(Walked { began, took });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_walk_is_valid_for_ten_times_its_duration_and_then_goes_on_beside_the_calls() {
        let (pace, start) = (RefreshPolicy::default(), clock::instant());
        assert_eq!(pace.call(start), Due::InFront, "nothing is known yet");
        pace.walked(start, 100 * MS);
        assert_eq!(pace.call(start + 500 * MS), Due::Nothing);
        assert_eq!(pace.call(start + 999 * MS), Due::Nothing);
        assert_eq!(pace.call(start + 1001 * MS), Due::Beside, "calls keep coming");
        assert_eq!(pace.call(start + 4000 * MS), Due::InFront, "after a pause");
    }

    #[test]
    fn a_small_vault_is_looked_at_for_each_call_as_long_as_that_takes_a_tenth_of_the_time() {
        let (pace, start) = (RefreshPolicy::default(), clock::instant());
        pace.walked(start, MS);
        // One each 20 ms leaves time for a walk of 1 ms before every one of them. One each 2 ms before every fifth, and until
        // what was saved up before is spent: another tenth.
        for (pause, share) in [(20, 1000..=1000), (2, 200..=300)] {
            let begin = start + Duration::from_secs(60 * pause);
            let mut walks = 0;
            for number in 0..1000 {
                let now = begin + MS * (number * pause) as u32;
                if pace.call(now) == Due::InFront {
                    walks += 1;
                    pace.walked(now, MS);
                }
            }
            assert!(share.contains(&walks), "{walks} walks for 1000 calls, one each {pause} ms");
        }
    }
}
