//! `get_project_status`: a project in numbers.

use super::{CANVAS_SOURCE, canvas_of, problems, projects, snapshot};
use crate::accomplishments::{Accomplishment, Snapshot};
use crate::tools::result::{Members, result};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};
use serde_json::{Map, Value};

pub(super) static TOOL: Tool = Tool {
    name: "get_project_status",
    title: "A project in numbers",
    description: "Counts the accomplishments of a project by status, effort and priority, those \
                  blocked, ready and in progress, and their tasks; for the items themselves use \
                  list_accomplishments.",
    effect: Effect::Reads,
    facts: &[Fact::Instruction(" For a project on a canvas begin with get_project_status.")],
    input: &[CANVAS_SOURCE],
    output: Status::FIELDS,
    run,
};

result! {
    /// A project in numbers.
    #[derive(Debug)]
    struct Status {
        canvas_source: String,
        /// Accomplishments whose notes are on the canvas.
        total_accomplishments: usize,
        /// Each known value, and how many have it.
        by_status: Map<String, Value>,
        by_effort: Map<String, Value>,
        by_priority: Map<String, Value>,
        /// They wait for something that is not completed.
        blocked_count: usize,
        /// Not started, and they wait for nothing.
        ready_to_start_count: usize,
        /// Marked as being worked on.
        in_progress_count: usize,
        total_tasks: usize,
        completed_tasks: usize,
        /// Of all tasks, rounded; 0 without tasks.
        task_completion_percentage: usize,
        /// Canvas and notes do not agree.
        warning: Option<&'static str>,
        problems: Option<Vec<String>>,
    }
}

impl Status {
    /// The numbers of the accomplishments on a canvas.
    fn of(snapshot: &Snapshot, shown: &[&Accomplishment], canvas: &str, agrees: bool) -> Status {
        let counted = |known: &[&'static str], of: fn(&Accomplishment) -> &'static str| {
            known
                .iter()
                .map(|name| {
                    (
                        (*name).to_owned(),
                        shown.iter().filter(|found| of(found) == *name).count().into(),
                    )
                })
                .collect()
        };
        let total_tasks = shown.iter().map(|found| found.body.tasks.len()).sum::<usize>();
        let completed_tasks = shown.iter().map(|found| found.completed_tasks()).sum::<usize>();
        Status {
            canvas_source: canvas.to_owned(),
            total_accomplishments: shown.len(),
            by_status: counted(&crate::accomplishments::STATUSES, |found| found.status),
            by_effort: counted(&crate::accomplishments::EFFORTS, |found| found.effort),
            by_priority: counted(&crate::accomplishments::PRIORITIES, |found| found.priority),
            blocked_count: shown.iter().filter(|found| snapshot.is_blocked(found)).count(),
            ready_to_start_count: shown.iter().filter(|found| snapshot.is_ready(found)).count(),
            in_progress_count: shown.iter().filter(|found| found.in_progress).count(),
            total_tasks,
            completed_tasks,
            task_completion_percentage: (completed_tasks * 200 + total_tasks)
                .checked_div(total_tasks * 2)
                .unwrap_or(0),
            warning: (!agrees).then_some(
                "Canvas and notes disagree about dependencies; sync_dependencies brings the notes \
                 in line with the canvas, or names the edges that cannot be.",
            ),
            problems: problems(snapshot),
        }
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let projects = projects(context)?;
    let canvas = canvas_of(context, arguments)?;
    let (shown, agrees) = projects.on_canvas(context.vault, &snapshot, &canvas)?;
    Reply::of(&Status::of(&snapshot, &shown, canvas.as_str(), agrees))
}
