//! The entries of the index, by path and by number, with the filter over the numbers.

use super::entry::{Entry, Text};
use crate::limits;
use crate::text::filter::{Filter, Rows, Signature};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The number of an entry while it is in the table: its slot, twice, and one more for a file without a text that is searched.
pub(super) type Id = u32;

fn id_of(slot: usize, has_text: bool) -> Id {
    (slot * 2 + usize::from(!has_text)) as Id
}

/// Whether a file has a text that is searched.
fn has_text(entry: &Entry) -> bool {
    !matches!(entry.text, Text::None | Text::TooMuch { .. })
}

/// What ranking needs of an entry before it is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    /// Modification time, see [`super::entry::Stamp::order`].
    pub(super) modified: i64,
    /// Bytes of the file.
    pub(super) length: u32,
}

/// Entries by slot, with the filter over the slots.
#[derive(Debug)]
struct Slots {
    entries: Vec<Option<Arc<Entry>>>,
    facts: Vec<Facts>,
    free: Vec<usize>,
    filter: Filter,
}

impl Slots {
    fn new(rows: Rows) -> Slots {
        Slots { entries: Vec::new(), facts: Vec::new(), free: Vec::new(), filter: Filter::new(rows) }
    }

    fn insert(&mut self, mut entry: Entry, signature: &Signature) -> Arc<Entry> {
        entry.slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.facts.push(Facts::default());
            self.entries.len() - 1
        });
        self.filter.set(entry.slot, signature);
        let entry = Arc::new(entry);
        if let (Some(slot), Some(facts)) = (self.entries.get_mut(entry.slot), self.facts.get_mut(entry.slot)) {
            *slot = Some(Arc::clone(&entry));
            *facts = Facts { modified: entry.stamp.order(), length: u32::try_from(entry.stamp.size).unwrap_or(u32::MAX) };
        }
        entry
    }

    fn remove(&mut self, slot: usize) {
        self.filter.clear(slot);
        if let Some(entry) = self.entries.get_mut(slot) {
            *entry = None;
        }
        self.free.push(slot);
    }

    /// The slots that may have all of some texts; all where those are too short to say.
    fn passing(&self, texts: &[&str]) -> Vec<usize> {
        self.filter.passing(texts).unwrap_or_else(|| (0..self.entries.len()).collect())
    }
}

/// The entries, by path and by number.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    /// Files with a text that is searched, and the others; a vault may have more pictures than notes.
    texts: Slots,
    names: Slots,
    /// The files whose text is not searched, though it is text.
    too_much: BTreeSet<Arc<str>>,
    /// Grows with every entry that comes or goes.
    version: u64,
    /// The numbers of the entries that came or went last, the newest at the end.
    recent: VecDeque<Id>,
    /// Bytes of all files with a text.
    length: u64,
}

impl Table {
    pub(super) fn new(rows: Rows) -> Table {
        Table {
            entries: BTreeMap::new(),
            texts: Slots::new(rows),
            names: Slots::new(Rows::Names),
            too_much: BTreeSet::new(),
            version: 0,
            recent: VecDeque::new(),
            length: 0,
        }
    }

    fn slots_of(&mut self, entry: &Entry) -> &mut Slots {
        if has_text(entry) { &mut self.texts } else { &mut self.names }
    }

    fn note(&mut self, entry: &Entry) {
        self.version += 1;
        self.recent.push_back(id_of(entry.slot, has_text(entry)));
        if self.recent.len() > limits::RECENT_CHANGES {
            self.recent.pop_front();
        }
    }

    /// Puts an entry in place; what was there.
    pub(super) fn insert(&mut self, entry: Entry, signature: &Signature) -> Option<Arc<Entry>> {
        let before = self.remove(&entry.path);
        if matches!(entry.text, Text::TooMuch { .. }) {
            self.too_much.insert(entry.path.clone());
        }
        self.length += if has_text(&entry) { entry.stamp.size } else { 0 };
        let entry = self.slots_of(&entry).insert(entry, signature);
        self.note(&entry);
        self.entries.insert(entry.path.clone(), entry);
        before
    }

