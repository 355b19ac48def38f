//! What a tool gives back when it worked.

use super::error::{Code, Error};
use crate::limits;
use crate::text::fitting_in;
use serde::Serialize;

/// The outcome of a tool.
#[derive(Debug)]
pub struct Reply {
    /// The structured result as JSON text, which a client gets as `structuredContent`.
    pub json: String,
    /// The text for a model, where that is a document; otherwise it is the same JSON.
    pub text: Option<String>,
    /// Blocks of content besides the structured result (MCP, "ContentBlock").
    pub blocks: Vec<serde_json::Value>,
}

impl Reply {
    /// A structured result.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` if it cannot be written as JSON, which no type used here can bring about.
    pub fn of(result: &impl Serialize) -> Result<Reply, Error> {
        let json = serde_json::to_string(result)
            .map_err(|error| Error::new(Code::InternalError, error.to_string()))?;
        Ok(Reply { json, text: None, blocks: Vec::new() })
    }

    /// Adds members to the structured result.
    pub fn with_members(mut self, members: serde_json::Map<String, serde_json::Value>) -> Reply {
        if let Ok(serde_json::Value::Object(mut result)) = serde_json::from_str(&self.json) {
            result.extend(members);
            self.json = serde_json::Value::Object(result).to_string();
        }
        self
    }

    /// A document, and what there is to know about it.
    ///
    /// # Errors
    /// As [`Reply::of`].
    pub fn document(text: String, about: &impl Serialize) -> Result<Reply, Error> {
        Ok(Reply { text: Some(text), ..Reply::of(about)? })
    }
}

/// Takes items as long as their JSON fits into one answer, at least one; the rest is for the next page.
pub fn fitting<T: Serialize>(items: impl Iterator<Item = T>) -> Vec<T> {
    // The members around the list take the rest.
    fitting_in(limits::RESULT_CHARS - 1_000, items)
}
