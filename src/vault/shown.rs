//! A change that is made for a moment, for a hook of git.

use super::error::Error;
use super::journal::{JournalStep, Step};
use super::moves::TRASH;
use super::path::VaultPath;
use super::transaction::Transaction;
use crate::disk;
use std::path::PathBuf;

impl Transaction<'_> {
    /// Does all steps, calls `act`, and takes the steps back, after a crash in between too: for a program that has to see files as
    /// they are going to be.
    ///
    /// # Errors
    /// As [`Transaction::change`]; `act` was not called then.
    pub fn show<T>(&self, steps: &[Step], act: impl FnOnce() -> T) -> Result<T, Error> {
        let vault = self.vault;
        let tops: Vec<PathBuf> = steps
            .iter()
            .filter_map(|step| VaultPath::file(step.path()).ok())
            .map(|path| vault.jail.deepest_existing_folder(&path))
            .collect();
        let noted = self.note(steps, true)?;
        self.apply_steps(&noted)?;
        let outcome = act();
        self.undo_steps(&noted, |noted| self.undo_shown(noted));
        // Folders that were made for it go again, and so does the trash if nothing else is in it.
        for (step, top) in steps.iter().zip(tops) {
            let path = vault.jail.root().join(step.path());
            path.parent().into_iter().for_each(|folder| disk::remove_empty_folders(folder, &top));
        }
        disk::remove_empty_folders(&vault.jail.root().join(TRASH), vault.jail.root());
        Ok(outcome)
    }

    /// Undoes a step that was done for a moment. What a program, a hook perhaps, has made of the file meanwhile is kept in the trash.
    fn undo_shown(&self, noted: &JournalStep) -> Result<(), Error> {
        let (path, before) = match &noted.step {
            Step::Create { path, .. } => (path, None),
            Step::Replace { path, before, .. } | Step::Remove { path, bytes: before, .. } => (path, Some(before)),
            Step::Rename { .. } | Step::Trash { .. } => return self.undo(noted, false),
        };
        match self.undo(noted, false) {
            Err(Error::Busy) => {}
            outcome => return outcome,
        }
        let now = self.vault.bytes(path)?;
        self.keep_changed(path, &now)?;
        match before {
            Some(before) => self.vault.put(path, Some(&now), before),
            None => self.vault.remove(path, &now),
        }
    }
}
