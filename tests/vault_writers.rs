//! Writers at the same time, in this program and in others; kill -9.

use crate::support::{Folder, Server, eventually};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::time::{Duration, Instant};

/// Writers at once: no edit is lost, no file is ever half of one and half of another.
#[test]
fn writers_at_once_lose_nothing() {
    let marks: String = (0..40).map(|n| format!("[{n:02}]\n")).collect();
    let folder = Folder::with(&[("list.md", marks.as_bytes())]);
    let server = Server::on(&folder.vault());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for n in (worker..40).step_by(8) {
                    server
                        .call("vault_edit", json!({ "path": "list.md", "old_text": format!("[{n:02}]"), "new_text": format!("<{n:02}>") }));
                }
            });
        }
    });
    assert_eq!(
        String::from_utf8(folder.read("list.md")).unwrap(),
        marks.replace('[', "<").replace(']', ">")
    );
    let (a, b) = ("a".repeat(200_000), "b".repeat(200_000));
    std::thread::scope(|scope| {
        for content in [&a, &b] {
            let server = &server;
            scope.spawn(move || {
                (0..20).for_each(|_| {
                    drop(
                        server
                            .call("vault_write", json!({ "path": "whole.md", "content": content })),
                    )
                })
            });
        }
        for _ in 0..200 {
            if let Ok(bytes) = std::fs::read(folder.vault().join("whole.md")) {
                assert!(bytes == a.as_bytes() || bytes == b.as_bytes(), "a mixture, or half");
            }
        }
    });
}

/// Two programs: edits of ours between saves of another one that only ever appends. No line of
/// either is lost. An edit puts a mark before the first line and says whether it was made; it may
/// be a `CONFLICT`.
fn edit_with_another_program(folder: &Folder, mut edit: impl FnMut(&Value) -> bool + Send) {
    let file = folder.vault().join("diary.md");
    let deadline = Instant::now() + Duration::from_secs(3);
    let (mut lines, mut overwritten) = (0, HashSet::new());
    std::thread::scope(|scope| {
        let editing = scope.spawn(|| {
            let mut done = 0;
            while Instant::now() < deadline {
                done += usize::from(edit(&json!({ "path": "diary.md", "old_text": "start\n", "new_text": "mark\nstart\n" })));
                std::thread::sleep(Duration::from_millis(15));
            }
            done
        });
        while Instant::now() < deadline {
            // A save as sync programs do it: the whole file under another name, then renamed.
            let text = std::fs::read_to_string(&file).unwrap();
            let again = folder.vault().join("save.tmp");
            std::fs::write(&again, format!("{text}line {lines}\n")).unwrap();
            // As a sync program gives it, the time of the save elsewhere.
            let saved = std::time::SystemTime::now() - Duration::from_secs(5);
            let open = std::fs::File::options().append(true).open(&again).unwrap();
            open.set_modified(saved).unwrap();
            if std::fs::read_to_string(&file).unwrap() == text {
                // What has come into the file since is lost by this program, which does not look
                // again.
                renameat_with(CWD, &again, CWD, &file, RenameFlags::EXCHANGE).unwrap();
                let displaced = std::fs::read_to_string(&again).unwrap();
                overwritten.extend(
                    displaced.lines().filter(|line| !text.contains(line)).map(str::to_owned),
                );
                std::fs::remove_file(&again).unwrap();
                lines += 1;
            }
            std::thread::sleep(Duration::from_millis(7));
        }
        assert!(editing.join().unwrap() > 5, "edits got through");
    });
    let files = std::fs::read_dir(folder.vault()).unwrap().map(|entry| entry.unwrap().path());
    // Conflict copies too.
    let text: String = files
        .filter(|file| file.extension().is_some_and(|it| it == "md"))
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let is_lost = |n: &usize| {
        !text.contains(&format!("line {n}\n")) && !overwritten.contains(&format!("line {n}"))
    };
    let lost = (0..lines).filter(is_lost).count();
    assert!(lines > 20 && lost == 0, "{lost} of {lines} lines lost");
    assert!(
        overwritten.len() * 10 < lines,
        "the other program loses little itself: {overwritten:?}"
    );
}

#[test]
fn an_edit_never_overwrites_what_another_program_saved_meanwhile() {
    let folder = Folder::with(&[("diary.md", b"start\n")]);
    let server = Server::on(&folder.vault());
    edit_with_another_program(&folder, |arguments| {
        server.result("vault_edit", arguments.clone())["isError"] == false
    });
}

/// The other program can read ours and save on top of it, before we see that it had saved before.
#[test]
fn an_edit_never_overwrites_what_was_saved_while_two_files_exchange_their_names() {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        return crate::support::skipped("strace is missing");
    }
    let folder = Folder::with(&[("diary.md", b"start\n")]);
    let mut command = std::process::Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=renameat2",
        "-e",
        "inject=renameat2:delay_exit=10000",
    ]);
    command
        .arg(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .arg("stdio")
        .env("VAULT_PATH", folder.vault())
        .env("STATE_DIR", "none");
    let mut client = crate::stdio::Client::start(command);
    client.shake_hands();
    edit_with_another_program(&folder, |arguments| {
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_edit", "arguments": arguments } })
                .to_string(),
        );
        // Notifications of what has changed may come before it.
        let answer = std::iter::from_fn(|| client.line()).find(|line| line["id"] == 1).unwrap();
        answer["result"]["isError"] != true
    });
}

