//! Toolset `notes`: parts of notes, text put where it belongs, properties, tasks.

mod insert;
mod read_notes;
mod set_properties;
mod set_task;
mod tasks;

use super::schema::{ANY_TEXT, COUNT, Field, Shape, optional};
use super::{Arguments, Code, Error, Tool};

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 5] = [&read_notes::TOOL, &insert::TOOL, &set_properties::TOOL, &tasks::TOOL, &set_task::TOOL];

const PATH: &str = "The note: its path, [[Name]], or daily:today, daily:2026-11-22, weekly:2026-W48, monthly:2026-11";

/// Parameters that name a part of a note.
const HEADING: Field = optional("heading", ANY_TEXT, "Heading without #, or a path of headings: Projects > Boiler");
const BLOCK: Field = optional("block", ANY_TEXT, "Block id, as in ^abc123");

const LINE: Shape = Shape::Integer { min: 1, max: i64::MAX, outside: Code::InvalidRange };

/// Result members of many tools here.
const TOTAL_LINES: Field = super::schema::required("total_lines", COUNT, "Lines of the file now");

/// Refuses more than one of some arguments.
fn at_most_one(arguments: &Arguments, names: &[&str]) -> Result<(), Error> {
    let given: Vec<&str> = names.iter().copied().filter(|name| arguments.has(name)).collect();
    match given.as_slice() {
        [] | [_] => Ok(()),
        several => Err(Error::new(Code::InvalidArgument, format!("Arguments {} exclude each other; give one.", several.join(" and ")))),
    }
}
