//! Moving the working tree from one commit to another: each file by itself, whole, and over nothing but what the old commit
//! has there. `git read-tree -u` looks at all files first and then writes them; what is saved in between it overwrites.
//!
//! Git still makes what is written, with its filters and sparse patterns: it checks both commits out into a folder of our
//! own, from which the files that differ are compared and copied.

use super::Failure;
use super::process::Runner;
use super::repository::{Repository, Scratch};
use crate::disk::{self, Mode};
use crate::limits;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const GITLINK: &str = "160000";
const EXECUTABLE: &str = "100755";

/// A file that differs between two commits.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Its name from the top of the repository; of any bytes.
    pub(super) name: PathBuf,
    /// Mode and object in the old commit.
    pub(super) old: Option<(String, String)>,
    /// Mode and object in the new one.
    pub(super) new: Option<(String, String)>,
}

impl File {
    /// Its name as far as it is text.
    pub(super) fn shown(&self) -> String {
        self.name.display().to_string()
    }

    fn is_module(&self) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(|(mode, _)| mode == GITLINK)
    }
}

/// The files that differ between two commits or trees; with no `from`, all files of `to`.
pub(super) fn differences(runner: &Runner<'_>, from: Option<&str>, to: &str) -> Result<Vec<File>, Failure> {
    let name = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let words = |about: &[u8]| String::from_utf8_lossy(about).split(' ').map(str::to_owned).collect::<Vec<_>>();
    let Some(from) = from else {
        let output = runner.must(&["ls-tree", "-r", "-z", "--full-tree", to])?;
        // <mode> <type> <object>\t<name>
        let file = |part: &[u8]| {
            let tab = part.iter().position(|&byte| byte == b'\t')?;
            let about = words(part.get(..tab)?);
            Some(File { name: name(part.get(tab + 1..)?), old: None, new: Some((about.first()?.clone(), about.get(2)?.clone())) })
        };
        return Ok(output.raw_parts().filter_map(file).collect());
    };
    let output = runner.must(&["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to])?;
    let mut parts = output.raw_parts();
    let mut files = Vec::new();
    // :<old mode> <new mode> <old object> <new object> <status>, then the name
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let about = words(about.strip_prefix(b":").unwrap_or(about));
        if let [old_mode, new_mode, old, new, _] = about.as_slice() {
            let side = |mode: &String, object: &String| (mode != "000000").then(|| (mode.clone(), object.clone()));
            files.push(File { name: name(path), old: side(old_mode, old), new: side(new_mode, new) });
        }
    }
    Ok(files)
}

/// What is in a place.
#[derive(Debug, PartialEq, Eq)]
enum There {
    Nothing,
    /// Its bytes, and whether it is a program, where git looks at that.
    File(Vec<u8>, bool),
    Link(PathBuf),
    Folder,
    /// Something above it is no folder.
    Behind(PathBuf),
    /// Neither file nor folder nor link, too large, or not to be read.
    Other,
}

/// What a place has to do with the file that is to be moved there.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It is what the old commit has.
    Old,
    /// It is what the new one has.
    New,
    /// It is somebody's; the words say what.
    Theirs(String),
}

/// The way from one commit to another.
#[derive(Debug)]
pub(super) struct Move {
    top: PathBuf,
    /// With a folder `old` and a folder `new` in it.
    scratch: Scratch,
    pub(super) files: Vec<File>,
    going: HashSet<PathBuf>,
    /// `core.fileMode`: whether it means anything here that a file is a program.
    modes: bool,
}

impl Move {
    /// Prepares the way from the branch's commit to another, and moves the index of the runner there. With `tolerant`, the
    /// index keeps what somebody has staged in between; otherwise that is refused.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming what is staged, [`Failure::Git`].
    pub(super) fn prepare(repository: &Repository, runner: &Runner<'_>, to: &str, tolerant: bool) -> Result<Move, Failure> {
        let head = repository.head.as_deref();
        let files = differences(runner, head, to)?;
        let scratch = repository.scratch("tree")?;
        let (old, new) = (scratch.0.join("old"), scratch.0.join("new"));
        for folder in [&scratch.0, &old, &new] {
            disk::create_folder(folder).map_err(wrong)?;
        }
        let elsewhere = |folder: &PathBuf, index: Option<PathBuf>| Runner {
            folder: folder.clone(),
            elsewhere: Some((repository.git_dir.clone(), folder.clone())),
            index,
            ..runner.clone()
        };
        let mut command = vec!["read-tree", "-m", "-u", "--no-recurse-submodules"];
        command.extend(head);
        command.push(to);
        let tried = elsewhere(&new, runner.index.clone()).run(&command)?;
        if !tried.ok {
            if !tolerant {
                let words = tried.words();
                let about = words.trim_start_matches("error: ").trim_start_matches("fatal: ");
                return Err(if about.starts_with("Entry '") {
                    Failure::Refused(format!("Nothing was done: the remote has changes to files that are staged here: {about}"))
                } else {
                    Failure::Git(format!("what the remote has cannot be checked out: {about}"))
                });
            }
            // A half-done try may have left files.
            disk::remove_copy(&new).and_then(|()| disk::create_folder(&new)).map_err(wrong)?;
            check_out(&elsewhere(&new, Some(scratch.0.join("new-index"))), to, files.iter().filter(|file| file.new.is_some()))?;
            set_entries(runner, &files)?;
        }
        if let Some(head) = head {
            let known = files.iter().filter(|file| file.old.is_some() && !file.is_module());
            check_out(&elsewhere(&old, Some(scratch.0.join("old-index"))), head, known)?;
        }
        let going = files.iter().filter(|file| file.new.is_none()).map(|file| file.name.clone()).collect();
        let modes = runner.run(&["config", "--type=bool", "--get", "core.fileMode"])?.line() != "false";
        Ok(Move { top: repository.top.clone(), scratch, files, going, modes })
    }

