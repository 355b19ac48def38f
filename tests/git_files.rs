//! Toolset `git`: files and repositories of rare kinds.

use crate::git::{busy, note, outcome, write};
use crate::git_attacks::{is_clean, two, words};
use crate::support::repository::{Repository, git};
use crate::support::{Folder, Server};
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[test]
fn a_name_in_another_unicode_form_is_the_same_file_to_git() {
    let decomposed = "nai\u{308}ve.md";
    let repository = Repository::with(&[(decomposed, &note("a"))]);
    let server = repository.serve();
    let done = write(&server, "na\u{ef}ve.md", "new");
    assert_eq!((&done["written"], &done["created"]), (&json!(true), &json!(false)), "{done}");
    assert_eq!(repository.folder.read(decomposed), note("new").as_bytes());
    assert_eq!(repository.git(&["ls-tree", "-r", "--name-only", "HEAD"]).lines().count(), 1);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// On the branch it has the name that it had on disk, where it is gone.
#[cfg(feature = "notes")]
#[test]
fn what_is_deleted_or_moved_under_another_unicode_form_is_gone_from_git() {
    let repository =
        Repository::with(&[("nai\u{308}ve.md", &note("a")), ("U\u{308}/b.md", &note("b"))]);
    let server = repository.serve_with(&[("TOOLSETS", "vault,notes,git")]);
    server.call("vault_delete", json!({ "paths": ["na\u{ef}ve.md"] }));
    server.call("vault_move", json!({ "path": "\u{dc}", "to": "New" }));
    assert_eq!(repository.git(&["ls-tree", "-r", "--name-only", "HEAD"]).trim(), "New/b.md");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn files_whose_names_are_not_utf_8_are_not_overwritten() {
    let repository = two();
    let on_disk =
        |name: &[u8]| repository.folder.vault().join(Path::new(std::ffi::OsStr::from_bytes(name)));
    std::fs::write(repository.folder.vault().join(".git/info/exclude"), "*.txt\n").unwrap();
    std::fs::write(on_disk(b"caf\xe9.txt"), "a person's").unwrap();
    let clone = repository.clone("another");
    std::fs::write(clone.join(Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"))), "theirs")
        .unwrap();
    repository.pushed_by_another(&clone, "x.md", "x");
    assert!(words(&write(&repository.serve(), "a.md", "new")).contains("overwritten"));
    assert_eq!(std::fs::read(on_disk(b"caf\xe9.txt")).unwrap(), b"a person's");
}

#[test]
fn a_repository_with_sha_256_hashes_gets_its_first_commit() {
    let folder = Folder::with(&[]);
    for arguments in [
        &["init", "-q", "-b", "main", "--object-format=sha256"][..],
        &["config", "user.name", "S"],
        &["config", "user.email", "s@example.com"],
    ] {
        git(&folder.vault(), arguments);
    }
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "git")]);
    for text in ["one", "two"] {
        assert_eq!(write(&server, "a.md", text)["written"], true);
    }
    assert_eq!(git(&folder.vault(), &["rev-list", "--count", "main"]).trim(), "2");
    assert_eq!(git(&folder.vault(), &["status", "--porcelain"]), "");
}

/// Links, submodules, attributes, and files that become folders or the reverse.
#[test]
fn whatever_git_can_bring_in_is_brought_in() {
    let module = Repository::with(&[("m.txt", "m")]);
    let url = module.remote().display().to_string();
    let add_module =
        format!("git -c protocol.file.allow=always submodule --quiet add {url} module");
    for script in [
        "rm f; mkdir f; echo 1 > f/g",
        "rm -r d; echo file > d",
        "rm f; ln -s a.md f",
        "ln -s a.md new.md",
        add_module.as_str(),
        "echo '*.x filter=up' > .gitattributes; echo hello > f.x",
    ] {
        let repository =
            Repository::with(&[("a.md", &note("a")), ("f", "file"), ("d/x", "1"), ("d/y", "2")]);
        for (name, value) in [("clean", "tr A-Z a-z"), ("smudge", "tr a-z A-Z")] {
            repository.git(&["config", &format!("filter.up.{name}"), value]);
        }
        let clone = repository.clone("another");
        assert!(
            std::process::Command::new("sh")
                .args(["-ec", script])
                .current_dir(&clone)
                .status()
                .unwrap()
                .success()
        );
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-qm", "changed"]);
        git(&clone, &["push", "-q"]);
        let done = write(&repository.serve(), "a.md", "new");
        assert_eq!((&done["pushed"], &done["git_error"]), (&json!(true), &json!(null)), "{script}");
        is_clean(&repository);
    }
}

#[test]
fn programs_of_the_remote_are_programs_here() {
    use std::os::unix::fs::PermissionsExt;
    let repository = Repository::with(&[("a.md", &note("a")), ("run.sh", "#!/bin/sh\n")]);
    let clone = repository.clone("another");
    let server = repository.serve();
    for (mark, is_program) in [("+x", true), ("-x", false)] {
        git(&clone, &["pull", "-q", "--rebase"]);
        git(&clone, &["update-index", &format!("--chmod={mark}"), "run.sh"]);
        git(&clone, &["commit", "-qm", "changed"]);
        git(&clone, &["push", "-q"]);
        assert_eq!(write(&server, "a.md", mark)["pushed"], true);
        let mode = std::fs::metadata(repository.folder.vault().join("run.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o111 != 0, is_program);
        is_clean(&repository);
        git(&clone, &["checkout", "-q", "--", "run.sh"]);
    }
}

#[test]
fn a_change_of_line_ends_alone_is_not_overwritten() {
    let repository =
        Repository::with(&[("a.md", &note("a")), ("b.md", &note("b")), ("k.txt", "one\ntwo\n")]);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    repository.write("k.txt", &crlf("one\ntwo\n"));
    repository.write("b.md", &crlf(&note("b")));
    let server = repository.serve();
    assert!(words(&write(&server, "b.md", "new")).contains("if_match"));
    assert_eq!(outcome(&server, "vault_delete_file", json!({ "path": "b.md" }))["deleted"], false);
    repository.pushed_by_another(&repository.clone("another"), "k.txt", "theirs\n");
    assert!(words(&write(&server, "a.md", "new")).contains("k.txt"));
    assert_eq!(
        (repository.folder.read("k.txt"), repository.folder.read("b.md")),
        (b"one\r\ntwo\r\n".to_vec(), crlf(&note("b")).into_bytes())
    );
}

#[test]
fn a_folder_where_the_remote_has_a_file_is_named() {
    let repository = two();
    std::fs::create_dir_all(repository.folder.vault().join("d/x")).unwrap();
    repository.pushed_by_another(&repository.clone("another"), "d/x", "a file");
    repository.write("d/x/mine.md", "a person's\n");
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("d/x"));
    assert_eq!(repository.folder.read("d/x/mine.md"), b"a person's\n");
    std::fs::remove_dir_all(repository.folder.vault().join("d/x")).unwrap();
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// Filters are programs of a person's: they run where they always do.
#[test]
fn a_filter_inside_the_working_tree_is_found() {
    for required in ["true", "false"] {
        let repository = Repository::with(&[
            ("a.md", &note("a")),
            ("f.x", "hello\n"),
            (".gitattributes", "*.x filter=case\n"),
            ("bin/up", "#!/bin/sh\ntr a-z A-Z\n"),
            ("bin/down", "#!/bin/sh\ntr A-Z a-z\n"),
        ]);
        for (name, value) in
            [("clean", "sh bin/down"), ("smudge", "sh bin/up"), ("required", required)]
        {
            repository.git(&["config", &format!("filter.case.{name}"), value]);
        }
        std::fs::remove_file(repository.folder.vault().join("f.x")).unwrap();
        repository.git(&["checkout", "-q", "f.x"]);
        assert_eq!(repository.folder.read("f.x"), b"HELLO\n");
        let clone = repository.clone("another");
        repository.pushed_by_another(&clone, "f.x", "hello again\n");
        repository.pushed_by_another(&clone, "g.x", "new\n");
        let done = write(&repository.serve(), "a.md", "new");
        assert_eq!(done["pushed"], true, "{done}");
        assert_eq!(
            (repository.folder.read("f.x"), repository.folder.read("g.x")),
            (b"HELLO AGAIN\n".to_vec(), b"NEW\n".to_vec())
        );
        is_clean(&repository);
    }
}

/// What git thinks of a file that a filter made another size of: nothing is changed.
#[test]
fn filtered_files_and_notes_with_other_line_ends_count_as_unchanged() {
    let repository = Repository::with(&[
        ("a.md", &note("a")),
        (".gitattributes", "*.md eol=crlf\n*.x filter=long\n"),
    ]);
    for (name, value) in
        [("clean", "sed 's/ and much more//'"), ("smudge", "sed 's/$/ and much more/'")]
    {
        repository.git(&["config", &format!("filter.long.{name}"), value]);
    }
    repository.pushed_by_another(&repository.clone("another"), "f.x", "x\n");
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.folder.read("f.x"), b"x and much more\n");
    is_clean(&repository);
}

/// Git looks into a file that was saved in the second of the index's own time; a newer index would
/// hide the change.
#[test]
fn a_change_of_the_same_size_within_a_second_is_seen_by_git() {
    for news in [false, true] {
        let repository = Repository::with(&[("a.md", &note("a")), ("t.md", "- [ ]\n")]);
        // All in one second, with times that say so.
        let save = |text: &str| {
            repository.write("t.md", text);
            let file = std::fs::File::options()
                .write(true)
                .open(repository.folder.vault().join("t.md"))
                .unwrap();
            let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_790_000_000);
            file.set_modified(second).unwrap();
        };
        save("- [x]\n");
        repository.git(&["commit", "-qam", "x"]);
        repository.git(&["push", "-q"]);
        let index = std::fs::File::options()
            .write(true)
            .open(repository.folder.vault().join(".git/index"))
            .unwrap();
        index
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_790_000_000))
            .unwrap();
        save("- [y]\n");
        if news {
            repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
        }
        assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
        assert_eq!(repository.git(&["status", "--porcelain"]), " M t.md\n", "news {news}");
    }
}

