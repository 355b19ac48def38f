//! Changing files: a whole one, or one text in it. Atomic and durable. An edit is never made over a change that came in
//! between: the bytes are compared once more right before the rename, with the folder locked against our other processes, and those of
//! the displaced file right after it ([`disk::replace`] says what becomes of a text that another program saved in between).
//! Where the file system cannot exchange two names, the microseconds between the first of these and the rename are left for
//! another program.

use super::error::Error;
use super::jail::ResolvedPath;
use super::path::VaultPath;
use super::replace_text::{Replacement, replace_all, replace_once};
use super::versions::{Change, Did, hash, new_id};
use super::walk::read_stamped;
use super::{Stamp, Vault, count_lines, etag};
use crate::clock::{self, Deadline};
use crate::disk::{self, Mode};
use crate::limits;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

/// The outcome of [`Vault::write`].
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    /// The path as it is on disk.
    pub path: VaultPath,
    /// Whether the file is new.
    pub created: bool,
    /// Bytes.
    pub size: usize,
    /// Lines.
    pub total_lines: usize,
    /// The etag of what was written.
    pub etag: String,
    /// The kept version that was replaced.
    pub previous: Option<String>,
}

/// What a written file may replace.
#[derive(Debug, Clone, Copy)]
pub enum Overwrite<'a> {
    Anything,
    /// A file with this etag.
    Etag(&'a str),
    Nothing,
}

/// What was kept before a change is made.
#[derive(Debug, Default)]
pub(super) struct KeptVersion {
    call: String,
    ids: Vec<String>,
    files: Vec<String>,
}

/// What is kept of a file that is written.
pub(super) fn kept_of_write(path: &VaultPath, before: Option<&[u8]>, after: &[u8]) -> Change {
    let did =
        Did::Wrote { path: path.as_str().to_owned(), before: before.map(hash), after: hash(after), bytes: before.map_or(0, <[u8]>::len) };
    Change { did, bytes: before.map(<[u8]>::to_vec) }
}

/// What is kept of a file that is removed, or put into the trash; what is too large to be read is only noted.
pub(super) fn kept_of_removal(path: &VaultPath, trashed_to: String, bytes: Option<Vec<u8>>) -> Change {
    let (before, size) = (bytes.as_deref().map(hash), bytes.as_ref().map_or(0, Vec::len));
    Change { did: Did::Trashed { path: path.as_str().to_owned(), trashed_to, before, bytes: size }, bytes }
}

/// Makes the bytes that a file is to have of those that it has.
pub type MakeBytes<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, Error> + 'a;

impl Vault {
    /// Creates a file, or replaces all of it.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the file has another etag, or another program creates it at the same moment; [`Error::Exists`], [`Error::Busy`], [`Error::NotAllowed`], [`Error::TooLarge`],
    /// [`Error::ReadOnly`], [`Error::NotFound`] for a missing folder without `create_dirs`, or the disk's. The file
    /// then has its old bytes.
    pub fn write(&self, path: &VaultPath, content: &str, create_dirs: bool, over: Overwrite<'_>) -> Result<Written, Error> {
        check_size(path, content.len())?;
        self.check_grant(path.as_str())?;
        self.index.check_available()?;
        // A note that exists under the same name in another Unicode form is that note, not a second one.
        let path = &self.jail.as_on_disk(path.clone());
        if matches!(self.jail.existing(path), Err(Error::NotFound { .. })) {
            self.check_new_name(path, None)?;
        }
        let top = self.jail.deepest_existing_folder(path);
        let outcome = self.write_at(path, content, create_dirs, over);
        if outcome.is_err() {
            // Folders that were made for it go again.
            disk::remove_empty_folders(&self.jail.root().join(path.parent().as_str()), &top);
        }
        let (created, previous) = outcome?;
        self.index.record_write(path);
        Ok(Written { previous, ..Written::of(path, created, content.as_bytes()) })
    }

