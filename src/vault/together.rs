//! Several files changed as one: all of them, or none. What they were is written down first, in a hidden file of the
//! vault's root; a failure half way puts it back, and after a crash the next start or the next change does.
//!
//! Whoever is putting something back replaces only bytes that this program wrote: what a person saved meanwhile stays.

use super::error::Error;
use super::path::VaultPath;
use super::{Vault, etag};
use crate::clock::Deadline;
use crate::disk::{self, Mode};
use crate::limits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

/// The names, in the vault's root, of the file with what is being changed and of the one that says whose turn it is. No
/// tool sees them.
pub const OWN_FILES: [&str; 2] = [".vault-sync-mcp-journal.json", ".vault-sync-mcp.lock"];
const TRASH: &str = ".trash";

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A new file, folders included.
    Create {
        /// Where.
        path: VaultPath,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// Other bytes in a file.
    Replace {
        /// Which.
        path: VaultPath,
        /// What it holds.
        before: Vec<u8>,
        /// What it is to hold.
        after: Vec<u8>,
    },
    /// Another name for a file; nothing may be there yet.
    Rename {
        /// Its name.
        from: VaultPath,
        /// Its new name.
        to: VaultPath,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A file put into `.trash`, where Obsidian keeps what was deleted.
    Trash {
        /// Which.
        path: VaultPath,
        /// What it holds.
        bytes: Vec<u8>,
    },
}

/// A step as it is written down: enough to take it back. Bytes in base64; of what the step makes, the etag is enough to
/// know it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Noted {
    Create { path: String, after: String },
    Replace { path: String, before: String, after: String },
    Rename { from: String, to: String, etag: String },
    Trash { path: String, place: String, etag: String },
}

/// The file with what is being changed, format 1: one JSON object.
#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    version: u32,
    steps: Vec<Noted>,
}

/// The turn to change several files; others wait, also in other processes.
#[derive(Debug)]
pub struct Turn<'a> {
    vault: &'a Vault,
    _here: MutexGuard<'a, ()>,
    _everywhere: File,
}

impl Vault {
    /// Waits for the turn to change several files, and takes back what a crash left half done.
    ///
    /// # Errors
    /// The disk's; [`Error::Conflict`] when somebody else does not come to an end.
    pub fn take_turn(&self) -> Result<Turn<'_>, Error> {
        let here = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.own_file(1)?;
        let until = Deadline::after(limits::TURN_WAIT);
        let everywhere = loop {
            match disk::take_lock(&place).map_err(Error::disk("write the file", OWN_FILES[1]))? {
                Some(file) => break file,
                None if until.left().is_some() => std::thread::sleep(limits::TURN_PAUSE),
                None => return Err(Error::Conflict(None)),
            }
        };
        let turn = Turn { vault: self, _here: here, _everywhere: everywhere };
        turn.recover()?;
        Ok(turn)
    }

    /// Takes back what a crash left half done, if it did; for the start. What cannot be done now is done by the next change.
    pub fn recover(&self) {
        if self.own_file(0).is_ok_and(|journal| journal.exists())
            && let Err(error) = self.take_turn()
        {
            log::warn!("a change of several files that was interrupted cannot be taken back yet: {error}");
        }
    }

    /// A file of our own in the vault's root. A link there was put by somebody else and leads who knows where.
    fn own_file(&self, number: usize) -> Result<PathBuf, Error> {
        let name = OWN_FILES.get(number).copied().unwrap_or_default();
        let place = self.jail.root().join(name);
        if place.is_symlink() {
            return Err(Error::NotAllowed { path: name.into(), why: "it is a link; remove it" });
        }
        Ok(place)
    }

    /// A name in the trash that nothing has yet.
    fn place_in_trash(&self, path: &VaultPath, taken: &[Noted]) -> Result<String, Error> {
        let folder = self.jail.root().join(TRASH);
        if folder.is_symlink() {
            return Err(Error::NotAllowed { path: TRASH.into(), why: "it is a link; nothing is moved there" });
        }
        let (stem, ending) =
            path.name().rsplit_once('.').map_or((path.name(), String::new()), |(stem, ending)| (stem, format!(".{ending}")));
        let names =
            std::iter::once(path.name().to_owned()).chain((1..limits::TRASH_NAMES).map(|number| format!("{stem} {number}{ending}")));
        let is_taken = |name: &str| {
            folder.join(name).symlink_metadata().is_ok()
                || taken.iter().any(|step| matches!(step, Noted::Trash { place, .. } if place == name))
        };
        names
            .into_iter()
            .find(|name| !is_taken(name))
            .ok_or_else(|| Error::NotAllowed { path: path.as_str().into(), why: "the trash is full of files of this name" })
    }
}

