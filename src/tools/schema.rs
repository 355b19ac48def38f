//! Parameters and results described once: as JSON Schema for clients, and as the check of what they
//! send.

use super::error::{Code, Error};
use crate::object::without_nulls;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name; in a result the names of several members of the same shape, separated by spaces.
    pub name: &'static str,
    /// Another name that is taken for a parameter.
    pub alias: Option<&'static str>,
    /// What it holds.
    pub shape: Shape,
    /// Whether it has to be present.
    pub required: bool,
    /// What a missing parameter counts as.
    pub default: Option<DefaultValue>,
    /// Of a parameter: what it is for, in words for a model. Not shown of a result.
    pub about: &'static str,
    /// Whether it names files, which the log line of a call shows.
    pub names_files: bool,
}

/// A default value of a parameter.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum DefaultValue {
    /// A text.
    Text(&'static str),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Flag(bool),
}

/// The type of a value. Only what every client understands: no combinators, no references.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string of at most this many characters.
    Text {
        /// Characters.
        max: usize,
    },
    /// One of some strings.
    OneOf(&'static [&'static str]),
    /// One of some strings; the error for any other is `INVALID_STATUS`.
    Status(&'static [&'static str]),
    /// A number.
    Number,
    /// A whole number within bounds.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
        /// The code of the error for a number outside; ranges have their own.
        outside: Code,
    },
    /// True or false.
    Flag,
    /// Any number of values of one type.
    List(&'static Shape),
    /// A list of names; one name alone is taken, too.
    Names,
    /// Members with names; as a parameter it has no others.
    Object(&'static [Field]),
    /// Members of a result that are inlined among the others.
    Inline(&'static [Field]),
    /// An object with any members.
    AnyObject,
    /// A member of a result that is there, and null, where it has no value.
    Nullable(&'static Shape),
}

/// The longest `maxLength` that is declared: of a larger one llama.cpp cannot make a grammar.
const DECLARED_LENGTH: usize = 1_000;

/// Strings without a bound of their own; the message's size bounds them.
pub const ANY_TEXT: Shape = Shape::Text { max: usize::MAX };

/// A count.
pub const COUNT: Shape = Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidArgument };

/// A parameter or result member that has to be present.
pub const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, alias: None, shape, required: true, default: None, about, names_files: false }
}

/// A parameter that may be missing, or a result member that is not always there.
pub const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, alias: None, shape, required: false, default: None, about, names_files: false }
}

/// A parameter that counts as `default` when it is missing.
pub const fn defaulted(
    name: &'static str,
    shape: Shape,
    default: DefaultValue,
    about: &'static str,
) -> Field {
    Field {
        name,
        alias: None,
        shape,
        required: false,
        default: Some(default),
        about,
        names_files: false,
    }
}

impl Field {
    /// The same, taken under another name too.
    pub const fn or(self, alias: &'static str) -> Field {
        Field { alias: Some(alias), ..self }
    }

    /// The same, which names files.
    pub const fn of_files(self) -> Field {
        Field { names_files: true, ..self }
    }

    /// Whether this value counts as a missing one: many clients send every parameter of a schema.
    fn is_absent(&self, value: &Value) -> bool {
        match (&self.shape, value) {
            (_, Value::Null) => true,
            _ if self.required => false,
            (_, Value::String(text)) => text.is_empty() && !MAY_BE_EMPTY.contains(&self.name),
            (
                Shape::Integer { min: 1.., outside: Code::InvalidArgument, .. },
                Value::Number(number),
            ) => number.as_f64() == Some(0.0),
            _ => false,
        }
    }
}

/// Optional parameters for which an empty text is one.
const MAY_BE_EMPTY: [&str; 2] = ["content", "new_text"];

/// The members of a result, with inlined ones and lists of names expanded.
pub fn all_members(fields: &[Field]) -> Vec<Field> {
    let members = |field: &Field| -> Vec<Field> {
        match &field.shape {
            Shape::Inline(inner) => all_members(inner)
                .into_iter()
                .map(|member| Field { required: member.required && field.required, ..member })
                .collect(),
            _ => field.name.split(' ').map(|name| Field { name, ..*field }).collect(),
        }
    };
    fields.iter().flat_map(members).collect()
}

