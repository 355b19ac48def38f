//! Server-sent events on one connection (HTML Living Standard, section 9.2).
//!
//! The sender of an event puts it into a bounded queue and goes on; a thread of the stream's own writes. So one peer that
//! reads slowly, or not at all, delays no other: it is dropped when it falls too far behind. The connection's own thread
//! stays in a blocking read (or does the work that makes the events): that is how a hang-up is noticed at once.

use super::peer::{Activity, Peer};
use super::response::write_in_time;
use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The writing half of an open event stream.
pub struct EventStream {
    chunked: bool,
    last_message: Option<String>,
    open: AtomicBool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    /// `None` once the stream is over: a handle that is still held keeps no descriptor open.
    peer: Option<Arc<Peer>>,
    frames: VecDeque<String>,
    bytes: usize,
    /// Nothing is put in any more; what is in it is written yet.
    ended: bool,
    /// The writer is done.
    written: bool,
    last_write: Instant,
}

impl EventStream {
    /// The stream on a connection whose response head was just sent, with its writing thread. `chunked` unless the peer
    /// speaks HTTP/1.0; `last_message` is the last event when this side ends it.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(peer: &Arc<Peer>, chunked: bool, last_message: Option<String>) -> io::Result<Arc<EventStream>> {
        let queue = Queue {
            peer: Some(Arc::clone(peer)),
            frames: VecDeque::new(),
            bytes: 0,
            ended: false,
            written: false,
            last_write: clock::instant(),
        };
        let stream =
            Arc::new(EventStream { chunked, last_message, open: AtomicBool::new(true), queue: Mutex::new(queue), changed: Condvar::new() });
        let (writing, peer) = (Arc::clone(&stream), Arc::clone(peer));
        std::thread::Builder::new().name("events".into()).stack_size(limits::EVENT_STACK).spawn(move || writing.write_all(&peer))?;
        Ok(stream)
    }

    /// Sends one `message` event, with an id if there is one. `json` is one line, because readers in the wild take each
    /// `data:` line as a whole document. Gives whether the stream is still open.
    pub fn send(&self, id: Option<&str>, json: &str) -> bool {
        self.put(&event(id, json))
    }

    /// Sends an event with an id and no data, and how long to wait before opening a broken stream again.
    pub fn prime(&self, id: &str, retry_ms: u32) -> bool {
        self.put(&format!("id: {id}\nretry: {retry_ms}\ndata: \n\n"))
    }

    /// Sends a comment, which clients ignore: it keeps proxies from closing a silent stream.
    pub fn send_heartbeat(&self) -> bool {
        self.put(": ping\n\n")
    }

    /// How long nothing has been sent.
    pub fn idle_time(&self) -> Duration {
        self.queue().last_write.elapsed()
    }

    /// Whether events can still be sent. Never waits.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Ends the stream after what was sent, with its farewell. Its connection's thread notices and ends too.
    pub fn end(&self) {
        let mut queue = self.queue();
        if !queue.ended {
            let mut last = self.last_message.as_ref().map(|last_message| self.framed(&event(None, last_message))).unwrap_or_default();
            if self.chunked {
                last.push_str("0\r\n\r\n");
            }
            queue.frames.push_back(last);
            queue.ended = true;
            self.open.store(false, Ordering::Release);
            self.changed.notify_all();
        }
    }

    /// The peer is gone, or too far behind: nothing is sent any more.
    pub(super) fn abandon(&self) {
        let mut queue = self.queue();
        self.lose(&mut queue);
    }

    /// Ends the stream and waits until the peer has all of it, or is given up.
    pub(super) fn finish(&self) {
        self.end();
        let written = self.changed.wait_while(self.queue(), |queue| !queue.written);
        drop(written.unpoisoned());
    }

    fn lose(&self, queue: &mut Queue) {
        queue.frames.clear();
        queue.bytes = 0;
        queue.ended = true;
        self.open.store(false, Ordering::Release);
        self.changed.notify_all();
        if let Some(peer) = queue.peer.take() {
            let _ = peer.socket.shutdown(Shutdown::Both);
        }
    }

    fn put(&self, text: &str) -> bool {
        let frame = self.framed(text);
        let mut queue = self.queue();
        if queue.ended {
            return false;
        }
        // A single event may be as large as any answer; many of them must not pile up.
        if queue.bytes > 0 && queue.bytes + frame.len() > limits::EVENT_QUEUE_BYTES {
            log::debug!("an event stream is too far behind and is ended");
            self.lose(&mut queue);
            return false;
        }
        queue.bytes += frame.len();
        queue.frames.push_back(frame);
        queue.last_write = clock::instant();
        self.changed.notify_all();
        true
    }

    fn write_all(&self, peer: &Peer) {
        loop {
            let idle = |queue: &mut Queue| queue.frames.is_empty() && !queue.ended;
            let mut queue = self.changed.wait_while(self.queue(), idle).unpoisoned();
            let Some(frame) = queue.frames.pop_front() else {
                queue.written = true;
                self.lose(&mut queue);
                return;
            };
            let ended = queue.ended;
            drop(queue);
            // Once everything was said, a peer that does not read it may be closed for others.
            let progress = || {
                if ended {
                    peer.set(Activity::Writing);
                }
            };
            let sent = write_in_time(&peer.socket, frame.as_bytes(), &[], progress);
            let mut queue = self.queue();
            queue.bytes = queue.bytes.saturating_sub(frame.len());
            if sent.is_err() {
                self.lose(&mut queue);
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unpoisoned()
    }

    fn framed(&self, event: &str) -> String {
        if self.chunked { format!("{:x}\r\n{event}\r\n", event.len()) } else { event.to_owned() }
    }
}

fn event(id: Option<&str>, json: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {}\n\n", json.replace(['\r', '\n'], " "))
}
