//! What attacks on toolset `git` found, each test named after it; and repositories of kinds that few people have.

use crate::git::{belongings, busy, hook, note, outcome, write};
use crate::support::repository::{Repository, git};
use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An attack found these: what git overwrites without a word.
#[test]
fn ignored_and_staged_files_are_not_overwritten_by_files_of_the_remote() {
    let repository = busy();
    repository.write("ignored/x.md", "a person's\n");
    repository.write("build/keep.txt", "a person's\n");
    std::fs::write(repository.folder.vault().join(".git/info/exclude"), "build/\n").unwrap();
    let clone = repository.clone("another");
    for (path, words) in [("ignored/x.md", "ignored/x.md"), ("build", "has changed build")] {
        std::fs::write(clone.join(".git/info/exclude"), "").unwrap();
        let place = clone.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "theirs\n").unwrap();
        git(&clone, &["add", "-f", path]);
        git(&clone, &["commit", "-q", "-m", path]);
        git(&clone, &["push", "-q"]);
        let (before, server) = (belongings(&repository, &[]), repository.serve());
        let refused = write(&server, "ours.md", "new");
        assert!(refused["error"]["message"].as_str().unwrap().contains(words) && refused["written"] == false, "{refused}");
        assert_eq!(belongings(&repository, &[]), before, "{path}");
        git(&clone, &["rm", "-q", path]);
        git(&clone, &["commit", "-q", "-m", "away"]);
        git(&clone, &["push", "-q"]);
    }
    // Before the first commit, with files staged.
    let empty = Folder::with(&[("mine.md", b"a person's\n")]);
    for arguments in
        [&["init", "-q", "-b", "main"][..], &["config", "user.name", "S"], &["config", "user.email", "s@example.com"], &["add", "mine.md"]]
    {
        git(&empty.vault(), arguments);
    }
    git(&empty.vault(), &["remote", "add", "origin", repository.remote().to_str().unwrap()]);
    let refused = write(&Server::with(&empty.vault(), &[("TOOLSETS", "git")]), "new.md", "x");
    assert!(refused["error"]["message"].as_str().unwrap().contains("staged"), "{refused}");
    assert_eq!((empty.read("mine.md"), git(&empty.vault(), &["ls-files"])), (b"a person's\n".to_vec(), "mine.md\n".to_owned()));
}

#[test]
fn a_note_that_git_does_not_have_is_not_deleted() {
    let repository = Repository::with(&[("a.md", &note("a"))]);
    repository.write("untracked.md", "only here\n");
    repository.write("a.md", "changed\n");
    let server = repository.serve();
    for path in ["untracked.md", "a.md"] {
        let refused = outcome(&server, "vault_delete_file", json!({ "path": path }));
        assert!(refused["error"]["message"].as_str().unwrap().contains("not committed"), "{refused}");
        let text = repository.folder.read(path);
        let etag = server.call("vault_read_file", json!({ "path": path }))["etag"].clone();
        let done = outcome(&server, "vault_delete_file", json!({ "path": path, "if_match": etag }));
        assert_eq!(done["deleted"], true, "{done}");
        assert_eq!(repository.git(&["show", &format!("HEAD~1:{path}")]).as_bytes(), text, "the history has it");
    }
}

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

/// What somebody does in the repository while a push is under way is theirs; nothing is moved over it.
#[test]
fn a_repository_used_during_the_push_is_not_moved() {
    for (name, script) in [
        ("staged", "echo v1 > ours.md; git add ours.md; echo v2 > ours.md"),
        ("committed the note", "echo theirs > ours.md; git commit -q -m theirs ours.md"),
        ("committed another", "git commit -q -m theirs changed.md"),
        ("switched", "git switch -q -c other"),
    ] {
        let repository = busy();
        // Once, and without the variables that git gives a hook.
        let script = format!(
            "mv .git/hooks/pre-push .git/done; unset $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); {script}; git status --porcelain > .git/seen; git rev-parse HEAD main >> .git/seen; git ls-files -s >> .git/seen"
        );
        hook(&repository.folder.vault().join(".git"), "pre-push", &script);
        let server = repository.serve();
        let done = write(&server, "ours.md", "new");
        assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{name}: {done}");
        assert!(done["git_error"].as_str().unwrap().contains("git pull brings it"), "{name}: {done}");
        let seen = repository.git(&["status", "--porcelain"])
            + &repository.git(&["rev-parse", "HEAD", "main"])
            + &repository.git(&["ls-files", "-s"]);
        assert_eq!(seen, String::from_utf8(std::fs::read(repository.folder.vault().join(".git/seen")).unwrap()).unwrap(), "{name}");
        assert_eq!(repository.at_remote(&["show", "main:ours.md"]), note("new"), "{name}");
    }
}

