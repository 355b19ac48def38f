//! Atomic changes to several files: all of them, or none. Their old and new states are first written to a journal, a hidden file in
//! the vault's root. A failure in between restores the files. After a crash the next start or change does so or, if a file was edited
//! on top of a completed step, finishes the change.
//!
//! In both cases bytes are replaced only where they match the journal: what a person saved meanwhile stays, and moves along when a
//! rename is undone.

use super::error::Error;
use super::jail::ResolvedPath;
use super::journal::{Journal, Step};
use super::moves::TRASH;
use super::path::VaultPath;
use super::versions::{Change, Did, new_id, wait_for_lock};
use super::write::removal_change;
use super::{Entry, Vault, etag};
use crate::disk::{self, Mode};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::slice::Part;
use std::fs::File;
use std::sync::{Arc, MutexGuard};

/// The journal and the lock file in the vault's root. No tool sees them.
pub(super) const JOURNAL: &str = ".vault-sync-mcp-journal.json";
const LOCK: &str = ".vault-sync-mcp.lock";

/// Holds the lock for changes of several files; others wait, including other processes.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(super) vault: Vault,
    _in_process: MutexGuard<'a, ()>,
    _between_processes: File,
}

impl Vault {
    /// Takes the lock for changes of several files, and undoes, or finishes, what a crash left half done.
    ///
    /// # Errors
    /// The disk's; [`Error::Busy`] when another process holds the lock for too long.
    pub fn begin_transaction(&self) -> Result<Transaction<'_>, Error> {
        let in_process = self.locks.transactions.lock().unpoisoned();
        let on_disk = self.own_file(LOCK)?;
        let between_processes = wait_for_lock(&on_disk)
            .map_err(Error::disk("write the file", LOCK))?
            .ok_or(Error::Busy)?;
        // A crash may have left steps outside of the caller's folders: recovery works on the whole vault, the caller's own steps do not.
        let mut transaction = Transaction {
            vault: self.whole(),
            _in_process: in_process,
            _between_processes: between_processes,
        };
        transaction.recover()?;
        transaction.vault = self.clone();
        Ok(transaction)
    }

    /// A file of ours in the vault's root. A link by that name is not ours and may lead anywhere.
    pub(super) fn own_file(&self, name: &str) -> Result<ResolvedPath, Error> {
        let on_disk =
            self.jail.own_or_obsidian_file(name).map_err(Error::disk("write the file", name))?;
        // Opening a named pipe would wait for a writer.
        if on_disk.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Error::NotAllowed {
                path: name.into(),
                why: "it is not a regular file; remove it",
            });
        }
        Ok(on_disk)
    }

    /// Distinguishes this vault on this computer from copies elsewhere.
    pub(super) fn identity(&self) -> String {
        let inode = std::fs::metadata(self.jail.root()).map_or(0, |root| disk::identity(&root).1);
        let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
        etag(&[machine, inode.to_le_bytes().to_vec()].concat())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Removed, because it would be untracked in a repository; while still locked, so that a waiting process sees that it is gone
        // and creates it again.
        if let Ok(on_disk) = self.vault.own_file(LOCK) {
            disk::discard(&on_disk);
        }
    }
}

