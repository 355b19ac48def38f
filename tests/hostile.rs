//! Notes, names, expressions and floods that are made to use up memory, time or connections.

use crate::support::{Folder, Server};
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
