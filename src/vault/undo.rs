//! Listing and restoring kept versions, and undoing everything that one login did.

use super::commits::{Author, Commits};
use super::entry::name_of;
use super::journal::Step;
use super::moves::TRASH;
use super::path::{range_below, rest_below};
use super::versions::{Change, Did, Line, Log, UNDO, Versions, hash, new_id};
use super::write::Written;
use super::{Error, Vault, VaultPath, etag};
use crate::clock::Moment;
use crate::disk;
use crate::limits;
use crate::text::fold::fold;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Names the version that the newest change replaced.
const PREVIOUS: &str = "previous";

/// What was undone, or would be, and what was not; each a line of text.
#[derive(Debug, Default)]
pub struct Undone {
    pub done: Vec<String>,
    pub left: Vec<String>,
    /// Paths of the files that were changed.
    pub changed: Vec<String>,
    /// The marks of calls that were undone whole, for [`Vault::take_back_marks`], each with the call's lines of `done`.
    pub marks: Vec<(String, Vec<String>)>,
}

/// A path at or below `old`, with that prefix replaced by `new`; `None` for any other path. To undo a rename, `old` is its new name.
fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    Some(format!("{new}{}", rest_below(path, old)?))
}

/// The files of the vault as they will be after the steps planned so far, by path.
struct PlannedFiles<'a> {
    vault: &'a Vault,
    files: BTreeMap<Arc<str>, Content>,
    /// Paths before and after each planned rename.
    renamed: Vec<(String, String)>,
}

enum Content {
    /// Not changed by a planned step: the bytes of the file that is now at this path, which may be another than its key.
    OnDisk(Arc<str>),
    /// Bytes that a planned step writes, by their hash.
    Written(String),
}

impl PlannedFiles<'_> {
    /// Forgets the planned steps.
    fn reset(&mut self) {
        let file = |path: &Arc<str>| (Arc::clone(path), Content::OnDisk(Arc::clone(path)));
        self.files = self.vault.index.read(|entries| entries.keys().map(file).collect());
        self.renamed.clear();
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let Some(Content::OnDisk(path)) = self.files.get(path) else { return None };
        self.vault.bytes_if_any(&VaultPath::unchecked(path)).ok().flatten()
    }

    fn hash(&self, path: &str) -> Option<String> {
        match self.files.get(path)? {
            Content::Written(hash) => Some(hash.clone()),
            Content::OnDisk(_) => self.bytes(path).as_deref().map(hash),
        }
    }

    /// Whether something at this path keeps another file or folder from it. A folder without files does not.
    fn is_taken(&self, path: &str) -> bool {
        let is_here =
            self.files.contains_key(path) || range_below(&self.files, path).next().is_some();
        is_here || self.on_disk(path).is_some_and(|now| self.has_other_file(&now))
    }

    /// The present path of what will be at a path: the planned renames undone, the last first. `None` if one of them moves away what is
    /// there now.
    fn on_disk(&self, path: &str) -> Option<String> {
        self.renamed.iter().rev().try_fold(path.to_owned(), |path, (from, to)| {
            moved(&path, to, from).or_else(|| rest_below(&path, from).is_none().then_some(path))
        })
    }

    /// Whether a folder on disk has a file that is not served.
    fn has_other_file(&self, folder: &str) -> bool {
        let children = self.vault.root().join(folder).read_dir().into_iter().flatten();
        children.flatten().any(|child| {
            let Ok(name) = child.file_name().into_string() else { return true };
            let path = format!("{folder}/{name}");
            let is_folder = child.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                self.has_other_file(&path)
            } else {
                self.vault.index.get(&path).is_none()
            }
        })
    }

    fn exists(&self, path: &str) -> bool {
        self.is_taken(path)
            || self.on_disk(path).is_some_and(|now| self.vault.root().join(now).is_dir())
    }

    fn rename(&mut self, from: &str, to: &str) {
        let files = std::mem::take(&mut self.files).into_iter();
        self.files = files
            .map(|(path, content)| (moved(&path, from, to).map_or(path, Arc::from), content))
            .collect();
        self.renamed.push((from.to_owned(), to.to_owned()));
    }
}

