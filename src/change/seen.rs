//! A file as it was read for a change of it, and whether it still is.

use super::Changes;
use super::write::{check_size, refuse_read_only};
use crate::clock::{self, Deadline};
use crate::vault::entry::Stamp;
use crate::vault::error::Error;
use crate::vault::jail::ResolvedPath;
use crate::vault::path::VaultPath;
use crate::{disk, limits};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How often a file that may be incomplete is looked at again.
const AT_REST_POLL: Duration = Duration::from_millis(20);
/// The longest wait for a file that may be incomplete; one that is still being written, such as a log, is not
/// changed.
const REST_PATIENCE: Duration = Duration::from_secs(2);

/// A file as it was read for a change of it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) on_disk: ResolvedPath,
    pub(crate) metadata: Metadata,
    /// Open, and locked: while it is displaced, no start of this program takes it for a leftover.
    file: File,
}

impl Changes {
    /// Reads a file for a change of it, and gives its bytes, once no other program is writing it;
    /// `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Busy`] if it is written on and on; [`Error::NotAllowed`] for anything but a file,
    /// [`Error::ReadOnly`], [`Error::TooLarge`], or the disk's.
    pub(crate) fn see(&self, path: &VaultPath) -> Result<Option<(Seen, Vec<u8>)>, Error> {
        let patience = Deadline::after(REST_PATIENCE);
        patience.poll(AT_REST_POLL, || self.see_at_rest(path))?.ok_or(Error::Busy)
    }

    /// As [`Changes::see`]; `None` while it may be incomplete.
    #[expect(clippy::type_complexity, reason = "of two optional values one is about the time")]
    fn see_at_rest(&self, path: &VaultPath) -> Result<Option<Option<(Seen, Vec<u8>)>>, Error> {
        let Some((on_disk, found)) = Error::none_if_missing(self.vault.jail.look_up(path))? else {
            return Ok(Some(None));
        };
        let path_text = path.as_str();
        if found.is_dir() {
            let why = "it is a folder, not a file";
            return Err(Error::NotAllowed { path: path_text.into(), why });
        }
        refuse_read_only(&found, path)?;
        check_size(path, found.len())?;
        if self.may_be_incomplete(path, &found) {
            return Ok(None);
        }
        let failed = |error| Error::disk("read the file", path_text)(error);
        let mut file = disk::open_plain(&on_disk).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if Stamp::of(&metadata) != Stamp::of(&found) {
            return Ok(None);
        }
        // Not every file system has locks.
        let _ = file.try_lock_shared();
        let mut bytes = vec![0; metadata.len() as usize];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(failed(error)),
            Ok(()) => Ok(Some(Some((Seen { on_disk, metadata, file }, bytes)))),
        }
    }

    /// Whether a file was written so recently that more may follow. A file that we wrote is
    /// complete, and so is one that was written under another name and renamed, which changes its
    /// ctime but not its mtime; a program that writes in place sets both at once.
    fn may_be_incomplete(&self, path: &VaultPath, found: &Metadata) -> bool {
        let stamp = Stamp::of(found);
        let written_by_us = || {
            self.vault
                .view
                .get(path.as_str())
                .is_some_and(|known| known.stamp == stamp && known.written_by_us())
        };
        let (written, changed) = disk::times(found);
        let was_renamed = changed > written;
        stamp.is_younger_than(limits::AT_REST, clock::system()) && !was_renamed && !written_by_us()
    }
}

impl Seen {
    /// Whether the file at a path, its own or that which it was displaced to, is this one as it was
    /// seen, with these bytes.
    ///
    /// # Errors
    /// [`ErrorKind::ResourceBusy`] if not, or the disk's.
    pub(crate) fn check(&self, at: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let now = Stamp::of(&at.symlink_metadata()?);
        // A rename changes the ctime.
        let is_same = now.is_same_file_as(&Stamp::of(&self.metadata));
        // Two changes within one tick of the clock leave the same time.
        let has_same_bytes = || {
            let mut here = vec![0; bytes.len()];
            self.file.read_exact_at(&mut here, 0).is_ok() && here == bytes
        };
        if is_same && (!now.may_hide_a_change(clock::system()) || has_same_bytes()) {
            return Ok(());
        }
        Err(ErrorKind::ResourceBusy.into())
    }
}
