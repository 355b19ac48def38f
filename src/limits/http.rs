//! Bounds on connections and messages.

use std::time::Duration;

// --- Connections (http) -------------------------------------------------------------------------

/// Connections held open at once unless `--max-connections` says otherwise. About 20 kB of memory
/// each, so a full table costs a Pi 10 MB.
pub const CONNECTIONS_DEFAULT: usize = 512;
/// Connections above the cap that may exist briefly while evicted ones end. Beyond that: 503.
pub const CONNECTIONS_OVERSHOOT: usize = 32;
/// Open connections of one address that have not yet sent a complete request head; clients and
/// proxies send it at once. Above it the oldest is closed.
pub const HEADLESS_PER_ADDRESS: usize = 64;
/// Requests in a handler at once, per processor core, unless `--workers` says otherwise: handlers
/// wait for disks.
pub const WORKERS_PER_CORE: usize = 8;
/// How long a request waits for a free worker before it is answered with 503.
pub const WORKER_WAIT: Duration = Duration::from_secs(10);
/// Stack of a connection's thread, bytes; only address space until it is used. Only the parsers
/// recurse: JSON and YAML stop at 128 levels by themselves, which a test reaches in a debug build,
/// whose frames are the largest.
pub const CONNECTION_STACK_BYTES: usize = 1024 * 1024;
/// Connections waiting in the kernel to be accepted: enough for a burst from a proxy, not from an
/// attacker.
pub const LISTEN_BACKLOG: i32 = 1024;
/// How long the accept thread rests after an error such as EMFILE, instead of spinning or ending.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// --- Times (http). A deadline is for the total; only WRITE_STALL is for each write ---------------

/// From the first byte of a request to the end of its head; also for a new connection's first byte,
/// and for the rest of a small body that is read only to be discarded.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// For a request body, plus one second for each [`BODY_MIN_RATE`] bytes received.
pub const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes per second below which a large upload is aborted.
pub const BODY_MIN_RATE: usize = 32 * 1024;
/// For a keep-alive connection without a request; longer than the 60 s for which nginx keeps an
/// upstream connection.
pub const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// A peer that accepts no byte of a response for this long is considered gone.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// Bytes per second below which a large response to a slow reader is aborted.
pub const WRITE_MIN_RATE: usize = 8 * 1024;
/// How long a connection is kept open after a refusal to read the peer's remaining bytes (a reset
/// would discard the response), plus one second for each [`BODY_MIN_RATE`] bytes received.
pub const LINGER: Duration = Duration::from_secs(5);
/// Bytes discarded while lingering: the largest possible request, because a proxy such as nginx
/// sends all of it before it reads the response, and would turn a 401 into a 502.
pub const LINGER_BYTES: usize = MCP_BYTES + HEAD_BYTES;
/// How long a peer that has closed its sending half is left alone before something is sent to find
/// whether it is still there.
pub const HALF_CLOSED_PROBED_AFTER: Duration = Duration::from_millis(500);
/// A connection whose request has been incomplete, or whose response has made no progress, for
/// longer than this may be closed in favour of a new one.
pub const EVICT_STALLED_AFTER: Duration = Duration::from_secs(1);
/// A connection younger than this is not closed for another: its request may have arrived before
/// its thread could read it.
pub const EVICT_MIN_AGE: Duration = Duration::from_millis(100);
/// How long running requests may take to end at shutdown.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// Interval of comment lines on a silent event stream, shorter than the idle timeout of every known
/// proxy (60 s and up).
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events queued for a slow subscriber, bytes: twice the largest response. A subscriber that falls
/// further behind is disconnected and may reconnect.
pub const EVENT_QUEUE_BYTES: usize = 2 * 1024 * 1024;
/// Stack of the thread that writes an event stream, bytes; it does nothing else.
pub const EVENT_STACK_BYTES: usize = 128 * 1024;

// --- Message sizes (http) -----------------------------------------------------------------------

/// Request line and header lines together, bytes. Above it 431.
pub const HEAD_BYTES: usize = 16 * 1024;
/// Request line, bytes. Above it 414. Four times an authorization request with a long `state`.
pub const REQUEST_LINE_BYTES: usize = 12 * 1024;
/// Header lines. Above it 431.
pub const HEADER_LINES: usize = 100;
/// Body of a form or a client registration, bytes.
pub const FORM_BYTES: usize = 64 * 1024;
/// Body of a message to `/mcp`, bytes: the largest note (see [`super::NOTE_BYTES`]) with its JSON
/// escapes.
pub const MCP_BYTES: usize = 16 * 1024 * 1024;
/// All request bodies being read or handled at one time, and all responses not yet sent, bytes.
/// Above it 503.
pub const RESERVED_BYTES: usize = 64 * 1024 * 1024;
/// A body or response up to this size is exempt from [`RESERVED_BYTES`]: memory suffices for one
/// more per connection. A body this small is read and discarded after a refusal, so that the
/// connection can be kept.
pub const SMALL_BYTES: usize = 64 * 1024;
/// One chunk-size line with its extensions, bytes.
pub const CHUNK_LINE_BYTES: usize = 256;
/// Bytes of chunk framing that a body may have beyond its own length.
pub const CHUNK_OVERHEAD_BYTES: usize = 64 * 1024;
/// All trailer lines of a chunked body, bytes; they are discarded.
pub const TRAILER_BYTES: usize = 4 * 1024;
/// Body of a GET, HEAD or DELETE, which has no meaning and is discarded.
pub const IGNORED_BODY_BYTES: usize = 1024;
/// Fields of a query string or form.
pub const FORM_FIELDS: usize = 64;
/// Folders offered after the login: as many as fit into [`FORM_FIELDS`] with the form's other
/// fields, and a page of 20 kB.
pub const FOLDERS_OFFERED: usize = 60;
/// Addresses of an `X-Forwarded-For` chain that are examined, from the right.
pub const FORWARDED_HOPS: usize = 16;
