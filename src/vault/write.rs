//! Writing whole files and editing text in them, atomically and durably. An edit never overwrites a concurrent change: the bytes are
//! compared once more right before the rename, with the folder locked against our other processes, and those of the displaced file
//! right after it ([`disk::replace`] says what happens to text that another program saved in between). Where the file system
//! cannot exchange two names, microseconds between the first comparison and the rename remain unguarded.

use super::commits::Left;
use super::error::Error;
use super::jail::ResolvedPath;
use super::media::extension_of;
use super::path::{VaultPath, rest_below};
use super::read::bytes_on_disk;
use super::replace_text::{Replacement, replace_all, replace_once};
use super::versions::{Change, Did, UNDO, hash, new_id};
use super::walk::StampedBytes;
use super::{Stamp, Vault, count_lines, etag};
use crate::clock::{self, Deadline};
use crate::disk::{self, Mode};
use crate::limits;
use crate::lock::Unpoisoned;
use serde::de::IgnoredAny;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::RwLockReadGuard;

/// A file after a change.
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

/// The change of removing a file of some size, or moving it to the trash; `bytes` is `None` for one too large to be kept.
pub(super) fn removal_change(
    path: &VaultPath,
    trashed_to: String,
    size: usize,
    bytes: Option<Vec<u8>>,
) -> Change {
    let before = bytes.as_deref().map(hash);
    Change {
        did: Did::Trashed { path: path.as_str().to_owned(), trashed_to, before, bytes: size },
        bytes,
    }
}

/// Makes a file's new bytes from its old ones.
pub type NewBytes<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, Error> + 'a;

/// The same; there are none where the file does not exist.
pub(super) type NewFile<'a> = dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, Error> + 'a;

impl Vault {
    /// Creates a file, or replaces all of it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the file has another etag, or another program creates it at the same moment; [`Error::Exists`],
    /// [`Error::Busy`], [`Error::NotAllowed`], [`Error::TooLarge`], [`Error::ReadOnly`], [`Error::NotFound`] for a missing folder
    /// without `create_dirs`, or the disk's. The file then has its old bytes.
    pub fn write(
        &self,
        path: &VaultPath,
        content: &str,
        create_dirs: bool,
        over: Overwrite<'_>,
    ) -> Result<Written, Error> {
        check_size(path, content.len())?;
        // Before the name: what a login may not change is said first.
        self.check_grant(path.as_str())?;
        self.index.check_available()?;
        // An existing note with the same name in another Unicode form is the note that is meant.
        let path = &self.jail.as_on_disk(path.clone());
        self.check_new_name(path, None)?;
        check_canvas(path, content.as_bytes())?;
        let if_match = if let Overwrite::Etag(etag) = over { Some(etag) } else { None };
        let mut was_missing = false;
        let mut make = |now: Option<&[u8]>| {
            match (over, now) {
                (Overwrite::Nothing, Some(_)) => return Err(Error::Exists(path.as_str().into())),
                // Another program has created it since.
                (Overwrite::Anything, Some(now)) if was_missing => {
                    return Err(Error::Conflict(Some(etag(now))));
                }
                (Overwrite::Etag(_), None) => return Err(Error::Conflict(None)),
                (_, now) => must_match(now.unwrap_or_default(), if_match)?,
            }
            was_missing = now.is_none();
            Ok(content.as_bytes().to_vec())
        };
        // Whatever its size and mode.
        if matches!(over, Overwrite::Nothing)
            && self.jail.existing(path).is_ok_and(|on_disk| !on_disk.is_dir())
        {
            return Err(Error::Exists(path.as_str().into()));
        }
        match self.create_or_replace(path, create_dirs && if_match.is_none(), &mut make) {
            Err(Error::NotFound { .. }) if if_match.is_some() => Err(Error::Conflict(None)),
            written => written,
        }
    }

    /// Replaces a file by what `make` makes of it, or of nothing; with `create_folders` in folders that may be missing.
    ///
    /// # Errors
    /// Those of `make`, and of [`Vault::write`].
    pub(super) fn create_or_replace(
        &self,
        path: &VaultPath,
        create_folders: bool,
        make: &mut NewFile<'_>,
    ) -> Result<Written, Error> {
        self.check_grant(path.as_str())?;
        self.index.check_available()?;
        let _writing = self.lock_out_transactions();
        let top = self.jail.deepest_existing_folder(path);
        let written = self
            .jail
            .for_writing(path, create_folders)
            .and_then(|on_disk| self.replace_resolved(path, &on_disk, make));
        if written.is_err() {
            // Folders that were created for it are removed.
            disk::remove_empty_folders(&self.jail.root().join(path.parent().as_str()), &top);
        }
        written
    }

