//! What attacks on toolset `git` found, each test named after it; and repositories of kinds that
//! few people have.

use crate::git::{belongings, busy, hook, note, outcome, write};
use crate::support::repository::{Repository, git};
use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::path::Path;

/// What git itself overwrites without a message stays.
#[test]
fn ignored_and_staged_files_are_not_overwritten_by_files_of_the_remote() {
    let repository = busy();
    repository.write("ignored/x.md", "a person's\n");
    repository.write("build/keep.txt", "a person's\n");
    std::fs::write(repository.folder.vault().join(".git/info/exclude"), "build/\n").unwrap();
    let clone = repository.clone("another");
    for (path, words) in [("ignored/x.md", "ignored/x.md"), ("build", "build")] {
        std::fs::write(clone.join(".git/info/exclude"), "").unwrap();
        let on_disk = clone.join(path);
        std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        std::fs::write(on_disk, "theirs\n").unwrap();
        git(&clone, &["add", "-f", path]);
        git(&clone, &["commit", "-q", "-m", path]);
        git(&clone, &["push", "-q"]);
        let (before, server) = (belongings(&repository, &[]), repository.serve());
        let refused = write(&server, "ours.md", "new");
        assert!(
            refused["error"]["message"].as_str().unwrap().contains(words)
                && refused["written"] == false,
            "{refused}"
        );
        assert_eq!(belongings(&repository, &[]), before, "{path}");
        git(&clone, &["rm", "-q", path]);
        git(&clone, &["commit", "-q", "-m", "away"]);
        git(&clone, &["push", "-q"]);
    }
    // Before the first commit, with files staged.
    let empty = Folder::with(&[("mine.md", b"a person's\n")]);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "S"],
        &["config", "user.email", "s@example.com"],
        &["add", "mine.md"],
    ] {
        git(&empty.vault(), arguments);
    }
    git(&empty.vault(), &["remote", "add", "origin", repository.remote().to_str().unwrap()]);
    let done = write(&Server::with(&empty.vault(), &[("TOOLSETS", "git")]), "new.md", "x");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(empty.read("mine.md"), b"a person's\n");
    assert_eq!(git(&empty.vault(), &["diff", "--cached", "--name-status"]), "A\tmine.md\n");
}

#[test]
fn a_note_that_git_does_not_have_is_not_deleted() {
    let repository = Repository::with(&[("a.md", &note("a"))]);
    repository.write("untracked.md", "only here\n");
    repository.write("a.md", "changed\n");
    let server = repository.serve();
    for path in ["untracked.md", "a.md"] {
        let refused = outcome(&server, "vault_delete_file", json!({ "path": path }));
        assert!(
            refused["error"]["message"].as_str().unwrap().contains("uncommitted changes"),
            "{refused}"
        );
        let text = repository.folder.read(path);
        let etag = server.call("vault_read_file", json!({ "path": path }))["etag"].clone();
        let done = outcome(&server, "vault_delete_file", json!({ "path": path, "if_match": etag }));
        assert_eq!(done["deleted"], true, "{done}");
        assert_eq!(repository.folder.read(&format!(".trash/{path}")), text);
    }
}

#[test]
fn forged_messages_linked_locks_and_odd_names_change_nothing() {
    // A forged history.
    let repository = Repository::with(&[("a.md", &note("a"))]);
    let server = repository.serve();
    let forged = format!(
        "x\u{1}{}\u{2}Boss\u{2}2026-01-01T00:00:00Z\u{2}approved\n\nLogin: boss",
        "a".repeat(40)
    );
    outcome(
        &server,
        "vault_write_file",
        json!({ "path": "a.md", "content": note("b"), "commit_message": forged }),
    );
    let history = server.call("vault_history", json!({ "path": "a.md" }));
    let authors: Vec<&str> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| commit["by"].as_str().unwrap())
        .collect();
    assert_eq!(authors, ["all", "Person"], "the login, and the author of a commit that names none");
    // A lock file that leads elsewhere.
    let lock = repository.folder.vault().join(".neurostack-write.lock");
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(repository.folder.path().join("elsewhere"), &lock).unwrap();
    assert!(
        write(&server, "a.md", "c")["error"]["message"].as_str().unwrap().contains("is a link")
    );
    assert!(!repository.folder.path().join("elsewhere").exists());
    // A note whose line ends git does not count is clean.
    let repository = Repository::with(&[("crlf.md", &note("a").replace('\n', "\r\n"))]);
    repository.git(&["config", "core.autocrlf", "true"]);
    assert_eq!(write(&repository.serve(), "crlf.md", "new")["written"], true);
    // Line ends are converted as the attributes say.
    let attributes = Repository::with(&[
        ("ours.md", &note("a")),
        ("Folder/x.md", "x"),
        (".gitattributes", "*.md eol=crlf\n"),
    ]);
    let server = attributes.serve();
    let crlf = json!({ "path": "new.md", "content": note("b").replace('\n', "\r\n") });
    assert_eq!(outcome(&server, "vault_write_file", crlf)["pushed"], true);
    assert_eq!(attributes.git(&["status", "--porcelain", "new.md"]), "");
    assert!(
        write(&server, "folder/y.md", "x")["error"]["message"]
            .as_str()
            .unwrap()
            .contains("only in upper and lower case")
    );
    // A person's tag that was never pushed stays here.
    repository.git(&["tag", "-a", "-m", "mine", "mine"]);
    repository.git(&["config", "push.followTags", "true"]);
    assert_eq!(write(&repository.serve(), "crlf.md", "newer")["pushed"], true);
    assert_eq!(repository.at_remote(&["tag"]), "");
}

