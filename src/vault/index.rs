//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! Where the file system reports changes ([`Events`]), the paths that it names are looked at before each call; elsewhere the
//! vault is walked when [`RefreshPolicy`] says so. A walk only finds the paths that differ, so there is one function that brings
//! an entry up to date, [`Index::look`]: it compares the file's [`Stamp`] with the one it was read at.

use super::entry::{Entry, Stamp};
use super::error::Error;
use super::events::{Events, Wake};
use super::filling::FirstLook;
use super::jail::{Jail, ResolvedPath};
use super::lexicon;
use super::path::{VaultPath, text_of};
use super::refresh_policy::RefreshPolicy;
use super::table::Table;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

/// The state of a file, or of a folder with all that is below it, as far as the index knows; to be compared only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version {
    files: usize,
    newest: u64,
}

/// How much of the vault is kept in memory for search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// All texts: a search reads nothing.
    #[default]
    Full,
    /// Which words the texts have, not the texts: a search reads the files whose lines it shows.
    Small,
}

/// Clears a flag, however the work ends for which it is set.
struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) jail: Jail,
    /// Which folder the root was at the last walk: device and inode.
    pub(super) identity: Mutex<Option<(u64, u64)>>,
    pub(super) memory: Memory,
    pub(super) table: RwLock<Table>,
    pub(super) first_look: FirstLook,
    pub(super) kept_bytes: AtomicU64,
    pub(super) changes: AtomicU64,
    /// Walks so far.
    pub(super) walks: AtomicU32,
    pub(super) listing_generation: AtomicU64,
    /// The changes that the file system reports, where it does.
    pub(super) events: RwLock<Option<Arc<Events>>>,
    /// Links lead to files whose changes are reported under other names.
    pub(super) has_links: AtomicBool,
    /// Held from reading the queue, or walking, until all that differs was looked at.
    pub(super) refreshing: Mutex<()>,
    /// Held while one file is looked at, so that an older state never takes the place of a newer one.
    pub(super) looking: Mutex<()>,
    pub(super) refresh_policy: RefreshPolicy,
    pub(super) is_walking_beside: AtomicBool,
    /// What was complained about, so that a log has one line for each trouble and not one for each walk.
    pub(super) complaints: Mutex<BTreeSet<String>>,
    pub(super) words: lexicon::Newest,
    /// Whether the last walk found no vault; said once when it goes and once when it is back.
    pub(super) gone: AtomicBool,
    /// Wakes [`Index::wait_for_change`] for a change that a call has found, or made.
    pub(super) wake: Wake,
}

impl Index {
    /// # Errors
    /// When the process cannot open any more files.
    pub(super) fn new(jail: Jail, memory: Memory) -> io::Result<Index> {
        let events = Events::new().inspect_err(|error| walks_instead(&error.to_string())).ok();
        Ok(Index {
            identity: Mutex::new(jail.identity()),
            jail,
            memory,
            table: RwLock::default(),
            first_look: FirstLook::default(),
            kept_bytes: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            walks: AtomicU32::new(0),
            listing_generation: AtomicU64::new(0),
            events: RwLock::new(events.map(Arc::new)),
            has_links: AtomicBool::new(false),
            refreshing: Mutex::new(()),
            looking: Mutex::new(()),
            refresh_policy: RefreshPolicy::default(),
            is_walking_beside: AtomicBool::new(false),
            complaints: Mutex::default(),
            words: lexicon::Newest::default(),
            gone: AtomicBool::new(false),
            wake: Wake::new()?,
        })
    }

