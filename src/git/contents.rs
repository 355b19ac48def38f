//! Contents of files as git would check them out, with its filters.

use super::Failure;
use super::objects::{Entry, File};
use super::process::Runner;
use super::repository::Scratch;
use crate::disk;
use crate::limits;
use std::collections::HashMap;
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
    Folder,
    /// A component of its path is not a folder.
    BelowFile(PathBuf),
    /// Neither file nor folder, too large, or unreadable.
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
    pub(super) fn read(&mut self, runner: &Runner<'_>, files: &[File]) -> Result<(), Failure> {
        disk::write_new(&self.scratch.0, &[]).map_err(failed)?;
        let wanted = |side: fn(&File) -> &Option<Entry>| {
            files.iter().filter_map(|file| Some((side(file).as_ref()?.blob.clone(), file.name.clone()))).collect::<Vec<_>>()
        };
        let new = wanted(|file| &file.new);
        match self.add(runner, [new.clone(), wanted(|file| &file.old)].concat()) {
            Err(Failure::Git(_)) => self.add(runner, new),
            other => other,
        }
    }

    fn add(&mut self, runner: &Runner<'_>, wanted: Vec<(String, PathBuf)>) -> Result<(), Failure> {
        if wanted.is_empty() {
            return Ok(());
        }
        let path = &self.scratch.0;
        let start = path.metadata().map_err(failed)?.len();
        // A header line that occurs in no content: git's own has the size before the filters.
        let mark = crate::secret::new_id();
        let batch = format!("--batch={mark}");
        let line = |(blob, name): &(String, PathBuf)| [blob.as_bytes(), b" ", name.as_os_str().as_bytes(), b"\0"].concat();
        let asked: Vec<u8> = wanted.iter().flat_map(line).collect();
        let made = Runner { stdout: Some(path.clone()), ..runner.clone() }.run_with(&["cat-file", "-z", &batch, "--filters"], &asked)?;
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
            Ok(_) => Found::File(bytes, modes && entry.mode == EXECUTABLE),
        }
    }
}

/// The positions of the lines equal to `mark` in a file, from `start` on.
fn mark_positions(path: &Path, start: u64, mark: &str) -> io::Result<Vec<u64>> {
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
