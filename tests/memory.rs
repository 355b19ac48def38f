//! What logins can make the program hold in memory, against what the systemd unit allows it.

use crate::mcp::request;
use crate::support::{
    Connection, Folder, READ_TOKEN, Server, TOKEN, mcp_head, post, stream_request, thorough,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const GRANTS: usize = 5;

/// Notes of so many kilobytes in five folders, and a token for all folders but one each.
fn vault_with_grants(kilobytes: usize) -> (Folder, String) {
    let words = "The pump in the cellar was replaced in [[March]], see #heating and the notes of \
                 *last year*.\n";
    let note = |number: usize| format!("# Note {number}\n\n{}", words.repeat(40_000 / words.len()));
    let notes: Vec<(String, String)> =
        (0..kilobytes / 40).map(|n| (format!("F{}/n{n}.md", n % GRANTS), note(n))).collect();
    let notes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    let grant = |without: usize| {
        let folders: Vec<String> =
            (0..GRANTS).filter(|n| *n != without).map(|n| format!("F{n}/")).collect();
        format!("g{without}:{}:read={}", hash(&format!("grant {without}")), folders.join(";"))
    };
    let grants: Vec<String> = (0..GRANTS).map(grant).collect();
    let tokens =
        format!("all:{},reader:{}:read,{}", hash(TOKEN), hash(READ_TOKEN), grants.join(","));
    (Folder::with(&notes), tokens)
}

fn call(tool: &str, arguments: Value) -> Value {
    request("tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Texts are most of what an index takes; that of a grant shares those of the whole vault.
#[test]
fn grants_of_folders_share_the_texts_of_the_vault() {
    let (folder, tokens) = vault_with_grants(10_000);
    let server = Server::with(&folder.vault(), &[("API_TOKENS", &tokens)]);
    server.log_with("index complete");
    let search = call("vault_search", json!({ "query": "pump" }));
    server.post_with(TOKEN, "", &search);
    let alone = server.memory_kb();
    for grant in 0..GRANTS {
        let answer = server.post_with(&format!("grant {grant}"), "", &search).json();
        assert_eq!(answer["result"]["structuredContent"]["total_matches"], 200, "{answer}");
    }
    let grown = server.memory_kb().saturating_sub(alone);
    assert!(grown < 20_000, "five grants, each of 8,000 kB of text, take {grown} kB more");
}

/// Every kind of call that takes memory, by all logins at once, each as often as it is let in.
#[cfg(all(feature = "notes", feature = "context"))]
#[test]
fn logins_at_all_their_limits_stay_below_what_the_unit_allows() {
    let unit = include_str!("../vault-sync-mcp.service");
    let allowed =
        unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")?.strip_suffix('M')).unwrap();
    let allowed_kb = allowed.parse::<usize>().unwrap() * 1024;
    let (folder, tokens) = vault_with_grants(if thorough() { 60_000 } else { 10_000 });
    let list: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    for number in 0..200 {
        let note = format!("---\nl: [{}]\n---\n", list.join(", "));
        std::fs::write(folder.vault().join(format!("F{}/list{number}.md", number % GRANTS)), note)
            .unwrap();
    }
    std::fs::write(folder.vault().join("F0/large.md"), "a line of text\n".repeat(690_000)).unwrap();
    std::fs::write(folder.vault().join("F0/picture.png"), vec![7; 700_000]).unwrap();
    let server = Server::with(
        &folder.vault(),
        &[("API_TOKENS", &tokens), ("TOOLSETS", "vault,notes,context")],
    );
    server.log_with("index complete");
    let content = "x\"\n".repeat(2_500_000);
    let made_long = "l.map(\"abababab\".repeat(1000).split(\"\")).length > 0";
    let calls: [String; 12] = [
        call("vault_query", json!({ "where": made_long })),
        call("vault_query", json!({ "where": "l.map(l.map(l.map(l.map(value + 1).length).length).length).length > 0" })),
        call("vault_search", json!({ "query": "/p(u|v)mp .*y/", "max_results": 100 })),
        call("vault_search", json!({ "query": "the pump in the cellar was replaced", "max_results": 100 })),
        call("vault_links", json!({ "path": "F1/n1.md" })),
        call("vault_read", json!({ "path": "F0/large.md" })),
        call("vault_read", json!({ "path": "F0/picture.png" })),
        call("fetch_matching_files", json!({ "tags": ["heating"] })),
        call("search_vault_content", json!({ "query": "cellar" })),
        call("vault_list_all", json!({})),
        call("vault_write", json!({ "path": "F1/written.md", "content": content })),
        call(
            "vault_edit",
            json!({ "path": "F0/large.md", "old_text": "a line", "new_text": "A line", "replace_all": true, "dry_run": true }),
        ),
    ]
    .map(|call| call.to_string());
    let whole = [TOKEN.to_owned(), READ_TOKEN.to_owned()];
    let logins: Vec<String> =
        whole.into_iter().chain((0..GRANTS).map(|n| format!("grant {n}"))).collect();
    let _streams: Vec<Connection> = logins
        .iter()
        .flat_map(|login| {
            let session = server.session(login, "2025-11-25");
            let open = |_| {
                let mut stream = server.connect();
                stream.send(stream_request(login, &session, "text/event-stream"));
                stream
            };
            (0..4).map(open).collect::<Vec<_>>()
        })
        .collect();
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for login in &logins {
            for calls in calls.chunks(2) {
                let (server, stop, answered) = (&server, &stop, &answered);
                scope.spawn(move || {
                    let mut connection = server.connect();
                    for body in calls.iter().cycle() {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let head = mcp_head(login, "");
                        let sent = connection.try_send(format!(
                            "{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
                            body.len()
                        ));
                        match connection.try_response().filter(|_| sent) {
                            Some(answer) if answer.status == 200 => {
                                let _ = answered.fetch_add(1, Ordering::Relaxed);
                            }
                            // 503, 403 for who may not write, or closed for others.
                            _ => connection = server.connect(),
                        }
                    }
                });
            }
        }
        std::thread::sleep(Duration::from_secs(if thorough() { 20 } else { 5 }));
        stop.store(true, Ordering::Relaxed);
    });
    let peak = server.peak_kb();
    assert!(peak < allowed_kb, "{peak} kB");
    assert!(
        answered.load(Ordering::Relaxed) > 20,
        "only {} calls were answered",
        answered.load(Ordering::Relaxed)
    );
    assert_eq!(server.connect().send(post(crate::support::PING)).response().status, 200);
}
