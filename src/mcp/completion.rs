//! `completion/complete`: what an argument of a prompt, or the path of the resource template, could
//! become.

use super::resources::TEMPLATE;
use super::{Answer, Caller, Server, internal_error};
use crate::rpc::{Error, Request};
use crate::search::complete::CompletionKind;
use crate::tools::reply::fitting;
use serde_json::{Value, json};

/// Completions in one answer (MCP, "Completion").
const COMPLETIONS: usize = 100;

/// `completion/complete`. A prompt, template or argument that does not exist has no completions,
/// and is not an error: clients ask while a person types.
///
/// # Errors
/// -32602 for malformed parameters, -32603 when the vault cannot be read.
pub fn complete(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let at = |outer: &str, inner: &str| {
        request.params.get(outer).and_then(|outer| outer.get(inner)).and_then(Value::as_str)
    };
    let missing = |what: &str| Error::invalid_params(format!("params.{what} must be a string"));
    let argument = at("argument", "name").ok_or_else(|| missing("argument.name"))?;
    let typed = at("argument", "value").ok_or_else(|| missing("argument.value"))?;
    let completed_from = match at("ref", "type") {
        Some("ref/resource") => {
            let uri = at("ref", "uri").ok_or_else(|| missing("ref.uri"))?;
            (uri == TEMPLATE && argument == "path").then_some(CompletionKind::Path)
        }
        Some("ref/prompt") => {
            let name = at("ref", "name").ok_or_else(|| missing("ref.name"))?;
            let prompt = server.prompts_for(caller.principal).find(|prompt| prompt.name == name);
            prompt
                .filter(|prompt| prompt.argument.name == argument)
                .map(|prompt| prompt.completed_from)
        }
        _ => {
            return Err(Error::invalid_params(
                "params.ref.type must be ref/prompt or ref/resource",
            ));
        }
    };
    let Some(completed_from) = completed_from else {
        return Ok(Answer::Result(json!({ "completion": { "values": [] } }).to_string()));
    };
    let (found, total) = server
        .store_of(caller.principal)
        .search()
        .complete(completed_from, typed, COMPLETIONS)
        .map_err(|error| internal_error("completion/complete", error))?;
    let values = fitting(found.into_iter());
    let more = total > values.len();
    Ok(Answer::Result(
        json!({ "completion": { "values": values, "total": total, "hasMore": more } }).to_string(),
    ))
}
