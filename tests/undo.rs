//! Nothing a client writes is final: kept versions, `vault_history`, `vault_restore`, `vault_undo`,
//! and the command `undo`.

use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A vault, its state folder, and a server on both.
struct Kept {
    folder: Folder,
    state: PathBuf,
}

impl Kept {
    fn of(files: &[(&str, &[u8])]) -> Kept {
        let folder = Folder::with(files);
        let state = folder.path().join("state");
        Kept { folder, state }
    }

    fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    fn serve_with(&self, more: &[(&str, &str)]) -> Server {
        let state = self.state.display().to_string();
        let settings = [
            &[("TOOLSETS", "vault,notes"), ("STATE_DIR", state.as_str()), ("TIME_ZONE", "UTC")],
            more,
        ]
        .concat();
        Server::with(&self.folder.vault(), &settings)
    }

    fn undo(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        command
            .arg("undo")
            .args(words)
            .env_clear()
            .env("VAULT_PATH", self.folder.vault())
            .env("STATE_DIR", &self.state);
        command.output().unwrap()
    }

    /// Every file that is not hidden.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let (mut found, mut open) = (BTreeMap::new(), vec![self.folder.vault()]);
        while let Some(on_disk) = open.pop() {
            for path in std::fs::read_dir(on_disk).unwrap().map(|entry| entry.unwrap().path()) {
                match path.strip_prefix(self.folder.vault()).unwrap().display().to_string() {
                    name if path.file_name().unwrap().to_str().unwrap().starts_with('.') => {
                        drop(name)
                    }
                    _ if path.is_dir() => open.push(path),
                    name => drop(found.insert(name, std::fs::read(&path).unwrap())),
                }
            }
        }
        found
    }
}

