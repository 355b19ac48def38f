//! Toolset `agent`, with programs instead of Claude Code that do what it never should. What the
//! real one does is tried by `tests/agent/run`.

use crate::support::{Folder, READ_TOKEN, Server, TOKEN, eventually};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const KEY: &str = "sk-ant-the-key-of-the-tests";
const VERSION: &str = "if [ \"$1\" = --version ]; then echo '2.1.400 (Claude Code)'; exit 0; fi\n";
pub const INIT: &str = r#"echo '{"type":"system","subtype":"init","tools":["Read","Write"],"mcp_servers":[],"permissionMode":"dontAsk"}'
"#;
pub const RESULT: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"total_cost_usd":0.5,"result":"x","structured_output":{"answer":"yes","citations":["aliases.md","Nowhere"],"artifacts":[]}}'
"#;

/// A vault with the starter wiki, and a program next to it.
pub struct Scene {
    pub folder: Folder,
    pub program: PathBuf,
}

impl Scene {
    /// With a program that does this when it is asked for a session.
    pub fn with(body: &str) -> Scene {
        let folder = Folder::with(&[("Diary.md", b"mine\n")]);
        let program = prepare(&folder, body);
        let scene = Scene { folder, program };
        std::fs::create_dir_all(scene.home()).unwrap();
        scene
    }

    /// The session's HOME, where the programs of these tests may write and the tests may look.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("state/agent/home")
    }

    pub fn serve(&self, settings: &[(&str, &str)]) -> Server {
        let state = self.folder.path().join("state");
        let mut all = vec![
            ("TOOLSETS", "vault,agent"),
            ("ANTHROPIC_API_KEY", KEY),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ];
        all.extend([
            ("AGENT_COMMAND", self.program.to_str().unwrap()),
            ("STATE_DIR", state.to_str().unwrap()),
        ]);
        all.extend(settings);
        Server::with(&self.folder.vault(), &all)
    }

    /// Processes of this scene's sessions whose command line has a word.
    pub fn processes(&self, word: &str) -> Vec<String> {
        let home = format!("HOME={}", self.home().display());
        let folders = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let read = |folder: &Path, name: &str| {
            String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap_or_default())
                .replace('\0', " ")
        };
        let ours = folders.filter(|folder| {
            read(folder, "cmdline").contains(word) && read(folder, "environ").contains(&home)
        });
        ours.map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    pub fn running(&self, word: &str) -> usize {
        self.processes(word).len()
    }

    pub fn has(&self, name: &str) -> bool {
        self.home().join(name).exists()
    }

    /// With the program [`WRITES`], whose sessions that wrote `slow` wait for [`Scene::go_on`].
    pub fn waiting() -> Scene {
        let wait = "{ touch \"$HOME/waits\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; }";
        Scene::with(&WRITES.replace("sleep 98768", wait))
    }

    pub fn go_on(&self) {
        std::fs::write(self.home().join("go"), "").unwrap();
    }

    /// A file that the vault did not take from a session.
    pub fn read_unfiled(&self, path: &str) -> Vec<u8> {
        let mut folders =
            std::fs::read_dir(self.folder.path().join("state/agent")).unwrap().flatten();
        let unfiled =
            folders.find(|entry| entry.file_name().to_string_lossy().starts_with("unfiled-"));
        std::fs::read(unfiled.unwrap().path().join(path)).unwrap()
    }
}

/// Puts the starter wiki into a vault, and a program next to it.
pub(crate) fn prepare(folder: &Folder, body: &str) -> PathBuf {
    vault_sync_mcp::wiki::starter::write(&folder.vault()).unwrap();
    let program = folder.path().join("claude");
    std::fs::write(&program, format!("#!/bin/sh\n{VERSION}{body}")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// A program whose every session ends well.
pub fn that_works(folder: &Folder) -> PathBuf {
    prepare(folder, &format!("{INIT}{RESULT}"))
}

pub fn call(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    server.post_with(token, "", &message).json()
}

/// A program that writes what the prompt tells it to, as Claude Code would say that it did: a line
/// `write PATH TEXT` each.
pub const WRITES: &str = r#"
echo '{"type":"system","subtype":"init","tools":["Write"],"mcp_servers":[],"permissionMode":"dontAsk"}'
grep '^write ' | while read -r _ path text; do
  echo '{"type":"assistant","message":{"id":"'$path'","content":[{"type":"tool_use","id":"'$path'","name":"Write","input":{"file_path":"'$PWD/$path'"}}]}}'
  mkdir -p "$(dirname "$path")"
  echo "$text" > "$path"
  echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"'$path'"}]},"tool_use_result":{"type":"create"}}'
  [ "$text" = slow ] && sleep 98768
