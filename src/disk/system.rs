//! Files on Linux and macOS.

use crate::slice::Part;
use rustix::fs::{Access, CWD, OFlags, RenameFlags, XattrFlags, access, renameat_with};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Bytes of the names of a file's extended attributes, and of the value of each: Linux's own limit.
const ATTRIBUTE_BYTES: usize = 64 * 1024;

/// A folder that is held open. A path below [`Folder::path`] leads into this folder, whatever
/// becomes of the names above it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Keeps `path` valid.
    _handle: Option<OwnedFd>,
}

/// Whether an error says that the disk itself fails.
pub fn is_broken(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Whether an error says that a name is a symbolic link, where none is followed.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

impl Folder {
    /// Opens the folder `below` of `root`. No part of `below` may be a symbolic link or lead out of
    /// `root`: `openat2` refuses that (Linux 5.6). Where there is no `openat2`, or no `/proc` to
    /// name an open folder by, each name is looked at, and the folder is not held open.
    ///
    /// # Errors
    /// What the disk says; for a link [`is_link`].
    pub fn open(root: &Path, below: &Path) -> io::Result<Folder> {
        #[cfg(target_os = "linux")]
        if let Some(folder) = Folder::hold(root, below)? {
            return Ok(folder);
        }
        let mut path = root.to_path_buf();
        for name in below {
            path.push(name);
            let found = path.symlink_metadata()?;
            if found.is_symlink() {
                return Err(Errno::LOOP.into());
            }
            if !found.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(Folder { path, _handle: None })
    }

    #[cfg(target_os = "linux")]
    fn hold(root: &Path, below: &Path) -> io::Result<Option<Folder>> {
        use rustix::fs::{Mode, ResolveFlags, openat, openat2};
        use std::os::fd::AsRawFd;
        static HAS_PROC_FD: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        if !HAS_PROC_FD.get_or_init(|| Path::new("/proc/self/fd").is_dir()) {
            return Ok(None);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let top = openat(CWD, root, flags, Mode::empty())?;
        let handle = match openat2(
            &top,
            if below.as_os_str().is_empty() { Path::new(".") } else { below },
            flags,
            Mode::empty(),
            resolve,
        ) {
            Err(Errno::NOSYS | Errno::PERM) => return Ok(None),
            other => other?,
        };
        let path = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        Ok(Some(Folder { path, _handle: Some(handle) }))
    }

    /// A path to it, for as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Exchanges the names of two files.
///
/// # Errors
/// What the disk says; `Unsupported` where the file system cannot do that.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        other => Ok(other?),
    }
}

/// Renames a file to an unused name.
///
/// # Errors
/// What the disk says; `AlreadyExists`.
pub fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports NOREPLACE; there the name is checked first.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_ok() => {
            Err(io::ErrorKind::AlreadyExists.into())
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => std::fs::rename(from, to),
        // The same name in another case, on a case-insensitive file system.
        Err(Errno::EXIST) if is_same_file(from, to) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// Whether two names are one file without hard links, such as names that differ in case on a
/// case-insensitive file system.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let found = one.symlink_metadata().ok().zip(other.symlink_metadata().ok());
    found.is_some_and(|(one, other)| {
        identity(&one) == identity(&other) && (one.is_dir() || one.nlink() == 1)
    })
}

/// Device and inode.
pub fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Modification time, and status change time, which no program can set: nanoseconds since 1970,
/// saturating (the years 1677 to 2262).
pub fn times(found: &Metadata) -> (i64, i64) {
    let of = |seconds: i64, nanoseconds: i64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
    };
    (of(found.mtime(), found.mtime_nsec()), of(found.ctime(), found.ctime_nsec()))
}

/// Gives a new file these permission bits, less the umask.
pub fn with_mode(options: &mut OpenOptions, bits: u32) -> &mut OpenOptions {
    options.mode(bits)
}

/// Creates a folder for secrets, mode 0700, with its missing parents.
///
/// # Errors
/// What the disk says; a folder that exists already is no error.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Sets the permission bits of a file.
///
/// # Errors
/// What the disk says.
pub fn set_mode(file: &Path, bits: u32) -> io::Result<()> {
    std::fs::set_permissions(file, Permissions::from_mode(bits & 0o7777))
}

/// Copies owner, group, permission bits and extended attributes of `target`, which is `old`, to the
/// file that is to replace it, which is `new` so far.
///
/// # Errors
/// What the disk says of the permission bits.
pub fn copy_metadata(file: &File, new: &Metadata, old: &Metadata, target: &Path) -> io::Result<()> {
    // The sync program may run as another user, and must still be able to write its note. Only root
    // may give a file away; a group that this user is a member of can always be kept.
    if new.gid() != old.gid() {
        let _ = fchown(file, None, Some(old.gid()));
    }
    if new.uid() != old.uid() {
        let _ = fchown(file, Some(old.uid()), None);
    }
    // The access control list first: in a file with one, the group bits are its mask, and without
    // it they would give the group rights that it did not have.
    let bits = if copy_attributes(target, file) { 0o7777 } else { 0o7707 };
    file.set_permissions(Permissions::from_mode(old.mode() & bits))
}

/// Makes a file executable, or not, by all who may read it.
///
/// # Errors
/// What the disk says.
pub fn set_executable(file: &File, is_executable: bool) -> io::Result<()> {
    let bits = file.metadata()?.mode() & 0o7777;
    let runnable = (bits & 0o444) >> 2;
    file.set_permissions(Permissions::from_mode(if is_executable {
        bits | runnable
    } else {
        bits & !0o111
    }))
}

/// Copies the extended attributes that people and their programs set: tags, the state of a sync
/// program, the access control list. Returns whether the list, if there is one, was copied; others
/// that cannot be set are skipped.
fn copy_attributes(from: &Path, to: &File) -> bool {
    const ACL: &[u8] = b"system.posix_acl_access";
    let mut names = vec![0; ATTRIBUTE_BYTES];
    let Ok(length) = rustix::fs::listxattr(from, &mut names) else { return true };
    let mut value = vec![0; if length == 0 { 0 } else { ATTRIBUTE_BYTES }];
    let mut is_acl_copied = true;
    for name in names.part(..length).split(|&byte| byte == 0) {
        // A program's capabilities (security.capability) must not pass to its next version.
        if name != ACL && name != b"security.selinux" && !name.starts_with(b"user.") {
            continue;
        }
        let read = rustix::fs::getxattr(from, name, &mut value);
        let put = read.and_then(|length| {
            rustix::fs::fsetxattr(to, name, value.part(..length), XattrFlags::empty())
        });
        is_acl_copied &= name != ACL || put.is_ok();
    }
    is_acl_copied
}

/// Opens a file for reading, without following a symbolic link or waiting for a named pipe.
///
/// # Errors
/// What the disk says.
pub fn open_plain(file: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file)
}

/// Whether permissions allow this process to create files in a folder.
pub fn may_write_in(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Flushes the names in a folder: what was created, renamed or removed in it survives a power cut.
///
/// # Errors
/// What the disk says.
pub fn flush_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some network and FUSE file systems cannot flush a folder; they promise nothing more than
        // rename gives.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        other => other,
    }
}
