//! `manage_task`: the tasks of an accomplishment.

use super::{ID, IF_MATCH, OPERATION, SUCCESS, projects};
use crate::accomplishments::{TASK_STATUSES, TaskData};
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "manage_task",
    title: "Add, update or remove a task",
    description: "Adds, updates or removes a task of an accomplishment, a section of its note; \
                  for to-dos with a checkbox use vault_set_task. add needs data.name and \
                  data.goal and puts the task at the end. update changes only the fields that \
                  data names. remove keeps other text below the task, and numbers the remaining \
                  tasks anew, so that their ids change.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        required("operation", Shape::OneOf(&["add", "update", "remove"]), "What to do"),
        required("accomplishment_id", ANY_TEXT, ID),
        optional("task_id", ANY_TEXT, "For update and remove, for example ACC-001:Task 1:Setup"),
        optional(
            "data",
            Shape::Object(&[
                optional("name", ANY_TEXT, "Required to add. One line"),
                optional("goal", ANY_TEXT, "Required to add: what it achieves"),
                optional("description", ANY_TEXT, "Details; no headings"),
                optional("technical_notes", ANY_TEXT, "How it is to be done; no headings"),
                optional("estimate", Shape::Number, "Hours"),
                optional("status", Shape::Status(&TASK_STATUSES), "Added with Open unless given"),
                optional("notes", ANY_TEXT, "Anything else; no headings"),
            ]),
            "What it is to be",
        ),
        IF_MATCH,
    ],
    output: &[
        SUCCESS,
        OPERATION,
        required("accomplishment_id", ANY_TEXT, "Whose task"),
        optional("task", Shape::AnyObject, "As it is now; not after remove"),
        optional("task_id", ANY_TEXT, "What was removed"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (projects, store) = (projects(context)?, context.store);
    let (operation, id) = (arguments.text("operation"), arguments.text("accomplishment_id"));
    let if_match = arguments.maybe("if_match");
    let data: TaskData = arguments.read("data")?;
    let task_id = || {
        let missing = || Error::invalid("Argument task_id is missing; get_accomplishment has it.");
        arguments.maybe("task_id").ok_or_else(missing)
    };
    let task = match operation {
        "add" => projects.add_task(store, id, &data, if_match),
        "update" => projects.update_task(store, id, task_id()?, &data, if_match),
        _ => {
            let task_id = task_id()?;
            projects.remove_task(store, id, task_id, if_match)?;
            return Reply::of(
                &json!({ "success": true, "operation": operation, "accomplishment_id": id, "task_id": task_id }),
            );
        }
    };
    let task = task?;
    Reply::of(
        &json!({ "success": true, "operation": operation, "accomplishment_id": id, "task": brief(id, &task) }),
    )
}

/// The result for a task that was changed.
pub(super) fn brief(id: &str, task: &crate::accomplishments::Task) -> serde_json::Value {
    json!({ "task_id": task.id(id), "number": task.number, "name": task.name, "status": task.status })
}
