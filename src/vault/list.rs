//! Lists of files: all of the vault from the index, or one folder from the disk.

use super::entry::{Entry, Stamp};
use super::error::{Error, description};
use super::index::walk::{self, Kind};
use super::jail::ResolvedPath;
use super::path::{VaultPath, composed, joined};
use super::{Vault, suggestion};
use crate::text::fold::fold;
use std::fs;
use std::ops::Bound;
use std::sync::Arc;

/// The number of all files of a list, and some of them, sorted by path.
pub type Page = (usize, Vec<Arc<Entry>>);

/// The name of a folder's child and, for a file, its stamp.
pub type Child = (String, Option<Stamp>);

/// A tag to filter by; `None` if it is empty.
pub(crate) fn wanted_tag(tag: Option<&str>) -> Option<String> {
    Some(tag_name(tag?)).filter(|tag| !tag.is_empty())
}

/// The name of a tag as names are compared: folded, without `#`.
pub(crate) fn tag_name(tag: &str) -> String {
    fold(tag.trim().trim_start_matches('#').trim_end_matches('/'))
}

impl Vault {
    /// At most `limit` files after a path, sorted by path: those below a folder, and with a tag (in
    /// any case, `#` optional) or one nested below it.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; [`Error::NotFound`] when the folder does not exist.
    pub fn list_all(
        &self,
        below: Option<&VaultPath>,
        tag: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, Error> {
        self.check_folder(below)?;
        let tag = wanted_tag(tag);
        self.matching(after, limit, |entry| {
            below.is_none_or(|folder| folder.contains(&entry.path))
                && tag.as_ref().is_none_or(|tag| entry.has_tag(tag))
        })
    }

    /// At most `limit` files after a path for which `passes` is true, sorted by path.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn matching(
        &self,
        after: Option<&str>,
        limit: usize,
        passes: impl Fn(&Entry) -> bool,
    ) -> Result<Page, Error> {
        self.refresh()?;
        Ok(self.view.read(|entries| {
            let total = entries.values().filter(|entry| passes(entry)).count();
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let rest = entries
                .range::<str, _>((start, Bound::Unbounded))
                .map(|(_, entry)| entry)
                .filter(|entry| passes(entry));
            (total, rest.take(limit).cloned().collect())
        }))
    }

    /// The children of a folder: folders first, then files, each sorted by name. Read from the
    /// disk, so it also shows folders without files.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotAllowed`] (also for a file), or the disk's.
    pub fn list(&self, folder: &VaultPath) -> Result<Vec<Child>, Error> {
        let on_disk = self.folder_on_disk(folder)?;
        let found = self
            .served_children(folder, &on_disk)
            .map_err(Error::disk("read the folder", folder.as_str()))?;
        let stamp =
            |kind| if let Kind::File(metadata) = kind { Some(Stamp::of(&metadata)) } else { None };
        let mut children: Vec<Child> =
            found.into_iter().map(|(name, kind)| (name, stamp(kind))).collect();
        children.sort_unstable_by(|(a, file), (b, other)| {
            file.is_some().cmp(&other.is_some()).then_with(|| a.cmp(b))
        });
        Ok(children)
    }

    /// The number of served children of a folder. None is looked at itself: a folder may have
    /// thousands of files.
    pub fn count_children(&self, folder: &VaultPath) -> usize {
        let Ok(on_disk) = self.jail.folder(folder) else { return 0 };
        let is_served = |entry: &fs::DirEntry| {
            let Ok(name) = entry.file_name().into_string() else { return false };
            entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir())
                && VaultPath::file(&name).is_ok()
                && self.jail.shows(&joined(folder.as_str(), &name))
        };
        fs::read_dir(&*on_disk).map_or(0, |entries| entries.flatten().filter(is_served).count())
    }

    /// Refuses a folder to which a list or search is limited if it does not exist.
    pub fn check_folder(&self, below: Option<&VaultPath>) -> Result<(), Error> {
        below.map_or(Ok(()), |folder| self.folder_on_disk(folder).map(drop))
    }

    /// Whether the path is a folder that the caller may read.
    pub fn is_folder(&self, path: &VaultPath) -> bool {
        self.jail.folder(path).is_ok()
    }

    fn folder_on_disk(&self, folder: &VaultPath) -> Result<ResolvedPath, Error> {
        self.view.check_available()?;
        match self.jail.folder(folder) {
            Err(Error::NotFound { path, .. }) => {
                self.check_other_case(folder)?;
                let hint = suggestion(
                    &self.folders_named(folder),
                    "Use vault_list without a path to see the folders that exist.",
                );
                Err(Error::NotFound { path, hint })
            }
            other => other,
        }
    }

    /// Refuses a path that names a folder in another case, with the folder's own.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub fn check_other_case(&self, folder: &VaultPath) -> Result<(), Error> {
        self.refresh()?;
        let (below, depth) = (format!("{}/", fold(folder.as_str())), folder.segments().count());
        let is_below = |entry: &&Arc<Entry>| entry.folded_path().starts_with(&below);
        match self.view.read(|entries| entries.values().find(is_below).cloned()) {
            Some(entry) => {
                let meant = entry.path.split('/').take(depth).collect::<Vec<_>>().join("/");
                Err(Error::NotFound {
                    path: folder.as_str().into(),
                    hint: format!("Did you mean: {meant}?"),
                })
            }
            None => Ok(()),
        }
    }

    /// The served children of a folder.
    ///
    /// # Errors
    /// The disk's, also when none of its children could be read: that is not an empty folder.
    fn served_children(
        &self,
        folder: &VaultPath,
        on_disk: &ResolvedPath,
    ) -> std::io::Result<Vec<(String, Kind)>> {
        let (mut children, mut failed) = (Vec::new(), None);
        for entry in fs::read_dir(&**on_disk)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = joined(folder.as_str(), &name);
            match walk::classify(&self.jail, on_disk, &path, &entry, &name) {
                Ok(found) => {
                    children.extend(found.map(|found| (composed(&name).into_owned(), found)));
                }
                Err(error) => {
                    log::warn!("{name:?} cannot be looked at: {}", description(&error));
                    failed = Some(error);
                }
            }
        }
        match failed {
            Some(error) if children.is_empty() => Err(error),
            _ => Ok(children),
        }
    }
}
