//! What a session prints while it runs (`--output-format stream-json`): one JSON object a line.

use super::Progress;
use super::command::TOOLS;
use crate::limits;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Characters of the description of what a session is currently doing.
const DOING_CHARS: usize = 200;
/// Requests in a row that the API may leave unanswered: the program waits longer before each, up to
/// minutes, and the caller should know earlier.
const RETRIES: u32 = 4;
/// The longest wait before the next request, in milliseconds.
const RETRY_DELAY_MS: f64 = 15_000.0;

/// What a session's output has shown so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) progress: Progress,
    /// The final object, of type `result`.
    pub(super) end: Option<End>,
    /// Requests in a row that the API has not answered (`api_retry`).
    retries: u32,
    /// Whether the session has reported its tools and servers (`init`).
    is_initialized: bool,
    /// The id of the last turn's message.
    turn: String,
}

/// How a session ended, as it reports.
#[derive(Debug, Default)]
pub(super) struct End {
    /// `success`, `error_max_turns`, ...
    pub(super) subtype: String,
    pub(super) is_error: bool,
    /// The HTTP status of the API's answer, where that was the cause.
    pub(super) api_error_status: Option<u64>,
    /// Its final text.
    pub(super) result: String,
    pub(super) structured_output: Option<Value>,
}

/// A field of a message, or nothing if it is missing or of another type.
fn field<T: DeserializeOwned + Default>(message: &Map<String, Value>, name: &str) -> T {
    message.get(name).and_then(|value| T::deserialize(value).ok()).unwrap_or_default()
}

impl Transcript {
    /// Reads a line. Returns what the session is doing now, if the line says so.
    ///
    /// # Errors
    /// Why the session must be ended at once.
    pub(super) fn read_line(
        &mut self,
        line: &[u8],
        page: &dyn Fn(&str) -> String,
    ) -> Result<Option<String>, String> {
        let Ok(Value::Object(message)) = serde_json::from_slice::<Value>(line) else {
            return Ok(None);
        };
        let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "system" if text("subtype") == "init" => {
                self.is_initialized = true;
                check(&message).map_err(|why| unconfined(&why))?;
            }
            "system" if text("subtype") == "api_retry" => {
                let status = message.get("error_status").and_then(Value::as_u64);
                self.retries += 1;
                let waits = message.get("retry_delay_ms").and_then(Value::as_f64);
                let is_late = self.retries >= RETRIES || waits > Some(RETRY_DELAY_MS);
                return match status {
                    Some(401 | 403) => Err(super::KEY_REFUSED.into()),
                    Some(429) if is_late => Err(super::RATE_LIMITED.into()),
                    Some(status) if is_late => {
                        Err(format!("The API answers {status}; try again later."))
                    }
                    None if is_late => Err(super::UNREACHABLE.into()),
                    Some(status) => Ok(Some(format!("the API answered {status}; trying again"))),
                    None => Ok(Some("the API cannot be reached; trying again".into())),
                };
            }
            "assistant" | "user" if !self.is_initialized => {
                return Err(unconfined("it did not say which tools it has"));
            }
            "assistant" | "user"
                if message.get("parent_tool_use_id").is_some_and(|parent| !parent.is_null()) =>
            {
                return Err(unconfined("it has started another agent"));
            }
            "assistant" => return self.read_tool_calls(message.get("message"), page),
            "result" => {
                // Each field by itself: one of another type must not lose the cost or the text of a
                // session that was paid for.
                self.progress.turns = self.progress.turns.max(field(&message, "num_turns"));
                self.progress.cost_usd = field(&message, "total_cost_usd");
                self.progress.refused =
                    refused(&field::<Vec<Value>>(&message, "permission_denials"), page);
                self.end = Some(End {
                    subtype: field(&message, "subtype"),
                    is_error: field(&message, "is_error"),
                    api_error_status: field(&message, "api_error_status"),
                    result: field(&message, "result"),
                    structured_output: field(&message, "structured_output"),
                });
            }
            _ => {}
        }
        Ok(None)
    }

    /// Counts the turn and checks the model's tool calls; returns the last one for display.
    fn read_tool_calls(
        &mut self,
        message: Option<&Value>,
        page: &dyn Fn(&str) -> String,
    ) -> Result<Option<String>, String> {
        let Some(message) = message else { return Ok(None) };
        self.retries = 0;
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
        if self.turn != id {
            id.clone_into(&mut self.turn);
            self.progress.turns += 1;
        }
        let mut doing = None;
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        for block in
            blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
        {
            let tool = block.get("name").and_then(Value::as_str).unwrap_or_default();
            if !TOOLS.contains(&tool) {
                return Err(unconfined(&format!(
                    "it called a tool that it should not have: {}",
                    plain(tool)
                )));
            }
            let call = describe_call(tool, block.get("input"), page);
            doing = Some(format!("turn {}: {call}", self.progress.turns));
        }
        Ok(doing)
    }
}

/// The error for a session that is not confined as intended.
fn unconfined(why: &str) -> String {
    format!(
        "The session was ended because it was not confined: {why}. Is AGENT_COMMAND the claude \
         program?"
    )
}

/// A tool and the file, skill or pattern that it is called with.
fn describe_call(tool: &str, input: Option<&Value>, page: &dyn Fn(&str) -> String) -> String {
    let input = |name: &str| input.and_then(|input| input.get(name)).and_then(Value::as_str);
    let about = match input("file_path").or(input("path")) {
        Some(path) => page(path),
        None => input("skill").or(input("pattern")).unwrap_or_default().to_owned(),
    };
    plain(&format!("{tool} {about}")).trim_end().to_owned()
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(DOING_CHARS).collect()
}

