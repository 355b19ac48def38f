//! The bounds on what others can cost, each once, with its unit in the name or type and its reason beside it. (What a
//! setting may be is said in `config`.)
//!
//! A peer, a model or a vault may be as large, slow or hostile as it likes; what it can cost is written here.

mod agent;

pub use agent::*;

use std::time::Duration;

// --- Connections (http) -------------------------------------------------------------------------

/// Connections held open at once unless `--max-connections` says otherwise. About 20 kB of memory each, so a full
/// table costs a Pi 10 MB.
pub const CONNECTIONS_DEFAULT: usize = 512;
/// Connections above the cap that may exist for a moment while evicted ones end. Beyond it: 503.
pub const CONNECTIONS_OVERSHOOT: usize = 32;
/// Connections of one address that may be open without having sent a whole request head; clients and proxies send it at
/// once. The oldest makes room.
pub const HEADLESS_PER_ADDRESS: usize = 64;
/// Requests in a handler at once, per processor core, unless `--workers` says otherwise: handlers wait for disks.
pub const WORKERS_PER_CORE: usize = 8;
/// How long a request that was read waits for a free worker before it is answered 503.
pub const WORKER_WAIT: Duration = Duration::from_secs(10);
/// Stack of a connection's thread, bytes; address space, not memory, until it is used. Only the parsers recurse: JSON
/// and YAML stop at 128 levels by themselves, and a test goes there in a debug build, whose frames are the largest.
pub const CONNECTION_STACK: usize = 1024 * 1024;
/// Connections waiting in the kernel to be accepted: a burst of a proxy, not of an attacker.
pub const LISTEN_BACKLOG: i32 = 1024;
/// How long the accept thread rests after an error such as EMFILE, instead of spinning or ending.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// --- Deadlines (http), all total, none per read -------------------------------------------------

/// From the first byte of a request to the end of its head; also how long a new connection may say nothing, and for the
/// rest of a small body that is read only to be dropped.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// For a request body, plus one second for each [`BODY_MIN_RATE`] bytes that did arrive.
pub const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes per second below which a large upload is cut.
pub const BODY_MIN_RATE: usize = 32 * 1024;
/// A kept-alive connection without a request; longer than the 60 s for which nginx keeps an upstream connection.
pub const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// A peer that takes no byte of an answer for this long is gone.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// Bytes per second below which a peer that reads a large answer in drips is cut.
pub const WRITE_MIN_RATE: usize = 8 * 1024;
/// How long an answer to a refused request is protected from the peer's unread bytes (a reset would discard it), plus
/// one second for each [`BODY_MIN_RATE`] bytes that did arrive.
pub const LINGER: Duration = Duration::from_secs(5);
/// Bytes discarded while lingering: the largest request that may come, because a proxy such as nginx sends all of it
/// before it looks for the answer, and would make a 502 of a 401.
pub const LINGER_BYTES: usize = MCP_BYTES + HEAD_BYTES;
/// A connection that has been reading its request, or has taken nothing of its answer, for longer than this may be
/// closed for a newcomer.
pub const EVICT_READING_AFTER: Duration = Duration::from_secs(1);
/// A connection younger than this is not closed for another: its request may have come, and its thread not yet looked.
pub const EVICT_NEVER_BEFORE: Duration = Duration::from_millis(100);
/// How long running requests may take to end at shutdown.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// Comment line on a silent event stream, shorter than every proxy's idle limit that was met (60 s and up).
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events that wait for a slow subscriber, bytes: the largest answer fits twice. One that falls further behind is dropped
/// and may come back.
pub const EVENT_QUEUE_BYTES: usize = 2 * 1024 * 1024;
/// Stack of the thread that writes an event stream, bytes: it does nothing else.
pub const EVENT_STACK: usize = 128 * 1024;

// --- Message sizes (http) -----------------------------------------------------------------------

