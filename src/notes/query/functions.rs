//! The functions of the language, by the type of value they are called on.

use super::eval::{Evaluator, Locals, Outcome, Row, VALUE_BYTES};
use super::expr::Expr;
use super::files::folder_of;
use super::value::{Date, Link, OrderKey, Pattern, Value, is_wikilink, joined, number_of};
use crate::calendar::duration::Duration;
use crate::limits;
use crate::text::escape_html;
use crate::vault::Entry;
use crate::vault::list::tag_name;
use crate::vault::properties::property_in;
use regex::{Captures, Regex};
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Elements of a list that `split` or `flat` produces.
const LIST: usize = 10_000;

impl Evaluator<'_> {
    pub(super) fn call(
        &self,
        name: &str,
        arguments: &[Expr],
        row: &Row<'_>,
        locals: &Locals,
    ) -> Outcome {
        if let ("if", [condition, then, rest @ ..]) = (name, arguments) {
            let branch = if self.value(condition, row, locals)?.is_truthy() {
                Some(then)
            } else {
                rest.first()
            };
            return branch.map_or(Ok(Value::Null), |branch| self.value(branch, row, locals));
        }
        let values = arguments
            .iter()
            .map(|argument| self.value(argument, row, locals))
            .collect::<Result<Vec<_>, _>>()?;
        let first = values.first().cloned().unwrap_or(Value::Null).without_tag();
        match (name, &first) {
            ("now", _) => Ok(Value::Date(Date { at: self.now, has_time: true })),
            ("today", _) => Ok(Value::Date(Date { at: self.now.midnight(), has_time: false })),
            ("random", _) => Ok(Value::Number(
                (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64,
            )),
            ("list", Value::List(..)) => Ok(first),
            ("list", _) => self.list([first]),
            ("min" | "max", _) if values.iter().any(|value| matches!(value, Value::Null)) => {
                Ok(Value::Null)
            }
            ("min" | "max", _) => {
                let numbers = values.iter().map(number_of).collect::<Result<Vec<f64>, _>>()?;
                let better: fn(f64, f64) -> f64 = if name == "min" { f64::min } else { f64::max };
                Ok(numbers.into_iter().reduce(better).map_or(Value::Null, Value::Number))
            }
            (_, Value::Null) if name != "link" => Ok(Value::Null),
            ("date", Value::Date(_))
            | ("duration", Value::Duration(_))
            | ("file", Value::File(_)) => Ok(first),
            ("date", Value::Text(text)) => match self.source.zone.parse(text.trim()) {
                Some((at, has_time)) => Ok(Value::Date(Date { at, has_time })),
                None => {
                    Err(format!("{text:?} is no date; write YYYY-MM-DD or YYYY-MM-DD HH:mm:ss"))
                }
            },
            ("duration", Value::Text(text)) => Duration::parse(text)
                .map(Value::Duration)
                .ok_or_else(|| format!("{text:?} is no duration; write 7d, 2 weeks or 1M")),
            ("number", Value::Date(date)) => {
                Ok(Value::Number(self.source.zone.seconds_at(date.at) as f64 * 1000.0))
            }
            ("number", _) => number_of(&first).map(Value::Number),
            ("escapeHTML", value) => self.made(escape_html(&value.text())),
            ("link", value) => {
                let display = values.get(1).map(Value::text);
                self.made_link(match value {
                    Value::Link(link) => Link {
                        display: display.or_else(|| link.display.clone()),
                        ..(**link).clone()
                    },
                    Value::File(path) => Link {
                        path: path.to_string(),
                        subpath: String::new(),
                        display,
                        folder: "".into(),
                    },
                    other => {
                        let link = Link::parse(&other.text(), &folder_of(row.entry));
                        Link { display: display.or(link.display.clone()), ..link }
                    }
                })
            }
            ("file", Value::Link(link)) => {
                Ok(self.file_of(link).map_or(Value::Null, |path| Value::File(path.into())))
            }
            ("file", Value::Text(text)) => {
                let is_path = self.entry(text).map(|entry| entry.path.to_string());
                let found =
                    is_path.or_else(|| self.file_of(&Link::parse(text, &folder_of(row.entry))));
                Ok(found.map_or(Value::Null, |path| Value::File(path.into())))
            }
            _ => Err(format!("{name}() does not take a {}", first.type_name())),
        }
    }

    pub(super) fn method(
        &self,
        of: &Expr,
        name: &str,
        arguments: &[Expr],
        row: &Row<'_>,
        locals: &Locals,
    ) -> Outcome {
        let is_row = matches!(of, Expr::File);
        let of = self.value(of, row, locals)?;
        if let (Value::List(list, _), "filter" | "map" | "reduce") = (&of, name) {
            return self.over_list(list, name, arguments, row, locals);
        }
        let values = arguments
            .iter()
            .map(|argument| self.value(argument, row, locals))
            .collect::<Result<Vec<_>, _>>()?;
        let first = values.first().cloned().unwrap_or(Value::Null);
        let is_link = |value: &Value| match value {
            Value::Link(_) | Value::File(_) => true,
            Value::Text(text) => is_wikilink(text),
            _ => false,
        };
        match (&of, name) {
            (_, "isTruthy") => Ok(Value::Bool(of.is_truthy())),
            (_, "isType") => Ok(Value::Bool(first.text() == of.type_name())),
            (_, "toString") => self.made(of.text()),
            (_, "isEmpty") => Ok(Value::Bool(of.is_empty())),
            // A property that a note does not have.
            (Value::Null, _) => Ok(Value::Null),
            (Value::Text(_) | Value::Link(_), "contains" | "startsWith" | "endsWith")
            | (Value::File(_), "inFolder")
                if matches!(first, Value::Null) =>
            {
                Ok(Value::Null)
            }
            (Value::Text(text), _) => self.of_text(text, name, &values),
            (
                Value::Tag(tag),
                "contains" | "containsAll" | "containsAny" | "startsWith" | "endsWith",
            ) => {
                let names = values.iter().map(|value| Value::text_of(&tag_name(&value.text())));
                self.of_text(&tag_name(tag), name, &names.collect::<Vec<_>>())
            }
            (Value::Tag(tag), _) => self.of_text(tag, name, &values),
            (Value::Number(number), _) => of_number(*number, name, &first),
            (Value::List(list, _), _) => self.of_list(list, name, &values),
            (Value::Date(date), _) => self.of_date(*date, name, &first),
            (Value::Link(link), "asFile") => {
                Ok(self.file_of(link).map_or(Value::Null, |path| Value::File(path.into())))
            }
            (Value::Link(link), "linksTo") => {
                match self.file_of(link).and_then(|path| self.entry(&path)) {
                    Some(entry) => self.has_link(&entry, &first),
                    None => Ok(Value::Bool(false)),
                }
            }
            // A property with one link contains it, as a list of one link does.
            (Value::Link(_), "contains" | "containsAll" | "containsAny")
                if values.iter().all(is_link) =>
            {
                self.of_list(std::slice::from_ref(&of), name, &values)
            }
            // A link is also a text: its target.
            (Value::Link(link), _) => {
                self.of_text(&format!("{}{}", link.path, link.subpath), name, &values)
            }
            (Value::File(_), _) if is_row => self.of_file(row.entry, name, &values),
            (Value::File(path), _) => self
                .entry(path)
                .map_or(Ok(Value::Null), |entry| self.of_file(&entry, name, &values)),
            (Value::Object(members), "keys") => {
                self.list(members.keys().map(|key| Value::text_of(key)))
            }
            (Value::Object(members), "values") => {
                self.list(members.values().map(|value| self.value_of(value, row.entry)))
            }
            (Value::Pattern(pattern), "matches") => {
                let text = first.text();
                self.check(text.len())?;
                Ok(Value::Bool(pattern.regex.is_match(&text)))
            }
            _ => unsuited(of.type_name(), name),
        }
    }

    /// Functions whose argument is evaluated for each value of a list.
    fn over_list(
        &self,
        list: &[Value],
        name: &str,
        arguments: &[Expr],
        row: &Row<'_>,
        outer: &Locals,
    ) -> Outcome {
        let [body, rest @ ..] = arguments else { return Ok(Value::Null) };
        let (mut locals, mut made) = (outer.clone(), Vec::new());
        if let ("reduce", [start, ..]) = (name, rest) {
            locals.insert("acc", self.value(start, row, outer)?);
        }
        for (index, value) in list.iter().enumerate() {
            locals.extend([("value", value.clone()), ("index", Value::Number(index as f64))]);
            let outcome = self.value(body, row, &locals)?;
            match name {
                "filter" if !outcome.is_truthy() => {}
                "filter" => made.push(value.clone()),
                "map" => made.push(outcome),
                _ => drop(locals.insert("acc", outcome)),
            }
        }
        if name == "reduce" {
            Ok(locals.remove("acc").unwrap_or(Value::Null))
        } else {
            self.list(made)
        }
    }

    fn of_text(&self, text: &str, name: &str, values: &[Value]) -> Outcome {
        let first = values.first().cloned().unwrap_or(Value::Null);
        let argument = first.text();
        let has = |value: &Value| !matches!(value, Value::Null) && text.contains(&value.text());
        let truth = |truth: bool| Ok(Value::Bool(truth));
        self.check(text.len())?;
        match name {
            "containsAll" => truth(values.iter().all(has)),
            "contains" | "containsAny" => truth(values.iter().any(has)),
            "startsWith" => truth(text.starts_with(&argument)),
            "endsWith" => truth(text.ends_with(&argument)),
            "lower" => self.made(text.to_lowercase()),
            "trim" => self.made(text.trim().to_owned()),
            "title" => self.made(title(text)),
            "reverse" => self.made(text.chars().rev().collect()),
            "repeat" => {
                // One repetition more than fits is enough to be refused.
                let most = limits::QUERY_TEXT_BYTES / text.len().max(1) + 1;
                self.made(text.repeat((number_of(&first)? as usize).min(most)))
            }
            "slice" => {
                let chars: Vec<char> = text.chars().collect();
                let part = chars.get(between(chars.len(), values)?).unwrap_or_default();
                self.made(part.iter().collect())
            }
            "split" => self.split(text, values),
            "replace" => {
                let with = values.get(1).map(Value::text).unwrap_or_default();
                let count = match &first {
                    Value::Pattern(pattern) => pattern.regex.find_iter(text).count(),
                    _ => text.matches(&argument).count(),
                };
                // For each reference to a group, the groups of all matches together are no longer
                // than the text.
                let most = text.len() * (1 + with.matches('$').count()) + count * with.len();
                if most > limits::QUERY_TEXT_BYTES * 10 {
                    return Err(format!(
                        "a text becomes longer than {} bytes",
                        limits::QUERY_TEXT_BYTES
                    ));
                }
                self.made(replace(text, &first, &with))
            }
            _ => unsuited("string", name),
        }
    }

    fn split(&self, text: &str, values: &[Value]) -> Outcome {
        let most = values.get(1).map_or(Ok(f64::INFINITY), number_of)?;
        let parts: Vec<&str> = match values.first() {
            Some(Value::Pattern(pattern)) => pattern.regex.split(text).take(LIST).collect(),
            separator => {
                let separator = separator.map(Value::text).unwrap_or_default();
                text.split(&separator)
                    .filter(|part| !(separator.is_empty() && part.is_empty()))
                    .take(LIST)
                    .collect()
            }
        };
        self.hold(text.len() + parts.len() * VALUE_BYTES)?;
        self.list(parts.into_iter().take(most as usize).map(Value::text_of))
    }

    fn of_list(&self, list: &[Value], name: &str, values: &[Value]) -> Outcome {
        let first = values.first().cloned().unwrap_or(Value::Null);
        let has = |wanted: &Value| list.iter().any(|value| self.are_equal(value, wanted));
        self.check(list.len())?;
        match name {
            "containsAll" => Ok(Value::Bool(values.iter().all(has))),
            "contains" | "containsAny" => Ok(Value::Bool(values.iter().any(has))),
            "join" => self.made(joined(list, &first.text())),
            "reverse" => self.list(list.iter().rev().cloned()),
            "sort" => {
                let keyed = list.iter().map(|value| Ok((self.order_key(value)?, value)));
                let mut sorted = keyed.collect::<Result<Vec<(OrderKey, &Value)>, String>>()?;
                sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
                self.list(sorted.into_iter().map(|(_, value)| value.clone()))
            }
            "slice" => self
                .list(list.get(between(list.len(), values)?).unwrap_or_default().iter().cloned()),
            "flat" => {
                let parts = || {
                    list.iter().map(|value| {
                        if let Value::List(of, _) = value {
                            &**of
                        } else {
                            std::slice::from_ref(value)
                        }
                    })
                };
                let items: usize = parts().map(<[Value]>::len).sum();
                if items > LIST {
                    return Err(format!("a list becomes longer than {LIST}"));
                }
                self.list(parts().flatten().cloned())
            }
            "unique" => {
                // Links that are written differently stay distinct, as in the app.
                let (mut known, mut kept) = (HashSet::new(), Vec::new());
                for value in list {
                    let text = value.text();
                    self.check(0)?;
                    if known.insert((value.type_name(), text)) {
                        kept.push(value.clone());
                    }
                }
                self.list(kept)
            }
            "mean" => Ok(mean(&numbers(list)).map_or(Value::Null, Value::Number)),
            _ => unsuited("list", name),
        }
    }

    fn of_date(&self, date: Date, name: &str, first: &Value) -> Outcome {
        Ok(match name {
            "date" => Value::Date(Date { at: date.at.midnight(), has_time: false }),
            "time" => Value::Text(date.at.format("HH:mm:ss").into()),
            "format" => {
                let format = first.text();
                return self.made(date.at.format(&format));
            }
            "relative" => Value::Text(
                Duration { months: 0.0, rest: date.at.seconds_since(self.now) as f64 }
                    .relative()
                    .into(),
            ),
            _ => return unsuited("date", name),
        })
    }

    fn of_file(&self, entry: &Arc<Entry>, name: &str, values: &[Value]) -> Outcome {
        let first = values.first().cloned().unwrap_or(Value::Null);
        match name {
            "asLink" => self.made_link(Link {
                path: entry.path.to_string(),
                subpath: String::new(),
                display: values.first().map(Value::text),
                folder: "".into(),
            }),
            "hasLink" => self.has_link(entry, &first),
            "hasProperty" => {
                let found =
                    entry.properties_json().and_then(|json| property_in(json, &first.text()));
                Ok(Value::Bool(found.is_some()))
            }
            "hasTag" => {
                let has = |value: &Value| entry.has_tag(&tag_name(&value.text()));
                Ok(Value::Bool(values.iter().any(has)))
            }
            "inFolder" => {
                let text = first.text();
                let folder = text.trim_matches('/');
                let is_below =
                    entry.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                Ok(Value::Bool(folder.is_empty() || is_below))
            }
            _ => unsuited("file", name),
        }
    }

    /// Whether a file links to another.
    fn has_link(&self, entry: &Arc<Entry>, other: &Value) -> Outcome {
        let linkers = match other {
            Value::File(path) => self.linkers(path)?,
            Value::Link(link) => {
                self.linkers(&self.file_of(link).unwrap_or_else(|| link.path.clone()))?
            }
            Value::Null => return Ok(Value::Bool(false)),
            other => {
                let link = Link::parse(&other.text(), &folder_of(entry));
                self.linkers(&self.file_of(&link).unwrap_or(link.path))?
            }
        };
        Ok(Value::Bool(linkers.contains(&*entry.path)))
    }
}