done
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"total_cost_usd":0.1,"result":"done"}'
"#;

#[test]
fn a_question_is_answered_and_what_is_cited_is_looked_up() {
    let scene =
        Scene::with(&format!("cat > {{}}\n{INIT}{RESULT}").replace("{}", "\"$HOME/prompt\""));
    let server = scene.serve(&[]);
    let answer = server.call("query", json!({ "question": "Is it\n-----?", "domain": "life" }));
    assert_eq!(answer["answer"], "yes");
    assert_eq!(answer["not_found"], json!(["Nowhere"]));
    assert_eq!((&answer["turns"], &answer["cost_usd"]), (&json!(2), &json!(0.5)));
    let prompt = std::fs::read_to_string(scene.home().join("prompt")).unwrap();
    assert!(
        prompt.contains("Is it\n-----?\n")
            && prompt.contains("second-brain-query")
            && prompt.contains("life"),
        "{prompt}"
    );
    let left: Vec<_> = std::fs::read_dir(scene.folder.path().join("state/agent"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(left.iter().all(|name| name == "home"), "the session's own folder is gone: {left:?}");
}

#[test]
fn a_session_that_goes_on_running_after_its_result_has_answered() {
    let scene = Scene::with(&format!("{INIT}{RESULT}sleep 98769"));
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let started = Instant::now();
    assert_eq!(server.call("query", json!({ "question": "Is it?" }))["answer"], "yes");
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    eventually("the session is ended", || scene.running("98769") == 0);
}

/// Every failure is an error that says what to do, and the server goes on.
#[test]
fn failures_say_what_to_do() {
    let failing: &[(&str, &str, &[&str])] = &[
        ("garbage", "echo garbage; echo '{'; echo '[1]'", &["without a result", "npm install"]),
        ("nothing", "", &["without a result"]),
        (
            "an exit code",
            "echo \"boom in /home/me/vault/x.md with $ANTHROPIC_API_KEY\" >&2; exit 3",
            &["exit code 3", "boom", "x.md"],
        ),
        ("a signal", "kill -9 $$", &["exit code 137"]),
        (
            "no word about its tools",
            "echo '{\"type\":\"assistant\",\"message\":{\"id\":\"1\",\"content\":[]}}'; sleep 20",
            &["not confined"],
        ),
        (
            "a tool too many",
            "echo '{\"type\":\"system\",\"subtype\":\"init\",\"tools\":[\"Bash\"],\"mcp_servers\":[],\"permissionMode\":\"dontAsk\"}'; sleep 20",
            &["not confined", "Bash"],
        ),
        (
            "an error of its own",
            &format!(
                "{INIT}echo '{{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true,\"result\":\"it broke at /etc/x/y\"}}'"
            ),
            &["error_during_execution"],
        ),
        (
            "an answer of the API",
            &format!(
                "{INIT}echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":529,\"result\":\"Overloaded\"}}'; exit 1"
            ),
            &["529", "Overloaded"],
        ),
        (
            "a refused key",
            &format!(
                "{INIT}echo '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":401}}'; sleep 20"
            ),
            &["ANTHROPIC_API_KEY"],
        ),
        (
            "a limited rate",
            &format!(
                "{INIT}echo '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":429,\"retry_delay_ms\":60000}}'; sleep 20"
            ),
            &["limits the rate"],
        ),
        (
            "an API that is away",
            &format!(
                "{INIT}for n in 1 2 3 4; do echo '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":null,\"retry_delay_ms\":500}}'; done; sleep 20"
            ),
            &["cannot be reached", "ANTHROPIC_BASE_URL"],
        ),
        (
            "too many turns",
            &format!(
                "{INIT}echo '{{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}}'"
            ),
            &["COS_VAULT_MAX_TURNS (30)"],
        ),
    ];
    for (name, body, words) in failing {
        let scene = Scene::with(body);
        let server = scene.serve(&[]);
        let started = Instant::now();
        let error = server.fail("query", json!({ "question": "x" }));
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["code"], "AGENT_FAILED", "{name}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{name}: {message}");
        assert!(
            !message.contains(KEY) && !message.contains("/home/me") && !message.contains("/etc/x"),
            "{name}: {message}"
        );
        assert!(
            !crate::support::thorough() || started.elapsed() < Duration::from_secs(8),
            "{name}"
        );
        assert!(server.is_alive(), "{name}");
        assert!(
            !server.log().contains(KEY) && !server.log().contains("panicked"),
            "{name}: {}",
            server.log()
        );
    }
}

