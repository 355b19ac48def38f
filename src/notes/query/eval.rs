//! Expressions evaluated for a file.

use super::base::Formula;
use super::expr::Expr;
use super::inline::InlineFields;
use super::source::Source;
use super::value::{Date, Link, OrderKey, Value, is_wikilink, number_of};
use crate::calendar::DateTime;
use crate::calendar::duration::Duration;
use crate::clock::Deadline;
use crate::limits;
use crate::links::index::LinkIndex;
use crate::vault::list::tag_name;
use crate::vault::{Entry, Error};
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};

/// A value, or why there is none, as a message for a table cell.
pub(super) type Outcome = Result<Value, String>;

/// Bytes that a value takes besides its text: itself in a list, and its allocation.
pub(super) const VALUE_BYTES: usize = 64;

/// Evaluated parts and comparisons between looks at the clock.
const LOOK_EVERY: u32 = 1 << 9;
/// Bytes or items of what takes so long that the clock is looked at before.
const LONG: usize = 1_000;

/// Files with links to a file.
pub(super) type Linkers = Rc<BTreeSet<String>>;

/// What is the same for all files of a query.
pub(super) struct Evaluator<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) now: DateTime,
    pub(super) formulas: Vec<(String, Formula)>,
    /// The base, or the note in which it stands.
    pub(super) this: Option<Arc<Entry>>,
    pub(super) link_index: OnceCell<Result<Arc<LinkIndex>, Error>>,
    /// The files that link to a path, by that path.
    pub(super) linkers: RefCell<HashMap<String, Linkers>>,
    /// The inline fields of the note that was looked at last.
    pub(super) inline: RefCell<Option<InlineFields>>,
    /// How many conditions could not be computed, and why the first could not.
    pub(super) undecided: RefCell<Option<(usize, String)>>,
    /// Parts and comparisons since the last look at the clock.
    unlooked: Cell<u32>,
    /// Whether its time or its memory is over, or it was cancelled.
    is_over: Cell<bool>,
    /// The nesting depth of the expression being evaluated.
    depth: Cell<usize>,
    deadline: Deadline,
    /// Bytes of its part of [`HELD`].
    held: Cell<usize>,
}

/// Bytes that the values of all queries take together: each query alone may be small, and sixteen
/// of them are not.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl Drop for Evaluator<'_> {
    fn drop(&mut self) {
        self.release(0);
    }
}

/// A file, and the formulas evaluated for it so far.
pub(super) struct Row<'e> {
    pub(super) entry: &'e Arc<Entry>,
    formulas: RefCell<HashMap<String, Outcome>>,
}

/// What a function over a list (`value`, `index`, `acc`), or a summary (`values`), is evaluated
/// with.
pub(super) type Locals = BTreeMap<&'static str, Value>;

impl<'e> Row<'e> {
    pub(super) fn of(entry: &'e Arc<Entry>) -> Row<'e> {
        Row { entry, formulas: RefCell::default() }
    }

    /// Whether values of formulas are kept with it.
    pub(super) fn has_formulas(&self) -> bool {
        !self.formulas.borrow().is_empty()
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        source: &'a Source<'a>,
        this: Option<Arc<Entry>>,
        formulas: Vec<(String, Formula)>,
    ) -> Evaluator<'a> {
        Evaluator {
            source,
            now: source.zone.at(source.now),
            formulas,
            this,
            link_index: OnceCell::new(),
            linkers: RefCell::default(),
            inline: RefCell::default(),
            undecided: RefCell::default(),
            unlooked: Cell::new(0),
            is_over: Cell::new(false),
            depth: Cell::new(0),
            deadline: Deadline::after(limits::QUERY_TIME),
            held: Cell::new(0),
        }
    }

    pub(super) fn value(&self, expr: &Expr, row: &Row<'_>, locals: &Locals) -> Outcome {
        self.check(0)?;
        let depth = self.depth.get();
        // An expression of the greatest depth may use a formula of that depth, and that another
        // one.
        if depth > limits::QUERY_DEPTH * 3 {
            return Err("formulas use formulas that use formulas, too deeply".into());
        }
        self.depth.set(depth + 1);
        let outcome = self.evaluate(expr, row, locals);
        self.depth.set(depth);
        outcome
    }

