//! Kept versions listed and brought back, and all that one login did taken back.

use super::jail::ResolvedPath;
use super::journal::Step;
use super::path::rest_below;
use super::versions::{Caller, Did, Line, Versions, hash};
use super::write::Written;
use super::{Error, Vault, VaultPath};
use crate::clock::Now;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What was taken back, or would be, and what was not; each a line for a person.
#[derive(Debug, Default)]
pub struct Undone {
    pub done: Vec<String>,
    pub left: Vec<String>,
    /// Paths of the files that are others now.
    pub changed: Vec<String>,
}

/// A path that is `old`, or lies below it, as if that were `new`.
fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    Some(format!("{new}{}", rest_below(path, old)?))
}

/// The files as they are after the steps that are planned so far.
struct View<'a> {
    vault: &'a Vault,
    /// Hashes of files that steps have changed; `None` for one that is gone.
    hashes: HashMap<String, Option<String>>,
    /// Old and new path of what is renamed back.
    renamed: Vec<(String, String)>,
    /// Paths that stay as they are.
    left: HashSet<String>,
}

impl View<'_> {
    /// The path on disk of what has a path after the steps.
    fn on_disk(&self, path: &str) -> Option<VaultPath> {
        let mut path = path.to_owned();
        for (from, to) in self.renamed.iter().rev() {
            match moved(&path, to, from) {
                Some(before) => path = before,
                None if moved(&path, from, "").is_some() => return None,
                None => {}
            }
        }
        VaultPath::file(&path).ok()
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.vault.bytes_if_any(&self.on_disk(path)?).ok().flatten()
    }

    fn hash(&self, path: &str) -> Option<String> {
        self.hashes.get(path).cloned().unwrap_or_else(|| self.bytes(path).as_deref().map(hash))
    }

    fn exists(&self, path: &str) -> bool {
        self.known(path).unwrap_or_else(|| self.existing(path).is_some())
    }

    /// Whether a file or folder cannot be renamed to a path because of what is there. A folder without files is no obstacle.
    fn is_taken(&self, path: &str) -> bool {
        let has_file = |found: ResolvedPath| !found.is_dir() || self.has_file(path, found.below());
        self.known(path).unwrap_or_else(|| self.existing(path).is_some_and(has_file))
    }

    /// Whether a path exists, as far as the steps say. A folder exists with a file below it.
    fn known(&self, path: &str) -> Option<bool> {
        let is_above =
            |(own, hash): (&String, &Option<String>)| hash.is_some() && rest_below(own, path).is_some_and(|rest| !rest.is_empty());
        self.hashes.get(path).map(Option::is_some).or_else(|| self.hashes.iter().any(is_above).then_some(true))
    }

    fn existing(&self, path: &str) -> Option<ResolvedPath> {
        self.vault.jail.existing(&self.on_disk(path)?).ok()
    }

    /// Whether a folder on disk has a file that is below `path` after the steps.
    fn has_file(&self, path: &str, folder: &Path) -> bool {
        let Ok(mut children) = self.vault.jail.root().join(folder).read_dir() else { return true };
        children.any(|child| {
            let Ok(child) = child else { return true };
            let on_disk = folder.join(child.file_name());
            let Some(name) = on_disk.to_str() else { return true };
            let after = self.renamed.iter().fold(name.to_owned(), |name, (from, to)| moved(&name, from, to).unwrap_or(name));
            let is_gone = rest_below(&after, path).is_none() || self.hashes.get(&after) == Some(&None);
            !is_gone && (!child.file_type().is_ok_and(|kind| kind.is_dir()) || self.has_file(path, &on_disk))
        })
    }

    fn rename(&mut self, from: &str, to: &str) {
        let hashes = std::mem::take(&mut self.hashes);
        self.hashes = hashes.into_iter().map(|(path, hash)| (moved(&path, from, to).unwrap_or(path), hash)).collect();
        self.renamed.push((from.to_owned(), to.to_owned()));
    }
}

/// Removes a folder with those below it, as far as they hold no file.
fn remove_empty_folders(folder: &Path) {
    for child in folder.read_dir().into_iter().flatten().flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_folders(&child.path());
        }
    }
    // One that holds a file stays, and the rename that follows says so.
    let _ = std::fs::remove_dir(folder);
}