    /// The change of writing a file, with the old bytes to keep, under the file's real path and not that of a link to it.
    pub(super) fn write_change(
        &self,
        path: &VaultPath,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> Change {
        let (path, bytes) = (self.real(path.as_str()), before.map(<[u8]>::to_vec));
        let did = Did::Wrote {
            path,
            before: before.map(hash),
            after: hash(after),
            bytes: before.map_or(0, <[u8]>::len),
        };
        Change { did, bytes }
    }

    /// Waits for the transaction in progress, and keeps others from being applied until the guard is dropped. `None` without an author:
    /// then this is a step of a transaction, which holds the lock already.
    fn lock_out_transactions(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.author.as_ref().map(|_| self.locks.writes.read().unpoisoned())
    }

    /// Replaces a file by what `make` makes of it, and keeps what it had; tries again if another program saves it in between.
    ///
    /// # Errors
    /// Those of `make`, and of [`Vault::write`].
    fn replace_resolved(
        &self,
        path: &VaultPath,
        on_disk: &ResolvedPath,
        make: &mut NewFile<'_>,
    ) -> Result<Written, Error> {
        let _lock = self.lock_for_writing(on_disk);
        let patience = Deadline::after(limits::REST_PATIENCE);
        for _ in 0..limits::EDIT_ATTEMPTS {
            self.index.check_available()?;
            self.wait_until_closed(path, on_disk, patience)?;
            let before = writable_metadata(on_disk, path)?;
            let known = current(on_disk, path)?.map(|read| read.bytes);
            let bytes = make(known.as_deref())?;
            check_size(path, bytes.len())?;
            let mode = before.as_ref().map_or(Mode::New, Mode::Like);
            let look = |at: &Path| self.check_unchanged(at, on_disk, path, known.as_deref());
            // A call that is repeated makes no version, and the file keeps its time.
            let is_same = known.as_deref() == Some(bytes.as_slice());
            let put = || {
                if is_same {
                    Ok(())
                } else {
                    disk::replace(on_disk, &bytes, mode, look)
                        .map_err(|error| change_error(error, path))
                }
            };
            let change = || {
                if is_same {
                    Vec::new()
                } else {
                    vec![self.write_change(path, known.as_deref(), &bytes)]
                }
            };
            // The bytes are compared again at the last moment; if they differ, `make` gets the new ones.
            match self.keep_and_apply(&new_id(), vec![path.as_str().to_owned()], change, put) {
                Err(Error::Busy) => {}
                kept => {
                    let previous = kept?.pop().filter(|_| known.is_some());
                    if !is_same {
                        self.index.record_write(path);
                    }
                    return Ok(Written { previous, ..Written::of(path, known.is_none(), &bytes) });
                }
            }
        }
        Err(current(on_disk, path)?
            .map_or(Error::Busy, |read| Error::Conflict(Some(etag(&read.bytes)))))
    }

    /// Checks, right before the file is changed, that the vault is mounted and the file, read at the path `at`, has these bytes or
    /// does not exist (`None`).
    ///
    /// # Errors
    /// [`Error::Busy`] if it differs, or a program is writing it; [`Error::Unavailable`], [`Error::TooLarge`], or the disk's.
    pub(super) fn check_unchanged(
        &self,
        at: &Path,
        on_disk: &ResolvedPath,
        path: &VaultPath,
        known: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.index.check_available()?;
        match (current(at, path)?, known) {
            (None, None) => Ok(()),
            (Some(StampedBytes { bytes, is_stable: true, .. }), Some(known))
                if bytes == known && self.index.is_being_written(on_disk, at) != Some(true) =>
            {
                Ok(())
            }
            _ => Err(Error::Busy),
        }
    }

    /// Checks the grant for all files, keeps what the changes replace or delete as those of `call`, then calls `act`. If that fails, the
    /// log of versions says so. Returns the ids of the kept versions, in the order of the changes.
    pub(super) fn keep_and_apply(
        &self,
        call: &str,
        files: Vec<String>,
        changes: impl FnOnce() -> Vec<Change>,
        act: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Vec<String>, Error> {
        files.iter().try_for_each(|path| self.check_grant(path))?;
        let Some(author) = &self.author else { return act().map(|()| Vec::new()) };
        if author.has_met_mistake() {
            return Err(Error::Mistake);
        }
        let mut ids = Vec::new();
        let mut left = Vec::new();
        if self.versions.is_some() || author.commits.is_some() {
            let changes = changes();
            if author.commits.is_some() {
                left = self.left_by(&files, &changes);
            }
            if let Some(versions) = &self.versions {
                ids = versions.keep(author, call, changes)?;
            }
        }
        let noted = author.commits.as_ref().map(|commits| (commits, commits.note(&left)));
        let outcome = act();
        if let Some((commits, noted)) = noted.filter(|_| outcome.is_err()) {
            commits.forget(&noted);
        }
        if let Some(versions) = self.versions.as_ref().filter(|_| !ids.is_empty()) {
            // What undo replaces must not displace what it is about to bring back.
            if author.tool != UNDO {
                versions.clean_when_due();
            }
            if outcome.is_err() {
                versions.end(author, call)?;
            }
        }
        outcome?;
        author.add_changed(files);
        Ok(ids)
    }

    /// What changes leave at the paths of `files`.
    fn left_by(&self, files: &[String], changes: &[Change]) -> Vec<Left> {
        let hash_of = |path: &str| self.hash_if_any(&VaultPath::unchecked(path)).ok().flatten();
        let hash_behind = |path: &str| {
            changes.iter().fold(hash_of(path), |now, change| match &change.did {
                Did::Wrote { path: written, after, .. } if written == path => Some(after.clone()),
                Did::Trashed { path: trashed, .. } if rest_below(path, trashed).is_some() => None,
                Did::Renamed { from, .. } if rest_below(path, from).is_some() => None,
                Did::Renamed { from, to } => {
                    rest_below(path, to).map_or(now, |rest| hash_of(&format!("{from}{rest}")))
                }
                _ => now,
            })
        };
        files.iter().map(|path| Left { path: path.clone(), hash: hash_behind(path) }).collect()
    }

    /// Waits until a file that another program is writing in place is closed; replacing it earlier would lose what is written
    /// afterwards.
    ///
    /// # Errors
    /// [`Error::Busy`] if it stays open.
    fn wait_until_closed(
        &self,
        path: &VaultPath,
        on_disk: &ResolvedPath,
        patience: Deadline,
    ) -> Result<(), Error> {
        let is_open = || {
            self.index
                .is_being_written(on_disk, on_disk)
                .unwrap_or_else(|| self.may_be_incomplete(path, on_disk))
        };
        patience
            .poll(limits::AT_REST_POLL, || Ok::<_, Error>((!is_open()).then_some(())))?
            .ok_or(Error::Busy)
    }

    /// Whether a file, on a file system that does not report changes, was written so recently that more may follow. A file that we
    /// wrote is complete, and so is one that was written under another name and renamed, which changes its ctime but not its mtime; a
    /// program that writes in place sets both at once.
    fn may_be_incomplete(&self, path: &VaultPath, on_disk: &Path) -> bool {
        let Ok(found) = fs::metadata(on_disk) else { return false };
        let stamp = Stamp::of(&found);
        let written_by_us = || {
            self.index
                .get(path.as_str())
                .is_some_and(|known| known.stamp == stamp && known.written_by_us())
        };
        let (written, changed) = disk::times(&found);
        let was_renamed = changed > written;
        stamp.is_younger_than(limits::AT_REST, clock::system()) && !was_renamed && !written_by_us()
    }

    /// Checks that a file of this size could be written now; creates nothing.
    ///
    /// # Errors
    /// Those of [`Vault::write`].
    pub fn may_write(&self, path: &VaultPath, size: usize) -> Result<(), Error> {
        check_size(path, size)?;
        self.may_create(path)?;
        match self.jail.existing(path) {
            Ok(on_disk) => writable_metadata(&on_disk, path).map(drop),
            Err(Error::NotFound { .. }) => self.check_new_name(path, None),
            Err(error) => Err(error),
        }
    }

    /// Checks that a file or folder could be created at this path; creates nothing.
    ///
    /// # Errors
    /// Those of [`Vault::write`].
    pub(super) fn may_create(&self, path: &VaultPath) -> Result<(), Error> {
        self.check_grant(path.as_str())?;
        self.index.check_available()?;
        let mut folder = path.parent();
        while !folder.is_root()
            && matches!(self.jail.existing(&folder), Err(Error::NotFound { .. }))
        {
            folder = folder.parent();
        }
        let on_disk = self.jail.existing(&folder)?;
        if !on_disk.is_dir() {
            return Err(Error::NotAllowed {
                path: path.as_str().into(),
                why: "a name in it is a file, not a folder",
            });
        }
        if !disk::may_write_in(&on_disk) {
            return Err(Error::ReadOnly(path.as_str().into()));
        }
        Ok(())
    }

    /// Replaces the known bytes (`None`: no file) by the wanted ones, creating missing folders, or removes the file (`None`).
    ///
    /// # Errors
    /// [`Error::Busy`] when the file is not what the caller knows; those of [`Vault::write`].
    pub fn replace_known(
        &self,
        path: &VaultPath,
        known: Option<&[u8]>,
        wanted: Option<&[u8]>,
    ) -> Result<(), Error> {
        let Some(wanted) = wanted else { return self.remove(path, known.unwrap_or_default()) };
        self.create_or_replace(path, true, &mut |now| {
            if now == known { Ok(wanted.to_vec()) } else { Err(Error::Busy) }
        })
        .map(drop)
    }

    /// Like [`Vault::replace_known`], but keeps no version: for a step of a change whose versions are already kept.
    pub(super) fn replace_known_in_transaction(
        &self,
        path: &VaultPath,
        known: Option<&[u8]>,
        wanted: Option<&[u8]>,
    ) -> Result<(), Error> {
        Vault { author: None, ..self.clone() }.replace_known(path, known, wanted)
    }

    /// Removes a file that has the bytes that the caller knows.
    fn remove(&self, path: &VaultPath, known: &[u8]) -> Result<(), Error> {
        let _writing = self.lock_out_transactions();
        let (path, on_disk) = &self.locate(path)?;
        let _lock = self.lock_for_writing(on_disk);
        self.wait_until_closed(path, on_disk, Deadline::after(limits::REST_PATIENCE))?;
        writable_metadata(on_disk, path)?;
        let look = || self.check_unchanged(on_disk, on_disk, path, Some(known));
        let change =
            || vec![removal_change(path, String::new(), known.len(), Some(known.to_vec()))];
        self.keep_and_apply(&new_id(), vec![path.as_str().to_owned()], change, || {
            disk::remove(on_disk, look).map_err(|error| change_error(error, path))
        })?;
        self.index.update(path.as_str(), true);
        Ok(())
    }

    /// Makes replacements, each in the result of the previous one, and keeps every other byte; all of them or none. Returns how many
    /// occurrences were replaced. CR LF and LF match each other, and new text gets the line endings of the file.
    ///
    /// # Errors
    /// [`Error::TextNotFound`], [`Error::TextNotUnique`], [`Error::Conflict`], [`Error::Busy`], and those of [`Vault::write`].
    pub fn edit(
        &self,
        path: &VaultPath,
        edits: &[Replacement<'_>],
        if_match: Option<&str>,
    ) -> Result<(Written, usize), Error> {
        let mut count = 0;
        let written = self.edit_bytes(path, if_match, &mut |now| {
            count = 0;
            let mut bytes = now.to_vec();
            for (number, edit) in edits.iter().enumerate() {
                let replaced = if edit.all {
                    replace_all(&bytes, edit)
                } else {
                    replace_once(&bytes, edit.old, edit.new).map(|made| (made, 1))
                };
                let (made, more) = replaced.map_err(|error| match error {
                    Error::TextNotFound(hint) if edits.len() > 1 => Error::TextNotFound(format!(
                        "This is edit {} of {}; nothing was changed. {hint}",
                        number + 1,
                        edits.len()
                    )),
                    other => other,
                })?;
                bytes = made;
                count += more;
            }
            if check_canvas(path, now).is_ok() {
                check_canvas(path, &bytes)?;
            }
            Ok(bytes)
        })?;
        Ok((written, count))
    }

    /// Replaces a file's bytes by what `change` makes of them; tries again if another program saves the file in between.
    ///
    /// # Errors
    /// Those of `change`, [`Error::Conflict`], [`Error::Busy`], and those of [`Vault::write`].
    pub fn edit_bytes(
        &self,
        path: &VaultPath,
        if_match: Option<&str>,
        change: &mut NewBytes<'_>,
    ) -> Result<Written, Error> {
        let _writing = self.lock_out_transactions();
        let (path, on_disk) = self.locate(path)?;
        self.replace_resolved(&path, &on_disk, &mut |now| {
            let bytes = now.ok_or_else(|| Error::NotFound {
                path: path.as_str().into(),
                hint: String::new(),
            })?;
            must_match(bytes, if_match)?;
            change(bytes)
        })
    }
}

#[cfg(feature = "notes")]
impl Vault {
    /// Refuses a file whose etag is not the one that the caller expects; a folder has none.
    pub(super) fn check_etag(&self, path: &VaultPath, if_match: Option<&str>) -> Result<(), Error> {
        match if_match {
            None => Ok(()),
            Some(_) if self.is_folder(path) => {
                Err(Error::Invalid("Argument if_match is for a file, not for a folder.".into()))
            }
            Some(_) => must_match(&self.bytes(path)?, if_match),
        }
    }
}

impl Written {
    pub(super) fn of(path: &VaultPath, created: bool, bytes: &[u8]) -> Written {
        Written {
            path: path.clone(),
            created,
            size: bytes.len(),
            total_lines: count_lines(bytes),
            etag: etag(bytes),
            previous: None,
        }
    }
}

/// Refuses bytes whose etag is not the one that the caller expects.
fn must_match(bytes: &[u8], if_match: Option<&str>) -> Result<(), Error> {
    match if_match.map(|wanted| (wanted, etag(bytes))) {
        Some((wanted, now)) if now != wanted => Err(Error::Conflict(Some(now))),
        _ => Ok(()),
    }
}

/// Refuses a canvas that is not JSON: Obsidian does not open it, and its links are not found. An empty one it opens.
fn check_canvas(path: &VaultPath, bytes: &[u8]) -> Result<(), Error> {
    let is_canvas = extension_of(path.name()).as_deref() == Some("canvas");
    if !is_canvas
        || bytes.trim_ascii().is_empty()
        || serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
    {
        return Ok(());
    }
    let why = r#"it would not be JSON; in its texts a line break is \n and a quote \""#;
    Err(Error::Malformed { path: path.as_str().into(), why: why.into() })
}

pub(super) fn check_size(path: &VaultPath, size: usize) -> Result<(), Error> {
    if size as u64 > limits::NOTE_BYTES {
        return Err(Error::TooLarge {
            path: path.as_str().into(),
            size: size as u64,
            limit: limits::NOTE_BYTES,
        });
    }
    Ok(())
}

pub(super) fn writable_metadata(
    on_disk: &Path,
    path: &VaultPath,
) -> Result<Option<Metadata>, Error> {
    match fs::metadata(on_disk) {
        // A rename would replace even a read-only file; the permission is respected.
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(Error::ReadOnly(path.as_str().into()))
        }
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::disk("write the file", path.as_str())(error)),
    }
}

/// The current bytes of the file; `None` if it does not exist. A file too large to be read here has no etag that a client could know.
fn current(on_disk: &Path, path: &VaultPath) -> Result<Option<StampedBytes>, Error> {
    Error::none_if_missing(bytes_on_disk(path, on_disk, limits::NOTE_BYTES))
}

/// A disk error with the path that the caller knows. One that already has a path has been logged.
pub(super) fn change_error(error: Error, path: &VaultPath) -> Error {
    match error {
        Error::Disk { cause, .. }
            if matches!(cause.kind(), ErrorKind::AlreadyExists | ErrorKind::ResourceBusy) =>
        {
            Error::Busy
        }
        Error::Disk { doing, path: unnamed, cause } if unnamed.is_empty() => {
            log::error!("could not {doing} {:?}: {cause}", path.as_str());
            Error::Disk { doing, path: path.as_str().into(), cause }
        }
        Error::ReadOnly(_) => Error::ReadOnly(path.as_str().into()),
        Error::NotFound { hint, .. } => Error::NotFound { path: path.as_str().into(), hint },
        other => other,
    }
}
