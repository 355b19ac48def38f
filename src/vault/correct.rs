//! Replacements for a word that no file has: another spelling or form of it, a word one edit away, the two words that it is made of,
//! or a word with the same beginning.

use super::Vault;
use super::entry::{Entry, Id};
use super::error::Error;
use super::parallel::SearchRun;
use super::posting::Posting;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::text::words::{indexed_words, is_one_edit, is_spelling, stem};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The fewest letters of a word that is corrected, and of a beginning that two words share.
const MIN_LETTERS: usize = 4;
/// Minimum letters of each of two words written as one.
const MIN_HALF_LETTERS: usize = 3;

/// How a word of the vault relates to the one that no file has, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    /// The same with its accents or umlauts.
    Spelling,
    Form,
    Edit,
    /// The unknown word has an ending of two letters more: a plural of another language.
    Ending,
    /// The unknown word begins with it.
    Beginning,
    /// The unknown word ends with it.
    End,
    /// Both have the same beginning.
    Alike,
}

/// A word that no file has.
struct Unknown<'a> {
    word: &'a str,
    stem: &'a str,
    letters: Vec<char>,
}

/// The words of one file, or of all, that are near to an unknown one. Each with a count: of files where the word index has the word, plus
/// of occurrences in the files that are scanned.
type NearWords = BTreeMap<(Relation, String), usize>;

impl Vault {
    /// The text to search for instead of a folded word, if one is near; `None` for a phrase. Cached unless the search is narrowed.
    pub(super) fn correction(
        &self,
        word: &str,
        run: &SearchRun<'_>,
    ) -> Result<Option<String>, Error> {
        if run.is_narrowed {
            return self.correct(word, run);
        }
        let version = self.index.with_table(|table| table.version);
        let lock = || self.postings_cache.corrections.lock().unpoisoned();
        if let Some((_, known)) = lock().get(word).filter(|(at, _)| *at == version) {
            return Ok(known.clone());
        }
        let instead = self.correct(word, run)?;
        let mut corrections = lock();
        if corrections.len() >= limits::CORRECTIONS_KEPT {
            corrections.clear();
        }
        corrections.insert(word.to_owned(), (version, instead.clone()));
        Ok(instead)
    }

    fn correct(&self, word: &str, run: &SearchRun<'_>) -> Result<Option<String>, Error> {
        let SearchRun { wanted, read, .. } = run;
        if word.contains(' ') {
            return Ok(None);
        }
        let unknown = Unknown { word, stem: stem(word), letters: word.chars().collect() };
        let word_index = self.word_index();
        let mut near = NearWords::new();
        let candidates: Vec<Arc<Entry>> = self.index.with_table(|table| {
            let newer = word_index.as_ref().and_then(|word_index| {
                Some((word_index, table.changed_since(word_index.version)?))
            });
            let to_scan: Vec<&Arc<Entry>> = match newer {
                Some((word_index, changed)) => {
                    let ids: BTreeSet<Id> =
                        changed.chain(word_index.unindexed.iter().copied()).collect();
                    let is_wanted = |file: Posting| {
                        !ids.contains(&file.id())
                            && table.entry(file.id()).is_some_and(|entry| wanted(entry))
                    };
                    for (own, files) in word_index.each() {
                        if let Some(relation) =
                            unknown.relation(own).filter(|_| files.clone().any(is_wanted))
                        {
                            near.insert((relation, own.to_owned()), files.count());
                        }
                    }
                    ids.into_iter().filter_map(|id| table.entry(id)).collect()
                }
                None => table.all().collect(),
            };
            to_scan.into_iter().filter(|entry| wanted(entry)).cloned().collect()
        });
        let look = |entry: &Arc<Entry>| {
            let mut near = NearWords::new();
            let text = self.folded_text(entry, read).unwrap_or_default();
            for own in indexed_words(&text).chain(indexed_words(entry.folded_path())) {
                if let Some(relation) = unknown.relation(own) {
                    *near.entry((relation, own.to_owned())).or_default() += 1;
                }
            }
            near
        };
        for found in
            self.map_parallel(&candidates, &|entry| entry.search_cost(), &look, run.proceed)?
        {
            found.into_iter().for_each(|(own, count)| *near.entry(own).or_default() += count);
        }
        Ok(unknown.nearest(&near))
    }
}

