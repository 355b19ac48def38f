//! Server-sent events on one connection (HTML Living Standard, section 9.2).
//!
//! The sender of an event puts it into a bounded queue and goes on; each stream has a thread that
//! writes. So a peer that reads slowly, or not at all, delays no other: it is dropped when it falls
//! too far behind. The connection's own thread does the work that makes the events, or stays in a
//! blocking read: that is how a hang-up is noticed at once.

use super::peer::Peer;
use super::response::write_in_time;
use crate::limits;
use crate::lock::Unpoisoned;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Events queued for a slow subscriber, bytes: twice the largest response. A subscriber that falls
/// further behind is disconnected and may reconnect.
const EVENT_QUEUE_BYTES: usize = 2 * 1024 * 1024;
/// Stack of the thread that writes an event stream, bytes; it does nothing else.
const EVENT_STACK_BYTES: usize = 128 * 1024;

/// How an event stream ends.
#[derive(Default)]
pub struct StreamEnd {
    /// Called before each event and heartbeat; `false` ends the stream.
    pub may_continue: Option<Box<dyn Fn() -> bool + Send>>,
    /// The last event, for a stream that this side ends.
    pub last_message: Option<String>,
}

/// The writing half of an open event stream.
pub struct EventStream {
    /// `None` once the stream has ended; queued events are still written.
    queue: Mutex<Option<Sender<String>>>,
    /// Bytes in the queue.
    waiting: AtomicUsize,
}

/// A comment, which clients ignore: it keeps proxies from closing a silent stream.
const HEARTBEAT: &str = ": ping\n\n";

impl EventStream {
    /// Starts a stream on a connection with this response head; gives the stream and the thread
    /// that writes it.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        peer: &Arc<Peer>,
        head: Vec<u8>,
        is_chunked: bool,
        end: StreamEnd,
    ) -> io::Result<(Arc<EventStream>, JoinHandle<()>)> {
        let (sender, queue) = channel();
        let stream =
            Arc::new(EventStream { queue: Mutex::new(Some(sender)), waiting: AtomicUsize::new(0) });
        let writer =
            Writer { stream: Arc::clone(&stream), peer: Arc::clone(peer), queue, is_chunked, end };
        let thread =
            std::thread::Builder::new().name("events".into()).stack_size(EVENT_STACK_BYTES);
        let thread = thread.spawn(move || writer.run(&head))?;
        Ok((stream, thread))
    }

    /// Sends one `message` event. `json` is one line, because some clients parse each `data:` line
    /// as a whole document. Gives whether the stream is still open.
    pub fn send(&self, json: &str) -> bool {
        self.enqueue(event(json))
    }

    /// Sends a heartbeat before it is due.
    pub(super) fn ping(&self) {
        self.enqueue(HEARTBEAT.to_owned());
    }

    fn enqueue(&self, event: String) -> bool {
        let mut queue = self.queue.lock().unpoisoned();
        let before = self.waiting.fetch_add(event.len(), Ordering::AcqRel);
        // A single event may be as large as any answer; many of them must not pile up.
        let fits = before == 0 || before + event.len() <= EVENT_QUEUE_BYTES;
        let is_sent = fits && queue.as_ref().is_some_and(|queue| queue.send(event).is_ok());
        if !is_sent {
            *queue = None;
        }
        is_sent
    }

    /// Whether events can still be sent. Never waits.
    pub fn is_open(&self) -> bool {
        self.queue.lock().unpoisoned().is_some()
    }

    /// Ends the stream after what was sent, with its last message. Its connection's thread notices
    /// and ends too.
    pub fn end(&self) {
        *self.queue.lock().unpoisoned() = None;
    }
}

/// What the thread of a stream has.
struct Writer {
    stream: Arc<EventStream>,
    peer: Arc<Peer>,
    queue: Receiver<String>,
    is_chunked: bool,
    end: StreamEnd,
}

impl Writer {
    /// Writes until the stream ends, then closes the connection.
    fn run(&self, head: &[u8]) {
        if self.write_events(head).is_ok() {
            if let Some(message) = &self.end.last_message {
                let _ = self.write(&[], &event(message));
            }
            if self.is_chunked {
                let _ = write_in_time(&self.peer.socket, b"0\r\n\r\n", &[], || {});
            }
        }
        self.stream.end();
        let _ = self.peer.socket.shutdown(Shutdown::Both);
    }

    fn write_events(&self, head: &[u8]) -> io::Result<()> {
        // With a first heartbeat, so that the client and every proxy in between see that the stream
        // is open.
        self.write(head, HEARTBEAT)?;
        loop {
            let next = self.queue.recv_timeout(limits::HEARTBEAT);
            if self.end.may_continue.as_ref().is_some_and(|may_continue| !may_continue()) {
                return Ok(());
            }
            match next {
                Ok(queued) => {
                    self.write(&[], &queued)?;
                    self.stream.waiting.fetch_sub(queued.len(), Ordering::AcqRel);
                }
                Err(RecvTimeoutError::Timeout) => self.write(&[], HEARTBEAT)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn write(&self, head: &[u8], text: &str) -> io::Result<()> {
        let framed = if self.is_chunked {
            format!("{:x}\r\n{text}\r\n", text.len())
        } else {
            text.to_owned()
        };
        write_in_time(&self.peer.socket, head, framed.as_bytes(), || {})
    }
}

fn event(json: &str) -> String {
    format!("event: message\ndata: {}\n\n", json.replace(['\r', '\n'], " "))
}
