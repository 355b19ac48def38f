//! Bounds on what tools return, and on what they may cost.

use std::time::Duration;

/// Characters of one tool result's JSON. claude.ai cuts at about 150,000, Claude Code at 100,000.
pub const RESULT_CHARS: usize = 95_000;
/// The maximum result size that tools announce to clients, in characters: [`RESULT_CHARS`] plus what the enclosing message takes.
pub const ANNOUNCED_RESULT_CHARS: usize = 100_000;
/// Bytes of an image, audio file or PDF returned to a client: Claude Desktop accepts results up to 1 MB, and base64 adds a third.
pub const BLOB_BYTES: u64 = 700 * 1024;
/// Files of the same name among which the nearest are suggested if a path does not exist.
pub const SUGGESTED: usize = 1_000;
/// Candidates, or existing parts, listed in an error for a model to choose from.
pub const CANDIDATES_SHOWN: usize = 50;
/// Bytes of one of Obsidian's settings files; real ones have a few hundred.
pub const OBSIDIAN_BYTES: u64 = 1024 * 1024;
/// Notes that one call reads, or whose properties it changes.
pub const NOTES_PER_CALL: usize = 50;
/// Default number of characters that one call reads from several notes.
pub const NOTES_CHARS: usize = 20_000;
/// Characters shown of the line most similar to a text that was not found.
pub const NEAREST_SHOWN: usize = 200;
/// Lines among which it is searched: a few milliseconds.
pub const NEAREST_LINES: usize = 20_000;
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
/// Kept versions, each a line of 300 bytes in a log that is read whole.
pub const VERSIONS: usize = 200_000;
/// Bytes of that log.
pub const VERSIONS_LOG_BYTES: u64 = 256 * 1024 * 1024;
/// Total bytes of all texts, before and after, in one change of links or tags, or by a session; the journal has them in base64.
pub const CHANGE_BYTES: usize = 44 * 1024 * 1024;
/// Bytes of an expression of `vault_query`.
pub const QUERY_BYTES: usize = 10_000;
/// Maximum depth of an expression, chains of operators included: each level uses some of a thread's stack.
pub const QUERY_DEPTH: usize = 100;
/// Evaluation steps of one query; they take about two seconds on a Pi.
pub const QUERY_STEPS: u64 = 10_000_000;
/// How long one query may take.
pub const QUERY_TIME: Duration = Duration::from_secs(5);
/// Formulas of a base.
pub const QUERY_FORMULAS: usize = 200;
/// Characters of one cell, and of the value of a group or summary.
pub const QUERY_CELL_CHARS: usize = 5_000;
/// Bytes of a string that an expression produces.
pub const QUERY_TEXT_BYTES: usize = 100_000;
/// Elements of a list that `split` produces.
pub const QUERY_LIST: usize = 10_000;
/// Characters of the rows of one page of `vault_query`.
pub const QUERY_PAGE_CHARS: usize = 40_000;
/// Notes returned by `search` in the toolset `research`.
pub const RESEARCH_RESULTS: usize = 10;
/// Links in one page of results: each is located again in the text of its note.
pub const LINKS_PAGE: usize = 30;
/// Characters shown of a line that contains a link or change.
pub const LINE_SHOWN: usize = 240;
/// Changes, links left alone and broken links listed in a result; their counts are exact.
pub const CHANGES_SHOWN: usize = 20;
/// Maximum entries in one page of a list; the result's character limit usually ends it earlier.
pub const LIST_PAGE: usize = 1_000;
/// Default entries in one page of a list: what a model can read without narrowing the request.
pub const LIST_PAGE_USUAL: usize = 200;
/// Bytes of text that one thread searches alone: starting others takes as long as searching this.
pub const SINGLE_THREAD_BYTES: u64 = 2 * 1024 * 1024;
/// Additional threads that one search may start.
pub const SEARCH_HELPERS: usize = 7;
/// Bytes that one search reads from files whose text is not in memory; files beyond that are reported as not searched.
pub const SEARCH_READ_BYTES: u64 = 256 * 1024 * 1024;
/// How long a search waits for the first indexing before it continues with what is indexed so far.
pub const FIRST_INDEXING_WAIT: Duration = Duration::from_secs(2);
/// How often such a search checks whether it is complete.
pub const FIRST_INDEXING_POLL: Duration = Duration::from_millis(5);
/// Results of one search.
pub const SEARCH_RESULTS: usize = 200;
/// Words of a query that are searched for, the rarest if there are more; sets of them are bits of a `u32`.
pub const QUERY_WORDS: usize = 32;
/// Words of a query whose document frequency is looked up; further ones are ignored.
pub const QUERY_WORDS_WEIGHED: usize = 128;
/// Regular expressions in one query; each takes up to [`REGEX_BYTES`].
pub const QUERY_EXPRESSIONS: usize = 8;
/// Files that are ranked closely: the best by the rough score. With 32, one label of tests/bench/quality is missed; 100 finds no
/// more.
pub const RANKED_FILES: usize = 40;
/// Posting lists cached for later queries, if each lists all files (four bytes per file); those of rare words take less.
pub const POSTINGS_LISTS: usize = 32;
/// Bytes of the longest word in the word index; a file with a longer one is left out and scanned by each query.
pub const WORD_BYTES: usize = 64;
/// One in this many files, plus [`UNINDEXED_MIN`], may be missing from the word index; with more there is no index.
pub const UNINDEXED_FRACTION: usize = 50;
/// See [`UNINDEXED_FRACTION`].
pub const UNINDEXED_MIN: usize = 20;
/// Bytes that the word index may take beyond half of the texts, but in total no more than all of them: scripts without spaces have
/// many pairs of letters.
pub const WORD_INDEX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that it may take in addition, for small vaults.
pub const WORD_INDEX_BASE_BYTES: usize = 4 * 1024 * 1024;
/// The fixed cost of a cached list, in postings.
pub const POSTINGS_OVERHEAD: usize = 64;
/// The most recent file changes that are recorded, four bytes each: a cached list is completed by scanning the files changed
/// since.
pub const RECENT_CHANGES: usize = 16_384;
/// Changes after which the word index is rebuilt.
pub const CHANGES_BEFORE_REBUILD: usize = 128;
/// Occurrences of one word in one file that count.
pub const RANKED_OCCURRENCES: usize = 64;
/// Bytes at the start of a text that weigh as much as a heading: frontmatter and some sixty words.
pub const RANKED_HEAD_BYTES: usize = 500;
/// Words of one query that are corrected because no file contains them; each takes up to a few milliseconds.
pub const QUERY_CORRECTIONS: usize = 4;
/// Cached corrections of words that no file contains.
pub const CORRECTIONS_KEPT: usize = 256;
/// Letters of the longest word that is corrected: there are 54 possible edits per letter, each about as long as the word.
pub const CORRECTED_LETTERS: usize = 40;
/// Bytes of a passage: about two hundred words.
pub const PASSAGE_BYTES: usize = 1_200;
/// Bytes of the part of a passage that a snippet is built around.
pub const SNIPPET_BYTES: usize = 100;
/// Characters of a passage that is shown.
pub const PASSAGE_CHARS: usize = 600;
/// Passages of one note that are shown.
pub const PASSAGES: usize = 3;
/// Default characters of a result with passages: what a model reads at once.
pub const PASSAGES_CHARS: usize = 8_000;
/// Characters of a search query.
pub const QUERY_CHARS: usize = 1_000;
/// How long a change of several files waits for its lock; others hold it for milliseconds.
pub const LOCK_FILE_WAIT: Duration = Duration::from_secs(10);
/// The pause between two attempts to take it.
pub const LOCK_FILE_PAUSE: Duration = Duration::from_millis(5);
/// Names that are tried for a file in the trash.
pub const TRASH_NAMES: u32 = 1_000;
/// Characters of the title of an accomplishment, or the name of a task: one readable line.
pub const TITLE_CHARS: usize = 200;
/// Bytes of the file name made from a title: short enough on every file system, even with the extension or as a temporary name.
pub const TITLE_FILE_BYTES: usize = 180;
/// The highest number of an id; far above what a canvas can hold.
pub const HIGHEST_ID: u32 = 999_999;
/// Notes named in one message.
pub const NAMED: usize = 5;
/// Lines at the start of a malformed note that are searched for its type and id.
pub const PROPERTY_LINES: usize = 60;
/// Tasks named in the error for one that does not exist.
pub const TASKS_NAMED: usize = 20;
/// Characters to which each long text of an accomplishment is truncated if its note does not fit into one result.
pub const TEXT_CUT: usize = 1_000;
/// Unreadable notes that a list names.
pub const PROBLEMS_NAMED: usize = 20;
/// Minimum similarity to an old criterion for a new one to replace it and keep what belongs to it; 1 is equal (normalized Levenshtein).
pub const CRITERION_LIKENESS: f64 = 0.4;
/// Ids that one entry of a list names.
pub const LISTED: usize = 100;
/// Acceptance criteria shown of a note too long for one result.
pub const CRITERIA: usize = 30;
/// Accomplishments in the graph of a project: more cannot be read, and Mermaid stops at 500 edges by default.
pub const GRAPH_NODES: usize = 150;
/// Characters of a title in a graph or table.
pub const GRAPH_TITLE: usize = 80;

