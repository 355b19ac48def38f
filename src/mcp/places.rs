//! Places for event streams: each costs a connection and its thread, so their number is bounded, in all and by login.

use crate::limits;
use crate::principal::Principal;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a client is told that gets none.
pub const TOO_MANY_STREAMS: &str = "Too many event streams are open; close one, or try again later";

/// The places that are taken, by login.
#[derive(Default)]
pub struct StreamPlaces {
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place among the event streams, given back when dropped.
pub struct StreamPlace {
    taken: Arc<Mutex<HashMap<String, usize>>>,
    owner: String,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.owner);
            }
        }
    }
}

impl StreamPlaces {
    /// Takes a place; `None` when all are taken, or all that this caller may have. `instead` of an older stream, which is
    /// about to end, there is always one.
    pub fn take(&self, principal: &Principal, instead: bool) -> Option<StreamPlace> {
        let owner = principal.key();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let mine = taken.get(&owner).copied().unwrap_or_default();
        if !instead && (all >= limits::STREAMS || mine >= limits::STREAMS_PER_PRINCIPAL) {
            return None;
        }
        taken.insert(owner.clone(), mine + 1);
        Some(StreamPlace { taken: Arc::clone(&self.taken), owner })
    }
}
