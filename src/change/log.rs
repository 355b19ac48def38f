//! The log of changes, in the state folder: `versions/log.jsonl` has a line for each change of a
//! file, with who made it, and beside it are the bytes that it replaced or deleted, named by their
//! SHA-256. Both are flushed before the change is made. A call that is more than new bytes for one
//! file counts when another line says that it is done; one that failed is ended by a line. The log
//! is its own lock between processes.

use super::commits::Author;
use crate::clock::{Deadline, Moment};
use crate::vault::error::Error;
use crate::vault::hash;
use crate::vault::path::composed;
use crate::{disk, limits, secret};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes at the end of the log in which its last line is looked for: longer than any line.
const VERSIONS_LOG_TAIL: u64 = 64 * 1024;
/// How long a change waits for the log's lock; others hold it for milliseconds.
const LOCK_FILE_WAIT: Duration = Duration::from_secs(10);

pub(crate) const LOG: &str = "log.jsonl";

/// The tool of the changes that the command `undo` makes.
pub const UNDO: &str = "undo";

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Did {
    /// Written. `before` is the hash of the old bytes (`None` for a new file), `after` that of the
    /// new ones; `bytes` is the number of old bytes.
    Wrote { path: String, before: Option<String>, after: String, bytes: usize },
    /// A file or folder renamed.
    Renamed { from: String, to: String },
    /// Deleted, or moved to the trash if `trashed_to` is not empty; `before` is `None` for a file
    /// too large to be kept.
    Trashed { path: String, trashed_to: String, before: Option<String>, bytes: usize },
    /// The changes of a call that needs an end were made.
    Done { of: String },
    /// The changes of a call were not made.
    Ended { of: String },
    /// The changes of a call were undone.
    Undone { of: String },
    /// Lines of this login that were not too old were removed because there were too many, the
    /// newest of them from this time: what it did until then is not known in full.
    Dropped { newest: u64 },
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The id of this line, and of the version that was replaced, if any.
    pub version: String,
    /// Groups the changes of one call of [`Alone::change`](super::apply::Alone::change).
    pub call: String,
    /// Unix time in seconds.
    pub at: u64,
    /// The login: the id of a grant, the name of an API token or machine client, `local`.
    pub by: String,
    /// The user who has allowed the login; empty where that is nobody.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    pub tool: String,
    /// The login itself had written the text that was replaced; noted by a cleanup, which may
    /// remove the line that says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The call counts when a line says that it is done; until then a crash is taken back in this
    /// vault, whose id it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    #[serde(flatten)]
    pub did: Did,
}

/// What the log says, as far as it could be read.
#[derive(Debug)]
pub struct Past {
    /// All changes that did not fail, oldest first.
    pub lines: Vec<Line>,
    /// Whether it was read from its beginning; a log beyond [`limits::VERSIONS_LOG_BYTES`] is not.
    pub is_whole: bool,
}

impl Past {
    /// Whether it has everything that a login has done since a point in time.
    pub fn is_whole_of(&self, by: &str, since: Moment) -> bool {
        let is_gap = |line: &Line| {
            line.by == by && matches!(line.did, Did::Dropped { newest } if newest >= since.0)
        };
        self.is_whole && !self.lines.iter().any(is_gap)
    }
}

/// A change about to be made, with the bytes that it replaces or deletes.
pub(crate) struct Record {
    pub(crate) did: Did,
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A call whose changes are recorded, and may be made.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    pub(crate) call: String,
    pub(crate) lines: Vec<Line>,
}

/// The log of a vault, and the texts that it names.
#[derive(Debug)]
pub struct Log {
    pub(crate) folder: PathBuf,
    /// Bytes added since the last cleanup, of texts and of lines.
    pub(crate) fresh: AtomicU64,
}

/// The log, open and locked against other processes.
#[derive(Debug)]
pub(crate) struct OpenLog<'a> {
    log: &'a Log,
    file: File,
    /// Bytes of the file.
    length: u64,
}

pub(crate) fn failed(cause: std::io::Error) -> Error {
    log::error!("could not keep an old version in the state folder: {cause}");
    Error::Disk {
        doing: "keep the old version in the state folder",
        path: "versions".into(),
        cause,
    }
}

