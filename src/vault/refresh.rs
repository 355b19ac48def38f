//! Bringing the index up to date: by the changes that the file system reports, or by a walk.

use super::entry::{Entry, Stamp};
use super::error::Error;
use super::events::Changed;
use super::index::Index;
use super::path::range_below;
use super::refresh_policy::Due;
use super::walk::Walk;
use crate::clock::{self, Deadline};
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use std::time::Instant;

/// How far the first look at the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexingProgress {
    /// Files that are indexed.
    pub indexed: usize,
    /// Files that there are; 0 as long as they are counted.
    pub files: usize,
}

impl Index {
    /// Brings the index up to date by rule 6 of the vault.
    pub(super) fn refresh(self: &Arc<Self>) -> Result<(), Error> {
        let now = clock::instant();
        // What goes wrong in the background is in the log, and fails the next one.
        let walk_in_background = || self.spawn("walk", &self.walking, |index| drop(index.walk()));
        let has_events = self.events().is_some();
        // While the vault is away every call fails, and looks whether it is back.
        let is_looked_at = has_events || self.gone.load(Ordering::Acquire);
        match if is_looked_at { Due::Foreground } else { self.refresh_policy.call(now) } {
            Due::Nothing => return Ok(()),
            Due::Background if walk_in_background() => return Ok(()),
            Due::Foreground | Due::Background => self.take_changes(now)?,
        }
        let last_began = self.refresh_policy.last_began();
        if has_events && last_began.is_some_and(|began| now.saturating_duration_since(began) > limits::FULL_WALK_EVERY) {
            walk_in_background();
        }
        Ok(())
    }

    /// How far the first look at the vault is, while it is in progress.
    pub(super) fn filling(&self) -> Option<IndexingProgress> {
        let is_first = self.refresh_policy.last_began().is_none();
        let is_in_progress = is_first && matches!(self.refreshing.try_lock(), Err(TryLockError::WouldBlock));
        is_in_progress.then(|| IndexingProgress { indexed: self.read(BTreeMap::len), files: self.differing.load(Ordering::Relaxed) })
    }

    /// Brings the index up to date as [`Index::refresh`] does, but waits only a while for the very first look, and goes on
    /// with what is known by then; how far that is.
    pub(super) fn refresh_with_timeout(self: &Arc<Self>) -> Result<Option<IndexingProgress>, Error> {
        let patience = Deadline::after(limits::FILL_PATIENCE);
        while let Some(filling) = self.filling() {
            if patience.left().is_none() {
                return Ok(Some(filling));
            }
            std::thread::sleep(limits::FILL_LOOK);
        }
        self.refresh().map(|()| None)
    }

