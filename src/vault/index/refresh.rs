//! Bringing the index up to date, from the changes that the file system reports or by walking the
//! vault.

use crate::clock::{self, Deadline};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::Quota;
use crate::vault::entry::{Entry, Stamp};
use crate::vault::error::Error;
use crate::vault::index::events::Changed;
use crate::vault::index::walk::Walk;
use crate::vault::index::{Index, LastWalk};
use crate::vault::path::range_below;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::time::{Duration, Instant};

/// How often a vault whose changes are not reported is polled while a client listens for changes.
const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Changes within this time are one notification.
const WATCH_DEBOUNCE: Duration = Duration::from_millis(30);
/// How long a search waits for the first indexing before it continues with what is indexed so far.
const FIRST_INDEXING_WAIT: Duration = Duration::from_secs(2);
/// How often a vault whose changes are reported is walked all the same: changes through a hard link
/// elsewhere, or below an overlay, are not reported.
const FULL_WALK_EVERY: Duration = Duration::from_secs(300);
/// A walk stays valid for this many times its own duration (rule 6 of the vault), so walking takes
/// at most a tenth of the time.
const WALK_VALID_TIMES: u32 = 10;

impl Index {
    fn last_walk(&self) -> Option<LastWalk> {
        *self.last_walk.lock().unpoisoned()
    }

    /// Brings the index up to date by rule 6 of the vault.
    pub(crate) fn refresh(self: &Arc<Self>) -> Result<(), Error> {
        let now = clock::instant();
        let age = |walk: LastWalk| now.saturating_duration_since(walk.began);
        let has_events = self.events().is_some();
        let is_recent =
            self.last_walk().is_some_and(|walk| age(walk) < walk.took * WALK_VALID_TIMES);
        // While the vault is unavailable every call fails, after checking whether it is back.
        if has_events || !is_recent || self.is_gone.load(Ordering::Acquire) {
            self.take_changes(now)?;
        }
        if has_events && self.last_walk().is_some_and(|walk| age(walk) > FULL_WALK_EVERY) {
            // A failure in the background is logged, and fails the next call.
            let index = Arc::clone(self);
            spawn("walk", &self.walk_permit, move || drop(index.walk()));
        }
        Ok(())
    }

