//! Toolset `git` with the others: what their tools change is committed, what the remote has changed
//! too, and what is taken back.

use crate::git::{hook, outcome};
use crate::grants::request;
use crate::support::TOKEN;
use crate::support::repository::{Repository, git};
use serde_json::{Value, json};

/// Every change of every tool is one commit, and none leaves uncommitted text behind.
#[test]
fn a_change_by_any_toolset_is_one_pushed_commit() {
    let repository = Repository::with(&[
        ("A/old.md", "# Old\n"),
        ("A/x.md", "[[old]] #tag\n"),
        ("n.md", "[[old|t]]\n- [ ] task\n"),
        ("p.png", "png"),
    ]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let commits =
        || repository.at_remote(&["rev-list", "--count", "main"]).trim().parse::<usize>().unwrap();
    let changed =
        || repository.at_remote(&["show", "--no-renames", "--name-status", "--format=%B", "main"]);
    let mut count = commits();
    for (tool, arguments, first, files) in [
        (
            "vault_write",
            json!({ "path": "new.md", "content": "n" }),
            "vault_write: new.md",
            "A\tnew.md",
        ),
        (
            "vault_edit",
            json!({ "path": "n.md", "old_text": "task", "new_text": "job" }),
            "vault_edit: n.md",
            "M\tn.md",
        ),
        (
            "vault_insert",
            json!({ "path": "n.md", "text": "- more" }),
            "vault_insert: n.md",
            "M\tn.md",
        ),
        (
            "vault_set_properties",
            json!({ "paths": ["n.md", "new.md"], "set": { "a": 1 } }),
            "vault_set_properties: n.md and 1 more",
            "M\tn.md\nM\tnew.md",
        ),
        (
            "vault_set_task",
            json!({ "path": "n.md", "line": 5, "text": "job" }),
            "vault_set_task: n.md",
            "M\tn.md",
        ),
        (
            "vault_rename_tag",
            json!({ "path": "tag", "to": "label" }),
            "vault_rename_tag: A/x.md",
            "M\tA/x.md",
        ),
        (
            "vault_move",
            json!({ "path": "A/old.md", "to": "B/new name.md" }),
            "vault_move: A/old.md and 3 more",
            "M\tA/x.md\nD\tA/old.md\nA\tB/new name.md\nM\tn.md",
        ),
        (
            "vault_move",
            json!({ "path": "B", "to": "C" }),
            "vault_move: B/new name.md and 1 more",
            "D\tB/new name.md\nA\tC/new name.md",
        ),
        (
            "vault_delete",
            json!({ "paths": ["p.png", "new.md"] }),
            "vault_delete: p.png and 1 more",
            "D\tnew.md\nD\tp.png",
        ),
    ] {
        let done = server.call(tool, arguments);
        assert_eq!(
            (done["pushed"].clone(), done["git_error"].clone()),
            (json!(true), Value::Null),
            "{tool}: {done}"
        );
        count += 1;
        assert_eq!(commits(), count, "{tool}");
        let shown = changed();
        let (message, rest) = shown.split_once("\n\n").unwrap();
        assert_eq!(message, first);
        assert!(rest.starts_with(&format!("Tool: {tool}\nLogin: all\n")), "{shown}");
        let mut found: Vec<&str> =
            rest.lines().skip(2).filter(|line| line.contains('\t')).collect();
        let mut expected: Vec<&str> = files.lines().collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{tool}");
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "{tool}");
    }
    // What a person has deleted and not committed is brought back.
    let vault = repository.folder.vault();
    std::fs::remove_file(vault.join("n.md")).unwrap();
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let done = server.call("vault_restore", json!({ "path": "n.md", "version": head }));
    assert_eq!((&done["path"], vault.join("n.md").exists()), (&json!("n.md"), true), "{done}");
    // A change that git refuses is made, and said not to be committed.
    repository.git(&["switch", "-q", "-c", "other"]);
    let done =
        server.call("vault_edit", json!({ "path": "n.md", "old_text": "job", "new_text": "work" }));
    assert!(
        done["pushed"] == false && done["git_error"].as_str().unwrap().contains("branch other"),
        "{done}"
    );
    // What a person has staged of the same file keeps that change out of commits, and no other call
    // commits it.
    repository.git(&["switch", "-q", "main"]);
    repository.git(&["add", "n.md"]);
    let done = server
        .call("vault_edit", json!({ "path": "n.md", "old_text": "work", "new_text": "task" }));
    assert!(
        done["pushed"] == false
            && done["git_error"].as_str().unwrap().contains("n.md has staged changes"),
        "{done}"
    );
    let done = server.call("vault_write", json!({ "path": "during.md", "content": "x" }));
    assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &Value::Null), "{done}");
    repository.git(&["restore", "--staged", "n.md"]);
    let done = server.call("vault_write", json!({ "path": "after.md", "content": "x" }));
    assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &Value::Null), "{done}");
    assert_eq!(repository.git(&["show", "--format=", "--name-only", "HEAD"]), "after.md\n");
    repository.git(&["commit", "-qam", "a person's"]);
    // What a person has taken out of git stays out.
    repository.git(&["rm", "-q", "--cached", "n.md"]);
    server.call("vault_edit", json!({ "path": "n.md", "old_text": "task", "new_text": "job" }));
    repository.git(&["commit", "-qm", "without it"]);
    server.call("vault_write", json!({ "path": "after.md", "content": "y" }));
    assert_eq!(repository.git(&["status", "--porcelain"]), "?? n.md\n");
}

