//! Toolset `git`, with the real git and real remotes: what is committed and pushed, and that
//! nothing of anybody else's is touched, whatever happens and wherever it is killed.

use crate::support::Server;
use crate::support::repository::Repository;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const NOTE: &str = "---\ndate: 2026-02-08\ntags: []\ntype: note\n---\n";

pub(crate) fn note(text: &str) -> String {
    format!("{NOTE}{text}\n")
}

pub(crate) fn write(server: &Server, path: &str, text: &str) -> Value {
    outcome(server, "vault_write_file", json!({ "path": path, "content": note(text) }))
}

/// The members of a result, or of a failure with its error.
pub(crate) fn outcome(server: &Server, tool: &str, arguments: Value) -> Value {
    let result = server.result(tool, arguments);
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// All that a person has in a repository, but for one note of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Belongings {
    files: BTreeMap<String, Vec<u8>>,
    index: Vec<String>,
    stash: String,
    status: Vec<String>,
}

pub(crate) fn belongings(repository: &Repository, but: &[&str]) -> Belongings {
    let mut files = BTreeMap::new();
    let mut open = vec![repository.folder.vault()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name =
                path.strip_prefix(repository.folder.vault()).unwrap().to_str().unwrap().to_owned();
            if name == ".git" || name == ".neurostack-write.lock" || but.contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let ours = |line: &&str| {
        !but.iter().any(|name| line.ends_with(name)) && !line.ends_with(".neurostack-write.lock")
    };
    let lines = |text: String| text.split('\0').filter(ours).map(str::to_owned).collect::<Vec<_>>();
    Belongings {
        files,
        index: lines(repository.git(&["ls-files", "-s", "-z"])),
        stash: repository.git(&["stash", "list"]),
        status: lines(repository.git(&["status", "--porcelain", "-z", "--no-renames"])),
    }
}

/// A repository in which a person is in the middle of everything.
pub(crate) fn busy() -> Repository {
    let repository = Repository::with(&[
        ("ours.md", &note("as it was")),
        ("staged.md", "a\n"),
        ("both.md", "a\n"),
        ("changed.md", "a\n"),
        ("deleted.md", "a\n"),
        ("removed.md", "a\n"),
        ("stashed.md", "a\n"),
        ("quiet.md", "a\n"),
        (".gitignore", "ignored/\n"),
    ]);
    repository.write("stashed.md", "put away\n");
    repository.git(&["stash", "-q"]);
    repository.write("staged.md", "staged\n");
    repository.write("both.md", "staged\n");
    repository.write("new staged.md", "staged\n");
    repository.git(&["add", "staged.md", "both.md", "new staged.md"]);
    repository.git(&["rm", "-q", "removed.md"]);
    repository.write("both.md", "and changed again\n");
    repository.write("changed.md", "changed\n");
    std::fs::remove_file(repository.folder.vault().join("deleted.md")).unwrap();
    repository.write("untracked.md", "new\n");
    repository.write("ignored/x.md", "ignored\n");
    repository
}

pub(crate) fn hook(on_disk: &Path, name: &str, script: &str) {
    let file = on_disk.join("hooks").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A git that kills the server at its n-th run, before or after it has done its work.
pub(crate) fn deadly_git(folder: &Path, at: usize, after: bool) -> String {
    let bin = folder.join("bin");
    let real = String::from_utf8(
        std::process::Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout,
    )
    .unwrap();
    let script = format!(
        "#!/bin/sh\nn=$(cat {0}/count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > \
         {0}/count\nif [ $n -eq {at} ] && [ -e {0}/armed ]; then {1}kill -9 $PPID; exit 1; \
         fi\nexec {2} \"$@\"\n",
        folder.display(),
        if after { format!("{} \"$@\"; ", real.trim()) } else { String::new() },
        real.trim()
    );
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", bin.display())
}

#[test]
fn a_write_is_one_commit_of_one_path_that_the_remote_has() {
    let repository = busy();
    let before = belongings(&repository, &["ours.md", "sub/new note.md"]);
    let server = repository.serve();
    let done = write(&server, "ours.md", "new");
    let head = repository.git(&["rev-parse", "HEAD"]);
    assert_eq!(done["commit_sha"], head.trim());
    assert_eq!(repository.at_remote(&["rev-parse", "main"]), head);
    assert_eq!(
        repository.git(&["show", "--format=%an <%ae> %s", "--name-status", "HEAD"]),
        "Server <server@example.com> vault_write_file: ours.md (via MCP)\n\nM\tours.md\n"
    );
    let expected = json!({ "path": "ours.md", "written": true, "created": false, "bytes_written": note("new").len(), "pushed": true, "rolled_back": false, "no_changes": false, "index_update_needed": false, "index_hint": "" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&done[name], value, "{name}: {done}");
    }
    assert_eq!(repository.folder.read("ours.md"), note("new").as_bytes());
    assert_eq!(repository.git(&["status", "--porcelain", "ours.md"]), "", "clean");
    let again = write(&server, "ours.md", "new");
    assert!(again.get("commit_sha").is_some() && again.get("git_error").is_some(), "null: {again}");
    assert_eq!(
        (&again["no_changes"], &again["written"], &again["commit_sha"]),
        (&json!(true), &json!(true), &Value::Null)
    );
    let created = outcome(
        &server,
        "vault_write_file",
        json!({ "path": "sub/new note.md", "content": note("ä 🎻"), "commit_message": "My words\n\nand more" }),
    );
    assert_eq!((&created["created"], &created["pushed"]), (&json!(true), &json!(true)));
    assert_eq!(
        repository.at_remote(&["log", "-1", "--format=%B", "main"]).trim(),
        "My words\n\nand more\n\nTool: vault_write_file\nLogin: all"
    );
    let deleted = outcome(&server, "vault_delete_file", json!({ "path": "sub/new note.md" }));
    assert_eq!((&deleted["deleted"], &deleted["pushed"]), (&json!(true), &json!(true)));
    assert!(!repository.folder.vault().join("sub/new note.md").exists());
    assert_eq!(repository.at_remote(&["ls-tree", "-r", "--name-only", "main", "sub"]), "");
    assert_eq!(
        belongings(&repository, &["ours.md", "sub/new note.md"]),
        before,
        "all that a person had is as it was"
    );
    assert_eq!(repository.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn paths_and_frontmatter_are_checked_as_in_the_source() {
    let repository = Repository::with(&[("a.md", &note("a"))]);
    let server = repository.serve();
    for path in [
        "/a.md",
        "../a.md",
        "x/../a.md",
        "./a.md",
        "x//a.md",
        ".git/x.md",
        "x/.hidden.md",
        "a.txt",
        "",
        "x\ny.md",
        "a.md/",
    ] {
        for (tool, arguments) in [
            ("vault_write_file", json!({ "path": path, "content": note("x") })),
            ("vault_read_file", json!({ "path": path })),
            ("vault_delete_file", json!({ "path": path })),
        ] {
            assert_eq!(server.fail(tool, arguments)["code"], "PATH_NOT_ALLOWED", "{tool} {path:?}");
        }
    }
    for (content, words) in [
        ("no frontmatter", "must begin with frontmatter"),
        ("---\ndate: 1\n", "must begin with frontmatter"),
        ("---\n[1]\n---\n", "not a mapping"),
        ("---\na: [\n---\n", "not valid YAML at line"),
        ("---\ntags: []\n---\n", "date, type"),
        ("---\ndate:\ntags: ~\ntype: ''\n---\n", "date, tags (empty"),
    ] {
        let error = server.fail("vault_write_file", json!({ "path": "n.md", "content": content }));
        assert!(
            error["code"] == "INVALID_ARGUMENT"
                && error["message"].as_str().unwrap().contains(words),
            "{content:?}: {error}"
        );
    }
    assert_eq!(repository.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    std::os::unix::fs::symlink("a.md", repository.folder.vault().join("link.md")).unwrap();
    assert!(
        write(&server, "link.md", "x")["error"]["message"]
            .as_str()
            .unwrap()
            .contains("symbolic link")
    );
}

#[test]
fn notes_are_read_and_listed() {
    let repository = Repository::with(&[
        ("a.md", &note("a")),
        ("sub/b.md", &note("ä🎻ö")),
        ("sub/deep/c.md", "c"),
        ("sub/x.txt", "x"),
        (".hidden/d.md", "d"),
    ]);
    let server = repository.serve();
    let names = |arguments: Value| {
        let files = server.call("vault_list_files", arguments)["files"].clone();
        files
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(json!({})), ["a.md", "sub/b.md", "sub/deep/c.md"]);
    assert_eq!(names(json!({ "recursive": false })), ["a.md"]);
    assert_eq!(names(json!({ "directory": "sub" })), ["sub/b.md", "sub/deep/c.md"]);
    assert_eq!(names(json!({ "directory": "sub/", "pattern": "[a-b]*.md" })), ["sub/b.md"]);
    assert_eq!(names(json!({ "pattern": "sub/*.md" })), ["sub/b.md"]);
    assert_eq!(
        server.fail("vault_list_files", json!({ "directory": "../x" }))["code"],
        "PATH_NOT_ALLOWED"
    );
    assert_eq!(
        server.fail("vault_list_files", json!({ "directory": "none" }))["code"],
        "FILE_NOT_FOUND"
    );
    assert_eq!(
        server.fail("vault_list_files", json!({ "pattern": "[" }))["code"],
        "INVALID_ARGUMENT"
    );
    let read = server.call("vault_read_file", json!({ "path": "sub/b.md" }));
    assert_eq!(
        (&read["exists"], &read["content"], &read["size_bytes"]),
        (&json!(true), &json!(note("ä🎻ö")), &json!(note("ä🎻ö").len()))
    );
    let part = server.call(
        "vault_read_file",
        json!({ "path": "sub/b.md", "offset": NOTE.len() + 1, "limit": 2 }),
    );
    assert_eq!(
        (&part["content"], &part["truncated"], &part["next_offset"]),
        (&json!("🎻ö"), &json!(true), &json!(NOTE.len() + 3))
    );
    assert_eq!(
        server.fail("vault_read_file", json!({ "path": "a.md", "offset": 999 }))["code"],
        "INVALID_RANGE"
    );
    let missing = server.call("vault_read_file", json!({ "path": "none.md" }));
    assert_eq!(
        missing,
        json!({ "path": "none.md", "exists": false, "size_bytes": 0, "content": "" })
    );
}

#[test]
fn what_the_remote_has_is_brought_in_first() {
    let repository = busy();
    let server = repository.serve();
    let clone = repository.clone("another");
    repository.pushed_by_another(&clone, "theirs.md", "theirs\n");
    repository.pushed_by_another(&clone, "quiet.md", "theirs\n");
    let before = belongings(&repository, &["ours.md", "theirs.md", "quiet.md"]);
    let done = write(&server, "ours.md", "mine");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(repository.folder.read("theirs.md"), b"theirs\n");
    assert_eq!(repository.folder.read("quiet.md"), b"theirs\n");
    assert_eq!(belongings(&repository, &["ours.md", "theirs.md", "quiet.md"]), before);
    assert_eq!(
        repository.git(&["rev-parse", "HEAD"]),
        repository.at_remote(&["rev-parse", "main"])
    );
    assert_eq!(repository.git(&["log", "--merges", "--oneline"]), "", "linear");
    // The same note: nothing is written, and the caller can read what the remote has.
    repository.pushed_by_another(&clone, "ours.md", &note("theirs"));
    let refused = write(&server, "ours.md", "mine again");
    assert_eq!(
        (&refused["error"]["code"], &refused["written"], &refused["rolled_back"]),
        (&json!("CONFLICT"), &json!(false), &json!(true)),
        "{refused}"
    );
    assert_eq!(repository.folder.read("ours.md"), note("theirs").as_bytes());
    assert_eq!(write(&server, "ours.md", "mine at last")["written"], true);
    // A file that is changed here and on the remote: it is named, and nothing moves.
    repository.pushed_by_another(&clone, "changed.md", "theirs\n");
    let (head, before) = (repository.git(&["rev-parse", "HEAD"]), belongings(&repository, &[]));
    let refused = write(&server, "ours.md", "no");
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("changed.md")
            && refused["written"] == false,
        "{refused}"
    );
    assert_eq!(
        (repository.git(&["rev-parse", "HEAD"]), belongings(&repository, &[])),
        (head, before)
    );
}

/// Everything for which it can be refused: the words say why, and nothing has moved.
#[test]
fn a_refused_write_leaves_everything_as_it_was() {
    type Arrange = fn(&Repository);
    let cases: [(&str, Arrange, &str); 15] = [
        (
            "the remote refuses",
            |r| hook(&r.remote(), "pre-receive", "echo no thank you >&2; exit 1"),
            "pre-receive hook declined",
        ),
        (
            "the remote is gone",
            |r| std::fs::rename(r.remote(), r.folder.path().join("moved")).unwrap(),
            "git:",
        ),
        (
            "a pre-commit hook refuses",
            |r| hook(&r.folder.vault().join(".git"), "pre-commit", "echo not today >&2; exit 1"),
            "pre-commit hook refused: not today",
        ),
        (
            "a commit-msg hook refuses",
            |r| {
                hook(
                    &r.folder.vault().join(".git"),
                    "commit-msg",
                    "grep -q JIRA \"$1\" || { echo no ticket; exit 1; }",
                )
            },
            "commit-msg hook refused",
        ),
        (
            "a pre-push hook refuses",
            |r| hook(&r.folder.vault().join(".git"), "pre-push", "exit 1"),
            "git:",
        ),
        (
            "a merge is in progress",
            |r| {
                std::fs::write(
                    r.folder.vault().join(".git/MERGE_HEAD"),
                    r.git(&["rev-parse", "HEAD"]),
                )
                .unwrap()
            },
            "git merge --abort",
        ),
        (
            "a rebase is in progress",
            |r| std::fs::create_dir(r.folder.vault().join(".git/rebase-merge")).unwrap(),
            "git rebase",
        ),
        (
            "another branch",
            |r| drop(r.git(&["switch", "-q", "-c", "elsewhere"])),
            "git switch main",
        ),
        ("no branch", |r| drop(r.git(&["checkout", "-q", "--detach"])), "detached HEAD"),
        (
            "no identity",
            |r| {
                drop((
                    r.git(&["config", "--unset", "user.name"]),
                    r.git(&["config", "--unset", "user.email"]),
                ))
            },
            "no identity",
        ),
        (
            "signing without a key",
            |r| {
                drop((
                    r.git(&["config", "commit.gpgSign", "true"]),
                    r.git(&["config", "gpg.program", "false"]),
                ))
            },
            "git:",
        ),
        (
            "staged",
            |r| {
                drop((
                    r.write("ours.md", &note("staged")),
                    r.git(&["add", "ours.md"]),
                    r.write("ours.md", &note("as it was")),
                ))
            },
            "staged changes",
        ),
        ("not committed", |r| r.write("ours.md", &note("a person's")), "if_match"),
        (
            "a path on the branch that git would leave out",
            |r| {
                let blob = r.git(&["rev-parse", "HEAD:ours.md"]);
                let entry = format!("100644,{},git~1/x.md", blob.trim());
                r.git(&[
                    "-c",
                    "core.protectNTFS=false",
                    "update-index",
                    "--add",
                    "--cacheinfo",
                    &entry,
                ]);
                let tree = r.git(&["-c", "core.protectNTFS=false", "write-tree"]);
                let commit = r.git(&["commit-tree", "-p", "HEAD", "-m", "odd", tree.trim()]);
                r.git(&["update-ref", "HEAD", commit.trim()]);
            },
            "git~1/x.md",
        ),
        (
            "diverged",
            |r| {
                let clone = r.clone("another");
                r.pushed_by_another(&clone, "theirs.md", "x\n");
                r.git(&["stash", "-q", "-u"]);
                r.git(&["commit", "-q", "--allow-empty", "-m", "never pushed"]);
                r.git(&["stash", "pop", "-q", "--index"]);
            },
            "git pull --rebase",
        ),
    ];
    for (name, arrange, words) in cases {
        let repository = busy();
        let server = repository.serve();
        arrange(&repository);
        let state = || {
            (
                repository.git(&["rev-parse", "HEAD"]),
                repository.git(&["symbolic-ref", "-q", "--short", "HEAD", "--"]).trim().to_owned(),
            )
        };
        let state = || {
            if name == "no branch" {
                (repository.git(&["rev-parse", "HEAD"]), String::new())
            } else {
                state()
            }
        };
        let before = (state(), belongings(&repository, &[]));
        let refused = write(&server, "ours.md", "new");
        assert_eq!(refused["written"], false, "{name}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{name}: {message}");
        assert!(!message.contains(repository.folder.path().to_str().unwrap()), "{name}: {message}");
        assert_eq!((state(), belongings(&repository, &[])), before, "{name}");
        let litter =
            std::fs::read_dir(repository.folder.vault().join(".git")).unwrap().filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("vault-sync-mcp-")
            });
        assert_eq!(litter.count(), 0, "{name}: nothing is left behind");
    }
}

#[test]
fn a_note_with_uncommitted_changes_is_replaced_only_by_who_has_read_it() {
    let repository = busy();
    let server = repository.serve();
    repository.write("ours.md", &note("a person's"));
    let etag = server.call("vault_read_file", json!({ "path": "ours.md" }))["etag"].clone();
    let stale = outcome(
        &server,
        "vault_write_file",
        json!({ "path": "ours.md", "content": note("x"), "if_match": "0123456789abcdef" }),
    );
    assert_eq!(stale["error"]["code"], "CONFLICT");
    assert_eq!(repository.folder.read("ours.md"), note("a person's").as_bytes());
    let done = outcome(
        &server,
        "vault_write_file",
        json!({ "path": "ours.md", "content": note("joined"), "if_match": etag }),
    );
    assert_eq!(done["written"], true, "{done}");
    // What the person wrote, committed as it is, is no conflict.
    repository.write("ours.md", &note("the same"));
    assert_eq!(write(&server, "ours.md", "the same")["written"], true);
    assert_eq!(repository.git(&["status", "--porcelain", "ours.md"]), "");
}

#[test]
fn versions_are_listed_and_brought_back() {
    let repository = Repository::with(&[("a.md", &note("one")), ("index.md", "x")]);
    let server = repository.serve();
    write(&server, "a.md", "two");
    let gone = outcome(&server, "vault_delete_file", json!({ "path": "a.md" }));
    assert_eq!(
        (&gone["index_update_needed"], &gone["index_hint"]),
        (&json!(true), &json!("Remove the link to [[a]] from index.md"))
    );
    let history = server.call("vault_history", json!({ "path": "a.md" }));
    let commits = history["versions"].as_array().unwrap();
    assert_eq!(
        commits.iter().map(|commit| commit["change"].as_str().unwrap()).collect::<Vec<_>>(),
        ["deleted", "modified", "added"]
    );
    assert_eq!((&commits[2]["by"], &commits[2]["message"]), (&json!("Person"), &json!("first")));
    let restored =
        server.call("vault_restore", json!({ "path": "a.md", "version": commits[2]["version"] }));
    assert_eq!(restored["pushed"], true, "{restored}");
    assert_eq!(repository.at_remote(&["show", "main:a.md"]), note("one"));
    assert_eq!(repository.folder.read("a.md"), note("one").as_bytes());
    assert_eq!(
        (&commits[1]["tool"], &commits[1]["by"], commits[1]["bytes"].as_u64()),
        (&json!("vault_write_file"), &json!("all"), Some(note("two").len() as u64)),
        "{history}"
    );
    for (commit, words) in [
        ("HEAD~1", "No versions are kept"),
        ("--help0", "No versions are kept"),
        ("0123456789", "no commit"),
        (commits[0]["version"].as_str().unwrap(), "does not exist in commit"),
    ] {
        let refused = server.fail("vault_restore", json!({ "path": "a.md", "version": commit }));
        assert!(refused["message"].as_str().unwrap().contains(words), "{commit}: {refused}");
    }
    assert_eq!(
        server.fail("vault_history", json!({ "path": "none.md" }))["code"],
        "FILE_NOT_FOUND"
    );
}

#[test]
fn a_history_longer_than_one_answer_says_so() {
    let repository = Repository::with(&[("a.md", &note("0"))]);
    let history = |server: &Server| server.call("vault_history", json!({ "path": "a.md" }));
    let server = repository.serve();
    assert!(history(&server)["truncated"].is_null());
    for number in 1..=200 {
        repository.write("a.md", &note(&number.to_string()));
        repository.git(&["commit", "-qam", "more"]);
    }
    let history = history(&server);
    assert_eq!(
        (history["versions"].as_array().unwrap().len(), &history["truncated"]),
        (200, &json!(true))
    );
}

#[test]
fn the_history_of_a_renamed_note_goes_on_and_that_of_a_copy_begins() {
    let repository = Repository::with(&[("notes/template.md", &note("the same words in both"))]);
    let vault = repository.folder.vault().join("notes");
    let commit = |message: &str| {
        drop((repository.git(&["add", "-A"]), repository.git(&["commit", "-q", "-m", message])))
    };
    std::fs::copy(vault.join("template.md"), vault.join("copy.md")).unwrap();
    commit("copied");
    repository.git(&["mv", "notes/copy.md", "notes/a \"new\" näme.md"]);
    commit("renamed");
    repository.git(&["push", "-q"]);
    let server = Server::with(&vault, &[("TOOLSETS", "git")]);
    let path = "a \"new\" näme.md";
    write(&server, path, "edited");
    let history = server.call("vault_history", json!({ "path": path }));
    let commits: Vec<_> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (c["message"].as_str().unwrap(), c["change"].as_str().unwrap(), c["path"].as_str())
        })
        .collect();
    assert_eq!(commits[1..], [("renamed", "renamed", None), ("copied", "added", Some("copy.md"))]);
    let version = &history["versions"][2]["version"];
    server.call("vault_restore", json!({ "path": path, "version": version }));
    assert_eq!(std::fs::read_to_string(vault.join(path)).unwrap(), note("the same words in both"));
}

