//! Holds results against what tools declare of them.

use serde_json::Value;
use vault_sync_mcp::tools::schema::all_members;
use vault_sync_mcp::tools::{Field, Shape, Toolset};

/// Each member that a result of a tool has is declared with its type, and each required one is present.
#[track_caller]
pub fn conforms_to_tool(tool: &str, result: &Value) {
    // A job is declared once, as the result of ingest.
    let tool =
        if tool.starts_with("ingest_") && result.get("jobs").is_none() { "ingest" } else { tool };
    let named = Toolset::ALL.iter().flat_map(|set| set.tools()).filter(|known| known.name == tool);
    // Two sets have a vault_restore; a result is of the one whose members it has.
    let undeclared = |output: &[Field]| {
        result
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !all_members(output).iter().any(|field| field.name == *name))
            .count()
    };
    let known = named.min_by_key(|tool| {
        all_members(tool.output)
            .iter()
            .filter(|field| field.required && result.get(field.name).is_none())
            .count()
            + undeclared(tool.output)
    });
    members(known.unwrap_or_else(|| panic!("no tool {tool}")).output, result, tool);
}

#[track_caller]
fn members(fields: &[Field], value: &Value, at: &str) {
    let fields = all_members(fields);
    let members = value.as_object().unwrap_or_else(|| panic!("{at} is no object: {value}"));
    // With toolset git every change has these.
    let is_of_git = |name: &str| {
        !at.contains('.') && ["commit_sha", "pushed", "git_error", "also_committed"].contains(&name)
    };
    for (name, value) in members {
        if is_of_git(name) && !fields.iter().any(|field| field.name == name) {
            continue;
        }
        let field = fields
            .iter()
            .find(|field| field.name == name)
            .unwrap_or_else(|| panic!("{at}.{name} is not declared"));
        conforms(&field.shape, value, &format!("{at}.{name}"));
    }
    for field in fields.iter().filter(|field| field.required) {
        assert!(members.contains_key(field.name), "{at} lacks {}", field.name);
    }
}

#[track_caller]
fn conforms(shape: &Shape, value: &Value, at: &str) {
    match shape {
        Shape::Object(fields) | Shape::Inline(fields) => members(fields, value, at),
        Shape::AnyObject => assert!(value.is_object(), "{at}"),
        Shape::List(items) => value
            .as_array()
            .unwrap_or_else(|| panic!("{at}"))
            .iter()
            .for_each(|item| conforms(items, item, at)),
        Shape::Names => panic!("{at}: no result has one"),
        Shape::Text { .. } => assert!(value.is_string(), "{at}: {value}"),
        Shape::OneOf(names) | Shape::Status(names) => {
            assert!(value.as_str().is_some_and(|text| names.contains(&text)), "{at}: {value}")
        }
        Shape::Integer { min, .. } => {
            assert!(value.as_i64().is_some_and(|number| number >= *min), "{at}: {value}")
        }
        Shape::Number => assert!(value.is_number(), "{at}"),
        Shape::Flag => assert!(value.is_boolean(), "{at}"),
    }
}
