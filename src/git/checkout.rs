//! Moving the files of the working tree from one commit to another: each atomically, and only over the old commit's content.
//! `git read-tree -u` checks all files first and then writes them, so it overwrites what is saved in between.
//!
//! The bytes come from `git cat-file --filters`, which gives both versions of every file that differs.

use super::Failure;
use super::contents::{Contents, EXECUTABLE, Found, failed};
use super::index::Index;
use super::objects::{Entry, File, raw_differences};
use super::process::Runner;
use super::repository::{Repository, same_but_for_line_ends};
use crate::disk::{self, Folder, Mode};
use crate::limits;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
    pub(super) differences: Vec<File>,
    pub(super) files: Vec<File>,
    contents: Contents,
    /// Bytes that differ from the old commit's, but that git itself does not count as a change.
    unchanged: HashMap<PathBuf, Vec<u8>>,
    /// `core.fileMode`
    modes: bool,
}

impl Checkout {
    /// Prepares to move from the branch's commit to another. A file whose entry in the index is the new one already stays as
    /// it is on disk. Where something else is staged, that is refused; with `keep_staged`, the file stays as it is.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming what is staged, or what only git itself can bring in; [`Failure::Git`].
    pub(super) fn prepare(
        repository: &Repository,
        runner: &Runner<'_>,
        index: &Index,
        differences: &[File],
        keep_staged: bool,
    ) -> Result<Checkout, Failure> {
        if let Some((name, why)) = only_by_pull(differences) {
            return Err(refused(name, &format!("{why}, which only git pull brings in")));
        }
        let runner = &index.on(runner);
        let (files, staged) = without_staged(repository, runner, differences)?;
        if let (false, Some((name, why))) = (keep_staged, staged.first()) {
            return Err(refused(name, why));
        }
        staged.iter().for_each(|(name, why)| log::warn!("git: {} stays as it is: {why}", name.display()));
        let modes = repository.settings.is_true("core.filemode") != Some(false);
        let contents = Contents { scratch: repository.scratch("contents"), ranges: HashMap::new() };
        let (top, differences, unchanged) = (repository.top.clone(), differences.to_vec(), HashMap::new());
        let mut checkout = Checkout { top, differences, files, contents, unchanged, modes };
        checkout.contents.read(runner, &checkout.files)?;
        checkout.find_unchanged(repository, runner)?;
        Ok(checkout)
    }

    /// Finds files that differ from the old commit in line endings only, where git does not count that as a change; and, where
    /// the old version cannot be produced, those that git takes for unchanged.
    fn find_unchanged(&mut self, repository: &Repository, runner: &Runner<'_>) -> Result<(), Failure> {
        for file in &self.files {
            let (Some(old), Some(name)) = (&file.old, file.name.to_str()) else { continue };
            let Found::File(here, _) = self.on_disk(&file.name) else { continue };
            let may_be = match self.contents.content_of(&file.old, &file.name, self.modes) {
                Found::File(old, _) => here != old && same_but_for_line_ends(&here, &old),
                Found::Unknown => true,
                _ => false,
            };
            if may_be && repository.hash(runner, name, &here, false)? == old.blob {
                self.unchanged.insert(file.name.clone(), here);
            }
        }
        Ok(())
    }

