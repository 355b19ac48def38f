//! Taking changes back: those that a crash has left half done, and for [`undo`](super::undo) those
//! of a login. Each line of the log says what a file was before and after; a file that is neither
//! was changed since, and stays as it is.

use super::Changes;
use super::commits::Author;
use super::log::{Did, Line, Log, OpenLog, UNDO};
use super::names::Folders;
use super::step::Step;
use crate::vault::error::Error;
use crate::vault::etag;
use crate::vault::path::{VaultPath, joined, rest_below};
use crate::{disk, limits};
use std::collections::BTreeMap;
use std::path::Path;

impl Changes {
    /// Opens the log, and takes back first what a crash has left half done.
    ///
    /// # Errors
    /// Those of the log, and the disk's: then the call stays unfinished.
    pub(crate) fn open_log<'a>(&self, log: &'a Log) -> Result<OpenLog<'a>, Error> {
        let mut open = log.open()?;
        if let Some(call) = open.unfinished(&self.id())? {
            // Not in the place where the vault is mounted: nothing was taken back there.
            if self.vault.jail.root().read_dir().map_or(true, |mut names| names.next().is_none()) {
                return Err(Error::Unavailable);
            }
            let lines = open.lines_of_call(&call)?;
            log::warn!("a change of {} files was interrupted; it is taken back", lines.len());
            // It may have been made outside of the caller's folders.
            let whole = self.of_whole_vault();
            let left = whole.take_back(log, lines)?;
            open.end_but_for(&Author::new("owner", UNDO), &call, left)?;
        }
        Ok(open)
    }

    /// Takes back, at the start, what a crash has left half done; if that fails, the next change
    /// tries again.
    pub fn recover(&self) {
        let Some(log) = self.log.as_ref().filter(|log| log.exists()) else { return };
        let _alone = self.alone();
        if let Err(error) = self.open_log(log) {
            log::warn!("an interrupted change of several files cannot be taken back yet: {error}");
        }
    }

    /// Takes back changes as far as they were made, the last first; gives those that are left.
    fn take_back(&self, log: &Log, lines: Vec<Line>) -> Result<Vec<Line>, Error> {
        let (mut folders, mut left) = (Folders::default(), Vec::new());
        for line in lines.into_iter().rev() {
            let mut take_back = || match Planned::of(self, log).back(&line.did)? {
                Back::Step(step) => {
                    let mut steps = [step];
                    self.name_in_trash(&mut steps)?;
                    steps.iter().try_for_each(|step| self.make_step(step, &mut folders))
                }
                Back::Nothing => Ok(()),
                Back::Left(path, why) => Err(Error::Invalid(format!("{path}: {why}"))),
            };
            if let Err(error) = take_back() {
                // The disk has to be repaired first.
                if self.is_lasting(&error) {
                    return Err(error);
                }
                log::warn!("a file is left as it is: {error}");
                left.push(line);
            }
        }
        folders.flush();
        left.reverse();
        Ok(left)
    }

    /// Which vault a call in the log is about: several may share a state folder.
    pub(crate) fn id(&self) -> String {
        etag(self.vault.jail.root().as_os_str().as_encoded_bytes())
    }
}

/// How a change is taken back.
pub(crate) enum Back {
    Step(Step),
    /// It was not made, or is taken back already.
    Nothing,
    /// A path that is left as it is, and why.
    Left(String, String),
}

/// The vault as it will be after the steps that are planned so far.
pub(crate) struct Planned<'a> {
    changes: &'a Changes,
    log: &'a Log,
    /// By path, the hash of what a planned step leaves there; `None` for nothing.
    files: BTreeMap<String, Option<String>>,
    /// Old and new path of each planned rename.
    renamed: Vec<(String, String)>,
}

