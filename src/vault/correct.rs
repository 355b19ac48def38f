//! What the vault has in place of a word that no file has: another form of it, a word that is one edit away, or one that begins
//! alike.

use super::Vault;
use super::entry::{Entry, Id};
use super::error::Error;
use super::posting::Posting;
use crate::limits;
use crate::slice::Part;
use crate::text::words::{is_one_edit, kept_parts, stem};
use memchr::memmem::Finder;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Letters that a word which begins alike has in common at least.
const ALIKE: usize = 4;

/// Nearest words of one file or of all.
#[derive(Debug, Default)]
struct NearestWords {
    has_stem: bool,
    /// Words that are one edit away, and how often.
    edits: BTreeMap<String, usize>,
    /// The letters that a word has in common at its beginning, the most.
    alike: usize,
}

impl NearestWords {
    fn add(&mut self, other: NearestWords) {
        self.has_stem |= other.has_stem;
        self.alike = self.alike.max(other.alike);
        other.edits.into_iter().for_each(|(word, count)| *self.edits.entry(word).or_default() += count);
    }
}

impl Vault {
    /// The text to look for in place of a folded word; none for a phrase. What was found is kept, unless the search is narrowed.
    pub(super) fn correction(
        &self,
        word: &str,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        is_narrowed: bool,
        read: &AtomicU64,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Option<String>, Error> {
        if is_narrowed {
            return self.correct(word, wanted, read, go_on);
        }
        let version = self.index.with_table(|table| table.version);
        if let Some(known) = self.postings.correction(word, version) {
            return Ok(known);
        }
        let instead = self.correct(word, wanted, read, go_on)?;
        self.postings.keep_correction(word, version, &instead);
        Ok(instead)
    }

    fn correct(
        &self,
        word: &str,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        read: &AtomicU64,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Option<String>, Error> {
        if word.contains(' ') {
            return Ok(None);
        }
        let letters: Vec<char> = word.chars().collect();
        let stem = Some(stem(word)).filter(|stem| *stem != word);
        let beginning: String = letters.iter().take(ALIKE).collect();
        let mut parts: Vec<String> = stem.map(str::to_owned).into_iter().collect();
        if (ALIKE..=limits::CORRECTED_LETTERS).contains(&letters.len()) {
            parts.extend(kept_parts(word));
            parts.push(beginning);
        }
        parts.retain(|part| !part.is_empty());
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let lexicon = self.lexicon();
        let mut near = NearestWords::default();
        let candidates: Vec<Arc<Entry>> = self.index.with_table(|table| {
            let newer = lexicon.as_ref().and_then(|lexicon| Some((lexicon, table.changed_since(lexicon.version)?)));
            let looked_at: Vec<&Arc<Entry>> = match newer {
                Some((lexicon, changed)) => {
                    let is_wanted = |file: Posting| table.entry(file.id()).is_some_and(|entry| wanted(entry));
                    for (word, files) in lexicon.each() {
                        if near.is_nearer(word, &letters, stem) && files.clone().any(is_wanted) {
                            near.add_word(word, &letters, stem, files.count());
                        }
                    }
                    let ids: BTreeSet<Id> = changed.chain(lexicon.left_out.iter().copied()).collect();
                    ids.into_iter().filter_map(|id| table.entry(id)).collect()
                }
                None => table.all().collect(),
            };
            looked_at.into_iter().filter(|entry| wanted(entry)).cloned().collect()
        });
        let finders: Vec<Finder<'_>> = texts.iter().map(Finder::new).collect();
        let look = |entry: &Arc<Entry>| {
            let mut near = NearestWords::default();
            let text = self.folded_text(entry, read).unwrap_or_default();
            for text in [&*text, entry.folded_path()] {
                for finder in &finders {
                    finder.find_iter(text.as_bytes()).for_each(|at| near.add_word(word_around(text, at), &letters, stem, 1));
                }
            }
            near
        };
        let bytes = candidates.iter().map(|entry| entry.text_bytes()).sum();
        self.on_all_cores(&candidates, bytes, &look, go_on)?.into_iter().for_each(|found| near.add(found));
        let most = near.edits.into_iter().max_by_key(|(_, count)| *count).map(|(edited, _)| edited);
        let alike = || (near.alike >= ALIKE).then(|| letters.iter().take(near.alike).collect());
        Ok(stem.filter(|_| near.has_stem).map(str::to_owned).or(most).or_else(alike))
    }
}

impl NearestWords {
    /// Whether a word could change what is known.
    fn is_nearer(&self, word: &str, letters: &[char], stem: Option<&str>) -> bool {
        let begins = || stem.is_some_and(|stem| word.starts_with(stem));
        let alike = word.chars().zip(letters).take_while(|(own, letter)| own == *letter).count();
        !self.has_stem && begins() || alike > self.alike || word.chars().count().abs_diff(letters.len()) < 2
    }

    /// Takes note of a word that stands in some texts.
    fn add_word(&mut self, word: &str, letters: &[char], stem: Option<&str>, times: usize) {
        self.has_stem |= stem.is_some_and(|stem| word.starts_with(stem));
        let own: Vec<char> = word.chars().take(letters.len() + 2).collect();
        if own.len().abs_diff(letters.len()) < 2 && letters.len() >= ALIKE && is_one_edit(&own, letters) {
            *self.edits.entry(word.to_owned()).or_default() += times;
        }
        self.alike = self.alike.max(own.iter().zip(letters).take_while(|(own, letter)| own == letter).count());
    }
}

/// The word in which an offset lies; as much of it as a word has that is corrected.
fn word_around(text: &str, at: usize) -> &str {
    let is_end = |c: char| !c.is_alphanumeric();
    let before = text.part(..at).char_indices().rev().take(limits::CORRECTED_LETTERS + 1);
    let start = before.take_while(|(_, c)| !is_end(*c)).last().map_or(at, |(start, _)| start);
    let behind = text.part(at..).char_indices().take(limits::CORRECTED_LETTERS + 2);
    let end = behind.take_while(|(_, c)| !is_end(*c)).last().map_or(at, |(end, c)| at + end + c.len_utf8());
    text.part(start..end)
}