/// kill -9 in the middle of writes: always the old bytes or the new ones, and no litter after the
/// next start.
#[test]
fn kill_9_during_writes_leaves_whole_files() {
    let contents: Vec<String> = (0..4).map(|n| format!("{n}").repeat(2_000_000)).collect();
    let folder = Folder::with(&[("note.md", contents[0].as_bytes())]);
    for round in 0..8 {
        let server = Server::on(&folder.vault());
        let address = server.address;
        let writing: Vec<_> = (1..4)
            .map(|n| {
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": "note.md", "content": contents[n] } } }).to_string();
                std::thread::spawn(move || {
                    let head = crate::support::mcp_head(crate::support::TOKEN, "");
                    let request = format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    let mut connection = crate::support::Connection::open(address);
                    while connection.try_send(&request) && connection.try_response().is_some() {}
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(150 + round * 37));
        server.kill();
        writing.into_iter().for_each(|thread| thread.join().unwrap());
        let bytes = folder.read("note.md");
        assert!(
            contents.iter().any(|content| content.as_bytes() == bytes),
            "round {round}: neither old nor new"
        );
    }
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_list_all", json!({}))["total_files"], 1);
    let names = || -> Vec<String> {
        std::fs::read_dir(folder.vault())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    eventually("leftovers are removed at the start", || names() == ["note.md"]);
}

/// Two servers, several writers each: every acknowledged change is kept.
#[test]
fn writes_of_two_servers_to_one_file_are_all_kept() {
    let folder = Folder::with(&[("n.md", b"0")]);
    let servers = [Server::on(&folder.vault()), Server::on(&folder.vault())];
    let acknowledged: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let server = &servers[n % 2];
                scope.spawn(move || {
                    let mut done = 0;
                    for _ in 0..40 {
                        let read = server.call("vault_read", json!({ "path": "n.md" }));
                        let next = read["content"].as_str().unwrap().parse::<u32>().unwrap() + 1;
                        let written =
                            server.result("vault_write", json!({ "path": "n.md", "content": next.to_string(), "if_match": read["etag"] }));
                        done += u32::from(written["isError"] == false);
                    }
                    done
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(
        String::from_utf8(folder.read("n.md")).unwrap(),
        acknowledged.to_string(),
        "two servers, one file"
    );
}

/// What a program goes on writing into a file that was replaced would be in no file any more.
#[test]
fn an_edit_does_not_replace_a_file_that_a_program_is_writing() {
    let folder = Folder::with(&[("log.md", b"start\n"), ("new.md", b"start\n")]);
    let server = Server::on(&folder.vault());
    server.log_with("index complete");
    // Writes lines with a pause until it is stopped; the longest pause that the machine made of it.
    let write_on = |file: &mut std::fs::File, go_on: &dyn Fn(usize) -> bool| {
        let (mut longest, mut last) = (Duration::ZERO, Instant::now());
        for line in (0..).take_while(|line| go_on(*line)) {
            writeln!(file, "start {line}").unwrap();
            longest = longest.max(last.elapsed());
            last = Instant::now();
            std::thread::sleep(Duration::from_millis(60));
        }
        longest
    };
    // On a busy machine a pause may be as long as a rest; then nothing is proven.
    let is_rest = |longest: Duration| longest >= vault_sync_mcp::limits::AT_REST / 2;
    for (path, anew) in [("log.md", false), ("new.md", true)] {
        let on_disk = folder.vault().join(path);
        if anew {
            std::fs::remove_file(&on_disk).unwrap();
        }
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(&on_disk).unwrap();
        let (longest, result) = std::thread::scope(|scope| {
            let writing = scope.spawn(move || write_on(&mut file, &|line| line < 12));
            std::thread::sleep(Duration::from_millis(100));
            let result = server.result(
                "vault_edit",
                json!({ "path": path, "old_text": "start 1\n", "new_text": "edited\n" }),
            );
            (writing.join().unwrap(), result)
        });
        let text = std::fs::read_to_string(&on_disk).unwrap();
        let whole = (0..12).all(|line| line == 1 || text.contains(&format!("start {line}\n")));
        assert!(
            is_rest(longest) || whole && (result["isError"] == true) != text.contains("edited"),
            "{result}: {text}"
        );
    }
    // One that never rests is left alone.
    let on_disk = folder.vault().join("log.md");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&on_disk).unwrap();
            write_on(&mut file, &|_| !stop.load(std::sync::atomic::Ordering::Relaxed))
        });
        std::thread::sleep(Duration::from_millis(100));
        let result = server.result(
            "vault_edit",
            json!({ "path": "log.md", "old_text": "start 2\n", "new_text": "edited\n" }),
        );
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let refused = result["isError"] == true
            && result.to_string().contains("CONFLICT")
            && result.to_string().contains("right now");
        assert!(is_rest(writing.join().unwrap()) || refused, "{result}");
    });
}

/// Of two calls that create the same note at the same time one succeeds; the other gets a
/// `CONFLICT`, and no text is lost.
#[test]
fn of_two_that_create_the_same_note_one_gets_a_conflict() {
    let folder = Folder::with(&[("a.md", b"a")]);
    let servers = [Server::on(&folder.vault()), Server::on(&folder.vault())];
    for round in 0..30 {
        let path = format!("new {round}.md");
        let results: Vec<Value> = std::thread::scope(|scope| {
            let make = |number: usize| {
                let (server, path) = (&servers[number], &path);
                scope.spawn(move || {
                    server.result(
                        "vault_write",
                        json!({ "path": path, "content": format!("of {number}") }),
                    )
                })
            };
            [make(0), make(1)].into_iter().map(|made| made.join().unwrap()).collect()
        });
        let made =
            results.iter().filter(|result| result["structuredContent"]["created"] == true).count();
        assert_eq!(made, 1, "{results:?}");
        let refused = results.iter().find(|result| result["isError"] == true);
        if let Some(refused) = refused {
            assert!(
                refused.to_string().contains("CONFLICT") && refused.to_string().contains("etag"),
                "{refused}"
            );
        }
    }
}
