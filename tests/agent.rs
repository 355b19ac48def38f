//! Toolset `agent`, with programs in the place of Claude Code that do what it never should. What the real one does is tried
//! by `tests/agent/run`.

use crate::support::repository::Repository;
use crate::support::{Folder, READ_TOKEN, Server, TOKEN, eventually};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const KEY: &str = "sk-ant-the-key-of-the-tests";
const VERSION: &str = "if [ \"$1\" = --version ]; then echo '2.1.400 (Claude Code)'; exit 0; fi\n";
pub const INIT: &str = r#"echo '{"type":"system","subtype":"init","tools":["Read","Write"],"mcp_servers":[],"permissionMode":"dontAsk"}'
"#;
pub const RESULT: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"total_cost_usd":0.5,"result":"x","structured_output":{"answer":"yes","citations":["aliases.md","Nowhere"],"artifacts":[]}}'
"#;

/// A vault with the starter wiki, and a program beside it.
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
        let mut all = vec![("TOOLSETS", "vault,agent"), ("ANTHROPIC_API_KEY", KEY), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
        all.extend([("AGENT_COMMAND", self.program.to_str().unwrap()), ("STATE_DIR", state.to_str().unwrap())]);
        all.extend(settings);
        Server::with(&self.folder.vault(), &all)
    }

    /// Processes of this scene's sessions whose command line has a word.
    pub fn processes(&self, word: &str) -> Vec<String> {
        let home = format!("HOME={}", self.home().display());
        let folders = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let read =
            |folder: &Path, name: &str| String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap_or_default()).replace('\0', " ");
        let ours = folders.filter(|folder| read(folder, "cmdline").contains(word) && read(folder, "environ").contains(&home));
        ours.map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    fn running(&self, word: &str) -> usize {
        self.processes(word).len()
    }

    pub fn has(&self, name: &str) -> bool {
        self.home().join(name).exists()
    }

    /// With the program [`WRITES`], whose sessions that wrote `slow` wait for [`Scene::go_on`].
    fn waiting() -> Scene {
        let wait = "{ touch \"$HOME/waits\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; }";
        Scene::with(&WRITES.replace("sleep 98768", wait))
    }

    fn go_on(&self) {
        std::fs::write(self.home().join("go"), "").unwrap();
    }

    /// A file that the vault did not take from a session.
    fn read_unfiled(&self, path: &str) -> Vec<u8> {
        let mut folders = std::fs::read_dir(self.folder.path().join("state/agent")).unwrap().flatten();
        let unfiled = folders.find(|entry| entry.file_name().to_string_lossy().starts_with("unfiled-"));
        std::fs::read(unfiled.unwrap().path().join(path)).unwrap()
    }
}

/// Puts the starter wiki into a vault, and a program beside it.
fn prepare(folder: &Folder, body: &str) -> PathBuf {
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

#[test]
fn a_question_is_answered_and_what_is_cited_is_looked_up() {
    let scene = Scene::with(&format!("cat > {{}}\n{INIT}{RESULT}").replace("{}", "\"$HOME/prompt\""));
    let server = scene.serve(&[]);
    let answer = server.call("query", json!({ "question": "Is it\n-----?", "domain": "life" }));
    assert_eq!(answer["answer"], "yes");
    assert_eq!(answer["not_found"], json!(["Nowhere"]));
    assert_eq!((&answer["turns"], &answer["cost_usd"]), (&json!(2), &json!(0.5)));
    let prompt = std::fs::read_to_string(scene.home().join("prompt")).unwrap();
    assert!(prompt.contains("Is it\n-----?\n") && prompt.contains("second-brain-query") && prompt.contains("life"), "{prompt}");
    let left: Vec<_> =
        std::fs::read_dir(scene.folder.path().join("state/agent")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "home" || name == "ledger.jsonl"), "the session's own folder is gone: {left:?}");
}

/// Every way to fail is an error that says what to do, and the server goes on.
#[test]
fn failures_say_what_to_do() {
    let failing: &[(&str, &str, &[&str])] = &[
        ("garbage", "echo garbage; echo '{'; echo '[1]'", &["without a result", "npm install"]),
        ("nothing", "", &["without a result"]),
        ("an exit code", "echo \"boom in /home/me/vault/x.md with $ANTHROPIC_API_KEY\" >&2; exit 3", &["exit code 3", "boom", "x.md"]),
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
            &format!("{INIT}echo '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":401}}'; sleep 20"),
            &["ANTHROPIC_API_KEY"],
        ),
        (
            "too many turns",
            &format!("{INIT}echo '{{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}}'"),
            &["COS_VAULT_QUERY_MAX_TURNS (20)"],
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
        assert!(!message.contains(KEY) && !message.contains("/home/me") && !message.contains("/etc/x"), "{name}: {message}");
        assert!(started.elapsed() < Duration::from_secs(8), "{name}");
        assert!(server.is_alive(), "{name}");
        assert!(!server.log().contains(KEY) && !server.log().contains("panicked"), "{name}: {}", server.log());
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
        let server = scene.serve(&[(setting, value)]);
        let error = server.fail("ingest", json!({ "content": "x" }));
        let message = error["message"].as_str().unwrap();
        assert!(error["code"] == "AGENT_FAILED" && message.contains(words), "{message}");
        assert!(!message.contains(scene.folder.path().to_str().unwrap()), "{message}");
    }
    std::fs::remove_dir_all(scene.folder.vault().join(".claude/skills/second-brain-ingest")).unwrap();
    let server = scene.serve(&[]);
    let error = server.fail("ingest", json!({ "content": "x" }));
    assert!(error["message"].as_str().unwrap().contains("init-wiki"), "{error}");
    assert!(!scene.has("ran"), "no session was begun");
}

