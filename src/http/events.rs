//! Server-sent events on one connection (HTML Living Standard, section 9.2).
//!
//! The connection's own thread stays in a blocking read: that is how a hang-up is noticed at once, without polling.
//! Everybody else writes: an event is one `write`, under a lock, with a short time limit, so that one peer that stops
//! reading is dropped instead of holding up the rest.

use crate::clock;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The writing half of an open event stream.
pub struct EventStream {
    /// `None` once the stream has ended: whoever still holds it holds no descriptor.
    socket: Mutex<Option<Arc<TcpStream>>>,
    chunked: bool,
    farewell: Option<String>,
    last_write: Mutex<Instant>,
}

impl EventStream {
    /// The stream on a connection whose response head was just sent. `chunked` unless the peer speaks HTTP/1.0;
    /// `farewell` is the last event when this side ends it.
    pub(super) fn new(socket: Arc<TcpStream>, chunked: bool, farewell: Option<String>) -> EventStream {
        EventStream { socket: Mutex::new(Some(socket)), chunked, farewell, last_write: Mutex::new(clock::instant()) }
    }

    /// Sends one `message` event, with an id if there is one. `json` is one line, because readers in the wild take each
    /// `data:` line as a whole document. Gives whether the stream is still open.
    pub fn send(&self, id: Option<&str>, json: &str) -> bool {
        self.write(&event(id, json))
    }

    /// Sends an event with an id and no data, and how long to wait before opening a broken stream again.
    pub fn prime(&self, id: &str, retry_ms: u32) -> bool {
        self.write(&format!("id: {id}\nretry: {retry_ms}\ndata: \n\n"))
    }

    /// Sends a comment, which clients ignore: it keeps proxies from closing a silent stream.
    pub fn beat(&self) -> bool {
        self.write(": ping\n\n")
    }

    /// How long nothing has been sent.
    pub fn silent_for(&self) -> Duration {
        self.last_write.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Whether events can still be sent.
    pub fn is_open(&self) -> bool {
        self.socket().is_some()
    }

    /// Ends the stream cleanly. Its connection's thread notices and ends too.
    pub fn end(&self) {
        if let Some(socket) = self.socket().take() {
            let mut last = self.farewell.as_ref().map(|farewell| self.framed(&event(None, farewell))).unwrap_or_default();
            if self.chunked {
                last.push_str("0\r\n\r\n");
            }
            // The peer may be gone already; then there is nobody to tell.
            let _ = (&*socket).write_all(last.as_bytes());
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The peer is gone: nothing can be sent any more.
    pub(super) fn lost(&self) {
        if let Some(socket) = self.socket().take() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The lock is held while an event is written, so that events do not mix.
    fn socket(&self) -> MutexGuard<'_, Option<Arc<TcpStream>>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn framed(&self, event: &str) -> String {
        if self.chunked { format!("{:x}\r\n{event}\r\n", event.len()) } else { event.to_owned() }
    }

    fn write(&self, event: &str) -> bool {
        let frame = self.framed(event);
        let mut socket = self.socket();
        let Some(open) = socket.as_ref() else { return false };
        if (&**open).write_all(frame.as_bytes()).is_err() {
            let _ = open.shutdown(Shutdown::Both);
            *socket = None;
            return false;
        }
        *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) = clock::instant();
        true
    }
}

fn event(id: Option<&str>, json: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {}\n\n", json.replace(['\r', '\n'], " "))
}
