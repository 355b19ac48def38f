//! In the repository's folder, a list of the files that tools have changed and that are not committed yet: after a kill, or a commit that
//! failed, or that a person's staged changes forbid for now, the next commit has them too. One that git refuses for good, such as one that
//! it ignores, is dropped. The call's result names both.

use crate::disk;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::vault::VaultPath;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const NAME: &str = "vault-sync-mcp.uncommitted";

/// Held while the list is read and replaced: calls add to it without the lock on the repository.
static CHANGING: Mutex<()> = Mutex::new(());

/// The list: a path in each line.
pub(super) struct Uncommitted(PathBuf);

impl Uncommitted {
    pub(super) fn of(git_dir: &Path) -> Uncommitted {
        Uncommitted(git_dir.join(NAME))
    }

    pub(super) fn read(&self) -> BTreeSet<VaultPath> {
        let list = disk::read_end(&self.0, limits::GIT_UNCOMMITTED_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&list).lines().filter_map(|line| VaultPath::file(line).ok()).collect()
    }

    /// Returns those that were not on the list.
    pub(super) fn add(&self, paths: &BTreeSet<VaultPath>) -> BTreeSet<VaultPath> {
        let _one_at_a_time = CHANGING.lock().unpoisoned();
        let new = paths - &self.read();
        disk::append(&self.0, lines(&new).as_bytes()).unwrap_or_else(warn);
        new
    }

    pub(super) fn remove(&self, paths: &BTreeSet<VaultPath>) {
        let _one_at_a_time = CHANGING.lock().unpoisoned();
        match lines(&(&self.read() - paths)).as_str() {
            "" => disk::discard(&self.0),
            left => disk::replace(&self.0, left.as_bytes(), disk::Mode::Private, |_| Ok(())).unwrap_or_else(warn),
        }
    }
}

/// Each path after a line feed: a full disk may have left half a path, which the next one must not continue.
fn lines(paths: &BTreeSet<VaultPath>) -> String {
    paths.iter().map(|path| format!("\n{}", path.as_str())).collect()
}

fn warn(error: io::Error) {
    log::warn!("git: {NAME}: {}", error.kind());
}
