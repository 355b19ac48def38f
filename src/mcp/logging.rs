//! `logging/setLevel` (legacy revisions, "Logging"). The server sends no log messages to clients,
//! which the revisions allow; its log has a line for each call.

use super::call::{Answer, Call};
use super::modern::LEVELS;
use crate::rpc::Error;

/// # Errors
/// -32602 for a level that does not exist.
pub fn set_level(call: &Call<'_>) -> Result<Answer, Error> {
    if !LEVELS.contains(&call.text("level")?) {
        return Err(Error::invalid_params(format!(
            "params.level must be one of: {}",
            LEVELS.join(", ")
        )));
    }
    Ok(Answer::Result("{}".into()))
}