#[test]
fn every_replaced_text_is_kept_and_can_be_brought_back() {
    let kept = Kept::of(&[
        ("a.md", b"one\r\n" as &[u8]),
        ("t.md", b"- [ ] task\n"),
        ("bin.dat", b"\xff\x00\xfe"),
    ]);
    let server = kept.serve();
    let written = server.call("vault_write", json!({ "path": "a.md", "content": "two" }));
    let edited = server
        .call("vault_edit", json!({ "path": "a.md", "old_text": "two", "new_text": "three" }));
    server.call("vault_set_properties", json!({ "paths": ["a.md", "t.md"], "set": { "x": 1 } }));
    let ticked =
        server.call("vault_set_task", json!({ "path": "t.md", "line": 4, "text": "task" }));
    let inserted = server.call("vault_insert", json!({ "path": "t.md", "text": "- [ ] more" }));
    assert!(
        [&written, &edited, &ticked, &inserted]
            .iter()
            .all(|answer| answer["previous"].as_str().is_some_and(|id| id.len() == 16))
    );
    assert!(
        server.call("vault_write", json!({ "path": "new.md", "content": "n" }))["previous"]
            .is_null()
    );
    server.call("vault_move", json!({ "path": "a.md", "to": "b/c.md" }));
    server.call("vault_delete", json!({ "paths": ["b/c.md", "bin.dat"] }));
    let history = server.call("vault_history", json!({ "path": "b/c.md" }));
    let versions = history["versions"].as_array().unwrap();
    let tools: Vec<&str> =
        versions.iter().map(|version| version["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["vault_delete", "vault_set_properties", "vault_edit", "vault_write"]);
    assert_eq!(
        (versions[3]["version"].clone(), versions[3]["bytes"].clone(), versions[3]["by"].clone()),
        (written["previous"].clone(), json!(5), json!("all"))
    );
    // A deleted note, and an old text instead; each is a version again.
    let back = server
        .call("vault_restore", json!({ "path": "b/c.md", "version": versions[0]["version"] }));
    assert!(back["previous"].is_null());
    assert_eq!(kept.folder.read("b/c.md"), b"---\nx: 1\n---\nthree");
    let first =
        server.call("vault_restore", json!({ "path": "b/c.md", "version": written["previous"] }));
    assert_eq!(kept.folder.read("b/c.md"), b"one\r\n");
    server.call("vault_restore", json!({ "path": "b/c.md", "version": first["previous"] }));
    assert_eq!(kept.folder.read("b/c.md"), b"---\nx: 1\n---\nthree");
    let binary =
        server.call("vault_history", json!({ "path": "bin.dat" }))["versions"][0]["version"]
            .clone();
    server.call("vault_restore", json!({ "path": "bin.dat", "version": binary }));
    assert_eq!(kept.folder.read("bin.dat"), b"\xff\x00\xfe");
    assert_eq!(
        server.fail("vault_restore", json!({ "path": "t.md", "version": written["previous"] }))["code"],
        "TARGET_NOT_FOUND"
    );
    // Private, and outside of the vault.
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(kept.state.join("versions")).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    drop(server);
    let server = kept.serve_with(&[("VERSIONS", "0")]);
    assert!(
        server.call("vault_edit", json!({ "path": "t.md", "old_text": "more", "new_text": "x" }))
            ["previous"]
            .is_null()
    );
    assert_eq!(server.fail("vault_history", json!({ "path": "t.md" }))["code"], "INVALID_ARGUMENT");
}

#[test]
fn a_change_that_cannot_be_kept_is_not_made() {
    let kept = Kept::of(&[("a.md", b"one")]);
    std::fs::create_dir_all(&kept.state).unwrap();
    std::fs::write(kept.state.join("versions"), "instead of the folder").unwrap();
    let server = kept.serve();
    assert_eq!(
        server.fail("vault_write", json!({ "path": "a.md", "content": "two" }))["code"],
        "WRITE_ERROR"
    );
    assert_eq!(server.fail("vault_delete", json!({ "paths": ["a.md"] }))["code"], "WRITE_ERROR");
    assert_eq!(kept.folder.read("a.md"), b"one");
}

/// The drill: an agent empties every note, moves a folder and deletes twenty; one command takes all
/// of it back, byte for byte, while the server runs.
#[test]
fn one_command_takes_back_all_that_a_login_has_done() {
    let count = if crate::support::thorough() { 1000 } else { 70 };
    let notes: Vec<(String, Vec<u8>)> = (0..count)
        .map(|n| {
            (
                format!("F{}/n{n}.md", n % 7),
                format!("\u{feff}# {n}\r\n[[n{}]] [[F1/n{}|x]]", (n + 1) % count, 1 + 7 * (n % 5))
                    .into_bytes(),
            )
        })
        .collect();
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let kept = Kept::of(&files);
    let server = kept.serve();
    let before = kept.files();
    let nothing = kept.undo(&["--login", "all", "--since", "1h"]);
    assert!(
        String::from_utf8_lossy(&nothing.stdout).contains("changed nothing"),
        "{}",
        String::from_utf8_lossy(&nothing.stderr)
    );
    server.call("vault_move", json!({ "path": "F1", "to": "G/H" }));
    for (path, _) in notes.iter().filter(|(path, _)| !path.starts_with("F1/")) {
        server.call("vault_write", json!({ "path": path, "content": "" }));
    }
    let twenty: Vec<&String> = notes
        .iter()
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("F2/"))
        .take(20)
        .collect();
    server.call("vault_delete", json!({ "paths": twenty }));
    server.call("vault_write", json!({ "path": "made/by.md", "content": "agent" }));
    server.call(
        "vault_edit",
        json!({ "path": "made/by.md", "old_text": "agent", "new_text": "agents" }),
    );
    let after = kept.files();
    let planned = kept.undo(&["--login", "all", "--since", "1h", "--dry-run"]);
    assert_eq!((planned.status.code(), kept.files()), (Some(0), after));
    let other = kept.undo(&["--login", "other", "--since", "1h"]);
    assert_eq!(
        (
            other.status.code(),
            String::from_utf8_lossy(&other.stderr).contains("changes are kept of: all")
        ),
        (Some(1), true)
    );
    let done = kept.undo(&["--login", "token:all", "--since", "1h"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(kept.files(), before, "{said}");
    let lines = |output: &Output| String::from_utf8_lossy(&output.stdout).lines().count();
    assert_eq!(lines(&planned), lines(&done));
    let again = String::from_utf8(kept.undo(&["--login", "all", "--since", "1h"]).stdout).unwrap();
    assert!(again.contains("changed nothing"), "{again}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(
        server.call("vault_read", json!({ "path": "F1/n1.md" }))["path"],
        "F1/n1.md",
        "the server sees it"
    );
}

#[test]
fn folders_without_files_do_not_keep_a_move_from_being_taken_back() {
    let kept = Kept::of(&[("F/a.md", b"a"), ("G/b.md", b"b")]);
    std::fs::create_dir(kept.folder.vault().join("Empty")).unwrap();
    let server = kept.serve();
    let before = kept.files();
    for (from, to) in [
        ("F", "K"),
        ("Empty", "Still empty"),
        ("K", "F/K"),
        ("G/b.md", "F/H/b.md"),
        ("G", "F/G"),
        ("F/H", "N/M"),
        ("N/M", "P"),
    ] {
        server.call("vault_move", json!({ "path": from, "to": to }));
    }
    server.call("vault_write", json!({ "path": "Empty/Deep/x.md", "content": "x" }));
    server.call("vault_write", json!({ "path": "F/new.md", "content": "x" }));
    let undo = |more: &[&str]| {
        let done = kept.undo(&[&["--login", "all", "--since", "1h"], more].concat());
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (planned, planned_lines) = undo(&["--dry-run"]);
    let (done, lines) = undo(&[]);
    assert_eq!((planned, done), (Some(0), Some(0)), "{planned_lines}{lines}");
    assert_eq!(planned_lines.lines().count(), lines.lines().count(), "{planned_lines}{lines}");
    assert_eq!(kept.files(), before, "{lines}");
    assert!(
        kept.folder.vault().join("Empty").is_dir()
            && !kept.folder.vault().join("Still empty").exists()
    );
    // A file that is not served is one.
    server.call("vault_move", json!({ "path": "F", "to": "K" }));
    std::fs::create_dir_all(kept.folder.vault().join("F/deep")).unwrap();
    std::fs::write(kept.folder.vault().join("F/deep/.DS_Store"), "x").unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let (code, lines) = undo(more);
        assert!(
            code == Some(1) && lines.contains("K: cannot be moved back, another F exists"),
            "{more:?} {lines}"
        );
    }
}

#[test]
fn what_was_changed_since_is_left_alone_and_named() {
    let kept = Kept::of(&[
        ("a.md", b"a1"),
        ("b.md", b"b1"),
        ("c.md", b"[[d]]"),
        ("d.md", b"d"),
        ("e.md", b"e"),
        ("f.md", b"f1"),
    ]);
    let server = kept.serve();
    for (path, text) in
        [("a.md", "a2"), ("b.md", "b2"), ("a.md", "a3"), ("f.md", "f2"), ("f.md", "f3")]
    {
        server.call("vault_write", json!({ "path": path, "content": text }));
    }
    server.call("vault_move", json!({ "path": "d.md", "to": "moved.md" }));
    server.call("vault_delete", json!({ "paths": ["e.md"] }));
    let put =
        |path: &str, text: &str| std::fs::write(kept.folder.vault().join(path), text).unwrap();
    put("a.md", "a person's");
    put("d.md", "another d");
    put("e.md", "another e");
    let done = kept.undo(&["--login", "all", "--since", "1h"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    for wanted in [
        "a.md: changed since",
        "moved.md: cannot be moved back",
        "e.md: there is another file",
        "3 left alone",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let files = kept.files();
    let text = |path: &str| String::from_utf8_lossy(&files[path]).into_owned();
    assert_eq!(
        (text("a.md"), text("b.md"), text("f.md")),
        ("a person's".into(), "b1".into(), "f1".into())
    );
    // The whole move stays: file and link.
    assert_eq!(
        (text("c.md"), text("moved.md"), text("d.md"), text("e.md")),
        ("[[moved]]".into(), "d".into(), "another d".into(), "another e".into())
    );
}

#[test]
fn undo_says_what_is_wrong_with_its_words() {
    let kept = Kept::of(&[("a.md", b"a")]);
    std::fs::create_dir(&kept.state).unwrap();
    for words in [
        &["--login", "x"][..],
        &["--since", "1h"],
        &["--login", "x", "--since", "1"],
        &["--login", "x", "--since", "yesterday"],
        &["now"],
    ] {
        let said = kept.undo(words);
        assert_eq!(said.status.code(), Some(2), "{words:?}");
        assert!(String::from_utf8(said.stderr).unwrap().contains("undo"), "{words:?}");
    }
}

/// Kill -9 while notes are written: every text that was replaced, and whose answer arrived, is
/// kept.
#[test]
fn a_text_that_was_replaced_is_kept_through_a_kill() {
    let kept = Kept::of(&[("a.md", b"text 0")]);
    for round in 0..5 {
        let server = kept.serve();
        let last = std::sync::atomic::AtomicUsize::new(0);
        let from = round * 1000;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 1..1000 {
                    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": "a.md", "content": format!("text {}", from + number) } } });
                    let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.post(&message)));
                    if answered.is_err() {
                        return;
                    }
                    last.store(number, std::sync::atomic::Ordering::SeqCst);
                }
            });
            // The first write waits until the file is at rest.
            std::thread::sleep(std::time::Duration::from_millis(450));
            Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap();
            let _ = writer.join();
        });
        let last = last.into_inner();
        assert!(last > 0);
        let log = std::fs::read_to_string(kept.state.join("versions/log.jsonl")).unwrap();
        let kept_texts: Vec<String> = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|line| {
                std::fs::read_to_string(kept.state.join("versions").join(line["before"].as_str()?))
                    .ok()
            })
            .collect();
        // What was replaced by the last answered write, and by all before it.
        for number in 1..last {
            assert!(
                kept_texts.contains(&format!("text {}", from + number)),
                "round {round}: text {}",
                from + number
            );
        }
        std::fs::write(kept.folder.vault().join("a.md"), format!("text {}", from + 1000)).unwrap();
    }
}

