//! Conversations in the legacy protocol (2025-03-26, 2025-06-18, 2025-11-25) over HTTP.

use crate::support::{Folder, READ_TOKEN, Server, TOKEN, initialize, stream_request};
use serde_json::{Value, json};

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[test]
fn the_handshake_agrees_on_a_revision() {
    let (_folder, server) = Server::sample();
    for (asked, given) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let response = server.post(&initialize(asked));
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), Some("application/json"));
        let answer = response.json();
        assert_eq!(answer["id"], 0, "id 0 is an id");
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], given, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "vault-sync-mcp");
        assert!(result["capabilities"]["tools"].is_object());
        assert_eq!(result["capabilities"]["resources"]["listChanged"], true);
        assert!(result["instructions"].as_str().unwrap().contains("vault_search"));
        let id = response.header("mcp-session-id").unwrap();
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) && id.len() >= 32, "{id}");
        let done = server.post_with(
            TOKEN,
            &format!("Mcp-Session-Id: {id}\r\n"),
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        );
        assert_eq!((done.status, done.body.len()), (202, 0));
    }
}

#[test]
fn a_session_belongs_to_its_login_and_ends_with_delete() {
    let (_folder, server) = Server::sample();
    let id = server.session(TOKEN, "2025-11-25");
    let header = format!("Mcp-Session-Id: {id}\r\n");
    let ping = request("ping", json!({}));
    assert_eq!(server.post_with(TOKEN, &header, &ping).json()["result"], json!({}), "exactly empty");
    assert_eq!(server.post_with(READ_TOKEN, &header, &ping).status, 404, "another login");
    assert_eq!(server.post_with(TOKEN, "Mcp-Session-Id: no-such-session\r\n", &ping).status, 404);
    let delete =
        |token: &str| server.request(&format!("DELETE /mcp HTTP/1.1\r\nAuthorization: Bearer {token}\r\nMcp-Session-Id: {id}"), "").status;
    assert_eq!(delete(READ_TOKEN), 404);
    assert_eq!(delete(TOKEN), 204);
    assert_eq!(server.post_with(TOKEN, &header, &ping).status, 404);
    assert_eq!(delete(TOKEN), 404);
    assert_eq!(server.post(&ping).status, 200, "and without a session it works all the same");
}

