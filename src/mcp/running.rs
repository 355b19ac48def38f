//! Requests under way, so that `notifications/cancelled` finds them.

use crate::limits;
use crate::lock::Unpoisoned;
use crate::rpc::Id;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The requests of one session or one stdio client.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    table: Arc<Mutex<HashMap<Id, Arc<AtomicBool>>>>,
}

impl Requests {
    /// Notes a request, until what is returned is dropped.
    pub fn begin(&self, id: &Id) -> Running {
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut table = self.table.lock().unpoisoned();
        if table.len() < limits::RUNNING_PER_CLIENT {
            table.insert(id.clone(), Arc::clone(&cancelled));
        }
        drop(table);
        Running { requests: self.clone(), id: id.clone(), cancelled }
    }

    /// Cancels a request, if it is under way.
    pub fn cancel(&self, id: &Id) {
        if let Some(cancelled) = self.table.lock().unpoisoned().get(id) {
            cancelled.store(true, Ordering::Release);
        }
    }
}

/// A request under way.
#[derive(Debug)]
pub struct Running {
    requests: Requests,
    id: Id,
    cancelled: Arc<AtomicBool>,
}

impl Running {
    /// Whether the client has cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut table = self.requests.table.lock().unpoisoned();
        // A client may use an id twice; only our own note is taken off.
        if table.get(&self.id).is_some_and(|noted| Arc::ptr_eq(noted, &self.cancelled)) {
            table.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_reaches_the_request_under_way_and_no_other() {
        let requests = Requests::default();
        let id = Id::of(&"one".into()).unwrap();
        let one = requests.begin(&id);
        let two = requests.begin(&Id::of(&"two".into()).unwrap());
        requests.cancel(&id);
        requests.cancel(&Id::of(&"unknown".into()).unwrap());
        assert!(one.is_cancelled() && !two.is_cancelled());
        drop(one);
        assert!(!requests.begin(&id).is_cancelled(), "a new request of the same id is not cancelled");
    }
}
