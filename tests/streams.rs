//! Event streams: progress, cancelling, log messages, subscriptions.

use crate::mcp::request;
use crate::support::{
    Connection, Folder, READ_TOKEN, Response, Server, TOKEN, eventually, mcp_head, stream_request,
};
use serde_json::{Value, json};

/// A modern request: its headers, and the message with its envelope.
pub(crate) fn modern(method: &str, id: Value, mut params: Value) -> (String, Value) {
    let name = params
        .get("name")
        .or(params.get("uri"))
        .and_then(Value::as_str)
        .map(|name| format!("Mcp-Name: {name}\r\n"));
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{}",
        name.unwrap_or_default()
    );
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    (headers, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Sends a request on a connection of its own and leaves the answer in it; its head is read.
fn open(server: &Server, (headers, message): (String, Value)) -> (Response, Connection) {
    let body = message.to_string();
    let head = mcp_head(TOKEN, &headers);
    let mut connection = server.connect();
    connection
        .send(format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    (connection.headless(), connection)
}

/// An event's message. JSON with one name twice is read differently by each parser, and by `Value`
/// without a word.
#[track_caller]
fn parsed(event: Option<String>) -> Value {
    let text = event.expect("an event");
    let message: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(message.to_string().len(), text.len(), "a name occurs twice: {text}");
    message
}

fn slow_call(token: Option<&str>) -> Value {
    let mut params = crate::support::slow_call();
    if let Some(token) = token {
        params["_meta"]["progressToken"] = token.into();
    }
    params
}

#[cfg(feature = "context")]
#[test]
fn a_long_call_says_how_far_it_is() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    server.log_with("index complete");
    let legacy = (String::new(), request("tools/call", slow_call(Some("p"))));
    for ask in [modern("tools/call", json!(7), slow_call(Some("p"))), legacy] {
        let (head, mut stream) = open(&server, ask);
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        let (mut said, mut last) = (0, 0);
        let answer = loop {
            let message = parsed(stream.event());
            if message["method"] != "notifications/progress" {
                break message;
            }
            let params = &message["params"];
            let progress = params["progress"].as_i64().unwrap();
            assert!(
                progress > last
                    && progress <= 300
                    && params["total"] == 300
                    && params["progressToken"] == "p",
                "{message}"
            );
            (said, last) = (said + 1, progress);
        };
        assert!(said > 0);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            answer["id"] == 7 && text.contains(" notes were not searched"),
            "what was not searched in time is counted: {answer}"
        );
        assert!(stream.event().is_none(), "the answer is the last");
    }
    // Who does not ask, or takes no stream, is answered in one piece; so is who is not allowed to
    // call.
    assert_eq!(
        open(&server, modern("tools/call", json!(7), slow_call(None))).0.header("content-type"),
        Some("application/json")
    );
    let body = json!({ "name": "vault_write", "arguments": { "path": "x.md", "content": "" }, "_meta": { "progressToken": 1 } });
    let (headers, message) = modern("tools/call", json!(7), body);
    assert_eq!(server.post_with(READ_TOKEN, &headers, &message).status, 403);
}

#[cfg(feature = "context")]
#[test]
fn hanging_up_cancels_a_modern_call() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    server.log_with("index complete");
    let (_, mut stream) = open(&server, modern("tools/call", json!(1), slow_call(Some("p"))));
    assert_eq!(parsed(stream.event())["method"], "notifications/progress");
    drop(stream);
    server.log_with("tool=search_vault_content user=\"token:all\" login=\"all\" outcome=CANCELLED");
    // Without a stream too: no client waits for the answer any more.
    let before = server.log().matches("outcome=CANCELLED").count();
    let (headers, message) = modern("tools/call", json!(2), slow_call(None));
    let body = message.to_string();
    let mut connection = server.connect();
    connection.send(format!(
        "{}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
        mcp_head(TOKEN, &headers),
        body.len()
    ));
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(connection);
    eventually("the call ends", || server.log().matches("outcome=CANCELLED").count() > before);
}

#[cfg(feature = "context")]
#[test]
fn a_legacy_call_is_cancelled_by_its_id_and_by_nothing_else() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    server.log_with("index complete");
    let session = format!("Mcp-Session-Id: {}\r\n", server.session(TOKEN, "2025-11-25"));
    let elsewhere = format!("Mcp-Session-Id: {}\r\n", server.session(TOKEN, "2025-11-25"));
    let cancel = |id: Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    let (_, mut stream) =
        open(&server, (session.clone(), request("tools/call", slow_call(Some("p")))));
    assert_eq!(parsed(stream.event())["method"], "notifications/progress");
    for other in [json!("7"), json!(8), json!(null)] {
        assert_eq!(server.post_with(TOKEN, &session, &cancel(other)).status, 202);
    }
    server.post_with(TOKEN, &elsewhere, &cancel(json!(7)));
    let last = std::iter::from_fn(|| stream.event()).last().map(|event| parsed(Some(event)));
    assert_eq!(last.unwrap()["id"], 7, "it is answered");
    // The call ends by itself after some seconds, so it is cancelled as soon as it has begun.
    let (_, mut stream) =
        open(&server, (session.clone(), request("tools/call", slow_call(Some("p")))));
    assert_eq!(parsed(stream.event())["method"], "notifications/progress");
    assert_eq!(server.post_with(TOKEN, &session, &cancel(json!(7))).status, 202);
    while let Some(event) = stream.event() {
        assert_eq!(
            parsed(Some(event))["method"],
            "notifications/progress",
            "a cancelled request is not answered"
        );
    }
    server.log_with("outcome=CANCELLED");
}

