//! `query`: a question, answered from the wiki by a session.

use super::{DOMAIN, Listening, agent, failed, refused};
use crate::agent::Progress;
use crate::agent::ingest::DOMAINS;
use crate::tools::result::{Members, result, unless_empty};
use crate::tools::schema::{Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

/// Characters of a question.
const AGENT_QUESTION_CHARS: usize = 10_000;

pub(super) static TOOL: Tool = Tool {
    name: "query",
    title: "Ask the wiki",
    description: "Answers a question from the vault's wiki by a session that reads it, with the \
                  pages and original files behind the answer; to find a note or a word use \
                  vault_search, which is free. Takes up to minutes and costs money.",
    effect: Effect::Reads,
    facts: &[Fact::RunsSession],
    input: &[
        required("question", Shape::Text { max: AGENT_QUESTION_CHARS }, "What you want to know"),
        optional("domain", Shape::OneOf(&DOMAINS), DOMAIN),
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        /// With `[[wikilinks]]`.
        answer: &'a str,
        /// The pages that it rests on.
        citations: &'a [String],
        /// The original files that those pages keep.
        artifacts: &'a [String],
        /// What of these the vault does not have: do not trust the sentences that rest on it.
        not_found: Option<&'a [String]>,
        /// Calls that were refused to the session: the tool, and what it was called with.
        refused: Option<&'a [String]>,
        turns: u64,
        /// In dollars.
        cost_usd: Option<f64>,
        /// The wait for other sessions included.
        duration_ms: u64,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let agent = agent(context)?;
    let _permit = agent.permit_waiting().map_err(refused)?;
    let (login, question, domain) =
        (&context.principal.login, arguments.text("question"), arguments.maybe("domain"));
    let mut progress = Progress::default();
    let answer = agent.query(login, question, domain, &Listening::of(context), &mut progress);
    let answer = answer.map_err(|failure| failed(&failure, &progress))?;
    Reply::of(&Answer {
        answer: &answer.answer,
        citations: &answer.citations,
        artifacts: &answer.artifacts,
        not_found: unless_empty(&answer.not_found),
        refused: unless_empty(&progress.refused),
        turns: progress.turns,
        cost_usd: progress.cost_usd,
        duration_ms: progress.took.as_millis() as u64,
    })
}
