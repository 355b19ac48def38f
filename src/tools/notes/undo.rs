//! `vault_undo`: what this login did last, taken back.

use super::DRY_RUN;
use crate::calendar;
use crate::change::undo::{Scope, TOOL as NAME};
use crate::clock::Moment;
use crate::limits;
use crate::text::fitting_in;
use crate::tools::result::{Members, result};
use crate::tools::schema::{ANY_TEXT, COUNT, DefaultValue, Shape, defaulted, optional};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};

/// Calls that are taken back at once.
const CALLS: i64 = 100;

pub(super) static TOOL: Tool = Tool {
    name: NAME,
    title: "Take back what was done",
    description: "Undo: takes back the last calls that changed something, such as what you just \
                  did; for one version of a note use vault_restore. Again takes back the one \
                  before. What others changed since stays, and is named.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        defaulted(
            "calls",
            Shape::Integer { min: 1, max: CALLS, outside: Code::InvalidArgument },
            DefaultValue::Integer(1),
            "Last calls of this login",
        ),
        optional("since", ANY_TEXT, "Instead: all since 30m, 2h, 7d, YYYY-MM-DD or RFC 3339"),
        DRY_RUN,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer {
        /// What each change is now, newest first; as many as fit.
        undone: Vec<String>,
        undone_total: usize = COUNT,
        /// What was left as it is, and why.
        left_alone: Vec<String>,
        dry_run: bool,
    }
}

/// The moment that `since` means.
fn moment(text: &str) -> Option<Moment> {
    let ago = |unit: char, seconds: u64| {
        let count: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(Moment(Moment::read().0.saturating_sub(count.saturating_mul(seconds))))
    };
    ago('m', 60)
        .or_else(|| ago('h', 3_600))
        .or_else(|| ago('d', 86_400))
        .or_else(|| calendar::span(text).map(|(first, _)| first))
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let scope = match arguments.maybe("since").map(str::trim) {
        Some(since) => Scope::Since(moment(since).ok_or_else(|| {
            Error::invalid("Argument since is no time: give 30m, 2h, 7d, YYYY-MM-DD or RFC 3339.")
        })?),
        None => Scope::Calls(arguments.number("calls")),
    };
    let dry_run = arguments.flag("dry_run");
    let done = context.changes.undo_own(scope, dry_run)?;
    let half = limits::RESULT_CHARS / 2 - 1_000;
    Reply::of(&Answer {
        undone_total: done.done.len(),
        undone: fitting_in(half, done.done.into_iter()),
        left_alone: fitting_in(half, done.left.into_iter()),
        dry_run,
    })
}
