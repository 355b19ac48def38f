//! Moving the working tree from one commit to another: each file by itself, whole, and over nothing but what the old commit
//! has there. `git read-tree -u` looks at all files first and then writes them; what is saved in between it overwrites.
//!
//! Git still makes what is written, with its filters and sparse patterns: it checks both commits out into a folder of our
//! own, from which the files that differ are compared and copied.

use super::Failure;
use super::process::{Output, Runner};
use super::repository::{Repository, Scratch, same_but_for_line_ends};
use crate::disk::{self, Folder, Mode};
use crate::limits;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Bound;
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
    files: Vec<File>,
    /// Files that stay as they are, in the index and on disk, and why.
    left: HashMap<PathBuf, String>,
    /// Files whose entry in the index is what it is to become already: on disk they are what somebody made of them.
    settled: HashSet<PathBuf>,
    /// Bytes that are to be replaced although the old commit has others: those that the caller has read, and those that
    /// differ in line ends alone where git does not mind them.
    agreed: HashMap<PathBuf, Vec<u8>>,
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
        // Before the first commit every file of the other one is new; and what is staged then is somebody's.
        let nothing;
        let from = match &repository.head {
            Some(head) => head,
            None => {
                nothing = runner.must_with(&["hash-object", "-w", "-t", "tree", "--stdin"], &[])?.line();
                &nothing
            }
        };
        let files = differences(runner, Some(from), to)?;
        let (left, settled) = staged(repository, runner, &files)?;
        if let (false, Some(file)) = (tolerant, files.iter().find(|file| left.contains_key(&file.name))) {
            let why = left.get(&file.name).map(String::as_str).unwrap_or_default();
            return Err(Failure::Refused(format!("Nothing was done: the remote has changed {}, and {why}", file.shown())));
        }
        let scratch = repository.scratch("tree")?;
        let (old, new) = (scratch.0.join("old"), scratch.0.join("new"));
        for folder in [&scratch.0, &old, &new] {
            disk::create_folder(folder).map_err(wrong)?;
        }
        let filters = repository.settings.near_filters(repository);
        let elsewhere = |folder: &PathBuf, index: Option<PathBuf>| Runner {
            folder: folder.clone(),
            place: Some((repository.git_dir.clone(), folder.clone())),
            settings: filters
                .iter()
                .flat_map(|name| ["smudge=", "process=", "required=false"].map(|end| format!("filter.{name}.{end}")))
                .collect(),
            index,
            ..runner.clone()
        };
        let staying = |file: &&File| !left.contains_key(&file.name);
        if left.is_empty() {
            let dated = runner.index.as_ref().and_then(|index| index.metadata().and_then(|found| found.modified()).ok());
            let moved = elsewhere(&new, runner.index.clone()).run(&["read-tree", "-m", "-u", "--no-recurse-submodules", from, to])?;
            if !moved.ok {
                return Err(not_made(moved));
            }
            // It was written with another folder in view: what git would have looked into by its time is still to be.
            if let (Some(index), Some(dated)) = (&runner.index, dated) {
                disk::set_time(index, dated).map_err(wrong)?;
            }
        } else {
            let coming = files.iter().filter(staying).filter(|file| file.new.is_some() && !file.is_module());
            check_out(&elsewhere(&new, Some(scratch.0.join("new-index"))), to, coming)?;
            set_entries(runner, files.iter().filter(staying))?;
        }
        // `read-tree` leaves alone what the index has already.
        let there = files.iter().filter(|file| settled.contains(&file.name) && file.new.is_some() && !file.is_module());
        check_out(&elsewhere(&new, Some(scratch.0.join("settled-index"))), to, there)?;
        let known = files.iter().filter(staying).filter(|file| file.old.is_some() && !file.is_module());
        // A filter may not be able to make an old version any more; then git is asked whether the file is that.
        match check_out(&elsewhere(&old, Some(scratch.0.join("old-index"))), from, known) {
            Ok(()) | Err(Failure::Git(_)) => {}
            Err(other) => return Err(other),
        }
        let modes = repository.settings.is_true("core.filemode") != Some(false);
        let mut way = Move { top: repository.top.clone(), scratch, files, left, settled, agreed: HashMap::new(), modes };
        if !filters.is_empty() {
            way.filter(runner)?;
        }
        way.agree_on_line_ends(runner)?;
        Ok(way)
    }

    /// Filters that are programs in the working tree run where they always do, at its top.
    fn filter(&self, runner: &Runner<'_>) -> Result<(), Failure> {
        let names = listed(self.files.iter());
        let answers = runner.must_with(&["check-attr", "-z", "--stdin", "filter"], &names)?;
        let answers: Vec<&[u8]> = answers.raw_parts().collect();
        let filtered: HashSet<&[u8]> = answers
            .chunks_exact(3)
            .filter(|answer| answer.get(2).is_some_and(|value| !matches!(*value, b"unspecified" | b"unset")))
            .filter_map(|answer| answer.first().copied())
            .collect();
        for file in self.files.iter().filter(|file| filtered.contains(file.name.as_os_str().as_bytes())) {
            for (folder, side) in [("old", &file.old), ("new", &file.new)] {
                let place = self.scratch.0.join(folder).join(&file.name);
                let (Some((_, object)), Some(name), true) = (side, file.name.to_str(), place.is_file()) else { continue };
                let made = runner.run(&["cat-file", "--filters", &format!("--path={name}"), object])?;
                if !made.ok {
                    return Err(not_made(made));
                }
                let mode = place.metadata().map_err(wrong)?;
                disk::replace(&place, &made.stdout, Mode::Like(&mode), |_| Ok(())).map_err(wrong)?;
            }
        }
        let made = self.files.iter().filter(|file| filtered.contains(file.name.as_os_str().as_bytes()));
        set_entries(runner, made.filter(|file| self.made(&file.name).is_file()))
    }

    /// Line ends that git itself would not count as a change are none; and where the old version cannot be made, git's word
    /// has to do.
    fn agree_on_line_ends(&mut self, runner: &Runner<'_>) -> Result<(), Failure> {
        for file in &self.files {
            let (Some((_, object)), Some(name)) = (&file.old, file.name.to_str()) else { continue };
            let There::File(here, _) = look(&self.top, &file.name, false) else { continue };
            let may_be = match look(&self.scratch.0.join("old"), &file.name, false) {
                There::File(old, _) => here != old && same_but_for_line_ends(&here, &old),
                There::Nothing => true,
                _ => false,
            };
            if may_be && runner.must_with(&["hash-object", "--stdin", &format!("--path={name}")], &here)?.line() == *object {
                self.agreed.insert(file.name.clone(), here);
            }
        }
        Ok(())
    }

    /// These bytes of a file may be replaced although they were never committed: the caller has read them.
    pub(super) fn agree(&mut self, name: &str, bytes: &[u8]) {
        self.agreed.insert(PathBuf::from(name), bytes.to_vec());
    }

    /// Has a file become these bytes, instead of what git's filters would make of them.
    ///
    /// # Errors
    /// [`Failure::Git`] for the disk's refusal.
    pub(super) fn set(&self, runner: &Runner<'_>, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.made(Path::new(name));
        if place.symlink_metadata().is_err() {
            return Ok(());
        }
        let mode = place.metadata().map_err(wrong)?;
        disk::replace(&place, bytes, Mode::Like(&mode), |_| Ok(())).map_err(wrong)?;
        // What git noted down of the file it made is not so any more.
        set_entries(runner, self.files.iter().filter(|file| file.name == Path::new(name)))
    }

    /// Whether the working tree can be moved: every file that differs is what one of the two commits has.
    ///
    /// # Errors
    /// [`Failure::Refused`] naming the first file that is somebody's.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for file in self.moving() {
            let what = match self.state(file, true) {
                State::Theirs(what) => what,
                State::Old if !self.may_write(file) => "its folder here cannot be written".to_owned(),
                _ => continue,
            };
            return Err(Failure::Refused(format!("Nothing was done: the remote has changed {}, and {what}", file.shown())));
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
        going.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        for file in going.into_iter().chain(coming) {
            match self.state(file, false) {
                State::New => {}
                State::Theirs(_) => kept.push(file.shown()),
                State::Old => match self.put(file) {
                    Ok(()) => {}
                    // The disk has to be mended first; then all of it is done.
                    Err(error) if is_the_disks(&error) => return Err(wrong(error)),
                    // One file that cannot be moved keeps no other.
                    Err(_) => kept.push(file.shown()),
                },
            }
        }
        Ok(kept)
    }

    fn may_write(&self, file: &File) -> bool {
        let above = self.top.join(&file.name);
        let folder = above.ancestors().skip(1).find(|folder| folder.is_dir());
        folder.is_some_and(disk::may_write_in)
    }

    /// Whether sparse patterns leave a file out that the new commit has.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        self.made(Path::new(name)).symlink_metadata().is_err()
    }

    /// The files that have a place in the working tree: not those that sparse patterns leave out.
    fn moving(&self) -> impl Iterator<Item = &File> {
        let is_there = |place: PathBuf| place.symlink_metadata().is_ok();
        let is_here = move |file: &&File| {
            file.new.is_none() || file.is_module() || is_there(self.made(&file.name)) || is_there(self.top.join(&file.name))
        };
        self.files.iter().filter(is_here)
    }

    fn made(&self, name: &Path) -> PathBuf {
        self.scratch.0.join("new").join(name)
    }

    /// With `ahead`, what is in the way of a file counts as gone if it will be: before anything has moved.
    fn state(&self, file: &File, ahead: bool) -> State {
        if let Some(why) = self.left.get(&file.name) {
            return State::Theirs(why.clone());
        }
        if file.is_module() {
            let mut sides = [&file.old, &file.new].into_iter().flatten();
            if !sides.all(|(mode, _)| mode == GITLINK) {
                return State::Theirs("it is a submodule on one side and a file on the other, which only git pull can do".into());
            }
            // Its own repository is nobody's business; a new one has an empty folder, as git makes it.
            let missing =
                file.new.as_ref().is_some_and(|(mode, _)| mode == GITLINK) && look(&self.top, &file.name, self.modes) == There::Nothing;
            return if missing { State::Old } else { State::New };
        }
        let there = match look(&self.top, &file.name, self.modes) {
            // What is in the way goes away itself.
            There::Behind(above) if ahead && self.will_go(&above) => There::Nothing,
            There::Behind(above) => return State::Theirs(format!("{} is no folder here; move it away", above.display())),
            There::Folder if self.is_leaving(&file.name, ahead) => There::Nothing,
            There::Folder => {
                return State::Theirs("there is a folder of that name with files that are not committed; move them away".into());
            }
            There::Other => return State::Theirs("what is here of that name cannot be compared".into()),
            there => there,
        };
        let new = file.new.as_ref().map_or(There::Nothing, |_| look(&self.scratch.0.join("new"), &file.name, self.modes));
        if new == There::Other {
            return State::Theirs(format!("it is larger than {} bytes there, which only git pull brings", limits::GIT_FILE_BYTES));
        }
        if there == new {
            return State::New;
        }
        if file.new.is_some() && new == There::Nothing {
            return State::Theirs("it is here although the sparse checkout leaves it out".into());
        }
        if self.settled.contains(&file.name) {
            return State::Theirs("it is no longer in the index, so it is somebody's own file here".into());
        }
        let old = file.old.as_ref().map_or(There::Nothing, |_| look(&self.scratch.0.join("old"), &file.name, self.modes));
        let is_agreed = matches!((&there, self.agreed.get(&file.name)), (There::File(here, _), Some(agreed)) if here == agreed);
        if there == old || is_agreed {
            return State::Old;
        }
        State::Theirs(match (there, old) {
            (There::Nothing, _) => "it was deleted here; commit that, or bring it back (git restore)".into(),
            (_, There::Nothing) => "it is here too, not committed; move it away, or commit it".into(),
            _ => "it is changed here and not committed".into(),
        })
    }

    /// Whether a file goes away, and is what it was.
    fn will_go(&self, name: &Path) -> bool {
        self.files.iter().find(|file| file.name == name && file.new.is_none()).is_some_and(|file| self.state(file, true) == State::Old)
    }

    /// Whether everything in a folder goes away; or has gone, and left nothing but folders.
    fn is_leaving(&self, folder: &Path, ahead: bool) -> bool {
        let mut open = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(self.top.join(&folder)) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let name = folder.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < limits::DEPTH => open.push((name, depth + 1)),
                    _ if ahead && self.will_go(&name) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    fn put(&self, file: &File) -> io::Result<()> {
        let place = self.top.join(&file.name);
        let last_look = || match disk::while_it_stays(&place, || self.state(file, false)) {
            (State::Old, true) => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::ResourceBusy)),
        };
        let Some((mode, _)) = &file.new else {
            if place.symlink_metadata().is_ok() {
                disk::remove(&place, last_look)?;
            }
            // A folder without files is none to git.
            if let Some(above) = place.parent() {
                disk::remove_empty_folders(above, &self.top);
            }
            return Ok(());
        };
        for above in file.name.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let above = self.top.join(above);
            disk::create_folder(&above)?;
            // A link to a folder leads to somebody else's.
            if !above.symlink_metadata()?.is_dir() {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
        }
        // From here on through the folder itself: its name may be given to a link meanwhile.
        let folder = Folder::open(&self.top, file.name.parent().unwrap_or(Path::new("")))?;
        let place = folder.path().join(file.name.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        if mode == GITLINK {
            return disk::create_folder(&place);
        }
        // All that was in it has gone.
        if look(&self.top, &file.name, false) == There::Folder && self.is_leaving(&file.name, false) {
            disk::remove_folders_without_files(&place, limits::DEPTH);
        }
        match look(&self.scratch.0.join("new"), &file.name, self.modes) {
            There::Link(to) => disk::replace_with_link(&place, &to, last_look),
            There::File(bytes, _) => {
                let before = place.symlink_metadata().ok().filter(|found| found.is_file());
                disk::replace(&place, &bytes, Mode::Program(before.as_ref(), mode == EXECUTABLE), |_| last_look())
            }
            _ => Err(io::ErrorKind::ResourceBusy.into()),
        }
    }
}

