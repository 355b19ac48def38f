//! Toolset `agent`: what sessions write, and how it gets into the vault.

use crate::agent::{INIT, KEY, RESULT, Scene, WRITES, prepare};
use crate::support::repository::Repository;
use crate::support::{Folder, Server, eventually};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with the starter wiki, and the program that writes.
fn repository() -> (Repository, PathBuf) {
    let folder = Folder::with(&[("Diary.md", b"mine\n")]);
    let program = prepare(&folder, WRITES);
    (Repository::of(folder), program)
}

fn serve(repository: &Repository, program: &Path, settings: &[(&str, &str)]) -> Server {
    let mut all = vec![
        ("TOOLSETS", "vault,git,agent"),
        ("ANTHROPIC_API_KEY", KEY),
        ("AGENT_COMMAND", program.to_str().unwrap()),
    ];
    all.push(("PATH", "/usr/local/bin:/usr/bin:/bin"));
    all.extend(settings);
    Server::with(&repository.folder.vault(), &all)
}

#[cfg(feature = "default")]
#[test]
fn everything_that_sessions_file_is_committed_and_pushed() {
    for concurrency in ["1", "2"] {
        let (repository, program) = repository();
        let server = serve(&repository, &program, &[("COS_VAULT_CONCURRENCY", concurrency)]);
        let jobs: Vec<String> = (0..4)
            .map(|n| {
                let content = format!(
                    "write work/wiki/index.md # Work {n}\nwrite work/wiki/entities/{n}.md # {n}\n"
                );
                server.call("ingest", json!({ "content": content, "background": true }))["job_id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        let seen = |job: &String| server.call("ingest_status", json!({ "job_id": job }));
        eventually("all have ended", || jobs.iter().all(|job| seen(job)["status"] == "completed"));
        for job in &jobs {
            assert!(
                seen(job)["commit"]["pushed"] == true && seen(job).get("conflicts").is_none(),
                "{}",
                seen(job)
            );
        }
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "all of it is committed");
        assert_eq!(repository.git(&["rev-list", "--count", "HEAD"]), "5\n", "a commit each");
        assert_eq!(
            repository.git(&["rev-parse", "main"]),
            repository.at_remote(&["rev-parse", "main"])
        );
    }
}

#[cfg(feature = "default")]
#[test]
fn what_could_not_be_committed_is_committed_by_no_other_call() {
    let (repository, program) = repository();
    let server = serve(&repository, &program, &[]);
    let away = repository.folder.path().join("away.git");
    std::fs::rename(repository.remote(), &away).unwrap();
    let first = server.call("ingest", json!({ "content": "write work/wiki/index.md # One\n" }));
    assert!(first["commit"]["git_error"].is_string(), "{first}");
    std::fs::rename(&away, repository.remote()).unwrap();
    let second = server.call("vault_write", json!({ "path": "other.md", "content": "x" }));
    assert!(second["commit_sha"].is_string(), "{second}");
    assert_eq!(repository.git(&["show", "--format=", "--name-only", "HEAD"]), "other.md\n");
    assert_eq!(repository.git(&["status", "--porcelain"]), " M work/wiki/index.md\n");
}

#[cfg(feature = "default")]
#[test]
fn a_session_changes_the_wiki_and_nothing_else() {
    let (repository, program) = repository();
    let server = serve(
        &repository,
        &program,
        &[("STATE_DIR", repository.folder.path().join("state").to_str().unwrap())],
    );
    repository.write("raw/assets/scan.txt", "original\n");
    repository.write("work/AGENTS.md", "rules\n");
    let names = [
        "Diary.md",
        "CLAUDE.md",
        "work/AGENTS.md",
        "raw/assets/scan.txt",
        "raw/assets/new.txt",
        "new.md",
        ".hidden.md",
        "work/.hidden.md",
    ];
    let before = names.map(|name| std::fs::read(repository.folder.vault().join(name)).ok());
    let content: String = names.iter().map(|name| format!("write {name} gone\n")).collect();
    let result =
        server.call("ingest", json!({ "content": format!("{content}write aliases.md # Aliases\nwrite work/wiki/entities/A.md # A\n") }));
    assert_eq!(
        names.map(|name| std::fs::read(repository.folder.vault().join(name)).ok()),
        before,
        "{result}"
    );
    let written: Vec<&str> = result["written"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["path"].as_str().unwrap())
        .collect();
    assert_eq!(written, ["aliases.md", "work/wiki/entities/A.md"]);
    let left_out = result["left_out"].to_string();
    assert!(
        left_out.contains("work/AGENTS.md") && left_out.contains("work/.hidden.md"),
        "{left_out}"
    );
}

/// A page that a person saves while a session rewrites it keeps the person's text.
#[test]
fn a_page_that_was_changed_meanwhile_is_a_conflict_and_both_texts_are_kept() {
    let scene = Scene::waiting();
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let content = "write work/wiki/index.md session\nwrite life/wiki/index.md mine too\nwrite \
                   work/wiki/entities/B.md slow\n";
    let job =
        server.call("ingest", json!({ "content": content, "background": true }))["job_id"].clone();
    eventually("the session has written", || scene.has("waits"));
    assert_ne!(
        scene.folder.read("work/wiki/index.md"),
        b"session\n",
        "nothing is in the vault before the session ends"
    );
    std::fs::write(scene.folder.vault().join("work/wiki/index.md"), "a person's\n").unwrap();
    scene.go_on();
    let seen = || server.call("ingest_status", json!({ "job_id": job }));
    eventually("it ends", || seen()["status"] == "completed");
    assert_eq!(scene.folder.read("work/wiki/index.md"), b"a person's\n");
    assert_eq!(scene.folder.read("life/wiki/index.md"), b"mine too\n");
    let conflict = seen()["conflicts"][0].clone();
    assert_eq!(conflict["path"], "work/wiki/index.md");
    assert_eq!(scene.folder.read(conflict["kept_as"].as_str().unwrap()), b"session\n");
}

#[cfg(feature = "default")]
#[test]
fn what_a_session_filed_is_undone_as_one() {
    let scene = Scene::with(WRITES);
    std::fs::write(scene.folder.path().join("scan.txt"), "scan").unwrap();
    let server = scene.serve(&[
        ("TOOLSETS", "vault,notes,agent"),
        ("COS_VAULT_ATTACH_DIRS", scene.folder.path().to_str().unwrap()),
    ]);
    let before = scene.folder.read("work/wiki/index.md");
    let content = "write work/wiki/index.md session\nwrite work/wiki/entities/B.md # B\n";
    let files = [scene.folder.path().join("scan.txt"), PathBuf::from("Diary.md")];
    let filed = server.call("ingest", json!({ "content": content, "files": files }));
    assert_eq!(filed["written"].as_array().unwrap().len(), 4, "{filed}");
    assert_eq!(
        scene.folder.read("raw/assets/Diary.md"),
        b"mine\n",
        "what is from the vault is kept like what is from outside"
    );
    let history = server.call("vault_history", json!({ "path": "work/wiki/index.md" }));
    assert_eq!(
        (&history["versions"][0]["tool"], &history["versions"][0]["by"]),
        (&json!("ingest"), &json!("all")),
        "{history}"
    );
    let mut undo = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    undo.args(["undo", "--login", "all", "--since", "1h"])
        .env_clear()
        .env("VAULT_PATH", scene.folder.vault());
    let output = undo.env("STATE_DIR", scene.folder.path().join("state")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scene.folder.read("work/wiki/index.md"), before);
    assert!(
        ["work/wiki/entities/B.md", "raw/assets/scan.txt"].iter().all(|name| !scene
            .folder
            .vault()
            .join(name)
            .exists())
    );
}

#[test]
fn a_session_that_wrote_nothing_says_so_and_gives_its_last_words() {
    let scene = Scene::with(
        &format!("{INIT}{RESULT}")
            .replace("\"result\":\"x\"", "\"result\":\"It was filed already.\""),
    );
    let filed = scene.serve(&[]).call("ingest", json!({ "content": "x" }));
    assert_eq!(
        (&filed["status"], &filed["summary"]),
        (&json!("nothing_filed"), &json!("It was filed already.")),
        "{filed}"
    );
}

/// What cost money is not thrown away because the vault does not take it.
#[test]
fn what_the_vault_does_not_take_is_kept() {
    let scene = Scene::waiting();
    std::fs::write(scene.folder.path().join("scan.txt"), "scan").unwrap();
    std::fs::write(scene.folder.vault().join("work/wiki/entities/Bob.md"), "a person's\n").unwrap();
    let server = scene.serve(&[
        ("COS_VAULT_TIMEOUT_MS", "60000"),
        ("COS_VAULT_ATTACH_DIRS", scene.folder.path().to_str().unwrap()),
    ]);
    let content = "write work/wiki/entities/bob.md twin\nwrite work/wiki/entities/What? Why.md \
                   colon\nwrite work/wiki/entities/A.md # A\nwrite work/AGENTS.md no\nwrite \
                   work/wiki/entities/Z.md slow\n";
    let content = content.replace("What? Why.md", "What?.md");
    let files = [scene.folder.path().join("scan.txt")];
    let job = server
        .call("ingest", json!({ "content": content, "files": files, "background": true }))["job_id"]
        .clone();
    eventually("the session has written", || scene.has("waits"));
    std::fs::create_dir_all(scene.folder.vault().join("raw/assets")).unwrap();
    std::fs::write(scene.folder.vault().join("raw/assets/scan.txt"), "another").unwrap();
    scene.go_on();
    let seen = || server.call("ingest_status", json!({ "job_id": job }));
    eventually("it ends", || seen()["status"] == "completed");
    let seen = seen();
    assert_eq!(scene.folder.read("work/wiki/entities/A.md"), b"# A\n");
    assert_eq!(
        (scene.folder.read("work/wiki/entities/Bob.md"), scene.folder.read("raw/assets/scan.txt")),
        (b"a person's\n".to_vec(), b"another".to_vec())
    );
    let kept: Vec<Vec<u8>> = seen["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|conflict| scene.folder.read(conflict["kept_as"].as_str().unwrap()))
        .collect();
    assert_eq!(kept, [b"colon\n".to_vec(), b"twin\n".to_vec()], "{seen}");
    let left_out = seen["left_out"].to_string();
    assert!(
        left_out.contains("raw/assets/scan.txt") && left_out.contains("unfiled-"),
        "{left_out}"
    );
    assert_eq!(scene.read_unfiled("work/AGENTS.md"), b"no\n");
}

#[test]
fn a_vault_that_is_away_when_a_session_ends_fails_it_and_the_text_is_kept() {
    let scene = Scene::waiting();
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let job = server.call(
        "ingest",
        json!({ "content": "write work/wiki/entities/Z.md slow\n", "background": true }),
    )["job_id"]
        .clone();
    eventually("the session has written", || scene.has("waits"));
    let away = scene.folder.path().join("away");
    std::fs::rename(scene.folder.vault(), &away).unwrap();
    scene.go_on();
    let seen = || server.call("ingest_status", json!({ "job_id": job }));
    eventually("it ends", || seen()["status"] == "failed");
    std::fs::rename(&away, scene.folder.vault()).unwrap();
    assert_eq!(seen()["cost_usd"], 0.1);
    assert_eq!(scene.read_unfiled("work/wiki/entities/Z.md"), b"slow\n");
}

#[cfg(feature = "default")]
#[test]
fn what_a_session_had_written_at_the_end_of_the_server_is_filed_and_committed() {
    let (repository, program) = repository();
    let server = serve(&repository, &program, &[]);
    let content = "write work/wiki/entities/A.md # A\nwrite work/wiki/entities/B.md slow\n";
    let job =
        server.call("ingest", json!({ "content": content, "background": true }))["job_id"].clone();
    let doing = || server.call("ingest_status", json!({ "job_id": job }))["doing"].to_string();
    eventually("the second is written", || doing().contains("B.md"));
    assert_eq!(server.terminate(), 0);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert!(repository.git(&["log", "-1", "--format=%s"]).contains("not finished"));
    assert_eq!(repository.folder.read("work/wiki/entities/A.md"), b"# A\n");
}

#[test]
fn a_line_too_long_to_read_ends_the_session_and_what_it_wrote_is_filed() {
    let body = format!(
        "{INIT}echo changed > work/wiki/index.md\nhead -c 5000000 /dev/zero | tr '\\0' \
         x\necho\n{RESULT}"
    );
    let scene = Scene::with(&body);
    let error = scene.serve(&[]).fail("ingest", json!({ "content": "x" }));
    assert_eq!(
        error["written"],
        json!([{ "path": "work/wiki/index.md", "created": false }]),
        "{error}"
    );
    assert_eq!(scene.folder.read("work/wiki/index.md"), b"changed\n");
}
