//! The thread that sends notifications of changes. Without subscriptions it sleeps.

use super::Server;
use crate::lock::Unpoisoned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Server {
    /// Starts the thread; it lives as long as the process.
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
    let subscriptions = server.has_subscriptions.wait_while(server.subscriptions.lock(), |open| open.is_empty());
    drop(subscriptions.unpoisoned());
    // A panic must not end the notifications of all clients for good.
    let sent = catch_unwind(AssertUnwindSafe(|| {
        if server.vault.wait_for_change().is_ok() {
            server.subscriptions.notify_all(server);
        }
    }));
    if sent.is_err() {
        log::error!("looking for changes failed; going on");
    }
    server.subscriptions.prune();
}
