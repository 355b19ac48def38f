//! Bounds on what tools return, and on what they may cost.

use std::time::Duration;

/// Characters of one tool result's JSON. claude.ai cuts at about 150,000, Claude Code at 100,000.
pub const RESULT_CHARS: usize = 95_000;
/// Characters that tools announce to clients as their longest result: [`RESULT_CHARS`] less what the frame around takes.
pub const ANNOUNCED_RESULT_CHARS: usize = 100_000;
/// Bytes of an image, sound or PDF handed to a client: Claude Desktop takes results up to 1 MB, and base64 adds a third.
pub const BLOB_BYTES: u64 = 700 * 1024;
/// Files of the same name of which the nearest are suggested when a path does not exist.
pub const SUGGESTED: usize = 1_000;
/// Candidates, or parts that exist, that an error lists: what a model reads to choose one.
pub const CANDIDATES_SHOWN: usize = 50;
/// Bytes of one of Obsidian's settings files; real ones have some hundred.
pub const OBSIDIAN_BYTES: u64 = 1024 * 1024;
/// Notes that one call reads or changes properties of.
pub const NOTES_PER_CALL: usize = 50;
/// Characters of text that one call reads of several notes, unless it says how many.
pub const NOTES_CHARS: usize = 20_000;
/// Characters of a line that an error shows as the nearest to a text that was not found.
pub const NEAREST_SHOWN: usize = 200;
/// Lines among which it is looked for: some milliseconds.
pub const NEAREST_LINES: usize = 20_000;
/// Bytes of a template whose variables are filled in, which makes it longer.
pub const TEMPLATE_BYTES: usize = 1024 * 1024;
/// Characters of a task's text that a list shows; of a longer one the beginning names it.
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
/// Bytes of all texts together, before and after, that one change of links or tags, or of a session, may have; in base64 they are in the journal.
pub const CHANGE_BYTES: usize = 44 * 1024 * 1024;
/// Bytes of an expression of `vault_query`.
pub const QUERY_BYTES: usize = 10_000;
/// How deep an expression may be, chains of operators included: each level takes some of a thread's stack.
pub const QUERY_DEPTH: usize = 100;
/// Parts of expressions that one query evaluates; so many take about two seconds on a Pi.
pub const QUERY_STEPS: u64 = 10_000_000;
/// How long one query may take.
pub const QUERY_TIME: Duration = Duration::from_secs(5);
/// Formulas of a base.
pub const QUERY_FORMULAS: usize = 200;
/// Characters of one cell, and of the value of a group or summary.
pub const QUERY_CELL_CHARS: usize = 5_000;
/// Bytes of a text that an expression makes.
pub const QUERY_TEXT_BYTES: usize = 100_000;
/// Values of a list that `split` makes.
pub const QUERY_LIST: usize = 10_000;
/// Characters of the rows of one page of `vault_query`.
pub const QUERY_PAGE_CHARS: usize = 40_000;
/// Notes that `search` of toolset `research` gives.
pub const RESEARCH_RESULTS: usize = 10;
/// Links of a page: each is found anew in the text of its note.
pub const LINKS_PAGE: usize = 30;
/// Characters of a line that are shown with a link or change in it.
pub const LINE_SHOWN: usize = 240;
/// Changes, links left alone and broken links that an answer names; their numbers are exact.
pub const CHANGES_SHOWN: usize = 20;
/// Entries in one page of a list, at most; the characters of the answer usually end it before.
pub const LIST_PAGE: usize = 1_000;
/// The same, unless another number is asked for: what a model reads before it asks for less.
pub const LIST_PAGE_USUAL: usize = 200;
/// Bytes of text that one thread searches by itself: starting others takes as long as searching this.
pub const SEARCH_ALONE_BYTES: u64 = 2 * 1024 * 1024;
/// Threads in addition to its own that one search may start.
pub const SEARCH_HELPERS: usize = 7;
/// Bytes of files that one search reads where texts are not kept; files beyond it are said not to be searched.
pub const SEARCH_READ_BYTES: u64 = 256 * 1024 * 1024;
/// How long a search waits for the first look at the vault before it goes on with what is indexed by then.
pub const FILL_PATIENCE: Duration = Duration::from_secs(2);
/// How often such a search looks whether it is over.
pub const FILL_LOOK: Duration = Duration::from_millis(5);
/// Results of one search.
pub const SEARCH_RESULTS: usize = 200;
/// Words of a query that are looked for: of more, those that the fewest files have. The bits of a number hold them.
pub const QUERY_WORDS: usize = 32;
/// Words of a query of which it is looked up how many files have them; further ones are left out.
pub const QUERY_WORDS_WEIGHED: usize = 128;
/// Regular expressions in one query; each takes up to [`REGEX_BYTES`].
pub const QUERY_EXPRESSIONS: usize = 8;
/// Files whose relevance is computed closely: those that are best by how often they have the words. With 32 one label of tests/bench/quality
/// is missed, with 100 none more is found.
pub const RANKED_FILES: usize = 40;
/// Texts whose files are kept for the next query, if each has all files: four bytes a file. Words that few files have take less.
pub const POSTINGS_LISTS: usize = 32;
/// Bytes of the longest word that the index of words has; a file with a longer one is looked at with each query.
pub const WORD_BYTES: usize = 64;
/// One in this many files may be left out of the index of words, and [`LEFT_OUT_LEAST`] more; beyond that there is none.
pub const LEFT_OUT_PART: usize = 50;
/// See [`LEFT_OUT_PART`].
pub const LEFT_OUT_LEAST: usize = 20;
/// Bytes that the index of words may take beyond half of the texts, but never more than all of them: a script without spaces has many
/// pairs of letters.
pub const WORDS_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that it may take in any case.
pub const WORDS_LEAST_BYTES: usize = 4 * 1024 * 1024;
/// What a list costs at least, in files.
pub const POSTINGS_LEAST: usize = 64;
/// Changes of files that are known by their order, four bytes each: in addition to a list that was made before, the files that have changed
/// since are looked at.
pub const RECENT_CHANGES: usize = 16_384;
/// Changes after which the index of words is made again.
pub const CHANGES_BEFORE_REBUILD: usize = 128;
/// Occurrences of one word in one file that count.
pub const RANKED_OCCURRENCES: usize = 64;
/// Bytes at the head of a text that count as much as a heading: frontmatter and some sixty words.
pub const RANKED_HEAD_BYTES: usize = 500;
/// Words of one query that are looked for in another form because nothing has them; each takes up to some milliseconds.
pub const QUERY_CORRECTIONS: usize = 4;
/// Words that no file has of which it is kept what stands in for them.
pub const CORRECTIONS_KEPT: usize = 256;
/// Letters of the longest word that is looked for in another form: an edit of it is as long, and there are 54 for each letter.
pub const CORRECTED_LETTERS: usize = 40;
/// Bytes of a passage: about two hundred words.
pub const PASSAGE_BYTES: usize = 1_200;
/// Bytes of a text of which a snippet shows the most.
pub const SNIPPET_BYTES: usize = 100;
/// Characters of a passage that is shown.
pub const PASSAGE_CHARS: usize = 600;
/// Passages of one note that are shown.
pub const PASSAGES: usize = 3;
/// Characters of an answer with passages, unless another number is asked for: what a model reads at once.
pub const PASSAGES_CHARS: usize = 8_000;
/// Characters of a search query.
pub const QUERY_CHARS: usize = 1_000;
/// How long a change of several files waits for its lock; another one takes milliseconds.
pub const TURN_WAIT: Duration = Duration::from_secs(10);
/// The pause between two attempts to take it.
pub const TURN_PAUSE: Duration = Duration::from_millis(5);
/// Names that are tried for a file in the trash.
pub const TRASH_NAMES: u32 = 1_000;
/// Characters of the title of an accomplishment, or the name of a task: one line that people read.
pub const TITLE_CHARS: usize = 200;
/// Bytes of the file name made from a title: with the ending, and for a temporary name in the same folder, every file system takes it.
pub const TITLE_FILE_BYTES: usize = 180;
/// The highest number of an id; far above what a canvas can hold.
pub const HIGHEST_ID: u32 = 999_999;
/// Notes that one message names.
pub const NAMED: usize = 5;
/// Lines at the head of a note that cannot be parsed in which its type and id are looked for.
pub const PROPERTY_LINES: usize = 60;
/// Tasks that an error names when the one asked for does not exist.
pub const TASKS_NAMED: usize = 20;
/// Characters to which each long text of an accomplishment is cut when its note does not fit into one answer.
pub const TEXT_CUT: usize = 1_000;
/// Notes that a list names because they cannot be read.
pub const PROBLEMS_NAMED: usize = 20;
/// How like an old criterion a new one is that replaces it and keeps what belongs to it: 1 is equal (normalised Levenshtein).
pub const CRITERION_LIKENESS: f64 = 0.4;
/// Ids that one entry of a list names.
pub const LISTED: usize = 100;
/// Acceptance criteria that are shown of a note too long for one answer.
pub const CRITERIA: usize = 30;
/// Accomplishments in the graph of a project: more cannot be read, and Mermaid stops at 500 edges by default.
pub const GRAPH_NODES: usize = 150;
/// Characters of a title in a graph or table.
pub const GRAPH_TITLE: usize = 80;

