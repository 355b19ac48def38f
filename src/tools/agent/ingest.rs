//! `ingest`: material, filed into the wiki by a session.

use super::{
    DOMAIN, JOB, Listening, MAX_TURNS, MODEL, TIMEOUT_MS, agent, failed, job_members, overrides,
    refused, reply,
};
use crate::agent::ingest::{DOMAINS, Request};
use crate::agent::{Agent, AttachedFile, Failure};
use crate::limits;
use crate::tools::schema::{ANY_TEXT, DefaultValue, Field, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Fact, Reply, Tool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::path::Path;

/// Characters of material for one `ingest`: what fits into a model's context and leaves it enough
/// to work.
const AGENT_CONTENT_CHARS: usize = 400_000;
/// See [`limits::AGENT_CASES`].
const AGENT_CASE_CHARS: usize = 300;
/// Bytes of the files attached to one call.
const AGENT_ATTACHMENT_BYTES: usize = 5 * 1024 * 1024;

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
        optional(
            "content",
            Shape::Text { max: AGENT_CONTENT_CHARS },
            "The material as text; may be empty if there are files",
        ),
        optional(
            "files",
            Shape::List(&Shape::Text { max: limits::PATH_BYTES }),
            "Files that belong to it: paths in the vault, or on the server in an allowed folder",
        ),
        optional(
            "attachments",
            Shape::List(&Shape::Object(&ATTACHMENT)),
            "Files that come with the call, 5 MB together: PDF, images, text",
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
        optional(
            "continue",
            ANY_TEXT,
            "The job_id of a call that was cut off: go on with its material; give no other",
        ),
        MODEL,
        MAX_TURNS,
        TIMEOUT_MS,
    ],
    output: &JOB,
    run,
};

const ATTACHMENT: [Field; 2] = [
    required("name", ANY_TEXT, "Its name, for example scan.pdf"),
    required("data", ANY_TEXT, "Its bytes as base64"),
];

/// What is to be filed; with `continue` what another job was asked for.
fn request(
    context: &Context<'_>,
    agent: &Agent,
    owner: &str,
    arguments: &Arguments,
) -> Result<Request, Error> {
    // Some clients send each argument, without a value.
    if let Some(id) = arguments.maybe("continue").filter(|id| !id.is_empty()) {
        let has_text = ["content", "domain"]
            .iter()
            .any(|name| arguments.maybe(name).is_some_and(|text| !text.is_empty()));
        let has_list = ["files", "cases"].iter().any(|name| arguments.texts(name).next().is_some());
        if has_text || has_list || !arguments.objects("attachments").is_empty() {
            return Err(Error::invalid(
                "Argument continue takes the material of that job; give no other with it.",
            ));
        }
        let request = agent.request_of(owner, id).map_err(refused)?;
        return Ok(Request { overrides: overrides(arguments), ..request });
    }
    let texts = |name: &str| arguments.texts(name).map(str::to_owned).collect();
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
    let (mut attachments, mut bytes) = (Vec::new(), 0);
    for given in arguments.objects("attachments") {
        let data = given.text("data").trim_start();
        // Some clients send a data URL.
        let base64 = data.split_once(";base64,").map_or(data, |(_, base64)| base64);
        let data =
            STANDARD.decode(base64.split_whitespace().collect::<String>()).map_err(|_| {
                Error::invalid(format!(
                    "Argument attachments: the data of {:?} is no base64.",
                    given.text("name")
                ))
            })?;
        bytes += data.len();
        attachments.push(AttachedFile { name: given.text("name").to_owned(), bytes: data });
    }
    if bytes > AGENT_ATTACHMENT_BYTES {
        let words = format!(
            "Argument attachments has {bytes} bytes; {} are allowed.",
            AGENT_ATTACHMENT_BYTES
        );
        return Err(Error::invalid(words));
    }
    Ok(Request {
        content: arguments.text("content").to_owned(),
        files: arguments.texts("files").map(file).collect::<Result<_, Error>>()?,
        domain: arguments.maybe("domain").map(str::to_owned),
        attachments,
        cases: texts("cases"),
        overrides: overrides(arguments),
        written_before: Vec::new(),
    })
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (agent, background, key) =
        (agent(context)?, arguments.flag("background"), context.principal.key());
    let request = request(context, agent, &key, arguments)?;
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
