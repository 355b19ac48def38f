//! Protocol errors: every code that this server sends, as a constructor.

use super::Id;
use serde_json::{Value, json};

/// A JSON-RPC error. A tool's own failure is never one: it is a result that a model can read.
#[derive(Debug, Clone)]
pub struct Error {
    code: i32,
    message: String,
    data: Option<Value>,
    id: Option<Id>,
}

impl Error {
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
        Error::new(-32601, format!("Method not found: {shown}"))
    }

    /// -32602.
    pub fn invalid_params(why: impl Into<String>) -> Error {
        Error::new(-32602, why)
    }

    /// -32603: a mistake of this server; the log has more.
    pub fn internal() -> Error {
        Error::new(-32603, "Internal error")
    }

    /// -32002, legacy era: no resource of this URI.
    pub fn resource_not_found(uri: &str) -> Error {
        Error { data: Some(json!({ "uri": uri })), ..Error::new(-32002, "Resource not found") }
    }

    /// -32600 for a protocol version of the header that is not spoken here. Not one of the modern era's codes: those
    /// would tell a client that probes for the modern era that it has found it.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Error {
        let requested: String = requested.chars().take(64).collect();
        let message = format!("Invalid request: MCP-Protocol-Version {requested} is not supported; supported: {}", supported.join(", "));
        Error::new(-32600, message)
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

    /// The id of the request it answers.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The message as JSON text. Without an id the member is left out: null is not valid in any revision of MCP.
    pub fn to_json(&self) -> String {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".into(), data.clone());
        }
        match &self.id {
            Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
        }
    }
}
