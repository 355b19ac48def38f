//! Toolset `accomplishments`: projects planned on a canvas that people edit in Obsidian at the same
//! time.

mod get_accomplishment;
mod get_blocked_items;
mod get_current_work;
mod get_project_status;
mod get_ready_to_start;
mod list_accomplishments;
mod manage_accomplishment;
mod manage_dependency;
mod manage_task;
mod read_docs;
mod set_work_focus;
mod sync_dependencies;
mod update_doc;

use super::paging::{self, Next};
use super::result::{Inline, result};
use super::schema::{ANY_TEXT, Shape, optional, required};
use super::{Arguments, Code, Context, Error, Field, Tool};
use crate::accomplishments::{
    Accomplishment, Accomplishments, EFFORTS, Error as Refused, FullAccomplishment, PRIORITIES,
    STATUSES, Snapshot, Task,
};
use crate::limits;
use crate::object::without_nulls;
use crate::slice::first_chars;
use crate::vault::VaultPath;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Unreadable notes that a list names.
const PROBLEMS_NAMED: usize = 20;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 13] = [
    &manage_accomplishment::TOOL,
    &manage_dependency::TOOL,
    &manage_task::TOOL,
    &set_work_focus::TOOL,
    &get_accomplishment::TOOL,
    &list_accomplishments::TOOL,
    &get_current_work::TOOL,
    &get_blocked_items::TOOL,
    &get_ready_to_start::TOOL,
    &get_project_status::TOOL,
    &read_docs::TOOL,
    &update_doc::TOOL,
    &sync_dependencies::TOOL,
];

const ID: &str = "For example ACC-001";
const CANVAS_SOURCE: Field = optional(
    "canvas_source",
    ANY_TEXT,
    "Path of a .canvas file in the vault; without it the default canvas",
);
const IF_MATCH: Field =
    optional("if_match", ANY_TEXT, "Change only a note that still has this etag");
const SUCCESS: Field = required("success", Shape::Flag, "True");
const OPERATION: Field = required("operation", ANY_TEXT, "What was done");
/// A line of a document.
const fn line(name: &'static str, about: &'static str) -> Field {
    optional(name, Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange }, about)
}

result! {
    /// An accomplishment with all that its note says, in the words of the note.
    struct Full<'a> {
        id: &'a str,
        title: &'a str,
        kind as "type": &'static str,
        effort: &'static str = Shape::OneOf(&EFFORTS),
        status: &'static str = Shape::OneOf(&STATUSES),
        priority: &'static str = Shape::OneOf(&PRIORITIES),
        in_progress as "inProgress": bool,
        is_blocked: bool,
        depends_on: &'a [String],
        outcome: &'a str,
        acceptance_criteria: Vec<&'a str>,
        acceptance_criteria_done: Vec<bool>,
        /// What stands below each criterion, where any has such text.
        acceptance_criteria_details: Option<Vec<&'a str>>,
        tasks: Vec<Value>,
        notes: &'a str,
        vault_path: &'a str,
        /// Where the card is, which may have been dragged to another canvas.
        canvas_source: Option<String>,
        created: Option<Value> = ANY_TEXT,
        updated: Option<Value> = ANY_TEXT,
        notion_page_id: Option<Value> = ANY_TEXT,
        created_by_plugin: Option<Value> = Shape::Flag,
        collapsed_height: Option<Value> = Shape::Number,
        expanded_height: Option<Value> = Shape::Number,
        expanded_width: Option<Value> = Shape::Number,
        other_properties: Option<Map<String, Value>>,
        etag: &'a str,
    }
}

result! {
    /// An accomplishment in a list.
    struct Summary<'a> {
        id: &'a str,
        title: &'a str,
        status: &'static str = Shape::OneOf(&STATUSES),
        priority: &'static str = Shape::OneOf(&PRIORITIES),
        effort: &'static str = Shape::OneOf(&EFFORTS),
        in_progress as "inProgress": bool,
        is_blocked: bool,
        /// Ids of what it waits for; the first hundred.
        depends_on: &'a [String],
        task_count: usize,
        completed_task_count: usize,
        vault_path: &'a str,
        /// What it waits for; the first hundred.
        blocking_items: Option<Vec<Blocking<'a>>>,
        /// The state when it is done; cut when it is long.
        outcome: Option<String>,
    }
}

result! {
    struct Blocking<'a> {
        id: &'a str,
        /// Empty when it does not exist.
        title: &'a str,
        /// `Missing` when it does not exist.
        status: &'static str,
    }
}