/// A login is named as `grants` prints it; what another login has done stays.
#[test]
fn undo_takes_back_one_login_and_no_other() {
    use crate::support::login::{register, tokens};
    let kept = Kept::of(&[("a.md", b"a1"), ("b.md", b"b1")]);
    let server = kept.serve();
    let client = register(&server);
    let write = |token: &str, path: &str, content: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": path, "content": content } } });
        assert_eq!(server.post_with(token, "", &message).json()["result"]["isError"], false);
    };
    let (first, _) = tokens(&server, &client);
    let (second, _) = tokens(&server, &client);
    write(&first, "a.md", "a2");
    write(&second, "b.md", "b2");
    let by = |path: &str| {
        server.call("vault_history", json!({ "path": path }))["versions"][0]["by"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (first, second) = (by("a.md"), by("b.md"));
    let mut grants = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    let listed = grants.arg("grants").env_clear().env("STATE_DIR", &kept.state).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        first != second && listed.contains(&first) && listed.contains(&second),
        "{first} {second}: {listed}"
    );
    assert_eq!(kept.undo(&["--login", &first, "--since", "30m"]).status.code(), Some(0));
    assert_eq!(
        (kept.folder.read("a.md"), kept.folder.read("b.md")),
        (b"a1".to_vec(), b"b2".to_vec())
    );
}