/// A disk that takes nothing more for the session's folder; /proc is one for everybody.
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
    let server = scene.serve(&[]);
    let diary = scene.folder.vault().join("Diary.md").display().to_string();
    for (arguments, code) in [
        (json!({ "content": " \n" }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "domain": "fun" }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "cases": ["a\nb"] }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "files": vec![diary.as_str(); 21] }), "INVALID_ARGUMENT"),
        (json!({ "content": "x", "files": [&diary, "/etc/passwd"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": ["None.md"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": ["../outside.md"] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": [""] }), "PATH_NOT_ALLOWED"),
        (json!({ "content": "x", "files": [format!("{}/CLAUDE.md/..", scene.folder.vault().display())] }), "PATH_NOT_ALLOWED"),
    ] {
        let error = server.fail("ingest", arguments.clone());
        assert_eq!(error["code"], code, "{arguments}: {error}");
    }
    assert_eq!(server.fail("query", json!({ "question": "" }))["code"], "INVALID_ARGUMENT");
    assert_eq!(server.fail("ingest_status", json!({ "job_id": "none" }))["code"], "INVALID_ARGUMENT");
    assert!(!scene.has("ran"));
}

/// A program that does not want to end, with children of its own, is ended with all of them.
#[test]
fn a_session_that_takes_too_long_ends_with_its_whole_group() {
    let scene = Scene::with(&format!("trap '' TERM\n{INIT}sleep 98761 &\nsleep 98761\nsleep 98761"));
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "1000")]);
    let started = Instant::now();
    assert_eq!(server.fail("query", json!({ "question": "x" }))["code"], "AGENT_TIMEOUT");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    assert_eq!(scene.running("sleep 98761"), 0);
}

#[test]
fn what_a_session_leaves_behind_ends_with_it() {
    let scene = Scene::with(&format!("{INIT}sleep 98762 > /dev/null 2>&1 &\n{RESULT}"));
    let server = scene.serve(&[]);
    server.call("query", json!({ "question": "x" }));
    eventually("nothing is left", || scene.running("sleep 98762") == 0);
}

#[test]
fn sessions_end_with_the_server_however_that_ends() {
    let scene = Scene::with(&format!("{INIT}sleep 98763 &\nsleep 98763"));
    for kill in [true, false] {
        let server = scene.serve(&[]);
        server.call("ingest", json!({ "content": "x", "background": true }));
        eventually("the session runs", || scene.running("sleep 98763") == 2);
        let started = Instant::now();
        if kill {
            server.kill();
        } else {
            assert_eq!(server.terminate(), 0);
        }
        eventually("all of it ends", || scene.running("sleep 98763") == 0);
        assert!(started.elapsed() < Duration::from_secs(6));
    }
}

