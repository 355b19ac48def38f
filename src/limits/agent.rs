//! Bounds of the toolset `agent`.

use std::time::Duration;

/// The oldest supported Claude Code: the version with which its confinement was tested.
pub const AGENT_VERSION: (u32, u32, u32) = (2, 1, 328);
/// How long the program may take to print its version; it is hundreds of megabytes, and SD cards
/// are slow.
pub const AGENT_VERSION_WAIT: Duration = Duration::from_secs(30);
/// Sessions waiting for another to end; further ones are refused at once.
pub const AGENT_QUEUE: usize = 8;
/// Bytes of one line that a session prints, enough for a message that contains a page. A session
/// that prints a longer line is ended, and what it has written is filed.
pub const AGENT_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that a session may print in all.
pub const AGENT_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the prompt and the paths passed to a session's supervisor.
pub const AGENT_ORDER_BYTES: u64 = 8 * 1024 * 1024;
/// How long a session may take to end when it is asked to, before its group is killed.
pub const AGENT_GRACE: Duration = Duration::from_secs(2);
/// How long cancelling a job waits for its end: the grace, and a commit.
pub const AGENT_CANCEL_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for the remaining output of an ended session.
pub const AGENT_PIPE_PATIENCE: Duration = Duration::from_secs(2);
/// Characters of material for one `ingest`: what fits into a model's context and leaves it enough
/// to work.
pub const AGENT_CONTENT_CHARS: usize = 400_000;
/// Characters of a question.
pub const AGENT_QUESTION_CHARS: usize = 10_000;
/// Files of one `ingest`.
pub const AGENT_FILES: usize = 20;
/// Board cases of one `ingest`, and characters of each.
pub const AGENT_CASES: usize = 50;
/// See [`AGENT_CASES`].
pub const AGENT_CASE_CHARS: usize = 300;
/// Characters of a session's own words in an error.
pub const AGENT_MESSAGE_CHARS: usize = 600;
/// Characters of the description of what a session is currently doing.
pub const AGENT_DOING_CHARS: usize = 200;
/// Characters of an answer; a longer one is truncated. With the lists it stays below
/// [`super::RESULT_CHARS`].
pub const AGENT_ANSWER_CHARS: usize = 40_000;
/// Characters of what a session says of one domain.
pub const AGENT_DOMAIN_CHARS: usize = 4_000;
/// Entries of one list that a session returns, and characters of all its lists.
pub const AGENT_LISTED: usize = 200;
/// See [`AGENT_LISTED`].
pub const AGENT_LISTED_CHARS: usize = 20_000;
/// Written files that an answer names, and bytes of all their names.
pub const AGENT_WRITTEN: usize = 200;
/// See [`AGENT_WRITTEN`].
pub const AGENT_WRITTEN_BYTES: usize = 15_000;
/// Pages that one session may change.
pub const AGENT_PAGES: usize = 500;
/// Bytes of the copy of the vault that a session gets, hard links not counted.
pub const AGENT_COPY_BYTES: u64 = 1024 * 1024 * 1024;
/// Size in bytes from which a file, such as an attachment, is hard-linked instead of copied.
pub const AGENT_LINK_BYTES: u64 = 1024 * 1024;
/// Attempts to apply a session's changes to the vault while pages change or the vault is
/// temporarily unavailable.
pub const AGENT_APPLY_TRIES: usize = 6;
/// The pause between two of these.
pub const AGENT_APPLY_PAUSE: Duration = Duration::from_millis(500);
/// Bytes of the vault's CLAUDE.md that a session gets; a longer one is left out.
pub const AGENT_INSTRUCTIONS_BYTES: u64 = 64 * 1024;
/// Skills of a vault.
pub const AGENT_SKILLS: usize = 32;
/// Bytes of all skills of a vault.
pub const AGENT_SKILLS_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of one file of a skill.
pub const AGENT_SKILL_BYTES: u64 = 256 * 1024;
/// Files of one skill.
pub const AGENT_SKILL_FILES: usize = 64;
/// Characters of a skill's description.
pub const AGENT_DESCRIPTION_CHARS: usize = 1_024;
/// Jobs remembered for all logins together; the oldest ended one is dropped first.
pub const AGENT_JOBS: usize = 100;
/// The newest jobs, of which those without a result can be continued: each keeps its material, up
/// to 7 MB.
pub const AGENT_CONTINUED: usize = 8;
/// Tries to find a name for a copy of an attached file.
pub const AGENT_NAMES: u32 = 50;
/// The span of the daily budget.
pub const AGENT_BUDGET_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
/// The minimum budget of a session, in dollars.
pub const AGENT_MIN_USD: f64 = 0.01;
/// Bytes of the session ledger, above which its older half is dropped: a few thousand sessions.
pub const AGENT_LEDGER_BYTES: u64 = 2 * 1024 * 1024;
/// Characters of the line that summarizes a session.
pub const AGENT_ABOUT_CHARS: usize = 100;
/// Bytes of the files attached to one call.
pub const AGENT_ATTACHMENT_BYTES: usize = 5 * 1024 * 1024;