impl<'a> Summary<'a> {
    fn of(snapshot: &Snapshot, found: &'a Accomplishment) -> Summary<'a> {
        Summary {
            id: &found.id,
            title: first_chars(&found.title, limits::TEXT_CUT_CHARS),
            status: found.status,
            priority: found.priority,
            effort: found.effort,
            in_progress: found.in_progress,
            is_blocked: snapshot.is_blocked(found),
            depends_on: found.depends_on.get(..limits::IDS_LISTED).unwrap_or(&found.depends_on),
            task_count: found.body.tasks.len(),
            completed_task_count: found.completed_tasks(),
            vault_path: found.path.as_str(),
            blocking_items: None,
            outcome: None,
        }
    }
}

fn projects<'a>(context: &Context<'a>) -> Result<&'a Accomplishments, Error> {
    context
        .systems
        .projects
        .as_ref()
        .ok_or_else(|| Error::new(Code::InternalError, "toolset accomplishments is not configured"))
}

fn snapshot(context: &Context<'_>) -> Result<Snapshot, Error> {
    Ok(projects(context)?.snapshot(context.vault)?)
}

/// The canvas that is meant: the default one, or that of a path or `[[Name.canvas]]`.
fn canvas_of(context: &Context<'_>, arguments: &Arguments) -> Result<VaultPath, Error> {
    let named = arguments.maybe("canvas_source").filter(|named| !named.trim().is_empty());
    let path = named.map(|named| context.path(named)).transpose()?;
    Ok(projects(context)?.canvas(path.as_ref().map(VaultPath::as_str))?)
}

impl From<Refused> for Error {
    fn from(error: Refused) -> Error {
        let (code, message) = match error {
            Refused::AccomplishmentNotFound(message) => (Code::AccomplishmentNotFound, message),
            Refused::TaskNotFound(message) => (Code::TaskNotFound, message),
            Refused::DuplicateId(message) => (Code::DuplicateId, message),
            Refused::CircularDependency(message) => (Code::CircularDependency, message),
            Refused::CanvasNotFound(message) => (Code::CanvasNotFound, message),
            Refused::AlreadyExists(message) => (Code::AlreadyExists, message),
            Refused::Vault(error) => return Error::from(error),
        };
        Error::new(code, message)
    }
}

/// What a person has to fix: notes that cannot be read as accomplishments, ids that several notes
/// have, and unknown values with what they count as.
fn problems(snapshot: &Snapshot) -> Option<Vec<String>> {
    let broken = snapshot.problems.iter().map(|problem| {
        clipped(&format!("{}: {}", problem.path, problem.why), limits::TEXT_CUT_CHARS)
    });
    let twice = snapshot.duplicates.iter().map(|id| {
        let paths: Vec<&str> = snapshot
            .iter()
            .filter(|found| found.id == *id)
            .map(|found| found.path.as_str())
            .take(limits::NOTES_NAMED)
            .collect();
        format!("{id} is the id of {}", paths.join(" and "))
    });
    let odd = snapshot.iter().flat_map(|found| {
        found.unknown_values.iter().map(move |what| format!("{}: {what}", found.path.as_str()))
    });
    let all: Vec<String> = twice.chain(broken).chain(odd).take(PROBLEMS_NAMED).collect();
    (!all.is_empty()).then_some(all)
}

