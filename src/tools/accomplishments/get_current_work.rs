//! `get_current_work`: what is being worked on.

use super::{by_id, page, snapshot};
use crate::accomplishments::{Accomplishment, TaskStatus};
use crate::limits;
use crate::tools::paging::{CURSOR, Next};
use crate::tools::reply::fitting_in;
use crate::tools::result::{Inline, Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "get_current_work",
    title: "What is being worked on",
    description: "Lists what is being worked on: accomplishments in progress with their tasks, and tasks in progress of others; to \
        change it use set_work_focus.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[CURSOR],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        /// Sorted by id.
        accomplishments: Vec<Marked<'a>>,
        /// Of accomplishments that are not marked.
        orphaned_in_progress_tasks: Vec<Orphan<'a>>,
        summary: Counts,
        next: Inline<Next>,
    }
}

result! {
    struct Marked<'a> {
        id: &'a str,
        title: &'a str,
        status: &'a str,
        in_progress as "inProgress": bool,
        tasks: Vec<InProgress<'a>>,
    }
}

result! {
    struct InProgress<'a> {
        /// For manage_task and set_work_focus.
        task_id: String,
        name: &'a str,
        status: &'static str,
    }
}

result! {
    struct Orphan<'a> {
        task: Inline<InProgress<'a>>,
        accomplishment_id: &'a str,
        accomplishment_title: &'a str,
    }
}

result! {
    struct Counts {
        /// On all pages.
        accomplishments_in_progress: usize,
        /// Of those.
        tasks_in_progress: usize,
        /// Of others.
        orphaned_tasks: usize,
    }
}

fn in_progress(found: &Accomplishment) -> impl Iterator<Item = InProgress<'_>> {
    let tasks = found.body.tasks.iter().filter(|task| task.status == TaskStatus::InProgress);
    tasks.map(|task| InProgress { task_id: task.id(&found.id), name: &task.name, status: task.status.name() })
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    // Half of an answer is for each.
    const HALF: usize = limits::RESULT_CHARS / 2;
    let snapshot = snapshot(context)?;
    let (marked, others): (Vec<&Accomplishment>, Vec<&Accomplishment>) = snapshot.iter().partition(|found| found.in_progress);
    let count = |all: &[&Accomplishment]| all.iter().map(|found| in_progress(found).count()).sum();
    let (tasks_in_progress, orphaned_tasks) = (count(&marked), count(&others));
    let orphans = others.into_iter().flat_map(|found| {
        in_progress(found).map(|task| Orphan { task: Inline(task), accomplishment_id: &found.id, accomplishment_title: &found.title })
    });
    let all: Vec<(String, &Accomplishment)> = marked.into_iter().map(|found| (by_id(found), found)).collect();
    let (accomplishments_in_progress, accomplishments, next) = page(arguments, all, |found| Marked {
        id: &found.id,
        title: &found.title,
        status: found.status,
        in_progress: true,
        tasks: fitting_in(HALF, in_progress(found)),
    })?;
    let fits = json!(accomplishments).to_string().len() <= HALF;
    Reply::of(&Answer {
        accomplishments,
        orphaned_in_progress_tasks: if fits { fitting_in(HALF, orphans) } else { Vec::new() },
        summary: Counts { accomplishments_in_progress, tasks_in_progress, orphaned_tasks },
        next,
    })
}