impl Log {
    /// The log in a state folder. Where its folder cannot be made, nothing is recorded, and so
    /// nothing changed.
    pub fn at(state_dir: &Path) -> Arc<Log> {
        Arc::new(Log { folder: state_dir.join("versions"), fresh: AtomicU64::new(0) })
    }

    pub(crate) fn exists(&self) -> bool {
        self.folder.join(LOG).exists()
    }

    /// Opens the log, once no other process has it open.
    pub(crate) fn open(&self) -> Result<OpenLog<'_>, Error> {
        let path = self.folder.join(LOG);
        let attempt = || match disk::take_lock_of(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                disk::create_private_folder(&self.folder).map(|()| None)
            }
            other => other,
        };
        let taken = Deadline::after(LOCK_FILE_WAIT).poll(limits::LOCK_POLL, attempt);
        let (file, length) = taken.map_err(failed)?.ok_or(Error::Busy)?;
        Ok(OpenLog { log: self, file, length })
    }

    /// The bytes of a version, by hash.
    ///
    /// # Errors
    /// The disk's; `InvalidData` if the bytes do not match the hash.
    pub(crate) fn bytes(&self, hash_of: &str) -> std::io::Result<Vec<u8>> {
        let bytes = disk::read_at_most(&self.folder.join(hash_of), limits::NOTE_BYTES)?;
        if hash(&bytes) == hash_of { Ok(bytes) } else { Err(ErrorKind::InvalidData.into()) }
    }

    /// Keeps bytes, flushed; whether they were not kept already.
    fn keep(&self, bytes: &[u8]) -> std::io::Result<bool> {
        let on_disk = self.folder.join(hash(bytes));
        match disk::write_new_durably(&on_disk, bytes) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if std::fs::read(&on_disk)? == bytes {
                    return Ok(false);
                }
                // A power cut has left a part of them.
                disk::discard(&on_disk);
                disk::write_new_durably(&on_disk, bytes)?;
            }
            written => written?,
        }
        self.fresh.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(true)
    }

    /// All changes that did not fail. A line that cannot be parsed is skipped: a power cut may have
    /// truncated it, and then its change was not made.
    ///
    /// # Errors
    /// The disk's.
    pub fn past(&self) -> std::io::Result<Past> {
        let (lines, is_whole) = self.lines()?;
        let ended = lines.iter().filter_map(|line| {
            if let Did::Ended { of } = &line.did { Some(of.clone()) } else { None }
        });
        let ended: HashSet<String> = ended.collect();
        let is_change = |line: &Line| !matches!(line.did, Did::Done { .. } | Did::Ended { .. });
        let lines = lines
            .into_iter()
            .filter(|line| is_change(line) && !ended.contains(&line.call))
            .collect();
        Ok(Past { lines, is_whole })
    }

    /// The last [`limits::VERSIONS_LOG_BYTES`] of the lines, and whether these are all.
    fn lines(&self) -> std::io::Result<(Vec<Line>, bool)> {
        let on_disk = self.folder.join(LOG);
        let log = disk::none_if_missing(disk::read_end(&on_disk, limits::VERSIONS_LOG_BYTES))?
            .unwrap_or_default();
        let is_whole = disk::none_if_missing(std::fs::metadata(&on_disk))?
            .is_none_or(|found| found.len() <= limits::VERSIONS_LOG_BYTES);
        Ok((lines_of(&log).collect(), is_whole))
    }
}

/// The lines of a part of the log.
fn lines_of(log: &[u8]) -> impl DoubleEndedIterator<Item = Line> {
    log.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut line: Line = serde_json::from_slice(line).ok()?;
        line.did.compose_paths();
        Some(line)
    })
}

impl Did {
    /// The former version wrote paths in the form that they have on disk.
    fn compose_paths(&mut self) {
        let paths = match self {
            Did::Wrote { path, .. } | Did::Trashed { path, .. } => [Some(path), None],
            Did::Renamed { from, to } => [Some(from), Some(to)],
            Did::Done { .. } | Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {
                [None, None]
            }
        };
        for path in paths.into_iter().flatten() {
            *path = composed(path).into_owned();
        }
    }
}