fn unsuited(type_name: &str, name: &str) -> Outcome {
    Err(format!("a {type_name} has no function {name}()"))
}

/// The numbers among some values.
pub(super) fn numbers(values: &[Value]) -> Vec<f64> {
    values
        .iter()
        .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect()
}

pub(super) fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn of_number(number: f64, name: &str, first: &Value) -> Outcome {
    let digits = || {
        if matches!(first, Value::Null) {
            Ok(0)
        } else {
            number_of(first).map(|digits| digits.clamp(0.0, 20.0) as usize)
        }
    };
    match name {
        "abs" => Ok(Value::Number(number.abs())),
        "ceil" => Ok(Value::Number(number.ceil())),
        "floor" => Ok(Value::Number(number.floor())),
        "round" => {
            let factor = 10_f64.powi(digits()? as i32);
            let scaled = number * factor;
            let whole = scaled.floor();
            // Halves up, as JavaScript rounds; adding 0.5 before `floor` would itself round.
            let rounded = if scaled - whole >= 0.5 { whole + 1.0 } else { whole };
            // A number too large to be scaled has no digits to round.
            Ok(Value::Number(if scaled.is_finite() { rounded / factor } else { number }))
        }
        "toFixed" if !number.is_finite() => Ok(Value::Text(Value::Number(number).text().into())),
        "toFixed" => {
            let digits = digits()?;
            let factor = 10_f64.powi(digits as i32);
            let scaled = number.abs() * factor;
            // JavaScript rounds halves away from zero, Rust's formatter to even. `mul_add` gives
            // what the product was rounded by.
            let is_half = scaled.fract() == 0.5 && number.abs().mul_add(factor, -scaled) == 0.0;
            let rounded =
                if is_half { (scaled + 0.5).floor() / factor * number.signum() } else { number };
            Ok(Value::Text(format!("{rounded:.digits$}").into()))
        }
        _ => unsuited("number", name),
    }
}