    /// Looks at the entries. Short: writers wait.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<Arc<str>, Arc<Entry>>) -> T) -> T {
        look(&self.table.read().unpoisoned().entries)
    }

    /// Looks at the table of the entries. Short: writers wait.
    pub(super) fn with_table<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.table.read().unpoisoned())
    }

    /// The entries below a folder that are wanted, in order.
    pub(super) fn below(&self, folder: &VaultPath, wanted: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let first = format!("{}/", folder.as_str());
        let start = if folder.is_root() { Bound::Unbounded } else { Bound::Included(first.as_str()) };
        self.read(|entries| {
            let inside = entries.range::<str, _>((start, Bound::Unbounded)).take_while(|(path, _)| folder.contains(path));
            inside.map(|(_, entry)| entry).filter(|entry| wanted(entry)).cloned().collect()
        })
    }

    pub(super) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.read(|entries| entries.get(path).cloned())
    }

    /// A number that grows with every change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn version(&self, path: &VaultPath) -> Version {
        self.read(|entries| {
            let below = format!("{}/", path.as_str());
            let start = if path.is_root() { Bound::Unbounded } else { Bound::Included(below.as_str()) };
            let inside = entries.range::<str, _>((start, Bound::Unbounded)).take_while(|(found, _)| path.contains(found));
            let of = |version: Version, entry: &Arc<Entry>| Version { files: version.files + 1, newest: version.newest.max(entry.version) };
            entries.get(path.as_str()).into_iter().chain(inside.map(|(_, entry)| entry)).fold(Version::default(), of)
        })
    }

    pub(super) fn listing_generation(&self) -> u64 {
        self.listing_generation.load(Ordering::Acquire)
    }

    pub(super) fn events(&self) -> Option<Arc<Events>> {
        self.events.read().unpoisoned().clone()
    }

    pub(super) fn note_change(&self) -> u64 {
        let number = self.changes.fetch_add(1, Ordering::AcqRel) + 1;
        // Always: a client may have subscribed while the thread that sends notifications has not begun to wait.
        self.wake.wake();
        number
    }

    /// Does work in a thread of its own, unless it is being done already; false if no thread could be started.
    pub(super) fn beside(
        self: &Arc<Self>,
        name: &str,
        is_running: fn(&Index) -> &AtomicBool,
        work: impl FnOnce(&Arc<Index>) + Send + 'static,
    ) -> bool {
        if is_running(self).swap(true, Ordering::AcqRel) {
            return true;
        }
        let index = Arc::clone(self);
        let run = move || {
            let _running = Running(is_running(&index));
            work(&index);
        };
        let is_started = std::thread::Builder::new().name(name.into()).spawn(run).is_ok();
        if !is_started {
            is_running(self).store(false, Ordering::Release);
        }
        is_started
    }

    /// Compares a file with its entry, and reads it again if it is another, or if it was written to and its stamp does not prove
    /// that it stayed the same. Whether the path leads to a folder that is served.
    pub(super) fn look(&self, path: &str, was_written: bool) -> bool {
        let _lock = self.looking.lock().unpoisoned();
        let found = self.jail.existing(&VaultPath::known(path)).and_then(|on_disk| {
            let metadata = on_disk.metadata().map_err(Error::disk("look at", path))?;
            Ok((on_disk, metadata))
        });
        let (on_disk, metadata) = match found {
            Ok((on_disk, metadata)) if metadata.is_dir() || metadata.is_file() => (on_disk, metadata),
            Ok(_) | Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => {
                let is_link = self.jail.root().join(path).is_symlink();
                self.has_links.fetch_or(is_link, Ordering::AcqRel);
                self.remove(path);
                return false;
            }
            // What was known of it still holds.
            Err(_) => return false,
        };
        self.has_links.fetch_or(on_disk.below() != Path::new(path), Ordering::AcqRel);
        // A folder may be in the place of a file, and a file in that of a folder.
        if self.get(path).is_some() == metadata.is_dir() {
            self.remove(path);
        }
        if metadata.is_file() {
            self.look_at_file(path, &on_disk, &metadata, was_written);
        }
        metadata.is_dir()
    }

    fn look_at_file(&self, path: &str, on_disk: &ResolvedPath, metadata: &Metadata, was_written: bool) {
        let known = self.get(path);
        if known.as_ref().is_some_and(|known| known.stamp == Stamp::of(metadata) && !(known.uncertain && was_written)) {
            return;
        }
        if known.is_none() && self.read(BTreeMap::len) >= limits::FILES {
            if self.is_new_complaint("/".into()) {
                log::warn!("more than {} files; the rest is not served", limits::FILES);
            }
            return;
        }
        if let Some(entry) = self.load(path, on_disk, known.as_deref()) {
            self.put(entry);
        }
    }

    /// The entry of a file that has this stamp now; read again if that is not the one it was read at.
    pub(super) fn look_at(&self, path: &VaultPath, stamp: Stamp) -> Option<Arc<Entry>> {
        let known = self.get(path.as_str()).filter(|entry| entry.stamp == stamp && !entry.uncertain);
        known.or_else(|| {
            self.look(path.as_str(), true);
            self.get(path.as_str())
        })
    }

    /// Takes note of a file that this program just wrote.
    pub(super) fn note_written(&self, path: &VaultPath) {
        self.look(path.as_str(), true);
        if let Some(entry) = self.get(path.as_str()) {
            entry.is_ours.store(true, Ordering::Release);
        }
    }

    /// Takes note of a file that this program just removed.
    pub(super) fn note_removed(&self, path: &VaultPath) {
        self.look(path.as_str(), true);
    }

    fn put(&self, mut entry: Entry) {
        let mut table = self.table.write().unpoisoned();
        let known = table.entries.get(&entry.path);
        let is_new = known.is_none();
        let same = known.filter(|known| known.stamp == entry.stamp && known.text.is_same(&entry.text));
        // Read again because its stamp proves nothing yet, it is still what we wrote.
        entry.is_ours = AtomicBool::new(same.is_some_and(|known| known.is_ours()));
        let old_version = same.map(|known| known.version);
        entry.change = self.note_change();
        entry.version = old_version.unwrap_or(entry.change);
        let before = table.insert(entry);
        self.forget(before.as_deref());
        if is_new {
            self.listing_generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Removes the entries of a path and of all below it, and their watches.
    fn remove(&self, path: &str) {
        if let Some(events) = self.events() {
            events.forget(path);
        }
        let below = self.below(&VaultPath::known(path), |_| true);
        let gone = self.get(path).into_iter().chain(below);
        for entry in gone {
            let removed = self.table.write().unpoisoned().remove(&entry.path);
            self.forget(removed.as_deref());
            self.note_change();
            self.listing_generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn forget(&self, entry: Option<&Entry>) {
        if let Some(entry) = entry {
            self.kept_bytes.fetch_sub(entry.text.kept_bytes(), Ordering::AcqRel);
        }
    }

    /// Whether another program is writing a file in place, which has the name of `at` at the moment, as far as events say; `None`
    /// where there are none.
    pub(super) fn is_being_written(&self, on_disk: &ResolvedPath, at: &Path) -> Option<bool> {
        let events = self.events()?;
        let path = at.file_name().map(|name| on_disk.below().with_file_name(name));
        Some(path.as_deref().and_then(text_of).is_some_and(|path| events.is_being_written(&path)))
    }

    pub(super) fn is_new_complaint(&self, about: String) -> bool {
        let mut complaints = self.complaints.lock().unpoisoned();
        complaints.len() < limits::COMPLAINTS && complaints.insert(about)
    }
}

pub(super) fn walks_instead(why: &str) {
    log::warn!("changes by other programs are found by walking the vault: {why}");
}