/// Request line and header lines together, bytes. Above it 431.
pub const HEAD_BYTES: usize = 16 * 1024;
/// Request line, bytes. Above it 414. An authorization request with a long `state` fits four times.
pub const REQUEST_LINE_BYTES: usize = 12 * 1024;
/// Header lines. Above it 431.
pub const HEADER_LINES: usize = 100;
/// Body of a form or a client registration, bytes.
pub const FORM_BYTES: usize = 64 * 1024;
/// Body of a message to `/mcp`, bytes: the largest note (see [`NOTE_BYTES`]) with room for JSON escapes.
pub const MCP_BYTES: usize = 16 * 1024 * 1024;
/// All request bodies being read or handled at one time, bytes. Above it 503.
pub const BODIES_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// A body up to this many bytes needs no room among those: as many as there are connections fit beside them.
pub const SMALL_BODY_BYTES: usize = 64 * 1024;
/// All answers that peers have not taken yet, bytes, small ones aside. Above it 503.
pub const ANSWERS_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// A body this small is read and thrown away after a refusal, so that the connection can be kept.
pub const DISCARD_BYTES: usize = 64 * 1024;
/// One chunk-size line with its extensions, bytes.
pub const CHUNK_LINE_BYTES: usize = 256;
/// Bytes of chunk framing that a body may have beyond its own length.
pub const CHUNK_OVERHEAD_BYTES: usize = 64 * 1024;
/// All trailer lines of a chunked body, bytes; they are thrown away.
pub const TRAILER_BYTES: usize = 4 * 1024;
/// Body of a GET, HEAD or DELETE, which means nothing and is dropped.
pub const IGNORED_BODY_BYTES: usize = 1024;
/// Fields of a query string or form.
pub const FORM_FIELDS: usize = 64;
/// Folders that a person can choose from after the login: as many as fields fit, with the others of the form, and a page of 20 kB.
pub const FOLDERS_OFFERED: usize = 60;
/// Addresses of an `X-Forwarded-For` chain that are looked at, from the right.
pub const FORWARDED_HOPS: usize = 16;

// --- MCP ----------------------------------------------------------------------------------------

/// Legacy sessions in all. ChatGPT opens one for each tool call, so they are cheap and the oldest goes first.
pub const SESSIONS: usize = 2_000;
/// Legacy sessions of one login, so that a client in a loop only evicts itself.
pub const SESSIONS_PER_PRINCIPAL: usize = 500;
/// A session nobody used for this long is not taken any more; the client gets 404 and initializes again.
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
/// Messages of event streams kept for clients that come back with Last-Event-ID, all sessions together, and bytes.
pub const REPLAY_MESSAGES: usize = 1_000;
/// See [`REPLAY_MESSAGES`].
pub const REPLAY_BYTES: usize = 8 * 1024 * 1024;
/// How long they are kept: a client comes back within seconds or not at all.
pub const REPLAY_LIFE: Duration = Duration::from_secs(5 * 60);
/// What a client is asked to wait before it opens a broken event stream again, milliseconds.
pub const STREAM_RETRY_MS: u32 = 2_000;
/// Event streams of running requests of one session.
pub const REQUEST_STREAMS: usize = 16;
/// Resources in one page of `resources/list`; the characters of the answer may end it before.
pub const RESOURCES_PAGE: usize = 500;
/// Resources that one session, or one subscription, may ask to hear of.
pub const SUBSCRIBED_RESOURCES: usize = 200;
/// Bytes of the names of all subscribed resources.
pub const SUBSCRIBED_BYTES: usize = 16 * 1024 * 1024;
/// The same of one login: several clients of a person, each with all the resources it may ask for by names of usual length.
pub const SUBSCRIBED_BYTES_PER_LOGIN: usize = 1024 * 1024;
/// Bytes of a resource's URI: the longest path, every byte of it encoded, with room for a line and column.
pub const RESOURCE_URI_BYTES: usize = 3 * PATH_BYTES + 100;
/// Completions in one answer (MCP, "Completion").
pub const COMPLETIONS: usize = 100;
/// A call says how far it is at most this often, and never within this time of its beginning; what comes sooner waits.
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

