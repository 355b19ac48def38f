//! The values of the expression language, and how they compare and are written.

use crate::calendar::DateTime;
use crate::calendar::duration::Duration;
use crate::limits;
use crate::slice::first_chars;
use crate::text::fold::fold;
use regex::Regex;
use serde_json::{Map, Number, Value as Json, json};
use std::cmp::Ordering;
use std::rc::Rc;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    /// A tag. It equals texts with and without `#`, in any case; else it is a text.
    Tag(Rc<str>),
    Date(Date),
    Duration(Duration),
    /// With the nesting depth: values nested without bound would exhaust the stack.
    List(Rc<[Value]>, usize),
    Object(Rc<Map<String, Json>>),
    Link(Rc<Link>),
    /// A file of the vault, by its path.
    File(Rc<str>),
    Pattern(Rc<Pattern>),
}

/// A date in the owner's time zone, with or without a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) at: DateTime,
    pub(super) has_time: bool,
}

/// A link, internal or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// As it is written, without subpath.
    pub(super) path: String,
    /// `#Heading` or `#^id`, or nothing.
    pub(super) subpath: String,
    pub(super) display: Option<String>,
    /// The folder of the note in which it stands.
    pub(super) folder: Rc<str>,
}

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// Whether `replace` replaces all matches.
    pub(super) is_global: bool,
}

impl Date {
    pub(super) fn text(self) -> String {
        self.at.format(if self.has_time { "YYYY-MM-DD[T]HH:mm:ss" } else { "YYYY-MM-DD" })
    }
}

impl Link {
    /// A link as it is written in a note (`[[path#subpath|display]]`), or a path with a subpath.
    pub(super) fn parse(text: &str, folder: &Rc<str>) -> Link {
        let inner =
            text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).unwrap_or(text);
        let (target, display) = inner
            .split_once('|')
            .map_or((inner, None), |(target, display)| (target, Some(display.trim().to_owned())));
        let at = target.find('#').filter(|_| !target.contains("://")).unwrap_or(target.len());
        let (path, subpath) = target.split_at(at);
        Link {
            path: path.trim().to_owned(),
            subpath: subpath.to_owned(),
            display,
            folder: Rc::clone(folder),
        }
    }

    pub(super) fn text(&self) -> String {
        let target = format!("{}{}", self.path, self.subpath);
        match &self.display {
            Some(display) => format!("[[{target}|{display}]]"),
            None => format!("[[{target}]]"),
        }
    }
}

/// The number that a value is or that stands in a text.
pub(super) fn number_of(value: &Value) -> Result<f64, String> {
    match value {
        Value::Number(number) => Ok(*number),
        Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
        Value::Text(text) => {
            let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
            number.ok_or_else(|| format!("{text:?} is no number"))
        }
        other => Err(format!("a {} is no number", other.type_name())),
    }
}

/// Whether a text is one wikilink and nothing else.
pub(super) fn is_wikilink(text: &str) -> bool {
    text.starts_with("[[") && text.ends_with("]]") && text.matches("[[").count() == 1
}

impl Value {
    pub(super) fn text_of(text: &str) -> Value {
        Value::Text(text.into())
    }

    pub(super) fn list_of(values: impl IntoIterator<Item = Value>) -> Value {
        let values: Rc<[Value]> = values.into_iter().collect();
        let depth = |value: &Value| if let Value::List(_, depth) = value { *depth } else { 0 };
        let depth = values.iter().map(depth).max().unwrap_or(0) + 1;
        Value::List(values, depth)
    }

    /// The same, as a text if it is a tag.
    pub(super) fn without_tag(self) -> Value {
        if let Value::Tag(tag) = self { Value::Text(tag) } else { self }
    }

    /// The same, with the texts in it as tags.
    pub(super) fn into_tags(self) -> Value {
        match self {
            Value::Text(text) => Value::Tag(text),
            Value::List(list, _) => Value::list_of(list.iter().cloned().map(Value::into_tags)),
            other => other,
        }
    }

