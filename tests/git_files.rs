//! Toolset `git`: files and repositories of rare kinds.

use crate::git::{busy, note, outcome, write};
use crate::git_attacks::{is_clean, two, words};
use crate::git_recovery::pend_news;
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

#[test]
fn files_whose_names_are_not_utf_8_are_not_overwritten() {
    let repository = two();
    let on_disk = |name: &[u8]| repository.folder.vault().join(Path::new(std::ffi::OsStr::from_bytes(name)));
    std::fs::write(repository.folder.vault().join(".git/info/exclude"), "*.txt\n").unwrap();
    std::fs::write(on_disk(b"caf\xe9.txt"), "a person's").unwrap();
    let clone = repository.clone("another");
    std::fs::write(clone.join(Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"))), "theirs").unwrap();
    repository.pushed_by_another(&clone, "x.md", "x");
    assert!(words(&write(&repository.serve(), "a.md", "new")).contains("it is here too, not committed"));
    assert_eq!(std::fs::read(on_disk(b"caf\xe9.txt")).unwrap(), b"a person's");
}

#[test]
fn submodules_are_left_as_they_are() {
    let repository = two();
    let module = Repository::with(&[("m.txt", "m")]);
    let url = module.remote().display().to_string();
    repository.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "module"]);
    repository.git(&["commit", "-qm", "module"]);
    repository.git(&["push", "-q"]);
    repository.git(&["config", "submodule.recurse", "true"]);
    let inside = repository.folder.vault().join("module");
    git(&inside, &["switch", "-qc", "dev"]);
    std::fs::write(inside.join("m.txt"), "a person's").unwrap();
    // The remote has the module at another commit.
    let clone = repository.clone("another");
    let newer = {
        module.write("m.txt", "newer");
        module.git(&["commit", "-qam", "newer"]);
        module.git(&["push", "-q"]);
        module.git(&["rev-parse", "HEAD"])
    };
    git(&clone, &["update-index", "--cacheinfo", &format!("160000,{},module", newer.trim())]);
    git(&clone, &["commit", "-qm", "newer"]);
    git(&clone, &["push", "-q"]);
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    assert_eq!(std::fs::read(inside.join("m.txt")).unwrap(), b"a person's");
    assert_eq!(git(&inside, &["symbolic-ref", "HEAD"]).trim(), "refs/heads/dev");
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

/// A sparse checkout gets what is inside its cone; the rest of the remote's news stays outside, and nothing is lost.
#[test]
fn a_sparse_checkout_stays_sparse() {
    for cone in ["--cone", "--no-cone"] {
        let repository = Repository::with(&[("in/a.md", &note("a")), ("out/b.md", &note("b")), ("top.md", &note("t"))]);
        repository.git(&["sparse-checkout", "set", cone, if cone == "--cone" { "in" } else { "/in/" }]);
        let clone = repository.clone("another");
        for (path, text) in [("in/new.md", "n"), ("out/new.md", "n"), ("out/b.md", "b2"), ("in/a2.md", "x")] {
            repository.pushed_by_another(&clone, path, text);
        }
        std::fs::create_dir_all(repository.folder.vault().join("out")).unwrap();
        repository.write("out/private.md", "a person's");
        let server = repository.serve();
        let done = write(&server, "in/a.md", "new");
        assert_eq!(done["pushed"], true, "{cone}: {done}");
        assert_eq!(repository.folder.read("in/new.md"), b"n");
        assert!(!repository.folder.vault().join("out/b.md").exists() && !repository.folder.vault().join("out/new.md").exists(), "{cone}");
        assert_eq!(repository.folder.read("out/private.md"), b"a person's");
        assert!(words(&write(&server, "out/b.md", "new")).contains("sparse checkout"));
        assert!(words(&write(&server, "out/fresh.md", "new")).contains("sparse checkout"));
        std::fs::remove_file(repository.folder.vault().join("out/private.md")).unwrap();
        is_clean(&repository);
    }
}

/// The remote turns files into folders and links and back, and marks one as a program.
#[test]
fn files_folders_links_and_programs_change_into_each_other() {
    use std::os::unix::fs::PermissionsExt;
    let repository =
        Repository::with(&[("a.md", &note("a")), ("f", "file"), ("d/x", "1"), ("d/e/y", "2"), ("run.sh", "#!/bin/sh\n"), ("l", "x")]);
    let clone = repository.clone("another");
    let change = |script: &str| {
        let done = std::process::Command::new("sh").args(["-ec", script]).current_dir(&clone).status().unwrap();
        assert!(done.success());
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-qm", "changed"]);
        git(&clone, &["push", "-q"]);
    };
    let server = repository.serve();
    for (number, script) in [
        "rm f; mkdir -p f/g; echo 1 > f/g/h; rm -r d; echo file > d; chmod +x run.sh; rm l; ln -s a.md l",
        "rm -r f; echo file > f; rm d; mkdir d; ln -s ../f d/x; chmod -x run.sh; rm l; mkdir l; echo in > l/m",
    ]
    .iter()
    .enumerate()
    {
        git(&clone, &["pull", "-q", "--rebase"]);
        change(script);
        assert_eq!(write(&server, "a.md", &format!("{number}"))["pushed"], true);
        is_clean(&repository);
        let mode = std::fs::metadata(repository.folder.vault().join("run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111 != 0, number == 0);
        assert_eq!(repository.folder.vault().join("l").is_symlink(), number == 0);
    }
}

#[test]
fn a_change_of_line_ends_alone_is_not_overwritten() {
    let repository = Repository::with(&[("a.md", &note("a")), ("b.md", &note("b")), ("k.txt", "one\ntwo\n")]);
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
fn folders_without_files_are_replaced_by_files_of_the_remote() {
    let repository = Repository::with(&[("a.md", &note("a")), ("x/a.md", "1"), ("e/k.md", "1")]);
    for folder in ["x/empty/deeper", "d/x"] {
        std::fs::create_dir_all(repository.folder.vault().join(folder)).unwrap();
    }
    let clone = repository.clone("another");
    git(&clone, &["rm", "-rq", "x"]);
    std::fs::write(clone.join("x"), "a file now").unwrap();
    git(&clone, &["add", "x"]);
    git(&clone, &["commit", "-q", "-m", "a file now"]);
    repository.pushed_by_another(&clone, "d/x", "a file");
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    assert_eq!((repository.folder.read("x"), repository.folder.read("d/x")), (b"a file now".to_vec(), b"a file".to_vec()));
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
        for (name, value) in [("clean", "sh bin/down"), ("smudge", "sh bin/up"), ("required", required)] {
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
        assert_eq!((repository.folder.read("f.x"), repository.folder.read("g.x")), (b"HELLO AGAIN\n".to_vec(), b"NEW\n".to_vec()));
        is_clean(&repository);
    }
}

/// What git makes of a file is said by the attributes of its own commit, not by those that are checked out.
#[test]
fn files_that_arrive_with_their_attributes_are_filtered() {
    let arrange = || {
        let repository = Repository::with(&[("a.md", &note("a")), ("old.x", "old\n")]);
        for (name, value) in [("clean", "tr A-Z a-z"), ("smudge", "tr a-z A-Z")] {
            repository.git(&["config", &format!("filter.up.{name}"), value]);
        }
        let clone = repository.clone("another");
        repository.pushed_by_another(&clone, ".gitattributes", "*.x filter=up\n");
        repository.pushed_by_another(&clone, "old.x", "new\n");
        (repository, clone)
    };
    let (repository, clone) = arrange();
    repository.pushed_by_another(&clone, "f.x", "hello\n");
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains(".gitattributes"));
    assert_eq!((repository.folder.read("f.x"), repository.folder.read("old.x")), (b"HELLO\n".to_vec(), b"NEW\n".to_vec()));
    repository.pushed_by_another(&clone, "f.x", "again\n");
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    assert_eq!(repository.folder.read("f.x"), b"AGAIN\n");
    is_clean(&repository);
    // A crash after the attributes were written, and before the file.
    let (repository, _) = arrange();
    pend_news(&repository);
    repository.write(".gitattributes", "*.x filter=up\n");
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    assert_eq!(repository.folder.read("old.x"), b"NEW\n");
    is_clean(&repository);
}

/// A link that a person put where a folder is to be leads to what is theirs, also outside the vault.
#[test]
fn nothing_behind_a_link_is_overwritten_or_removed() {
    let repository = Repository::with(&[("a.md", &note("a")), ("d", "a file")]);
    let mine = repository.folder.path().join("mine");
    std::fs::create_dir_all(mine.join("empty/deeper")).unwrap();
    std::fs::write(mine.join("f.md"), "a person's").unwrap();
    std::os::unix::fs::symlink(&mine, repository.folder.vault().join("lnk")).unwrap();
    repository.git(&["add", "lnk"]);
    repository.git(&["commit", "-qm", "link"]);
    repository.git(&["push", "-q"]);
    let clone = repository.clone("another");
    git(&clone, &["rm", "-q", "d", "lnk"]);
    std::fs::write(clone.join("lnk"), "a file now").unwrap();
    std::fs::create_dir(clone.join("d")).unwrap();
    std::fs::write(clone.join("d/f.md"), "theirs").unwrap();
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "folders"]);
    git(&clone, &["push", "-q"]);
    // As a crash leaves it, and then a person goes on.
    pend_news(&repository);
    std::fs::remove_file(repository.folder.vault().join("d")).unwrap();
    std::os::unix::fs::symlink(&mine, repository.folder.vault().join("d")).unwrap();
    let server = repository.serve();
    assert_eq!(std::fs::read(mine.join("f.md")).unwrap(), b"a person's");
    assert!(mine.join("empty/deeper").exists() && repository.folder.vault().join("d").is_symlink());
    assert_eq!(repository.folder.read("lnk"), b"a file now");
    assert_eq!(write(&server, "a.md", "new")["written"], true);
    assert_eq!(std::fs::read(mine.join("f.md")).unwrap(), b"a person's");
}

#[test]
fn staged_bytes_are_kept_where_a_file_becomes_a_folder() {
    for (old, new) in [("d", "d/f"), ("x/a", "x")] {
        let repository = Repository::with(&[("a.md", &note("a")), (old, "1")]);
        let clone = repository.clone("another");
        git(&clone, &["rm", "-q", old]);
        repository.git(&["fetch", "-q"]);
        std::fs::create_dir_all(clone.join(new).parent().unwrap()).unwrap();
        std::fs::write(clone.join(new), "theirs").unwrap();
        git(&clone, &["add", "-A"]);
        git(&clone, &["commit", "-qm", "another kind"]);
        git(&clone, &["push", "-q"]);
        pend_news(&repository);
        repository.write(old, "STAGED");
        repository.git(&["add", old]);
        repository.write(old, "and more");
        let server = repository.serve();
        assert_eq!(
            (repository.git(&["show", &format!(":{old}")]), repository.folder.read(old)),
            ("STAGED".into(), b"and more".to_vec()),
            "{old}"
        );
        assert_eq!(write(&server, "a.md", "new")["written"], true);
        assert_eq!(repository.git(&["show", &format!(":{old}")]), "STAGED");
    }
}

/// What git thinks of a file that a filter made another size of: nothing is changed.
#[test]
fn filtered_files_and_notes_with_other_line_ends_count_as_unchanged() {
    let repository = Repository::with(&[("a.md", &note("a")), (".gitattributes", "*.md eol=crlf\n*.x filter=long\n")]);
    for (name, value) in [("clean", "sed 's/ and much more//'"), ("smudge", "sed 's/$/ and much more/'")] {
        repository.git(&["config", &format!("filter.long.{name}"), value]);
    }
    repository.pushed_by_another(&repository.clone("another"), "f.x", "x\n");
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.folder.read("f.x"), b"x and much more\n");
    is_clean(&repository);
}

