//! Projects planned on a canvas: accomplishments are notes, their dependencies the edges between
//! them. People edit both in Obsidian at the same time, so both are changed in place, and together
//! or not at all ([`crate::change`]).
//!
//! | file | holds |
//! |---|---|
//! | `snapshot` | all accomplishments at one moment, and what follows from them: blocked, ready |
//! | `change` | one change: the notes and canvases it opens, and how they become files |
//! | `manage` | creating, updating and deleting accomplishments, their tasks, what is worked on |
//! | `dependency` | dependencies: adding, removing, cycles, and notes brought in line with a canvas |
//! | `docs` | context documents |
//! | `naming` | titles, file names and ids |
//! | `note`, `criteria`, `task`, `field`, `status` | the text of a note: sections, criteria, tasks and their fields |
//! | `canvas`, `position` | the text of a canvas, and where a node goes |
//! | `markdown` | the sections of such a note |
#![doc = include_str!("README.md")]

mod canvas;
mod change;
mod criteria;
mod dependency;
pub mod docs;
mod field;
#[cfg(fuzzing)]
pub mod fuzz;
mod manage;
mod markdown;
mod naming;
mod note;
mod position;
mod snapshot;
mod status;
mod task;

pub use canvas::Position;
pub use change::FullAccomplishment;
pub use dependency::Update;
pub use manage::{Data, TaskData};
pub use snapshot::{Accomplishment, Snapshot};
pub use status::TASK_STATUSES;
pub use task::Task;

use crate::slice::Part;
use crate::vault::{Error as VaultError, Vault, VaultPath};
use crate::{limits, secret};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The values of `status`.
pub const STATUSES: [&str; 4] = ["Not Started", "In Progress", "Completed", "Blocked"];
/// The values of `effort`.
pub const EFFORTS: [&str; 4] = ["Business", "Infra", "Engineering", "Research"];
/// The values of `priority`, lowest first.
pub const PRIORITIES: [&str; 4] = ["Low", "Medium", "High", "Critical"];

/// The configured paths.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of the notes.
    pub folder: VaultPath,
    /// The canvas used when none is named.
    pub canvas: VaultPath,
    /// The folder of further context documents.
    pub docs: Option<VaultPath>,
}

/// The projects of a vault.
#[derive(Debug)]
pub struct Accomplishments {
    /// The configured paths.
    pub options: Options,
    /// The highest id number seen while this program runs, so that none is assigned twice.
    highest: AtomicU32,
    /// What the notes said when they were read last.
    known: Mutex<snapshot::Known>,
}

impl Accomplishments {
    /// The projects whose notes and canvas are at these paths.
    pub fn new(options: Options) -> Accomplishments {
        Accomplishments { options, highest: AtomicU32::new(0), known: Mutex::default() }
    }

    /// The canvas to use: the named one, or else the default.
    ///
    /// # Errors
    /// [`VaultError::Invalid`] for anything but the path of a canvas.
    pub fn canvas(&self, named: Option<&str>) -> Result<VaultPath, Error> {
        let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else {
            return Ok(self.options.canvas.clone());
        };
        let path = VaultPath::file(named)?;
        if !path.as_str().to_lowercase().ends_with(".canvas") {
            return Err(invalid("canvas_source must be the path of a .canvas file in the vault."));
        }
        Ok(path)
    }

    /// A canvas, to be read.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`VaultError::Malformed`] when it is not a canvas, or the
    /// vault's.
    fn canvas_at(&self, vault: &Vault, path: &VaultPath) -> Result<canvas::Canvas, Error> {
        let bytes = vault.bytes_if_any(path)?.ok_or_else(|| no_canvas(vault, path))?;
        canvas::Canvas::parse(&text(bytes, path)?).map_err(malformed(path.as_str()))
    }

    fn raise_highest(&self, number: u32) -> u32 {
        self.highest.fetch_max(number, Ordering::AcqRel).max(number)
    }
}

fn no_canvas(vault: &Vault, path: &VaultPath) -> Error {
    let known = vault.files_below(&VaultPath::root(), ".canvas");
    let known: Vec<&str> =
        known.iter().take(limits::NOTES_NAMED).map(|entry| &*entry.path).collect();
    let known = if known.is_empty() {
        String::new()
    } else {
        format!(" Some that exist: {}.", known.join(", "))
    };
    Error::CanvasNotFound(format!(
        "There is no canvas {}.{known} A new file with the text {{}} is an empty one.",
        path.as_str()
    ))
}

fn text(bytes: Vec<u8>, path: &VaultPath) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|_| malformed(path.as_str())("it is not UTF-8".into()))
}

/// The value in a list that a text means, ignoring case, spaces and punctuation.
fn one_of(known: &[&'static str], text: &str) -> Option<&'static str> {
    let plain = |text: &str| {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let wanted = plain(text);
    known.iter().find(|known| plain(known) == wanted).copied()
}

/// Why something was not done; then nothing was changed. The texts are complete messages.
#[derive(Debug)]
pub enum Error {
    /// There is no accomplishment with this id.
    AccomplishmentNotFound(String),
    /// There is no task with this id.
    TaskNotFound(String),
    /// Several notes share an id, or a requested one is taken.
    DuplicateId(String),
    /// The dependencies would form a cycle.
    CircularDependency(String),
    CanvasNotFound(String),
    /// Something of this name exists.
    AlreadyExists(String),
    /// A wrong argument or range, a malformed note or canvas, or any other error of the vault.
    Vault(VaultError),
}

fn invalid(words: impl Into<String>) -> Error {
    Error::Vault(VaultError::Invalid(words.into()))
}

/// The id of a new node or edge.
fn new_id() -> String {
    secret::new_id().part(..16).to_owned()
}

/// Makes the error for a malformed note or canvas.
fn malformed(path: &str) -> impl Fn(String) -> Error {
    let path = path.to_owned();
    move |why| Error::Vault(VaultError::Malformed { path: path.clone(), why })
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AccomplishmentNotFound(words)
            | Error::TaskNotFound(words)
            | Error::DuplicateId(words)
            | Error::CircularDependency(words)
            | Error::CanvasNotFound(words)
            | Error::AlreadyExists(words) => out.write_str(words),
            Error::Vault(error) => error.fmt(out),
        }
    }
}

impl From<VaultError> for Error {
    fn from(error: VaultError) -> Error {
        Error::Vault(error)
    }
}
