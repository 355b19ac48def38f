//! `get_ready_to_start`: what can be begun.

use super::{SUMMARY, Summary, by_priority, page, snapshot};
use crate::tools::paging::{CURSOR, NEXT_CURSOR, Next, TRUNCATED};
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, joined, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "get_ready_to_start",
    title: "What can be begun",
    description: "Lists the accomplishments that can be begun now, the most important first; for those that wait use \
        get_blocked_items.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[CURSOR],
    output: &[
        required("count", COUNT, "How many there are, on all pages"),
        required("ready_items", Shape::List(&Shape::Object(&READY)), "Sorted by priority"),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

const READY: [Field; 12] = joined(&SUMMARY, &[required("outcome", ANY_TEXT, "The state when it is done; cut when it is long")]);

#[derive(Serialize)]
struct Ready<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    outcome: String,
}

#[derive(Serialize)]
struct All<'a> {
    count: usize,
    ready_items: Vec<Ready<'a>>,
    #[serde(flatten)]
    next: Next,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let all = snapshot.iter().filter(|found| snapshot.is_ready(found)).map(|found| (by_priority(found), found)).collect();
    let (count, ready_items, next) = page(arguments, all, |found| Ready {
        summary: Summary::of(&snapshot, found),
        outcome: super::clipped(&found.body.outcome, crate::limits::TEXT_CUT),
    })?;
    Reply::of(&All { count, ready_items, next })
}