    /// Whether the file is new, and the version that was replaced.
    fn write_at(&self, path: &VaultPath, content: &str, create_dirs: bool, over: Overwrite<'_>) -> Result<(bool, Option<String>), Error> {
        let if_match = if let Overwrite::Etag(etag) = over { Some(etag) } else { None };
        let exists = || Error::Exists(path.as_str().into());
        let on_disk = match self.jail.for_writing(path, create_dirs && if_match.is_none()) {
            Err(Error::NotFound { .. }) if if_match.is_some() => return Err(Error::Conflict(None)),
            other => other?,
        };
        let _lock = self.lock_for_writing(&on_disk);
        let (mut tries, patience) = (0..limits::EDIT_RETRIES, Deadline::after(limits::REST_PATIENCE));
        loop {
            self.index.check_available()?;
            self.wait_until_closed(path, &on_disk, patience)?;
            let before = existing(&on_disk, path)?;
            if before.is_some() && matches!(over, Overwrite::Nothing) {
                return Err(exists());
            }
            let known = current(&on_disk, path)?.map(|(bytes, _)| bytes);
            let found = known.as_deref().map(etag);
            if if_match.is_some() && found.as_deref() != if_match {
                return Err(Error::Conflict(found));
            }
            match self.replace(path, &on_disk, known.as_deref(), content.as_bytes(), before.as_ref()) {
                // The file is new, and the caller has not read it.
                Err(Error::Busy) if matches!(over, Overwrite::Nothing) => return Err(exists()),
                Err(Error::Busy) if before.is_none() => {
                    return Err(Error::Conflict(current(&on_disk, path)?.map(|(bytes, _)| etag(&bytes))));
                }
                // Another program has saved it since.
                Err(Error::Busy) if tries.next().is_some() => {}
                other => return other.map(|previous| (before.is_none(), previous)),
            }
        }
    }

    /// Replaces the bytes that the caller knows (`None`: there is no file), which are kept. Returns the version that they are kept as.
    fn replace(
        &self,
        path: &VaultPath,
        on_disk: &ResolvedPath,
        known: Option<&[u8]>,
        bytes: &[u8],
        before: Option<&Metadata>,
    ) -> Result<Option<String>, Error> {
        let kept = self.keep(vec![path.as_str().to_owned()], || vec![kept_of_write(path, known, bytes)])?;
        let outcome = disk::replace(on_disk, bytes, mode_of(before), |at| self.check_unchanged(at, on_disk, path, known));
        let ids = self.finish(kept, outcome.map_err(|error| with_path(error, path)))?;
        Ok(ids.into_iter().next().filter(|_| known.is_some()))
    }

    /// Checks, right before the file is changed, that the vault is mounted and the file has these bytes, or does not exist
    /// (`None`). It is looked at under the name `at`.
    ///
    /// # Errors
    /// [`Error::Busy`] when it is another, or a program is writing it; [`Error::Unavailable`], [`Error::TooLarge`], or the disk's.
    pub(super) fn check_unchanged(&self, at: &Path, on_disk: &ResolvedPath, path: &VaultPath, known: Option<&[u8]>) -> Result<(), Error> {
        self.index.check_available()?;
        match (current(at, path)?, known) {
            (None, None) => Ok(()),
            (Some((bytes, true)), Some(known)) if bytes == known && self.index.is_being_written(on_disk, at) != Some(true) => Ok(()),
            _ => Err(Error::Busy),
        }
    }

    /// Refuses a change that the caller's grant does not allow, and keeps what it takes away, before it is made, where it is made on
    /// behalf of a caller.
    pub(super) fn keep(&self, files: Vec<String>, changes: impl FnOnce() -> Vec<Change>) -> Result<KeptVersion, Error> {
        files.iter().try_for_each(|path| self.check_grant(path))?;
        let (Some(versions), Some(caller)) = (&self.versions, &self.caller) else {
            return Ok(KeptVersion { files, ..KeptVersion::default() });
        };
        let call = new_id()?;
        // A text is kept under the path of the file, not under that of a link to it.
        let mut changes = changes();
        for change in &mut changes {
            if let Did::Wrote { path, .. } = &mut change.did {
                *path = self.real(path);
            }
        }
        let ids = versions.keep(caller, &call, changes)?;
        Ok(KeptVersion { call, ids, files })
    }

