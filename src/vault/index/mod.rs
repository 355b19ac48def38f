//! The in-memory index of the vault, checked against the disk without reading unchanged files.
//!
//! ```text
//! another program saves a file: the kernel puts its path into the queue of `Events`
//!
//! a call -> View::refresh
//!   Index::take_changes   empties the queue; where there is none, or it has overflowed, walks the
//!                         vault instead. Either way: the paths that may differ
//!   Index::update         compares the `Stamp` of each with its entry's; if they differ, reads the
//!                         file and puts a new entry into the `Table`, which counts versions
//!   View::follow          takes over what its grant covers
//!
//! this program writes a file -> Index::record_write: the new entry, without reading it again
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `events`, `no_events` | the changes that the kernel reports (inotify), where it does |
//! | `walk` | the files on the disk |
//! | `load` | a file, read and parsed |
//! | `refresh` | bringing the index up to date: by events, or by a walk |
//! | `table` | the entries, by path and by id |
//! | `view` | as much of them as a grant covers |

#[cfg_attr(not(target_os = "linux"), path = "no_events.rs")]
mod events;
mod load;
mod refresh;
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod walk;

pub(crate) use refresh::spawn;

use crate::lock::Unpoisoned;
use crate::quota::Quota;
use crate::slice::Part;
use crate::vault::entry::{Entry, Stamp};
use crate::vault::error::{Error, warn_once};
use crate::vault::index::events::Events;
use crate::vault::index::table::Table;
use crate::vault::jail::{Jail, ResolvedPath};
use crate::vault::media::{self, Kind};
use crate::vault::path::VaultPath;
use crate::{clock, limits};
use std::fs::Metadata;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

/// When the last walk of the whole vault began, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastWalk {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
}

/// The index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) jail: Jail,
    /// Device and inode of the root at the last walk.
    pub(crate) identity: Mutex<Option<(u64, u64)>>,
    pub(crate) table: RwLock<Table>,
    /// The changes that the file system reports, where it does.
    pub(crate) events: RwLock<Option<Arc<Events>>>,
    /// Held from reading the queue, or walking, until all that differs has been checked. The
    /// background walk does not need it: `update_lock` protects its entries, and it counts only
    /// once it has ended.
    pub(crate) refresh_lock: Mutex<()>,
    /// Held while a check compares a file with its entry, and while it replaces that; not while
    /// the file is read and parsed.
    pub(crate) update_lock: Mutex<()>,
    /// Numbers the checks. Of two that read a file at the same time, the one that began later has
    /// the newer state: whatever changes after it has begun leads to another check.
    pub(crate) checks: AtomicU64,
    pub(crate) last_walk: Mutex<Option<LastWalk>>,
    /// The permit for the background walk.
    pub(crate) walk_permit: Arc<Quota>,
    /// Whether the last walk found no vault; logged once when it disappears and once when it is
    /// back.
    pub(crate) is_gone: AtomicBool,
}

impl Index {
    pub(crate) fn new(jail: Jail) -> Index {
        let events =
            Events::new().inspect_err(|error| log::warn!("{CHANGES_NEED_WALKS}: {error}")).ok();
        Index {
            identity: Mutex::new(jail.identity()),
            jail,
            table: RwLock::default(),
            events: RwLock::new(events.map(Arc::new)),
            refresh_lock: Mutex::new(()),
            update_lock: Mutex::new(()),
            checks: AtomicU64::new(0),
            last_walk: Mutex::default(),
            walk_permit: Quota::one(),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Reads the table. Must be short: writers wait.
    pub(crate) fn with_table<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.table.read().unpoisoned())
    }

    fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.with_table(|table| table.entries.get(path).cloned())
    }

    pub(crate) fn events(&self) -> Option<Arc<Events>> {
        self.events.read().unpoisoned().clone()
    }

    /// Stops using events: from now on the vault is walked.
    pub(crate) fn disable_events(&self, why: &str) {
        if let Some(events) = self.events.write().unpoisoned().take() {
            log::warn!("{CHANGES_NEED_WALKS}: {why}");
            events.wake();
        }
    }

    /// Compares a file with its entry, and reads it again if its stamp differs, or with `recheck`
    /// also if an equal stamp does not prove that it is unchanged, as within one tick of the clock.
    /// Returns whether the path is that of a served folder.
    pub(crate) fn update(&self, path: &str, recheck: bool) -> bool {
        let check = self.checks.fetch_add(1, Ordering::Relaxed);
        let mut read = None;
        loop {
            let (is_folder, unread) = self.compare(path, recheck, read);
            let Some(on_disk) = unread else { return is_folder };
            read = self.load(path, &on_disk).map(|entry| Entry { check, ..entry });
            // It cannot be read now, which says nothing about it.
            if read.is_none() {
                return false;
            }
        }
    }

    /// Compares a file with its entry and replaces that by what was read. Returns whether the path
    /// is that of a served folder, and where the file is if it has to be read first.
    fn compare(
        &self,
        path: &str,
        recheck: bool,
        read: Option<Entry>,
    ) -> (bool, Option<ResolvedPath>) {
        let _lock = self.update_lock.lock().unpoisoned();
        let (on_disk, metadata) = match self.jail.look_up(&VaultPath::unchecked(path)) {
            Ok(found) => found,
            Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => {
                self.remove(path);
                return (false, None);
            }
            // The entry stays: this error says nothing about the file.
            Err(_) => return (false, None),
        };
        // A folder has replaced a known file, or the file is new and may have replaced a folder:
        // what is known below this path goes.
        let was_file = self.get(path).is_some();
        if was_file != metadata.is_file() {
            self.remove(path);
        }
        if metadata.is_dir() {
            return (true, None);
        }
        let is_unread = self.compare_file(path, &metadata, recheck, read);
        (false, is_unread.then_some(on_disk))
    }

    /// As [`Index::compare`], for a file; returns whether it has to be read first.
    fn compare_file(
        &self,
        path: &str,
        metadata: &Metadata,
        recheck: bool,
        read: Option<Entry>,
    ) -> bool {
        let known = self.get(path);
        if let Some(entry) = read {
            if known.is_none_or(|known| known.check < entry.check) {
                self.change(|table| table.insert(entry));
            }
            return false;
        }
        if known.as_ref().is_some_and(|known| {
            known.stamp == Stamp::of(metadata) && !(known.uncertain && recheck)
        }) {
            return false;
        }
        let is_full =
            known.is_none() && self.with_table(|table| table.entries.len()) >= limits::FILES;
        if is_full {
            warn_once(
                "the size of the vault",
                format!("more than {} files; the rest is not served", limits::FILES),
            );
        }
        !is_full
    }

    /// Records what this program has just written.
    pub(crate) fn record_write(&self, path: &VaultPath, on_disk: &Path, bytes: &[u8]) {
        let check = self.checks.fetch_add(1, Ordering::Relaxed);
        let kind = media::of(path.name()).0;
        let stamp = on_disk.symlink_metadata().map(|found| Stamp::of(&found)).ok();
        match stamp.filter(|stamp| stamp.size == bytes.len() as u64 && kind == Kind::Text) {
            Some(stamp) => {
                let indexed = bytes.part(..bytes.len().min(limits::INDEXED_BYTES as usize + 1));
                let uncertain = stamp.may_hide_a_change(clock::system());
                let entry = self.entry_with(path.as_str(), stamp, indexed.to_vec(), uncertain);
                self.put(Entry { check, ..entry });
            }
            // Another program has written it since, or what is text shows only in the file.
            None => drop(self.update(path.as_str(), true)),
        }
        if let Some(entry) = self.get(path.as_str()).filter(|entry| Some(entry.stamp) == stamp) {
            entry.written_by_us.store(true, Ordering::Release);
        }
    }

    /// Records that this program has just moved a file, or all files of a folder.
    pub(crate) fn record_move(&self, from: &VaultPath, to: Option<&VaultPath>) {
        let moved = self
            .with_table(|table| table.below(from, |_| true))
            .into_iter()
            .chain(self.get(from.as_str()));
        let moved: Vec<Arc<Entry>> = moved.collect();
        {
            let _lock = self.update_lock.lock().unpoisoned();
            self.remove(from.as_str());
        }
        let Some(to) = to else { return };
        for entry in moved {
            let check = self.checks.fetch_add(1, Ordering::Relaxed);
            let rest = entry.path.part(from.as_str().len()..);
            let path = format!("{}{rest}", to.as_str());
            let now = self.jail.look_up(&VaultPath::unchecked(&path));
            let stamp = now.ok().map(|(_, found)| Stamp::of(&found));
            let is_known = !entry.uncertain && media::of(&entry.path) == media::of(&path);
            match stamp.filter(|stamp| is_known && stamp.is_same_file_as(&entry.stamp)) {
                Some(stamp) => self.put(Entry { check, stamp, ..entry.at(path.as_str().into()) }),
                None => drop(self.update(&path, true)),
            }
        }
    }

    /// Puts in what a check has read, unless a later one has put in more.
    fn put(&self, entry: Entry) {
        let _lock = self.update_lock.lock().unpoisoned();
        if self.get(&entry.path).is_none_or(|known| known.check < entry.check) {
            self.change(|table| table.insert(entry));
        }
    }

    /// Changes the table, and wakes the thread that waits for changes, whose events this call may
    /// have read.
    fn change(&self, change: impl FnOnce(&mut Table)) {
        change(&mut self.table.write().unpoisoned());
        if let Some(events) = self.events() {
            events.wake();
        }
    }

    /// Removes the entries of a path and of all below it, and their watches.
    pub(crate) fn remove(&self, path: &str) {
        if let Some(events) = self.events() {
            events.forget(path);
        }
        let below = self.with_table(|table| table.below(&VaultPath::unchecked(path), |_| true));
        for gone in self.get(path).into_iter().chain(below) {
            self.change(|table| table.remove(&gone.path));
        }
    }
}

const CHANGES_NEED_WALKS: &str = "changes by other programs are found by walking the vault";