/// Names of files as git reads them with `-z --stdin`.
fn listed<'a>(files: impl Iterator<Item = &'a File>) -> Vec<u8> {
    files.flat_map(|file| [file.name.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

/// Checks files of a commit out into the runner's folder.
fn check_out<'a>(runner: &Runner<'_>, commit: &str, files: impl Iterator<Item = &'a File>) -> Result<(), Failure> {
    let names = listed(files);
    if names.is_empty() {
        return Ok(());
    }
    runner.must(&["read-tree", commit])?;
    runner.must_with(&["checkout-index", "-q", "-f", "-z", "--stdin"], &names).map(drop)
}

/// Moves entries of an index.
fn set_entries<'a>(runner: &Runner<'_>, files: impl Iterator<Item = &'a File>) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for file in files {
        let none = ("0".to_owned(), "0".repeat(file.old.as_ref().map_or(40, |(_, object)| object.len())));
        let (mode, object) = file.new.as_ref().unwrap_or(&none);
        lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
        lines.extend_from_slice(file.name.as_os_str().as_bytes());
        lines.push(0);
    }
    runner.must_with(&["update-index", "-z", "--index-info"], &lines).map(drop)
}

/// The files that are not to be moved because of what somebody has in the index, or beside it: something staged, removed or
/// half-merged; a file where a folder is to be, or the other way round; a file that sparse patterns leave out and that is
/// here all the same; a repository of its own. And those whose entry is what it is to become already.
fn staged(repository: &Repository, runner: &Runner<'_>, files: &[File]) -> Result<(HashMap<PathBuf, String>, HashSet<PathBuf>), Failure> {
    let index = runner.must(&["ls-files", "-s", "-v", "-z"])?;
    let mut entries: BTreeMap<PathBuf, Vec<[String; 4]>> = BTreeMap::new();
    for part in index.raw_parts() {
        let Some(tab) = part.iter().position(|&byte| byte == b'\t') else { continue };
        let (about, name) = (part.get(..tab).unwrap_or_default(), part.get(tab + 1..).unwrap_or_default());
        let words: Vec<String> = String::from_utf8_lossy(about).split(' ').map(str::to_owned).collect();
        // <tag> <mode> <object> <stage>
        if let Ok(words) = <[String; 4]>::try_from(words) {
            entries.entry(PathBuf::from(OsStr::from_bytes(name))).or_default().push(words);
        }
    }
    let in_old: HashSet<&Path> = files.iter().filter(|file| file.old.is_some()).map(|file| file.name.as_path()).collect();
    let modules: Vec<&Path> =
        files.iter().filter(|file| file.old.as_ref().is_some_and(|(mode, _)| mode == GITLINK)).map(|file| file.name.as_path()).collect();
    let (mut left, mut settled) = (HashMap::new(), HashSet::new());
    for file in files {
        let own = entries.get(&file.name).map(Vec::as_slice).unwrap_or_default();
        let is = |side: &Option<(String, String)>| match (own, side) {
            ([], None) => true,
            ([[_, mode, object, stage]], Some(side)) => stage == "0" && (mode, object) == (&side.0, &side.1),
            _ => false,
        };
        if !is(&file.old) && is(&file.new) {
            settled.insert(file.name.clone());
        }
        let clash = |name: &Path| entries.contains_key(name) && !in_old.contains(name);
        let why = if !is(&file.old) && !is(&file.new) {
            "somebody has staged something of that name here (git status says what)"
        } else if file.new.is_some() && (file.name.ancestors().skip(1).any(clash) || below(&entries, &file.name).any(clash)) {
            "somebody has staged a file where it needs a folder, or a folder of that name"
        } else if own.iter().any(|[tag, ..]| tag.eq_ignore_ascii_case("s")) && repository.top.join(&file.name).symlink_metadata().is_ok() {
            "it is here although the index says that it is not checked out (sparse checkout, skip-worktree)"
        } else if modules
            .iter()
            .any(|module| file.name != *module && file.name.starts_with(module) && repository.top.join(module).join(".git").exists())
        {
            "a submodule is checked out where it belongs"
        } else {
            continue;
        };
        left.insert(file.name.clone(), why.to_owned());
    }
    // What stays in the index leaves no room for a file of its name, or for one below it.
    loop {
        let stays = |name: &Path| left.contains_key(name) && entries.contains_key(name);
        let more: Vec<PathBuf> = files
            .iter()
            .filter(|file| file.new.is_some() && !left.contains_key(&file.name))
            .filter(|file| file.name.ancestors().skip(1).any(stays) || below(&entries, &file.name).any(stays))
            .map(|file| file.name.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        left.extend(more.into_iter().map(|name| (name, "something of somebody's stays where it belongs".to_owned())));
    }
    Ok((left, settled))
}

/// The names below a folder.
fn below<'a, T>(entries: &'a BTreeMap<PathBuf, T>, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    let after = entries.range::<Path, _>((Bound::Excluded(folder), Bound::Unbounded));
    after.map(|(name, _)| name.as_path()).take_while(move |name| name.starts_with(folder))
}

/// Whether the disk, or the system, refused because of itself, and not because of the file. Those of the file are named here:
/// most others (EIO, EMFILE) have no name in `std`.
fn is_the_disks(error: &io::Error) -> bool {
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

fn not_made(output: Output) -> Failure {
    Failure::Git(format!("what the remote has cannot be checked out: {}", output.words()))
}

fn wrong(error: io::Error) -> Failure {
    Failure::Git(format!("the working tree cannot be moved: {}", error.kind()))
}

/// Whether one of the files says what git makes of others.
pub(super) fn has_attributes(files: &[File]) -> bool {
    files.iter().any(|file| file.name.file_name() == Some(&OsString::from(".gitattributes")))
}
