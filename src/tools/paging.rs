//! Lists that come in pages: the parameter and the result members that all of them have.

use super::arguments::Arguments;
use super::error::{Code, Error};
use super::reply::fitting;
use super::result::{Inline, flag, member, result};
use super::schema::{ANY_TEXT, DefaultValue, Field, Shape, defaulted, optional};
use crate::cursor;
use crate::limits;
use crate::vault::etag;
use serde::Serialize;

/// The parameter; [`last_shown`] reads it.
pub const CURSOR: Field = optional("cursor", ANY_TEXT, "next_cursor of the previous page");
/// The parameter for the length of a page.
pub const LIMIT: Field = defaulted(
    "limit",
    Shape::Integer { min: 1, max: limits::LIST_PAGE as i64, outside: Code::InvalidArgument },
    DefaultValue::Integer(limits::LIST_PAGE_USUAL as i64),
    "Entries per page",
);
/// The members of [`Next`], for a result that `result!` does not declare.
pub const NEXT: Field = member::<Inline<Next>>("next");

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

    /// The same where another part of the result is cut.
    pub fn or_cut(self, is_cut: bool) -> Next {
        Next { truncated: self.truncated.or(flag(is_cut)), ..self }
    }

    /// What is said about the next page, which begins after the name `last`; without `last` there
    /// is none.
    pub fn page_after(arguments: &Arguments, last: Option<&str>) -> Inline<Next> {
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
pub fn last_shown(arguments: &Arguments) -> Result<Option<String>, Error> {
    let Some(cursor) = arguments.maybe(CURSOR.name) else { return Ok(None) };
    let last = cursor::last(cursor)
        .and_then(|last| last.strip_prefix(&scope(arguments)).map(str::to_owned));
    last.map(Some).ok_or_else(wrong_cursor)
}

fn wrong_cursor() -> Error {
    Error::invalid(
        "Argument cursor is not a next_cursor of this tool with the same filters; start without \
         one.",
    )
}

/// How many results earlier pages have shown, for a list whose order is no order of names.
///
/// # Errors
/// As [`last_shown`].
pub fn offset(arguments: &Arguments) -> Result<usize, Error> {
    let Some(shown) = last_shown(arguments)? else { return Ok(0) };
    shown.parse().map_err(|_| wrong_cursor())
}

/// A page of a list that is sorted by its keys: at most `most` entries after the cursor, as long as
/// they fit into an answer, each as `show` makes it; and what is said about the next page.
///
/// # Errors
/// As [`last_shown`].
pub fn page<'a, T, R: Serialize>(
    arguments: &Arguments,
    sorted: &'a [T],
    key: impl Fn(&T) -> String,
    most: usize,
    show: impl Fn(&'a T) -> R,
) -> Result<(Vec<R>, Inline<Next>), Error> {
    let start = last_shown(arguments)?
        .map_or(0, |after| sorted.partition_point(|entry| key(entry) <= after));
    let rest = sorted.get(start..).unwrap_or_default();
    let shown = fitting(rest.iter().take(most).map(show));
    let last = rest.get(..shown.len()).filter(|page| page.len() < rest.len()).and_then(<[T]>::last);
    let next = Next::page_after(arguments, last.map(key).as_deref());
    Ok((shown, next))
}