// --- Tool results -------------------------------------------------------------------------------

/// Characters of one tool result's JSON. claude.ai cuts at about 150,000, Claude Code at 100,000.
pub const RESULT_CHARS: usize = 95_000;
/// Characters that tools announce to clients as their longest result: [`RESULT_CHARS`] with room for the frame around.
pub const RESULT_CHARS_TOLD: usize = 100_000;
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
/// Bytes of a variable of a template, its format included.
pub const TEMPLATE_VARIABLE_BYTES: usize = 256;
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
/// Threads beside its own that one search may start.
pub const SEARCH_HELPERS: usize = 7;
/// Bytes of files that one search reads where texts are not kept; files beyond it are said not to be searched.
pub const SEARCH_READ_BYTES: u64 = 256 * 1024 * 1024;
/// How long a search waits for the first look at the vault before it goes on with what is indexed by then.
pub const FILL_PATIENCE: Duration = Duration::from_secs(2);
/// Files that are read before they are put into the index together.
pub const FILL_BLOCK: usize = 512;
/// Results of one search.
pub const SEARCH_RESULTS: usize = 200;
/// Words of a query that are looked for; further ones are left out. The bits of a number hold them.
pub const QUERY_WORDS: usize = 32;
/// Regular expressions in one query; each takes up to [`REGEX_BYTES`].
pub const QUERY_EXPRESSIONS: usize = 8;
/// Files whose relevance is computed closely: those that are best by how often they have the words.
pub const RANKED_FILES: usize = 100;
/// Texts whose files are kept for the next query, if each has all files: four bytes a file. Words that few files have take less.
pub const POSTINGS_LISTS: usize = 32;
/// Bytes of the longest word that the index of words has; a file with a longer one is looked at with each query.
pub const WORD_BYTES: usize = 64;
/// The part of all files that may be looked at for that, as one of so many; and so many in any case.
pub const LEFT_OUT_PART: usize = 50;
/// See [`LEFT_OUT_PART`].
pub const LEFT_OUT_LEAST: usize = 20;
/// Bytes that the index of words may take in any case; beyond them half of the texts.
pub const WORDS_LEAST_BYTES: usize = 4 * 1024 * 1024;
/// What a list costs at least, in files.
pub const POSTINGS_LEAST: usize = 64;
/// Files that may have changed since a list was made: each is looked at again with every query, until the list is made again.
pub const RECENT_CHANGES: usize = 256;
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
/// How long a change of several files waits for its turn; another one takes milliseconds.
pub const TURN_WAIT: Duration = Duration::from_secs(10);
/// How often it looks whether it has come.
pub const TURN_PAUSE: Duration = Duration::from_millis(5);
/// Names that are tried for a file in the trash.
pub const TRASH_NAMES: u32 = 1_000;
/// Characters of the title of an accomplishment, or the name of a task: one line that people read.
pub const TITLE_CHARS: usize = 200;
/// Bytes of the file name made from a title: with the ending, and a temporary name beside it, every file system takes it.
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
/// How like an old criterion a new one is that takes its place with what belongs to it: 1 is equal (normalised Levenshtein).
pub const CRITERION_LIKENESS: f64 = 0.4;
/// Ids that one entry of a list names.
pub const LISTED: usize = 100;
/// Acceptance criteria that are shown of a note too long for one answer.
pub const CRITERIA: usize = 30;
/// Accomplishments in the graph of a project: more nobody can look at, and Mermaid stops at 500 edges by default.
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
/// Places shown of one note.
pub const GREP_PLACES: usize = 3;
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
/// Between two looks at a lock that somebody else has.
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
/// Files that are named when they stay because somebody has changed them.
pub const GIT_NAMED: usize = 10;
/// For moving branch, index and working tree once the remote has a commit; not part of `GIT_TIMEOUT_MS`.
pub const GIT_SETTLE: Duration = Duration::from_secs(20);
/// Characters of a commit message.
pub const COMMIT_MESSAGE_CHARS: usize = 5_000;
/// Versions of a note in one answer.
pub const GIT_VERSIONS: usize = 200;