#[test]
fn what_is_missing_is_named_before_anything_runs() {
    let scene = Scene::with("touch \"$HOME/ran\"");
    let old = scene.folder.path().join("old");
    std::fs::write(&old, "#!/bin/sh\necho '2.1.4 (Claude Code)'").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let none = scene.folder.path().join("none").display().to_string();
    for (setting, value, words) in [
        ("ANTHROPIC_API_KEY", "", "ANTHROPIC_API_KEY is not set"),
        ("AGENT_COMMAND", none.as_str(), "npm install -g @anthropic-ai/claude-code"),
        ("AGENT_COMMAND", old.to_str().unwrap(), "2.1.4; 2.1.328 or newer"),
        ("AGENT_COMMAND", "true", "does not say a version"),
    ] {
        let started = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
            .arg("stdio")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("VAULT_PATH", scene.folder.vault())
            .env("STATE_DIR", scene.folder.path().join("state"))
            .env("TOOLSETS", "vault,agent")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("AGENT_COMMAND", &scene.program)
            .env(setting, value)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&started.stderr).into_owned();
        assert_eq!(started.status.code(), Some(2), "{message}");
        assert!(message.contains(words) && !message.contains(KEY), "{message}");
    }
    // What goes missing later is named by the call.
    let server = scene.serve(&[]);
    let gone = scene.folder.path().join("gone");
    std::fs::rename(&scene.program, &gone).unwrap();
    let error = server.fail("ingest", json!({ "content": "x" }));
    let message = error["message"].as_str().unwrap();
    assert!(error["code"] == "AGENT_FAILED", "{message}");
    assert!(!message.contains(scene.folder.path().to_str().unwrap()), "{message}");
    std::fs::rename(&gone, &scene.program).unwrap();
    drop(server);
    std::fs::remove_dir_all(scene.folder.vault().join(".claude/skills/second-brain-ingest"))
        .unwrap();
    let server = scene.serve(&[]);
    let error = server.fail("ingest", json!({ "content": "x" }));
    assert!(error["message"].as_str().unwrap().contains("init-wiki"), "{error}");
    assert!(!scene.has("ran"), "no session was begun");
}

/// A disk that takes nothing more for the session's folder; /proc is the same for all.
#[test]
fn a_folder_that_cannot_be_made_is_reported() {
    let scene = Scene::with(INIT);
    let settings = [
        ("TOOLSETS", "agent"),
        ("ANTHROPIC_API_KEY", KEY),
        ("AGENT_COMMAND", scene.program.to_str().unwrap()),
        ("STATE_DIR", "/proc/self"),
    ];
    let mut client = crate::stdio::Client::with(&scene.folder, &settings);
    client.ask(crate::support::initialize("2025-06-18"));
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = client
        .ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "query", "arguments": { "question": "x" } } }));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("AGENT_FAILED") && text.contains("folder cannot be made"), "{text}");
}

