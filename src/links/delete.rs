//! Moving files to the trash, and the links that this breaks.

use crate::change::Changes;
use crate::change::step::Step;
use crate::limits;
use crate::links::Links;
use crate::links::index::folder_of;
use crate::links::plan::{LeftAlone, left_alone};
use crate::markdown::parts::Note;
use crate::markdown::resolve::Resolved;
use crate::vault::entry::Entry;
use crate::vault::{Error, VaultPath};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Files that were moved to the trash.
#[derive(Debug)]
pub struct Deleted {
    /// Path, and path in the trash.
    pub files: Vec<(String, String)>,
    /// Number of links that led to one of them.
    pub broken_links: usize,
    pub broken: Vec<LeftAlone>,
}

impl Links {
    /// Moves files to the trash, all of them or none. A folder can be deleted if each of its files
    /// is named, too.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`], [`Error::Invalid`] for a folder with other files,
    /// and those of [`crate::change::apply::Alone::change`].
    pub fn delete(
        &self,
        changes: &Changes,
        paths: &[VaultPath],
        if_match: Option<&str>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Deleted, Error> {
        let alone = changes.alone();
        self.vault().refresh_now()?;
        let mut wanted: Vec<VaultPath> = Vec::new();
        for path in paths {
            let (on_disk, found) = self.vault().locate(path)?;
            changes.check_etag(path, if_match)?;
            if found.is_dir() {
                let others: Vec<Arc<Entry>> = self
                    .vault()
                    .view
                    .below(path, |entry| !paths.iter().any(|path| path.as_str() == &*entry.path));
                if let Some(other) = others.first() {
                    return Err(Error::Invalid(format!(
                        "{} has files that are not named ({}, such as {}); nothing was deleted. \
                         Name each file to delete, or move the folder.",
                        path.as_str(),
                        others.len(),
                        other.path
                    )));
                }
                if self.vault().jail.has_hidden(path.as_str(), &on_disk, true, limits::DEPTH) {
                    return Err(Error::NotAllowed {
                        path: path.as_str().into(),
                        why: "it has hidden files, such as .git or .obsidian, which are not \
                              served; delete it by hand",
                    });
                }
            }
            changes.movable(path)?;
            if !wanted.contains(path) {
                wanted.push(path.clone());
            }
        }
        // The contents of a folder are deleted before it.
        wanted.sort_by_key(|path| std::cmp::Reverse(path.segments().count()));
        let gone: BTreeSet<&str> = wanted.iter().map(VaultPath::as_str).collect();
        let (mut broken_links, mut broken) = (0, Vec::new());
        {
            let index = self.index(proceed)?;
            let sources = index.sources_of(&gone);
            for source in sources.iter().filter(|source| !gone.contains(source.as_str())) {
                let Some(entry) = self.vault().view.get(source) else { continue };
                let (text, links) = self.links_in(&entry);
                let note = Note::of(&text);
                for link in links.iter().filter(|link| !link.path.is_empty()) {
                    let folder = folder_of(source);
                    let breaks = || index.resolve_without(&gone, link, folder) == Resolved::Missing;
                    if index.resolve(link, folder) != Resolved::Missing && breaks() {
                        broken_links += 1;
                        let at = link.range.start;
                        if broken.len() < limits::CHANGES_SHOWN {
                            broken.push(left_alone(source, &note, at, ""));
                        }
                    }
                }
            }
        }
        let steps: Vec<Step> = wanted.iter().cloned().map(Step::trash).collect();
        let trashed = alone.change(&steps)?.trashed;
        let files = wanted
            .iter()
            .zip(trashed)
            .map(|(path, trashed_to)| (path.as_str().to_owned(), trashed_to))
            .collect();
        Ok(Deleted { files, broken_links, broken })
    }
}
