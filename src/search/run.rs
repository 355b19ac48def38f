//! One search: what is found, in order, and how much there is.

use crate::clock::Deadline;
use crate::limits;
use crate::search::candidate::{Candidate, QueryPart, RankingInputs};
use crate::search::condition::File;
use crate::search::page::Ranking;
use crate::search::postings::Postings;
use crate::search::query::{self, Condition, Parsed, Term, Wanted};
pub use crate::search::rank::MatchType;
pub use crate::search::results::{Detail, Hit, Passage, Query};
use crate::search::{Search, SearchRun};
use crate::text::fold::fold;
use crate::vault::entry::{Entry, Id, Text};
use crate::vault::error::Error;
use crate::vault::list::wanted_tag;
use crate::vault::obsidian::Excluded;
use crate::vault::parallel::map_parallel;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The outcome of a search.
#[derive(Debug)]
pub struct Found {
    /// Number of results that contain all words of the query; all results, if it has only
    /// conditions.
    pub total: usize,
    /// Number of results that contain only some of the words.
    pub partial: usize,
    /// Words that no file contains, and what was searched for instead.
    pub did_you_mean: Vec<(String, String)>,
    /// This page of results, best first.
    pub hits: Vec<Hit>,
    /// Whether more results follow.
    pub more: bool,
    /// Number of results that the owner has excluded in Obsidian.
    pub excluded: usize,
    /// Number of files whose text could not be searched (too large, unreadable, or out of time);
    /// their names and tags were.
    pub not_searched: usize,
    /// Conditions on properties whose values could not be compared, in words.
    pub not_compared: Vec<String>,
    /// Whether the first indexing is running: the results cover the files indexed so far.
    pub indexing: bool,
}

impl Search {
    /// Searches names, tags and texts. `proceed` is called periodically with the files processed so
    /// far and their total, and returns whether to continue.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`], [`Error::Invalid`], [`Error::Overloaded`] for
    /// regular expressions.
    pub fn run(
        &self,
        query: &Query<'_>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Found, Error> {
        let indexing = self.vault.refresh_with_timeout()?;
        let is_property = |name: &str| self.has_property_of_name(name);
        let everything = SearchRun { wanted: &|_: &Entry| true, is_narrowed: false, proceed };
        let is_written = |text: &str| {
            let found = self.postings(&[text], &everything);
            found.is_ok_and(|lists| lists.get(text).is_some_and(|list| list.len() > 0))
        };
        let known = query::Known { is_property: &is_property, is_written: &is_written };
        let parsed = query::parse(query.text, &known)
            .map_err(|why| Error::Invalid(format!("Argument query: {why}")))?;
        let tag = wanted_tag(query.tag);
        let below = query.below.as_ref();
        let names_a_path = below.is_some() || parsed.conditions.iter().any(Condition::names_a_path);
        let excluded = if names_a_path { Excluded::default() } else { self.vault.excluded() };
        let is_narrowed = !excluded.is_empty()
            || below.is_some()
            || tag.is_some()
            || query.since.is_some()
            || query.until.is_some();
        let is_asked_for = |entry: &Entry| {
            below.is_none_or(|path| path.covers(&entry.path))
                && tag.as_ref().is_none_or(|tag| entry.has_tag(tag))
                && query.since.is_none_or(|since| entry.stamp.modified() >= since)
                && query.until.is_none_or(|until| entry.stamp.modified() <= until)
        };
        let wanted = |entry: &Entry| is_asked_for(entry) && !excluded.covers(&entry.path);
        let run = SearchRun { wanted: &wanted, is_narrowed, proceed };
        let inputs = self.ranking_inputs(&parsed, &run)?;
        let (mut found, mut not_searched) = self.candidates(&parsed, &inputs, &run)?;
        let mut condition_matches = HashMap::new();
        not_searched +=
            self.retain_matching(&parsed.conditions, &mut found, &mut condition_matches, &run)?;
        let leaves = parsed.conditions.iter().flat_map(|condition| condition.leaves(&|_| false));
        let not_compared = leaves.filter_map(|leaf| match leaf {
            Condition::Property(name, Some(wanted)) => wanted.not_compared(name),
            _ => None,
        });
        let not_compared: Vec<String> = not_compared.collect();
        let mut left_out = Vec::new();
        if !excluded.is_empty() {
            let wanted = |entry: &Entry| is_asked_for(entry) && excluded.covers(&entry.path);
            let run = SearchRun { wanted: &wanted, ..run };
            left_out = self.candidates(&parsed, &inputs, &run)?.0;
            self.retain_matching(&parsed.conditions, &mut left_out, &mut HashMap::new(), &run)?;
        }
        let ranking = Ranking::new(self, query, &parsed, &inputs);
        let total = found.iter().filter(|candidate| ranking.has_all(candidate)).count();
        let partial = found.len() - total;
        let end = query.offset.saturating_add(query.max_results).min(found.len());
        let mut results = ranking.first(&found, end, proceed)?;
        let hits = results
            .drain(query.offset.min(results.len())..)
            .map(|ranked| {
                let fulfilled = condition_matches.get(&ranked.candidate.id).copied();
                ranking.hit(ranked, fulfilled)
            })
            .collect();
        let (more, did_you_mean) = (end < found.len(), inputs.did_you_mean.clone());
        Ok(Found {
            total,
            partial,
            did_you_mean,
            hits,
            more,
            excluded: left_out.iter().filter(|candidate| ranking.has_all(candidate)).count(),
            not_searched,
            not_compared,
            indexing,
        })
    }