#[test]
fn the_version_header_must_be_one_that_is_spoken() {
    let (_folder, server) = Server::sample();
    let id = server.session(TOKEN, "2025-11-25");
    for (headers, status) in [
        (String::new(), 200),
        ("MCP-Protocol-Version: 2025-06-18\r\n".into(), 200),
        ("MCP-Protocol-Version: 2099-01-01\r\n".into(), 400),
        ("MCP-Protocol-Version: invalid-protocol-version\r\n".into(), 400),
        ("MCP-Protocol-Version: 2026-07-28\r\n".into(), 400),
        (format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2000-01-01\r\n"), 400),
        (format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-03-26\r\n"), 200),
        (format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2026-07-28\r\n"), 200),
    ] {
        let response = server.post_with(TOKEN, &headers, &request("tools/list", json!({})));
        assert_eq!(response.status, status, "{headers}");
        if status == 400 {
            let error = response.json();
            assert_eq!(error["id"], 7);
            assert_eq!(error["error"]["code"], -32600, "none of the modern era's codes: that would be taken for it");
        }
    }
    // A client that probes for the modern era must be able to tell that it has to fall back.
    let probe = server.post_with(
        TOKEN,
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n",
        &request("server/discover", json!({})),
    );
    assert_eq!(probe.status, 400);
    assert_eq!(server.post_with(TOKEN, "MCP-Protocol-Version: 2026-07-28\r\n", &initialize("2025-11-25")).status, 200);
}

#[test]
fn media_types_are_checked_with_leniency() {
    let (_folder, server) = Server::sample();
    let send = |headers: &str| {
        let body = request("ping", json!({})).to_string();
        server.request(&format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}{headers}"), &body)
    };
    for (headers, status) in [
        ("\r\nContent-Type: application/json", 200),
        ("\r\nContent-Type: application/json; charset=utf-8\r\nAccept: */*", 200),
        ("\r\nContent-Type: Application/JSON\r\nAccept: application/json;q=0.9", 200),
        ("\r\nContent-Type: application/json\r\nAccept: application/*", 200),
        ("\r\nContent-Type: application/json\r\nAccept: text/html", 406),
        ("\r\nContent-Type: text/plain", 415),
        ("", 415),
    ] {
        assert_eq!(send(headers).status, status, "{headers:?}");
    }
    let stream = send("\r\nContent-Type: application/json\r\nAccept: text/event-stream");
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.text(), "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n");
}

#[test]
fn errors_say_what_is_wrong_and_echo_the_id() {
    let (_folder, server) = Server::sample();
    let raw = |body: &str| server.request(&crate::support::mcp_head(TOKEN, ""), body);
    for (body, status, code, id) in [
        ("{", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"x","method":"nonsense"}"#, 200, -32601, json!("x")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#, 200, -32602, json!(3)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"vault_fly"}}"#, 200, -32602, json!(3)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"vault_list","arguments":[]}}"#, 200, -32602, json!(3)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}"#, 200, -32602, json!(3)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"vault:///nowhere.md"}}"#, 200, -32002, json!(3)),
    ] {
        let response = raw(body);
        assert_eq!(response.status, status, "{body}");
        let error = response.json();
        assert_eq!(error["error"]["code"], code, "{body}");
        assert_eq!(error["id"], id, "{body}");
        assert_eq!(error.get("id").is_some(), !id.is_null(), "an id that cannot be read is left out: {body}");
    }
    assert_eq!(raw(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).status, 202, "an answer to a request that was never made");
    assert_eq!(raw(r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#).status, 202);
}

#[test]
fn batches_are_for_2025_03_26_only() {
    let (_folder, server) = Server::sample();
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": 2, "method": "nonsense" },
        { "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {} },
        5,
    ]);
    let old = format!("Mcp-Session-Id: {}\r\n", server.session(TOKEN, "2025-03-26"));
    let answers = server.post_with(TOKEN, &old, &batch).json();
    assert_eq!(answers.as_array().unwrap().len(), 4, "{answers}");
    assert_eq!(answers[0]["result"], json!({}));
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["error"]["code"], -32600);
    let quiet = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(server.post_with(TOKEN, &old, &quiet).status, 202);
    for version in ["2025-06-18", "2025-11-25"] {
        let header = format!("Mcp-Session-Id: {}\r\n", server.session(TOKEN, version));
        let refused = server.post_with(TOKEN, &header, &batch);
        assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (400, json!(-32600)), "{version}");
    }
}

/// What the GET stream is for: it says when files come or go, by us or by the sync program, and nothing otherwise.
#[test]
fn the_stream_tells_when_files_come_or_go() {
    let (folder, server) = Server::sample();
    let id = server.session(TOKEN, "2025-11-25");
    let open = |id: &str, accept: &str| {
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, id, accept));
        let head = stream.headless();
        (head, stream)
    };
    let (head, mut stream) = open(&id, "text/event-stream");
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
    std::fs::write(folder.vault().join("from outside.md"), "x").unwrap();
    assert_eq!(stream.event().as_deref(), Some(changed));
    server.call("vault_write", json!({ "path": "from us.md", "content": "x" }));
    assert_eq!(stream.event().as_deref(), Some(changed));
    std::fs::remove_file(folder.vault().join("from outside.md")).unwrap();
    assert_eq!(stream.event().as_deref(), Some(changed));
    // A second stream takes the place of the first, whose peer may be long gone.
    let (head, mut second) = open(&id, "text/event-stream, */*");
    assert_eq!(head.status, 200);
    assert!(stream.chunk().is_none(), "the first is ended");
    assert_eq!(server.request(&format!("DELETE /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nMcp-Session-Id: {id}"), "").status, 204);
    assert!(second.event().is_none(), "and the second with its session");
    assert_eq!(open("unknown", "text/event-stream").0.status, 404);
    assert_eq!(open(&server.session(TOKEN, "2025-06-18"), "application/json").0.status, 406);
    let without = server.request(&format!("GET /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream"), "");
    assert_eq!((without.status, without.header("allow")), (405, Some("POST, DELETE, OPTIONS")));
}

#[test]
fn streams_of_one_login_are_bounded_and_a_hang_up_frees_its_place() {
    let (_folder, server) = Server::sample();
    let open = || {
        let id = server.session(TOKEN, "2025-11-25");
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, &id, "text/event-stream"));
        let status = stream.headless().status;
        (status, stream)
    };
    let mut streams: Vec<_> = (0..16).map(|_| open()).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(open().0, 503);
    streams.pop();
    crate::support::eventually("the hang-up is noticed", || open().0 == 200);
}

