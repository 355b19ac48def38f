//! What all connections of a server share.

use super::events::EventStream;
use super::peer::Peer;
use crate::lock::Unpoisoned;
use crate::quota::Quota;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// What all connections of a server share.
pub(super) struct Shared<S> {
    pub(super) service: S,
    /// Requests in handlers.
    pub(super) workers: Arc<Quota>,
    pub(super) body_bytes: AtomicUsize,
    pub(super) answer_bytes: AtomicUsize,
    pub(super) connections_max: usize,
    pub(super) peers: Mutex<Vec<Arc<Peer>>>,
    pub(super) streams: Mutex<Vec<Weak<EventStream>>>,
    pub(super) stopping: AtomicBool,
}

impl<S> Shared<S> {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps hold of a stream, so that it can be ended at shutdown.
    pub(super) fn track_stream(&self, stream: &Arc<EventStream>) {
        let mut streams = self.streams.lock().unpoisoned();
        streams.retain(|known| known.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    pub(super) fn peers(&self) -> MutexGuard<'_, Vec<Arc<Peer>>> {
        self.peers.lock().unpoisoned()
    }
}
