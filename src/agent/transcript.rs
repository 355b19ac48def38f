//! What a session prints while it runs (`--output-format stream-json`): one JSON object a line.

use super::command::TOOLS;
use super::{Page, SoFar};
use crate::limits;
use serde_json::Value;
use std::collections::HashMap;

/// A session, as far as it has been heard.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) so_far: SoFar,
    /// The object at the end.
    pub(super) end: Option<End>,
    /// What the supervisor said last.
    pub(super) status: Option<Status>,
    /// What the API answered last, where that was no answer.
    pub(super) waits: Option<String>,
    /// The page that was written last, until somebody takes it.
    pub(super) written: Option<String>,
    /// Whether the session has said what it is.
    is_known: bool,
    /// The message that the last turn is.
    turn: String,
    /// Changes that were asked for and not yet answered: paths as the session named them, by the call's id.
    asked: HashMap<String, String>,
}

/// How a session ended, in its own words.
#[derive(Debug, Default)]
pub(super) struct End {
    /// `success`, `error_max_turns`, ...
    pub(super) subtype: String,
    pub(super) is_error: bool,
    /// The status of the API's answer, where that was the trouble.
    pub(super) api_status: Option<u64>,
    pub(super) turns: u64,
    pub(super) cost_usd: f64,
    /// Its final text.
    pub(super) text: String,
    /// What it gave by the schema.
    pub(super) structured: Option<Value>,
    /// Calls that were refused to it.
    pub(super) denied: usize,
}

/// Why a session must be ended at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// It is not confined as it was meant to be; the words say how.
    Unconfined(String),
    /// The API does not take the key; the program would go on asking for minutes.
    KeyRefused,
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    /// By itself.
    Exit(i64),
    /// It could not be started.
    NotStarted(String),
}

impl Transcript {
    /// Takes a line. Gives what the session is doing now, if that is new.
    ///
    /// # Errors
    /// [`Halt`].
    pub(super) fn hear(&mut self, line: &[u8], page: impl Fn(&str) -> String) -> Result<Option<String>, Halt> {
        let Ok(Value::Object(message)) = serde_json::from_slice::<Value>(line) else { return Ok(None) };
        let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "system" if text("subtype") == "init" => {
                self.is_known = true;
                check(&message).map_err(Halt::Unconfined)?;
            }
            "system" if text("subtype") == "api_retry" => {
                let status = message.get("error_status").and_then(Value::as_u64);
                if matches!(status, Some(401 | 403)) {
                    return Err(Halt::KeyRefused);
                }
                let status = status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
                self.waits = Some(status.clone());
                return Ok(Some(format!("the API answered {status}; asking again")));
            }
            "supervisor" => {
                let status = message.get("exit").and_then(Value::as_i64);
                self.status = Some(status.map_or_else(|| Status::NotStarted(text("error").to_owned()), Status::Exit));
            }
            "assistant" | "user" if !self.is_known => return Err(Halt::Unconfined("it did not say which tools it has".into())),
            "assistant" => return Ok(self.called(message.get("message"), &page)),
            "user" => return Ok(self.answered(&message, &page)),
            "result" => self.end = Some(end(&message)),
            _ => {}
        }
        Ok(None)
    }

    /// What the model asked for.
    fn called(&mut self, message: Option<&Value>, page: &impl Fn(&str) -> String) -> Option<String> {
        let message = message?;
        self.waits = None;
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
        if self.turn != id {
            id.clone_into(&mut self.turn);
            self.so_far.turns += 1;
        }
        let mut doing = None;
        for block in message.get("content")?.as_array()?.iter().filter(|block| is(block, "tool_use")) {
            self.so_far.steps += 1;
            let tool = block.get("name").and_then(Value::as_str).unwrap_or_default();
            let input = |name: &str| block.get("input").and_then(|input| input.get(name)).and_then(Value::as_str);
            let about = match (tool, input("file_path").or(input("path"))) {
                ("Skill", _) => input("skill").unwrap_or_default().to_owned(),
                (_, Some(path)) => page(path),
                (_, None) => input("pattern").unwrap_or_default().to_owned(),
            };
            if let ("Write" | "Edit", Some(path), Some(id)) = (tool, input("file_path"), block.get("id").and_then(Value::as_str))
                && self.asked.len() < limits::AGENT_PAGES
            {
                self.asked.insert(id.to_owned(), path.to_owned());
            }
            let shown: String = about.chars().filter(|c| !c.is_control()).take(200).collect();
            doing = Some(format!("turn {}: {tool} {shown}", self.so_far.turns).trim_end().to_owned());
        }
        doing
    }

    /// What became of it; what is told of that is a page that was written.
    fn answered(&mut self, message: &serde_json::Map<String, Value>, page: &impl Fn(&str) -> String) -> Option<String> {
        let blocks = message.get("message")?.get("content")?.as_array()?;
        let mut written = None;
        for block in blocks.iter().filter(|block| is(block, "tool_result")) {
            let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            let id = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
            let Some(path) = self.asked.remove(id).filter(|_| !failed) else { continue };
            let created = message.get("tool_use_result").and_then(|result| result.get("type")).and_then(Value::as_str) == Some("create");
            let path = page(&path);
            written = Some(format!("turn {}: {path} is written", self.so_far.turns));
            self.note(path, created);
        }
        written
    }

    fn note(&mut self, path: String, created: bool) {
        self.written = Some(path.clone());
        if let Some(known) = self.so_far.pages.iter_mut().find(|known| known.path == path) {
            known.created |= created;
        } else if self.so_far.pages.len() < limits::AGENT_PAGES {
            self.so_far.pages.push(Page { path, created });
        }
    }

    /// Whether a change was asked for that is not answered yet.
    pub(super) fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What was asked for will not be heard of any more: it counts as written, since it may be. `page` gives the page that is
    /// there now, if any.
    pub(super) fn lost(&mut self, page: impl Fn(&str) -> Option<String>) {
        for path in std::mem::take(&mut self.asked).values().filter_map(|path| page(path)) {
            self.note(path, false);
        }
    }
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

