//! Refusals and failures. `Display` is for the model: only paths below the vault, and what to do
//! next. The operating system's own message goes to the log, and to the model only where `std` has
//! no kind for it.

use crate::limits;
use crate::lock::Unpoisoned;
use crate::markdown::insert::Target;
use crate::markdown::parts::PartError;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::{fmt, io};

/// A refusal or failure of a vault operation; one variant per reaction.
#[derive(Debug)]
pub enum Error {
    /// Nothing exists at this path. `hint` says where else to look; it may be empty.
    NotFound {
        /// The path asked for.
        path: String,
        /// A sentence about similar files.
        hint: String,
    },
    /// The path leads outside, into hidden folders, or to something that is not what the operation
    /// works on.
    NotAllowed {
        /// The path asked for, as far as it can be repeated.
        path: String,
        /// The rule.
        why: &'static str,
    },
    /// The caller's grant does not cover a change of the path.
    NotGranted {
        /// The path asked for.
        path: String,
        /// Folders that may be changed; empty if the path is hidden.
        granted: String,
    },
    /// The text to be replaced is not in the file. The string says what was found instead; it may
    /// be empty.
    TextNotFound(String),
    /// The text to be replaced occurs this many times.
    TextNotUnique(usize),
    /// A line range outside the file.
    InvalidRange(String),
    /// The file is not what the caller read; its current etag, `None` when it is gone.
    Conflict(Option<String>),
    /// The file is being changed, or was changed between two reads.
    Busy,
    /// The file or text is larger than the limit, in bytes.
    TooLarge {
        /// The path asked for.
        path: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is not text.
    NotText {
        /// The path asked for.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// Its media type, as its name suggests.
        media_type: &'static str,
    },
    /// The file or the disk is read-only.
    ReadOnly(String),
    /// The vault folder itself is not there: unmounted, renamed, or its disk is gone.
    Unavailable,
    /// A name, heading or block that matches several.
    Ambiguous {
        /// What is ambiguous, as a sentence without its full stop.
        what: String,
        /// Those that could be meant.
        candidates: Vec<Value>,
    },
    /// A heading, block, line or task that the note does not have.
    NoTarget {
        /// What is missing, as a sentence without its full stop.
        what: String,
        /// Those that exist.
        known: Vec<Value>,
    },
    /// The path exists already.
    Exists(String),
    /// An invalid argument; holds the whole message.
    Invalid(String),
    /// Frontmatter that cannot be read or changed safely.
    Malformed {
        /// The note.
        path: String,
        /// Why, to be read after the path and a colon.
        why: String,
    },
    /// Too many costly calls are in progress: searches by regular expression, queries, readings of
    /// the kept versions; or an index is still being made.
    Overloaded,
    /// This program has noticed a mistake of its own ([`crate::slice::mistakes`]).
    Mistake,
    /// The caller cancelled.
    Cancelled,
    /// Something the operating system refused; `doing` completes "could not …".
    Disk {
        /// What was attempted.
        doing: &'static str,
        /// The path asked for.
        path: String,
        /// Shown by its kind, or in the system's words where it has none.
        cause: io::Error,
    },
}

/// Logs a warning, once, so that the log has one line per problem, and not one per walk; of each
/// kind the first [`limits::WARNINGS`], the others with `LOG_LEVEL=debug`.
pub(crate) fn warn_once(about: &'static str, warning: String) {
    static WARNINGS: Mutex<BTreeMap<&str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    let mut warnings = WARNINGS.lock().unpoisoned();
    let known = warnings.entry(about).or_default();
    if known.len() == limits::WARNINGS {
        log::debug!("{warning}");
    } else if !known.contains(&warning) {
        log::warn!("{warning}");
        known.insert(warning);
        if known.len() == limits::WARNINGS {
            log::warn!("there are more warnings about {about}; LOG_LEVEL=debug shows them all");
        }
    }
}

/// The system's description of a failure, without a path. `std` has a kind for most, and calls the
/// others (EIO, EMFILE) "uncategorized".
pub(crate) fn description(cause: &io::Error) -> String {
    let kind = cause.kind().to_string();
    match cause.raw_os_error().map(io::Error::from_raw_os_error) {
        Some(plain) if kind.starts_with("uncategorized") => {
            plain.to_string().split(" (os error").next().unwrap_or(&kind).to_lowercase()
        }
        _ => kind,
    }
}

impl Error {
    /// The error for a part of a note that is missing, ambiguous, or not to be changed.
    pub fn of_part(target: Target<'_>, error: PartError) -> Error {
        let (what, wanted) = match target {
            Target::Heading(wanted) => ("heading", wanted),
            Target::Block(id) => ("block", id),
            Target::Note | Target::Line(_) => ("part", ""),
        };
        let shown = |lines: Vec<(usize, String)>| {
            let first = lines.into_iter().take(limits::CANDIDATES_SHOWN);
            first.map(|(line, text)| json!({ "line": line, "text": text })).collect()
        };
        match error {
            PartError::Missing(missing, known) => Error::NoTarget {
                what: match known.is_empty() {
                    true => format!("There is no {what} {wanted:?}; the note has none"),
                    false if wanted.ends_with(&missing) => {
                        format!("There is no {what} {wanted:?}")
                    }
                    false => format!("There is no {what} {missing:?}, as in {wanted:?}"),
                },
                known: shown(known),
            },
            PartError::Several(lines) => Error::Ambiguous {
                what: format!("More than one {what} matches {wanted:?}"),
                candidates: shown(lines),
            },
            PartError::NoLine(lines) => Error::NoTarget {
                what: format!("The note has no such line; it has {lines}"),
                known: Vec::new(),
            },
            PartError::Frontmatter => Error::Invalid(
                "That line is part of the frontmatter; use vault_set_properties for properties.".into(),
            ),
            PartError::WholeNote => Error::Invalid(
                "where: before, after and replace need a heading, block or line; vault_write replaces \
                 a whole note."
                    .into(),
            ),
        }
    }