impl<'a> Planned<'a> {
    pub(crate) fn of(changes: &'a Changes, log: &'a Log) -> Planned<'a> {
        Planned { changes, log, files: BTreeMap::new(), renamed: Vec::new() }
    }

    /// Where that is now which will be at a path: the planned renames undone, the last first.
    /// `None` if one of them moves away what is there now.
    fn now(&self, path: &str) -> Option<VaultPath> {
        let now = self.renamed.iter().rev().try_fold(path.to_owned(), |path, (from, to)| {
            moved(&path, to, from).or_else(|| rest_below(&path, from).is_none().then_some(path))
        })?;
        Some(VaultPath::unchecked(&now))
    }

    fn hash(&self, path: &str) -> Result<Option<String>, Error> {
        if let Some(planned) = self.files.get(path) {
            return Ok(planned.clone());
        }
        match self.now(path).map(|now| self.changes.vault.hash_if_any(&now)) {
            // A folder, or a link.
            Some(Err(Error::NotAllowed { .. })) | None => Ok(None),
            Some(found) => found,
        }
    }

    /// Whether something keeps a file or folder from a path. A folder without files does not.
    pub(crate) fn is_taken(&self, path: &str) -> bool {
        let is_gone = |path: &str| self.files.get(path).is_some_and(Option::is_none);
        let is_planned = |(known, planned): (&String, &Option<String>)| {
            planned.is_some() && rest_below(known, path).is_some()
        };
        let on_disk = self
            .now(path)
            .and_then(|now| Some((self.changes.vault.jail.existing(&now).ok()?, now)));
        self.files.iter().any(is_planned)
            || !is_gone(path)
                && on_disk.is_some_and(|(on_disk, now)| {
                    !on_disk.is_dir() || self.has_files(&on_disk, now.as_str(), path)
                })
    }

    /// Whether a folder has files, served or not, that no planned step takes away. `now` is its
    /// path now, `then` the path it will have.
    fn has_files(&self, on_disk: &Path, now: &str, then: &str) -> bool {
        let children = on_disk.read_dir().into_iter().flatten().flatten();
        children.into_iter().any(|child| {
            let Ok(name) = child.file_name().into_string() else { return true };
            let (now, then) = (joined(now, &name), joined(then, &name));
            if child.file_type().is_ok_and(|kind| kind.is_dir()) {
                return self.has_files(&child.path(), &now, &then);
            }
            !self.files.get(&then).is_some_and(Option::is_none)
                && !self.renamed.iter().any(|(from, _)| rest_below(&now, from).is_some())
        })
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        let is_folder =
            |now: VaultPath| self.changes.vault.jail.existing(&now).is_ok_and(|it| it.is_dir());
        self.is_taken(path)
            || !self.files.contains_key(path) && self.now(path).is_some_and(is_folder)
    }

    /// How a change is taken back.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn back(&self, did: &Did) -> Result<Back, Error> {
        match self.back_if_named(did) {
            // A path that is too long for one that a tool may name.
            Err(Error::NotAllowed { path, why }) => Ok(Back::Left(path, why.into())),
            back => back,
        }
    }

    fn back_if_named(&self, did: &Did) -> Result<Back, Error> {
        let left = |path: &str, why: String| Ok(Back::Left(path.to_owned(), why));
        match did {
            Did::Wrote { path, before, after, .. } => {
                let now = self.hash(path)?;
                if now == *before {
                    return Ok(Back::Nothing);
                }
                if now.as_ref() != Some(after) {
                    return left(path, "changed since".into());
                }
                let Some(before) = before else {
                    return Ok(Back::Step(Step::trash(VaultPath::file(path)?)));
                };
                let Ok(old) = self.log.bytes(before) else {
                    return left(path, "its text before is no longer kept".into());
                };
                // Where a planned step changes the file first, its bytes are only needed then.
                let known = match self.now(path) {
                    Some(now) if !self.files.contains_key(path) => {
                        self.changes.vault.bytes(&now)?
                    }
                    _ => Vec::new(),
                };
                Ok(Back::Step(Step::write(VaultPath::file(path)?, Some(known), old)))
            }
            // `from` is back.
            Did::Renamed { from, to } if self.is_taken(from) => match self.exists(to) {
                true => left(to, format!("cannot be moved back, another {from} exists")),
                false => Ok(Back::Nothing),
            },
            Did::Renamed { from, to } if self.exists(to) => Ok(Back::Step(Step::Rename {
                from: VaultPath::file(to)?,
                to: VaultPath::file(from)?,
            })),
            Did::Renamed { from, to } => {
                left(to, format!("gone since, cannot be moved back to {from}"))
            }
            Did::Trashed { path, trashed_to, before, bytes } => {
                self.back_from_trash(path, trashed_to, before.as_ref(), *bytes as u64)
            }
            Did::Done { .. } | Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {
                Ok(Back::Nothing)
            }
        }
    }

    fn back_from_trash(
        &self,
        path: &str,
        trashed_to: &str,
        before: Option<&String>,
        size: u64,
    ) -> Result<Back, Error> {
        let left = |why: String| Ok(Back::Left(path.to_owned(), why));
        if self.exists(path) {
            return match self.hash(path)?.as_ref() == before {
                true => Ok(Back::Nothing),
                false => left("there is another file of this name since".into()),
            };
        }
        let whole_path = VaultPath::file(path)?;
        // The file itself where it still is in the trash: with its mode and attributes, and however
        // large it is.
        let trash_name = Changes::trashed_name(trashed_to).unwrap_or_default();
        let is_in_trash = match before {
            Some(before) => self.changes.trash_hash(trash_name).as_ref() == Some(before),
            None => size > limits::NOTE_BYTES && self.changes.trash_size(trash_name) == Some(size),
        };
        if is_in_trash {
            let trash_name = trash_name.to_owned();
            return Ok(Back::Step(Step::Restore { path: whole_path, trash_name }));
        }
        match before.and_then(|before| self.log.bytes(before).ok()) {
            Some(kept) => Ok(Back::Step(Step::write(whole_path, None, kept))),
            None if trashed_to.is_empty() => left("its text is no longer kept".into()),
            None => left(format!("is in {trashed_to}, and not kept")),
        }
    }

    /// Counts a step, which takes back this change, as made.
    pub(crate) fn assume(&mut self, step: &Step, did: &Did) {
        match (step, did) {
            (Step::Rename { from, to }, _) => {
                let files = std::mem::take(&mut self.files).into_iter();
                let (from, to) = (from.as_str(), to.as_str());
                self.files = files
                    .map(|(path, planned)| (moved(&path, from, to).unwrap_or(path), planned))
                    .collect();
                self.renamed.push((from.to_owned(), to.to_owned()));
            }
            (Step::Trash { path, .. }, _) => drop(self.files.insert(path.as_str().into(), None)),
            (_, Did::Wrote { before, .. } | Did::Trashed { before, .. }) => {
                let hash = before.clone().unwrap_or_default();
                self.files.insert(step.path().to_owned(), Some(hash));
            }
            _ => {}
        }
    }

    /// Removes folders without files at a path that a rename is to have.
    pub(crate) fn make_room(&self, path: &VaultPath) {
        if let Ok(folder) = self.changes.vault.jail.existing(path)
            && folder.is_dir()
        {
            disk::remove_folders_without_files(&folder, limits::DEPTH);
        }
    }
}

