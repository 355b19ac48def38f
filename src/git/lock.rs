//! The lock file for writing with these tools, and its entry in `info/exclude`.

use super::process::Runner;
use super::{Failure, LOCK};
use crate::disk;
use crate::limits;
use crate::vault::TRASH;
use std::path::Path;

pub(super) fn wait_for(runner: &Runner<'_>, path: &Path, name: &str) -> Result<std::fs::File, Failure> {
    loop {
        match disk::take_lock(path) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) if (runner.cancelled)() => return Err(Failure::Cancelled),
            Ok(None) if runner.deadline.left().is_some() => std::thread::sleep(limits::GIT_LOCK_PAUSE),
            Ok(None) => return Err(Failure::Git("another write took longer than GIT_TIMEOUT_MS; try again".into())),
            Err(error) => return Err(Failure::Git(format!("the lock file {name} cannot be made: {}", error.kind()))),
        }
    }
}

/// Has git ignore the lock file, our other files in its folder, deleted notes, and what a crash may leave of a write, through
/// `info/exclude`, which is never committed: they should not be seen in `git status`, nor committed with everything else.
pub(super) fn exclude_own_files(runner: &Runner<'_>) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::Git(format!("info/exclude: {}", error.kind()));
    let exclude = runner.folder.join(runner.must(&["rev-parse", "--git-path", "info/exclude"])?.line());
    let known = disk::none_if_missing(std::fs::read(&exclude)).map_err(wrong)?.unwrap_or_default();
    // A link is left alone: its target is not part of this repository.
    if exclude.is_symlink() || memchr::memmem::find(&known, LOCK.as_bytes()).is_some() {
        return Ok(());
    }
    exclude.parent().map_or(Ok(()), disk::create_folder).map_err(wrong)?;
    disk::append(&exclude, format!("\n{LOCK}\n{}\n{TRASH}/\n", disk::OWN_NAMES).as_bytes(), false).map_err(wrong)
}
