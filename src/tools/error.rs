//! A tool's own failure: a code and words that tell a model what to do next.

use crate::object::without_nulls;
use crate::vault;
use serde_json::{Map, Value, json};

macro_rules! codes {
    ($($(#[$about:meta])* $code:ident = $name:literal,)+) => {
        /// The error codes, as the README lists them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($(#[$about])* $code,)+
        }

        impl Code {
            /// The code on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$code => $name,)+
                }
            }
        }
    };
}

codes! {
    /// File or folder does not exist.
    FileNotFound = "FILE_NOT_FOUND",
    /// Outside the vault, hidden, or not what the tool works on.
    PathNotAllowed = "PATH_NOT_ALLOWED",
    /// The text to edit is not in the file.
    TextNotFound = "TEXT_NOT_FOUND",
    /// The text to edit occurs more than once.
    TextNotUnique = "TEXT_NOT_UNIQUE",
    /// A name, heading or block of which there are several.
    Ambiguous = "AMBIGUOUS",
    /// The note has no such heading, block, line or task.
    TargetNotFound = "TARGET_NOT_FOUND",
    /// A range outside the file.
    InvalidRange = "INVALID_RANGE",
    /// An argument is unknown, missing or of the wrong type.
    InvalidArgument = "INVALID_ARGUMENT",
    /// The file is not what the caller read.
    Conflict = "CONFLICT",
    /// Above a limit.
    TooLarge = "TOO_LARGE",
    /// Not a text file.
    NotText = "NOT_TEXT",
    /// Must not be written.
    ReadOnly = "READ_ONLY",
    /// The disk refused to read.
    ReadError = "READ_ERROR",
    /// The disk refused to write; the old bytes are in place.
    WriteError = "WRITE_ERROR",
    /// The repository is in a state in which nothing is changed; the message says what to do.
    GitRefused = "GIT_REFUSED",
    /// Something of this name exists.
    AlreadyExists = "ALREADY_EXISTS",
    /// No accomplishment has this id.
    AccomplishmentNotFound = "ACCOMPLISHMENT_NOT_FOUND",
    /// No task has this id.
    TaskNotFound = "TASK_NOT_FOUND",
    /// An id that is taken, or that several notes have.
    DuplicateId = "DUPLICATE_ID",
    /// Dependencies would form a cycle.
    CircularDependency = "CIRCULAR_DEPENDENCY",
    /// Not one of the values of `status`.
    InvalidStatus = "INVALID_STATUS",
    /// There is no such canvas.
    CanvasNotFound = "CANVAS_NOT_FOUND",
    /// A note, canvas or base is malformed.
    ParseError = "PARSE_ERROR",
    /// An expression is wrong, at a position that the message names.
    QueryError = "QUERY_ERROR",
    /// The caller cancelled.
    Cancelled = "CANCELLED",
    /// A session failed, or could not be begun.
    AgentFailed = "AGENT_FAILED",
    /// A session took too long.
    AgentTimeout = "AGENT_TIMEOUT",
    /// A bug of the server; the log has more.
    InternalError = "INTERNAL_ERROR",
}

impl Code {
    /// The status that the original server of the accomplishments tools gives for it; its clients
    /// may read it.
    fn status(self) -> Option<u16> {
        match self {
            Code::AccomplishmentNotFound | Code::TaskNotFound | Code::CanvasNotFound => Some(404),
            Code::DuplicateId => Some(409),
            Code::CircularDependency | Code::InvalidStatus => Some(400),
            _ => None,
        }
    }
}

/// A failure of a tool.
#[derive(Debug)]
pub struct Error {
    /// Its code.
    pub code: Code,
    /// What happened and what to do about it.
    pub message: String,
    /// Facts besides the message, for example the current etag.
    pub facts: Map<String, Value>,
    /// Members besides the error itself: what a tool returns in success and failure alike.
    pub members: Map<String, Value>,
}

impl Error {
    /// A failure without facts besides its message.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), facts: Map::new(), members: Map::new() }
    }

    /// `INVALID_ARGUMENT`.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(Code::InvalidArgument, message)
    }

    /// Adds a fact.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Error {
        self.facts.insert(name.into(), value.into());
        self
    }

    /// `{"error":{"code":…,"message":…}}`, with the facts besides code and message, and the members
    /// besides the error.
    pub fn to_json(&self) -> String {
        let mut error = without_nulls(
            json!({ "code": self.code.as_str(), "message": self.message, "status": self.code.status() }),
        );
        error.extend(self.facts.clone());
        let mut members = self.members.clone();
        members.insert("error".into(), error.into());
        Value::Object(members).to_string()
    }
}

impl From<vault::Error> for Error {
    fn from(error: vault::Error) -> Error {
        use vault::Error as Refused;
        let code = match &error {
            Refused::NotFound { .. } => Code::FileNotFound,
            Refused::NotAllowed { .. } | Refused::NotGranted { .. } => Code::PathNotAllowed,
            Refused::TextNotFound(_) => Code::TextNotFound,
            Refused::TextNotUnique(_) => Code::TextNotUnique,
            Refused::InvalidRange(_) => Code::InvalidRange,
            Refused::Conflict(_) | Refused::Busy => Code::Conflict,
            Refused::TooLarge { .. } => Code::TooLarge,
            Refused::NotText { .. } => Code::NotText,
            Refused::ReadOnly(_) => Code::ReadOnly,
            Refused::Cancelled => Code::Cancelled,
            Refused::Unavailable | Refused::Overloaded => Code::ReadError,
            Refused::Ambiguous { .. } => Code::Ambiguous,
            Refused::NoTarget { .. } => Code::TargetNotFound,
            Refused::Exists(_) => Code::AlreadyExists,
            Refused::Malformed { .. } => Code::ParseError,
            Refused::Invalid(_) => Code::InvalidArgument,
            // `doing` is a verb phrase of `vault::error`; only these two read.
            Refused::Disk { doing, .. }
                if doing.starts_with("read") || doing.starts_with("open") =>
            {
                Code::ReadError
            }
            Refused::Disk { .. } | Refused::Mistake => Code::WriteError,
        };
        let reported = Error::new(code, error.to_string());
        match error {
            Refused::Conflict(Some(etag)) => reported.with("etag", etag),
            Refused::Ambiguous { candidates, .. } | Refused::NoTarget { known: candidates, .. }
                if !candidates.is_empty() =>
            {
                reported.with("candidates", candidates)
            }
            Refused::TooLarge { size, limit, .. } => {
                reported.with("size", size).with("limit", limit)
            }
            Refused::NotText { size, media_type, .. } => {
                reported.with("size", size).with("mime_type", media_type)
            }
            _ => reported,
        }
    }
}
