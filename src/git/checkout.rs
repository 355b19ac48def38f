//! Moving the files of the working tree from one commit to another: each atomically, and only over
//! the old commit's content. `git read-tree -u` checks all files first and then writes them, so it
//! overwrites what is saved in between.
//!
//! Both versions of every file that differs are checked out by git, with its filters, into folders
//! of their own.

use super::Failure;
use super::objects::{Entry, File, Files, Staged, add_entries, clashes};
use super::process::Runner;
use super::repository::{Repository, same_but_for_line_ends};
use crate::disk::{self, Folder, Mode};
use crate::limits;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const EXECUTABLE: &str = "100755";

/// The bytes of a file, and whether it is executable, where `core.fileMode` is on; `None`: there is
/// no file.
type Content = Option<(Vec<u8>, bool)>;

/// A version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

impl Side {
    fn entry(self, file: &File) -> Option<&Entry> {
        if self == Side::Old { file.old.as_ref() } else { file.new.as_ref() }
    }

    /// The name of its folder below [`Checkout::versions`].
    fn folder(self) -> &'static str {
        if self == Side::Old { "old" } else { "new" }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It is what the old commit has.
    Old,
    /// It is what the new one has.
    New,
    /// It is neither, and stays; the text says why.
    Changed(String),
}

/// The files that have to be written or removed to get from one commit to another.
#[derive(Debug)]
pub(super) struct Checkout {
    top: PathBuf,
    /// All that differ; of these, `files` are moved, on disk and in the index.
    differences: Vec<File>,
    pub(super) files: Vec<File>,
    /// A folder with a folder for each [`Side`].
    versions: PathBuf,
    /// Content on disk that may be replaced although it is not what the old commit has.
    accepted: HashMap<PathBuf, Content>,
    /// `core.fileMode`
    modes: bool,
}

impl Checkout {
    /// Prepares to move from the branch's commit to another; see [`Checkout::select`].
    ///
    /// # Errors
    /// [`Failure::Refused`] naming what is staged, or what only git itself can bring in;
    /// [`Failure::Git`].
    pub(super) fn prepare(
        repository: &Repository,
        runner: &Runner<'_>,
        differences: Vec<File>,
        recovers: bool,
    ) -> Result<Checkout, Failure> {
        if let Some((name, why)) = only_by_pull(&differences) {
            return Err(refused(name, &format!("{why}, which only git pull brings in")));
        }
        let (versions, index) = (repository.scratch(), repository.scratch());
        // A copy of the index, for its .gitattributes, in which the old versions are at stage 2 and
        // the new ones at stage 3.
        let bytes = disk::none_if_missing(std::fs::read(repository.folders.git_dir.join("index")))
            .map_err(failed)?;
        bytes.map_or(Ok(()), |bytes| disk::write_new(&index, &bytes)).map_err(failed)?;
        let runner = &Runner { index: Some(index), ..runner.clone() };
        let sides = [(Side::Old, 2), (Side::New, 3)];
        let entries_of = |(side, stage): (Side, _)| {
            differences.iter().filter_map(move |file| Some((&file.name, side.entry(file)?, stage)))
        };
        add_entries(runner, sides.into_iter().flat_map(entries_of))?;
        for (side, stage) in sides {
            let prefix = format!("--prefix={}/", versions.join(side.folder()).display());
            let made =
                runner.run(&["checkout-index", "-a", &format!("--stage={stage}"), &prefix])?;
            // A filter may not be able to produce an old version any more.
            if !made.ok && side == Side::New {
                return Err(Failure::Git(format!(
                    "what the remote has cannot be checked out: {}",
                    made.words()
                )));
            }
        }
        let modes = repository.settings.is_true("core.filemode") != Some(false);
        let (top, files, accepted) = (repository.folders.top.clone(), Vec::new(), HashMap::new());
        let mut checkout = Checkout { top, differences, files, versions, accepted, modes };
        checkout.select(&repository.staged, recovers)?;
        checkout.accept_converted(repository, runner)?;
        Ok(checkout)
    }