impl OpenLog<'_> {
    /// Records the changes of a call, before they are made; with the id of the vault one that needs
    /// an end.
    pub(crate) fn begin(
        &mut self,
        author: &Author,
        vault: Option<&str>,
        records: impl Iterator<Item = Record>,
    ) -> Result<Begun, Error> {
        let call = new_id();
        let mut has_new_files = self.length == 0;
        let mut lines = Vec::new();
        for Record { did, bytes } in records {
            if let Some(bytes) = bytes {
                has_new_files |= self.log.keep(&bytes).map_err(failed)?;
            }
            lines.push(Line { vault: vault.map(str::to_owned), ..line(author, &call, did) });
        }
        self.append(&lines)?;
        if has_new_files {
            disk::flush_folder(&self.log.folder).map_err(failed)?;
        }
        Ok(Begun { call, lines })
    }

    /// Records that the changes of a call were made, or not made.
    pub(crate) fn end(&mut self, author: &Author, did: Did) -> Result<(), Error> {
        self.append(&[line(author, &new_id(), did)])
    }

    /// Records that a call was taken back but for the changes in some of its lines, whose texts
    /// stay known.
    pub(crate) fn end_but_for(
        &mut self,
        author: &Author,
        call: &str,
        left: Vec<Line>,
    ) -> Result<(), Error> {
        let id = new_id();
        let stays = |line: Line| Line { call: id.clone(), vault: None, ..line };
        let ended = line(author, &new_id(), Did::Ended { of: call.to_owned() });
        let lines: Vec<Line> = left.into_iter().map(stays).chain([ended]).collect();
        self.append(&lines)
    }

    fn append(&mut self, lines: &[Line]) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        // A power cut may have left half a line, which the next one must not continue.
        let mut text = String::from("\n");
        for line in lines {
            text += &serde_json::to_string(line).map_err(|error| failed(error.into()))?;
            text.push('\n');
        }
        disk::append_durably(&mut self.file, self.length, text.as_bytes()).map_err(failed)?;
        self.log.fresh.fetch_add(text.len() as u64, Ordering::Relaxed);
        self.length += text.len() as u64;
        Ok(())
    }

    /// The last line, if it is of a call that needs an end and has none.
    fn unended(&self) -> Result<Option<Line>, Error> {
        let mut end = vec![0; self.length.min(VERSIONS_LOG_TAIL) as usize];
        let from = self.length - end.len() as u64;
        self.file.read_exact_at(&mut end, from).map_err(failed)?;
        Ok(lines_of(&end).next_back().filter(|line| line.vault.is_some()))
    }

    pub(crate) fn ends_unfinished(&self) -> Result<bool, Error> {
        Ok(self.unended()?.is_some())
    }

    /// The call in a vault that a crash has interrupted.
    pub(crate) fn unfinished(&self, vault: &str) -> Result<Option<String>, Error> {
        let line = self.unended()?.filter(|line| line.vault.as_deref() == Some(vault));
        Ok(line.map(|line| line.call))
    }

    /// The lines of a call, oldest first.
    pub(crate) fn lines_of_call(&self, call: &str) -> Result<Vec<Line>, Error> {
        let (lines, _) = self.log.lines().map_err(failed)?;
        Ok(lines.into_iter().filter(|line| line.call == call).collect())
    }
}

fn line(author: &Author, call: &str, did: Did) -> Line {
    Line {
        version: new_id(),
        call: call.to_owned(),
        at: Moment::read().0,
        by: author.by.clone(),
        user: author.user.clone(),
        tool: author.tool.to_owned(),
        own: false,
        vault: None,
        did,
    }
}

impl Line {
    /// The path and hash of the version that this change replaced, if it is kept.
    pub fn kept(&self) -> Option<(&str, &str)> {
        match &self.did {
            Did::Wrote { path, before: Some(before), .. }
            | Did::Trashed { path, before: Some(before), .. } => Some((path, before)),
            _ => None,
        }
    }

    /// Bytes of that version.
    pub fn size(&self) -> u64 {
        match &self.did {
            Did::Wrote { bytes, .. } | Did::Trashed { bytes, .. } => *bytes as u64,
            _ => 0,
        }
    }
}

/// An id of 16 hex digits.
pub(crate) fn new_id() -> String {
    secret::hex(&secret::random::<8>())
}
