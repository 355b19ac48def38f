//! Toolset `git`: writes that are interrupted, and people who use the repository meanwhile.

use crate::git::{belongings, busy, hook, note, write};
use crate::git_attacks::{is_clean, two, words};
use crate::support::repository::{Repository, git};
use crate::support::{Folder, Server};
use serde_json::json;

/// What a person does in the repository while a push is in progress is theirs; nothing is moved
/// over it.
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
            "mv .git/hooks/pre-push .git/done; unset $(env | sed -n \
             's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); {script}; git status --porcelain > .git/seen; git \
             rev-parse HEAD main >> .git/seen; git ls-files -s >> .git/seen"
        );
        hook(&repository.folder.vault().join(".git"), "pre-push", &script);
        let server = repository.serve();
        let done = write(&server, "ours.md", "new");
        assert_eq!(
            (&done["written"], &done["pushed"]),
            (&json!(true), &json!(true)),
            "{name}: {done}"
        );
        assert!(
            done["git_error"].as_str().unwrap().contains("git pull brings it"),
            "{name}: {done}"
        );
        let seen = repository.git(&["status", "--porcelain"])
            + &repository.git(&["rev-parse", "HEAD", "main"])
            + &repository.git(&["ls-files", "-s"]);
        assert_eq!(
            seen,
            String::from_utf8(std::fs::read(repository.folder.vault().join(".git/seen")).unwrap())
                .unwrap(),
            "{name}"
        );
        assert_eq!(repository.at_remote(&["show", "main:ours.md"]), note("new"), "{name}");
    }
}

