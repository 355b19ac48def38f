//! Messages to the other side, as JSON text.

use super::Id;

/// The answer to a request. `result` is JSON.
pub fn result(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A notification without parameters.
pub fn notification(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}