pub(crate) fn two() -> Repository {
    Repository::with(&[("a.md", &note("a")), ("b.md", &note("b"))])
}

pub(crate) fn words(refused: &Value) -> String {
    assert_eq!(refused["written"], false, "{refused}");
    refused["error"]["message"].as_str().unwrap().to_owned()
}

pub(crate) fn is_clean(repository: &Repository) {
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(
        repository.git(&["rev-parse", "HEAD"]),
        repository.at_remote(&["rev-parse", "main"])
    );
    assert!(!repository.folder.vault().join(".git/index.lock").exists());
}

/// Git takes for unchanged what it is set not to look at; the bytes are a person's all the same.
#[test]
fn a_change_that_git_does_not_see_is_not_overwritten() {
    let repository = two();
    repository.git(&["update-index", "--assume-unchanged", "a.md"]);
    repository.write("a.md", "a person's\n");
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("uncommitted changes"));
    assert_eq!(repository.folder.read("a.md"), b"a person's\n");
}

#[test]
fn without_a_remote_a_write_that_cannot_move_the_branch_is_refused() {
    let repository = two();
    repository.git(&["remote", "remove", "origin"]);
    // The branch may not move: a hook of the repository's for all its refs.
    hook(
        &repository.folder.vault().join(".git"),
        "reference-transaction",
        "! grep -q refs/heads/main",
    );
    let before = belongings(&repository, &[]);
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("git:"));
    assert_eq!(belongings(&repository, &[]), before);
    assert_eq!(outcome(&server, "vault_delete_file", json!({ "path": "b.md" }))["deleted"], false);
    assert_eq!(belongings(&repository, &[]), before);
    std::fs::remove_file(repository.folder.vault().join(".git/hooks/reference-transaction"))
        .unwrap();
    assert_eq!(write(&server, "a.md", "new")["written"], true);
    assert_eq!(repository.git(&["log", "--format=%s"]).lines().count(), 2);
}

/// A person's `git push --force-with-lease` trusts it.
#[test]
fn the_remote_tracking_branch_is_not_moved() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "x.md", "x");
    let before = repository.git(&["rev-parse", "origin/main"]);
    hook(
        &repository.folder.vault().join(".git"),
        "pre-push",
        "test ! -e .git/once && touch .git/once",
    );
    let refused = write(&repository.serve(), "a.md", "new");
    assert_eq!(refused["written"], false, "the push after the fetch was refused: {refused}");
    assert_eq!(repository.git(&["rev-parse", "origin/main"]), before);
}