/// The steps that take back one call, and what is said of them.
struct Plan {
    /// Whether nothing is left alone.
    is_whole: bool,
    steps: Vec<Step>,
    done: Vec<String>,
    left: Vec<String>,
}

impl Plan {
    /// Says once of a file why it stays as it is.
    fn leave(&mut self, view: &mut View<'_>, path: &str, why: String) {
        self.is_whole = false;
        if view.left.insert(path.to_owned()) {
            self.left.push(format!("{path}: {why}"));
        }
    }
}

impl Vault {
    fn kept_versions(&self) -> Result<&Arc<Versions>, Error> {
        let why = "No versions are kept: the server needs STATE_DIR, and VERSIONS must not be 0.";
        self.versions().ok_or_else(|| Error::Invalid(why.into()))
    }

    fn kept_lines(&self) -> Result<Vec<Line>, Error> {
        self.kept_versions()?.lines().map_err(Error::disk("read the kept versions", "versions/log.jsonl"))
    }

    /// The changes that replaced or deleted a note, of which the bytes are kept, the newest first; also under its earlier names.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no versions are kept, or the disk's.
    pub fn history(&self, path: &VaultPath) -> Result<Vec<Line>, Error> {
        if !self.jail.shows(path.as_str()) {
            return Ok(Vec::new());
        }
        let mut name = self.real(self.spelled(path).as_str());
        let mut found = Vec::new();
        for line in self.kept_lines()?.into_iter().rev() {
            if let Did::Renamed { from, to } = &line.did {
                name = moved(&name, to, from).unwrap_or(name);
                // What it was elsewhere is not for this caller.
                if !self.jail.shows(&name) {
                    break;
                }
            } else if line.kept().is_some_and(|(path, _)| path == name) {
                found.push(line);
            }
        }
        Ok(found)
    }

    /// The bytes of a kept version of a note.
    ///
    /// # Errors
    /// [`Error::NoTarget`] for a version that the note does not have, and those of [`Vault::history`].
    pub fn kept_version(&self, path: &VaultPath, version: &str) -> Result<Vec<u8>, Error> {
        let history = self.history(path)?;
        let kept = history.iter().find(|line| line.version == version).and_then(Line::kept);
        let Some((_, hash)) = kept else {
            let known = history.iter().take(crate::limits::CANDIDATES_SHOWN).map(|line| line.version.clone().into()).collect();
            return Err(Error::NoTarget { what: format!("{} has no version {version:?}", path.as_str()), known });
        };
        self.kept_versions()?.bytes(hash).map_err(Error::disk("read the kept version of", path.as_str()))
    }

    /// Writes a kept version of a note to its path, which need not exist any more.
    ///
    /// # Errors
    /// Those of [`Vault::kept_version`] and [`Vault::edit`].
    pub fn restore(&self, path: &VaultPath, version: &str) -> Result<Written, Error> {
        let bytes = self.kept_version(path, version)?;
        match self.edit_bytes(path, None, &mut |_| Ok(bytes.clone())) {
            Err(Error::NotFound { .. }) => {
                self.exchange(path, None, Some(&bytes))?;
                Ok(Written::of(path, true, &bytes))
            }
            other => other,
        }
    }

