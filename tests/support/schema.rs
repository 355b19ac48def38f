//! Holds results against the schemas that `tools/list` shows.

use serde_json::{Value, json};

/// Each member that a result of a tool has is in its output schema with the right type, and each required one is there.
#[track_caller]
pub fn conforms_to_tool(tool: &str, result: &Value) {
    let sets = vault_sync_mcp::tools::Toolset::ALL.iter();
    let known = sets.flat_map(|set| set.tools()).find(|known| known.name == tool).unwrap_or_else(|| panic!("no tool {tool}"));
    conforms(&known.listing()["outputSchema"], result, tool);
}

#[track_caller]
fn conforms(schema: &Value, value: &Value, at: &str) {
    match schema["type"].as_str().unwrap() {
        "object" => {
            let members = value.as_object().unwrap_or_else(|| panic!("{at} is no object: {value}"));
            for (name, value) in members {
                if schema["additionalProperties"] == true {
                    continue;
                }
                let schema = schema["properties"].get(name).unwrap_or_else(|| panic!("{at}.{name} is not in the schema"));
                conforms(schema, value, &format!("{at}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(name.as_str().unwrap()), "{at} lacks {name}");
            }
        }
        "array" => value.as_array().unwrap().iter().for_each(|item| conforms(&schema["items"], item, at)),
        "string" => {
            let text = value.as_str().unwrap_or_else(|| panic!("{at} is no string"));
            assert!(schema["enum"].as_array().is_none_or(|names| names.contains(&json!(text))), "{at}: {text}");
        }
        "integer" => assert!(
            value.as_i64().unwrap_or_else(|| panic!("{at} is no integer")) >= schema["minimum"].as_i64().unwrap_or(i64::MIN),
            "{at}"
        ),
        "number" => assert!(value.is_number(), "{at}"),
        "boolean" => assert!(value.is_boolean(), "{at}"),
        other => panic!("{other}"),
    }
}
