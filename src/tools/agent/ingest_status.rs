//! `ingest_status`: how far a job is, and what came of it.

use super::{JOB_ID, STATUS, agent, job, job_members, job_summary, reply};
use crate::tools::schema::{ANY_TEXT, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::{Map, Value};

pub(super) static TOOL: Tool = Tool {
    name: "ingest_status",
    title: "See how far an ingest is",
    description: "Says how far a background ingest is, and when it has ended its result or error; \
                  to begin one use ingest with background. Without a job_id it lists your jobs. \
                  Ask every half minute or so.",
    effect: Effect::Reads,
    facts: &[],
    input: &[optional("job_id", ANY_TEXT, JOB_ID)],
    output: &STATUS,
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    if let Some(id) = arguments.maybe("job_id") {
        let job = job(context, id)?;
        return reply(job_members(&job, &job.view()));
    }
    let jobs = agent(context)?.jobs_of(&context.principal.key());
    let jobs: Vec<Value> = jobs.iter().map(|job| job_summary(job, &job.view()).into()).collect();
    reply(Map::from_iter([("jobs".to_owned(), jobs.into())]))
}
