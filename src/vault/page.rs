//! A page of search results: which candidates it has and in which order, and what is shown of each.

use super::Vault;
use super::candidate::{Candidate, Key, Rank, RankingInputs, match_rank, score_rank};
use super::entry::{Entry, Id};
use super::error::Error;
use super::posting::{IN_PATH, IN_TAG};
use super::rank::{MatchType, Ranker, Relevance, Word, first_bits};
use super::results::{Hit, Query};
use super::table::{Facts, Table};
use crate::limits;
use crate::text::query::{Condition, Parsed};
use crate::text::snippet::excerpt_around;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A candidate with its rank.
type Ranked<'a> = (Rank, &'a Candidate);

/// Results in order.
pub(super) struct Page {
    pub(super) results: Vec<(Key, Candidate, Arc<Entry>)>,
    /// See [`RankingInputs`].
    pub(super) last_ranked_closely: Option<Key>,
    /// That of the files that were ranked from their texts.
    pub(super) relevance: HashMap<Id, Relevance>,
}

/// How the candidates of a query are ranked and shown.
pub(super) struct Ranking<'a> {
    vault: &'a Vault,
    query: &'a Query<'a>,
    parsed: &'a Parsed,
    inputs: &'a RankingInputs,
    /// Bytes that the search has read from disk.
    read: &'a AtomicU64,
    ranker: Ranker<'a>,
    /// The bits of all asked words; `None` if one was corrected, as no file has that as it was asked for.
    all_words: Option<u32>,
    /// The query is a single term: results are sorted by where it occurs (name, tag, text), not by relevance.
    is_single_term: bool,
    /// If the query is only a tag, the tag is what is shown.
    tags_asked: Vec<Word>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(
        vault: &'a Vault,
        query: &'a Query<'_>,
        parsed: &'a Parsed,
        inputs: &'a RankingInputs,
        read: &'a AtomicU64,
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
        Ranking {
            vault,
            query,
            parsed,
            inputs,
            read,
            ranker,
            all_words,
            is_single_term,
            tags_asked,
        }
    }

    /// Whether a file has each asked word as it was asked for.
    pub(super) fn has_all(&self, candidate: &Candidate) -> bool {
        self.all_words.is_some_and(|all| candidate.words & all == all)
    }

    /// Ranks a file from its text.
    pub(super) fn rank_closely(&self, candidate: &Candidate, entry: &Arc<Entry>) -> Relevance {
        let text = self.vault.folded_text(entry, self.read).unwrap_or_default();
        self.ranker.relevance(entry, &text, candidate.words | candidate.stems)
    }

    /// The first results after the cursor.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(super) fn page(
        &self,
        found: &[Candidate],
        length: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Page, Error> {
        if self.query.newest_first || self.is_single_term {
            let rank = |candidate: &Candidate, table: &Table| self.rank_by_fields(candidate, table);
            let results = self.smallest(found, length, &rank, self.inputs.last.as_ref(), None);
            return Ok(Page { results, last_ranked_closely: None, relevance: HashMap::new() });
        }
        self.page_by_relevance(found, length, proceed)
    }

    fn rank_by_fields(&self, candidate: &Candidate, table: &Table) -> Rank {
        let Facts { modified, is_note, .. } = table.facts(candidate.id);
        // Bitwise not reverses the order.
        let age = !modified;
        if self.query.newest_first {
            return (u8::from(!self.has_all(candidate)), 0, 0, age);
        }
        let entry_and_word = table.entry(candidate.id).zip(self.inputs.words.first());
        let (class, quality) =
            entry_and_word.map_or((u8::MAX, 0), |(entry, word)| match_rank(candidate, entry, word));
        (class, quality * 2 + u8::from(!is_note), u64::from(!candidate.count), age)
    }

    /// The best by a rough score are ranked from their texts; the others follow by that score.
    fn page_by_relevance(
        &self,
        found: &[Candidate],
        length: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Page, Error> {
        let RankingInputs { last, last_ranked_closely, .. } = self.inputs;
        let (after, mut last_ranked_closely) = (last.as_ref(), last_ranked_closely.clone());
        let rough = |candidate: &Candidate, table: &Table| {
            (u8::MAX, 0, score_rank(candidate.score), !table.facts(candidate.id).modified)
        };
        let most = limits::RANKED_FILES.max(self.query.max_results);
        let is_first = self.query.after.is_none();
        let shortlist = self.smallest(
            found,
            if is_first { most } else { usize::MAX },
            &rough,
            None,
            last_ranked_closely.as_ref(),
        );
        if is_first && found.len() > most {
            last_ranked_closely = shortlist.last().map(|(key, ..)| key.clone());
        }
        let look = |(((.., age), path), candidate, entry): &(Key, Candidate, Arc<Entry>)| {
            let relevance = self.rank_closely(candidate, entry);
            (((relevance.class, 0, score_rank(relevance.score), *age), path.clone()), relevance)
        };
        let looked = self.vault.map_parallel(
            &shortlist,
            &|(.., entry)| entry.search_cost(),
            &look,
            proceed,
        )?;
        let mut relevance = HashMap::new();
        let ranked =
            looked.into_iter().zip(shortlist).map(|((key, own), (_, candidate, entry))| {
                relevance.insert(candidate.id, own);
                (key, candidate, entry)
            });
        let mut results: Vec<(Key, Candidate, Arc<Entry>)> =
            ranked.filter(|(key, ..)| after.is_none_or(|after| key > after)).collect();
        results.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        if let (Some(last), true) = (&last_ranked_closely, results.len() < length) {
            let behind = after.map_or(last, |after| after.max(last));
            results.extend(self.smallest(
                found,
                length - results.len(),
                &rough,
                Some(behind),
                None,
            ));
        }
        Ok(Page { results, last_ranked_closely, relevance })
    }

    /// The first `count` candidates by rank and then path, in order, after `after` and up to `last`.
    fn smallest(
        &self,
        candidates: &[Candidate],
        count: usize,
        rank: &dyn Fn(&Candidate, &Table) -> Rank,
        after: Option<&Key>,
        last: Option<&Key>,
    ) -> Vec<(Key, Candidate, Arc<Entry>)> {
        self.vault.index.with_table(|table| {
            let path =
                |candidate: &Candidate| table.entry(candidate.id).map_or("", |entry| &*entry.path);
            let is_behind = |(own, candidate): &Ranked<'_>, key: &Key| {
                (own, path(candidate)) > (&key.0, key.1.as_str())
            };
            let compare = |a: &Ranked<'_>, b: &Ranked<'_>| {
                a.0.cmp(&b.0).then_with(|| path(a.1).cmp(path(b.1)))
            };
            let (mut best, mut worst): (Vec<Ranked<'_>>, Option<Ranked<'_>>) = (Vec::new(), None);
            for candidate in candidates {
                let own = (rank(candidate, table), candidate);
                let is_on_page = after.is_none_or(|after| is_behind(&own, after))
                    && !last.is_some_and(|last| is_behind(&own, last));
                if !is_on_page || worst.is_some_and(|worst| compare(&own, &worst).is_gt()) {
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
            let with_entry = |(rank, candidate): Ranked<'_>| {
                let entry = Arc::clone(table.entry(candidate.id)?);
                Some(((rank, entry.path.to_string()), *candidate, entry))
            };
            best.into_iter().filter_map(with_entry).collect()
        })
    }

    /// What is shown of a result. `fulfilled` is where a condition of the query is met.
    pub(super) fn hit(
        &self,
        key: Key,
        candidate: &Candidate,
        entry: Arc<Entry>,
        relevance: &Relevance,
        fulfilled: Option<(usize, usize)>,
    ) -> Hit {
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
        let match_type = self.match_type(candidate, &entry, relevance, at, fulfilled);
        let shown = if match_type == MatchType::Tag && !self.tags_asked.is_empty() {
            &self.tags_asked
        } else {
            words
        };
        let passages = if self.query.passages {
            self.vault.passages(&entry, relevance, at, words)
        } else {
            Vec::new()
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
            None => self.vault.snippet(&entry, match_type, at, shown),
        };
        Hit {
            entry,
            match_type,
            snippet,
            line,
            missing: self.ranker.missing(candidate.words),
            passages,
            key,
        }
    }

    fn match_type(
        &self,
        candidate: &Candidate,
        entry: &Entry,
        relevance: &Relevance,
        at: Option<(usize, usize)>,
        fulfilled: Option<(usize, usize)>,
    ) -> MatchType {
        let RankingInputs { words, asked, .. } = self.inputs;
        let is_form_in_name =
            || words.first().is_some_and(|word| match_rank(candidate, entry, word).0 == 0);
        if !self.tags_asked.is_empty() && at.is_none() {
            MatchType::Tag
        } else if *asked == 0 && fulfilled.is_some() {
            MatchType::Content
        } else if *asked == 0 && words.is_empty() {
            MatchType::Filename
        } else if !self.is_single_term {
            relevance.match_type
        } else if candidate.is_in(IN_PATH) || candidate.words == 0 && is_form_in_name() {
            MatchType::Filename
        } else if candidate.is_in(IN_TAG) {
            MatchType::Tag
        } else if at.is_none() {
            // Only its path or a tag has a form of the word.
            relevance.match_type
        } else {
            MatchType::Content
        }
    }
}
