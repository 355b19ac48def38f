//! `sync_dependencies`: the notes of a canvas brought in line with its edges.

use super::{CANVAS_SOURCE, SUCCESS, canvas_of, projects, refused};
use crate::tools::reply::{fitting, fitting_in};
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "sync_dependencies",
    title: "Bring notes in line with a canvas",
    description: "Sets depends_on of every accomplishment to what the edges of a canvas say, after a person has drawn or removed some; \
        for a single one use manage_dependency. An edge blocks in the direction of its arrow. Edges that would close a circle, or join anything but accomplishments, are left out and reported.",
    effect: Effect::Sets { idempotent: true },
    reaches_out: false,
    input: &[CANVAS_SOURCE],
    output: &[
        SUCCESS,
        required("canvas_source", ANY_TEXT, "The canvas"),
        required("total_accomplishments", COUNT, "Accomplishments whose notes are on it"),
        required("updated_count", COUNT, "Notes that were changed"),
        required(
            "updates",
            Shape::List(&Shape::Object(&[
                required("id", ANY_TEXT, "Its id"),
                required("title", ANY_TEXT, "Its title"),
                required("old_depends_on", Shape::List(&ANY_TEXT), "What it depended on"),
                required("new_depends_on", Shape::List(&ANY_TEXT), "What it depends on now"),
            ])),
            "Every note that was changed",
        ),
        required("errors", Shape::List(&ANY_TEXT), "Edges that are no dependency, and notes that cannot be used, with the reason"),
        optional("truncated", Shape::Flag, "There are more updates or errors than fit; only present when true"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let projects = projects(context)?;
    let canvas = canvas_of(context, arguments)?;
    let done = projects.sync(context.vault, &canvas).map_err(refused)?;
    let updates = done
        .updates
        .iter()
        .map(|update| json!({ "id": update.id, "title": update.title, "old_depends_on": update.old, "new_depends_on": update.new }));
    // Errors first: they are what a person has to mend.
    let errors = fitting(done.errors.iter());
    let left = crate::limits::RESULT_CHARS.saturating_sub(errors.iter().map(|error| error.len() + 4).sum::<usize>());
    let updates = fitting_in(left.saturating_sub(1_000), updates);
    let mut reply = json!({
        "success": true,
        "canvas_source": canvas.as_str(),
        "total_accomplishments": done.total,
        "updated_count": done.updates.len(),
        "updates": updates,
        "errors": errors,
    });
    if let (true, Some(members)) = (updates.len() < done.updates.len() || errors.len() < done.errors.len(), reply.as_object_mut()) {
        members.insert("truncated".into(), true.into());
    }
    Reply::of(&reply)
}