impl Unknown<'_> {
    fn is_corrected(&self) -> bool {
        (MIN_LETTERS..=limits::CORRECTED_LETTERS).contains(&self.letters.len())
    }

    /// Whether so long a common beginning makes a word similar: at least [`MIN_LETTERS`], and three fifths of the unknown word.
    fn is_alike(&self, in_common: usize) -> bool {
        in_common >= MIN_LETTERS && in_common * 5 >= self.letters.len() * 3
    }

    /// How a word of the vault relates to this one, if it is near.
    fn relation(&self, own: &str) -> Option<Relation> {
        if is_spelling(own, self.word) {
            return Some(Relation::Spelling);
        }
        if own.starts_with(self.stem) && stem(own) == self.stem {
            return Some(Relation::Form);
        }
        if !self.is_corrected() {
            return None;
        }
        let length = self.letters.len();
        let own: Vec<char> = own.chars().take(length + 2).collect();
        // With another first letter, a short word is usually unrelated.
        let may_be_edit = own.len().abs_diff(length) < 2
            && (length > MIN_LETTERS + 1 || own.first() == self.letters.first());
        let in_common =
            own.iter().zip(&self.letters).take_while(|(own, letter)| own == letter).count();
        let is_half = own.len() >= MIN_HALF_LETTERS && own.len() + MIN_HALF_LETTERS <= length;
        // Another number is another thing.
        if self.word.bytes().any(|byte| byte.is_ascii_digit()) {
            None
        } else if may_be_edit && is_one_edit(&own, &self.letters) {
            Some(Relation::Edit)
        } else if in_common == own.len() && own.len() > MIN_LETTERS && own.len() + 2 == length {
            Some(Relation::Ending)
        } else if is_half && in_common == own.len() {
            Some(Relation::Beginning)
        } else if is_half && self.letters.ends_with(&own) {
            Some(Relation::End)
        } else if self.is_alike(in_common) {
            Some(Relation::Alike)
        } else {
            None
        }
    }

    /// The replacement for this word: one word, or two.
    fn nearest(&self, near: &NearWords) -> Option<String> {
        let of =
            |wanted: Relation| near.iter().filter(move |((relation, _), _)| *relation == wanted);
        let most =
            |wanted| of(wanted).max_by_key(|(_, count)| **count).map(|((_, own), _)| own.clone());
        let two = || {
            let halves = of(Relation::Beginning).filter_map(|((_, first), _)| {
                Some((first, self.word.strip_prefix(first.as_str())?))
            });
            let known = halves
                .filter(|(_, second)| near.contains_key(&(Relation::End, (*second).to_owned())));
            known
                .max_by_key(|(first, second)| first.len().min(second.len()))
                .map(|(first, second)| format!("{first} {second}"))
        };
        let alike = || {
            let in_common = |own: &str| {
                own.chars().zip(&self.letters).take_while(|(own, letter)| own == *letter).count()
            };
            let begin_alike = of(Relation::Beginning).chain(of(Relation::Alike));
            let long_enough = begin_alike.map(|((_, own), count)| (in_common(own), own, count));
            let long_enough = long_enough.filter(|(in_common, ..)| self.is_alike(*in_common));
            // A word that this one begins with is a part of it, and comes first.
            let nearness = |(in_common, own, count): &(usize, &String, &usize)| {
                (self.word.starts_with(own.as_str()), *in_common, **count, Reverse(own.len()))
            };
            long_enough.max_by_key(nearness).map(|(_, own, _)| own.clone())
        };
        [Relation::Spelling, Relation::Form, Relation::Edit, Relation::Ending]
            .into_iter()
            .find_map(most)
            .or_else(two)
            .or_else(alike)
    }
}
