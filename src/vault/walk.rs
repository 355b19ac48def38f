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
    /// Folders that could not be read for another reason than being gone; what was known below them still holds.
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
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                log::debug!("a name in {below:?} is not UTF-8 and is not served");
                continue;
            };
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if clean && is_file && disk::is_temporary(name) && disk::remove_leftover(&entry.path()) {
                log::info!("removed an unfinished write of an earlier run in {below:?}");
            }
            let Some(kind) = classify(jail, &entry, name) else { continue };
            let mut path = String::with_capacity(below.len() + 1 + name.len());
            if !below.is_empty() {
                path.push_str(&below);
                path.push('/');
            }
            path.push_str(name);
            if path.len() > limits::PATH_BYTES {
                continue;
            }
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
pub(super) fn classify(jail: &Jail, entry: &DirEntry, name: &str) -> Option<Found> {
    let bytes = name.as_bytes();
    let odd = bytes.iter().any(|&byte| byte < 0x20 || byte == b'\\' || byte == 0x7f);
    if bytes.first() == Some(&b'.') || odd || !bytes.is_ascii() && name.chars().any(char::is_control) {
        return None;
    }
    let kind = entry.file_type().ok()?;
    if kind.is_dir() {
        return Some(Found::Folder { place: entry.path(), linked: false });
    }
    if kind.is_file() {
        return entry.metadata().ok().map(Found::File);
    }
    if !kind.is_symlink() {
        return None;
    }
    let place = jail.follow(&entry.path())?;
    let metadata = fs::metadata(&place).ok()?;
    if metadata.is_dir() {
        Some(Found::Folder { place, linked: true })
    } else if metadata.is_file() {
        Some(Found::File(metadata))
    } else {
        None
    }
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
