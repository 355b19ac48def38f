//! Resolves a [`VaultPath`] to a path on disk inside the vault. Only this file decides whether a
//! path is inside.

use super::error::Error;
use super::path::{VaultPath, composed, is_hidden};
use super::scope::{GrantedFolders, Hidden};
use super::spelling::{Spellings, has_composed_twin};
use crate::disk::{self, Folder};
use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

const ALIAS: &str = "it is another spelling of a name; list the folder to see how it is written";
const LINK: &str = "it is, or lies below, a symbolic link, which is not served; give the path that \
                    the link leads to";

/// The vault's root, with every symbolic link in its path resolved, and the part of it that the
/// caller may see.
#[derive(Debug, Clone)]
pub(crate) struct Jail {
    root: PathBuf,
    /// Whether the file system takes a name in another spelling. Not asked for again below: where
    /// something is hidden or limited by a grant, each folder is looked at.
    folds_names: bool,
    hidden: Arc<Hidden>,
    pub(crate) spellings: Arc<Spellings>,
    /// `None`: everything.
    pub(crate) folders: Option<Arc<GrantedFolders>>,
}

impl Jail {
    pub(crate) fn new(root: &Path, hidden: Arc<Hidden>) -> io::Result<Jail> {
        let root = root.canonicalize()?;
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut names =
            fs::read_dir(&root)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let folds_names = names.any(|name| has_other_spelling(&root, &name));
        Ok(Jail { root, folds_names, hidden, spellings: Arc::default(), folders: None })
    }

    /// The same for another caller.
    pub(crate) fn within(&self, folders: &Arc<GrantedFolders>) -> Jail {
        Jail { folders: Some(Arc::clone(folders)), ..self.clone() }
    }

    /// Whether nothing is hidden, and no grant limits the caller.
    pub(crate) fn is_everything(&self) -> bool {
        self.folders.is_none() && self.hidden.is_empty()
    }

    /// Whether the caller may see a path, if it exists on disk.
    pub(crate) fn shows(&self, path: &str) -> bool {
        let is_granted = |folders: &Arc<GrantedFolders>| {
            path.is_empty()
                || folders.may_read(path)
                || folders.is_above_granted(path, |folder| self.is_folder(folder.as_str()))
        };
        self.folders.as_ref().is_none_or(is_granted)
            && !self.hidden.hides(path, || self.is_folder(path))
    }

    /// Whether the caller's grant allows changing or creating a file.
    pub(crate) fn may_change(&self, path: &str) -> bool {
        self.folders.as_ref().is_none_or(|folders| folders.may_change(path))
            && !self.hidden.hides(path, || self.is_folder(path))
    }

    fn is_folder(&self, path: &str) -> bool {
        self.absolute(path).is_dir()
    }

