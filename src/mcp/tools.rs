//! `tools/list` and `tools/call`: a tool's value on one side, the wire on the other.

use super::methods::{Answer, Call};
use crate::clock;
use crate::principal::Principal;
use crate::rpc::Error;
use crate::tools::{self, Arguments, Code, Context, Reply, Tool};
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// `tools/list`: the tools that the caller may use, in one page, always in the same order.
///
/// # Errors
/// -32602 for a cursor, since there is never a second page.
pub fn list(call: &Call<'_>) -> Result<Answer, Error> {
    if call.cursor()?.is_some_and(|cursor| !cursor.is_empty()) {
        return Err(Error::invalid_params("Unknown cursor"));
    }
    let access = call.exchange.principal.access;
    let tools: Vec<Value> = call.server.tools.iter().filter(|tool| tool.needs() <= access).map(|tool| tool.listing()).collect();
    Ok(Answer::Result(json!({ "tools": tools }).to_string()))
}

/// `tools/call`. What a model can put right is a result marked as an error; only a call that is not one is -32602.
///
/// # Errors
/// -32602 for an unknown tool or malformed parameters, -32603 when the tool panicked.
pub fn call(call: &Call<'_>) -> Result<Answer, Error> {
    let name = call.text("name")?;
    let arguments = match call.params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(Error::invalid_params("params.arguments must be an object")),
    };
    let Some(tool) = call.server.tools.iter().find(|tool| tool.name == name) else {
        let shown: String = name.chars().take(64).collect();
        return Err(Error::invalid_params(format!("Unknown tool: {shown}")));
    };
    let principal = call.exchange.principal;
    if tool.needs() > principal.access {
        log::warn!("tool={name} {principal} outcome=insufficient_scope");
        return Ok(Answer::Forbidden(tool.needs()));
    }
    let path = arguments.get("path").and_then(Value::as_str).map(|path| path.chars().take(300).collect::<String>());
    let started = clock::instant();
    let context = Context { vault: &call.server.vault, read_lines: call.server.read_lines, cancelled: call.cancelled };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let arguments = Arguments::check(tool.input, arguments)?;
        (tool.run)(&context, &arguments)
    }));
    let Ok(outcome) = outcome else {
        told(tool, principal, path.as_deref(), Code::InternalError.as_str(), started);
        return Err(Error::internal());
    };
    told(tool, principal, path.as_deref(), outcome.as_ref().err().map_or("ok", |error| error.code.as_str()), started);
    Ok(Answer::Result(match outcome {
        Ok(reply) => success(&reply),
        Err(error) => failure(&error),
    }))
}

/// The one log line of a call. Paths are in it, texts and queries are not.
fn told(tool: &Tool, principal: &Principal, path: Option<&str>, outcome: &str, started: Instant) {
    let path = path.map(|path| format!(" path={path:?}")).unwrap_or_default();
    log::info!("tool={} {principal}{path} outcome={outcome} ms={:.1}", tool.name, started.elapsed().as_secs_f64() * 1000.0);
}

/// The structured result, and the same JSON as text for clients that know only that (MCP, "Structured Content").
fn success(reply: &Reply) -> String {
    let text = quoted(&reply.json);
    let blocks: String =
        reply.blocks.iter().filter_map(|block| serde_json::to_string(block).ok()).map(|block| format!(",{block}")).collect();
    format!(r#"{{"content":[{{"type":"text","text":{text}}}{blocks}],"structuredContent":{},"isError":false}}"#, reply.json)
}

fn failure(error: &tools::Error) -> String {
    format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(&error.to_json()))
}

fn quoted(text: &str) -> String {
    // Any str can be written as a JSON string.
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".into())
}