    /// Ends what was kept for a change that failed, and notes the files of one that was made. Returns the ids of the kept versions.
    pub(super) fn finish(&self, kept: KeptVersion, outcome: Result<(), Error>) -> Result<Vec<String>, Error> {
        if let Some(caller) = self.caller.as_ref().filter(|_| outcome.is_ok()) {
            caller.note(kept.files);
        }
        if let (Some(versions), Some(caller), false) = (&self.versions, &self.caller, kept.ids.is_empty()) {
            match &outcome {
                Ok(()) => versions.clean_when_due(),
                Err(_) => versions.end(caller, &kept.call)?,
            }
        }
        outcome.map(|()| kept.ids)
    }

    /// Waits until a file that another program is writing in place is closed; replacing it earlier would lose what that program
    /// writes afterwards.
    ///
    /// # Errors
    /// [`Error::Busy`] when it stays open.
    fn wait_until_closed(&self, path: &VaultPath, on_disk: &ResolvedPath, patience: Deadline) -> Result<(), Error> {
        while self.index.is_being_written(on_disk, on_disk).unwrap_or_else(|| self.may_be_incomplete(path, on_disk)) {
            if patience.left().is_none() {
                return Err(Error::Busy);
            }
            std::thread::sleep(limits::AT_REST_LOOK);
        }
        Ok(())
    }

    /// Whether a file, on a file system that reports no changes, was written so recently that more may follow. One that this
    /// program wrote is whole. So is one that was renamed, which changes its ctime and not its mtime.
    fn may_be_incomplete(&self, path: &VaultPath, on_disk: &Path) -> bool {
        let Ok(found) = fs::metadata(on_disk) else { return false };
        let stamp = Stamp::of(&found);
        let written_by_us = || self.index.get(path.as_str()).is_some_and(|known| known.stamp == stamp && known.written_by_us());
        let (written, changed) = disk::times(&found);
        let was_renamed = changed > written;
        stamp.is_younger_than(limits::AT_REST, clock::system()) && !was_renamed && !written_by_us()
    }

    /// Whether a file of this size could be written there now; nothing is made.
    ///
    /// # Errors
    /// Those of [`Vault::write`].
    pub fn may_write(&self, path: &VaultPath, size: usize) -> Result<(), Error> {
        check_size(path, size)?;
        self.may_create(path)?;
        match self.jail.existing(path) {
            Ok(on_disk) => existing(&on_disk, path).map(drop),
            Err(Error::NotFound { .. }) => self.check_new_name(path, None),
            Err(error) => Err(error),
        }
    }

    /// Whether a file or folder of this name could be made there; nothing is made.
    ///
    /// # Errors
    /// Those of [`Vault::write`].
    pub(super) fn may_create(&self, path: &VaultPath) -> Result<(), Error> {
        self.check_grant(path.as_str())?;
        self.index.check_available()?;
        let mut folder = path.parent();
        while !folder.is_root() && matches!(self.jail.existing(&folder), Err(Error::NotFound { .. })) {
            folder = folder.parent();
        }
        let on_disk = self.jail.existing(&folder)?;
        if !on_disk.is_dir() {
            return Err(Error::NotAllowed { path: path.as_str().into(), why: "a name in it is a file, not a folder" });
        }
        if !disk::may_write_in(&on_disk) {
            return Err(Error::ReadOnly(path.as_str().into()));
        }
        Ok(())
    }

