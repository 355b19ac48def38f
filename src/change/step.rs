//! The steps of a change.

use crate::vault::entry::Stamp;
use crate::vault::path::VaultPath;

/// One step of a change: what it expects, and what it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// New bytes for the file that has the bytes `before`; without them a new file, with its
    /// missing folders; without `after` its end.
    Write { path: VaultPath, before: Option<Vec<u8>>, after: Option<Vec<u8>> },
    /// Another path for a file, or a folder with all its contents; nothing may be at `to` yet.
    Rename { from: VaultPath, to: VaultPath },
    /// A file, or a folder without served files, moved to `.trash`, where Obsidian keeps deleted
    /// files.
    Trash {
        path: VaultPath,
        /// Its name there; empty until the change is made.
        trash_name: String,
        /// Of a file as it is recorded: one that was saved since is not deleted.
        stamp: Option<Stamp>,
    },
    /// The file of this name in `.trash`, moved back; nothing may be at `path` yet.
    Restore { path: VaultPath, trash_name: String },
}

impl Step {
    /// New bytes for a file, or a new file.
    pub fn write(path: VaultPath, before: Option<Vec<u8>>, after: Vec<u8>) -> Step {
        Step::Write { path, before, after: Some(after) }
    }

    pub fn trash(path: VaultPath) -> Step {
        Step::Trash { path, trash_name: String::new(), stamp: None }
    }

    pub fn path(&self) -> &str {
        match self {
            Step::Write { path, .. }
            | Step::Trash { path, .. }
            | Step::Restore { path, .. }
            | Step::Rename { to: path, .. } => path.as_str(),
        }
    }

    /// Bytes of the texts before and after it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Step::Write { before, after, .. } => {
                before.iter().chain(after).map(|bytes| bytes.len()).sum()
            }
            Step::Rename { .. } | Step::Trash { .. } | Step::Restore { .. } => 0,
        }
    }

    /// The step that takes this one back.
    pub(crate) fn reversed(self) -> Step {
        match self {
            Step::Write { path, before, after } => {
                Step::Write { path, before: after, after: before }
            }
            Step::Rename { from, to } => Step::Rename { from: to, to: from },
            Step::Trash { path, trash_name, .. } => Step::Restore { path, trash_name },
            Step::Restore { path, trash_name } => Step::Trash { path, trash_name, stamp: None },
        }
    }
}
