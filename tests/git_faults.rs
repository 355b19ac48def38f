//! Toolset `git`: kill -9 at any point, remotes that hang, writers at the same time.

use crate::git::{belongings, busy, deadly_git, hook, note, outcome, write};
use crate::support::repository::{Repository, git};
use crate::support::{TOKEN, thorough};
use serde_json::json;

#[test]
fn a_remote_that_hangs_or_asks_for_a_password_is_given_up() {
    let repository = busy();
    repository.git(&["remote", "set-url", "origin", "ssh://user@localhost/x.git"]);
    // A length that no other process sleeps for.
    let sleep = format!("sleep 60.{}", std::process::id());
    let server = repository
        .serve_with(&[("GIT_TIMEOUT_MS", "1500"), ("GIT_SSH_COMMAND", &format!("{sleep}; true"))]);
    let before = belongings(&repository, &[]);
    let started = std::time::Instant::now();
    let refused = write(&server, "ours.md", "new");
    assert!(refused["git_error"].as_str().unwrap().contains("GIT_TIMEOUT_MS"), "{refused}");
    assert!(
        !thorough() || started.elapsed() < std::time::Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(belongings(&repository, &[]), before);
    let sleeping =
        std::process::Command::new("pgrep").args(["-f", &format!("^{sleep}")]).output().unwrap();
    assert!(sleeping.stdout.is_empty(), "nothing is left running");
}

/// The server is killed at a run of git in a write, at every run if the tests are thorough and else
/// at every tenth, and started again: everything a person had is as it was, the note has its old
/// text or the new one, and work goes on.
fn walk_all_kill_points(name: &str, arrange: fn(&Repository), mend: fn(&Repository)) {
    for after in [false, true] {
        let (first, step) =
            if thorough() { (1, 1) } else { (1 + (name.len() + usize::from(after) * 3) % 10, 10) };
        for at in (first..).step_by(step) {
            let repository = busy();
            arrange(&repository);
            let ours = ["ours.md", "theirs.md"];
            let before = belongings(&repository, &ours);
            let folder = repository.folder.path();
            let path = deadly_git(folder, at, after);
            let server = repository.serve_with(&[("PATH", &path)]);
            let _ = std::fs::remove_file(folder.join("count"));
            std::fs::write(folder.join("armed"), "").unwrap();
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write_file", "arguments": { "path": "ours.md", "content": note("new") } } });
            let body = message.to_string();
            let head = crate::support::mcp_head(TOKEN, "");
            let answer = server
                .connect()
                .send(format!(
                    "{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ))
                .try_response();
            std::fs::remove_file(folder.join("armed")).unwrap();
            if answer.is_some() {
                assert!(at > 9, "the walk ended after {at} steps");
                break;
            }
            let on_disk = format!("{name}, after {after}, run {at}");
            // git may still be at work when its server is dead.
            std::thread::sleep(std::time::Duration::from_millis(60));
            assert_eq!(belongings(&repository, &ours), before, "{on_disk}: at once");
            drop(server);
            let server = repository.serve();
            assert_eq!(belongings(&repository, &ours), before, "{on_disk}: after the start");
            let text = String::from_utf8(repository.folder.read("ours.md")).unwrap();
            assert!(
                [note("new"), note("as it was"), note("theirs")].contains(&text),
                "{on_disk}: {text}"
            );
            mend(&repository);
            let mut done = write(&server, "ours.md", "and on");
            for _ in 0..2 {
                if done["error"]["code"] != "CONFLICT" {
                    break;
                }
                // Without a remote the new text may be on disk and in no commit.
                let etag = done["error"]["etag"].clone();
                let again =
                    json!({ "path": "ours.md", "content": note("and on"), "if_match": etag });
                done = outcome(&server, "vault_write_file", again);
            }
            assert_eq!(done["written"], true, "{on_disk}: {done}");
            assert_eq!(belongings(&repository, &ours), before, "{on_disk}: at the end");
            if done["pushed"] == true {
                assert_eq!(
                    repository.git(&["rev-parse", "HEAD"]),
                    repository.at_remote(&["rev-parse", "main"]),
                    "{on_disk}"
                );
            }
            assert_eq!(
                repository.git(&["status", "--porcelain", "ours.md", "theirs.md"]),
                "",
                "{on_disk}"
            );
            assert_eq!(repository.git(&["log", "--merges", "--oneline"]), "", "{on_disk}");
        }
    }
}

#[test]
fn killed_at_any_point_of_a_write_nothing_is_lost() {
    walk_all_kill_points("plain", |_| {}, |_| {});
}

#[test]
fn killed_at_any_point_while_the_remote_has_news_nothing_is_lost() {
    let arrange = |repository: &Repository| {
        repository.pushed_by_another(&repository.clone("another"), "theirs.md", "theirs\n")
    };
    walk_all_kill_points("behind", arrange, |_| {});
}

#[test]
fn killed_at_any_point_of_a_conflict_nothing_is_lost() {
    let arrange = |repository: &Repository| {
        repository.pushed_by_another(&repository.clone("another"), "ours.md", &note("theirs"))
    };
    walk_all_kill_points("conflict", arrange, |_| {});
}

#[test]
fn killed_at_any_point_of_a_rejected_push_nothing_is_lost() {
    let mend = |repository: &Repository| {
        std::fs::remove_file(repository.remote().join("hooks/pre-receive")).unwrap()
    };
    walk_all_kill_points(
        "rejected",
        |repository| hook(&repository.remote(), "pre-receive", "exit 1"),
        mend,
    );
}

#[test]
fn killed_at_any_point_without_a_remote_nothing_is_lost() {
    walk_all_kill_points(
        "no remote",
        |repository| drop(repository.git(&["remote", "remove", "origin"])),
        // Or staged.
        |repository| drop(repository.git(&["restore", "--staged", "ours.md"])),
    );
}

/// A person saves the note in the very moment of the push: what they wrote stays on disk, whether
/// the push succeeds or not.
#[test]
fn a_person_who_edits_the_note_during_the_push_keeps_their_bytes() {
    for succeeds in [true, false] {
        let repository = busy();
        let script = format!("echo 'a person was here' >> ours.md; exit {}", i32::from(!succeeds));
        hook(&repository.folder.vault().join(".git"), "pre-push", &script);
        let before = belongings(&repository, &["ours.md"]);
        let server = repository.serve();
        let done = write(&server, "ours.md", "new");
        assert_eq!(done["written"], succeeds, "{done}");
        let text = String::from_utf8(repository.folder.read("ours.md")).unwrap();
        assert_eq!(text, note("as it was") + "a person was here\n");
        assert_eq!(belongings(&repository, &["ours.md"]), before);
        if succeeds {
            assert!(
                done["git_error"].as_str().unwrap().contains("changed on disk meanwhile"),
                "{done}"
            );
            assert_eq!(repository.at_remote(&["show", "main:ours.md"]), note("new"));
            assert_eq!(repository.git(&["show", "HEAD:ours.md"]), note("new"));
            assert_eq!(
                repository.git(&["status", "--porcelain", "ours.md"]),
                " M ours.md\n",
                "theirs is a change on top"
            );
        }
    }
}

#[test]
fn a_slow_hook_has_a_limit_and_a_cancelled_call_commits_nothing() {
    let repository = busy();
    hook(
        &repository.folder.vault().join(".git"),
        "pre-commit",
        "touch \"$GIT_DIR/started\"; sleep 30",
    );
    let before = belongings(&repository, &[]);
    let server = repository.serve_with(&[("GIT_TIMEOUT_MS", "1000")]);
    let refused = write(&server, "ours.md", "new");
    assert!(refused["git_error"].as_str().unwrap().contains("GIT_TIMEOUT_MS"), "{refused}");
    assert_eq!(belongings(&repository, &[]), before);
    std::fs::remove_file(repository.folder.vault().join(".git/started")).unwrap();
    let server = repository.serve();
    let session = format!("Mcp-Session-Id: {}\r\n", server.session(TOKEN, "2025-11-25"));
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "vault_write_file", "arguments": { "path": "ours.md", "content": note("new") } } });
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.post_with(TOKEN, &session, &call).status);
        crate::support::eventually("the hook runs", || {
            repository.folder.vault().join(".git/started").exists()
        });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
        assert_eq!(server.post_with(TOKEN, &session, &cancel).status, 202);
        assert_eq!(waiting.join().unwrap(), 202, "no answer");
    });
    assert_eq!(belongings(&repository, &[]), before);
    server.log_with("outcome=CANCELLED");
}

