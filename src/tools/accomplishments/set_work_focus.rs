//! `set_work_focus`: what is being worked on.

use super::manage_task::brief;
use super::{ID, IF_MATCH, SUCCESS, projects};
use crate::accomplishments::TASK_STATUSES;
use crate::object::without_nulls;
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "set_work_focus",
    title: "Say what is being worked on",
    description: "Marks an accomplishment as being worked on or not, sets the status of one of \
                  its tasks, or both; for other fields use manage_accomplishment and manage_task. \
                  A task set to InProgress marks its accomplishment too, unless in_progress says \
                  otherwise.",
    effect: Effect::Sets { idempotent: true },
    facts: &[],
    input: &[
        required("accomplishment_id", ANY_TEXT, ID),
        optional("in_progress", Shape::Flag, "Whether the accomplishment is being worked on"),
        optional("task_id", ANY_TEXT, "A task, together with task_status"),
        optional("task_status", Shape::Status(&TASK_STATUSES), "The task's new status"),
        IF_MATCH,
    ],
    output: &[
        SUCCESS,
        required("accomplishment", Shape::AnyObject, "As it is now"),
        optional("task", Shape::AnyObject, "As it is now, if one was named"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let wrong = |words: &str| Err(Error::invalid(words));
    let id = arguments.text("accomplishment_id");
    let in_progress = arguments.maybe_flag("in_progress");
    let task = match (arguments.maybe("task_id"), arguments.maybe("task_status")) {
        (Some(task), Some(status)) => Some((task, status)),
        (None, None) if in_progress.is_none() => {
            return wrong("Give in_progress, or task_id and task_status.");
        }
        (None, None) => None,
        _ => return wrong("task_id and task_status go together."),
    };
    let (changed, task) = projects(context)?.focus(
        context.store,
        id,
        in_progress,
        task,
        arguments.maybe("if_match"),
    )?;
    let accomplishment = super::changed(context, &changed)?;
    Reply::of(&without_nulls(
        json!({ "success": true, "accomplishment": accomplishment, "task": task.map(|task| brief(id, &task)) }),
    ))
}
