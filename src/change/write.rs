//! Changing one file: writing all of it, replacing texts in it, or making its new bytes from the
//! old. A concurrent change is never overwritten: the bytes are compared right before the file is
//! replaced, and those of the displaced file right after it. Where the file system cannot exchange
//! two names, microseconds between the comparison and the rename remain unguarded.

use super::Changes;
use super::replace_text::{Replacement, replace};
use super::step::Step;
use super::valid::{must_hold_text, must_stay_valid};
use crate::vault::error::Error;
use crate::vault::path::VaultPath;
use crate::vault::read::utf8;
use crate::vault::{count_lines, etag};
use crate::{disk, limits};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::Metadata;

/// A file after a change.
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path.
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

/// Makes a file's new bytes from its old ones.
pub type NewBytes<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, Error> + 'a;

/// The same; there are none where the file does not exist.
pub(crate) type NewText<'a> = dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, Error> + 'a;

impl Changes {
    /// Creates a file, or replaces all of it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the file has another etag, or another program creates it at the same
    /// moment; [`Error::Exists`], [`Error::Busy`], [`Error::NotAllowed`], [`Error::TooLarge`],
    /// [`Error::ReadOnly`], [`Error::NotFound`] for a missing folder without `create_dirs`, or the
    /// disk's. The file then has its old bytes.
    pub fn write(
        &self,
        path: &VaultPath,
        content: &str,
        create_dirs: bool,
        over: Overwrite<'_>,
    ) -> Result<Written, Error> {
        self.vault.check_grant(path.as_str())?;
        must_hold_text(path)?;
        self.write_bytes(path, content.as_bytes(), create_dirs, over)
    }

