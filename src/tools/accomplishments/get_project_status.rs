//! `get_project_status`: a project in numbers.

use super::{CANVAS_SOURCE, PROBLEMS, canvas_of, problems, projects, refused, snapshot};
use crate::accomplishments::{Accomplishment, Snapshot};
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;
use std::collections::BTreeMap;

pub(super) static TOOL: Tool = Tool {
    name: "get_project_status",
    title: "A project in numbers",
    description: "Counts the accomplishments of a project by status, effort and priority, those blocked, ready and in progress, and \
        their tasks; for the items themselves use list_accomplishments.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[CANVAS_SOURCE],
    output: &[
        required("canvas_source", ANY_TEXT, "The canvas"),
        required("total_accomplishments", COUNT, "Accomplishments whose notes are on it"),
        required(
            "by_status",
            Shape::Object(&[count("Not Started"), count("In Progress"), count("Completed"), count("Blocked")]),
            "Each status",
        ),
        required("by_effort", Shape::Object(&[count("Business"), count("Infra"), count("Engineering"), count("Research")]), "Each effort"),
        required("by_priority", Shape::Object(&[count("Low"), count("Medium"), count("High"), count("Critical")]), "Each priority"),
        required("blocked_count", COUNT, "They wait for something that is not completed"),
        required("ready_to_start_count", COUNT, "Not started, and they wait for nothing"),
        required("in_progress_count", COUNT, "Marked as being worked on"),
        required("total_tasks", COUNT, "Tasks of all of them"),
        required("completed_tasks", COUNT, "Those that are complete"),
        required("task_completion_percentage", COUNT, "Of all tasks, rounded; 0 without tasks"),
        optional("warning", ANY_TEXT, "Canvas and notes do not agree"),
        PROBLEMS,
    ],
    run,
};

const fn count(name: &'static str) -> Field {
    required(name, COUNT, "How many")
}

/// A project in numbers.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    canvas_source: String,
    pub(super) total_accomplishments: usize,
    by_status: BTreeMap<&'static str, usize>,
    by_effort: BTreeMap<&'static str, usize>,
    by_priority: BTreeMap<&'static str, usize>,
    pub(super) blocked_count: usize,
    pub(super) ready_to_start_count: usize,
    pub(super) in_progress_count: usize,
    pub(super) total_tasks: usize,
    pub(super) completed_tasks: usize,
    pub(super) task_completion_percentage: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Vec<String>>,
}

impl Status {
    /// The numbers of the accomplishments on a canvas.
    pub(super) fn of(snapshot: &Snapshot, shown: &[&Accomplishment], canvas: &str, agrees: bool) -> Status {
        let counted = |known: &[&'static str], of: fn(&Accomplishment) -> &'static str| {
            known.iter().map(|name| (*name, shown.iter().filter(|found| of(found) == *name).count())).collect()
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
            task_completion_percentage: (completed_tasks * 200 + total_tasks).checked_div(total_tasks * 2).unwrap_or(0),
            warning: (!agrees)
                .then_some("Canvas and notes disagree about dependencies; sync_dependencies brings the notes in line with the canvas."),
            problems: problems(snapshot),
        }
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let projects = projects(context)?;
    let canvas = canvas_of(context, arguments)?;
    let (shown, agrees) = projects.on_canvas(context.vault, &snapshot, &canvas).map_err(refused)?;
    Reply::of(&Status::of(&snapshot, &shown, canvas.as_str(), agrees))
}
