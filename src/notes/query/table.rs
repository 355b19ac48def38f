//! The answer to a query: the matching files as rows, sorted and grouped, with summaries; or only
//! counts.

use super::Failure;
use super::base::{Base, Formula, Sort, in_note, refuse_broken};
use super::eval::{Evaluator, Locals, Outcome, Row, VALUE_BYTES};
use super::expr::Expr;
use super::files::shown_folder;
use super::functions::{mean, numbers};
use super::parse::ParseContext;
use super::request::{Expressions, LastRow, Query};
use super::source::Source;
use super::value::{OrderKey, Value};
use crate::calendar::duration::Duration;
use crate::limits;
use crate::slice::first_chars;
use crate::text::fitting_in;
use crate::text::fold::fold;
use crate::vault::properties::property_in;
use crate::vault::{Entry, Vault};
use memchr::memmem;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Characters of the rows of one page of `vault_query`; its groups and summaries have half of that
/// each.
const PAGE_CHARS: usize = 40_000;

/// The result of a query, as it is serialized: rows with their columns, or counts.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// Matching files.
    pub total: usize,
    /// Property ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Map<String, Json>>>,
    /// The values of the property that rows are grouped by, in order, and how many rows each has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Json>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub summaries: Map<String, Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Map<String, Json>>,
    /// The last row, where more follow.
    #[serde(skip)]
    pub last: Option<LastRow>,
    /// Properties in the query that no note has; on the first page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_properties: Vec<String>,
    /// Files that are left out because their condition could not be computed; on the first page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A row with its group and sort keys.
struct Sorted<'e> {
    row: Row<'e>,
    group: Value,
    group_key: OrderKey,
    keys: Vec<OrderKey>,
}

impl Sorted<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.group_key, &self.keys).hash(&mut hasher);
        hasher.finish()
    }
}

