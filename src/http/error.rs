//! Why the HTTP layer answers a request itself, in most cases before a handler sees it.

/// A request that the HTTP layer answers itself. The connection closes after it, because what
/// follows in the stream cannot be trusted to be a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// RFC 9110 section 15.
    pub status: u16,
    /// A message for the peer.
    pub why: &'static str,
}

impl Refusal {
    /// The body is longer than the route allows.
    pub const BODY_TOO_LARGE: Refusal =
        Refusal { status: 413, why: "the request body is too large" };
    /// The peer has left: nothing is answered.
    pub const GONE: Refusal = Refusal { status: 0, why: "" };
    /// The handler panicked.
    pub const PANIC: Refusal =
        Refusal { status: 500, why: "internal error; the log of the server has the reason" };
    /// No thread or worker for one more; the peer may try again.
    pub const BUSY: Refusal =
        Refusal { status: 503, why: "the server is busy; try again in a moment" };
    /// An `Expect` that is not `100-continue`.
    pub const EXPECTATION: Refusal =
        Refusal { status: 417, why: "the only expectation known here is 100-continue" };
    /// The head is longer than [`crate::limits::HEAD_BYTES`] or has too many lines.
    pub const HEAD_TOO_LARGE: Refusal =
        Refusal { status: 431, why: "the request head is too large" };
    /// The request line is longer than [`crate::limits::REQUEST_LINE_BYTES`].
    pub const TARGET_TOO_LONG: Refusal =
        Refusal { status: 414, why: "the request line is too long" };
    pub const TIMEOUT: Refusal = Refusal { status: 408, why: "the request did not arrive in time" };
    /// HTTP, but neither 1.0 nor 1.1.
    pub const VERSION: Refusal =
        Refusal { status: 505, why: "only HTTP/1.0 and HTTP/1.1 are spoken here" };

    /// The bytes are not HTTP/1.1 as RFC 9112 requires; `rule` says which rule was broken.
    pub const fn malformed(rule: &'static str) -> Refusal {
        Refusal { status: 400, why: rule }
    }
}
