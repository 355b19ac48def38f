//! The limits that several modules use, each with the unit in its name or type and the reason in its
//! comment; those of one module stand in it. (The valid ranges of settings are in `config`.)
//!
//! A peer, a model or a vault may be arbitrarily large, slow or hostile; these limits bound what it
//! can cost.

use std::time::Duration;

// --- Files, and watching, indexing and writing them ----------------------------------------------

/// The largest file that is read, edited or written as text, bytes. Obsidian itself becomes
/// unusable far below.
pub const NOTE_BYTES: u64 = 10 * 1024 * 1024;
/// The largest file whose text is kept for search, bytes; larger ones are found by name.
pub const INDEXED_BYTES: u64 = 4 * 1024 * 1024;
/// All text kept for search, bytes, including its folded form where that differs, and
/// [`INDEX_ENTRY_BYTES`] per file. Further files are found only by name, tag and property. With the
/// names of [`FILES`], bodies and responses it fits into the unit's MemoryMax.
pub const INDEX_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes that the index needs for a file in addition to its text.
pub const INDEX_ENTRY_BYTES: u64 = 600;
/// Files in the index, half a kilobyte each; beyond it a warning is logged and the rest is not
/// seen.
pub const FILES: usize = 500_000;
/// Nesting depth of folders.
pub const DEPTH: usize = 64;
/// Bytes of a path below the vault.
pub const PATH_BYTES: usize = 1024;
/// Bytes of one name in a path: the limit of Linux file systems.
pub const NAME_BYTES: usize = 255;
/// Bytes of frontmatter that are parsed: YAML beyond that is not metadata.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// Values in one parsed YAML document, aliases counted at each use. The longest frontmatter without
/// aliases has half as many.
pub const YAML_NODES: usize = 64 * 1024;
/// Tags of one note; a note that lists the tags of a vault may have hundreds.
pub const TAGS: usize = 1024;
/// Links of one note or canvas that are read; a list of all notes of a large vault has a tenth.
pub const LINKS: usize = 50_000;
/// Files whose links are read before they are added to the link index, and bytes of their text: so
/// many are read again after a call was cancelled.
pub const LINK_INDEX_BATCH: usize = 4096;
/// Bytes of a code span, inline math or a link target: what is not closed by then is plain text, so
/// that a note with a million opening delimiters does not take quadratic time.
pub const INLINE_BYTES: usize = 4096;
/// Warnings of one kind about files and folders that are logged; a vault may have thousands of
/// malformed notes.
pub const WARNINGS: usize = 20;
/// A file written less than this ago, and not by us, may be incomplete: programs that save in place
/// write piece by piece. Longer than any observed pause between pieces, shorter than a person
/// notices.
pub const AT_REST: Duration = Duration::from_millis(250);
/// Attempts at an edit if the file changes between reading and replacing it.
pub const EDIT_ATTEMPTS: usize = 3;
/// Occurrences of an ambiguous text that are counted: two are enough to refuse the edit.
pub const OCCURRENCES: usize = 1_000;

// --- Search --------------------------------------------------------------------------------------

/// How often a call that waits for the first indexing checks whether it is complete.
pub const FIRST_INDEXING_POLL: Duration = Duration::from_millis(5);
/// Words of a query that are searched for, the rarest if there are more; sets of them are bits of a
/// `u32`.
pub const QUERY_WORDS: usize = 32;
/// Bytes of a word that the word index has whole; of a longer one it has pieces, which overlap by
/// this much.
pub const WORD_BYTES: usize = 64;
/// Occurrences of one word in one file that count.
pub const RANKED_OCCURRENCES: usize = 64;
/// Characters of a passage that is shown.
pub const PASSAGE_CHARS: usize = 600;
/// Lines of one note that a search shows.
pub const LINES_OF_NOTE: usize = 200;
/// Passages of one note that are shown.
pub const PASSAGES: usize = 3;
/// Characters of a search query.
pub const QUERY_CHARS: usize = 1_000;
/// Size of a compiled regular expression, and of its cache, bytes; the default of `regex` is five
/// times as much.
pub const REGEX_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a text that are searched for a regular expression between two checks of the deadline:
/// at most 50 ms.
pub const REGEX_WINDOW_BYTES: usize = 64 * 1024;
/// The maximum duration of a search; the result then says how many files were not searched.
pub const SEARCH_TIME: Duration = Duration::from_secs(3);

// --- What tools return, and what they may cost ---------------------------------------------------