impl Turn<'_> {
    /// Does all steps, or none.
    ///
    /// # Errors
    /// [`Error::Conflict`] when a file is not what the step says; those of [`Vault::write`], or the disk's. Then all files
    /// have the bytes they had; where even that could not be done, the next change does it first.
    pub fn change(&self, steps: &[Step]) -> Result<(), Error> {
        let noted = self.note(steps)?;
        for (number, step) in steps.iter().enumerate() {
            if let Err(error) = self.take(step, noted.get(number)) {
                self.take_back(noted.get(..number).unwrap_or_default());
                return Err(error);
            }
        }
        self.forget();
        Ok(())
    }

    /// Writes down what the steps will change. One file needs no note: it is replaced whole or not at all.
    fn note(&self, steps: &[Step]) -> Result<Vec<Noted>, Error> {
        let mut noted: Vec<Noted> = Vec::new();
        for step in steps {
            noted.push(match step {
                Step::Create { path, bytes } => Noted::Create { path: path.as_str().into(), after: etag(bytes) },
                Step::Replace { path, before, after } => {
                    Noted::Replace { path: path.as_str().into(), before: STANDARD.encode(before), after: etag(after) }
                }
                Step::Rename { from, to, bytes } => Noted::Rename { from: from.as_str().into(), to: to.as_str().into(), etag: etag(bytes) },
                Step::Trash { path, bytes } => {
                    let place = self.vault.place_in_trash(path, &noted)?;
                    Noted::Trash { path: path.as_str().into(), place, etag: etag(bytes) }
                }
            });
        }
        if noted.len() > 1 {
            let journal = serde_json::to_vec(&Journal { version: 1, steps: noted.clone() }).unwrap_or_default();
            let place = self.vault.own_file(0)?;
            disk::replace(&place, &journal, Mode::Private, || Ok(())).map_err(Error::disk("write the file", OWN_FILES[0]))?;
        }
        Ok(noted)
    }

    fn take(&self, step: &Step, noted: Option<&Noted>) -> Result<(), Error> {
        match (step, noted) {
            (Step::Create { path, bytes }, _) => self.vault.exchange(path, None, bytes),
            (Step::Replace { path, before, after }, _) => self.vault.exchange(path, Some(before), after),
            (Step::Rename { from, to, bytes }, _) => self.vault.rename(from, to, bytes),
            (Step::Trash { path, bytes }, Some(Noted::Trash { place, .. })) => self.vault.to_trash(path, place, bytes),
            (Step::Trash { .. }, _) => Ok(()),
        }
    }

    /// Puts back what was done, the last first, and forgets it when all is as it was.
    fn take_back(&self, done: &[Noted]) {
        let mut all = true;
        for step in done.iter().rev() {
            if let Err(error) = self.undo(step) {
                log::error!("a change of several files could not be taken back in {}: {error}", step.path());
                all = false;
            }
        }
        if all {
            self.forget();
        }
    }

    fn forget(&self) {
        // It says nothing any more: everything it names is done, or as it was. It has to go for good: one that a power cut
        // brings back would take back what is done.
        if let Ok(journal) = self.vault.own_file(0)
            && let Err(error) = disk::remove(&journal, || Ok::<(), std::io::Error>(()))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            log::error!("{} cannot be removed: {error}", OWN_FILES[0]);
        }
    }

    /// Takes back what a crash left half done.
    fn recover(&self) -> Result<(), Error> {
        let place = self.vault.own_file(0)?;
        let bytes = match std::fs::read(&place) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::disk("read the file", OWN_FILES[0])(error)),
        };
        let Some(journal) = serde_json::from_slice::<Journal>(&bytes).ok().filter(|journal| journal.version == 1) else {
            return Err(Error::NotAllowed {
                path: OWN_FILES[0].into(),
                why: "it is not what this version writes; look into it, then remove it",
            });
        };
        // All of it was done, and only the note of it is left: so it is on a computer that a sync program copied it to.
        if journal.steps.iter().all(|step| self.is_done(step)) {
            self.forget();
            return Ok(());
        }
        log::warn!("a change of {} files was interrupted; putting them back", journal.steps.len());
        for step in journal.steps.iter().rev() {
            match self.undo(step) {
                // Somebody has changed the file since: theirs stays.
                Err(Error::Conflict(_) | Error::NotFound { .. }) => log::warn!("{} was changed since; it stays as it is", step.path()),
                other => other?,
            }
        }
        self.forget();
        Ok(())
    }

    fn etag_of(&self, path: &str) -> Option<String> {
        self.vault.bytes_if_any(&VaultPath::file(path).ok()?).ok().flatten().map(|bytes| etag(&bytes))
    }

    fn is_done(&self, step: &Noted) -> bool {
        match step {
            Noted::Create { path, after } | Noted::Replace { path, after, .. } => self.etag_of(path).as_ref() == Some(after),
            Noted::Rename { from, to, .. } => self.etag_of(from).is_none() && self.etag_of(to).is_some(),
            Noted::Trash { path, .. } => self.etag_of(path).is_none(),
        }
    }

    /// Puts a file back, if it is what the step made of it.
    fn undo(&self, step: &Noted) -> Result<(), Error> {
        let file = VaultPath::file;
        match step {
            Noted::Create { path, after } if self.etag_of(path).as_ref() == Some(after) => {
                let path = file(path)?;
                self.vault.remove(&path, &self.vault.bytes(&path)?)
            }
            Noted::Replace { path, before, after } if self.etag_of(path).as_ref() == Some(after) => {
                let path = file(path)?;
                let before = STANDARD.decode(before).unwrap_or_default();
                self.vault.exchange(&path, Some(&self.vault.bytes(&path)?), &before)
            }
            Noted::Rename { from, to, etag } if self.etag_of(to).as_ref() == Some(etag) && self.etag_of(from).is_none() => {
                let to = file(to)?;
                self.vault.rename(&to, &file(from)?, &self.vault.bytes(&to)?)
            }
            Noted::Trash { path, place, .. } if self.etag_of(path).is_none() => self.vault.bring_back(place, &file(path)?),
            _ => Ok(()),
        }
    }
}