    /// Whether the first indexing is running.
    pub(crate) fn is_first_indexing(&self) -> bool {
        self.last_walk().is_none()
            && matches!(self.refresh_lock.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Like [`Index::refresh`], but waits only a short time for the first indexing, then continues
    /// with what is indexed so far. Returns whether the first indexing is still running.
    pub(crate) fn refresh_with_timeout(self: &Arc<Self>) -> Result<bool, Error> {
        let patience = Deadline::after(FIRST_INDEXING_WAIT);
        match patience.poll(limits::FIRST_INDEXING_POLL, || {
            Ok::<_, Error>((!self.is_first_indexing()).then_some(()))
        })? {
            Some(()) => self.refresh().map(|()| false),
            None => Ok(true),
        }
    }

    /// Refuses changes while the vault's file system is unmounted: they would be written into the
    /// mount point, and be hidden once it is mounted again.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) fn check_available(&self) -> Result<(), Error> {
        let known = *self.identity.lock().unpoisoned();
        let moved =
            self.jail.identity() != known && self.with_table(|table| !table.entries.is_empty());
        // The vault may have been replaced by another folder; a walk finds out.
        if moved { self.take_changes(clock::instant()) } else { Ok(()) }
    }

    /// Applies all changes made before `asked`.
    pub(crate) fn take_changes(&self, asked: Instant) -> Result<(), Error> {
        let _lock = self.refresh_lock.lock().unpoisoned();
        let last_walk = self.last_walk();
        let is_gone = self.is_gone.load(Ordering::Acquire);
        let Some(events) = self.events().filter(|_| last_walk.is_some()) else {
            // A walk that began later has seen everything.
            let is_newer = last_walk.is_some_and(|walk| walk.began >= asked) && !is_gone;
            return if is_newer { Ok(()) } else { self.walk() };
        };
        let Changed { paths, incomplete } = events.take();
        let is_known = self.jail.identity() == *self.identity.lock().unpoisoned();
        let incomplete =
            incomplete.or_else(|| (!is_known).then_some("another folder is at the vault's path"));
        if let Some(why) = incomplete.filter(|_| !is_gone) {
            log::info!("{why}: the vault is walked");
        }
        if incomplete.is_none() && !is_gone { self.update_all(paths) } else { self.walk() }
    }

    /// Waits for a change, or until it is time to check for one, and then brings the index up to
    /// date as for a call.
    pub(crate) fn wait_for_change(self: &Arc<Self>) -> Result<(), Error> {
        match self.events() {
            Some(events) => {
                events.wait(self.is_gone.load(Ordering::Acquire).then_some(WATCH_EVERY))
            }
            None => std::thread::sleep(WATCH_EVERY),
        }
        // Changes in quick succession are one notification.
        std::thread::sleep(WATCH_DEBOUNCE);
        self.refresh()
    }

    /// Walks the vault and updates what differs.
    fn walk(&self) -> Result<(), Error> {
        let began = clock::instant();
        let is_first = self.last_walk().is_none();
        let differing = self.find_differing("", is_first)?;
        // Reading changed files is not counted: the next walk will cost only this.
        let took = began.elapsed();
        self.update_all(differing)?;
        *self.last_walk.lock().unpoisoned() = Some(LastWalk { began, took });
        Ok(())
    }

    /// The paths below a folder where the disk and the index differ, each with `recheck`, for
    /// [`Index::update_all`]; the empty path means the whole vault. With `clean`, as at the first
    /// walk, temporary files that a crash has left are removed.
    fn find_differing(&self, folder: &str, clean: bool) -> Result<Vec<(String, bool)>, Error> {
        let (before, identity) = (*self.identity.lock().unpoisoned(), self.jail.identity());
        let is_whole = folder.is_empty();
        let mut unseen: BTreeMap<Arc<str>, Arc<Entry>> = self.with_table(|table| {
            range_below(&table.entries, folder)
                .map(|(path, entry)| (path.clone(), entry.clone()))
                .collect()
        });
        let indexed = unseen.len();
        let mut differing = Vec::new();
        let mut see = |path: &str, stamp: Stamp| {
            let is_same =
                unseen.remove(path).is_some_and(|entry| entry.stamp == stamp && !entry.uncertain);
            // One more than can be indexed, so that the excess is noticed.
            if !is_same && differing.len() <= limits::FILES {
                differing.push((path.to_owned(), true));
            }
        };
        let walked = Walk { index: self, clean, see: &mut see }.walk_folder(folder);
        let found_again = indexed - unseen.len();
        // Also during the walk.
        let is_replaced = self.jail.identity() != identity
            || is_whole
                && is_another_vault(before, identity, indexed, found_again, differing.len());
        let walked = walked.and(match is_replaced {
            true => Err(io::Error::from(io::ErrorKind::NotFound)),
            false => Ok(()),
        });
        if let Err(error) = walked {
            if !self.is_gone.swap(true, Ordering::AcqRel) {
                log::error!(
                    "the vault cannot be read: {error}; nothing is served or written until it is \
                     back (if another one has replaced it: restart)"
                );
            }
            return Err(Error::Unavailable);
        }
        if is_whole {
            *self.identity.lock().unpoisoned() = identity;
            if self.is_gone.swap(false, Ordering::AcqRel) {
                log::info!("the vault can be read again");
            }
        }
        differing.extend(unseen.keys().map(|path| (path.to_string(), true)));
        Ok(differing)
    }

    /// Updates files, as [`Index::update`] does, and everything in folders.
    fn update_all(&self, paths: impl IntoIterator<Item = (String, bool)>) -> Result<(), Error> {
        let update = |(path, recheck): (String, bool)| self.update(&path, recheck).then_some(path);
        let mut folders: Vec<String> = paths.into_iter().filter_map(update).collect();
        while let Some(folder) = folders.pop() {
            folders.extend(self.find_differing(&folder, false)?.into_iter().filter_map(update));
        }
        Ok(())
    }
}

/// Whether a walk has seen something else than the vault that was there before. A mount point whose
/// file system is unmounted is a different folder: an empty one, or one on another device with
/// whatever was left in it. Of `indexed` files it found so many again, and `differing` others.
fn is_another_vault(
    before: Option<(u64, u64)>,
    now: Option<(u64, u64)>,
    indexed: usize,
    found_again: usize,
    differing: usize,
) -> bool {
    let device = |identity: Option<(u64, u64)>| identity.map(|(device, _)| device);
    if before == now {
        false
    } else if device(before) == device(now) {
        indexed > 0 && differing + found_again == 0
    } else {
        found_again * 2 < indexed
    }
}

/// Runs `work` in a thread of its own, unless it is running already; false if no thread could be
/// started.
pub(crate) fn spawn(name: &str, quota: &Arc<Quota>, work: impl FnOnce() + Send + 'static) -> bool {
    let Some(permit) = quota.take("", Duration::ZERO) else { return true };
    let run = move || {
        let _permit = permit;
        work();
    };
    std::thread::Builder::new().name(name.into()).spawn(run).is_ok()
}