/// Characters of one tool result's JSON. claude.ai cuts at about 150,000, Claude Code at 100,000.
pub const RESULT_CHARS: usize = 95_000;
/// Candidates, or existing parts, listed in an error for a model to choose from.
pub const CANDIDATES_SHOWN: usize = 50;
/// Notes that one call reads, or whose properties it changes.
pub const NOTES_PER_CALL: usize = 50;
/// Characters of a task's text shown in a list; a longer one can be named by its beginning.
pub const TASK_CHARS: usize = 2_000;
/// Bytes of all kept versions together.
pub const VERSIONS_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of the log of versions that are read; a change has a line of 300 bytes or more. A cleanup
/// leaves at most a quarter of these bytes, and the newest text of each path that a person or
/// another login wrote.
pub const VERSIONS_LOG_BYTES: u64 = 128 * 1024 * 1024;
/// Total bytes of all texts, before and after, in one change of several files: they are in memory.
pub const CHANGE_BYTES: usize = 44 * 1024 * 1024;
/// Bytes of an expression of `vault_query`.
pub const QUERY_BYTES: usize = 10_000;
/// Maximum depth of an expression, chains of operators included: each level uses some of a thread's
/// stack.
pub const QUERY_DEPTH: usize = 100;
/// Bytes that the values of all queries take together.
pub const QUERY_MEMORY: usize = 128 * 1024 * 1024;
/// How long one query may take.
pub const QUERY_TIME: Duration = Duration::from_secs(5);
/// Characters of one cell, and of the value of a group or summary.
pub const QUERY_CELL_CHARS: usize = 5_000;
/// Bytes of a string that an expression produces.
pub const QUERY_TEXT_BYTES: usize = 100_000;
/// Changes, links left alone and broken links listed in a result.
pub const CHANGES_SHOWN: usize = 20;
/// Maximum entries in one page of a list; the result's character limit usually ends it earlier.
pub const LIST_PAGE: usize = 1_000;
/// Default entries in one page of a list: what a model can read without narrowing the request.
pub const LIST_PAGE_USUAL: usize = 200;
/// The pause between two attempts to take a lock file.
pub const LOCK_POLL: Duration = Duration::from_millis(5);
/// Characters of the title of an accomplishment, or the name of a task: one readable line.
pub const TITLE_CHARS: usize = 200;
/// Notes named in one message.
pub const NOTES_NAMED: usize = 5;
/// Characters to which each long text of an accomplishment is truncated if its note does not fit
/// into one result.
pub const TEXT_CUT_CHARS: usize = 1_000;
/// Ids that one entry of a list names.
pub const IDS_LISTED: usize = 100;
/// Minimum requested chunk size in characters (`context` tools): smaller chunks would be mostly
/// headers.
pub const CHUNK_CHARS_MIN: usize = 1_000;

// --- Toolset agent -------------------------------------------------------------------------------

/// Sessions waiting for another to end; further ones are refused at once.
pub const AGENT_QUEUE: usize = 8;
/// How long a session may take to end when it is asked to, before its group is killed.
pub const AGENT_GRACE: Duration = Duration::from_secs(2);
/// How long cancelling a job waits for its end: the grace, and a commit.
pub const AGENT_CANCEL_WAIT: Duration = Duration::from_secs(10);
/// Board cases of one `ingest`, and characters of each.
pub const AGENT_CASES: usize = 50;
/// Characters of what a session says of one domain.
pub const AGENT_DOMAIN_CHARS: usize = 4_000;
/// Entries of one list that a session returns.
pub const AGENT_LISTED: usize = 200;
/// Written files that an answer names, and bytes of all their names.
pub const AGENT_WRITTEN: usize = 200;
/// Characters of a skill's description.
pub const AGENT_DESCRIPTION_CHARS: usize = 1_024;

/// Versions of a note in one answer.
pub const GIT_VERSIONS: usize = 200;

// --- Connections and messages --------------------------------------------------------------------

/// How long the accept thread rests after an error such as EMFILE, instead of spinning or ending.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Bytes per second below which a large upload is aborted.
pub const BODY_MIN_RATE: usize = 32 * 1024;
/// A peer that accepts no byte of a response for this long is considered gone.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// How long running requests may take to end at shutdown.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// Interval of comment lines on a silent event stream, shorter than the idle timeout of every known
/// proxy (60 s and up).
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Request line and header lines together, bytes. Above it 431.
pub const HEAD_BYTES: usize = 16 * 1024;
/// Request line, bytes. Above it 414. Four times an authorization request with a long `state`.
pub const REQUEST_LINE_BYTES: usize = 12 * 1024;
/// Body of a message to `/mcp`, bytes: the largest note (see [`NOTE_BYTES`]) with its JSON
/// escapes.
pub const MCP_BYTES: usize = 16 * 1024 * 1024;
/// Fields of a query string or form: the folders that a person chooses among are one each.
pub const FORM_FIELDS: usize = 320;

// --- Sessions, streams and responses -------------------------------------------------------------

/// Legacy sessions in total. ChatGPT opens one for each tool call, so they are cheap and the oldest
/// is evicted first.
pub const SESSIONS: usize = 2_000;
/// Bytes of a resource's URI: the longest path with every byte percent-encoded, plus line and
/// column.
pub const RESOURCE_URI_BYTES: usize = 3 * PATH_BYTES + 100;
/// How often a long call checks whether its client has hung up; each check is a few system calls.
pub const HANG_UP_EVERY: Duration = Duration::from_millis(50);
/// Files that a search processes between checks for cancellation.
pub const SEARCH_BLOCK: usize = 256;
/// Requests that a client on stdio may send ahead of the responses.
pub const STDIO_QUEUE: usize = 256;

// --- Logins, clients and tokens ------------------------------------------------------------------

/// Lifetime of authorization codes, from the end of the login to the client's exchange.
pub const CODE_LIFE: Duration = Duration::from_secs(5 * 60);
/// How long an already exchanged refresh token yields its successor instead of revoking the grant,
/// unless `--refresh-window` says otherwise: legitimate clients share tokens between processes and
/// were measured to be up to an hour late.
pub const REFRESH_WINDOW: Duration = Duration::from_secs(3600);
/// Grants in total; the least recently used is dropped.
pub const GRANTS: usize = 1_000;
/// Registrations logged in one minute.
pub const REGISTRATIONS_LOGGED: u32 = 20;
/// Bytes of the redirect URI in an authorization request, or of `state`.
pub const URI_BYTES: usize = 2_000;
/// How long a lane rests after a wrong password. With it an attacker has at most 86,400 guesses a
/// day, from however many addresses.
pub const FAILED_LOGIN_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of a password: bcrypt reads no more, and truncating it silently would weaken the password.
pub const PASSWORD_BYTES: usize = 72;
