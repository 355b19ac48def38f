//! Recovery, at startup or before the next change, of a transaction that a crash interrupted.

use super::Vault;
use super::commits::Author;
use super::error::Error;
use super::journal::{Journal, State, Step, derives_from_new, is_disk_failure};
use super::path::{VaultPath, rest_below};
use super::transaction::{JOURNAL, Transaction};
use super::versions::{UNDO, new_id};
use crate::disk;
use crate::limits;

impl Vault {
    /// Recovers at startup, if a crash left a journal; if that fails, the next change tries again.
    pub fn recover(&self) {
        if self.own_file(JOURNAL).is_ok_and(|journal| journal.exists())
            && let Err(error) = self.begin_transaction()
        {
            log::warn!("an interrupted change of several files cannot be recovered yet: {error}");
        }
    }
}

impl Transaction<'_> {
    /// Undoes what a crash left half done, or finishes it if a file was edited after its step was done.
    pub(super) fn recover(&self) -> Result<(), Error> {
        let on_disk = self.vault.own_file(JOURNAL)?;
        let bytes = match disk::read_at_most(&on_disk, limits::JOURNAL_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Vec::new(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::disk("read the file", JOURNAL)(error)),
        };
        let read =
            serde_json::from_slice::<Journal>(&bytes).ok().filter(|journal| journal.version == 2);
        let ours = read.filter(|journal| journal.vault == self.vault.identity());
        let Some(Journal { call, steps, .. }) =
            ours.filter(|journal| journal.steps.iter().all(Step::is_valid))
        else {
            log::warn!(
                "{} is damaged, or belongs to another vault or computer; it is renamed and not applied",
                JOURNAL
            );
            let name = on_disk.with_extension(format!("foreign-{}", new_id()));
            return disk::set_aside(&on_disk, &name)
                .map_err(Error::disk("rename the file", JOURNAL));
        };
        // If a file cannot be read now, the journal stays for the next change.
        let all = steps
            .iter()
            .map(|step| Ok((step, self.state(step)?)))
            .collect::<Result<Vec<(&Step, State)>, Error>>()?;
        // If a file was edited after its step was done, the rest is done too; otherwise completed steps are undone.
        let states = || all.iter().map(|(_, state)| *state);
        let finishes = states().any(|state| state == State::ResultChanged)
            || states().all(|state| state == State::Done);
        log::warn!(
            "a change of {} files was interrupted; {} it",
            steps.len(),
            if finishes { "finishing" } else { "undoing" }
        );
        let outcomes: Vec<Result<(), Error>> = if finishes {
            all.iter()
                .filter(|(_, state)| *state == State::Pending)
                .map(|(step, _)| self.apply_step(step))
                .collect()
        } else {
            all.iter()
                .rev()
                .filter(|(_, state)| *state == State::Done)
                .map(|(step, _)| self.undo(step, true))
                .collect()
        };
        let is_undone = !finishes
            && outcomes.iter().all(Result::is_ok)
            && steps.iter().all(|step| self.has_original(step, &steps));
        for error in outcomes.into_iter().filter_map(Result::err) {
            match error {
                // The disk has to be repaired first.
                error if is_disk_failure(&error) => return Err(error),
                other => {
                    log::warn!("a file changed since the interruption is left as it is: {other}")
                }
            }
        }
        // For history and undo, a change that is undone completely was not made. Otherwise the old texts must stay restorable.
        if let Some(versions) = self.vault.versions.as_ref().filter(|_| is_undone) {
            versions.end(&Author::new("owner", UNDO, None), &call)?;
        }
        self.remove_journal();
        Ok(())
    }

    /// Whether what a step of an undone change replaces or deletes is as it was, and not only looks so because it was made and a person
    /// has gone on.
    fn has_original(&self, step: &Step, steps: &[Step]) -> bool {
        match step {
            Step::Write { path, before, .. } => {
                let is_renamed_to = |step: &Step| matches!(step, Step::Rename { to, .. } if rest_below(path.as_str(), to.as_str()).is_some());
                let here = self.vault.bytes_if_any(path);
                here.is_ok_and(|here| {
                    here == *before || here.is_none() && steps.iter().any(is_renamed_to)
                })
            }
            Step::Rename { .. } => true,
            // Another file may have its path since.
            Step::Trash { trash_name, .. } => self
                .vault
                .trash()
                .is_ok_and(|trash| trash.path().join(trash_name).symlink_metadata().is_err()),
            Step::Restore { trash_name, .. } => {
                self.vault.trash().is_ok_and(|trash| trash.path().join(trash_name).exists())
            }
        }
    }

    pub(super) fn state(&self, step: &Step) -> Result<State, Error> {
        let exists = |path: &VaultPath| self.vault.jail.existing(path).is_ok();
        let either = |is_done: bool| Ok(if is_done { State::Done } else { State::Pending });
        let (path, before, after) = match step {
            Step::Write { path, before, after } => (path, before.as_ref(), after),
            Step::Rename { from, to } => return either(!exists(from) && exists(to)),
            Step::Trash { path, .. } => return either(!exists(path)),
            Step::Restore { path, .. } => return either(exists(path)),
        };
        Ok(match self.vault.bytes_if_any(path) {
            Err(error) if is_disk_failure(&error) => return Err(error),
            // It is something else now: a folder, a link, a huge file.
            Err(_) => State::OriginalChanged,
            // No file: it is not created, or not renamed to this path, yet.
            Ok(here) if here.is_none() || here.as_ref() == before => State::Pending,
            Ok(Some(here)) if here == *after => State::Done,
            Ok(Some(here))
                if derives_from_new(
                    before.map(Vec::as_slice).unwrap_or_default(),
                    after,
                    &here,
                ) =>
            {
                State::ResultChanged
            }
            Ok(_) => State::OriginalChanged,
        })
    }
}