    pub(super) fn remove(&mut self, path: &str) -> Option<Arc<Entry>> {
        let before = self.entries.remove(path)?;
        self.length -= if has_text(&before) { before.stamp.size } else { 0 };
        self.slots_of(&before).remove(before.slot);
        self.note(&before);
        self.too_much.remove(path);
        Some(before)
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The numbers whose entry came or went since a version; `None` when that is too long ago to say.
    pub(super) fn changed_since(&self, version: u64) -> Option<impl Iterator<Item = Id>> {
        let count = usize::try_from(self.version - version).ok().filter(|count| *count <= self.recent.len())?;
        Some(self.recent.iter().rev().take(count).copied())
    }

    /// One more than the largest [`Table::position`].
    pub(super) fn numbers(&self) -> usize {
        self.texts.entries.len() + self.names.entries.len()
    }

    /// Where an entry has its element in a list of all: those with a text first.
    pub(super) fn position(&self, id: Id) -> usize {
        id as usize / 2 + if id.is_multiple_of(2) { 0 } else { self.texts.entries.len() }
    }

    fn slots(&self, id: Id) -> &Slots {
        if id.is_multiple_of(2) { &self.texts } else { &self.names }
    }

    pub(super) fn entry(&self, id: Id) -> Option<&Arc<Entry>> {
        self.slots(id).entries.get(id as usize / 2)?.as_ref()
    }

    pub(super) fn facts(&self, id: Id) -> Facts {
        self.slots(id).facts.get(id as usize / 2).copied().unwrap_or_default()
    }

    /// The length of a text on average, in bytes.
    pub(super) fn average_length(&self) -> f32 {
        let texts = self.texts.entries.len() - self.texts.free.len();
        (self.length as f64 / texts.max(1) as f64).max(1.0) as f32
    }

    /// The numbers of the entries that may have some of at most 64 texts, each with those as bits.
    pub(super) fn having_some(&self, texts: &[&str]) -> Vec<(Id, u64)> {
        let mut found = Vec::new();
        for (has_text, slots) in [(true, &self.texts), (false, &self.names)] {
            let mut bits = vec![0_u64; slots.entries.len()];
            for (number, text) in texts.iter().enumerate() {
                for slot in slots.passing(&[text]) {
                    bits.get_mut(slot).into_iter().for_each(|bits| *bits |= 1 << number);
                }
            }
            let having = bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0);
            found.extend(having.map(|(slot, bits)| (id_of(slot, has_text), bits)));
        }
        found
    }

    /// The numbers of the entries that may have all of some texts.
    pub(super) fn having_all(&self, texts: &[&str]) -> Vec<Id> {
        let texts_passing = self.texts.passing(texts).into_iter().map(|slot| id_of(slot, true));
        let names_passing = self.names.passing(texts).into_iter().map(|slot| id_of(slot, false));
        texts_passing.chain(names_passing).filter(|id| self.entry(*id).is_some()).collect()
    }

    /// All entries by their numbers, in the order of those.
    pub(super) fn all(&self) -> Vec<(Id, Arc<Entry>)> {
        let of = |slots: &Slots, has_text: bool| -> Vec<(Id, Arc<Entry>)> {
            let entries = slots.entries.iter().enumerate();
            entries.filter_map(|(slot, entry)| Some((id_of(slot, has_text), Arc::clone(entry.as_ref()?)))).collect()
        };
        [of(&self.texts, true), of(&self.names, false)].concat()
    }

    /// Wanted files whose text is not searched.
    pub(super) fn not_searched(&self, wanted: &dyn Fn(&Entry) -> bool) -> usize {
        self.too_much().filter(|entry| wanted(entry)).count()
    }

    /// The files whose text is not kept or cannot be read, though it is text.
    pub(super) fn too_much(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.too_much.iter().filter_map(|path| self.entries.get(path))
    }
}