/// The JSON Schema (2020-12) of parameters. Others are refused, but `additionalProperties` does not
/// say so: the converter of Google's library refuses every tool that has it.
pub fn input(fields: &[Field]) -> Value {
    let of_field = |field: &Field| {
        let mut schema = without_nulls(of_shape(&field.shape));
        let about = Some(field.about).filter(|about| !about.is_empty());
        schema.extend(without_nulls(json!({ "description": about, "default": field.default })));
        Value::Object(schema)
    };
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = without_nulls(of_members(fields, &of_field));
    schema.extend(without_nulls(json!({ "required": (!required.is_empty()).then_some(required) })));
    Value::Object(schema)
}

/// The JSON Schema of a result: its members, to which a later version may add, with their types
/// alone. Clients load the schemas of all tools before the first call, and read results without
/// them.
pub fn output(fields: &[Field]) -> Value {
    let of_field = |field: &Field| json!({ "type": of_shape(&field.shape).get("type") });
    of_members(fields, &of_field)
}

fn of_members(fields: &[Field], of_field: &dyn Fn(&Field) -> Value) -> Value {
    let properties: Map<String, Value> =
        all_members(fields).iter().map(|field| (field.name.to_owned(), of_field(field))).collect();
    json!({ "type": "object", "properties": properties })
}

fn of_shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text { max } if *max > DECLARED_LENGTH => json!({ "type": "string" }),
        Shape::Text { max } => json!({ "type": "string", "maxLength": max }),
        Shape::OneOf(names) | Shape::Status(names) => json!({ "type": "string", "enum": names }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Integer { min, max, .. } if *max == i64::MAX => {
            json!({ "type": "integer", "minimum": min })
        }
        Shape::Integer { min, max, .. } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::List(items) => json!({ "type": "array", "items": of_shape(items) }),
        Shape::Names => of_shape(&Shape::List(&ANY_TEXT)),
        Shape::Object(fields) | Shape::Inline(fields) => input(fields),
        // Examples: Gemini's API refuses an object without any.
        Shape::AnyObject => {
            let tags = json!({ "type": "array", "items": { "type": "string" } });
            json!({ "type": "object", "properties": { "status": { "type": "string" }, "tags": tags } })
        }
        Shape::Nullable(shape) => json!({ "type": [of_shape(shape).get("type"), Some("null")] }),
    }
}

/// Checks the members of an object, and gives each the form that its parameter has: what counts as
/// missing is removed, other names become its own, and a text that is JSON of the right type
/// becomes that. `within` is put in front of names in errors.
///
/// # Errors
/// `INVALID_ARGUMENT`, or the shape's own code, naming the argument, what it should be and what
/// arrived.
pub fn fit_members(
    within: &str,
    fields: &[Field],
    members: &mut Map<String, Value>,
) -> Result<(), Error> {
    for field in fields {
        if let Some(alias) = field.alias
            && !members.contains_key(field.name)
            && let Some(value) = members.remove(alias)
        {
            members.insert(field.name.to_owned(), value);
        }
        let name = format!("{within}{}", field.name);
        if members.get(field.name).is_some_and(|value| field.is_absent(value)) {
            members.remove(field.name);
        }
        match (members.get_mut(field.name), field.default) {
            (Some(value), _) => fit(&name, &field.shape, value)?,
            (None, None) if field.required => {
                return Err(Error::invalid(format!("Argument {name} is missing: {}", field.about)));
            }
            (None, None) => {}
            (None, Some(default)) => drop(members.insert(field.name.to_owned(), json!(default))),
        }
    }
    Ok(())
}

/// A member of an object that no field has, as far as it is shown, and the names of the fields.
pub fn unknown_member(fields: &[Field], members: &Map<String, Value>) -> Option<(String, String)> {
    let unknown = members.keys().find(|name| {
        fields.iter().all(|field| field.name != name.as_str() && field.alias != Some(name))
    })?;
    let known = fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
    Some((unknown.chars().take(64).collect(), known))
}

