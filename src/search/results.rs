//! A search, and its results.

use crate::clock::Moment;
use crate::search::rank::MatchType;
use crate::vault::entry::Entry;
use crate::vault::path::VaultPath;
use std::sync::Arc;

/// What to search for, and where.
#[derive(Debug, Default)]
pub struct Query<'a> {
    /// Words or a query in Obsidian's language.
    pub text: &'a str,
    /// Results at most.
    pub max_results: usize,
    /// Only this file, or the files below this folder; in its exact case.
    pub below: Option<VaultPath>,
    /// Only with this tag, or one nested below it.
    pub tag: Option<&'a str>,
    /// Only modified at this moment or later.
    pub since: Option<Moment>,
    /// Only modified at this moment or earlier.
    pub until: Option<Moment>,
    /// Sort by modification time, newest first, instead of by relevance.
    pub newest_first: bool,
    /// What of a result is wanted besides the line of its first match.
    pub detail: Detail,
    /// Results that earlier pages have shown.
    pub offset: usize,
}

/// What of a note is wanted besides the line of its first match.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Nothing,
    /// The parts that answer best.
    Passages,
    /// All lines that match.
    Lines,
}

/// A part of a note that is relevant to a query.
#[derive(Debug)]
pub struct Passage {
    /// Its first line, from 1.
    pub from_line: usize,
    /// Its last line.
    pub to_line: usize,
    /// At most [`PASSAGE_CHARS`](crate::limits::PASSAGE_CHARS) characters.
    pub text: String,
}

/// The lines of a note that match.
#[derive(Debug, Default)]
pub struct MatchingLines {
    /// The first of them, with their numbers from 1.
    pub shown: Vec<(usize, String)>,
    /// How many there are.
    pub total: usize,
    /// The time was up: there may be more.
    pub is_cut_off: bool,
}

/// One result.
#[derive(Debug)]
pub struct Hit {
    /// The file.
    pub entry: Arc<Entry>,
    /// Where it matched.
    pub match_type: MatchType,
    /// An excerpt of the matching line, with the match in bold.
    pub snippet: String,
    /// Its line, from 1; 1 for a match in the name.
    pub line: usize,
    /// Words of the query that the file does not have.
    pub missing: Vec<String>,
    /// The best passages, if they are wanted.
    pub passages: Vec<Passage>,
    /// The matching lines, if they are wanted.
    pub lines: MatchingLines,
}
