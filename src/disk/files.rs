//! This program's own files and folders, and reading with a limit.

use super::system::{flush_folder, open_plain, with_mode};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

/// Opens a file of our own for appending; a missing one is created, accessible to its owner only.
///
/// # Errors
/// What the disk says.
pub fn open_to_append(file: &Path) -> io::Result<File> {
    with_mode(OpenOptions::new().append(true).create(true), 0o600).open(file)
}

/// Appends bytes to a private file, created if missing; a power cut may take them back.
///
/// # Errors
/// What the disk says; some of the bytes may be written.
pub fn append(file: &Path, bytes: &[u8]) -> io::Result<()> {
    open_to_append(file)?.write_all(bytes)
}

/// Appends bytes to an open file of `length` bytes; when this returns, they survive a power cut.
///
/// # Errors
/// What the disk says; then none of the bytes stay.
pub fn append_durably(file: &mut File, length: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes).and_then(|()| file.sync_data()).inspect_err(|_| {
        let _ = file.set_len(length);
    })
}

/// Writes a new file, readable by its owner alone; when this returns, its bytes survive a power
/// cut.
///
/// # Errors
/// What the disk says; `AlreadyExists`. A part of a file is removed.
pub fn write_new_durably(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut open = new_private_file(file)?;
    append_durably(&mut open, 0, bytes).inspect_err(|_| discard(file))
}

/// Reads a file of at most `max` bytes; takes no more memory, whatever the reported size.
///
/// # Errors
/// What the disk says; `FileTooLarge` for a longer one.
pub fn read_at_most(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_all(File::open(file)?, max)
}

/// Reads the last `max` bytes of a file, or all of a shorter one.
///
/// # Errors
/// What the disk says.
pub fn read_end(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let start = file.metadata()?.len().saturating_sub(max);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Turns [`io::ErrorKind::NotFound`] into `None`.
///
/// # Errors
/// Any other error.
pub fn none_if_missing<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Removes a file of our own that is not needed any more, if it exists.
pub fn discard(file: &Path) {
    let _ = std::fs::remove_file(file);
}

/// Creates a folder and flushes its parent, so that a file flushed into it later cannot lose its
/// folder in a power cut.
///
/// # Errors
/// What the disk says; a folder that exists already is no error.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        other => other?,
    }
    folder.parent().map_or(Ok(()), flush_folder)
}

/// Renames a file aside; for one that is damaged, or not ours to use.
///
/// # Errors
/// What the disk says.
pub fn set_aside(file: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(file, to)
}

/// Sets the modification time of a file of our own.
///
/// # Errors
/// What the disk says.
pub fn set_time(file: &Path, modified: SystemTime) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.set_modified(modified)
}

/// Removes a folder and its ancestors while they are empty, up to but excluding `top`.
pub fn remove_empty_folders(path: &Path, top: &Path) {
    for folder in path.ancestors().take_while(|folder| *folder != top && folder.starts_with(top)) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Removes the folders of a tree that contain no files, at most `depth` levels deep. Links are not
/// followed.
pub fn remove_folders_without_files(folder: &Path, depth: usize) {
    if depth == 0 || !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_folders_without_files(&entry.path(), depth - 1);
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// Reads a regular file of at most `max` bytes, without following a symbolic link or waiting for a
/// named pipe.
///
/// # Errors
/// What the disk says; `FileTooLarge` for a longer one, `InvalidInput` for anything but a regular
/// file.
pub fn read_plain(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    read_all(file, max)
}

fn read_all(file: File, max: u64) -> io::Result<Vec<u8>> {
    if file.metadata()?.len() > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Writes a new file into a folder of our own, readable by its owner alone. It is not flushed.
///
/// # Errors
/// What the disk says.
pub fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
    new_private_file(file)?.write_all(bytes)
}

fn new_private_file(file: &Path) -> io::Result<File> {
    with_mode(OpenOptions::new().write(true).create_new(true), 0o600).open(file)
}

/// Gives a regular file a second name, in a folder of our own.
///
/// # Errors
/// What the disk says, for example that the folders are on different file systems; `InvalidInput`
/// for anything but a regular file.
pub fn link(file: &Path, second: &Path) -> io::Result<()> {
    std::fs::hard_link(file, second)?;
    if second.symlink_metadata()?.is_file() {
        return Ok(());
    }
    discard(second);
    Err(io::ErrorKind::InvalidInput.into())
}

/// Removes a folder that this process created for itself, with its contents.
///
/// # Errors
/// What the disk says.
pub fn remove_own_folder(folder: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(folder)
}