#[test]
fn forged_messages_linked_locks_and_odd_names_change_nothing() {
    // A forged history.
    let repository = Repository::with(&[("a.md", &note("a"))]);
    let server = repository.serve();
    let forged = format!("x\u{1}{}\u{2}Boss\u{2}2026-01-01T00:00:00Z\u{2}approved\n\nLogin: boss", "a".repeat(40));
    outcome(&server, "vault_write_file", json!({ "path": "a.md", "content": note("b"), "commit_message": forged }));
    let history = server.call("vault_history", json!({ "path": "a.md" }));
    let authors: Vec<&str> = history["versions"].as_array().unwrap().iter().map(|commit| commit["by"].as_str().unwrap()).collect();
    assert_eq!(authors, ["all", "Person"], "the login, and the author of a commit that names none");
    // A lock file that leads elsewhere.
    let lock = repository.folder.vault().join(".neurostack-write.lock");
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(repository.folder.path().join("elsewhere"), &lock).unwrap();
    assert!(write(&server, "a.md", "c")["error"]["message"].as_str().unwrap().contains("is a link"));
    assert!(!repository.folder.path().join("elsewhere").exists());
    // A note whose line ends git does not count is clean.
    let repository = Repository::with(&[("crlf.md", &note("a").replace('\n', "\r\n"))]);
    repository.git(&["config", "core.autocrlf", "true"]);
    assert_eq!(write(&repository.serve(), "crlf.md", "new")["written"], true);
    // Attributes that come from the remote hold for what is written next.
    let attributes = Repository::with(&[("ours.md", &note("a")), ("Folder/x.md", "x")]);
    attributes.pushed_by_another(&attributes.clone("another"), ".gitattributes", "*.md eol=crlf\n");
    let server = attributes.serve();
    let crlf = json!({ "path": "new.md", "content": note("b").replace('\n', "\r\n") });
    assert!(outcome(&server, "vault_write_file", crlf.clone())["git_error"].as_str().unwrap().contains(".gitattributes"));
    assert_eq!(outcome(&server, "vault_write_file", crlf)["pushed"], true);
    assert_eq!(attributes.git(&["status", "--porcelain", "new.md"]), "");
    assert!(write(&server, "folder/y.md", "x")["error"]["message"].as_str().unwrap().contains("capital letters"));
    // A person's tag that was never pushed stays here.
    repository.git(&["tag", "-a", "-m", "mine", "mine"]);
    repository.git(&["config", "push.followTags", "true"]);
    assert_eq!(write(&repository.serve(), "crlf.md", "newer")["pushed"], true);
    assert_eq!(repository.at_remote(&["tag"]), "");
}

fn two() -> Repository {
    Repository::with(&[("a.md", &note("a")), ("b.md", &note("b"))])
}

fn words(refused: &Value) -> String {
    assert_eq!(refused["written"], false, "{refused}");
    refused["error"]["message"].as_str().unwrap().to_owned()
}

fn is_clean(repository: &Repository) {
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), repository.at_remote(&["rev-parse", "main"]));
    assert!(!repository.folder.vault().join(".git/index.lock").exists());
}