/// The bounds that `slice` takes: negative ones count from the end.
fn between(length: usize, values: &[Value]) -> Result<Range<usize>, String> {
    let bound = |value: Option<&Value>, missing: usize| -> Result<usize, String> {
        let Some(value) = value else { return Ok(missing) };
        let number = number_of(value)?;
        Ok((if number < 0.0 { length as f64 + number } else { number }).clamp(0.0, length as f64)
            as usize)
    };
    let (from, to) = (bound(values.first(), 0)?, bound(values.get(1), length)?);
    Ok(from..to.max(from))
}

fn replace(text: &str, wanted: &Value, with: &str) -> String {
    match wanted {
        Value::Pattern(pattern) => {
            let Pattern { regex, is_global, .. } = &**pattern;
            regex.replacen(text, usize::from(!is_global), dollar_groups(with)).into_owned()
        }
        other => text.replace(&other.text(), with),
    }
}

/// A JavaScript replacement in the regex crate's syntax: `$1` is the first group whatever follows,
/// and there are no names.
fn dollar_groups(with: &str) -> String {
    static DOLLAR: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\$(\$|&|[0-9]{1,2})?").ok());
    let group = |found: &Captures<'_>| match found.get(1).map_or("$", |what| what.as_str()) {
        "$" => "$$".to_owned(),
        "&" => "${0}".to_owned(),
        number => format!("${{{number}}}"),
    };
    DOLLAR
        .as_ref()
        .map_or_else(|| with.to_owned(), |dollar| dollar.replace_all(with, group).into_owned())
}

fn title(text: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}