/// Minimum requested chunk size in characters (`context` tools): smaller chunks would be mostly headers.
pub const CHUNK_CHARS_MIN: usize = 1_000;
/// Characters reserved in a chunk for the line that identifies it.
pub const CHUNK_HEADER_CHARS: usize = 100;
/// Contexts, and tags, named in `config://vault-info`.
pub const INFO_NAMES: usize = 100;
/// Maximum characters of context on either side of a match.
pub const GREP_CONTEXT: usize = 1_000;
/// Excerpts shown of one note.
pub const GREP_EXCERPTS: usize = 3;
/// Notes processed between checks for cancellation.
pub const GREP_BLOCK: usize = 128;
/// Size of a compiled regular expression, and of its cache, bytes; the default of `regex` is five times as much.
pub const REGEX_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a text that are searched for a regular expression between two checks of the deadline: at most 50 ms.
pub const REGEX_WINDOW_BYTES: usize = 64 * 1024;
/// Bytes of the longest match of a regular expression that is guaranteed to be found whole; a quarter of a window.
pub const REGEX_MATCH_BYTES: usize = REGEX_WINDOW_BYTES / 4;
/// The maximum duration of a search; the result then says how many files were not searched.
pub const SEARCH_TIME: Duration = Duration::from_secs(3);
/// Regular-expression searches that may wait per core while one per core runs; further ones are refused, so that most workers
/// remain available.
pub const EXPRESSIONS_WAITING_PER_CORE: usize = 2;