/// Another working tree of the same repository is on another branch; nothing of one operation
/// reaches the other.
#[test]
fn recovery_moves_no_branch_but_the_one_of_the_interrupted_write() {
    let repository = two();
    let other = repository.folder.path().join("draft");
    repository.git(&["worktree", "add", "-q", "-b", "draft", other.to_str().unwrap()]);
    git(&other, &["push", "-q", "-u", "origin", "draft"]);
    // As a crash leaves it: the remote has a commit on main, and here it is still to be moved to.
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let pending =
        repository.git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", "pending on main"]);
    repository.git(&["push", "-q", "origin", &format!("{}:refs/heads/main", pending.trim())]);
    pend(&repository, pending.trim());
    let server = Server::with(&other, &[("TOOLSETS", "git"), ("GIT_BRANCH", "draft")]);
    assert_eq!(write(&server, "a.md", "draft")["pushed"], true);
    assert!(!repository.at_remote(&["log", "--format=%s", "draft"]).contains("pending on main"));
    assert_eq!(write(&repository.serve(), "b.md", "main")["pushed"], true);
    assert!(
        repository.git(&["log", "--format=%s"]).contains("pending on main"),
        "the branch it belongs to has it"
    );
    is_clean(&repository);
    assert_eq!(repository.git(&["for-each-ref", "refs/worktree", "refs/vault-sync-mcp"]), "");
    let ours = std::fs::read_dir(repository.folder.vault().join(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        ours.filter(|name| name.to_str().unwrap().starts_with("vault-sync-mcp"))
            .collect::<Vec<_>>(),
        ["vault-sync-mcp.lock"]
    );
}

/// Whoever stages something after a crash keeps it, and so does who works while everything is
/// moved.
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
    assert_eq!(
        (repository.git(&["show", ":a.md"]), repository.folder.read("a.md")),
        ("STAGED\n".into(), b"WORK\n".to_vec())
    );
    assert_eq!(repository.git(&["show", "HEAD:a.md"]), note("server's"));
    // While the refs move, git's own lock is held: whoever comes in between is refused by git.
    let repository = busy();
    let vault = repository.folder.vault();
    hook(
        &vault.join(".git"),
        "reference-transaction",
        "test $1 = prepared && test -e .git/vault-sync-mcp.pending.main && { git add changed.md \
         2>> .git/said; git commit -qm theirs 2>> .git/said; }; exit 0",
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
    assert_eq!(
        write(&repository.serve(), "b.md", "new")["written"],
        false,
        "until it is committed, or brought back"
    );
    repository.git(&["restore", "z.txt"]);
    assert_eq!(write(&repository.serve(), "b.md", "new")["written"], true);
    is_clean(&repository);
}

/// A filter that fails, or kills git, while the remote's files are made: the next write goes on as
/// if nothing was.
#[test]
fn a_checkout_that_stopped_in_between_is_finished_by_the_next_write() {
    for smudge in ["false", "kill -9 $PPID"] {
        let repository = Repository::with(&[
            ("a.md", &note("a")),
            ("aa.txt", "old"),
            (".gitattributes", "*.bin filter=x\n"),
        ]);
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
    assert!(!crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(8));
    assert_eq!(repository.at_remote(&["rev-list", "--count", "main"]).trim(), "1");
    // One of our own that a kill -9 left has no owner.
    std::fs::write(repository.folder.vault().join(".git/index.lock"), "vault-sync-mcp\n").unwrap();
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// The remote has taken the commit, another push is on top of it, and the answer is lost: the write
/// counts as pushed.
#[test]
fn a_push_whose_answer_is_lost_counts_as_pushed() {
    let repository = two();
    let top = "c=$(git -c user.name=P -c user.email=p@example.com commit-tree -p main -m 'on top' \
               'main^{tree}'); git update-ref refs/heads/main $c; kill -9 $PPID";
    hook(
        &repository.remote(),
        "post-receive",
        &format!("test -e once || {{ touch once; {top}; }}"),
    );
    let server = repository.serve();
    let done = write(&server, "a.md", "new");
    assert_eq!((&done["written"], &done["pushed"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
    assert!(repository.git(&["log", "--format=%s"]).contains("on top"));
    is_clean(&repository);
}

/// As a crash leaves it: the branch is to be moved to a commit.
fn pend(repository: &Repository, to: &str) {
    let commits = repository.git(&["rev-parse", to, "HEAD"]);
    std::fs::write(repository.folder.vault().join(".git/vault-sync-mcp.pending.main"), commits)
        .unwrap();
}

pub(crate) fn pend_news(repository: &Repository) {
    repository.git(&["fetch", "-q"]);
    pend(repository, "origin/main");
}

#[test]
fn recovery_keeps_what_is_half_merged_or_only_staged() {
    // A conflict that git stash left; no merge is in progress.
    let repository = Repository::with(&[("a.md", &note("a")), ("x.md", "1\n"), ("y.md", "1\n")]);
    let clone = repository.clone("another");
    std::fs::remove_file(repository.folder.vault().join("x.md")).unwrap();
    repository.git(&["stash", "-q"]);
    repository.write("x.md", "2\n");
    repository.git(&["commit", "-qam", "2"]);
    repository.git(&["push", "-q"]);
    let popped = std::process::Command::new("git")
        .args(["stash", "pop", "-q"])
        .current_dir(repository.folder.vault())
        .output()
        .unwrap();
    assert!(!popped.status.success());
    for (path, text) in [("x.md", "3\n"), ("y.md", "3\n")] {
        repository.pushed_by_another(&clone, path, text);
    }
    pend_news(&repository);
    let entries = repository.git(&["ls-files", "-s", "x.md"]);
    assert!(entries.lines().count() > 1, "{entries}");
    let server = repository.serve();
    assert_eq!(repository.git(&["ls-files", "-s", "x.md"]), entries);
    assert_eq!(
        (repository.folder.read("x.md"), repository.folder.read("y.md")),
        (b"2\n".to_vec(), b"3\n".to_vec())
    );
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
        "test -e .git/once && exit 0; touch .git/once; echo mine > mine.txt; env -u \
         GIT_INDEX_FILE git add mine.txt; echo later > mine.txt",
    );
    let done = write(&Server::with(&folder.vault(), &[("TOOLSETS", "git")]), "new.md", "x");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(git(&folder.vault(), &["show", ":mine.txt"]), "mine\n");
    assert_eq!(folder.read("mine.txt"), b"later\n");
    assert_eq!(folder.read("a.md"), note("a").as_bytes());
}

/// A branch can be begun without git's lock. Nothing of ours is moved under it.
#[test]
fn a_branch_switched_during_the_checkout_gets_nothing_staged() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    // The hook runs when the new index is written.
    let script = "test -e .git/vault-sync-mcp.pending.main && test ! -e .git/once && { touch \
                  .git/once; env -u GIT_INDEX_FILE git switch -q -c topic; }; true";
    hook(&repository.folder.vault().join(".git"), "post-index-change", script);
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true);
    assert!(
        done["git_error"].as_str().unwrap().contains("another branch was checked out"),
        "{done}"
    );
    assert_eq!(
        repository.git(&["diff", "--cached", "--name-only"]),
        "",
        "nothing is staged on topic"
    );
    let local = repository.git(&["rev-parse", "main"]);
    assert_ne!(local, repository.at_remote(&["rev-parse", "main"]));
}

/// `git gc` may remove a commit that only a crashed server knew of.
#[test]
fn a_pending_commit_that_is_gone_blocks_no_write() {
    let repository = two();
    let head = repository.git(&["rev-parse", "HEAD"]);
    let gone = format!("{}\n{head}", "1".repeat(head.trim().len()));
    std::fs::write(repository.folder.vault().join(".git/vault-sync-mcp.pending.main"), gone)
        .unwrap();
    assert_eq!(write(&repository.serve(), "a.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// Two rejected pushes, and in between the remote took back what it had: nothing of that comes back
/// with the change.
#[test]
fn a_commit_that_the_remote_drops_between_two_pushes_is_not_pushed_again() {
    let repository = two();
    let clone = repository.clone("another");
    repository.pushed_by_another(&clone, "taken-back.md", "x");
    let replace = format!(
        "n=$(cat .git/n 2>/dev/null || echo 0); echo $((n+1)) > .git/n; test $n = 1 || exit 0; \
         unset $(git rev-parse --local-env-vars); cd {} && git reset -q --hard HEAD~1 && echo y > \
         instead.md && git add instead.md && git -c user.name=A -c user.email=a@example.com \
         commit -qm instead && git push -qf",
        clone.display()
    );
    hook(&repository.folder.vault().join(".git"), "pre-push", &replace);
    let done = write(&repository.serve(), "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert_eq!(repository.git(&["ls-tree", "--name-only", "HEAD"]), "a.md\nb.md\ninstead.md\n");
    assert!(!repository.folder.vault().join("taken-back.md").exists());
    is_clean(&repository);
}

/// While something is half done the lock stays, so that it is not committed; the next write
/// finishes it.
#[test]
fn a_checkout_that_fails_in_between_keeps_the_index_locked_until_it_is_finished() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    hook(
        &repository.folder.vault().join(".git"),
        "reference-transaction",
        "! grep -q refs/heads/main",
    );
    let server = repository.serve();
    let done = write(&server, "a.md", "new");
    assert_eq!(done["pushed"], true, "{done}");
    assert!(repository.folder.vault().join(".git/index.lock").exists());
    std::fs::remove_file(repository.folder.vault().join(".git/hooks/reference-transaction"))
        .unwrap();
    assert_eq!(write(&server, "b.md", "new")["pushed"], true);
    is_clean(&repository);
}

/// Whoever has switched in the middle of it can switch back.
#[test]
fn a_refused_write_leaves_no_index_lock_behind() {
    let repository = two();
    repository.pushed_by_another(&repository.clone("another"), "n.md", "news");
    hook(
        &repository.folder.vault().join(".git"),
        "reference-transaction",
        "! grep -q refs/heads/main",
    );
    let server = repository.serve();
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    assert!(repository.folder.vault().join(".git/index.lock").exists());
    // A merge that is forgotten, and a write that is refused for it.
    std::fs::write(
        repository.folder.vault().join(".git/MERGE_HEAD"),
        repository.git(&["rev-parse", "HEAD"]),
    )
    .unwrap();
    assert!(words(&write(&server, "b.md", "new")).contains("git merge --abort"));
    assert!(!repository.folder.vault().join(".git/index.lock").exists(), "now it can be aborted");
}
