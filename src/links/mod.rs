//! Links between notes: what each resolves to, and changes that keep them right.
//!
//! | file | holds |
//! |---|---|
//! | [`index`], `lists` | the links of all files, and what each leads to; notes by tag and property |
//! | [`list`] | links of a note or of the vault, and what is not linked |
//! | [`plan`] | a change of several files: planned, shown, made as one |
//! | `move_file` | moving and renaming files and folders |
//! | `heading` | renaming headings |
//! | [`tag`] | renaming tags |
//! | [`delete`] | moving files to the trash |
//! | `mentions` | where bases and queries name what is renamed |

use crate::clock::Deadline;
use crate::limits;
use crate::links::index::{LinkIndex, ReadLink};
use crate::lock::Unpoisoned;
use crate::markdown::links::{Link, links_of};
use crate::quota::{Bounds, Quota};
use crate::search::Search;
use crate::slice::Part;
use crate::vault::entry::{Entry, Id, Text};
use crate::vault::error::warn_once;
use crate::vault::parallel::map_parallel;
use crate::vault::{Error, Vault};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub mod delete;
mod heading;
pub mod index;
pub mod list;
mod lists;
mod mentions;
mod move_file;
pub mod plan;
pub mod tag;

/// How long a call waits for the links of all notes to be read. What was read by then stays, so the
/// next call gets on.
const LINK_INDEX_WAIT: Duration = Duration::from_secs(20);
/// See [`limits::LINK_INDEX_BATCH`].
const LINK_INDEX_BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// The links of the vault, or of the part of it that a grant covers.
#[derive(Debug)]
pub struct Links {
    search: Search,
    index: Mutex<Arc<LinkIndex>>,
    /// The permit for reading the links of notes, also those of other parts: a note of many lines
    /// takes much memory while it is read.
    permit: Arc<Quota>,
}

impl Links {
    /// Nothing is read yet.
    pub fn new(search: Search) -> Links {
        let permit = Quota::new(Bounds { total: 1, per_owner: 1, waiting: usize::MAX });
        Links { search, index: Mutex::default(), permit }
    }

    /// The links in a part of the vault.
    pub fn within(&self, search: Search) -> Links {
        Links { search, index: Mutex::default(), permit: Arc::clone(&self.permit) }
    }

    fn vault(&self) -> &Vault {
        &self.search.vault
    }

    /// The link index, brought up to date with the file index. A call that still reads an older one
    /// keeps that.
    ///
    /// One call builds it; others wait for that one. No lock is held while notes are read, and what
    /// was read stays when the call ends early.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`]; [`Error::Overloaded`] when it took longer than
    /// `LINK_INDEX_WAIT`.
    pub fn index(&self, proceed: &dyn Fn(usize, usize) -> bool) -> Result<Arc<LinkIndex>, Error> {
        self.vault().refresh()?;
        let deadline = Deadline::after(LINK_INDEX_WAIT);
        let mut building = None;
        loop {
            if let Some(index) = self.complete_links() {
                return Ok(index);
            }
            if deadline.left().is_none() {
                return Err(Error::Overloaded);
            }
            building = building.or_else(|| self.permit.take("", limits::HANG_UP_EVERY));
            if building.is_some() {
                self.read_some_links(proceed)?;
            } else if !proceed(0, 0) {
                return Err(Error::Cancelled);
            }
        }
    }

    /// The link index, if it has the links of all files that are known now. An incomplete one is
    /// not handed out: whoever holds it makes the next change copy it.
    fn complete_links(&self) -> Option<Arc<LinkIndex>> {
        let mut index = self.index.lock().unpoisoned();
        let (version, stale) =
            self.vault().view.with_table(|table| (table.version, index.stale(table)));
        if !stale.is_empty() {
            return None;
        }
        if index.version != Some(version) {
            let index = Arc::make_mut(&mut index);
            index.resolve_changed();
            index.version = Some(version);
        }
        Some(Arc::clone(&index))
    }

    /// Reads the links of some of the files that have changed since they were read.
    fn read_some_links(&self, proceed: &dyn Fn(usize, usize) -> bool) -> Result<(), Error> {
        let stale = {
            let index = self.index.lock().unpoisoned();
            self.vault().view.with_table(|table| index.stale(table))
        };
        let mut bytes = 0;
        let within = |entry: &&Arc<Entry>| {
            let is_within = bytes < LINK_INDEX_BATCH_BYTES;
            bytes += entry.search_cost();
            is_within
        };
        let fresh: Vec<Arc<Entry>> =
            stale.fresh.iter().take(limits::LINK_INDEX_BATCH).take_while(within).cloned().collect();
        let total = stale.fresh.len();
        let look = |entry: &Arc<Entry>| {
            // Parsed here, where nothing is locked.
            entry.properties_json();
            let (text, mut links) = self.links_in(entry);
            // One may contain another: in order of their beginnings each line is counted once.
            links.sort_by_key(|link| link.range.start);
            let (mut line, mut line_start) = (0, 0);
            let read = |link: Link| {
                let from = line_start;
                let passed = text.part(from..link.range.start).as_bytes();
                for end in memchr::memchr_iter(b'\n', passed) {
                    (line, line_start) = (line + 1, from + end + 1);
                }
                ReadLink::of(entry, link, line, line_start)
            };
            links.into_iter().map(read).collect::<Vec<_>>()
        };
        let found = map_parallel(&fresh, &|entry| entry.search_cost(), &look, &|done, _| {
            proceed(done, total)
        })?;
        let mut index = self.index.lock().unpoisoned();
        let changed = Arc::make_mut(&mut index);
        // All before the first is added: a file that came back has another id, and its old id may
        // be that of another file.
        let is_other = |entry: &&Arc<Entry>| {
            changed.known(entry.id).is_some_and(|known| known.path != entry.path)
        };
        let others = stale.fresh.iter().filter(is_other).chain(&fresh).map(|entry| entry.id);
        let forgotten: HashSet<Id> = stale.gone.iter().copied().chain(others).collect();
        changed.forget(&forgotten);
        fresh.iter().zip(found).for_each(|(entry, links)| changed.add(entry, links));
        Ok(())
    }

    /// The text of a note or canvas, and its links; both empty for other files, and if it cannot be
    /// read.
    pub fn links_in(&self, entry: &Entry) -> (String, Vec<Link>) {
        let has_links = entry.is_note() || entry.path.to_ascii_lowercase().ends_with(".canvas");
        if !has_links || matches!(entry.text, Text::None) {
            return (String::new(), Vec::new());
        }
        let text = self.vault().text(entry).unwrap_or_default();
        let links = links_of(entry.name(), &text);
        if links.len() >= limits::LINKS {
            let path = &entry.path;
            warn_once(
                "links",
                format!(
                    "{path:?} has more than {} links: the rest is not read, nor changed when a \
                     note is moved",
                    limits::LINKS
                ),
            );
        }
        (text, links)
    }
}
