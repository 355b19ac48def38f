//! Parameters and results described once: as JSON Schema for clients, and as the check of what they send.

use super::error::{Code, Error};
use crate::object::without_nulls;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name; in a result the names of several members of the same shape, separated by spaces.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it has to be present.
    pub required: bool,
    /// What a missing parameter counts as.
    pub default: Option<DefaultValue>,
    /// Of a parameter: what it is for, in words for a model. Not shown of a result.
    pub about: &'static str,
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
}

/// Strings without a bound of their own; the message's size bounds them.
pub const ANY_TEXT: Shape = Shape::Text { max: usize::MAX };

/// A count.
pub const COUNT: Shape = Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidArgument };

/// A parameter or result member that has to be present.
pub const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, required: true, default: None, about }
}

/// A parameter that may be missing, or a result member that is not always there.
pub const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, required: false, default: None, about }
}

/// A parameter that counts as `default` when it is missing.
pub const fn defaulted(
    name: &'static str,
    shape: Shape,
    default: DefaultValue,
    about: &'static str,
) -> Field {
    Field { name, shape, required: false, default: Some(default), about }
}

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

/// The JSON Schema (2020-12) of parameters; no others are allowed.
pub fn input(fields: &[Field]) -> Value {
    let of_field = |field: &Field| {
        let mut schema = without_nulls(of_shape(&field.shape));
        schema
            .extend(without_nulls(json!({ "description": field.about, "default": field.default })));
        Value::Object(schema)
    };
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = without_nulls(of_members(fields, &of_field));
    schema.extend(without_nulls(json!({ "required": (!required.is_empty()).then_some(required), "additionalProperties": false })));
    Value::Object(schema)
}

/// The JSON Schema of a result: its members, to which a later version may add, with their types alone. Clients load the schemas of
/// all tools before the first call, and read results without them.
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
        Shape::Text { max: usize::MAX } => json!({ "type": "string" }),
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
        Shape::AnyObject => json!({ "type": "object", "additionalProperties": true }),
    }
}

/// Checks a value against a shape. `name` is its name in the error.
///
/// # Errors
/// `INVALID_ARGUMENT`, or the shape's own code, naming the argument and what it should be.
pub fn check(name: &str, shape: &Shape, value: &Value) -> Result<(), Error> {
    let wrong = |wanted: &str| Err(Error::invalid(format!("Argument {name} must be {wanted}.")));
    match (shape, value) {
        (Shape::Text { max }, Value::String(text))
            if text.len() <= *max || text.chars().count() <= *max =>
        {
            Ok(())
        }
        (Shape::Text { max }, Value::String(_)) => wrong(&format!("at most {max} characters long")),
        (Shape::Text { .. }, _) => wrong("a string"),
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
        (Shape::Number, _) => wrong("a number"),
        (Shape::Integer { min, max, outside }, Value::Number(_)) => match whole(value) {
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
        (Shape::Integer { .. }, _) => wrong("a whole number"),
        (Shape::Flag, Value::Bool(_)) => Ok(()),
        (Shape::Flag, _) => wrong("true or false"),
        (Shape::List(items), Value::Array(values)) => values
            .iter()
            .enumerate()
            .try_for_each(|(number, value)| check(&format!("{name}[{number}]"), items, value)),
        // A text that is a list in JSON is no name.
        (Shape::Names, Value::String(text)) if !text.starts_with('[') || text.starts_with("[[") => {
            Ok(())
        }
        (Shape::Names, _) => check(name, &Shape::List(&ANY_TEXT), value),
        (Shape::List(_), _) => wrong("an array"),
        (Shape::Object(fields) | Shape::Inline(fields), Value::Object(members)) => {
            if let Some(unknown) = members
                .keys()
                .find(|member| fields.iter().all(|field| field.name != member.as_str()))
            {
                let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
                let shown: String = unknown.chars().take(64).collect();
                return wrong(&format!("without {shown:?}; known: {}", known.join(", ")));
            }
            fields.iter().try_for_each(|field| match members.get(field.name) {
                Some(value) if !value.is_null() => {
                    check(&format!("{name}.{}", field.name), &field.shape, value)
                }
                _ if field.required => wrong(&format!("an object with a member {}", field.name)),
                _ => Ok(()),
            })
        }
        (Shape::AnyObject, Value::Object(_)) => Ok(()),
        (Shape::Object(_) | Shape::Inline(_) | Shape::AnyObject, _) => wrong("an object"),
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
