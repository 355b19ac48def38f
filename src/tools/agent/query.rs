//! `query`: a question, answered from the wiki by a session.

use super::{DOMAIN, Listening, MAX_TURNS, MODEL, TEXTS, TIMEOUT_MS, agent, failed, wanted};
use crate::agent::ingest::DOMAINS;
use crate::limits;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "query",
    title: "Ask the wiki",
    description: "Answers a question from the vault's wiki by a session that reads it, with the pages and original files behind the \
        answer; to find a note or a word use vault_search, which is free. Takes up to minutes and costs money.",
    effect: Effect::Reads,
    reaches_out: true,
    input: &[
        required("question", Shape::Text { max: limits::AGENT_QUESTION_CHARS }, "What you want to know"),
        optional("domain", Shape::OneOf(&DOMAINS), DOMAIN),
        MODEL,
        MAX_TURNS,
        TIMEOUT_MS,
    ],
    output: &[
        required("answer", ANY_TEXT, "The answer, with [[wikilinks]]"),
        required("citations", TEXTS, "The pages that it rests on"),
        required("artifacts", TEXTS, "The original files that those pages keep"),
        optional("not_found", TEXTS, "What of these the vault does not have: do not trust the sentences that rest on it"),
        optional("refused", TEXTS, "Calls that were refused to the session: the tool, and what it was called with"),
        required("turns", COUNT, "Turns of the model"),
        optional("cost_usd", Shape::Number, "What it cost, in dollars"),
        required("duration_ms", COUNT, "How long it took, waiting not included"),
    ],
    run,
};

#[derive(Serialize)]
struct Answer<'a> {
    answer: &'a str,
    citations: &'a [String],
    artifacts: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_found: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    refused: &'a [String],
    turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    duration_ms: u64,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let agent = agent(context)?;
    let _permit = agent.permit_waiting().map_err(|failure| failed(&failure))?;
    let (login, question, domain) = (&context.principal.login, arguments.text("question"), arguments.maybe("domain"));
    let answer = agent.query(login, question, domain, &wanted(arguments), &Listening::of(context));
    let answer = answer.map_err(|failure| failed(&failure))?;
    let so_far = &answer.so_far;
    Reply::of(&Answer {
        answer: &answer.answer,
        citations: &answer.citations,
        artifacts: &answer.artifacts,
        not_found: &answer.not_found,
        refused: &so_far.refused,
        turns: so_far.turns,
        cost_usd: so_far.cost_usd,
        duration_ms: so_far.took.as_millis() as u64,
    })
}