    /// Has a file become these bytes, instead of what git's filters would make of them.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal.
    pub(super) fn set(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.made(Path::new(name));
        if place.symlink_metadata().is_err() {
            return Ok(());
        }
        disk::replace(&place, bytes, Mode::New, || Ok(())).map_err(wrong)
    }

    /// Whether the working tree can be moved: every file that differs is what one of the two commits has.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the first file that is somebody's.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for file in self.moving() {
            if let State::Theirs(what) = self.state(file) {
                return Err(Failure::Refused(format!("Nothing was done: the remote has changed {}, and {what}", file.shown())));
            }
        }
        Ok(())
    }

    /// Moves the working tree. The names of files that stay because they are somebody's.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal; what is moved stays moved, and the way can be gone again.
    pub(super) fn go(&self) -> Result<Vec<String>, Failure> {
        let mut kept = Vec::new();
        let (mut going, coming): (Vec<&File>, Vec<&File>) = self.moving().partition(|file| file.new.is_none());
        // What lies in a folder goes before it.
        going.sort_by(|a, b| b.name.cmp(&a.name));
        for file in going.into_iter().chain(coming) {
            match self.state(file) {
                State::New => {}
                State::Theirs(_) => kept.push(file.shown()),
                State::Old => match self.put(file) {
                    Ok(()) => {}
                    Err(error) if matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied) => {
                        kept.push(file.shown())
                    }
                    Err(error) => return Err(wrong(error)),
                },
            }
        }
        Ok(kept)
    }

    /// Whether sparse patterns leave a file out that the new commit has.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        self.made(Path::new(name)).symlink_metadata().is_err()
    }

    /// The files that have a place in the working tree: not those that sparse patterns leave out.
    fn moving(&self) -> impl Iterator<Item = &File> {
        let is_here = |file: &&File| file.new.is_none() || file.is_module() || self.made(&file.name).symlink_metadata().is_ok();
        self.files.iter().filter(is_here)
    }

    fn made(&self, name: &Path) -> PathBuf {
        self.scratch.0.join("new").join(name)
    }

    fn state(&self, file: &File) -> State {
        if file.is_module() {
            // Its own repository is nobody's business; a new one has an empty folder, as git makes it.
            let missing =
                file.new.as_ref().is_some_and(|(mode, _)| mode == GITLINK) && look(&self.top, &file.name, self.modes) == There::Nothing;
            return if missing { State::Old } else { State::New };
        }
        let there = match look(&self.top, &file.name, self.modes) {
            // What is in the way goes away itself.
            There::Behind(above) if self.going.contains(&above) => There::Nothing,
            There::Behind(above) => return State::Theirs(format!("{} is no folder here; move it away", above.display())),
            There::Folder if self.is_leaving(&file.name) => There::Nothing,
            There::Folder => {
                return State::Theirs("there is a folder of that name with files that are not committed; move them away".into());
            }
            There::Other => return State::Theirs("what is here of that name cannot be compared".into()),
            there => there,
        };
        let new = file.new.as_ref().map_or(There::Nothing, |_| look(&self.scratch.0.join("new"), &file.name, self.modes));
        if there == new {
            return State::New;
        }
        let old = file.old.as_ref().map_or(There::Nothing, |_| look(&self.scratch.0.join("old"), &file.name, self.modes));
        if there == old || same_but_for_line_ends(&there, &old) {
            return State::Old;
        }
        State::Theirs(match (there, old) {
            (There::Nothing, _) => "it was deleted here; commit that, or bring it back (git restore)".into(),
            (_, There::Nothing) => "it is here too, not committed; move it away, or commit it".into(),
            _ => "it is changed here and not committed".into(),
        })
    }

    /// Whether everything in a folder goes away.
    fn is_leaving(&self, folder: &Path) -> bool {
        let mut open = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(self.top.join(&folder)) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let name = folder.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < limits::DEPTH => open.push((name, depth + 1)),
                    _ if self.going.contains(&name) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    fn put(&self, file: &File) -> io::Result<()> {
        let place = self.top.join(&file.name);
        let last_look = || if self.state(file) == State::Old { Ok(()) } else { Err(io::Error::from(io::ErrorKind::ResourceBusy)) };
        let Some((mode, _)) = &file.new else {
            if place.symlink_metadata().is_ok() {
                disk::remove(&place, last_look)?;
            }
            // A folder without files is none to git.
            disk::remove_empty_folders(&place, &self.top);
            return Ok(());
        };
        for above in file.name.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            disk::create_folder(&self.top.join(above))?;
        }
        if mode == GITLINK {
            return disk::create_folder(&place);
        }
        // All that was in it has gone.
        disk::remove_empty_folders(&place.join("x"), &self.top);
        match look(&self.scratch.0.join("new"), &file.name, self.modes) {
            There::Link(to) => disk::replace_with_link(&place, &to, last_look),
            There::File(bytes, _) => {
                let before = place.symlink_metadata().ok().filter(|found| found.is_file());
                disk::replace(&place, &bytes, before.as_ref().map_or(Mode::New, Mode::Like), last_look)?;
                let executable = mode == EXECUTABLE;
                let was = before.is_some_and(|before| before.permissions().mode() & 0o100 != 0);
                if executable == was { Ok(()) } else { disk::set_executable(&place, executable) }
            }
            _ => Err(io::ErrorKind::ResourceBusy.into()),
        }
    }
}