    /// The name of its type, as `isType` takes it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) | Value::Tag(_) => "string",
            Value::Date(_) => "date",
            Value::Duration(_) => "duration",
            Value::List(..) => "list",
            Value::Object(_) => "object",
            Value::Link(_) => "link",
            Value::File(_) => "file",
            Value::Pattern(_) => "regexp",
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(truth) => *truth,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) | Value::Tag(text) => !text.is_empty(),
            Value::List(list, _) => !list.is_empty(),
            Value::Object(members) => !members.is_empty(),
            Value::Date(_)
            | Value::Duration(_)
            | Value::Link(_)
            | Value::File(_)
            | Value::Pattern(_) => true,
        }
    }

    /// Whether it is null, or a text, list or object with nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        let may_be_empty = matches!(
            self,
            Value::Null | Value::Text(_) | Value::Tag(_) | Value::List(..) | Value::Object(_)
        );
        may_be_empty && !self.is_truthy()
    }

    /// As text, for joining and display; a list that is too long for a text is cut.
    pub(super) fn text(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number_text(*number),
            Value::Text(text) | Value::Tag(text) => text.to_string(),
            Value::Date(date) => date.text(),
            Value::Duration(duration) => duration.text(),
            Value::List(list, _) => joined(list, ", "),
            Value::Object(members) => Json::Object((**members).clone()).to_string(),
            Value::Link(link) => link.text(),
            Value::File(path) => path.to_string(),
            Value::Pattern(pattern) => format!("/{}/", pattern.regex),
        }
    }

    /// As JSON for an answer; `None` if that takes more than the `left` characters.
    pub(super) fn json(&self, left: &mut usize) -> Option<Json> {
        let json = match self {
            Value::Null => Json::Null,
            Value::Bool(truth) => Json::Bool(*truth),
            // Whole numbers as integers.
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                json!(*number as i64)
            }
            Value::Number(number) => {
                Number::from_f64(*number).map_or_else(|| number_text(*number).into(), Json::Number)
            }
            Value::List(list, _) => {
                // The brackets count: a list may have nothing but empty lists.
                *left = left.checked_sub(2)?;
                return list
                    .iter()
                    .map(|value| value.json(left))
                    .collect::<Option<Vec<Json>>>()
                    .map(Json::Array);
            }
            Value::Object(members) => Json::Object((**members).clone()),
            Value::File(path) => format!("[[{path}]]").into(),
            other => other.text().into(),
        };
        *left = left.checked_sub(json.to_string().chars().count() + 1)?;
        Some(json)
    }

    /// Which of two comes first; `None` where they cannot be compared.
    pub(super) fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Number(one), Value::Number(another)) => one.partial_cmp(another),
            (Value::Text(one), Value::Text(another)) => Some(one.cmp(another)),
            (Value::Date(one), Value::Date(another)) => Some(one.at.cmp(&another.at)),
            (Value::Duration(one), Value::Duration(another)) => {
                one.seconds().partial_cmp(&another.seconds())
            }
            (Value::Duration(one), Value::Text(text)) => {
                one.seconds().partial_cmp(&Duration::parse(text)?.seconds())
            }
            (Value::Text(_), Value::Duration(_)) => other.compare(self).map(Ordering::reverse),
            (Value::Bool(one), Value::Bool(another)) => Some(one.cmp(another)),
            _ => None,
        }
    }

    /// What rows, and the values of a list, are sorted by.
    pub(super) fn order_key(&self) -> OrderKey {
        // The bits of a number in its total order: NaN needs one, too.
        let number = |number: f64| {
            let bits = number.to_bits() as i64;
            bits ^ (((bits >> 63) as u64) >> 1) as i64
        };
        match self {
            Value::Number(of) => OrderKey::Number(number(*of)),
            Value::Date(date) => OrderKey::Date(date.at),
            Value::Duration(duration) => OrderKey::Duration(number(duration.seconds())),
            Value::Bool(truth) => OrderKey::Bool(*truth),
            value if value.is_empty() => OrderKey::Empty,
            value => {
                let text = value.text();
                let text = first_chars(&text, limits::QUERY_CELL_CHARS);
                OrderKey::Text(fold(text), text.to_owned())
            }
        }
    }
}

/// The order of values: by type, then by value; texts without regard to case.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum OrderKey {
    Number(i64),
    Date(DateTime),
    Duration(i64),
    Bool(bool),
    /// Folded, and as it is, so far as a cell shows it.
    Text(String, String),
    Empty,
}

impl OrderKey {
    pub(super) fn is_empty(&self) -> bool {
        *self == OrderKey::Empty
    }
}

/// The texts of values joined by a separator, cut soon after [`limits::QUERY_TEXT_BYTES`].
pub(super) fn joined(values: &[Value], separator: &str) -> String {
    let mut text = String::new();
    for (number, value) in values.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { separator });
        text.push_str(&value.text());
        if text.len() > limits::QUERY_TEXT_BYTES {
            break;
        }
    }
    text
}

/// A number with all its digits, and infinity as JavaScript writes it.
fn number_text(number: f64) -> String {
    // No negative zero; Rust writes NaN, inf and -inf.
    (number + 0.0).to_string().replace("inf", "Infinity")
}
