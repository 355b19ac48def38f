//! Renames files and folders, and moves them to the trash and back: the steps of a transaction that only change names.

use super::Vault;
use super::error::Error;
use super::jail::ResolvedPath;
use super::journal::Step;
use super::path::VaultPath;
use super::versions::{hash, new_id};
use super::write::{change_error, writable_metadata};
use crate::disk::{self, Folder};
use crate::limits;
use crate::slice::Part;
use crate::text::floor;
use std::path::Path;

/// The folder that Obsidian keeps deleted files in.
pub const TRASH: &str = ".trash";

impl Vault {
    /// The trash folder, created if missing.
    pub(super) fn trash(&self) -> Result<Folder, Error> {
        let on_disk = self
            .jail
            .own_or_obsidian_file(TRASH)
            .map_err(Error::disk("create the folder", TRASH))?;
        if on_disk.is_symlink() {
            return Err(Error::NotAllowed {
                path: TRASH.into(),
                why: "it is a link; nothing is moved there",
            });
        }
        disk::create_folder(&on_disk).map_err(Error::disk("create the folder", TRASH))?;
        Folder::open(self.jail.root(), Path::new(TRASH))
            .map_err(Error::disk("create the folder", TRASH))
    }

    /// An unused name in the trash.
    pub(super) fn free_trash_name(
        &self,
        path: &VaultPath,
        taken: &[Step],
    ) -> Result<String, Error> {
        let folder = self.trash()?;
        // What follows the dot in `1. A long title` is no extension; the number would not fit before it.
        let split = path
            .name()
            .rsplit_once('.')
            .filter(|(_, extension)| extension.len() < limits::NAME_BYTES / 2);
        let (stem, extension) = split.map_or((path.name(), String::new()), |(stem, extension)| {
            (stem, format!(".{extension}"))
        });
        let numbered = |number: String| {
            let longest = limits::NAME_BYTES.saturating_sub(extension.len() + number.len() + 1);
            format!("{} {number}{extension}", stem.part(..floor(stem, longest)))
        };
        let names = std::iter::once(path.name().to_owned())
            .chain((1..limits::TRASH_NAMES).map(|number| numbered(number.to_string())));
        let has = |step: &Step, name: &str| matches!(step, Step::Trash { trash_name, .. } if trash_name == name);
        let is_taken = |name: &str| {
            folder.path().join(name).symlink_metadata().is_ok()
                || taken.iter().any(|step| has(step, name))
        };
        Ok(names.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| numbered(new_id())))
    }

    pub(super) fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<(), Error> {
        let old = &self.movable(from)?;
        let new = self.jail.new_name(to)?;
        let _lock = self.lock_for_writing(old);
        disk::rename(old, &new, || self.index.check_available())
            .map_err(|error| change_error(error, from))?;
        self.record_move(from, Some(to));
        Ok(())
    }

    /// Moves a file to the trash; with `known`, only if it has these bytes.
    pub(super) fn move_to_trash(
        &self,
        path: &VaultPath,
        trash_name: &str,
        known: Option<&[u8]>,
    ) -> Result<(), Error> {
        let old = &self.movable(path)?;
        let trash = self.trash()?;
        let _lock = self.lock_for_writing(old);
        let look = || {
            known.map_or_else(
                || self.index.check_available(),
                |known| self.check_unchanged(old, old, path, Some(known)),
            )
        };
        disk::rename(old, &trash.path().join(trash_name), look)
            .map_err(|error| change_error(error, path))?;
        self.record_move(path, None);
        Ok(())
    }

    /// The size of a regular file in the trash.
    pub(super) fn trash_size(&self, trash_name: &str) -> Option<u64> {
        let found = self.trash().ok()?.path().join(trash_name).symlink_metadata().ok()?;
        found.is_file().then_some(found.len())
    }

    /// The hash of the bytes of a file in the trash, if it is not too large to be kept.
    pub(super) fn trash_hash(&self, trash_name: &str) -> Option<String> {
        let bytes =
            disk::read_plain(&self.trash().ok()?.path().join(trash_name), limits::NOTE_BYTES)
                .ok()?;
        Some(hash(&bytes))
    }

    pub(super) fn restore_from_trash(
        &self,
        trash_name: &str,
        path: &VaultPath,
    ) -> Result<(), Error> {
        let trash = self.trash()?;
        let old = trash.path().join(trash_name);
        if !old.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_dir()) {
            return Err(Error::NotFound { path: path.as_str().into(), hint: String::new() });
        }
        let new = self.jail.new_name(path)?;
        disk::rename(&old, &new, || Ok(())).map_err(|error| change_error(error, path))?;
        if new.is_dir() {
            return self.refresh_now();
        }
        self.index.record_write(path);
        Ok(())
    }

    /// Records that this program has just moved a file, or all files of a folder.
    pub(super) fn record_move(&self, from: &VaultPath, to: Option<&VaultPath>) {
        let below: Vec<VaultPath> = self
            .index
            .below(from, |_| true)
            .iter()
            .map(|entry| VaultPath::unchecked(&entry.path))
            .collect();
        for path in below.iter().chain([from]) {
            self.index.update(path.as_str(), true);
            let rest = path.as_str().part(from.as_str().len()..);
            if let Some(to) = to {
                self.index.record_write(&VaultPath::unchecked(&format!("{}{rest}", to.as_str())));
            }
        }
    }

    /// The resolved path of a file or folder that may be moved: one that is neither a link nor below one.
    pub(super) fn movable(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        let (path, on_disk) = self.locate(path)?;
        self.check_grant(path.as_str())?;
        if on_disk.below() != Path::new(path.as_str()) {
            return Err(Error::NotAllowed {
                path: path.as_str().into(),
                why: "it is, or lies below, a link; move it by hand",
            });
        }
        writable_metadata(&on_disk, &path)?;
        if self.jail.has_hidden(path.as_str(), false, limits::DEPTH) {
            return Err(Error::NotAllowed {
                path: path.as_str().into(),
                why: "it has files that are not served; move it by hand",
            });
        }
        Ok(on_disk)
    }
}