/// What the tools of git itself have changed is taken back with the rest, by a commit of its own.
#[test]
fn undo_takes_back_what_the_tools_of_git_have_done() {
    let note = |text: &str| format!("---\ndate: 2026-01-01\ntags: [a]\ntype: note\n---\n{text}\n");
    let (old, kept) = (note("old"), note("kept"));
    let repository = Repository::with(&[("a.md", &old), ("gone.md", &kept)]);
    let state = repository.folder.path().join("state");
    let settings = [("TOOLSETS", "vault,git"), ("STATE_DIR", state.to_str().unwrap())];
    let server = repository.serve_with(&settings);
    server.call("vault_write_file", json!({ "path": "a.md", "content": note("new") }));
    server.call("vault_write_file", json!({ "path": "new.md", "content": note("new") }));
    server.call("vault_delete_file", json!({ "path": "gone.md" }));
    let written = server.call("vault_write", json!({ "path": "a.md", "content": "newest" }));
    server.call("vault_restore", json!({ "path": "a.md", "version": written["previous"] }));
    let read = || std::fs::read_to_string(repository.folder.vault().join("a.md")).unwrap();
    assert_eq!(read(), note("new"));
    drop(server);
    let undone = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args(["undo", "--login", "all", "--since", "1h"])
        .env("VAULT_PATH", repository.folder.vault())
        .envs(settings)
        .output()
        .unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(read(), old);
    assert_eq!(repository.git(&["diff", "HEAD~6", "--stat"]), "", "as it was before");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(
        repository.git(&["rev-parse", "HEAD"]),
        repository.at_remote(&["rev-parse", "main"])
    );
}

/// The remote's version has replaced what undo wrote, so nothing was taken back there.
#[test]
fn undo_names_what_the_remote_has_changed_meanwhile() {
    let repository = Repository::with(&[("a.md", "a\n"), ("b.md", "b\n")]);
    let state = repository.folder.path().join("state");
    let settings = [("TOOLSETS", "vault,notes,git"), ("STATE_DIR", state.to_str().unwrap())];
    let server = repository.serve_with(&settings);
    for path in ["a.md", "b.md"] {
        server.call("vault_insert", json!({ "path": path, "text": "more" }));
    }
    server.call("vault_set_properties", json!({ "paths": ["a.md", "b.md"], "set": { "x": 1 } }));
    drop(server);
    repository.pushed_by_another(
        &repository.clone("other"),
        "a.md",
        "---\nx: 1\n---\na\n\nmore\ntheirs\n",
    );
    let undo = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        let command = command
            .args(["undo", "--login", "all", "--since", "1h"])
            .env("VAULT_PATH", repository.folder.vault())
            .envs(settings);
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (code, first) = undo();
    assert!(code == Some(1) && repository.folder.read("b.md") == b"b\n", "{first}");
    let named = first.split_once("Left alone").is_some_and(|(_, left)| left.contains("a.md"));
    assert!(named && !first.contains("a.md: as before"), "{first}");
}

