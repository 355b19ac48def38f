//! JSON objects, some of whose members may be missing.

use serde_json::{Map, Value};

/// The members of an object that are not null.
pub fn without_nulls(object: Value) -> Map<String, Value> {
    let Value::Object(mut members) = object else { return Map::new() };
    members.retain(|_, value| !value.is_null());
    members
}
