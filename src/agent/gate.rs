//! A few sessions at a time, in the order in which they came.

use crate::limits;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The places for sessions.
#[derive(Debug)]
pub(super) struct Gate {
    places: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    queue: VecDeque<u64>,
    next: u64,
}

/// A place in the queue, and in the end one to run; it is given back when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    gate: Arc<Gate>,
    number: u64,
    runs: bool,
}

impl Gate {
    /// Room for so many sessions at once.
    pub(super) fn new(places: usize) -> Arc<Gate> {
        Arc::new(Gate { places, state: Mutex::default(), changed: Condvar::new() })
    }

    /// A place at the end of the queue; `None` when it is too long.
    pub(super) fn queue(self: &Arc<Gate>) -> Option<Ticket> {
        let mut state = self.state();
        let free = self.places.saturating_sub(state.running);
        if state.queue.len() >= limits::AGENT_QUEUE + free {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.queue.push_back(number);
        Some(Ticket { gate: Arc::clone(self), number, runs: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits for a place to run. `go_on` is asked now and then, with how many are before this one.
    pub(super) fn wait(&mut self, go_on: &dyn Fn(usize) -> bool) -> bool {
        let mut state = self.gate.state();
        loop {
            let ahead = state.queue.iter().position(|&number| number == self.number).unwrap_or(0);
            if ahead == 0 && state.running < self.gate.places {
                state.queue.pop_front();
                state.running += 1;
                self.runs = true;
                drop(state);
                // The next one may find a place too.
                self.gate.changed.notify_all();
                return true;
            }
            // Not under the lock: whoever is asked may take its time.
            drop(state);
            if !go_on(ahead) {
                return false;
            }
            state = self.gate.state();
            let waited = self.gate.changed.wait_timeout(state, limits::HANG_UP_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if self.runs {
            state.running = state.running.saturating_sub(1);
        } else {
            state.queue.retain(|&number| number != self.number);
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_is_the_first_to_run_and_too_many_are_told_at_once() {
        let gate = Gate::new(1);
        let mut first = gate.queue().unwrap();
        assert!(first.wait(&|_| panic!("there is room")));
        let mut waiting: Vec<Ticket> = (0..limits::AGENT_QUEUE).map(|_| gate.queue().unwrap()).collect();
        assert!(gate.queue().is_none());
        assert!(!waiting[2].wait(&|ahead| {
            assert_eq!(ahead, 2);
            false
        }));
        drop(waiting.remove(0));
        drop(first);
        assert!(!waiting[1].wait(&|ahead| ahead != 1), "one is before it");
        assert!(waiting[0].wait(&|_| panic!("it is the first now")));
    }
}
