//! The one writer: every file this program changes is changed here, whole or not at all.
//!
//! A replacement is a hidden temporary file in the same folder, written, flushed to the disk, renamed over the target,
//! and the folder flushed. Whoever looks at the target, at any moment and after any crash, sees all of the old bytes or
//! all of the new ones.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

pub use system::*;

use crate::limits;
use crate::secret;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const TEMPORARY_PREFIX: &str = ".vault-sync-mcp-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// What the names of all our own files in a vault have in common, as a pattern.
pub const OWN_NAMES: &str = ".vault-sync-mcp*";

/// Permission bits and owner of a file to be written.
#[derive(Debug, Clone, Copy)]
pub enum Mode<'a> {
    /// What the process's umask leaves of read and write for all: a new note, which replaces nothing.
    New,
    /// Readable and writable by the owner alone: secrets.
    Private,
    /// Those of the file that is replaced; its owner, group and extended attributes too, as far as the system lets us.
    Like(&'a Metadata),
    /// The same, or as a new file without one, but to be run or not by everybody who may read it.
    Program(Option<&'a Metadata>, bool),
    /// The same, and with a time of its own at which it was written.
    Dated(Option<&'a Metadata>, SystemTime),
}

/// Replaces `target`, or creates it, with `bytes`. `last_look` is asked when the new bytes are safely on the disk and
/// only the rename is missing; when it refuses, nothing has changed. From the last look to the rename the folder is
/// locked, so that another process of this program does not come in between (unless it holds the lock for seconds, or
/// the file system has none). With [`Mode::Like`] the two files exchange their names, where the file system can do that, and
/// `last_look` is asked once more, about the one that was displaced: what another program saved in between is put back.
///
/// # Errors
/// What `last_look` or the disk said; then the target has its old bytes. `AlreadyExists` for a new file whose name somebody
/// has taken meanwhile.
pub fn replace<E: From<io::Error>>(
    target: &Path,
    bytes: &[u8],
    mode: Mode<'_>,
    last_look: impl Fn(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let folder = target.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    // Opened first: what cannot be flushed afterwards is not begun.
    let open_folder = open_folder(folder)?;
    // A link may be in the place of a program's.
    let is_new = matches!(mode, Mode::New) || matches!(mode, Mode::Program(None, _)) && target.symlink_metadata().is_err();
    let (temporary, new) = write_temporary(folder, bytes, mode, target)?;
    let outcome = (|| -> Result<bool, E> {
        lock_for_a_moment(&open_folder);
        last_look(target)?;
        let ours = state(&new.metadata()?);
        if matches!(mode, Mode::Like(_)) && exchange(&temporary, target)? {
            if let Err(refused) = last_look(&temporary) {
                if let Err(error) = put_back(&temporary, target, ours) {
                    // Under a name that no start removes.
                    let kept = temporary.with_extension("kept");
                    let _ = std::fs::rename(&temporary, &kept);
                    log::error!("what another program saved could not be put back and is in {:?} beside it: {error}", kept.file_name());
                }
                return Err(refused);
            }
            return Ok(true);
        }
        let renamed = if is_new { rename_to_new(&temporary, target) } else { std::fs::rename(&temporary, target) };
        renamed?;
        Ok(false)
    })();
    drop(new);
    let _ = open_folder.unlock();
    // The new file, or the displaced one; if it cannot be removed now, the next start does.
    if !matches!(outcome, Ok(false))
        && let Err(error) = std::fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        log::warn!("a temporary file could not be removed, the next start tries again: {error}");
    }
    outcome?;
    // The new bytes are in place: to say that the write failed would be wrong.
    if let Err(error) = flush(&open_folder) {
        log::error!("a folder could not be flushed after a write; a power cut could still undo it: {error}");
    }
    Ok(())
}

/// What tells one state of a file from another without reading it; a rename changes it.
pub type Fingerprint = (State, (i64, i64));

/// See [`Fingerprint`].
pub fn fingerprint(found: &Metadata) -> Fingerprint {
    (state(found), times(found))
}

/// Device, inode, size and modification time, which a rename does not change.
pub type State = ((u64, u64), u64, i64);

fn state(found: &Metadata) -> State {
    (identity(found), found.len(), times(found).0)
}

/// Gives a displaced file its name back, unless the file there is not `ours` any more: then that was saved later.
fn put_back(displaced: &Path, target: &Path, ours: State) -> io::Result<()> {
    // What was put at the target last, and what comes next; where something else comes out, it was saved later still.
    let (mut last, mut next) = (ours, state(&displaced.symlink_metadata()?));
    for _ in 0..limits::PUT_BACK_TRIES {
        match exchange(displaced, target) {
            Ok(true) => {}
            // A sync program moves a file away before it puts another one there, whatever has that name then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Ok(false) | Err(_) => return std::fs::rename(displaced, target),
        }
        let found = state(&displaced.symlink_metadata()?);
        if found == last {
            return Ok(());
        }
        (last, next) = (next, found);
    }
    Err(io::ErrorKind::ResourceBusy.into())
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

/// Removes a file, durably. `last_look` is asked right before, with the folder locked as in [`replace`].
///
/// # Errors
/// What `last_look` or the disk said; then the file is still there.
pub fn remove<E: From<io::Error>>(target: &Path, last_look: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let folder = target.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let open_folder = open_folder(folder)?;
    lock_for_a_moment(&open_folder);
    let outcome = last_look().and_then(|()| Ok(std::fs::remove_file(target)?));
    let _ = open_folder.unlock();
    outcome?;
    if let Err(error) = flush(&open_folder) {
        log::error!("a folder could not be flushed after a removal; a power cut could still undo it: {error}");
    }
    Ok(())
}

/// Gives a file another name, durably; where something has that name already, it stays what it is. `last_look` is asked
/// right before, with the old folder locked as in [`replace`].
///
/// # Errors
/// What `last_look` or the disk said; then the file has its old name.
pub fn rename<E: From<io::Error>>(from: &Path, to: &Path, last_look: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let folder = |of: &Path| of.parent().ok_or(io::ErrorKind::InvalidInput).map_err(io::Error::from).and_then(open_folder);
    let (old_folder, new_folder) = (folder(from)?, folder(to)?);
    lock_for_a_moment(&old_folder);
    let outcome = last_look().and_then(|()| Ok(rename_to_new(from, to)?));
    let _ = old_folder.unlock();
    outcome?;
    // The new name first: a power cut in between leaves two names, not none.
    if let Err(error) = flush(&new_folder).and_then(|()| flush(&old_folder)) {
        log::error!("a folder could not be flushed after a file was renamed; a power cut could still undo it: {error}");
    }
    Ok(())
}

/// Looks at a file, and tells whether it stayed what it was meanwhile: to read and compare a large one takes milliseconds, in
/// which somebody may save it. What is left for that are the microseconds to the system call that follows.
pub fn while_it_stays<T>(file: &Path, look: impl FnOnce() -> T) -> (T, bool) {
    let now = || file.symlink_metadata().ok().as_ref().map(fingerprint);
    let before = now();
    let seen = look();
    (seen, before == now())
}

/// Opens a file of our own to write at its end; one that does not exist is created, for the owner alone.
///
/// # Errors
/// What the disk says.
pub fn open_to_append(file: &Path) -> io::Result<File> {
    with_mode(OpenOptions::new().append(true).create(true), 0o600).open(file)
}

/// Adds bytes to the end of a private file, made where it is missing; with `flush` durably, otherwise so that they survive the process.
///
/// # Errors
/// What the disk says; some of the bytes may be written.
pub fn append(file: &Path, bytes: &[u8], flush: bool) -> io::Result<()> {
    let mut open = open_to_append(file)?;
    open.write_all(bytes)?;
    if flush { open.sync_data() } else { Ok(()) }
}

/// Reads a file of so many bytes at most; whatever its size says, no more memory is taken.
///
/// # Errors
/// What the disk says; `FileTooLarge` for a longer one.
pub fn read_at_most(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = File::open(file)?;
    let size = file.metadata()?.len();
    read_all(file, size, max)
}

/// Removes a file of our own that is not needed any more, if it is there.
pub fn discard(file: &Path) {
    let _ = std::fs::remove_file(file);
}

/// Makes a folder and flushes its parent, so that a file flushed into it later cannot lose its place in a power cut.
///
/// # Errors
/// What the disk says; a folder that exists already is none.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        other => other?,
    }
    folder.parent().map_or(Ok(()), |parent| open_folder(parent).and_then(|parent| flush(&parent)))
}

/// Whether a file name is one of a temporary file of [`replace`].
pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX).and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX)).is_some_and(|id| id.len() == 32)
}

