//! Lists that come in pages: the parameter and the result members that all of them have.

use super::arguments::Arguments;
use super::error::{Code, Error};
use super::result::{Inline, flag, result};
use super::schema::{ANY_TEXT, Default, Field, Shape, defaulted, optional};
use crate::cursor;
use crate::limits;
use crate::vault::etag;

/// The parameter; [`after`] reads it.
pub const CURSOR: Field = optional("cursor", ANY_TEXT, "next_cursor of the previous page");
/// The parameter for the length of a page.
pub const LIMIT: Field = defaulted(
    "limit",
    Shape::Integer { min: 1, max: limits::LIST_PAGE as i64, outside: Code::InvalidArgument },
    Default::Integer(limits::LIST_PAGE_USUAL as i64),
    "Entries per page",
);
/// Result member; also of tools that cut something other than a list.
pub const TRUNCATED: Field = optional("truncated", Shape::Flag, "There is more; only present when true");
/// Result member, see [`Next`].
pub const NEXT_CURSOR: Field = optional("next_cursor", ANY_TEXT, "Pass as cursor to get the next page");

result! {
    /// What a page says about the next one.
    #[derive(Debug, Default)]
    pub struct Next {
        /// There is more.
        truncated: Option<bool>,
        /// Pass as cursor to get the next page.
        next_cursor: Option<String>,
    }
}

impl Next {
    /// For a result that is one page, which may be cut.
    pub fn cut(is_cut: bool) -> Next {
        Next { truncated: flag(is_cut), next_cursor: None }
    }

    /// The next page of a call begins after the name `last`; `None` when there is none.
    pub fn after(arguments: &Arguments, last: Option<&str>) -> Inline<Next> {
        let next = |last| cursor::after(&format!("{}{last}", scope(arguments)));
        Inline(Next { truncated: flag(last.is_some()), next_cursor: last.map(next) })
    }
}

/// Parameters that say how long a page is and what of each entry it shows.
const OF_A_PAGE: [&str; 5] = [CURSOR.name, "limit", "max_results", "max_chars", "snippets"];

/// The prefix of a cursor, which binds it to a tool and its filters, but not to the form of a page.
fn scope(arguments: &Arguments) -> String {
    etag(arguments.scope(&OF_A_PAGE).as_bytes())
}

/// The name that the previous page ended with; `None` for the first page.
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