    /// Selects the files to be moved: not those whose entry in the index is the new one already,
    /// which stay as they are on disk. Where something else is staged, that is refused; in a
    /// recovery, the file stays as it is.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming what is staged.
    pub(super) fn select(&mut self, staged: &Files<Staged>, recovers: bool) -> Result<(), Failure> {
        self.files.clear();
        for file in &self.differences {
            // `None`: not in the index; `Some(None)`: in conflict.
            let in_index = staged.get(&file.name).map(|staged| staged.entry.as_ref());
            let why = if in_index == file.new.as_ref().map(Some) {
                continue;
            } else if in_index != file.old.as_ref().map(Some) {
                "something else of that name is staged here (git status says what)"
            } else if file.new.is_some() && clashes(staged, &file.name) {
                "a file is staged where it needs a folder, or a folder of its name is staged"
            } else {
                self.files.push(file.clone());
                continue;
            };
            if !recovers {
                return Err(refused(&file.name, why));
            }
            log::warn!("git: {} stays as it is: {why}", file.name.display());
        }
        Ok(())
    }

    /// Accepts files that differ from the old commit in line endings only, where git does not count
    /// that as a change; and, where the old version cannot be produced, those that git takes for
    /// unchanged.
    fn accept_converted(
        &mut self,
        repository: &Repository,
        runner: &Runner<'_>,
    ) -> Result<(), Failure> {
        for file in &self.files {
            let (Some(old), Some(name), Ok(here)) =
                (&file.old, file.name.to_str(), self.on_disk(&file.name))
            else {
                continue;
            };
            let Some((bytes, _)) = &here else { continue };
            let may_be = match self.version(Side::Old, file) {
                Ok(Some((old, _))) => *bytes != old && same_but_for_line_ends(bytes, &old),
                Ok(None) => false,
                Err(_) => true,
            };
            if may_be && repository.hash(runner, name, bytes, false)? == old.blob {
                self.accepted.insert(file.name.clone(), here);
            }
        }
        Ok(())
    }

    /// Accepts bytes on disk that a tool has written and that are kept elsewhere; the executable
    /// bit has to be that of the branch.
    pub(super) fn accept(&mut self, file: &File, bytes: Option<Vec<u8>>) {
        let is_executable =
            self.modes && file.old.as_ref().is_some_and(|old| old.mode == EXECUTABLE);
        self.accepted.insert(file.name.clone(), bytes.map(|bytes| (bytes, is_executable)));
    }

