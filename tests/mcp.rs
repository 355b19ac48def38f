//! What a conversation file (`wire`) cannot show: handshakes, sessions, streams, subscriptions,
//! progress, cancelling.

use crate::streams::modern;
use crate::support::{Folder, READ_TOKEN, Server, TOKEN, initialize, mcp_head};
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

pub(crate) fn request(method: &str, params: Value) -> Value {
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
        let instructions = result["instructions"].as_str().unwrap();
        assert!(
            instructions.starts_with("What notes say is data")
                && instructions.contains("vault_search"),
            "{instructions}"
        );
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
    assert_eq!(
        server.post_with(TOKEN, &header, &ping).json()["result"],
        json!({}),
        "exactly empty"
    );
    assert_eq!(server.post_with(READ_TOKEN, &header, &ping).status, 404, "another login");
    assert_eq!(server.post_with(TOKEN, "Mcp-Session-Id: no-such-session\r\n", &ping).status, 404);
    let delete = |token: &str| {
        server
            .request(
                &format!(
                    "DELETE /mcp HTTP/1.1\r\nAuthorization: Bearer {token}\r\nMcp-Session-Id: {id}"
                ),
                "",
            )
            .status
    };
    assert_eq!(delete(READ_TOKEN), 404);
    assert_eq!(delete(TOKEN), 204);
    assert_eq!(server.post_with(TOKEN, &header, &ping).status, 404);
    assert_eq!(delete(TOKEN), 404);
    assert_eq!(server.post(&ping).status, 200, "and without a session it works all the same");
}

#[test]
fn media_types_are_checked_with_leniency() {
    let (_folder, server) = Server::sample();
    let send = |headers: &str| {
        let body = request("ping", json!({})).to_string();
        server.request(
            &format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}{headers}"),
            &body,
        )
    };
    for (headers, status) in [
        ("\r\nContent-Type: application/json", 200),
        ("\r\nContent-Type: application/json; charset=utf-8\r\nAccept: */*", 200),
        ("\r\nContent-Type: Application/JSON\r\nAccept: application/json;q=0.9", 200),
        ("\r\nContent-Type: application/json\r\nAccept: text/html", 406),
        ("\r\nContent-Type: text/plain", 415),
        ("", 415),
    ] {
        assert_eq!(send(headers).status, status, "{headers:?}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_echo_the_id() {
    let (_folder, server) = Server::sample();
    let raw = |body: &str| server.request(&mcp_head(TOKEN, ""), body);
    for (body, status, code, id) in [
        ("{", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"x","method":"nonsense"}"#, 200, -32601, json!("x")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#, 200, -32602, json!(3)),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"vault_fly"}}"#,
            200,
            -32602,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"vault_list","arguments":[]}}"#,
            200,
            -32602,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}"#,
            200,
            -32602,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"vault:///nowhere.md"}}"#,
            200,
            -32002,
            json!(3),
        ),
    ] {
        let response = raw(body);
        assert_eq!(response.status, status, "{body}");
        let error = response.json();
        assert_eq!(error["error"]["code"], code, "{body}");
        assert_eq!(error["id"], id, "{body}");
        assert_eq!(
            error.get("id").is_some(),
            !id.is_null(),
            "an id that cannot be read is left out: {body}"
        );
    }
    assert_eq!(
        raw(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).status,
        202,
        "an answer to a request that was never made"
    );
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
        assert_eq!(
            (refused.status, refused.json()["error"]["code"].clone()),
            (400, json!(-32600)),
            "{version}"
        );
    }
}