impl Noted {
    fn path(&self) -> &str {
        match self {
            Noted::Create { path, .. } | Noted::Replace { path, .. } | Noted::Trash { path, .. } => path,
            Noted::Rename { to, .. } => to,
        }
    }
}

/// Moving files, for the steps above.
impl Vault {
    fn rename(&self, from: &VaultPath, to: &VaultPath, known: &[u8]) -> Result<(), Error> {
        let (from, old) = &self.locate(from)?;
        let new = self.jail.root().join(to.as_str());
        let same = std::fs::metadata(&new)
            .is_ok_and(|new| std::fs::metadata(old).is_ok_and(|old| super::index::Stamp::of(&new) == super::index::Stamp::of(&old)));
        // A name that differs only by case is the same file where the file system does not tell them apart.
        let new = if same { new } else { self.jail.for_writing(to, true)? };
        if !same && new.symlink_metadata().is_ok() {
            return Err(Error::Conflict(None));
        }
        let _turn = self.write_turn(old);
        let look = || if std::fs::read(old).ok().as_deref() == Some(known) { Ok(()) } else { Err(Error::Conflict(None)) };
        disk::rename(old, &new, look).map_err(|error| naming(error, from))?;
        self.index.removed(from);
        self.index.wrote(to);
        Ok(())
    }

    fn to_trash(&self, path: &VaultPath, place: &str, known: &[u8]) -> Result<(), Error> {
        let (path, old) = &self.locate(path)?;
        let trash = self.jail.root().join(TRASH);
        disk::create_folder(&trash).map_err(Error::disk("create the folder", TRASH))?;
        let _turn = self.write_turn(old);
        let look = || if std::fs::read(old).ok().as_deref() == Some(known) { Ok(()) } else { Err(Error::Conflict(None)) };
        disk::rename(old, &trash.join(place), look).map_err(|error| naming(error, path))?;
        self.index.removed(path);
        Ok(())
    }

    fn bring_back(&self, place: &str, path: &VaultPath) -> Result<(), Error> {
        let old = self.jail.root().join(TRASH).join(place);
        if !old.is_file() {
            return Err(Error::NotFound { path: path.as_str().into(), hint: String::new() });
        }
        let new = self.jail.for_writing(path, true)?;
        disk::rename(&old, &new, || Ok(())).map_err(|error| naming(error, path))?;
        self.index.wrote(path);
        Ok(())
    }
}

