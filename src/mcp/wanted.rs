//! What a client of 2026-07-28 asked to hear of, and the permits for it.

use crate::limits;
use crate::lock::Unpoisoned;
use crate::principal::Principal;
use crate::rpc::{Error, Id};
use crate::vault::VaultPath;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What a client of 2026-07-28 asked to hear of, as far as there is such a thing here.
pub struct Wanted {
    /// The id of the request; it tags everything that is sent.
    pub id: Id,
    pub(super) principal: Principal,
    pub(super) list_changes: bool,
    pub(super) resources: Vec<(String, VaultPath, NamePermit)>,
}

/// Bytes of the names of subscribed resources, by login.
pub(super) type Names = Mutex<HashMap<String, usize>>;

/// A permit for the name of a subscribed resource, of what a login and all together are allowed; given back when dropped.
pub(super) struct NamePermit {
    names: Arc<Names>,
    login: String,
    bytes: usize,
}

impl NamePermit {
    /// For a name of so many bytes.
    ///
    /// # Errors
    /// -32603 when there are too many.
    pub(super) fn take(names: &Arc<Names>, login: String, bytes: usize) -> Result<NamePermit, Error> {
        let mut taken = names.lock().unpoisoned();
        let (all, own) = (taken.values().sum::<usize>(), taken.get(&login).copied().unwrap_or(0));
        if all + bytes > limits::SUBSCRIBED_BYTES || own + bytes > limits::SUBSCRIBED_BYTES_PER_LOGIN {
            return Err(Error::busy("too many resources are subscribed to; try again later"));
        }
        taken.insert(login.clone(), own + bytes);
        Ok(NamePermit { names: Arc::clone(names), login, bytes })
    }
}

impl Drop for NamePermit {
    fn drop(&mut self) {
        let mut taken = self.names.lock().unpoisoned();
        let left = taken.get(&self.login).map_or(0, |own| own.saturating_sub(self.bytes));
        if left == 0 {
            taken.remove(&self.login);
        } else {
            taken.insert(self.login.clone(), left);
        }
    }
}