/// Git takes for unchanged what it was told not to look at, and what a filter drops; the bytes are a person's all the same.
#[test]
fn a_change_that_git_does_not_see_is_not_overwritten() {
    let repository = two();
    repository.git(&["update-index", "--assume-unchanged", "a.md"]);
    repository.write("a.md", "a person's\n");
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("--no-assume-unchanged"));
    assert_eq!(repository.folder.read("a.md"), b"a person's\n");
    let repository = two();
    repository.git(&["config", "filter.drop.clean", "sed /PRIVATE/d"]);
    std::fs::write(repository.folder.vault().join(".git/info/attributes"), "a.md filter=drop\n").unwrap();
    repository.write("a.md", &(note("a") + "PRIVATE\n"));
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("if_match"));
    assert_eq!(outcome(&server, "vault_delete_file", json!({ "path": "a.md" }))["deleted"], false);
    assert_eq!(repository.folder.read("a.md"), (note("a") + "PRIVATE\n").as_bytes());
}

/// Another working tree of the same repository is on another branch; nothing of one operation reaches the other.
#[test]
fn recovery_moves_no_branch_but_the_one_of_the_interrupted_write() {
    let repository = two();
    let other = repository.folder.path().join("draft");
    repository.git(&["worktree", "add", "-q", "-b", "draft", other.to_str().unwrap()]);
    git(&other, &["push", "-q", "-u", "origin", "draft"]);
    // As a crash leaves it: the remote has a commit on main, and here it is still to be moved to.
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let pending = repository.git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", "pending on main"]);
    repository.git(&["push", "-q", "origin", &format!("{}:refs/heads/main", pending.trim())]);
    pend(&repository, pending.trim());
    let server = Server::with(&other, &[("TOOLSETS", "git"), ("GIT_BRANCH", "draft")]);
    assert_eq!(write(&server, "a.md", "draft")["pushed"], true);
    assert!(!repository.at_remote(&["log", "--format=%s", "draft"]).contains("pending on main"));
    assert_eq!(write(&repository.serve(), "b.md", "main")["pushed"], true);
    assert!(repository.git(&["log", "--format=%s"]).contains("pending on main"), "the branch it belongs to has it");
    is_clean(&repository);
    assert_eq!(repository.git(&["for-each-ref", "refs/worktree", "refs/vault-sync-mcp"]), "");
    let ours = std::fs::read_dir(repository.folder.vault().join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(ours.filter(|name| name.to_str().unwrap().starts_with("vault-sync-mcp")).collect::<Vec<_>>(), ["vault-sync-mcp.lock"]);
}

#[test]
fn without_a_remote_a_write_that_cannot_move_the_branch_is_refused() {
    let repository = two();
    repository.git(&["remote", "remove", "origin"]);
    // The branch may not move: a hook of the repository's for all its refs.
    hook(&repository.folder.vault().join(".git"), "reference-transaction", "! grep -q refs/heads/main");
    let before = belongings(&repository, &[]);
    let server = repository.serve();
    assert!(words(&write(&server, "a.md", "new")).contains("git:"));
    assert_eq!(belongings(&repository, &[]), before);
    assert_eq!(outcome(&server, "vault_delete_file", json!({ "path": "b.md" }))["deleted"], false);
    assert_eq!(belongings(&repository, &[]), before);
    std::fs::remove_file(repository.folder.vault().join(".git/hooks/reference-transaction")).unwrap();
    assert_eq!(write(&server, "a.md", "new")["written"], true);
    assert_eq!(repository.git(&["log", "--format=%s"]).lines().count(), 2);
}

#[test]
fn files_whose_names_are_not_utf_8_are_not_overwritten() {
    let repository = two();
    let place = |name: &[u8]| repository.folder.vault().join(Path::new(std::ffi::OsStr::from_bytes(name)));
    std::fs::write(repository.folder.vault().join(".git/info/exclude"), "*.txt\n").unwrap();
    std::fs::write(place(b"caf\xe9.txt"), "a person's").unwrap();
    let clone = repository.clone("another");
    std::fs::write(clone.join(Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"))), "theirs").unwrap();
    repository.pushed_by_another(&clone, "x.md", "x");
    assert!(words(&write(&repository.serve(), "a.md", "new")).contains("it is here too, not committed"));
    assert_eq!(std::fs::read(place(b"caf\xe9.txt")).unwrap(), b"a person's");
}

/// A person's `git push --force-with-lease` trusts it.
#[test]
fn the_remote_tracking_branch_is_not_moved() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "x.md", "x");
    let before = repository.git(&["rev-parse", "origin/main"]);
    hook(&repository.folder.vault().join(".git"), "pre-push", "test ! -e .git/once && touch .git/once");
    let refused = write(&repository.serve(), "a.md", "new");
    assert_eq!(refused["written"], false, "the push after the fetch was refused: {refused}");
    assert_eq!(repository.git(&["rev-parse", "origin/main"]), before);
}

/// Whoever stages something after a crash keeps it, and so does who works while everything is moved.
#[test]
fn what_is_staged_meanwhile_stays_staged() {
    let repository = two();
    let pending = {
        repository.write("a.md", &note("server's"));
        repository.git(&["commit", "-q", "-a", "-m", "server's"]);
        let commit = repository.git(&["rev-parse", "HEAD"]);
        repository.git(&["push", "-q"]);
        repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
        commit
    };
    pend(&repository, pending.trim());
    repository.write("a.md", "STAGED\n");
    repository.git(&["add", "a.md"]);
    repository.write("a.md", "WORK\n");
    assert_eq!(write(&repository.serve(), "b.md", "new")["pushed"], true);
    assert_eq!((repository.git(&["show", ":a.md"]), repository.folder.read("a.md")), ("STAGED\n".into(), b"WORK\n".to_vec()));
    assert_eq!(repository.git(&["show", "HEAD:a.md"]), note("server's"));
    // While the refs move, git's own lock is held: whoever comes in between is told to wait by git.
    let repository = busy();
    let vault = repository.folder.vault();
    hook(
        &vault.join(".git"),
        "reference-transaction",
        "test $1 = prepared && test -e .git/vault-sync-mcp.pending.main && { git add changed.md 2>> .git/said; git commit -qm theirs 2>> .git/said; }; exit 0",
    );
    let before = belongings(&repository, &["ours.md"]);
    assert_eq!(write(&repository.serve(), "ours.md", "new")["pushed"], true);
    assert!(std::fs::read_to_string(vault.join(".git/said")).unwrap().contains("index.lock"));
    assert_eq!(belongings(&repository, &["ours.md"]), before);
}

/// The remote has changed a file that a person saves during the push.
#[test]
fn what_is_saved_during_the_checkout_is_kept() {
    let repository = Repository::with(&[("a.md", &note("a")), ("z.txt", "z")]);
    // In the second push, the one that counts.
    hook(
        &repository.folder.vault().join(".git"),
        "pre-push",
        "echo push >> .git/pushes; test $(wc -l < .git/pushes) != 2 || echo person > z.txt",
    );
    repository.pushed_by_another(&repository.clone("another"), "z.txt", "theirs");
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.folder.read("z.txt"), b"person\n");
    assert!(done["git_error"].as_str().unwrap().contains("z.txt"), "{done}");
    assert_eq!(write(&repository.serve(), "b.md", "new")["written"], false, "until it is committed, or brought back");
    repository.git(&["restore", "z.txt"]);
    assert_eq!(write(&repository.serve(), "b.md", "new")["written"], true);
    is_clean(&repository);
}

