//! The index while it is being replaced. Git's own lock is held (`index.lock`, which every `git add`, `commit`, `switch`,
//! `stash` and `merge` needs), the new index is built in a private file, and replaces the old one atomically.

use super::Failure;
use super::objects::{File, put_entries};
use super::process::Runner;
use super::repository::{Repository, Scratch};
use crate::clock::Deadline;
use crate::disk::{self, Mode};
use crate::limits;
use std::fs::File as OpenFile;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Content of an `index.lock` of ours, by which one left by a crash is recognized; git's own is empty or an index.
const MARK: &[u8] = b"vault-sync-mcp\n";

/// The index, locked, and a copy of it to work on.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    /// Its bytes and modification time: git compares the content of a file that was saved in the same second as the index or
    /// later ("racy git"). A copy of the index with another time would hide such a change for good.
    before: Option<(Vec<u8>, SystemTime)>,
    /// The copy, for runs of git.
    pub(super) copy: Scratch,
    lock: Lock,
}

/// Git's lock on the index, held by us.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    held: OpenFile,
    /// Left behind on purpose, as a crash leaves it.
    left: bool,
}

impl Lock {
    /// Takes it; waits briefly for another program that holds it.
    fn take(repository: &Repository) -> Result<Lock, Failure> {
        let path = repository.git_dir.join("index.lock");
        let until = Deadline::after(limits::GIT_INDEX_WAIT);
        loop {
            if let Some(held) = disk::claim(&path, MARK).map_err(wrong)? {
                return Ok(Lock { path, held, left: false });
            }
            if until.left().is_none() {
                return Err(index_is_locked());
            }
            std::thread::sleep(limits::GIT_LOCK_PAUSE);
        }
    }

    fn is_ours(&self) -> bool {
        disk::is_still_at(&self.held, &self.path)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.left && self.is_ours() {
            disk::discard(&self.path);
        }
    }
}

impl Index {
    /// Locks the index and copies it.
    ///
    /// # Errors
    /// [`Failure::Refused`] when another program does not release it, [`Failure::Git`] for the disk's refusal.
    pub(super) fn lock(repository: &Repository) -> Result<Index, Failure> {
        let (path, lock) = (repository.git_dir.join("index"), Lock::take(repository)?);
        let copy = repository.scratch("index");
        let index = Index { before: read(&path)?, path, copy, lock };
        if let Some((bytes, modified)) = &index.before {
            disk::replace(&index.copy.0, bytes, Mode::Dated(None, *modified), |_| Ok(())).map_err(wrong)?;
        }
        Ok(index)
    }

    /// Leaves the lock in effect: the index is half updated, and no commit may be made from it before that is finished. The next
    /// operation, or the next start, takes it over.
    pub(super) fn leave(mut self) {
        self.lock.left = true;
    }

    /// Takes and releases the lock: a commit that cannot be checked out here, because another program holds it, must not be pushed.
    ///
    /// # Errors
    /// [`Failure::Refused`] when that program does not release it.
    pub(super) fn check_lockable(repository: &Repository) -> Result<(), Failure> {
        Lock::take(repository).map(drop)
    }

    /// Replaces the index by the copy. The lock stays.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; then the index is as it was.
    pub(super) fn install(&self) -> Result<(), Failure> {
        let made = read(&self.copy.0)?.ok_or_else(|| Failure::Git("the new index is gone".into()))?;
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
        // A person may have removed the lock, as git advises, and used the index since.
        if !self.lock.is_ours() {
            return Err(Failure::Git("the lock on the index was removed meanwhile".into()));
        }
        let Some((bytes, modified)) = by else {
            disk::discard(&self.path);
            return Ok(());
        };
        let now = std::fs::metadata(&self.path).ok();
        disk::replace(&self.path, bytes, Mode::Dated(now.as_ref(), *modified), |_| Ok(())).map_err(wrong)
    }

    /// Gives files their new entries in the copy, and refreshes their stat data from disk, so that git need not read them.
    ///
    /// # Errors
    /// [`Failure::Git`].
    pub(super) fn put(&self, runner: &Runner<'_>, files: &[File]) -> Result<(), Failure> {
        let runner = self.on(runner);
        let soon = Runner { index: runner.index.clone(), ..runner.uncancellable(limits::GIT_POST_COMMIT) };
        match put_entries(&soon, files, &["-q", "--unmerged", "--refresh"]) {
            // Refreshing failed, most likely by timeout: git compares the files itself at its next run.
            Err(Failure::Git(_)) => put_entries(&runner, files, &[]),
            other => other,
        }
    }

    /// A runner whose index is the copy.
    pub(super) fn on<'a>(&self, runner: &Runner<'a>) -> Runner<'a> {
        Runner { index: Some(self.copy.0.clone()), ..runner.clone() }
    }
}

/// Removes our own lock whose holder has died.
pub(super) fn remove_stale_lock(lock: &Path) {
    if std::fs::read(lock).is_ok_and(|found| found == MARK) {
        disk::remove_leftover(lock);
    }
}

fn read(path: &Path) -> Result<Option<(Vec<u8>, SystemTime)>, Failure> {
    // The time is read first: an index replaced in between is newer.
    let modified = std::fs::metadata(path).and_then(|found| found.modified());
    disk::none_if_missing(modified.and_then(|modified| Ok((std::fs::read(path)?, modified)))).map_err(wrong)
}

fn index_is_locked() -> Failure {
    Failure::Refused(
        "Nothing was done: another program holds the repository's index (.git/index.lock). If no git is running, remove that file".into(),
    )
}

fn wrong(error: io::Error) -> Failure {
    Failure::Git(format!("the index cannot be replaced: {}", error.kind()))
}