#[test]
fn a_link_instead_of_a_folder_is_not_replaced() {
    let repository = Repository::with(&[("a.md", &note("a")), ("d/x.txt", "x"), ("d/y.txt", "y")]);
    let vault = repository.folder.vault();
    let elsewhere = repository.folder.path().join("elsewhere");
    std::fs::rename(vault.join("d"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, vault.join("d")).unwrap();
    repository.pushed_by_another(&repository.clone("another"), "d/x.txt", "theirs");
    assert!(words(&write(&repository.serve(), "a.md", "new")).contains("behind a link"));
    assert!(vault.join("d").is_symlink());
    assert_eq!(std::fs::read(elsewhere.join("x.txt")).unwrap(), b"x");
}

#[test]
fn a_file_with_another_time_stamp_blocks_no_write() {
    let repository = two();
    let server = repository.serve();
    assert_eq!(write(&server, "a.md", "ours")["pushed"], true);
    let clone = repository.clone("another");
    repository.pushed_by_another(&clone, "a.md", &note("theirs"));
    assert_eq!(write(&server, "b.md", "ours")["pushed"], true, "nothing is changed here");
    repository.write("a.md", &note("theirs"));
    repository.pushed_by_another(&clone, "a.md", &note("theirs again"));
    assert_eq!(write(&server, "b.md", "more")["pushed"], true);
    assert_eq!(repository.folder.read("a.md"), note("theirs again").as_bytes());
    is_clean(&repository);
}

/// What could not be moved here afterwards is not pushed, and other notes can be written.
#[test]
fn a_note_that_cannot_be_written_blocks_no_other() {
    use std::os::unix::fs::PermissionsExt;
    let repository = two();
    let vault = repository.folder.vault();
    std::fs::set_permissions(vault.join("a.md"), std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::write(vault.join("x"), "a file").unwrap();
    std::fs::create_dir(vault.join("s.md")).unwrap();
    repository.write("s.md/staged.md", "staged");
    repository.git(&["add", "s.md"]);
    let server = repository.serve();
    let large = "x".repeat(11 * 1024 * 1024);
    for (path, text, code) in [
        ("a.md", "new", "READ_ONLY"),
        ("n.md", &large, "TOO_LARGE"),
        ("x/y.md", "new", "PATH_NOT_ALLOWED"),
        ("s.md", "new", "PATH_NOT_ALLOWED"),
        ("s.md/staged.md/z.md", "new", "PATH_NOT_ALLOWED"),
    ] {
        let refused = write(&server, path, text);
        assert_eq!(
            (&refused["error"]["code"], &refused["written"], &refused["pushed"]),
            (&json!(code), &json!(false), &json!(false)),
            "{path}"
        );
    }
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "1");
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
}

#[test]
fn a_message_changed_by_a_hook_is_kept_when_the_remote_has_news() {
    let repository = two();
    hook(
        &repository.folder.vault().join(".git"),
        "commit-msg",
        "printf '\\nChange-Id: I1\\n' >> \"$1\"",
    );
    repository.pushed_by_another(&repository.clone("another"), "x.md", "x");
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    assert!(repository.at_remote(&["log", "-1", "--format=%B", "main"]).contains("Change-Id: I1"));
}

/// A file that is no longer in the index is its owner's, whatever the remote does with the one of
/// that name.
#[test]
fn a_file_taken_out_of_the_index_is_not_deleted() {
    for ignored in [false, true] {
        let repository = Repository::with(&[
            ("a.md", &note("a")),
            ("workspace.json", "{}"),
            ("other.json", "{}"),
        ]);
        let clone = repository.clone("another");
        repository.git(&["rm", "-q", "--cached", "workspace.json", "other.json"]);
        if ignored {
            std::fs::write(repository.folder.vault().join(".git/info/exclude"), "*.json\n")
                .unwrap();
        }
        git(&clone, &["rm", "-q", "workspace.json"]);
        git(&clone, &["commit", "-q", "-m", "gone"]);
        git(&clone, &["push", "-q"]);
        let refused = words(&write(&repository.serve(), "a.md", "new"));
        assert!(refused.contains("workspace.json"), "{refused}");
        assert_eq!(
            (repository.folder.read("workspace.json"), repository.folder.read("other.json")),
            (b"{}".to_vec(), b"{}".to_vec())
        );
        assert_eq!(
            repository.git(&["diff", "--cached", "--name-status"]),
            "D\tother.json\nD\tworkspace.json\n"
        );
        // As git says.
        std::fs::remove_file(repository.folder.vault().join("workspace.json")).unwrap();
        assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
        assert_eq!(repository.git(&["diff", "--cached", "--name-status"]), "D\tother.json\n");
    }
}

/// What the caller has read and replaces is agreed on, also when the remote has something else that
/// is new.
#[test]
fn a_note_replaced_with_if_match_blocks_no_later_write() {
    let repository = two();
    let clone = repository.clone("another");
    let server = repository.serve();
    repository.write("a.md", &note("a person's"));
    repository.write("u.md", &note("untracked"));
    for (path, news) in [("a.md", "n.md"), ("u.md", "m.md")] {
        repository.pushed_by_another(&clone, news, "news");
        let etag = server.call("vault_read_file", json!({ "path": path }))["etag"].clone();
        let done = outcome(
            &server,
            "vault_write_file",
            json!({ "path": path, "content": note("joined"), "if_match": etag }),
        );
        assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &Value::Null), "{done}");
        assert_eq!(repository.folder.read(path), note("joined").as_bytes());
    }
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// To git, visible notes could make the vault's folder a bare repository, whose configuration names
/// programs.
#[test]
fn notes_named_as_parts_of_a_repository_run_no_program() {
    let top = Folder::with(&[("notes/n.md", note("n").as_bytes()), ("dotfile", b"x")]);
    let (top, vault) = (top.vault(), top.vault().join("notes"));
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "S"],
        &["config", "user.email", "s@example.com"],
        &["add", "-A"],
    ] {
        git(&top, arguments);
    }
    git(&top, &["commit", "-q", "-m", "1"]);
    for started_before in [true, false] {
        let mut server = started_before.then(|| Server::with(&vault, &[("TOOLSETS", "vault,git")]));
        if let Some(server) = &server {
            assert_eq!(write(server, "first.md", "x")["written"], true);
        }
        let proof = top.join("proof");
        let config = format!(
            "[core]\n\tbare = false\n\tworktree = .\n\tattributesFile = \
             {}/attr.txt\n[user]\n\tname = x\n\temail = x@x\n[filter \"x\"]\n\tclean = touch {}; \
             cat\n",
            vault.display(),
            proof.display()
        );
        for (path, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("objects/a.md", "x"),
            ("refs/a.md", "x"),
            ("config", &*config),
            ("attr.txt", "* filter=x\n"),
        ] {
            let on_disk = vault.join(path);
            std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
            std::fs::write(on_disk, text).unwrap();
        }
        let server =
            server.take().unwrap_or_else(|| Server::with(&vault, &[("TOOLSETS", "vault,git")]));
        assert_eq!(write(&server, &format!("new {started_before}.md"), "x")["written"], true);
        assert!(!proof.exists());
    }
    assert_eq!(
        git(&top, &["ls-files", "notes"]),
        "notes/first.md\nnotes/n.md\nnotes/new false.md\nnotes/new true.md\n"
    );
}