/// As [`fit_members`], for one value.
fn fit(name: &str, shape: &Shape, value: &mut Value) -> Result<(), Error> {
    // Many clients send what is not a text as JSON in a text.
    if let (Some(is_fitting), Value::String(text)) = (shape.json_type(), &*value)
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && is_fitting(&parsed)
    {
        *value = parsed;
    }
    let wrong = |wanted: &str| Err(Error::invalid(format!("Argument {name} must be {wanted}.")));
    let arrived = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let another =
        |wanted: &str, it: &str| wrong(&format!("{wanted}; {arrived} arrived, send {it} itself"));
    match (shape, value) {
        (Shape::Text { max }, Value::String(text))
            if text.len() <= *max || text.chars().count() <= *max =>
        {
            Ok(())
        }
        (Shape::Text { max }, Value::String(_)) => wrong(&format!("at most {max} characters long")),
        (Shape::Text { .. }, _) => another("a string", "the string"),
        (Shape::OneOf(names) | Shape::Status(names), Value::String(text))
            if names.contains(&text.as_str()) =>
        {
            Ok(())
        }
        (Shape::OneOf(names), _) => wrong(&format!("one of: {}", names.join(", "))),
        (Shape::Status(names), _) => Err(Error::new(
            Code::InvalidStatus,
            format!("Argument {name} must be one of: {}.", names.join(", ")),
        )),
        (Shape::Number, Value::Number(_)) => Ok(()),
        (Shape::Number, _) => another("a number", "the number"),
        (Shape::Integer { min, max, outside }, number @ Value::Number(_)) => match whole(number) {
            Some(number) if (*min..=*max).contains(&number) => Ok(()),
            Some(_) if *max == i64::MAX => {
                Err(Error::new(*outside, format!("Argument {name} must be at least {min}.")))
            }
            Some(_) => Err(Error::new(
                *outside,
                format!("Argument {name} must be between {min} and {max}."),
            )),
            None => wrong("a whole number"),
        },
        (Shape::Integer { .. }, _) => another("a whole number", "the number"),
        (Shape::Flag, Value::Bool(_)) => Ok(()),
        (Shape::Flag, _) => wrong(&format!("true or false; {arrived} arrived")),
        (Shape::List(items), Value::Array(values)) => {
            (0..).zip(values).try_for_each(|(number, value): (usize, _)| {
                fit(&format!("{name}[{number}]"), items, value)
            })
        }
        (Shape::Names, Value::Array(values)) => {
            (0..).zip(values).try_for_each(|(number, value): (usize, _)| {
                fit(&format!("{name}[{number}]"), &ANY_TEXT, value)
            })
        }
        // A list that was sent as a text would be taken for a name; links in brackets are names, and
        // so is `[Bug] crash.md`.
        (Shape::Names, Value::String(text))
            if text.starts_with("[[")
                || !(text.starts_with("[\"") || text.starts_with('[') && text.ends_with(']')) =>
        {
            Ok(())
        }
        (Shape::List(_) | Shape::Names, _) => another("an array", "the array"),
        (Shape::Object(fields) | Shape::Inline(fields), Value::Object(members)) => {
            match unknown_member(fields, members) {
                Some((unknown, known)) => wrong(&format!("without {unknown:?}; known: {known}")),
                None => fit_members(&format!("{name}."), fields, members),
            }
        }
        (Shape::AnyObject, Value::Object(_)) | (Shape::Nullable(_), _) => Ok(()),
        (Shape::Object(_) | Shape::Inline(_) | Shape::AnyObject, _) => {
            another("an object", "the object")
        }
    }
}

impl Shape {
    /// Whether a value has the type of this shape; `None` for a shape that a text may have.
    fn json_type(&self) -> Option<fn(&Value) -> bool> {
        match self {
            Shape::Text { .. } | Shape::OneOf(_) | Shape::Status(_) | Shape::Nullable(_) => None,
            Shape::Number | Shape::Integer { .. } => Some(Value::is_number),
            Shape::Flag => Some(Value::is_boolean),
            Shape::List(_) => Some(Value::is_array),
            // Not `[[1]]`, which is a link.
            Shape::Names => Some(|value| {
                value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
            }),
            Shape::Object(_) | Shape::Inline(_) | Shape::AnyObject => Some(Value::is_object),
        }
    }
}

/// A whole number, also when it was written as 5.0: JSON does not tell the two apart.
pub fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && number.abs() < EXACT)
            .map(|number| number as i64)
    })
}
