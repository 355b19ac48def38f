//! Toolset `agent`: its log, its settings, files that come with a call, and its end.

use crate::agent::{INIT, KEY, RESULT, Scene, WRITES};
use crate::support::eventually;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// A session whose model writes a page and ends with this cost; it keeps its prompt and command
/// line in its HOME.
fn writes(path: &str, text: &str) -> String {
    let keep = "cat > \"$HOME/prompt\"\nprintf '%s\\n' \"$@\" > \"$HOME/argv\"\n";
    let write = format!("mkdir -p \"$(dirname '{path}')\"\nprintf '%s' '{text}' > '{path}'\n");
    format!("{keep}{INIT}{write}{RESULT}")
}

fn kept(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.home().join(name)).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_session_has_one_log_line() {
    let scene = Scene::with(&writes("life/wiki/sources/2026-01-01 Tea.md", "# 2026-01-01 Tea"));
    let server = scene.serve(&[]);
    server.call("ingest", json!({ "content": "\n A mail about tea\nmore" }));
    server.call("query", json!({ "question": "What about tea?" }));
    let log = server.log();
    let line = log
        .lines()
        .find(|line| line.contains("agent: ingest by"))
        .unwrap_or_else(|| panic!("{log}"));
    for part in ["outcome=completed", "turns=2", "usd=0.5000", "pages=1", "refused=0"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let listed = server.call("ingest_status", json!({}));
    let job = &listed["jobs"][0];
    assert_eq!(
        (&job["about"], &job["cost_usd"]),
        (&json!("A mail about tea"), &json!(0.5)),
        "{listed}"
    );
}

#[test]
fn the_time_that_a_session_waits_for_another_does_not_count() {
    let scene = Scene::with(&format!("{INIT}sleep 2\n{RESULT}"));
    let server = scene.serve(&[("COS_VAULT_CONCURRENCY", "1"), ("COS_VAULT_TIMEOUT_MS", "3500")]);
    let begin = |content: &str| {
        server.call("ingest", json!({ "content": content, "background": true }))["job_id"].clone()
    };
    let jobs = [begin("a"), begin("b")];
    for id in jobs {
        let status = || server.call("ingest_status", json!({ "job_id": id }))["status"].clone();
        eventually("it ends", || status() != "working");
        assert_eq!(status(), "nothing_filed");
    }
}

#[test]
fn one_model_and_one_limit_of_turns_for_both_tools() {
    let scene = Scene::with(&writes("life/wiki/entities/A.md", "# A"));
    let server =
        scene.serve(&[("COS_VAULT_MODEL", "claude-opus-4-8"), ("COS_VAULT_MAX_TURNS", "25")]);
    for (tool, arguments) in
        [("query", json!({ "question": "x" })), ("ingest", json!({ "content": "x" }))]
    {
        server.call(tool, arguments);
        let argv = kept(&scene, "argv");
        let after = |flag: &str| argv.lines().skip_while(|word| *word != flag).nth(1).unwrap();
        assert_eq!((after("--model"), after("--max-turns")), ("claude-opus-4-8", "25"), "{tool}");
    }
}

#[test]
fn files_are_kept_and_what_a_session_cannot_read_is_refused() {
    let scene = Scene::with(&writes("life/wiki/entities/A.md", "# A"));
    std::fs::write(scene.folder.vault().join("scan.pdf"), b"%PDF-1.4\0scan").unwrap();
    std::fs::write(scene.folder.vault().join("empty.txt"), b"").unwrap();
    let server = scene.serve(&[]);
    let done = server.call("ingest", json!({ "files": ["scan.pdf", "scan.pdf"] }));
    assert_eq!(scene.folder.read("raw/assets/scan.pdf"), b"%PDF-1.4\0scan", "{done}");
    assert!(kept(&scene, "prompt").contains("- raw/assets/scan.pdf\n"));
    let error = server.fail("ingest", json!({ "content": "x", "files": ["empty.txt"] }));
    assert!(error["message"].as_str().unwrap().contains("is empty"), "{error}");
    // As macOS names it, and as models do.
    std::fs::write(scene.folder.vault().join("Gro\u{308}\u{df}e 1.txt"), b"size").unwrap();
    for name in ["Größe 1.txt", "Gr%C3%B6%C3%9Fe%201.txt"] {
        server.call("ingest", json!({ "content": name, "files": [name] }));
    }
    std::fs::write(scene.folder.vault().join("talk.docx"), b"PK\x03\x04\0").unwrap();
    let error = server.fail("ingest", json!({ "content": "x", "files": ["talk.docx"] }));
    assert!(
        error["code"] == "PATH_NOT_ALLOWED"
            && ["talk.docx", "pandoc"].iter().all(|word| error.to_string().contains(word)),
        "{error}"
    );
}

/// A client on this machine ends its server by a signal more often than by closing the pipe.
#[test]
fn a_signal_ends_stdio_in_order_and_what_a_session_had_written_is_filed() {
    for signal in ["-TERM", "-INT"] {
        let scene = Scene::with(&WRITES.replace("sleep 98768", "sleep 60"));
        let mut child = stdio(&scene);
        let mut input = child.stdin.take().unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "ingest", "arguments": { "content": "write life/wiki/entities/A.md slow", "background": true } } });
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call,
        ] {
            use std::io::Write;
            writeln!(input, "{message}").unwrap();
        }
        eventually("the session has written", || !scene.processes("sleep 60").is_empty());
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(scene.folder.read("life/wiki/entities/A.md"), b"slow\n", "{signal}");
        assert!(scene.processes("sleep 60").is_empty());
    }
}

fn stdio(scene: &Scene) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    command
        .arg("stdio")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("ANTHROPIC_API_KEY", KEY)
        .env("TOOLSETS", "vault,agent");
    command
        .env("VAULT_PATH", scene.folder.vault())
        .env("STATE_DIR", scene.folder.path().join("state"))
        .env("AGENT_COMMAND", &scene.program);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn check_reports_how_sessions_would_run() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let check = |more: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        let hash = "$2b$04$abcdefghijklmnopqrstuuJ0x5m1Cm6b1r8Yz1m4o3i4o3i4o3i4m";
        command
            .arg("check")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("TOOLSETS", "vault,agent");
        command
            .env("VAULT_PATH", scene.folder.vault())
            .env("AGENT_COMMAND", &scene.program)
            .env("LISTEN_ADDR", "127.0.0.1:0");
        command
            .env("SERVER_URL", "http://localhost:8090")
            .env("AUTH_USERS", format!("alex:{hash}"))
            .envs(more.iter().copied());
        let output = command.output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    };
    let said = check(&[]);
    assert!(said.contains("Claude Code 2.1.400, claude-sonnet-4-6"), "{said}");
    let said = check(&[("AGENT_COMMAND", "claude --verbose")]);
    assert!(said.contains("must be a name or an absolute path, without arguments"), "{said}");
    std::fs::remove_dir_all(Path::new(&scene.folder.vault()).join(".claude")).unwrap();
    assert!(check(&[]).contains("Note: the vault lacks skills for toolset agent"));
}
