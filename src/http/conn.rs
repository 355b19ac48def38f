//! One connection: read a head, have the request handled, write the answer, keep the connection or
//! close it.
//!
//! Deadlines are totals: each read may take what is left of the whole, so a peer that sends one
//! byte now and then gains nothing.

use super::connection::Connection;
use super::error::Refusal;
use super::head::Head;
use super::peer::Activity;
use super::request::{Request, extra_time};
use super::response::{self, Response};
use super::socket::read_by;
use super::{Handler, Reply};
use crate::clock::{self, Deadline};
use crate::limits;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// From the first byte of a request to the end of its head; also for a new connection's first byte.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// For a keep-alive connection without a request; longer than the 60 s for which nginx keeps an
/// upstream connection.
const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// How long a connection is kept open after an answer to read the peer's remaining bytes (a reset
/// would discard the answer), plus one second for each [`limits::BODY_MIN_RATE`] bytes received.
const LINGER: Duration = Duration::from_secs(5);
/// Bytes discarded while lingering: the largest possible request, because a proxy such as nginx
/// sends all of it before it reads the response, and would turn a 401 into a 502.
const LINGER_BYTES: usize = limits::MCP_BYTES + limits::HEAD_BYTES;

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
pub(super) fn run(handler: &dyn Handler, connection: Connection) {
    let mut exchanges = Exchanges { handler, connection };
    let mut patience = HEAD_DEADLINE;
    let next = loop {
        match exchanges.exchange(patience) {
            Next::Keep if !exchanges.connection.is_stopping() => {
                exchanges.connection.peer.set(Activity::Idle);
                patience = IDLE_DEADLINE;
            }
            next => break next,
        }
    };
    if next == Next::Linger {
        exchanges.linger();
    }
    let _ = exchanges.connection.peer.socket.shutdown(Shutdown::Both);
}

/// The requests of a connection, one after the other, and their answers.
struct Exchanges<'a> {
    handler: &'a dyn Handler,
    connection: Connection,
}

impl Exchanges<'_> {
    /// Waits for a request, at most for `patience`, and answers it.
    fn exchange(&mut self, patience: Duration) -> Next {
        let head = match self.read_head(patience) {
            Ok(head) => head,
            Err(refusal) => {
                let is_head =
                    self.connection.buffer.bytes().trim_ascii_start().starts_with(b"HEAD ");
                return self.refuse(refusal, if is_head { "HEAD" } else { "GET" });
            }
        };
        if !self.connection.peer.set(Activity::Serving) {
            return Next::Close;
        }
        self.connection
            .peer
            .set_probe((!head.is_http_1_0).then(|| self.connection.peer.interim_response()));
        let mut request = Request::new(head, &mut self.connection);
        let handled = catch_unwind(AssertUnwindSafe(|| self.handler.handle(&mut request)));
        let reply = handled.unwrap_or(Err(Refusal::PANIC));
        let was_streamed = request.end_stream(reply.is_err());
        let (head, is_read) = request.into_head();
        self.connection.peer.set_probe(None);
        match reply {
            _ if was_streamed => Next::Close,
            Ok(Reply::Whole(answer)) => self.answer(&head, &answer, is_read),
            Ok(Reply::Streamed) => Next::Close,
            Err(refusal) => self.refuse(refusal, &head.method),
        }
    }

    /// Waits for a request and reads its head.
    ///
    /// # Errors
    /// [`Refusal::GONE`]: the peer left, or sent nothing in time.
    fn read_head(&mut self, patience: Duration) -> Result<Head, Refusal> {
        if self.connection.buffer.bytes().is_empty()
            && !matches!(
                self.connection
                    .buffer
                    .fill(&self.connection.peer.socket, Deadline::after(patience)),
                Ok(1..)
            )
        {
            return Err(Refusal::GONE);
        }
        if !self.connection.peer.set(Activity::Reading) {
            return Err(Refusal::GONE);
        }
        let deadline = Deadline::after(HEAD_DEADLINE);
        loop {
            if let Some((head, length)) = Head::parse(self.connection.buffer.bytes())? {
                self.connection.buffer.consume(length);
                return Ok(head);
            }
            match self.connection.buffer.fill(&self.connection.peer.socket, deadline) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Refusal::TIMEOUT),
                Ok(_) | Err(_) => return Err(Refusal::GONE),
            }
        }
    }

    fn answer(&self, head: &Head, answer: &Response, is_read: bool) -> Next {
        self.connection.log_exchange(Some(head), answer.status);
        let close = head.wants_close || !is_read || self.connection.is_stopping();
        if !self.write(answer, &head.method, close) {
            return Next::Close;
        }
        match close {
            true if !is_read => Next::Linger,
            true => Next::Close,
            false => Next::Keep,
        }
    }

    fn refuse(&self, refusal: Refusal, method: &str) -> Next {
        if refusal == Refusal::GONE {
            return Next::Close;
        }
        self.connection.log_exchange(None, refusal.status);
        let is_written = self.write(&Response::refusal(refusal), method, true);
        if is_written { Next::Linger } else { Next::Close }
    }

    /// Writes a whole answer; returns whether the peer has taken it.
    fn write(&self, answer: &Response, method: &str, close: bool) -> bool {
        let head = response::head_bytes(answer, false, close, clock::system());
        let body =
            if response::sends_body(method, answer.status) { answer.body.as_slice() } else { &[] };
        self.connection.send(&head, body).is_ok()
    }

    /// RFC 9112 section 9.6: half-close, then read what the peer still sends, within bounds; a
    /// reset instead would destroy the answer before the peer has read it.
    fn linger(&self) {
        self.connection.peer.set(Activity::Reading);
        if self.connection.peer.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let deadline = Deadline::after(LINGER);
        let mut scratch = [0_u8; 4096];
        let mut seen = 0_usize;
        while let Ok(count @ 1..) =
            read_by(&self.connection.peer.socket, &mut scratch, deadline.extended(extra_time(seen)))
        {
            seen += count;
            if seen > LINGER_BYTES {
                return;
            }
        }
    }
}
