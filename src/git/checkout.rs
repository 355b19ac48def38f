//! Moving the files of the working tree from one commit to another: each atomically, and only over the old commit's content.
//! `git read-tree -u` checks all files first and then writes them, so it overwrites what is saved in between.
//!
//! The bytes come from `git cat-file --filters`, which gives both versions of every file that differs.

use super::Failure;
use super::contents::{Contents, EXECUTABLE, Found, failed};
use super::index::Index;
use super::objects::{Entry, File, GITLINK, put_entries, raw_differences};
use super::process::Runner;
use super::repository::{Repository, same_but_for_line_ends};
use crate::disk::{self, Folder, Mode};
use crate::limits;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
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
    /// Files outside of the sparse checkout.
    left_out: HashSet<PathBuf>,
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
    /// [`Failure::Refused`] naming what is staged, [`Failure::Git`].
    pub(super) fn prepare(
        repository: &Repository,
        runner: &Runner<'_>,
        index: &Index,
        to: &str,
        differences: &[File],
        keep_staged: bool,
    ) -> Result<Checkout, Failure> {
        let runner = &index.on(runner);
        let (files, staged) = without_staged(repository, runner, differences)?;
        if let (false, Some((name, why))) = (keep_staged, staged.first()) {
            return Err(refused(name, why));
        }
        staged.iter().for_each(|(name, why)| log::warn!("git: {} stays as it is: {why}", name.display()));
        let left_out = match repository.is_sparse() {
            true => left_out(repository, runner, &files)?,
            false => HashSet::new(),
        };
        let modes = repository.settings.is_true("core.filemode") != Some(false);
        let contents = Contents { scratch: repository.scratch("contents"), ranges: HashMap::new() };
        let (top, differences, unchanged) = (repository.top.clone(), differences.to_vec(), HashMap::new());
        let mut checkout = Checkout { top, differences, files, contents, left_out, unchanged, modes };
        let checked_out: Vec<File> = checkout.checked_out().cloned().collect();
        checkout.contents.read(repository, runner, to, &checked_out)?;
        checkout.find_unchanged(repository, runner)?;
        Ok(checkout)
    }

    /// Whether the sparse-checkout patterns exclude a file.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        self.left_out.contains(Path::new(name))
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
        for file in self.checked_out() {
            match self.state(file, true) {
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
        let (mut removed, written): (Vec<&File>, Vec<&File>) = self.checked_out().partition(|file| file.new.is_none());
        // The contents of a folder are removed before the folder.
        removed.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        for file in removed.into_iter().chain(written) {
            let keep = match self.state(file, false) {
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

    /// The files that are in the working tree, or are to be.
    fn checked_out(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| !self.left_out.contains(&file.name) || self.top.join(&file.name).symlink_metadata().is_ok())
    }

    fn on_disk(&self, name: &Path) -> Found {
        inspect(&self.top, name, self.modes)
    }

    /// The state of a file. With `ahead`, before anything is moved: a file that will be removed does not block another.
    fn state(&self, file: &File, ahead: bool) -> State {
        let changed = |words: &str| State::Changed(words.to_owned());
        if file.is_submodule() {
            if !file.sides().all(|entry| entry.mode == GITLINK) {
                return changed("it is a submodule on one side and a file on the other, which only git pull can do");
            }
            // A submodule's repository is left to `git submodule update`; a new submodule is an empty folder.
            return if file.new.is_some() && self.on_disk(&file.name) == Found::Nothing { State::Old } else { State::New };
        }
        let here = match self.on_disk(&file.name) {
            Found::BelowFile(above) if ahead && self.will_be_removed(&above) => Found::Nothing,
            Found::BelowFile(above) => return State::Changed(format!("{} is no folder here; move it away", above.display())),
            Found::Folder if self.will_be_empty(&file.name, ahead) => Found::Nothing,
            Found::Folder => return changed("there is a folder of that name with files that are not committed; move them away"),
            Found::Unknown => return changed("what is here of that name cannot be compared"),
            here => here,
        };
        if self.left_out.contains(&file.name) {
            return changed("it is here although the sparse checkout leaves it out");
        }
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

    fn will_be_removed(&self, name: &Path) -> bool {
        let removed = self.files.iter().find(|file| file.name == name && file.new.is_none());
        removed.is_some_and(|file| self.state(file, true) == State::Old)
    }

    /// Whether a folder has no files; with `ahead`, apart from those that will be removed.
    fn will_be_empty(&self, folder: &Path, ahead: bool) -> bool {
        let mut open = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(self.top.join(&folder)) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let name = folder.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < limits::DEPTH => open.push((name, depth + 1)),
                    _ if ahead && self.will_be_removed(&name) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
        let path = self.top.join(&file.name);
        let last_check = || match disk::with_change_check(&path, || self.state(file, false)) {
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
        if new.mode == GITLINK {
            return disk::create_folder(&path);
        }
        if self.on_disk(&file.name) == Found::Folder && self.will_be_empty(&file.name, false) {
            disk::remove_folders_without_files(&path, limits::DEPTH);
        }
        match self.contents.content_of(&file.new, &file.name, self.modes) {
            Found::Link(to) => disk::replace_with_link(&path, &to, last_check),
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
/// something staged, or a submodule, blocks, each with the reason.
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
    let submodules = files.iter().filter(|file| file.old.as_ref().is_some_and(|old| old.mode == GITLINK));
    let submodules: Vec<&Path> =
        submodules.map(|file| file.name.as_path()).filter(|name| repository.top.join(name).join(".git").exists()).collect();
    let mut left = Skipped::new();
    loop {
        let below = |name: &Path, above: &Path| name != above && name.starts_with(above);
        let why = |file: &File| {
            if staged.contains_key(&file.name) {
                Some("something else of that name is staged here (git status says what)")
            } else if file.new.is_some() && staying.iter().any(|other| below(&file.name, other) || below(other, &file.name)) {
                Some("a file is staged where it needs a folder, or a folder of that name is")
            } else if submodules.iter().any(|submodule| below(&file.name, submodule)) {
                Some("a submodule is checked out where it belongs")
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

/// The files that the sparse-checkout patterns exclude. Changes the runner's index: it gets the new entries first.
fn left_out(repository: &Repository, runner: &Runner<'_>, files: &[File]) -> Result<HashSet<PathBuf>, Failure> {
    put_entries(runner, files, &["--add", "--replace"], &[])?;
    repository.apply_sparse_patterns(runner)?;
    let output = runner.must(&["ls-files", "-t", "-z"])?;
    // <tag> SP <name>
    Ok(output.raw_parts().filter_map(|part| part.strip_prefix(b"S ")).map(|name| OsStr::from_bytes(name).into()).collect())
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
        kind if kind.is_symlink() => std::fs::read_link(&path).map_or(Found::Unknown, Found::Link),
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
