//! The lock file for writing with these tools, and its entry in `info/exclude`.

use super::process::Runner;
use super::{Failure, LOCK};
use crate::change::TRASH;
use crate::{disk, limits};
use std::path::Path;

pub(super) fn wait_for(runner: &Runner<'_>, path: &Path) -> Result<std::fs::File, Failure> {
    let attempt = || match disk::take_lock(path) {
        Ok(None) if (runner.cancelled)() => Err(Failure::Cancelled),
        taken => taken.map_err(|error| {
            Failure::Git(format!("the lock file {LOCK} cannot be made: {}", error.kind()))
        }),
    };
    let lock = runner.deadline.poll(limits::LOCK_POLL, attempt)?;
    lock.ok_or_else(|| {
        Failure::Git("another write took longer than GIT_TIMEOUT_MS; try again".into())
    })
}

/// Has git ignore the lock file, our other files in its folder, deleted notes, and what a crash may
/// leave of a write, through `info/exclude`, which is never committed: they should not be seen in
/// `git status`, nor committed with everything else. `prefix` is where the vault lies below the
/// top: empty, or with a slash at the end.
pub(super) fn exclude_own_files(runner: &Runner<'_>, prefix: &str) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::Git(format!("info/exclude: {}", error.kind()));
    let exclude =
        runner.folder.join(runner.must(&["rev-parse", "--git-path", "info/exclude"])?.line());
    // A link is left alone: its target is not part of this repository.
    if exclude.is_symlink() {
        return Ok(());
    }
    let known = disk::none_if_missing(std::fs::read(&exclude)).map_err(wrong)?.unwrap_or_default();
    let has = |name: &str| known.split(|&byte| byte == b'\n').any(|line| line == name.as_bytes());
    // A backslash escapes pattern characters (gitignore(5)).
    let escaped: String = prefix
        .chars()
        .flat_map(|c| "\\*?[".contains(c).then_some('\\').into_iter().chain([c]))
        .collect();
    let trash = format!("/{escaped}{TRASH}/");
    let missing: String = [LOCK, disk::OWN_NAMES, &trash]
        .into_iter()
        .filter(|name| !has(name))
        .map(|name| format!("{name}\n"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let joint = if known.last().is_some_and(|&last| last != b'\n') { "\n" } else { "" };
    exclude.parent().map_or(Ok(()), disk::create_folder).map_err(wrong)?;
    disk::append(&exclude, format!("{joint}{missing}").as_bytes()).map_err(wrong)
}
