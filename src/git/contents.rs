//! Contents of files as git would check them out, with its filters.

use super::Failure;
use super::objects::{ATTRIBUTES, Entry, File, GITLINK, LINK, has_attributes};
use super::process::Runner;
use super::repository::{Repository, Scratch};
use crate::disk;
use crate::limits;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File as OpenFile;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) const EXECUTABLE: &str = "100755";

/// What is, or will be, at a path of the working tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// Its bytes, and whether it is executable, where `core.fileMode` is on.
    File(Vec<u8>, bool),
    Link(PathBuf),
    Folder,
    /// A component of its path is not a folder.
    BelowFile(PathBuf),
    /// Neither file nor folder nor link, too large, or unreadable.
    Unknown,
}

/// Contents of files as git would check them out, in a temporary file: they may not fit into memory.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) scratch: Scratch,
    /// By object and name: the attributes of a name say which filters apply.
    pub(super) ranges: HashMap<(String, PathBuf), Range<u64>>,
}

impl Contents {
    /// Reads both versions of files; the old ones only if the filters can produce them.
    pub(super) fn read(&mut self, repository: &Repository, runner: &Runner<'_>, to: &str, files: &[File]) -> Result<(), Failure> {
        disk::write_new(&self.scratch.0, &[]).map_err(failed)?;
        let (mut links, mut new, mut old) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            for (entry, others) in [(&file.new, &mut new), (&file.old, &mut old)] {
                let Some(entry) = entry.as_ref().filter(|entry| entry.mode != GITLINK) else { continue };
                let list = if entry.mode == LINK { &mut links } else { others };
                list.push((entry.blob.clone(), file.name.clone()));
            }
        }
        // Filters do not apply to the target of a link.
        self.add(runner, links, false)?;
        if has_attributes(files) {
            for (commit, wanted, is_needed) in [(to, new, true), (repository.head.as_deref().unwrap_or("--empty"), old, false)] {
                let (folder, index) = (repository.scratch("attributes"), repository.scratch("attributes-index"));
                let at_commit = with_attributes_of(repository, runner, commit, &folder, &index)?;
                match self.add(&at_commit, wanted, true) {
                    Err(Failure::Git(_)) if !is_needed => {}
                    other => other?,
                }
            }
            return Ok(());
        }
        match self.add(runner, [new.clone(), old].concat(), true) {
            Err(Failure::Git(_)) => self.add(runner, new, true),
            other => other,
        }
    }

    pub(super) fn add(&mut self, runner: &Runner<'_>, wanted: Vec<(String, PathBuf)>, filtered: bool) -> Result<(), Failure> {
        if wanted.is_empty() {
            return Ok(());
        }
        let path = &self.scratch.0;
        let start = path.metadata().map_err(failed)?.len();
        // A header line that occurs in no content: git's own has the size before the filters.
        let mark = crate::secret::new_id();
        let batch = format!("--batch={mark}");
        let mut command = vec!["cat-file", "-z", &batch];
        command.extend(filtered.then_some("--filters"));
        let line = |(blob, name): &(String, PathBuf)| match filtered {
            true => [blob.as_bytes(), b" ", name.as_os_str().as_bytes(), b"\0"].concat(),
            false => [blob.as_bytes(), b"\0"].concat(),
        };
        let asked: Vec<u8> = wanted.iter().flat_map(line).collect();
        let made = Runner { stdout: Some(path.clone()), ..runner.clone() }.run_with(&command, &asked)?;
        let starts = mark_positions(path, start, &mark).map_err(failed)?;
        if !made.ok || starts.len() != wanted.len() {
            return Err(Failure::Git(format!("what the remote has cannot be checked out: {}", made.words())));
        }
        let length = path.metadata().map_err(failed)?.len();
        let header = mark.len() as u64 + 1;
        let ends = starts.iter().skip(1).copied().chain([length]);
        // Every content is followed by a line feed.
        self.ranges.extend(wanted.into_iter().zip(starts.iter().zip(ends).map(|(start, end)| start + header..end.saturating_sub(1))));
        Ok(())
    }

    pub(super) fn content_of(&self, side: &Option<Entry>, name: &Path, modes: bool) -> Found {
        let Some(entry) = side else { return Found::Nothing };
        let Some(range) = self.ranges.get(&(entry.blob.clone(), name.to_owned())) else { return Found::Unknown };
        let size = range.end.saturating_sub(range.start);
        if size > limits::GIT_FILE_BYTES {
            return Found::Unknown;
        }
        let mut bytes = Vec::new();
        let mut read = || {
            let mut file = OpenFile::open(&self.scratch.0)?;
            file.seek(SeekFrom::Start(range.start))?;
            file.take(size).read_to_end(&mut bytes)
        };
        match read() {
            Err(_) => Found::Unknown,
            Ok(_) if entry.mode == LINK => Found::Link(OsStr::from_bytes(&bytes).into()),
            Ok(_) => Found::File(bytes, modes && entry.mode == EXECUTABLE),
        }
    }
}

/// A runner whose working tree, a temporary folder, has only the `.gitattributes` files of a commit.
pub(super) fn with_attributes_of<'a>(
    repository: &Repository,
    runner: &Runner<'a>,
    commit: &str,
    folder: &Scratch,
    index: &Scratch,
) -> Result<Runner<'a>, Failure> {
    let private = Runner { index: Some(index.0.clone()), ..repository.with_work_tree(runner, folder)? };
    private.must(&["read-tree", commit])?;
    let files = private.must(&["ls-files", "-z"])?;
    let names = files.raw_parts().filter(|name| name.rsplit(|&byte| byte == b'/').next() == Some(ATTRIBUTES.as_bytes()));
    let names: Vec<u8> = names.flat_map(|name| [name, b"\0"].concat()).collect();
    private.must_with(&["checkout-index", "-q", "-z", "--stdin"], &names)?;
    Ok(private)
}

/// The positions of the lines equal to `mark` in a file, from `start` on.
pub(super) fn mark_positions(path: &Path, start: u64, mark: &str) -> io::Result<Vec<u64>> {
    let mut file = BufReader::new(OpenFile::open(path)?);
    let (mut at, mut starts, mut piece) = (file.seek(SeekFrom::Start(start))?, Vec::new(), Vec::new());
    let mut is_line_start = true;
    loop {
        piece.clear();
        // A line may be as long as a file.
        let length = file.by_ref().take(limits::GIT_PIECE).read_until(b'\n', &mut piece)? as u64;
        if length == 0 {
            return Ok(starts);
        }
        let text = piece.strip_suffix(b"\n");
        if is_line_start && text == Some(mark.as_bytes()) {
            starts.push(at);
        }
        is_line_start = text.is_some();
        at += length;
    }
}

pub(super) fn failed(error: io::Error) -> Failure {
    Failure::Git(format!("the working tree cannot be moved: {}", error.kind()))
}
