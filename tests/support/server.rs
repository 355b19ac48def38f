//! The real binary, started for one test and ended with it.

use super::schema::is_whole;
use super::{Connection, Folder, Response, eventually};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// The public origin of every server here; the bytes go to loopback.
pub const ORIGIN: &str = "https://vault.example.com";
/// The password of user `alex`.
pub const PASSWORD: &str = "correct horse";
/// An API token that may do everything.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// One that may only read.
pub const READ_TOKEN: &str = "1111111111111111111111111111111111111111111111111111111111111111";
/// The message that asks for the least.
pub const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// The request that asks for the least.
pub const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: vault.example.com\r\n\r\n";

pub struct Server {
    child: Child,
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Serves a vault.
    pub fn on(vault: &Path) -> Server {
        Server::with(vault, &[])
    }

    /// Serves a vault with further settings.
    pub fn with(vault: &Path, settings: &[(&str, &str)]) -> Server {
        Server::spawned(vault, settings, |command| command)
    }

    /// The same, with a last word on how the program is started.
    pub fn spawned(
        vault: &Path,
        settings: &[(&str, &str)],
        last: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Server {
        let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
        command
            .env_clear()
            .env("VAULT_PATH", vault)
            .env("LISTEN_ADDR", "127.0.0.1:0")
            .env("SERVER_URL", ORIGIN)
            .env("AUTH_USERS", format!("alex:{}", bcrypt::hash(PASSWORD, 4).unwrap()))
            .env("API_TOKENS", format!("all:{},reader:{}:read", hash(TOKEN), hash(READ_TOKEN)))
            .env("CLIENT_CREDENTIALS", format!("robot:{}", hash("robot secret")))
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = last(&mut command).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, keep) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut log = keep.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut address = None;
        eventually("the server listens", || {
            let log = log.lock().unwrap();
            let line =
                log.lines().find_map(|line| line.split_once("listening on ")?.1.split_once(','));
            address = line.map(|(address, _)| address.parse().unwrap());
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended with {ended:?}: {log}");
            address.is_some()
        });
        Server { child, address: address.unwrap(), log }
    }

    /// A server over the sample vault, with the folder it is in.
    pub fn sample() -> (Folder, Server) {
        let folder = Folder::sample();
        let server = Server::on(&folder.vault());
        (folder, server)
    }

    /// The same, with a state folder next to the vault.
    pub fn sample_with_state() -> (Folder, PathBuf, Server) {
        let folder = Folder::sample();
        let state = folder.path().join("state");
        let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
        (folder, state, server)
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The log, once it has this; the server writes it independently of its answers.
    #[track_caller]
    pub fn log_with(&self, wanted: &str) -> String {
        eventually(wanted, || self.log().contains(wanted));
        self.log()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One request on a connection of its own.
    #[track_caller]
    pub fn request(&self, head: &str, body: &str) -> Response {
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        self.connect()
            .send(format!(
                "{head}\r\nHost: vault.example.com\r\nConnection: close\r\n{length}\r\n{body}"
            ))
            .response()
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.request(&format!("GET {path} HTTP/1.1"), "")
    }

    /// Whether it answers at all.
    #[track_caller]
    pub fn is_alive(&self) -> bool {
        self.get("/healthz").text() == "ok\n"
    }

    /// A form to an OAuth endpoint.
    #[track_caller]
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.request(
            &format!("POST {path} HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"),
            &encode(fields),
        )
    }

    /// A JSON-RPC message to /mcp with the token that may do everything.
    #[track_caller]
    pub fn post(&self, message: &Value) -> Response {
        self.post_with(TOKEN, "", message)
    }

    /// The same with another token and further header lines (each with its CR LF).
    #[track_caller]
    pub fn post_with(&self, token: &str, headers: &str, message: &Value) -> Response {
        self.request(&mcp_head(token, headers), &message.to_string())
    }

    /// A new session in a revision of the protocol; its id.
    #[track_caller]
    pub fn session(&self, token: &str, version: &str) -> String {
        let response = self.post_with(token, "", &initialize(version));
        assert_eq!(response.status, 200, "{}", response.text());
        response.header("mcp-session-id").unwrap().to_owned()
    }

    /// Calls a tool; the structured result.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that fails; the error.
    #[track_caller]
    pub fn fail(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let error: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert!(!super::has_double_stop(error["error"]["message"].as_str().unwrap()), "{error}");
        error["error"].clone()
    }

    /// Calls a tool; the whole result.
    #[track_caller]
    pub fn result(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result_of("tools/call", json!({ "name": tool, "arguments": arguments }));
        if result["isError"] == false {
            is_whole(tool, &result);
        }
        result
    }

    /// The result of a method.
    #[track_caller]
    pub fn result_of(&self, method: &str, params: Value) -> Value {
        let response =
            self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["result"].clone()
    }

    /// The most memory that it has used, kB.
    pub fn peak_kb(&self) -> usize {
        self.status_kb("VmHWM:")
    }

    /// The memory that it uses, kB.
    pub fn memory_kb(&self) -> usize {
        self.status_kb("VmRSS:")
    }

    fn status_kb(&self, field: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(mut self) -> i32 {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

/// The first message of a session.
pub fn initialize(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

/// A whole POST to /mcp on a connection that is kept.
pub fn post(body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: vault.example.com\r\nAuthorization: Bearer \
         {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A whole GET of a session's event stream.
pub fn stream_request(token: &str, session: &str, accept: &str) -> String {
    format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nAccept: \
         {accept}\r\nMcp-Session-Id: {session}\r\n\r\n"
    )
}

pub fn mcp_head(token: &str, headers: &str) -> String {
    let headers = headers.trim_end();
    let headers = if headers.is_empty() { String::new() } else { format!("\r\n{headers}") };
    format!(
        "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Type: \
         application/json\r\nAccept: application/json, text/event-stream{headers}"
    )
}

pub fn encode(fields: &[(&str, &str)]) -> String {
    let encode = |text: &str| vault_sync_mcp::percent::encode(text, "");
    fields
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect::<Vec<_>>()
        .join("&")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server ---\n{}", self.log());
        }
    }
}
