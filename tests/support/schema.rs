//! Holds results against what tools declare of them.

use serde_json::Value;
use vault_sync_mcp::tools::schema::all_members;
use vault_sync_mcp::tools::{Field, Shape, Tool, Toolset};

/// The two channels of a success are equal, or there is one; what is structured is as the tool
/// declares it.
#[track_caller]
pub fn is_whole(tool: &str, success: &Value) {
    let texts: Vec<&str> = success["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    assert_eq!(texts.len(), 1, "{tool}: {success}");
    match success.get("structuredContent") {
        Some(structured) => {
            assert_eq!(
                (
                    success["content"][0]["text"].as_str(),
                    success["content"].as_array().unwrap().len()
                ),
                (Some(texts[0]), 1),
                "{tool}"
            );
            assert_eq!(
                &serde_json::from_str::<Value>(texts[0]).unwrap(),
                structured,
                "{tool}: text and structure are the same"
            );
            conforms_to_tool(tool, structured);
        }
        None => {
            assert!(
                tools_named(tool).all(|tool| tool.output.is_empty()),
                "{tool} declares an outputSchema: {success}"
            );
            let blocks = success["content"].as_array().unwrap();
            assert!(
                blocks.len() == 1 || blocks[1]["text"].as_str() == Some(texts[0]),
                "{tool}: the media first: {success}"
            );
        }
    }
}

fn tools_named(name: &str) -> impl Iterator<Item = &'static Tool> {
    Toolset::ALL.iter().flat_map(|set| set.tools()).copied().filter(move |tool| tool.name == name)
}

/// Each member that a result of a tool has is declared with its type, and each required one is
/// present.
#[track_caller]
fn conforms_to_tool(tool: &str, result: &Value) {
    // A job is declared once, as the result of ingest.
    let tool =
        if tool.starts_with("ingest_") && result.get("jobs").is_none() { "ingest" } else { tool };
    let output = tools_named(tool).next().unwrap_or_else(|| panic!("no tool {tool}")).output;
    // Of a tool whose results may be media nothing is declared.
    if !output.is_empty() {
        members(output, result, tool);
    }
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
        Shape::Nullable(shape) => {
            if !value.is_null() {
                conforms(shape, value, at);
            }
        }
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
