//! Limits of the word index, ranking and searches.

use std::time::Duration;

/// Notes returned by `search` in the toolset `research`.
pub const RESEARCH_RESULTS: usize = 10;
/// Bytes of text that one thread searches alone: starting others takes as long as searching this.
pub const SINGLE_THREAD_BYTES: u64 = 2 * 1024 * 1024;
/// Additional threads that one search may start.
pub const SEARCH_HELPERS: usize = 7;
/// How long a search waits for the first indexing before it continues with what is indexed so far.
pub const FIRST_INDEXING_WAIT: Duration = Duration::from_secs(2);
/// How often such a search checks whether it is complete.
pub const FIRST_INDEXING_POLL: Duration = Duration::from_millis(5);
/// Results of one search.
pub const SEARCH_RESULTS: usize = 200;
/// Words of a query that are searched for, the rarest if there are more; sets of them are bits of a
/// `u32`.
pub const QUERY_WORDS: usize = 32;
/// Words of a query whose document frequency is looked up; further ones are ignored.
pub const QUERY_WORDS_WEIGHED: usize = 128;
/// Regular expressions in one query; each takes up to [`REGEX_BYTES`].
pub const QUERY_EXPRESSIONS: usize = 8;
/// Files that are ranked closely: the best by the rough score. With 32, one label of
/// tests/bench/quality is missed; 100 finds no more.
pub const RANKED_FILES: usize = 40;
/// Posting lists cached for later queries, if each lists all files (four bytes per file); those of
/// rare words take less.
pub const POSTINGS_LISTS: usize = 32;
/// Bytes of a word that the word index has whole; of a longer one it has pieces, which overlap by
/// this much.
pub const WORD_BYTES: usize = 64;
/// Bytes that the word index may take beyond half of the texts, but in total no more than all of
/// them: scripts without spaces have many pairs of letters.
pub const WORD_INDEX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that it may take in addition, for small vaults.
pub const WORD_INDEX_BASE_BYTES: usize = 4 * 1024 * 1024;
/// The fixed cost of a cached list, in postings.
pub const POSTINGS_OVERHEAD: usize = 64;
/// The most recent file changes that are recorded, four bytes each: a cached list is completed by
/// scanning the files changed since.
pub const RECENT_CHANGES: usize = 16_384;
/// Changes after which the word index is rebuilt.
pub const CHANGES_BEFORE_REBUILD: usize = 64;
/// In a smaller vault, one change for so many files: there a change alters sooner how rare a word
/// is.
pub const FILES_PER_CHANGE: usize = 50;
/// Bytes of text whose word index is rebuilt after so few changes; that of more text takes long.
pub const QUICK_INDEX_BYTES: usize = 16 * 1024 * 1024;
/// Occurrences of one word in one file that count.
pub const RANKED_OCCURRENCES: usize = 64;
/// Occurrences of a stem in one file that are looked at for those: a single letter is in each word.
pub const STEMS_LOOKED_AT: usize = 64 * RANKED_OCCURRENCES;
/// Bytes at the start of a text that weigh as much as a heading: frontmatter and some sixty words.
pub const RANKED_HEAD_BYTES: usize = 500;
/// How long a search with a word that no file has waits for the word index of a vault that was just
/// opened.
pub const WORD_INDEX_WAIT: Duration = Duration::from_millis(300);
/// Attempts to correct words of one query that no file contains, two at most for a word; each takes
/// up to a few milliseconds.
pub const QUERY_CORRECTIONS: usize = 4;
/// Cached corrections of words that no file contains.
pub const CORRECTIONS_KEPT: usize = 256;
/// Letters of the longest word that is corrected: the cost of comparing it with one word of the
/// vault grows with its length.
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
/// Maximum characters of context on either side of a match.
pub const GREP_CONTEXT_CHARS: usize = 1_000;
/// Excerpts shown of one note.
pub const GREP_EXCERPTS: usize = 3;
/// Size of a compiled regular expression, and of its cache, bytes; the default of `regex` is five
/// times as much.
pub const REGEX_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a text that are searched for a regular expression between two checks of the deadline:
/// at most 50 ms.
pub const REGEX_WINDOW_BYTES: usize = 64 * 1024;
/// Bytes of the longest match of a regular expression that is guaranteed to be found whole; a
/// quarter of a window.
pub const REGEX_MATCH_BYTES: usize = REGEX_WINDOW_BYTES / 4;
/// The maximum duration of a search; the result then says how many files were not searched.
pub const SEARCH_TIME: Duration = Duration::from_secs(3);
/// Costly calls (searches by regular expression, queries, readings of old versions) that may wait
/// per core while one per core runs; further ones are refused, so that workers remain available.
pub const COSTLY_CALLS_WAITING_PER_CORE: usize = 2;