/// Why the server does not start with toolset `git`.
fn refusal_to_serve(vault: &Path) -> String {
    let arguments = [
        "serve",
        "--toolsets",
        "git",
        "--listen-addr",
        "127.0.0.1:0",
        "--server-url",
        "http://localhost:1",
    ];
    let token = "a:0000000000000000000000000000000000000000000000000000000000000000";
    let path = std::env::var("PATH").unwrap();
    let settings =
        [("VAULT_PATH", vault.to_str().unwrap()), ("API_TOKENS", token), ("PATH", &path)];
    String::from_utf8_lossy(&crate::commands::run(&arguments, &settings, "").stderr).into_owned()
}

/// With its own repository damaged, as a power cut may do, a write is refused; the repository above
/// gets nothing.
#[test]
fn notes_of_a_damaged_repository_do_not_go_to_the_one_above() {
    let home = Repository::with(&[("dotfile", "x")]);
    let vault = home.folder.vault().join("vault");
    std::fs::create_dir(&vault).unwrap();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "S"],
        &["config", "user.email", "s@example.com"],
    ] {
        git(&vault, arguments);
    }
    let server = Server::with(&vault, &[("TOOLSETS", "git")]);
    assert_eq!(write(&server, "a.md", "x")["written"], true);
    std::fs::write(vault.join(".git/HEAD"), "").unwrap();
    let refused = write(&server, "secret.md", "x");
    assert_eq!(refused["written"], false, "{refused}");
    drop(server);
    let shown = refusal_to_serve(&vault);
    assert!(shown.contains("takes another one above"), "{shown}");
    assert!(!vault.join("secret.md").exists());
    assert!(!home.at_remote(&["ls-tree", "-r", "--name-only", "main"]).contains("secret"));
}

/// `rolled_back` is for what was committed; a note that is not UTF-8 is marked as `lossy`.
#[test]
fn a_refusal_is_not_reported_as_rolled_back() {
    let repository = Repository::with(&[("a.md", &note("a"))]);
    std::fs::write(repository.folder.vault().join("latin.md"), b"---\ndate: 1\n---\ncaf\xe9\n")
        .unwrap();
    repository.write("quotes.md", &"\"\n".repeat(60_000));
    let server = repository.serve();
    let refused = outcome(
        &server,
        "vault_write_file",
        json!({ "path": "a.md", "content": note("new"), "if_match": "dead" }),
    );
    assert_eq!(
        (&refused["error"]["code"], &refused["rolled_back"]),
        (&json!("CONFLICT"), &json!(false)),
        "{refused}"
    );
    assert_eq!(
        refused["error"]["etag"],
        server.call("vault_read_file", json!({ "path": "a.md" }))["etag"]
    );
    assert_eq!(server.call("vault_read_file", json!({ "path": "latin.md" }))["lossy"], true);
    // As JSON every character of this one takes two.
    let mut whole = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let part =
            server.result("vault_read_file", json!({ "path": "quotes.md", "offset": offset }));
        assert!(part["structuredContent"].to_string().len() < 100_000);
        whole += part["structuredContent"]["content"].as_str().unwrap();
        offset = part["structuredContent"]["next_offset"].clone();
    }
    assert_eq!(whole.as_bytes(), repository.folder.read("quotes.md"));
}

/// Files below `.git` are git's own.
#[test]
fn a_vault_inside_the_repository_folder_is_refused() {
    let repository = two();
    let vault = repository.folder.vault().join(".git/notes");
    std::fs::create_dir(&vault).unwrap();
    let shown = refusal_to_serve(&vault);
    assert!(shown.contains("not in its working tree"), "{shown}");
}