/// What changes on disk is sent to who asked for it, in both eras, within two seconds, and to no
/// other.
#[test]
fn changes_are_sent_to_their_subscribers() {
    let (folder, server) = Server::sample();
    let welcome = "vault:///Welcome.md";
    let listen = |id: Value, notifications: Value| {
        let (head, mut stream) = open(
            &server,
            modern("subscriptions/listen", id, json!({ "notifications": notifications })),
        );
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        assert!(head.header("mcp-session-id").is_none());
        let acknowledged = parsed(stream.event());
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        (acknowledged["params"].clone(), stream)
    };
    let tag = "io.modelcontextprotocol/subscriptionId";
    let (acknowledged, mut all) = listen(
        json!("all"),
        json!({ "resourcesListChanged": true, "toolsListChanged": true, "resourceSubscriptions": [welcome, "test://elsewhere"] }),
    );
    assert_eq!(
        acknowledged,
        json!({ "_meta": { tag: "all" }, "notifications": { "resourcesListChanged": true, "resourceSubscriptions": [welcome] } })
    );
    let (acknowledged, mut nothing) = listen(json!(5), json!({ "promptsListChanged": true }));
    assert_eq!(acknowledged, json!({ "_meta": { tag: 5 }, "notifications": {} }));
    let (_, mut below) =
        listen(json!(6), json!({ "resourceSubscriptions": ["vault:///Projects"] }));
    // And a legacy session with them.
    let id = server.session(TOKEN, "2025-11-25");
    let session = format!("Mcp-Session-Id: {id}\r\n");
    assert_eq!(
        server
            .post_with(TOKEN, &session, &request("resources/subscribe", json!({ "uri": welcome })))
            .json()["result"],
        json!({})
    );
    let mut legacy = server.connect();
    legacy.send(stream_request(TOKEN, &id, "text/event-stream"));
    assert_eq!(legacy.headless().status, 200);

    let updated = |uri: &str, id: Value| json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri, "_meta": { tag: id } } });
    let started = std::time::Instant::now();
    std::fs::write(folder.vault().join("Welcome.md"), "changed by the sync program").unwrap();
    assert_eq!(parsed(all.event()), updated(welcome, json!("all")));
    assert!(
        !crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(
        parsed(legacy.event()),
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": welcome } })
    );
    server.call("vault_write", json!({ "path": "Projects/new.md", "content": "x" }));
    assert_eq!(
        parsed(below.event()),
        updated("vault:///Projects", json!(6)),
        "the first it hears of"
    );
    let listed = json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": { "_meta": { tag: "all" } } });
    assert_eq!(
        parsed(all.event()),
        listed,
        "and nothing of Welcome.md again: it was read twice, and is the same"
    );
    std::fs::remove_file(folder.vault().join("Welcome.md")).unwrap();
    let mut both = [parsed(all.event()), parsed(all.event())];
    both.sort_by_key(|message| message["method"].to_string());
    assert_eq!(
        both,
        [listed, updated(welcome, json!("all"))],
        "a file that is gone has changed too"
    );
    server.post_with(TOKEN, &session, &request("resources/unsubscribe", json!({ "uri": welcome })));
    // The server says goodbye with the answer to each request.
    assert_eq!(server.terminate(), 0);
    let last = parsed(nothing.event());
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(5), &json!("complete")));
    assert_eq!(last["result"]["_meta"][tag], 5);
    assert!(nothing.event().is_none(), "and it never heard of anything else");
}

/// A client that reconnects is notified of what changed meanwhile.
#[test]
fn a_session_that_listens_again_misses_no_change() {
    let (folder, server) = Server::sample();
    let id = server.session(TOKEN, "2025-06-18");
    let listen = || {
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, &id, "text/event-stream"));
        assert_eq!(stream.headless().status, 200);
        stream
    };
    let mut other = server.connect();
    other.send(stream_request(TOKEN, &server.session(TOKEN, "2025-06-18"), "text/event-stream"));
    assert_eq!(other.headless().status, 200);
    for name in ["meanwhile.md", "and again.md"] {
        drop(listen());
        // What is sent in the moment before the server sees that the client has gone is lost to one
        // that does not say what it saw.
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::fs::write(folder.vault().join(name), "x").unwrap();
        // Another client has heard of it; so the vault was looked at while this one was away.
        assert_eq!(parsed(other.event())["method"], "notifications/resources/list_changed");
        let mut again = listen();
        assert_eq!(parsed(again.event())["method"], "notifications/resources/list_changed");
    }
}