/// A page of accomplishments, in the order of their keys; how many there are in all, and the cursor
/// of the next page.
fn page<'a, T: Serialize>(
    arguments: &Arguments,
    mut all: Vec<(String, &'a Accomplishment)>,
    shown: impl Fn(&'a Accomplishment) -> T,
) -> Result<(usize, Vec<T>, Inline<Next>), Error> {
    all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let (items, next) = paging::page(
        arguments,
        &all,
        |(key, _)| key.clone(),
        usize::MAX,
        |(_, found)| shown(found),
    )?;
    Ok((all.len(), items, next))
}

/// The key that sorts accomplishments by the number of their id.
fn by_id(found: &Accomplishment) -> String {
    let digits = found.id.trim_start_matches("ACC-");
    format!("{digits:0>12} {}", found.path.as_str())
}

/// The key that sorts accomplishments by priority, the highest first, and then by id.
fn by_priority(found: &Accomplishment) -> String {
    let rank = PRIORITIES.iter().position(|priority| *priority == found.priority).unwrap_or(0);
    format!("{} {}", PRIORITIES.len() - rank, by_id(found))
}

fn task(accomplishment: &str, task: &Task, max_chars: usize) -> Value {
    let cut = |text: &str| clipped(text, max_chars);
    json!(without_nulls(json!({
        "task_id": task.id(accomplishment),
        "number": task.number,
        "name": task.name,
        "goal": cut(&task.goal),
        "description": cut(&task.description),
        "technical_notes": task.technical_notes.as_deref().map(cut),
        "estimate": task.estimate,
        "status": task.status,
        "notes": task.notes.as_deref().map(cut),
        "other_fields": (!task.others.is_empty()).then(|| task.others.iter().map(|(name, text)| (name.clone(), cut(text))).collect::<BTreeMap<_, _>>()),
    })))
}

fn clipped(text: &str, max_chars: usize) -> String {
    let part = first_chars(text, max_chars);
    if part.len() < text.len() { format!("{part}…") } else { text.to_owned() }
}

/// An accomplishment that was changed: all that its note says, or what it is if that is too long
/// for an answer.
fn changed(
    context: &Context<'_>,
    changed: &FullAccomplishment,
) -> Result<Map<String, Value>, Error> {
    const ALWAYS: [&str; 8] =
        ["id", "effort", "status", "priority", "inProgress", "is_blocked", "vault_path", "etag"];
    let mut shown = without_nulls(json!(Full::of(context, &snapshot(context)?, changed)?));
    if json!(shown).to_string().chars().count() > limits::RESULT_CHARS {
        shown.retain(|name, _| ALWAYS.contains(&name.as_str()));
        shown.insert("truncated".into(), true.into());
    }
    Ok(shown)
}

impl<'a> Full<'a> {
    fn of(
        context: &Context<'_>,
        snapshot: &Snapshot,
        shown: &'a FullAccomplishment,
    ) -> Result<Full<'a>, Error> {
        const SHOWN_ABOVE: [&str; 9] = [
            "type",
            "title",
            "id",
            "effort",
            "status",
            "priority",
            "inProgress",
            "depends_on",
            "vault_path",
        ];
        let FullAccomplishment { accomplishment: found, properties, etag } = shown;
        let body = &found.body;
        let mut others = Map::new();
        for (name, value) in properties {
            if let (Some(name), Ok(value)) = (name.as_str(), serde_json::to_value(value)) {
                others.insert(name.to_owned(), value);
            }
        }
        // What has another type than the one declared stays among the others.
        let mut take = |name: &str, fits: fn(&Value) -> bool| {
            others.get(name).is_some_and(fits).then(|| others.remove(name)).flatten()
        };
        let [created, updated, notion_page_id] =
            ["created", "updated", "notion_page_id"].map(|name| take(name, Value::is_string));
        let [collapsed_height, expanded_height, expanded_width] =
            ["collapsed_height", "expanded_height", "expanded_width"]
                .map(|name| take(name, Value::is_number));
        let created_by_plugin = take("created_by_plugin", Value::is_boolean);
        let canvas_written = take("canvas_source", Value::is_string);
        let canvas = projects(context)?.canvas_of(context.vault, found).ok().flatten();
        others.retain(|name, _| !SHOWN_ABOVE.iter().any(|above| above.eq_ignore_ascii_case(name)));
        let details: Vec<&str> =
            body.criteria.iter().map(|criterion| &*criterion.details).collect();
        Ok(Full {
            id: &found.id,
            title: &found.title,
            kind: "accomplishment",
            effort: found.effort,
            status: found.status,
            priority: found.priority,
            in_progress: found.in_progress,
            is_blocked: snapshot.is_blocked(found),
            depends_on: &found.depends_on,
            outcome: &body.outcome,
            acceptance_criteria: body.criteria.iter().map(|criterion| &*criterion.text).collect(),
            acceptance_criteria_done: body
                .criteria
                .iter()
                .map(|criterion| criterion.done)
                .collect(),
            acceptance_criteria_details: details
                .iter()
                .any(|details| !details.is_empty())
                .then_some(details),
            tasks: body.tasks.iter().map(|one| task(&found.id, one, usize::MAX)).collect(),
            notes: &body.notes,
            vault_path: found.path.as_str(),
            canvas_source: canvas
                .map(|canvas| canvas.as_str().to_owned())
                .or_else(|| canvas_written.and_then(|written| Some(written.as_str()?.to_owned()))),
            created,
            updated,
            notion_page_id,
            created_by_plugin,
            collapsed_height,
            expanded_height,
            expanded_width,
            other_properties: (!others.is_empty()).then_some(others),
            etag,
        })
    }
}