#[test]
fn a_folder_of_a_commit_is_no_version_of_a_file() {
    let repository = Repository::with(&[
        ("Box.pdf/open.md", "o\n"),
        ("Box.pdf/top.secret.md", "s\n"),
        ("big.pdf", &"x".repeat(800_000)),
    ]);
    let first = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git"), ("HIDE", "*.secret.md")]);
    for path in ["Box.pdf", "Box"] {
        let error = server.fail("vault_read", json!({ "path": path, "version": first }));
        assert!(error["message"].as_str().unwrap().contains("does not exist in commit"), "{error}");
    }
    assert_eq!(
        server.fail("vault_read", json!({ "path": "big.pdf", "version": first }))["code"],
        "TOO_LARGE"
    );
}

/// A move cannot be repeated, and a note that is gone cannot be read again.
#[test]
fn a_move_or_change_of_a_note_that_the_remote_has_changed_says_what_to_do() {
    let repository = Repository::with(&[("a.md", "a\n"), ("b.md", "b\n"), ("n.md", "[[a]]\n")]);
    let other = repository.clone("other");
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    repository.pushed_by_another(&other, "a.md", "a\ntheirs\n");
    let moved = server.fail("vault_move", json!({ "path": "a.md", "to": "c.md" }));
    assert!(
        moved["code"] == "CONFLICT"
            && moved["message"].as_str().unwrap().contains("a.md was changed on the remote"),
        "{moved}"
    );
    let vault = repository.folder.vault();
    assert_eq!(
        (repository.folder.read("a.md"), vault.join("c.md").exists()),
        (b"a\ntheirs\n".to_vec(), false)
    );
    assert_eq!(repository.folder.read("n.md"), b"[[a]]\n");
    git(&other, &["pull", "-q", "--rebase"]);
    git(&other, &["rm", "-q", "b.md"]);
    git(&other, &["commit", "-q", "-m", "gone"]);
    git(&other, &["push", "-q"]);
    let set = server
        .fail("vault_set_properties", json!({ "paths": ["b.md", "n.md"], "set": { "x": 1 } }));
    assert!(
        set["message"].as_str().unwrap().contains("b.md was changed on the remote meanwhile"),
        "{set}"
    );
    assert!(!vault.join("b.md").exists());
    assert_eq!(repository.folder.read("n.md"), b"[[a]]\n");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_commit_names_a_file_of_the_call_and_its_text_can_be_read() {
    let repository = Repository::with(&[("A/links.md", "[[plan]]\n"), ("plan.md", "p\n")]);
    let first = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    server.call("vault_move", json!({ "path": "plan.md", "to": "Z/new.md" }));
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]), "vault_move: plan.md and 2 more\n");
    let read = server.call("vault_read", json!({ "path": "A/links.md", "version": first }));
    assert_eq!(
        (&read["content"], repository.git(&["status", "--porcelain"])),
        (&json!("[[plan]]\n"), String::new())
    );
    assert_eq!(
        server.call("vault_read", json!({ "path": "Z/new.md", "version": first }))["content"],
        "p\n"
    );
    assert_eq!(
        server.fail("vault_read", json!({ "path": "Z/new.md", "version": "--all" }))["code"],
        "INVALID_ARGUMENT"
    );
}

