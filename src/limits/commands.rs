//! Limits of the commands and the log.

use std::time::Duration;

/// Bytes of a message on the control socket, sent by one of the owner's commands.
pub const CONTROL_BYTES: u64 = 1024;
/// How long either side of the control socket waits for the other.
pub const CONTROL_WAIT: Duration = Duration::from_secs(10);
/// How long a log line waits for the reader of the earlier ones before it is dropped and counted.
pub const LOG_PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of a line written at once: Linux's `PIPE_BUF` (the POSIX minimum is smaller).
pub const LOG_PIECE_BYTES: usize = 4096;
/// Bytes that `check --server` keeps of one response; the documents have about two thousand.
pub const CHECK_BYTES: usize = 64 * 1024;
/// How long it waits for `curl`, which gives up by itself after 15 s.
pub const CHECK_PATIENCE: Duration = Duration::from_secs(20);