/// Files and folders that were moved, made and deleted under each other's names.
#[test]
fn a_dry_run_says_what_the_run_does() {
    let kept = Kept::of(&[("a.md", b"a"), ("c.md", b"c [[a]]"), ("F/x.md", b"x")]);
    let server = kept.serve();
    let before = kept.files();
    let rename =
        |from: &str, to: &str| server.call("vault_move", json!({ "path": from, "to": to }));
    rename("a.md", "b.md");
    rename("c.md", "a.md");
    server.call("vault_delete", json!({ "paths": ["b.md"] }));
    server.call("vault_write", json!({ "path": "b.md", "content": "new b" }));
    rename("F", "G");
    server.call("vault_write", json!({ "path": "G/y.md", "content": "y" }));
    rename("G", "F2");
    server.call("vault_delete", json!({ "paths": ["F2", "F2/x.md", "F2/y.md"] }));
    let words = ["--login", "all", "--since", "1h"];
    let planned = kept.undo(&[&words[..], &["--dry-run"]].concat());
    let done = kept.undo(&words);
    let said = |output: &Output| {
        String::from_utf8_lossy(&output.stdout).replace("would be taken", "taken")
    };
    assert_eq!((said(&planned), planned.status.code()), (said(&done), Some(0)));
    assert_eq!(kept.files(), before);
}