/// Nothing of the call is left, also of the files that the remote has not changed, and writing goes
/// on.
#[test]
fn a_call_whose_note_the_remote_has_changed_too_is_taken_back() {
    let repository = Repository::with(&[("a.md", "hello\n"), ("b.md", "b\n"), ("sub/c.md", "c\n")]);
    let other = repository.clone("other");
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let read = |path: &str| std::fs::read_to_string(repository.folder.vault().join(path)).unwrap();
    for (number, (tool, arguments)) in [
        ("vault_edit", json!({ "path": "a.md", "old_text": "hello", "new_text": "HELLO" })),
        ("vault_set_properties", json!({ "paths": ["a.md", "b.md"], "set": { "x": 1 } })),
        ("vault_delete", json!({ "paths": ["a.md"] })),
        ("vault_write", json!({ "path": "a.md", "content": "ours\n" })),
    ]
    .into_iter()
    .enumerate()
    {
        let theirs = format!("hello {number}\n");
        repository.pushed_by_another(&other, "a.md", &theirs);
        repository.pushed_by_another(&other, "sub/c.md", &theirs);
        let done = server.fail(tool, arguments);
        assert!(
            done["code"] == "CONFLICT"
                && done["message"].as_str().unwrap().contains("a.md was changed on the remote"),
            "{done}"
        );
        assert_eq!((read("a.md"), read("sub/c.md")), (theirs.clone(), theirs), "{tool}");
        assert_eq!(read("b.md"), "b\n");
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
        assert_eq!(
            repository.git(&["rev-parse", "HEAD"]),
            repository.at_remote(&["rev-parse", "main"])
        );
    }
    let next = server
        .call("vault_edit", json!({ "path": "a.md", "old_text": "hello", "new_text": "HELLO" }));
    assert_eq!((&next["pushed"], &next["git_error"]), (&json!(true), &Value::Null));
    // Where both have made the same of it, there is no conflict.
    repository.pushed_by_another(&other, "b.md", "same\n");
    let same = server.call("vault_write", json!({ "path": "b.md", "content": "same\n" }));
    assert_eq!((&same["pushed"], &same["git_error"]), (&json!(true), &Value::Null), "{same}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// An earlier change that the remote does not take stays on disk.
#[test]
fn a_change_that_the_remote_does_not_take_keeps_no_other_from_being_committed() {
    let repository = Repository::with(&[("a.md", "a\n"), ("b.md", "b\n")]);
    hook(
        &repository.remote(),
        "pre-receive",
        "while read old new name; do git diff --name-only $old $new | grep -q b.md && exit 1; \
         done; exit 0",
    );
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    let edit = |path: &str| json!({ "path": path, "content": "ours\n" });
    assert!(server.call("vault_write", edit("b.md"))["git_error"].is_string());
    repository.pushed_by_another(&repository.clone("other"), "a.md", "theirs\n");
    let refused = server.fail("vault_write", edit("a.md"));
    assert!(
        refused["code"] == "CONFLICT"
            && refused["message"].as_str().unwrap().contains("a.md was changed on the remote"),
        "{refused}"
    );
    assert_eq!(repository.folder.read("a.md"), b"theirs\n");
    std::fs::remove_file(repository.remote().join("hooks/pre-receive")).unwrap();
    assert_eq!(server.call("vault_write", edit("c.md"))["pushed"], true);
    assert_eq!(repository.git(&["show", "--format=", "--name-only", "HEAD"]), "c.md\n");
    assert_eq!(repository.git(&["status", "--porcelain"]), " M b.md\n");
}

/// A file whose commit failed, and which is a named pipe now: whoever opens that waits for its
/// writer.
#[test]
fn a_named_pipe_in_the_place_of_a_file_holds_up_no_call() {
    let repository = Repository::with(&[("p.md", "p\n"), ("n.md", "n\n")]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let away = repository.remote().with_extension("away");
    std::fs::rename(repository.remote(), &away).unwrap();
    assert!(
        server.call("vault_insert", json!({ "path": "p.md", "text": "more" }))["git_error"]
            .is_string()
    );
    let pipe = repository.folder.vault().join("p.md");
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::rename(away, repository.remote()).unwrap();
    let done = server.call("vault_insert", json!({ "path": "n.md", "text": "more" }));
    assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &Value::Null), "{done}");
    assert_eq!(repository.at_remote(&["show", "--format=", "--name-only", "main"]), "n.md\n");
}

/// Another note of the same name is neither deleted nor overwritten, nor is its history shown.
#[test]
fn the_path_of_a_deleted_note_means_no_other_note() {
    let repository = Repository::with(&[
        ("Plan.md", "mine\n"),
        ("Archive/Plan.md", "archived\n"),
        (".gitignore", "tmp.md\n"),
    ]);
    let server = repository.serve();
    let first = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let call = |tool: &str, arguments: Value| outcome(&server, tool, arguments);
    assert_eq!(call("vault_delete_file", json!({ "path": "Plan.md" }))["deleted"], true);
    for path in ["Plan.md", "tmp.md", "Archive/Plan.md/x.md"] {
        assert_eq!(
            call("vault_delete_file", json!({ "path": path }))["error"]["code"],
            "FILE_NOT_FOUND",
            "{path}"
        );
    }
    assert_eq!(repository.folder.read("Archive/Plan.md"), b"archived\n");
    let changes = call("vault_history", json!({ "path": "Plan.md" }));
    assert_eq!(changes["versions"][0]["change"], "deleted", "{changes}");
    let restored = call("vault_restore", json!({ "path": "Plan.md", "version": first }));
    assert_eq!(
        (&restored["path"], repository.folder.read("Plan.md")),
        (&json!("Plan.md"), b"mine\n".to_vec()),
        "{restored}"
    );
    assert_eq!(repository.folder.read("Archive/Plan.md"), b"archived\n");
}

/// A commit has files as they are on disk: another call must not have changed them meanwhile.
#[test]
fn calls_at_the_same_time_have_commits_of_their_own() {
    let repository = Repository::with(&[("a.md", "#tag\n"), ("b.md", "#tag\n")]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let read = |path: &str| std::fs::read_to_string(repository.folder.vault().join(path)).unwrap();
    // As another program of the same tools.
    let lock =
        std::fs::File::create(repository.folder.vault().join(".neurostack-write.lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let first =
            scope.spawn(|| server.call("vault_insert", json!({ "path": "a.md", "text": "more" })));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!read("a.md").contains("more"), "another program of these tools is at work");
        let second = scope
            .spawn(|| server.call("vault_rename_tag", json!({ "path": "tag", "to": "label" })));
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(lock);
        for done in [first.join().unwrap(), second.join().unwrap()] {
            assert!(done["pushed"] == true && done["commit_sha"].is_string(), "{done}");
        }
    });
    let shown = repository.at_remote(&["log", "-2", "--format=%s", "--name-only", "main"]);
    let (insert, tag) =
        ("vault_insert: a.md\n\na.md\n", "vault_rename_tag: a.md and 1 more\n\na.md\nb.md\n");
    assert!([format!("{tag}{insert}"), format!("{insert}{tag}")].contains(&shown), "{shown}");
}

/// What the remote has got in another way is no longer to be committed: a person may go on writing
/// in it.
#[test]
fn a_file_that_the_remote_has_already_is_committed_by_no_later_call() {
    let repository = Repository::with(&[("a.md", "a\n")]);
    let other = repository.clone("other");
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    let url = repository.git(&["remote", "get-url", "origin"]);
    repository.git(&["remote", "set-url", "origin", "/nowhere"]);
    assert!(
        server.call("vault_write", json!({ "path": "n.md", "content": "same\n" }))["git_error"]
            .is_string()
    );
    repository.git(&["remote", "set-url", "origin", url.trim()]);
    repository.pushed_by_another(&other, "n.md", "same\n");
    let done = server.call("vault_write", json!({ "path": "b.md", "content": "b" }));
    assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &Value::Null), "{done}");
    repository.write("n.md", "a person goes on\n");
    server.call("vault_write", json!({ "path": "c.md", "content": "c" }));
    assert_eq!(repository.git(&["status", "--porcelain"]), " M n.md\n");
}

