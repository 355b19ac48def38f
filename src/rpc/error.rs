//! Protocol errors: every code that this server sends, as a constructor.

use super::Id;
use crate::object::without_nulls;
use serde_json::{Value, json};
use std::fmt;

/// A JSON-RPC error. A tool's own failure is never one: it is a result that a model can read.
#[derive(Debug, Clone)]
pub struct Error {
    code: i32,
    message: String,
    data: Option<Value>,
    pub(super) id: Option<Id>,
}

impl Error {
    /// The code for which the modern era has a status of its own, 404.
    pub const METHOD_NOT_FOUND: i32 = -32601;

    fn new(code: i32, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), data: None, id: None }
    }

    /// -32700: not JSON.
    pub fn parse(why: &str) -> Error {
        Error::new(-32700, format!("Parse error: {why}"))
    }

    /// -32600: JSON, but not a message, or not at this time.
    pub fn invalid_request(why: &str) -> Error {
        Error::new(-32600, format!("Invalid request: {why}"))
    }

    /// -32601.
    pub fn method_not_found(method: &str) -> Error {
        let shown: String = method.chars().take(64).collect();
        Error::new(Error::METHOD_NOT_FOUND, format!("Method not found: {shown}"))
    }

    /// -32603 for a limit that is reached at the moment; the message says which.
    pub fn busy(why: &str) -> Error {
        Error::new(-32603, why)
    }

    /// -32602.
    pub fn invalid_params(why: impl Into<String>) -> Error {
        Error::new(-32602, why)
    }

    /// -32603: a mistake of this server; the log has more.
    pub fn internal() -> Error {
        Error::new(-32603, "Internal error")
    }

    /// No resource of this URI: -32002 in the legacy revisions; 2026-07-28 forbids that code and
    /// wants -32602.
    pub fn resource_not_found(uri: &str, modern: bool) -> Error {
        let code = if modern { -32602 } else { -32002 };
        Error { data: Some(json!({ "uri": uri })), ..Error::new(code, "Resource not found") }
    }

    /// -32020, modern era: a header is missing, malformed, or not what the body says.
    pub fn header_mismatch(why: impl fmt::Display) -> Error {
        Error::new(-32020, format!("Header mismatch: {why}"))
    }

    /// -32022, modern era: an unsupported revision. Clients take this code as the sign of a modern
    /// server.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Error {
        let data = json!({ "supported": supported, "requested": requested });
        Error { data: Some(data), ..Error::new(-32022, "Unsupported protocol version") }
    }

    /// The same error as the answer to a request; an id that could not be read is left out.
    pub fn answering(mut self, id: Option<Id>) -> Error {
        self.id = id;
        self
    }

    /// The code.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The message as JSON text. Without an id the member is left out: null is not valid in any
    /// revision of MCP.
    pub fn to_json(&self) -> String {
        let error = Value::Object(without_nulls(
            json!({ "code": self.code, "message": self.message, "data": self.data }),
        ));
        match &self.id {
            Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
        }
    }
}
