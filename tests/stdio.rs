//! The same engine over pipes: one line in, one line out, nothing else on stdout.

use crate::support::{Folder, readme};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    pub fn on(folder: &Folder) -> Client {
        Client::with(folder, &[])
    }

    pub fn with(folder: &Folder, settings: &[(&str, &str)]) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        command
            .arg("stdio")
            .env_clear()
            .env("VAULT_PATH", folder.vault())
            .envs(settings.iter().copied());
        Client::start(command)
    }

    pub fn start(mut command: Command) -> Client {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Client {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub fn send(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| {
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON on stdout: {line}"))
        })
    }

    pub fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string());
        // Notifications of what has changed may come before the answer.
        std::iter::from_fn(|| self.line())
            .find(|line| line["method"] != "notifications/resources/list_changed")
            .unwrap()
    }

    pub fn shake_hands(&mut self) {
        let answer = self.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    pub fn end(mut self) -> i32 {
        drop(self.input.take());
        // What has changed may be said after the last answer.
        while let Some(line) = self.line() {
            assert_eq!(line["method"], "notifications/resources/list_changed");
        }
        self.child.wait().unwrap().code().unwrap()
    }
}

/// As Claude Desktop starts it: by the README's configuration, with our program and vault in it.
#[cfg(feature = "notes")]
#[test]
fn the_readmes_configuration_for_claude_desktop_starts_the_server() {
    let folder = Folder::sample();
    let configuration: Value = serde_json::from_str(&readme("claude-desktop")).unwrap();
    let server = &configuration["mcpServers"]["vault"];
    assert_eq!(server["command"], "/usr/local/bin/vault-sync-mcp");
    let vault = folder.vault().display().to_string();
    let arguments = server["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().replace("/data/obsidian-vault", &vault));
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    command.args(arguments).env_clear();
    let mut client = Client::start(command);
    client.shake_hands();
    let found =
        client.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_list", "arguments": {} } }));
    assert_eq!(found["result"]["isError"], false);
    assert_eq!(client.end(), 0);
}

/// Editors need the URL of the endpoint and nothing else.
#[test]
fn the_readmes_configurations_for_editors_name_the_endpoint() {
    for (block, servers) in [("vscode", "servers"), ("cursor", "mcpServers")] {
        let configuration: Value = serde_json::from_str(&readme(block)).unwrap();
        assert_eq!(
            configuration[servers]["vault"]["url"], "https://vault.example.com/mcp",
            "{block}"
        );
    }
}

#[test]
fn a_whole_conversation() {
    let folder = Folder::sample();
    let mut client = Client::on(&folder);
    // A probe without an envelope is legacy, and gets an error that sends the client to initialize.
    let probe = client.ask(json!({ "jsonrpc": "2.0", "id": "p", "method": "server/discover" }));
    assert_eq!(probe["error"]["code"], -32601);
    client.shake_hands();
    let tools = client.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    assert_eq!(
        tools["result"]["tools"].as_array().unwrap().len(),
        6,
        "everything, without a login"
    );
    let call = |name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    client.send(
        &call(
            "vault_write",
            json!({ "path": "new.md", "content": "line one\nline \u{2028} two\r\n" }),
        )
        .to_string(),
    );
    // The answer and the notification come in either order.
    let (mut written, mut changed) = (None, None);
    while written.is_none() || changed.is_none() {
        let line = client.line().unwrap();
        if line.get("id").is_some() { written = Some(line) } else { changed = Some(line) }
    }
    assert_eq!(written.unwrap()["result"]["structuredContent"]["created"], true);
    assert_eq!(folder.read("new.md"), "line one\nline \u{2028} two\r\n".as_bytes());
    assert_eq!(
        changed.unwrap(),
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed" })
    );
    let read = client.ask(call("vault_read", json!({ "path": "../new.md" })));
    assert_eq!(read["result"]["isError"], true);
    assert_eq!(client.end(), 0);
}

#[test]
fn garbage_is_answered_and_survived() {
    let folder = Folder::sample();
    let mut client = Client::on(&folder);
    for (line, code) in [
        ("{", -32700),
        ("\u{1}", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600),
    ] {
        client.send(line);
        let error = client.line().unwrap();
        assert_eq!(error["error"]["code"], code, "{line}");
        assert!(error.get("id").is_none());
    }
    client.send("");
    client.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "y".repeat(17 * 1024 * 1024)
    ));
    assert_eq!(client.line().unwrap()["error"]["code"], -32600, "a line longer than any message");
    assert_eq!(
        client.ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }))["result"],
        json!({})
    );
    assert_eq!(client.end(), 0);
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let folder = Folder::sample();
    let mut client = Client::on(&folder);
    client.shake_hands();
    let lines: String = (0..100).map(|id| search(id).to_string() + "\n").collect();
    client.send(lines.trim_end());
    drop(client.input.take());
    let mut ids = Vec::new();
    while let Some(answer) = client.line() {
        ids.push(answer["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
}

fn search(id: i64) -> Value {
    let params = json!({ "name": "vault_search", "arguments": { "query": "e", "max_results": 1 } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn slow_call(id: i64, token: Option<&str>) -> Value {
    let mut params = crate::support::slow_call();
    if let Some(token) = token {
        params["_meta"]["progressToken"] = token.into();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[cfg(feature = "context")]
#[test]
fn a_call_in_progress_and_a_call_that_waits_are_cancelled() {
    let folder = Folder::slow();
    let cancel = |id: i64| {
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string()
    };
    for (shake, in_batch) in [(true, false), (false, false), (false, true)] {
        let mut client = Client::with(&folder, &[("TOOLSETS", "vault,context")]);
        if shake {
            client.shake_hands();
        }
        client.send(&slow_call(1, Some("p")).to_string());
        client.send(&slow_call(2, None).to_string());
        let progress = client.line().unwrap();
        assert_eq!(
            (&progress["method"], &progress["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
        if in_batch {
            client.send(&format!("[{},{}]", cancel(2), cancel(1)));
        } else {
            client.send(&cancel(2));
            client.send(&cancel(1));
        }
        client.send(&search(3).to_string());
        drop(client.input.take());
        let mut answered = Vec::new();
        while let Some(message) = client.line() {
            answered.extend(message["id"].as_i64());
        }
        assert_eq!(answered, [3], "neither of the two is answered");
        assert_eq!(client.child.wait().unwrap().code(), Some(0));
    }
}

/// The rules for batches are those of HTTP; a handshake in one would have pinned the process.
#[test]
fn batches_follow_the_rules_of_http() {
    let folder = Folder::sample();
    let mut client = Client::on(&folder);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let initialize = json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": { "protocolVersion": "2025-11-25" } });
    let answers = client.ask(json!([ping, initialize]));
    assert_eq!((&answers[0]["result"], &answers[1]["error"]["code"]), (&json!({}), &json!(-32600)));
    client.shake_hands();
    assert_eq!(client.ask(json!([ping]))["error"]["code"], -32600, "2025-11-25 has none");
    assert_eq!(client.ask(initialize)["error"]["code"], -32600, "and there is one handshake");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_modern_client_listens_and_stops_listening() {
    let folder = Folder::sample();
    let mut client = Client::on(&folder);
    let modern = |id: Value, method: &str, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    };
    let tag = "io.modelcontextprotocol/subscriptionId";
    let listen = |id: &str| {
        modern(
            id.into(),
            "subscriptions/listen",
            json!({ "notifications": { "resourcesListChanged": true } }),
        )
    };
    for id in ["one", "two"] {
        let acknowledged = client.ask(listen(id));
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(acknowledged["params"]["_meta"][tag], id);
    }
    std::fs::write(folder.vault().join("new.md"), "x").unwrap();
    let mut shown = [client.line().unwrap(), client.line().unwrap()]
        .map(|message| message["params"]["_meta"][tag].as_str().unwrap().to_owned());
    shown.sort();
    assert_eq!(shown, ["one", "two"], "each its own copy");
    // The same id again: the second replaces the first.
    assert_eq!(client.ask(listen("one"))["method"], "notifications/subscriptions/acknowledged");
    client.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"one"}}"#,
    );
    // An answer in between: the cancellation has been read.
    assert!(client.ask(modern(1.into(), "tools/list", json!({})))["result"]["tools"].is_array());
    std::fs::remove_file(folder.vault().join("new.md")).unwrap();
    assert_eq!(client.line().unwrap()["params"]["_meta"][tag], "two");
    let unknown = modern(2.into(), "server/discover", json!({ "_meta": {} }))
        .to_string()
        .replace("2026-07-28", "2099-01-01");
    client.send(&unknown);
    assert_eq!(client.line().unwrap()["error"]["code"], -32022);
    assert_eq!(client.end(), 0);
}

/// A slow call delays no other, `ping` included.
#[cfg(feature = "context")]
#[test]
fn a_slow_call_holds_up_no_other() {
    let folder = Folder::slow();
    let mut client = Client::with(&folder, &[("TOOLSETS", "vault,context")]);
    client.shake_hands();
    client.send(&slow_call(1, None).to_string());
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string());
    client.send(&search(3).to_string());
    let first: Vec<i64> = (0..3).map(|_| client.line().unwrap()["id"].as_i64().unwrap()).collect();
    // The slow one gives up after three seconds, in which a busy machine may do nothing else.
    assert!(!crate::support::thorough() || first[2] == 1, "while the first goes on: {first:?}");
    assert_eq!(client.end(), 0);
}

/// Half of a surrogate pair, as a client sends that cuts a text inside an emoji.
#[test]
fn half_an_emoji_is_answered() {
    let folder = Folder::with(&[("a.md", b"boiler\n")]);
    let mut client = Client::on(&folder);
    client.shake_hands();
    client
        .send(r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"vault_search","arguments":{"query":"boiler \ud83d"}}}"#);
    let answer = client.line().unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(1.0), &json!(false)),
        "{answer}"
    );
    assert_eq!(client.end(), 0);
}

/// What a client asks first waits for no file, however long the first index takes.
#[test]
fn the_list_of_tools_does_not_wait_for_the_index() {
    let folder = Folder::slow();
    let mut client = Client::on(&folder);
    client.shake_hands();
    client.send(&search(0).to_string());
    let lists: String = (1..=20)
        .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }).to_string() + "\n")
        .collect();
    client.send(lists.trim_end());
    let ids: Vec<Value> = (0..=20).map(|_| client.line().unwrap()["id"].clone()).collect();
    assert_eq!(ids.last(), Some(&search(0)["id"]), "{ids:?}");
    assert_eq!(client.end(), 0);
}