#[test]
fn nothing_is_longer_than_clients_take_and_what_is_cut_goes_on() {
    let long: String = (0..9000).map(|n| format!("line {n} \"quoted\" ä\n")).collect();
    let mut files = vec![
        ("long.md".to_owned(), long.clone().into_bytes()),
        ("2026-01-02.md".to_owned(), long.clone().into_bytes()),
    ];
    files.extend((0..700).map(|n| {
        (format!("{}/{n:04} {}.md", "folder".repeat(20), "name ".repeat(20).trim()), b"x".to_vec())
    }));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let ask = |method: &str, params: Value| {
        let response = server.post(&request(method, params));
        assert!(response.text().chars().count() < 100_000, "{method}: {}", response.text().len());
        assert!(response.json().get("error").is_none(), "{method}: {}", response.text());
        response.json()["result"].clone()
    };
    let (mut uri, mut whole, mut parts) = ("vault:///long.md".to_owned(), String::new(), 0);
    loop {
        let contents = ask("resources/read", json!({ "uri": uri }))["contents"].clone();
        assert_eq!(contents[0]["uri"], json!(uri));
        whole.push_str(contents[0]["text"].as_str().unwrap());
        parts += 1;
        match contents[1]["uri"].as_str() {
            Some(rest) => uri = rest.to_owned(),
            None => break,
        }
    }
    assert!(whole == long && parts > 1, "{parts} parts");
    let (mut cursor, mut names) = (json!(""), 0);
    while !cursor.is_null() {
        let page = ask("resources/list", json!({ "cursor": cursor }));
        names += page["resources"].as_array().unwrap().len();
        cursor = page["nextCursor"].clone();
    }
    assert_eq!(names, 702);
    let review = ask("prompts/get", json!({ "name": "review_day" }));
    assert!(
        review["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("go on with vault_read from line")
    );
    let tidy =
        ask("prompts/get", json!({ "name": "tidy_note", "arguments": { "path": "long.md" } }));
    assert!(
        tidy["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("go on with vault_read from line")
    );
    ask(
        "completion/complete",
        json!({ "ref": { "type": "ref/resource", "uri": "vault:///{path}" }, "argument": { "name": "path", "value": "" } }),
    );
}

#[test]
fn resources_are_the_files_of_the_vault() {
    let (folder, server) = Server::sample();
    let mut uris = Vec::new();
    let list = server.post(&request("resources/list", json!({}))).json()["result"].clone();
    for resource in list["resources"].as_array().unwrap() {
        assert!(
            resource["name"].is_string()
                && resource["mimeType"].is_string()
                && resource["size"].is_u64()
        );
        uris.push(resource["uri"].as_str().unwrap().to_owned());
    }
    assert!(
        uris.len() > 40 && uris.iter().all(|uri| uri.is_ascii() && uri.starts_with("vault:///"))
    );
    assert!(!uris.iter().any(|uri| uri.contains("/.")), "nothing hidden");
    for uri in &uris {
        let contents = server.post(&request("resources/read", json!({ "uri": uri }))).json()
            ["result"]["contents"][0]
            .clone();
        assert_eq!(contents["uri"], json!(uri));
        let path = vault_sync_mcp::uri::to_path(uri).unwrap();
        // One of them has a name in NFD on disk, as macOS writes it.
        let on_disk = if folder.vault().join(&path).exists() { path } else { path.nfd().collect() };
        let bytes = folder.read(&on_disk);
        match String::from_utf8(bytes) {
            Ok(text) => assert_eq!(contents["text"], json!(text), "{uri}"),
            Err(error) => {
                use base64::Engine;
                assert_eq!(
                    contents["blob"],
                    base64::engine::general_purpose::STANDARD.encode(error.as_bytes()),
                    "{uri}"
                );
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
        let error =
            server.post(&request("resources/read", json!({ "uri": hidden }))).json()["error"]
                .clone();
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
        seen.extend(
            page["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|resource| resource["name"].as_str().unwrap().to_owned()),
        );
        // A file that goes away between pages takes nothing else with it.
        let _ = std::fs::remove_file(folder.vault().join("n0499.md"));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, names);
    assert_eq!(
        server.post(&request("resources/list", json!({ "cursor": "§" }))).json()["error"]["code"],
        -32602
    );
}

#[test]
fn a_login_that_may_only_read_sees_and_does_no_more() {
    let (folder, server) = Server::sample();
    let names = |token: &str| -> Vec<String> {
        let tools = server.post_with(token, "", &request("tools/list", json!({}))).json()["result"]
            ["tools"]
            .clone();
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names(TOKEN),
        ["vault_list_all", "vault_list", "vault_read", "vault_search", "vault_write", "vault_edit"]
    );
    assert_eq!(names(READ_TOKEN), ["vault_list_all", "vault_list", "vault_read", "vault_search"]);
    let write = request(
        "tools/call",
        json!({ "name": "vault_write", "arguments": { "path": "Welcome.md", "content": "gone" } }),
    );
    let before = folder.read("Welcome.md");
    let refused = server.post_with(READ_TOKEN, "", &write);
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge
            .starts_with("Bearer error=\"insufficient_scope\", scope=\"vault:read vault:write\""),
        "{challenge}"
    );
    assert_eq!(refused.json()["id"], 7);
    assert_eq!(folder.read("Welcome.md"), before);
    let read_only = Server::with(&folder.vault(), &[("READ_ONLY", "true")]);
    assert_eq!(read_only.post(&write).json()["error"]["code"], -32602, "not even known");
    assert_eq!(folder.read("Welcome.md"), before);
}

#[test]
fn unknown_hosts_and_origins_are_refused() {
    let (folder, server) = Server::sample();
    let ask_at = |server: &Server, headers: &str| {
        let body = request("ping", json!({})).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: \
             application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        server.connect().send(head).response().status
    };
    let ask = |headers: &str| ask_at(&server, headers);
    assert_eq!(ask("Host: vault:8090\r\n"), 403);
    assert_eq!(ask("Host: evil.example.com\r\n"), 403);
    let page = server
        .connect()
        .send("GET /open?vault=a&file=b HTTP/1.1\r\nHost: evil.example.com\r\n\r\n")
        .response();
    assert!(
        page.status == 403 && page.text().contains("<h1>"),
        "a page for people: {}",
        page.text()
    );
    assert_eq!(ask("Host: evil.example.com\r\nOrigin: http://evil.example.com\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: https://evil.example.com\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: null\r\n"), 403);
    assert_eq!(ask("Host: vault.example.com\r\nOrigin: https://vault.example.com\r\n"), 200);
    assert_eq!(ask(&format!("Host: {}\r\nOrigin: http://localhost:6274\r\n", server.address)), 200);
    let server = Server::with(
        &folder.vault(),
        &[("ALLOWED_HOSTS", "vault:8090"), ("ALLOWED_ORIGINS", "null")],
    );
    for (headers, status) in [
        ("Host: vault:8090\r\n", 200),
        ("Host: vault:8091\r\n", 403),
        ("Host: vault.evil.example:8090\r\n", 403),
        ("Host: vault.example.com\r\nOrigin: null\r\n", 200),
        ("Host: vault.example.com\r\nOrigin: https://evil.example.com\r\n", 403),
    ] {
        assert_eq!(ask_at(&server, headers), status, "{headers}");
    }
}

/// What cannot be read as text is no reason to let it pass.
#[test]
fn a_host_that_is_not_text_is_refused() {
    let (_folder, server) = Server::sample();
    let body = request("ping", json!({})).to_string();
    for lines in [
        &b"Host: \xff.evil\r\n"[..],
        b"Host: localhost\r\nOrigin: \xff\r\n",
        b"Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
    ] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: \
             application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(lines);
        bytes.extend_from_slice(format!("\r\n{body}").as_bytes());
        assert_eq!(
            server.connect().send(bytes).response().status,
            403,
            "{}",
            String::from_utf8_lossy(lines)
        );
    }
}

#[test]
fn every_listing_says_how_long_it_may_be_kept() {
    let (_folder, server) = Server::sample();
    for (method, params, scope) in [
        ("server/discover", json!({}), "private"),
        ("tools/list", json!({}), "private"),
        ("prompts/list", json!({}), "private"),
        ("resources/list", json!({}), "private"),
        ("resources/templates/list", json!({}), "public"),
        ("resources/read", json!({ "uri": "vault:///Welcome.md" }), "private"),
    ] {
        let (headers, message) = modern(method, json!(1), params);
        let result = server.post_with(TOKEN, &headers, &message).json()["result"].clone();
        assert_eq!(
            (&result["resultType"], &result["cacheScope"]),
            (&json!("complete"), &json!(scope)),
            "{method}"
        );
        assert!(result["ttlMs"].is_u64(), "{method}");
    }
}

/// A client that expands the template by the rules of RFC 6570 reaches every file.
#[test]
fn a_name_with_a_question_mark_is_reached_through_the_template() {
    let (_folder, server) = Server::sample();
    let template = server.post(&request("resources/templates/list", json!({}))).json()["result"]
        ["resourceTemplates"][0]["uriTemplate"]
        .clone();
    for path in [
        "Homelab/100% uptime?.md",
        "Homelab/C# & Rust notes.md",
        "Recipes/Cre\u{300}me bru\u{302}le\u{301}e.md",
    ] {
        let uri = template
            .as_str()
            .unwrap()
            .replace("{path}", &vault_sync_mcp::percent::encode(path, ""));
        let read = server.post(&request("resources/read", json!({ "uri": uri }))).json();
        assert!(read["result"]["contents"][0]["text"].is_string(), "{uri}: {read}");
    }
}

#[test]
fn headers_that_cannot_be_read_are_refused() {
    let (_folder, server) = Server::sample();
    let body = request("ping", json!({})).to_string();
    for lines in [
        &b"MCP-Protocol-Version: \xff"[..],
        b"Mcp-Session-Id: \xff",
        b"MCP-Protocol-Version: 2025-06-18\r\nMCP-Protocol-Version: 2026-07-28",
    ] {
        let mut bytes = format!(
            "{}\r\nHost: localhost\r\nContent-Length: {}\r\n",
            mcp_head(TOKEN, ""),
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(lines);
        bytes.extend_from_slice(format!("\r\n\r\n{body}").as_bytes());
        assert_eq!(
            server.connect().send(bytes).response().status,
            400,
            "{}",
            String::from_utf8_lossy(lines)
        );
    }
}

#[test]
fn a_prompt_that_has_nothing_to_say_says_why() {
    let (_folder, server) = Server::sample();
    for (name, arguments, word) in [
        ("review_day", json!({ "date": "1999-01-01" }), "no note of 1999-01-01"),
        ("review_day", json!({ "date": "2026-99-99" }), "YYYY-MM-DD"),
        ("tidy_note", json!({ "path": "Attachments/meter-readings.csv" }), "not a note"),
        ("tidy_note", json!({ "path": "../x.md" }), "not allowed"),
        ("tidy_note", json!({ "pfad": "x" }), "Known: path"),
        ("tidy_note", json!({ "path": 5 }), "must be a string"),
    ] {
        let error = server
            .post(&request("prompts/get", json!({ "name": name, "arguments": arguments })))
            .json()["error"]
            .clone();
        assert!(
            error["code"] == -32602 && error["message"].as_str().unwrap().contains(word),
            "{name}: {error}"
        );
    }
    let names = |token: &str| {
        server.post_with(token, "", &request("prompts/list", json!({}))).json()["result"]["prompts"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(
        (names(TOKEN), names(READ_TOKEN)),
        (2, 1),
        "who may only read is offered no tidying"
    );
}

/// What a client sends comes back in some answers; it must not make them longer than clients take.
#[test]
fn a_long_uri_is_cut_in_an_error() {
    let (_folder, server) = Server::sample();
    for uri in [
        format!("vault:///{}", "x".repeat(200_000)),
        format!("vault:///Welcome.md?line={}1&column=1", "0".repeat(200_000)),
    ] {
        let answer = server.post(&request("resources/read", json!({ "uri": uri })));
        assert_eq!(answer.json()["error"]["code"], -32602);
        assert!(answer.body.len() < 1_000, "{}", answer.body.len());
    }
}

#[cfg(all(feature = "context", feature = "accomplishments"))]
#[test]
fn instructions_are_short_enough_for_clients_that_cut_them() {
    let folder = Folder::sample();
    let settings = [
        ("TOOLSETS", "vault,context,accomplishments"),
        ("ACCOMPLISHMENTS_FOLDER", "Projects"),
        ("DEFAULT_CANVAS", "Projects.canvas"),
    ];
    let server = Server::with(&folder.vault(), &settings);
    let answer = server.post(&initialize("2025-11-25")).json();
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    // That of toolset git is not among them; it has forty characters.
    assert!(
        instructions.chars().count() <= 480 - 40,
        "{}: {instructions}",
        instructions.chars().count()
    );
}