/// Files that a failed commit left to the next one.
pub const GIT_LEFT: usize = 1_000;

// --- Vault --------------------------------------------------------------------------------------

/// The largest file that is read, edited or written as text, bytes. Obsidian itself becomes unusable far below.
pub const NOTE_BYTES: u64 = 10 * 1024 * 1024;
/// The largest file whose text is kept for search, bytes; larger ones are found by name.
pub const INDEXED_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes at the head of a file without a known ending from which it is decided whether it is text.
pub const SNIFFED_BYTES: usize = 1024;
/// All text kept for search, bytes, with its folded form where that differs and [`INDEX_ENTRY_BYTES`] for each file. Beyond it
/// files are found by name, tag and property only. With the names of [`FILES`], bodies and answers it fits into the unit's MemoryMax.
pub const INDEX_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes that the index needs for a file beside its text: a kilobyte of filter.
pub const INDEX_ENTRY_BYTES: u64 = 1_100;
/// Frontmatter that is kept of files whose text is not, bytes in all, beyond those.
pub const INDEX_HEAD_BYTES: u64 = 32 * 1024 * 1024;
/// Files in the index, half a kilobyte each; beyond it a warning is logged and the rest is not seen.
pub const FILES: usize = 500_000;
/// Folders within folders.
pub const DEPTH: usize = 64;
/// Bytes of a path below the vault.
pub const PATH_BYTES: usize = 1024;
/// Bytes of one name in a path: the limit of Linux file systems.
pub const NAME_BYTES: usize = 255;
/// Bytes of frontmatter that are parsed: YAML beyond that is not metadata.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// Values made of one YAML document, aliases counted each time they are used. The longest frontmatter without aliases has half
/// as many.
pub const YAML_NODES: usize = 64 * 1024;
/// Bytes of text in the values of one YAML document, aliases counted each time: four times [`FRONTMATTER_BYTES`].
pub const YAML_BYTES: usize = 256 * 1024;
/// Brackets open at the same time in a YAML document: `serde_yaml` accepts 128 levels, and its scanner takes time that grows
/// with the square of the open ones.
pub const YAML_BRACKETS: usize = 256;
/// Tags of one note.
pub const TAGS: usize = 256;