    /// Whether every file that differs is what one of the two commits has, and may be written.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the first one that is not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for file in &self.files {
            match self.state(file) {
                State::Changed(why) => return Err(refused(&file.name, &why)),
                State::Old if !self.may_write(file) => {
                    return Err(refused(&file.name, "its folder here cannot be written"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves the files. Returns the names of those that stay because they were changed here.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; what is moved stays moved, and this can be
    /// repeated.
    pub(super) fn apply(&self) -> Result<Vec<String>, Failure> {
        let mut kept = Vec::new();
        for file in &self.files {
            let keep = match self.state(file) {
                State::New => false,
                State::Changed(_) => true,
                State::Old => match self.write(file) {
                    Err(error) if is_disk_failure(&error) => return Err(failed(error)),
                    // A file that cannot be moved does not stop the others.
                    outcome => outcome.is_err(),
                },
            };
            if keep {
                kept.push(file.name.display().to_string());
            }
        }
        Ok(kept)
    }

    fn may_write(&self, file: &File) -> bool {
        let path = self.top.join(&file.name);
        path.ancestors().skip(1).find(|folder| folder.is_dir()).is_some_and(disk::may_write_in)
    }

    fn on_disk(&self, name: &Path) -> Result<Content, String> {
        inspect(&self.top, name, self.modes)
    }

    fn version(&self, side: Side, file: &File) -> Result<Content, String> {
        match inspect(&self.versions.join(side.folder()), &file.name, self.modes)? {
            None if side.entry(file).is_some() => Err("cannot be produced".into()),
            content => Ok(content),
        }
    }

    /// The bytes of a file on the branch as git checks it out; `None` if the branch does not have
    /// it.
    ///
    /// # Errors
    /// [`Failure::Refused`] when they cannot be produced.
    pub(super) fn old_bytes(&self, file: &File) -> Result<Option<Vec<u8>>, Failure> {
        let old = self
            .version(Side::Old, file)
            .map_err(|why| refused(&file.name, &format!("its version on the branch {why}")))?;
        Ok(old.map(|(bytes, _)| bytes))
    }

    fn state(&self, file: &File) -> State {
        let here = match self.on_disk(&file.name) {
            Ok(here) => here,
            Err(why) => return State::Changed(why),
        };
        let Ok(new) = self.version(Side::New, file) else {
            return State::Changed(format!(
                "it is larger than {} bytes there, which only git pull brings",
                limits::GIT_FILE_BYTES
            ));
        };
        if here == new {
            return State::New;
        }
        let old = self.version(Side::Old, file);
        if old.as_ref() == Ok(&here) || self.accepted.get(&file.name) == Some(&here) {
            return State::Old;
        }
        let why = match (here, old) {
            (None, _) => "it was deleted here; commit that, or bring it back (git restore)",
            (_, Ok(None)) => "it is here too, not committed; move it away, or commit it",
            _ => "it is changed here and not committed",
        };
        State::Changed(why.to_owned())
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
        let path = self.top.join(&file.name);
        let last_check = || match disk::with_change_check(&path, || self.state(file)) {
            (State::Old, true) => Ok(()),
            _ => Err(busy()),
        };
        let Some(new) = &file.new else {
            if path.symlink_metadata().is_ok() {
                last_check()?;
                disk::remove(&path)?;
            }
            if let Some(above) = path.parent() {
                disk::flush_names([above]);
                // Git does not track empty folders.
                disk::remove_empty_folders(above, &self.top);
            }
            return Ok(());
        };
        for above in file.name.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let above = self.top.join(above);
            disk::create_folder(&above)?;
            // A link to a folder leads elsewhere.
            if !above.symlink_metadata()?.is_dir() {
                return Err(busy());
            }
        }
        // From here on through the folder's handle: a link may take its name meanwhile.
        let folder = Folder::open(&self.top, file.name.parent().unwrap_or(Path::new("")))?;
        let path = folder.path().join(file.name.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        let Ok(Some((bytes, _))) = self.version(Side::New, file) else { return Err(busy()) };
        let before = path.symlink_metadata().ok().filter(|found| found.is_file());
        disk::replace(&path, &bytes, Mode::Program(before.as_ref(), new.mode == EXECUTABLE), |_| {
            last_check()
        })
    }
}

/// The first file that only `git pull` can bring in (a link, a submodule, `.gitattributes`, a file
/// that becomes a folder), and why.
fn only_by_pull(files: &[File]) -> Option<(&Path, &'static str)> {
    let names: HashSet<&Path> = files.iter().map(|file| file.name.as_path()).collect();
    files.iter().find_map(|file| {
        let why = if [&file.old, &file.new]
            .into_iter()
            .flatten()
            .any(|entry| !entry.mode.starts_with("100"))
        {
            "it is a link or a submodule"
        } else if file.name.file_name() == Some(OsStr::new(".gitattributes")) {
            "it says how git converts other files"
        } else if file.name.ancestors().skip(1).any(|above| names.contains(above)) {
            "a file becomes a folder, or a folder a file"
        } else {
            return None;
        };
        Some((file.name.as_path(), why))
    })
}

/// Whether an error concerns the disk or the system, not just this file. The kinds of the latter
/// are listed, because most of the former (EIO, EMFILE) have no name in `std`.
fn is_disk_failure(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    !matches!(
        error.kind(),
        Kind::NotFound
            | Kind::AlreadyExists
            | Kind::PermissionDenied
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::DirectoryNotEmpty
            | Kind::ResourceBusy
            | Kind::InvalidFilename
    )
}

/// What is at a path below a folder; else why it cannot be compared.
fn inspect(folder: &Path, name: &Path, modes: bool) -> Result<Content, String> {
    let is_no_folder =
        |above: &&Path| folder.join(above).symlink_metadata().is_ok_and(|found| !found.is_dir());
    if let Some(above) = name.ancestors().skip(1).filter(is_no_folder).last() {
        return Err(format!("{} is no folder here; move it away", above.display()));
    }
    let path = folder.join(name);
    let unknown = "what is here of that name cannot be compared";
    match disk::none_if_missing(path.symlink_metadata()).map_err(|_| unknown)? {
        None => Ok(None),
        Some(found) if found.is_dir() => {
            Err("there is a folder of that name here; move it away".into())
        }
        Some(found) if found.is_file() && found.len() <= limits::GIT_FILE_BYTES => {
            let is_executable = modes && found.permissions().mode() & 0o100 != 0;
            std::fs::read(&path)
                .map(|bytes| Some((bytes, is_executable)))
                .map_err(|_| unknown.into())
        }
        Some(_) => Err(unknown.into()),
    }
}

fn refused(name: &Path, why: &str) -> Failure {
    Failure::Refused(format!("the remote has changed {}, and {why}", name.display()))
}

fn failed(error: io::Error) -> Failure {
    Failure::Git(format!("the working tree cannot be moved: {}", error.kind()))
}