/// Answers a query.
///
/// # Errors
/// [`Failure`].
pub fn answer(source: &Source<'_>, query: &Query) -> Result<Answer, Failure> {
    let _permit = source.vault.costly_call()?;
    let (base, this) = match &query.base {
        Some((path, number)) => {
            let entry = source.vault.entry(path)?;
            (read_base(source.vault, &entry, *number, query.view.as_deref())?, Some(entry))
        }
        None => (Base::parse("", 0, None)?, None),
    };
    let Base { filter, formulas, summaries, view } = base;
    let view = view.as_ref();
    let filters: Vec<&Expr> =
        std::iter::once(&filter).chain(view.map(|view| &view.filter)).collect();
    let Expressions { condition, order, group, cells, summarized, counted } =
        &Expressions::of(query, view, &ParseContext::of(&formulas))?;
    let of_filters = filters.iter().copied().chain(condition).chain(counted);
    let of_columns =
        cells.iter().map(|(_, expr)| expr).chain(summarized.iter().map(|(.., expr)| expr));
    let used: Vec<&Expr> = of_filters
        .chain(of_columns)
        .chain(order.iter().chain(group).map(|sort| &sort.key))
        .collect();
    let mut seen = BTreeSet::new();
    used.iter().try_for_each(|expr| refuse_broken(expr, &formulas, &[], &mut seen))?;
    if query.count.as_deref() == Some("tag") && query.is_of_all_notes() {
        let (total, counts) = source.links.index(source.proceed)?.count_tags();
        return Ok(Answer { total, ..page_of_counts(query, counts) });
    }
    let candidates = Candidates::of(source, query, condition.as_ref())?;
    // Names in the base itself are not reported: a base may be older than the notes that it is for.
    let is_condition =
        |expr: &Expr| condition.as_ref().is_some_and(|condition| std::ptr::eq(condition, expr));
    let asked = used
        .iter()
        .filter(|expr| query.after.is_none() && (query.base.is_none() || is_condition(expr)));
    let unknown_properties = candidates.unknown_properties(source, asked.copied())?;
    let mut evaluator = Evaluator::new(source, this, formulas);
    let rows = select(source, query, &candidates, &evaluator, condition.as_ref(), &filters)?;
    let undecided = evaluator.undecided.take().filter(|_| query.after.is_none());
    let problems: Vec<String> = undecided.into_iter().map(problem).collect();
    if let Some(count) = &query.count {
        let counts = count_by(&evaluator, count, counted.as_ref(), &rows)?;
        evaluator.finish()?;
        return Ok(Answer {
            total: rows.len(),
            unknown_properties,
            problems,
            ..page_of_counts(query, counts)
        });
    }
    let mut rows = sort(&evaluator, rows, group.as_ref(), order);
    let total = rows.len();
    if let Some(limit) = view.and_then(|view| view.limit) {
        rows.truncate(limit);
    }
    let mut answer = Answer { total, unknown_properties, problems, ..Answer::default() };
    let mut outcomes = Vec::new();
    for (column, name, expr) in summarized {
        let values: Vec<Value> = rows
            .iter()
            .map(|sorted| {
                evaluator.value(expr, &sorted.row, &Locals::default()).unwrap_or(Value::Null)
            })
            .collect();
        outcomes.push((*column, summarize(&evaluator, name, &summaries, &values, rows.first())?));
    }
    answer.summaries = cells_within(PAGE_CHARS / 2, outcomes);
    let from = first_of_page(&rows, query.after.as_ref());
    let page = page_of_rows(&evaluator, rows.get(from..).unwrap_or_default(), query.limit, cells);
    let end = from + page.len();
    answer.groups = group.as_ref().map(|_| groups_of(&rows, from, page.len()));
    answer.rows = Some(page);
    let last = end.checked_sub(1).filter(|_| end < rows.len() && end > from);
    answer.last = last.and_then(|number| {
        let sorted = rows.get(number)?;
        Some(LastRow { number, name: sorted.row.entry.path.to_string(), keys: sorted.hash() })
    });
    answer.columns = Some(cells.iter().map(|(column, _)| column.clone()).collect());
    evaluator.finish()?;
    Ok(answer)
}

/// The sentence about files whose condition could not be computed: how many, and why the first one.
fn problem((count, why): (usize, String)) -> String {
    let files = if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") };
    format!("{files} left out, the first because {}", first_chars(&why, limits::QUERY_CELL_CHARS))
}

impl Evaluator<'_> {
    /// Refuses an answer that lacks something because the evaluation was cut short.
    fn finish(&mut self) -> Result<(), Failure> {
        match self.take_error() {
            Some(error) => Err(error.into()),
            None if self.is_over() => Err(takes_too_long()),
            None => Ok(()),
        }
    }
}

fn takes_too_long() -> Failure {
    Failure::Wrong(
        "The query takes too long, or too much memory; give it a path, or a simpler expression"
            .into(),
    )
}

/// A value as a cell; an error if it cannot be computed or is too long.
fn cell(outcome: Outcome) -> Json {
    let mut left = limits::QUERY_CELL_CHARS;
    match outcome.map(|value| value.json(&mut left)) {
        Ok(Some(json)) => json,
        Ok(None) => {
            json!({ "error": format!("the value has more than {} characters", limits::QUERY_CELL_CHARS) })
        }
        Err(why) => json!({ "error": why }),
    }
}

/// Empty values come last in both directions.
fn ordered(a: &OrderKey, b: &OrderKey, is_descending: bool) -> Ordering {
    let order = a.cmp(b);
    if is_descending && !a.is_empty() && !b.is_empty() { order.reverse() } else { order }
}