/// Checks files of a commit out into the runner's folder.
fn check_out<'a>(runner: &Runner<'_>, commit: &str, files: impl Iterator<Item = &'a File>) -> Result<(), Failure> {
    let names: Vec<u8> = files.flat_map(|file| [file.name.as_os_str().as_bytes(), b"\0"].concat()).collect();
    if names.is_empty() {
        return Ok(());
    }
    runner.must(&["read-tree", commit])?;
    runner.must_with(&["checkout-index", "-q", "-f", "-z", "--stdin"], &names).map(drop)
}

/// Moves the entries of an index that are still what the old commit has; those that somebody has staged stay.
fn set_entries(runner: &Runner<'_>, files: &[File]) -> Result<(), Failure> {
    let listed = runner.must(&["ls-files", "-s", "-z"])?;
    let mut known = std::collections::HashMap::<Vec<u8>, (String, String)>::new();
    for part in listed.raw_parts() {
        let Some(tab) = part.iter().position(|&byte| byte == b'\t') else { continue };
        let (about, name) =
            (String::from_utf8_lossy(part.get(..tab).unwrap_or_default()).into_owned(), part.get(tab + 1..).unwrap_or_default());
        if let [mode, object, _] = about.split(' ').collect::<Vec<_>>().as_slice() {
            known.insert(name.to_vec(), ((*mode).to_owned(), (*object).to_owned()));
        }
    }
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| known.get(file.name.as_os_str().as_bytes()) == file.old.as_ref()) {
        let none = ("0".to_owned(), "0".repeat(file.old.as_ref().map_or(40, |(_, object)| object.len())));
        let (mode, object) = file.new.as_ref().unwrap_or(&none);
        lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
        lines.extend_from_slice(file.name.as_os_str().as_bytes());
        lines.push(0);
    }
    runner.must_with(&["update-index", "-z", "--index-info"], &lines).map(drop)
}

fn look(top: &Path, name: &Path, modes: bool) -> There {
    let mut place = top.to_path_buf();
    let mut so_far = PathBuf::new();
    let segments: Vec<&OsStr> = name.iter().collect();
    for (number, segment) in segments.iter().enumerate() {
        place.push(segment);
        so_far.push(segment);
        let found = match place.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return There::Nothing,
            Err(_) => return There::Other,
        };
        if number + 1 < segments.len() {
            if !found.is_dir() {
                return There::Behind(so_far);
            }
            continue;
        }
        return match found.file_type() {
            kind if kind.is_dir() => There::Folder,
            kind if kind.is_symlink() => std::fs::read_link(&place).map_or(There::Other, There::Link),
            kind if kind.is_file() && found.len() <= limits::GIT_FILE_BYTES => {
                let is_program = modes && found.permissions().mode() & 0o100 != 0;
                std::fs::read(&place).map_or(There::Other, |bytes| There::File(bytes, is_program))
            }
            _ => There::Other,
        };
    }
    There::Other
}

fn same_but_for_line_ends(one: &There, other: &There) -> bool {
    let bare = |bytes: &[u8]| bytes.iter().copied().filter(|&byte| byte != b'\r').collect::<Vec<u8>>();
    matches!((one, other), (There::File(one, a), There::File(other, b)) if a == b && !one.contains(&0) && bare(one) == bare(other))
}

fn wrong(error: io::Error) -> Failure {
    Failure::Git(format!("the working tree cannot be moved: {}", error.kind()))
}

/// Whether one of the files says what git makes of others.
pub(super) fn has_attributes(files: &[File]) -> bool {
    files.iter().any(|file| file.name.file_name() == Some(&OsString::from(".gitattributes")))
}
