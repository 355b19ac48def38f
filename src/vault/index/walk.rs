//! Walking the vault or one of its folders: every served file with its stamp.

use crate::vault::entry::Stamp;
use crate::vault::error::{description, warn_once};
use crate::vault::index::Index;
use crate::vault::jail::Jail;
use crate::vault::path::{is_hidden, is_odd, joined};
use crate::vault::spelling::has_composed_twin;
use crate::{clock, disk, limits};
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes at the start of a file with an unknown extension that decide whether it is text.
const SNIFFED_BYTES: u64 = 1024;
/// How long a file that has just become empty is read again: apps that save in place were seen to
/// leave it empty for 5 to 50 ms.
const EMPTIED_PATIENCE: Duration = Duration::from_millis(250);
/// How often.
const EMPTIED_POLL: Duration = Duration::from_millis(5);

/// The kind of a served directory entry.
#[derive(Debug)]
pub(crate) enum Kind {
    File(Metadata),
    Folder,
}

/// A folder to be listed.
#[derive(Debug)]
struct Folder {
    /// Its path below the root.
    below: String,
    on_disk: PathBuf,
    depth: usize,
}

/// A walk.
pub(crate) struct Walk<'a> {
    pub(crate) index: &'a Index,
    /// Whether to remove leftovers of crashed writes.
    pub(crate) clean: bool,
    /// Called for each file, by its path below the root.
    pub(crate) see: &'a mut dyn FnMut(&str, Stamp),
}

impl Walk<'_> {
    /// Walks the folder at `path` and watches its folders for changes; the empty path means the
    /// whole vault.
    ///
    /// # Errors
    /// Only if the root itself cannot be read.
    pub(crate) fn walk_folder(&mut self, path: &str) -> io::Result<()> {
        let depth = path.split('/').filter(|name| !name.is_empty()).count();
        let on_disk = self.index.jail.absolute(path);
        let mut open = vec![Folder { below: path.to_owned(), on_disk, depth }];
        while let Some(folder) = open.pop() {
            if let Some(events) = self.index.events()
                && let Err(why) = events.watch(&folder.below, &folder.on_disk)
            {
                self.index.disable_events(&why);
            }
            let entries = match fs::read_dir(&folder.on_disk) {
                Err(error) if folder.below.is_empty() => return Err(error),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    warn(&folder.below, &error);
                    continue;
                }
                Ok(entries) => entries,
            };
            for entry in entries {
                match entry {
                    Ok(entry) => open.extend(self.look(&folder, &entry)),
                    Err(error) if folder.below.is_empty() => return Err(error),
                    Err(error) => warn(&folder.below, &error),
                }
            }
        }
        Ok(())
    }

    /// Handles an entry of a folder. Returns it if it is a folder to walk.
    fn look(&mut self, folder: &Folder, entry: &DirEntry) -> Option<Folder> {
        let index = self.index;
        let skip = |why: &str| {
            warn_once("names", format!("{:?} has {why}; that is not served", folder.below))
        };
        let (name, kind) = (entry.file_name(), entry.file_type().ok());
        let Some(name) = name.to_str() else {
            skip("a name that is not UTF-8");
            return None;
        };
        let is_file = kind.is_some_and(|kind| kind.is_file());
        if self.clean && is_file && disk::is_temporary(name) && disk::remove_leftover(&entry.path())
        {
            log::info!("removed an unfinished write from an earlier run in {:?}", folder.below);
        }
        let path = joined(&folder.below, name);
        match classify(&index.jail, &folder.on_disk, &path, entry, name) {
            Ok(None) if is_odd(name) && !is_hidden(name) => {
                skip("a name with a control character or a backslash")
            }
            Ok(None) if has_composed_twin(&folder.on_disk, name) => {
                skip("two names that differ only in their Unicode form, of which one")
            }
            Ok(None) => {}
            _ if path.len() > limits::PATH_BYTES => skip("a path that is too long"),
            Err(error) => warn(&path, &error),
            Ok(Some(Kind::File(metadata))) => {
                index.jail.spellings.learn(&path, name);
                (self.see)(&path, Stamp::of(&metadata));
            }
            Ok(Some(Kind::Folder)) if folder.depth >= limits::DEPTH => {
                skip("folders nested too deeply")
            }
            Ok(Some(Kind::Folder)) => {
                return Some(Folder {
                    below: path,
                    on_disk: entry.path(),
                    depth: folder.depth + 1,
                });
            }
        }
        None
    }
}

fn warn(path: &str, error: &io::Error) {
    warn_once("unreadable files", format!("{path:?} cannot be read: {}", description(error)));
}

