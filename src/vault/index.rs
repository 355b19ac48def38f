//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! Where the file system reports changes ([`Events`]), the paths that it names are looked at before each call; elsewhere the
//! vault is walked when [`RefreshPolicy`] says so. A walk only finds the paths that differ, so there is one function that brings
//! an entry up to date, [`Index::look`]: it compares the file's [`Stamp`] with the one it was read at.

use super::entry::{Entry, Stamp};
use super::error::Error;
use super::events::Events;
use super::jail::{Jail, ResolvedPath};
use super::lexicon::Lexicon;
use super::path::{VaultPath, range_below, text_of};
use super::refresh_policy::RefreshPolicy;
use super::table::Table;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::Quota;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

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

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) jail: Jail,
    /// Which folder the root was at the last walk: device and inode.
    pub(super) identity: Mutex<Option<(u64, u64)>>,
    pub(super) memory: Memory,
    pub(super) table: RwLock<Table>,
    /// Files that differed at the last walk.
    pub(super) differing: AtomicUsize,
    /// The changes that the file system reports, where it does.
    pub(super) events: RwLock<Option<Arc<Events>>>,
    /// Links lead to files whose changes are reported under other names.
    pub(super) has_links: AtomicBool,
    /// Held from reading the queue, or walking, until all that differs was looked at.
    pub(super) refreshing: Mutex<()>,
    /// Held while one file is looked at, so that an older state never replaces a newer one.
    pub(super) looking: Mutex<()>,
    pub(super) refresh_policy: RefreshPolicy,
    /// For a walk in the background.
    pub(super) walking: Arc<Quota>,
    /// The warnings so far, so that a log has one line for each trouble and not one for each walk.
    warnings: Mutex<BTreeSet<String>>,
    /// The newest index of words.
    pub(super) words: Mutex<Option<Arc<Lexicon>>>,
    /// For making one.
    pub(super) making_words: Arc<Quota>,
    /// Whether the last walk found no vault; said once when it goes and once when it is back.
    pub(super) gone: AtomicBool,
}

impl Index {
    pub(super) fn new(jail: Jail, memory: Memory) -> Index {
        let events = Events::new().inspect_err(|error| log::warn!("{WALKS}: {error}")).ok();
        Index {
            identity: Mutex::new(jail.identity()),
            jail,
            memory,
            table: RwLock::default(),
            differing: AtomicUsize::new(0),
            events: RwLock::new(events.map(Arc::new)),
            has_links: AtomicBool::new(false),
            refreshing: Mutex::new(()),
            looking: Mutex::new(()),
            refresh_policy: RefreshPolicy::default(),
            walking: Quota::one(),
            warnings: Mutex::default(),
            words: Mutex::default(),
            making_words: Quota::one(),
            gone: AtomicBool::new(false),
        }
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
        self.read(|entries| range_below(entries, folder.as_str()).map(|(_, entry)| entry).filter(|entry| wanted(entry)).cloned().collect())
    }

    pub(super) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.read(|entries| entries.get(path).cloned())
    }

    pub(super) fn version(&self, path: &VaultPath) -> Version {
        self.read(|entries| {
            let inside = range_below(entries, path.as_str());
            let of = |version: Version, entry: &Arc<Entry>| Version { files: version.files + 1, newest: version.newest.max(entry.version) };
            entries.get(path.as_str()).into_iter().chain(inside.map(|(_, entry)| entry)).fold(Version::default(), of)
        })
    }

    pub(super) fn events(&self) -> Option<Arc<Events>> {
        self.events.read().unpoisoned().clone()
    }

    /// Ends the use of events: from now on the vault is walked.
    pub(super) fn end_events(&self, why: &str) {
        if let Some(events) = self.events.write().unpoisoned().take() {
            log::warn!("{WALKS}: {why}");
            events.wake();
        }
    }

    /// Does work in a thread of its own, unless it is being done already; false if no thread could be started.
    pub(super) fn spawn(self: &Arc<Self>, name: &str, quota: &Arc<Quota>, work: impl FnOnce(&Index) + Send + 'static) -> bool {
        let Some(permit) = quota.take("", Duration::ZERO) else { return true };
        let index = Arc::clone(self);
        let run = move || {
            let _permit = permit;
            work(&index);
        };
        std::thread::Builder::new().name(name.into()).spawn(run).is_ok()
    }

    /// Compares a file with its entry, and reads it again if it is another, or if it was written to and its stamp does not prove
    /// that it stayed the same. Whether the path leads to a folder that is served.
    pub(super) fn look(&self, path: &str, was_written: bool) -> bool {
        let _lock = self.looking.lock().unpoisoned();
        let found = self.jail.existing(&VaultPath::known(path)).and_then(|on_disk| {
            let metadata = on_disk.metadata().map_err(Error::disk("read the metadata of", path))?;
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
        // A folder may have replaced a file, or a file a folder.
        if self.get(path).is_some() == metadata.is_dir() {
            self.remove(path);
        }
        if metadata.is_file() {
            self.update_file(path, &on_disk, &metadata, was_written);
        }
        metadata.is_dir()
    }

    fn update_file(&self, path: &str, on_disk: &ResolvedPath, metadata: &Metadata, was_written: bool) {
        let known = self.get(path);
        if known.as_ref().is_some_and(|known| known.stamp == Stamp::of(metadata) && !(known.uncertain && was_written)) {
            return;
        }
        if known.is_none() && self.read(BTreeMap::len) >= limits::FILES {
            return self.warn_once(format!("more than {} files; the rest is not served", limits::FILES));
        }
        if let Some(entry) = self.load(path, on_disk, known.as_deref()) {
            self.change(|table| table.insert(entry));
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
    pub(super) fn record_write(&self, path: &VaultPath) {
        self.look(path.as_str(), true);
        if let Some(entry) = self.get(path.as_str()) {
            entry.is_ours.store(true, Ordering::Release);
        }
    }

    /// Changes the table, and wakes who waits for a change: a client may have subscribed while its thread has not begun to wait.
    fn change(&self, change: impl FnOnce(&mut Table)) {
        change(&mut self.table.write().unpoisoned());
        self.events().into_iter().for_each(|events| events.wake());
    }

    /// Removes the entries of a path and of all below it, and their watches.
    fn remove(&self, path: &str) {
        if let Some(events) = self.events() {
            events.forget(path);
        }
        let below = self.below(&VaultPath::known(path), |_| true);
        for gone in self.get(path).into_iter().chain(below) {
            self.change(|table| table.remove(&gone.path));
        }
    }

    /// Whether another program is writing a file in place, which has the name of `at` at the moment, as far as events say; `None`
    /// where there are none.
    pub(super) fn is_being_written(&self, on_disk: &ResolvedPath, at: &Path) -> Option<bool> {
        let events = self.events()?;
        let path = at.file_name().map(|name| on_disk.below().with_file_name(name));
        Some(path.as_deref().and_then(text_of).is_some_and(|path| events.is_being_written(&path)))
    }

    /// Logs a warning, once.
    pub(super) fn warn_once(&self, warning: String) {
        let mut warnings = self.warnings.lock().unpoisoned();
        if warnings.len() < limits::WARNINGS && !warnings.contains(&warning) {
            log::warn!("{warning}");
            warnings.insert(warning);
        }
    }
}

const WALKS: &str = "changes by other programs are found by walking the vault";
