//! `tools/list` and `tools/call`: a tool's value on one side, the wire on the other.

use super::progress::Progress;
use super::{Answer, Caller, Server};
use crate::change::commits::Author;
use crate::clock;
use crate::limits;
use crate::object::without_nulls;
use crate::principal::{Access, Principal};
use crate::rpc::{Error, Request};
use crate::tools::{self, Arguments, Code, Context, Effect, Fact, Reply, Tool};
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Paths in the log line of one call.
const LOGGED_PATHS: usize = 10;

impl Server {
    pub(super) fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name == name).copied()
    }

    /// The tools offered to a login, even those it lacks the access to call.
    pub(super) fn tools_for(&self, principal: &Principal) -> impl Iterator<Item = &'static Tool> {
        if principal.folders.is_none() { &self.tools } else { &self.tools_of_folders }
            .iter()
            .copied()
    }

    /// The access that a request needs and its caller lacks. Checked before anything is done or
    /// streamed: over HTTP the answer is a 403, with which a client can log in again for more.
    pub fn missing_access(&self, principal: &Principal, request: &Request) -> Option<Access> {
        let needs = self.called_tool(principal, request)?.needs();
        (needs > principal.access).then_some(needs)
    }

    /// The tool that a request calls, if the login is offered it.
    fn called_tool(&self, principal: &Principal, request: &Request) -> Option<&'static Tool> {
        let name = request.text("name").ok().filter(|_| request.method == "tools/call")?;
        self.tools_for(principal).find(|tool| tool.name == name)
    }

    /// The log line of a call that its login does not allow.
    pub(super) fn log_refused_call(&self, caller: &Caller<'_>, request: &Request) {
        let Some(tool) = self.called_tool(caller.principal, request) else { return };
        let paths = request.arguments().map(|arguments| logged_paths(tool, &arguments));
        let (principal, paths) = (caller.principal, paths.unwrap_or_default());
        log::warn!("tool={} {principal}{paths} outcome=insufficient_scope", tool.name);
    }
}

/// `tools/list`: the tools that the caller may use, in one page, always in the same order.
///
/// # Errors
/// -32602 for a cursor, since there is never a second page.
pub fn list(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    request.no_cursor()?;
    let principal = caller.principal;
    let pushes = server.systems.commits.is_some();
    let tools = server.tools_for(principal).filter(|tool| tool.needs() <= principal.access);
    let tools: Vec<Value> = tools.map(|tool| tool.listing(pushes)).collect();
    Ok(Answer::Result(json!({ "tools": tools }).to_string()))
}

/// `tools/call`. What a model can correct is a result marked as an error; only a malformed call is
/// -32602.
///
/// # Errors
/// -32602 for an unknown tool or malformed parameters, -32603 when the tool panicked.
pub fn call(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let name = request.text("name")?;
    let arguments = request.arguments()?;
    let tool = server.called_tool(caller.principal, request).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        Error::invalid_params(format!("Unknown tool: {shown}"))
    })?;
    let paths = logged_paths(tool, &arguments);
    let named: Vec<String> =
        paths_of(tool, &arguments).take(limits::NOTES_PER_CALL).map(str::to_owned).collect();
    let started = clock::instant();
    let progress = Progress::of(caller, request);
    let (principal, is_committed) = (caller.principal, server.systems.commits.is_some());
    let author = if is_committed { Author::committing } else { Author::new };
    let author = Arc::new(author(&principal.login, tool.name).of_user(&principal.subject));
    let store = server.store_of(caller.principal).on_behalf_of(&author);
    let context = server.context(caller, &store, &progress);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let arguments = Arguments::check(tool.name, tool.input, arguments)?;
        let takes_turns =
            tool.effect != Effect::Reads && !tool.facts.contains(&Fact::CommitsItself);
        let busy = |why: String| {
            let words = format!(
                "Another call is still committing its changes; nothing was done. Try again. ({why})"
            );
            tools::Error::new(Code::Conflict, words)
        };
        let commits = context.systems.commits.as_ref().filter(|_| takes_turns);
        let _turn = commits
            .map(|commits| commits.begin(&|| context.requester.has_cancelled()).map_err(busy))
            .transpose()?;
        let reply = (tool.run)(&context, &arguments)
            .map_err(|error| context.or_moved(error, named.iter().map(String::as_str)))?;
        with_commit(reply, &context, &author, &named)
    }));
    let code = match &outcome {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.code),
        Err(_) => Some(Code::InternalError),
    };
    log_call(tool, caller.principal, &paths, code, started);
    match outcome {
        Ok(Ok(reply)) => Ok(Answer::Result(success(&reply))),
        Ok(Err(error)) => Ok(Answer::Result(failure(&error))),
        Err(_) => Err(Error::internal()),
    }
}