/// The steps that undo one call, and the report on them.
struct Plan {
    steps: Vec<Step>,
    done: Vec<String>,
    /// What is left as it is, and why.
    left: Vec<(String, String)>,
}

impl Vault {
    fn kept_versions(&self) -> Result<&Arc<Versions>, Error> {
        let why = "No versions are kept: the server needs STATE_DIR, and VERSIONS must not be 0.";
        self.versions.as_ref().ok_or_else(|| Error::Invalid(why.into()))
    }

    fn kept_log(&self) -> Result<Log, Error> {
        let _permit = self.costly_call()?;
        self.kept_versions()?
            .log()
            .map_err(Error::disk("read the kept versions", "versions/log.jsonl"))
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
        for line in self.kept_log()?.lines.into_iter().rev() {
            if let Did::Renamed { from, to } = &line.did {
                name = match moved(&name, to, from) {
                    Some(earlier) => earlier,
                    // Before, the path was that of the file that was moved away, and another has it now.
                    None if rest_below(&name, from).is_some()
                        && (!found.is_empty() || self.jail.existing(path).is_ok()) =>
                    {
                        break;
                    }
                    None => name,
                };
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

    /// A path that exists, or else that of the deleted or moved file of this name of which a version is kept, if there is one.
    ///
    /// # Errors
    /// [`Error::Ambiguous`] if versions of several are kept.
    pub fn existing_or_deleted(&self, path: &VaultPath) -> Result<Option<VaultPath>, Error> {
        if self.jail.existing(&self.spelled(path)).is_ok() {
            return Ok(Some(path.clone()));
        }
        if self.versions.is_none() {
            return Ok(None);
        }
        let wanted = [fold(path.as_str()), fold(&format!("{}.md", path.as_str()))];
        let is_named =
            |kept: &str| [kept, name_of(kept)].iter().any(|name| wanted.contains(&fold(name)));
        let lines = self.kept_log()?.lines;
        let is_deleted = |line: &Line| matches!(line.did, Did::Trashed { .. });
        let kept = lines.iter().filter_map(|line| Some((line.kept()?.0, line)));
        let named: Vec<(&str, &Line)> =
            kept.filter(|(path, _)| self.jail.shows(path) && is_named(path)).collect();
        let deleted: BTreeSet<&str> =
            named.iter().filter(|(_, line)| is_deleted(line)).map(|(path, _)| *path).collect();
        // A note that was moved is gone from its earlier path.
        let is_gone = |path: &&str| self.jail.existing(&VaultPath::unchecked(path)).is_err();
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

    /// The bytes of a kept version of a note.
    ///
    /// # Errors
    /// [`Error::NoTarget`] for a version that the note does not have, and those of [`Vault::history`].
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

    /// Writes a kept version of a note to its path, even if the note no longer exists. `previous` takes back the newest change, and
    /// nothing that was done to the note after it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the note was changed after the newest change, and those of [`Vault::kept_version`] and [`Vault::write`].
    pub fn restore(&self, path: &VaultPath, version: &str) -> Result<Written, Error> {
        let (bytes, line) = self.find_version(path, version)?;
        // The file itself where it still is in the trash: with its mode and attributes.
        if let Did::Trashed { path: deleted, trashed_to, before, .. } = &line.did
            && let Some(trash_name) =
                trashed_to.strip_prefix(TRASH).and_then(|rest| rest.strip_prefix('/'))
            && deleted == path.as_str()
            && self.jail.existing(path).is_err()
            && self.trash_hash(trash_name) == *before
        {
            self.check_grant(path.as_str())?;
            let step = Step::Restore { path: path.clone(), trash_name: trash_name.to_owned() };
            self.begin_transaction()?.change(&[step])?;
            return Ok(Written::of(path, true, &bytes));
        }
        self.create_or_replace(&self.spelled(path), true, &mut |now| {
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

    /// Undoes everything that a login has done since a point in time, newest call first. A file changed since is left alone; if a
    /// file or folder cannot be moved back, its whole call is.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    pub fn undo(
        &self,
        by: &str,
        since: Moment,
        dry_run: bool,
        commits: Option<Arc<dyn Commits>>,
    ) -> Result<Undone, Error> {
        let versions = self.kept_versions()?;
        let owner = Arc::new(Author::new("owner", UNDO, commits));
        let vault = self.on_behalf_of(&owner);
        vault.refresh_now()?;
        let transaction = if dry_run { None } else { Some(vault.begin_transaction()?) };
        let log = self.kept_log()?;
        let lines = &log.lines;
        let undone_calls: HashSet<&str> = lines
            .iter()
            .filter_map(
                |line| if let Did::Undone { of } = &line.did { Some(of.as_str()) } else { None },
            )
            .collect();
        let all_own = || {
            lines.iter().filter(|line| {
                line.by == by
                    && line.at >= since.0
                    && !matches!(line.did, Did::Undone { .. } | Did::Dropped { .. })
            })
        };
        let own: Vec<&Line> =
            all_own().filter(|line| !undone_calls.contains(&*line.call)).collect();
        // A file that is as before the first of all changes needs nothing, whatever was done to it after that. A created file that is gone
        // may have been moved by a person, unless its creation was undone.
        let mut first: FirstBytes = BTreeMap::new();
        for line in all_own() {
            if let Did::Wrote { path, before, .. } = &line.did
                && (before.is_some() || undone_calls.contains(&*line.call))
            {
                first.entry(path).or_insert(before.as_deref());
            }
        }
        let mut view = PlannedFiles { vault: &vault, files: BTreeMap::new(), renamed: Vec::new() };
        view.reset();
        let (mut undone, mut left) = (Undone::default(), HashSet::new());
        for lines in own.chunk_by(|one, other| one.call == other.call).rev() {
            let mut plan = plan_undo(&mut view, versions, lines, &first)?;
            if let Some(transaction) = transaction.as_ref().filter(|_| !plan.steps.is_empty()) {
                for step in &plan.steps {
                    if let Step::Rename { to, .. } = step
                        && let Ok(folder) = vault.jail.existing(to)
                    {
                        disk::remove_folders_without_files(&folder, limits::DEPTH);
                    }
                }
                // Deleted files come back one by one: together they may be more than a journal holds.
                let come_back = plan.steps.iter().all(|step| {
                    matches!(step, Step::Write { before: None, .. } | Step::Restore { .. })
                });
                let mut applied = 0;
                for steps in plan.steps.chunks(if come_back { 1 } else { plan.steps.len() }) {
                    if let Err(error) = transaction.apply(steps) {
                        plan.left.extend(
                            plan.done
                                .split_off(applied)
                                .into_iter()
                                .map(|what| (what, error.to_string())),
                        );
                        break;
                    }
                    applied += steps.len();
                }
                view.reset();
            }
            if let Some(Line { call, .. }) =
                lines.first().filter(|_| plan.left.is_empty() && !dry_run)
            {
                // At once: after a crash the next undo would take what was undone for changes by others.
                let mark = new_id();
                versions.keep(
                    &owner,
                    &mark,
                    vec![Change { did: Did::Undone { of: call.clone() }, bytes: None }],
                )?;
                undone.marks.push((mark, plan.done.clone()));
            }
            undone.done.extend(plan.done);
            // Each once.
            undone.left.extend(
                plan.left
                    .into_iter()
                    .filter(|(path, _)| left.insert(path.clone()))
                    .map(|(path, why)| format!("{path}: {why}")),
            );
        }
        if !log.is_whole_of(by, since) {
            undone.left.push("there were so many changes that some are no longer known; vault_history shows what is kept of a note".into());
        }
        undone.changed = owner.changed();
        Ok(undone)
    }

    /// Takes marks back: their calls were not undone after all, and the next undo looks at them again.
    ///
    /// # Errors
    /// As [`Vault::undo`].
    pub fn take_back_marks<'a>(&self, marks: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        let owner = Author::new("owner", UNDO, None);
        for mark in marks {
            self.kept_versions()?.end(&owner, mark)?;
        }
        Ok(())
    }
}

/// By path, the hash of what a file was before the first of the changes to undo; `None` where there was none.
type FirstBytes<'a> = BTreeMap<&'a str, Option<&'a str>>;

/// Plans the steps that undo the changes of a call, the last first.
fn plan_undo(
    view: &mut PlannedFiles<'_>,
    versions: &Versions,
    lines: &[&Line],
    first: &FirstBytes<'_>,
) -> Result<Plan, Error> {
    let mut plan = Plan { steps: Vec::new(), done: Vec::new(), left: Vec::new() };
    // A move that cannot be undone stays, together with everything that belongs to it.
    for line in lines {
        if let Did::Renamed { from, to } = &line.did
            && view.is_taken(from)
            && view.exists(to)
        {
            plan.left.push((to.clone(), format!("cannot be moved back, another {from} exists")));
            return Ok(plan);
        }
    }
    for line in lines.iter().rev() {
        let when = format!("{} of {}", line.tool, Moment(line.at).rfc3339());
        match &line.did {
            Did::Wrote { path, before, after, .. } => {
                let now = view.hash(path);
                let is_as_first = now.as_ref() != Some(after)
                    && first.get(path.as_str()) == Some(&now.as_deref());
                if now == *before || is_as_first {
                    continue;
                }
                if now.as_ref() != Some(after) {
                    plan.left.push((path.clone(), format!("changed since {when}")));
                    continue;
                }
                match before {
                    None => {
                        plan.steps.push(Step::trash(VaultPath::file(path)?));
                        plan.done.push(format!("{path}: to the trash; created by {when}"));
                        view.files.remove(path.as_str());
                    }
                    Some(before) => {
                        let Ok(old) = versions.bytes(before) else {
                            plan.left.push((
                                path.clone(),
                                format!("its text before {when} is no longer kept"),
                            ));
                            continue;
                        };
                        // In a dry run the file may still have another text; the steps are not applied.
                        let known = view.bytes(path).unwrap_or_default();
                        plan.steps.push(Step::write(VaultPath::file(path)?, Some(known), old));
                        plan.done.push(format!("{path}: as before {when}"));
                        view.files.insert(path.as_str().into(), Content::Written(before.clone()));
                    }
                }
            }
            // `to` is gone and `from` is back: undone already.
            Did::Renamed { from, .. } if view.is_taken(from) => {}
            Did::Renamed { from, to } if view.exists(to) => {
                plan.steps
                    .push(Step::Rename { from: VaultPath::file(to)?, to: VaultPath::file(from)? });
                plan.done.push(format!("{from}: moved back from {to}; {when}"));
                view.rename(to, from);
            }
            Did::Renamed { from, to } => plan
                .left
                .push((to.clone(), format!("gone since {when}, cannot be moved back to {from}"))),
            Did::Trashed { path, trashed_to, before, bytes } => {
                if view.exists(path) {
                    if view.hash(path) != *before {
                        plan.left.push((
                            path.clone(),
                            format!("there is another file of this name since {when}"),
                        ));
                    }
                    continue;
                }
                // The file itself where it still is in the trash: with its mode and attributes, and however large it is.
                let trash_name = trashed_to
                    .strip_prefix(TRASH)
                    .and_then(|rest| rest.strip_prefix('/'))
                    .unwrap_or_default();
                let in_trash = match before {
                    Some(before) => view.vault.trash_hash(trash_name).as_ref() == Some(before),
                    None => {
                        *bytes as u64 > limits::NOTE_BYTES
                            && view.vault.trash_size(trash_name) == Some(*bytes as u64)
                    }
                };
                let kept = before.as_ref().and_then(|before| versions.bytes(before).ok());
                let step = match kept {
                    _ if in_trash => Step::Restore {
                        path: VaultPath::file(path)?,
                        trash_name: trash_name.to_owned(),
                    },
                    Some(kept) => Step::write(VaultPath::file(path)?, None, kept),
                    None if trashed_to.is_empty() => {
                        plan.left.push((
                            path.clone(),
                            format!("its text is no longer kept; deleted by {when}"),
                        ));
                        continue;
                    }
                    None => {
                        plan.left.push((
                            path.clone(),
                            format!("is in {trashed_to}, and not kept; deleted by {when}"),
                        ));
                        continue;
                    }
                };
                plan.steps.push(step);
                plan.done.push(format!("{path}: restored; deleted by {when}"));
                view.files.insert(
                    path.as_str().into(),
                    Content::Written(before.clone().unwrap_or_default()),
                );
            }
            _ => {}
        }
    }
    Ok(plan)
}
