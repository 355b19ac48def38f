//! Bounds on connections and messages.

use std::time::Duration;

// --- Connections (http) -------------------------------------------------------------------------

/// Connections held open at once unless `--max-connections` says otherwise. About 20 kB of memory each, so a full
/// table costs a Pi 10 MB.
pub const CONNECTIONS_DEFAULT: usize = 512;
/// Connections above the cap that may exist for a moment while evicted ones end. Beyond it: 503.
pub const CONNECTIONS_OVERSHOOT: usize = 32;
/// Connections of one address that may be open without having sent a whole request head; clients and proxies send it at
/// once. The oldest is closed.
pub const HEADLESS_PER_ADDRESS: usize = 64;
/// Requests in a handler at once, per processor core, unless `--workers` says otherwise: handlers wait for disks.
pub const WORKERS_PER_CORE: usize = 8;
/// How long a request that was read waits for a free worker before it is answered 503.
pub const WORKER_WAIT: Duration = Duration::from_secs(10);
/// Stack of a connection's thread, bytes; address space, not memory, until it is used. Only the parsers recurse: JSON
/// and YAML stop at 128 levels by themselves, and a test goes there in a debug build, whose frames are the largest.
pub const CONNECTION_STACK: usize = 1024 * 1024;
/// Connections waiting in the kernel to be accepted: a burst of a proxy, not of an attacker.
pub const LISTEN_BACKLOG: i32 = 1024;
/// How long the accept thread rests after an error such as EMFILE, instead of spinning or ending.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// --- Deadlines (http), all total, none per read -------------------------------------------------

/// From the first byte of a request to the end of its head; also how long a new connection may say nothing, and for the
/// rest of a small body that is read only to be dropped.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// For a request body, plus one second for each [`BODY_MIN_RATE`] bytes that did arrive.
pub const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes per second below which a large upload is cut.
pub const BODY_MIN_RATE: usize = 32 * 1024;
/// A kept-alive connection without a request; longer than the 60 s for which nginx keeps an upstream connection.
pub const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// A peer that takes no byte of an answer for this long is gone.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// Bytes per second below which a peer that reads a large answer in drips is cut.
pub const WRITE_MIN_RATE: usize = 8 * 1024;
/// How long an answer to a refused request is protected from the peer's unread bytes (a reset would discard it), plus
/// one second for each [`BODY_MIN_RATE`] bytes that did arrive.
pub const LINGER: Duration = Duration::from_secs(5);
/// Bytes discarded while lingering: the largest request that may come, because a proxy such as nginx sends all of it
/// before it looks for the answer, and would make a 502 of a 401.
pub const LINGER_BYTES: usize = MCP_BYTES + HEAD_BYTES;
/// A connection that has been reading its request, or has taken nothing of its answer, for longer than this may be
/// closed for a newcomer.
pub const EVICT_READING_AFTER: Duration = Duration::from_secs(1);
/// A connection younger than this is not closed for another: its request may have come, and its thread not yet looked.
pub const EVICT_NEVER_BEFORE: Duration = Duration::from_millis(100);
/// How long running requests may take to end at shutdown.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// Comment line on a silent event stream, shorter than every proxy's idle limit that was met (60 s and up).
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events that wait for a slow subscriber, bytes: the largest answer fits twice. One that falls further behind is dropped
/// and may come back.
pub const EVENT_QUEUE_BYTES: usize = 2 * 1024 * 1024;
/// Stack of the thread that writes an event stream, bytes: it does nothing else.
pub const EVENT_STACK: usize = 128 * 1024;

// --- Message sizes (http) -----------------------------------------------------------------------

/// Request line and header lines together, bytes. Above it 431.
pub const HEAD_BYTES: usize = 16 * 1024;
/// Request line, bytes. Above it 414. An authorization request with a long `state` fits four times.
pub const REQUEST_LINE_BYTES: usize = 12 * 1024;
/// Header lines. Above it 431.
pub const HEADER_LINES: usize = 100;
/// Body of a form or a client registration, bytes.
pub const FORM_BYTES: usize = 64 * 1024;
/// Body of a message to `/mcp`, bytes: the largest note (see [`super::NOTE_BYTES`]) with its JSON escapes.
pub const MCP_BYTES: usize = 16 * 1024 * 1024;
/// All request bodies being read or handled at one time, bytes; and all answers that peers have not taken yet. Above it 503.
pub const RESERVED_BYTES: usize = 64 * 1024 * 1024;
/// A body or an answer up to this many bytes is not refused for that: one for each connection fits in addition to them. A body this
/// small is read and thrown away after a refusal, so that the connection can be kept.
pub const SMALL_BYTES: usize = 64 * 1024;
/// One chunk-size line with its extensions, bytes.
pub const CHUNK_LINE_BYTES: usize = 256;
/// Bytes of chunk framing that a body may have beyond its own length.
pub const CHUNK_OVERHEAD_BYTES: usize = 64 * 1024;
/// All trailer lines of a chunked body, bytes; they are thrown away.
pub const TRAILER_BYTES: usize = 4 * 1024;
/// Body of a GET, HEAD or DELETE, which means nothing and is dropped.
pub const IGNORED_BODY_BYTES: usize = 1024;
/// Fields of a query string or form.
pub const FORM_FIELDS: usize = 64;
/// Folders that a person can choose from after the login: as many as fields fit, with the others of the form, and a page of 20 kB.
pub const FOLDERS_OFFERED: usize = 60;
/// Addresses of an `X-Forwarded-For` chain that are looked at, from the right.
pub const FORWARDED_HOPS: usize = 16;
