//! YAML with a budget. `serde_yaml` limits only the depth: nested aliases (`&a [*b, *b, …]`) expand
//! to gigabytes while values are built, and its scanner takes time quadratic in the number of open
//! brackets. So brackets are counted before the parser runs, and nodes and bytes while values are
//! built; an alias counts each time it is expanded.

use crate::limits;
use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_yaml::value::{Tag, TaggedValue};
use serde_yaml::{Mapping, Value};
use std::cell::Cell;
use std::fmt;

/// Bytes of text in the values of one YAML document, aliases counted at each use: four times
/// [`limits::FRONTMATTER_BYTES`].
const YAML_BYTES: usize = 256 * 1024;
/// Brackets open at the same time in a YAML document: `serde_yaml` accepts 128 levels, and its
/// scanner takes time quadratic in their number.
const YAML_BRACKETS: usize = 256;

/// The error for a mapping with a name that it has already.
const TWICE: &str = "duplicate key";

/// The value of a YAML document that begins after `line` lines of its file. An integer that does
/// not fit into 64 bits becomes text.
///
/// # Errors
/// What completes "it is …", in one line and without the text itself: a syntax error with line and
/// column, or more nodes, bytes or open brackets than [`limits::YAML_NODES`],
/// `YAML_BYTES` and `YAML_BRACKETS` allow.
pub fn parse(text: &str, line: usize) -> Result<Value, String> {
    let too_large = || "YAML that expands to too many values".to_owned();
    if max_open_brackets(text) > YAML_BRACKETS {
        return Err(too_large());
    }
    let budget = Budget { nodes: Cell::new(limits::YAML_NODES), bytes: Cell::new(YAML_BYTES) };
    budget.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        match error.location() {
            _ if budget.is_spent() => too_large(),
            Some(at) if error.to_string().contains(TWICE) => {
                format!(
                    "not valid YAML: a name occurs twice in the mapping that begins at line {}",
                    at.line() + line
                )
            }
            Some(at) => {
                let place = format!("line {} column {}", at.line() + line, at.column());
                match mend(text, at.line()) {
                    Some((number, mend)) => {
                        format!("not valid YAML at {place}: line {} {mend}", number + line)
                    }
                    None => format!("not valid YAML at {place}"),
                }
            }
            None => "not valid YAML".into(),
        }
    })
}

/// What people and models get wrong, and how it is written: the number of the line, from 1, and
/// what follows it. A parser often stops at the line after.
fn mend(text: &str, line: usize) -> Option<(usize, &'static str)> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let near = lines.iter().enumerate().rev().take(2);
    near.map(|(at, line)| (at + 1, line)).find_map(|(number, line)| Some((number, slip(line)?)))
}

fn slip(line: &str) -> Option<&'static str> {
    let indent = line.len() - line.trim_start().len();
    if line.get(..indent)?.contains('\t') {
        return Some("is indented by a tab, where YAML takes spaces");
    }
    let content = line.trim_start().trim_start_matches("- ");
    let value = match content.split_once(": ") {
        Some((_, value)) => value.trim(),
        None => content.trim(),
    };
    let quoted = |quote: char| {
        value.strip_prefix(quote).is_some_and(|rest| {
            rest.split_once(quote).is_none_or(|(_, more)| !more.trim().is_empty())
        })
    };
    match value.chars().next()? {
        '[' if value.starts_with("[[") => {
            Some("has a link, which needs quotes: \"[[Note]]\"; several are a list")
        }
        '"' | '\'' if quoted('"') || quoted('\'') => {
            Some("has a quote that does not end where the value does; write a quote inside as \\\"")
        }
        '*' | '&' | '%' | '@' | '`' | '{' | '}' | ']' | ',' | '!' | '|' | '>' => {
            Some("has a value that begins with a sign of YAML; it needs quotes")
        }
        _ if value.contains(": ") || value.ends_with(':') => {
            Some("has a value with a colon; it needs quotes, as in title: \"One: two\"")
        }
        _ if value == content.trim() && !line.trim_start().starts_with('-') => {
            Some("has no colon and space after a name")
        }
        _ => None,
    }
}

/// A scalar as text, as far as YAML preserves what was typed.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The maximum number of brackets that are open at once; those in quotes and comments count too.
fn max_open_brackets(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        most = most.max(open);
    }
    most
}

/// What may still be built.
struct Budget {
    nodes: Cell<usize>,
    bytes: Cell<usize>,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.nodes.get() == 0 || self.bytes.get() == 0
    }

    /// Spends one node and this many bytes of text.
    fn take<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        self.nodes.set(self.nodes.get().saturating_sub(1));
        self.bytes.set(self.bytes.get().saturating_sub(bytes));
        if self.is_spent() { Err(E::custom("too large")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for &Budget {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Budget {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        self.take(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.take(0).map(|()| Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.take(0).map(|()| Value::Number(value.into()))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_string(value.to_string())
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_string(value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.take(0).map(|()| Value::Number(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len()).map(|()| Value::String(value.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.take(0).map(|()| Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Sequence(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut mapping = Mapping::new();
        while let Some(name) = members.next_key_seed(self)? {
            let value = members.next_value_seed(self)?;
            if mapping.insert(name, value).is_some() {
                return Err(de::Error::custom(TWICE));
            }
        }
        Ok(Value::Mapping(mapping))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (tag, content) = tagged.variant::<String>()?;
        self.take(tag.len())?;
        let value = content.newtype_variant_seed(self)?;
        Ok(Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_value_is_what_serde_yaml_makes_of_it() {
        for text in [
            "a: 1\nb: [x, 2.5, true, ~, yes, 2026-11-22]\nc: {d: -3}\n",
            "",
            "x",
            "!t {a: 1}",
            "a: &a [1]\nb: *a\n",
            "a: |\n  x\n  y\n",
            "5: x",
        ] {
            assert_eq!(
                parse(text, 0).unwrap(),
                serde_yaml::from_str::<Value>(text).unwrap(),
                "{text:?}"
            );
        }
        assert_eq!(
            parse("a: 12345678901234567890123", 0).unwrap()["a"],
            Value::String("12345678901234567890123".into())
        );
        assert_eq!(
            parse("a: -12345678901234567890", 0).unwrap()["a"],
            Value::String("-12345678901234567890".into())
        );
        for text in ["a: [", "a: 1\na: 2\n", "\ta: b", "a: *b", "a: b: c"] {
            assert!(parse(text, 0).is_err_and(|why| why.starts_with("not valid")), "{text:?}");
        }
    }

    #[test]
    fn expansion_nesting_and_repetition_end_in_milliseconds() {
        let mut nested = String::from("a0: &a0 [x,x,x,x,x,x,x,x]\n");
        (1..30).for_each(|n| {
            nested
                .push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 8].join(",")))
        });
        let wide = format!("a: &a {}\nb: [{}]\n", "x".repeat(30_000), vec!["*a"; 10_000].join(","));
        for text in [
            nested,
            wide,
            "[".repeat(64 << 10),
            "{a: ".repeat(16 << 10),
            "- ".repeat(32 << 10),
            "? ".repeat(32 << 10),
            "[{".repeat(32 << 10),
        ] {
            let started = Instant::now();
            assert!(parse(&text, 0).is_err(), "{}", &text[..20]);
            assert!(
                started.elapsed() < Duration::from_secs(1),
                "{:?} for {:?}",
                started.elapsed(),
                &text[..20]
            );
        }
    }
}
