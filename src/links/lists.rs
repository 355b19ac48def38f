//! Which notes have a tag, or a text as the value of a property.

use crate::limits;
use crate::slice::first_chars;
use crate::text::fold::fold;
use crate::vault::entry::{Entry, Id};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Bytes of the longest text that is listed: what is longer tells notes apart, and groups none.
const LISTED_TEXT_BYTES: usize = 64;

/// What the notes of a list have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Shared {
    /// A tag, as they write it.
    Tag(Box<str>),
    /// A property (its name folded) with this text. See [`is_listed`].
    Text(Box<str>, Box<str>),
    /// A property (its name folded) with any other value.
    Other(Box<str>),
}

/// The notes by what they have in common, each list by path.
#[derive(Debug, Default, Clone)]
pub(super) struct Lists(HashMap<Arc<Shared>, Vec<Id>>);

/// Notes that have a text as a property, or may have it.
#[derive(Debug, Default)]
pub struct Listed {
    /// Those that have it, by path.
    pub having: Vec<Id>,
    /// Those that have another kind of value.
    pub others: Vec<Id>,
}

/// Whether a text means itself alone. A date and a link may be written in several forms.
pub(super) fn is_listed(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LISTED_TEXT_BYTES
        && !text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && !text.contains("[[")
}

/// What a note has that others may have too.
fn shared_by(entry: &Entry) -> Vec<Shared> {
    // Of two forms of a tag in one note the last counts.
    let tags: BTreeMap<String, &str> = entry.tags.iter().map(|tag| (fold(tag), &**tag)).collect();
    let mut shared: Vec<Shared> = tags.into_values().map(|tag| Shared::Tag(tag.into())).collect();
    let properties = entry.properties().unwrap_or_default();
    let mut by_name: BTreeMap<String, Option<&str>> = BTreeMap::new();
    for (name, value) in &properties {
        let text = value.as_str().filter(|text| is_listed(text));
        // Of two names that differ in case the query decides.
        by_name.entry(fold(name)).and_modify(|text| *text = None).or_insert(text);
    }
    let properties = by_name.into_iter().map(|(name, text)| match text {
        Some(text) => Shared::Text(name.into(), text.into()),
        None => Shared::Other(name.into()),
    });
    shared.extend(properties);
    shared
}

impl Lists {
    /// Lists a note, of this number and path; gives the lists it is in.
    pub(super) fn add<'a>(
        &mut self,
        entry: &Entry,
        path_of: &dyn Fn(Id) -> &'a str,
    ) -> Box<[Arc<Shared>]> {
        if !entry.is_note() {
            return Box::default();
        }
        let lists = shared_by(entry).into_iter().map(|shared| {
            let shared = match self.0.get_key_value(&shared) {
                Some((known, _)) => Arc::clone(known),
                None => Arc::new(shared),
            };
            let notes = self.0.entry(Arc::clone(&shared)).or_default();
            // Mostly at the end: they are first read by path.
            let is_last = notes.last().is_none_or(|last| path_of(*last) < &*entry.path);
            let at = match is_last {
                true => notes.len(),
                false => notes.partition_point(|id| path_of(*id) < &*entry.path),
            };
            notes.insert(at, entry.id);
            shared
        });
        lists.collect()
    }

    /// Takes notes out of lists.
    pub(super) fn remove(&mut self, ids: &HashSet<Id>, lists: &HashSet<Arc<Shared>>) {
        for shared in lists {
            let Some(notes) = self.0.get_mut(shared) else { continue };
            notes.retain(|own| !ids.contains(own));
            if notes.is_empty() {
                self.0.remove(shared);
            }
        }
    }

    /// How many notes have each tag. Tags are compared without case, and shown as they are written
    /// most often.
    pub(super) fn tags(&self) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<String, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
        for (shared, notes) in &self.0 {
            if let Shared::Tag(tag) = &**shared {
                let (count, written) = counts.entry(fold(tag)).or_default();
                *count += notes.len();
                written.insert(tag, notes.len());
            }
        }
        let shown = |(count, written): (usize, BTreeMap<&str, usize>)| {
            let most = written.into_iter().max_by_key(|(_, count)| *count);
            most.map(|(tag, _)| (first_chars(tag, limits::QUERY_CELL_CHARS).to_owned(), count))
        };
        counts.into_values().filter_map(shown).collect()
    }

    /// The notes with a text, for which [`is_listed`] holds, as a property.
    pub(super) fn with_text(&self, property: &str, text: &str) -> Listed {
        let property = fold(property);
        let get = |shared: &Shared| self.0.get(shared).cloned().unwrap_or_default();
        Listed {
            having: get(&Shared::Text(property.as_str().into(), text.into())),
            others: get(&Shared::Other(property.into())),
        }
    }
}