    /// Whether every file that differs is what one of the two commits has, and may be written.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the first one that is not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for file in &self.files {
            match self.state(file) {
                State::Changed(why) => return Err(refused(&file.name, &why)),
                State::Old if !self.may_write(file) => return Err(refused(&file.name, "its folder here cannot be written")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves the files. Returns the names of those that stay because they were changed here.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; what is moved stays moved, and this can be repeated.
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

    fn on_disk(&self, name: &Path) -> Found {
        inspect(&self.top, name, self.modes)
    }

    fn state(&self, file: &File) -> State {
        let changed = |words: &str| State::Changed(words.to_owned());
        let here = match self.on_disk(&file.name) {
            Found::BelowFile(above) => return State::Changed(format!("{} is no folder here; move it away", above.display())),
            Found::Folder => return changed("there is a folder of that name here; move it away"),
            Found::Unknown => return changed("what is here of that name cannot be compared"),
            here => here,
        };
        let new = self.contents.content_of(&file.new, &file.name, self.modes);
        if new == Found::Unknown {
            return State::Changed(format!("it is larger than {} bytes there, which only git pull brings", limits::GIT_FILE_BYTES));
        }
        if here == new {
            return State::New;
        }
        let old = self.contents.content_of(&file.old, &file.name, self.modes);
        let is_unchanged = matches!((&here, self.unchanged.get(&file.name)), (Found::File(here, _), Some(unchanged)) if here == unchanged);
        if here == old || is_unchanged {
            return State::Old;
        }
        changed(match (here, old) {
            (Found::Nothing, _) => "it was deleted here; commit that, or bring it back (git restore)",
            (_, Found::Nothing) => "it is here too, not committed; move it away, or commit it",
            _ => "it is changed here and not committed",
        })
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
                disk::remove(&path, last_check)?;
            }
            // Git does not track empty folders.
            if let Some(above) = path.parent() {
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
        match self.contents.content_of(&file.new, &file.name, self.modes) {
            Found::File(bytes, _) => {
                let before = path.symlink_metadata().ok().filter(|found| found.is_file());
                disk::replace(&path, &bytes, Mode::Program(before.as_ref(), new.mode == EXECUTABLE), |_| last_check())
            }
            _ => Err(busy()),
        }
    }
}

/// Names of files, and why they stay as they are.
type Skipped = Vec<(PathBuf, &'static str)>;

/// Splits files that differ into those to be updated, without those whose index entry is the new one already, and those that
/// something staged blocks, each with the reason.
fn without_staged(repository: &Repository, runner: &Runner<'_>, files: &[File]) -> Result<(Vec<File>, Skipped), Failure> {
    let head = repository.head_or_empty(runner)?;
    let staged = raw_differences(
        &runner.must(&["diff-index", "--cached", "--ignore-submodules=none", "-z", "--raw", "--no-abbrev", "--no-renames", &head])?.stdout,
    );
    let staged: HashMap<PathBuf, Option<Entry>> = staged.into_iter().map(|file| (file.name, file.new)).collect();
    let is_staged_already = |file: &&File| staged.get(&file.name).is_some_and(|entry| *entry == file.new);
    let mut moved: Vec<File> = files.iter().filter(|file| !is_staged_already(file)).cloned().collect();
    let known: HashSet<&Path> = files.iter().map(|file| file.name.as_path()).collect();
    // Paths that stay in the index, and may clash with a file's folder, or with a file that becomes a folder.
    let mut staying: Vec<PathBuf> =
        staged.iter().filter(|(name, entry)| entry.is_some() && !known.contains(name.as_path())).map(|(name, _)| name.clone()).collect();
    let mut left = Skipped::new();
    loop {
        let below = |name: &Path, above: &Path| name != above && name.starts_with(above);
        let why = |file: &File| {
            if staged.contains_key(&file.name) {
                Some("something else of that name is staged here (git status says what)")
            } else if file.new.is_some() && staying.iter().any(|other| below(&file.name, other) || below(other, &file.name)) {
                Some("a file is staged where it needs a folder, or a folder of that name is")
            } else {
                None
            }
        };
        let found: Skipped = moved.iter().filter_map(|file| Some((file.name.clone(), why(file)?))).collect();
        if found.is_empty() {
            return Ok((moved, left));
        }
        moved.retain(|file| !found.iter().any(|(name, _)| *name == file.name));
        staying.extend(found.iter().map(|(name, _)| name.clone()));
        left.extend(found);
    }
}

/// The first file that is no plain file that comes, changes or goes, and what it is.
fn only_by_pull(files: &[File]) -> Option<(&Path, &'static str)> {
    let names: HashSet<&Path> = files.iter().map(|file| file.name.as_path()).collect();
    files.iter().find_map(|file| {
        let why = if [&file.old, &file.new].into_iter().flatten().any(|entry| !entry.mode.starts_with("100")) {
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

/// Whether an error concerns the disk or the system, not just this file. The kinds of the latter are listed, because
/// most of the former (EIO, EMFILE) have no name in `std`.
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

fn inspect(top: &Path, name: &Path, modes: bool) -> Found {
    if let Some(above) =
        name.ancestors().skip(1).filter(|above| top.join(above).symlink_metadata().is_ok_and(|found| !found.is_dir())).last()
    {
        return Found::BelowFile(above.to_owned());
    }
    let path = top.join(name);
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
        Err(_) => return Found::Unknown,
    };
    match found.file_type() {
        kind if kind.is_dir() => Found::Folder,
        kind if kind.is_file() && found.len() <= limits::GIT_FILE_BYTES => {
            let is_executable = modes && found.permissions().mode() & 0o100 != 0;
            std::fs::read(&path).map_or(Found::Unknown, |bytes| Found::File(bytes, is_executable))
        }
        _ => Found::Unknown,
    }
}

fn refused(name: &Path, why: &str) -> Failure {
    Failure::Refused(format!("Nothing was done: the remote has changed {}, and {why}", name.display()))
}
