//! Toolset `git`: what hooks see, what a delete keeps, and how a refusal is reported.

use crate::git::{belongings, hook, note, outcome, write};
use crate::support::eventually;
use crate::support::repository::Repository;
use crate::support::{TOKEN, mcp_head};
use serde_json::json;

fn with_hook(script: &str) -> Repository {
    let repository = Repository::with(&[("ours.md", &note("as it was"))]);
    hook(&repository.folder.vault().join(".git"), "pre-commit", script);
    repository
}

#[test]
fn a_pre_commit_hook_sees_what_is_committed_in_the_index() {
    let repository = with_hook("! git grep --cached -q forbidden");
    let before = belongings(&repository, &[]);
    let server = repository.serve();
    for path in ["ours.md", "new folder/new.md"] {
        let refused = write(&server, path, "a forbidden word");
        assert!(
            refused["git_error"].as_str().unwrap().contains("pre-commit hook refused"),
            "{refused}"
        );
        assert_eq!(belongings(&repository, &[]), before, "{path}");
        assert!(
            !repository.folder.vault().join("new folder").exists()
                && !repository.folder.vault().join(".trash").exists()
        );
    }
    assert_eq!(write(&server, "ours.md", "an allowed word")["pushed"], true);
    assert_eq!(repository.folder.read("ours.md"), note("an allowed word").as_bytes());
    // The reverse: what goes does not exist any more.
    repository.write("bad.md", &note("forbidden"));
    repository.git(&["add", "bad.md"]);
    repository.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "bad"]);
    assert_eq!(outcome(&server, "vault_delete_file", json!({ "path": "bad.md" }))["deleted"], true);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// As husky 9 has them: a folder that git ignores. Some hooks refuse to run inside `.git`.
#[test]
fn a_hook_of_an_ignored_folder_runs_outside_the_repository_folder() {
    let repository =
        Repository::with(&[("ours.md", &note("as it was")), (".gitignore", ".husky\n")]);
    let script =
        "test \"$(git rev-parse --is-inside-git-dir)\" = false && ! git grep --cached -q forbidden";
    hook(&repository.folder.vault().join(".husky"), "pre-commit", script);
    repository.git(&["config", "core.hooksPath", ".husky/hooks"]);
    let server = repository.serve();
    let refused = write(&server, "ours.md", "forbidden");
    assert!(
        refused["git_error"]
            .as_str()
            .unwrap()
            .contains("pre-commit hook refused: it did not say why"),
        "{refused}"
    );
    assert_eq!(write(&server, "ours.md", "allowed")["pushed"], true);
}

/// A file that a hook refuses does not keep later changes from being committed.
#[test]
fn one_refused_file_does_not_block_the_commits_of_others() {
    let repository = with_hook("! git grep --cached -q forbidden");
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    let refused = server.call("vault_write", json!({ "path": "bad.md", "content": "forbidden" }));
    assert!(
        refused["git_error"].as_str().unwrap().contains("pre-commit hook refused"),
        "{refused}"
    );
    let good = server.call("vault_write", json!({ "path": "good.md", "content": "allowed" }));
    assert!(good["commit_sha"].is_string() && good["pushed"] == true, "{good}");
    server.call("vault_write", json!({ "path": "bad.md", "content": "allowed now" }));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// A commit of ours failed, and a person has committed that note and written a draft into it, or
/// deleted it, since: it is theirs.
#[test]
fn what_a_person_has_written_since_a_commit_failed_is_not_published() {
    let repository = Repository::with(&[
        ("n/3.md", &note("three")),
        ("n/4.md", &note("four")),
        ("n/5.md", &note("five")),
    ]);
    let vault = repository.folder.vault();
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    let url = repository.git(&["remote", "get-url", "origin"]);
    repository.git(&["remote", "set-url", "origin", "/nowhere"]);
    for path in ["n/3.md", "n/4.md"] {
        assert!(
            server.call("vault_write", json!({ "path": path, "content": "ours" }))["git_error"]
                .is_string()
        );
    }
    repository.git(&["remote", "set-url", "origin", url.trim()]);
    repository.git(&["commit", "-qam", "a person's"]);
    repository.git(&["push", "-q", "origin", "HEAD:main"]);
    std::fs::write(vault.join("n/3.md"), "a private draft\n").unwrap();
    std::fs::remove_file(vault.join("n/4.md")).unwrap();
    let done = server.call("vault_write", json!({ "path": "n/5.md", "content": "ours" }));
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.git(&["show", "--format=", "--name-only", "HEAD"]), "n/5.md\n");
    assert!(!repository.at_remote(&["show", "main:n/3.md"]).contains("draft"));
    assert_eq!(std::fs::read_to_string(vault.join("n/3.md")).unwrap(), "a private draft\n");
}

/// As hooks do that mend spaces and then refuse.
#[test]
fn a_note_is_as_it_was_after_a_hook_that_changes_it_and_refuses() {
    let repository = with_hook(
        "for name in ours.md new.md; do test ! -e $name || echo more >> $name; done; exit 1",
    );
    let server = repository.serve();
    for path in ["ours.md", "new.md"] {
        let before = std::fs::read(repository.folder.vault().join(path)).ok();
        let refused = write(&server, path, "new");
        assert!(
            refused["git_error"].as_str().unwrap().contains("pre-commit hook refused"),
            "{refused}"
        );
        assert_eq!(std::fs::read(repository.folder.vault().join(path)).ok(), before, "{path}");
    }
}