/// A login for some folders has no tool of toolset git, but that of toolset notes.
#[test]
fn a_limited_login_can_restore_what_it_replaced() {
    let repository = Repository::with(&[("Inbox/a.md", "first\n"), ("P.canvas", "{}\n")]);
    let state = repository.folder.path().join("state");
    let limited = format!("{TOKEN}-limited");
    let hash = |token: &str| vault_sync_mcp::secret::SecretHash::of(token).to_hex();
    let tokens = format!("limited:{}:write=Inbox/,all:{}", hash(&limited), hash(TOKEN));
    let settings = [
        ("TOOLSETS", "vault,notes,git"),
        ("STATE_DIR", state.to_str().unwrap()),
        ("API_TOKENS", &*tokens),
    ];
    let server = repository.serve_with(&settings);
    let call = |tool: &str, arguments: Value| {
        let message = request("tools/call", json!({ "name": tool, "arguments": arguments }));
        server.post_with(&limited, "", &message).json()["result"]["structuredContent"].clone()
    };
    let written = call("vault_write", json!({ "path": "Inbox/a.md", "content": "second\n" }));
    let restored =
        call("vault_restore", json!({ "path": "Inbox/a.md", "version": written["previous"] }));
    assert_eq!(
        (&restored["path"], repository.folder.read("Inbox/a.md")),
        (&json!("Inbox/a.md"), b"first\n".to_vec()),
        "{restored}"
    );
    // That of git restores every file that tools change.
    let written = server.call("vault_write", json!({ "path": "P.canvas", "content": "" }));
    server.call("vault_restore", json!({ "path": "/P.canvas", "version": written["previous"] }));
    assert_eq!(repository.folder.read("P.canvas"), b"{}\n");
}