/// What is printed without end is neither kept nor waited for.
#[test]
fn a_flood_of_output_is_cut() {
    let scene = Scene::with(&format!(
        "{INIT}yes '{{\"type\":\"x\",\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}'"
    ));
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let error = server.fail("query", json!({ "question": "x" }));
    assert!(error["message"].as_str().unwrap().contains("printed more"), "{error}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most: u64 = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 60_000, "{most} kB");
}

/// First come, first served; and whoever would be the ninth to wait is told so at once.
#[test]
fn sessions_take_turns_and_a_long_queue_answers_at_once() {
    let body = format!("cat >> \"$HOME/order\"\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n{INIT}{RESULT}");
    let scene = Scene::with(&body);
    let server = scene.serve(&[("COS_VAULT_CONCURRENCY", "1")]);
    let jobs: Vec<String> = (0..9)
        .map(|n| {
            server.call("ingest", json!({ "content": format!("mail {n}."), "background": true }))["job_id"].as_str().unwrap().to_owned()
        })
        .collect();
    let order = || std::fs::read_to_string(scene.home().join("order")).unwrap_or_default();
    eventually("the first runs", || order().contains("mail 0."));
    let started = Instant::now();
    let error = server.fail("ingest", json!({ "content": "mail 9.", "background": true }));
    assert!(error["message"].as_str().unwrap().contains("waiting already"), "{error}");
    let same = server.call("ingest", json!({ "content": "mail 8.", "background": true }));
    assert_eq!(same["job_id"], jobs[8].as_str(), "the same again joins");
    assert_eq!(server.call("vault_search", json!({ "query": "mine" }))["total_matches"], 1);
    assert!(started.elapsed() < Duration::from_secs(2));
    scene.go_on();
    let status = |job: &str| server.call("ingest_status", json!({ "job_id": job }))["status"].as_str().unwrap().to_owned();
    eventually("all end", || jobs.iter().all(|job| status(job) == "nothing_filed"));
    let order = order();
    let places: Vec<usize> = (0..9).map(|n| order.find(&format!("mail {n}.")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_ne!(server.call("ingest", json!({ "content": "mail 8.", "background": true }))["job_id"], jobs[8].as_str(), "that one is over");
}

/// Calls that wait for sessions leave room for others.
#[test]
fn waiting_calls_leave_workers_for_others() {
    let scene = Scene::with(&format!("{INIT}sleep 98764"));
    let server = std::sync::Arc::new(scene.serve(&[("WORKERS", "4"), ("COS_VAULT_TIMEOUT_MS", "3000")]));
    let ask = |n: usize| {
        let server = std::sync::Arc::clone(&server);
        std::thread::spawn(move || call(&server, TOKEN, "query", json!({ "question": format!("{n}?") })).to_string())
    };
    let asked: Vec<_> = (0..4).map(ask).collect();
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    assert_eq!(server.call("vault_search", json!({ "query": "mine" }))["total_matches"], 1);
    assert!(started.elapsed() < Duration::from_secs(1));
    let answers: Vec<String> = asked.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| answer.contains("Too many calls wait")).count(), 2, "{answers:?}");
}

#[test]
fn a_job_belongs_to_its_login() {
    let scene = Scene::with(&format!("{INIT}sleep 98765"));
    let server = scene.serve(&[("API_TOKENS", &tokens())]);
    let job = server.call("ingest", json!({ "content": "x", "background": true }))["job_id"].as_str().unwrap().to_owned();
    let other = "2222222222222222222222222222222222222222222222222222222222222222";
    for tool in ["ingest_status", "ingest_cancel"] {
        assert_eq!(call(&server, other, tool, json!({ "job_id": job }))["result"]["isError"], true);
    }
    let theirs = call(&server, other, "ingest", json!({ "content": "x", "background": true }));
    assert_ne!(theirs["result"]["structuredContent"]["job_id"], job.as_str(), "the same request of another login is another job");
    assert_eq!(server.call("ingest_status", json!({}))["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(server.call("ingest_cancel", json!({ "job_id": job }))["status"], "cancelled");
}

fn tokens() -> String {
    let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    format!("all:{},other:{}", hash(TOKEN), hash("2222222222222222222222222222222222222222222222222222222222222222"))
}

#[test]
fn a_login_that_may_only_read_may_ask_and_not_file() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let server = scene.serve(&[]);
    assert_eq!(call(&server, READ_TOKEN, "query", json!({ "question": "x" }))["result"]["isError"], false);
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "ingest", "arguments": { "content": "x" } } });
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
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: query\r\n";
    for (headers, params, ends) in [(headers, modern, true), ("MCP-Protocol-Version: 2025-06-18\r\n", params, false)] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
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

/// The child has what it needs, and nothing that is the server's.
#[test]
fn the_environment_is_a_list_of_what_is_allowed() {
    let scene = Scene::with(&format!("env > \"$HOME/env\"\nprintf '%s\\n' \"$@\" > \"$HOME/argv\"\n{INIT}{RESULT}"));
    let server =
        scene.serve(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"), ("GIT_AUTHOR_NAME", "x"), ("NODE_OPTIONS", "--require=/tmp/x.js")]);
    server.call("query", json!({ "question": "x" }));
    let read = |name: &str| std::fs::read_to_string(scene.home().join(name)).unwrap();
    let mut names: Vec<String> = read("env").lines().filter_map(|line| line.split_once('=').map(|(name, _)| name.to_owned())).collect();
    // What the shell itself adds.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    let allowed = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS",
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "HOME",
        "LANG",
        "PATH",
        "TMPDIR",
    ];
    assert_eq!(names, allowed);
    assert!(!read("argv").contains(KEY));
}

