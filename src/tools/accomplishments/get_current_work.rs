//! `get_current_work`: what is being worked on.

use super::{by_id, page, snapshot};
use crate::accomplishments::Accomplishment;
use crate::limits;
use crate::text::fitting_in;
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::{Map, Value, json};

pub(super) static TOOL: Tool = Tool {
    name: "get_current_work",
    title: "What is being worked on",
    description: "Lists what is being worked on: accomplishments in progress with their tasks, and tasks in progress of others; to \
        change it use set_work_focus.",
    effect: Effect::Reads,
    input: &[CURSOR],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer {
        /// Sorted by id.
        accomplishments: Vec<Map<String, Value>>,
        /// Of accomplishments that are not marked.
        orphaned_in_progress_tasks: Vec<Map<String, Value>>,
        /// On all pages.
        summary: Map<String, Value>,
        next: Inline<Next>,
    }
}

fn in_progress(found: &Accomplishment) -> impl Iterator<Item = Map<String, Value>> {
    let tasks = found.body.tasks.iter().filter(|task| task.status == "InProgress");
    tasks.map(|task| members([("task_id", json!(task.id(&found.id))), ("name", json!(task.name)), ("status", json!(task.status))]))
}

fn members<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    // Each of the two lists gets half of the answer.
    const HALF: usize = limits::RESULT_CHARS / 2;
    let snapshot = snapshot(context)?;
    let (marked, others): (Vec<&Accomplishment>, Vec<&Accomplishment>) = snapshot.iter().partition(|found| found.in_progress);
    let count = |all: &[&Accomplishment]| all.iter().map(|found| in_progress(found).count()).sum::<usize>();
    let (tasks_in_progress, orphaned_tasks) = (count(&marked), count(&others));
    let orphans = others.into_iter().flat_map(|found| {
        let of = || members([("accomplishment_id", json!(found.id)), ("accomplishment_title", json!(found.title))]);
        in_progress(found).map(move |task| task.into_iter().chain(of()).collect())
    });
    let all: Vec<(String, &Accomplishment)> = marked.into_iter().map(|found| (by_id(found), found)).collect();
    let (accomplishments_in_progress, accomplishments, next) = page(arguments, all, |found| {
        let tasks: Vec<Map<String, Value>> = fitting_in(HALF, in_progress(found));
        members([
            ("id", json!(found.id)),
            ("title", json!(found.title)),
            ("status", json!(found.status)),
            ("inProgress", json!(true)),
            ("tasks", json!(tasks)),
        ])
    })?;
    let fits = json!(accomplishments).to_string().len() <= HALF;
    Reply::of(&Answer {
        accomplishments,
        orphaned_in_progress_tasks: if fits { fitting_in(HALF, orphans) } else { Vec::new() },
        summary: members([
            ("accomplishments_in_progress", json!(accomplishments_in_progress)),
            ("tasks_in_progress", json!(tasks_in_progress)),
            ("orphaned_tasks", json!(orphaned_tasks)),
        ]),
        next,
    })
}
