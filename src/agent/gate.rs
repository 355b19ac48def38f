//! Runs a few sessions at a time, in order of arrival, but only one that writes: each builds on
//! what the previous one filed, and two never rewrite the same page. Queries overtake a session
//! that waits to write.

use super::Work;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The slots for running sessions.
#[derive(Debug)]
pub(super) struct Gate {
    slots: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// How many of them have an allowance.
    allowed: usize,
    /// Whether one of them writes.
    is_filing: bool,
    queue: VecDeque<(u64, Work)>,
    next: u64,
}

/// A position in the queue, then a slot; released when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    gate: Arc<Gate>,
    number: u64,
    work: Work,
    runs: bool,
    has_allowance: bool,
}

impl Gate {
    /// A gate with this many slots.
    pub(super) fn new(slots: usize) -> Arc<Gate> {
        Arc::new(Gate { slots, state: Mutex::default(), changed: Condvar::new() })
    }

    /// A position at the end of the queue; `None` when the queue is full.
    pub(super) fn queue(self: &Arc<Gate>, work: Work) -> Option<Ticket> {
        let mut state = self.state();
        let free = self.slots.saturating_sub(state.running);
        if state.queue.len() >= limits::AGENT_QUEUE + free {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.queue.push_back((number, work));
        Some(Ticket { gate: Arc::clone(self), number, work, runs: false, has_allowance: false })
    }

    /// The number of slots whose sessions have no allowance yet, free ones included.
    pub(super) fn without_allowance(&self) -> usize {
        self.slots.saturating_sub(self.state().allowed)
    }

    /// Waits until no session that writes runs or waits; false on timeout.
    pub(super) fn has_no_writer_within(&self, patience: Duration) -> bool {
        let is_used = |state: &mut State| {
            state.is_filing || state.queue.iter().any(|(_, work)| work.writes())
        };
        let waited = self.changed.wait_timeout_while(self.state(), patience, is_used);
        !waited.unpoisoned().1.timed_out()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unpoisoned()
    }
}

impl Ticket {
    /// Waits for a slot. Calls `proceed` now and then with the number of sessions ahead, and gives
    /// up when it returns false.
    pub(super) fn wait(&mut self, proceed: &dyn Fn(usize) -> bool) -> bool {
        let mut state = self.gate.state();
        loop {
            let ahead =
                state.queue.iter().position(|&(number, _)| number == self.number).unwrap_or(0);
            let next = state.queue.iter().find(|(_, work)| !work.writes() || !state.is_filing);
            if state.running < self.gate.slots
                && next.is_some_and(|&(number, _)| number == self.number)
            {
                state.queue.remove(ahead);
                state.running += 1;
                state.is_filing |= self.work.writes();
                self.runs = true;
                drop(state);
                // The next one may find a slot too.
                self.gate.changed.notify_all();
                return true;
            }
            // Not under the lock: `proceed` may take long.
            drop(state);
            if !proceed(ahead) {
                return false;
            }
            state = self.gate.state();
            let waited = self.gate.changed.wait_timeout(state, limits::HANG_UP_EVERY);
            state = waited.unpoisoned().0;
        }
    }

    /// Records that the session has an allowance, until it has ended.
    pub(super) fn note_allowance(&mut self) {
        self.has_allowance = true;
        self.gate.state().allowed += 1;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if self.runs {
            state.running = state.running.saturating_sub(1);
            state.allowed = state.allowed.saturating_sub(usize::from(self.has_allowance));
            state.is_filing &= !self.work.writes();
        } else {
            state.queue.retain(|&(number, _)| number != self.number);
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_is_the_first_to_run_and_too_many_are_refused_at_once() {
        let gate = Gate::new(1);
        let mut first = gate.queue(Work::Query).unwrap();
        assert!(first.wait(&|_| panic!("it may run")));
        let mut waiting: Vec<Ticket> =
            (0..limits::AGENT_QUEUE).map(|_| gate.queue(Work::Query).unwrap()).collect();
        assert!(gate.queue(Work::Query).is_none());
        assert!(!waiting[0].wait(&|_| false), "one runs already");
        assert!(!waiting[2].wait(&|ahead| {
            assert_eq!(ahead, 2);
            false
        }));
        drop(waiting.remove(0));
        drop(first);
        assert!(!waiting[1].wait(&|ahead| ahead != 1), "one is before it");
        assert!(waiting[0].wait(&|_| panic!("it is the first now")));
    }

    #[test]
    fn sessions_that_write_run_one_after_the_other_and_questions_do_not_wait_for_them() {
        let gate = Gate::new(2);
        let [mut one, mut two, mut question] =
            [Work::Ingest, Work::Ingest, Work::Query].map(|work| gate.queue(work).unwrap());
        assert!(one.wait(&|_| panic!("it may run")));
        assert!(!two.wait(&|_| false));
        assert!(question.wait(&|_| panic!("it may run")));
        drop((one, question));
        assert!(two.wait(&|_| panic!("it may run")));
    }
}