/// Git looks into a file that was saved in the second of the index's own time; a newer index would hide the change.
#[test]
fn a_change_of_the_same_size_within_a_second_is_seen_by_git() {
    for news in [false, true] {
        let repository = Repository::with(&[("a.md", &note("a")), ("t.md", "- [ ]\n")]);
        // All in one second, with times that say so.
        let save = |text: &str| {
            repository.write("t.md", text);
            let file = std::fs::File::options().write(true).open(repository.folder.vault().join("t.md")).unwrap();
            let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_790_000_000);
            file.set_modified(second).unwrap();
        };
        save("- [x]\n");
        repository.git(&["commit", "-qam", "x"]);
        repository.git(&["push", "-q"]);
        let index = std::fs::File::options().write(true).open(repository.folder.vault().join(".git/index")).unwrap();
        index.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_790_000_000)).unwrap();
        save("- [y]\n");
        if news {
            repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
        }
        assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
        assert_eq!(repository.git(&["status", "--porcelain"]), " M t.md\n", "news {news}");
    }
}

/// Uncommitted line ends of both kinds are a person's change, and not git's conversion.
#[test]
fn mixed_line_ends_do_not_count_as_committed() {
    let repository = Repository::with(&[("a.md", &note("one\ntwo\nthree")), (".gitattributes", "* text=auto\n")]);
    let mixed = note("one\ntwo\nthree").replacen("one\n", "one\r\n", 1);
    repository.write("a.md", &mixed);
    let server = repository.serve();
    let refused = outcome(&server, "vault_delete_file", json!({ "path": "a.md" }));
    assert_eq!(refused["error"]["code"], "GIT_REFUSED", "{refused}");
    let etag = server.call("vault_read_file", json!({ "path": "a.md" }))["etag"].clone();
    let refused = outcome(&server, "vault_delete_file", json!({ "path": "a.md", "if_match": etag }));
    assert_eq!(refused["error"]["code"], "GIT_REFUSED", "git would not keep these line ends: {refused}");
    assert_eq!(write(&server, "a.md", "new")["error"]["code"], "CONFLICT");
    assert_eq!(repository.folder.read("a.md"), mixed.as_bytes());
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
    std::fs::write(repository.folder.vault().join(".git/MERGE_HEAD"), repository.git(&["rev-parse", "HEAD"])).unwrap();
    let server = repository.serve();
    assert_eq!(server.call("vault_read_file", json!({ "path": "ours.md" }))["exists"], true);
    assert!(write(&server, "ours.md", "new")["error"]["message"].as_str().unwrap().contains("git merge --abort"));
    // Merely ahead is fine: the person's commits go along.
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "a person's"]);
    assert_eq!(write(&repository.serve(), "ours.md", "new")["pushed"], true);
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "3");
    // A branch of another name; a shallow clone; CRLF by configuration; names with everything in them.
    let repository = Repository::with(&[("ours.md", &note("a"))]);
    repository.git(&["switch", "-q", "-c", "trunk/x"]);
    repository.git(&["push", "-q", "-u", "origin", "trunk/x"]);
    assert_eq!(write(&repository.serve_with(&[("GIT_BRANCH", "trunk/x")]), "ours.md", "new")["pushed"], true);
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
    for path in ["a b/it's \"x\" $HOME *.md", "ünï 🎻/[1] : x?.md", "ünï 🎻/[2] x.md", "-rf.md"] {
        assert_eq!(write(&server, path, "x")["pushed"], true, "{path}");
        assert_eq!(repository.git(&["--literal-pathspecs", "status", "--porcelain", "--", path]), "", "{path}");
    }
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "7");
    assert!(write(&server, "OURS.md", "x")["error"]["message"].as_str().unwrap().contains("capital letters"));
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "not even the lock file is to be seen");
    // Before the first commit.
    let folder = Folder::with(&[]);
    git(&folder.vault(), &["init", "-q", "-b", "main"]);
    git(&folder.vault(), &["config", "user.name", "Server"]);
    git(&folder.vault(), &["config", "user.email", "server@example.com"]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "git")]);
    assert_eq!(write(&server, "first.md", "x")["written"], true);
    assert_eq!(git(&folder.vault(), &["status", "--porcelain", "--untracked-files=no"]), "");
    // Ignored, in a submodule, outside a sparse checkout: refused.
    let repository = busy();
    git(&repository.folder.vault(), &["init", "-q", "module"]);
    repository.git(&["update-index", "--skip-worktree", "quiet.md"]);
    let server = repository.serve();
    for (path, words) in [("ignored/new.md", "ignored by git"), ("module/new.md", "submodule"), ("quiet.md", "sparse checkout")] {
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
    git(repository.folder.path(), &["clone", "-q", "--depth", "1", &format!("file://{}", repository.remote().display()), "shallow"]);
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
