//! A page of search results: which candidates it has and in which order, and what is shown of each.

use crate::clock::Deadline;
use crate::limits;
use crate::search::Search;
use crate::search::candidate::{Candidate, Rank, RankingInputs, score_rank};
use crate::search::posting::{IN_NAME, IN_PATH, IN_TAG};
use crate::search::query::{Condition, Parsed};
use crate::search::rank::{MatchType, Ranker, Relevance, Word, first_bits};
use crate::search::results::{Detail, Hit, MatchingLines, Query};
use crate::search::snippet::excerpt_around;
use crate::vault::entry::{Entry, name_of};
use crate::vault::error::Error;
use crate::vault::index::table::Table;
use crate::vault::parallel::map_parallel;
use std::sync::Arc;

/// Files that are ranked closely: the best by the rough score. With 32, one label of
/// tests/bench/quality is missed; 100 finds no more.
const RANKED_FILES: usize = 40;

/// A result, and how relevant its text is where that was looked at.
pub(crate) struct Ranked {
    pub(crate) candidate: Candidate,
    pub(crate) entry: Arc<Entry>,
    rank: Rank,
    relevance: Option<Relevance>,
}

/// How the candidates of a query are ranked and shown.
pub(crate) struct Ranking<'a> {
    search: &'a Search,
    query: &'a Query<'a>,
    parsed: &'a Parsed,
    inputs: &'a RankingInputs,
    ranker: Ranker<'a>,
    /// The bits of all asked words; `None` if one was corrected, as no file has that as it was
    /// asked for.
    all_words: Option<u32>,
    /// The query is a single term: results are sorted by where it occurs (name, tag, text), then by
    /// relevance.
    is_single_term: bool,
    /// If the query is only a tag, the tag is what is shown.
    tags_asked: Vec<Word>,
    /// Until when matching lines are looked for, in all results together.
    deadline: Deadline,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(
        search: &'a Search,
        query: &'a Query<'_>,
        parsed: &'a Parsed,
        inputs: &'a RankingInputs,
    ) -> Ranking<'a> {
        let ranker =
            Ranker::new(&inputs.words, inputs.asked, &parsed.phrase, inputs.average_length);
        let is_single_term = matches!(inputs.words.as_slice(), [word] if word.asked == parsed.phrase)
            && parsed.conditions.is_empty();
        let is_corrected =
            inputs.words.iter().take(inputs.asked).any(|word| word.instead.is_some());
        let all_words = (!is_corrected).then(|| first_bits(inputs.asked));
        let tags =
            parsed.conditions.iter().flat_map(Condition::tags).filter(|_| inputs.words.is_empty());
        let tags_asked = tags.map(Word::new).collect();
        let deadline = Deadline::after(limits::SEARCH_TIME);
        Ranking {
            search,
            query,
            parsed,
            inputs,
            ranker,
            all_words,
            is_single_term,
            tags_asked,
            deadline,
        }
    }

    /// Whether a file has each asked word as it was asked for.
    pub(crate) fn has_all(&self, candidate: &Candidate) -> bool {
        self.all_words.is_some_and(|all| candidate.words & all == all)
    }

    /// Ranks a file from its text.
    pub(crate) fn rank_closely(&self, candidate: &Candidate, entry: &Arc<Entry>) -> Relevance {
        self.ranker.relevance(entry, entry.folded_text(), candidate.words | candidate.stems)
    }

    /// The first results, in order.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn first(
        &self,
        found: &[Candidate],
        count: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<Ranked>, Error> {
        if self.query.newest_first {
            return Ok(self.smallest(found, count, &|candidate, table| {
                (u8::from(!self.has_all(candidate)), 0, 0, age(candidate, table))
            }));
        }
        self.first_by_relevance(found, count, proceed)
    }

    /// Before its text is looked at: for a single term the field that it is in, and whether the
    /// file is named so.
    fn rough_class(&self, candidate: &Candidate, table: &Table) -> (u8, u8) {
        let is_in_path = candidate.is_in(IN_PATH);
        let is_named = |entry: &Arc<Entry>| {
            let term = &self.parsed.phrase;
            name_of(entry.searched_path()) == term
                || !is_in_path && entry.aliases().iter().any(|alias| alias == term)
        };
        match self.is_single_term {
            false => (0, 0),
            true if is_in_path || candidate.is_in(IN_NAME) => {
                (0, u8::from(!table.entry(candidate.id).is_some_and(is_named)))
            }
            true => (if candidate.is_in(IN_TAG) { 1 } else { 2 }, 0),
        }
    }

    /// The best by a rough score are ranked from their texts; the others follow by that score.
    fn first_by_relevance(
        &self,
        found: &[Candidate],
        count: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<Ranked>, Error> {
        let mut best = self.smallest(found, count.max(RANKED_FILES), &|candidate, table| {
            let (field, name) = self.rough_class(candidate, table);
            (field, name, score_rank(candidate.score), age(candidate, table))
        });
        let rest = best.split_off(best.len().min(RANKED_FILES));
        let looked = map_parallel(
            &best,
            &|ranked| ranked.entry.search_cost(),
            &|ranked| self.rank_closely(&ranked.candidate, &ranked.entry),
            proceed,
        )?;
        for (ranked, relevance) in best.iter_mut().zip(looked) {
            let (.., age) = ranked.rank;
            let field = if self.is_single_term { relevance.field() } else { 0 };
            ranked.rank = (field, relevance.class, score_rank(relevance.score), age);
            ranked.relevance = Some(relevance);
        }
        best.sort_unstable_by(|a, b| (a.rank, &a.entry.path).cmp(&(b.rank, &b.entry.path)));
        best.extend(rest);
        best.truncate(count);
        Ok(best)
    }

    /// The first `count` candidates by rank and then path, in order.
    fn smallest(
        &self,
        candidates: &[Candidate],
        count: usize,
        rank: &dyn Fn(&Candidate, &Table) -> Rank,
    ) -> Vec<Ranked> {
        self.search.vault.view.with_table(|table| {
            let path =
                |candidate: &Candidate| table.entry(candidate.id).map_or("", |entry| &*entry.path);
            let compare = |a: &(Rank, &Candidate), b: &(Rank, &Candidate)| {
                a.0.cmp(&b.0).then_with(|| path(a.1).cmp(path(b.1)))
            };
            let mut best: Vec<(Rank, &Candidate)> = Vec::new();
            let mut worst: Option<(Rank, &Candidate)> = None;
            for candidate in candidates {
                let own = (rank(candidate, table), candidate);
                if worst.is_some_and(|worst| compare(&own, &worst).is_gt()) {
                    continue;
                }
                best.push(own);
                if best.len() / 2 >= count {
                    best.select_nth_unstable_by(count - 1, compare);
                    best.truncate(count);
                    worst = best.last().copied();
                }
            }
            best.sort_unstable_by(compare);
            best.truncate(count);
            let ranked = |(rank, candidate): (Rank, &Candidate)| {
                let entry = Arc::clone(table.entry(candidate.id)?);
                Some(Ranked { candidate: *candidate, entry, rank, relevance: None })
            };
            best.into_iter().filter_map(ranked).collect()
        })
    }

    /// What is shown of a result. `fulfilled` is where a condition of the query is met.
    pub(crate) fn hit(&self, ranked: Ranked, fulfilled: Option<(usize, usize)>) -> Hit {
        let Ranked { candidate, entry, relevance, .. } = ranked;
        let relevance = relevance.unwrap_or_else(|| self.rank_closely(&candidate, &entry));
        let RankingInputs { words, asked, .. } = self.inputs;
        let shown_at = relevance.shown_at(words);
        // Of alternatives, the passage with most of the words says more than the first word.
        let conditions = &self.parsed.conditions;
        let has_alternatives =
            conditions.iter().any(|condition| matches!(condition, Condition::Any(_)))
                && conditions.iter().all(Condition::is_of_words);
        let at = if *asked == 0 && !has_alternatives {
            fulfilled.or(shown_at)
        } else {
            shown_at.or(fulfilled)
        };
        let match_type = self.match_type(&relevance, at, fulfilled);
        let shown = if match_type == MatchType::Tag && !self.tags_asked.is_empty() {
            &self.tags_asked
        } else {
            words
        };
        let passages = match self.query.detail {
            Detail::Passages => self.search.passages(&entry, &relevance, at, words),
            Detail::Nothing | Detail::Lines => Vec::new(),
        };
        let lines = match self.query.detail {
            Detail::Lines => {
                let own = words.get(..*asked).unwrap_or_default();
                self.search.matching_lines(&entry, own, conditions, self.deadline)
            }
            Detail::Nothing | Detail::Passages => MatchingLines::default(),
        };
        let mut expressions = self
            .parsed
            .conditions
            .iter()
            .flat_map(Condition::expressions)
            .filter(|_| match_type == MatchType::Filename);
        let in_path = expressions.find_map(|expression| {
            expression.find(&entry.path, &|| true).ok().flatten().filter(|range| !range.is_empty())
        });
        let (snippet, line) = match in_path {
            Some(found) => (excerpt_around(&entry.path, found, entry.path.len()), 1),
            None => self.search.snippet(&entry, match_type, at, shown),
        };
        Hit {
            entry,
            match_type,
            snippet,
            line,
            missing: self.ranker.missing(candidate.words),
            passages,
            lines,
        }
    }

    fn match_type(
        &self,
        relevance: &Relevance,
        at: Option<(usize, usize)>,
        fulfilled: Option<(usize, usize)>,
    ) -> MatchType {
        let RankingInputs { words, asked, .. } = self.inputs;
        if !self.tags_asked.is_empty() && at.is_none() {
            MatchType::Tag
        } else if *asked == 0 && fulfilled.is_some() {
            MatchType::Content
        } else if *asked == 0 && words.is_empty() {
            MatchType::Filename
        } else {
            relevance.match_type
        }
    }
}

/// Smaller for what was modified later.
fn age(candidate: &Candidate, table: &Table) -> i64 {
    // Bitwise not reverses the order.
    !table.entry(candidate.id).map_or(0, |entry| entry.stamp.order())
}