#[test]
fn a_remote_that_wants_a_password_is_given_up_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/x.git", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            use std::io::{Read, Write};
            let _ = peer.read(&mut [0; 4096]);
            let _ = peer.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    let repository = busy();
    repository.git(&["remote", "set-url", "origin", &url]);
    let before = belongings(&repository, &[]);
    let server = repository.serve();
    let started = std::time::Instant::now();
    let refused = write(&server, "ours.md", "new");
    assert!(
        refused["git_error"].as_str().unwrap().contains("could not read Username"),
        "{refused}"
    );
    assert!(
        !thorough() || started.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(belongings(&repository, &[]), before);
}

/// Two servers on one vault, and a second clone that pushes meanwhile: every write arrives, in one
/// line of history.
#[test]
fn writers_at_once_lose_nothing() {
    // GIT_WRITES=100 cargo test writers_at_once: as many from each server.
    let each: usize =
        std::env::var("GIT_WRITES").ok().and_then(|text| text.parse().ok()).unwrap_or(15);
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    let servers = [repository.serve(), repository.serve()];
    let clone = repository.clone("another");
    std::thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..each {
                    let path = format!("s{number}/n{n}.md");
                    // The remote may change more often than a write tries; it says so, and the
                    // caller tries again.
                    let mut refused = Vec::new();
                    while refused.len() < 20 {
                        let done = write(server, &path, &format!("{number} {n}"));
                        if done["written"] == true {
                            break;
                        }
                        refused.push(done["error"]["message"].clone());
                    }
                    assert!(refused.len() < 20, "{path}: {refused:?}");
                }
            });
        }
        scope.spawn(|| {
            for n in 0..each / 2 {
                std::fs::write(clone.join(format!("clone{n}.md")), "x\n").unwrap();
                git(&clone, &["add", "-A"]);
                git(&clone, &["commit", "-q", "-m", "clone"]);
                let push = || {
                    std::process::Command::new("git")
                        .args(["-c", "user.name=P", "-c", "user.email=p@example.com"])
                        .args(["pull", "-q", "--rebase"])
                        .current_dir(&clone)
                        .status()
                        .is_ok_and(|status| status.success())
                        && std::process::Command::new("git")
                            .args(["push", "-q"])
                            .current_dir(&clone)
                            .stderr(std::process::Stdio::null())
                            .status()
                            .is_ok_and(|status| status.success())
                };
                assert!((0..50).any(|_| push()), "the clone never came through");
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        });
    });
    write(&servers[0], "ours.md", "the end");
    assert_eq!(
        repository.git(&["rev-parse", "HEAD"]),
        repository.at_remote(&["rev-parse", "main"])
    );
    assert_eq!(repository.git(&["log", "--merges", "--oneline"]), "");
    let files = repository.at_remote(&["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files.lines().count(), 1 + 2 * each + each / 2, "{files}");
    assert_eq!(
        repository.at_remote(&["rev-list", "--count", "main"]).trim().parse::<usize>().unwrap(),
        2 + 2 * each + each / 2
    );
    assert_eq!(repository.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}