/// A path at or below `old`, with that prefix replaced by `new`; `None` for any other path. To take
/// a rename back, `old` is its new name.
pub(crate) fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    Some(format!("{new}{}", rest_below(path, old)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Vault;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn path(text: &str) -> VaultPath {
        VaultPath::file(text).unwrap()
    }

    /// A vault with a log, in a folder of its own.
    struct Scene {
        folder: PathBuf,
        changes: Changes,
        log: Arc<Log>,
    }

    impl Scene {
        fn new() -> Scene {
            let folder = std::env::temp_dir().join(crate::secret::new_id());
            std::fs::create_dir_all(folder.join("vault/sub")).unwrap();
            for (name, text) in
                [("a.md", "a"), ("sub/b.md", "b"), ("c.canvas", "{}"), ("gone.md", "gone")]
            {
                std::fs::write(folder.join("vault").join(name), text).unwrap();
            }
            let log = Log::at(&folder);
            let vault = Vault::open(&folder.join("vault")).unwrap();
            let changes = Changes::new(vault, Some(log.clone()));
            let changes = changes.on_behalf_of(&Arc::new(Author::new("agent", "tool")));
            changes.vault.refresh().unwrap();
            Scene { folder, changes, log }
        }

        /// Records a change, makes the first of its steps, and stops as a crash does.
        fn crash_after(&self, count: usize) {
            let mut steps = steps();
            self.changes.name_in_trash(&mut steps).unwrap();
            let records = steps.iter().filter_map(|step| self.changes.record_of(step));
            let author = self.changes.author.as_ref().unwrap();
            self.log.open().unwrap().begin(author, Some(&self.changes.id()), records).unwrap();
            for step in &steps[..count] {
                self.changes.make_step(step, &mut Folders::default()).unwrap();
            }
        }

        fn put(&self, name: &str, text: &str) {
            std::fs::write(self.folder.join("vault").join(name), text).unwrap();
        }

        /// What a start after that leaves: path and text of every file.
        fn after_a_start(&self) -> Vec<(String, String)> {
            let root = self.folder.join("vault");
            Changes::new(Vault::open(&root).unwrap(), Some(Arc::clone(&self.log))).recover();
            let (mut files, mut open) = (Vec::new(), vec![root.clone()]);
            while let Some(folder) = open.pop() {
                for on_disk in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
                    if on_disk.is_dir() {
                        open.push(on_disk);
                    } else {
                        let name = on_disk.strip_prefix(&root).unwrap().display().to_string();
                        files.push((name, std::fs::read_to_string(&on_disk).unwrap()));
                    }
                }
            }
            files.sort();
            files
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    fn steps() -> [Step; 5] {
        [
            Step::write(path("new/n.md"), None, b"new".to_vec()),
            Step::write(path("a.md"), Some(b"a".to_vec()), b"A".to_vec()),
            Step::Rename { from: path("sub/b.md"), to: path("sub/B b.md") },
            Step::trash(path("gone.md")),
            Step::write(path("c.canvas"), Some(b"{}".to_vec()), b"{ }".to_vec()),
        ]
    }

    fn files(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    const BEFORE: [(&str, &str); 4] =
        [("a.md", "a"), ("c.canvas", "{}"), ("gone.md", "gone"), ("sub/b.md", "b")];
    /// A file that was made: nobody asked for its end.
    const MADE: (&str, &str) = (".trash/n.md", "new");

    #[test]
    fn a_crash_after_any_step_leaves_everything_as_it_was() {
        for count in 0..=steps().len() {
            let scene = Scene::new();
            scene.crash_after(count);
            let made = (count > 0).then_some(MADE);
            let expected: Vec<_> = made.into_iter().chain(BEFORE).collect();
            assert_eq!(scene.after_a_start(), files(&expected), "after {count} steps");
            // Otherwise `undo` would move back what a person has renamed later.
            assert_eq!(scene.log.past().unwrap().lines, []);
            assert_eq!(scene.after_a_start(), files(&expected), "and another start");
        }
    }

    #[test]
    fn the_next_change_takes_back_first_what_a_crash_has_left() {
        let scene = Scene::new();
        scene.crash_after(4);
        let next = Step::write(path("a.md"), Some(b"a".to_vec()), b"next".to_vec());
        scene.changes.change(&[next]).unwrap();
        let after = [MADE, ("a.md", "next"), BEFORE[1], BEFORE[2], BEFORE[3]];
        assert_eq!(scene.after_a_start(), files(&after));
        assert_eq!(scene.log.past().unwrap().lines.len(), 1);
    }

    #[test]
    fn after_a_crash_what_a_person_saved_since_stays() {
        for (count, name, text) in [
            (3, "gone.md", "a person's"),
            (2, "a.md", "A and more"),
            (5, "c.canvas", "{ } and more"),
            (3, "sub/B b.md", "b and more"),
        ] {
            let scene = Scene::new();
            scene.crash_after(count);
            scene.put(name, text);
            // A note that was renamed, and edited then, goes back to its old name with the edit.
            let kept = if name == "sub/B b.md" { "sub/b.md" } else { name };
            let mut expected = vec![MADE];
            expected
                .extend(BEFORE.map(|(old, before)| (old, if old == kept { text } else { before })));
            assert_eq!(scene.after_a_start(), files(&expected), "{name}");
            // What the change had replaced there can still be brought back.
            let past = scene.log.past().unwrap().lines;
            let kept = past.iter().filter_map(Line::kept).map(|(path, _)| path);
            let is_known = kept.collect::<Vec<_>>() == [name];
            assert!(is_known || name == "sub/B b.md", "{name}: {past:?}");
        }
    }

    #[test]
    fn nothing_is_taken_back_in_the_place_where_the_vault_is_mounted() {
        let scene = Scene::new();
        scene.crash_after(4);
        let (root, away) = (scene.folder.join("vault"), scene.folder.join("away"));
        std::fs::rename(&root, &away).unwrap();
        std::fs::create_dir(&root).unwrap();
        assert_eq!(scene.after_a_start(), []);
        std::fs::remove_dir(&root).unwrap();
        std::fs::rename(&away, &root).unwrap();
        let expected: Vec<_> = [MADE].into_iter().chain(BEFORE).collect();
        assert_eq!(scene.after_a_start(), files(&expected));
    }

    #[test]
    fn a_call_in_another_vault_is_left_to_that() {
        let (scene, other) = (Scene::new(), Scene::new());
        scene.crash_after(4);
        let before = other.after_a_start();
        let root = other.folder.join("vault");
        Changes::new(Vault::open(&root).unwrap(), Some(Arc::clone(&scene.log))).recover();
        assert_eq!(other.after_a_start(), before);
        let expected: Vec<_> = [MADE].into_iter().chain(BEFORE).collect();
        assert_eq!(scene.after_a_start(), files(&expected));
    }

    #[test]
    fn a_failing_step_takes_back_the_others() {
        // Moving to the trash (step 3) does not fail: it takes along what a person saved.
        for failing in [1, 2, 4] {
            let scene = Scene::new();
            // A person saved this file in between, or created one at the new path.
            let theirs = ["", "a.md", "sub/B b.md", "", "c.canvas"][failing];
            scene.put(theirs, "a person's");
            let refused = scene.changes.change(&steps());
            assert!(matches!(refused, Err(Error::Busy)), "{failing}");
            let mut expected: Vec<_> =
                BEFORE.into_iter().filter(|(name, _)| *name != theirs).collect();
            expected.push((theirs, "a person's"));
            expected.sort_unstable();
            assert_eq!(scene.after_a_start(), files(&expected), "{failing}");
            assert_eq!(scene.log.past().unwrap().lines, []);
        }
    }
}
