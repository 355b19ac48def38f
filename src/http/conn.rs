//! One connection: read a request, have it admitted and served, write the answer, keep the connection or close it.
//!
//! Deadlines are totals: the time limit of each read is what is left of the whole, so a peer that sends one byte now
//! and then gains nothing.

use super::body::Chunked;
use super::error::Refusal;
use super::events::EventStream;
use super::head::{Framing, Head, HeadScanner, Method};
use super::peer::{Activity, Peer};
use super::response::{self, BodyFraming, Response, write_in_time};
use super::shared::Shared;
use super::socket::{Buffer, Held, TimedSocket};
use super::{Events, HangUp, Reply, Service, Work};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::slice::Part;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What becomes of the connection after an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Keep,
    /// Close at once: the peer is done, or gone.
    Close,
    /// Close so that the peer can still read the answer although it may have sent more than was read.
    Linger,
}

/// Serves one connection until it ends. Runs on a thread of its own.
pub(super) fn run<S: Service>(server: &Shared<S>, peer: &Arc<Peer>) {
    let mut connection = Connection { server, peer, socket: TimedSocket::new(&peer.socket), buffer: Buffer::default(), served: 0 };
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
    socket: TimedSocket<'a>,
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
                return self.refuse(refusal, if is_head { Method::Head } else { Method::Get });
            }
        };
        self.served += 1;
        let service = &self.server.service;
        let admitted = catch_unwind(AssertUnwindSafe(|| service.admit(&head, self.peer.address)));
        let admission = match admitted {
            Ok(Ok(admission)) => admission,
            Ok(Err(answer)) => {
                self.peer.note_head(false);
                return self.answer_unread(&head, *answer);
            }
            Err(_) => return self.answer_unread(&head, service.broken()),
        };
        self.peer.note_head(admission.is_authenticated);
        if let Framing::Length(length) = head.framing()
            && length > admission.body_max
        {
            return self.refuse(Refusal::BodyTooLarge, head.method());
        }
        let mut reserved = Reserved { server: self.server, bytes: 0 };
        let body = match self.read_body(&head, admission.body_max, &mut reserved) {
            Ok(Some(body)) => body,
            Ok(None) => return Next::Close,
            Err(refusal) => return self.refuse(refusal, head.method()),
        };
        if !self.peer.set(Activity::Serving) {
            return Next::Close;
        }
        let permit = if admission.is_authenticated {
            match self.server.workers.take("", limits::WORKER_WAIT) {
                Some(permit) => Some(permit),
                None => return self.refuse(Refusal::Busy, head.method()),
            }
        } else {
            None
        };
        let hang_up = HangUp::of(&self.peer.socket);
        let served = catch_unwind(AssertUnwindSafe(|| service.serve(&head, body, admission.ticket, &hang_up)));
        drop(reserved);
        match served {
            Ok(Reply::Whole(answer)) => {
                drop(permit);
                self.answer(&head, &answer, head.wants_close())
            }
            Ok(Reply::Events(answer, events)) => {
                drop(permit);
                self.stream(&head, &answer, events)
            }
            Ok(Reply::Work(answer, work)) => {
                let stream = self.stream_answer(&head, &answer, work, &hang_up);
                drop(permit);
                stream.map_or(Next::Close, |stream| {
                    stream.finish();
                    Next::Linger
                })
            }
            Err(_) => {
                drop(permit);
                self.answer(&head, &service.broken(), true)
            }
        }
    }

    /// Waits for a request and reads its head. `Ok(None)`: the peer left, or sent nothing in time.
    fn read_head(&mut self) -> Result<Option<Head>, Refusal> {
        let mut scanner = HeadScanner::default();
        let patience = if self.served == 0 { limits::HEAD_DEADLINE } else { limits::IDLE_DEADLINE };
        let mut deadline = Deadline::after(patience);
        let mut begun = false;
        self.peer.set(Activity::Idle);
        loop {
            if !self.buffer.bytes().is_empty() {
                if !begun {
                    begun = true;
                    deadline = Deadline::after(limits::HEAD_DEADLINE);
                    if !self.peer.set(Activity::Reading) {
                        return Ok(None);
                    }
                }
                if let Some(length) = scanner.scan(self.buffer.bytes())? {
                    let head = Head::parse(self.buffer.bytes().part(..length))?;
                    self.buffer.consume(length);
                    return Ok(Some(head));
                }
            }
            match self.buffer.fill(&self.socket, deadline) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if begun && error.kind() == ErrorKind::TimedOut => return Err(Refusal::Timeout),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Reads the body whole. `Ok(None)`: the peer left in the middle, which is never a shorter body.
    fn read_body(&mut self, head: &Head, max: usize, reserved: &mut Reserved<'_, S>) -> Result<Option<Vec<u8>>, Refusal> {
        let framing = head.framing();
        if framing == Framing::None || framing == Framing::Length(0) {
            return Ok(Some(Vec::new()));
        }
        if head.expects_continue() && self.buffer.bytes().is_empty() && self.send(b"HTTP/1.1 100 Continue\r\n\r\n", &[]).is_err() {
            return Ok(None);
        }
        self.peer.set(Activity::Reading);
        let start = Deadline::after(limits::BODY_DEADLINE);
        let mut body = Vec::new();
        let mut chunked = Chunked::new(max);
        let mut received = 0_usize;
        loop {
            let bytes = self.buffer.bytes();
            let before = body.len();
            let (used, done) = match framing {
                Framing::None => (0, true),
                Framing::Length(length) => {
                    let used = bytes.len().min(length - body.len());
                    body.extend_from_slice(bytes.part(..used));
                    (used, body.len() == length)
                }
                Framing::Chunked => {
                    let used = chunked.feed(bytes, &mut body)?;
                    (used, chunked.is_done())
                }
            };
            // What has come, and not what was announced: to announce costs nothing.
            if !reserved.more(body.len() - before) {
                return Err(Refusal::Busy);
            }
            self.buffer.consume(used);
            received += used;
            if done {
                return Ok(Some(body));
            }
            // Chunks of a byte with long extensions would keep a request alive that has almost nothing to say.
            if received > 2 * body.len() + limits::CHUNK_OVERHEAD_BYTES {
                return Err(Refusal::Malformed("more chunk framing than body"));
            }
            match self.buffer.fill(&self.socket, start.extended(allowed_time(body.len()))) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Refusal::Timeout),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Answers a request whose body is not wanted. A small one is read and dropped, so that the connection can be kept:
    /// clients make their next request on it right away.
    fn answer_unread(&mut self, head: &Head, answer: Response) -> Next {
        let small = match head.framing() {
            Framing::None => Some(0),
            Framing::Length(length) if length <= limits::DISCARD_BYTES && !head.expects_continue() => Some(length),
            Framing::Length(_) | Framing::Chunked => None,
        };
        let Some(mut unread) = small else {
            return match self.answer(head, &answer, true) {
                Next::Close => Next::Linger,
                other => other,
            };
        };
        let next = self.answer(head, &answer, head.wants_close());
        if next != Next::Keep {
            return if unread > 0 { Next::Linger } else { next };
        }
        let deadline = Deadline::after(limits::HEAD_DEADLINE);
        loop {
            let used = unread.min(self.buffer.bytes().len());
            self.buffer.consume(used);
            unread -= used;
            if unread == 0 {
                return Next::Keep;
            }
            if !matches!(self.buffer.fill(&self.socket, deadline), Ok(1..)) {
                return Next::Close;
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal, method: Method) -> Next {
        let answer = Response::refusal(refusal);
        self.log_exchange(None, &answer);
        let head = response::head_bytes(&answer, BodyFraming::Whole, true, clock::system());
        let body = if response::sends_body(method, answer.status) { answer.body.as_slice() } else { &[] };
        match self.send(&head, body) {
            Ok(()) => Next::Linger,
            Err(_) => Next::Close,
        }
    }

    /// The debug line of an exchange. Without the query: codes are in it.
    fn log_exchange(&self, request: Option<&Head>, answer: &Response) {
        if !log::log_enabled!(log::Level::Debug) {
            return;
        }
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let agent = short(request.and_then(|head| head.text("user-agent")).unwrap_or_default());
        let what = request.map_or_else(|| "refused".to_owned(), |head| format!("{:?} {:?}", head.method(), short(head.path())));
        log::debug!("http {what} status={} from={} agent={agent:?}", answer.status, self.peer.address);
    }

    fn answer(&mut self, request: &Head, answer: &Response, close: bool) -> Next {
        let _held = match Held::take(&self.server.answer_bytes, answer.body.len()) {
            Some(held) => held,
            None => return self.refuse(Refusal::Busy, request.method()),
        };
        self.log_exchange(Some(request), answer);
        let close = close || self.server.is_stopping();
        let head = response::head_bytes(answer, BodyFraming::Whole, close, clock::system());
        let body = if response::sends_body(request.method(), answer.status) { answer.body.as_slice() } else { &[] };
        match self.send(&head, body) {
            Ok(()) if !close => Next::Keep,
            _ => Next::Close,
        }
    }

    /// Sends the head of an event stream, hands its writing half over, and stays until it ends; its permit is held until then.
    fn stream(&mut self, request: &Head, answer: &Response, events: Events) -> Next {
        let _permit = events.permit;
        let Some(stream) = self.open_stream(request, answer, events.last_message) else { return Next::Close };
        self.peer.set(Activity::Streaming);
        self.server.track_stream(&stream);
        (events.attach)(Arc::clone(&stream));
        let mut surplus = self.buffer.bytes().len();
        let mut scratch = [0_u8; 512];
        while stream.is_open() && !self.server.is_stopping() && surplus <= limits::HEAD_BYTES {
            let Some(wait) = limits::HEARTBEAT.checked_sub(stream.idle_time()).filter(|wait| !wait.is_zero()) else {
                if (events.may_go_on)() {
                    stream.send_heartbeat();
                } else {
                    stream.end();
                }
                continue;
            };
            match self.socket.read_within(&mut scratch, wait) {
                Ok(count @ 1..) => surplus += count,
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                Ok(_) | Err(_) => {
                    // Hung up; or the stream was ended, and its last words are on their way.
                    if stream.is_open() {
                        stream.abandon();
                    }
                }
            }
        }
        stream.finish();
        Next::Close
    }

    /// Sends the head of an event stream and does the work that makes the events; the stream, with what the peer has not
    /// taken yet.
    fn stream_answer(&mut self, request: &Head, answer: &Response, work: Work, hang_up: &HangUp) -> Option<Arc<EventStream>> {
        let stream = self.open_stream(request, answer, None)?;
        self.peer.set(Activity::Serving);
        if catch_unwind(AssertUnwindSafe(|| work(Arc::clone(&stream), hang_up))).is_err() {
            stream.abandon();
        }
        Some(stream)
    }

    fn open_stream(&mut self, request: &Head, answer: &Response, last_message: Option<String>) -> Option<Arc<EventStream>> {
        let framing = if request.is_http_1_0() { BodyFraming::UntilClose } else { BodyFraming::Chunked };
        let head = response::head_bytes(answer, framing, true, clock::system());
        // Its thread first: without one the answer is another.
        let stream = match EventStream::start(self.peer, framing == BodyFraming::Chunked, last_message) {
            Ok(stream) => stream,
            Err(error) => {
                log::warn!("no thread for an event stream: {error}");
                self.refuse(Refusal::Busy, request.method());
                return None;
            }
        };
        self.log_exchange(Some(request), answer);
        match self.send(&head, &[]) {
            Ok(()) => Some(stream),
            Err(_) => {
                stream.abandon();
                None
            }
        }
    }

    /// Writes head and body.
    fn send(&self, head: &[u8], body: &[u8]) -> io::Result<()> {
        write_in_time(&self.peer.socket, head, body, || {
            let _ = self.peer.set(Activity::Writing);
        })
    }

    /// RFC 9112 section 9.6: half-close, then read what the peer still sends, within bounds; a reset in its place
    /// would destroy the answer on its way.
    fn linger(&mut self) {
        self.peer.set(Activity::Reading);
        if self.peer.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let deadline = Deadline::after(limits::LINGER);
        let mut scratch = [0_u8; 4096];
        let mut seen = 0_usize;
        while let Some(left) = deadline.extended(allowed_time(seen)).left() {
            match self.socket.read_within(&mut scratch, left) {
                Ok(1..) if seen > limits::LINGER_BYTES => return,
                Ok(count @ 1..) => seen += count,
                Ok(0) => return,
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                Err(_) => return,
            }
        }
    }
}

/// Time that a body has earned by the bytes of it that came: slow is fine, almost nothing is not.
fn allowed_time(received: usize) -> Duration {
    Duration::from_secs((received / limits::BODY_MIN_RATE) as u64)
}

/// Body bytes that this request holds of the total allowed.
struct Reserved<'a, S: Service> {
    server: &'a Shared<S>,
    bytes: usize,
}

impl<S: Service> Reserved<'_, S> {
    /// Memory for more. A small body always gets it: those are bounded by the number of connections, and large ones must not
    /// keep all users from logging in.
    fn more(&mut self, bytes: usize) -> bool {
        let before = self.server.body_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.bytes += bytes;
        self.bytes <= limits::SMALL_BODY_BYTES || before + bytes <= limits::BODIES_TOTAL_BYTES
    }
}

impl<S: Service> Drop for Reserved<'_, S> {
    fn drop(&mut self) {
        self.server.body_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
