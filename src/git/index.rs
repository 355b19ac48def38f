//! The index while it is being replaced. Git's own lock is held (`index.lock`, which every `git add`, `commit`, `switch`,
//! `stash` and `merge` needs), the new index is made in a file of our own, and replaces the old one at once.

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
    /// Its bytes, and when it was written: git takes a file for changed perhaps, and looks into it, if it was saved in the
    /// second of the index's own time or later ("racy git"). A copy with another time would hide such a change for good.
    before: Option<(Vec<u8>, SystemTime)>,
    /// The copy, for runs of git.
    pub(super) copy: Scratch,
    lock: Lock,
}

/// Git's lock, as long as it is ours.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    held: OpenFile,
    /// Left behind on purpose, as a crash leaves it.
    left: bool,
}

impl Lock {
    /// Waits a moment for another program that holds it.
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
        let copy = repository.scratch("index")?;
        let index = Index { before: read(&path)?, path, copy, lock };
        if let Some((bytes, modified)) = &index.before {
            disk::replace(&index.copy.0, bytes, Mode::Dated(None, *modified), |_| Ok(())).map_err(wrong)?;
        }
        Ok(index)
    }

    /// Leaves the lock where it is: something is half done, and no commit may be made from it before it is finished. The next
    /// operation, or the next start, takes it over.
    pub(super) fn leave(mut self) {
        self.lock.left = true;
    }

    /// Takes the lock for a moment: a commit that cannot be checked out here, because another program holds it, must not be pushed.
    ///
    /// # Errors
    /// [`Failure::Refused`] when that program does not release it.
    pub(super) fn refuse_locked(repository: &Repository) -> Result<(), Failure> {
        Lock::take(repository).map(drop)
    }

    /// Replaces the index by the copy. The lock stays.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; then the index is as it was.
    pub(super) fn install(&self) -> Result<(), Failure> {
        let made = read(&self.copy.0)?.ok_or_else(|| Failure::Git("the index that was made is gone".into()))?;
        self.replace(Some(&made))
    }

    /// Puts back what the index was.
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

    /// Gives files their new entries in the copy (with `replace` a file may take the name of a folder, or the reverse), and has it know them as they are on disk now, so that git need not look into
    /// them.
    ///
    /// # Errors
    /// [`Failure::Git`].
    pub(super) fn put(&self, repository: &Repository, runner: &Runner<'_>, files: &[File], replace: bool) -> Result<(), Failure> {
        let options: &[&str] = if replace { &["--add", "--replace"] } else { &["--add"] };
        let runner = self.on(runner);
        let soon = Runner { index: runner.index.clone(), ..runner.to_the_end(limits::GIT_AFTER) };
        match put_entries(&soon, files, options, &["-q", "--unmerged", "--refresh"]) {
            // Refreshing failed, most likely for lack of time: git compares the files itself at its next run.
            Err(Failure::Git(_)) => put_entries(&runner, files, options, &[])?,
            other => other?,
        }
        match repository.apply_sparse_patterns(&runner) {
            // It fails where a person has an unresolved merge conflict. The commit is made by now, so this is only logged.
            Err(Failure::Git(words)) => log::warn!("git: the sparse checkout was not applied to the index: {words}"),
            other => other?,
        }
        Ok(())
    }

    /// A runner whose index is the copy.
    pub(super) fn on<'a>(&self, runner: &Runner<'a>) -> Runner<'a> {
        Runner { index: Some(self.copy.0.clone()), ..runner.clone() }
    }
}

/// Removes a lock of ours whose holder has died.
pub(super) fn clear(lock: &Path) {
    if std::fs::read(lock).is_ok_and(|found| found == MARK) {
        disk::remove_leftover(lock);
    }
}

fn read(path: &Path) -> Result<Option<(Vec<u8>, SystemTime)>, Failure> {
    // The time first: an index that is replaced in between is newer than that.
    let modified = std::fs::metadata(path).and_then(|found| found.modified());
    disk::none_if_missing(modified.and_then(|modified| Ok((std::fs::read(path)?, modified)))).map_err(wrong)
}

fn index_is_locked() -> Failure {
    Failure::Refused(
        "Nothing was done: another program has the repository's index (.git/index.lock). If no git is running, remove that file".into(),
    )
}

fn wrong(error: io::Error) -> Failure {
    Failure::Git(format!("the index cannot be replaced: {}", error.kind()))
}
