//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! Where the file system reports changes ([`Events`]), the paths that it names are looked at before each call; elsewhere the
//! vault is walked when [`RefreshPolicy`] says so. A walk only finds the paths that differ, so there is one function that brings
//! an entry up to date, [`Index::look`]: it compares the file's [`Stamp`] with the one it was read at.

use super::entry::{Entry, Stamp};
use super::error::Error;
use super::events::{Events, Wake};
use super::filling::{Filling, FirstLook, IndexProgress};
use super::jail::{Jail, Place};
use super::lexicon;
use super::path::{VaultPath, text_of};
use super::refresh_policy::{Due, RefreshPolicy};
use super::table::Table;
use super::walk::{Found, Walk};
use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::text::filter::{Rows, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

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
    /// Which words a text may have: a search reads the files that may be found.
    Small,
}

impl Memory {
    /// The bits of a file in the filter.
    pub(super) fn rows(self) -> Rows {
        match self {
            Memory::Full => Rows::Many,
            Memory::Small => Rows::Few,
        }
    }
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
    place: Mutex<Option<(u64, u64)>>,
    pub(super) memory: Memory,
    table: RwLock<Table>,
    first_look: FirstLook,
    pub(super) kept_bytes: AtomicU64,
    changes: AtomicU64,
    /// Walks so far.
    walks: AtomicU32,
    listing_generation: AtomicU64,
    /// The changes that the file system reports, where it does.
    events: RwLock<Option<Arc<Events>>>,
    /// Links lead to files whose changes are reported under other names.
    has_links: AtomicBool,
    /// Held from reading the queue, or walking, until all that differs was looked at.
    refreshing: Mutex<()>,
    /// Held while one file is looked at, so that an older state never takes the place of a newer one.
    looking: Mutex<()>,
    refresh_policy: RefreshPolicy,
    is_walking_beside: AtomicBool,
    /// What was complained about, so that a log has one line for each trouble and not one for each walk.
    complaints: Mutex<BTreeSet<String>>,
    pub(super) words: lexicon::Newest,
    /// Whether the last walk found no vault; said once when it goes and once when it is back.
    gone: AtomicBool,
    /// Wakes [`Index::wait_for_change`] for a change that a call has found, or made.
    wake: Wake,
}

