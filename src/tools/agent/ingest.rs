//! `ingest`: material, filed into the wiki by a session.

use super::{DOMAIN, JOB, Listening, agent, failed, job_members, reply};
use crate::agent::ingest::{DOMAINS, Request};
use crate::limits;
use crate::tools::schema::{Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "ingest",
    title: "File material into the wiki",
    description: "Files material (a mail, a transcript, a document) into the vault's wiki by a session of its own: a source page, and \
        every page that it touches, written anew; to only add a note use vault_write. Takes minutes and costs money, so put \
        what belongs together into one call. If your calls time out before that, set background and ask ingest_status. The \
        same call again joins the one that is running. Knowledge only: no tasks, no dates to keep.",
    effect: Effect::Replaces { idempotent: false },
    reaches_out: true,
    input: &[
        required("content", Shape::Text { max: limits::AGENT_CONTENT_CHARS }, "The material as text; may be empty if there are files"),
        optional(
            "files",
            Shape::List(&Shape::Text { max: limits::PATH_BYTES }),
            "Files that belong to it: paths in the vault, or absolute paths on the server in an allowed folder",
        ),
        optional("domain", Shape::OneOf(&DOMAINS), DOMAIN),
        optional(
            "cases",
            Shape::List(&Shape::Text { max: limits::AGENT_CASE_CHARS }),
            "Cases of your board that it belongs to, each with id and title, for example CASE-12 — New boiler; they are recorded as they are",
        ),
        defaulted("background", Shape::Flag, Default::Flag(false), "Answer with a job_id at once, and go on"),
    ],
    output: &JOB,
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let texts = |name: &str| arguments.texts(name).map(str::to_owned).collect();
    let request = Request {
        content: arguments.text("content").to_owned(),
        files: texts("files"),
        domain: arguments.maybe("domain").map(str::to_owned),
        cases: texts("cases"),
    };
    let (agent, background) = (agent(context)?, arguments.flag("background"));
    let _permit = if background { None } else { Some(agent.permit_waiting().map_err(|failure| failed(&failure))?) };
    let job = agent.begin(&context.principal.key(), &context.principal.login, request, background).map_err(|failure| failed(&failure))?;
    if background {
        return reply(job_members(&job, &job.look()));
    }
    let outcome = job.wait(&Listening::of(context)).map_err(|failure| failed(&failure))?;
    match outcome.as_ref() {
        Ok(_) => reply(job_members(&job, &job.look())),
        Err(failure) => Err(failed(failure).with("job_id", job.id.as_str())),
    }
}
