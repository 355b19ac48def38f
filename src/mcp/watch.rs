//! The thread that sends notifications of changes. Without subscriptions it sleeps.

use super::Server;
use super::subscription::{FileStates, Subscription};
use crate::lock::Unpoisoned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

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
    let open = server.subscriptions.lock().unpoisoned();
    drop(server.has_subscriptions.wait_while(open, |open| open.is_empty()).unpoisoned());
    // A panic must not end the notifications of all clients for good.
    let sent = catch_unwind(AssertUnwindSafe(|| {
        if server.store.vault().wait_for_change().is_ok() {
            let open: Vec<Arc<Subscription>> =
                server.subscriptions.lock().unpoisoned().iter().filter_map(Weak::upgrade).collect();
            // A folder is scanned once, however many subscriptions name it, by however many URIs.
            let mut states = FileStates::new();
            open.iter().for_each(|subscription| subscription.notify(&mut states));
        }
    }));
    if sent.is_err() {
        log::error!("sending notifications panicked; the next change sends them");
    }
    server.subscriptions.lock().unpoisoned().retain(|subscription| {
        subscription.upgrade().is_some_and(|subscription| subscription.is_open())
    });
}
