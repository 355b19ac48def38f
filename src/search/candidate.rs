//! Candidates for search results, and their sort keys.

use crate::search::posting::{IN_NAME, IN_TAG, Posting};
use crate::search::rank::{Word, rough_score};
use crate::text::words::is_form;
use crate::vault::entry::{Entry, Id};
use crate::vault::index::table::Table;

/// The order of results, smallest first: class, quality, score (best is smallest), modification
/// time (latest is smallest); the path decides among equals.
pub(crate) type Rank = (u8, u8, u64, i64);

/// The part of the query that a text stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QueryPart {
    /// The whole query.
    Phrase,
    /// A word, by its index.
    Word(usize),
    /// The stem of a word, by the same index.
    Stem(usize),
}

/// Added to the rough score for containing the whole query as one text: more than any words add.
pub(crate) const PHRASE_SCORE: f32 = 1_000.0;

/// The inputs of ranking that do not come from a single file.
#[derive(Debug)]
pub(crate) struct RankingInputs {
    pub(crate) words: Vec<Word>,
    /// How many of the first words are the query's own. The rest are texts of conditions, parts of
    /// words that no file has, and other spellings; a file with only those is a partial match.
    pub(crate) asked: usize,
    pub(crate) average_length: f32,
    pub(crate) did_you_mean: Vec<(String, String)>,
}

/// A file that matches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Candidate {
    pub(crate) id: Id,
    /// Bit mask of the words that it has as they were asked for, or as corrected.
    pub(crate) words: u32,
    /// Bit mask of the words whose stem it has.
    pub(crate) stems: u32,
    /// The union of [`Posting::fields`] over all of its words.
    pub(crate) fields: u32,
    /// Occurrences of its words in the text, up to the limit of each posting.
    pub(crate) count: u32,
    pub(crate) score: f32,
}

impl Candidate {
    /// Whether one of its words is in this field.
    pub(crate) fn is_in(&self, field: u32) -> bool {
        self.fields & field != 0
    }

    /// Records a part of the query that the file has.
    pub(crate) fn add(
        &mut self,
        what: QueryPart,
        posting: Posting,
        inputs: &RankingInputs,
        table: &Table,
    ) {
        self.id = posting.id();
        match what {
            QueryPart::Phrase => self.score += PHRASE_SCORE,
            QueryPart::Word(number) => {
                self.words |= 1 << number;
                self.fields |= posting.fields();
                self.count += posting.count();
            }
            QueryPart::Stem(number) => {
                let Some(word) = inputs.words.get(number) else { return };
                // Where the text has it only inside other words, the path, a tag or an alias may
                // have a form of it.
                let has_form = |text: &str| {
                    text.match_indices(word.stem()).any(|(at, stem)| is_form(text, at, stem.len()))
                };
                let is_elsewhere = |entry: &Entry| {
                    has_form(entry.searched_path())
                        || entry.folded_tags().iter().any(|tag| has_form(tag))
                        || posting.fields() & IN_NAME != 0
                            && entry.aliases().iter().any(|alias| has_form(alias))
                };
                let may_be_elsewhere =
                    posting.is_inside() && posting.fields() != 0 && self.words >> number & 1 == 0;
                let has_stem = !posting.is_inside()
                    || may_be_elsewhere
                        && table.entry(self.id).is_some_and(|entry| is_elsewhere(entry));
                self.stems |= u32::from(has_stem) << number;
                let weight = word.weight_if(posting.fields() & (IN_NAME | IN_TAG) != 0);
                let length = table.entry(self.id).map_or(0, |entry| entry.stamp.size);
                self.score += rough_score(weight, posting, length as f32 / inputs.average_length);
            }
        }
    }
}

/// A score as a number that is smaller for better ones. Scores are not negative, so their bits sort
/// as they do.
pub(crate) fn score_rank(score: f32) -> u64 {
    u64::from(!score.to_bits())
}
