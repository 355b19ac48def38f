//! Replacements for a word that no file has: another spelling or form of it, a word one edit away,
//! or one that it begins with.

use crate::lock::Unpoisoned;
use crate::search::posting::Posting;
use crate::search::postings::Correction;
use crate::search::word_index::WordIndex;
use crate::search::{Search, SearchRun};
use crate::text::words::{is_one_edit, is_spelling, stem};
use crate::vault::entry::Id;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Cached corrections of words that no file contains.
const CORRECTIONS_KEPT: usize = 256;
/// Letters of the longest word that is corrected: the cost of comparing it with one word of the
/// vault grows with its length.
const CORRECTED_LETTERS: usize = 40;

/// The fewest letters of a word that is corrected, and of a beginning that stands in for it.
const MIN_LETTERS: usize = 4;

/// How a word of the vault relates to the one that no file has, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    /// The same with its accents or umlauts.
    Spelling,
    Form,
    Edit,
    /// The unknown word begins with it.
    Beginning,
}

/// A word that no file has.
struct Unknown<'a> {
    word: &'a str,
    stem: &'a str,
    letters: Vec<char>,
}

impl Search {
    /// The word to search for instead of a folded one, if one is near; `None` for a phrase. Cached
    /// unless the search is narrowed.
    pub(crate) fn correction(&self, word: &str, run: &SearchRun<'_>) -> Option<String> {
        if word.contains(' ') {
            return None;
        }
        let word_index = self.first_word_index()?;
        if run.is_narrowed {
            return self.correct(word, &word_index, run);
        }
        let versions = (self.vault.view.with_table(|table| table.version), word_index.version);
        let lock = || self.cache.postings.corrections.lock().unpoisoned();
        if let Some(known) = lock().get(word).filter(|known| known.versions == versions) {
            return known.instead.clone();
        }
        let instead = self.correct(word, &word_index, run);
        let mut corrections = lock();
        if corrections.len() >= CORRECTIONS_KEPT {
            corrections.clear();
        }
        corrections.insert(word.to_owned(), Correction { versions, instead: instead.clone() });
        instead
    }

    fn correct(&self, word: &str, word_index: &WordIndex, run: &SearchRun<'_>) -> Option<String> {
        let unknown = Unknown { word, stem: stem(word), letters: word.chars().collect() };
        self.vault.view.with_table(|table| {
            let changed: BTreeSet<Id> = table.changed_since(word_index.version)?.collect();
            // A file that has changed may not have the word any more.
            let is_wanted = |file: Posting| {
                !changed.contains(&file.id())
                    && table.entry(file.id()).is_some_and(|entry| (run.wanted)(entry))
            };
            let near = word_index.each().filter_map(|(own, files)| {
                let relation = unknown.relation(own)?;
                // The longest beginning; of others the word in most files.
                let weight = match relation {
                    Relation::Beginning => own.len(),
                    _ => files.clone().count(),
                };
                files.clone().any(is_wanted).then_some((relation, Reverse(weight), own))
            });
            near.min().map(|(.., own)| own.to_owned())
        })
    }
}

impl Unknown<'_> {
    /// How a word of the vault relates to this one, if it is near.
    fn relation(&self, own: &str) -> Option<Relation> {
        if is_spelling(own, self.word) {
            return Some(Relation::Spelling);
        }
        if own.starts_with(self.stem) && stem(own) == self.stem {
            return Some(Relation::Form);
        }
        let length = self.letters.len();
        // Another number is another thing.
        if !(MIN_LETTERS..=CORRECTED_LETTERS).contains(&length)
            || self.word.bytes().any(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        let letters: Vec<char> = own.chars().take(length + 2).collect();
        // With another first letter, a short word is usually unrelated.
        let may_be_edit = letters.len().abs_diff(length) < 2
            && (length > MIN_LETTERS + 1 || letters.first() == self.letters.first());
        if may_be_edit && is_one_edit(&letters, &self.letters) {
            return Some(Relation::Edit);
        }
        // At least three fifths of it: `sun` says little of `sunday`.
        let is_beginning = self.word.starts_with(own)
            && letters.len() >= MIN_LETTERS
            && letters.len() * 5 >= length * 3;
        is_beginning.then_some(Relation::Beginning)
    }
}