    /// Whether a note has a property of this folded name. Only the properties of notes that contain
    /// it are read.
    fn has_property_of_name(&self, name: &str) -> bool {
        let word_index = self.word_index();
        let having: Vec<Arc<Entry>> = self.vault.view.with_table(|table| {
            self.files_that_may_have(&[name], word_index.as_deref(), table)
                .into_iter()
                .cloned()
                .collect()
        });
        let has_it = |entry: &Arc<Entry>| {
            entry
                .properties()
                .is_some_and(|properties| properties.keys().any(|own| fold(own) == name))
        };
        having.iter().any(has_it)
    }

    /// The files that contain some of the words or, if there are none, may meet the conditions; and
    /// how many could not be searched.
    fn candidates(
        &self,
        parsed: &Parsed,
        inputs: &RankingInputs,
        run: &SearchRun<'_>,
    ) -> Result<(Vec<Candidate>, usize), Error> {
        let asked = inputs.asked;
        let mut texts: Vec<(QueryPart, &str)> = Vec::new();
        for (number, word) in inputs.words.iter().enumerate() {
            texts.extend([
                (QueryPart::Word(number), word.text()),
                (QueryPart::Stem(number), word.stem()),
            ]);
        }
        if asked > 0 && parsed.words != [parsed.phrase.as_str()] {
            texts.push((QueryPart::Phrase, &parsed.phrase));
        }
        let only: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
        let lists = self.postings(&only, run)?;
        let lists: Vec<(QueryPart, &str, Arc<Postings>)> = texts
            .into_iter()
            .filter_map(|(what, text)| Some((what, text, Arc::clone(lists.get(text)?))))
            .collect();
        let (required, word_index) = (parsed.required(), self.word_index());
        Ok(self.vault.view.with_table(|table| {
            // An array by file id if many files match, else a map.
            let bound = table.id_bound();
            let is_dense = asked == 0
                || lists.iter().map(|(_, _, list)| list.len()).sum::<usize>() > bound / 8;
            let mut all = vec![Candidate::default(); if is_dense { bound } else { 0 }];
            let mut some: BTreeMap<Id, Candidate> = BTreeMap::new();
            self.each_posting(table, &lists, |what, posting| {
                let id = posting.id();
                let candidate = if is_dense {
                    all.get_mut(id as usize)
                } else {
                    Some(some.entry(id).or_default())
                };
                if let Some(candidate) = candidate {
                    candidate.add(what, posting, inputs, table);
                }
            });
            let mut found: Vec<Candidate> = if asked == 0 {
                let having =
                    self.files_that_may_have(&required, word_index.as_deref(), table).into_iter();
                having
                    .filter_map(|entry| {
                        Some(Candidate { id: entry.id, ..*all.get(entry.id as usize)? })
                    })
                    .collect()
            } else if is_dense {
                all
            } else {
                some.into_values().collect()
            };
            found.retain(|candidate| {
                (asked == 0 || candidate.words | candidate.stems != 0)
                    && table.entry(candidate.id).is_some_and(|entry| (run.wanted)(entry))
            });
            (found, table.not_searched(run.wanted))
        }))
    }

    /// Keeps the candidates that meet all conditions, and adds where in the folded text; returns
    /// how many could not be searched.
    fn retain_matching(
        &self,
        conditions: &[Condition],
        candidates: &mut Vec<Candidate>,
        condition_matches: &mut HashMap<Id, (usize, usize)>,
        run: &SearchRun<'_>,
    ) -> Result<usize, Error> {
        if conditions.is_empty() {
            return Ok(0);
        }
        let leaves = || conditions.iter().flat_map(|condition| condition.leaves(&|_| false));
        let has_regex = leaves().any(|leaf| {
            matches!(
                leaf,
                Condition::Has(_, Term::Regex(_))
                    | Condition::Property(_, Some(Wanted::Matching(_)))
            )
        });
        let _permit = if has_regex { Some(self.vault.costly_call()?) } else { None };
        let needs_original =
            leaves().any(|leaf| matches!(leaf, Condition::Has(_, Term::Regex(_) | Term::Exact(_))));
        let deadline = Deadline::after(limits::SEARCH_TIME);
        let in_time = || deadline.left().is_some();
        let files: Vec<(Candidate, Arc<Entry>)> = self.vault.view.with_table(|table| {
            candidates
                .drain(..)
                .filter_map(|candidate| Some((candidate, Arc::clone(table.entry(candidate.id)?))))
                .collect()
        });
        // `None` for a file that could not be searched in time.
        let look = |(_, entry): &(Candidate, Arc<Entry>)| {
            if !in_time() {
                return None;
            }
            let original = match &entry.text {
                _ if !needs_original => None,
                Text::Kept(kept) => Some(kept.original()),
                Text::None | Text::NotKept { .. } => Some(String::new()),
            };
            File::new(entry, entry.folded_text(), original.as_deref(), &in_time)
                .find_match(conditions)
                .ok()
        };
        let outcomes = map_parallel(&files, &|(_, entry)| entry.search_cost(), &look, run.proceed)?;
        let mut late = 0;
        for ((candidate, _), outcome) in files.into_iter().zip(outcomes) {
            match outcome {
                Some(Some(at)) => {
                    candidates.push(candidate);
                    condition_matches
                        .extend(at.map(|range| (candidate.id, (range.start, range.end))));
                }
                Some(None) => {}
                None => late += 1,
            }
        }
        Ok(late)
    }
}