fn read_base(
    vault: &Vault,
    entry: &Arc<Entry>,
    number: usize,
    view: Option<&str>,
) -> Result<Base, Failure> {
    let text = vault.text(entry)?;
    if entry.path.to_ascii_lowercase().ends_with(".base") {
        return Base::parse(&text, 0, view);
    }
    if !entry.is_note() {
        return Err(Failure::Argument(format!(
            "{} is neither a .base file nor a note",
            entry.path
        )));
    }
    let Some((text, line)) = in_note(&text, number) else {
        return Err(Failure::Argument(format!(
            "{} has no code block {number} of the language base",
            entry.path
        )));
    };
    Base::parse(&text, line, view)
}

/// The files among which the matching ones are looked for.
struct Candidates {
    files: Vec<Arc<Entry>>,
    /// How many of them, the first ones, are known to meet the condition.
    certain: usize,
}

impl Candidates {
    fn of(
        source: &Source<'_>,
        query: &Query,
        condition: Option<&Expr>,
    ) -> Result<Candidates, Failure> {
        let equality = condition.and_then(Expr::equality).filter(|_| query.base.is_none());
        if let Some((property, text)) = equality
            && let index = source.links.index(source.proceed)?
            && let Some(listed) = index.with_text(property, text)
            // Of a text that no note has, the names of all notes' properties are needed.
            && !listed.having.is_empty()
        {
            // One that has changed since it was listed is evaluated.
            let having = source.vault.numbered(&listed.having);
            let (mut files, changed): (Vec<_>, Vec<_>) =
                having.into_iter().partition(|entry| index.is_current(entry));
            let certain = files.len();
            files.extend(changed);
            files.extend(source.vault.numbered(&listed.others));
            return Ok(Candidates { files, certain });
        }
        let files = source.vault.files_with_frontmatter(source.proceed)?;
        Ok(Candidates { files, certain: 0 })
    }

    /// The names in expressions that are properties of no note.
    fn unknown_properties<'e>(
        &self,
        source: &Source<'_>,
        used: impl Iterator<Item = &'e Expr>,
    ) -> Result<Vec<String>, Failure> {
        let names = without_properties_of(&self.files, names_in(used));
        if self.certain == 0 || names.is_empty() {
            return Ok(names);
        }
        // These are not all notes.
        let all = source.vault.files_with_frontmatter(source.proceed)?;
        Ok(without_properties_of(&all, names))
    }
}

/// The matching files, by path.
fn select<'e>(
    source: &Source<'_>,
    query: &Query,
    candidates: &'e Candidates,
    evaluator: &Evaluator<'_>,
    condition: Option<&Expr>,
    filters: &[&Expr],
) -> Result<Vec<Row<'e>>, Failure> {
    // Skips files whose frontmatter lacks the string of an equality.
    let needle =
        condition.map(Expr::required).unwrap_or_default().into_iter().max_by_key(String::len);
    let needle = needle.as_deref().map(memmem::Finder::new);
    // A condition on the ending is about files of other kinds, too.
    let names_ending = |part: &Expr| matches!(part, Expr::Member(of, name) if matches!(**of, Expr::File) && name == "ext");
    let covers_all = query.base.is_some()
        || condition.is_some_and(|expr| expr.parts().into_iter().any(names_ending));
    let is_candidate = |entry: &Entry| {
        query.path.as_ref().is_none_or(|path| path.covers(&entry.path))
            && (covers_all || entry.is_note())
            && needle.as_ref().is_none_or(|needle| {
                needle.find(entry.properties_json().unwrap_or_default().as_bytes()).is_some()
            })
    };
    let Candidates { files, certain } = candidates;
    let mut rows = Vec::new();
    for (number, entry) in files.iter().enumerate() {
        if number % limits::SEARCH_BLOCK == 0 && !(source.proceed)(number, files.len()) {
            return Err(Failure::Vault(crate::vault::Error::Cancelled));
        }
        let row = Row::of(entry);
        if number < *certain {
            if query.path.as_ref().is_none_or(|path| path.covers(&entry.path)) {
                rows.push(row);
            }
            continue;
        }
        if !is_candidate(entry) {
            continue;
        }
        let held = evaluator.held();
        // The filters of the base first: a file that they leave out is no problem of the condition.
        if filters
            .iter()
            .copied()
            .chain(condition)
            .all(|expr| evaluator.is_true(expr, &row, &Locals::default()))
        {
            // Only the values of formulas are kept.
            if !row.has_formulas() {
                evaluator.release(held);
            }
            rows.push(row);
        } else {
            evaluator.release(held);
        }
        if evaluator.is_over() {
            return Err(takes_too_long());
        }
    }
    if *certain > 0 && *certain < files.len() {
        rows.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
    }
    Ok(rows)
}

