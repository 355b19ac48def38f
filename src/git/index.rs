//! The index while it is being replaced. Git's own lock is held (`index.lock`, which every `git
//! add`, `commit`, `switch`, `stash` and `merge` needs), the new index is built in a private file,
//! and replaces the old one atomically.

use super::Failure;
use super::process::Runner;
use super::repository::Repository;
use crate::clock::Deadline;
use crate::disk::{self, Mode};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::time::SystemTime;

/// The pause between two attempts to take git's lock on the index, each of which makes a file.
const INDEX_POLL: Duration = Duration::from_millis(20);
/// How long another program may lock the repository's index before a write gives up.
const INDEX_WAIT: Duration = Duration::from_secs(3);

/// Content of an `index.lock` of ours, by which one left by a crash is recognized; git's own is
/// empty or an index.
const MARK: &[u8] = b"vault-sync-mcp\n";

/// The index with git's lock on it, and a copy to work on.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    /// Its bytes and modification time: git compares the content of a file that was saved in the
    /// same second as the index or later ("racy git"). A copy of the index with another time would
    /// hide such a change for good.
    before: Option<(Vec<u8>, SystemTime)>,
    /// The copy, for runs of git.
    copy: PathBuf,
    lock: PathBuf,
    held: File,
    /// The lock is left behind on purpose, as a crash leaves it.
    stays_locked: bool,
}

impl Drop for Index {
    fn drop(&mut self) {
        if !self.stays_locked && self.has_lock() {
            disk::discard(&self.lock);
        }
    }
}

impl Index {
    /// Locks the index, waiting briefly for another program that holds it, and copies it.
    ///
    /// # Errors
    /// [`Failure::Refused`] when another program does not release it, [`Failure::Git`] for the
    /// disk's refusal.
    pub(super) fn lock(repository: &Repository) -> Result<Index, Failure> {
        let (path, lock) = (
            repository.folders.git_dir.join("index"),
            repository.folders.git_dir.join("index.lock"),
        );
        let held = Deadline::after(INDEX_WAIT)
            .poll(INDEX_POLL, || disk::claim(&lock, MARK))
            .map_err(wrong)?;
        let why = "another program holds the repository's index (.git/index.lock). If no git is \
                   running, remove that file";
        let held = held.ok_or_else(|| Failure::Refused(why.into()))?;
        let mut index = Index {
            path,
            before: None,
            copy: repository.scratch(),
            lock,
            held,
            stays_locked: false,
        };
        index.before = read(&index.path)?;
        if let Some((bytes, modified)) = &index.before {
            disk::replace(&index.copy, bytes, Mode::Dated(None, *modified), |_| Ok(()))
                .map_err(wrong)?;
        }
        Ok(index)
    }

    /// Keeps the index locked: it is half updated, and no commit may be made from it before that is
    /// finished. The next operation, or the next start, takes the lock over.
    pub(super) fn keep_locked(mut self) {
        self.stays_locked = true;
    }

    /// Whether the lock is still there. A person may have removed it, as git advises.
    fn has_lock(&self) -> bool {
        disk::is_still_at(&self.held, &self.lock)
    }

    /// Replaces the index by the copy. The lock stays.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; then the index is as it was.
    pub(super) fn install(&self) -> Result<(), Failure> {
        let made = read(&self.copy)?.ok_or_else(|| Failure::Git("the new index is gone".into()))?;
        self.replace(Some(&made))
    }

    /// Restores the old index.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal.
    pub(super) fn restore(&self) -> Result<(), Failure> {
        self.replace(self.before.as_ref())
    }

    fn replace(&self, by: Option<&(Vec<u8>, SystemTime)>) -> Result<(), Failure> {
        if !self.has_lock() {
            return Err(Failure::Git("the lock on the index was removed meanwhile".into()));
        }
        let Some((bytes, modified)) = by else {
            disk::discard(&self.path);
            return Ok(());
        };
        let now = std::fs::metadata(&self.path).ok();
        disk::replace(&self.path, bytes, Mode::Dated(now.as_ref(), *modified), |_| Ok(()))
            .map_err(wrong)
    }

    /// A runner whose index is the copy.
    pub(super) fn on_copy<'a>(&self, runner: &Runner<'a>) -> Runner<'a> {
        Runner { index: Some(self.copy.clone()), ..runner.clone() }
    }
}

/// Removes our own lock whose holder has died.
pub(super) fn remove_stale_lock(lock: &Path) {
    if std::fs::read(lock).is_ok_and(|found| found == MARK) {
        disk::remove_leftover(lock);
    }
}

fn read(path: &Path) -> Result<Option<(Vec<u8>, SystemTime)>, Failure> {
    // The time is read first: a time that is too early only makes git compare more files.
    let modified = std::fs::metadata(path).and_then(|found| found.modified());
    disk::none_if_missing(modified.and_then(|modified| Ok((std::fs::read(path)?, modified))))
        .map_err(wrong)
}

fn wrong(error: io::Error) -> Failure {
    Failure::Git(format!("the index cannot be replaced: {}", error.kind()))
}
