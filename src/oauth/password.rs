//! Password checks. bcrypt takes long on purpose, so only a few run at once, only so many wait, and of those only a few
//! from one address.

use super::throttle::source;
use crate::limits;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// Checks passwords, a few at a time.
pub(super) struct Passwords {
    /// Checked in place of a user's hash when there is no such user, so that it takes as long.
    stand_in: Arc<OnceLock<String>>,
    cost: u32,
    places: Mutex<Places>,
    freed: Condvar,
}

#[derive(Default)]
struct Places {
    checking: usize,
    waiting: usize,
    by_source: HashMap<IpAddr, usize>,
}

impl Passwords {
    pub(super) fn new(users: &BTreeMap<String, String>) -> Passwords {
        let cost = users.values().filter_map(|hash| hash.get(4..6)).filter_map(|cost| cost.parse().ok()).max().unwrap_or(12);
        let stand_in = Arc::new(OnceLock::new());
        // Made beside, because it takes as long as a check; who comes before it is ready waits for it. Without a thread
        // the first check makes it.
        let making = Arc::clone(&stand_in);
        let make = move || {
            making.get_or_init(|| stand_in_hash(cost));
        };
        drop(std::thread::Builder::new().name("password".into()).spawn(make));
        Passwords { stand_in, cost, places: Mutex::default(), freed: Condvar::new() }
    }

    /// Whether the password fits the hash; `false` without one, after the same work. `None` when too many are waiting,
    /// in all or from this address.
    pub(super) fn check(&self, hash: Option<&str>, password: &str, from: IpAddr) -> Option<bool> {
        let from = source(from);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = places.by_source.get(&from).copied().unwrap_or_default();
        if places.waiting >= limits::PASSWORD_QUEUE || mine >= limits::PASSWORD_QUEUE_PER_SOURCE {
            return None;
        }
        places.by_source.insert(from, mine + 1);
        places.waiting += 1;
        let waited = self.freed.wait_while(places, |places| places.checking >= limits::PASSWORD_CHECKS);
        let mut places = waited.unwrap_or_else(PoisonError::into_inner);
        places.waiting -= 1;
        places.checking += 1;
        drop(places);
        let stand_in = self.stand_in.get_or_init(|| stand_in_hash(self.cost));
        let fits = password.len() <= limits::PASSWORD_BYTES && bcrypt::verify(password, hash.unwrap_or(stand_in)).unwrap_or(false);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.checking -= 1;
        match places.by_source.get(&from).copied() {
            Some(count @ 2..) => drop(places.by_source.insert(from, count - 1)),
            _ => drop(places.by_source.remove(&from)),
        }
        drop(places);
        self.freed.notify_one();
        Some(fits && hash.is_some())
    }
}

/// The hash of nothing that anybody knows, with the cost of the users' own hashes.
fn stand_in_hash(cost: u32) -> String {
    bcrypt::hash(crate::secret::new_token().unwrap_or_default(), cost).unwrap_or_default()
}
