//! A number of permits that is shared: workers, event streams, password checks, searches by regular
//! expression.

use crate::clock::Deadline;
use crate::lock::Unpoisoned;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The limits of a quota.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Permits in use at the same time, in total.
    pub total: usize,
    /// Permits in use at the same time, per owner.
    pub per_owner: usize,
    /// Callers that wait for one at the same time; further ones are refused at once.
    pub waiting: usize,
}

/// Permits in use, and the callers that wait for one, in the order of their arrival.
#[derive(Debug)]
pub struct Quota {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of each permit in use.
    owners: Vec<String>,
    waiting: VecDeque<Waiter>,
    last_number: u64,
    closed: bool,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    owner: String,
    /// Notified when the waiter has left the queue: it has a permit, or the quota is closed.
    called: Arc<Condvar>,
}

impl State {
    fn has_room(&self, owner: &str, bounds: Bounds) -> bool {
        let owned = || self.owners.iter().filter(|known| *known == owner).count();
        self.owners.len() < bounds.total
            && (bounds.per_owner >= bounds.total || owned() < bounds.per_owner)
    }

    fn is_waiting(&self, number: u64) -> bool {
        self.waiting.iter().any(|waiter| waiter.number == number)
    }
}

impl Quota {
    /// A quota with these limits.
    pub fn new(bounds: Bounds) -> Arc<Quota> {
        Arc::new(Quota { bounds, state: Mutex::default() })
    }

    /// A quota of one permit; a caller that finds it in use is refused at once.
    pub fn one() -> Arc<Quota> {
        Quota::new(Bounds { total: 1, per_owner: 1, waiting: 0 })
    }

    /// Takes a permit, waiting at most for `patience` while all are in use or `owner` has its
    /// share. Who came first is served first, but for those whose owner has its share: they hold up
    /// nobody else.
    pub fn take(self: &Arc<Self>, owner: &str, patience: Duration) -> Option<Permit> {
        let permit = || Permit { quota: Arc::clone(self), owner: owner.to_owned() };
        let mut state = self.state.lock().unpoisoned();
        if state.closed {
            return None;
        }
        if state.has_room(owner, self.bounds) {
            state.owners.push(owner.to_owned());
            return Some(permit());
        }
        if state.waiting.len() >= self.bounds.waiting || patience.is_zero() {
            return None;
        }
        let (called, deadline) = (Arc::new(Condvar::new()), Deadline::after(patience));
        state.last_number += 1;
        let number = state.last_number;
        state.waiting.push_back(Waiter {
            number,
            owner: owner.to_owned(),
            called: Arc::clone(&called),
        });
        while state.is_waiting(number) {
            let Some(left) = deadline.left() else {
                state.waiting.retain(|waiter| waiter.number != number);
                return None;
            };
            state = called.wait_timeout(state, left).unpoisoned().0;
        }
        if state.closed { None } else { Some(permit()) }
    }

    /// Refuses everybody from now on, also those who wait.
    pub fn close(&self) {
        let mut state = self.state.lock().unpoisoned();
        state.closed = true;
        for waiter in state.waiting.drain(..) {
            waiter.called.notify_one();
        }
    }
}

/// A permit, released when dropped.
#[derive(Debug)]
pub struct Permit {
    quota: Arc<Quota>,
    owner: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let bounds = self.quota.bounds;
        let mut state = self.quota.state.lock().unpoisoned();
        if let Some(mine) = state.owners.iter().position(|known| *known == self.owner) {
            state.owners.swap_remove(mine);
        }
        // One permit became free, so at most one of those who wait gets one.
        let next = state.waiting.iter().position(|waiter| state.has_room(&waiter.owner, bounds));
        if let Some(waiter) = next.and_then(|next| state.waiting.remove(next)) {
            state.owners.push(waiter.owner);
            waiter.called.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_until(quota: &Quota, waiting: usize) {
        while quota.state.lock().unpoisoned().waiting.len() != waiting {
            std::thread::yield_now();
        }
    }

    #[test]
    fn permits_are_limited_in_total_per_owner_and_in_waiters() {
        let quota = Quota::new(Bounds { total: 3, per_owner: 2, waiting: 1 });
        let now = Duration::ZERO;
        let held = [quota.take("a", now), quota.take("a", now)];
        assert!(
            held.iter().all(Option::is_some) && quota.take("a", now).is_none(),
            "two of one owner"
        );
        let other = quota.take("b", now);
        assert!(other.is_some() && quota.take("c", now).is_none(), "three in all");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| quota.take("c", Duration::from_secs(10)).is_some());
            wait_until(&quota, 1);
            assert!(quota.take("c", Duration::from_secs(10)).is_none(), "one waits already");
            assert_eq!(quota.state.lock().unpoisoned().owners.len(), 3);
            drop(held);
            assert!(waiting.join().unwrap());
        });
        drop(other);
        assert!(quota.state.lock().unpoisoned().owners.is_empty());
    }

    #[test]
    fn an_owner_with_its_share_waits_and_holds_up_nobody() {
        let quota = Quota::new(Bounds { total: 2, per_owner: 1, waiting: 8 });
        let first = quota.take("a", Duration::ZERO);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| quota.take("a", Duration::from_secs(10)).is_some());
            wait_until(&quota, 1);
            let other = quota.take("b", Duration::ZERO);
            assert!(other.is_some(), "the other half is free");
            drop(other);
            wait_until(&quota, 1);
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(
            quota.take("a", Duration::from_millis(1)).is_some(),
            "a permit that was given is released"
        );
    }

    #[test]
    fn a_closed_quota_lets_nobody_wait() {
        let quota = Quota::new(Bounds { total: 1, per_owner: 1, waiting: 8 });
        let held = quota.take("", Duration::ZERO);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| quota.take("", Duration::from_secs(60)).is_none());
            wait_until(&quota, 1);
            quota.close();
            assert!(waiting.join().unwrap());
        });
        drop(held);
        assert!(quota.take("", Duration::ZERO).is_none());
    }
}