/// Bytes of a code span, an inline formula or the target of a link: what is not closed by then is text, so that a note of a
/// million opening signs takes no square of them.
pub const INLINE_BYTES: usize = 4096;
/// Parts of the vault that grants of folders cover and that are kept in memory, each with an index of its own.
pub const VAULT_PARTS: usize = 8;
/// Bytes that are read from the queue of changes at once: some hundred events.
pub const EVENT_BUFFER_BYTES: usize = 16 * 1024;
/// Changed paths that are looked at one by one; of more a walk is cheaper. As many as the kernel's queue holds by default.
pub const CHANGED_PATHS: usize = 16_384;
/// A file that a program keeps open is taken for closed when it was not written to for so long.
pub const OPEN_FILE_PATIENCE: Duration = Duration::from_secs(60);
/// How often a vault whose changes are reported is walked all the same: a change through a hard link from elsewhere, or below
/// an overlay, is not reported.
pub const FULL_WALK_EVERY: Duration = Duration::from_secs(300);
/// A walk that takes less than this is made in front of the call when it is due: waiting is cheaper than being stale.
pub const WALK_IN_FRONT: Duration = Duration::from_millis(5);
/// A walk stays valid for this many times its own duration (rule 6 of the vault), so checking takes a tenth of the time.
pub const WALK_VALID_TIMES: u32 = 10;
/// The last walks, of which the shortest tells how long a walk takes on a machine that does nothing else.
pub const WALKS_COMPARED: usize = 8;
/// A file whose mtime lies this close before the moment it was read may change again within the same tick of the
/// file system's clock (10 ms on Linux without high-resolution stamps), so its stamp does not prove it unchanged.
pub const MTIME_TICK: Duration = Duration::from_millis(40);
/// The same for file systems that keep whole seconds (FAT keeps two).
pub const MTIME_COARSE_TICK: Duration = Duration::from_secs(3);
/// Bytes of the names of a file's extended attributes, and of the value of each: Linux's own limit.
pub const ATTRIBUTE_BYTES: usize = 64 * 1024;
/// Troubles with files and folders that are remembered so that each is logged once.
pub const COMPLAINTS: usize = 1_000;
/// Notes with malformed frontmatter that are named in the log at the usual level; a vault may have thousands.
pub const MALFORMED_SHOWN: u64 = 20;
/// A file that was written less than this ago, and not by us, may be half of what it is to be: programs that save in
/// place write piece by piece. Longer than any pause of theirs that was seen, shorter than anybody notices.
pub const AT_REST: Duration = Duration::from_millis(250);
/// How often it is looked at meanwhile.
pub const AT_REST_LOOK: Duration = Duration::from_millis(20);
/// How long such a file is waited for at most; then it is one that never rests, such as a log, and nothing is changed.
pub const REST_PATIENCE: Duration = Duration::from_secs(2);
/// How often an edit is tried again when the file changed between reading and replacing it.
pub const EDIT_RETRIES: usize = 3;
/// Occurrences of an ambiguous text that are counted before giving up: the answer is no after two.
pub const OCCURRENCES: usize = 1_000;
/// Bytes that are compared to count them.
pub const OCCURRENCE_BYTES: usize = 16 * 1024 * 1024;
/// How often a folder that another process has locked for a rename is tried again, and the pause in between: two
/// seconds in all, thousands of times longer than a rename takes.
pub const FOLDER_LOCK_TRIES: u32 = 2_000;
/// See [`FOLDER_LOCK_TRIES`].
pub const FOLDER_LOCK_PAUSE: Duration = Duration::from_millis(1);
/// Names for a temporary file: another one is needed where a start of this program removes the first, which happens once in a start.
pub const TEMPORARY_TRIES: usize = 16;
/// Locks that serialise writers; two paths share one only by chance.
pub const WRITE_LOCKS: usize = 64;

// --- OAuth --------------------------------------------------------------------------------------