/// Rows in their groups and order. A value that cannot be computed is empty.
fn sort<'e>(
    evaluator: &Evaluator<'_>,
    rows: Vec<Row<'e>>,
    group: Option<&Sort<Expr>>,
    order: &[Sort<Expr>],
) -> Vec<Sorted<'e>> {
    let key_of = |row: Row<'e>| {
        let held = evaluator.held();
        let value = |key: &Sort<Expr>| {
            evaluator.value(&key.key, &row, &Locals::default()).unwrap_or(Value::Null)
        };
        let group = group.map_or(Value::Null, value);
        let order_key = |value: &Value| evaluator.order_key(value).unwrap_or(OrderKey::Empty);
        let keys = order.iter().map(|key| order_key(&value(key))).collect();
        let group_key = order_key(&group);
        // Of what was computed for them little stays.
        if !row.has_formulas() {
            evaluator.release(held);
        }
        Sorted { group_key, keys, group, row }
    };
    let mut rows: Vec<Sorted<'e>> = rows.into_iter().map(key_of).collect();
    rows.sort_by(|a, b| {
        let by_group = group
            .map_or(Ordering::Equal, |key| ordered(&a.group_key, &b.group_key, key.is_descending));
        let mut by_keys = a
            .keys
            .iter()
            .zip(&b.keys)
            .zip(order)
            .map(|((a, b), key)| ordered(a, b, key.is_descending));
        by_group.then_with(|| by_keys.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    });
    rows
}

/// The first rows, as many as fit.
fn page_of_rows(
    evaluator: &Evaluator<'_>,
    rows: &[Sorted<'_>],
    limit: usize,
    columns: &[(String, Expr)],
) -> Vec<Map<String, Json>> {
    let members_of = |Sorted { row, .. }: &Sorted<'_>| {
        let values = columns.iter().map(|(column, expr)| {
            (column.as_str(), evaluator.value(expr, row, &Locals::default()))
        });
        let mut members = cells_within(PAGE_CHARS, values);
        members.insert("path".into(), (*row.entry.path).into());
        members
    };
    fitting_in(PAGE_CHARS, rows.iter().take(limit).map(members_of))
}

/// Cells by their columns; errors from where they would have more than `max` characters.
fn cells_within<'c>(
    max: usize,
    values: impl IntoIterator<Item = (&'c str, Outcome)>,
) -> Map<String, Json> {
    let mut left = max;
    let members = values.into_iter().map(|(column, value)| {
        let value = cell(value);
        left = left.saturating_sub(value.to_string().chars().count());
        (
            column.to_owned(),
            if left > 0 { value } else { json!({ "error": "the row is too long; select less" }) },
        )
    });
    members.collect()
}

