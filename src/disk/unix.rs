//! Files on Linux and macOS.

use crate::limits;
use crate::slice::Part;
use rustix::fs::{Access, CWD, OFlags, RenameFlags, XattrFlags, access, renameat_with};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// A folder that is held open. A path below [`Folder::path`] leads into this folder, whatever becomes of the names above it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: Option<OwnedFd>,
}

impl Folder {
    /// Opens the folder `below` of `root`. No part of `below` may be a symbolic link or lead out of `root`: `openat2` refuses
    /// that (Linux 5.6). Where there is no `openat2`, or no `/proc` to name an open folder by, it is the plain path.
    ///
    /// # Errors
    /// What the disk says; `ELOOP` for a link.
    pub fn open(root: &Path, below: &Path) -> io::Result<Folder> {
        #[cfg(target_os = "linux")]
        if let Some(folder) = Folder::hold(root, below)? {
            return Ok(folder);
        }
        Ok(Folder { path: root.join(below), handle: None })
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
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let top = openat(CWD, root, flags, Mode::empty())?;
        let handle = match openat2(&top, if below.as_os_str().is_empty() { Path::new(".") } else { below }, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => return Ok(None),
            other => other?,
        };
        Ok(Some(Folder { path: PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd())), handle: Some(handle) }))
    }

    /// Whether it is held open, and not just a path that was not looked at.
    pub fn is_held(&self) -> bool {
        self.handle.is_some()
    }

    /// A path to it, for as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A path without links.
///
/// # Errors
/// What the disk says.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Whether an error says that a name on the path is a link, or was replaced while it was followed.
pub fn is_link_error(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::XDEV | Errno::AGAIN))
}

/// Exchanges the names of two files; false where the file system cannot do that.
///
/// # Errors
/// What the disk says.
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}

/// Renames a file to a name that nothing has.
///
/// # Errors
/// What the disk says; `AlreadyExists`.
pub fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports NOREPLACE; there the name is checked first.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => std::fs::rename(from, to),
        // A name in another case, where the file system takes both for the same.
        Err(Errno::EXIST) if is_same_file(from, to) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// Whether two names are one file without hard links, as names in two cases are where the file system does not tell these apart.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let found = one.symlink_metadata().ok().zip(other.symlink_metadata().ok());
    found.is_some_and(|(one, other)| identity(&one) == identity(&other) && (one.is_dir() || one.nlink() == 1))
}

/// Device and inode.
pub fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// The times of the last change of the bytes, and of anything about the file, which no program can set: nanoseconds since 1970, as
/// far as they reach (the years 1677 to 2262).
pub fn times(found: &Metadata) -> (i64, i64) {
    let of = |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    (of(found.mtime(), found.mtime_nsec()), of(found.ctime(), found.ctime_nsec()))
}

/// Has a new file get these permission bits, less the umask.
pub fn with_mode(options: &mut OpenOptions, bits: u32) -> &mut OpenOptions {
    options.mode(bits)
}

/// Makes a folder for secrets, mode 0700, with the folders above it.
///
/// # Errors
/// What the disk says; a folder that exists already is none.
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

/// Gives a new file, before it replaces `target`, what that has besides its bytes: owner, group, permission bits, extended attributes.
///
/// # Errors
/// What the disk says of the permission bits.
pub fn copy_metadata(file: &File, old: &Metadata, target: &Path) -> io::Result<()> {
    // The sync program may run as another user, and has to be able to write its note again. Only root may give a
    // file away; a group one is a member of may always be kept.
    let _ = fchown(file, None, Some(old.gid()));
    let _ = fchown(file, Some(old.uid()), None);
    // The list first: the group's bits of a file that has one are the widest right in it, and without it they would let the
    // group do what it could not.
    let bits = if copy_attributes(target, file) { 0o7777 } else { 0o7707 };
    file.set_permissions(Permissions::from_mode(old.mode() & bits))
}

/// Makes a file executable, or not, by all who may read it.
///
/// # Errors
/// What the disk says.
pub fn set_executable(file: &File, is_program: bool) -> io::Result<()> {
    let bits = file.metadata()?.mode() & 0o7777;
    let runnable = (bits & 0o444) >> 2;
    file.set_permissions(Permissions::from_mode(if is_program { bits | runnable } else { bits & !0o111 }))
}

/// Gives a file the extended attributes of another that people and their programs set: tags, what a sync program has noted,
/// the access control list. Whether the list, if there is one, is among them; of the others what cannot be set stays away.
fn copy_attributes(from: &Path, to: &File) -> bool {
    const LIST: &[u8] = b"system.posix_acl_access";
    let mut names = vec![0; limits::ATTRIBUTE_BYTES];
    let Ok(length) = rustix::fs::listxattr(from, &mut names) else { return true };
    let mut value = vec![0; if length == 0 { 0 } else { limits::ATTRIBUTE_BYTES }];
    let mut is_acl_copied = true;
    for name in names.part(..length).split(|&byte| byte == 0) {
        // What a program may do by an attribute (security.capability) is not for its next version.
        if name != LIST && name != b"security.selinux" && !name.starts_with(b"user.") {
            continue;
        }
        let read = rustix::fs::getxattr(from, name, &mut value);
        let put = read.and_then(|length| rustix::fs::fsetxattr(to, name, value.part(..length), XattrFlags::empty()));
        is_acl_copied &= name != LIST || put.is_ok();
    }
    is_acl_copied
}

/// Opens a file for reading; neither a symbolic link is followed nor a named pipe waited for.
///
/// # Errors
/// What the disk says.
pub fn open_plain(file: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file)
}

/// Whether this process may make files in a folder, as far as permissions say.
pub fn may_write_in(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Opens a folder, for [`flush`].
///
/// # Errors
/// What the disk says.
pub fn open_folder(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Flushes the names in a folder to the disk.
///
/// # Errors
/// What the disk says.
pub fn flush(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some network and FUSE file systems cannot flush a folder; they promise nothing more than rename gives.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}
