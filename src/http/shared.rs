//! What all connections of a server share.

use super::peer::Peer;
use crate::lock::Unpoisoned;
use crate::quota::Quota;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What all connections of a server share.
pub(super) struct Shared<S> {
    pub(super) service: S,
    /// Requests in handlers.
    pub(super) workers: Arc<Quota>,
    pub(super) body_bytes: AtomicUsize,
    pub(super) answer_bytes: AtomicUsize,
    pub(super) connections_max: usize,
    pub(super) peers: Mutex<Vec<Arc<Peer>>>,
    pub(super) stopping: AtomicBool,
}

impl<S> Shared<S> {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) fn remove(&self, peer: &Arc<Peer>) {
        self.peers.lock().unpoisoned().retain(|known| !Arc::ptr_eq(known, peer));
    }
}
