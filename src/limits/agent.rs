//! The bounds of toolset `agent`.

use std::time::Duration;

/// The oldest Claude Code that is used: the one with which its confinement was tested.
pub const AGENT_VERSION: (u32, u32, u32) = (2, 1, 328);
/// How long the program may take to say its version; it is hundreds of megabytes, and a card is slow.
pub const AGENT_VERSION_WAIT: Duration = Duration::from_secs(30);
/// Sessions that wait for another to end; one more is refused at once.
pub const AGENT_QUEUE: usize = 8;
/// Bytes of a line that a session prints: a message with a page in it. More of one is not looked at.
pub const AGENT_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that a session may print in all.
pub const AGENT_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the prompt, command line and environment of a session, which its supervisor gets.
pub const AGENT_ORDER_BYTES: u64 = 8 * 1024 * 1024;
/// How long a session may take to end when it is asked to, before its group is killed.
pub const AGENT_GRACE: Duration = Duration::from_secs(2);
/// How long cancelling a job waits for its end: the grace, and a commit.
pub const AGENT_CANCEL_WAIT: Duration = Duration::from_secs(10);
/// How long the rest of an ended session's output is waited for.
pub const AGENT_PIPE_PATIENCE: Duration = Duration::from_secs(2);
/// Characters of material for one `ingest`: what a model can take in and still work.
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
pub const AGENT_WORDS: usize = 600;
/// Characters of what a session is said to do at the moment.
pub const AGENT_DOING_CHARS: usize = 200;
/// Characters of an answer; the rest of a longer one is cut. With the lists it stays below [`super::RESULT_CHARS`].
pub const AGENT_ANSWER_CHARS: usize = 40_000;
/// Characters of what a session says of one domain.
pub const AGENT_DOMAIN_CHARS: usize = 4_000;
/// Entries of one list that a session gives, and characters of all its lists.
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
/// Bytes from which a file is linked and not copied: an attachment.
pub const AGENT_LINK_BYTES: u64 = 1024 * 1024;
/// Tries to give what a session has changed to the vault, while pages change or the vault is away for a moment.
pub const AGENT_APPLY_TRIES: usize = 6;
/// The pause between two of these.
pub const AGENT_APPLY_PAUSE: Duration = Duration::from_millis(500);
/// Bytes of the vault's CLAUDE.md that a session gets; of one longer, none.
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
/// Jobs that are remembered, all logins together; the oldest that has ended goes first.
pub const AGENT_JOBS: usize = 100;
/// Tries to find a name for a copy of an attached file.
pub const AGENT_NAMES: u32 = 50;
/// The span of the daily budget.
pub const AGENT_BUDGET_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
/// Dollars with which a session can do anything at all.
pub const AGENT_LEAST_USD: f64 = 0.01;
/// Bytes of the ledger of sessions from which the older half of it is dropped: some thousand sessions.
pub const AGENT_LEDGER_BYTES: usize = 2 * 1024 * 1024;
/// Characters of the line that says what a session is about.
pub const AGENT_ABOUT_CHARS: usize = 100;
/// Bytes of the files that one call brings along.
pub const AGENT_ATTACHMENT_BYTES: usize = 5 * 1024 * 1024;