/// What `tests/agent/real.py` tries with the real program, by the words that were seen to hold there: none of them may go missing.
#[test]
fn every_part_of_the_command_line_that_confines_a_session_is_given() {
    let scene = Scene::with(&format!("printf '%s\\n' \"$@\" > \"$HOME/argv\"\necho \"$TMPDIR\" > \"$HOME/tmp\"\n{INIT}{RESULT}"));
    let server = scene.serve(&[]);
    for tool in ["query", "ingest"] {
        server.call(
            tool,
            json!({ "question": "x", "content": "x" })
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| (*name == "content") == (tool == "ingest"))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        );
        let argv = std::fs::read_to_string(scene.home().join("argv")).unwrap();
        let words: Vec<&str> = argv.lines().collect();
        let after = |flag: &str| {
            words.iter().position(|word| *word == flag).map(|at| words[at + 1]).unwrap_or_else(|| panic!("{tool} lacks {flag}"))
        };
        assert!(words.contains(&"--restricted") && words.contains(&"--strict-mcp-config"), "{argv}");
        assert_eq!((after("--setting-sources"), after("--permission-mode"), after("--mcp-config")), ("", "dontAsk", "{\"mcpServers\":{}}"));
        let settings: Value = serde_json::from_str(after("--settings")).unwrap();
        assert!(
            settings["disableAllHooks"] == true && settings["disableBundledSkills"] == true && settings["apiKeyHelper"] == "",
            "{settings}"
        );
        assert!(settings["enabledPlugins"].as_object().is_some_and(|plugins| plugins.len() == 3 && plugins.values().all(|on| on == false)));
        let writes = if tool == "ingest" { "Skill,Read,Glob,Grep,Write,Edit" } else { "Skill,Read,Glob,Grep" };
        assert_eq!(after("--tools"), writes);
        let (allowed, forbidden) = (
            words.iter().position(|word| *word == "--allowedTools").unwrap(),
            words.iter().position(|word| *word == "--disallowedTools").unwrap(),
        );
        let (allowed, forbidden) = words[allowed..].split_at(forbidden - allowed);
        for word in [
            "mcp__*",
            "WebFetch",
            "WebSearch",
            "Bash",
            "Task",
            "Read(.*)",
            "Edit(.*)",
            "Edit(CLAUDE.md)",
            "Edit(CLAUDE.local.md)",
            "Edit(AGENTS.md)",
        ] {
            assert!(forbidden.contains(&word) && !allowed.contains(&word), "{tool}: {word}");
        }
        assert!(
            !allowed.iter().any(|word| ["Read", "Edit", "Write", "Glob", "Grep"].contains(word)),
            "a bare name allows all: {allowed:?}"
        );
    }
    let temporary = std::fs::read_to_string(scene.home().join("tmp")).unwrap();
    assert!(temporary.contains("/agent/vault-sync-mcp-session-"), "{temporary}");
}

/// A session's folder that a crash left is removed by the next session; one that is in use is not.
#[test]
fn leftovers_of_a_crash_go_with_the_next_session() {
    let scene = Scene::with(&format!("if [ -e \"$HOME/quick\" ]; then {INIT}{RESULT}exit; fi\n{INIT}sleep 98767"));
    let folders = || {
        let found = std::fs::read_dir(scene.folder.path().join("state/agent")).into_iter().flatten().flatten();
        found.filter(|entry| entry.file_name().to_string_lossy().contains("session")).count()
    };
    let server = scene.serve(&[]);
    server.call("ingest", json!({ "content": "x", "background": true }));
    eventually("the session runs", || scene.running("sleep 98767") == 1);
    server.kill();
    eventually("the session ends", || scene.running("sleep 98767") == 0);
    assert_eq!(folders(), 1);
    let server = scene.serve(&[]);
    server.call("ingest", json!({ "content": "x", "background": true }));
    eventually("the next one runs", || scene.running("sleep 98767") == 1);
    assert_eq!(folders(), 1, "the old one is gone");
    std::fs::write(scene.home().join("quick"), "").unwrap();
    server.call("query", json!({ "question": "x" }));
    assert_eq!(folders(), 1, "the one in use is not");
}

#[test]
fn supervise_is_for_the_server_itself() {
    let output = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp")).arg("supervise").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("for the server itself"));
}

fn run(vault: &Path, command: &str) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp")).args([command, "--vault-path", vault.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text)
}

#[test]
fn the_starter_wiki_is_written_over_nothing() {
    let folder = Folder::with(&[("CLAUDE.md", b"my own rules\n"), ("work/wiki/index.md", b"# mine\n")]);
    let (code, text) = run(&folder.vault(), "init-wiki");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("kept     CLAUDE.md") && text.contains("written  aliases.md") && text.contains("15 written, 2 kept"), "{text}");
    assert_eq!(folder.read("CLAUDE.md"), b"my own rules\n");
    assert_eq!(folder.read("work/wiki/index.md"), b"# mine\n");
    let (code, text) = run(&folder.vault(), "init-wiki");
    assert!(code == 0 && text.contains("0 written, 17 kept"), "{text}");
    let outside = Folder::new();
    let linked = Folder::with(&[]);
    std::os::unix::fs::symlink(outside.path(), linked.vault().join("raw")).unwrap();
    let (code, text) = run(&linked.vault(), "init-wiki");
    assert!(code == 1 && text.contains("raw/assets"), "{text}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "nothing is written through a link");
}

/// What is built in is what is in the repository, and it keeps its own rules.
#[test]
fn the_starter_wiki_is_the_fixture() {
    let found = crate::support::fixtures("fixtures/wiki");
    assert_eq!(vault_sync_mcp::wiki::starter::FILES.iter().map(|(path, _)| *path).collect::<Vec<_>>(), found);
    let folder = Folder::with(&[]);
    assert_eq!(run(&folder.vault(), "init-wiki").0, 0);
    assert_eq!(run(&folder.vault(), "lint"), (0, "The wiki keeps its rules.\n".into()));
}

