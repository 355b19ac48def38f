//! Toolset `agent`: material filed into a wiki, and questions answered from it, by confined Claude Code sessions.

mod ingest;
mod ingest_cancel;
mod ingest_status;
mod query;

use super::error::{Code, Error};
use super::schema::{ANY_TEXT, COUNT, Field, Shape, optional, required};
use super::{Arguments, Caller, Context, Reply, Tool};
use crate::agent::ingest::Ingested;
use crate::agent::job::{Job, JobView};
use crate::agent::{Agent, Failure, Filed, Page, SoFar, Status, Wanted, Watcher};
use crate::limits;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::sync::Arc;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 4] = [&ingest::TOOL, &query::TOOL, &ingest_status::TOOL, &ingest_cancel::TOOL];

const JOB_ID: &str = "The id that ingest gave";
const TEXTS: Shape = Shape::List(&ANY_TEXT);
const DOMAIN: &str = "The tree it belongs to, if you know";

/// The members of a job; what is not known yet, or does not exist, is left out.
const JOB: [Field; 8] = [
    required("job_id", ANY_TEXT, ""),
    required("status", Shape::OneOf(&Status::NAMES), ""),
    optional("doing about model summary begun", ANY_TEXT, ""),
    optional("queue_place turns duration_ms denied", COUNT, ""),
    optional("perDomain commit error", Shape::Anything, ""),
    optional(
        "sourcesCreated pagesResynthesized contradictions boardRefsRecorded not_found left_out filed_before remote_images refused",
        TEXTS,
        "",
    ),
    optional("written conflicts", Shape::List(&Shape::Anything), ""),
    optional("cost_usd", Shape::Number, "In dollars; missing where the session was ended before it said so"),
];
/// The members of a job that has not ended, and of a list of jobs; the others are those of [`JOB`].
const STATUS: [Field; 4] = [
    optional("job_id status doing", ANY_TEXT, ""),
    optional("queue_place", COUNT, ""),
    optional("error", Shape::Anything, ""),
    optional("jobs", Shape::List(&Shape::Anything), "Your jobs, newest first, where none was named"),
];

/// What a call may ask for in the place of the configured route; [`wanted`] reads it.
const MODEL: Field = optional("model", Shape::Text { max: limits::AGENT_DESCRIPTION_CHARS }, "One of the configured models");
const MAX_TURNS: Field =
    optional("max_turns", Shape::Integer { min: 1, max: 1_000, outside: Code::InvalidArgument }, "Fewer turns than configured");
const TIMEOUT_MS: Field =
    optional("timeout_ms", Shape::Integer { min: 1_000, max: 3_600_000, outside: Code::InvalidArgument }, "Less time than configured");

fn wanted(arguments: &Arguments) -> Wanted {
    let number = |name: &str| arguments.has(name).then(|| arguments.number(name));
    Wanted {
        model: arguments.maybe("model").map(str::to_owned),
        max_turns: number("max_turns"),
        timeout_ms: number("timeout_ms").map(|number| number as u64),
    }
}

fn agent<'a>(context: &Context<'a>) -> Result<&'a Arc<Agent>, Error> {
    context.systems.agent.as_ref().ok_or_else(|| Error::new(Code::InternalError, "toolset agent has no sessions"))
}

/// The caller of a tool follows the session.
struct Listening<'a> {
    caller: &'a dyn Caller,
    reports: Cell<u64>,
}

impl<'a> Listening<'a> {
    fn of(context: &Context<'a>) -> Listening<'a> {
        Listening { caller: context.caller, reports: Cell::new(0) }
    }
}

impl Watcher for Listening<'_> {
    fn has_cancelled(&self) -> bool {
        self.caller.has_cancelled()
    }

    fn report(&self, _so_far: &SoFar, doing: &str) {
        self.reports.set(self.reports.get() + 1);
        self.caller.progress(self.reports.get(), None, doing);
    }
}

/// A failure as a tool's, with what was done until then.
fn failed(failure: &Failure) -> Error {
    let code = match failure {
        Failure::Argument(_) => Code::InvalidArgument,
        Failure::NotAllowed(_) => Code::PathNotAllowed,
        Failure::Failed(..) => Code::AgentFailed,
        Failure::TimedOut(..) => Code::AgentTimeout,
        Failure::Cancelled(_) => Code::Cancelled,
    };
    let error = Error::new(code, failure.words());
    let Some(so_far) = failure.so_far() else { return error };
    let error = so_far.cost_usd.into_iter().fold(error, |error, cost| error.with("cost_usd", cost)).with("turns", so_far.turns);
    filed_members(&so_far.filed).into_iter().fold(error, |error, (name, value)| error.with(name, value))
}

