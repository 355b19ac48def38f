//! Making the steps of a change, all of them or none.

use super::Changes;
use super::commits::Author;
use super::log::{Begun, Did, OpenLog, Record, UNDO};
use super::names::{Folders, TRASH, change_error};
use super::seen::Seen;
use super::step::Step;
use super::valid::must_stay_valid;
use crate::disk::{self, Mode, NewFile};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::slice::Part;
use crate::vault::error::Error;
use crate::vault::path::VaultPath;
use crate::vault::{Entry, hash};
use std::sync::{Arc, MutexGuard};

/// The right to change the vault, which one thread has at a time.
#[derive(Debug)]
pub struct Alone<'a> {
    changes: &'a Changes,
    _guard: MutexGuard<'a, ()>,
}

/// What a change has left.
#[derive(Debug, Default)]
pub struct Changed {
    /// The ids of the lines in the log, in the order of the changes; none without a log.
    pub versions: Vec<String>,
    /// The paths in the trash of what was deleted, in the order of the steps.
    pub trashed: Vec<String>,
}

impl Changes {
    /// Waits until no other thread changes the vault.
    pub fn alone(&self) -> Alone<'_> {
        Alone { changes: self, _guard: self.shared.alone.lock().unpoisoned() }
    }

    /// As [`Alone::change`].
    ///
    /// # Errors
    /// As [`Alone::change`].
    pub fn change(&self, steps: &[Step]) -> Result<Changed, Error> {
        self.alone().change(steps)
    }

    /// Makes a step.
    ///
    /// # Errors
    /// [`Error::Busy`] if a file is not what the step says; those of [`Changes::write`].
    pub(crate) fn make_step(&self, step: &Step, folders: &mut Folders) -> Result<(), Error> {
        match step {
            Step::Write { path, before: None, after } => {
                after.as_ref().map_or(Ok(()), |after| self.create(path, after, folders))
            }
            Step::Write { path, before: Some(before), after } => {
                let (seen, now) = self.see(path)?.ok_or(Error::Busy)?;
                if now != *before {
                    return Err(Error::Busy);
                }
                self.replace(path, &seen, before, after.as_deref(), folders)
            }
            Step::Rename { from, to } => self.rename(from, to, folders),
            Step::Trash { path, trash_name, stamp } => {
                self.move_to_trash(path, trash_name, *stamp, folders)
            }
            Step::Restore { path, trash_name } => {
                self.restore_from_trash(trash_name, path, folders)
            }
        }
    }

    /// Creates a file, with its missing folders, which are removed again if that fails.
    fn create(&self, path: &VaultPath, bytes: &[u8], folders: &mut Folders) -> Result<(), Error> {
        let top = self.vault.jail.deepest_existing_folder(path);
        let made = self.vault.jail.new_name(path).and_then(|on_disk| {
            NewFile::beside(&on_disk, bytes, Mode::New)
                .and_then(|new| new.name(&on_disk))
                .map_err(|error| change_error(error, path))?;
            Ok(on_disk)
        });
        let on_disk = made.inspect_err(|_| {
            let folder = self.vault.absolute(path.parent().as_str());
            disk::remove_empty_folders(&folder, &top);
        })?;
        folders.add_that_of(path, &self.vault);
        self.vault.view.record_write(path, &on_disk, bytes);
        Ok(())
    }

    /// Replaces or, without new bytes, removes a file that is as it was seen.
    fn replace(
        &self,
        path: &VaultPath,
        seen: &Seen,
        before: &[u8],
        after: Option<&[u8]>,
        folders: &mut Folders,
    ) -> Result<(), Error> {
        let failed = |error| change_error(error, path);
        let on_disk = &seen.on_disk;
        let Some(after) = after else {
            seen.check(on_disk, before).and_then(|()| disk::remove(on_disk)).map_err(failed)?;
            folders.add_that_of(path, &self.vault);
            self.vault.view.update(path);
            return Ok(());
        };
        let new = NewFile::beside(on_disk, after, Mode::Like(&seen.metadata)).map_err(failed)?;
        new.replace(on_disk, |at| seen.check(at, before)).map_err(failed)?;
        folders.add_that_of(path, &self.vault);
        self.vault.view.record_write(path, on_disk, after);
        Ok(())
    }

    /// Makes the steps; if one fails, those before it are taken back.
    ///
    /// # Errors
    /// Those of the step, and whether the others were all taken back.
    fn make(&self, steps: &[Step], seen: Option<Seen>) -> Result<(), (Error, bool)> {
        let mut folders = Folders::default();
        let made = match (steps, seen) {
            ([Step::Write { path, before: Some(before), after }], Some(seen)) => self
                .replace(path, &seen, before, after.as_deref(), &mut folders)
                .map_err(|error| (error, true)),
            _ => steps.iter().enumerate().try_for_each(|(number, step)| {
                self.make_step(step, &mut folders)
                    .map_err(|error| (error, self.take_back_steps(steps.part(..number))))
            }),
        };
        folders.flush();
        made
    }

    /// Takes steps back, the last first; whether all were. Where the disk has to be repaired first,
    /// the first steps are left, as after a crash.
    fn take_back_steps(&self, made: &[Step]) -> bool {
        let mut folders = Folders::default();
        let mut all = true;
        for step in made.iter().rev() {
            let reversed = step.clone().reversed();
            if let Err(error) = self.make_step(&reversed, &mut folders) {
                log::error!("a change could not be taken back in {}: {error}", step.path());
                all = false;
                if self.is_lasting(&error) {
                    break;
                }
            }
        }
        folders.flush();
        all
    }

    /// Whether a failure lasts until the disk or the vault can be used again.
    pub(crate) fn is_lasting(&self, error: &Error) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match error {
            Error::Unavailable => true,
            Error::ReadOnly(_) => !disk::may_write_in(self.vault.jail.root()),
            Error::Disk { cause, .. } => {
                matches!(cause.kind(), StorageFull | QuotaExceeded) || disk::is_broken(cause)
            }
            _ => false,
        }
    }

    /// The paths of the files that a step changes, old and new.
    fn files_of(&self, step: &Step) -> Vec<String> {
        let (from, to) = match step {
            Step::Rename { from, to } => (from, Some(to)),
            Step::Write { path, .. } | Step::Trash { path, .. } | Step::Restore { path, .. } => {
                (path, None)
            }
        };
        let below = self.vault.view.below(from, |_| true);
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

    /// What a step is in the log, with the bytes to keep.
    pub(crate) fn record_of(&self, step: &Step) -> Option<Record> {
        let trashed = |path: &VaultPath, trashed_to: String, bytes: Option<Vec<u8>>, size| Record {
            did: Did::Trashed {
                path: path.as_str().to_owned(),
                trashed_to,
                before: bytes.as_deref().map(hash),
                bytes: size,
            },
            bytes,
        };
        match step {
            Step::Write { path, before, after: Some(after) } => {
                let did = Did::Wrote {
                    path: path.as_str().to_owned(),
                    before: before.as_deref().map(hash),
                    after: hash(after),
                    bytes: before.as_ref().map_or(0, Vec::len),
                };
                Some(Record { did, bytes: before.clone() })
            }
            Step::Write { path, before, after: None } => {
                let before = before.clone()?;
                let size = before.len();
                Some(trashed(path, String::new(), Some(before), size))
            }
            Step::Rename { from, to } => {
                let did =
                    Did::Renamed { from: from.as_str().to_owned(), to: to.as_str().to_owned() };
                Some(Record { did, bytes: None })
            }
            Step::Trash { path, trash_name, .. } => {
                let (_, found) = self.vault.jail.look_up(path).ok()?;
                // The files in a folder have steps of their own. One that cannot be read is in the
                // trash all the same.
                let bytes = self.vault.bytes(path).ok();
                let trashed_to = format!("{TRASH}/{trash_name}");
                (!found.is_dir()).then(|| trashed(path, trashed_to, bytes, found.len() as usize))
            }
            Step::Restore { path, trash_name } => {
                let after = self.trash_hash(trash_name).unwrap_or_default();
                let path = path.as_str().to_owned();
                let did = Did::Wrote { path, before: None, after, bytes: 0 };
                Some(Record { did, bytes: None })
            }
        }
    }
}