/// Renames a file out of the way; for one that is damaged, or not ours to use.
///
/// # Errors
/// What the disk says.
pub fn set_aside(file: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(file, to)
}

/// Takes a file that only one process at a time may have; it is given back when dropped, or when the process ends.
/// `None`: another one has it.
///
/// # Errors
/// What the disk says.
pub fn take_lock(path: &Path) -> io::Result<Option<File>> {
    let file = with_mode(OpenOptions::new().create(true).truncate(false).write(true), 0o600).open(path)?;
    match file.try_lock() {
        // Somebody may have removed it meanwhile: then another process could make and lock it anew.
        Ok(()) if is_still_there(&file, path) => Ok(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a file that is open still has its name.
pub fn is_still_there(file: &File, path: &Path) -> bool {
    let same = |open: Metadata, named: Metadata| identity(&open) == identity(&named);
    file.metadata().ok().zip(std::fs::metadata(path).ok()).is_some_and(|(open, named)| same(open, named))
}

/// Makes a file that says that something is taken, as git does with `index.lock`: it must not exist. Whoever sees it sees
/// all of its words. One with the same words whose maker has died is taken over. `None`: it is taken.
///
/// # Errors
/// What the disk says.
pub fn claim(path: &Path, words: &[u8]) -> io::Result<Option<File>> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let (temporary, file) = write_temporary(folder, words, Mode::Private, path)?;
    let mut made = std::fs::hard_link(&temporary, path);
    // Not every file system has second names; there a crash in between leaves an empty file.
    if made.as_ref().is_err_and(|error| matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)) {
        discard(&temporary);
        return match OpenOptions::new().create_new(true).write(true).open(path) {
            Ok(mut file) => {
                let _ = file.try_lock();
                // Without its words nobody would know whose it is, and it would stay.
                file.write_all(words).inspect_err(|_| discard(path))?;
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        };
    }
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
        && std::fs::read(path).is_ok_and(|found| found == words)
        && remove_leftover(path)
    {
        made = std::fs::hard_link(&temporary, path);
    }
    discard(&temporary);
    match made {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file that its maker held locked, as a temporary one is while it is written, if nobody holds it any more;
/// whether it was removed.
pub fn remove_leftover(path: &Path) -> bool {
    // A file that was displaced has such a name too, while the folder is locked.
    let folder = path.parent().and_then(|folder| open_folder(folder).ok());
    let is_free = |folder: &File| !matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
    // Open, and so locked, until it is gone.
    folder.is_some_and(|folder| {
        is_free(&folder)
            && File::open(path)
                .is_ok_and(|file| file.try_lock().is_ok() && is_still_there(&file, path) && std::fs::remove_file(path).is_ok())
    })
}

/// Replaces `target`, or creates it, with a symbolic link; `last_look` as in [`replace`].
///
/// # Errors
/// What `last_look` or the disk said; then the target is as it was.
#[cfg(unix)]
pub fn replace_with_link(target: &Path, to: &Path, last_look: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = temporary_name(folder)?;
    std::os::unix::fs::symlink(to, &temporary)?;
    let outcome = last_look().and_then(|()| std::fs::rename(&temporary, target));
    if outcome.is_err() {
        discard(&temporary);
    }
    outcome
}

/// Sets the time at which a file of our own was written.
///
/// # Errors
/// What the disk says.
pub fn set_time(file: &Path, modified: SystemTime) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.set_modified(modified)
}

/// Removes a folder and those above it as far as they are empty, up to but without `top`.
pub fn remove_empty_folders(path: &Path, top: &Path) {
    for folder in path.ancestors().take_while(|folder| *folder != top && folder.starts_with(top)) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Removes a folder in which there are folders and nothing else, so many deep at most. A link to one is none.
pub fn remove_folders_without_files(folder: &Path, depth: usize) {
    if depth == 0 || !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_folders_without_files(&entry.path(), depth - 1);
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// Whether files can be made in a folder: one is, and removed again.
///
/// # Errors
/// What the disk says.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    // An empty file finds room on a disk that is full.
    let (probe, _) = write_temporary(folder, &[0; 4096], Mode::Private, folder)?;
    discard(&probe);
    Ok(())
}

/// Reads a plain file of so many bytes at most; neither a symbolic link is followed nor a named pipe waited for.
///
/// # Errors
/// What the disk says; `FileTooLarge` for a longer one, `InvalidInput` for what is no plain file.
pub fn read_plain(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(file)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    read_all(file, found.len(), max)
}

fn read_all(file: File, size: u64, max: u64) -> io::Result<Vec<u8>> {
    if size > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Writes a new file into a folder of our own, readable by its owner alone. It is not flushed.
///
/// # Errors
/// What the disk says.
pub fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
    with_mode(OpenOptions::new().write(true).create_new(true), 0o600).open(file)?.write_all(bytes)
}

/// Gives a plain file a second name, in a folder of our own.
///
/// # Errors
/// What the disk says, for example that the two folders are on different file systems; `InvalidInput` for what is no plain file.
pub fn link(file: &Path, second: &Path) -> io::Result<()> {
    std::fs::hard_link(file, second)?;
    if second.symlink_metadata()?.is_file() {
        return Ok(());
    }
    discard(second);
    Err(io::ErrorKind::InvalidInput.into())
}

/// Removes a folder that this run of the program made for itself.
///
/// # Errors
/// What the disk says.
pub fn remove_copy(folder: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(folder)
}

/// A name for a temporary file in a folder; nothing has it yet.
fn temporary_name(folder: &Path) -> io::Result<PathBuf> {
    let id = secret::new_id().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(folder.join(format!("{TEMPORARY_PREFIX}{id}{TEMPORARY_SUFFIX}")))
}

/// Makes a temporary file in a folder, and locks it.
fn new_temporary(folder: &Path, first_bits: u32) -> io::Result<(PathBuf, File)> {
    for _ in 0..limits::TEMPORARY_TRIES {
        let path = temporary_name(folder)?;
        let file = with_mode(OpenOptions::new().write(true).create_new(true), first_bits).open(&path)?;
        match file.try_lock() {
            Ok(()) if is_still_there(&file, &path) => return Ok((path, file)),
            // Not every network file system has locks; there a crash's leftover is removed by hand.
            Err(TryLockError::Error(_)) => return Ok((path, file)),
            // Before it was locked, a start of this program took it for left over ([`remove_leftover`]).
            Ok(()) | Err(TryLockError::WouldBlock) => {}
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Writes what is to become `target` into a temporary file.
fn write_temporary(folder: &Path, bytes: &[u8], mode: Mode<'_>, target: &Path) -> io::Result<(PathBuf, File)> {
    // A secret must not be readable for a moment either, so the bits are right from the start.
    let first_bits = match mode {
        Mode::New | Mode::Program(None, _) | Mode::Dated(None, _) => 0o666,
        Mode::Private | Mode::Like(_) | Mode::Program(Some(_), _) | Mode::Dated(Some(_), _) => 0o600,
    };
    let (temporary, file) = new_temporary(folder, first_bits)?;
    match fill(&file, bytes, mode, target) {
        Ok(()) => Ok((temporary, file)),
        Err(error) => {
            discard(&temporary);
            Err(error)
        }
    }
}

fn fill(mut file: &File, bytes: &[u8], mode: Mode<'_>, target: &Path) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Mode::Like(old) | Mode::Program(Some(old), _) | Mode::Dated(Some(old), _) = mode {
        take_after(file, old, target)?;
    }
    if let Mode::Program(_, is_program) = mode {
        set_runnable(file, is_program)?;
    }
    if let Mode::Dated(_, modified) = mode {
        file.set_modified(modified)?;
    }
    file.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn new_folder() -> io::Result<PathBuf> {
        let folder = temporary_name(&std::env::temp_dir())?;
        create_folder(&folder)?;
        Ok(folder)
    }

    #[test]
    fn a_refused_or_failed_replacement_leaves_old_bytes_and_no_litter() {
        let folder = new_folder().unwrap();
        let note = folder.join("note.md");
        replace::<io::Error>(&note, b"old", Mode::New, |_| Ok(())).unwrap();
        set_mode(&note, 0o640).unwrap();
        let old = note.metadata().unwrap();
        let refused = replace::<io::Error>(&note, b"new", Mode::Like(&old), |_| Err(io::ErrorKind::Other.into()));
        assert!(refused.is_err());
        assert_eq!(std::fs::read(&note).unwrap(), b"old");
        assert!(replace::<io::Error>(&folder.join("none/x.md"), b"new", Mode::New, |_| Ok(())).is_err());
        replace::<io::Error>(&note, b"new", Mode::Like(&old), |_| Ok(())).unwrap();
        assert_eq!(std::fs::read(&note).unwrap(), b"new");
        assert_eq!(note.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_a_leftover_nobody_is_writing_is_removed() {
        let folder = new_folder().unwrap();
        assert!(!is_temporary(".vault-sync-mcp-.tmp") && !is_temporary("note.md"));
        let (name, writing) = write_temporary(&folder, b"half", Mode::New, &folder.join("note.md")).unwrap();
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

    #[test]
    fn what_was_saved_before_the_file_was_moved_away_is_kept() {
        let folder = new_folder().unwrap();
        let note = folder.join("note.md");
        std::fs::write(&note, b"old").unwrap();
        let old = note.metadata().unwrap();
        let refused = replace::<io::Error>(&note, b"ours", Mode::Like(&old), |at| {
            if at == note {
                return std::fs::write(&note, b"a person's");
            }
            // Ours has the name now.
            std::fs::rename(&note, folder.join("conflict copy.md"))?;
            Err(io::ErrorKind::ResourceBusy.into())
        });
        assert!(refused.is_err());
        let mut texts: Vec<Vec<u8>> =
            std::fs::read_dir(&folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
        texts.sort();
        assert_eq!(texts, [b"a person's".to_vec(), b"ours".to_vec()]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn writes_succeed_while_a_start_removes_what_was_left_over() {
        let folder = new_folder().unwrap();
        let note = folder.join("note.md");
        replace::<io::Error>(&note, b"0", Mode::New, |_| Ok(())).unwrap();
        let writes = std::sync::Arc::new(());
        let (goes_on, cleaned) = (std::sync::Arc::downgrade(&writes), folder.clone());
        let start = std::thread::spawn(move || {
            while goes_on.upgrade().is_some() {
                let entries = std::fs::read_dir(&cleaned).unwrap().flatten();
                let left = entries.filter(|entry| is_temporary(entry.file_name().to_str().unwrap()));
                left.for_each(|entry| {
                    remove_leftover(&entry.path());
                });
            }
        });
        for n in 1..300 {
            let old = note.metadata().unwrap();
            replace::<io::Error>(&note, n.to_string().as_bytes(), Mode::Like(&old), |_| Ok(())).unwrap();
        }
        drop(writes);
        start.join().unwrap();
        assert_eq!(std::fs::read(&note).unwrap(), b"299");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_another_program_saves_between_the_last_look_and_the_rename_is_put_back() {
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
}