#[test]
fn real_repositories_of_many_kinds_work() {
    // No remote: the commit stays here.
    let repository = busy();
    repository.git(&["remote", "remove", "origin"]);
    let done = write(&repository.serve(), "ours.md", "new");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(false)), "{done}");
    assert_eq!(repository.git(&["rev-parse", "HEAD"]).trim(), done["commit_sha"]);
    // A merge that is in progress when the server starts does not keep from reading.
    let repository = busy();
    std::fs::write(
        repository.folder.vault().join(".git/MERGE_HEAD"),
        repository.git(&["rev-parse", "HEAD"]),
    )
    .unwrap();
    let server = repository.serve();
    assert_eq!(server.call("vault_read_file", json!({ "path": "ours.md" }))["exists"], true);
    assert!(
        write(&server, "ours.md", "new")["error"]["message"]
            .as_str()
            .unwrap()
            .contains("git merge --abort")
    );
    // Merely ahead is fine: the person's commits go along.
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "a person's"]);
    assert_eq!(write(&repository.serve(), "ours.md", "new")["pushed"], true);
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "3");
    // A branch of another name; a shallow clone; CRLF by configuration; names with everything in
    // them.
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["switch", "-q", "-c", "trunk/x"]);
    repository.git(&["push", "-q", "-u", "origin", "trunk/x"]);
    assert_eq!(
        write(&repository.serve_with(&[("GIT_BRANCH", "trunk/x")]), "ours.md", "new")["pushed"],
        true
    );
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["config", "core.autocrlf", "true"]);
    let server = repository.serve();
    // Names that only some systems can have stay names of files that exist.
    for path in ["a b/it's \"x\" $HOME *.md", "ünï 🎻/[1] : x?.md"] {
        std::fs::create_dir_all(repository.folder.vault().join(path).parent().unwrap()).unwrap();
        std::fs::write(repository.folder.vault().join(path), note("as it was")).unwrap();
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "-m", "odd"]);
    }
    for path in ["a b/it's \"x\" $HOME *.md", "ünï 🎻/[1] : x?.md", "ünï 🎻/[2] x.md", "-rf.md"]
    {
        assert_eq!(write(&server, path, "x")["pushed"], true, "{path}");
        assert_eq!(
            repository.git(&["--literal-pathspecs", "status", "--porcelain", "--", path]),
            "",
            "{path}"
        );
    }
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "7");
    assert!(
        write(&server, "OURS.md", "x")["error"]["message"]
            .as_str()
            .unwrap()
            .contains("only in upper and lower case")
    );
    assert_eq!(
        repository.git(&["status", "--porcelain"]),
        "",
        "not even the lock file is to be seen"
    );
    // Before the first commit.
    let folder = Folder::with(&[]);
    git(&folder.vault(), &["init", "-q", "-b", "main"]);
    git(&folder.vault(), &["config", "user.name", "Server"]);
    git(&folder.vault(), &["config", "user.email", "server@example.com"]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "git")]);
    assert_eq!(write(&server, "first.md", "x")["written"], true);
    assert_eq!(git(&folder.vault(), &["status", "--porcelain", "--untracked-files=no"]), "");
    // Ignored, in another repository: refused.
    let repository = busy();
    git(&repository.folder.vault(), &["init", "-q", "module"]);
    let server = repository.serve();
    for (path, words) in [("ignored/new.md", "ignored by git"), ("module/new.md", "submodule")] {
        let refused = write(&server, path, "x");
        assert!(refused["error"]["message"].as_str().unwrap().contains(words), "{path}: {refused}");
    }
    // The vault in a folder of the repository.
    let repository = Repository::with(&[("notes/ours.md", &note("a")), ("code.rs", "x")]);
    let server = Server::with(&repository.folder.vault().join("notes"), &[("TOOLSETS", "git")]);
    assert_eq!(write(&server, "ours.md", "new")["pushed"], true);
    assert_eq!(repository.at_remote(&["show", "main:notes/ours.md"]), note("new"));
    assert_eq!(repository.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn a_shallow_clone_is_a_repository_too() {
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    repository.git(&["push", "-q"]);
    git(
        repository.folder.path(),
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            &format!("file://{}", repository.remote().display()),
            "shallow",
        ],
    );
    let shallow = repository.folder.path().join("shallow");
    git(&shallow, &["config", "user.name", "Server"]);
    git(&shallow, &["config", "user.email", "server@example.com"]);
    repository.pushed_by_another(&repository.clone("another"), "theirs.md", "x\n");
    let server = Server::with(&shallow, &[("TOOLSETS", "git")]);
    let done = write(&server, "ours.md", "new");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(git(&shallow, &["rev-parse", "HEAD"]), repository.at_remote(&["rev-parse", "main"]));
    assert!(shallow.join("theirs.md").exists());
}

