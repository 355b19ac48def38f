//! `get_blocked_items`: what waits, and for what.

use super::{Blocking, Summary, by_priority, page, snapshot};
use crate::accomplishments::{Accomplishment, Snapshot};
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "get_blocked_items",
    title: "What is blocked",
    description: "Lists the accomplishments that wait for others, the most important first; for \
                  status Blocked use list_accomplishments, for those that can begin \
                  get_ready_to_start.",
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
        blocked_items: Vec<Summary<'a>>,
        next: Inline<Next>,
    }
}

fn blocked<'a>(snapshot: &'a Snapshot, found: &'a Accomplishment) -> Summary<'a> {
    let blocking = snapshot.blocking(found).take(crate::limits::IDS_LISTED).map(|id| {
        let about = snapshot.first_with_id(id);
        Blocking {
            id,
            title: about.map_or("", |about| &about.title),
            status: about.map_or("Missing", |about| about.status),
        }
    });
    Summary { blocking_items: Some(blocking.collect()), ..Summary::of(snapshot, found) }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let waiting = snapshot.iter().filter(|found| snapshot.is_blocked(found));
    let all = waiting.map(|found| (by_priority(found), found)).collect();
    let (count, blocked_items, next) = page(arguments, all, |found| blocked(&snapshot, found))?;
    Reply::of(&All { count, blocked_items, next })
}