impl Changes {
    /// Takes back what a call has changed so far: all of it, or nothing.
    ///
    /// # Errors
    /// Those of [`Alone::change`].
    pub fn take_back_call(&self, call: &Author) -> Result<(), Error> {
        let changes = self.on_behalf_of(&Arc::new(Author::new(&call.by, UNDO)));
        changes.alone().apply(call.reversed(), None, None).map(drop)
    }
}

impl Alone<'_> {
    /// Makes all steps, or none.
    ///
    /// # Errors
    /// [`Error::Busy`] if a file is not what the step says; those of [`Changes::write`], or the
    /// disk's. Then all files have their old bytes; if restoring them failed, the next change does
    /// so first.
    pub fn change(&self, steps: &[Step]) -> Result<Changed, Error> {
        for step in steps {
            match step {
                Step::Write { path, before: None, .. } | Step::Restore { path, .. } => {
                    self.changes.vault.check_new_name(path, None)?
                }
                Step::Rename { from, to } => self.changes.vault.check_new_name(to, Some(from))?,
                Step::Write { path, before, after: Some(after) } => {
                    must_stay_valid(path, before.as_deref(), after)?
                }
                Step::Write { .. } | Step::Trash { .. } => {}
            }
        }
        let bytes: usize = steps.iter().map(Step::bytes).sum();
        if steps.len() > 1 && bytes > limits::CHANGE_BYTES {
            let (megabytes, most) = (bytes >> 20, limits::CHANGE_BYTES >> 20);
            return Err(Error::Invalid(format!(
                "Together these changes need {megabytes} MB; {most} MB can be made at once. Use \
                 fewer files"
            )));
        }
        self.apply(steps.to_vec(), None, None)
    }

    /// Like [`Alone::change`], but accepts names that are refused for new files, because old files
    /// may have them. `seen` is the file of the only step, which replaces it; `also` is recorded
    /// with the steps.
    pub(crate) fn apply(
        &self,
        mut steps: Vec<Step>,
        seen: Option<Seen>,
        also: Option<Did>,
    ) -> Result<Changed, Error> {
        let changes = self.changes;
        changes.vault.view.check_available()?;
        let files: Vec<String> = steps.iter().flat_map(|step| changes.files_of(step)).collect();
        files.iter().try_for_each(|path| changes.vault.check_grant(path))?;
        changes.name_in_trash(&mut steps)?;
        let Some(author) = changes.author.as_deref() else {
            changes.make(&steps, seen).map_err(|(error, _)| error)?;
            return Ok(changed(&steps, Vec::new()));
        };
        if author.has_met_mistake() {
            return Err(Error::Mistake);
        }
        // Where new bytes alone were written, the log can be compared with them.
        let needs_end = also.is_some() || !matches!(steps.as_slice(), [Step::Write { .. }]);
        let also = also.map(|did| Record { did, bytes: None });
        // Each is read and kept before the next: together they may be large.
        let records = steps.iter().filter_map(|step| changes.record_of(step)).chain(also);
        let mut log = changes.log.as_ref().map(|log| changes.open_log(log)).transpose()?;
        let begun = match &mut log {
            Some(log) => log.begin(author, needs_end.then(|| changes.id()).as_deref(), records)?,
            None => Begun::default(),
        };
        let made = changes.make(&steps, seen);
        let made = match &mut log {
            Some(log) => {
                end(log, author, &begun.call, needs_end, made, &|| changes.take_back_steps(&steps))
            }
            None => made.map_err(|(error, _)| error),
        };
        made?;
        drop(log);
        author.add_made(&steps, files);
        if let Some(log) = &changes.log {
            log.clean_when_due(author);
        }
        let versions = begun.lines.into_iter().map(|line| line.version).collect();
        Ok(changed(&steps, versions))
    }
}

/// Ends a call in the log: with `done` if it needs that, with `ended` if it failed and was
/// taken back. One that could not be taken back stays without an end, for the next change.
fn end(
    log: &mut OpenLog<'_>,
    author: &Author,
    call: &str,
    needs_end: bool,
    made: Result<(), (Error, bool)>,
    take_back: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let of = call.to_owned();
    match made {
        Ok(()) if needs_end => log.end(author, Did::Done { of }).inspect_err(|_| {
            // Whatever is left of it, the next change takes back: the call has no end.
            take_back();
        }),
        Ok(()) => Ok(()),
        Err((error, true)) => log.end(author, Did::Ended { of }).and(Err(error)),
        Err((error, false)) => Err(error),
    }
}

fn changed(steps: &[Step], versions: Vec<String>) -> Changed {
    let trashed = steps.iter().filter_map(|step| match step {
        Step::Trash { trash_name, .. } => Some(format!("{TRASH}/{trash_name}")),
        _ => None,
    });
    Changed { versions, trashed: trashed.collect() }
}