/// The groups of the rows of a page, and how many rows each has in all.
fn groups_of(rows: &[Sorted<'_>], from: usize, count: usize) -> Vec<Json> {
    let mut end = 0;
    let groups = rows.chunk_by(|a, b| a.group_key == b.group_key).filter_map(|group| {
        end += group.len();
        let first = group.first().filter(|_| end - group.len() < from + count && end > from)?;
        Some(json!({ "value": cell(Ok(first.group.clone())), "count": group.len() }))
    });
    fitting_in(PAGE_CHARS / 2, groups)
}

/// The number of the first row of a page: the one after the last row of the previous page, wherever
/// that is now. If changed keys have moved that row, the one that followed it.
fn first_of_page(rows: &[Sorted<'_>], after: Option<&LastRow>) -> usize {
    let Some(LastRow { number, name, keys }) = after else { return 0 };
    let found = rows.iter().enumerate().find(|(_, sorted)| *sorted.row.entry.path == **name);
    match found {
        Some((now, sorted)) if sorted.hash() == *keys => now + 1,
        Some((now, _)) if now <= *number => number + 1,
        _ => *number,
    }
}

/// How many files have each tag, property, folder or value.
fn count_by(
    evaluator: &Evaluator<'_>,
    count: &str,
    value: Option<&Expr>,
    rows: &[Row<'_>],
) -> Result<BTreeMap<String, usize>, Failure> {
    // What they take counts: a list may have one long text a million times.
    let shown = |value: &Value| {
        let name = first_chars(&value.text(), limits::QUERY_CELL_CHARS).to_owned();
        evaluator.hold(name.len() + VALUE_BYTES).is_ok().then_some(name)
    };
    let counted_names = |row: &Row<'_>| -> Vec<String> {
        let entry: &Entry = row.entry;
        match (count, value) {
            (_, Some(expr)) => match evaluator.value(expr, row, &Locals::default()) {
                Ok(Value::List(values, _)) => values.iter().map_while(shown).collect(),
                Ok(Value::Null) | Err(_) => Vec::new(),
                Ok(value) => shown(&value).into_iter().collect(),
            },
            ("tag", _) => entry.tags.iter().map(|tag| tag.to_string()).collect(),
            ("property", _) => entry
                .properties()
                .into_iter()
                .flat_map(|members| members.into_iter().map(|(name, _)| name))
                .collect(),
            _ => vec![shown_folder(entry).to_owned()],
        }
    };
    if value.is_none() && !["tag", "property", "folder"].contains(&count) {
        return Err(Failure::Argument(
            "Argument count must be tag, property, folder, or value: and a property.".into(),
        ));
    }
    // Names of tags and properties are compared without case, and shown as they are written most
    // often.
    let key_of = |name: &str| {
        if value.is_none() && count != "folder" { fold(name) } else { name.to_owned() }
    };
    let mut counts: BTreeMap<String, (usize, BTreeMap<String, usize>)> = BTreeMap::new();
    for row in rows {
        let held = evaluator.held();
        let names = counted_names(row)
            .into_iter()
            .map(|name| first_chars(&name, limits::QUERY_CELL_CHARS).to_owned());
        for (key, name) in names.map(|name| (key_of(&name), name)).collect::<BTreeMap<_, _>>() {
            let (count, spellings) = counts.entry(key).or_default();
            *count += 1;
            *spellings.entry(name).or_default() += 1;
        }
        if !row.has_formulas() {
            evaluator.release(held);
        }
    }
    let most_used = |(count, spellings): (usize, BTreeMap<String, usize>)| {
        let most = spellings.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(name, _)| (name, count))
    };
    Ok(counts.into_values().filter_map(most_used).collect())
}

/// A page of counts, the most frequent first.
fn page_of_counts(query: &Query, counts: BTreeMap<String, usize>) -> Answer {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
    let from = query.after.as_ref().map_or(0, |last| last.number + 1);
    let page = fitting_in(PAGE_CHARS, counts.iter().skip(from).take(query.limit));
    let end = from + page.len();
    let last = page.last().filter(|_| end < counts.len()).map(|(name, _)| LastRow {
        number: end - 1,
        name: name.clone(),
        keys: 0,
    });
    let counts = page.into_iter().map(|(name, count)| (name.clone(), (*count).into())).collect();
    Answer { counts: Some(counts), last, ..Answer::default() }
}

/// The names of properties in expressions.
fn names_in<'e>(used: impl Iterator<Item = &'e Expr>) -> Vec<String> {
    let name =
        |part: &'e Expr| if let Expr::Name(name) = part { Some(name.as_str()) } else { None };
    let names: BTreeSet<&str> = used.flat_map(Expr::parts).filter_map(name).collect();
    let names = names.into_iter().filter(|name| !["value", "index", "acc"].contains(name));
    names.map(str::to_owned).collect()
}

