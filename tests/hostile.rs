//! Notes, names, expressions and floods that are made to use up memory, time or connections.

use crate::support::{Folder, Server, eventually, post, slow_call};
use serde_json::json;
use std::time::{Duration, Instant};

/// Aliases of aliases: less than 2 KB of YAML that mean some 8^30 values.
fn alias_bomb() -> String {
    let mut yaml = String::from("a0: &a0 [x,x,x,x,x,x,x,x]\n");
    for level in 1..30 {
        let alias = format!("*a{}", level - 1);
        yaml.push_str(&format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 8].join(",")));
    }
    yaml
}

#[test]
fn yaml_that_expands_without_bound_is_a_note_without_properties_also_after_a_restart() {
    let bomb = alias_bomb();
    let brackets = "[".repeat(60_000);
    let folder = Folder::with(&[
        ("bomb.md", format!("---\n{bomb}tags: [*a29]\n---\nfind me\n").as_bytes()),
        ("brackets.md", format!("---\ntags: {brackets}\n---\nfind me\n").as_bytes()),
        ("Projects/project.md", format!("---\ntype: accomplishment\nid: ACC-001\n{bomb}tags: [*a29]\n---\nfind me\n").as_bytes()),
        ("plain.md", b"---\ntags: [plain]\nstatus: ok\n---\nfind me\n"),
    ]);
    let settings =
        [("TOOLSETS", "vault,context,accomplishments"), ("ACCOMPLISHMENTS_FOLDER", "Projects"), ("DEFAULT_CANVAS", "Projects.canvas")];
    for _ in 0..2 {
        let server = Server::with(&folder.vault(), &settings);
        let started = Instant::now();
        assert_eq!(server.call("vault_search", json!({ "query": "find me" }))["total_matches"], 4);
        assert_eq!(server.call("vault_list_all", json!({ "tag": "plain" }))["files"].as_array().unwrap().len(), 1);
        let found = server.result("fetch_matching_files", json!({ "properties": { "status": "ok" } }));
        assert!(found["content"][0]["text"].as_str().unwrap().contains("plain.md"), "{found}");
        assert_eq!(server.call("list_accomplishments", json!({}))["count"], 0);
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        assert!(server.peak_kb() < 60_000, "{} kB", server.peak_kb());
        server.log_with("bomb.md");
        server.kill();
    }
}

#[test]
fn properties_take_no_more_memory_than_a_few_times_their_text() {
    let list = "a,".repeat(30_000);
    let notes: Vec<(String, String)> = (0..200).map(|n| (format!("{n}.md"), format!("---\nlist: [{list}]\n---\n"))).collect();
    let notes: Vec<(&str, &[u8])> = notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&notes);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let found = server.result("fetch_matching_files", json!({ "properties": { "list": "nothing" } }));
    assert_eq!(found["isError"], false, "{found}");
    assert!(server.memory_kb() < 90_000, "{} kB for 12 MB of lists", server.memory_kb());
}

/// Sixteen at once, hung up immediately, kept every worker busy for minutes.
#[test]
fn expressions_that_take_long_leave_workers_for_others_and_end_with_their_client() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    server.call("vault_list_all", json!({ "limit": 1 }));
    let search = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": slow_call() }).to_string();
    let started = Instant::now();
    let mut attackers: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for attacker in &mut attackers {
        attacker.send(post(&search));
    }
    for _ in 0..20 {
        let asked = Instant::now();
        server.call("vault_read", json!({ "path": "000.md", "limit": 1 }));
        assert!(asked.elapsed() < Duration::from_millis(1_500), "{:?}", asked.elapsed());
    }
    drop(attackers);
    eventually("all of them have ended", || server.log().matches("tool=search_vault_content").count() == 16);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert!(server.log().contains("outcome=CANCELLED"), "a call that only reads ends with its client in the legacy era, too");
}

#[test]
fn a_search_for_an_expression_answers_in_seconds_and_says_what_it_has_not_searched() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let started = Instant::now();
    let answer = server.result_of("tools/call", slow_call());
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    let missing = answer["structuredContent"]["not_searched"].as_u64().unwrap();
    assert!(answer["content"][0]["text"].as_str().unwrap().contains(&format!("{missing} notes were not searched")), "{answer}");
}
