//! Lists that come in pages: the parameter and the result members that all of them have.

use super::arguments::Arguments;
use super::error::{Code, Error};
use super::schema::{ANY_TEXT, Default, Field, Shape, defaulted, optional};
use crate::cursor;
use crate::limits;
use crate::vault::etag;
use serde::Serialize;

/// The parameter; [`after`] reads it.
pub const CURSOR: Field = optional("cursor", ANY_TEXT, "next_cursor of the previous page");
/// The parameter for the length of a page.
pub const LIMIT: Field = defaulted(
    "limit",
    Shape::Integer { min: 1, max: limits::LIST_PAGE as i64, outside: Code::InvalidArgument },
    Default::Integer(limits::LIST_PAGE_USUAL as i64),
    "Entries per page",
);
/// Result member; also of tools that cut something else than a list.
pub const TRUNCATED: Field = optional("truncated", Shape::Flag, "There is more; only present when true");
/// Result member, see [`Next`].
pub const NEXT_CURSOR: Field = optional("next_cursor", ANY_TEXT, "Pass as cursor to get the next page");

/// What a page says of the one after it; to be flattened into a result that has [`TRUNCATED`] and [`NEXT_CURSOR`].
#[derive(Debug, Serialize)]
pub struct Next {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Next {
    /// The next page of a call begins after the name `last`; `None` when there is none.
    pub fn after(arguments: &Arguments, last: Option<&str>) -> Next {
        let next = |last| cursor::after(&format!("{}{last}", scope(arguments)));
        Next { truncated: last.is_some(), next_cursor: last.map(next) }
    }
}

/// Parameters that say how long a page is and what of each entry it shows.
const OF_A_PAGE: [&str; 5] = [CURSOR.name, "limit", "max_results", "max_chars", "snippets"];

/// What a cursor begins with: it belongs to a tool and its filters, and not to one page.
fn scope(arguments: &Arguments) -> String {
    etag(arguments.scope(&OF_A_PAGE).as_bytes())
}

/// The name that the page before ended with; `None` for the first page.
///
/// # Errors
/// `INVALID_ARGUMENT` for what was never a cursor of this tool with these filters.
pub fn after(arguments: &Arguments) -> Result<Option<String>, Error> {
    let Some(cursor) = arguments.maybe(CURSOR.name) else { return Ok(None) };
    let wrong =
        || Error::new(Code::InvalidArgument, "Argument cursor is not a next_cursor of this tool with the same filters; start without one.");
    let last = cursor::last(cursor).and_then(|last| last.strip_prefix(&scope(arguments)).map(str::to_owned));
    last.map(Some).ok_or_else(wrong)
}
