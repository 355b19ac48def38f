//! Replacing, removing and renaming a file that other programs may change at the same time.

use super::system::{exchange, flush, identity, open_folder, rename_to_new, times};
use super::temporary::{Mode, TEMPORARY_PREFIX, write_temporary};
use crate::limits;
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Replaces `target`, or creates it, with `bytes`. `last_check` is called when the new bytes are safely on the disk and
/// only the rename is missing; if it refuses, nothing has changed. From the last check to the rename the folder is
/// locked, so that no other process of this program intervenes (unless this one has waited for the lock for seconds, or the file
/// system has no locks). With [`Mode::Like`] the two files exchange names, where the file system can do that, and the
/// displaced one is checked once more: what another program saved in between is put back. If that program has by then
/// saved over our bytes, both of its texts are kept, the first as a conflict copy in the same folder.
///
/// `last_check` gets the path to check: `target`; after the exchange the temporary file, which then is the displaced one; after a failure
/// `target` once more, for its error.
///
/// # Errors
/// What `last_check` or the disk said; then the target has its old bytes. `AlreadyExists` for a new file whose name was taken
/// meanwhile, `ResourceBusy` for one that was saved meanwhile.
pub fn replace<E: From<io::Error>>(
    target: &Path,
    bytes: &[u8],
    mode: Mode<'_>,
    last_check: impl Fn(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let folder = target.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    // Opened first: without a folder to flush afterwards, nothing is begun.
    let open_folder = open_folder(folder)?;
    // Without an old file, a program may still replace a symbolic link.
    let is_new = matches!(mode, Mode::New)
        || matches!(mode, Mode::Program(None, _)) && target.symlink_metadata().is_err();
    let (temporary, new) = write_temporary(folder, bytes, mode, target)?;
    // Whether a file is left at the temporary name.
    let is_left = (|| -> Result<bool, E> {
        lock_for_a_moment(&open_folder);
        let (ours, expected) = (state(&new.metadata()?), state_at(target).ok());
        // Closed while it has its temporary name: under the target's, the close would be reported as the end of another program's write.
        drop(new);
        last_check(target)?;
        if matches!(mode, Mode::Like(_)) && exchange(&temporary, target)? {
            // The state first, as it is quicker than comparing all bytes: until the file is put back, other programs read our text.
            if state_at(&temporary).ok() == expected && last_check(&temporary).is_ok() {
                return Ok(true);
            }
            put_back(&temporary, target, ours);
            last_check(target)?;
            return Err(io::Error::from(io::ErrorKind::ResourceBusy).into());
        }
        let renamed = if is_new {
            rename_to_new(&temporary, target)
        } else {
            std::fs::rename(&temporary, target)
        };
        renamed?;
        Ok(false)
    })();
    let _ = open_folder.unlock();
    // The new file, or the displaced one; if it cannot be removed now, the next start does.
    if !matches!(is_left, Ok(false))
        && let Err(error) = std::fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        log::warn!("a temporary file could not be removed, the next start tries again: {error}");
    }
    is_left?;
    flush_or_log("a write", &[&open_folder]);
    Ok(())
}

/// Flushes folders after a completed change; a failure is only logged, as the change itself has not failed.
fn flush_or_log(change: &str, folders: &[&File]) {
    if let Err(error) = folders.iter().try_for_each(|folder| flush(folder)) {
        log::error!(
            "a folder could not be flushed after {change}; a power cut could still undo it: {error}"
        );
    }
}

fn open_parent(of: &Path) -> io::Result<File> {
    open_folder(of.parent().ok_or(io::ErrorKind::InvalidInput)?)
}

/// Identifies a state of a file without reading it, as `vault::Stamp` does for files of the index; a rename changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    state: State,
    /// The status change time.
    changed: i64,
}

/// See [`Fingerprint`].
pub fn fingerprint(found: &Metadata) -> Fingerprint {
    Fingerprint { state: state(found), changed: times(found).1 }
}

/// What a rename does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// Device and inode.
    identity: (u64, u64),
    size: u64,
    modified: i64,
}

fn state(found: &Metadata) -> State {
    State { identity: identity(found), size: found.len(), modified: times(found).0 }
}

fn state_at(path: &Path) -> io::Result<State> {
    path.symlink_metadata().map(|found| state(&found))
}

/// Gives a displaced file its name back. If the file that has the name is no longer `ours`, it was saved later: it keeps the
/// name, and the displaced one becomes a conflict copy.
fn put_back(displaced: &Path, target: &Path, ours: State) {
    match exchange_back(displaced, target, ours) {
        Ok(true) => return,
        Ok(false) => {}
        Err(error) => log::warn!("what another program saved could not be put back: {error}"),
    }
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    // The second name is for when the first is too long; no start of this program removes it.
    let copies = [conflict_copy(displaced, target), displaced.with_extension("kept")];
    match copies.iter().find(|copy| rename_to_new(displaced, copy).is_ok()) {
        Some(copy) => log::warn!(
            "{:?} was saved twice during a change; the first text is in {:?}",
            name(target),
            name(copy)
        ),
        None => log::error!(
            "{:?} was saved twice during a change; the first text is lost",
            name(target)
        ),
    }
}