    /// Takes back all that a login has done since a moment, the newest call first. A file that was changed since is left alone; where
    /// a file or folder cannot be moved back, all of its call is.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no versions are kept, or the disk's.
    pub fn undo(&self, by: &str, since: Now, dry_run: bool) -> Result<Undone, Error> {
        let versions = self.kept_versions()?;
        let owner = Arc::new(Caller::new("owner", "undo"));
        let vault = self.on_behalf_of(&owner);
        vault.refresh_now()?;
        let transaction = if dry_run { None } else { Some(vault.begin_transaction()?) };
        let lines = self.kept_lines()?;
        let undone_calls: HashSet<&str> =
            lines.iter().filter_map(|line| if let Did::Undone { of } = &line.did { Some(of.as_str()) } else { None }).collect();
        let is_wanted = |line: &&Line| line.by == by && line.at >= since.0 && !undone_calls.contains(&*line.call);
        let own: Vec<&Line> = lines.iter().filter(is_wanted).collect();
        let mut view = View { vault: &vault, hashes: HashMap::new(), renamed: Vec::new(), left: HashSet::new() };
        let mut undone = Undone::default();
        for lines in own.chunk_by(|one, other| one.call == other.call).rev() {
            let mut plan = take_back(&mut view, versions, lines)?;
            if let Some(transaction) = transaction.as_ref().filter(|_| !plan.steps.is_empty()) {
                for step in &plan.steps {
                    if let Step::Rename { to, .. } = step
                        && let Ok(folder) = vault.jail.existing(to)
                    {
                        remove_empty_folders(&folder);
                    }
                }
                if let Err(error) = transaction.apply(&plan.steps) {
                    plan.is_whole = false;
                    plan.left.extend(std::mem::take(&mut plan.done).into_iter().map(|what| format!("{what}: {error}")));
                }
                // The disk is what the steps have made of it.
                (view.hashes, view.renamed) = (HashMap::new(), Vec::new());
            }
            if let Some(Line { call, .. }) = lines.first().filter(|_| plan.is_whole && !dry_run) {
                versions.keep(&owner, call, vec![super::versions::Change { did: Did::Undone { of: call.clone() }, bytes: None }])?;
            }
            undone.done.extend(plan.done);
            undone.left.extend(plan.left);
        }
        undone.changed = owner.changed();
        Ok(undone)
    }
}

/// The steps that take back the changes of a call, the last first.
fn take_back(view: &mut View<'_>, versions: &Versions, lines: &[&Line]) -> Result<Plan, Error> {
    let mut plan = Plan { is_whole: true, steps: Vec::new(), done: Vec::new(), left: Vec::new() };
    // Where it cannot be moved back, a move stays with everything that belongs to it.
    for line in lines {
        if let Did::Renamed { from, to } = &line.did
            && view.is_taken(from)
            && view.exists(to)
        {
            plan.leave(view, to, format!("cannot be moved back, there is another {from}"));
            return Ok(plan);
        }
    }
    for line in lines.iter().rev() {
        let when = format!("{} of {}", line.tool, Now(line.at).rfc3339());
        match &line.did {
            Did::Wrote { path, before, after, .. } => {
                let now = view.hash(path);
                if now == *before {
                    continue;
                }
                if now.as_ref() != Some(after) {
                    plan.leave(view, path, format!("changed since {when}"));
                    continue;
                }
                match before {
                    None => {
                        plan.steps.push(Step::Trash { path: VaultPath::file(path)? });
                        plan.done.push(format!("{path}: to the trash; it was made by {when}"));
                    }
                    Some(before) => {
                        let Ok(old) = versions.bytes(before) else {
                            plan.leave(view, path, format!("its text before {when} is not kept any more"));
                            continue;
                        };
                        // Of a dry run the file may have another text still; its steps are not made.
                        let known = view.bytes(path).unwrap_or_default();
                        plan.steps.push(Step::Replace { path: VaultPath::file(path)?, before: known, after: old });
                        plan.done.push(format!("{path}: as before {when}"));
                    }
                }
                view.hashes.insert(path.clone(), before.clone());
            }
            Did::Renamed { from, to } if view.exists(to) && !view.is_taken(from) => {
                plan.steps.push(Step::Rename { from: VaultPath::file(to)?, to: VaultPath::file(from)? });
                plan.done.push(format!("{from}: moved back from {to}; {when}"));
                view.rename(to, from);
            }
            Did::Renamed { from, to } if !view.is_taken(from) => {
                plan.leave(view, to, format!("gone since {when}, cannot be moved back to {from}"))
            }
            Did::Trashed { path, trashed_to, before, .. } => {
                if view.exists(path) {
                    if view.hash(path) != *before {
                        plan.leave(view, path, format!("there is another file of this name since {when}"));
                    }
                    continue;
                }
                match before.as_ref().and_then(|before| versions.bytes(before).ok()) {
                    Some(bytes) => {
                        plan.steps.push(Step::Create { path: VaultPath::file(path)?, bytes });
                        plan.done.push(format!("{path}: brought back; deleted by {when}"));
                        view.hashes.insert(path.clone(), before.clone());
                    }
                    None if trashed_to.is_empty() => plan.leave(view, path, format!("its text is not kept any more; deleted by {when}")),
                    None => plan.leave(view, path, format!("is in {trashed_to}, and not kept; deleted by {when}")),
                }
            }
            _ => {}
        }
    }
    Ok(plan)
}
