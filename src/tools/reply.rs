//! What a tool gives back when it worked.

use super::error::{Code, Error};
use crate::limits;
use crate::text::fitting_in;
use serde::Serialize;
use serde_json::{Map, Value};

/// The outcome of a tool. Some clients show a model `structuredContent` alone, where there is one,
/// and others only the content: so what is not in both is in neither but one.
#[derive(Debug)]
pub enum Reply {
    /// A result as JSON text: `structuredContent`, and the same as text.
    Structured(String),
    /// A document: text alone.
    Document(String),
    /// A picture, sound or file (MCP, "ContentBlock"), and behind it, as text, JSON about it.
    Media {
        /// The block.
        block: Value,
        /// The JSON.
        about: String,
    },
}

impl Reply {
    /// A structured result.
    ///
    /// # Errors
    /// As [`json_of`].
    pub fn of(result: &impl Serialize) -> Result<Reply, Error> {
        json_of(result).map(Reply::Structured)
    }

    /// Adds members to the structured result.
    pub fn with_members(self, members: Map<String, Value>) -> Reply {
        let Reply::Structured(json) = &self else { return self };
        let Ok(Value::Object(mut result)) = serde_json::from_str(json) else { return self };
        result.extend(members);
        Reply::Structured(Value::Object(result).to_string())
    }
}

/// A result as JSON text.
///
/// # Errors
/// `INTERNAL_ERROR` if it cannot be written as JSON, which no type used here can bring about.
pub fn json_of(result: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(result)
        .map_err(|error| Error::new(Code::InternalError, error.to_string()))
}

/// Takes items as long as their JSON fits into one answer, at least one; the rest is for the next
/// page.
pub fn fitting<T: Serialize>(items: impl Iterator<Item = T>) -> Vec<T> {
    // The members around the list take the rest.
    fitting_in(limits::RESULT_CHARS - 1_000, items)
}
