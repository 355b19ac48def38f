//! Toolset `notes`: parts of notes, text put where it belongs, properties, tasks, links, files
//! moved and deleted.

mod delete;
mod insert;
mod links;
mod move_file;
mod query;
mod read_notes;
mod rename_tag;
mod set_properties;
mod set_task;
mod tasks;
mod undo;

use super::schema::{ANY_TEXT, Field, Shape, defaulted, optional, required};
use super::{Arguments, Code, Error, Reply, Tool};
use crate::links::plan::Rewritten;
use crate::markdown::insert::Target;
use serde_json::json;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 13] = [
    &read_notes::TOOL,
    &insert::TOOL,
    &set_properties::TOOL,
    &move_file::TOOL,
    &delete::TOOL,
    &links::TOOL,
    &tasks::TOOL,
    &set_task::TOOL,
    &query::TOOL,
    &rename_tag::TOOL,
    &super::history::TOOL,
    &super::restore::TOOL,
    &undo::TOOL,
];

const PATH: &str = "The note: path, [[Name]], daily:today, weekly:2026-W48";

/// Parameters that name a part of a note.
const HEADING: Field =
    optional("heading", ANY_TEXT, "Heading without #, or a path of headings: Projects > Garden");
const BLOCK: Field = optional("block", ANY_TEXT, "Block id, as in ^abc123");

const LINE: Shape = Shape::Integer { min: 1, max: i64::MAX, outside: Code::InvalidRange };

const DRY_RUN: Field = defaulted(
    "dry_run",
    Shape::Flag,
    super::schema::DefaultValue::Flag(false),
    "Only answer what would change",
);
const SHOW: Field =
    optional("show", Shape::OneOf(&["changes", COUNTS]), "counts: empty lists, exact totals");
const COUNTS: &str = "counts";
/// The first 20 lines that change, and the first 20 that are not changed, with the reason.
const CHANGES: Field = required("changes left_alone", Shape::List(&Shape::AnyObject), "");
const LEFT_ALONE_TOTAL: Field = required("left_alone_total", super::schema::COUNT, "");

/// The result of a tool that changes links or tags; `updated` is its name for their number.
fn answer(updated: &str, rewritten: &Rewritten, arguments: &Arguments) -> Result<Reply, Error> {
    let (changes, left_alone) = match arguments.text("show") {
        COUNTS => ([].as_slice(), [].as_slice()),
        _ => (rewritten.changes.as_slice(), rewritten.left_alone.as_slice()),
    };
    Reply::of(&json!({
        updated: rewritten.updated,
        "files_changed": rewritten.files_changed,
        "changes": changes,
        "left_alone": left_alone,
        "left_alone_total": rewritten.left_alone_total,
        "dry_run": arguments.flag("dry_run"),
    }))
}

/// The part of a note that arguments name, one at most.
fn target(arguments: &Arguments) -> Result<Target<'_>, Error> {
    let given: Vec<&str> =
        ["heading", "block", "line"].into_iter().filter(|name| arguments.has(name)).collect();
    match given.as_slice() {
        [] => Ok(Target::Note),
        ["heading"] => Ok(Target::Heading(arguments.text("heading"))),
        ["block"] => Ok(Target::Block(arguments.text("block"))),
        [_] => Ok(Target::Line(arguments.number("line"))),
        several => Err(Error::invalid(format!(
            "Arguments {} exclude each other; give one.",
            several.join(" and ")
        ))),
    }
}
