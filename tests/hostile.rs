//! Notes, names, expressions and floods that are made to use up memory, time or connections.

use crate::support::short_names::ShortNames;
use crate::support::{Connection, Folder, Server, eventually, post, skipped, slow_call, thorough};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends the threads of a test also when the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Aliases of aliases: less than 2 KB of YAML that mean 7.5 million values.
fn alias_bomb() -> String {
    let list = |item: &str, count: usize| vec![item; count].join(",");
    format!("a: &a [{}]\nb: &b [{}]\nc: &c [{}]\n", list("x", 250), list("*a", 100), list("*b", 300))
}

#[test]
fn yaml_that_expands_without_bound_is_a_note_without_properties_also_after_a_restart() {
    let bomb = alias_bomb();
    let brackets = "[".repeat(60_000);
    let folder = Folder::with(&[
        ("bomb.md", format!("---\n{bomb}tags: [*c]\n---\nfind me\n").as_bytes()),
        ("brackets.md", format!("---\ntags: {brackets}\n---\nfind me\n").as_bytes()),
        ("Projects/project.md", format!("---\ntype: accomplishment\nid: ACC-001\n{bomb}tags: [*c]\n---\nfind me\n").as_bytes()),
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

#[test]
fn hidden_files_are_not_served_by_their_short_names() {
    let folder = Folder::new();
    let Some(_mount) = ShortNames::mounted_at(&folder.vault()) else { return skipped("FUSE file systems cannot be mounted") };
    assert!(std::fs::read_to_string(folder.vault().join("OBSIDI~1/app.json")).unwrap().contains("secret"), "the file system has them");
    let server = Server::with(&folder.vault(), &[("READ_ONLY", "true")]);
    let listed = server.call("vault_list_all", json!({}));
    assert_eq!(listed["total_files"], 2, "{listed}");
    for (path, code) in [
        ("OBSIDI~1/app.json", "PATH_NOT_ALLOWED"),
        ("OBSIDI~1/APP~1.JSO", "PATH_NOT_ALLOWED"),
        ("ALONGN~1.MD", "PATH_NOT_ALLOWED"),
        ("DRAFT~1.MD", "PATH_NOT_ALLOWED"),
        ("OTHER~1.MD", "FILE_NOT_FOUND"),
        (".obsidian/app.json", "PATH_NOT_ALLOWED"),
    ] {
        assert_eq!(server.fail("vault_read", json!({ "path": path }))["code"], code, "{path}");
    }
    assert_eq!(server.fail("vault_list", json!({ "path": "OBSIDI~1" }))["code"], "PATH_NOT_ALLOWED");
    assert_eq!(server.call("vault_read", json!({ "path": "draft~1.md" }))["content"], "a draft\n", "a name that is listed");
    assert_eq!(server.call("vault_read", json!({ "path": "A long name.md" }))["content"], "a note\n");
}

/// Another program exchanges a folder for a link to outside, over and over, while notes below it are read and written.
#[test]
fn a_folder_that_is_exchanged_for_a_link_is_not_followed() {
    let folder = Folder::with(&[("real/note.md", b"inside\n"), ("other.md", b"")]);
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("note.md"), "SECRET\n").unwrap();
    std::fs::write(outside.join("seen.md"), "SECRET\n").unwrap();
    let server = Server::on(&folder.vault());
    let (real, link) = (folder.vault().join("real"), folder.path().join("link"));
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let began = Instant::now();
        let (mut read, mut written) = (0, 0);
        for number in 0.. {
            let answer = server.result("vault_read", json!({ "path": "real/seen.md" })).to_string();
            assert!(!answer.contains("SECRET"), "{answer}");
            let answer = server.result("vault_read", json!({ "path": "real/note.md" }));
            assert!(!answer.to_string().contains("SECRET"), "{answer}");
            read += usize::from(answer["isError"] == false);
            let content = format!("round {number}\n");
            written += usize::from(server.result("vault_write", json!({ "path": "real/note.md", "content": content }))["isError"] == false);
            let path = format!("real/new {number}.md");
            server.result("vault_write", json!({ "path": path, "content": "new\n" }));
            if began.elapsed() > Duration::from_secs(if thorough() { 30 } else { 4 }) {
                break;
            }
        }
        assert!(read > 20 && written > 20, "{read} read, {written} written");
    });
    let found: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(std::fs::read(outside.join("note.md")).unwrap(), b"SECRET\n");
}

#[test]
fn a_flood_of_connections_with_one_byte_does_not_lock_out_a_login() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "256")]);
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": "Welcome.md" } } });
    let mut kept = server.connect();
    assert_eq!(kept.send(post(&read.to_string())).response().status, 200);
    let stop = AtomicBool::new(false);
    let seconds = if thorough() { 30 } else { 4 };
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                let mut open = std::collections::VecDeque::new();
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(mut connection) = Connection::try_open(server.address) {
                        connection.try_send("G");
                        open.push_back(connection);
                    }
                    if open.len() > 600 {
                        open.pop_front();
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < Duration::from_secs(seconds) {
            let asked = Instant::now();
            assert_eq!(kept.send(post(&read.to_string())).response().status, 200, "on the connection that it has");
            assert_eq!(server.post(&read).status, 200, "on a new one");
            times.push(asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        times.sort();
        assert!(times[times.len() * 95 / 100] < Duration::from_millis(200), "p95 {:?}", times[times.len() * 95 / 100]);
    });
}
