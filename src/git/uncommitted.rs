//! In the repository's folder, a list of the files that tools have changed and that are not
//! committed yet: after a kill, or a commit that failed, or that a person's staged changes forbid
//! for now, the next commit has them too, as long as they are as the tool left them. One
//! that git refuses for good, such as one that it ignores, is dropped. The call's result names
//! both.

use crate::change::commits::{Left, Noted};
use crate::disk;
use crate::lock::Unpoisoned;
use crate::vault::{Vault, VaultPath};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Bytes of the list of files whose commit failed; beyond them the oldest are forgotten.
const UNCOMMITTED_BYTES: u64 = 1024 * 1024;

const NAME: &str = "vault-sync-mcp.uncommitted";
/// What the list has instead of the hash of a file that the tool has moved away or deleted.
const GONE: &str = "gone";

/// Held while the list is read and replaced: calls add to it without the lock on the repository.
static CHANGING: Mutex<()> = Mutex::new(());

/// The list: in each line what a tool left at a path, as `HASH PATH`; the last line of a path
/// counts.
pub(super) struct Uncommitted(PathBuf);

/// By path the hash of what a tool left there; `None` for nothing.
pub(super) type Waiting = BTreeMap<VaultPath, Option<String>>;

impl Uncommitted {
    pub(super) fn of(git_dir: &Path) -> Uncommitted {
        Uncommitted(git_dir.join(NAME))
    }

    /// Lines of earlier versions, which have no hash, are not read: a person may have changed those
    /// files since.
    pub(super) fn read(&self) -> Waiting {
        let list = disk::read_end(&self.0, UNCOMMITTED_BYTES).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let read = |line: &str| {
            let (hash, path) = line.split_once(' ')?;
            let is_hash = hash == GONE
                || hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            let path = VaultPath::file(path).ok().filter(|_| is_hash)?;
            Some((path, Some(hash.to_owned()).filter(|hash| hash != GONE)))
        };
        list.lines().filter_map(read).collect()
    }

    /// The files of the list, without `own`, that are as the tool left them, and those that are
    /// not.
    pub(super) fn as_left_and_changed(
        &self,
        own: &BTreeSet<VaultPath>,
        vault: &Vault,
    ) -> (BTreeSet<VaultPath>, BTreeSet<VaultPath>) {
        let waiting = self.read().into_iter().filter(|(path, _)| !own.contains(path));
        let (mut as_left, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for (path, left) in waiting {
            match vault.hash_if_any(&path) {
                Ok(now) if now == left => as_left.insert(path),
                Ok(_) => changed.insert(path),
                // It stays on the list until it can be read again.
                Err(_) => false,
            };
        }
        (as_left, changed)
    }

    /// Returns what the list said of each path before.
    pub(super) fn add(&self, left: &[Left]) -> Vec<Noted> {
        let _one_at_a_time = CHANGING.lock().unpoisoned();
        let known = self.read();
        let named = left
            .iter()
            .filter_map(|left| Some((VaultPath::file(&left.path).ok()?, left.hash.clone())));
        let named: Waiting = named.collect();
        disk::append(&self.0, lines(&named).as_bytes()).unwrap_or_else(warn);
        named
            .into_keys()
            .map(|path| Noted { before: known.get(&path).cloned(), path: path.as_str().to_owned() })
            .collect()
    }

    /// Takes back what [`Uncommitted::add`] has added.
    pub(super) fn take_back(&self, noted: &[Noted]) {
        let _one_at_a_time = CHANGING.lock().unpoisoned();
        let mut list = self.read();
        for Noted { path, before } in noted {
            let Ok(path) = VaultPath::file(path) else { continue };
            match before {
                Some(before) => list.insert(path, before.clone()),
                None => list.remove(&path),
            };
        }
        self.replace(&list);
    }

    pub(super) fn remove(&self, paths: &BTreeSet<VaultPath>) {
        let _one_at_a_time = CHANGING.lock().unpoisoned();
        let mut list = self.read();
        list.retain(|path, _| !paths.contains(path));
        self.replace(&list);
    }

    fn replace(&self, list: &Waiting) {
        match lines(list).as_str() {
            "" => disk::discard(&self.0),
            left => disk::replace(&self.0, left.as_bytes(), disk::Mode::Private, |_| Ok(()))
                .unwrap_or_else(warn),
        }
    }
}

/// What files are now.
pub(super) fn left_now(paths: &BTreeSet<VaultPath>, vault: &Vault) -> Vec<Left> {
    let left = |path: &VaultPath| {
        Some(Left { path: path.as_str().to_owned(), hash: vault.hash_if_any(path).ok()? })
    };
    paths.iter().filter_map(left).collect()
}

/// Each after a line feed: a full disk may have left half a line, which the next one must not
/// continue.
fn lines(list: &Waiting) -> String {
    list.iter()
        .map(|(path, hash)| format!("\n{} {}", hash.as_deref().unwrap_or(GONE), path.as_str()))
        .collect()
}

fn warn(error: io::Error) {
    log::warn!("git: {NAME}: {}", error.kind());
}
