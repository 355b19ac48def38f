//! What was done lately, call by call, and the text before and after: for the owner.

use super::Changes;
use super::log::{Did, Line, Log};
use super::undo::undone_calls;
use crate::clock::Moment;
use crate::vault::error::Error;
use crate::vault::hash;
use crate::vault::path::VaultPath;
use std::collections::{HashMap, HashSet};

/// Files of a call whose texts are read.
const FILES_SHOWN: usize = 20;

/// A call that has changed files.
#[derive(Debug)]
pub struct Call {
    pub id: String,
    pub at: Moment,
    /// The login, as in [`Line::by`].
    pub by: String,
    pub tool: String,
    /// Whether it was taken back.
    pub is_undone: bool,
    changes: Vec<Did>,
}

/// What a call has done to a file.
#[derive(Debug)]
pub struct FileChange {
    /// In words, with its path.
    pub what: String,
    /// Its texts before and after; none of a file that was only moved.
    pub texts: Option<[FileText; 2]>,
}

/// The text of a file at some time.
#[derive(Debug, PartialEq, Eq)]
pub enum FileText {
    NoFile,
    Text(String),
    /// Bytes that are no text in UTF-8, such as a picture.
    Bytes(usize),
    /// It was not kept.
    Unknown,
}

impl Call {
    /// The changes in words, each with its path.
    pub fn changes(&self) -> impl Iterator<Item = String> {
        self.changes.iter().filter_map(words)
    }
}

fn words(did: &Did) -> Option<String> {
    Some(match did {
        Did::Wrote { path, before: None, .. } => format!("{path}: created"),
        Did::Wrote { path, .. } => format!("{path}: changed"),
        Did::Renamed { from, to } => format!("{from}: moved to {to}"),
        Did::Trashed { path, .. } => format!("{path}: deleted"),
        Did::Done { .. } | Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {
            return None;
        }
    })
}

impl Changes {
    /// The calls of logins, newest first, without the first `skip`, `count` at most; and whether
    /// there are more.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    pub fn calls(
        &self,
        is_shown: &dyn Fn(&Line) -> bool,
        skip: usize,
        count: usize,
    ) -> Result<(Vec<Call>, bool), Error> {
        let calls = self.all_calls(is_shown)?;
        let has_more = calls.len() > skip.saturating_add(count);
        Ok((calls.into_iter().skip(skip).take(count).collect(), has_more))
    }

    /// The call with an id.
    ///
    /// # Errors
    /// As [`Changes::calls`].
    pub fn call(&self, is_shown: &dyn Fn(&Line) -> bool, id: &str) -> Result<Option<Call>, Error> {
        Ok(self.all_calls(is_shown)?.into_iter().find(|call| call.id == id))
    }

    fn all_calls(&self, is_shown: &dyn Fn(&Line) -> bool) -> Result<Vec<Call>, Error> {
        let lines = self.past()?.lines;
        let undone = undone_calls(&lines, &|_| true);
        let undone: HashSet<String> = undone.into_iter().map(str::to_owned).collect();
        let mut calls: Vec<Call> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let is_listed = |line: &Line| is_shown(line) && self.shows(line);
        for line in lines.into_iter().rev().filter(is_listed) {
            let place = *places.entry(line.call.clone()).or_insert(calls.len());
            match calls.get_mut(place) {
                Some(call) => call.changes.push(line.did),
                None => calls.push(Call {
                    is_undone: undone.contains(&line.call),
                    id: line.call,
                    at: Moment(line.at),
                    by: line.by,
                    tool: line.tool,
                    changes: vec![line.did],
                }),
            }
        }
        // The lines came newest first.
        calls.iter_mut().for_each(|call| call.changes.reverse());
        Ok(calls)
    }

    /// Whether a line is about files, none of which is hidden.
    pub(super) fn shows(&self, line: &Line) -> bool {
        let paths = match &line.did {
            Did::Wrote { path, .. } | Did::Trashed { path, .. } => [path, path],
            Did::Renamed { from, to } => [from, to],
            Did::Done { .. } | Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {
                return false;
            }
        };
        paths.iter().all(|path| self.vault.jail.shows(path))
    }

    /// What a call has done to each file, as far as the texts are known; of the first files.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept.
    pub fn file_changes(&self, call: &Call) -> Result<Vec<FileChange>, Error> {
        let log = self.kept_versions()?;
        let kept = |hash: &str| log.bytes(hash).map_or(FileText::Unknown, FileText::of);
        let changes = call.changes.iter().take(FILES_SHOWN).filter_map(|did| {
            let texts = match did {
                Did::Wrote { path, before, after, .. } => {
                    let before = before.as_deref().map_or(FileText::NoFile, kept);
                    Some([before, self.text_of(log, path, after)])
                }
                Did::Trashed { before, .. } => {
                    let before = before.as_deref().map_or(FileText::Unknown, kept);
                    Some([before, FileText::NoFile])
                }
                _ => None,
            };
            Some(FileChange { what: words(did)?, texts })
        });
        Ok(changes.collect())
    }

    /// A text that was written: kept because it was replaced later, or still in the file.
    fn text_of(&self, log: &Log, path: &str, wanted: &str) -> FileText {
        let in_file = || self.vault.bytes(&VaultPath::unchecked(path)).ok();
        let kept = log.bytes(wanted).ok();
        let found = kept.or_else(|| in_file().filter(|bytes| hash(bytes) == wanted));
        found.map_or(FileText::Unknown, FileText::of)
    }
}

impl FileText {
    fn of(bytes: Vec<u8>) -> FileText {
        let count = bytes.len();
        String::from_utf8(bytes).map_or(FileText::Bytes(count), FileText::Text)
    }
}