    fn evaluate(&self, expr: &Expr, row: &Row<'_>, locals: &Locals) -> Outcome {
        match expr {
            Expr::Value(value) => Ok(value.clone()),
            Expr::List(list) => {
                let values = list
                    .iter()
                    .map(|item| self.value(item, row, locals))
                    .collect::<Result<Vec<_>, _>>()?;
                self.list(values)
            }
            Expr::Name(name) => match locals.get(name.as_str()) {
                Some(value) => Ok(value.clone()),
                None => self.property(name, row.entry),
            },
            Expr::Note => self.properties(row.entry),
            Expr::Inline(key) => self.inline_field(row.entry, key),
            Expr::File => Ok(Value::File(Rc::from(&*row.entry.path))),
            Expr::This => Ok(self
                .this
                .as_ref()
                .map_or(Value::Null, |this| Value::File(Rc::from(&*this.path)))),
            Expr::Formula(name) => self.formula(name, row),
            Expr::Member(of, name) => match (&**of, &self.this) {
                (Expr::File, _) => self.file_property(row.entry, name),
                (Expr::This, None) => Ok(Value::Null),
                (Expr::This, Some(this)) if name == "file" => {
                    Ok(Value::File(Rc::from(&*this.path)))
                }
                (Expr::This, Some(this)) => self.property(name, this),
                // Without the other properties.
                (Expr::Member(file, all), _)
                    if matches!(**file, Expr::File) && all == "properties" =>
                {
                    self.property(name, row.entry)
                }
                _ => self.member(&self.value(of, row, locals)?, name, row.entry),
            },
            Expr::Index(of, index) => {
                let (of, index) = (self.value(of, row, locals)?, self.value(index, row, locals)?);
                self.index(&of, &index, row.entry)
            }
            Expr::Call(name, arguments) => self.call(name, arguments, row, locals),
            Expr::Method(of, name, arguments) => self.method(of, name, arguments, row, locals),
            Expr::Not(of) => Ok(Value::Bool(!self.value(of, row, locals)?.is_truthy())),
            Expr::Negative(of) => match self.value(of, row, locals)? {
                Value::Number(number) => Ok(Value::Number(-number)),
                Value::Duration(duration) => Ok(Value::Duration(duration.times(-1.0))),
                Value::Null => Ok(Value::Null),
                other => Err(format!("a {} has no negative", other.type_name())),
            },
            Expr::All(parts) => self.decide(false, parts, row, locals),
            Expr::Any(parts) => self.decide(true, parts, row, locals),
            Expr::Binary(operator @ ("&&" | "||"), left, right) => {
                let left = self.value(left, row, locals)?;
                if left.is_truthy() == (*operator == "||") {
                    Ok(left)
                } else {
                    self.value(right, row, locals)
                }
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) =
                    (self.value(left, row, locals)?, self.value(right, row, locals)?);
                self.apply(operator, &left, &right)
            }
        }
    }

    /// The first part whose truth is `decisive` decides: `true` for any of them, `false` for all.
    /// One that cannot be computed is neither true nor false: unless another decides, its error is
    /// the outcome, so that `not` does not make it true.
    fn decide(&self, decisive: bool, parts: &[Expr], row: &Row<'_>, locals: &Locals) -> Outcome {
        let mut outcome = Ok(Value::Bool(!decisive));
        for part in parts {
            match self.value(part, row, locals) {
                Ok(value) if value.is_truthy() == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(why) => outcome = Err(why),
            }
        }
        outcome
    }

    /// Whether the value is true; one that cannot be computed is not.
    pub(super) fn is_true(&self, expr: &Expr, row: &Row<'_>, locals: &Locals) -> bool {
        let outcome = self.value(expr, row, locals);
        if let Err(why) = &outcome {
            self.undecided.borrow_mut().get_or_insert_with(|| (0, why.clone())).0 += 1;
        }
        outcome.is_ok_and(|value| value.is_truthy())
    }

    /// Looks now and then whether the query may go on: for each part that is evaluated, each
    /// comparison, and each operation on so many bytes or items. What makes values is also bounded
    /// by [`Evaluator::hold`].
    ///
    /// # Errors
    /// The query was cancelled, or takes longer than [`limits::QUERY_TIME`].
    pub(super) fn check(&self, size: usize) -> Result<(), String> {
        let unlooked = if size > LONG { LOOK_EVERY } else { self.unlooked.get() + 1 };
        self.unlooked.set(unlooked % LOOK_EVERY);
        // (0, 0) reports nothing: it asks whether to go on.
        if unlooked == LOOK_EVERY
            && (self.deadline.left().is_none() || !(self.source.proceed)(0, 0))
        {
            self.is_over.set(true);
        }
        if self.is_over.get() {
            return Err("the query takes too long; ask for less, or for a part of the vault".into());
        }
        Ok(())
    }

    /// Counts memory that a value takes. Beyond [`limits::QUERY_MEMORY`] of all queries together
    /// this query ends.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), String> {
        self.check(bytes)?;
        self.held.set(self.held.get() + bytes);
        if HELD.fetch_add(bytes, AtomicOrdering::Relaxed) + bytes > limits::QUERY_MEMORY {
            self.is_over.set(true);
            return Err("the queries at this moment take too much memory; ask for less".into());
        }
        Ok(())
    }

    /// What is counted as held now; for [`Evaluator::release`].
    pub(super) fn held(&self) -> usize {
        self.held.get()
    }

    /// Counts what was held since then as dropped.
    pub(super) fn release(&self, to: usize) {
        let bytes = self.held.get().saturating_sub(to);
        self.held.set(self.held.get() - bytes);
        HELD.fetch_sub(bytes, AtomicOrdering::Relaxed);
    }

    /// A computed text as a value; an error where it is longer than [`limits::QUERY_TEXT_BYTES`].
    pub(super) fn made(&self, text: String) -> Outcome {
        if text.len() > limits::QUERY_TEXT_BYTES {
            return Err(format!("a text becomes longer than {} bytes", limits::QUERY_TEXT_BYTES));
        }
        self.hold(text.len() + VALUE_BYTES)?;
        Ok(Value::Text(text.into()))
    }

    /// A computed link as a value.
    pub(super) fn made_link(&self, link: Link) -> Outcome {
        let bytes =
            link.path.len() + link.subpath.len() + link.display.as_ref().map_or(0, String::len);
        self.hold(bytes + size_of::<Link>() + VALUE_BYTES)?;
        Ok(Value::Link(Rc::new(link)))
    }

    /// What a value is sorted by.
    pub(super) fn order_key(&self, value: &Value) -> Result<OrderKey, String> {
        let key = value.order_key();
        let length = if let OrderKey::Text(text, _) = &key { text.len() } else { 0 };
        self.hold(length + VALUE_BYTES)?;
        Ok(key)
    }

    /// A computed list as a value.
    pub(super) fn list(&self, values: impl IntoIterator<Item = Value>) -> Outcome {
        let list = Value::list_of(values);
        let Value::List(inner, depth) = &list else { return Ok(list) };
        self.hold(inner.len() * VALUE_BYTES)?;
        if *depth > limits::QUERY_DEPTH {
            Err(format!("lists are nested deeper than {}", limits::QUERY_DEPTH))
        } else {
            Ok(list)
        }
    }

    /// Whether the query was stopped before its end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    fn formula(&self, name: &str, row: &Row<'_>) -> Outcome {
        if let Some(known) = row.formulas.borrow().get(name) {
            return known.clone();
        }
        let formula =
            self.formulas.iter().find_map(|(own, formula)| (own == name).then_some(formula));
        let outcome = match formula {
            Some(Ok(expr)) => self.value(expr, row, &Locals::default()),
            Some(Err(why)) => Err(why.clone()),
            None => Ok(Value::Null),
        };
        row.formulas.borrow_mut().insert(name.to_owned(), outcome.clone());
        outcome
    }

    fn apply(&self, operator: &str, left: &Value, right: &Value) -> Outcome {
        // A number in quotes is less or greater than another as a number; it is not equal to one.
        let order = || match (left, right) {
            (Value::Number(_), Value::Text(_)) | (Value::Text(_), Value::Number(_)) => {
                number_of(left).ok()?.partial_cmp(&number_of(right).ok()?)
            }
            _ => self.compare(left, right),
        };
        let ordered = |wanted: &[Ordering]| {
            Ok(Value::Bool(order().is_some_and(|order| wanted.contains(&order))))
        };
        match operator {
            "==" => Ok(Value::Bool(self.are_equal(left, right))),
            "!=" => Ok(Value::Bool(!self.are_equal(left, right))),
            _ if matches!(left, Value::Tag(_)) || matches!(right, Value::Tag(_)) => {
                let [left, right] = [left, right].map(|value| value.clone().without_tag());
                self.apply(operator, &left, &right)
            }
            "<" => ordered(&[Ordering::Less]),
            "<=" => ordered(&[Ordering::Less, Ordering::Equal]),
            ">" => ordered(&[Ordering::Greater]),
            ">=" => ordered(&[Ordering::Greater, Ordering::Equal]),
            _ => self.calculate(operator, left, right),
        }
    }

    fn calculate(&self, operator: &str, left: &Value, right: &Value) -> Outcome {
        let wrong = || {
            Err(format!(
                "there is no such operation between a {} and a {}",
                left.type_name(),
                right.type_name()
            ))
        };
        let is_sum = operator == "+";
        match (left, right) {
            (Value::Number(one), Value::Number(another)) => Ok(Value::Number(match operator {
                "+" => one + another,
                "-" => one - another,
                "*" => one * another,
                "/" => one / another,
                _ => one % another,
            })),
            (Value::Date(date), Value::Date(other)) if operator == "-" => {
                Ok(Value::Duration(Duration {
                    months: 0.0,
                    rest: date.at.seconds_since(other.at) as f64,
                }))
            }
            (Value::Date(date), Value::Text(text)) if is_sum || operator == "-" => {
                match Duration::parse(text) {
                    Some(duration) => Ok(Value::Date(moved(*date, duration, is_sum))),
                    None if is_sum => Ok(Value::text_of(&format!("{}{text}", date.text()))),
                    None => Err(format!("{text:?} is no duration; write 7d, 2 weeks or 1M")),
                }
            }
            (Value::Date(date), Value::Duration(duration)) if is_sum || operator == "-" => {
                Ok(Value::Date(moved(*date, *duration, is_sum)))
            }
            (Value::Duration(one), Value::Duration(another)) if is_sum => {
                Ok(Value::Duration(one.plus(*another)))
            }
            (Value::Duration(one), Value::Duration(another)) if operator == "-" => {
                Ok(Value::Duration(one.plus(another.times(-1.0))))
            }
            (Value::Duration(one), Value::Number(factor)) if operator == "*" => {
                Ok(Value::Duration(one.times(*factor)))
            }
            (Value::Duration(one), Value::Number(part)) if operator == "/" => {
                Ok(Value::Duration(one.times(1.0 / part)))
            }
            (Value::List(one, _), Value::List(another, _)) if is_sum => {
                self.list(one.iter().chain(another.iter()).cloned())
            }
            (Value::Text(_), _) | (_, Value::Text(_)) if is_sum => {
                self.made(format!("{}{}", left.text(), right.text()))
            }
            (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
            _ => wrong(),
        }
    }

    /// Which of two comes first; a text that is compared with a date is parsed as one.
    pub(super) fn compare(&self, left: &Value, right: &Value) -> Option<Ordering> {
        match (left, right) {
            (Value::Date(date), Value::Text(text)) => {
                Some(date.at.cmp(&self.source.zone.parse(text)?.0))
            }
            (Value::Text(_), Value::Date(_)) => self.compare(right, left).map(Ordering::reverse),
            _ => left.compare(right),
        }
    }

    pub(super) fn are_equal(&self, left: &Value, right: &Value) -> bool {
        // There can be far more comparisons than values.
        if self.check(0).is_err() {
            return false;
        }
        match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::List(one, _), Value::List(another, _)) => {
                one.len() == another.len()
                    && one
                        .iter()
                        .zip(another.iter())
                        .all(|(one, another)| self.are_equal(one, another))
            }
            (Value::Tag(one), Value::Tag(another) | Value::Text(another))
            | (Value::Text(one), Value::Tag(another)) => tag_name(one) == tag_name(another),
            (Value::Object(one), Value::Object(another)) => one == another,
            (Value::File(one), Value::File(another)) => one == another,
            (Value::Link(link), Value::File(file)) | (Value::File(file), Value::Link(link)) => {
                self.file_of(link).is_some_and(|found| *found == **file)
            }
            (Value::Link(one), Value::Link(another)) => {
                match (self.file_of(one), self.file_of(another)) {
                    (Some(one), Some(another)) => one == another,
                    (None, None) => one.path == another.path && one.subpath == another.subpath,
                    _ => false,
                }
            }
            (Value::Link(link), Value::Text(text)) | (Value::Text(text), Value::Link(link)) => {
                if is_wikilink(text) {
                    self.are_equal(
                        &Value::Link(Rc::clone(link)),
                        &Value::Link(Rc::new(Link::parse(text, &link.folder))),
                    )
                } else {
                    *link.path == **text
                }
            }
            _ => self.compare(left, right) == Some(Ordering::Equal),
        }
    }

    fn index(&self, of: &Value, index: &Value, entry: &Arc<Entry>) -> Outcome {
        match (of, index) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::List(list, _), Value::Number(index)) => {
                // Of NaN, too, the fraction is not 0.
                let whole = Some(*index)
                    .filter(|index| index.fract() == 0.0)
                    .and_then(|index| usize::try_from(index as i64).ok());
                Ok(whole.and_then(|index| list.get(index)).cloned().unwrap_or(Value::Null))
            }
            (of, Value::Text(name)) => self.member(of, name, entry),
            _ => Err(format!("a {} has no member {}", of.type_name(), index.text())),
        }
    }

    /// `a.name`.
    fn member(&self, of: &Value, name: &str, entry: &Arc<Entry>) -> Outcome {
        let number = |number: i64| Ok(Value::Number(number as f64));
        match (of, name) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::Object(members), _) => {
                Ok(members.get(name).map_or(Value::Null, |json| self.value_of(json, entry)))
            }
            (Value::Text(text) | Value::Tag(text), "length") => {
                number(text.encode_utf16().count() as i64)
            }
            (Value::List(list, _), "length") => number(list.len() as i64),
            (Value::File(path), _) => match self.entry(path) {
                Some(entry) => self.file_property(&entry, name),
                None => Ok(Value::Null),
            },
            (Value::Date(date), _) => {
                let ((year, month, day), (hour, minute, second)) = (date.at.date(), date.at.time());
                match name {
                    "year" => number(year),
                    "month" => number(month as i64),
                    "day" => number(day as i64),
                    "hour" => number(hour),
                    "minute" => number(minute),
                    "second" => number(second),
                    "millisecond" => number(0),
                    _ => Err(format!("a date has no {name}")),
                }
            }
            (Value::Duration(duration), _) => match Duration::unit(name) {
                Some(unit) => Ok(Value::Number(duration.seconds() / unit.seconds())),
                None => Err(format!("a duration has no {name}")),
            },
            _ => Err(format!("a {} has no {name}", of.type_name())),
        }
    }
}

/// A date later or earlier by a duration; months first, as moment.js does.
fn moved(date: Date, duration: Duration, is_later: bool) -> Date {
    let duration = if is_later { duration } else { duration.times(-1.0) };
    let at = date.at.plus_months(duration.months.trunc() as i64);
    let seconds =
        duration.months.fract() * Duration { months: 1.0, rest: 0.0 }.seconds() + duration.rest;
    Date {
        at: at.plus_seconds(seconds as i64),
        has_time: date.has_time || seconds % 86_400.0 != 0.0,
    }
}