/// What the GET stream is for: it says when files come or go, by us or by the sync program, and
/// nothing otherwise.
#[test]
fn added_and_removed_files_are_sent_as_list_changes() {
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
    // A second stream replaces the first, whose peer may be long gone.
    let (head, mut second) = open(&id, "text/event-stream, */*");
    assert_eq!(head.status, 200);
    assert!(stream.chunk().is_none(), "the first is ended");
    assert_eq!(
        second.event().as_deref(),
        Some(changed),
        "what has arrived on the first is not known"
    );
    assert_eq!(
        server
            .request(
                &format!(
                    "DELETE /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nMcp-Session-Id: {id}"
                ),
                ""
            )
            .status,
        204
    );
    assert!(second.event().is_none(), "and the second with its session");
    assert_eq!(open("unknown", "text/event-stream").0.status, 404);
    assert_eq!(open(&server.session(TOKEN, "2025-06-18"), "application/json").0.status, 406);
    let without = server.request(
        &format!("GET /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream"),
        "",
    );
    assert_eq!(
        (without.status, without.header("allow")),
        (405, Some("HEAD, POST, DELETE, OPTIONS"))
    );
}

#[test]
fn subscriptions_of_one_login_are_bounded_too() {
    let (_folder, server) = Server::sample();
    let listen = |id: i32| {
        open(&server, modern("subscriptions/listen", json!(id), json!({ "notifications": {} })))
    };
    let streams: Vec<_> = (0..16).map(listen).collect();
    assert!(streams.iter().all(|(head, _)| head.status == 200));
    let (headers, message) =
        modern("subscriptions/listen", json!(99), json!({ "notifications": {} }));
    let refused = server.post_with(TOKEN, &headers, &message);
    assert_eq!((refused.status, refused.json()["id"].clone()), (503, json!(99)));
    assert!(
        refused.json()["error"]["message"].as_str().unwrap().contains("Too many event streams")
    );
}

#[test]
fn streams_of_one_login_are_bounded_and_a_closed_one_counts_no_more() {
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
    eventually("the hang-up is noticed", || open().0 == 200);
}

#[test]
fn a_closed_stream_frees_its_descriptor() {
    let (_folder, server) = Server::sample();
    for _ in 0..40 {
        let id = server.session(TOKEN, "2025-11-25");
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, &id, "text/event-stream"));
        // A connection may be held for a moment by a stream whose peer has just left.
        assert!([200, 503].contains(&stream.headless().status));
    }
    let open = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    eventually("descriptors are given back", || open() < 20);
}

/// No wake-ups at all, whether a client listens or not.
#[test]
fn nothing_is_looked_at_while_nothing_changes() {
    let (folder, server) = Server::sample();
    let switches = || {
        let mut watch = None;
        eventually("the thread that watches has its name", || {
            let mut tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid()))
                .unwrap()
                .map(|task| task.unwrap().path());
            watch = tasks.find(|task| {
                std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "watch")
            });
            watch.is_some()
        });
        let status = std::fs::read_to_string(watch.unwrap().join("status")).unwrap();
        status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned()
    };
    let listen = || {
        let id = server.session(TOKEN, "2025-06-18");
        let mut stream = server.connect();
        stream.send(stream_request(TOKEN, &id, "text/event-stream"));
        assert_eq!(stream.headless().status, 200);
        stream
    };
    // The first indexing is a change, too; on a busy machine its thread is still at work here.
    server.log_with("index complete");
    eventually("the first indexing is over", || {
        let before = switches();
        std::thread::sleep(std::time::Duration::from_millis(500));
        switches() == before
    });
    let before = switches();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(switches(), before);
    let mut stream = listen();
    // The first may be sent by the thread of the stream.
    for name in ["new.md", "newer.md"] {
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::fs::write(folder.vault().join(name), "x").unwrap();
        assert!(stream.event().is_some());
    }
    assert_ne!(switches(), before);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = switches();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(switches(), before, "nor while a client listens");
    drop(stream);
    let after = switches();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(switches(), after, "nor when the last has left");
}

#[test]
fn a_subscription_needs_a_stream() {
    let (_folder, server) = Server::sample();
    let (headers, message) =
        modern("subscriptions/listen", json!(4), json!({ "notifications": {} }));
    let head = mcp_head(TOKEN, &headers)
        .replace("Accept: application/json, text/event-stream", "Accept: application/json");
    let refused = server.request(&head, &message.to_string());
    assert_eq!((refused.status, refused.json()["id"].clone()), (406, json!(4)));
}
