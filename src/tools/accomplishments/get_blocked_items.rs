//! `get_blocked_items`: what waits, and for what.

use super::{SUMMARY, Summary, by_priority, page, snapshot};
use crate::accomplishments::{Accomplishment, Snapshot};
use crate::tools::paging::{CURSOR, NEXT_CURSOR, Next, TRUNCATED};
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, joined, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "get_blocked_items",
    title: "What is blocked",
    description: "Lists the accomplishments that are blocked, each with what it waits for, the most important first; for those that \
        can begin use get_ready_to_start.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[CURSOR],
    output: &[
        required("count", COUNT, "How many there are, on all pages"),
        required("blocked_items", Shape::List(&Shape::Object(&BLOCKED)), "Sorted by priority"),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

const BLOCKED: [Field; 12] = joined(
    &SUMMARY,
    &[required(
        "blocking_items",
        Shape::List(&Shape::Object(&[
            required("id", ANY_TEXT, "Its id"),
            required("title", ANY_TEXT, "Its title; empty when it does not exist"),
            required("status", ANY_TEXT, "Its status, or Missing when it does not exist"),
        ])),
        "What it waits for; the first hundred",
    )],
);

#[derive(Serialize)]
struct Blocked<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    blocking_items: Vec<Blocking<'a>>,
}

#[derive(Serialize)]
struct Blocking<'a> {
    id: &'a str,
    title: &'a str,
    status: &'static str,
}

#[derive(Serialize)]
struct All<'a> {
    count: usize,
    blocked_items: Vec<Blocked<'a>>,
    #[serde(flatten)]
    next: Next,
}

fn blocked<'a>(snapshot: &'a Snapshot, found: &'a Accomplishment) -> Blocked<'a> {
    let blocking = snapshot.blocking(found).take(crate::limits::LISTED).map(|id| {
        let about = snapshot.about(id);
        Blocking { id, title: about.map_or("", |about| &about.title), status: about.map_or("Missing", |about| about.status) }
    });
    Blocked { summary: Summary::of(snapshot, found), blocking_items: blocking.collect() }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let waiting = snapshot.iter().filter(|found| snapshot.is_blocked(found));
    let all = waiting.map(|found| (by_priority(found), found)).collect();
    let (count, blocked_items, next) = page(arguments, all, |found| blocked(&snapshot, found))?;
    Reply::of(&All { count, blocked_items, next })
}
