//! `ingest_cancel`: ends a job.

use super::{JOB_ID, STATUS, job, job_members, reply};
use crate::limits;
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "ingest_cancel",
    title: "End an ingest",
    description: "Ends a background ingest and says what it had written until then, which stays; \
                  to see how far it is use ingest_status. One that has ended already stays as it \
                  is.",
    effect: Effect::Sets { idempotent: true },
    facts: &[Fact::CommitsItself],
    input: &[required("job_id", ANY_TEXT, JOB_ID)],
    output: &STATUS,
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let job = job(context, arguments.text("job_id"))?;
    job.cancel();
    job.has_ended_within(limits::AGENT_CANCEL_WAIT);
    reply(job_members(&job, &job.view()))
}