/// Access tokens: opaque, looked up at each use, so revocation is immediate.
pub const ACCESS_TOKEN_LIFE: Duration = Duration::from_secs(24 * 3600);
/// Authorization codes: from the end of the login to the client's exchange.
pub const CODE_LIFE: Duration = Duration::from_secs(5 * 60);
/// A refresh token that nobody used for this long; sliding.
pub const REFRESH_IDLE: Duration = Duration::from_secs(180 * 24 * 3600);
/// How long a server that starts waits for the state folder.
pub const STATE_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How often the use of a grant is written down.
pub const USE_NOTED_EVERY: Duration = Duration::from_secs(3600);
/// How long an already exchanged refresh token leads to its successor instead of revoking the family, unless
/// `--refresh-window` says otherwise: honest clients share tokens between processes and were measured to be up to an hour
/// late.
pub const REFRESH_WINDOW: Duration = Duration::from_secs(3600);
/// Exchanged refresh tokens remembered per grant.
pub const RETIRED_TOKENS: usize = 64;
/// Access tokens alive per grant; the oldest is dropped.
pub const ACCESS_TOKENS_PER_GRANT: usize = 50;
/// Access tokens of one machine client (`client_credentials`).
pub const ACCESS_TOKENS_PER_MACHINE: usize = 50;
/// Registered clients that have logged in, and as many that have not.
pub const CLIENTS: usize = 1_000;
/// A registration that never led to a grant is forgotten after this.
pub const UNUSED_CLIENT_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Grants in all; the one unused for longest makes room.
pub const GRANTS: usize = 1_000;
/// Authorization codes outstanding.
pub const CODES: usize = 1_000;
/// Redirect URIs of one client; Cursor registers three.
pub const REDIRECT_URIS: usize = 8;
/// Bytes of one redirect URI; the longest of a known client has 70.
pub const REDIRECT_URI_BYTES: usize = 512;
/// Bytes of the file with registrations that have not led to a login: twice [`CLIENTS`] of the longest ones.
pub const REGISTRATIONS_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of the state file: a thousand clients, grants and codes, each with all it may hold, take half of it.
pub const STATE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of the file with a change of several files: the largest notes and canvases in base64, before and after.
pub const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
/// The time over which registrations of one address are counted.
pub const REGISTRATIONS_OVER: Duration = Duration::from_secs(10 * 60);
/// How often it is said in the log that registrations are refused.
pub const REFUSALS_TOLD_EVERY: Duration = Duration::from_secs(60);
/// Registrations from one address within [`REGISTRATIONS_OVER`]. Claude registers up to twice for a login; a thousand in a
/// row is somebody who wants to push the others out.
pub const REGISTRATIONS_PER_SOURCE: u32 = 60;
/// Bytes of a redirect URI that is asked for, or of `state`.
pub const URI_CHARS: usize = 2_000;
/// Characters of a client's name that are kept and shown.
pub const CLIENT_NAME_CHARS: usize = 80;
/// Passwords checked at the same time: bcrypt takes a quarter second of one core by design.
pub const PASSWORD_CHECKS: usize = 2;
/// Logins waiting for a password check; further ones are told to try again.
pub const PASSWORD_QUEUE: usize = 64;
/// Logins of one source that wait, so that one source cannot fill the queue.
pub const PASSWORD_QUEUE_PER_SOURCE: usize = 4;
/// Logins that wait at one address which several sources share: a proxy that is not trusted to name its clients.
pub const PASSWORD_QUEUE_PER_PROXY: usize = 32;
/// How often a login that waits looks whether its address has rested.
pub const PASSWORD_LOOK: Duration = Duration::from_millis(100);
/// Bytes of a password: bcrypt reads no more, and a silent cut would be a weaker password than typed.
pub const PASSWORD_BYTES: usize = 72;
/// Addresses whose failed logins are remembered.
pub const THROTTLED_SOURCES: usize = 10_000;
/// Sources that are remembered because a login came from there.
pub const KNOWN_SOURCES: usize = 256;
/// Failed logins whose answers are held back at one time, each with its connection; further ones are told to try again.
pub const THROTTLE_HELD: usize = 64;
/// The longest wait of an address that keeps failing.
pub const THROTTLE_LONGEST: Duration = Duration::from_secs(4);
/// Bytes of a message on the control socket, which a command of the owner's sends.
pub const CONTROL_BYTES: u64 = 1024;
/// How long either side of the control socket waits for the other.
pub const CONTROL_WAIT: Duration = Duration::from_secs(10);
/// Failures of an address are forgotten after this long without another.
pub const THROTTLE_MEMORY: Duration = Duration::from_secs(15 * 60);
/// How long a log line waits for somebody to read the ones before it; then it is lost, and counted.
pub const LOG_PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of a line that are written at once: POSIX's least `PIPE_BUF` is smaller, Linux's is this.
pub const LOG_PIECE: usize = 4096;
/// What `check --server` keeps of one answer, in bytes; the documents have two thousand.
pub const CHECK_BYTES: usize = 64 * 1024;
/// How long it waits for `curl`, which gives up by itself after 15 s.
pub const CHECK_PATIENCE: Duration = Duration::from_secs(20);
