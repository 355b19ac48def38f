//! `prompts/list` and `prompts/get`: a prompt's value on one side, the wire on the other.

use super::progress::Progress;
use super::{Answer, Caller, Server, internal_error};
use crate::principal::Principal;
use crate::prompts::{Content, Prompt};
use crate::rpc::{Error, Request};
use crate::tools::{Code, Field};
use crate::uri;
use serde_json::{Value, json};

impl Server {
    /// The prompts whose tools the caller may use.
    pub(super) fn prompts_for(
        &self,
        principal: &Principal,
    ) -> impl Iterator<Item = &'static Prompt> {
        let mine = |prompt: &&'static Prompt| {
            prompt.needs <= principal.access
                && Server::is_for(principal, *prompt, crate::prompts::of)
        };
        self.prompts.iter().copied().filter(mine)
    }
}

/// `prompts/list`: the prompts whose tools the caller may use, in one page.
///
/// # Errors
/// -32602 for a cursor, since there is never a second page.
pub fn list(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    request.no_cursor()?;
    let prompts: Vec<Value> = server.prompts_for(caller.principal).map(listing).collect();
    Ok(Answer::Result(json!({ "prompts": prompts }).to_string()))
}

fn listing(prompt: &Prompt) -> Value {
    let Field { name, about, required, .. } = prompt.argument;
    json!({
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
        "arguments": [{ "name": name, "description": about, "required": required }],
    })
}

/// `prompts/get`: the messages for the model, with the notes they are about.
///
/// # Errors
/// -32602 for an unknown prompt or wrong arguments, -32603 when the vault cannot be read.
pub fn get(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let name = request.text("name")?;
    let Some(prompt) = server.prompts_for(caller.principal).find(|prompt| prompt.name == name)
    else {
        let shown: String = name.chars().take(64).collect();
        return Err(Error::invalid_params(format!("Unknown prompt: {shown}")));
    };
    let sent = request.arguments()?;
    let progress = Progress::of(caller, request);
    let store = server.store_of(caller.principal);
    let context = server.context(caller, &store, &progress);
    let contents =
        prompt.argument_of(sent).and_then(|argument| (prompt.run)(&context, argument.as_deref()));
    let contents = contents.map_err(|error| match error.code {
        Code::ReadError | Code::WriteError | Code::InternalError => {
            internal_error("prompts/get", error.message)
        }
        _ => Error::invalid_params(error.message),
    })?;
    let messages: Vec<Value> = contents
        .iter()
        .map(|content| json!({ "role": "user", "content": block(content) }))
        .collect();
    Ok(Answer::Result(
        json!({ "description": prompt.description, "messages": messages }).to_string(),
    ))
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Note { path, text, media_type } => {
            json!({ "type": "resource", "resource": { "uri": uri::of_path(path.as_str()), "mimeType": media_type, "text": text } })
        }
    }
}