#[test]
fn bad_requests_are_refused_before_anything_runs() {
    let scene = Scene::with("touch \"$HOME/ran\"");
    let assets = scene.folder.vault().join("raw/assets");
    std::fs::create_dir_all(&assets).unwrap();
    std::fs::write(assets.join("hidden.pdf"), "%PDF-1.4").unwrap();
    let server = scene.serve(&[("HIDE", "raw/assets/hidden.pdf")]);
    let why = |file: &str| {
        server.fail("ingest", json!({ "content": "x", "files": [file] }))["message"].to_string()
    };
    assert_eq!(
        why("raw/assets/hidden.pdf").replace("hidden", "missing"),
        why("raw/assets/missing.pdf")
    );
    let diary = scene.folder.vault().join("Diary.md").display().to_string();
    for (arguments, code) in [
        (json!({ "content": " \n" }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "domain": "fun" }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "cases": ["a\nb"] }), "INVALID_ARGUMENT"),
        (json!({ "content": "x".repeat(400_001) }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "files": vec![diary.as_str(); 21] }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "files": [&diary, "/etc/passwd"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": ["None.md"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": ["../outside.md"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": [""] }), "PATH_NOT_ALLOWED"),
        (
            json!({ "content": "x", "files": [format!("{}/CLAUDE.md/..", scene.folder.vault().display())] }),
            "PATH_NOT_ALLOWED",
        ),
    ] {
        let error = server.fail("ingest", arguments.clone());
        assert_eq!(error["code"], code, "{arguments}: {error}");
    }
    assert_eq!(server.fail("query", json!({ "question": "" }))["code"], "INVALID_ARGUMENT");
    assert_eq!(
        server.fail("ingest_status", json!({ "job_id": "none" }))["code"],
        "INVALID_ARGUMENT"
    );
    assert!(!scene.has("ran"));
}

/// Whoever would be the ninth to wait gets an error at once.
#[test]
fn sessions_take_turns_and_a_long_queue_answers_at_once() {
    let body = format!(
        "cat >> \"$HOME/order\"\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n{INIT}{RESULT}"
    );
    let scene = Scene::with(&body);
    let server = scene.serve(&[("COS_VAULT_CONCURRENCY", "1")]);
    let jobs: Vec<String> = (0..9)
        .map(|n| {
            server
                    .call("ingest", json!({ "content": format!("mail {n}."), "background": true }))
                    ["job_id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
        })
        .collect();
    let order = || std::fs::read_to_string(scene.home().join("order")).unwrap_or_default();
    eventually("the first runs", || order().contains("mail "));
    let started = Instant::now();
    let error = server.fail("ingest", json!({ "content": "mail 9.", "background": true }));
    assert!(error["message"].as_str().unwrap().contains("wait already"), "{error}");
    let same = server.call("ingest", json!({ "content": "mail 8.", "background": true }));
    assert_eq!(same["job_id"], jobs[8].as_str(), "the same again joins");
    assert_eq!(server.call("vault_search", json!({ "query": "mine" }))["total_matches"], 1);
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(2));
    scene.go_on();
    let status = |job: &str| {
        server.call("ingest_status", json!({ "job_id": job }))["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    eventually("all end", || jobs.iter().all(|job| status(job) == "nothing_filed"));
    let order = order();
    assert!((0..9).all(|n| order.matches(&format!("mail {n}.")).count() == 1), "{order}");
    assert_ne!(
        server.call("ingest", json!({ "content": "mail 8.", "background": true }))["job_id"],
        jobs[8].as_str(),
        "that one is over"
    );
}

/// Calls that wait for sessions leave workers for others.
#[test]
fn waiting_calls_leave_workers_for_others() {
    let scene = Scene::with(&format!("{INIT}sleep 98764"));
    let server =
        std::sync::Arc::new(scene.serve(&[("WORKERS", "8"), ("COS_VAULT_TIMEOUT_MS", "3000")]));
    let ask = |n: usize| {
        let server = std::sync::Arc::clone(&server);
        std::thread::spawn(move || {
            call(&server, TOKEN, "query", json!({ "question": format!("{n}?") })).to_string()
        })
    };
    let asked: Vec<_> = (0..4).map(ask).collect();
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    assert_eq!(server.call("vault_search", json!({ "query": "mine" }))["total_matches"], 1);
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(1));
    let answers: Vec<String> = asked.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(
        answers.iter().filter(|answer| answer.contains("Too many calls wait")).count(),
        2,
        "{answers:?}"
    );
}

#[test]
fn a_job_belongs_to_its_login() {
    let scene = Scene::with(&format!("{INIT}sleep 98765"));
    let server = scene.serve(&[("API_TOKENS", &tokens())]);
    let job = server.call("ingest", json!({ "content": "x", "background": true }))["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = "2222222222222222222222222222222222222222222222222222222222222222";
    for tool in ["ingest_status", "ingest_cancel"] {
        assert_eq!(call(&server, other, tool, json!({ "job_id": job }))["result"]["isError"], true);
    }
    let theirs = call(&server, other, "ingest", json!({ "content": "x", "background": true }));
    assert_ne!(
        theirs["result"]["structuredContent"]["job_id"],
        job.as_str(),
        "the same request of another login is another job"
    );
    assert_eq!(server.call("ingest_status", json!({}))["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(server.call("ingest_cancel", json!({ "job_id": job }))["status"], "cancelled");
}

fn tokens() -> String {
    let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    format!(
        "all:{},other:{}",
        hash(TOKEN),
        hash("2222222222222222222222222222222222222222222222222222222222222222")
    )
}

#[test]
fn a_login_that_may_only_read_may_ask_and_not_file() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let server = scene.serve(&[]);
    assert_eq!(
        call(&server, READ_TOKEN, "query", json!({ "question": "x" }))["result"]["isError"],
        false
    );
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "ingest", "arguments": { "content": "x" } } });
    assert_eq!(server.post_with(READ_TOKEN, "", &message).status, 403);
}

/// In 2026-07-28 hanging up cancels; before that a client may come back for the answer.
#[test]
fn hanging_up_ends_a_session_where_it_means_that() {
    let scene = Scene::with(&format!("{INIT}sleep 98766"));
    let server = scene.serve(&[]);
    let params = json!({ "name": "query", "arguments": { "question": "x" } });
    let mut modern = params.clone();
    modern["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" }, "io.modelcontextprotocol/clientCapabilities": {} });
    let headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: query\r\n";
    // Answered by a stream, on which nothing is sent for seconds.
    let mut streamed = modern.clone();
    streamed["_meta"]["progressToken"] = "p".into();
    for (headers, params, ends) in [
        (headers, modern, true),
        (headers, streamed, true),
        ("MCP-Protocol-Version: 2025-06-18\r\n", params, false),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
            .to_string();
        let mut connection = server.connect();
        connection.send(format!(
            "{}\r\nHost: vault.example.com\r\nContent-Length: {}\r\n\r\n{body}",
            crate::support::mcp_head(TOKEN, headers),
            body.len()
        ));
        eventually("the session runs", || scene.running("sleep 98766") == 1);
        drop(connection);
        if ends {
            eventually("the session ends", || scene.running("sleep 98766") == 0);
        } else {
            std::thread::sleep(Duration::from_secs(2));
            assert_eq!(scene.running("sleep 98766"), 1);
        }
    }
}

