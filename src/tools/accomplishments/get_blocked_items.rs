//! `get_blocked_items`: what waits, and for what.

use super::{Summary, by_priority, page, snapshot};
use crate::accomplishments::{Accomplishment, Snapshot};
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "get_blocked_items",
    title: "What is blocked",
    description: "Lists the accomplishments that are blocked, each with what it waits for, the most important first; for those that \
        can begin use get_ready_to_start.",
    effect: Effect::Reads,
    input: &[CURSOR],
    output: All::FIELDS,
    run,
};

result! {
    struct All<'a> {
        /// On all pages.
        count: usize,
        /// Sorted by priority.
        blocked_items: Vec<Blocked<'a>>,
        next: Inline<Next>,
    }
}

result! {
    struct Blocked<'a> {
        summary: Inline<Summary<'a>>,
        /// What it waits for; the first hundred.
        blocking_items: Vec<Blocking<'a>>,
    }
}

result! {
    struct Blocking<'a> {
        id: &'a str,
        /// Empty when it does not exist.
        title: &'a str,
        /// `Missing` when it does not exist.
        status: &'static str,
    }
}

fn blocked<'a>(snapshot: &'a Snapshot, found: &'a Accomplishment) -> Blocked<'a> {
    let blocking = snapshot.blocking(found).take(crate::limits::LISTED).map(|id| {
        let about = snapshot.about(id);
        Blocking { id, title: about.map_or("", |about| &about.title), status: about.map_or("Missing", |about| about.status) }
    });
    Blocked { summary: Inline(Summary::of(snapshot, found)), blocking_items: blocking.collect() }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let waiting = snapshot.iter().filter(|found| snapshot.is_blocked(found));
    let all = waiting.map(|found| (by_priority(found), found)).collect();
    let (count, blocked_items, next) = page(arguments, all, |found| blocked(&snapshot, found))?;
    Reply::of(&All { count, blocked_items, next })
}
