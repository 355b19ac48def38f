//! `sync_dependencies`: the notes of a canvas brought in line with its edges.

use super::{CANVAS_SOURCE, canvas_of, projects};
use crate::accomplishments::Update;
use crate::text::fitting_in;
use crate::tools::reply::fitting;
use crate::tools::result::{Member, Members, flag, result};
use crate::tools::schema::Shape;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "sync_dependencies",
    title: "Bring notes in line with a canvas",
    description: "Sets depends_on of every accomplishment to what the edges of a canvas say, \
                  after a person has drawn or removed some; for a single one use \
                  manage_dependency. An edge blocks in the direction of its arrow. Edges that \
                  would close a circle, or join anything but accomplishments, are left out and \
                  reported.",
    effect: Effect::Sets { idempotent: true },
    facts: &[],
    input: &[CANVAS_SOURCE],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        /// Always true; what fails is an error.
        success: bool,
        canvas_source: &'a str,
        /// Accomplishments whose notes are on it.
        total_accomplishments: usize,
        updated_count: usize,
        /// The notes that were changed.
        updates: Vec<&'a Update>,
        /// Edges that are no dependency, and notes that cannot be used, with the reason.
        errors: Vec<&'a str>,
        /// There are more updates or errors than fit.
        truncated: Option<bool>,
    }
}

impl Member for &Update {
    const SHAPE: Shape = Shape::AnyObject;
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let projects = projects(context)?;
    let canvas = canvas_of(context, arguments)?;
    let done = projects.sync(context.store, &canvas)?;
    // Errors first: they are what a person has to fix.
    let errors = fitting(done.errors.iter().map(String::as_str));
    let left = crate::limits::RESULT_CHARS
        .saturating_sub(errors.iter().map(|error| error.len() + 4).sum::<usize>());
    let updates = fitting_in(left.saturating_sub(1_000), done.updates.iter());
    Reply::of(&Answer {
        success: true,
        canvas_source: canvas.as_str(),
        total_accomplishments: done.total,
        updated_count: done.updates.len(),
        truncated: flag(updates.len() < done.updates.len() || errors.len() < done.errors.len()),
        updates,
        errors,
    })
}
