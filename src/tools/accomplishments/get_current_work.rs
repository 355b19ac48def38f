//! `get_current_work`: what is being worked on.

use super::{by_id, page, snapshot};
use crate::accomplishments::Accomplishment;
use crate::limits;
use crate::object::without_nulls;
use crate::text::fitting_in;
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::{Map, Value, json};

pub(super) static TOOL: Tool = Tool {
    name: "get_current_work",
    title: "What is being worked on",
    description: "Lists what is being worked on: accomplishments in progress with their tasks, \
                  and tasks in progress of others; to change it use set_work_focus.",
    effect: Effect::Reads,
    facts: &[],
    input: &[CURSOR],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer {
        /// Sorted by id.
        accomplishments: Vec<Value>,
        /// Of accomplishments that are not marked.
        orphaned_in_progress_tasks: Vec<Map<String, Value>>,
        /// On all pages.
        summary: Value,
        next: Inline<Next>,
    }
}

fn in_progress(found: &Accomplishment) -> impl Iterator<Item = Map<String, Value>> {
    let tasks = found.body.tasks.iter().filter(|task| task.status == "InProgress");
    tasks.map(|task| {
        without_nulls(
            json!({ "task_id": task.id(&found.id), "name": task.name, "status": task.status }),
        )
    })
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    // What the tasks of one accomplishment may take of the answer, and what the tasks of unmarked
    // ones may take together.
    const HALF: usize = limits::RESULT_CHARS / 2;
    let snapshot = snapshot(context)?;
    let (marked, others): (Vec<&Accomplishment>, Vec<&Accomplishment>) =
        snapshot.iter().partition(|found| found.in_progress);
    let count =
        |all: &[&Accomplishment]| all.iter().map(|found| in_progress(found).count()).sum::<usize>();
    let (tasks_in_progress, orphaned_tasks) = (count(&marked), count(&others));
    let orphans = others.into_iter().flat_map(|found| {
        let of = || {
            without_nulls(
                json!({ "accomplishment_id": found.id, "accomplishment_title": found.title }),
            )
        };
        in_progress(found).map(move |task| task.into_iter().chain(of()).collect())
    });
    let all: Vec<(String, &Accomplishment)> =
        marked.into_iter().map(|found| (by_id(found), found)).collect();
    let (accomplishments_in_progress, accomplishments, next) = page(arguments, all, |found| {
        let tasks = fitting_in(HALF, in_progress(found));
        let truncated = (tasks.len() < in_progress(found).count()).then_some(true);
        json!({ "id": found.id, "title": found.title, "status": found.status, "priority": found.priority, "inProgress": true, "tasks": tasks, "truncated": truncated })
    })?;
    let accomplishments: Vec<Value> =
        accomplishments.into_iter().map(|shown| without_nulls(shown).into()).collect();
    // What the page leaves of the answer.
    let left =
        (limits::RESULT_CHARS - 1_000).saturating_sub(json!(accomplishments).to_string().len());
    let orphaned_in_progress_tasks = fitting_in(left.min(HALF), orphans);
    let is_cut = orphaned_in_progress_tasks.len() < orphaned_tasks;
    Reply::of(&Answer {
        accomplishments,
        orphaned_in_progress_tasks,
        summary: json!({
            "accomplishments_in_progress": accomplishments_in_progress,
            "tasks_in_progress": tasks_in_progress,
            "orphaned_tasks": orphaned_tasks,
        }),
        next: Inline(next.0.or_cut(is_cut)),
    })
}
