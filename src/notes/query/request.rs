//! A query as it is asked, and the expressions in it and in the view that it names.

use super::Failure;
use super::base::{Sort, View};
use super::expr::Expr;
use super::parse::{ParseContext, parse, property};
use super::value::Value;
use crate::limits;
use crate::vault::VaultPath;
use serde::{Deserialize, Serialize};

/// Columns and summaries of one answer of `vault_query`; their names together have
/// [`limits::QUERY_BYTES`] at most.
const COLUMNS: usize = 100;

/// A query. What is `None` or empty asks for nothing.
#[derive(Debug, Default)]
pub struct Query {
    /// An expression.
    pub condition: Option<String>,
    /// A `.base` file, or a note and the number of a code block in it.
    pub base: Option<(VaultPath, usize)>,
    /// The name of a view of the base; without it the first.
    pub view: Option<String>,
    /// Only in this file or below this folder.
    pub path: Option<VaultPath>,
    /// Property ids.
    pub select: Vec<String>,
    /// Property ids; one may end in ` desc`.
    pub sort: Vec<String>,
    pub group_by: Option<String>,
    /// `tag`, `property`, `folder` or `value:` and a property id.
    pub count: Option<String>,
    /// Rows, or counts, per page.
    pub limit: usize,
    /// Where the previous page ended.
    pub after: Option<LastRow>,
}

impl Query {
    /// Whether nothing narrows it, and no property is named.
    pub(super) fn is_of_all_notes(&self) -> bool {
        self.condition.is_none()
            && self.base.is_none()
            && self.path.is_none()
            && self.select.is_empty()
            && self.sort.is_empty()
            && self.group_by.is_none()
    }
}

/// The row, or the count, that a page ends with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastRow {
    /// From 0.
    pub number: usize,
    /// The path, or the name that is counted.
    pub name: String,
    /// A hash of its group and sort keys.
    pub keys: u64,
}

/// Parsed, within bounds.
pub(super) struct Expressions<'a> {
    pub(super) condition: Option<Expr>,
    pub(super) order: Vec<Sort<Expr>>,
    pub(super) group: Option<Sort<Expr>>,
    /// By property id.
    pub(super) cells: Vec<(String, Expr)>,
    /// Property ids, with the names of their summaries.
    pub(super) summarized: Vec<(&'a str, &'a str, Expr)>,
    /// The property whose values are counted.
    pub(super) counted: Option<Expr>,
}

impl<'a> Expressions<'a> {
    /// # Errors
    /// [`Failure::Wrong`] naming the part, [`Failure::Argument`] for too many columns.
    pub(super) fn of(
        query: &Query,
        view: Option<&'a View>,
        context: &ParseContext,
    ) -> Result<Expressions<'a>, Failure> {
        let condition = query.condition.as_deref().map(|text| parse(text, context)).transpose();
        let condition = condition.map_err(|wrong| Failure::Wrong(format!("In where, {wrong}")))?;
        if matches!(condition, Some(Expr::Value(Value::Text(_)) | Expr::List(_))) {
            return Err(Failure::Wrong(
                "In where, all of it is a text or a list, which is no condition: leave out the \
                 quotes or brackets around it"
                    .into(),
            ));
        }
        let expr_of = |part: &str, id: &str| {
            property(id, context)
                .map_err(|wrong| Failure::Wrong(format!("In {part} {id:?}: {}", wrong.what)))
        };
        let key_of = |part: &str, sort: &Sort| {
            Ok::<_, Failure>(Sort {
                key: expr_of(part, &sort.key)?,
                is_descending: sort.is_descending,
            })
        };
        let mut order: Vec<Sort> = query.sort.iter().map(|text| direction_of(text)).collect();
        if order.is_empty() {
            order.extend(view.into_iter().flat_map(|view| view.sort.iter().cloned()));
        }
        let order =
            order.iter().map(|sort| key_of("sort", sort)).collect::<Result<Vec<_>, Failure>>()?;
        let group = query
            .group_by
            .as_deref()
            .map(direction_of)
            .or_else(|| view.and_then(|view| view.group_by.clone()));
        let group = group.map(|sort| key_of("group_by", &sort)).transpose()?;
        let columns: &[String] = match view {
            Some(view) if query.select.is_empty() => &view.order,
            _ => &query.select,
        };
        let summaries = || view.into_iter().flat_map(|view| &view.summaries);
        let shown = columns.iter().chain(summaries().map(|(column, _)| column));
        if shown.clone().count() > COLUMNS
            || shown.map(String::len).sum::<usize>() > limits::QUERY_BYTES
        {
            let (columns, bytes) = (COLUMNS, limits::QUERY_BYTES);
            return Err(Failure::Argument(format!(
                "At most {columns} columns and summaries can be shown, with {bytes} bytes of \
                 names."
            )));
        }
        let cells = columns
            .iter()
            .map(|column| Ok((column.clone(), expr_of("select", column)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let summarized = summaries().map(|(column, name)| {
            Ok((column.as_str(), name.as_str(), expr_of("summary of", column)?))
        });
        let summarized = summarized.collect::<Result<Vec<_>, Failure>>()?;
        let counted = query
            .count
            .as_deref()
            .and_then(|count| count.strip_prefix("value:"))
            .filter(|property| !property.trim().is_empty());
        let counted = counted.map(|property| expr_of("count", property.trim())).transpose()?;
        let keys = order.iter().chain(&group).map(|sort| &sort.key);
        let mut all = condition
            .iter()
            .chain(keys)
            .chain(cells.iter().map(|(_, expr)| expr))
            .chain(&counted)
            .flat_map(Expr::parts);
        if query.base.is_none() && all.any(|part| matches!(part, Expr::This)) {
            return Err(Failure::Wrong(
                "`this` is the base or the note that it is in: it needs base".into(),
            ));
        }
        Ok(Expressions { condition, order, group, cells, summarized, counted })
    }
}

fn direction_of(text: &str) -> Sort {
    match text.trim().rsplit_once(' ') {
        Some((id, direction)) if direction.eq_ignore_ascii_case("desc") => {
            Sort { key: id.trim().to_owned(), is_descending: true }
        }
        Some((id, direction)) if direction.eq_ignore_ascii_case("asc") => {
            Sort { key: id.trim().to_owned(), is_descending: false }
        }
        _ => Sort { key: text.trim().to_owned(), is_descending: false },
    }
}
