//! `manage_dependency`: which accomplishment blocks which.

use super::{ID, OPERATION, SUCCESS, projects};
use crate::object::without_nulls;
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "manage_dependency",
    title: "Add or remove a dependency",
    description: "Adds or removes a dependency, so that one accomplishment blocks another: an \
                  edge on the canvas and depends_on in the note; after edges were drawn by hand \
                  use sync_dependencies. add also moves the blocked one's node to the right of \
                  all it depends on. Both have to be on one canvas, without a circle.",
    effect: Effect::Sets { idempotent: true },
    facts: &[],
    input: &[
        required("operation", Shape::OneOf(&["add", "remove"]), "What to do"),
        required("blocker_id", ANY_TEXT, ID),
        required("blocked_id", ANY_TEXT, ID),
    ],
    output: &[
        SUCCESS,
        OPERATION,
        required("blocker_id", ANY_TEXT, "What blocks"),
        required("blocked_id", ANY_TEXT, "What is blocked"),
        optional(
            "new_position",
            Shape::AnyObject,
            "Where the blocked one's node is now; not there when it is on no canvas",
        ),
        required("message", ANY_TEXT, "What was done, and whether canvas and notes agree"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let projects = projects(context)?;
    let (operation, blocker, blocked) =
        (arguments.text("operation"), arguments.text("blocker_id"), arguments.text("blocked_id"));
    let (at, message) =
        projects.set_dependency(context.store, blocker, blocked, operation == "add")?;
    // JSON Canvas has whole numbers; a person's node may have others.
    let at = at.map(|at| json!({ "x": at.x.round() as i64, "y": at.y.round() as i64 }));
    Reply::of(&without_nulls(json!({
        "success": true,
        "operation": operation,
        "blocker_id": blocker,
        "blocked_id": blocked,
        "message": message,
        "new_position": at,
    })))
}
