//! Toolset `vault`: list, read, search, write and edit.

mod edit;
mod list;
mod list_all;
mod read;
mod search;
mod write;

use super::Tool;
use super::error::{Code, Error};
use super::schema::{ANY_TEXT, Field, Shape, optional};
use crate::cursor;

/// The tools, in the order in which they are listed: the map of the vault first.
pub static TOOLS: [&Tool; 6] = [&list_all::TOOL, &list::TOOL, &read::TOOL, &search::TOOL, &write::TOOL, &edit::TOOL];

const PATH: &str = "File path relative to the vault root, for example projects/idea.md";

/// Parameter of the tools that change a file.
const IF_MATCH: Field = optional(
    "if_match",
    ANY_TEXT,
    "The etag that vault_read gave. If the file is no longer that one, nothing is changed and the answer is CONFLICT with the current etag.",
);

/// Parameter of the tools that answer in pages.
const CURSOR: Field = optional("cursor", ANY_TEXT, "The next_cursor of the previous page.");

const ETAG: &str = "Changes when the content changes; pass it as if_match to write only over what you read";
const TRUNCATED: Field = optional("truncated", Shape::Flag, "There is more; only present when true");
const NEXT_CURSOR: Field = optional("next_cursor", ANY_TEXT, "Pass as cursor to get the next page");

const COUNT: Shape = Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidArgument };

/// The name that the page before ended with.
fn from_cursor(cursor: Option<&str>) -> Result<Option<String>, Error> {
    let Some(cursor) = cursor else { return Ok(None) };
    cursor::last(cursor)
        .map(Some)
        .ok_or_else(|| Error::new(Code::InvalidArgument, "Argument cursor is not a next_cursor of this tool; start without one."))
}