/// What the vault has of a session; what is empty is left out.
fn filed_members(filed: &Filed) -> Vec<(&'static str, Value)> {
    let commit = filed.commit.as_ref().map_or(Value::Null, |commit| {
        without_nulls(json!({ "commit_sha": commit.commit, "pushed": commit.pushed, "git_error": commit.trouble, "left": commit.left }))
    });
    let left_out: Vec<&String> = filed.left_out.iter().take(limits::AGENT_WRITTEN).collect();
    let conflicts: Vec<Value> = filed.conflicts.iter().take(limits::AGENT_WRITTEN).map(|conflict| json!(conflict)).collect();
    let members = [
        ("written", written(&filed.pages)),
        ("conflicts", conflicts.into()),
        ("left_out", json!(left_out)),
        ("remote_images", json!(filed.remote_images)),
        ("commit", commit),
    ];
    members.into_iter().filter(|(_, value)| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())).collect()
}

fn without_nulls(mut value: Value) -> Value {
    value.as_object_mut().into_iter().for_each(|members| members.retain(|_, value| !value.is_null()));
    value
}

fn written(pages: &[Page]) -> Value {
    let mut left = limits::AGENT_WRITTEN_BYTES;
    let fits = |page: &&Page| {
        let fits = page.path.len() <= left;
        left = left.saturating_sub(page.path.len());
        fits
    };
    let shown = pages.iter().take(limits::AGENT_WRITTEN).take_while(fits);
    shown.map(|page| json!({ "path": page.path, "created": page.created })).collect()
}

/// A job as a result has it.
fn job_members(job: &Job, seen: &JobView) -> Map<String, Value> {
    let mut members = match seen.outcome.as_deref() {
        Some(Ok(ingested)) => result(ingested),
        Some(Err(failure)) => {
            let error = failed(failure);
            Map::from_iter([("error".to_owned(), json!({ "code": error.code.as_str(), "message": error.message }))])
        }
        None => Map::new(),
    };
    let mut add = |name: &str, value: Value| {
        members.entry(name).or_insert(value);
    };
    add("job_id", job.id.as_str().into());
    add("status", seen.status.name().into());
    add("begun", job.begun.rfc3339().into());
    add("about", job.about.as_str().into());
    add("model", job.model.as_str().into());
    filed_members(&seen.so_far.filed).into_iter().for_each(|(name, value)| add(name, value));
    add("written", json!([]));
    add("turns", seen.so_far.turns.into());
    add("duration_ms", (seen.took.as_millis() as u64).into());
    if let Some(cost) = seen.so_far.cost_usd {
        add("cost_usd", cost.into());
    }
    if let Some(ahead) = seen.so_far.ahead {
        add("queue_place", ahead.into());
    }
    if !seen.doing.is_empty() {
        add("doing", seen.doing.as_str().into());
    }
    members
}

fn result(ingested: &Ingested) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    add("perDomain", ingested.per_domain.clone().into());
    add("sourcesCreated", ingested.sources_created.clone().into());
    add("pagesResynthesized", ingested.pages_resynthesized.clone().into());
    add("contradictions", ingested.contradictions.clone().into());
    add("boardRefsRecorded", ingested.board_refs_recorded.clone().into());
    add("summary", ingested.summary.as_str().into());
    add("duration_ms", (ingested.so_far.took.as_millis() as u64).into());
    add("denied", ingested.so_far.refused.len().into());
    add("refused", ingested.so_far.refused.clone().into());
    if !ingested.filed_before.is_empty() {
        add("filed_before", ingested.filed_before.clone().into());
    }
    if !ingested.not_found.is_empty() {
        add("not_found", ingested.not_found.clone().into());
    }
    members
}

fn job(context: &Context<'_>, id: &str) -> Result<Arc<Job>, Error> {
    agent(context)?.job(&context.principal.key(), id).ok_or_else(|| {
        let known: Vec<String> = agent(context)
            .map(|agent| agent.jobs_of(&context.principal.key()))
            .unwrap_or_default()
            .iter()
            .take(5)
            .map(|job| job.id.clone())
            .collect();
        let known = if known.is_empty() { "You have none at the moment".to_owned() } else { format!("Yours: {}", known.join(", ")) };
        Error::new(
            Code::InvalidArgument,
            format!("Argument job_id names no job of yours. {known}. Jobs end with the server; what they had written stays in the vault."),
        )
    })
}

fn reply(members: Map<String, Value>) -> Result<Reply, Error> {
    Reply::of(&Value::Object(members))
}
