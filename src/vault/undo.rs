//! Listing and restoring kept versions, and undoing everything that one login did.

use super::entry::name_of;
use super::jail::ResolvedPath;
use super::journal::Step;
use super::path::rest_below;
use super::versions::{Caller, Did, Line, Versions, hash};
use super::write::Written;
use super::{Error, Vault, VaultPath};
use crate::clock::Now;
use crate::disk;
use crate::limits;
use crate::text::fold::fold;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What was undone, or would be, and what was not; each a line of text.
#[derive(Debug, Default)]
pub struct Undone {
    pub done: Vec<String>,
    pub left: Vec<String>,
    /// Paths of the files that were changed.
    pub changed: Vec<String>,
    /// All logins of which changes are kept.
    pub logins: BTreeSet<String>,
}

/// A path at or below `old`, with that prefix replaced by `new`.
fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    Some(format!("{new}{}", rest_below(path, old)?))
}

/// The vault as it will be after the steps planned so far.
struct View<'a> {
    vault: &'a Vault,
    /// Hashes of files that the steps change; `None` for one that they delete.
    hashes: HashMap<String, Option<String>>,
    /// Paths before and after each planned rename.
    renamed: Vec<(String, String)>,
    /// Paths that stay as they are.
    left: HashSet<String>,
}

impl View<'_> {
    /// The current path on disk of what will be at `path` after the steps.
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
        // A rename makes the folders above its new path.
        let is_made = || self.renamed.iter().any(|(_, to)| rest_below(to, path).is_some_and(|rest| !rest.is_empty()));
        self.known(path).unwrap_or_else(|| self.existing(path).is_some() || is_made())
    }

    /// Whether a file or folder cannot be renamed to a path because something has that path. A folder without files is no obstacle.
    fn is_taken(&self, path: &str) -> bool {
        let has_file = |found: ResolvedPath| !found.is_dir() || self.has_file(path, found.below());
        self.known(path).unwrap_or_else(|| self.existing(path).is_some_and(has_file))
    }

    /// Whether a path exists after the steps, if they determine it. A folder exists if a file below it does.
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
        let others = hashes.into_iter().filter(|(path, _)| rest_below(path, to).is_none());
        self.hashes = others.map(|(path, hash)| (moved(&path, from, to).unwrap_or(path), hash)).collect();
        self.renamed.push((from.to_owned(), to.to_owned()));
    }
}

/// The steps that undo one call, and the report on them.
struct Plan {
    /// Whether nothing is left alone.
    is_whole: bool,
    steps: Vec<Step>,
    done: Vec<String>,
    left: Vec<String>,
}

impl Plan {
    /// Reports, once per file, why it is left as it is.
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

