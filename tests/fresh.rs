//! Rule 6 of the vault: what another program changed before a call is seen by that call.

use crate::support::{Folder, Server, TOKEN, eventually, post, skipped, stream_request, thorough};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Notes that have all of some words, by one kept-alive connection.
fn counter(server: &Server) -> impl FnMut(&str) -> u64 {
    let mut connection = server.connect();
    move |query| {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "vault_search", "arguments": { "query": query, "snippets": "none" } },
        });
        let answer = connection.send(post(&call.to_string())).response().json();
        answer["result"]["structuredContent"]["total_matches"]
            .as_u64()
            .unwrap_or_else(|| panic!("{answer}"))
    }
}

fn paths(server: &Server) -> Vec<String> {
    let listed = server.call("vault_list_all", json!({ "limit": 1000 }));
    listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

/// Keeps three threads busy while `work` runs.
fn during_busy_loops<T>(work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = work();
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

#[test]
fn every_change_is_seen_by_the_very_next_call_on_a_busy_machine() {
    let (folder, server) = Server::sample();
    let mut count = counter(&server);
    assert_eq!(count("vkw0x"), 0);
    let (note, other) = (folder.vault().join("changing.md"), folder.vault().join("other.tmp"));
    during_busy_loops(|| {
        for number in 1..if thorough() { 10_000 } else { 400 } {
            let text = format!("vkw{number}x");
            // In place with the same size mostly, and by another name as editors do.
            if number % 2 == 0 {
                fs::write(&note, &text).unwrap();
            } else {
                fs::write(&other, &text).unwrap();
                fs::rename(&other, &note).unwrap();
            }
            assert_eq!(
                (count(&text), count(&format!("vkw{}x", number - 1))),
                (1, 0),
                "change {number}"
            );
        }
    });
}

#[test]
fn folders_that_come_move_and_go_are_seen_by_the_very_next_call() {
    let folder = Folder::with(&[("a.md", b"one"), ("deep/er/b.md", b"two")]);
    let server = Server::on(&folder.vault());
    let vault = folder.vault();
    let on_disk = |path: &str| vault.join(path);
    assert_eq!(paths(&server), ["a.md", "deep/er/b.md"]);
    for round in 0..if thorough() { 300 } else { 30 } {
        fs::create_dir_all(on_disk("new/in/new")).unwrap();
        fs::write(on_disk("new/in/new/c.md"), format!("round {round}")).unwrap();
        assert_eq!(paths(&server), ["a.md", "deep/er/b.md", "new/in/new/c.md"], "{round}");
        fs::rename(on_disk("new/in"), on_disk("deep/moved")).unwrap();
        assert_eq!(paths(&server), ["a.md", "deep/er/b.md", "deep/moved/new/c.md"], "{round}");
        // What happens in a folder after it was moved is reported under its new path.
        fs::write(on_disk("deep/moved/new/d.md"), "x").unwrap();
        fs::rename(on_disk("deep/moved"), on_disk("away")).unwrap();
        fs::write(on_disk("away/new/e.md"), "x").unwrap();
        fs::remove_file(on_disk("away/new/d.md")).unwrap();
        assert_eq!(
            paths(&server),
            ["a.md", "away/new/c.md", "away/new/e.md", "deep/er/b.md"],
            "{round}"
        );
        // Out of the vault, changed there, and back under another name.
        fs::rename(on_disk("away"), folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/new/f.md"), "x").unwrap();
        assert_eq!(paths(&server), ["a.md", "deep/er/b.md"], "{round}");
        fs::rename(folder.path().join("outside"), on_disk("back")).unwrap();
        assert_eq!(
            paths(&server),
            ["a.md", "back/new/c.md", "back/new/e.md", "back/new/f.md", "deep/er/b.md"],
            "{round}"
        );
        // Hidden, and shown again.
        fs::rename(on_disk("back"), on_disk(".back")).unwrap();
        assert_eq!(paths(&server), ["a.md", "deep/er/b.md"], "{round}");
        fs::rename(on_disk(".back"), on_disk("new")).unwrap();
        assert_eq!(paths(&server).len(), 5, "{round}");
        // A file instead of a folder.
        fs::remove_dir_all(on_disk("new")).unwrap();
        fs::write(on_disk("new"), "x").unwrap();
        assert_eq!(paths(&server), ["a.md", "deep/er/b.md", "new"], "{round}");
        fs::remove_file(on_disk("new")).unwrap();
    }
}

#[test]
fn a_program_that_keeps_size_and_time_is_noticed() {
    let (folder, server) = Server::sample();
    let mut count = counter(&server);
    let note = folder.vault().join("kept.md");
    let then = std::time::SystemTime::now() - Duration::from_secs(10_000);
    for (text, before) in
        [("firstword", "zerothword"), ("otherword", "firstword"), ("thirdword", "otherword")]
    {
        fs::write(&note, text).unwrap();
        fs::File::options().write(true).open(&note).unwrap().set_modified(then).unwrap();
        assert_eq!((count(text), count(before)), (1, 0), "{text}");
    }
}

/// As fast as the disk can make them, from three threads.
#[test]
fn thousands_of_files_a_second_are_seen_as_they_come() {
    let folder = Folder::with(&[("a.md", b"one")]);
    let server = Server::on(&folder.vault());
    let mut count = counter(&server);
    assert_eq!(count("flood"), 0);
    let made = AtomicUsize::new(0);
    let deadline = Instant::now() + Duration::from_secs(if thorough() { 20 } else { 2 });
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (made, vault) = (&made, folder.vault());
            scope.spawn(move || {
                let mut number = 0;
                while Instant::now() < deadline {
                    let folder = vault.join(format!("{thread} {}", number / 50));
                    fs::create_dir_all(&folder).unwrap();
                    fs::write(folder.join(format!("{number}.md")), "flood").unwrap();
                    made.fetch_add(1, Ordering::SeqCst);
                    number += 1;
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
        let mut calls = 0;
        while Instant::now() < deadline {
            let before = made.load(Ordering::SeqCst) as u64;
            let found = count("flood");
            assert!(found >= before, "{found} found, {before} were there");
            calls += 1;
        }
        assert!(calls > 5, "{calls} calls");
    });
    assert_eq!(count("flood") as usize, made.into_inner());
}

#[test]
fn more_changes_than_the_kernel_keeps_are_seen_all_the_same() {
    let folder = Folder::with(&[("a.md", b"one")]);
    let server = Server::on(&folder.vault());
    let mut count = counter(&server);
    assert_eq!(count("overflow"), 0);
    let held: u64 = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    // Each file is made, written and closed: three events.
    let files = held / 3 + 500;
    for number in 0..files {
        fs::write(folder.vault().join(format!("{number}.md")), "overflow").unwrap();
    }
    assert_eq!(count("overflow"), files);
    server.log_with("the vault is walked");
    fs::write(folder.vault().join("0.md"), "changed").unwrap();
    assert_eq!(
        (count("overflow"), count("changed")),
        (files - 1, 1),
        "and what comes next is reported again"
    );
}

/// Starts a server whose user may have so many watches, or queues of them.
fn limited(vault: &Path, limit: &str, number: u32) -> Option<Server> {
    let set = format!("echo {number} > /proc/sys/user/{limit}");
    if !Command::new("unshare")
        .args(["-Ur", "sh", "-c", &set])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        skipped("unshare of util-linux cannot make a user namespace");
        return None;
    }
    Some(Server::spawned(vault, &[], |command| {
        let mut limited = Command::new("unshare");
        limited
            .args(["-Ur", "sh", "-c", &format!("{set}; exec \"$0\"")])
            .arg(command.get_program())
            .env("STATE_DIR", "none");
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        *command = limited;
        command
    }))
}

#[test]
fn without_enough_watches_the_vault_is_walked() {
    for (limit, number, says) in
        [("max_inotify_watches", 3, "max_user_watches"), ("max_inotify_instances", 0, "walking")]
    {
        let folder = Folder::with(&[("a.md", b"one"), ("1/2/b.md", b"two")]);
        let Some(server) = limited(&folder.vault(), limit, number) else { return };
        let mut count = counter(&server);
        assert_eq!((count("one"), count("two")), (1, 1));
        for round in 0..5 {
            let word = format!("walked{round}x");
            fs::create_dir_all(folder.vault().join("3/4")).unwrap();
            fs::write(folder.vault().join("3/4/c.md"), &word).unwrap();
            eventually("a walk finds it", || count(&word) == 1);
        }
        let log = server.log_with(says);
        assert_eq!(log.matches("found by walking").count(), 1, "one line: {log}");
        // An edit of a file that was written a moment ago waits; our own edits, one after the
        // other, do not.
        fs::write(folder.vault().join("a.md"), "start").unwrap();
        let begin = Instant::now();
        for round in 0..10 {
            let old = if round == 0 { "start".to_owned() } else { format!("text {}", round - 1) };
            server.call(
                "vault_edit",
                json!({ "path": "a.md", "old_text": old, "new_text": format!("text {round}") }),
            );
        }
        assert!(!thorough() || begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }
}

#[test]
fn edits_one_after_the_other_do_not_wait() {
    let (folder, server) = Server::sample();
    let begin = Instant::now();
    // What another program saved a moment ago is waited for once.
    fs::write(folder.vault().join("busy.md"), "text 0.").unwrap();
    for round in 0..50 {
        let (old, new) = (format!(" {round}."), format!(" {}.", round + 1));
        server.call("vault_edit", json!({ "path": "busy.md", "old_text": old, "new_text": new }));
    }
    assert!(!thorough() || begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

/// Within 100 ms on a machine that does nothing else; the other tests run at the same time.
#[test]
fn a_subscribed_client_is_notified_of_a_change_at_once() {
    let (folder, server) = Server::sample();
    let session = server.session(TOKEN, "2025-06-18");
    let mut stream = server.connect();
    stream.send(stream_request(TOKEN, &session, "text/event-stream"));
    assert_eq!(stream.headless().status, 200);
    let mut slowest = Duration::ZERO;
    for round in 0..10 {
        std::thread::sleep(Duration::from_millis(60));
        let begin = Instant::now();
        fs::write(folder.vault().join(format!("round {round}.md")), "x").unwrap();
        let event: Value = serde_json::from_str(&stream.event().unwrap()).unwrap();
        assert_eq!(event["method"], "notifications/resources/list_changed");
        slowest = slowest.max(begin.elapsed());
    }
    assert!(!thorough() || slowest < Duration::from_millis(400), "{slowest:?}");
}

#[test]
fn what_replaces_something_else_between_two_calls_is_seen() {
    let folder = Folder::with(&[("sub/n.md", b"x"), ("p/x", b"file"), ("a.md", b"x")]);
    let (vault, outside) = (folder.vault(), folder.path().join("outside"));
    fs::create_dir_all(outside.join("p2/x")).unwrap();
    fs::write(outside.join("p2/x/n.md"), "x").unwrap();
    let server = Server::on(&vault);
    assert_eq!(paths(&server), ["a.md", "p/x", "sub/n.md"]);
    // A file instead of a folder that was moved away.
    fs::rename(vault.join("sub"), outside.join("sub")).unwrap();
    fs::write(vault.join("sub"), "file").unwrap();
    assert_eq!(paths(&server), ["a.md", "p/x", "sub"]);
    // A folder instead of a file, below a folder that was exchanged.
    fs::rename(vault.join("p"), outside.join("p")).unwrap();
    fs::rename(outside.join("p2"), vault.join("p")).unwrap();
    assert_eq!(paths(&server), ["a.md", "p/x/n.md", "sub"]);
    fs::write(vault.join("p/x/later.md"), "x").unwrap();
    assert_eq!(paths(&server), ["a.md", "p/x/later.md", "p/x/n.md", "sub"]);
    // A folder comes, goes, and comes back.
    for _ in 0..2 {
        fs::create_dir(vault.join("sub2")).unwrap();
        fs::write(vault.join("sub2/t.md"), "x").unwrap();
        assert_eq!(paths(&server), ["a.md", "p/x/later.md", "p/x/n.md", "sub", "sub2/t.md"]);
        fs::remove_dir_all(vault.join("sub2")).unwrap();
        assert_eq!(paths(&server), ["a.md", "p/x/later.md", "p/x/n.md", "sub"]);
    }
}

#[test]
fn a_new_hard_link_is_not_taken_for_a_file_that_is_open() {
    let folder = Folder::with(&[("a.md", b"text")]);
    let server = Server::on(&folder.vault());
    assert_eq!(paths(&server).len(), 1);
    fs::hard_link(folder.vault().join("a.md"), folder.vault().join("link.md")).unwrap();
    assert_eq!(paths(&server).len(), 2);
    let edited = server
        .result("vault_edit", json!({ "path": "link.md", "old_text": "text", "new_text": "new" }));
    assert_eq!(edited["isError"], false, "{edited}");
}

/// An app that saves in place truncates the file and writes it a moment later: nothing sees the
/// file empty in between.
#[test]
fn a_file_that_is_truncated_before_it_is_written_is_never_seen_empty() {
    use std::io::Write;
    let folder = Folder::with(&[("a.md", b"kept\n")]);
    let path = folder.vault().join("a.md");
    let server = Server::on(&folder.vault());
    std::thread::sleep(Duration::from_millis(300));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let mut file = fs::File::create(&path).unwrap();
                std::thread::sleep(Duration::from_millis(20));
                file.write_all(b"kept\n").unwrap();
                drop(file);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let seen: Vec<(Value, Value)> = (0..100)
            .map(|_| {
                let read = server.call("vault_read", json!({ "path": "a.md" }))["content"].clone();
                std::thread::sleep(Duration::from_millis(3));
                (
                    read,
                    server.call("vault_search", json!({ "query": "kept" }))["total_matches"]
                        .clone(),
                )
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        assert!(
            seen.iter().all(|(read, found)| *read == json!("kept\n") && *found == json!(1)),
            "{seen:?}"
        );
    });
    // One that stays empty is empty.
    fs::File::create(&path).unwrap();
    assert_eq!(server.call("vault_read", json!({ "path": "a.md" }))["content"], "");
}
