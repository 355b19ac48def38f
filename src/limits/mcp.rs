//! Bounds on sessions, streams and responses.

use super::PATH_BYTES;
use std::time::Duration;

/// Legacy sessions in total. ChatGPT opens one for each tool call, so they are cheap and the oldest
/// is evicted first.
pub const SESSIONS: usize = 2_000;
/// Legacy sessions of one login, so that a client in a loop only evicts itself.
pub const SESSIONS_PER_PRINCIPAL: usize = 500;
/// A session unused for this long expires; the client gets 404 and initializes again.
pub const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);
/// Event streams open at once; each costs a connection and its thread.
pub const STREAMS: usize = 128;
/// Event streams of one login.
pub const STREAMS_PER_PRINCIPAL: usize = 16;
/// Requests of one session or stdio client that can be cancelled at one time; more than
/// [`STDIO_QUEUE`].
pub const RUNNING_PER_CLIENT: usize = 512;
/// JSON values in one message: sixteen megabytes of the smallest ones would take a gigabyte when
/// parsed.
pub const JSON_VALUES: usize = 50_000;
/// Bytes of all responses to one batch; a request whose response does not fit gets an error.
pub const BATCH_ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// Messages in one JSON-RPC batch (2025-03-26 only).
pub const BATCH: usize = 100;
/// JSON-RPC ids, bytes.
pub const ID_BYTES: usize = 256;
/// Resources in one page of `resources/list`; the response's character limit may end it earlier.
pub const RESOURCES_PAGE: usize = 500;
/// Resources that one session, or one subscription, may watch.
pub const SUBSCRIBED_RESOURCES: usize = 200;
/// Total bytes of their URIs, about three hundred each; 128 MB for all [`SESSIONS`].
pub const SUBSCRIBED_BYTES: usize = 64 * 1024;
/// Bytes of a resource's URI: the longest path with every byte percent-encoded, plus line and
/// column.
pub const RESOURCE_URI_BYTES: usize = 3 * PATH_BYTES + 100;
/// Completions in one answer (MCP, "Completion").
pub const COMPLETIONS: usize = 100;
/// The minimum interval between progress notifications of a call, and before its first one; earlier
/// ones are dropped.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// How often a long call checks whether its client has hung up; each check is a few system calls.
pub const HANG_UP_EVERY: Duration = Duration::from_millis(50);
/// Files that a search processes between checks for cancellation.
pub const SEARCH_BLOCK: usize = 256;
/// How often a vault whose changes are not reported is polled while a client listens for changes.
pub const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Changes within this time are one notification.
pub const WATCH_DEBOUNCE: Duration = Duration::from_millis(30);
/// Calls of a client on stdio that run at the same time; further ones wait for one to end.
pub const STDIO_CALLS: usize = 16;
/// How long one waits before it runs all the same: longer than a git push may take.
pub const STDIO_CALL_WAIT: Duration = Duration::from_secs(60);
/// Requests that a client on stdio may send ahead of the responses.
pub const STDIO_QUEUE: usize = 256;
/// Paths in the log line of one call.
pub const LOGGED_PATHS: usize = 10;
