//! Password checks. bcrypt takes long on purpose, so only a few run at once and only so many wait.

use crate::limits;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

/// Checks passwords, a few at a time.
pub(super) struct Passwords {
    /// Checked in place of a user's hash when there is no such user, so that it takes as long.
    stand_in: String,
    places: Mutex<Places>,
    freed: Condvar,
}

#[derive(Default)]
struct Places {
    checking: usize,
    waiting: usize,
}

impl Passwords {
    pub(super) fn new(users: &BTreeMap<String, String>) -> Passwords {
        // A hash of nothing anybody knows, with the cost of the users' own hashes.
        let cost = users.values().filter_map(|hash| hash.get(4..6)).filter_map(|cost| cost.parse().ok()).max().unwrap_or(12);
        let nothing = crate::secret::new_token().unwrap_or_default();
        let stand_in = bcrypt::hash(nothing, cost).unwrap_or_default();
        Passwords { stand_in, places: Mutex::default(), freed: Condvar::new() }
    }

    /// Whether the password fits the hash; `false` without one, after the same work. `None` when too many are waiting.
    pub(super) fn check(&self, hash: Option<&str>, password: &str) -> Option<bool> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.waiting >= limits::PASSWORD_QUEUE {
            return None;
        }
        places.waiting += 1;
        let waited = self.freed.wait_while(places, |places| places.checking >= limits::PASSWORD_CHECKS);
        let mut places = waited.unwrap_or_else(PoisonError::into_inner);
        places.waiting -= 1;
        places.checking += 1;
        drop(places);
        let fits = password.len() <= limits::PASSWORD_BYTES && bcrypt::verify(password, hash.unwrap_or(&self.stand_in)).unwrap_or(false);
        self.places.lock().unwrap_or_else(PoisonError::into_inner).checking -= 1;
        self.freed.notify_one();
        Some(fits && hash.is_some())
    }
}
