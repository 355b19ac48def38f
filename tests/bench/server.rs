//! The real server over one kept-alive connection, with as little of a client as there can be.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub struct Server {
    child: Child,
    address: SocketAddr,
    stream: BufReader<TcpStream>,
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
        let child = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
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
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(Duration::from_micros(200)),
            }
        };
        stream.set_nodelay(true).unwrap();
        let mut server = Server { child, address, stream: BufReader::with_capacity(1 << 20, stream), started, log };
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

    fn ask(&mut self, body: &str) -> Vec<u8> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).unwrap();
        answer
    }

    fn message(tool: &str, arguments: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }).to_string()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer: Value = serde_json::from_slice(&self.ask(&Server::message(tool, &arguments))).unwrap();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// How long each of so many calls takes, from the first byte sent to the last one received. The first is not counted.
    pub fn times(&mut self, count: usize, call: impl Fn(usize) -> (&'static str, Value)) -> Vec<Duration> {
        let messages: Vec<String> = (0..=count).map(call).map(|(tool, arguments)| Server::message(tool, &arguments)).collect();
        let time = |message: &String| {
            let started = Instant::now();
            self.ask(message);
            started.elapsed()
        };
        messages.iter().map(time).skip(1).collect()
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
        let body = Server::message(tool, arguments).replace('\\', "\\\\").replace('\'', "\\'");
        let text = format!(
            "wrk.method='POST'\nwrk.headers['Authorization']='Bearer {TOKEN}'\nwrk.headers['Content-Type']='application/json'\nwrk.body='{body}'\n"
        );
        std::fs::write(&script, text).unwrap();
        let output =
            Command::new("wrk").args(["-t1", "-c8", "-d3s", "-s"]).arg(&script).arg(format!("http://{}/mcp", self.address)).output();
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
