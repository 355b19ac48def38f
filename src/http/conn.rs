//! One connection: read a request, have it admitted and served, write the answer, keep the
//! connection or close it.
//!
//! Deadlines are totals: each read may take what is left of the whole, so a peer that sends one
//! byte now and then gains nothing.

use super::body::Decoder;
use super::error::Refusal;
use super::events::EventStream;
use super::head::{Framing, Head};
use super::peer::{Activity, Peer};
use super::response::{self, Response, write_in_time};
use super::shared::Shared;
use super::socket::{Buffer, Reserved, read_by};
use super::{Events, Reply, Service};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::quota::Permit;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How long a request waits for a free worker before it is answered with 503.
const WORKER_WAIT: Duration = Duration::from_secs(10);
/// From the first byte of a request to the end of its head; also for a new connection's first byte,
/// and for the rest of a small body that is read only to be discarded.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// For a request body, plus one second for each [`limits::BODY_MIN_RATE`] bytes received.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// For a keep-alive connection without a request; longer than the 60 s for which nginx keeps an
/// upstream connection.
const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// How long a connection is kept open after a refusal to read the peer's remaining bytes (a reset
/// would discard the response), plus one second for each [`limits::BODY_MIN_RATE`] bytes received.
const LINGER: Duration = Duration::from_secs(5);
/// Bytes discarded while lingering: the largest possible request, because a proxy such as nginx
/// sends all of it before it reads the response, and would turn a 401 into a 502.
const LINGER_BYTES: usize = limits::MCP_BYTES + limits::HEAD_BYTES;
/// Bytes of chunk framing that a body may have beyond its own length.
const CHUNK_OVERHEAD_BYTES: usize = 64 * 1024;

/// What happens to the connection after an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Keep,
    /// Close at once: the peer is done, or gone.
    Close,
    /// Close so that the peer can still read the answer although it may have sent more than was
    /// read.
    Linger,
}

/// Serves one connection until it ends. Runs on a thread of its own.
pub(super) fn run<S: Service>(server: &Shared<S>, peer: &Arc<Peer>) {
    let mut connection = Connection { server, peer, buffer: Buffer::default(), served: 0 };
    let next = loop {
        match connection.exchange() {
            Next::Keep if !server.is_stopping() => {}
            next => break next,
        }
    };
    if next == Next::Linger {
        connection.linger();
    }
    let _ = peer.socket.shutdown(Shutdown::Both);
}

struct Connection<'a, S: Service> {
    server: &'a Shared<S>,
    peer: &'a Arc<Peer>,
    buffer: Buffer,
    served: usize,
}