    /// Replaces what the caller knows by other bytes, missing folders included, or by no file (`None`).
    ///
    /// # Errors
    /// [`Error::Busy`] when the file is not what the caller knows; those of [`Vault::write`].
    pub fn exchange(&self, path: &VaultPath, known: Option<&[u8]>, wanted: Option<&[u8]>) -> Result<(), Error> {
        let before = known.unwrap_or_default();
        let change = || match wanted {
            Some(bytes) => vec![kept_of_write(path, known, bytes)],
            None => vec![kept_of_removal(path, String::new(), Some(before.to_vec()))],
        };
        let kept = self.keep(vec![path.as_str().to_owned()], change)?;
        let outcome = wanted.map_or_else(|| self.remove(path, before), |bytes| self.put(path, known, bytes));
        self.finish(kept, outcome).map(drop)
    }

    /// The same, and nothing is kept: a step of a change of which all is kept already.
    pub(super) fn put(&self, path: &VaultPath, known: Option<&[u8]>, bytes: &[u8]) -> Result<(), Error> {
        check_size(path, bytes.len())?;
        self.index.check_available()?;
        let on_disk = self.jail.for_writing(path, true)?;
        let _lock = self.lock_for_writing(&on_disk);
        self.wait_until_closed(path, &on_disk, Deadline::after(limits::REST_PATIENCE))?;
        let before = existing(&on_disk, path)?;
        let look = |at: &Path| self.check_unchanged(at, &on_disk, path, known);
        look(&on_disk)?;
        disk::replace(&on_disk, bytes, mode_of(before.as_ref()), look).map_err(|error| with_path(error, path))?;
        self.index.record_write(path);
        Ok(())
    }

    /// Removes a file with the bytes that the caller knows.
    ///
    /// # Errors
    /// [`Error::Busy`] when they are not those; [`Error::NotFound`], [`Error::ReadOnly`], or the disk's.
    pub(super) fn remove(&self, path: &VaultPath, known: &[u8]) -> Result<(), Error> {
        let (path, on_disk) = &self.locate(path)?;
        let _lock = self.lock_for_writing(on_disk);
        self.wait_until_closed(path, on_disk, Deadline::after(limits::REST_PATIENCE))?;
        existing(on_disk, path)?;
        disk::remove(on_disk, || self.check_unchanged(on_disk, on_disk, path, Some(known))).map_err(|error| with_path(error, path))?;
        self.index.look(path.as_str(), true);
        Ok(())
    }

