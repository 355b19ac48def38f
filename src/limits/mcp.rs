//! Bounds on sessions, streams and answers.

use super::PATH_BYTES;
use std::time::Duration;

/// Legacy sessions in all. ChatGPT opens one for each tool call, so they are cheap and the oldest goes first.
pub const SESSIONS: usize = 2_000;
/// Legacy sessions of one login, so that a client in a loop only evicts itself.
pub const SESSIONS_PER_PRINCIPAL: usize = 500;
/// A session that was not used for this long has expired; the client gets 404 and initializes again.
pub const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);
/// Event streams open at once; each costs a connection and its thread.
pub const STREAMS: usize = 128;
/// Event streams of one login.
pub const STREAMS_PER_PRINCIPAL: usize = 16;
/// Requests of one session or stdio client that can be cancelled at one time; more than [`STDIO_QUEUE`].
pub const RUNNING_PER_CLIENT: usize = 512;
/// Values in one message: sixteen megabytes of the smallest ones would take a gigabyte as a tree.
pub const JSON_VALUES: usize = 50_000;
/// Bytes of all answers of one batch; what does not fit is answered with an error.
pub const BATCH_ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// Messages in one JSON-RPC batch (2025-03-26 only).
pub const BATCH: usize = 100;
/// JSON-RPC ids, bytes.
pub const ID_CHARS: usize = 256;
/// Resources in one page of `resources/list`; the characters of the answer may end it before.
pub const RESOURCES_PAGE: usize = 500;
/// Resources that one session, or one subscription, may ask to hear of.
pub const SUBSCRIBED_RESOURCES: usize = 200;
/// Bytes of their names together, three hundred of each; with all [`SESSIONS`] 128 MB.
pub const SUBSCRIBED_BYTES: usize = 64 * 1024;
/// Bytes of a resource's URI: the longest path, every byte of it encoded, with a line and a column.
pub const RESOURCE_URI_BYTES: usize = 3 * PATH_BYTES + 100;
/// Completions in one answer (MCP, "Completion").
pub const COMPLETIONS: usize = 100;
/// A call says how far it is at most this often, and never within this time of its beginning; what comes sooner is left out.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// How often a long call looks whether its client has hung up; each look is a few system calls.
pub const HANG_UP_EVERY: Duration = Duration::from_millis(50);
/// Files that a search goes through before it asks whether it is still wanted.
pub const SEARCH_BLOCK: usize = 256;
/// How often a vault whose changes are not reported is looked at while a client listens for changes.
pub const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Changes within this time are one notification.
pub const WATCH_GATHERS: Duration = Duration::from_millis(30);
/// Calls of a client on stdio that run at the same time; further ones wait for one to end.
pub const STDIO_CALLS: usize = 16;
/// How long one waits before it runs in spite of that: longer than a git push may take.
pub const STDIO_CALL_WAIT: Duration = Duration::from_secs(60);
/// Requests that a client on stdio may send ahead of their answers.
pub const STDIO_QUEUE: usize = 256;