    /// As [`Changes::write`], for a file that need not hold text.
    ///
    /// # Errors
    /// Those of [`Changes::write`].
    pub fn write_bytes(
        &self,
        path: &VaultPath,
        content: &[u8],
        create_dirs: bool,
        over: Overwrite<'_>,
    ) -> Result<Written, Error> {
        check_size(path, content.len() as u64)?;
        self.check_new(path)?;
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
            Ok(content.to_vec())
        };
        // Whatever its size and mode.
        if matches!(over, Overwrite::Nothing)
            && self.vault.jail.existing(path).is_ok_and(|on_disk| !on_disk.is_dir())
        {
            return Err(Error::Exists(path.as_str().into()));
        }
        match self.update(path, create_dirs && if_match.is_none(), &mut make) {
            Err(Error::NotFound { .. }) if if_match.is_some() => Err(Error::Conflict(None)),
            written => written,
        }
    }

    /// Replaces a file by what `make` makes of it, or of nothing; with `create_folders` in folders
    /// that may be missing. Tries again if another program saves it in between.
    ///
    /// # Errors
    /// Those of `make`, [`Error::Malformed`] for a valid file that would become invalid, and those
    /// of [`Changes::write`].
    pub(crate) fn update(
        &self,
        path: &VaultPath,
        create_folders: bool,
        make: &mut NewText<'_>,
    ) -> Result<Written, Error> {
        self.update_to_any_form(path, create_folders, &mut |now| {
            let bytes = make(now)?;
            must_stay_valid(path, now, &bytes)?;
            Ok(bytes)
        })
    }

    /// As [`Changes::update`], for what was in the file before.
    pub(super) fn update_to_any_form(
        &self,
        path: &VaultPath,
        create_folders: bool,
        make: &mut NewText<'_>,
    ) -> Result<Written, Error> {
        self.vault.check_grant(path.as_str())?;
        if !create_folders
            && matches!(self.vault.jail.folder(&path.parent()), Err(Error::NotFound { .. }))
        {
            let hint =
                "Its folder does not exist; set create_dirs to true to create it.".to_owned();
            return Err(Error::NotFound { path: path.as_str().into(), hint });
        }
        let alone = self.alone();
        for _ in 0..limits::EDIT_ATTEMPTS {
            let (seen, before) = self.see(path)?.unzip();
            let bytes = make(before.as_deref())?;
            check_size(path, bytes.len() as u64)?;
            let written = Written::of(path, before.is_none(), &bytes);
            // A call that is repeated makes no version, and the file keeps its time; its commit may
            // have failed.
            if before.as_deref() == Some(bytes.as_slice()) {
                if let Some(author) = &self.author {
                    author.add_made(&[], vec![path.as_str().to_owned()]);
                }
                return Ok(written);
            }
            let step = Step::write(path.clone(), before, bytes);
            match alone.apply(vec![step], seen, None) {
                Err(Error::Busy) => {}
                changed => {
                    let previous = changed?.versions.pop().filter(|_| !written.created);
                    return Ok(Written { previous, ..written });
                }
            }
        }
        let now = Error::none_if_missing(self.vault.bytes(path))?;
        Err(now.map_or(Error::Busy, |now| Error::Conflict(Some(etag(&now)))))
    }

    /// Refuses what no new file may be, whatever is there now.
    pub(crate) fn check_new(&self, path: &VaultPath) -> Result<(), Error> {
        // Before the name: what a login may not change is said first.
        self.vault.check_grant(path.as_str())?;
        self.vault.view.check_available()?;
        self.vault.check_new_name(path, None)
    }

    /// Checks that a file of this size could be written now; creates nothing.
    ///
    /// # Errors
    /// Those of [`Changes::write`].
    pub fn may_write(&self, path: &VaultPath, size: usize) -> Result<(), Error> {
        check_size(path, size as u64)?;
        self.may_create(path)?;
        match self.vault.jail.look_up(path) {
            Ok((_, found)) => refuse_read_only(&found, path),
            Err(Error::NotFound { .. }) => self.vault.check_new_name(path, None),
            Err(error) => Err(error),
        }
    }

    /// Checks that a file or folder could be created at this path; creates nothing.
    ///
    /// # Errors
    /// Those of [`Changes::write`].
    pub(crate) fn may_create(&self, path: &VaultPath) -> Result<(), Error> {
        self.vault.check_grant(path.as_str())?;
        self.vault.view.check_available()?;
        let mut folder = path.parent();
        while !folder.is_root()
            && matches!(self.vault.jail.existing(&folder), Err(Error::NotFound { .. }))
        {
            folder = folder.parent();
        }
        let (on_disk, found) = self.vault.jail.look_up(&folder)?;
        if !found.is_dir() {
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

    /// Replaces the known bytes (`None`: no file) by the wanted ones, creating missing folders, or
    /// removes the file (`None`).
    ///
    /// # Errors
    /// [`Error::Busy`] when the file is not what the caller knows; those of [`Changes::write`].
    pub fn replace_known(
        &self,
        path: &VaultPath,
        known: Option<&[u8]>,
        wanted: Option<&[u8]>,
    ) -> Result<(), Error> {
        let [before, after] = [known, wanted].map(|bytes| bytes.map(<[u8]>::to_vec));
        let step = Step::Write { path: path.clone(), before, after };
        self.alone().apply(vec![step], None, None).map(drop)
    }

    /// Makes replacements, each in the result of the previous one, and keeps every other byte; all
    /// of them or none. Returns how many occurrences were replaced. CR LF and LF match each other,
    /// and new text gets the line endings of the file.
    ///
    /// # Errors
    /// [`Error::TextNotFound`], [`Error::TextNotUnique`], [`Error::Conflict`], [`Error::Busy`], and
    /// those of [`Changes::write`].
    pub fn edit(
        &self,
        path: &VaultPath,
        edits: &[Replacement<'_>],
        if_match: Option<&str>,
    ) -> Result<(Written, usize), Error> {
        let mut count = 0;
        let written = self.edit_bytes(path, if_match, &mut |now| {
            let (bytes, replaced) = replaced_in(path, now, edits)?;
            count = replaced;
            Ok(bytes)
        })?;
        Ok((written, count))
    }

    /// As [`Changes::edit`], in several files: in all of them, or in none. Returns how many
    /// occurrences were, or with `dry_run` would be, replaced in each.
    ///
    /// # Errors
    /// Those of [`Changes::edit`] and [`Changes::change_all`].
    pub fn edit_all(
        &self,
        paths: &[VaultPath],
        edits: &[Replacement<'_>],
        dry_run: bool,
    ) -> Result<Vec<(Changed, usize)>, Error> {
        let counts = RefCell::new(HashMap::new());
        let lacks = |path: &&VaultPath| {
            let replaced = self.vault.bytes(path).and_then(|now| replaced_in(path, &now, edits));
            matches!(replaced, Err(Error::TextNotFound(_)))
        };
        let changed = self.change_all(paths, dry_run, &|path, text| {
            let (bytes, count) = replaced_in(path, text.as_bytes(), edits).map_err(|error| {
                let place = path.as_str();
                match error {
                    Error::TextNotFound(_) => {
                        let lacking: Vec<&str> =
                            paths.iter().filter(lacks).map(VaultPath::as_str).collect();
                        Error::TextNotFound(format!(
                            "It is missing in {}; nothing was changed.",
                            lacking.join(", ")
                        ))
                    }
                    Error::TextNotUnique(count) => Error::Invalid(format!(
                        "{place} has old_text {count} times; nothing was changed. Set replace_all \
                         to replace every occurrence."
                    )),
                    other => other,
                }
            })?;
            counts.borrow_mut().insert(path.clone(), count);
            Ok(utf8(path, &bytes)?.to_owned())
        })?;
        let counts = counts.into_inner();
        let with_count = |changed: Changed| {
            let count = counts.get(&changed.path).copied().unwrap_or_default();
            (changed, count)
        };
        Ok(changed.into_iter().map(with_count).collect())
    }

    /// Changes the texts of several files: all of them, or none. With `dry_run` nothing is locked
    /// or changed.
    ///
    /// # Errors
    /// Those of `change`, and of [`crate::change::apply::Alone::change`].
    pub fn change_all(
        &self,
        paths: &[VaultPath],
        dry_run: bool,
        change: &dyn Fn(&VaultPath, &str) -> Result<String, Error>,
    ) -> Result<Vec<Changed>, Error> {
        for _ in 0..limits::EDIT_ATTEMPTS {
            let alone = (!dry_run).then(|| self.alone());
            let (mut steps, mut outcome, mut bytes) = (Vec::new(), Vec::new(), 0);
            for path in paths {
                let before = self.vault.bytes(path)?;
                let after = change(path, utf8(path, &before)?)?.into_bytes();
                let written = (after != before).then(|| Written::of(path, false, &after));
                if written.is_some() {
                    check_size(path, after.len() as u64)?;
                    if dry_run {
                        // What the change itself refuses.
                        self.may_write(path, after.len())?;
                        must_stay_valid(path, Some(&before), &after)?;
                    }
                    bytes += before.len() + after.len();
                    if bytes > limits::CHANGE_BYTES {
                        let most = limits::CHANGE_BYTES >> 20;
                        return Err(Error::Invalid(format!(
                            "Together these changes need more than {most} MB. Use fewer files."
                        )));
                    }
                    steps.push(Step::write(path.clone(), Some(before), after));
                }
                outcome.push(Changed { path: path.clone(), written });
            }
            match alone.map(|alone| alone.change(&steps)) {
                Some(Err(Error::Busy)) => {}
                Some(Err(error)) => return Err(error),
                None | Some(Ok(_)) => return Ok(outcome),
            }
        }
        Err(Error::Busy)
    }

    /// Replaces a file's bytes by what `change` makes of them; tries again if another program saves
    /// the file in between.
    ///
    /// # Errors
    /// Those of `change`, [`Error::Conflict`], [`Error::Busy`], and those of [`Changes::write`].
    pub fn edit_bytes(
        &self,
        path: &VaultPath,
        if_match: Option<&str>,
        change: &mut NewBytes<'_>,
    ) -> Result<Written, Error> {
        self.update(path, true, &mut |now| {
            let Some(bytes) = now else {
                // Which says what there is instead.
                self.vault.locate(path)?;
                return Err(Error::Busy);
            };
            must_match(bytes, if_match)?;
            change(bytes)
        })
    }
}

#[cfg(feature = "notes")]
impl Changes {
    /// Refuses a file whose etag is not the one that the caller expects; a folder has none.
    pub(crate) fn check_etag(&self, path: &VaultPath, if_match: Option<&str>) -> Result<(), Error> {
        match if_match {
            None => Ok(()),
            Some(_) if self.vault.is_folder(path) => {
                Err(Error::Invalid("Argument if_match is for a file, not for a folder.".into()))
            }
            Some(_) => must_match(&self.vault.bytes(path)?, if_match),
        }
    }
}

/// A file of those that were to be changed together.
#[derive(Debug)]
pub struct Changed {
    pub path: VaultPath,
    /// `None` where it stays as it is.
    pub written: Option<Written>,
}

impl Written {
    pub(crate) fn of(path: &VaultPath, created: bool, bytes: &[u8]) -> Written {
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

/// The bytes of a file after replacements, each in the result of the previous one, and how many
/// occurrences were replaced.
fn replaced_in(
    path: &VaultPath,
    now: &[u8],
    edits: &[Replacement<'_>],
) -> Result<(Vec<u8>, usize), Error> {
    utf8(path, now)?;
    let (mut bytes, mut count) = (now.to_vec(), 0);
    for (number, edit) in edits.iter().enumerate() {
        let (made, more) = replace(&bytes, edit).map_err(|error| match error {
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
    Ok((bytes, count))
}

/// Refuses bytes whose etag is not the one that the caller expects.
fn must_match(bytes: &[u8], if_match: Option<&str>) -> Result<(), Error> {
    match if_match.map(|wanted| (wanted, etag(bytes))) {
        Some((wanted, now)) if now != wanted => Err(Error::Conflict(Some(now))),
        _ => Ok(()),
    }
}

pub(crate) fn check_size(path: &VaultPath, size: u64) -> Result<(), Error> {
    if size > limits::NOTE_BYTES {
        return Err(Error::TooLarge {
            path: path.as_str().into(),
            size,
            limit: limits::NOTE_BYTES,
        });
    }
    Ok(())
}

/// Refuses a file that may not be written. A rename would replace even a read-only file; the
/// permission is respected.
pub(crate) fn refuse_read_only(found: &Metadata, path: &VaultPath) -> Result<(), Error> {
    match found.permissions().readonly() {
        true => Err(Error::ReadOnly(path.as_str().into())),
        false => Ok(()),
    }
}