/// The last belt: whatever the program made of its command line, a session with more than it should have does not go on.
fn check(init: &serde_json::Map<String, Value>) -> Result<(), String> {
    let names = |member: &str| init.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tools = names("tools");
    if let Some(more) = tools.iter().find(|tool| !tool.as_str().is_some_and(|tool| TOOLS.contains(&tool))) {
        return Err(format!("it has a tool that it should not have: {more}"));
    }
    if !names("mcp_servers").is_empty() {
        return Err("it has an MCP server".into());
    }
    match init.get("permissionMode").and_then(Value::as_str) {
        Some("dontAsk") => Ok(()),
        mode => Err(format!("its permission mode is {}", mode.unwrap_or("not said"))),
    }
}

fn end(message: &serde_json::Map<String, Value>) -> End {
    let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    End {
        subtype: text("subtype"),
        is_error: message.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        api_status: message.get("api_error_status").and_then(Value::as_u64),
        turns: message.get("num_turns").and_then(Value::as_u64).unwrap_or(0),
        cost_usd: message.get("total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0),
        text: text("result"),
        structured: message.get("structured_output").filter(|value| value.is_object()).cloned(),
        denied: message.get("permission_denials").and_then(Value::as_array).map_or(0, Vec::len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hear(transcript: &mut Transcript, message: &Value) -> Result<Option<String>, Halt> {
        transcript.hear(message.to_string().as_bytes(), |path| path.trim_start_matches("/vault/").to_owned())
    }

    #[test]
    fn a_session_that_has_more_than_it_should_is_ended() {
        for (init, why) in [
            (json!({ "tools": ["Read", "Bash"], "mcp_servers": [], "permissionMode": "dontAsk" }), "Bash"),
            (json!({ "tools": ["Read"], "mcp_servers": [{ "name": "vault" }], "permissionMode": "dontAsk" }), "MCP"),
            (json!({ "tools": ["Read"], "mcp_servers": [], "permissionMode": "bypassPermissions" }), "bypass"),
            (json!({ "tools": ["Read"] }), "not said"),
        ] {
            let mut init = init;
            init["type"] = "system".into();
            init["subtype"] = "init".into();
            let Err(Halt::Unconfined(words)) = hear(&mut Transcript::default(), &init) else { panic!("it goes on with {init}") };
            assert!(words.contains(why), "{words}");
        }
        let unknown = json!({ "type": "assistant", "message": { "id": "1", "content": [] } });
        assert!(hear(&mut Transcript::default(), &unknown).is_err());
    }

    #[test]
    fn only_changes_that_were_made_count_as_written() {
        let mut transcript = Transcript::default();
        let init = json!({ "type": "system", "subtype": "init", "tools": ["Write"], "mcp_servers": [], "permissionMode": "dontAsk" });
        hear(&mut transcript, &init).unwrap();
        let call = |id: &str, path: &str| {
            let input = json!({ "file_path": path, "content": "x" });
            json!({ "type": "assistant", "message": { "id": "m1", "content": [{ "type": "tool_use", "id": id, "name": "Write", "input": input }] } })
        };
        assert_eq!(hear(&mut transcript, &call("a", "/vault/life/a.md")).unwrap().unwrap(), "turn 1: Write life/a.md");
        hear(&mut transcript, &call("b", "/vault/life/b.md")).unwrap();
        let answer = |id: &str, failed: bool| {
            let block = json!({ "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": "x" });
            json!({ "type": "user", "message": { "content": [block] }, "tool_use_result": { "type": "create" } })
        };
        hear(&mut transcript, &answer("a", false)).unwrap();
        hear(&mut transcript, &answer("b", true)).unwrap();
        hear(&mut transcript, &json!("garbage")).unwrap();
        assert_eq!((transcript.so_far.turns, transcript.so_far.steps), (1, 2));
        assert_eq!(transcript.so_far.pages, [Page { path: "life/a.md".into(), created: true }]);
    }
}