#[test]
fn killed_while_a_hook_runs_the_note_is_as_it_was() {
    let repository = with_hook("touch \"$GIT_DIR/started\"; sleep 5");
    let server = repository.serve();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write_file", "arguments": { "path": "ours.md", "content": note("new") } } }).to_string();
    let mut connection = server.connect();
    connection.send(format!(
        "{}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{call}",
        mcp_head(TOKEN, ""),
        call.len()
    ));
    eventually("the hook runs", || repository.folder.vault().join(".git/started").exists());
    assert_eq!(
        repository.folder.read("ours.md"),
        note("as it was").as_bytes(),
        "what is not published is not in the vault"
    );
    server.kill();
    let _server = repository.serve();
    assert_eq!(repository.folder.read("ours.md"), note("as it was").as_bytes());
    assert_eq!(repository.git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn a_note_that_is_not_committed_is_in_the_trash_when_it_is_deleted() {
    let repository = Repository::with(&[("ours.md", &note("as it was"))]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    repository.write("ours.md", &note("edited"));
    let refused = outcome(&server, "vault_delete_file", json!({ "path": "ours.md" }));
    assert_eq!(refused["error"]["code"], "CONFLICT", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("if_match"), "{refused}");
    let etag = server.call("vault_read", json!({ "path": "ours.md" }))["etag"].clone();
    let done =
        outcome(&server, "vault_delete_file", json!({ "path": "ours.md", "if_match": etag }));
    assert_eq!((&done["deleted"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(repository.folder.read(".trash/ours.md"), note("edited").as_bytes());
    assert!(!repository.folder.vault().join("ours.md").exists());
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_link_to_outside_is_refused_as_by_every_tool() {
    let repository = Repository::with(&[("ours.md", &note("x"))]);
    let outside = repository.folder.path().join("outside.md");
    std::fs::write(&outside, note("outside")).unwrap();
    std::os::unix::fs::symlink(&outside, repository.folder.vault().join("link.md")).unwrap();
    let server = repository.serve();
    for (tool, arguments) in [
        ("vault_write_file", json!({ "path": "link.md", "content": note("new") })),
        ("vault_delete_file", json!({ "path": "link.md" })),
    ] {
        assert_eq!(
            outcome(&server, tool, arguments)["error"]["code"],
            "PATH_NOT_ALLOWED",
            "{tool}"
        );
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), note("outside"));
}

#[test]
fn an_upper_case_commit_of_a_renamed_note_is_restored() {
    let repository = Repository::with(&[(
        "old.md",
        &note("a text that is long enough to be followed\nand more of it\n"),
    )]);
    let commit = repository.git(&["rev-parse", "HEAD"]).trim().to_uppercase();
    repository.git(&["mv", "old.md", "ours.md"]);
    repository.git(&["commit", "-q", "-m", "renamed"]);
    let text = std::fs::read_to_string(repository.folder.vault().join("ours.md")).unwrap();
    let server = repository.serve();
    write(&server, "ours.md", "something else");
    server.call("vault_restore", json!({ "path": "ours.md", "version": commit }));
    assert_eq!(repository.folder.read("ours.md"), text.as_bytes());
}

/// What a formatter leaves in the index is committed, and is on disk.
#[test]
fn a_pre_commit_hook_may_format_what_is_committed() {
    // As most do: the file on disk, then `git add`.
    let on_disk = "git diff --cached --name-only | while read -r name; do sed -i 's/ *$//' \
                   \"$name\"; git add \"$name\"; done";
    let repository = with_hook(on_disk);
    let server = repository.serve_with(&[("TOOLSETS", "vault,git")]);
    for round in ["one  ", "two  "] {
        let done = server.call("vault_write", json!({ "path": "draft.md", "content": round }));
        assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &json!(null)), "{done}");
        assert_eq!(repository.folder.read("draft.md"), round.trim().as_bytes());
        assert_eq!(repository.at_remote(&["show", "main:draft.md"]), round.trim());
    }
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    // The new text of a tool of git is not on disk yet: its old one must not be committed for it.
    repository.write("ours.md", &note("as it was  "));
    repository.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "a person's"]);
    let refused = write(&server, "ours.md", "new");
    assert!(refused["git_error"].as_str().unwrap().contains("work on the index"), "{refused}");
    assert_eq!(repository.folder.read("ours.md"), note("as it was  ").as_bytes());
    assert_eq!(repository.git(&["diff", "--cached", "--name-only"]), "");
    // A formatter of the index.
    let repository = with_hook(
        "blob=$(git show :ours.md | sed 's/ *$//' | git hash-object -w --stdin); git update-index \
         --cacheinfo 100644,$blob,ours.md",
    );
    let done = write(&repository.serve(), "ours.md", "new  ");
    assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &json!(null)), "{done}");
    assert_eq!(repository.folder.read("ours.md"), note("new").as_bytes());
    assert_eq!(repository.at_remote(&["show", "main:ours.md"]), note("new"));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}