/// Refuses a session that has more than the command line gave it, however the program understood
/// that.
fn check(init: &Map<String, Value>) -> Result<(), String> {
    let list = |member: &str| {
        init.get(member)
            .and_then(Value::as_array)
            .ok_or_else(|| format!("it did not say its {member}"))
    };
    let tools = list("tools")?;
    if let Some(more) =
        tools.iter().find(|tool| !tool.as_str().is_some_and(|tool| TOOLS.contains(&tool)))
    {
        return Err(format!("it has a tool that it should not have: {more}"));
    }
    if !list("mcp_servers")?.is_empty() {
        return Err("it has an MCP server".into());
    }
    match init.get("permissionMode").and_then(Value::as_str) {
        Some("dontAsk") => Ok(()),
        mode => Err(format!("its permission mode is {}", mode.unwrap_or("not said"))),
    }
}

/// Calls that were refused.
fn refused(denials: &[Value], page: &dyn Fn(&str) -> String) -> Vec<String> {
    let call = |denial: &Value| {
        Some(describe_call(denial.get("tool_name")?.as_str()?, denial.get("tool_input"), page))
    };
    denials.iter().take(limits::AGENT_LISTED).filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_line(transcript: &mut Transcript, message: &Value) -> Result<Option<String>, String> {
        transcript.read_line(message.to_string().as_bytes(), &|path| {
            path.trim_start_matches("/vault/").to_owned()
        })
    }

    fn begun() -> Transcript {
        let mut transcript = Transcript::default();
        let init = json!({ "type": "system", "subtype": "init", "tools": ["Write"], "mcp_servers": [], "permissionMode": "dontAsk" });
        read_line(&mut transcript, &init).unwrap();
        transcript
    }

    fn call(tool: &str) -> Value {
        let input = json!({ "file_path": "/vault/life/a.md", "content": "x" });
        json!({ "type": "assistant", "message": { "id": "m1", "content": [{ "type": "tool_use", "id": "a", "name": tool, "input": input }] } })
    }

    #[test]
    fn a_session_that_has_more_than_it_should_is_ended() {
        for (init, why) in [
            (
                json!({ "tools": ["Read", "Bash"], "mcp_servers": [], "permissionMode": "dontAsk" }),
                "Bash",
            ),
            (
                json!({ "tools": ["Read"], "mcp_servers": [{ "name": "vault" }], "permissionMode": "dontAsk" }),
                "MCP",
            ),
            (
                json!({ "tools": ["Read"], "mcp_servers": [], "permissionMode": "bypassPermissions" }),
                "bypass",
            ),
            (json!({ "tools": ["Read"], "mcp_servers": [] }), "not said"),
            (json!({ "tools": ["Read"], "permissionMode": "dontAsk" }), "mcp_servers"),
            (
                json!({ "tools": { "Bash": true }, "mcp_servers": [], "permissionMode": "dontAsk" }),
                "tools",
            ),
        ] {
            let mut init = init;
            init["type"] = "system".into();
            init["subtype"] = "init".into();
            let Err(words) = read_line(&mut Transcript::default(), &init) else {
                panic!("it goes on with {init}")
            };
            assert!(words.contains(why), "{words}");
        }
        let unknown = json!({ "type": "assistant", "message": { "id": "1", "content": [] } });
        assert!(read_line(&mut Transcript::default(), &unknown).is_err());
    }

    #[test]
    fn a_session_that_calls_what_it_should_not_have_or_starts_another_agent_is_ended() {
        assert!(read_line(&mut begun(), &call("mcp__plugin_x__run")).is_err());
        let mut nested = call("Read");
        nested["parent_tool_use_id"] = "toolu_1".into();
        assert!(read_line(&mut begun(), &nested).is_err());
        nested["parent_tool_use_id"] = Value::Null;
        assert!(read_line(&mut begun(), &nested).is_ok());
    }

    #[test]
    fn turns_are_counted_and_refused_calls_are_named() {
        let mut transcript = begun();
        assert_eq!(
            read_line(&mut transcript, &call("Write")).unwrap().unwrap(),
            "turn 1: Write life/a.md"
        );
        read_line(&mut transcript, &call("Read")).unwrap();
        read_line(&mut transcript, &json!("garbage")).unwrap();
        assert_eq!(transcript.progress.turns, 1);
        let denials = json!([{ "tool_name": "Read", "tool_input": { "file_path": "/etc/passwd" } }, { "odd": 1 }]);
        read_line(&mut transcript, &json!({ "type": "result", "num_turns": 3, "total_cost_usd": 0.5, "permission_denials": denials }))
            .unwrap();
        assert_eq!((transcript.progress.turns, transcript.progress.cost_usd), (3, Some(0.5)));
        assert_eq!(transcript.progress.refused, ["Read /etc/passwd"]);
    }

    #[test]
    fn a_field_of_another_type_does_not_lose_the_others() {
        let mut transcript = begun();
        let odd = json!({ "type": "result", "subtype": "success", "result": null, "num_turns": 2.5, "total_cost_usd": 0.5,
            "api_error_status": "529", "permission_denials": null, "structured_output": { "a": 1 } });
        read_line(&mut transcript, &odd).unwrap();
        let end = transcript.end.unwrap();
        assert_eq!(
            (&*end.subtype, &*end.result, end.api_error_status, end.structured_output),
            ("success", "", None, Some(json!({ "a": 1 })))
        );
        assert_eq!(transcript.progress.cost_usd, Some(0.5));
    }
}