/// The least characters of a chunk that may be asked for (`context` tools): less would be all heads and no text.
pub const CHUNK_CHARS_LEAST: usize = 1_000;
/// Characters kept free in a chunk for the line that says which one it is.
pub const CHUNK_HEADER_CHARS: usize = 100;
/// Contexts, and tags, named in `config://vault-info`.
pub const INFO_NAMES: usize = 100;
/// Characters of context on either side of a match that may be asked for.
pub const GREP_CONTEXT: usize = 1_000;
/// Excerpts shown of one note.
pub const GREP_EXCERPTS: usize = 3;
/// Notes passed over before the caller is asked whether it still wants the rest.
pub const GREP_BLOCK: usize = 128;
/// A compiled regular expression, bytes; also its cache. What `regex` takes by default is five times as much.
pub const REGEX_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a text that are searched for a regular expression between two looks at the clock: at most 50 ms.
pub const REGEX_WINDOW_BYTES: usize = 64 * 1024;
/// Bytes of the longest match of a regular expression that is surely found whole; a quarter of a window.
pub const REGEX_MATCH_BYTES: usize = REGEX_WINDOW_BYTES / 4;
/// How long a search takes at most; an answer then says how many files were not searched.
pub const SEARCH_TIME: Duration = Duration::from_secs(3);
/// Searches for regular expressions that wait, for each core, while one for each core runs; further ones are refused, so that
/// most workers are left for others.
pub const EXPRESSIONS_WAITING_PER_CORE: usize = 2;