fn naming(error: Error, path: &VaultPath) -> Error {
    match error {
        Error::Disk { doing, cause, .. } => Error::Disk { doing, path: path.as_str().into(), cause },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn path(text: &str) -> VaultPath {
        VaultPath::file(text).unwrap()
    }

    /// Everything in a vault: path and bytes.
    fn all(root: &Path) -> Vec<(String, Vec<u8>)> {
        let (mut found, mut open) = (Vec::new(), vec![root.to_path_buf()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let place = entry.unwrap().path();
                if place.is_dir() {
                    open.push(place);
                } else if !place.ends_with(OWN_FILES[1]) {
                    found.push((place.strip_prefix(root).unwrap().display().to_string(), std::fs::read(&place).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    fn vault() -> (PathBuf, Vault) {
        let root = std::env::temp_dir().join(format!("vsm-together-{}", crate::secret::new_id().unwrap()));
        std::fs::create_dir_all(root.join("sub")).unwrap();
        for (name, text) in [("a.md", "a"), ("sub/b.md", "b"), ("c.canvas", "{}"), ("gone.md", "gone")] {
            std::fs::write(root.join(name), text).unwrap();
        }
        (root.clone(), Vault::open(&root).unwrap())
    }

    fn steps() -> [Step; 5] {
        [
            Step::Create { path: path("new/n.md"), bytes: b"new".to_vec() },
            Step::Replace { path: path("a.md"), before: b"a".to_vec(), after: b"A".to_vec() },
            Step::Rename { from: path("sub/b.md"), to: path("sub/B b.md"), bytes: b"b".to_vec() },
            Step::Trash { path: path("gone.md"), bytes: b"gone".to_vec() },
            Step::Replace { path: path("c.canvas"), before: b"{}".to_vec(), after: b"{ }".to_vec() },
        ]
    }

    #[test]
    fn killed_after_any_step_everything_is_as_it_was() {
        for done in 0..steps().len() {
            let (root, vault) = vault();
            let before = all(&root);
            {
                let turn = vault.take_turn().unwrap();
                let noted = turn.note(&steps()).unwrap();
                for (step, noted) in steps().iter().zip(&noted).take(done) {
                    turn.take(step, Some(noted)).unwrap();
                }
            }
            drop(vault);
            Vault::open(&root).unwrap().recover();
            assert_eq!(all(&root), before, "after {done} steps");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn all_steps_are_done_and_a_note_that_is_left_of_them_takes_nothing_back() {
        let (root, vault) = vault();
        vault.take_turn().unwrap().change(&steps()).unwrap();
        let names: Vec<String> = all(&root).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".trash/gone.md", "a.md", "c.canvas", "new/n.md", "sub/B b.md"]);
        let after = all(&root);
        let (other, twin) = self::vault();
        let noted = twin.take_turn().unwrap().note(&steps()).unwrap();
        assert_eq!(noted.len(), 5);
        std::fs::copy(other.join(OWN_FILES[0]), root.join(OWN_FILES[0])).unwrap();
        vault.recover();
        assert_eq!(all(&root), after);
        for root in [root, other] {
            std::fs::remove_dir_all(root).unwrap();
        }
    }

    #[test]
    fn a_step_that_fails_takes_the_others_back() {
        for failing in 1..steps().len() {
            let (root, vault) = vault();
            // A person saved this file in between, or made one where ours is to go.
            let theirs = ["new/n.md", "a.md", "sub/B b.md", "gone.md", "c.canvas"][failing];
            std::fs::write(root.join(theirs), "a person's").unwrap();
            let before = all(&root);
            assert!(matches!(vault.take_turn().unwrap().change(&steps()), Err(Error::Conflict(_))), "{failing}");
            assert_eq!(all(&root), before, "{failing}");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn after_a_crash_what_a_person_saved_since_stays() {
        let (root, vault) = vault();
        {
            let turn = vault.take_turn().unwrap();
            let noted = turn.note(&steps()).unwrap();
            steps().iter().zip(&noted).take(3).for_each(|(step, noted)| turn.take(step, Some(noted)).unwrap());
        }
        std::fs::write(root.join("a.md"), "a person's").unwrap();
        Vault::open(&root).unwrap().recover();
        let names: Vec<String> = all(&root).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.md", "c.canvas", "gone.md", "sub/b.md"]);
        assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"a person's");
        // What nobody here wrote is not taken for an order.
        std::fs::write(root.join(OWN_FILES[0]), "{\"version\":1,\"steps\":[{\"step\":\"create\",\"path\":\"../x.md\",\"after\":\"\"}]}")
            .unwrap();
        vault.recover();
        std::fs::write(root.join(OWN_FILES[0]), "torn").unwrap();
        assert!(vault.take_turn().is_err());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
