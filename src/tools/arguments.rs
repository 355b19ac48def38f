//! A tool's arguments, checked against its parameters.

use super::error::Error;
use super::schema::{self, Field, fit_members, unknown_member};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What n8n adds to every call, whatever the tool's parameters are.
const ADDED_BY_CLIENTS: [&str; 5] = ["toolCallId", "tool", "sessionId", "action", "chatInput"];

/// Arguments that fit the parameters they were checked against.
#[derive(Debug)]
pub struct Arguments {
    values: Map<String, Value>,
    /// The tool or prompt that they are for.
    owner: &'static str,
}

impl Arguments {
    /// Checks what a client sent, gives it the form of the parameters, and fills in defaults.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming the argument: unknown, missing, or of the wrong type.
    pub fn check(
        owner: &'static str,
        fields: &[Field],
        mut values: Map<String, Value>,
    ) -> Result<Arguments, Error> {
        values.retain(|name, _| {
            !ADDED_BY_CLIENTS.contains(&name.as_str())
                || fields.iter().any(|field| field.name == name)
        });
        if let Some((unknown, known)) = unknown_member(fields, &values) {
            let known = if known.is_empty() {
                "This tool takes none.".into()
            } else {
                format!("Known: {known}.")
            };
            return Err(Error::invalid(format!("Unknown argument {unknown:?}. {known}")));
        }
        fit_members("", fields, &mut values)?;
        Ok(Arguments { values, owner })
    }

    /// The tool and its arguments, except those in `without`, as one text: what a cursor is bound
    /// to.
    pub fn scope(&self, without: &[&str]) -> String {
        let others: Map<String, Value> = self
            .values
            .iter()
            .filter(|(name, _)| !without.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        format!("{} {}", self.owner, Value::Object(others))
    }

    /// A text that may be missing.
    pub fn maybe(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// A text that is required or has a default; empty only if the parameter was not declared so.
    pub fn text(&self, name: &str) -> &str {
        self.maybe(name).unwrap_or_default()
    }

    /// A whole number that is required or has a default.
    pub fn number(&self, name: &str) -> usize {
        self.values
            .get(name)
            .and_then(schema::whole)
            .map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// The members of an object; none if it is missing.
    pub fn members(&self, name: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.values.get(name).and_then(Value::as_object).into_iter().flatten()
    }

    /// A value, already checked against its shape; the type's default if it is missing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for one that the shape lets pass and the type does not.
    pub fn read<'a, T: Deserialize<'a> + Default>(&'a self, name: &str) -> Result<T, Error> {
        let Some(value) = self.values.get(name) else { return Ok(T::default()) };
        T::deserialize(value).map_err(|error| Error::invalid(format!("Argument {name}: {error}.")))
    }

    /// The objects of a list as arguments of their own; none if it is missing.
    pub fn objects(&self, name: &str) -> Vec<Arguments> {
        let items = self.values.get(name).and_then(Value::as_array).into_iter().flatten();
        items
            .filter_map(Value::as_object)
            .map(|values| Arguments { values: values.clone(), owner: self.owner })
            .collect()
    }

    /// Whether it was given, or has a default.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// True or false, if it is given.
    pub fn maybe_flag(&self, name: &str) -> Option<bool> {
        self.values.get(name).and_then(Value::as_bool)
    }

    /// The texts of a list, or the one that is given without a list; none if it is missing.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let value = self.values.get(name);
        let one = value.filter(|value| value.is_string() && *value != "");
        value.and_then(Value::as_array).into_iter().flatten().chain(one).filter_map(Value::as_str)
    }

    /// True or false, for a parameter that is required or has a default.
    pub fn flag(&self, name: &str) -> bool {
        self.maybe_flag(name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::error::Code;
    use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional, required};
    use serde_json::json;

    const FIELDS: &[Field] = &[
        required("path", ANY_TEXT, "The file."),
        defaulted(
            "offset",
            Shape::Integer { min: 1, max: i64::MAX, outside: Code::InvalidRange },
            DefaultValue::Integer(1),
            "First line.",
        ),
        defaulted("deep", Shape::Flag, DefaultValue::Flag(true), "All of it."),
        optional("tag", Shape::Text { max: 3 }, "Only these."),
    ];

    fn check(value: Value) -> Result<Arguments, Error> {
        Arguments::check("test", FIELDS, value.as_object().unwrap().clone())
    }

    #[test]
    fn good_arguments_are_read_and_defaults_filled_in() {
        let arguments = check(json!({ "path": "a", "offset": 5.0, "tag": null })).unwrap();
        assert_eq!(
            (
                arguments.text("path"),
                arguments.number("offset"),
                arguments.flag("deep"),
                arguments.maybe("tag")
            ),
            ("a", 5, true, None)
        );
    }

    #[test]
    fn bad_arguments_are_named() {
        for (value, code, word) in [
            (json!({}), Code::InvalidArgument, "path"),
            (json!({ "path": 5 }), Code::InvalidArgument, "path must be a string"),
            (json!({ "path": "a", "pfad": 1 }), Code::InvalidArgument, "\"pfad\""),
            (json!({ "path": "a", "offset": 0 }), Code::InvalidRange, "offset"),
            (json!({ "path": "a", "offset": 1.5 }), Code::InvalidArgument, "whole number"),
            (json!({ "path": "a", "offset": "one" }), Code::InvalidArgument, "a string arrived"),
            (json!({ "path": "a", "offset": 1e300 }), Code::InvalidArgument, "whole number"),
            (json!({ "path": "a", "deep": "yes" }), Code::InvalidArgument, "true or false"),
            (json!({ "path": "a", "tag": "long" }), Code::InvalidArgument, "3 characters"),
        ] {
            let error = check(value.clone()).unwrap_err();
            assert_eq!(error.code, code, "{value}");
            assert!(error.message.contains(word), "{value}: {}", error.message);
        }
    }
}
