//! `get_ready_to_start`: what can be begun.

use super::{Summary, by_priority, page, snapshot};
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "get_ready_to_start",
    title: "What can be begun",
    description: "Lists the accomplishments that can be begun now, the most important first; for \
                  those that wait use get_blocked_items.",
    effect: Effect::Reads,
    facts: &[],
    input: &[CURSOR],
    output: All::FIELDS,
    run,
};

result! {
    struct All<'a> {
        /// On all pages.
        count: usize,
        /// Sorted by priority.
        ready_items: Vec<Summary<'a>>,
        next: Inline<Next>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let all = snapshot
        .iter()
        .filter(|found| snapshot.is_ready(found))
        .map(|found| (by_priority(found), found))
        .collect();
    let (count, ready_items, next) = page(arguments, all, |found| Summary {
        outcome: Some(super::clipped(&found.body.outcome, crate::limits::TEXT_CUT_CHARS)),
        ..Summary::of(&snapshot, found)
    })?;
    Reply::of(&All { count, ready_items, next })
}