#[test]
fn a_link_in_place_of_a_folder_is_not_replaced() {
    let repository = Repository::with(&[("a.md", &note("a")), ("d/x.txt", "x"), ("d/y.txt", "y")]);
    let vault = repository.folder.vault();
    let elsewhere = repository.folder.path().join("elsewhere");
    std::fs::rename(vault.join("d"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, vault.join("d")).unwrap();
    repository.pushed_by_another(&repository.clone("another"), "d/x.txt", "theirs");
    assert!(words(&write(&repository.serve(), "a.md", "new")).contains("d is no folder here"));
    assert!(vault.join("d").is_symlink());
    assert_eq!(std::fs::read(elsewhere.join("x.txt")).unwrap(), b"x");
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

/// A filter that fails, or kills git, while the remote's files are made: the next write goes on as if nothing was.
#[test]
fn a_checkout_that_stopped_half_way_is_finished_by_the_next_write() {
    for smudge in ["false", "kill -9 $PPID"] {
        let repository = Repository::with(&[("a.md", &note("a")), ("aa.txt", "old"), (".gitattributes", "*.bin filter=x\n")]);
        repository.git(&["config", "filter.x.clean", "cat"]);
        repository.git(&["config", "filter.x.smudge", smudge]);
        repository.git(&["config", "filter.x.required", "true"]);
        let clone = repository.clone("another");
        repository.pushed_by_another(&clone, "aa.txt", "theirs");
        repository.pushed_by_another(&clone, "c.bin", "c");
        let before = belongings(&repository, &[]);
        let server = repository.serve();
        words(&write(&server, "a.md", "new"));
        assert_eq!(belongings(&repository, &[]), before, "{smudge}");
        repository.git(&["config", "filter.x.smudge", "cat"]);
        assert_eq!(write(&server, "a.md", "new")["pushed"], true, "{smudge}");
        is_clean(&repository);
    }
}

#[test]
fn an_index_lock_is_refused_before_the_push_and_within_seconds() {
    let repository = two();
    let server = repository.serve();
    std::fs::write(repository.folder.vault().join(".git/index.lock"), "").unwrap();
    let started = std::time::Instant::now();
    assert!(words(&write(&server, "a.md", "new")).contains("index.lock"));
    assert!(started.elapsed() < std::time::Duration::from_secs(8));
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "1");
    // One of our own that a kill -9 left is nobody's.
    std::fs::write(repository.folder.vault().join(".git/index.lock"), "vault-sync-mcp\n").unwrap();
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    is_clean(&repository);
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

/// The remote took it, somebody pushed on top, and the answer was lost: it is made, and says so.
#[test]
fn a_push_whose_answer_is_lost_counts_as_pushed() {
    let repository = two();
    let top = "c=$(git -c user.name=P -c user.email=p@example.com commit-tree -p main -m 'on top' 'main^{tree}'); git update-ref refs/heads/main $c; kill -9 $PPID";
    hook(&repository.remote(), "post-receive", &format!("test -e once || {{ touch once; {top}; }}"));
    let server = repository.serve();
    let done = write(&server, "a.md", "new");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
    assert!(repository.git(&["log", "--format=%s"]).contains("on top"));
    is_clean(&repository);
}

#[test]
fn a_message_changed_by_a_hook_is_kept_when_the_remote_has_news() {
    let repository = two();
    hook(&repository.folder.vault().join(".git"), "commit-msg", "printf '\\nChange-Id: I1\\n' >> \"$1\"");
    repository.pushed_by_another(&repository.clone("another"), "x.md", "x");
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    assert!(repository.at_remote(&["log", "-1", "--format=%B", "main"]).contains("Change-Id: I1"));
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

/// A file that is no longer in the index is its owner's, whatever the remote does with the one of that name.
#[test]
fn a_file_taken_out_of_the_index_is_not_deleted() {
    for ignored in [false, true] {
        let repository = Repository::with(&[("a.md", &note("a")), ("workspace.json", "{}"), ("other.json", "{}")]);
        let clone = repository.clone("another");
        repository.git(&["rm", "-q", "--cached", "workspace.json", "other.json"]);
        if ignored {
            std::fs::write(repository.folder.vault().join(".git/info/exclude"), "*.json\n").unwrap();
        }
        git(&clone, &["rm", "-q", "workspace.json"]);
        git(&clone, &["commit", "-q", "-m", "gone"]);
        git(&clone, &["push", "-q"]);
        assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
        assert_eq!((repository.folder.read("workspace.json"), repository.folder.read("other.json")), (b"{}".to_vec(), b"{}".to_vec()));
        assert_eq!(repository.git(&["diff", "--cached", "--name-status"]), "D\tother.json\n");
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

/// As a crash leaves it: the branch is to be moved to a commit.
fn pend(repository: &Repository, to: &str) {
    let commits = repository.git(&["rev-parse", to, "HEAD"]);
    std::fs::write(repository.folder.vault().join(".git/vault-sync-mcp.pending.main"), commits).unwrap();
}

fn pend_news(repository: &Repository) {
    repository.git(&["fetch", "-q"]);
    pend(repository, "origin/main");
}

#[test]
fn recovery_keeps_what_is_half_merged_or_only_staged() {
    // A conflict that git stash left; no merge is under way.
    let repository = Repository::with(&[("a.md", &note("a")), ("x.md", "1\n"), ("y.md", "1\n")]);
    let clone = repository.clone("another");
    std::fs::remove_file(repository.folder.vault().join("x.md")).unwrap();
    repository.git(&["stash", "-q"]);
    repository.write("x.md", "2\n");
    repository.git(&["commit", "-qam", "2"]);
    repository.git(&["push", "-q"]);
    let popped = std::process::Command::new("git").args(["stash", "pop", "-q"]).current_dir(repository.folder.vault()).output().unwrap();
    assert!(!popped.status.success());
    for (path, text) in [("x.md", "3\n"), ("y.md", "3\n")] {
        repository.pushed_by_another(&clone, path, text);
    }
    pend_news(&repository);
    let entries = repository.git(&["ls-files", "-s", "x.md"]);
    assert!(entries.lines().count() > 1, "{entries}");
    let server = repository.serve();
    assert_eq!(repository.git(&["ls-files", "-s", "x.md"]), entries);
    assert_eq!((repository.folder.read("x.md"), repository.folder.read("y.md")), (b"2\n".to_vec(), b"3\n".to_vec()));
    assert_eq!(write(&server, "a.md", "new")["written"], true, "other notes can be written");
    // Staged and nowhere else, where the remote has a file of that name.
    let repository = two();
    let clone = repository.clone("another");
    repository.write("x/y.md", "staged only");
    repository.git(&["add", "x"]);
    std::fs::remove_dir_all(repository.folder.vault().join("x")).unwrap();
    repository.pushed_by_another(&clone, "x", "theirs");
    pend_news(&repository);
    let server = repository.serve();
    assert_eq!(repository.git(&["show", ":x/y.md"]), "staged only");
    assert_eq!(write(&server, "a.md", "new")["written"], true);
    assert_eq!(repository.git(&["show", ":x/y.md"]), "staged only");
}

#[test]
fn what_is_staged_before_the_first_commit_stays_staged() {
    let folder = Folder::with(&[]);
    let remote = two();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "S"],
        &["config", "user.email", "s@example.com"],
        &["remote", "add", "origin", remote.remote().to_str().unwrap()],
    ] {
        git(&folder.vault(), arguments);
    }
    hook(
        &folder.vault().join(".git"),
        "pre-push",
        "test -e .git/once && exit 0; touch .git/once; echo mine > mine.txt; env -u GIT_INDEX_FILE git add mine.txt; echo later > mine.txt",
    );
    let done = write(&Server::with(&folder.vault(), &[("TOOLSETS", "git")]), "new.md", "x");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(git(&folder.vault(), &["show", ":mine.txt"]), "mine\n");
    assert_eq!(folder.read("mine.txt"), b"later\n");
    assert_eq!(folder.read("a.md"), note("a").as_bytes());
}

/// What the caller has read and replaces is agreed on, also when the remote has something else that is new.
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
        let done = outcome(&server, "vault_write_file", json!({ "path": path, "content": note("joined"), "if_match": etag }));
        assert_eq!((&done["pushed"], done.get("git_error")), (&json!(true), None), "{done}");
        assert_eq!(repository.folder.read(path), note("joined").as_bytes());
    }
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
    is_clean(&repository);
}

#[test]
fn folders_without_files_give_way_to_files_of_the_remote() {
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

/// A branch can be begun without git's lock. Nothing of ours is moved under it.
#[test]
fn a_branch_switched_during_the_checkout_gets_nothing_staged() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    // A filter runs while the index learns the new files.
    let script = "cat; test -e .git/vault-sync-mcp.pending.main && test ! -e .git/once && { touch .git/once; env -u GIT_INDEX_FILE git switch -q -c topic; }; true";
    repository.git(&["config", "filter.switch.clean", script]);
    std::fs::write(repository.folder.vault().join(".git/info/attributes"), "n.md filter=switch\n").unwrap();
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true);
    assert!(done["git_error"].as_str().unwrap().contains("switched to another branch"), "{done}");
    assert_eq!(repository.git(&["diff", "--cached", "--name-only"]), "", "nothing is staged on topic");
    let local = repository.git(&["rev-parse", "main"]);
    assert_ne!(local, repository.at_remote(&["rev-parse", "main"]));
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

/// `git gc` may remove a commit that only a crashed server knew of.
#[test]
fn a_pending_commit_that_is_gone_blocks_no_write() {
    let repository = two();
    let head = repository.git(&["rev-parse", "HEAD"]);
    let gone = format!("{}\n{head}", "1".repeat(head.trim().len()));
    std::fs::write(repository.folder.vault().join(".git/vault-sync-mcp.pending.main"), gone).unwrap();
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// Two rejected pushes, and in between the remote took back what it had: nothing of that comes back with the change.
#[test]
fn a_commit_that_the_remote_drops_between_two_pushes_is_not_pushed_again() {
    let repository = two();
    let clone = repository.clone("another");
    repository.pushed_by_another(&clone, "taken-back.md", "x");
    let replace = format!(
        "n=$(cat .git/n 2>/dev/null || echo 0); echo $((n+1)) > .git/n; test $n = 1 || exit 0; unset $(git rev-parse --local-env-vars); \
         cd {} && git reset -q --hard HEAD~1 && echo y > instead.md && git add instead.md && git -c user.name=A -c user.email=a@example.com commit -qm instead && git push -qf",
        clone.display()
    );
    hook(&repository.folder.vault().join(".git"), "pre-push", &replace);
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.git(&["ls-tree", "--name-only", "HEAD"]), "a.md\nb.md\ninstead.md\n");
    assert!(!repository.folder.vault().join("taken-back.md").exists());
    is_clean(&repository);
}

/// While something is half done the lock stays, so that nobody commits it; the next write finishes it.
#[test]
fn a_checkout_that_fails_half_way_keeps_the_index_locked_until_it_is_finished() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    hook(&repository.folder.vault().join(".git"), "reference-transaction", "! grep -q refs/heads/main");
    let server = repository.serve();
    let done = write(&server, "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert!(repository.folder.vault().join(".git/index.lock").exists());
    std::fs::remove_file(repository.folder.vault().join(".git/hooks/reference-transaction")).unwrap();
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
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

/// Whoever has switched in the middle of it can switch back.
#[test]
fn a_refused_write_leaves_no_index_lock_behind() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    hook(&repository.folder.vault().join(".git"), "reference-transaction", "! grep -q refs/heads/main");
    let server = repository.serve();
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    assert!(repository.folder.vault().join(".git/index.lock").exists());
    // A merge that is forgotten, and a write that is refused for it.
    std::fs::write(repository.folder.vault().join(".git/MERGE_HEAD"), repository.git(&["rev-parse", "HEAD"])).unwrap();
    assert!(words(&write(&server, "b.md", "new")).contains("git merge --abort"));
    assert!(!repository.folder.vault().join(".git/index.lock").exists(), "now it can be aborted");
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

/// An attack found that visible notes could make the vault's folder a repository, to git, whose configuration names programs.
#[test]
fn notes_named_as_parts_of_a_repository_run_no_program() {
    let top = Folder::with(&[("notes/n.md", note("n").as_bytes()), ("dotfile", b"x")]);
    let (top, vault) = (top.vault(), top.vault().join("notes"));
    for arguments in
        [&["init", "-q", "-b", "main"][..], &["config", "user.name", "S"], &["config", "user.email", "s@example.com"], &["add", "-A"]]
    {
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
            "[core]\n\tbare = false\n\tworktree = .\n\tattributesFile = {}/attr.txt\n[user]\n\tname = x\n\temail = x@x\n[filter \"x\"]\n\tclean = touch {}; cat\n",
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
            let place = vault.join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let server = server.take().unwrap_or_else(|| Server::with(&vault, &[("TOOLSETS", "vault,git")]));
        assert_eq!(write(&server, &format!("new {started_before}.md"), "x")["written"], true);
        assert!(!proof.exists());
    }
    assert_eq!(git(&top, &["ls-files", "notes"]), "notes/first.md\nnotes/n.md\nnotes/new false.md\nnotes/new true.md\n");
}

/// With its own repository damaged, as a power cut may, a note was committed to the one above, and pushed to its remote.
#[test]
fn notes_of_a_damaged_repository_do_not_go_to_the_one_above() {
    let home = Repository::with(&[("dotfile", "x")]);
    let vault = home.folder.vault().join("vault");
    std::fs::create_dir(&vault).unwrap();
    for arguments in [&["init", "-q", "-b", "main"][..], &["config", "user.name", "S"], &["config", "user.email", "s@example.com"]] {
        git(&vault, arguments);
    }
    let server = Server::with(&vault, &[("TOOLSETS", "git")]);
    assert_eq!(write(&server, "a.md", "x")["written"], true);
    std::fs::write(vault.join(".git/HEAD"), "").unwrap();
    let refused = write(&server, "secret.md", "x");
    assert_eq!(refused["written"], false, "{refused}");
    drop(server);
    let told = crate::commands::run(
        &["serve", "--toolsets", "git", "--listen-addr", "127.0.0.1:0", "--server-url", "http://localhost:1"],
        &[
            ("VAULT_PATH", vault.to_str().unwrap()),
            ("API_TOKENS", "a:0000000000000000000000000000000000000000000000000000000000000000"),
            ("PATH", &std::env::var("PATH").unwrap()),
        ],
        "",
    );
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("takes another one above"), "{told}");
    assert!(!vault.join("secret.md").exists());
    assert!(!home.at_remote(&["ls-tree", "-r", "--name-only", "main"]).contains("secret"));
}

/// What was never committed was said to be rolled back, and a note that is no text was shown as if it were.
#[test]
fn a_refusal_is_not_reported_as_rolled_back() {
    let repository = Repository::with(&[("a.md", &note("a"))]);
    std::fs::write(repository.folder.vault().join("latin.md"), b"---\ndate: 1\n---\ncaf\xe9\n").unwrap();
    repository.write("quotes.md", &"\"\n".repeat(60_000));
    let server = repository.serve();
    let refused = outcome(&server, "vault_write_file", json!({ "path": "a.md", "content": note("new"), "if_match": "dead" }));
    assert_eq!((&refused["error"]["code"], &refused["rolled_back"]), (&json!("CONFLICT"), &json!(false)), "{refused}");
    assert_eq!(refused["error"]["etag"], server.call("vault_read_file", json!({ "path": "a.md" }))["etag"]);
    assert_eq!(server.call("vault_read_file", json!({ "path": "latin.md" }))["lossy"], true);
    // As JSON every character of this one takes two.
    let mut whole = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let part = server.result("vault_read_file", json!({ "path": "quotes.md", "offset": offset }));
        assert!(part["structuredContent"].to_string().len() < 100_000);
        whole += part["structuredContent"]["content"].as_str().unwrap();
        offset = part["structuredContent"]["next_offset"].clone();
    }
    assert_eq!(whole.as_bytes(), repository.folder.read("quotes.md"));
}

/// Line ends of both kinds that nobody had committed were taken for git's, and gone for good.
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
