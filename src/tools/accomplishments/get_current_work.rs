//! `get_current_work`: what is being worked on.

use super::{by_id, page, snapshot};
use crate::accomplishments::{Accomplishment, TaskStatus};
use crate::tools::paging::{CURSOR, NEXT_CURSOR, TRUNCATED};
use crate::tools::reply::fitting_in;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde_json::{Value, json};

pub(super) static TOOL: Tool = Tool {
    name: "get_current_work",
    title: "What is being worked on",
    description: "Lists what is being worked on: accomplishments in progress with their tasks, and tasks in progress of others; to \
        change it use set_work_focus.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[CURSOR],
    output: &[
        required(
            "accomplishments",
            Shape::List(&Shape::Object(&[
                required("id", ANY_TEXT, "Its id"),
                required("title", ANY_TEXT, "Display name"),
                required("status", ANY_TEXT, "Where it stands"),
                required("inProgress", Shape::Flag, "True"),
                required("tasks", Shape::List(&Shape::Object(&TASK)), "Tasks in progress"),
            ])),
            "Sorted by id",
        ),
        required("orphaned_in_progress_tasks", Shape::List(&Shape::Object(&ORPHAN)), "Of accomplishments that are not marked"),
        required(
            "summary",
            Shape::Object(&[
                required("accomplishments_in_progress", COUNT, "On all pages"),
                required("tasks_in_progress", COUNT, "Tasks of those"),
                required("orphaned_tasks", COUNT, "Tasks of others"),
            ]),
            "How many of each",
        ),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

const TASK: [Field; 3] = [
    required("task_id", ANY_TEXT, "For manage_task and set_work_focus"),
    required("name", ANY_TEXT, "Its name"),
    required("status", ANY_TEXT, "InProgress"),
];

const ORPHAN: [Field; 5] = [
    required("task_id", ANY_TEXT, "For manage_task and set_work_focus"),
    required("name", ANY_TEXT, "Its name"),
    required("status", ANY_TEXT, "InProgress"),
    required("accomplishment_id", ANY_TEXT, "Whose task"),
    required("accomplishment_title", ANY_TEXT, "Its title"),
];

fn in_progress(found: &Accomplishment) -> impl Iterator<Item = Value> {
    let tasks = found.body.tasks.iter().filter(|task| task.status == TaskStatus::InProgress);
    tasks.map(|task| json!({ "task_id": task.id(&found.id), "name": task.name, "status": task.status.name() }))
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let (marked, others): (Vec<&Accomplishment>, Vec<&Accomplishment>) = snapshot.iter().partition(|found| found.in_progress);
    let tasks: usize = marked.iter().map(|found| in_progress(found).count()).sum();
    let orphans = others.iter().flat_map(|found| {
        in_progress(found).map(|mut task| {
            if let Some(members) = task.as_object_mut() {
                members.insert("accomplishment_id".into(), found.id.clone().into());
                members.insert("accomplishment_title".into(), found.title.clone().into());
            }
            task
        })
    });
    let orphans: Vec<Value> = orphans.collect();
    let orphaned = orphans.len();
    // Half of an answer is for each.
    let half = |items: Vec<Value>| fitting_in(crate::limits::RESULT_CHARS / 2, items.into_iter());
    let shown = |found: &Accomplishment| json!({ "id": found.id, "title": found.title, "status": found.status, "inProgress": true, "tasks": half(in_progress(found).collect()) });
    let all: Vec<(String, &Accomplishment)> = marked.into_iter().map(|found| (by_id(found), found)).collect();
    let (count, accomplishments, next) = page(arguments, all, shown)?;
    let fits = json!(accomplishments).to_string().len() <= crate::limits::RESULT_CHARS / 2;
    let mut reply = json!({
        "accomplishments": accomplishments,
        "orphaned_in_progress_tasks": if fits { half(orphans) } else { Vec::new() },
        "summary": { "accomplishments_in_progress": count, "tasks_in_progress": tasks, "orphaned_tasks": orphaned },
    });
    if let (Ok(Value::Object(next)), Some(members)) = (serde_json::to_value(next), reply.as_object_mut()) {
        members.extend(next);
    }
    Reply::of(&reply)
}
