//! The entries of the index, by path and by id.

use super::entry::{Entry, Id, Text};
use crate::limits;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What the rough ranking needs to know about an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    /// Modification time, see [`super::entry::Stamp::order`].
    pub(super) modified: i64,
    /// Bytes of the file.
    pub(super) length: u32,
    /// Whether it is a note.
    pub(super) is_note: bool,
}

/// The entries, by path and by id.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    slots: Vec<Option<Arc<Entry>>>,
    facts: Vec<Facts>,
    free: Vec<Id>,
    /// The text files whose text is not kept or cannot be read.
    not_kept: BTreeSet<Arc<str>>,
    /// Incremented when an entry is added, replaced or removed.
    pub(super) version: u64,
    /// Incremented when a file is added or removed.
    pub(super) listing: u64,
    /// Bytes kept in memory for all files.
    pub(super) kept_bytes: u64,
    /// The ids of the entries that changed last, the newest at the end.
    recent: VecDeque<Id>,
    /// Number of files whose text is searched.
    texts: u64,
    /// Their total size in bytes.
    length: u64,
}

impl Table {
    fn record_change(&mut self, id: Id) {
        self.version += 1;
        self.recent.push_back(id);
        if self.recent.len() > limits::RECENT_CHANGES {
            self.recent.pop_front();
        }
    }

    /// Inserts an entry, replacing the previous one of the file.
    pub(super) fn insert(&mut self, mut entry: Entry) {
        let before = self.take(&entry.path);
        self.listing += u64::from(before.is_none());
        let same = before.filter(|known| known.stamp == entry.stamp && known.text == entry.text);
        // A file read again only because its stamp was uncertain is still what we wrote.
        entry.written_by_us =
            AtomicBool::new(same.as_ref().is_some_and(|known| known.written_by_us()));
        entry.version = same.map_or(self.version + 1, |known| known.version);
        self.kept_bytes += entry.text.kept_bytes();
        if matches!(entry.text, Text::NotKept { .. }) {
            self.not_kept.insert(entry.path.clone());
        }
        if entry.has_searched_text() {
            self.texts += 1;
            self.length += entry.stamp.size;
        }
        entry.id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.facts.push(Facts::default());
            (self.slots.len() - 1) as Id
        });
        let entry = Arc::new(entry);
        let slot = entry.id as usize;
        if let (Some(slot), Some(facts)) = (self.slots.get_mut(slot), self.facts.get_mut(slot)) {
            *slot = Some(Arc::clone(&entry));
            let length = u32::try_from(entry.stamp.size).unwrap_or(u32::MAX);
            *facts = Facts { modified: entry.stamp.order(), length, is_note: entry.is_note() };
        }
        self.record_change(entry.id);
        self.entries.insert(entry.path.clone(), entry);
    }

    pub(super) fn remove(&mut self, path: &str) {
        if let Some(before) = self.take(path) {
            self.listing += 1;
            self.record_change(before.id);
        }
    }

    /// Takes an entry out; its id is the next one that is given.
    fn take(&mut self, path: &str) -> Option<Arc<Entry>> {
        let before = self.entries.remove(path)?;
        self.kept_bytes -= before.text.kept_bytes();
        if before.has_searched_text() {
            self.texts -= 1;
            self.length -= before.stamp.size;
        }
        if let Some(slot) = self.slots.get_mut(before.id as usize) {
            *slot = None;
        }
        self.free.push(before.id);
        self.not_kept.remove(path);
        Some(before)
    }

    /// The ids whose entries changed since a version; `None` if that is too long ago.
    pub(super) fn changed_since(&self, version: u64) -> Option<impl Iterator<Item = Id>> {
        let count = usize::try_from(self.version - version)
            .ok()
            .filter(|count| *count <= self.recent.len())?;
        Some(self.recent.iter().rev().take(count).copied())
    }

    /// One more than the largest id.
    pub(super) fn id_bound(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn entry(&self, id: Id) -> Option<&Arc<Entry>> {
        self.slots.get(id as usize)?.as_ref()
    }

    pub(super) fn facts(&self, id: Id) -> Facts {
        self.facts.get(id as usize).copied().unwrap_or_default()
    }

    /// The average length of a text in bytes.
    pub(super) fn average_length(&self) -> f32 {
        (self.length as f64 / self.texts.max(1) as f64).max(1.0) as f32
    }

    /// All entries, ordered by id.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().flatten()
    }

    /// The number of wanted files whose text is not searched.
    pub(super) fn not_searched(&self, wanted: &dyn Fn(&Entry) -> bool) -> usize {
        self.not_kept().filter(|entry| wanted(entry)).count()
    }

    /// The text files whose text is not kept or cannot be read.
    pub(super) fn not_kept(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.not_kept.iter().filter_map(|path| self.entries.get(path))
    }
}
