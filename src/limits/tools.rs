//! Bounds on what tools return, and on what they may cost.

use std::time::Duration;

/// Characters of one tool result's JSON. claude.ai cuts at about 150,000, Claude Code at 100,000.
pub const RESULT_CHARS: usize = 95_000;
/// The maximum result size that tools announce to clients, in characters: [`RESULT_CHARS`] plus
/// what the enclosing message takes.
pub const ANNOUNCED_RESULT_CHARS: usize = 100_000;
/// Bytes of an image, audio file or PDF returned to a client: Claude Desktop accepts results up to
/// 1 MB, and base64 adds a third.
pub const BLOB_BYTES: u64 = 700 * 1024;
/// Files of the same name among which the nearest are suggested if a path does not exist.
pub const SUGGESTED: usize = 1_000;
/// Characters that are enough of a name to suggest files with it in theirs.
pub const PART_OF_NAME_CHARS: usize = 4;
/// Candidates, or existing parts, listed in an error for a model to choose from.
pub const CANDIDATES_SHOWN: usize = 50;
/// Bytes of one of Obsidian's settings files; real ones have a few hundred.
pub const OBSIDIAN_BYTES: u64 = 1024 * 1024;
/// Notes that one call reads, or whose properties it changes.
pub const NOTES_PER_CALL: usize = 50;
/// Default number of characters that one call reads from several notes.
pub const NOTES_CHARS: usize = 20_000;
/// Characters shown of a text that the file has in another form, for a caller to copy.
pub const AS_TYPED_CHARS: usize = 2_000;
/// Bytes of a template whose variables are expanded; expansion makes it longer.
pub const TEMPLATE_BYTES: usize = 1024 * 1024;
/// Characters of a task's text shown in a list; a longer one can be named by its beginning.
pub const TASK_CHARS: usize = 2_000;
/// Tasks in one page of a list.
pub const TASKS_PAGE: usize = 200;
/// How long replaced and deleted versions are kept.
pub const VERSIONS_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes of all kept versions together.
pub const VERSIONS_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that are added to them before the oldest are removed.
pub const VERSIONS_FRESH_BYTES: u64 = VERSIONS_BYTES / 16;
/// Bytes of their log that are read; a change has a line of 300 bytes or more. A cleanup
/// leaves at most a quarter of these bytes, and the newest text of each path that a person or
/// another login wrote.
pub const VERSIONS_LOG_BYTES: u64 = 128 * 1024 * 1024;
/// Total bytes of all texts, before and after, in one change of several files: they are in memory.
pub const CHANGE_BYTES: usize = 44 * 1024 * 1024;
/// Bytes of YAML that are parsed to find the comment in one line; where there are aliases, each
/// parse counts as [`YAML_NODES`](super::YAML_NODES).
pub const COMMENT_CHECK_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of an expression of `vault_query`.
pub const QUERY_BYTES: usize = 10_000;
/// Maximum depth of an expression, chains of operators included: each level uses some of a thread's
/// stack.
pub const QUERY_DEPTH: usize = 100;
/// Evaluation steps of one query; [`QUERY_TIME`] bounds how long they take, and [`QUERY_MEMORY`]
/// what they make.
pub const QUERY_STEPS: u64 = 20_000_000;
/// Bytes that the values of all queries take together.
pub const QUERY_MEMORY: usize = 128 * 1024 * 1024;
/// How long one query may take.
pub const QUERY_TIME: Duration = Duration::from_secs(5);
/// Regular expressions in a query, and in a base; each takes up to [`super::REGEX_BYTES`].
pub const QUERY_PATTERNS: usize = 16;
/// Formulas of a base.
pub const QUERY_FORMULAS: usize = 200;
/// Columns and summaries of one answer of `vault_query`; their names together have [`QUERY_BYTES`]
/// at most.
pub const QUERY_COLUMNS: usize = 100;
/// Characters of one cell, and of the value of a group or summary.
pub const QUERY_CELL_CHARS: usize = 5_000;
/// Bytes of a string that an expression produces.
pub const QUERY_TEXT_BYTES: usize = 100_000;
/// Elements of a list that `split` produces.
pub const QUERY_LIST: usize = 10_000;
/// Characters of the rows of one page of `vault_query`; its groups and summaries have half of that
/// each.
pub const QUERY_PAGE_CHARS: usize = 40_000;
/// Links in one page of results: each is located again in the text of its note.
pub const LINKS_PAGE: usize = 100;
/// Characters shown of a line that contains a link or change.
pub const LINE_SHOWN_CHARS: usize = 240;
/// Changes, links left alone and broken links listed in a result.
pub const CHANGES_SHOWN: usize = 20;
/// Maximum entries in one page of a list; the result's character limit usually ends it earlier.
pub const LIST_PAGE: usize = 1_000;
/// Default entries in one page of a list: what a model can read without narrowing the request.
pub const LIST_PAGE_USUAL: usize = 200;
/// Bytes at the end of that log in which its last line is looked for: longer than any line.
pub const VERSIONS_LOG_TAIL: u64 = 64 * 1024;
/// How long a change waits for the log's lock; others hold it for milliseconds.
pub const LOCK_FILE_WAIT: Duration = Duration::from_secs(10);
/// The pause between two attempts to take a lock file.
pub const LOCK_POLL: Duration = Duration::from_millis(5);
/// Names that are tried for a file in the trash.
pub const TRASH_NAMES: u32 = 1_000;
/// Characters of the title of an accomplishment, or the name of a task: one readable line.
pub const TITLE_CHARS: usize = 200;
/// Bytes of the file name made from a title: short enough on every file system, even with the
/// extension or as a temporary name.
pub const TITLE_FILE_BYTES: usize = 180;
/// The highest number of an id; far above what a canvas can hold.
pub const HIGHEST_ID: u32 = 999_999;
/// Notes named in one message.
pub const NOTES_NAMED: usize = 5;
/// Lines at the start of a malformed note that are searched for its type and id.
pub const PROPERTY_LINES: usize = 60;
/// Tasks named in the error for one that does not exist.
pub const TASKS_NAMED: usize = 20;
/// Characters to which each long text of an accomplishment is truncated if its note does not fit
/// into one result.
pub const TEXT_CUT_CHARS: usize = 1_000;
/// Unreadable notes that a list names.
pub const PROBLEMS_NAMED: usize = 20;
/// Ids that one entry of a list names.
pub const IDS_LISTED: usize = 100;
/// Acceptance criteria shown of a note too long for one result.
pub const CRITERIA_SHOWN: usize = 30;

/// Minimum requested chunk size in characters (`context` tools): smaller chunks would be mostly
/// headers.
pub const CHUNK_CHARS_MIN: usize = 1_000;
/// Characters reserved in a chunk for the line that identifies it.
pub const CHUNK_HEADER_CHARS: usize = 100;
/// Contexts, and tags, named in `config://vault-info`.
pub const INFO_NAMES: usize = 100;
