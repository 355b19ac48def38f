//! From a [`VaultPath`] to a place on disk that is inside the vault. The only file that decides
//! whether a place is.

use super::error::Error;
use super::path::VaultPath;
use crate::disk;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

const OUTSIDE: &str = "it is a link that does not lead to a served place inside the vault";

/// The vault's root, with every symbolic link on the way to it resolved.
#[derive(Debug)]
pub(super) struct Jail {
    root: PathBuf,
}

impl Jail {
    pub(super) fn new(root: &Path) -> io::Result<Jail> {
        let root = fs::canonicalize(root)?;
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Jail { root })
    }

    /// Which folder the root is at the moment, whatever it is called: device and inode.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        fs::metadata(&self.root).ok().map(|found| (found.dev(), found.ino()))
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The place of something that exists. Links are resolved and must end inside (rule 3 of the vault).
    pub(super) fn existing(&self, path: &VaultPath) -> Result<PathBuf, Error> {
        let wanted = self.root.join(path.as_str());
        match fs::canonicalize(&wanted) {
            Ok(place) => self.inside(place, path),
            Err(error) if is_absent(&error) => {
                if fs::symlink_metadata(&wanted).is_ok() {
                    return Err(Error::NotAllowed { path: path.as_str().into(), why: OUTSIDE });
                }
                Err(self.absent(path))
            }
            // A link that cannot be resolved, for example one of a circle, here or further up.
            Err(_) if wanted.ancestors().take_while(|above| *above != self.root).any(Path::is_symlink) => {
                Err(Error::NotAllowed { path: path.as_str().into(), why: OUTSIDE })
            }
            Err(error) => Err(Error::disk("open the file", path.as_str())(error)),
        }
    }

    /// The path as its names are on disk: a name that is not there, but is in another Unicode form, is that name. Models
    /// write NFC, and macOS wrote NFD; nobody can see the difference, and a second file beside the first helps nobody.
    pub(super) fn as_on_disk(&self, path: VaultPath) -> VaultPath {
        if path.as_str().is_ascii() {
            return path;
        }
        let mut place = self.root.clone();
        let mut known: Vec<String> = Vec::new();
        for segment in path.segments() {
            let name = if segment.is_ascii() || fs::symlink_metadata(place.join(segment)).is_ok() {
                segment.to_owned()
            } else {
                twin(&place, segment).unwrap_or_else(|| segment.to_owned())
            };
            place.push(&name);
            known.push(name);
        }
        VaultPath::known(&known.join("/"))
    }

    /// The place where a file is to be written; its folder exists afterwards. With `create_folders` missing folders are
    /// made, otherwise they are [`Error::NotFound`].
    pub(super) fn for_writing(&self, path: &VaultPath, create_folders: bool) -> Result<PathBuf, Error> {
        let folder = match self.existing(&path.parent()) {
            Err(Error::NotFound { .. }) if create_folders => self.create_folders(&path.parent())?,
            Err(Error::NotFound { .. }) => {
                let hint = "Its folder does not exist; set create_dirs to true to create it.".to_owned();
                return Err(Error::NotFound { path: path.as_str().into(), hint });
            }
            other => other?,
        };
        if !fs::metadata(&folder).map_err(Error::disk("write the file", path.as_str()))?.is_dir() {
            return Err(Error::NotAllowed { path: path.as_str().into(), why: "a name in it is a file, not a folder" });
        }
        let wanted = folder.join(path.name());
        match fs::symlink_metadata(&wanted) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(wanted),
            Err(error) => Err(Error::disk("write the file", path.as_str())(error)),
            Ok(_) => {
                let place = self.existing(path)?;
                let found = fs::metadata(&place).map_err(Error::disk("write the file", path.as_str()))?;
                if found.is_dir() {
                    return Err(Error::NotAllowed { path: path.as_str().into(), why: "it is a folder, not a file" });
                }
                if !found.is_file() {
                    return Err(Error::NotAllowed { path: path.as_str().into(), why: "it is not a regular file" });
                }
                Ok(place)
            }
        }
    }

    /// Of the folders on the way to a file, the last one that is there.
    pub(super) fn folder_that_is_there(&self, path: &VaultPath) -> PathBuf {
        let mut folder = path.parent();
        while !folder.is_root() && fs::symlink_metadata(self.root.join(folder.as_str())).is_err() {
            folder = folder.parent();
        }
        self.root.join(folder.as_str())
    }

    fn create_folders(&self, path: &VaultPath) -> Result<PathBuf, Error> {
        let mut folder = self.root.clone();
        let mut known = String::new();
        for segment in path.segments() {
            known = if known.is_empty() { segment.to_owned() } else { format!("{known}/{segment}") };
            match self.existing(&VaultPath::known(&known)) {
                Ok(place) => folder = place,
                Err(Error::NotFound { .. }) => {
                    folder = folder.join(segment);
                    disk::create_folder(&folder).map_err(|error| match error.kind() {
                        io::ErrorKind::NotADirectory => {
                            Error::NotAllowed { path: path.as_str().into(), why: "a name in it is a file, not a folder" }
                        }
                        _ => Error::disk("create the folder", path.as_str())(error),
                    })?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(folder)
    }

    /// Where a link found on a walk leads, if that is a served place inside.
    pub(super) fn follow(&self, link: &Path) -> Option<PathBuf> {
        fs::canonicalize(link).ok().filter(|place| self.serves(place))
    }

    fn inside(&self, place: PathBuf, path: &VaultPath) -> Result<PathBuf, Error> {
        if self.serves(&place) { Ok(place) } else { Err(Error::NotAllowed { path: path.as_str().into(), why: OUTSIDE }) }
    }

    /// Inside the root, and not hidden there either: a link must not be a way into `.obsidian`.
    fn serves(&self, place: &Path) -> bool {
        let hidden = |name: &OsStr| name.as_bytes().first() == Some(&b'.');
        place.strip_prefix(&self.root).is_ok_and(|below| !below.iter().any(hidden))
    }

    fn absent(&self, path: &VaultPath) -> Error {
        if self.root.is_dir() { Error::NotFound { path: path.as_str().into(), hint: String::new() } } else { Error::Unavailable }
    }
}

/// A name in this folder that is the same as `wanted` in composed form.
fn twin(folder: &Path, wanted: &str) -> Option<String> {
    let composed: String = wanted.nfc().collect();
    let names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(|name| !name.is_ascii() && name.nfc().eq(composed.chars()))
}

/// A name that is not there, or that goes on below something that is not a folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
