//! One look at the whole vault: every served file with its stamp.

use super::entry::Stamp;
use super::jail::Jail;
use crate::disk;
use crate::limits;
use std::collections::HashSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Files: path below the root and stamp, in no particular order.
    pub(super) files: Vec<(String, Stamp)>,
    /// Folders and files that could not be looked at for another reason than being gone; what was known of them still holds.
    pub(super) unreadable: Vec<(String, io::ErrorKind)>,
}

/// What a directory entry is to us.
#[derive(Debug)]
pub(super) enum Found {
    File(Metadata),
    /// A folder, its real place, and whether a link led there.
    Folder {
        place: PathBuf,
        linked: bool,
    },
}

/// Walks the vault. With `clean`, leftovers of crashed writes are removed on the way.
///
/// # Errors
/// Only when the root itself cannot be read.
pub(super) fn walk(jail: &Jail, clean: bool) -> io::Result<Walk> {
    let mut found = Walk::default();
    let mut linked_places = HashSet::new();
    let mut open = vec![(String::new(), jail.root().to_path_buf(), 0_usize)];
    while let Some((below, place, depth)) = open.pop() {
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if below.is_empty() => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                found.unreadable.push((below, error.kind()));
                continue;
            }
        };
        for entry in entries {
            // What cannot be looked at is not gone.
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if below.is_empty() => return Err(error),
                Err(error) => {
                    found.unreadable.push((below.clone(), error.kind()));
                    break;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                log::debug!("a name in {below:?} is not UTF-8 and is not served");
                continue;
            };
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if clean && is_file && disk::is_temporary(name) && disk::remove_leftover(&entry.path()) {
                log::info!("removed an unfinished write of an earlier run in {below:?}");
            }
            let kind = classify(jail, &entry, name);
            if matches!(kind, Ok(None)) {
                continue;
            }
            let mut path = String::with_capacity(below.len() + 1 + name.len());
            if !below.is_empty() {
                path.push_str(&below);
                path.push('/');
            }
            path.push_str(name);
            if path.len() > limits::PATH_BYTES {
                continue;
            }
            let kind = match kind {
                Ok(Some(kind)) => kind,
                Ok(None) => continue,
                Err(kind) => {
                    found.unreadable.push((path, kind));
                    continue;
                }
            };
            match kind {
                Found::File(_) if found.files.len() >= limits::FILES => {
                    log::warn!("more than {} files; the rest is not served", limits::FILES);
                    return Ok(found);
                }
                Found::File(metadata) => found.files.push((path, Stamp::of(&metadata))),
                // Links may form circles, and many of them many ways: each place is entered once by a link, and never
                // below itself.
                Found::Folder { place: inner, linked } => {
                    let circle = linked && (place.starts_with(&inner) || !linked_places.insert(inner.clone()));
                    if !circle && depth < limits::DEPTH {
                        open.push((path, inner, depth + 1));
                    }
                }
            }
        }
    }
    Ok(found)
}

/// What an entry of a folder is, if it is served: not hidden, a regular file or folder, or a link that ends at one
/// inside the vault (rules 2 and 3 of the vault).
///
/// # Errors
/// Why it cannot be told, other than that it is gone.
pub(super) fn classify(jail: &Jail, entry: &DirEntry, name: &str) -> Result<Option<Found>, io::ErrorKind> {
    let unless_gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
        kind => Err(kind),
    };
    let bytes = name.as_bytes();
    let odd = bytes.iter().any(|&byte| byte < 0x20 || byte == b'\\' || byte == 0x7f);
    if bytes.first() == Some(&b'.') || odd || !bytes.is_ascii() && name.chars().any(char::is_control) {
        return Ok(None);
    }
    let kind = match entry.file_type() {
        Ok(kind) => kind,
        Err(error) => return unless_gone(error),
    };
    if kind.is_dir() {
        return Ok(Some(Found::Folder { place: entry.path(), linked: false }));
    }
    if kind.is_file() {
        return entry.metadata().map(|metadata| Some(Found::File(metadata))).or_else(unless_gone);
    }
    let followed = if kind.is_symlink() { jail.follow(&entry.path()) } else { None };
    let Some(place) = followed else { return Ok(None) };
    let found = match fs::metadata(&place) {
        Ok(metadata) if metadata.is_dir() => Found::Folder { place, linked: true },
        Ok(metadata) if metadata.is_file() => Found::File(metadata),
        Ok(_) => return Ok(None),
        Err(error) => return unless_gone(error),
    };
    Ok(Some(found))
}

/// Reads a file, at most `max` bytes; its stamp, and whether it stayed the same while it was read.
pub(super) fn read_stamped(place: &Path, max: u64) -> io::Result<(Vec<u8>, Stamp, bool)> {
    use std::io::Read;
    let mut file = fs::File::open(place)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::with_capacity(metadata.size().min(max) as usize);
    (&mut file).take(max).read_to_end(&mut bytes)?;
    let after = Stamp::of(&file.metadata()?);
    Ok((bytes, after, Stamp::of(&metadata) == after))
}
