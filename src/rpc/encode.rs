//! Messages to the other side, as JSON text.

use super::{Id, Params};
use serde_json::Value;

/// The answer to a request. `result` is JSON.
pub fn result(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A notification; without parameters if they are empty.
pub fn notification(method: &str, params: &Params) -> String {
    if params.is_empty() {
        return format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
    }
    let params = Value::Object(params.clone());
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}
