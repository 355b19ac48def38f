//! The real server over one kept-alive connection, with as little of a client as there can be.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// One kept-alive connection.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::with_capacity(1 << 16, stream))
    }

    /// A request with further header lines; the head of the answer and its body.
    fn exchange(
        &mut self,
        method: &str,
        headers: &str,
        body: &str,
    ) -> std::io::Result<(String, Vec<u8>)> {
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
             {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: \
             {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut head, mut length, mut line) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer)?;
        Ok((head, answer))
    }

    fn ask(&mut self, body: &str) -> Vec<u8> {
        self.exchange("POST", "", body).unwrap().1
    }

    fn message(tool: &str, arguments: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }).to_string()
    }

    /// A call; the structured result, or what came instead.
    pub fn try_call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let (head, answer) = self
            .exchange("POST", "", &Client::message(tool, arguments))
            .map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| head)?;
        if answer["result"]["isError"] == false {
            Ok(answer["result"]["structuredContent"].clone())
        } else {
            Err(answer.to_string())
        }
    }

    /// A session.
    pub fn initialize(&mut self) -> String {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
        let (head, _) =
            self.exchange("POST", "Accept: application/json, text/event-stream\r\n", body).unwrap();
        let id = head.lines().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("mcp-session-id:").map(|id| id.trim().to_owned())
        });
        id.expect(&head)
    }

    /// Ends a session.
    pub fn end(&mut self, session: &str) {
        self.exchange("DELETE", &format!("Mcp-Session-Id: {session}\r\n"), "").unwrap();
    }
}

pub struct Server {
    child: Child,
    address: SocketAddr,
    client: Client,
    started: Instant,
    /// Its log: a file, because reading a pipe would take from the processor that is measured.
    log: PathBuf,
}

impl Server {
    /// Starts it; and how long it took to its first answer.
    pub fn start(vault: &Path, settings: &[(&str, &str)]) -> (Server, Duration) {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hash = vault_sync_mcp::secret::SecretHash::of(TOKEN).to_hex();
        let log = std::env::temp_dir().join(format!("vsm-bench-{}.log", address.port()));
        let started = Instant::now();
        // Another build of it, such as a static one, can be named.
        let binary = std::env::var_os("SERVER_BINARY")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_vault-sync-mcp").into());
        let child = Command::new(binary)
            .env_clear()
            .env("VAULT_PATH", vault)
            .env("LISTEN_ADDR", address.to_string())
            .env("SERVER_URL", format!("http://{address}"))
            .env("API_TOKENS", format!("bench:{hash}"))
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        while TcpStream::connect(address).is_err() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let mut server = Server { child, address, client: Client::connect(address), started, log };
        server.call("vault_list", json!({}));
        let first = started.elapsed();
        (server, first)
    }

    /// How long it took from the start until everything was indexed.
    pub fn index_complete(&self) -> Duration {
        while !std::fs::read_to_string(&self.log).unwrap().contains("index complete") {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.started.elapsed()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.client.try_call(tool, &arguments).unwrap()
    }

    /// How long each of so many calls takes, from the first byte sent to the last one received.
    pub fn times(
        &mut self,
        count: usize,
        call: impl Fn(usize) -> (&'static str, Value),
    ) -> Vec<Duration> {
        let messages: Vec<String> = (0..count)
            .map(call)
            .map(|(tool, arguments)| Client::message(tool, &arguments))
            .collect();
        let time = |message: &String| {
            let started = Instant::now();
            self.client.ask(message);
            started.elapsed()
        };
        messages.iter().map(time).collect()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the first look at the vault is over.
    pub fn wait_for_index(&mut self) {
        while self
            .client
            .try_call("vault_search", &json!({ "query": "the" }))
            .is_ok_and(|found| found["indexing"] == true)
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// How many there are of something in the process's folder: `task` are its threads, `fd` its
    /// open files.
    pub fn count(&self, what: &str) -> usize {
        std::fs::read_dir(format!("/proc/{}/{what}", self.child.id())).unwrap().count()
    }

    pub fn log_lines(&self) -> usize {
        std::fs::read_to_string(&self.log).unwrap().lines().count()
    }

    pub fn rss_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0 / 1e6
    }

    /// Processor time so far; a tick of it is 10 ms.
    pub fn cpu_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
    }

    /// Calls a second through `wrk`, where it is installed.
    pub fn throughput(&self, tool: &str, arguments: &Value) -> Option<u64> {
        let script = std::env::temp_dir().join(format!("vsm-bench-{}.lua", self.child.id()));
        let body = Client::message(tool, arguments).replace('\\', "\\\\").replace('\'', "\\'");
        let text = format!(
            "wrk.method='POST'\nwrk.headers['Authorization']='Bearer \
             {TOKEN}'\nwrk.headers['Content-Type']='application/json'\nwrk.body='{body}'\n"
        );
        std::fs::write(&script, text).unwrap();
        let output = Command::new("wrk")
            .args(["-t1", "-c8", "-d3s", "-s"])
            .arg(&script)
            .arg(format!("http://{}/mcp", self.address))
            .output();
        std::fs::remove_file(&script).unwrap();
        let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
        let rate = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"))?;
        assert!(!text.contains("Non-2xx"), "{text}");
        Some(rate.trim().parse::<f64>().unwrap() as u64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.log);
    }
}
