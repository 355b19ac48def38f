//! The thread that looks for changes while somebody wants to hear of them. While nobody listens, nothing is looked at and
//! nothing wakes up.

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
    let nobody = server.somebody_listens.wait_while(server.subscriptions.lock(), |open| open.is_empty());
    drop(nobody.unpoisoned());
    // A mistake of ours must not end the watch for everybody and for good.
    let told = catch_unwind(AssertUnwindSafe(|| {
        if server.vault.wait_for_change().is_ok() {
            server.subscriptions.tell_all(server);
        }
    }));
    if told.is_err() {
        log::error!("looking for changes failed; going on");
    }
    server.subscriptions.prune();
}