/// The oldest git that is used: `safe.bareRepository` came with it.
pub const GIT_VERSION: (u32, u32) = (2, 38);
/// Bytes kept of what a run of git prints; the largest note fits.
pub const GIT_OUTPUT_BYTES: usize = 32 * 1024 * 1024;
/// Notes that one run of git is given by its arguments: some hundred kilobytes, where Linux takes two megabytes.
pub const GIT_ARGUMENTS: usize = 1_000;
/// Characters of git's words in an answer.
pub const GIT_WORDS: usize = 600;
/// How long the rest of a finished run's output is waited for.
pub const GIT_PIPE_PATIENCE: Duration = Duration::from_millis(500);
/// How long git may take to end when it is asked to, before it is killed.
pub const GIT_GRACE: Duration = Duration::from_secs(1);
/// Between two attempts to take a lock that is held.
pub const GIT_LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How often a commit is pushed, each time on top of what the remote has then; others push now and then, not always.
pub const GIT_PUSHES: usize = 4;
/// For asking the remote what became of a push that was cut off.
pub const GIT_DOUBT: Duration = Duration::from_secs(5);
/// How long another program may have the repository's index before a write gives up.
pub const GIT_INDEX_WAIT: Duration = Duration::from_secs(3);
/// For the post-commit hook, and for refreshing the new index.
pub const GIT_AFTER: Duration = Duration::from_secs(3);
/// Bytes of one file that is compared and moved with what the remote has; it is in memory for a moment.
pub const GIT_FILE_BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of such files that are searched at once.
pub const GIT_PIECE: u64 = 64 * 1024;
/// Files that are named when they stay because they were changed.
pub const GIT_NAMED: usize = 10;
/// For moving branch, index and working tree once the remote has a commit; not part of `GIT_TIMEOUT_MS`.
pub const GIT_SETTLE: Duration = Duration::from_secs(20);
/// Characters of a commit message.
pub const COMMIT_MESSAGE_CHARS: usize = 5_000;
/// Versions of a note in one answer.
pub const GIT_VERSIONS: usize = 200;
