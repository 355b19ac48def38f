//! Tells listeners when files come or go. While nobody listens, nothing is looked at and nothing wakes up.

use super::Server;
use crate::limits;
use crate::rpc::encode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The state of the vault that listeners know of; `None` while nobody listens.
#[derive(Default)]
pub(super) struct Watch {
    known: Mutex<Option<u64>>,
    somebody_listens: Condvar,
}

impl Server {
    /// A listener was added: what changes from now on is news to it.
    pub fn listening(&self) {
        // An unavailable vault is what it is; the first look that works finds the difference.
        let _ = self.vault.refresh();
        let mut known = self.watch.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(self.vault.listing_generation());
        self.watch.somebody_listens.notify_all();
    }

    /// Starts the thread that looks for changes; it lives as long as the process.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start_watching(self: &Arc<Self>) -> std::io::Result<()> {
        let server = Arc::clone(self);
        std::thread::Builder::new().name("watch".into()).spawn(move || {
            loop {
                watch_once(&server);
            }
        })?;
        Ok(())
    }
}

fn watch_once(server: &Server) {
    let watch = &server.watch;
    let known = watch.known.lock().unwrap_or_else(PoisonError::into_inner);
    drop(watch.somebody_listens.wait_while(known, |known| known.is_none()).unwrap_or_else(PoisonError::into_inner));
    std::thread::sleep(limits::WATCH_EVERY);
    if server.vault.refresh().is_err() {
        return;
    }
    // Under the lock: whoever is not among these listeners yet will call `listening` after it.
    let mut known = watch.known.lock().unwrap_or_else(PoisonError::into_inner);
    let listeners = server.sessions.listeners();
    let generation = server.vault.listing_generation();
    let changed = known.replace(generation).is_some_and(|before| before != generation);
    if listeners.is_empty() {
        *known = None;
    }
    drop(known);
    if changed {
        let message = encode::notification("notifications/resources/list_changed");
        for listener in listeners {
            listener.send(&message);
        }
    }
}
