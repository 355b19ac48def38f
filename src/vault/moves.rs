//! Renaming files and folders, moving them to the trash and back: the steps of a transaction that change names alone.

use super::Vault;
use super::error::Error;
use super::jail::Place;
use super::journal::Noted;
use super::path::VaultPath;
use super::write::{existing, naming};
use crate::disk::{self, Folder};
use crate::limits;
use std::path::Path;

pub(super) const TRASH: &str = ".trash";

impl Vault {
    /// The folder for what was deleted; made where it is missing.
    pub(super) fn trash(&self) -> Result<Folder, Error> {
        let place = self.jail.hidden(TRASH).map_err(Error::disk("create the folder", TRASH))?;
        if place.is_symlink() {
            return Err(Error::NotAllowed { path: TRASH.into(), why: "it is a link; nothing is moved there" });
        }
        disk::create_folder(&place).map_err(Error::disk("create the folder", TRASH))?;
        Folder::open(self.jail.root(), Path::new(TRASH)).map_err(Error::disk("create the folder", TRASH))
    }

    /// A name in the trash that nothing has yet.
    pub(super) fn place_in_trash(&self, path: &VaultPath, taken: &[Noted]) -> Result<String, Error> {
        let folder = self.trash()?;
        let (stem, ending) =
            path.name().rsplit_once('.').map_or((path.name(), String::new()), |(stem, ending)| (stem, format!(".{ending}")));
        let names =
            std::iter::once(path.name().to_owned()).chain((1..limits::TRASH_NAMES).map(|number| format!("{stem} {number}{ending}")));
        let is_taken = |name: &str| folder.path().join(name).symlink_metadata().is_ok() || taken.iter().any(|noted| noted.place == name);
        names
            .into_iter()
            .find(|name| !is_taken(name))
            .ok_or_else(|| Error::NotAllowed { path: path.as_str().into(), why: "the trash is full of files of this name" })
    }

    pub(super) fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<(), Error> {
        let old = &self.movable(from)?;
        let new = self.jail.new_name(to)?;
        let _turn = self.write_turn(old);
        disk::rename(old, &new, || self.index.refuse_if_away()).map_err(|error| naming(error, from))?;
        self.moved_files(from, Some(to));
        Ok(())
    }

    /// With `known`, only a file with these bytes.
    pub(super) fn to_trash(&self, path: &VaultPath, place: &str, known: Option<&[u8]>) -> Result<(), Error> {
        let old = &self.movable(path)?;
        let trash = self.trash()?;
        let _turn = self.write_turn(old);
        let look = || known.map_or_else(|| self.index.refuse_if_away(), |known| self.is_still(old, old, path, Some(known)));
        disk::rename(old, &trash.path().join(place), look).map_err(|error| naming(error, path))?;
        self.moved_files(path, None);
        Ok(())
    }

    pub(super) fn bring_back(&self, place: &str, path: &VaultPath) -> Result<(), Error> {
        let trash = self.trash()?;
        let old = trash.path().join(place);
        if !old.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_dir()) {
            return Err(Error::NotFound { path: path.as_str().into(), hint: String::new() });
        }
        let new = self.jail.new_name(path)?;
        disk::rename(&old, &new, || Ok(())).map_err(|error| naming(error, path))?;
        if new.is_dir() {
            return self.index.refresh_now();
        }
        self.index.wrote(path);
        Ok(())
    }

    /// Takes note of a file, or of all files of a folder, that this program has just moved.
    pub(super) fn moved_files(&self, from: &VaultPath, to: Option<&VaultPath>) {
        let below: Vec<VaultPath> = self.index.below(from, |_| true).iter().map(|entry| VaultPath::known(&entry.path)).collect();
        for path in below.iter().chain([from]) {
            self.index.removed(path);
            let rest = path.as_str().get(from.as_str().len()..).unwrap_or_default();
            if let Some(to) = to {
                self.index.wrote(&VaultPath::known(&format!("{}{rest}", to.as_str())));
            }
        }
    }

    /// The place of a file or folder that may be moved: its own name, and not a link to another.
    pub(super) fn movable(&self, path: &VaultPath) -> Result<Place, Error> {
        let (path, place) = self.locate(path)?;
        self.check_grant(path.as_str())?;
        if place.below() != Path::new(path.as_str()) {
            return Err(Error::NotAllowed { path: path.as_str().into(), why: "it is, or lies below, a link; move it by hand" });
        }
        existing(&place, &path)?;
        if self.jail.scope().has_hidden(self.jail.root(), path.as_str(), limits::DEPTH) {
            return Err(Error::NotAllowed { path: path.as_str().into(), why: "it has files that are not served; move it by hand" });
        }
        Ok(place)
    }
}
