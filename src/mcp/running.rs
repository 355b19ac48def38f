//! Requests in progress, so that `notifications/cancelled` finds them.

use crate::lock::Unpoisoned;
use crate::rpc::Id;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Requests of one session or stdio client that can be cancelled at one time; more than
/// [`crate::limits::STDIO_QUEUE`].
const RUNNING_PER_CLIENT: usize = 512;

/// The requests of one session or one stdio client, each until the [`Running`] that
/// [`Requests::begin`] gave is dropped.
#[derive(Debug, Default)]
pub struct Requests(Mutex<HashMap<Id, Weak<AtomicBool>>>);

impl Requests {
    /// Registers a request. Beyond the limit it cannot be cancelled, nor can an earlier one with
    /// the same id.
    pub fn begin(&self, id: &Id) -> Running {
        let running = Running(Arc::default());
        let mut table = self.0.lock().unpoisoned();
        table.retain(|_, known| known.strong_count() > 0);
        if table.len() < RUNNING_PER_CLIENT {
            table.insert(id.clone(), Arc::downgrade(&running.0));
        }
        running
    }

    /// Cancels a request, if it is in progress.
    pub fn cancel(&self, id: &Id) {
        if let Some(cancelled) = self.0.lock().unpoisoned().get(id).and_then(Weak::upgrade) {
            cancelled.store(true, Ordering::Release);
        }
    }
}

/// A request in progress.
#[derive(Debug)]
pub struct Running(Arc<AtomicBool>);

impl Running {
    /// Whether the client has cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_reaches_the_request_in_progress_and_no_other() {
        let requests = Requests::default();
        let id = Id::of(&"one".into()).unwrap();
        let one = requests.begin(&id);
        let two = requests.begin(&Id::of(&"two".into()).unwrap());
        requests.cancel(&id);
        requests.cancel(&Id::of(&"unknown".into()).unwrap());
        assert!(one.is_cancelled() && !two.is_cancelled());
        drop(one);
        assert!(
            !requests.begin(&id).is_cancelled(),
            "a new request of the same id is not cancelled"
        );
    }
}
