//! Listing kept versions of a note, and restoring them.

use super::Changes;
use super::log::{Did, Line, Log, Past};
use super::step::Step;
use super::take_back::moved;
use super::write::Written;
use crate::limits;
use crate::text::fold::fold;
use crate::vault::entry::name_of;
use crate::vault::error::Error;
use crate::vault::path::{VaultPath, rest_below};
use crate::vault::{etag, hash};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names the version that the newest change replaced.
const PREVIOUS: &str = "previous";

impl Changes {
    pub(crate) fn kept_versions(&self) -> Result<&Arc<Log>, Error> {
        let why = "No versions are kept: the server needs STATE_DIR, and VERSIONS must not be 0.";
        self.log.as_ref().ok_or_else(|| Error::Invalid(why.into()))
    }

    /// What the log has. Clients read it a few at a time; its owner waits for none of them.
    pub(crate) fn past(&self) -> Result<Past, Error> {
        let _permit = self.author.is_some().then(|| self.vault.costly_call()).transpose()?;
        self.kept_versions()?
            .past()
            .map_err(Error::disk("read the kept versions", "versions/log.jsonl"))
    }

    /// The changes that replaced or deleted a note and whose old bytes are kept, newest first,
    /// including those under its earlier names.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    pub fn history(&self, path: &VaultPath) -> Result<Vec<Line>, Error> {
        if !self.vault.jail.shows(path.as_str()) {
            return Ok(Vec::new());
        }
        let mut name = path.as_str().to_owned();
        let mut found = Vec::new();
        for line in self.past()?.lines.into_iter().rev() {
            if let Did::Renamed { from, to } = &line.did {
                name = match moved(&name, to, from) {
                    Some(earlier) => earlier,
                    // Before, the path was that of the file that was moved away, and another has it
                    // now.
                    None if rest_below(&name, from).is_some()
                        && (!found.is_empty() || self.vault.jail.existing(path).is_ok()) =>
                    {
                        break;
                    }
                    None => name,
                };
                // The caller may not see what it was under that path.
                if !self.vault.jail.shows(&name) {
                    break;
                }
            } else if line.kept().is_some_and(|(path, _)| path == name) {
                found.push(line);
            }
        }
        Ok(found)
    }

    /// A path that exists, or else that of the deleted or moved file of this name of which a
    /// version is kept, if there is one.
    ///
    /// # Errors
    /// [`Error::Ambiguous`] if versions of several are kept.
    pub fn existing_or_deleted(&self, path: &VaultPath) -> Result<Option<VaultPath>, Error> {
        if self.vault.jail.existing(path).is_ok() {
            return Ok(Some(path.clone()));
        }
        if self.log.is_none() {
            return Ok(None);
        }
        let wanted = [fold(path.as_str()), fold(&format!("{}.md", path.as_str()))];
        let is_named =
            |kept: &str| [kept, name_of(kept)].iter().any(|name| wanted.contains(&fold(name)));
        let lines = self.past()?.lines;
        let is_deleted = |line: &Line| matches!(line.did, Did::Trashed { .. });
        let kept = lines.iter().filter_map(|line| Some((line.kept()?.0, line)));
        let named: Vec<(&str, &Line)> =
            kept.filter(|(path, _)| self.vault.jail.shows(path) && is_named(path)).collect();
        let deleted: BTreeSet<&str> =
            named.iter().filter(|(_, line)| is_deleted(line)).map(|(path, _)| *path).collect();
        // A note that was moved is gone from its earlier path.
        let is_gone = |path: &&str| self.vault.jail.existing(&VaultPath::unchecked(path)).is_err();
        let found = if deleted.is_empty() {
            named.iter().map(|(path, _)| *path).filter(is_gone).collect()
        } else {
            deleted
        };
        match Vec::from_iter(found).as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(VaultPath::unchecked(only))),
            several if several.contains(&path.as_str()) => Ok(Some(path.clone())),
            several => Err(Error::Ambiguous {
                what: format!("{} is the name of several deleted or moved files", path.as_str()),
                candidates: several
                    .iter()
                    .take(limits::CANDIDATES_SHOWN)
                    .map(|path| (*path).into())
                    .collect(),
            }),
        }
    }

    /// Where the file that had a path before is now, after it was moved; `None` also if that is not
    /// known.
    pub fn moved_to(&self, path: &VaultPath) -> Option<VaultPath> {
        self.log.as_ref()?;
        let mut now: Option<String> = None;
        for line in self.past().ok()?.lines {
            if let Did::Renamed { from, to } = &line.did {
                let further = now.as_deref().and_then(|now| moved(now, from, to));
                now = moved(path.as_str(), from, to).or(further).or(now);
            }
        }
        let now = now.map(|now| VaultPath::unchecked(&now))?;
        (self.vault.jail.shows(now.as_str()) && self.vault.jail.existing(&now).is_ok())
            .then_some(now)
    }

    /// The bytes of a kept version of a note.
    ///
    /// # Errors
    /// [`Error::NoTarget`] for a version that the note does not have, and those of
    /// [`Changes::history`].
    pub fn kept_version(&self, path: &VaultPath, version: &str) -> Result<Vec<u8>, Error> {
        Ok(self.find_version(path, version)?.0)
    }

    /// The bytes of a kept version, and the line of the change that replaced it.
    fn find_version(&self, path: &VaultPath, version: &str) -> Result<(Vec<u8>, Line), Error> {
        let history = self.history(path)?;
        // The newest is first.
        let found = history.iter().find(|line| version == PREVIOUS || line.version == version);
        let Some((line, (_, hash))) = found.and_then(|line| Some((line, line.kept()?))) else {
            let known = history
                .iter()
                .take(limits::CANDIDATES_SHOWN)
                .map(|line| line.version.clone().into())
                .collect();
            return Err(Error::NoTarget {
                what: format!("{} has no version {version:?}", path.as_str()),
                known,
            });
        };
        let bytes = self
            .kept_versions()?
            .bytes(hash)
            .map_err(Error::disk("read the kept version of", path.as_str()))?;
        Ok((bytes, line.clone()))
    }

    /// Writes a kept version of a note to its path, even if the note no longer exists. `previous`
    /// takes back the newest change, and nothing that was done to the note after it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the note was changed after the newest change, and those of
    /// [`Changes::kept_version`] and [`Changes::write`].
    pub fn restore(&self, path: &VaultPath, version: &str) -> Result<Written, Error> {
        let (bytes, line) = self.find_version(path, version)?;
        // The file itself where it still is in the trash: with its mode and attributes.
        if let Did::Trashed { path: deleted, trashed_to, before, .. } = &line.did
            && let Some(trash_name) = Changes::trashed_name(trashed_to)
            && deleted == path.as_str()
            && self.vault.jail.existing(path).is_err()
            && self.trash_hash(trash_name) == *before
        {
            self.vault.check_grant(path.as_str())?;
            let step = Step::Restore { path: path.clone(), trash_name: trash_name.to_owned() };
            self.change(&[step])?;
            return Ok(Written::of(path, true, &bytes));
        }
        self.update_to_any_form(path, true, &mut |now| {
            let is_other = |now: &&[u8]| match &line.did {
                Did::Wrote { after, .. } => hash(now) != *after,
                // The file was deleted, and another one made.
                _ => **now != *bytes,
            };
            match now.filter(is_other) {
                Some(now) if version == PREVIOUS => Err(Error::Conflict(Some(etag(now)))),
                _ => Ok(bytes.clone()),
            }
        })
    }

    /// Writes an earlier version of a note, which the caller has from elsewhere, to its path.
    ///
    /// # Errors
    /// Those of [`Changes::write`].
    pub fn bring_back(&self, path: &VaultPath, bytes: &[u8]) -> Result<Written, Error> {
        self.update_to_any_form(path, true, &mut |_| Ok(bytes.to_vec()))
    }
}