    /// Turns [`Error::NotFound`] into `None`.
    pub(crate) fn none_if_missing<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
        match found {
            Err(Error::NotFound { .. }) => Ok(None),
            other => other.map(Some),
        }
    }

    /// The error for a failure of the operating system.
    pub(crate) fn disk(doing: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |cause| match cause.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path, hint: String::new() },
            io::ErrorKind::ReadOnlyFilesystem => Error::ReadOnly(path),
            _ => {
                // Without a path, the caller that knows it adds it and logs.
                if !path.is_empty() {
                    log::warn!("could not {doing} {path:?}: {cause}");
                }
                Error::Disk { doing, path, cause }
            }
        }
    }
}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Error {
        Error::disk("write the file", "")(cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound { path, hint } if hint.is_empty() => {
                write!(f, "File not found: {path}")
            }
            Error::NotFound { path, hint } => write!(f, "File not found: {path}. {hint}"),
            Error::NotAllowed { path, why } => write!(f, "Path not allowed: {path} ({why})"),
            Error::NotGranted { path, granted } if granted.is_empty() => {
                write!(f, "Path not allowed: {path} (it is hidden)")
            }
            Error::NotGranted { path, granted } => {
                write!(f, "Path not allowed: {path} (this login may change only {granted})")
            }
            Error::TextNotFound(hint) if hint.is_empty() => f.write_str("Text not found in file"),
            Error::TextNotFound(hint) => write!(f, "Text not found in file. {hint}"),
            Error::TextNotUnique(count) => {
                let least = if *count >= limits::OCCURRENCES { "at least " } else { "" };
                write!(
                    f,
                    "Text appears {least}{count} times in file, must be unique. Include more of \
                     the surrounding lines in old_text."
                )
            }
            Error::InvalidRange(why) => f.write_str(why),
            Error::Conflict(Some(etag)) => {
                write!(
                    f,
                    "The file has changed since it was read; its etag is now {etag}. Read it \
                     again, then repeat the change."
                )
            }
            Error::Conflict(None) => {
                f.write_str("The file does not exist any more, so if_match cannot match.")
            }
            Error::Busy => f.write_str(
                "Another program is changing this file right now; nothing was done. Read it \
                 again, and try again.",
            ),
            Error::TooLarge { path, size, limit } => {
                write!(
                    f,
                    "Too large: {path} has {size} bytes, the limit is {limit}. A note can be split \
                     into several; of another file ask the owner of the vault for a smaller one."
                )
            }
            Error::NotText { path, size, media_type } => {
                write!(
                    f,
                    "Not a text file in UTF-8: {path} ({media_type}, {size} bytes). vault_read \
                     shows text, pictures, PDF and sound only."
                )
            }
            Error::ReadOnly(path) => {
                write!(f, "Read-only: {path} cannot be changed on the server's disk")
            }
            Error::Unavailable => f.write_str(
                "The vault folder is not available on the server at the moment. Try again later.",
            ),
            Error::Ambiguous { what, .. } => write!(
                f,
                "{what}; nothing was done. Give the path of the candidate that is meant; of a \
                 heading, those above it (A > B), or its line (A (line 12))."
            ),
            Error::NoTarget { what, known } if known.is_empty() => write!(f, "{what}."),
            Error::NoTarget { what, .. } => {
                write!(f, "{what}; see candidates for what exists instead.")
            }
            Error::Exists(path) => write!(
                f,
                "{path} exists already; nothing was changed. Choose another name, or change that \
                 file."
            ),
            Error::Invalid(message) => f.write_str(message),
            Error::Malformed { path, why } => write!(f, "{path}: {why}."),
            Error::Overloaded => f.write_str(
                "The server is busy with costly calls (regular expressions, queries, old \
                 versions), or is still reading a large vault. Try again in a few seconds.",
            ),
            Error::Mistake => f.write_str(
                "The server has made a mistake in computing the change, so nothing was changed. \
                 Its log has the place.",
            ),
            Error::Cancelled => f.write_str("Cancelled"),
            Error::Disk { doing, path, cause } => {
                // "permission denied", "no storage space": it helps, and carries no path.
                write!(f, "The server could not {doing}: {path} ({})", description(cause))
            }
        }
    }
}