impl Index {
    /// # Errors
    /// When the process cannot open any more files.
    pub(super) fn new(jail: Jail, memory: Memory) -> io::Result<Index> {
        let events = Events::new().inspect_err(|error| walks_instead(&error.to_string())).ok();
        Ok(Index {
            place: Mutex::new(jail.identity()),
            jail,
            memory,
            table: RwLock::new(Table::new(memory.rows())),
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

    /// Whether all texts are in memory, and have been read.
    pub(super) fn keeps_texts(&self) -> bool {
        self.memory == Memory::Full && !self.first_look.is_under_way()
    }

    /// Brings the index up to date as [`Index::refresh`] does, but waits only a while for the very first look, and goes on
    /// with what is there by then; how far that is.
    pub(super) fn refresh_or_go_on(self: &Arc<Self>) -> Result<Option<Filling>, Error> {
        match self.first_look.wait() {
            Some(filling) => Ok(Some(filling)),
            None => self.refresh().map(|()| None),
        }
    }

    /// Refuses what would change a vault that is not there: where its file system has gone, what is written goes into the
    /// place that it was mounted at, and is hidden when it is back.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(super) fn refuse_if_away(&self) -> Result<(), Error> {
        let known = *self.place.lock().unpoisoned();
        let moved = self.jail.identity() != known && self.read(|entries| !entries.is_empty());
        // Another folder may be the vault now; whoever looks knows.
        if moved { self.refresh_now() } else { Ok(()) }
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

    fn events(&self) -> Option<Arc<Events>> {
        self.events.read().unpoisoned().clone()
    }

    /// Brings the index up to date by rule 6 of the vault.
    pub(super) fn refresh(self: &Arc<Self>) -> Result<(), Error> {
        let now = clock::instant();
        let walk_beside = || {
            // What goes wrong is in the log, and fails the next call.
            self.beside("walk", |index| &index.is_walking_beside, move |index| drop(index.walk_beside(now)))
        };
        if self.events().is_some() {
            self.take_changes(now)?;
            let last_began = self.refresh_policy.last_began();
            if last_began.is_some_and(|began| now.saturating_duration_since(began) > limits::FULL_WALK_EVERY) {
                walk_beside();
            }
            return Ok(());
        }
        // While it is away every call fails, and looks whether it is back.
        if self.gone.load(Ordering::Acquire) {
            return self.take_changes(now);
        }
        match self.refresh_policy.call(now) {
            Due::Nothing => Ok(()),
            Due::Beside if walk_beside() => Ok(()),
            Due::InFront | Due::Beside => self.take_changes(now),
        }
    }

    /// The same, by a walk where the file system does not report changes, whether one is due or not.
    pub(super) fn refresh_now(&self) -> Result<(), Error> {
        self.take_changes(clock::instant())
    }

    /// Looks at all that has changed before `asked`.
    fn take_changes(&self, asked: Instant) -> Result<(), Error> {
        let _turn = self.refreshing.lock().unpoisoned();
        let last_began = self.refresh_policy.last_began();
        let Some(events) = self.events().filter(|_| last_began.is_some()) else {
            // A walk that began later has seen everything.
            let is_newer = last_began.is_some_and(|began| began >= asked) && !self.gone.load(Ordering::Acquire);
            return if is_newer { Ok(()) } else { self.walk() };
        };
        let changed = events.take();
        let is_known = self.jail.identity() == *self.place.lock().unpoisoned();
        let incomplete = changed.incomplete.or_else(|| (!is_known).then_some("another folder is at the vault's path"));
        let is_gone = self.gone.load(Ordering::Acquire);
        if let Some(why) = incomplete.filter(|_| !is_gone) {
            log::info!("{why}: the vault is walked");
        }
        let has_linked_changes = self.has_links.load(Ordering::Acquire) && !changed.paths.is_empty();
        if incomplete.is_some() || has_linked_changes || is_gone {
            return self.walk();
        }
        self.look_at_all(changed.paths, None)
    }

    /// Walks without making calls wait, but for those that come while what differs is looked at.
    fn walk_beside(&self, asked: Instant) -> Result<(), Error> {
        if self.events().is_none() {
            return self.take_changes(asked);
        }
        let began = clock::instant();
        let differing = self.find_differing("", false)?;
        self.refresh_policy.walked(began, began.elapsed());
        let _turn = self.refreshing.lock().unpoisoned();
        self.look_at_all(differing, None)
    }

    /// Waits until something has changed, or a walk may find that; the index is as up to date then as a call needs it.
    pub(super) fn wait_for_change(self: &Arc<Self>) -> Result<(), Error> {
        let events = self.events();
        let needs_walks = events.is_none() || self.gone.load(Ordering::Acquire);
        self.wake.wait(events.as_deref(), needs_walks.then_some(limits::WATCH_EVERY));
        // Several changes are one notification.
        std::thread::sleep(limits::WATCH_GATHERS);
        self.wake.reset();
        self.refresh()
    }

    fn note_change(&self) -> u64 {
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

    /// Whether what was found in the vault's place is another folder than before, and no vault but what lies below one whose
    /// file system has gone: an empty folder, or one on another device with whatever was left there. `known` of the files are
    /// those of the index.
    fn is_another(&self, found: &Found, known: usize, place: Option<(u64, u64)>) -> bool {
        let before = *self.place.lock().unpoisoned();
        if before == place {
            return false;
        }
        let same_device = before.map(|(device, _)| device) == place.map(|(device, _)| device);
        let indexed = self.read(BTreeMap::len);
        if same_device { !found.any && indexed > 0 } else { known * 2 < indexed }
    }

    /// Walks the vault, and looks at what differs.
    fn walk(&self) -> Result<(), Error> {
        let began = clock::instant();
        let is_first = self.refresh_policy.last_began().is_none();
        let progress = self.first_look.begin(is_first);
        let differing = self.find_differing("", is_first)?;
        // Reading what has changed is not counted: looking is what the next walk will cost.
        let took = began.elapsed();
        self.look_at_all(differing, Some(&progress))?;
        progress.finish();
        self.refresh_policy.walked(began, took);
        Ok(())
    }

    /// The paths below a folder where the disk and the index differ, for [`Index::look_at_all`]; for the empty path those of the
    /// whole vault.
    fn find_differing(&self, below: &str, clean: bool) -> Result<Vec<(String, bool)>, Error> {
        let place = self.jail.identity();
        let number = self.walks.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        let (mut known, mut differing) = (0, Vec::new());
        let mut see = |path: &str, stamp: Stamp| {
            let is_same = self.read(|entries| {
                let Some(entry) = entries.get(path) else { return false };
                // A folder that is changed while it is listed may name a file twice.
                known += usize::from(entry.seen.swap(number, Ordering::Relaxed) != number);
                entry.stamp == stamp && !entry.uncertain
            });
            // One more than can be served, so that it is seen that there are more.
            if !is_same && differing.len() <= limits::FILES {
                differing.push((path.to_owned(), true));
            }
        };
        let found = Walk { jail: &self.jail, events: self.events().as_deref(), clean, see: &mut see }.below(below).and_then(|found| {
            // A mount point whose file system has gone is an empty folder, and another one than before. One that goes in the
            // middle of a walk is another one at its end.
            let is_another = below.is_empty() && self.is_another(&found, known, place);
            if is_another || self.jail.identity() != place { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
        });
        let found = found.map_err(|error| {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!("the vault cannot be read: {error}; nothing is served or written until it is back (if another one was put in its place: restart)");
            }
            Error::Unavailable
        })?;
        if below.is_empty() {
            *self.place.lock().unpoisoned() = place;
            self.has_links.store(found.has_links, Ordering::Release);
            if self.gone.swap(false, Ordering::AcqRel) {
                log::info!("the vault can be read again");
            }
        } else if found.has_links {
            self.has_links.store(true, Ordering::Release);
        }
        if let Some(why) = &found.unwatched
            && self.events.write().unpoisoned().take().is_some()
        {
            walks_instead(why);
            self.note_change();
        }
        for (folder, why) in &found.unreadable {
            if self.is_new_complaint(format!("{folder}/")) {
                log::warn!("{folder:?} cannot be looked at: {why}");
            }
        }
        for (folder, what) in &found.unserved {
            if self.is_new_complaint(format!("{folder}/{what}")) {
                log::warn!("{folder:?} has {what}; that is not served");
            }
        }
        if !below.is_empty() || known != self.read(BTreeMap::len) {
            let unseen = self.below(&VaultPath::known(below), |entry| entry.seen.load(Ordering::Relaxed) != number);
            differing.extend(unseen.iter().map(|entry| (entry.path.to_string(), true)));
        }
        Ok(differing)
    }

    /// Looks at files, as [`Index::look`] does, and at all files of folders.
    fn look_at_all(
        &self,
        paths: impl IntoIterator<Item = (String, bool), IntoIter: ExactSizeIterator>,
        progress: Option<&IndexProgress<'_>>,
    ) -> Result<(), Error> {
        let paths = paths.into_iter();
        let total = paths.len();
        let mut folders = Vec::new();
        for (number, (path, was_written)) in paths.enumerate() {
            if let (Some(progress), true) = (progress, number % limits::FILL_BLOCK == 0) {
                progress.is_at(Filling { indexed: number, files: total });
            }
            if self.look(&path, was_written) == Some(Looked::Folder) {
                folders.push(path);
            }
        }
        while let Some(folder) = folders.pop() {
            for (path, was_written) in self.find_differing(&folder, false)? {
                if self.look(&path, was_written) == Some(Looked::Folder) {
                    folders.push(path);
                }
            }
        }
        Ok(())
    }

    /// Compares a file with its entry, and reads it again if it is another, or if it was written to and its stamp does not prove
    /// that it stayed the same. `None` when it is not served, or cannot be looked at.
    fn look(&self, path: &str, was_written: bool) -> Option<Looked> {
        let _turn = self.looking.lock().unpoisoned();
        let found = self.jail.existing(&VaultPath::known(path)).and_then(|place| {
            let metadata = place.metadata().map_err(Error::disk("look at", path))?;
            Ok((place, metadata))
        });
        let (place, metadata) = match found {
            Ok((place, metadata)) if metadata.is_dir() || metadata.is_file() => (place, metadata),
            Ok(_) | Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => {
                if self.jail.root().join(path).is_symlink() {
                    self.has_links.store(true, Ordering::Release);
                }
                self.remove(path);
                return None;
            }
            Err(Error::Disk { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                self.remove(path);
                return None;
            }
            // What was known of it still holds.
            Err(_) => return None,
        };
        if place.below() != Path::new(path) {
            self.has_links.store(true, Ordering::Release);
        }
        if metadata.is_dir() {
            if self.get(path).is_some() {
                self.remove(path);
            }
            return Some(Looked::Folder);
        }
        // It may be in the place of a folder.
        if self.get(path).is_none() {
            self.remove(path);
        }
        self.look_at_file(path, &place, &metadata, was_written);
        Some(Looked::File)
    }

    fn look_at_file(&self, path: &str, place: &Place, metadata: &Metadata, was_written: bool) {
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
        if let Some((entry, signature)) = self.load(path, place, known.as_deref()) {
            self.put(entry, &signature);
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
    pub(super) fn wrote(&self, path: &VaultPath) {
        self.look(path.as_str(), true);
        if let Some(entry) = self.get(path.as_str()) {
            entry.is_ours.store(true, Ordering::Release);
        }
    }

    /// Takes note of a file that this program just removed.
    pub(super) fn removed(&self, path: &VaultPath) {
        self.look(path.as_str(), true);
    }

    fn put(&self, mut entry: Entry, signature: &Signature) {
        let mut table = self.table.write().unpoisoned();
        let known = table.entries.get(&entry.path);
        let is_new = known.is_none();
        let same = known.filter(|known| known.stamp == entry.stamp && known.text.is_same(&entry.text));
        // Read again because its stamp proves nothing yet, it is still what we wrote.
        entry.is_ours = AtomicBool::new(same.is_some_and(|known| known.is_ours()));
        let old_version = same.map(|known| known.version);
        entry.change = self.note_change();
        entry.version = old_version.unwrap_or(entry.change);
        let before = table.insert(entry, signature);
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
    pub(super) fn is_being_written(&self, place: &Place, at: &Path) -> Option<bool> {
        let events = self.events()?;
        let path = at.file_name().map(|name| place.below().with_file_name(name));
        Some(path.as_deref().and_then(text_of).is_some_and(|path| events.is_being_written(&path)))
    }

    pub(super) fn is_new_complaint(&self, about: String) -> bool {
        let mut complaints = self.complaints.lock().unpoisoned();
        complaints.len() < limits::COMPLAINTS && complaints.insert(about)
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    File,
    Folder,
}

fn walks_instead(why: &str) {
    log::warn!("changes by other programs are found by walking the vault: {why}");
}
