//! Putting a file in the place of another, which other programs may change at the same time.

use super::files::{discard, read_at_most};
use super::system::{exchange, flush_folder, rename_to_new};
use super::temporary::{Mode, TEMPORARY_PREFIX, write_temporary};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A new file under a hidden name, flushed to the disk. It takes a name, or is removed.
#[derive(Debug)]
pub struct NewFile<'a> {
    temporary: PathBuf,
    bytes: &'a [u8],
    /// Open, and so locked: no start of this program takes it for a leftover.
    _file: File,
}

impl<'a> NewFile<'a> {
    /// Writes it into the folder of `target`.
    ///
    /// # Errors
    /// What the disk says.
    pub fn beside(target: &Path, bytes: &'a [u8], mode: Mode<'_>) -> io::Result<NewFile<'a>> {
        let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let (temporary, file) = write_temporary(folder, bytes, mode, target)?;
        Ok(NewFile { temporary, bytes, _file: file })
    }

    /// Gives it a name that is not in use.
    ///
    /// # Errors
    /// What the disk says; `AlreadyExists`.
    pub fn name(self, target: &Path) -> io::Result<()> {
        rename_to_new(&self.temporary, target)
    }

    /// Gives it the name of another file, which is removed. `check` looks at that file, where it
    /// is: at `target`, and once more, where the file system can exchange names, after the
    /// exchange, at the temporary name. If it refuses that, another program has saved in between:
    /// its text gets the name back. If that program has by then saved over ours, too, its second
    /// text becomes a conflict copy in the same folder.
    ///
    /// # Errors
    /// What `check` or the disk said; then the target has the bytes that others gave it.
    pub fn replace<E: From<io::Error>>(
        self,
        target: &Path,
        mut check: impl FnMut(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        check(target)?;
        match exchange(&self.temporary, target) {
            Ok(()) => check(&self.temporary).inspect_err(|_| self.put_back(target)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(std::fs::rename(&self.temporary, target)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges the names back. What is not ours then was saved later, and is kept.
    fn put_back(&self, target: &Path) {
        let is_ours = || {
            let displaced = read_at_most(&self.temporary, self.bytes.len() as u64);
            displaced.is_ok_and(|bytes| bytes == self.bytes)
        };
        match exchange(&self.temporary, target) {
            Ok(_) if is_ours() => return,
            Ok(_) => {}
            // A sync program has moved the file away, and would overwrite whatever has its name
            // with the next version.
            Err(error) => log::warn!("what another program saved could not be put back: {error}"),
        }
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        // The second name is for when the first is too long; no start of this program removes it.
        let copies = [self.conflict_copy(target), self.temporary.with_extension("kept")];
        match copies.iter().find(|copy| rename_to_new(&self.temporary, copy).is_ok()) {
            Some(copy) => log::warn!(
                "{:?} was saved twice during a change; one of the texts is in {:?}",
                name(target),
                name(copy)
            ),
            None => log::error!(
                "{:?} was saved twice during a change; one of the texts is lost",
                name(target)
            ),
        }
    }

    /// `NAME (conflict ID).EXTENSION`, with the first digits of the temporary file's id.
    fn conflict_copy(&self, target: &Path) -> PathBuf {
        let temporary = self.temporary.file_name().and_then(|name| name.to_str());
        let id = temporary.and_then(|name| name.strip_prefix(TEMPORARY_PREFIX)?.get(..8));
        let mut name = target.file_stem().unwrap_or_default().to_owned();
        name.push(format!(" (conflict {})", id.unwrap_or_default()));
        if let Some(extension) = target.extension() {
            name.push(".");
            name.push(extension);
        }
        target.with_file_name(name)
    }
}

impl Drop for NewFile<'_> {
    /// Removes what is left under the temporary name: itself, or the file that it has replaced. If
    /// that fails, the next start does it.
    fn drop(&mut self) {
        discard(&self.temporary);
    }
}

/// Replaces `target`, or creates it, with `bytes`, durably. `check` is called as by
/// [`NewFile::replace`]; names are exchanged with [`Mode::Like`].
///
/// # Errors
/// As [`NewFile::replace`]; `AlreadyExists` for a new file whose name was taken meanwhile.
pub fn replace<E: From<io::Error>>(
    target: &Path,
    bytes: &[u8],
    mode: Mode<'_>,
    mut check: impl FnMut(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let is_new = matches!(mode, Mode::New);
    let new = NewFile::beside(target, bytes, mode)?;
    if matches!(mode, Mode::Like(_)) {
        new.replace(target, check)?;
    } else {
        check(target)?;
        if is_new { new.name(target) } else { std::fs::rename(&new.temporary, target) }?;
    }
    flush_names(target.parent());
    Ok(())
}

/// Removes a file. The folder is to be flushed.
///
/// # Errors
/// What the disk says.
pub fn remove(target: &Path) -> io::Result<()> {
    std::fs::remove_file(target)
}

/// Flushes folders after a completed change; a failure is only logged, as the change itself has not
/// failed.
pub fn flush_names<'a>(folders: impl IntoIterator<Item = &'a Path>) {
    if let Err(error) = folders.into_iter().try_for_each(flush_folder) {
        log::error!(
            "a folder could not be flushed; a power cut could undo a change in it: {error}"
        );
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::disk::temporary::temporary_name;
    use crate::disk::{create_folder, is_temporary, remove_leftover, set_mode};
    use std::os::unix::fs::PermissionsExt;

    fn new_folder() -> io::Result<PathBuf> {
        let folder = temporary_name(&std::env::temp_dir());
        create_folder(&folder)?;
        Ok(folder)
    }

    #[test]
    fn a_refused_or_failed_replacement_leaves_old_bytes_and_no_temporary_file() {
        let folder = new_folder().unwrap();
        let note = folder.join("note.md");
        replace::<io::Error>(&note, b"old", Mode::New, |_| Ok(())).unwrap();
        set_mode(&note, 0o640).unwrap();
        let old = note.metadata().unwrap();
        let refused = replace::<io::Error>(&note, b"new", Mode::Like(&old), |_| {
            Err(io::ErrorKind::Other.into())
        });
        assert!(refused.is_err());
        assert_eq!(std::fs::read(&note).unwrap(), b"old");
        assert!(
            replace::<io::Error>(&folder.join("none/x.md"), b"new", Mode::New, |_| Ok(())).is_err()
        );
        replace::<io::Error>(&note, b"new", Mode::Like(&old), |_| Ok(())).unwrap();
        assert_eq!(std::fs::read(&note).unwrap(), b"new");
        assert_eq!(note.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The names and texts in a folder.
    #[expect(clippy::unwrap_used, reason = "a helper of tests")]
    fn files(folder: &Path) -> Vec<(String, String)> {
        let read = |path: PathBuf| {
            (
                path.file_name().unwrap().display().to_string(),
                std::fs::read_to_string(&path).unwrap(),
            )
        };
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap().path())).collect();
        files.sort();
        files
    }

    /// A displaced text is not lost if another text, or none, has its name by now.
    #[test]
    fn a_text_that_is_saved_over_ours_becomes_a_conflict_copy() {
        for second in [Some("saved on top of ours"), None] {
            let folder = new_folder().unwrap();
            let note = folder.join("a note.md");
            std::fs::write(&note, "saved first").unwrap();
            let refuse_second = |at: &Path| match at == note {
                true => Ok(()),
                false => {
                    std::fs::rename(&note, folder.join("ours")).unwrap();
                    second.iter().for_each(|text| std::fs::write(&note, text).unwrap());
                    Err(io::Error::from(io::ErrorKind::ResourceBusy))
                }
            };
            let old = note.metadata().unwrap();
            replace(&note, b"ours", Mode::Like(&old), refuse_second).unwrap_err();
            let (kept, named) = match second {
                Some(second) => (second, Some("saved first")),
                None => ("saved first", None),
            };
            let mut expected = vec![kept.to_owned(), "ours".to_owned()];
            expected.splice(1..1, named.map(str::to_owned));
            let found = files(&folder);
            assert!(found[0].0.starts_with("a note (conflict "), "{found:?}");
            assert_eq!(found.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn writes_succeed_while_a_starting_process_removes_leftovers() {
        let folder = new_folder().unwrap();
        let note = folder.join("note.md");
        replace::<io::Error>(&note, b"0", Mode::New, |_| Ok(())).unwrap();
        let writes = std::sync::Arc::new(());
        let (is_writing, cleaned) = (std::sync::Arc::downgrade(&writes), folder.clone());
        let start = std::thread::spawn(move || {
            while is_writing.upgrade().is_some() {
                let entries = std::fs::read_dir(&cleaned).unwrap().flatten();
                let left =
                    entries.filter(|entry| is_temporary(entry.file_name().to_str().unwrap()));
                left.for_each(|entry| {
                    remove_leftover(&entry.path());
                });
            }
        });
        for n in 1..300 {
            let old = note.metadata().unwrap();
            replace::<io::Error>(&note, n.to_string().as_bytes(), Mode::Like(&old), |_| Ok(()))
                .unwrap();
        }
        drop(writes);
        start.join().unwrap();
        assert_eq!(std::fs::read(&note).unwrap(), b"299");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_another_program_saves_between_the_last_check_and_the_rename_is_put_back() {
        let folder = new_folder().unwrap();
        let (note, other) = (folder.join("note.md"), folder.join("other"));
        std::fs::write(&note, b"old").unwrap();
        let old = note.metadata().unwrap();
        for in_place in [false, true] {
            std::fs::write(&note, b"old").unwrap();
            let refused = replace::<io::Error>(&note, b"ours", Mode::Like(&old), |at| {
                let found = std::fs::read(at)?;
                if at == note {
                    std::fs::write(if in_place { &note } else { &other }, b"a person's")?;
                    if !in_place {
                        std::fs::rename(&other, &note)?;
                    }
                }
                if found == b"old" { Ok(()) } else { Err(io::ErrorKind::ResourceBusy.into()) }
            });
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ResourceBusy);
            assert_eq!(std::fs::read(&note).unwrap(), b"a person's");
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left over");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_an_unlocked_temporary_file_is_removed() {
        let folder = new_folder().unwrap();
        assert!(!is_temporary(".vault-sync-mcp-.tmp") && !is_temporary("note.md"));
        let (name, writing) =
            write_temporary(&folder, b"half", Mode::New, &folder.join("note.md")).unwrap();
        assert!(is_temporary(name.file_name().unwrap().to_str().unwrap()));
        assert!(!remove_leftover(&name), "still being written");
        drop(writing);
        let displaced = File::open(&name).unwrap();
        displaced.lock_shared().unwrap();
        assert!(!remove_leftover(&name), "a file that was displaced");
        drop(displaced);
        assert!(remove_leftover(&name));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