    /// Refuses what would change a vault that is not there: where its file system has gone, what is written goes into the
    /// folder that it was mounted at, and is hidden when it is back.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(super) fn check_available(&self) -> Result<(), Error> {
        let known = *self.identity.lock().unpoisoned();
        let moved = self.jail.identity() != known && self.read(|entries| !entries.is_empty());
        // Another folder may be the vault now; a walk finds out.
        if moved { self.take_changes(clock::instant()) } else { Ok(()) }
    }

    /// Looks at all that has changed before `asked`.
    pub(super) fn take_changes(&self, asked: Instant) -> Result<(), Error> {
        let _lock = self.refreshing.lock().unpoisoned();
        let last_began = self.refresh_policy.last_began();
        let is_gone = self.gone.load(Ordering::Acquire);
        let Some(events) = self.events().filter(|_| last_began.is_some()) else {
            // A walk that began later has seen everything.
            let is_newer = last_began.is_some_and(|began| began >= asked) && !is_gone;
            return if is_newer { Ok(()) } else { self.walk() };
        };
        let Changed { paths, incomplete } = events.take();
        let is_known = self.jail.identity() == *self.identity.lock().unpoisoned();
        let incomplete = incomplete.or_else(|| (!is_known).then_some("another folder is at the vault's path"));
        if let Some(why) = incomplete.filter(|_| !is_gone) {
            log::info!("{why}: the vault is walked");
        }
        let has_linked_changes = self.has_links.load(Ordering::Acquire) && !paths.is_empty();
        if incomplete.is_some() || has_linked_changes || is_gone { self.walk() } else { self.update_all(paths) }
    }

    /// Waits until something has changed, or a walk may find that; the index is as up to date then as a call needs it.
    pub(super) fn wait_for_change(self: &Arc<Self>) -> Result<(), Error> {
        match self.events() {
            Some(events) => events.wait(self.gone.load(Ordering::Acquire).then_some(limits::WATCH_EVERY)),
            None => std::thread::sleep(limits::WATCH_EVERY),
        }
        // Several changes are one notification.
        std::thread::sleep(limits::WATCH_GATHERS);
        self.refresh()
    }

    /// Walks the vault, and looks at what differs.
    fn walk(&self) -> Result<(), Error> {
        let began = clock::instant();
        let is_first = self.refresh_policy.last_began().is_none();
        let differing = self.find_differing("", is_first)?;
        // Reading what has changed is not counted: looking is what the next walk will cost.
        let took = began.elapsed();
        self.differing.store(differing.len(), Ordering::Relaxed);
        self.update_all(differing)?;
        self.refresh_policy.walked(began, took);
        Ok(())
    }

    /// The paths below a folder where the disk and the index differ, for [`Index::update_all`]; for the empty path those of the
    /// whole vault.
    fn find_differing(&self, folder: &str, clean: bool) -> Result<Vec<(String, bool)>, Error> {
        let (before, identity) = (*self.identity.lock().unpoisoned(), self.jail.identity());
        let is_whole = folder.is_empty();
        let inside = |entries: &BTreeMap<Arc<str>, Arc<Entry>>| {
            range_below(entries, folder).map(|(path, entry)| (path.clone(), entry.clone())).collect()
        };
        let mut unseen: BTreeMap<Arc<str>, Arc<Entry>> = self.read(inside);
        let indexed = unseen.len();
        let mut differing = Vec::new();
        let mut see = |path: &str, stamp: Stamp| {
            let is_same = unseen.remove(path).is_some_and(|entry| entry.stamp == stamp && !entry.uncertain);
            // One more than can be served, so that it is seen that there are more.
            if !is_same && differing.len() <= limits::FILES {
                differing.push((path.to_owned(), true));
            }
        };
        let mut walk = Walk { index: self, clean, see: &mut see, has_links: false };
        let walked = walk.below(folder);
        let has_links = walk.has_links;
        // A mount point whose file system has gone is another folder than before: an empty one, or one on another device with whatever
        // was left there. One that goes in the middle of a walk is another one at its end.
        let same_device = before.map(|(device, _)| device) == identity.map(|(device, _)| device);
        let known = indexed - unseen.len();
        let has_lost = if same_device { differing.len() + known == 0 && indexed > 0 } else { known * 2 < indexed };
        let is_another = is_whole && before != identity && has_lost || self.jail.identity() != identity;
        if let Err(error) = walked.and(if is_another { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }) {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!(
                    "the vault cannot be read: {error}; nothing is served or written until it is back (if another one has replaced it: restart)"
                );
            }
            return Err(Error::Unavailable);
        }
        self.has_links.fetch_or(has_links, Ordering::AcqRel);
        if is_whole {
            *self.identity.lock().unpoisoned() = identity;
            self.has_links.store(has_links, Ordering::Release);
            if self.gone.swap(false, Ordering::AcqRel) {
                log::info!("the vault can be read again");
            }
        }
        differing.extend(unseen.keys().map(|path| (path.to_string(), true)));
        Ok(differing)
    }

    /// Looks at files, as [`Index::look`] does, and at all files of folders.
    fn update_all(&self, paths: impl IntoIterator<Item = (String, bool)>) -> Result<(), Error> {
        let look = |(path, was_written): (String, bool)| self.look(&path, was_written).then_some(path);
        let mut folders: Vec<String> = paths.into_iter().filter_map(look).collect();
        while let Some(folder) = folders.pop() {
            folders.extend(self.find_differing(&folder, false)?.into_iter().filter_map(look));
        }
        Ok(())
    }
}
