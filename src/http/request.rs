//! One request, as its handler sees it.

use super::body::Decoder;
use super::connection::Connection;
use super::error::Refusal;
use super::events::{EventStream, StreamEnd};
use super::head::{Framing, Head};
use super::peer::{Activity, Peer};
use super::response::{self, Response};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::quota::Permit;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Shutdown};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a request waits for a free worker before it is answered with 503.
const WORKER_WAIT: Duration = Duration::from_secs(10);
/// For a request body, plus one second for each [`limits::BODY_MIN_RATE`] bytes received.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes of chunk framing that a body may have beyond its own length.
const CHUNK_OVERHEAD_BYTES: usize = 64 * 1024;

/// A request whose head has arrived.
pub struct Request<'a> {
    pub head: Head,
    connection: &'a mut Connection,
    is_read: bool,
    worker: Option<Permit>,
    stream: Option<OpenStream>,
}

/// An event stream that the request is answered with.
struct OpenStream {
    events: Arc<EventStream>,
    writer: JoinHandle<()>,
}

impl<'a> Request<'a> {
    pub(super) fn new(head: Head, connection: &'a mut Connection) -> Request<'a> {
        let is_read = head.framing == Framing::None;
        Request { head, connection, is_read, worker: None, stream: None }
    }

    /// The address at the other end of the socket.
    pub fn address(&self) -> IpAddr {
        self.connection.peer.address
    }

    /// Tells whether the answer is still wanted.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.connection.peer
    }

    /// Notes that the request belongs to a login: its connection is evicted last.
    pub fn note_login(&self) {
        self.connection.peer.note_login();
    }

    /// Waits for a worker; to be called when the body has come, which may take long. Requests that
    /// belong to no login need none: the number of connections bounds them.
    ///
    /// # Errors
    /// [`Refusal::BUSY`].
    pub fn take_worker(&mut self, login: &str) -> Result<(), Refusal> {
        let worker = self.connection.workers.take(login, WORKER_WAIT);
        self.worker = Some(worker.ok_or(Refusal::BUSY)?);
        Ok(())
    }

    /// The length of the body, where the head says it.
    pub fn content_length(&self) -> Option<usize> {
        if let Framing::Length(length) = self.head.framing { Some(length) } else { None }
    }

    /// Reads the body whole: at most `max` bytes.
    ///
    /// # Errors
    /// It is longer, malformed, or does not arrive in time. [`Refusal::GONE`]: the peer left in the
    /// middle, which is never a shorter body.
    pub fn body(&mut self, max: usize) -> Result<Vec<u8>, Refusal> {
        let (mut decoder, mut body) = (Decoder::new(self.head.framing, max)?, Vec::new());
        let connection = &mut *self.connection;
        if self.head.expects_continue
            && !decoder.is_done()
            && connection.buffer.bytes().is_empty()
            && connection.send(b"HTTP/1.1 100 Continue\r\n\r\n", &[]).is_err()
        {
            return Err(Refusal::GONE);
        }
        connection.peer.set(Activity::Reading);
        let deadline = Deadline::after(BODY_DEADLINE);
        let mut received = 0_usize;
        loop {
            let used = decoder.feed(connection.buffer.bytes(), &mut body)?;
            connection.buffer.consume(used);
            received += used;
            if decoder.is_done() {
                break;
            }
            // One-byte chunks with long extensions would keep a request alive that carries almost
            // no body.
            if received > 2 * body.len() + CHUNK_OVERHEAD_BYTES {
                return Err(Refusal::malformed("more chunk framing than body"));
            }
            let until = deadline.extended(extra_time(body.len()));
            match connection.buffer.fill(&connection.peer.socket, until) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Refusal::TIMEOUT),
                Ok(_) | Err(_) => return Err(Refusal::GONE),
            }
        }
        self.is_read = true;
        if connection.peer.set(Activity::Serving) { Ok(body) } else { Err(Refusal::GONE) }
    }

    /// The head, and whether the whole request was read, so that another may follow on its
    /// connection.
    pub(super) fn into_head(self) -> (Head, bool) {
        (self.head, self.is_read)
    }

    /// Begins to answer with an event stream (`text/event-stream`). `head` is its head.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn stream(&mut self, head: Response, end: StreamEnd) -> Result<Arc<EventStream>, Refusal> {
        let is_chunked = !self.head.is_http_1_0;
        let head = if is_chunked { head.header("Transfer-Encoding", "chunked") } else { head };
        let bytes = response::head_bytes(&head, true, true, clock::system());
        let started = EventStream::start(&self.connection.peer, bytes, is_chunked, end);
        let (events, writer) = started.map_err(|error| {
            log::warn!("no thread for an event stream: {error}");
            Refusal::BUSY
        })?;
        self.connection.log_exchange(Some(&self.head), head.status);
        let probed = Arc::clone(&events);
        self.connection.peer.set_probe(Some(Box::new(move || probed.ping())));
        self.stream = Some(OpenStream { events: Arc::clone(&events), writer });
        Ok(events)
    }

    /// Gives the worker back, and waits until the peer of a stream closes its connection, or the
    /// stream has ended, or the server stops.
    pub fn wait_for_hang_up(&mut self) {
        self.worker = None;
        let Connection { peer, buffer, .. } = &*self.connection;
        peer.set_probe(None);
        peer.set(Activity::Streaming);
        let _ = peer.socket.set_read_timeout(None);
        let mut surplus = buffer.bytes().len();
        let mut scratch = [0_u8; 512];
        while surplus <= limits::HEAD_BYTES {
            match (&peer.socket).read(&mut scratch) {
                Ok(count @ 1..) => surplus += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        if !self.connection.is_stopping() {
            let _ = peer.socket.shutdown(Shutdown::Both);
        }
    }

    /// Ends the stream of a request that was answered with one, after what was sent to it; at once
    /// if its handler `failed`. Gives whether there was one.
    pub(super) fn end_stream(&mut self, failed: bool) -> bool {
        let Some(stream) = self.stream.take() else { return false };
        self.worker = None;
        if failed {
            let _ = self.connection.peer.socket.shutdown(Shutdown::Both);
        }
        stream.events.end();
        // Once everything is queued, a peer that does not read it may be evicted for others.
        self.connection.peer.set(Activity::Writing);
        let _ = stream.writer.join();
        true
    }
}

/// The time by which received bytes extend a deadline: a slow body may finish, one that stalls may
/// not.
pub(super) fn extra_time(received: usize) -> Duration {
    Duration::from_secs((received / limits::BODY_MIN_RATE) as u64)
}
