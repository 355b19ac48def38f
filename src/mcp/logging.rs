//! `logging/setLevel` (legacy revisions, "Logging"). The server sends no log messages to clients,
//! which the revisions allow; its log has a line for each call.

use super::modern::LEVELS;
use super::{Answer, Caller, Server};
use crate::rpc::{Error, Request};

/// # Errors
/// -32602 for a level that does not exist.
pub fn set_level(_: &Server, _: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    if !LEVELS.contains(&request.text("level")?) {
        return Err(Error::invalid_params(format!(
            "params.level must be one of: {}",
            LEVELS.join(", ")
        )));
    }
    Ok(Answer::Result("{}".into()))
}