impl<S: Service> Connection<'_, S> {
    fn exchange(&mut self) -> Next {
        let head = match self.read_head() {
            Ok(Some(head)) => head,
            Ok(None) => return Next::Close,
            Err(refusal) => {
                let is_head = self.buffer.bytes().trim_ascii_start().starts_with(b"HEAD ");
                return self.refuse(refusal, if is_head { "HEAD" } else { "GET" });
            }
        };
        self.served += 1;
        let service = &self.server.service;
        let admitted = catch_unwind(AssertUnwindSafe(|| service.admit(&head, self.peer.address)));
        let admission = match admitted.unwrap_or_else(|_| Err(Box::new(service.panic_response()))) {
            Ok(admission) => admission,
            Err(answer) => {
                self.peer.note_head(false);
                return self.answer_unread(&head, *answer);
            }
        };
        self.peer.note_head(admission.login.is_some());
        let mut reserved = Reserved::none(&self.server.body_bytes);
        let body = match self.read_body(&head, admission.body_max, &mut reserved) {
            Ok(Some(body)) => body,
            Ok(None) => return Next::Close,
            Err(refusal) => return self.refuse(refusal, &head.method),
        };
        if !self.peer.set(Activity::Serving) {
            return Next::Close;
        }
        let mut permit = None;
        if let Some(login) = &admission.login {
            permit = self.server.workers.take(login, WORKER_WAIT);
            if permit.is_none() {
                return self.refuse(Refusal::BUSY, &head.method);
            }
        }
        self.peer.set_probe((!head.is_http_1_0).then(|| self.peer.interim_response()));
        let served = catch_unwind(AssertUnwindSafe(|| {
            service.serve(&head, body, admission.ticket, self.peer)
        }));
        self.peer.set_probe(None);
        drop(reserved);
        match served {
            Ok(Reply::Whole(answer)) => {
                drop(permit);
                self.answer(&head, &answer, head.wants_close)
            }
            Ok(Reply::Events(answer, events)) => self.stream(&head, answer, events, permit),
            Err(_) => {
                drop(permit);
                self.answer(&head, &service.panic_response(), true)
            }
        }
    }

    /// Waits for a request and reads its head. `Ok(None)`: the peer left, or sent nothing in time.
    fn read_head(&mut self) -> Result<Option<Head>, Refusal> {
        self.peer.set(Activity::Idle);
        let patience = if self.served == 0 { HEAD_DEADLINE } else { IDLE_DEADLINE };
        if self.buffer.bytes().is_empty()
            && !matches!(self.buffer.fill(&self.peer.socket, Deadline::after(patience)), Ok(1..))
        {
            return Ok(None);
        }
        if !self.peer.set(Activity::Reading) {
            return Ok(None);
        }
        let deadline = Deadline::after(HEAD_DEADLINE);
        loop {
            if let Some((head, length)) = Head::parse(self.buffer.bytes())? {
                self.buffer.consume(length);
                return Ok(Some(head));
            }
            match self.buffer.fill(&self.peer.socket, deadline) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Refusal::TIMEOUT),
                Ok(_) | Err(_) => return Ok(None),
            }
        }
    }

    /// Reads the body whole. `Ok(None)`: the peer left in the middle, which is never a shorter
    /// body.
    fn read_body(
        &mut self,
        head: &Head,
        max: usize,
        reserved: &mut Reserved<'_>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let (mut decoder, mut body) = (Decoder::new(head.framing, max)?, Vec::new());
        if decoder.is_done() {
            return Ok(Some(body));
        }
        if head.expects_continue
            && self.buffer.bytes().is_empty()
            && self.send(b"HTTP/1.1 100 Continue\r\n\r\n", &[]).is_err()
        {
            return Ok(None);
        }
        self.peer.set(Activity::Reading);
        let deadline = Deadline::after(BODY_DEADLINE);
        let mut received = 0_usize;
        loop {
            let before = body.len();
            let used = decoder.feed(self.buffer.bytes(), &mut body)?;
            // Reserves what was received, not the Content-Length: a peer can claim any length.
            if !reserved.reserve(body.len() - before) {
                return Err(Refusal::BUSY);
            }
            self.buffer.consume(used);
            received += used;
            if decoder.is_done() {
                return Ok(Some(body));
            }
            // One-byte chunks with long extensions would keep a request alive that carries almost
            // no body.
            if received > 2 * body.len() + CHUNK_OVERHEAD_BYTES {
                return Err(Refusal::malformed("more chunk framing than body"));
            }
            match self.buffer.fill(&self.peer.socket, deadline.extended(extra_time(body.len()))) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Refusal::TIMEOUT),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Answers a request whose body is not wanted. A small body is read and dropped, so that the
    /// connection can be kept: clients make their next request on it right away.
    fn answer_unread(&mut self, head: &Head, answer: Response) -> Next {
        let small = match head.framing {
            Framing::None => Some(0),
            Framing::Length(length) if length <= limits::SMALL_BYTES && !head.expects_continue => {
                Some(length)
            }
            Framing::Length(_) | Framing::Chunked => None,
        };
        let Some(mut unread) = small else {
            self.answer(head, &answer, true);
            return Next::Linger;
        };
        let next = self.answer(head, &answer, head.wants_close);
        if next != Next::Keep {
            return if unread > 0 { Next::Linger } else { next };
        }
        let deadline = Deadline::after(HEAD_DEADLINE);
        loop {
            let used = unread.min(self.buffer.bytes().len());
            self.buffer.consume(used);
            unread -= used;
            if unread == 0 {
                return Next::Keep;
            }
            if !matches!(self.buffer.fill(&self.peer.socket, deadline), Ok(1..)) {
                return Next::Close;
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal, method: &str) -> Next {
        let answer = Response::refusal(refusal);
        self.log_exchange(None, &answer);
        if self.write(&answer, method, true) { Next::Linger } else { Next::Close }
    }

    /// Writes a whole answer; returns whether the peer has taken it.
    fn write(&self, answer: &Response, method: &str, close: bool) -> bool {
        let head = response::head_bytes(answer, false, close, clock::system());
        let body =
            if response::sends_body(method, answer.status) { answer.body.as_slice() } else { &[] };
        self.send(&head, body).is_ok()
    }

    /// Logs an exchange at debug level, without the query: it may hold an authorization code.
    fn log_exchange(&self, request: Option<&Head>, answer: &Response) {
        if !log::log_enabled!(log::Level::Debug) {
            return;
        }
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let agent = short(request.and_then(|head| head.text("user-agent")).unwrap_or_default());
        let what = request.map_or_else(
            || "refused".to_owned(),
            |head| format!("{} {:?}", short(&head.method), short(&head.path)),
        );
        log::debug!(
            "http {what} status={} from={} agent={agent:?}",
            answer.status,
            self.peer.address
        );
    }

    fn answer(&mut self, request: &Head, answer: &Response, close: bool) -> Next {
        let mut reserved = Reserved::none(&self.server.answer_bytes);
        if !reserved.reserve(answer.body.len()) {
            return self.refuse(Refusal::BUSY, &request.method);
        }
        self.log_exchange(Some(request), answer);
        let close = close || self.server.is_stopping();
        if self.write(answer, &request.method, close) && !close { Next::Keep } else { Next::Close }
    }

    /// Sends the head of an event stream, runs the work that writes to it, and waits until it ends.
    fn stream(
        &mut self,
        request: &Head,
        answer: Response,
        mut events: Events,
        permit: Option<Permit>,
    ) -> Next {
        let chunked = !request.is_http_1_0;
        let answer = if chunked { answer.header("Transfer-Encoding", "chunked") } else { answer };
        let head = response::head_bytes(&answer, true, true, clock::system());
        let (stream, writer) = match EventStream::start(self.peer, head, chunked, &mut events) {
            Ok(started) => started,
            Err(error) => {
                log::warn!("no thread for an event stream: {error}");
                return self.refuse(Refusal::BUSY, &request.method);
            }
        };
        self.log_exchange(Some(request), &answer);
        let probed = Arc::clone(&stream);
        self.peer.set_probe(Some(Box::new(move || probed.ping())));
        let done = catch_unwind(AssertUnwindSafe(|| (events.work)(&stream, self.peer)));
        self.peer.set_probe(None);
        drop(permit);
        match done {
            Ok(None) => {}
            Ok(Some(_held)) => self.wait_for_hang_up(),
            Err(_) => drop(self.peer.socket.shutdown(Shutdown::Both)),
        }
        stream.end();
        // Once everything is queued, a peer that does not read it may be evicted for others.
        self.peer.set(Activity::Writing);
        let _ = writer.join();
        Next::Close
    }

    /// Waits until the peer of a stream closes its connection, or the stream has ended, or the
    /// server stops.
    fn wait_for_hang_up(&self) {
        self.peer.set(Activity::Streaming);
        let _ = self.peer.socket.set_read_timeout(None);
        let mut surplus = self.buffer.bytes().len();
        let mut scratch = [0_u8; 512];
        while surplus <= limits::HEAD_BYTES {
            match (&self.peer.socket).read(&mut scratch) {
                Ok(count @ 1..) => surplus += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        if !self.server.is_stopping() {
            let _ = self.peer.socket.shutdown(Shutdown::Both);
        }
    }

    /// Writes head and body.
    fn send(&self, head: &[u8], body: &[u8]) -> io::Result<()> {
        write_in_time(&self.peer.socket, head, body, || {
            let _ = self.peer.set(Activity::Writing);
        })
    }

    /// RFC 9112 section 9.6: half-close, then read what the peer still sends, within bounds; a
    /// reset instead would destroy the answer before the peer has read it.
    fn linger(&mut self) {
        self.peer.set(Activity::Reading);
        if self.peer.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let deadline = Deadline::after(LINGER);
        let mut scratch = [0_u8; 4096];
        let mut seen = 0_usize;
        while let Ok(count @ 1..) =
            read_by(&self.peer.socket, &mut scratch, deadline.extended(extra_time(seen)))
        {
            seen += count;
            if seen > LINGER_BYTES {
                return;
            }
        }
    }
}

/// The time by which received bytes extend a deadline: a slow body may finish, one that stalls may
/// not.
fn extra_time(received: usize) -> Duration {
    Duration::from_secs((received / limits::BODY_MIN_RATE) as u64)
}
