//! `ingest`: material, filed into the wiki by a session.

use super::{DOMAIN, JOB, Listening, agent, failed, job_members, refused, reply};
use crate::agent::Failure;
use crate::agent::ingest::{DOMAINS, Request};
use crate::limits;
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional};
use crate::tools::{Arguments, Code, Context, Effect, Error, Fact, Reply, Tool};
use std::path::Path;

/// Characters of material for one `ingest`: what fits into a model's context and leaves it enough
/// to work.
const AGENT_CONTENT_CHARS: usize = 400_000;
/// See [`limits::AGENT_CASES`].
const AGENT_CASE_CHARS: usize = 300;
pub(super) static TOOL: Tool = Tool {
    name: "ingest",
    title: "File material into the wiki",
    description: "Files material (a mail, a transcript, a document) into the vault's wiki by a \
                  session of its own: a source page, and the pages that it concerns, rewritten; \
                  to only add a note use vault_write. Takes minutes and costs money, so put what \
                  belongs together into one call. If your calls time out before that, set \
                  background and ask ingest_status. The same call again joins the one that is \
                  running. Records knowledge, no tasks.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[
        Fact::RunsSession,
        Fact::CommitsItself,
        Fact::Ability("run Claude Code sessions, which cost money"),
    ],
    input: &[
        optional("content", ANY_TEXT, "The material as text; may be empty if there are files"),
        optional(
            "files",
            Shape::List(&Shape::Text { max: limits::PATH_BYTES }),
            "Files that belong to it: paths in the vault, or on the server in an allowed folder",
        ),
        optional("domain", Shape::OneOf(&DOMAINS), DOMAIN),
        optional(
            "cases",
            Shape::List(&Shape::Text { max: AGENT_CASE_CHARS }),
            "Cases of your board that it belongs to, for example CASE-12 — New boiler; recorded \
             as they are",
        ),
        defaulted(
            "background",
            Shape::Flag,
            DefaultValue::Flag(false),
            "Answer with a job_id at once, and go on",
        ),
    ],
    output: &JOB,
    run,
};

fn request(context: &Context<'_>, arguments: &Arguments) -> Result<Request, Error> {
    let content = arguments.text("content");
    let length = content.chars().count();
    if length > AGENT_CONTENT_CHARS {
        return Err(Error::invalid(format!(
            "Argument content has {length} characters; {AGENT_CONTENT_CHARS} are allowed. Save it \
             as a file of the vault and give its path in files, or file it in parts."
        )));
    }
    // A file of the vault is named as for other tools; whether it may be attached is checked later.
    let file = |text: &str| -> Result<String, Error> {
        // A link to an allowed folder, or a path through one, is itself what is meant, and no file
        // of its name elsewhere.
        let is_through_link = || {
            Path::new(text).ancestors().any(|above| context.vault.root().join(above).is_symlink())
        };
        if text.starts_with('/') || is_through_link() {
            return Ok(text.to_owned());
        }
        match context.path(text) {
            Ok(path) => Ok(context.vault.spelled(&path).into_owned()),
            Err(error) if error.code == Code::Ambiguous => Err(error),
            Err(_) => Ok(text.to_owned()),
        }
    };
    Ok(Request {
        content: content.to_owned(),
        files: arguments.texts("files").map(file).collect::<Result<_, Error>>()?,
        domain: arguments.maybe("domain").map(str::to_owned),
        cases: arguments.texts("cases").map(str::to_owned).collect(),
    })
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (agent, background, key) =
        (agent(context)?, arguments.flag("background"), context.principal.key());
    let request = request(context, arguments)?;
    let _permit = if background { None } else { Some(agent.permit_waiting().map_err(refused)?) };
    let job = agent.begin(&key, &context.principal.login, request).map_err(refused)?;
    if !background {
        job.wait(&Listening::of(context));
    }
    let seen = job.view();
    match seen.outcome.as_deref() {
        Some(Err(failure)) if !background => {
            Err(failed(failure, &seen.progress).with("job_id", job.id.as_str()))
        }
        None if !background => Err(failed(&Failure::Cancelled, &seen.progress)),
        _ => reply(job_members(&job, &seen)),
    }
}
