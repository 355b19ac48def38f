//! The entries of the index, by path and by id.

use crate::vault::entry::{Entry, Id, Text};
use crate::vault::path::{VaultPath, range_below};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The most recent file changes that are recorded, four bytes each: a cached list is completed by
/// scanning the files changed since.
const RECENT_CHANGES: usize = 16_384;

/// The entries, by path and by id.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    slots: Vec<Option<Arc<Entry>>>,
    free: Vec<Id>,
    /// The text files whose text is not kept or cannot be read.
    not_kept: BTreeSet<Arc<str>>,
    /// Incremented when an entry is added, replaced or removed.
    pub(crate) version: u64,
    /// Incremented when a file is added or removed.
    pub(crate) listing: u64,
    /// Bytes kept in memory for all files.
    pub(crate) kept_bytes: u64,
    /// The ids of the entries that changed last, the newest at the end.
    recent: VecDeque<Id>,
    /// Number of files whose text is searched.
    texts: u64,
    /// Their total size in bytes.
    length: u64,
    /// For a part of the vault: the version of the whole table that it has followed to.
    followed: u64,
}

/// The state of a file, or of a folder and all files below it, in the index; for comparison only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexedState {
    files: usize,
    newest: u64,
}

impl Table {
    fn record_change(&mut self, id: Id) {
        self.version += 1;
        self.recent.push_back(id);
        if self.recent.len() > RECENT_CHANGES {
            self.recent.pop_front();
        }
    }

    /// Inserts an entry, replacing the previous one of the file.
    pub(crate) fn insert(&mut self, mut entry: Entry) {
        let before = self.take(&entry.path);
        self.listing += u64::from(before.is_none());
        self.free.extend(before.as_ref().map(|before| before.id));
        let same = before.filter(|known| known.stamp == entry.stamp && known.text == entry.text);
        // A file read again only because its stamp was uncertain is still what we wrote.
        entry.written_by_us =
            AtomicBool::new(same.as_ref().is_some_and(|known| known.written_by_us()));
        entry.version = same.map_or(self.version + 1, |known| known.version);
        entry.id = self.free.pop().unwrap_or(self.slots.len() as Id);
        self.put(Arc::new(entry));
    }

    /// Puts in an entry, under its own id.
    fn put(&mut self, entry: Arc<Entry>) {
        self.kept_bytes += entry.text.kept_bytes();
        if matches!(entry.text, Text::NotKept { .. }) {
            self.not_kept.insert(entry.path.clone());
        }
        if entry.has_searched_text() {
            self.texts += 1;
            self.length += entry.stamp.size;
        }
        let slot = entry.id as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Some(Arc::clone(&entry));
        }
        self.record_change(entry.id);
        self.entries.insert(entry.path.clone(), entry);
    }

    pub(crate) fn remove(&mut self, path: &str) {
        if let Some(before) = self.take(path) {
            self.listing += 1;
            self.free.push(before.id);
            self.record_change(before.id);
        }
    }

    /// Takes an entry out.
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
        self.not_kept.remove(path);
        Some(before)
    }

    /// Whether [`Table::follow`] has nothing to take over.
    pub(crate) fn has_followed(&self, whole: &Table) -> bool {
        self.followed == whole.version
    }

    /// Takes over what has changed in the table of the whole vault, as far as `shows` allows. The
    /// entries are shared, and keep their ids.
    pub(crate) fn follow(&mut self, whole: &Table, shows: &dyn Fn(&str) -> bool) {
        let ids: BTreeSet<Id> = match whole.changed_since(self.followed) {
            Some(changed) => changed.collect(),
            None => (0..whole.slots.len() as Id).collect(),
        };
        self.followed = whole.version;
        let (mut gone, mut new) = (BTreeSet::new(), BTreeSet::new());
        let is_same =
            |own: &Arc<Entry>| whole.entry(own.id).is_some_and(|now| Arc::ptr_eq(own, now));
        for id in &ids {
            if let Some(own) = self.entry(*id).filter(|own| !is_same(own)).cloned() {
                self.take(&own.path);
                self.record_change(*id);
                gone.insert(Arc::clone(&own.path));
            }
        }
        for id in ids {
            if let Some(now) = whole.entry(id)
                && self.entry(id).is_none()
                && shows(&now.path)
            {
                new.insert(Arc::clone(&now.path));
                self.put(Arc::clone(now));
            }
        }
        self.listing += u64::from(gone != new);
    }

    /// The entries below a folder that are wanted, in order.
    pub(crate) fn below(
        &self,
        folder: &VaultPath,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Vec<Arc<Entry>> {
        range_below(&self.entries, folder.as_str())
            .map(|(_, entry)| entry)
            .filter(|entry| wanted(entry))
            .cloned()
            .collect()
    }

    pub(crate) fn indexed_state(&self, path: &VaultPath) -> IndexedState {
        let inside = range_below(&self.entries, path.as_str());
        let of = |state: IndexedState, entry: &Arc<Entry>| IndexedState {
            files: state.files + 1,
            newest: state.newest.max(entry.version),
        };
        self.entries
            .get(path.as_str())
            .into_iter()
            .chain(inside.map(|(_, entry)| entry))
            .fold(IndexedState::default(), of)
    }

    /// The ids whose entries changed since a version; `None` if that is too long ago.
    pub(crate) fn changed_since(&self, version: u64) -> Option<impl Iterator<Item = Id>> {
        let count = usize::try_from(self.version - version)
            .ok()
            .filter(|count| *count <= self.recent.len())?;
        Some(self.recent.iter().rev().take(count).copied())
    }

    /// One more than the largest id.
    pub(crate) fn id_bound(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn entry(&self, id: Id) -> Option<&Arc<Entry>> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// The average length of a text in bytes.
    pub(crate) fn average_length(&self) -> f32 {
        (self.length as f64 / self.texts.max(1) as f64).max(1.0) as f32
    }

    /// All entries, ordered by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().flatten()
    }

    /// The number of wanted files whose text is not searched.
    pub(crate) fn not_searched(&self, wanted: &dyn Fn(&Entry) -> bool) -> usize {
        self.not_kept().filter(|entry| wanted(entry)).count()
    }

    /// The text files whose text is not kept or cannot be read.
    pub(crate) fn not_kept(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.not_kept.iter().filter_map(|path| self.entries.get(path))
    }
}