impl Transaction<'_> {
    /// Applies all steps, or none. Returns the trash paths of what was deleted, in the order of the steps.
    ///
    /// # Errors
    /// [`Error::Busy`] if a file is not what the step says; those of [`Vault::write`], or the disk's. Then all files have their
    /// old bytes; if restoring them failed, the next change does so first.
    pub fn change(&self, steps: &[Step]) -> Result<Vec<String>, Error> {
        for step in steps {
            match step {
                Step::Write { path, before: None, .. } | Step::Restore { path, .. } => {
                    self.vault.check_new_name(path, None)?
                }
                Step::Rename { from, to } => self.vault.check_new_name(to, Some(from))?,
                Step::Write { .. } | Step::Trash { .. } => {}
            }
        }
        self.apply(steps)
    }

    /// Like [`Transaction::change`], but accepts names that are refused for new files, because old files may have them.
    pub(super) fn apply(&self, steps: &[Step]) -> Result<Vec<String>, Error> {
        let _alone = self.vault.locks.writes.write().unpoisoned();
        let files: Vec<String> = steps.iter().flat_map(|step| self.files_of(step)).collect();
        let steps = self.with_trash_names(steps)?;
        let changes = || steps.iter().flat_map(|step| self.step_changes(step)).collect();
        let call = new_id();
        // A text that is replaced alone needs no journal: what the log of versions says can be compared with it.
        let has_journal = !matches!(steps.as_slice(), [Step::Write { .. }]);
        // One step is atomic without it, so a full disk forbids only changes of several files.
        if has_journal
            && let Err(error) = self.write_journal(&call, &steps)
            && steps.len() > 1
        {
            return Err(error);
        }
        let mut has_begun = false;
        let act = || {
            has_begun = true;
            self.apply_steps(&steps)
        };
        let applied = self.vault.keep_and_apply(&call, files, changes, act);
        // Steps that failed are undone already, or stay in the journal for the next change to undo.
        if has_journal && (applied.is_ok() || !has_begun) {
            self.remove_journal();
        }
        applied?;
        let in_trash = steps.iter().filter_map(|step| {
            if let Step::Trash { trash_name, .. } = step { Some(trash_name) } else { None }
        });
        Ok(in_trash.map(|name| format!("{TRASH}/{name}")).collect())
    }

    pub(super) fn with_trash_names(&self, steps: &[Step]) -> Result<Vec<Step>, Error> {
        let mut named: Vec<Step> = Vec::new();
        for step in steps {
            named.push(match step {
                Step::Trash { path, .. } => Step::Trash {
                    path: path.clone(),
                    trash_name: self.vault.free_trash_name(path, &named)?,
                },
                step => step.clone(),
            });
        }
        Ok(named)
    }

    pub(super) fn write_journal(&self, call: &str, steps: &[Step]) -> Result<(), Error> {
        let journal = Journal {
            version: 2,
            vault: self.vault.identity(),
            call: call.to_owned(),
            steps: steps.to_vec(),
        };
        let journal = serde_json::to_vec(&journal)
            .map_err(|error| Error::disk("write the file", JOURNAL)(error.into()))?;
        let size = journal.len() as u64;
        if size > limits::JOURNAL_BYTES {
            let most = limits::JOURNAL_BYTES >> 20;
            return Err(Error::Invalid(format!(
                "Together these changes need {} MB; {most} MB can be made at once. Use fewer files",
                size >> 20
            )));
        }
        let on_disk = self.vault.own_file(JOURNAL)?;
        disk::replace(&on_disk, &journal, Mode::Private, |_| Ok(()))
            .map_err(Error::disk("write the file", JOURNAL))
    }

    /// Applies all steps; if one fails, those before it are undone.
    pub(super) fn apply_steps(&self, steps: &[Step]) -> Result<(), Error> {
        steps.iter().enumerate().try_for_each(|(number, step)| {
            self.apply_step(step).inspect_err(|_| self.undo_steps(steps.part(..number)))
        })
    }

    /// The paths of the files that a step changes, old and new.
    fn files_of(&self, step: &Step) -> Vec<String> {
        let (from, to) = match step {
            Step::Rename { from, to } => (from, Some(to)),
            Step::Write { path, .. } | Step::Trash { path, .. } | Step::Restore { path, .. } => {
                (path, None)
            }
        };
        let below = self.vault.index.below(from, |_| true);
        let rest = |entry: &Arc<Entry>| entry.path.part(from.as_str().len()..).to_owned();
        // Nothing below: the path itself.
        let own = below.is_empty().then(String::new);
        let both = |rest: String| {
            [Some(from), to]
                .into_iter()
                .flatten()
                .map(|path| format!("{}{rest}", path.as_str()))
                .collect::<Vec<_>>()
        };
        below.iter().map(rest).chain(own).flat_map(both).collect()
    }

    /// The changes of a step, with the bytes to keep.
    fn step_changes(&self, step: &Step) -> Vec<Change> {
        match step {
            Step::Write { path, before, after } => {
                vec![self.vault.write_change(path, before.as_deref(), after)]
            }
            Step::Rename { from, to } => {
                let did =
                    Did::Renamed { from: from.as_str().to_owned(), to: to.as_str().to_owned() };
                vec![Change { did, bytes: None }]
            }
            // The files in a folder have steps of their own.
            Step::Trash { path, .. }
                if self.vault.jail.existing(path).is_ok_and(|found| found.is_dir()) =>
            {
                Vec::new()
            }
            // One that cannot be read is in the trash all the same.
            Step::Trash { path, trash_name } => {
                let size = self
                    .vault
                    .jail
                    .existing(path)
                    .ok()
                    .and_then(|on_disk| on_disk.metadata().ok())
                    .map_or(0, |found| found.len());
                vec![removal_change(
                    path,
                    format!("{TRASH}/{trash_name}"),
                    size as usize,
                    self.vault.bytes(path).ok(),
                )]
            }
            Step::Restore { path, trash_name } => {
                let after = self.vault.trash_hash(trash_name).unwrap_or_default();
                vec![Change {
                    did: Did::Wrote {
                        path: path.as_str().to_owned(),
                        before: None,
                        after,
                        bytes: 0,
                    },
                    bytes: None,
                }]
            }
        }
    }

    pub(super) fn apply_step(&self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Write { path, before, after } => {
                self.vault.replace_known_in_transaction(path, before.as_deref(), Some(after))
            }
            Step::Rename { from, to } => self.vault.rename(from, to),
            Step::Trash { path, trash_name } => self.vault.move_to_trash(path, trash_name, None),
            Step::Restore { path, trash_name } => self.vault.restore_from_trash(trash_name, path),
        }
    }

    /// Undoes a step. With `keep`, a file that it created goes to the trash: the journal may be an old one that a sync program
    /// brought back, and the file may have changed since.
    pub(super) fn undo(&self, step: &Step, keep: bool) -> Result<(), Error> {
        match step {
            Step::Write { path, before: None, after } if keep => {
                let trash_name = self.vault.free_trash_name(path, &[])?;
                self.vault.move_to_trash(path, &trash_name, Some(after))
            }
            Step::Write { path, before, after } => {
                self.vault.replace_known_in_transaction(path, Some(after), before.as_deref())
            }
            Step::Rename { from, to } => self.vault.rename(to, from),
            Step::Trash { path, trash_name } => self.vault.restore_from_trash(trash_name, path),
            Step::Restore { path, trash_name } => self.vault.move_to_trash(path, trash_name, None),
        }
    }

    /// Saves bytes of a file as a copy in the trash. Returns its path there.
    ///
    /// # Errors
    /// The disk's.
    pub fn copy_to_trash(&self, path: &VaultPath, bytes: &[u8]) -> Result<String, Error> {
        let name = self.vault.free_trash_name(path, &[])?;
        let trash = self.vault.trash()?;
        disk::replace(&trash.path().join(&name), bytes, Mode::New, |_| Ok(()))
            .map_err(Error::disk("write the file", path.as_str()))?;
        Ok(format!("{TRASH}/{name}"))
    }

    /// Undoes steps, the last first, and removes the journal if all succeeded.
    fn undo_steps(&self, done: &[Step]) {
        let mut all = true;
        for step in done.iter().rev() {
            if let Err(error) = self.undo(step, false) {
                log::error!(
                    "a change of several files could not be undone in {}; the next change tries again: {error}",
                    step.path()
                );
                all = false;
            }
        }
        if all {
            self.remove_journal();
        }
    }

    pub(super) fn remove_journal(&self) {
        // Every step is done or undone. The journal is removed durably: one that a power cut brought back would undo
        // what is done.
        if let Ok(journal) = self.vault.own_file(JOURNAL)
            && let Err(error) = disk::remove(&journal, || Ok::<(), std::io::Error>(()))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            log::error!("{} cannot be removed: {error}", JOURNAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::commits::Author;
    use crate::vault::versions::Versions;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::path::{Path, PathBuf};

    fn path(text: &str) -> VaultPath {
        VaultPath::file(text).unwrap()
    }

    /// Everything in a vault: path and bytes.
    fn all(root: &Path) -> Vec<(String, Vec<u8>)> {
        let (mut found, mut open) = (Vec::new(), vec![root.to_path_buf()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let on_disk = entry.unwrap().path();
                if on_disk.is_dir() {
                    open.push(on_disk);
                } else if !on_disk.ends_with(LOCK) {
                    found.push((
                        on_disk.strip_prefix(root).unwrap().display().to_string(),
                        std::fs::read(&on_disk).unwrap(),
                    ));
                }
            }
        }
        found.sort();
        found
    }

    fn vault() -> (PathBuf, Vault) {
        let root = std::env::temp_dir().join(format!("vsm-together-{}", crate::secret::new_id()));
        std::fs::create_dir_all(root.join("sub")).unwrap();
        for (name, text) in
            [("a.md", "a"), ("sub/b.md", "b"), ("c.canvas", "{}"), ("gone.md", "gone")]
        {
            std::fs::write(root.join(name), text).unwrap();
        }
        (root.clone(), Vault::open(&root).unwrap())
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

    #[test]
    fn a_crash_after_any_step_leaves_everything_as_it_was() {
        for done in 0..steps().len() {
            let (root, vault) = vault();
            let before = all(&root);
            {
                let transaction = vault.begin_transaction().unwrap();
                let noted = transaction.with_trash_names(&steps()).unwrap();
                transaction.write_journal("call", &noted).unwrap();
                noted.iter().take(done).for_each(|noted| transaction.apply_step(noted).unwrap());
            }
            drop(vault);
            Vault::open(&root).unwrap().recover();
            // A created file is in the trash: a person may have changed it since the journal was written.
            let made = (done > 0).then(|| (".trash/n.md".to_owned(), b"new".to_vec()));
            assert_eq!(
                all(&root),
                made.into_iter().chain(before).collect::<Vec<_>>(),
                "after {done} steps"
            );
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    /// Otherwise `undo` would move back what a person has renamed later.
    #[test]
    fn a_change_that_is_undone_after_a_crash_was_not_made() {
        let (root, vault) = vault();
        let state = root.with_extension("state");
        let versions = Versions::open(&state).unwrap();
        let vault = vault.with_versions(Some(Arc::clone(&versions)));
        let steps = [
            Step::Rename { from: path("a.md"), to: path("z.md") },
            Step::write(path("c.canvas"), Some(b"{}".to_vec()), b"{ }".to_vec()),
        ];
        {
            let transaction = vault.begin_transaction().unwrap();
            transaction.write_journal("call", &steps).unwrap();
            let changes = steps.iter().flat_map(|step| transaction.step_changes(step)).collect();
            versions.keep(&Author::new("agent", "vault_move", None), "call", changes).unwrap();
            transaction.apply_step(&steps[0]).unwrap();
        }
        vault.recover();
        assert!(root.join("a.md").exists());
        assert_eq!(versions.log().unwrap().lines, []);
        // A deletion that was made stays known, although a person has written another note of that name.
        let steps = [Step::Trash { path: path("gone.md"), trash_name: "gone.md".into() }];
        {
            let transaction = vault.begin_transaction().unwrap();
            transaction.write_journal("other", &steps).unwrap();
            versions
                .keep(
                    &Author::new("agent", "vault_delete", None),
                    "other",
                    transaction.step_changes(&steps[0]),
                )
                .unwrap();
            transaction.apply_step(&steps[0]).unwrap();
        }
        std::fs::write(root.join("gone.md"), "another").unwrap();
        vault.recover();
        assert_eq!(versions.log().unwrap().lines.len(), 1);
        [root, state].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn all_steps_are_done_and_a_leftover_journal_undoes_nothing() {
        let (root, vault) = vault();
        vault.begin_transaction().unwrap().change(&steps()).unwrap();
        let names: Vec<String> = all(&root).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".trash/gone.md", "a.md", "c.canvas", "new/n.md", "sub/B b.md"]);
        let after = all(&root);
        let journal =
            Journal { version: 2, vault: vault.identity(), call: String::new(), steps: Vec::new() };
        let noted = steps()[4].clone();
        let journal = Journal { steps: vec![noted], ..journal };
        std::fs::write(root.join(JOURNAL), serde_json::to_vec(&journal).unwrap()).unwrap();
        vault.recover();
        assert_eq!(all(&root), after);
        std::fs::remove_dir_all(root).unwrap();
    }

    /// Another program that can write to the vault must not be able to move, empty or delete files with a forged journal.
    #[test]
    fn a_journal_written_elsewhere_changes_nothing() {
        let (root, vault) = vault();
        let outside = root.with_extension("outside");
        std::fs::write(&outside, "secret").unwrap();
        std::fs::create_dir(root.join(TRASH)).unwrap();
        let ours = vault.identity();
        let gone = STANDARD.encode("secret");
        for (identity, steps) in [
            (ours.as_str(), format!(r#"{{"step":"trash","path":"x.md","on_disk":"{}","bytes":"{gone}"}}"#, outside.display())),
            (&ours, format!(r#"{{"step":"trash","path":"x.md","on_disk":"../sub/b.md","bytes":"{gone}"}}"#)),
            (&ours, r#"{"step":"write","path":"a.md","before":"%%%","after":"YQ=="}"#.to_owned()),
            (&ours, r#"{"step":"write","path":"../x.md","after":"YQ=="}"#.to_owned()),
            (&ours, r#"{"step":"write","path":".obsidian/x.md","after":"YQ=="}"#.to_owned()),
            ("another", r#"{"step":"write","path":"a.md","after":"YQ=="},{"step":"write","path":"n.md","after":"YQ=="}"#.to_owned()),
        ] {
            let journal = format!(r#"{{"version":2,"vault":"{identity}","steps":[{steps}]}}"#);
            std::fs::write(root.join(JOURNAL), journal).unwrap();
            vault.recover();
            let names: Vec<String> = all(&root).into_iter().map(|(name, _)| name).filter(|name| !name.contains(".foreign-")).collect();
            assert_eq!(names, ["a.md", "c.canvas", "gone.md", "sub/b.md"], "{steps}");
            assert_eq!(
                (std::fs::read(root.join("a.md")).unwrap(), std::fs::read(&outside).unwrap()),
                (b"a".to_vec(), b"secret".to_vec()),
                "{steps}"
            );
            vault.begin_transaction().unwrap();
        }
        std::fs::remove_file(outside).unwrap();
        std::fs::remove_dir_all(root).unwrap();
    }

    /// If a person has edited a changed file, the change is finished, wherever the crash was.
    #[test]
    fn after_a_crash_a_transaction_is_finished_if_a_file_was_edited_since_and_otherwise_undone() {
        let lines = |text: &str| text.replace(' ', "\n").into_bytes();
        let change = || {
            [
                Step::Rename { from: path("sub/b.md"), to: path("sub/c.md") },
                Step::write(path("sub/c.md"), Some(b"b".to_vec()), lines("title c")),
                Step::trash(path("gone.md")),
                Step::write(path("c.canvas"), Some(b"{}".to_vec()), b"{\"node\":1}".to_vec()),
            ]
        };
        let after = |done: usize, edit: &dyn Fn(&Path)| {
            let (root, vault) = vault();
            {
                let transaction = vault.begin_transaction().unwrap();
                let noted = transaction.with_trash_names(&change()).unwrap();
                transaction.write_journal("call", &noted).unwrap();
                noted.iter().take(done).for_each(|noted| transaction.apply_step(noted).unwrap());
            }
            edit(&root);
            vault.recover();
            vault.begin_transaction().unwrap();
            let found = all(&root);
            std::fs::remove_dir_all(root).unwrap();
            found
                .into_iter()
                .map(|(name, bytes)| {
                    format!("{name}={}", String::from_utf8(bytes).unwrap().replace('\n', " "))
                })
                .collect::<Vec<_>>()
        };
        let put = |name: &'static str, text: &'static str| {
            move |root: &Path| std::fs::write(root.join(name), text.replace(' ', "\n")).unwrap()
        };
        let before = |note: &str, canvas: &str, gone: &str| {
            vec![
                "a.md=a".to_owned(),
                format!("c.canvas={canvas}"),
                format!("gone.md={gone}"),
                note.to_owned(),
            ]
        };
        let finished = |note: &str, canvas: &str| {
            vec![
                ".trash/gone.md=gone".to_owned(),
                "a.md=a".into(),
                format!("c.canvas={canvas}"),
                note.to_owned(),
            ]
        };
        // Renamed, and then edited under its new name: the old name comes back, the edit stays.
        assert_eq!(
            after(1, &put("sub/c.md", "b and more")),
            before("sub/b.md=b and more", "{}", "gone")
        );
        // Replaced, and then edited.
        assert_eq!(
            after(2, &put("sub/c.md", "title c and more")),
            finished("sub/c.md=title c and more", "{\"node\":1}")
        );
        // All done, and the last file edited; or the trash emptied.
        assert_eq!(
            after(4, &put("c.canvas", "{\"node\":1} {}")),
            finished("sub/c.md=title c", "{\"node\":1} {}")
        );
        let emptied = after(3, &|root| std::fs::remove_file(root.join(".trash/gone.md")).unwrap());
        assert_eq!(emptied, ["a.md=a", "c.canvas={}", "sub/b.md=b"]);
        // The canvas had not been changed yet, and was edited.
        assert_eq!(after(3, &put("c.canvas", "mine")), before("sub/b.md=b", "mine", "gone"));
    }

    #[test]
    fn a_failing_step_undoes_the_others() {
        // Moving to the trash (step 3) does not fail: it takes along what a person saved.
        for failing in (1..steps().len()).filter(|failing| *failing != 3) {
            let (root, vault) = vault();
            // A person saved this file in between, or created one at the new path.
            let theirs = ["new/n.md", "a.md", "sub/B b.md", "gone.md", "c.canvas"][failing];
            std::fs::write(root.join(theirs), "a person's").unwrap();
            let before = all(&root);
            assert!(
                matches!(vault.begin_transaction().unwrap().change(&steps()), Err(Error::Busy)),
                "{failing}"
            );
            assert_eq!(all(&root), before, "{failing}");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn after_a_crash_what_a_person_saved_since_stays() {
        let (root, vault) = vault();
        {
            let transaction = vault.begin_transaction().unwrap();
            let noted = transaction.with_trash_names(&steps()).unwrap();
            transaction.write_journal("call", &noted).unwrap();
            noted.iter().take(3).for_each(|noted| transaction.apply_step(noted).unwrap());
        }
        // This file's step was not done, so a person's edit of it is no reason to finish.
        std::fs::write(root.join("gone.md"), "a person's").unwrap();
        Vault::open(&root).unwrap().recover();
        let names: Vec<String> = all(&root).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".trash/n.md", "a.md", "c.canvas", "gone.md", "sub/b.md"]);
        assert_eq!(
            (
                std::fs::read(root.join("gone.md")).unwrap(),
                std::fs::read(root.join("a.md")).unwrap()
            ),
            (b"a person's".to_vec(), b"a".to_vec())
        );
        std::fs::remove_dir_all(&root).unwrap();
    }
}