#[test]
fn lint_finds_what_breaks_the_rules_and_repairs_nothing() {
    let files: [(&str, &[u8]); 10] = [
        ("work/wiki/index.md", b"# Work\n[[Ada]] [[Plan]]\n"),
        ("work/wiki/log.md", b"# Work log\n- [[2026-01-31 Mail]]\n"),
        (
            "work/wiki/entities/Ada.md",
            b"---\ntype: entity\n---\n# Ada\nKnows [[Bob]], plays [[Cello]], lives in [[Oslo]]. `[[no]]`\n```\n- [ ] not a task\n```\n",
        ),
        ("work/wiki/concepts/Plan.md", b"# The plan\n[[Ada]] [[#here]]\n- [ ] call\n1. [x] done\n- [link](x)\n"),
        ("work/wiki/sources/2026-01-31 Mail.md", b"# 2026-01-31 Mail\n[[Plan|it]]\n"),
        ("life/wiki/index.md", b"# Life\n[[Cello]] [[Loose]]\n"),
        ("life/wiki/concepts/Cello.md", b"# Cello\n"),
        ("life/wiki/concepts/Loose.md", b"no heading\n"),
        ("life/reminders/tomorrow.md", b"# tomorrow\n"),
        ("shared/wiki/entities/Oslo.md", b"# Oslo\n"),
    ];
    let folder = Folder::with(&files);
    let (code, text) = run(&folder.vault(), "lint");
    assert_eq!(code, 1);
    let found: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.contains("  "))
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).take(2).collect())
        .collect();
    let expected = [
        ["life/reminders", "knowledge-only"],
        ["life/reminders/tomorrow.md", "index-gap"],
        ["life/reminders/tomorrow.md", "orphan"],
        ["life/wiki/concepts/Loose.md", "file-name"],
        ["life/wiki/concepts/Loose.md", "orphan"],
        ["work/wiki/concepts/Plan.md:1", "file-name"],
        ["work/wiki/concepts/Plan.md:3", "knowledge-only"],
        ["work/wiki/concepts/Plan.md:4", "knowledge-only"],
        ["work/wiki/concepts/Plan.md:5", "broken-link"],
        ["work/wiki/entities/Ada.md:5", "broken-link"],
        ["work/wiki/entities/Ada.md:5", "cross-domain"],
        ["work/wiki/sources/2026-01-31 Mail.md", "index-gap"],
        ["work/wiki/sources/2026-01-31 Mail.md", "orphan"],
    ];
    assert_eq!(found, expected, "{text}");
    for (path, bytes) in files {
        assert_eq!(folder.read(path), bytes);
    }
}

// --- What attacks on it found, each named after what went wrong ---------------------------------

/// A program that writes what the prompt tells it to, as Claude Code would say that it did: a line `write PATH TEXT` each.
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

/// A repository with the starter wiki, and the program that writes.
fn repository() -> (Repository, PathBuf) {
    let folder = Folder::with(&[("Diary.md", b"mine\n")]);
    let program = prepare(&folder, WRITES);
    (Repository::of(folder), program)
}

fn serve(repository: &Repository, program: &Path, settings: &[(&str, &str)]) -> Server {
    let mut all = vec![("TOOLSETS", "vault,git,agent"), ("ANTHROPIC_API_KEY", KEY), ("AGENT_COMMAND", program.to_str().unwrap())];
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
                let content = format!("write work/wiki/index.md # Work {n}\nwrite work/wiki/entities/{n}.md # {n}\n");
                server.call("ingest", json!({ "content": content, "background": true }))["job_id"].as_str().unwrap().to_owned()
            })
            .collect();
        let seen = |job: &String| server.call("ingest_status", json!({ "job_id": job }));
        eventually("all have ended", || jobs.iter().all(|job| seen(job)["status"] == "completed"));
        for job in &jobs {
            assert!(seen(job)["commit"]["left"] == json!([]) && seen(job).get("conflicts").is_none(), "{}", seen(job));
        }
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "all of it is committed");
        assert_eq!(repository.git(&["rev-list", "--count", "HEAD"]), "5\n", "a commit each");
        assert_eq!(repository.git(&["rev-parse", "main"]), repository.at_remote(&["rev-parse", "main"]));
    }
}

