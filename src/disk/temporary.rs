//! Temporary files, each locked by the process that writes it, and the locks of this program.

use super::files::discard;
use super::system::{copy_metadata, identity, with_mode};
use crate::secret;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names tried for a temporary file: a starting instance of this program may remove the first one,
/// once per start.
const TEMPORARY_TRIES: usize = 16;

pub(super) const TEMPORARY_PREFIX: &str = ".vault-sync-mcp-";

const TEMPORARY_SUFFIX: &str = ".tmp";

/// A glob that matches the names of all our own files in a vault.
pub const OWN_NAMES: &str = ".vault-sync-mcp*";

/// Permission bits, owner and time of a file to be written.
#[derive(Debug, Clone, Copy)]
pub enum Mode<'a> {
    /// Read and write for all, less the process's umask: a new note, which replaces nothing.
    New,
    /// Readable and writable by the owner alone: secrets.
    Private,
    /// Those of the file that is replaced; its owner, group and extended attributes too, as far as
    /// the system lets us.
    Like(&'a Metadata),
}

/// Whether a name is that of a temporary file of [`crate::disk::replace()`].
pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX)
        .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX))
        .is_some_and(|id| id.len() == 32)
}

/// Opens a file to read and append, creating it if missing, and locks it for this process alone;
/// the lock ends when the file is dropped, or with the process. `None`: another process has it.
///
/// # Errors
/// What the disk says.
pub fn take_lock(path: &Path) -> io::Result<Option<File>> {
    Ok(take_lock_of(path)?.map(|(file, _)| file))
}

/// As [`take_lock`], with the file's length.
///
/// # Errors
/// As [`take_lock`].
pub fn take_lock_of(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file =
        with_mode(OpenOptions::new().create(true).read(true).append(true), 0o600).open(path)?;
    let (locked, found) = (file.try_lock(), file.metadata()?);
    match locked {
        // It may have been removed meanwhile: then another process could make and lock it anew.
        Ok(()) if found.nlink() > 0 => Ok(Some((file, found.len()))),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether an open file is still the one at `path`.
fn is_still_at(file: &File, path: &Path) -> bool {
    let same = |open: Metadata, named: Metadata| identity(&open) == identity(&named);
    file.metadata()
        .ok()
        .zip(std::fs::metadata(path).ok())
        .is_some_and(|(open, named)| same(open, named))
}

/// Removes a file that its creator held locked, as a temporary file is while it is written, if it
/// is no longer locked; returns whether it was removed.
pub fn remove_leftover(path: &Path) -> bool {
    // The file stays open, and so locked, until it is removed.
    File::open(path).is_ok_and(|file| {
        file.try_lock().is_ok() && is_still_at(&file, path) && std::fs::remove_file(path).is_ok()
    })
}

/// Checks that files can be written in a folder, by creating one and removing it.
///
/// # Errors
/// What the disk says.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    // Not an empty file: that can be created even on a full disk.
    let (probe, _) = write_temporary(folder, &[0; 4096], Mode::Private, folder)?;
    discard(&probe);
    Ok(())
}

/// An unused name for a temporary file in a folder.
pub(super) fn temporary_name(folder: &Path) -> PathBuf {
    folder.join(format!("{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}", secret::new_id()))
}

/// Makes a temporary file in a folder, and locks it.
fn new_temporary(folder: &Path, initial_bits: u32) -> io::Result<(PathBuf, File, Metadata)> {
    for _ in 0..TEMPORARY_TRIES {
        let path = temporary_name(folder);
        let file =
            with_mode(OpenOptions::new().write(true).create_new(true), initial_bits).open(&path)?;
        let (locked, found) = (file.try_lock(), file.metadata()?);
        match locked {
            Ok(()) if found.nlink() > 0 => return Ok((path, file, found)),
            // Not every network file system has locks; there a crash's leftover is removed by hand.
            Err(TryLockError::Error(_)) => return Ok((path, file, found)),
            // Before it was locked, a starting process took it for a leftover
            // ([`remove_leftover`]).
            Ok(()) | Err(TryLockError::WouldBlock) => {}
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Writes what is to become `target` into a temporary file.
pub(super) fn write_temporary(
    folder: &Path,
    bytes: &[u8],
    mode: Mode<'_>,
    target: &Path,
) -> io::Result<(PathBuf, File)> {
    // A secret must not be readable for a moment either, so the bits are right from the start.
    let initial_bits = match mode {
        Mode::New => 0o666,
        Mode::Private | Mode::Like(_) => 0o600,
    };
    let (temporary, file, found) = new_temporary(folder, initial_bits)?;
    fill(&file, &found, bytes, mode, target).inspect_err(|_| discard(&temporary))?;
    Ok((temporary, file))
}

fn fill(
    mut file: &File,
    found: &Metadata,
    bytes: &[u8],
    mode: Mode<'_>,
    target: &Path,
) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Mode::Like(old) = mode {
        copy_metadata(file, found, old, target)?;
    }
    file.sync_all()
}