/// Git gives other bytes back than those that a tool has written (`$Id: …$`).
#[test]
fn a_file_with_keywords_can_be_written_again() {
    let repository =
        Repository::with(&[(".gitattributes", "*.md ident\n"), ("ours.md", &note("as it was"))]);
    let server = repository.serve();
    for text in ["$Id$ one", "$Id$ two"] {
        assert_eq!(write(&server, "ours.md", text)["pushed"], true, "{text}");
    }
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

/// One of two mirrors has a commit of its own: the other one has accepted the change.
#[test]
fn a_change_that_one_of_several_push_urls_has_accepted_counts_as_pushed() {
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    git(repository.folder.path(), &["clone", "-q", "--mirror", "remote.git", "mirror.git"]);
    let mirror = repository.folder.path().join("mirror.git");
    let own = git(&mirror, &["commit-tree", "main^{tree}", "-p", "main", "-m", "own"]);
    git(&mirror, &["update-ref", "refs/heads/main", own.trim()]);
    for url in [repository.remote(), mirror] {
        repository.git(&["remote", "set-url", "--add", "--push", "origin", url.to_str().unwrap()]);
    }
    let done = write(&repository.serve(), "ours.md", "new");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(
        repository.at_remote(&["rev-parse", "main"]),
        repository.git(&["rev-parse", "HEAD"])
    );
    assert_eq!(repository.folder.read("ours.md"), note("new").as_bytes());
}

#[test]
fn what_is_hidden_is_not_in_a_history_nor_brought_back() {
    let repository = Repository::with(&[
        ("Private/p.md", &note("the secret words, and more of them")),
        ("x.secret.md", "s"),
        ("Open/o.md", "o"),
    ]);
    let hidden = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.git(&["mv", "Private/p.md", "Open/moved.md"]);
    repository.git(&["commit", "-q", "-m", "moved"]);
    repository.git(&["push", "-q"]);
    let server = repository.serve_with(&[("HIDE", "/Private/;*.secret.md")]);
    let history = server.call("vault_history", json!({ "path": "Open/moved.md" }));
    assert_eq!(history["versions"].as_array().unwrap().len(), 1, "{history}");
    let restored =
        server.result("vault_restore", json!({ "path": "Open/moved.md", "version": hidden }));
    assert!(restored.to_string().contains("does not exist in commit"), "{restored}");
    let restore = |path: &str| {
        server
            .result("vault_restore", json!({ "path": path, "version": hidden }))
            .to_string()
            .replace(path, "")
    };
    assert_eq!(restore("x.secret.md"), restore("y.secret.md"));
    let history = |path: &str| {
        server.result("vault_history", json!({ "path": path })).to_string().replace(path, "")
    };
    assert_eq!(history("x.secret.md"), history("y.secret.md"));
}
