//! The steps of a change that only change names: renaming, moving to the trash and back.

use super::Changes;
use super::log::new_id;
use super::step::Step;
use super::write::refuse_read_only;
use crate::disk::{self, Folder, Mode};
use crate::limits;
use crate::slice::Part;
use crate::text::floor;
use crate::vault::entry::Stamp;
use crate::vault::error::Error;
use crate::vault::jail::ResolvedPath;
use crate::vault::path::VaultPath;
use crate::vault::{Vault, hash};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names that are tried for a file in the trash.
const TRASH_NAMES: u32 = 1_000;

/// The folder that Obsidian keeps deleted files in.
pub const TRASH: &str = ".trash";

/// The folders in which names have changed and are to be flushed.
#[derive(Debug, Default)]
pub(crate) struct Folders(BTreeSet<PathBuf>);

impl Folders {
    /// Adds the folder that a path is in.
    pub(crate) fn add_that_of(&mut self, path: &VaultPath, vault: &Vault) {
        self.0.insert(vault.absolute(path.parent().as_str()));
    }

    fn add_trash(&mut self, vault: &Vault) {
        self.0.insert(vault.jail.root().join(TRASH));
    }

    pub(crate) fn flush(&self) {
        disk::flush_names(self.0.iter().map(PathBuf::as_path));
    }
}

impl Changes {
    /// The trash folder, created if missing.
    pub(crate) fn trash(&self) -> Result<Folder, Error> {
        let on_disk = self
            .vault
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
        Folder::open(self.vault.jail.root(), Path::new(TRASH))
            .map_err(Error::disk("create the folder", TRASH))
    }

    /// Gives what is to be deleted unused names in the trash.
    pub(crate) fn name_in_trash(&self, steps: &mut [Step]) -> Result<(), Error> {
        let mut taken: Vec<String> = Vec::new();
        for step in steps {
            if let Step::Trash { path, trash_name, stamp } = step
                && trash_name.is_empty()
            {
                *trash_name = self.free_trash_name(path, &taken)?;
                taken.push(trash_name.clone());
                let found = self.vault.jail.look_up(path).ok().map(|(_, found)| found);
                *stamp = found.filter(|found| found.is_file()).map(|found| Stamp::of(&found));
            }
        }
        Ok(())
    }

    /// Saves bytes of a file as a copy in the trash. Returns its path there.
    ///
    /// # Errors
    /// The disk's.
    pub fn copy_to_trash(&self, path: &VaultPath, bytes: &[u8]) -> Result<String, Error> {
        let name = self.free_trash_name(path, &[])?;
        disk::replace(&self.trash()?.path().join(&name), bytes, Mode::New, |_| Ok(()))
            .map_err(Error::disk("write the file", path.as_str()))?;
        Ok(format!("{TRASH}/{name}"))
    }

    /// An unused name in the trash.
    fn free_trash_name(&self, path: &VaultPath, taken: &[String]) -> Result<String, Error> {
        let folder = self.trash()?;
        // What follows the dot in `1. A long title` is no extension; the number would not fit
        // before it.
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
            .chain((1..TRASH_NAMES).map(|number| numbered(number.to_string())));
        let is_taken = |name: &str| {
            folder.path().join(name).symlink_metadata().is_ok()
                || taken.iter().any(|taken| taken == name)
        };
        Ok(names.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| numbered(new_id())))
    }

    pub(crate) fn rename(
        &self,
        from: &VaultPath,
        to: &VaultPath,
        folders: &mut Folders,
    ) -> Result<(), Error> {
        let old = self.movable(from)?;
        let new = self.vault.jail.new_name(to)?;
        disk::rename_to_new(&old, &new).map_err(|error| change_error(error, from))?;
        folders.add_that_of(to, &self.vault);
        folders.add_that_of(from, &self.vault);
        self.vault.view.record_move(from, Some(to));
        Ok(())
    }

    pub(crate) fn move_to_trash(
        &self,
        path: &VaultPath,
        trash_name: &str,
        stamp: Option<Stamp>,
        folders: &mut Folders,
    ) -> Result<(), Error> {
        let (old, trash) = (self.movable(path)?, self.trash()?);
        let failed = |error| change_error(error, path);
        let new = trash.path().join(trash_name);
        disk::rename_to_new(&old, &new).map_err(failed)?;
        let moved = Stamp::of(&new.symlink_metadata().map_err(failed)?);
        if stamp.is_some_and(|stamp| !moved.is_same_file_as(&stamp)) {
            disk::rename_to_new(&new, &old).map_err(failed)?;
            return Err(Error::Busy);
        }
        folders.add_trash(&self.vault);
        folders.add_that_of(path, &self.vault);
        self.vault.view.record_move(path, None);
        Ok(())
    }

    /// The name in the trash of what was moved to a path there. A plain name: whoever can write the
    /// log must not name files elsewhere.
    pub(crate) fn trashed_name(trashed_to: &str) -> Option<&str> {
        let name = trashed_to.strip_prefix(TRASH)?.strip_prefix('/')?;
        Some(name).filter(|name| !name.contains('/') && VaultPath::file(name).is_ok())
    }

    /// The size of a regular file in the trash.
    pub(crate) fn trash_size(&self, trash_name: &str) -> Option<u64> {
        let found = self.trash().ok()?.path().join(trash_name).symlink_metadata().ok()?;
        found.is_file().then_some(found.len())
    }

    /// The hash of the bytes of a file in the trash, if it is not too large to be kept.
    pub(crate) fn trash_hash(&self, trash_name: &str) -> Option<String> {
        let bytes =
            disk::read_plain(&self.trash().ok()?.path().join(trash_name), limits::NOTE_BYTES)
                .ok()?;
        Some(hash(&bytes))
    }

    pub(crate) fn restore_from_trash(
        &self,
        trash_name: &str,
        path: &VaultPath,
        folders: &mut Folders,
    ) -> Result<(), Error> {
        let trash = self.trash()?;
        let old = trash.path().join(trash_name);
        if !old.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_dir()) {
            return Err(Error::NotFound { path: path.as_str().into(), hint: String::new() });
        }
        let new = self.vault.jail.new_name(path)?;
        disk::rename_to_new(&old, &new).map_err(|error| change_error(error, path))?;
        folders.add_that_of(path, &self.vault);
        folders.add_trash(&self.vault);
        // A folder is empty: the files in it come back by steps of their own.
        self.vault.view.update(path);
        Ok(())
    }

    /// The path on disk of a file or folder that may be moved.
    pub(crate) fn movable(&self, path: &VaultPath) -> Result<ResolvedPath, Error> {
        let (on_disk, found) = self.vault.locate(path)?;
        self.vault.check_grant(path.as_str())?;
        refuse_read_only(&found, path)?;
        if self.vault.jail.has_hidden(path.as_str(), &on_disk, false, limits::DEPTH) {
            return Err(Error::NotAllowed {
                path: path.as_str().into(),
                why: "it has files that are not served; move it by hand",
            });
        }
        Ok(on_disk)
    }
}

/// A failure of the disk while a file is changed.
pub(crate) fn change_error(error: std::io::Error, path: &VaultPath) -> Error {
    use std::io::ErrorKind::{AlreadyExists, NotFound, ResourceBusy};
    match error.kind() {
        // Moved away or saved by another program in between.
        AlreadyExists | NotFound | ResourceBusy => Error::Busy,
        _ => Error::disk("write the file", path.as_str())(error),
    }
}