/// The names that none of the files has as a property.
fn without_properties_of(files: &[Arc<Entry>], mut names: Vec<String>) -> Vec<String> {
    for file in files {
        if names.is_empty() {
            break;
        }
        names
            .retain(|name| property_in(file.properties_json().unwrap_or_default(), name).is_none());
    }
    names
}

/// The value of a summary: one of the base's own, or a built-in one.
fn summarize(
    evaluator: &Evaluator<'_>,
    name: &str,
    own: &[(String, Formula)],
    values: &[Value],
    row: Option<&Sorted<'_>>,
) -> Result<Outcome, Failure> {
    if let Some((_, expr)) = own.iter().find(|(known, _)| known == name) {
        let expr = expr.as_ref().map_err(|why| Failure::Wrong(why.clone()))?;
        let Some(sorted) = row else { return Ok(Ok(Value::Null)) };
        let locals = Locals::from([("values", Value::list_of(values.iter().cloned()))]);
        return Ok(evaluator.value(expr, &sorted.row, &locals));
    }
    let mut found = numbers(values);
    found.sort_by(f64::total_cmp);
    let dates = || values.iter().filter(|value| matches!(value, Value::Date(_)));
    let (earliest, latest) = (
        dates().min_by_key(|date| date.order_key()).cloned(),
        dates().max_by_key(|date| date.order_key()).cloned(),
    );
    let number = |number: Option<f64>| number.map_or(Value::Null, Value::Number);
    let count = |is_wanted: &dyn Fn(&Value) -> bool| {
        Value::Number(values.iter().filter(|value| is_wanted(value)).count() as f64)
    };
    let middle = || {
        let half = found.len() / 2;
        let upper = found.get(half)?;
        if found.len() % 2 == 1 {
            Some(*upper)
        } else {
            Some((found.get(half.checked_sub(1)?)? + upper) / 2.0)
        }
    };
    let deviation = || {
        let mean = mean(&found)?;
        Some(
            (found.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / found.len() as f64)
                .sqrt(),
        )
    };
    Ok(Ok(match name {
        "Average" => number(mean(&found)),
        "Min" => number(found.first().copied()),
        "Max" => number(found.last().copied()),
        "Sum" => Value::Number(found.iter().sum()),
        "Median" => number(middle()),
        "Stddev" => number(deviation()),
        "Range" => match (&earliest, &latest) {
            (Some(Value::Date(first)), Some(Value::Date(last))) if found.is_empty() => {
                Value::Duration(Duration {
                    months: 0.0,
                    rest: last.at.seconds_since(first.at) as f64,
                })
            }
            _ => number(found.first().zip(found.last()).map(|(first, last)| last - first)),
        },
        "Earliest" => earliest.unwrap_or(Value::Null),
        "Latest" => latest.unwrap_or(Value::Null),
        "Checked" => count(&|value| matches!(value, Value::Bool(true))),
        "Unchecked" => count(&|value| matches!(value, Value::Bool(false))),
        "Empty" => count(&Value::is_empty),
        "Filled" => count(&|value| !value.is_empty()),
        "Unique" => {
            let distinct: BTreeSet<String> = values
                .iter()
                .filter(|value| !value.is_empty())
                .map(|value| format!("{} {}", value.type_name(), value.text()))
                .collect();
            Value::Number(distinct.len() as f64)
        }
        _ => {
            return Err(Failure::Wrong(format!(
                "There is no summary {name:?}; there are Average, Min, Max, Sum, Range, Median, \
                 Stddev, Earliest, Latest, Checked, Unchecked, Empty, Filled and Unique, and the \
                 base's own"
            )));
        }
    }))
}
