//! A temporary change, for a git hook.

use super::error::Error;
use super::journal::{JournalStep, Step};
use super::moves::TRASH;
use super::path::VaultPath;
use super::transaction::Transaction;
use crate::disk;
use std::path::PathBuf;

impl Transaction<'_> {
    /// Applies all steps, calls `act`, and undoes the steps, even after a crash in between: for a program that has to see files as
    /// they are going to be.
    ///
    /// # Errors
    /// As [`Transaction::change`]; `act` is not called then.
    pub fn show<T>(&self, steps: &[Step], act: impl FnOnce() -> T) -> Result<T, Error> {
        let vault = &self.vault;
        let tops: Vec<PathBuf> = steps
            .iter()
            .filter_map(|step| VaultPath::file(step.path()).ok())
            .map(|path| vault.jail.deepest_existing_folder(&path))
            .collect();
        let noted = self.with_trash_names(steps)?;
        self.write_journal(&noted, true)?;
        self.apply_steps(&noted)?;
        let outcome = act();
        self.undo_steps(&noted, |noted| self.undo_shown(noted));
        // Folders that were created for it are removed, and so is the trash if it is empty.
        for (step, top) in steps.iter().zip(tops) {
            let path = vault.jail.root().join(step.path());
            path.parent().into_iter().for_each(|folder| disk::remove_empty_folders(folder, &top));
        }
        disk::remove_empty_folders(&vault.jail.root().join(TRASH), vault.jail.root());
        Ok(outcome)
    }

    /// Undoes a temporary step. If a program, such as the hook, has changed the file meanwhile, that version is kept in the trash.
    fn undo_shown(&self, noted: &JournalStep) -> Result<(), Error> {
        let (path, before) = match &noted.step {
            Step::Write { path, before, .. } => (path, before.as_deref()),
            Step::Rename { .. } | Step::Trash { .. } => return self.undo(noted, false),
        };
        match self.undo(noted, false) {
            Err(Error::Busy) => {}
            outcome => return outcome,
        }
        let now = self.vault.bytes(path)?;
        self.save_to_trash(path, &now)?;
        self.vault.put(path, Some(&now), before)
    }
}
