//! The entries of the index, by path and by slot, with the filter over the slots.

use super::entry::{Entry, Text};
use super::filter::{Filter, Rows, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The entries, by path and by slot, with the filter over the slots.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Box<str>, Arc<Entry>>,
    slots: Vec<Option<Arc<Entry>>>,
    free: Vec<usize>,
    filter: Filter,
    /// The files whose text is not searched, though it is text.
    too_much: BTreeSet<Box<str>>,
}

impl Table {
    pub(super) fn new(rows: Rows) -> Table {
        let filter = Filter::new(rows);
        Table { entries: BTreeMap::new(), slots: Vec::new(), free: Vec::new(), filter, too_much: BTreeSet::new() }
    }

    /// Puts an entry in place; what was there.
    pub(super) fn insert(&mut self, mut entry: Entry, signature: &Signature) -> Option<Arc<Entry>> {
        let before = self.remove(&entry.path);
        entry.slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.filter.set(entry.slot, signature);
        if matches!(entry.text, Text::TooMuch) {
            self.too_much.insert(entry.path.clone());
        }
        let entry = Arc::new(entry);
        if let Some(slot) = self.slots.get_mut(entry.slot) {
            *slot = Some(Arc::clone(&entry));
        }
        self.entries.insert(entry.path.clone(), entry);
        before
    }

    pub(super) fn remove(&mut self, path: &str) -> Option<Arc<Entry>> {
        let before = self.entries.remove(path)?;
        self.filter.clear(before.slot);
        if let Some(slot) = self.slots.get_mut(before.slot) {
            *slot = None;
        }
        self.free.push(before.slot);
        self.too_much.remove(path);
        Some(before)
    }

    /// See [`super::index::Index::candidates`].
    pub(super) fn candidates<'a>(&self, words: impl Iterator<Item = &'a str>, wanted: impl Fn(&Entry) -> bool) -> (Vec<Arc<Entry>>, usize) {
        let rows = self.filter.rows.of_words(words);
        let mut found = Vec::new();
        if rows.is_empty() {
            found.extend(self.entries.values().filter(|entry| wanted(entry)).cloned());
        } else {
            self.filter.passing(&rows, |slot| {
                if let Some(Some(entry)) = self.slots.get(slot)
                    && wanted(entry)
                {
                    found.push(Arc::clone(entry));
                }
            });
        }
        let unsearched = self.too_much.iter().filter_map(|path| self.entries.get(path)).filter(|entry| wanted(entry)).count();
        (found, unsearched)
    }
}