#[cfg(feature = "default")]
#[test]
fn what_could_not_be_committed_goes_along_with_the_next_commit() {
    let (repository, program) = repository();
    let server = serve(&repository, &program, &[]);
    let away = repository.folder.path().join("away.git");
    std::fs::rename(repository.remote(), &away).unwrap();
    let first = server.call("ingest", json!({ "content": "write work/wiki/index.md # One\n" }));
    assert!(first["commit"]["git_error"].is_string(), "{first}");
    std::fs::rename(&away, repository.remote()).unwrap();
    let second = server.call("vault_write", json!({ "path": "other.md", "content": "x" }));
    assert!(second["commit_sha"].is_string(), "{second}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "what the first one had written is committed too");
}

#[cfg(feature = "default")]
#[test]
fn a_session_changes_the_wiki_and_nothing_else() {
    let (repository, program) = repository();
    let server = serve(&repository, &program, &[("STATE_DIR", repository.folder.path().join("state").to_str().unwrap())]);
    repository.write("raw/assets/scan.txt", "original\n");
    repository.write("work/AGENTS.md", "rules\n");
    let names =
        ["Diary.md", "CLAUDE.md", "work/AGENTS.md", "raw/assets/scan.txt", "raw/assets/new.txt", "new.md", ".hidden.md", "work/.hidden.md"];
    let before = names.map(|name| std::fs::read(repository.folder.vault().join(name)).ok());
    let content: String = names.iter().map(|name| format!("write {name} gone\n")).collect();
    let result =
        server.call("ingest", json!({ "content": format!("{content}write aliases.md # Aliases\nwrite work/wiki/entities/A.md # A\n") }));
    assert_eq!(names.map(|name| std::fs::read(repository.folder.vault().join(name)).ok()), before, "{result}");
    let written: Vec<&str> = result["written"].as_array().unwrap().iter().map(|page| page["path"].as_str().unwrap()).collect();
    assert_eq!(written, ["aliases.md", "work/wiki/entities/A.md"]);
    let left_out = result["left_out"].to_string();
    assert!(left_out.contains("work/AGENTS.md") && left_out.contains("work/.hidden.md"), "{left_out}");
}

/// A page that a person saves while a session rewrites it keeps the person's text.
#[test]
fn a_page_that_was_changed_meanwhile_is_a_conflict_and_both_texts_are_kept() {
    let scene = Scene::waiting();
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let content = "write work/wiki/index.md session\nwrite life/wiki/index.md mine too\nwrite work/wiki/entities/B.md slow\n";
    let job = server.call("ingest", json!({ "content": content, "background": true }))["job_id"].clone();
    eventually("the session has written", || scene.has("waits"));
    assert_ne!(scene.folder.read("work/wiki/index.md"), b"session\n", "nothing is in the vault before the session ends");
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
    let server = scene.serve(&[("TOOLSETS", "vault,notes,agent"), ("COS_VAULT_ATTACH_DIRS", scene.folder.path().to_str().unwrap())]);
    let before = scene.folder.read("work/wiki/index.md");
    let content = "write work/wiki/index.md session\nwrite work/wiki/entities/B.md # B\n";
    let files = [scene.folder.path().join("scan.txt"), PathBuf::from("Diary.md")];
    let filed = server.call("ingest", json!({ "content": content, "files": files }));
    assert_eq!(filed["written"].as_array().unwrap().len(), 4, "{filed}");
    assert_eq!(scene.folder.read("raw/assets/Diary.md"), b"mine\n", "what is from the vault is kept like what is from outside");
    let history = server.call("vault_history", json!({ "path": "work/wiki/index.md" }));
    assert_eq!((&history["versions"][0]["tool"], &history["versions"][0]["by"]), (&json!("ingest"), &json!("all")), "{history}");
    let mut undo = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    undo.args(["undo", "--login", "all", "--since", "1h"]).env_clear().env("VAULT_PATH", scene.folder.vault());
    let output = undo.env("STATE_DIR", scene.folder.path().join("state")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scene.folder.read("work/wiki/index.md"), before);
    assert!(["work/wiki/entities/B.md", "raw/assets/scan.txt"].iter().all(|name| !scene.folder.vault().join(name).exists()));
}

#[test]
fn a_session_that_wrote_nothing_says_so_and_gives_its_last_words() {
    let scene = Scene::with(&format!("{INIT}{RESULT}").replace("\"result\":\"x\"", "\"result\":\"It was filed already.\""));
    let filed = scene.serve(&[]).call("ingest", json!({ "content": "x" }));
    assert_eq!((&filed["status"], &filed["summary"]), (&json!("nothing_filed"), &json!("It was filed already.")), "{filed}");
}

/// A link in the vault is a page of another name, and what it leads to may be a file that no session changes.
#[test]
fn links_in_the_vault_lead_a_session_nowhere() {
    let scene = Scene::with(WRITES);
    let vault = scene.folder.vault();
    for (link, to) in [
        ("work/rules.md", "../CLAUDE.md"),
        ("work/diary.md", "../Diary.md"),
        ("work/other", "../life"),
        ("shared/same.md", "../aliases.md"),
    ] {
        std::os::unix::fs::symlink(to, vault.join(link)).unwrap();
    }
    let before = ["CLAUDE.md", "Diary.md", "aliases.md"].map(|name| scene.folder.read(name));
    let content = "write work/rules.md gone\nwrite work/diary.md gone\nwrite work/other/new.md gone\nwrite shared/same.md gone\nwrite work/wiki/entities/A.md # A\n";
    let filed = scene.serve(&[]).call("ingest", json!({ "content": content }));
    assert_eq!(["CLAUDE.md", "Diary.md", "aliases.md"].map(|name| scene.folder.read(name)), before, "{filed}");
    assert!(!vault.join("life/new.md").exists());
    assert_eq!(filed["written"], json!([{ "path": "work/wiki/entities/A.md", "created": true }]));
    assert!(filed["left_out"].to_string().contains("work/rules.md: it is"), "{filed}");
}

/// What cost money is not thrown away because the vault does not take it.
#[test]
fn what_the_vault_does_not_take_is_kept() {
    let scene = Scene::waiting();
    std::fs::write(scene.folder.path().join("scan.txt"), "scan").unwrap();
    std::fs::write(scene.folder.vault().join("work/wiki/entities/Bob.md"), "a person's\n").unwrap();
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000"), ("COS_VAULT_ATTACH_DIRS", scene.folder.path().to_str().unwrap())]);
    let content = "write work/wiki/entities/bob.md twin\nwrite work/wiki/entities/What? Why.md colon\nwrite work/wiki/entities/A.md # A\nwrite work/AGENTS.md no\nwrite work/wiki/entities/Z.md slow\n";
    let content = content.replace("What? Why.md", "What?.md");
    let files = [scene.folder.path().join("scan.txt")];
    let job = server.call("ingest", json!({ "content": content, "files": files, "background": true }))["job_id"].clone();
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
    let kept: Vec<Vec<u8>> =
        seen["conflicts"].as_array().unwrap().iter().map(|conflict| scene.folder.read(conflict["kept_as"].as_str().unwrap())).collect();
    assert_eq!(kept, [b"colon\n".to_vec(), b"twin\n".to_vec()], "{seen}");
    let left_out = seen["left_out"].to_string();
    assert!(left_out.contains("raw/assets/scan.txt") && left_out.contains("unfiled-"), "{left_out}");
    assert_eq!(scene.read_unfiled("work/AGENTS.md"), b"no\n");
}

#[test]
fn a_vault_that_is_away_when_a_session_ends_fails_it_and_the_text_is_kept() {
    let scene = Scene::waiting();
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let job = server.call("ingest", json!({ "content": "write work/wiki/entities/Z.md slow\n", "background": true }))["job_id"].clone();
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

/// What no rule of the program is asked about: a program that reads and writes where it likes.
#[test]
fn the_kernel_keeps_a_session_from_the_vault_and_from_what_lies_beside_it() {
    let script = "for place in VAULT/Diary.md VAULT/.obsidian/app.json OUTSIDE /etc/passwd /proc/PID/environ; do\n  cat $place > /dev/null 2>&1 && echo \"$place\" >> \"$HOME/reached\"\ndone\n\
        for place in VAULT/Diary.md VAULT/life/x.md OUTSIDE /tmp/vault-sync-mcp-was-here ../x Diary.md raw/assets/x.md; do\n  ( echo x > $place ) 2>/dev/null && echo \"$place\" >> \"$HOME/reached\"\ndone\n\
        echo x > work/x.md && cat Diary.md > /dev/null && echo done >> \"$HOME/reached\"\n";
    let scene = Scene::with("");
    let outside = scene.folder.path().join("outside.md");
    std::fs::write(&outside, "secret").unwrap();
    let program = script
        .replace("VAULT", scene.folder.vault().to_str().unwrap())
        .replace("OUTSIDE", outside.to_str().unwrap())
        .replace("PID", &std::process::id().to_string());
    prepare(&scene.folder, &format!("{program}{INIT}{RESULT}"));
    if !vault_sync_mcp::agent::is_landlock_supported() {
        crate::support::skipped("this kernel has no Landlock");
        return;
    }
    scene.serve(&[]).call("ingest", json!({ "content": "x" }));
    assert_eq!(std::fs::read_to_string(scene.home().join("reached")).unwrap(), "done\n");
    assert!(!Path::new("/tmp/vault-sync-mcp-was-here").exists());
}

#[cfg(feature = "default")]
#[test]
fn what_a_session_had_written_at_the_end_of_the_server_is_filed_and_committed() {
    let (repository, program) = repository();
    let server = serve(&repository, &program, &[]);
    let content = "write work/wiki/entities/A.md # A\nwrite work/wiki/entities/B.md slow\n";
    let job = server.call("ingest", json!({ "content": content, "background": true }))["job_id"].clone();
    let doing = || server.call("ingest_status", json!({ "job_id": job }))["doing"].to_string();
    eventually("the second is written", || doing().contains("B.md"));
    assert_eq!(server.terminate(), 0);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert!(repository.git(&["log", "-1", "--format=%s"]).contains("not finished"));
    assert_eq!(repository.folder.read("work/wiki/entities/A.md"), b"# A\n");
}

/// Absolute paths in what a session gives, results without end, and paths that are not in plain form.
#[test]
fn absolute_paths_and_long_lists_in_a_result_are_cut() {
    let long = "x".repeat(3_000);
    let given = json!({
        "perDomain": { "work": format!("filed in PLACE/work {}", "y".repeat(90_000)), "other": { "deep": vec!["z"; 1000] }, "life": ["no"] },
        "sourcesCreated": vec![long.as_str(); 300], "pagesResynthesized": ["PLACE/aliases.md", "aliases"], "contradictions": [5, "a"],
        "boardRefsRecorded": ["CASE-1", "CASE-12 — Boiler"],
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "total_cost_usd": 0.5, "result": "x", "structured_output": given });
    let scene = Scene::with(&format!("{INIT}sed \"s#PLACE#$PWD#g\" \"$HOME/result\""));
    std::fs::write(scene.home().join("result"), result.to_string()).unwrap();
    let server = scene.serve(&[]);
    let answer = server.result("ingest", json!({ "content": "x", "cases": ["CASE-12 — Boiler"] }));
    assert!(answer["content"][0]["text"].as_str().unwrap().len() < 95_000);
    let told = &answer["structuredContent"];
    assert!(!told.to_string().contains(scene.folder.path().to_str().unwrap()), "no place of this machine");
    assert_eq!(told["pagesResynthesized"], json!(["aliases.md", "aliases"]), "{told}");
    assert_eq!(told["perDomain"].as_object().unwrap().len(), 1);
    assert_eq!((&told["contradictions"], &told["boardRefsRecorded"]), (&json!(["a"]), &json!(["CASE-12 — Boiler"])));
}

#[test]
fn a_line_too_long_to_read_ends_the_session_and_what_it_wrote_is_filed() {
    let body = format!("{INIT}echo changed > work/wiki/index.md\nhead -c 5000000 /dev/zero | tr '\\0' x\necho\n{RESULT}");
    let scene = Scene::with(&body);
    let error = scene.serve(&[]).fail("ingest", json!({ "content": "x" }));
    assert_eq!(error["written"], json!([{ "path": "work/wiki/index.md", "created": false }]), "{error}");
    assert_eq!(scene.folder.read("work/wiki/index.md"), b"changed\n");
}

/// A supervisor that is stopped, and one that is killed together with the server.
#[test]
fn sessions_end_with_their_supervisor() {
    let scene = Scene::with(&format!("{INIT}sleep 98769"));
    let server = scene.serve(&[]);
    let supervisor = |server: &Server| {
        let children = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
        let ids = children.flat_map(|task| {
            let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        });
        ids.last()
    };
    let signal = |signal: &str, pid: &str| assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
    let job = server.call("ingest", json!({ "content": "x", "background": true }))["job_id"].clone();
    eventually("it runs", || scene.running("sleep 98769") == 1);
    let Some(pid) = supervisor(&server) else {
        crate::support::skipped("/proc does not list children");
        return;
    };
    signal("-STOP", &pid);
    assert_eq!(server.call("ingest_cancel", json!({ "job_id": job }))["status"], "cancelled");
    assert_eq!(scene.running("sleep 98769"), 0);
    server.call("ingest", json!({ "content": "y", "background": true }));
    eventually("another one runs", || scene.running("sleep 98769") == 1);
    let pid = supervisor(&server).unwrap();
    signal("-KILL", &pid);
    server.kill();
    // What the session itself has started is not tied to anybody; of the real program these are short.
    eventually("the session is gone", || scene.running("claude -p") == 0);
    scene.processes("sleep 98769").iter().for_each(|pid| signal("-KILL", pid));
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

#[test]
fn files_of_the_server_are_not_taken_as_attachments() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let above = scene.folder.path().to_str().unwrap().to_owned();
    std::fs::write(scene.folder.path().join("good.txt"), "good").unwrap();
    let server = scene.serve(&[("COS_VAULT_ATTACH_DIRS", &above)]);
    let good = format!("{above}/good.txt");
    let error = server.fail("ingest", json!({ "content": "x", "files": [good, format!("{above}/state/state.json")] }));
    assert!(error["code"] == "PATH_NOT_ALLOWED" && error["message"].as_str().unwrap().contains("server's own"), "{error}");
    assert!(!scene.folder.vault().join("raw/assets/good.txt").exists());
    server.call("ingest", json!({ "content": "x", "files": [good] }));
    assert_eq!(scene.folder.read("raw/assets/good.txt"), b"good");
    std::fs::write(&good, "other").unwrap();
    server.call("ingest", json!({ "content": "x", "files": [good] }));
    assert_eq!(
        (scene.folder.read("raw/assets/good.txt"), scene.folder.read("raw/assets/good 2.txt")),
        (b"good".to_vec(), b"other".to_vec())
    );
}

#[test]
fn linting_takes_time_in_proportion_to_the_pages() {
    let folder = Folder::with(&[]);
    vault_sync_mcp::wiki::starter::write(&folder.vault()).unwrap();
    for n in 0..3_000 {
        std::fs::write(folder.vault().join(format!("work/wiki/concepts/C{n}.md")), format!("# C{n}\n[[Hub]]\n")).unwrap();
    }
    let started = Instant::now();
    assert_eq!(run(&folder.vault(), "lint").0, 1);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}
