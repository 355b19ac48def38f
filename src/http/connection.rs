//! A connection on its own thread: what its requests read from and are answered on.

use super::head::Head;
use super::peer::{Activity, Peer};
use super::response::write_in_time;
use super::socket::Buffer;
use crate::quota::Quota;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A connection on its own thread.
pub struct Connection {
    pub(super) peer: Arc<Peer>,
    /// What was read and not used yet.
    pub(super) buffer: Buffer,
    /// Requests in handlers.
    pub(super) workers: Arc<Quota>,
    pub(super) stopping: Arc<AtomicBool>,
}

impl Connection {
    /// Whether the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Writes head and body.
    pub(super) fn send(&self, head: &[u8], body: &[u8]) -> io::Result<()> {
        write_in_time(&self.peer.socket, head, body, || {
            let _ = self.peer.set(Activity::Writing);
        })
    }

    /// Logs an exchange at debug level, without the query: it may hold an authorization code.
    pub(super) fn log_exchange(&self, request: Option<&Head>, status: u16) {
        if !log::log_enabled!(log::Level::Debug) {
            return;
        }
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let agent = short(request.and_then(|head| head.text("user-agent")).unwrap_or_default());
        let what = request.map_or_else(
            || "refused".to_owned(),
            |head| format!("{} {:?}", short(&head.method), short(&head.path)),
        );
        log::debug!("http {what} status={status} from={} agent={agent:?}", self.peer.address);
    }
}
