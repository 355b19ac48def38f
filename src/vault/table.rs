//! The entries of the index, by path and by slot, with the filter over the slots.

use super::entry::{Entry, Text};
use crate::text::filter::{Filter, Rows, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The entries by slot, with the filter over the slots.
#[derive(Debug)]
struct Shelf {
    slots: Vec<Option<Arc<Entry>>>,
    free: Vec<usize>,
    filter: Filter,
}

impl Shelf {
    fn new(rows: Rows) -> Shelf {
        Shelf { slots: Vec::new(), free: Vec::new(), filter: Filter::new(rows) }
    }

    fn insert(&mut self, mut entry: Entry, signature: &Signature) -> Arc<Entry> {
        entry.slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.filter.set(entry.slot, signature);
        let entry = Arc::new(entry);
        if let Some(slot) = self.slots.get_mut(entry.slot) {
            *slot = Some(Arc::clone(&entry));
        }
        entry
    }

    fn remove(&mut self, slot: usize) {
        self.filter.clear(slot);
        if let Some(entry) = self.slots.get_mut(slot) {
            *entry = None;
        }
        self.free.push(slot);
    }

    /// Adds the wanted entries that may have some of the words, each with those as bits. A word is any of its texts.
    fn candidates_by_word(&self, words: &[Vec<&str>], wanted: &dyn Fn(&Entry) -> bool, found: &mut Vec<(Arc<Entry>, u64)>) {
        let mut bits = vec![0_u64; self.slots.len()];
        for (number, texts) in words.iter().enumerate() {
            for text in texts {
                match self.filter.passing(&[text]) {
                    None => bits.iter_mut().for_each(|bits| *bits |= 1 << number),
                    Some(slots) => slots.into_iter().for_each(|slot| bits.get_mut(slot).into_iter().for_each(|bits| *bits |= 1 << number)),
                }
            }
        }
        let having = self.slots.iter().zip(bits).filter(|(_, bits)| *bits != 0);
        found
            .extend(having.filter_map(|(entry, bits)| entry.as_ref().filter(|entry| wanted(entry)).map(|entry| (Arc::clone(entry), bits))));
    }

    /// Adds the wanted entries that may have all these words; all of them where the words are too short to say.
    fn candidates(&self, words: &[&str], wanted: impl Fn(&Entry) -> bool, found: &mut Vec<Arc<Entry>>) {
        match self.filter.passing(words) {
            None => found.extend(self.slots.iter().flatten().filter(|entry| wanted(entry)).cloned()),
            Some(slots) => {
                let passing = slots.into_iter().filter_map(|slot| self.slots.get(slot)?.as_ref());
                found.extend(passing.filter(|entry| wanted(entry)).cloned());
            }
        }
    }
}

/// The entries, by path and by slot.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    texts: Shelf,
    /// Files without a text that is searched; a vault may have more pictures than notes.
    names: Shelf,
    /// The files whose text is not searched, though it is text.
    too_much: BTreeSet<Arc<str>>,
}

impl Table {
    pub(super) fn new(rows: Rows) -> Table {
        Table { entries: BTreeMap::new(), texts: Shelf::new(rows), names: Shelf::new(Rows::Names), too_much: BTreeSet::new() }
    }

    fn shelf(&mut self, entry: &Entry) -> &mut Shelf {
        match entry.text {
            Text::Kept(_) | Text::OnDisk { .. } => &mut self.texts,
            Text::None | Text::TooMuch { .. } => &mut self.names,
        }
    }

    /// Puts an entry in place; what was there.
    pub(super) fn insert(&mut self, entry: Entry, signature: &Signature) -> Option<Arc<Entry>> {
        let before = self.remove(&entry.path);
        if matches!(entry.text, Text::TooMuch { .. }) {
            self.too_much.insert(entry.path.clone());
        }
        let entry = self.shelf(&entry).insert(entry, signature);
        self.entries.insert(entry.path.clone(), entry);
        before
    }

    pub(super) fn remove(&mut self, path: &str) -> Option<Arc<Entry>> {
        let before = self.entries.remove(path)?;
        self.shelf(&before).remove(before.slot);
        self.too_much.remove(path);
        Some(before)
    }

    /// See [`super::index::Index::candidates_by_word`].
    pub(super) fn candidates_by_word(&self, words: &[Vec<&str>], wanted: &dyn Fn(&Entry) -> bool) -> (Vec<(Arc<Entry>, u64)>, usize) {
        let mut found = Vec::new();
        self.texts.candidates_by_word(words, wanted, &mut found);
        self.names.candidates_by_word(words, wanted, &mut found);
        (found, self.unsearched(wanted))
    }

    /// Wanted files whose text is not searched.
    fn unsearched(&self, wanted: &dyn Fn(&Entry) -> bool) -> usize {
        self.too_much.iter().filter_map(|path| self.entries.get(path)).filter(|entry| wanted(entry)).count()
    }

    /// See [`super::index::Index::candidates`].
    pub(super) fn candidates<'a>(&self, words: impl Iterator<Item = &'a str>, wanted: impl Fn(&Entry) -> bool) -> (Vec<Arc<Entry>>, usize) {
        let words: Vec<&str> = words.collect();
        let mut found = Vec::new();
        self.texts.candidates(&words, &wanted, &mut found);
        self.names.candidates(&words, &wanted, &mut found);
        (found, self.unsearched(&wanted))
    }
}
