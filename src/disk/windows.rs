//! Files on Windows.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Lets a folder be opened, CreateFileW.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link itself, CreateFileW.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Units of 100 nanoseconds between 1601, the epoch of Windows, and 1970.
const TICKS_TO_1970: i64 = 116_444_736_000_000_000;

/// A folder by its path: it cannot be held.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn open(root: &Path, below: &Path) -> io::Result<Folder> {
        Ok(Folder(root.join(below)))
    }

    pub fn is_held(&self) -> bool {
        false
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// A path without links, without the `\\?\` that Windows puts before it.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    let real = std::fs::canonicalize(path)?;
    let plain = real
        .to_str()
        .and_then(|text| text.strip_prefix(r"\\?\"))
        .filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    Ok(plain.map(PathBuf::from).unwrap_or(real))
}

/// Not supported on Windows.
pub fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// By a hard link, which fails if the name is taken; a folder, and a change of case alone, by renaming.
pub fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() || is_same_file(from, to) {
        if to.symlink_metadata().is_ok() && !is_same_file(from, to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        return std::fs::rename(from, to);
    }
    std::fs::hard_link(from, to)?;
    std::fs::remove_file(from)
}

/// Whether two names are one file: both resolve to the name on the disk.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// Stable `std` does not give the file ID of Windows; the creation time has to do.
pub fn identity(found: &Metadata) -> (u64, u64) {
    (0, found.creation_time())
}

/// The last write time, used for both.
pub fn times(found: &Metadata) -> (i64, i64) {
    let written =
        found.last_write_time().cast_signed().saturating_sub(TICKS_TO_1970).saturating_mul(100);
    (written, written)
}

pub fn with_mode(options: &mut OpenOptions, _: u32) -> &mut OpenOptions {
    options
}

/// A user's own folder is private by inherited permissions.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub fn set_mode(file: &Path, bits: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(bits & 0o200 == 0);
    std::fs::set_permissions(file, permissions)
}

pub fn copy_metadata(_: &File, _: &Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

pub fn set_executable(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

/// A link is opened itself, and is not a regular file.
pub fn open_plain(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(file)
}

pub fn may_write_in(folder: &Path) -> bool {
    folder.is_dir()
}

pub fn open_folder(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder)
}

/// NTFS keeps names in its journal; a folder that is open for reading cannot be flushed.
pub fn flush(_: &File) -> io::Result<()> {
    Ok(())
}
