//! The journal of a change to several files, written before the first is changed: old and new states.

use super::error::Error;
use super::path::VaultPath;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashSet;

/// One step of a change; also its form in the journal, with bytes in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// New bytes for a file; where there are none before, for a new one, with its missing folders.
    Write {
        path: VaultPath,
        #[serde(default, serialize_with = "encode_option", deserialize_with = "decode_option")]
        before: Option<Vec<u8>>,
        #[serde(serialize_with = "encode", deserialize_with = "decode")]
        after: Vec<u8>,
    },
    /// Another path for a file, or a folder with all its contents; nothing may be at `to` yet.
    Rename { from: VaultPath, to: VaultPath },
    /// A file, or a folder without served files, moved to `.trash`, where Obsidian keeps deleted files.
    Trash {
        path: VaultPath,
        /// Its name there; empty until the change is made.
        #[serde(default)]
        trash_name: String,
    },
    /// The file of this name in `.trash`, moved back; nothing may be at `path` yet.
    Restore { path: VaultPath, trash_name: String },
}

fn encode<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    STANDARD.encode(bytes).serialize(serializer)
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn encode_option<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(serializer)
}

fn decode_option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| STANDARD.decode(text)).transpose().map_err(D::Error::custom)
}

/// The journal file, format 2: one JSON object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) version: u32,
    /// Which vault on which computer: a sync program may copy the file to others, where it does not apply.
    pub(super) vault: String,
    /// What the log of versions calls the change.
    #[serde(default)]
    pub(super) call: String,
    pub(super) steps: Vec<Step>,
}

/// The state of a step on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its files are as before the step.
    Pending,
    /// Its files are as after the step.
    Done,
    /// Its result was changed since.
    ResultChanged,
    /// Its original was changed since.
    OriginalChanged,
}

/// Whether a failure lasts until the disk or the vault is usable again.
pub(super) fn is_disk_failure(error: &Error) -> bool {
    matches!(error, Error::Disk { .. } | Error::ReadOnly(_) | Error::Unavailable)
}

/// Whether a text that was changed since derives from the result of a step, not from the original: it has the pieces
/// that the step added, or, if it added none, lacks those that it removed.
pub(super) fn derives_from_new(before: &[u8], after: &[u8], here: &[u8]) -> bool {
    let pieces = |text: &[u8]| -> HashSet<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.split(['\n', ',', '[', ']'])
            .map(str::trim)
            .filter(|piece| !piece.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (before, after, here) = (pieces(before), pieces(after), pieces(here));
    let added: Vec<&String> = after.difference(&before).collect();
    if added.is_empty() {
        return before.difference(&after).all(|piece| !here.contains(piece));
    }
    // More than half: one of them may have been changed.
    added.iter().filter(|piece| here.contains(**piece)).count() * 2 > added.len()
}

impl Step {
    /// New bytes for a file, or a new file.
    pub fn write(path: VaultPath, before: Option<Vec<u8>>, after: Vec<u8>) -> Step {
        Step::Write { path, before, after }
    }

    pub fn trash(path: VaultPath) -> Step {
        Step::Trash { path, trash_name: String::new() }
    }

    /// Whether this program can have written it, with a plain name in the trash. Another program that writes into the vault may have
    /// forged the journal.
    pub(super) fn is_valid(&self) -> bool {
        let (Step::Trash { trash_name, .. } | Step::Restore { trash_name, .. }) = self else {
            return true;
        };
        VaultPath::file(trash_name)
            .is_ok_and(|name| name.as_str() == trash_name && name.name() == trash_name)
    }

    pub fn path(&self) -> &str {
        match self {
            Step::Write { path, .. }
            | Step::Trash { path, .. }
            | Step::Restore { path, .. }
            | Step::Rename { to: path, .. } => path.as_str(),
        }
    }
}