/// What a client cannot know of is not deleted with its folder.
#[test]
fn a_folder_with_hidden_files_is_not_deleted() {
    let kept = Kept::of(&[("Sub/a.md", b"a"), ("Sub/.env", b"secret"), ("Other/b.md", b"b")]);
    let server = kept.serve();
    let refused = server.fail("vault_delete", json!({ "paths": ["Sub", "Sub/a.md"] }));
    assert!(
        refused["code"] == "PATH_NOT_ALLOWED"
            && refused["message"].as_str().unwrap().contains("hidden"),
        "{refused}"
    );
    assert_eq!(kept.folder.read("Sub/.env"), b"secret");
    assert_eq!(kept.folder.read("Sub/a.md"), b"a");
    server.call("vault_delete", json!({ "paths": ["Other", "Other/b.md"] }));
    assert!(!kept.folder.vault().join("Other").exists());
}

/// What comes back from the trash is the file itself, with its mode, also one that is too large for
/// the kept versions.
#[test]
fn a_deleted_file_comes_back_with_its_mode_and_however_large_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let kept = Kept::of(&[("a.md", b"a"), ("b.md", b"b")]);
    let vault = kept.folder.vault();
    let large = vault.join("large.bin");
    std::fs::File::create(&large).unwrap().set_len(vault_sync_mcp::limits::NOTE_BYTES + 1).unwrap();
    for name in ["a.md", "b.md", "large.bin"] {
        std::fs::set_permissions(vault.join(name), std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let mode =
        |name: &str| std::fs::metadata(vault.join(name)).unwrap().permissions().mode() & 0o777;
    let server = kept.serve();
    server.call("vault_delete", json!({ "paths": ["a.md", "b.md", "large.bin"] }));
    server.call("vault_restore", json!({ "path": "a.md", "version": "previous" }));
    assert_eq!((mode("a.md"), vault.join(".trash/a.md").exists()), (0o640, false));
    let done = kept.undo(&["--login", "all", "--since", "1h"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(kept.folder.read("b.md"), b"b", "{said}");
    assert_eq!((mode("b.md"), mode("large.bin")), (0o640, 0o640), "{said}");
    assert_eq!(std::fs::metadata(&large).unwrap().len(), vault_sync_mcp::limits::NOTE_BYTES + 1);
}

/// Without a setting, texts are kept in a folder for each vault in the user's state folder.
#[test]
fn what_stdio_replaces_is_kept_without_any_setting() {
    let folder = Folder::with(&[("a.md", b"one")]);
    let command = |arguments: &[&str], state: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        command.args(arguments).env_clear().env("HOME", folder.path().join("home"));
        command.env("VAULT_PATH", folder.vault());
        command.envs(state.map(|state| ("STATE_DIR", state)));
        command
    };
    let write = |content: &str, state: Option<&str>| {
        let mut client = crate::stdio::Client::start(command(&["stdio"], state));
        client.shake_hands();
        let arguments = json!({ "path": "a.md", "content": content });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": arguments } });
        client.send(&call.to_string());
        let answer = std::iter::from_fn(|| client.line()).find(|line| line["id"] == 1).unwrap();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    };
    write("two", Some("none"));
    assert!(!folder.path().join("home").exists());
    write("three", None);
    let undone = command(&["undo", "--login", "local", "--since", "1h"], None).output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(folder.read("a.md"), b"two");
    let states = folder.path().join("home/.local/state/vault-sync-mcp");
    let names: Vec<String> = std::fs::read_dir(&states)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(matches!(&names[..], [name] if name.starts_with("vault-")), "{names:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(states.join(&names[0]).join("versions")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_login_takes_back_its_own_calls_and_goes_further_back_each_time() {
    let kept =
        Kept::of(&[("a.md", b"[[b]]\n" as &[u8]), ("b.md", b"b\n"), ("theirs.md", b"one\n")]);
    let server = kept.serve();
    let before = kept.files();
    server.call("vault_write", json!({ "path": "new.md", "content": "new" }));
    let written = kept.files();
    server.call("vault_move", json!({ "path": "b.md", "to": "c/moved.md" }));
    assert!(kept.files()["a.md"].starts_with(b"[[moved]]"));
    let moved = kept.files();
    server.call("vault_write", json!({ "path": "theirs.md", "content": "two" }));
    // A person saves it.
    std::fs::write(kept.folder.vault().join("theirs.md"), "a person's").unwrap();
    let dry = server.call("vault_undo", json!({ "calls": 2, "dry_run": true }));
    assert!(dry["left_alone"][0].as_str().unwrap().contains("theirs.md"), "{dry}");
    assert_eq!(dry["undone_total"], 2, "the move and its link: {dry}");
    let undone = server.call("vault_undo", json!({}));
    assert_eq!((&undone["undone_total"], &undone["dry_run"]), (&json!(0), &json!(false)));
    assert!(undone["left_alone"][0].as_str().unwrap().contains("theirs.md"), "{undone}");
    std::fs::write(kept.folder.vault().join("theirs.md"), "one\n").unwrap();
    assert_eq!(kept.files(), moved);
    server.call("vault_undo", json!({}));
    assert_eq!(kept.files(), written, "the move with its links");
    let undone = server.call("vault_undo", json!({ "since": "1h" }));
    assert_eq!(kept.files(), before, "{undone}");
    assert_eq!(server.call("vault_undo", json!({ "since": "1h" }))["undone_total"], 0);
    assert!(kept.folder.vault().join(".trash/new.md").exists());
    // A call that a person has taken back is none.
    server.call("vault_write", json!({ "path": "b.md", "content": "one" }));
    server.call("vault_write", json!({ "path": "a.md", "content": "two" }));
    std::fs::write(kept.folder.vault().join("a.md"), "[[b]]\n").unwrap();
    assert_eq!(server.call("vault_undo", json!({}))["undone_total"], 1);
    assert_eq!(kept.files(), before);
    // The owner takes back what the login has done, whatever it has taken back itself.
    server.call("vault_write", json!({ "path": "late.md", "content": "late" }));
    server.call("vault_undo", json!({}));
    let output = kept.undo(&["--login", "all", "--since", "1h"]);
    assert_eq!(kept.files(), before, "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("late.md"), "{output:?}");
    assert_eq!(server.fail("vault_undo", json!({ "since": "soon" }))["code"], "INVALID_ARGUMENT");
}