#[test]
fn a_wikilink_means_a_note_of_the_repository() {
    let repository = Repository::with(&[("a/ours.md", &note("as it was"))]);
    let server = repository.serve();
    for name in ["[[ours]]", "ours"] {
        assert_eq!(
            server.call("vault_read_file", json!({ "path": name }))["exists"],
            true,
            "{name}"
        );
    }
    assert_eq!(write(&server, "[[ours]]", "new")["path"], "a/ours.md");
    assert_eq!(repository.at_remote(&["show", "main:a/ours.md"]), note("new"));
}

/// On a Pi each run takes some hundredths of a second, and a call has `GIT_TIMEOUT_MS` for all.
#[cfg(feature = "notes")]
#[test]
fn a_change_takes_as_few_runs_of_git_for_a_hundred_files_as_for_one() {
    let names: Vec<String> = (0..100).map(|n| format!("notes/{n}.md")).collect();
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "---\ntags: [old]\n---\n")).collect();
    let repository = Repository::with(&files);
    let folder = repository.folder.path();
    let server = repository
        .serve_with(&[("PATH", &deadly_git(folder, 0, false)), ("TOOLSETS", "vault,notes,git")]);
    let runs = |tool: &str, arguments: Value| -> usize {
        let _ = std::fs::remove_file(folder.join("count"));
        assert_eq!(server.call(tool, arguments)["pushed"], true);
        std::fs::read_to_string(folder.join("count")).unwrap().trim().parse().unwrap()
    };
    let write = |path: &str| json!({ "path": path, "content": note("text") });
    assert_eq!(runs("vault_write_file", write("notes/1.md")), 15);
    assert_eq!(runs("vault_write_file", write("new.md")), 15);
    assert_eq!(runs("vault_rename_tag", json!({ "path": "old", "to": "new" })), 14);
    assert_eq!(repository.git(&["diff", "--name-only", "HEAD~1"]).lines().count(), 99);
    repository.pushed_by_another(&repository.clone("another"), "news.md", "news");
    assert_eq!(runs("vault_write_file", write("notes/2.md")), 31, "on top of what the remote has");
}