/// Commits and pushes the files that a tool has changed in a repository, and adds that to its
/// result. The message has one of the paths that the call names, if such a file was changed. The
/// change stands even if git refuses, which is reported in addition.
///
/// # Errors
/// `CONFLICT` if the remote had changed one of the files too: then the change is taken back.
fn with_commit(
    reply: Reply,
    context: &Context<'_>,
    author: &Author,
    named: &[String],
) -> Result<Reply, tools::Error> {
    let changed = author.changed();
    let (Some(commits), Some(first)) = (&context.systems.commits, changed.first()) else {
        return Ok(reply);
    };
    let first = named.iter().find(|path| changed.contains(path)).unwrap_or(first);
    let others =
        if changed.len() > 1 { format!(" and {} more", changed.len() - 1) } else { String::new() };
    // What git says may name other files.
    let shown = |trouble: String| match context.principal.folders {
        None => trouble,
        Some(_) => "the owner finds the reason in the log".into(),
    };
    let summary = format!("{}: {first}{others}", author.tool);
    let committed = commits
        .commit(&summary, author)
        .map_err(|words| tools::Error::new(Code::Conflict, shown(words)))?;
    Ok(reply.with_members(without_nulls(json!({
        "commit_sha": committed.commit,
        "pushed": committed.pushed,
        "git_error": committed.trouble.map(shown),
    }))))
}

/// The paths that a call of a tool names, without headings.
fn paths_of<'a>(tool: &Tool, arguments: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let fields = tool.input.iter().filter(|field| field.names_files);
    let named = fields
        .filter_map(|field| arguments.get(field.name).or_else(|| arguments.get(field.alias?)));
    let texts = named
        .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
        .filter_map(Value::as_str);
    texts.filter_map(|text| text.split('#').next()).filter(|path| !path.is_empty())
}

/// The first [`LOGGED_PATHS`] of [`paths_of`], as the log line of a call shows them.
fn logged_paths(tool: &Tool, arguments: &Map<String, Value>) -> String {
    let shown = |path: &str| format!(" path={:?}", path.chars().take(300).collect::<String>());
    paths_of(tool, arguments).take(LOGGED_PATHS).map(shown).collect()
}

/// The one log line of a call. Paths are in it, texts and queries are not.
fn log_call(
    tool: &Tool,
    principal: &Principal,
    paths: &str,
    failed: Option<Code>,
    started: Instant,
) {
    let outcome = failed.map_or("ok", Code::as_str);
    let ms = (started.elapsed().as_secs_f64() * 10_000.0).round() / 10.0;
    log::info!("tool={} {principal}{paths} outcome={outcome} ms={ms}", tool.name);
}

fn success(reply: &Reply) -> String {
    match reply {
        Reply::Structured(json) => {
            format!(
                r#"{{"content":[{}],"structuredContent":{json},"isError":false}}"#,
                text_block(json)
            )
        }
        Reply::Document(text) => format!(r#"{{"content":[{}],"isError":false}}"#, text_block(text)),
        // First, because some clients show the first block alone.
        Reply::Media { block, about } => {
            format!(r#"{{"content":[{block},{}],"isError":false}}"#, text_block(about))
        }
    }
}

fn failure(error: &tools::Error) -> String {
    format!(r#"{{"content":[{}],"isError":true}}"#, text_block(&error.to_json()))
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, Value::from(text))
}