#[test]
fn the_history_has_merges_and_names_in_any_unicode_form() {
    let nfd = "U\u{308}ber.md";
    let repository = Repository::with(&[("n.md", "one\n\n\n\n\nten\n"), (nfd, "first\n")]);
    let vault = repository.folder.vault();
    repository.git(&["switch", "-q", "-c", "phone"]);
    repository.write("n.md", "one\n\n\n\n\nTEN\n");
    repository.git(&["commit", "-qam", "phone"]);
    repository.git(&["switch", "-q", "main"]);
    repository.write("n.md", "ONE\n\n\n\n\nten\n");
    repository.git(&["commit", "-qam", "laptop"]);
    git(&vault, &["merge", "-q", "--no-edit", "phone"]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    server.call("vault_write", json!({ "path": "n.md", "content": "all new\n" }));
    let versions = server.call("vault_history", json!({ "path": "n.md" }))["versions"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(versions.len(), 5, "{versions:?}");
    server.call("vault_restore", json!({ "path": "n.md", "version": versions[1]["version"] }));
    assert_eq!(std::fs::read_to_string(vault.join("n.md")).unwrap(), "ONE\n\n\n\n\nTEN\n");
    server.call("vault_insert", json!({ "path": "Über.md", "text": "second" }));
    let versions = server.call("vault_history", json!({ "path": "Über.md" }))["versions"]
        .as_array()
        .unwrap()
        .clone();
    server.call("vault_restore", json!({ "path": "Über.md", "version": versions[1]["version"] }));
    assert_eq!(std::fs::read_to_string(vault.join(nfd)).unwrap(), "first\n");
}

/// A note that was committed more often than an answer shows: `next_cursor` leads to its first
/// version.
#[test]
fn a_long_history_is_paged_to_its_beginning() {
    let repository = Repository::with(&[("a.md", "0\n")]);
    let path = repository.folder.vault().join("a.md");
    let count = vault_sync_mcp::limits::GIT_VERSIONS + 20;
    for n in 1..count {
        std::fs::write(&path, format!("{n}\n")).unwrap();
        repository.git(&["commit", "-qam", &format!("version {n}")]);
    }
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..10 {
        let page = server.call(
            "vault_history",
            if cursor.is_null() {
                json!({ "path": "a.md" })
            } else {
                json!({ "path": "a.md", "cursor": cursor })
            },
        );
        seen.extend(
            page["versions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|version| version["version"].as_str().unwrap().to_owned()),
        );
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let all: Vec<String> =
        repository.git(&["log", "--format=%H"]).lines().map(str::to_owned).collect();
    assert_eq!(seen, all);
}

/// A file that is gone comes back at its path, and not in place of another of its name.
#[cfg(feature = "notes")]
#[test]
fn a_version_of_a_commit_goes_to_the_path_that_was_given() {
    let repository = Repository::with(&[("a.png", "one"), ("other/a.png", "two")]);
    let first = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.git(&["rm", "-q", "a.png"]);
    repository.write("other/a.png", "three");
    repository.git(&["commit", "-qam", "later"]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    let done = server.call("vault_restore", json!({ "path": "a.png", "version": first }));
    assert_eq!(done["path"], "a.png");
    assert_eq!(repository.folder.read("a.png"), b"one");
    assert_eq!(repository.folder.read("other/a.png"), b"three");
}
