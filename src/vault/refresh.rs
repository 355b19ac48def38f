//! Bringing the index up to date: by the changes that the file system reports, or by a walk.

use super::entry::Stamp;
use super::error::Error;
use super::filling::{Filling, IndexProgress};
use super::index::{Index, walks_instead};
use super::path::VaultPath;
use super::refresh_policy::Due;
use super::walk::{Found, Walk};
use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Index {
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
        let known = *self.identity.lock().unpoisoned();
        let moved = self.jail.identity() != known && self.read(|entries| !entries.is_empty());
        // Another folder may be the vault now; a walk finds out.
        if moved { self.refresh_now() } else { Ok(()) }
    }

    /// Looks at all that has changed before `asked`.
    pub(super) fn take_changes(&self, asked: Instant) -> Result<(), Error> {
        let _lock = self.refreshing.lock().unpoisoned();
        let last_began = self.refresh_policy.last_began();
        let Some(events) = self.events().filter(|_| last_began.is_some()) else {
            // A walk that began later has seen everything.
            let is_newer = last_began.is_some_and(|began| began >= asked) && !self.gone.load(Ordering::Acquire);
            return if is_newer { Ok(()) } else { self.walk() };
        };
        let changed = events.take();
        let is_known = self.jail.identity() == *self.identity.lock().unpoisoned();
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
    pub(super) fn walk_beside(&self, asked: Instant) -> Result<(), Error> {
        if self.events().is_none() {
            return self.take_changes(asked);
        }
        let began = clock::instant();
        let differing = self.find_differing("", false)?;
        self.refresh_policy.walked(began, began.elapsed());
        let _lock = self.refreshing.lock().unpoisoned();
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

    /// Whether what was found in the vault's place is another folder than before, and no vault but what lies below one whose
    /// file system has gone: an empty folder, or one on another device with whatever was left there. `known` of the files are
    /// those of the index.
    pub(super) fn is_another(&self, found: &Found, known: usize, identity: Option<(u64, u64)>) -> bool {
        let before = *self.identity.lock().unpoisoned();
        if before == identity {
            return false;
        }
        let same_device = before.map(|(device, _)| device) == identity.map(|(device, _)| device);
        let indexed = self.read(BTreeMap::len);
        if same_device { !found.any && indexed > 0 } else { known * 2 < indexed }
    }

    /// Walks the vault, and looks at what differs.
    pub(super) fn walk(&self) -> Result<(), Error> {
        let began = clock::instant();
        let is_first = self.refresh_policy.last_began().is_none();
        let progress = self.first_look.begin(is_first);
        let differing = self.find_differing("", is_first)?;
        // Reading what has changed is not counted: looking is what the next walk will cost.
        let took = began.elapsed();
        self.look_at_all(differing, Some(&progress))?;
        self.refresh_policy.walked(began, took);
        Ok(())
    }

    /// The paths below a folder where the disk and the index differ, for [`Index::look_at_all`]; for the empty path those of the
    /// whole vault.
    pub(super) fn find_differing(&self, below: &str, clean: bool) -> Result<Vec<(String, bool)>, Error> {
        let identity = self.jail.identity();
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
            let is_another = below.is_empty() && self.is_another(&found, known, identity);
            if is_another || self.jail.identity() != identity { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
        });
        let found = found.map_err(|error| {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!("the vault cannot be read: {error}; nothing is served or written until it is back (if another one was put in its place: restart)");
            }
            Error::Unavailable
        })?;
        if below.is_empty() {
            *self.identity.lock().unpoisoned() = identity;
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
    pub(super) fn look_at_all(
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
            if self.look(&path, was_written) {
                folders.push(path);
            }
        }
        while let Some(folder) = folders.pop() {
            for (path, was_written) in self.find_differing(&folder, false)? {
                if self.look(&path, was_written) {
                    folders.push(path);
                }
            }
        }
        Ok(())
    }
}