/// The oldest supported git: it introduced `safe.bareRepository`.
pub const GIT_VERSION: (u32, u32) = (2, 38);
/// Bytes kept of the output of one git command; the largest note fits.
pub const GIT_OUTPUT_BYTES: usize = 32 * 1024 * 1024;
/// Notes passed as arguments to one git command: a few hundred kilobytes, while Linux allows two megabytes.
pub const GIT_ARGUMENTS: usize = 1_000;
/// Characters of git's error message in a result.
pub const GIT_MESSAGE_CHARS: usize = 600;
/// How long to wait for the remaining output of a git command that has exited.
pub const GIT_PIPE_PATIENCE: Duration = Duration::from_millis(500);
/// How long git may take to end when it is asked to, before it is killed.
pub const GIT_GRACE: Duration = Duration::from_secs(1);
/// The pause between two attempts to take a lock.
pub const GIT_LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Attempts to push a commit, each on top of what the remote has by then; others push occasionally, not constantly.
pub const GIT_PUSHES: usize = 4;
/// For asking the remote whether an interrupted push arrived.
pub const GIT_PUSH_CHECK: Duration = Duration::from_secs(5);
/// How long another program may lock the repository's index before a write gives up.
pub const GIT_INDEX_WAIT: Duration = Duration::from_secs(3);
/// For the post-commit hook, and for refreshing the new index.
pub const GIT_POST_COMMIT: Duration = Duration::from_secs(3);
/// Bytes of one file that is compared and merged with the remote's version, briefly in memory.
pub const GIT_FILE_BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of such a file that are searched at a time.
pub const GIT_PIECE: u64 = 64 * 1024;
/// Files named as kept because they were changed.
pub const GIT_NAMED: usize = 10;
/// For moving branch, index and working tree once the remote has a commit; not part of `GIT_TIMEOUT_MS`.
pub const GIT_SETTLE: Duration = Duration::from_secs(20);
/// Characters of a commit message.
pub const COMMIT_MESSAGE_CHARS: usize = 5_000;
/// Versions of a note in one answer.
pub const GIT_VERSIONS: usize = 200;