// --- What attacks on it found, each named after what went wrong ---------------------------------

#[test]
fn a_result_lists_what_was_written_and_is_cut() {
    let long = "x".repeat(3_000);
    let given = json!({
        "perDomain": { "work": format!("filed in ROOT/work {}", "y".repeat(90_000)), "other": { "deep": vec!["z"; 1000] }, "life": ["no"] },
        "contradictions": [5, "a", vec![long.as_str(); 300]],
        "boardRefsRecorded": ["CASE-1", "CASE-3: Roof"],
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "total_cost_usd": 0.5, "result": "x", "structured_output": given });
    let scene = Scene::with(&format!(
        "{INIT}mkdir -p work/wiki/entities work/wiki/sources\necho '- CASE-12 — Boiler' > \
         work/wiki/sources/A.md\necho x > work/wiki/entities/B.md\nsed \"s#ROOT#$PWD#g\" \
         \"$HOME/result\""
    ));
    std::fs::write(scene.home().join("result"), result.to_string()).unwrap();
    let server = scene.serve(&[]);
    let answer = server
        .result("ingest", json!({ "content": "x", "cases": ["CASE-12 — Boiler", "CASE-3: Roof"] }));
    assert!(answer["content"][0]["text"].as_str().unwrap().len() < 95_000);
    let shown = &answer["structuredContent"];
    assert!(
        !shown.to_string().contains(scene.folder.path().to_str().unwrap()),
        "no path of this machine"
    );
    assert_eq!(shown["sourcesCreated"], json!(["work/wiki/sources/A.md"]), "{shown}");
    assert_eq!(shown["pagesResynthesized"], json!(["work/wiki/entities/B.md"]), "{shown}");
    assert_eq!(shown["perDomain"].as_object().unwrap().len(), 1);
    assert_eq!(
        (&shown["contradictions"], &shown["boardRefsRecorded"]),
        (&json!(["a"]), &json!(["CASE-12 — Boiler"])),
        "what was written counts, not what the session says"
    );
}

#[test]
fn many_large_skills_do_not_displace_the_one_that_is_needed() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    for n in 0..60 {
        let skill = scene.folder.vault().join(format!(".claude/skills/a{n:02}"));
        std::fs::create_dir_all(&skill).unwrap();
        std::fs::write(skill.join("SKILL.md"), "x".repeat(200_000)).unwrap();
    }
    let server = scene.serve(&[]);
    assert_eq!(server.call("query", json!({ "question": "x" }))["answer"], "yes");
}