/// `NAME (conflict ID).EXTENSION`, with the first digits of a temporary file's id.
fn conflict_copy(temporary: &Path, target: &Path) -> PathBuf {
    let id = temporary
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix(TEMPORARY_PREFIX)?.get(..8))
        .unwrap_or_default();
    let mut name = target.file_stem().unwrap_or_default().to_owned();
    name.push(format!(" (conflict {id})"));
    if let Some(extension) = target.extension() {
        name.push(".");
        name.push(extension);
    }
    target.with_file_name(name)
}

/// Whether the displaced file has its name back. Otherwise `target` has one text that another program saved, and `displaced` the other.
fn exchange_back(displaced: &Path, target: &Path, ours: State) -> io::Result<bool> {
    match exchange(displaced, target) {
        Ok(true) if state_at(displaced)? == ours => Ok(true),
        // What was exchanged out was saved later, and gets its name back.
        Ok(true) => exchange(displaced, target).map(|_| false),
        // A sync program has moved the file away, and would overwrite whatever has its name with the next version.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        // Without an exchange: `target` was ours a moment ago.
        Ok(false) | Err(_) => std::fs::rename(displaced, target).map(|()| true),
    }
}

/// Other holders of the lock keep it for microseconds. One that has died does not hold it any more, and where there
/// are no locks (some network file systems) there is nothing to wait for.
fn lock_for_a_moment(folder: &File) {
    for _ in 0..limits::FOLDER_LOCK_TRIES {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(limits::FOLDER_LOCK_PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

/// Removes a file, durably. `last_check` is called right before, with the folder locked as in [`replace`].
///
/// # Errors
/// What `last_check` or the disk said; then the file is still there.
pub fn remove<E: From<io::Error>>(
    target: &Path,
    last_check: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let folder = open_parent(target)?;
    lock_for_a_moment(&folder);
    let outcome = last_check().and_then(|()| Ok(std::fs::remove_file(target)?));
    let _ = folder.unlock();
    outcome?;
    flush_or_log("a removal", &[&folder]);
    Ok(())
}

/// Renames a file, durably, and never over an existing one. `last_check` is called right before, with the old folder
/// locked as in [`replace`].
///
/// # Errors
/// What `last_check` or the disk said; then the file has its old name.
pub fn rename<E: From<io::Error>>(
    from: &Path,
    to: &Path,
    last_check: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let (old_folder, new_folder) = (open_parent(from)?, open_parent(to)?);
    lock_for_a_moment(&old_folder);
    let outcome = last_check().and_then(|()| Ok(rename_to_new(from, to)?));
    let _ = old_folder.unlock();
    outcome?;
    // The new name first: a power cut in between leaves two names, not none.
    flush_or_log("a rename", &[&new_folder, &old_folder]);
    Ok(())
}

/// Calls `look`, and returns whether the file stayed unchanged meanwhile: reading and comparing a large one takes milliseconds,
/// in which another program may save it. That leaves only the microseconds until the next system call.
pub fn with_change_check<T>(file: &Path, look: impl FnOnce() -> T) -> (T, bool) {
    let now = || file.symlink_metadata().ok().as_ref().map(fingerprint);
    let before = now();
    let seen = look();
    (seen, before == now())
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
    fn a_displaced_text_that_cannot_be_put_back_becomes_a_conflict_copy() {
        for last in [Some("saved on top of ours"), None] {
            let folder = new_folder().unwrap();
            let (note, displaced) = (folder.join("a note.md"), temporary_name(&folder));
            std::fs::write(&note, "ours").unwrap();
            let ours = state_at(&note).unwrap();
            std::fs::rename(&note, folder.join("ours")).unwrap();
            std::fs::write(&displaced, "saved first").unwrap();
            last.iter().for_each(|text| std::fs::write(&note, text).unwrap());
            put_back(&displaced, &note, ours);
            let id =
                &displaced.file_name().unwrap().to_str().unwrap()[TEMPORARY_PREFIX.len()..][..8];
            let mut expected =
                vec![(format!("a note (conflict {id}).md"), "saved first".to_owned())];
            expected.extend(last.map(|text| ("a note.md".to_owned(), text.to_owned())));
            expected.push(("ours".to_owned(), "ours".to_owned()));
            assert_eq!(files(&folder), expected);
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
        let locked = open_folder(&folder).unwrap();
        locked.lock().unwrap();
        assert!(!remove_leftover(&name), "it may be a file that was displaced");
        drop(locked);
        assert!(remove_leftover(&name));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
