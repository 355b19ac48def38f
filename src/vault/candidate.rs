//! A file that may be a result of a search, and what results are sorted by.

use super::entry::{Entry, Id};
use super::error::Error;
use super::posting::{IN_NAME, IN_PATH, IN_TAG, Posting};
use super::rank::{NameQuality, Word, name_quality, rough_score, tag_quality};
use super::table::Table;
use crate::limits;
use crate::text::query::Parsed;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What sorts results, smallest first: class, quality, score (the best is smallest), modification time (the latest is smallest);
/// then the path.
pub(super) type Key = (Rank, String);

/// The numbers of a [`Key`].
pub(super) type Rank = (u8, u8, u64, i64);

/// Which part of the query a text is.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueryPart {
    /// The whole query.
    Phrase,
    /// A word, by its number.
    Word(usize),
    /// What forms of a word begin with.
    Stem(usize),
}

/// What having the whole query as one text adds to the rough score: more than any words.
pub(super) const PHRASE_SCORE: f32 = 1_000.0;

/// What the order of results depends on apart from each file by itself. It stays the same for all pages, so that a file which comes or
/// goes between two of them moves no other. Names in JSON are short: it is a cursor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    #[serde(rename = "w")]
    pub(super) words: Vec<Word>,
    /// How many of the words, from the first on, are the query's own. The others are texts of conditions, and parts of words that no
    /// file has; a file with only those is a partial match.
    #[serde(rename = "a")]
    pub(super) asked: usize,
    #[serde(rename = "l")]
    pub(super) average_length: f32,
    /// The last file that was looked at closely, by the rough order; none if all are.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub(super) close: Option<Key>,
    #[serde(rename = "k")]
    pub(super) last: Option<Key>,
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) did_you_mean: Vec<(String, String)>,
}

impl Order {
    /// The order that a cursor of the same query names.
    pub(super) fn of_cursor(cursor: &str, parsed: &Parsed) -> Result<Order, Error> {
        let order: Option<Order> = serde_json::from_str(cursor).ok();
        order
            .filter(|order| {
                // A word may have lost a mark at its end, and parts of a word are added to it.
                let is_of_query = |word: &Word| parsed.words.iter().chain(&parsed.hints).any(|text| text.contains(&word.asked));
                order.asked <= order.words.len() && order.words.len() <= limits::QUERY_WORDS && order.words.iter().all(is_of_query)
            })
            .ok_or_else(|| Error::Query { why: "the cursor is of another query; repeat the search without it".into() })
    }
}

/// A file that matches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub(super) id: Id,
    /// The words that it has, as they were asked for.
    pub(super) words: u32,
    /// The words of which it has the stem.
    pub(super) stems: u32,
    /// See [`Posting::fields`], of all of its words together.
    pub(super) fields: u32,
    /// Occurrences of its words in the text, as far as postings count them.
    pub(super) count: u32,
    pub(super) score: f32,
}

/// A file that fulfils the conditions, and where in its folded text, if that can be said.
pub(super) type Fulfilled = (Candidate, Option<Range<usize>>);

impl Candidate {
    /// Whether one of its words is in this field.
    pub(super) fn is_in(&self, field: u32) -> bool {
        self.fields & field != 0
    }

    /// Takes note of a text that the file has.
    pub(super) fn add(&mut self, what: QueryPart, posting: Posting, order: &Order, table: &Table) {
        self.id = posting.id();
        match what {
            QueryPart::Phrase => self.score += PHRASE_SCORE,
            QueryPart::Word(number) => {
                self.words |= 1 << number;
                self.fields |= posting.fields();
                self.count += posting.count();
            }
            QueryPart::Stem(number) => {
                self.stems |= u32::from(!posting.is_inside()) << number;
                let weight = order.words.get(number).map_or(0.0, |word| word.weight);
                self.score += rough_score(weight, posting, table.facts(posting.id()).length as f32 / order.average_length);
            }
        }
    }
}

/// A score as a number that is smaller for better ones. Scores are not negative, so their bits sort as they do.
pub(super) fn score_rank(score: f32) -> u64 {
    u64::from(!score.to_bits())
}

/// Where one text is in a file: in its path, also in another form, or an alias; in a tag; in its text; in its text in another form only. And
/// how well it fits there. Smallest is best.
pub(super) fn by_name(candidate: &Candidate, entry: &Entry, word: &Word) -> (u8, u8) {
    let text = word.text();
    let quality = if candidate.is_in(IN_PATH) || candidate.words == 0 {
        name_quality(entry.folded_path(), text, word.stem())
    } else {
        let is_alias = candidate.is_in(IN_NAME) && entry.aliases().iter().any(|alias| alias == text);
        is_alias.then_some(NameQuality::Alias)
    };
    match quality {
        Some(quality) => (0, quality as u8),
        None if candidate.is_in(IN_TAG) => (1, tag_quality(entry.folded_tags(), text)),
        None if candidate.words != 0 => (2, u8::from(candidate.stems == 0)),
        None => (3, 0),
    }
}
