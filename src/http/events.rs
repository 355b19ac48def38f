//! Server-sent events on one connection (HTML Living Standard, section 9.2).
//!
//! The connection's own thread stays in a blocking read: that is how a hang-up is noticed at once, without polling.
//! Everybody else writes: an event is one `write`, under a lock, with a short time limit, so that one peer that stops
//! reading is dropped instead of holding up the rest.

use crate::clock;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The writing half of an open event stream.
pub struct EventStream {
    socket: std::sync::Arc<TcpStream>,
    chunked: bool,
    open: AtomicBool,
    writing: Mutex<()>,
    last_write: Mutex<std::time::Instant>,
}

impl EventStream {
    /// The stream on a connection whose response head was just sent. `chunked` unless the peer speaks HTTP/1.0.
    pub(super) fn new(socket: std::sync::Arc<TcpStream>, chunked: bool) -> EventStream {
        EventStream { socket, chunked, open: AtomicBool::new(true), writing: Mutex::new(()), last_write: Mutex::new(clock::instant()) }
    }

    /// Sends one `message` event. `json` is one line, because readers in the wild take each `data:` line as a whole
    /// document. Gives whether the stream is still open.
    pub fn send(&self, json: &str) -> bool {
        let mut event = String::with_capacity(json.len() + 32);
        // Writing to a String cannot fail.
        let _ = write!(event, "event: message\ndata: {}\n\n", json.replace(['\r', '\n'], " "));
        self.write(&event)
    }

    /// Sends a comment, which clients ignore: it keeps proxies from closing a silent stream.
    pub fn beat(&self) -> bool {
        self.write(": ping\n\n")
    }

    /// How long nothing has been sent.
    pub fn silent_for(&self) -> std::time::Duration {
        self.last_write.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Whether events can still be sent.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Ends the stream cleanly. Its connection's thread notices and ends too.
    pub fn end(&self) {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.open.swap(false, Ordering::AcqRel) {
            if self.chunked {
                // The peer may be gone already; then there is nobody to tell.
                let _ = (&*self.socket).write_all(b"0\r\n\r\n");
            }
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }

    /// The peer is gone: nothing can be sent any more.
    pub(super) fn lost(&self) {
        self.open.store(false, Ordering::Release);
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn write(&self, event: &str) -> bool {
        let frame = if self.chunked { format!("{:x}\r\n{event}\r\n", event.len()) } else { event.to_owned() };
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_open() {
            return false;
        }
        if (&*self.socket).write_all(frame.as_bytes()).is_err() {
            self.lost();
            return false;
        }
        *self.last_write.lock().unwrap_or_else(PoisonError::into_inner) = clock::instant();
        true
    }
}