/// What a directory entry is, if it is served: not hidden, and a regular file or a folder (rules 2
/// and 3 of the vault).
///
/// # Errors
/// Why it cannot be read, unless it no longer exists.
pub(crate) fn classify(
    jail: &Jail,
    folder: &Path,
    path: &str,
    entry: &DirEntry,
    name: &str,
) -> io::Result<Option<Kind>> {
    let unless_gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
        _ => Err(error),
    };
    if is_hidden(name) || is_odd(name) || !jail.shows(path) || has_composed_twin(folder, name) {
        return Ok(None);
    }
    let kind = match entry.file_type() {
        Ok(kind) => kind,
        Err(error) => return unless_gone(error),
    };
    if kind.is_dir() {
        return Ok(Some(Kind::Folder));
    }
    if kind.is_file() {
        return entry.metadata().map(|metadata| Some(Kind::File(metadata))).or_else(unless_gone);
    }
    Ok(None)
}

/// Whether a file of unknown type looks like text: its first bytes are UTF-8 without a NUL.
pub(crate) fn looks_like_text(on_disk: &Path) -> bool {
    let Ok(StampedBytes { bytes, .. }) = read_stamped(on_disk, SNIFFED_BYTES) else {
        return false;
    };
    // The last character may be cut.
    let is_cut = |error: std::str::Utf8Error| {
        error.error_len().is_none() && bytes.len() as u64 == SNIFFED_BYTES
    };
    std::str::from_utf8(&bytes).map_or_else(is_cut, |_| true) && memchr::memchr(0, &bytes).is_none()
}

/// What was read of a file.
#[derive(Debug)]
pub(crate) struct StampedBytes {
    pub(crate) bytes: Vec<u8>,
    /// The file's stamp after it was read.
    pub(crate) stamp: Stamp,
    /// Whether the file stayed the same while it was read.
    pub(crate) is_stable: bool,
}

/// Reads at most `max` bytes of a file. Does not follow links. A file that has just become empty is
/// read again for a while: an app that saves in place truncates it first, and what it writes comes
/// a moment later.
pub(crate) fn read_stamped(on_disk: &Path, max: u64) -> io::Result<StampedBytes> {
    let mut read = read_once(on_disk, max)?;
    while read.bytes.is_empty() && is_being_saved(on_disk) {
        std::thread::sleep(EMPTIED_POLL);
        read = read_once(on_disk, max)?;
    }
    Ok(read)
}

/// Whether a file that was read as empty has text by now, or is an older one that was emptied
/// within [`EMPTIED_PATIENCE`].
fn is_being_saved(on_disk: &Path) -> bool {
    let is_recent = |time: SystemTime| {
        clock::system().duration_since(time).is_ok_and(|age| age < EMPTIED_PATIENCE)
    };
    on_disk.symlink_metadata().is_ok_and(|found| {
        let was_emptied = || {
            found.modified().is_ok_and(is_recent) && found.created().is_ok_and(|at| !is_recent(at))
        };
        found.is_file() && (found.len() > 0 || was_emptied())
    })
}

fn read_once(on_disk: &Path, max: u64) -> io::Result<StampedBytes> {
    let file = disk::open_plain(on_disk)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let before = Stamp::of(&metadata);
    let mut bytes = Vec::with_capacity(before.size.saturating_add(1).min(max) as usize);
    (&file).take(max).read_to_end(&mut bytes)?;
    let after = Stamp::of(&file.metadata()?);
    let length = bytes.len() as u64;
    // A read shorter than the size, which did not change, is incomplete: an edit would cut off the
    // rest.
    if after == before && length < before.size.min(max) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its size"));
    }
    Ok(StampedBytes {
        bytes,
        stamp: after,
        is_stable: after == before && length == before.size.min(max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Also not when the program writes between the read and the look at why nothing was read.
    #[test]
    fn a_file_that_is_saved_in_place_again_and_again_is_never_read_empty() {
        let folder = std::env::temp_dir().join(crate::secret::new_id());
        disk::create_folder(&folder).unwrap();
        let file = folder.join("note.md");
        disk::write_new(&file, b"kept").unwrap();
        std::thread::sleep(EMPTIED_PATIENCE * 2);
        let save = || {
            OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(&file)
                .unwrap()
                .write_all(b"kept")
                .unwrap()
        };
        // The kernel sets the size a moment before the time: only from the second save on, the time
        // is recent in that moment too.
        save();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    save();
                }
            });
            let empty = (0..1000)
                .filter(|_| read_stamped(&file, 99).is_ok_and(|read| read.bytes.is_empty()))
                .count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(empty, 0, "of 1,000 reads");
        });
        disk::remove_own_folder(&folder).unwrap();
    }
}
