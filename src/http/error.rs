//! Why a request is refused before any handler sees it; one variant per reaction, and its status.

use std::fmt;

/// A request that the HTTP layer answers itself. The connection closes after it, because what follows in the stream
/// cannot be trusted to be a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes are not HTTP/1.1 as RFC 9112 wants it; the text says which rule.
    Malformed(&'static str),
    /// The request line is longer than [`crate::limits::REQUEST_LINE_BYTES`].
    TargetTooLong,
    /// The head is longer than [`crate::limits::HEAD_BYTES`] or has too many lines.
    HeadTooLarge,
    /// The body is longer than the route allows.
    BodyTooLarge,
    /// The peer took too long.
    Timeout,
    /// HTTP, but neither 1.0 nor 1.1.
    Version,
    /// An `Expect` that is not `100-continue`.
    Expectation,
    /// No thread, worker or memory for one more; the peer may try again.
    Busy,
}

impl Refusal {
    /// Status code and reason phrase (RFC 9110 section 15).
    pub fn status(self) -> (u16, &'static str) {
        match self {
            Refusal::Malformed(_) => (400, "Bad Request"),
            Refusal::TargetTooLong => (414, "URI Too Long"),
            Refusal::HeadTooLarge => (431, "Request Header Fields Too Large"),
            Refusal::BodyTooLarge => (413, "Content Too Large"),
            Refusal::Timeout => (408, "Request Timeout"),
            Refusal::Version => (505, "HTTP Version Not Supported"),
            Refusal::Expectation => (417, "Expectation Failed"),
            Refusal::Busy => (503, "Service Unavailable"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Malformed(rule) => f.write_str(rule),
            Refusal::TargetTooLong => f.write_str("the request line is too long"),
            Refusal::HeadTooLarge => f.write_str("the request head is too large"),
            Refusal::BodyTooLarge => f.write_str("the request body is too large"),
            Refusal::Timeout => f.write_str("the request did not arrive in time"),
            Refusal::Version => f.write_str("only HTTP/1.0 and HTTP/1.1 are spoken here"),
            Refusal::Expectation => f.write_str("the only expectation known here is 100-continue"),
            Refusal::Busy => f.write_str("the server is busy; try again in a moment"),
        }
    }
}