#[test]
fn resources_are_the_files_of_the_vault() {
    let (folder, server) = Server::sample();
    let mut uris = Vec::new();
    let list = server.post(&request("resources/list", json!({}))).json()["result"].clone();
    for resource in list["resources"].as_array().unwrap() {
        assert!(resource["name"].is_string() && resource["mimeType"].is_string() && resource["size"].is_u64());
        uris.push(resource["uri"].as_str().unwrap().to_owned());
    }
    assert!(uris.len() > 40 && uris.iter().all(|uri| uri.is_ascii() && uri.starts_with("vault:///")));
    assert!(!uris.iter().any(|uri| uri.contains("/.")), "nothing hidden");
    for uri in &uris {
        let contents = server.post(&request("resources/read", json!({ "uri": uri }))).json()["result"]["contents"][0].clone();
        assert_eq!(contents["uri"], json!(uri));
        let path = vault_sync_mcp::uri::to_path(uri).unwrap();
        let bytes = folder.read(&path);
        match String::from_utf8(bytes) {
            Ok(text) => assert_eq!(contents["text"], json!(text), "{uri}"),
            Err(error) => {
                use base64::Engine;
                assert_eq!(contents["blob"], base64::engine::general_purpose::STANDARD.encode(error.as_bytes()), "{uri}");
            }
        }
    }
    for hidden in [
        "vault:///.obsidian/app.json",
        "vault:///.trash/old%20draft.md",
        "vault:///../etc/passwd",
        "vault:///%2e%2e/x",
        "file:///etc/passwd",
        "",
    ] {
        let error = server.post(&request("resources/read", json!({ "uri": hidden }))).json()["error"].clone();
        assert_eq!(error["code"], -32002, "{hidden}");
        assert_eq!(error["data"]["uri"], hidden);
    }
}

#[test]
fn resources_come_in_pages_that_survive_changes() {
    let names: Vec<String> = (0..1203).map(|n| format!("n{n:04}.md")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let mut seen = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = server.post(&request("resources/list", params)).json()["result"].clone();
        seen.extend(page["resources"].as_array().unwrap().iter().map(|resource| resource["name"].as_str().unwrap().to_owned()));
        // A file that goes away between pages takes nothing else with it.
        let _ = std::fs::remove_file(folder.vault().join("n0499.md"));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, names);
    assert_eq!(server.post(&request("resources/list", json!({ "cursor": "§" }))).json()["error"]["code"], -32602);
}

#[test]
fn a_login_that_may_only_read_sees_and_does_no_more() {
    let (folder, server) = Server::sample();
    let names = |token: &str| -> Vec<String> {
        let tools = server.post_with(token, "", &request("tools/list", json!({}))).json()["result"]["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(TOKEN), ["vault_list_all", "vault_list", "vault_read", "vault_search", "vault_write", "vault_edit"]);
    assert_eq!(names(READ_TOKEN), ["vault_list_all", "vault_list", "vault_read", "vault_search"]);
    let write = request("tools/call", json!({ "name": "vault_write", "arguments": { "path": "Welcome.md", "content": "gone" } }));
    let before = folder.read("Welcome.md");
    let refused = server.post_with(READ_TOKEN, "", &write);
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"vault:read vault:write\""), "{challenge}");
    assert_eq!(refused.json()["id"], 7);
    assert_eq!(folder.read("Welcome.md"), before);
    let read_only = Server::with(&folder.vault(), &[("READ_ONLY", "true")]);
    assert_eq!(read_only.post(&write).json()["error"]["code"], -32602, "not even known");
    assert_eq!(folder.read("Welcome.md"), before);
}

#[test]
fn hosts_and_origins_of_strangers_are_refused() {
    let (_folder, server) = Server::sample();
    let ask = |headers: &str| {
        let body = request("ping", json!({})).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        server.connect().send(head).response().status
    };
    assert_eq!(ask("Host: evil.example.com\r\n"), 403);
    assert_eq!(ask("Host: evil.example.com\r\nOrigin: http://evil.example.com\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: https://evil.example.com\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: null\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: https://vault.example.com\r\n"), 200);
    assert_eq!(ask(&format!("Host: {}\r\nOrigin: http://localhost:6274\r\n", server.address)), 200);
}

#[test]
fn a_closed_stream_kept_its_descriptor() {
    let (_folder, server) = Server::sample();
    for _ in 0..40 {
        let id = server.session(TOKEN, "2025-11-25");
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, &id, "text/event-stream"));
        // A place may be taken for a moment by a stream whose peer has just left.
        assert!([200, 503].contains(&stream.headless().status));
    }
    let open = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    crate::support::eventually("descriptors are given back", || open() < 20);
}

/// What cannot be read as text is no reason to let it pass.
#[test]
fn a_host_that_is_not_text_was_let_in() {
    let (_folder, server) = Server::sample();
    let body = request("ping", json!({})).to_string();
    for lines in [
        &b"Host: \xff.evil\r\n"[..],
        b"Host: localhost\r\nOrigin: \xff\r\n",
        b"Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
    ] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(lines);
        bytes.extend_from_slice(format!("\r\n{body}").as_bytes());
        assert_eq!(server.connect().send(bytes).response().status, 403, "{}", String::from_utf8_lossy(lines));
    }
}