    /// Whether a folder contains anything on disk that the owner hides or, with `all`, dotfiles and
    /// conflict copies, which move along with their folder but are not deleted with it: a client
    /// cannot know of them.
    pub(crate) fn has_hidden(&self, folder: &str, on_disk: &Path, all: bool, depth: usize) -> bool {
        if self.hidden.is_empty() && !all || depth == 0 {
            return false;
        }
        let entries = fs::read_dir(on_disk).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let Ok(name) = entry.file_name().into_string() else { return false };
            if !all && name.starts_with('.') || name == ".DS_Store" {
                return false;
            }
            let path = format!("{folder}/{}", composed(&name));
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            self.hidden.hides(&path, || is_folder)
                || all && (is_hidden(&name) || has_composed_twin(on_disk, &name))
                || is_folder && self.has_hidden(&path, &entry.path(), all, depth - 1)
        })
    }

    /// Device and inode of the folder that is currently at the root's path.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        fs::metadata(&self.root).ok().map(|found| disk::identity(&found))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file or folder that exists. Nothing else is served: no symbolic link, nothing
    /// below one, no named pipe (rule 3 of the vault).
    pub(crate) fn existing(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        self.look_up(path).map(|(on_disk, _)| on_disk)
    }

    /// As [`Jail::existing`], and what was found there.
    pub(crate) fn look_up(&self, path: &VaultPath) -> Result<(ResolvedPath, Metadata), Error> {
        if !self.shows(path.as_str()) {
            return Err(self.absent(path));
        }
        let spelled = self.spelled(path.as_str());
        self.refuse_alias(path, &spelled)?;
        let on_disk = self.on_disk(&spelled).map_err(|error| self.refusal(path, error))?;
        // The root is held open itself, under a link of /proc.
        let found = if path.is_root() { on_disk.metadata() } else { on_disk.symlink_metadata() };
        let found = found.map_err(|error| self.refusal(path, error))?;
        let kind = found.file_type();
        let why = match kind {
            _ if kind.is_file() || kind.is_dir() => return Ok((on_disk, found)),
            _ if kind.is_symlink() => LINK,
            _ => "it is neither a file nor a folder",
        };
        Err(Error::NotAllowed { path: path.as_str().into(), why })
    }

    /// What a path that cannot be looked up is.
    fn refusal(&self, path: &VaultPath, error: io::Error) -> Error {
        match error {
            error if is_absent(&error) => self.absent(path),
            error if disk::is_link(&error) => {
                Error::NotAllowed { path: path.as_str().into(), why: LINK }
            }
            error => Error::disk("open the file", path.as_str())(error),
        }
    }

    /// The path of a name, as it is spelled on disk, in a folder that is held open.
    fn on_disk(&self, spelled: &str) -> io::Result<ResolvedPath> {
        let (folder, name) = spelled.rsplit_once('/').unwrap_or(("", spelled));
        let folder = Folder::open(&self.root, Path::new(folder))?;
        let path = if name.is_empty() { folder.path().into() } else { folder.path().join(name) };
        Ok(ResolvedPath { path, folder })
    }

    /// A folder that exists, held open itself.
    pub(crate) fn folder(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        if !self.look_up(path)?.1.is_dir() {
            let why = "it is a file, not a folder";
            return Err(Error::NotAllowed { path: path.as_str().into(), why });
        }
        // This fails if it has become a link since.
        let folder = Folder::open(&self.root, Path::new(&*self.spelled(path.as_str())))
            .map_err(|error| self.refusal(path, error))?;
        Ok(ResolvedPath { path: folder.path().into(), folder })
    }

    /// The path on disk of a dotfile that no client may name: `.trash`, Obsidian's settings. `name`
    /// never comes from a client.
    pub(crate) fn own_or_obsidian_file(&self, name: &str) -> io::Result<ResolvedPath> {
        self.on_disk(name)
    }

    /// Refuses another spelling of a name: what is hidden or granted is decided by names, so a name
    /// counts only as its folder lists it. FAT, NTFS and SMB have short names, also for hidden
    /// files (`OBSIDI~1` is `.obsidian`); these, macOS and some folders of Linux take
    /// names in another case, or another Unicode form.
    fn refuse_alias(&self, path: &VaultPath, spelled: &str) -> Result<(), Error> {
        let mut above = self.root.clone();
        for name in spelled.split('/') {
            let may_be_alias = is_short_name(name)
                || (self.folds_names || !self.is_everything()) && has_other_spelling(&above, name);
            if may_be_alias && above.join(name).symlink_metadata().is_ok() {
                let mut names = fs::read_dir(&above)
                    .map_err(Error::disk("read the folder", path.as_str()))?
                    .flatten();
                let is_own = |listed: &str| composed(listed) == composed(name);
                if !names.any(|entry| entry.file_name().to_str().is_some_and(is_own)) {
                    return Err(Error::NotAllowed { path: path.as_str().into(), why: ALIAS });
                }
            }
            above.push(name);
        }
        Ok(())
    }

    /// A path as it is on disk.
    pub(crate) fn spelled<'a>(&self, path: &'a str) -> Cow<'a, str> {
        self.spellings.spelled(&self.root, path)
    }

    /// The absolute path of what is at a path, or would be.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        self.root.join(&*self.spelled(path))
    }

    /// The resolved path of a name to move something to; creates its folder if missing.
    pub(crate) fn new_name(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        Ok(self.created_folder(&path.parent())?.child(path.name()))
    }

    /// The nearest existing folder above a path that may not exist.
    pub(crate) fn deepest_existing_folder(&self, path: &VaultPath) -> PathBuf {
        let mut folder = path.parent();
        while !folder.is_root() && self.absolute(folder.as_str()).symlink_metadata().is_err() {
            folder = folder.parent();
        }
        self.absolute(folder.as_str())
    }

    /// A folder, created with its missing parents.
    fn created_folder(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        match self.folder(path) {
            Err(Error::NotFound { .. }) if !path.is_root() => {
                let on_disk = self.created_folder(&path.parent())?.child(path.name());
                disk::create_folder(&on_disk)
                    .map_err(Error::disk("create the folder", path.as_str()))?;
                self.folder(path)
            }
            other => other,
        }
    }

    fn absent(&self, path: &VaultPath) -> Error {
        if self.root.is_dir() {
            Error::NotFound { path: path.as_str().into(), hint: String::new() }
        } else {
            Error::Unavailable
        }
    }
}

/// A path on disk, in a folder that is held open; dereferences to [`Path`].
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    path: PathBuf,
    /// Keeps `path` valid: the folder itself, where [`Jail::folder`] has made this, else the one
    /// that has the name.
    folder: Folder,
}

impl ResolvedPath {
    /// The path of a name in this folder, which stays held open; only for what [`Jail::folder`] has
    /// made.
    fn child(self, name: &str) -> ResolvedPath {
        ResolvedPath { path: self.path.join(name), folder: self.folder }
    }
}

impl Deref for ResolvedPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// Whether a name may be the short form of another: a tilde and a digit.
fn is_short_name(name: &str) -> bool {
    name.as_bytes().windows(2).any(|pair| matches!(pair, [b'~', b'0'..=b'9']))
}

/// Whether a name in another case or Unicode form leads to the same file.
fn has_other_spelling(folder: &Path, name: &str) -> bool {
    let Ok(found) = fs::symlink_metadata(folder.join(name)) else { return false };
    let upper = name.to_uppercase();
    let others = [
        if upper == name { name.to_lowercase() } else { upper },
        name.nfc().collect(),
        name.nfd().collect(),
    ];
    let is_same = |other: &str| {
        fs::symlink_metadata(folder.join(other))
            .is_ok_and(|other| disk::identity(&other) == disk::identity(&found))
    };
    others.iter().any(|other| other != name && is_same(other))
}

/// A missing name, or a path through something that is not a folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_changed_may_be_read_and_folders_are_no_prefixes() {
        let folder = |path: &str| VaultPath::folder(path).unwrap();
        let folders =
            GrantedFolders { read: Some(vec![folder("Projects/A")]), write: vec![folder("Inbox")] };
        let jail = Jail {
            root: "/nowhere".into(),
            folds_names: false,
            hidden: Arc::default(),
            spellings: Arc::default(),
            folders: Some(Arc::new(folders)),
        };
        for (path, shows, may_change) in [
            ("Projects/A/x.md", true, false),
            ("Projects/A", true, false),
            ("Projects/AB/x.md", false, false),
            ("Inbox/x.md", true, true),
            ("Inbox 2/x.md", false, false),
            ("x.md", false, false),
            ("", true, false),
        ] {
            assert_eq!((jail.shows(path), jail.may_change(path)), (shows, may_change), "{path}");
        }
    }
}
