//! Toolset `agent`: what sessions cost, by which route they run, how a job that was cut off goes
//! on, what comes with a call.

use crate::agent::{INIT, KEY, RESULT, Scene, WRITES};
use crate::support::eventually;
use serde_json::{Value, json};
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
    for part in [
        "model=claude-sonnet-4-6",
        "outcome=completed",
        "turns=2",
        "usd=0.5000",
        "pages=1",
        "refused=0",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let listed = server.call("ingest_status", json!({}));
    let job = &listed["jobs"][0];
    assert_eq!(
        (&job["about"], &job["model"], &job["cost_usd"]),
        (&json!("A mail about tea"), &json!("claude-sonnet-4-6"), &json!(0.5)),
        "{listed}"
    );
}

#[test]
fn a_session_gets_what_is_left_of_the_daily_budget_and_none_when_that_is_used_up() {
    let scene = Scene::with(&writes("life/wiki/entities/A.md", "# A"));
    let server =
        scene.serve(&[("COS_VAULT_DAILY_BUDGET_USD", "1.2"), ("COS_VAULT_CONCURRENCY", "2")]);
    let allowed = || {
        kept(&scene, "argv")
            .lines()
            .skip_while(|word| *word != "--max-budget-usd")
            .nth(1)
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    server.call("query", json!({ "question": "x" }));
    assert_eq!(allowed(), 0.6, "half of it, since a second session may begin");
    server.call("query", json!({ "question": "y" }));
    assert_eq!(allowed(), 0.35);
    server.call("query", json!({ "question": "z" }));
    let error = server.fail("query", json!({ "question": "x" }));
    assert!(
        error["message"].as_str().unwrap().contains("COS_VAULT_DAILY_BUDGET_USD (1.2) is used up"),
        "{error}"
    );
    server.terminate();
    let again = scene.serve(&[("COS_VAULT_DAILY_BUDGET_USD", "1.2")]);
    again.fail("query", json!({ "question": "x" }));
}

#[test]
fn sessions_that_begin_together_share_the_daily_budget() {
    let scene = Scene::with(&format!("{INIT}sleep 1\n{RESULT}"));
    let server =
        scene.serve(&[("COS_VAULT_DAILY_BUDGET_USD", "2"), ("COS_VAULT_CONCURRENCY", "2")]);
    std::thread::scope(|scope| {
        let ask = || server.call("query", json!({ "question": "x" }));
        for asked in [scope.spawn(ask), scope.spawn(ask)] {
            asked.join().unwrap();
        }
    });
}

/// The program says what it has cost at its end only.
#[test]
fn a_session_that_was_cut_off_counts_with_what_it_was_allowed() {
    let scene = Scene::with(&format!("{INIT}sleep 60"));
    let server = scene.serve(&[
        ("COS_VAULT_DAILY_BUDGET_USD", "3"),
        ("COS_VAULT_CONCURRENCY", "1"),
        ("COS_VAULT_QUERY_TIMEOUT_MS", "1000"),
    ]);
    let error = server.fail("query", json!({ "question": "x" }));
    assert!(
        error.get("cost_usd").is_none()
            && error["message"].as_str().unwrap().contains("COS_VAULT_QUERY_TIMEOUT_MS (1 s)"),
        "{error}"
    );
    let error = server.fail("query", json!({ "question": "x" }));
    assert!(error["message"].as_str().unwrap().contains("is used up"), "{error}");
    let log = server.log();
    assert!(log.contains("outcome=timed_out"), "{log}");
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
fn a_call_may_ask_for_another_configured_model_and_for_less() {
    let scene = Scene::with(&writes("life/wiki/entities/A.md", "# A"));
    let server =
        scene.serve(&[("COS_VAULT_MODELS", "claude-opus-4-8"), ("COS_VAULT_MAX_TURNS", "25")]);
    let given = |flag: &str| {
        kept(&scene, "argv").lines().skip_while(|word| *word != flag).nth(1).unwrap().to_owned()
    };
    server.call("query", json!({ "question": "x" }));
    assert_eq!((given("--model"), given("--max-turns")), ("claude-haiku-4-5".into(), "20".into()));
    server.call("ingest", json!({ "content": "x", "model": "claude-opus-4-8", "max_turns": 3 }));
    assert_eq!((given("--model"), given("--max-turns")), ("claude-opus-4-8".into(), "3".into()));
    server.call("ingest", json!({ "content": "y", "max_turns": 900 }));
    assert_eq!(given("--max-turns"), "25");
    let error = server.fail("query", json!({ "question": "x", "model": "gpt-5" }));
    assert!(
        error["code"] == "INVALID_ARGUMENT"
            && error["message"].as_str().unwrap().contains("claude-opus-4-8"),
        "{error}"
    );
}

#[test]
fn a_job_that_was_cut_off_goes_on_with_its_material_and_what_it_has_written() {
    let body = writes("life/wiki/entities/A.md", "# A").replace(
        INIT,
        &format!(
            "{INIT}if [ -e \"$HOME/cut\" ]; then mkdir -p life/wiki/concepts; echo '# B' > \
             life/wiki/concepts/B.md; sleep 60; fi\n"
        ),
    );
    let scene = Scene::with(&body);
    std::fs::write(scene.home().join("cut"), "").unwrap();
    let server = scene.serve(&[]);
    let error = server.fail("ingest", json!({ "content": "The whole mail.", "timeout_ms": 1500 }));
    assert!(
        error["code"] == "AGENT_TIMEOUT" && error["message"].as_str().unwrap().contains("continue"),
        "{error}"
    );
    assert_eq!(error["written"][0]["path"], "life/wiki/concepts/B.md", "{error}");
    std::fs::remove_file(scene.home().join("cut")).unwrap();
    let done = server.call("ingest", json!({ "continue": error["job_id"] }));
    assert_eq!(done["status"], "completed", "{done}");
    let prompt = kept(&scene, "prompt");
    assert!(
        prompt.contains("The whole mail.")
            && prompt.contains("cut off")
            && prompt.contains("- life/wiki/concepts/B.md\n"),
        "{prompt}"
    );
    for (id, words) in [(&done["job_id"], "has its result"), (&json!("none"), "no job of yours")] {
        let error = server.fail("ingest", json!({ "continue": id }));
        assert!(
            error["code"] == "INVALID_ARGUMENT"
                && error["message"].as_str().unwrap().contains(words),
            "{error}"
        );
    }
}

#[test]
fn of_old_jobs_the_material_is_not_kept() {
    let scene = Scene::with("exit 3\n");
    let server = scene.serve(&[]);
    let failed: Vec<Value> = (0..10)
        .map(|number| server.fail("ingest", json!({ "content": format!("mail {number}") })))
        .collect();
    let code =
        |job: &Value| server.fail("ingest", json!({ "continue": job["job_id"] }))["code"].clone();
    assert_eq!(
        (code(&failed[0]), code(&failed[9])),
        (json!("INVALID_ARGUMENT"), json!("AGENT_FAILED"))
    );
}

#[test]
fn the_same_material_again_is_noticed_also_after_a_restart() {
    let scene = Scene::with(&writes("life/wiki/sources/2026-01-01 Tea.md", "# 2026-01-01 Tea"));
    let server = scene.serve(&[]);
    let first = server.call("ingest", json!({ "content": "A mail." }));
    assert!(
        first.get("filed_before").is_none() && !kept(&scene, "prompt").contains("filed before"),
        "{first}"
    );
    server.terminate();
    let server = scene.serve(&[]);
    let second = server.call("ingest", json!({ "content": "A mail.\n" }));
    assert_eq!(second["filed_before"], json!(["life/wiki/sources/2026-01-01 Tea.md"]), "{second}");
    assert!(
        kept(&scene, "prompt").contains("filed before, as these pages")
            && kept(&scene, "prompt").contains("- life/wiki/sources/2026-01-01 Tea.md\n")
    );
}

#[test]
fn files_may_come_with_the_call_and_what_a_session_cannot_read_is_refused() {
    let scene = Scene::with(&writes("life/wiki/entities/A.md", "# A"));
    let server = scene.serve(&[]);
    let pdf = json!({ "name": "scan.pdf", "data": "JVBERi0xLjQAc2Nhbg==" });
    let done = server.call("ingest", json!({ "attachments": [pdf.clone(), pdf] }));
    assert_eq!(scene.folder.read("raw/assets/scan.pdf"), b"%PDF-1.4\0scan", "{done}");
    assert!(kept(&scene, "prompt").contains("- raw/assets/scan.pdf\n"));
    for (name, data, code, words) in [
        ("a.docx", "UEsDBAAA", "PATH_NOT_ALLOWED", "pandoc"),
        ("../a.txt", "YQ==", "PATH_NOT_ALLOWED", "not a file name"),
        (".hidden", "YQ==", "PATH_NOT_ALLOWED", "not a file name"),
        ("a.txt", "not base64!", "INVALID_ARGUMENT", "base64"),
        ("a.txt", "QQ==,Qg==", "INVALID_ARGUMENT", "base64"),
    ] {
        let error = server.fail(
            "ingest",
            json!({ "content": "x", "attachments": [{ "name": name, "data": data }] }),
        );
        assert!(
            error["code"] == code && error["message"].as_str().unwrap().contains(words),
            "{name}: {error}"
        );
    }
    let large = "A".repeat(7_000_000);
    let error =
        server.fail("ingest", json!({ "attachments": [{ "name": "a.txt", "data": large }] }));
    assert!(
        error["code"] == "INVALID_ARGUMENT"
            && error["message"].as_str().unwrap().contains("5242880 are allowed"),
        "{error}"
    );
    assert!(
        server.fail("ingest", json!({ "attachments": [{ "name": "a.txt", "data": "" }] }))
            ["message"]
            .as_str()
            .unwrap()
            .contains("is empty")
    );
    server.call(
        "ingest",
        json!({ "attachments": [{ "name": "b.txt", "data": "data:text/plain;base64,Yg==" }] }),
    );
    assert_eq!(scene.folder.read("raw/assets/b.txt"), b"b");
    // As macOS names it, and as models do.
    std::fs::write(scene.folder.vault().join("Gro\u{308}\u{df}e 1.txt"), b"size").unwrap();
    for name in ["Größe 1.txt", "Gr%C3%B6%C3%9Fe%201.txt"] {
        server.call("ingest", json!({ "content": name, "files": [name] }));
    }
    std::fs::write(scene.folder.vault().join("talk.docx"), b"PK\x03\x04\0").unwrap();
    let error = server.fail("ingest", json!({ "content": "x", "files": ["talk.docx"] }));
    assert!(
        error["code"] == "PATH_NOT_ALLOWED"
            && error["message"].as_str().unwrap().contains("talk.docx"),
        "{error}"
    );
}

#[test]
fn an_image_of_another_server_in_a_written_page_is_flagged() {
    let page = "# A\n![x](https://evil.example/a.png)\n<IMG src=//evil.example/b.png>\n[fine](https://example.com) ![[local.png]]\n";
    let scene = Scene::with(&writes("life/wiki/entities/A.md", page));
    let done = scene.serve(&[]).call("ingest", json!({ "content": "x" }));
    assert_eq!(
        done["remote_images"],
        json!(["life/wiki/entities/A.md:2", "life/wiki/entities/A.md:3"]),
        "{done}"
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
        text(&command.output().unwrap().stdout)
    };
    let said = check(&[("COS_VAULT_DAILY_BUDGET_USD", "7")]);
    assert!(
        said.contains(
            "Claude Code 2.1.400; claude-sonnet-4-6 files, claude-haiku-4-5 answers; 5 dollars a \
             session, 7 dollars in 24 hours"
        ),
        "{said}"
    );
    std::fs::remove_dir_all(Path::new(&scene.folder.vault()).join(".claude")).unwrap();
    assert!(check(&[]).contains("Note: the vault lacks skills for toolset agent"));
}