    /// Makes replacements, each in what the one before has left, and keeps every other byte; all of them or none. Returns how many
    /// texts were replaced. In a file with CRLF line ends, a text that is not found is looked for with CRLF too, and the replacement gets CRLF;
    /// so do new line ends where all others of the file are CRLF.
    ///
    /// # Errors
    /// [`Error::TextNotFound`], [`Error::TextNotUnique`], [`Error::Conflict`], [`Error::Busy`], and those of [`Vault::write`].
    pub fn edit(&self, path: &VaultPath, edits: &[Replacement<'_>], if_match: Option<&str>) -> Result<(Written, usize), Error> {
        let mut count = 0;
        let written = self.edit_bytes(path, if_match, &mut |bytes| {
            count = 0;
            let mut bytes = bytes.to_vec();
            for (number, edit) in edits.iter().enumerate() {
                let replaced =
                    if edit.all { replace_all(&bytes, edit) } else { replace_once(&bytes, edit.old, edit.new).map(|made| (made, 1)) };
                let (made, more) = replaced.map_err(|error| match error {
                    Error::TextNotFound(hint) if edits.len() > 1 => {
                        Error::TextNotFound(format!("This is edit {} of {}; nothing was changed. {hint}", number + 1, edits.len()))
                    }
                    other => other,
                })?;
                bytes = made;
                count += more;
            }
            Ok(bytes)
        })?;
        Ok((written, count))
    }

    /// Replaces a file's bytes by what `change` makes of them; made anew when another program saves the file in between.
    ///
    /// # Errors
    /// Those of `change`, [`Error::Conflict`], [`Error::Busy`], and those of [`Vault::write`].
    pub fn edit_bytes(&self, path: &VaultPath, if_match: Option<&str>, change: &mut MakeBytes<'_>) -> Result<Written, Error> {
        let (path, on_disk) = &self.locate(path)?;
        let _lock = self.lock_for_writing(on_disk);
        let patience = Deadline::after(limits::REST_PATIENCE);
        for _ in 0..limits::EDIT_RETRIES {
            self.wait_until_closed(path, on_disk, patience)?;
            let bytes = self.bytes(path)?;
            must_match(&bytes, if_match)?;
            let edited = change(&bytes)?;
            check_size(path, edited.len())?;
            let before = existing(on_disk, path)?;
            // Another program may have saved the file since it was read. Its bytes are compared again at the last
            // moment; if they differ, the edit is made anew in what it wrote.
            let previous = match self.replace(path, on_disk, Some(&bytes), &edited, before.as_ref()) {
                Err(Error::Busy) => continue,
                other => other?,
            };
            self.index.record_write(path);
            return Ok(Written { previous, ..Written::of(path, false, &edited) });
        }
        let bytes = self.bytes(path)?;
        Err(Error::Conflict(Some(etag(&bytes))))
    }
}

impl Written {
    pub(super) fn of(path: &VaultPath, created: bool, bytes: &[u8]) -> Written {
        Written { path: path.clone(), created, size: bytes.len(), total_lines: count_lines(bytes), etag: etag(bytes), previous: None }
    }
}

/// Refuses bytes that are not those with the etag that a caller has read.
pub(super) fn must_match(bytes: &[u8], if_match: Option<&str>) -> Result<(), Error> {
    match if_match.map(|wanted| (wanted, etag(bytes))) {
        Some((wanted, now)) if now != wanted => Err(Error::Conflict(Some(now))),
        _ => Ok(()),
    }
}

fn check_size(path: &VaultPath, size: usize) -> Result<(), Error> {
    if size as u64 > limits::NOTE_BYTES {
        return Err(Error::TooLarge { path: path.as_str().into(), size: size as u64, limit: limits::NOTE_BYTES });
    }
    Ok(())
}

pub(super) fn existing(on_disk: &Path, path: &VaultPath) -> Result<Option<Metadata>, Error> {
    match fs::metadata(on_disk) {
        // A rename would replace even a file that its owner made read-only; that mark is a wish to be respected.
        Ok(metadata) if metadata.permissions().readonly() => Err(Error::ReadOnly(path.as_str().into())),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::disk("write the file", path.as_str())(error)),
    }
}

/// The bytes of the file at this moment, and whether it stayed the same while they were read; `None` when it is gone. A file too large to be read here has no etag that
/// a client could have been given.
fn current(on_disk: &Path, path: &VaultPath) -> Result<Option<(Vec<u8>, bool)>, Error> {
    let read = disk::none_if_missing(read_stamped(on_disk, limits::NOTE_BYTES + 1)).map_err(Error::disk("read the file", path.as_str()))?;
    let size = |stamp: &Stamp| usize::try_from(stamp.size).unwrap_or(usize::MAX);
    read.map(|(bytes, stamp, stayed)| check_size(path, bytes.len().max(size(&stamp))).map(|()| (bytes, stayed))).transpose()
}

fn mode_of(before: Option<&Metadata>) -> Mode<'_> {
    before.map_or(Mode::New, Mode::Like)
}

/// A failure of the disk under the name the caller knows. One that has a name already is in the log.
pub(super) fn with_path(error: Error, path: &VaultPath) -> Error {
    match error {
        Error::Disk { cause, .. } if matches!(cause.kind(), ErrorKind::AlreadyExists | ErrorKind::ResourceBusy) => Error::Busy,
        Error::Disk { doing, path: unnamed, cause } if unnamed.is_empty() => {
            log::error!("could not {doing} {:?}: {cause}", path.as_str());
            Error::Disk { doing, path: path.as_str().into(), cause }
        }
        Error::ReadOnly(_) => Error::ReadOnly(path.as_str().into()),
        Error::NotFound { hint, .. } => Error::NotFound { path: path.as_str().into(), hint },
        other => other,
    }
}
