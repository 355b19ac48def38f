//! Toolset `git`: writes that are interrupted, and people who use the repository meanwhile.

use crate::git::{busy, hook, note, write};
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
    assert_eq!(write(&repository.serve(), "b.md", "new")["written"], true);
    assert_eq!(repository.git(&["status", "--porcelain"]), " M z.txt\n");
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
        let server = repository.serve();
        words(&write(&server, "a.md", "new"));
        assert_eq!(repository.folder.read("a.md"), note("a").as_bytes(), "{smudge}");
        repository.git(&["config", "filter.x.smudge", "cat"]);
        // What a killed git leaves is for its owner, as ever.
        let _ = std::fs::remove_file(repository.folder.vault().join(".git/index.lock"));
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
    std::fs::remove_file(repository.folder.vault().join(".git/index.lock")).unwrap();
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

/// Two rejected pushes, and in between the remote took back what it had: nothing of that is pushed
/// again, and the words say what has happened.
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
    let server = repository.serve();
    for _ in 0..2 {
        let refused = words(&write(&server, "a.md", "new"));
        assert!(refused.contains("a forced push"), "{refused}");
    }
    assert_eq!(repository.at_remote(&["log", "-1", "--format=%s", "main"]), "instead\n");
    repository.git(&["fetch", "-q"]);
    repository.git(&["reset", "-q", "--keep", "origin/main"]);
    assert_eq!(write(&server, "a.md", "new")["pushed"], true);
    is_clean(&repository);
}
