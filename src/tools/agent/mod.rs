//! Toolset `agent`: material filed into a wiki, and questions answered from it, by confined Claude
//! Code sessions.

mod ingest;
mod ingest_cancel;
mod ingest_status;
mod query;

use super::error::{Code, Error};
use super::schema::{ANY_TEXT, COUNT, Field, Shape, optional, required};
use super::{Context, Reply, Requester, Tool};
use crate::agent::job::{Job, JobState, STATUSES};
use crate::agent::{Agent, Failure, Filed, Progress, Watcher};
use crate::limits;
use crate::object::without_nulls;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::sync::Arc;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 4] =
    [&ingest::TOOL, &query::TOOL, &ingest_status::TOOL, &ingest_cancel::TOOL];

const JOB_ID: &str = "The id that ingest gave";
const TEXTS: Shape = Shape::List(&ANY_TEXT);
const DOMAIN: &str = "The tree it belongs to, if you know";

/// The members of a job; what is not known yet, or does not exist, is left out.
const JOB: [Field; 8] = [
    required("job_id", ANY_TEXT, ""),
    required("status", Shape::OneOf(&STATUSES), ""),
    optional("doing about summary begun", ANY_TEXT, ""),
    optional("turns duration_ms denied", COUNT, ""),
    optional("perDomain commit error", Shape::AnyObject, ""),
    optional(
        "sourcesCreated pagesResynthesized contradictions boardRefsRecorded left_out refused",
        TEXTS,
        "",
    ),
    optional("written conflicts", Shape::List(&Shape::AnyObject), ""),
    optional(
        "cost_usd",
        Shape::Number,
        "In dollars; missing where the session was ended before it said so",
    ),
];
/// The members of a job that has not ended, and of a list of jobs; the others are those of [`JOB`].
const STATUS: [Field; 3] = [
    optional("job_id status doing", ANY_TEXT, ""),
    optional("error", Shape::AnyObject, ""),
    optional(
        "jobs",
        Shape::List(&Shape::AnyObject),
        "Your jobs, newest first, where none was named",
    ),
];

fn agent<'a>(context: &Context<'a>) -> Result<&'a Arc<Agent>, Error> {
    context
        .systems
        .agent
        .as_ref()
        .ok_or_else(|| Error::new(Code::InternalError, "toolset agent has no sessions"))
}

/// Reports what a session does to the caller of the tool.
struct Listening<'a> {
    requester: &'a dyn Requester,
    reports: Cell<u64>,
}

impl<'a> Listening<'a> {
    fn of(context: &Context<'a>) -> Listening<'a> {
        Listening { requester: context.requester, reports: Cell::new(0) }
    }
}

impl Watcher for Listening<'_> {
    fn has_cancelled(&self) -> bool {
        self.requester.has_cancelled()
    }

    fn report(&self, _progress: &Progress, doing: &str) {
        self.reports.set(self.reports.get() + 1);
        self.requester.progress(self.reports.get(), None, doing);
    }
}

/// A failure as the tool's error, with what was done until then.
fn failed(failure: &Failure, progress: &Progress) -> Error {
    let code = match failure {
        Failure::Argument(_) => Code::InvalidArgument,
        Failure::NotAllowed(_) => Code::PathNotAllowed,
        Failure::Failed(_) => Code::AgentFailed,
        Failure::TimedOut(_) => Code::AgentTimeout,
        Failure::Cancelled => Code::Cancelled,
    };
    let error = Error::new(code, failure.words());
    if matches!(failure, Failure::Argument(_) | Failure::NotAllowed(_)) {
        return error;
    }
    let error = progress
        .cost_usd
        .into_iter()
        .fold(error, |error, cost| error.with("cost_usd", cost))
        .with("turns", progress.turns);
    filed_members(&progress.filed)
        .into_iter()
        .fold(error, |error, (name, value)| error.with(&name, value))
}

/// A failure before anything was begun.
fn refused(failure: Failure) -> Error {
    failed(&failure, &Progress::default())
}

/// What a session has left in the vault; empty members are left out.
fn filed_members(filed: &Filed) -> Map<String, Value> {
    let commit = filed.commit.as_ref().map(|commit| {
        without_nulls(json!({ "commit_sha": commit.commit, "pushed": commit.pushed, "git_error": commit.trouble }))
    });
    let mut members = without_nulls(json!({
        "written": filed.shown().take(limits::AGENT_WRITTEN).collect::<Vec<_>>(),
        "conflicts": filed.conflicts.iter().take(limits::AGENT_WRITTEN).collect::<Vec<_>>(),
        "left_out": filed.left_out.iter().take(limits::AGENT_WRITTEN).collect::<Vec<_>>(),
        "commit": commit,
    }));
    members.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    members
}

/// A job as an entry of a list.
fn job_summary(job: &Job, seen: &JobState) -> Map<String, Value> {
    let progress = &seen.progress;
    without_nulls(json!({
        "job_id": job.id,
        "status": seen.status(),
        "begun": job.begun.rfc3339(),
        "about": job.about,
        "turns": progress.turns,
        "duration_ms": seen.took.as_millis() as u64,
        "cost_usd": progress.cost_usd,
        "doing": Some(&seen.doing).filter(|doing| !doing.is_empty()),
    }))
}

/// A job as the members of a result.
fn job_members(job: &Job, seen: &JobState) -> Map<String, Value> {
    let progress = &seen.progress;
    let refused =
        Some(&progress.refused).filter(|_| matches!(seen.outcome.as_deref(), Some(Ok(_))));
    let mut members = job_summary(job, seen);
    members.extend(without_nulls(
        json!({ "written": [], "denied": refused.map(Vec::len), "refused": refused }),
    ));
    members.extend(filed_members(&progress.filed));
    members.extend(match seen.outcome.as_deref() {
        Some(Ok(ingested)) => without_nulls(json!(ingested)),
        Some(Err(failure)) => {
            let error = failed(failure, progress);
            without_nulls(
                json!({ "error": { "code": error.code.as_str(), "message": error.message } }),
            )
        }
        None => Map::new(),
    });
    members
}

fn job(context: &Context<'_>, id: &str) -> Result<Arc<Job>, Error> {
    let jobs = agent(context)?.jobs_of(&context.principal.key());
    jobs.iter().find(|job| job.id == id).cloned().ok_or_else(|| {
        let known: Vec<&str> = jobs.iter().take(5).map(|job| job.id.as_str()).collect();
        let known = if known.is_empty() {
            "You have none at the moment".to_owned()
        } else {
            format!("Yours: {}", known.join(", "))
        };
        Error::new(
            Code::InvalidArgument,
            format!(
                "Argument job_id names no job of yours. {known}. Jobs end with the server: if it \
                 was restarted, look what was filed, and give the rest again."
            ),
        )
    })
}

fn reply(members: Map<String, Value>) -> Result<Reply, Error> {
    Reply::of(&Value::Object(members))
}
