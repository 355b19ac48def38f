//! A number of permits that is shared: workers, event streams, searches by regular expression.

use crate::lock::Unpoisoned;
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

/// Permits in use.
#[derive(Debug)]
pub struct Quota {
    bounds: Bounds,
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Of each permit in use.
    owners: Vec<String>,
    waiting: usize,
}

impl Quota {
    /// A quota with these limits.
    pub fn new(bounds: Bounds) -> Arc<Quota> {
        Arc::new(Quota { bounds, state: Mutex::default(), released: Condvar::new() })
    }

    /// A quota of one permit; a caller that finds it in use is refused at once.
    pub fn one() -> Arc<Quota> {
        Quota::new(Bounds { total: 1, per_owner: 1, waiting: 0 })
    }

    /// Takes a permit, waiting at most for `patience` while all are in use. A caller that has `per_owner` permits is refused
    /// without waiting while others are free.
    pub fn take(self: &Arc<Self>, owner: &str, patience: Duration) -> Option<Permit> {
        let mut state = self.state.lock().unpoisoned();
        if state.owners.len() >= self.bounds.total {
            if state.waiting >= self.bounds.waiting || patience.is_zero() {
                return None;
            }
            state.waiting += 1;
            let waited = self.released.wait_timeout_while(state, patience, |state| state.owners.len() >= self.bounds.total);
            state = waited.unpoisoned().0;
            state.waiting -= 1;
        }
        let owned = state.owners.iter().filter(|known| *known == owner).count();
        if state.owners.len() >= self.bounds.total || owned >= self.bounds.per_owner {
            // Another waiter may be able to use the notification that ended this wait.
            self.released.notify_one();
            return None;
        }
        state.owners.push(owner.to_owned());
        Some(Permit { quota: Arc::clone(self), owner: owner.to_owned() })
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
        let mut state = self.quota.state.lock().unpoisoned();
        if let Some(own) = state.owners.iter().position(|known| *known == self.owner) {
            state.owners.swap_remove(own);
        }
        // Notifying without a waiter would cost each request a system call.
        if state.waiting > 0 {
            self.quota.released.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_in_total_per_owner_and_in_waiters() {
        let quota = Quota::new(Bounds { total: 3, per_owner: 2, waiting: 1 });
        let now = Duration::ZERO;
        let held = [quota.take("a", now), quota.take("a", now)];
        assert!(held.iter().all(Option::is_some) && quota.take("a", now).is_none(), "two of one owner");
        let other = quota.take("b", now);
        assert!(other.is_some() && quota.take("c", now).is_none(), "three in all");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| quota.take("c", Duration::from_secs(10)).is_some());
            while quota.state.lock().unpoisoned().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(quota.take("c", Duration::from_secs(10)).is_none(), "one waits already");
            assert_eq!(quota.state.lock().unpoisoned().owners.len(), 3);
            drop(held);
            assert!(waiting.join().unwrap());
        });
        drop(other);
        assert!(quota.state.lock().unpoisoned().owners.is_empty());
    }
}
