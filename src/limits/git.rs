//! Limits of toolset `git`.

use std::time::Duration;

/// The oldest supported git: it introduced `safe.bareRepository`.
pub const GIT_VERSION: (u32, u32) = (2, 38);
/// Bytes kept of the output of one git command: the list of half a million files, or the largest
/// note.
pub const GIT_OUTPUT_BYTES: usize = 128 * 1024 * 1024;
/// Characters of git's error message in a result.
pub const GIT_MESSAGE_CHARS: usize = 600;
/// How long to wait for the remaining output of a git command that has exited.
pub const GIT_PIPE_PATIENCE: Duration = Duration::from_millis(500);
/// Files named in the result of a call whose change of them is not committed; a change may be of a
/// thousand.
pub const GIT_REFUSALS_NAMED: usize = 5;
/// The pause between two attempts to take git's lock on the index, each of which makes a file.
pub const GIT_INDEX_POLL: Duration = Duration::from_millis(20);
/// How long git may take to end when it is asked to, before it is killed.
pub const GIT_GRACE: Duration = Duration::from_secs(1);
/// Attempts to push a commit, each on top of what the remote has by then; others push occasionally,
/// not constantly.
pub const GIT_PUSHES: usize = 4;
/// For asking the remote whether an interrupted push arrived.
pub const GIT_PUSH_CHECK: Duration = Duration::from_secs(5);
/// How long another program may lock the repository's index before a write gives up.
pub const GIT_INDEX_WAIT: Duration = Duration::from_secs(3);
/// For the post-commit hook.
pub const GIT_POST_COMMIT: Duration = Duration::from_secs(3);
/// Bytes of one incoming file, and of all files of a commit that are larger than a note together,
/// which are read into memory; what is beyond is left to the owner's git.
pub const GIT_FILE_BYTES: u64 = 128 * 1024 * 1024;
/// Files named as kept because they were changed.
pub const GIT_NAMED: usize = 10;
/// For moving branch, index and working tree once the remote has a commit; not part of
/// `GIT_TIMEOUT_MS`.
pub const GIT_LOCAL_MOVE: Duration = Duration::from_secs(20);
/// How long to wait for the rest of an output that has to be complete.
pub const GIT_OUTPUT_PATIENCE: Duration = Duration::from_secs(20);
/// Characters of a commit message.
pub const COMMIT_MESSAGE_CHARS: usize = 5_000;
/// Versions of a note in one answer.
pub const GIT_VERSIONS: usize = 200;
/// Bytes of the list of files whose commit failed; beyond them the oldest are forgotten.
pub const GIT_UNCOMMITTED_BYTES: u64 = 1024 * 1024;
