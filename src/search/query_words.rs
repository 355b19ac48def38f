//! The words of a query as they are searched for: replacements for those that no file contains, and
//! the weight of each.

use crate::limits;
use crate::search::candidate::{RankingInputs, score_rank};
use crate::search::postings::Postings;
use crate::search::query::Parsed;
use crate::search::rank::Word;
use crate::search::{Search, SearchRun};
use crate::text::words;
use crate::vault::error::Error;
use crate::vault::index::table::Table;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Words of a query whose document frequency is looked up; further ones are ignored.
const QUERY_WORDS_WEIGHED: usize = 128;
/// Attempts to correct words of one query that no file contains, two at most for a word; each takes
/// up to a few milliseconds.
const QUERY_CORRECTIONS: usize = 4;

/// What is searched for instead of words that no file contains.
struct Replaced {
    did_you_mean: Vec<(String, String)>,
    /// Each with its parts, or the two words it consists of.
    split_words: Vec<(String, Vec<String>)>,
}

impl Search {
    /// The words to search for, corrections of those that no file contains, and the weight of each.
    pub(crate) fn ranking_inputs(
        &self,
        parsed: &Parsed,
        run: &SearchRun<'_>,
    ) -> Result<RankingInputs, Error> {
        let texts: Vec<&str> =
            parsed.words.iter().take(QUERY_WORDS_WEIGHED).map(String::as_str).collect();
        let lists = self.postings(&texts, run)?;
        let mut words: Vec<Word> = texts.iter().map(|text| Word::new(text)).collect();
        let known = self.having(&lists, run);
        let unknown = words.iter_mut().filter(|word| !known.contains(&word.asked)).collect();
        let Replaced { mut did_you_mean, split_words } = self.replace_unknown(unknown, run)?;
        let word_index = self.word_index();
        let spellings: Vec<String> = words
            .iter()
            .filter(|word| word.instead.is_none())
            .filter_map(|word| Some(word_index.as_deref()?.spellings(&word.asked)))
            .flatten()
            .collect();
        let mut seen: HashSet<&str> = words.iter().map(Word::text).collect();
        let others = parsed
            .hints
            .iter()
            .chain(split_words.iter().flat_map(|(_, parts)| parts))
            .chain(&spellings)
            .filter(|text| seen.insert(text));
        let mut others: Vec<Word> =
            others.take(QUERY_WORDS_WEIGHED).map(|text| Word::new(text)).collect();
        let stems: Vec<&str> = words.iter().chain(&others).map(Word::stem).collect();
        let lists = self.postings(&stems, run)?;
        let files = self.vault.size() as f32;
        for word in words.iter_mut().chain(&mut others) {
            let count = lists.get(word.stem()).map_or(0, |list| list.forms) as f32;
            let weight = |count: f32| {
                ((1.0 + (files - count + 0.5).max(0.0) / (count + 0.5)).ln() * 100.0).round()
                    / 100.0
            };
            word.weight = weight(count);
            word.name_weight = weight(lists.get(word.stem()).map_or(0, |list| list.named) as f32);
        }
        if words.len() > limits::QUERY_WORDS || !others.is_empty() {
            let known = self.having(&lists, run);
            others.retain(|word| known.contains(word.stem()));
            let heaviest = |words: &mut Vec<Word>, count: usize| {
                if words.len() > count {
                    words.sort_by_cached_key(|word| {
                        (!known.contains(word.stem()), score_rank(word.weight))
                    });
                    words.truncate(count);
                }
            };
            heaviest(&mut words, limits::QUERY_WORDS);
            heaviest(&mut others, limits::QUERY_WORDS - words.len());
        }
        let asked = words.len();
        words.append(&mut others);
        for (word, mut parts) in split_words {
            parts.retain(|part| words.iter().any(|word| word.asked == *part));
            let parts = parts.join(" ");
            if !parts.is_empty() && parts != word {
                did_you_mean.push((word, parts));
            }
        }
        let average_length = self.vault.view.with_table(Table::average_length);
        Ok(RankingInputs { words, asked, average_length, did_you_mean })
    }

    /// Replaces words that no wanted file contains: strips, corrects or takes them apart at their
    /// marks.
    fn replace_unknown(
        &self,
        unknown: Vec<&mut Word>,
        run: &SearchRun<'_>,
    ) -> Result<Replaced, Error> {
        let mut tries = 0..QUERY_CORRECTIONS;
        let (mut did_you_mean, mut split_words) = (Vec::new(), Vec::new());
        for word in unknown {
            // Punctuation at the ends of a word, and what is before a path, is dropped if no file
            // contains the word with it.
            let path = word.asked.trim_start_matches("./").trim_start_matches('/');
            if let [bare] =
                words::query_words(if path.is_empty() { &word.asked } else { path }).as_slice()
                && *bare != word.asked
                && !word.asked.contains(' ')
                && tries.next().is_some()
            {
                *word = Word::new(bare);
                if !self.having(&self.postings(&[bare], run)?, run).is_empty() {
                    continue;
                }
            }
            let parts: Vec<String> = words::parts_of(&word.asked)
                .into_iter()
                .filter(|part| *part != word.asked)
                .map(str::to_owned)
                .collect();
            let is_corrected = !words::has_unspaced(&word.asked) && tries.next().is_some();
            let instead = if is_corrected { self.correction(&word.asked, run) } else { None };
            // A correction that is only the first part says less than all the parts.
            let is_near =
                |instead: &String| instead.chars().count().abs_diff(word.asked.chars().count()) < 2;
            match instead.filter(|instead| parts.is_empty() || is_near(instead)) {
                Some(instead) => {
                    did_you_mean.push((word.asked.clone(), instead.clone()));
                    word.instead = Some(instead);
                }
                None => split_words.push((word.asked.clone(), parts)),
            }
        }
        Ok(Replaced { did_you_mean, split_words })
    }

    /// Those terms that at least one wanted file contains.
    fn having(
        &self,
        lists: &HashMap<String, Arc<Postings>>,
        run: &SearchRun<'_>,
    ) -> HashSet<String> {
        let numbered = lists.iter().enumerate();
        let lists: Vec<_> = numbered
            .map(|(number, (text, list))| (number, text.as_str(), Arc::clone(list)))
            .collect();
        let mut found = vec![false; lists.len()];
        self.vault.view.with_table(|table| {
            self.each_posting(table, &lists, |number, posting| {
                if let Some(found) = found.get_mut(number).filter(|found| !**found) {
                    *found = table.entry(posting.id()).is_some_and(|entry| (run.wanted)(entry));
                }
            });
        });
        lists
            .iter()
            .zip(found)
            .filter(|(_, found)| *found)
            .map(|((_, text, _), _)| (*text).to_owned())
            .collect()
    }
}
