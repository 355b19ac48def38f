//! `logging/setLevel` (legacy revisions, "Logging"). The server sends no log messages to clients, which the revisions allow; its log
//! has a line for each call.

use super::call::{Answer, Call};
use crate::rpc::Error;

/// The severity of a message (RFC 5424), least first.
pub const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// # Errors
/// -32602 for a level that does not exist.
pub fn set_level(call: &Call<'_>) -> Result<Answer, Error> {
    if !LEVELS.contains(&call.text("level")?) {
        return Err(Error::invalid_params(format!("params.level must be one of: {}", LEVELS.join(", "))));
    }
    Ok(Answer::Result("{}".into()))
}