    /// The changes that replaced or deleted a note and whose old bytes are kept, newest first, including those under its earlier names.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    pub fn history(&self, path: &VaultPath) -> Result<Vec<Line>, Error> {
        if !self.jail.shows(path.as_str()) {
            return Ok(Vec::new());
        }
        let mut name = self.real(self.spelled(path).as_str());
        let mut found = Vec::new();
        for line in self.kept_lines()?.into_iter().rev() {
            if let Did::Renamed { from, to } = &line.did {
                name = moved(&name, to, from).unwrap_or(name);
                // The caller may not see what it was under that path.
                if !self.jail.shows(&name) {
                    break;
                }
            } else if line.kept().is_some_and(|(path, _)| path == name) {
                found.push(line);
            }
        }
        Ok(found)
    }

    /// A path that exists, or else that of the deleted file of this name of which a version is kept, if there is one.
    ///
    /// # Errors
    /// [`Error::Ambiguous`] if versions of several are kept.
    pub fn existing_or_deleted(&self, path: &VaultPath) -> Result<Option<VaultPath>, Error> {
        if self.jail.existing(&self.spelled(path)).is_ok() {
            return Ok(Some(path.clone()));
        }
        if self.versions().is_none() {
            return Ok(None);
        }
        let wanted = [fold(path.as_str()), fold(&format!("{}.md", path.as_str()))];
        let is_named = |kept: &&str| [*kept, name_of(kept)].iter().any(|name| wanted.contains(&fold(name)));
        let lines = self.kept_lines()?;
        let deleted = lines.iter().filter(|line| matches!(line.did, Did::Trashed { .. }));
        let kept = deleted.filter_map(Line::kept).map(|(path, _)| path);
        let found: BTreeSet<&str> = kept.filter(|kept| self.jail.shows(kept)).filter(is_named).collect();
        match Vec::from_iter(found).as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(VaultPath::known(only))),
            several if several.contains(&path.as_str()) => Ok(Some(path.clone())),
            several => Err(Error::Ambiguous {
                what: format!("{} is the name of several deleted files", path.as_str()),
                candidates: several.iter().take(limits::CANDIDATES_SHOWN).map(|path| (*path).into()).collect(),
            }),
        }
    }

    /// The bytes of a kept version of a note.
    ///
    /// # Errors
    /// [`Error::NoTarget`] for a version that the note does not have, and those of [`Vault::history`].
    pub fn kept_version(&self, path: &VaultPath, version: &str) -> Result<Vec<u8>, Error> {
        let history = self.history(path)?;
        let kept = history.iter().find(|line| line.version == version).and_then(Line::kept);
        let Some((_, hash)) = kept else {
            let known = history.iter().take(limits::CANDIDATES_SHOWN).map(|line| line.version.clone().into()).collect();
            return Err(Error::NoTarget { what: format!("{} has no version {version:?}", path.as_str()), known });
        };
        self.kept_versions()?.bytes(hash).map_err(Error::disk("read the kept version of", path.as_str()))
    }

    /// Writes a kept version of a note to its path, even if the note no longer exists.
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

    /// Undoes everything that a login has done since a point in time, newest call first. A file changed since is left alone; if a
    /// file or folder cannot be moved back, its whole call is.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
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
        let mut undone = Undone { logins: lines.iter().map(|line| line.by.clone()).collect(), ..Undone::default() };
        for lines in own.chunk_by(|one, other| one.call == other.call).rev() {
            let mut plan = plan_undo(&mut view, versions, lines)?;
            if let Some(transaction) = transaction.as_ref().filter(|_| !plan.steps.is_empty()) {
                for step in &plan.steps {
                    if let Step::Rename { to, .. } = step
                        && let Ok(folder) = vault.jail.existing(to)
                    {
                        disk::remove_folders_without_files(&folder, limits::DEPTH);
                    }
                }
                if let Err(error) = transaction.apply(&plan.steps) {
                    plan.is_whole = false;
                    plan.left.extend(std::mem::take(&mut plan.done).into_iter().map(|what| format!("{what}: {error}")));
                }
                // The steps have been applied to the disk.
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

/// Plans the steps that undo the changes of a call, the last first.
fn plan_undo(view: &mut View<'_>, versions: &Versions, lines: &[&Line]) -> Result<Plan, Error> {
    let mut plan = Plan { is_whole: true, steps: Vec::new(), done: Vec::new(), left: Vec::new() };
    // A move that cannot be undone stays, together with everything that belongs to it.
    for line in lines {
        if let Did::Renamed { from, to } = &line.did
            && view.is_taken(from)
            && view.exists(to)
        {
            plan.leave(view, to, format!("cannot be moved back, another {from} exists"));
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
                        plan.done.push(format!("{path}: to the trash; created by {when}"));
                    }
                    Some(before) => {
                        let Ok(old) = versions.bytes(before) else {
                            plan.leave(view, path, format!("its text before {when} is no longer kept"));
                            continue;
                        };
                        // In a dry run the file may still have another text; the steps are not applied.
                        let known = view.bytes(path).unwrap_or_default();
                        plan.steps.push(Step::Replace { path: VaultPath::file(path)?, before: known, after: old });
                        plan.done.push(format!("{path}: as before {when}"));
                    }
                }
                view.hashes.insert(path.clone(), before.clone());
            }
            Did::Renamed { from, .. } if view.is_taken(from) => {}
            Did::Renamed { from, to } if view.exists(to) => {
                plan.steps.push(Step::Rename { from: VaultPath::file(to)?, to: VaultPath::file(from)? });
                plan.done.push(format!("{from}: moved back from {to}; {when}"));
                view.rename(to, from);
            }
            Did::Renamed { from, to } => plan.leave(view, to, format!("gone since {when}, cannot be moved back to {from}")),
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
                        plan.done.push(format!("{path}: restored; deleted by {when}"));
                        view.hashes.insert(path.clone(), before.clone());
                    }
                    None if trashed_to.is_empty() => plan.leave(view, path, format!("its text is no longer kept; deleted by {when}")),
                    None => plan.leave(view, path, format!("is in {trashed_to}, and not kept; deleted by {when}")),
                }
            }
            _ => {}
        }
    }
    Ok(plan)
}
