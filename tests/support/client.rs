//! HTTP as bytes: nothing is added, nothing is hidden.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub struct Connection {
    reader: BufReader<TcpStream>,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Connection {
        Connection::try_open(address).unwrap()
    }

    /// To a server that may be killed meanwhile.
    pub fn try_open(address: SocketAddr) -> std::io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Ok(Connection { reader: BufReader::new(stream) })
    }

    /// A connection that takes little before it is read: small buffers, small segments.
    pub fn open_slow(address: SocketAddr) -> Connection {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(2048).unwrap();
        socket.set_tcp_mss(536).unwrap();
        socket.connect(&address.into()).unwrap();
        Connection { reader: BufReader::with_capacity(1, socket.into()) }
    }

    pub fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Connection {
        self.stream().write_all(bytes.as_ref()).unwrap();
        self
    }

    /// Sends as far as the peer takes it.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream().write_all(bytes.as_ref()).is_ok()
    }

    /// The head of a response; the body is left in the stream. `None` when the connection ended.
    pub fn head(&mut self) -> Option<Response> {
        let mut line = String::new();
        if self.reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).ok()?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Some(Response { status, headers, body: Vec::new() })
    }

    /// A whole response.
    pub fn try_response(&mut self) -> Option<Response> {
        let mut response = self.head()?;
        let length: usize =
            response.header("content-length").map_or(0, |length| length.parse().unwrap());
        response.body = vec![0; length];
        self.reader.read_exact(&mut response.body).ok()?;
        Some(response)
    }

    #[track_caller]
    pub fn response(&mut self) -> Response {
        self.try_response().expect("a response")
    }

    /// The response to HEAD: no body, whatever the head says.
    #[track_caller]
    pub fn headless(&mut self) -> Response {
        self.head().expect("a response")
    }

    /// The next event's data on a chunked event stream; comments are skipped. `None` at the end of
    /// the stream.
    pub fn event(&mut self) -> Option<String> {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < Duration::from_secs(20), "no event within twenty seconds");
            let chunk = self.chunk()?;
            if let Some(data) = chunk.lines().find_map(|line| line.strip_prefix("data: ")) {
                return Some(data.to_owned());
            }
        }
    }

    /// One chunk of a chunked body; `None` for the last one, and at the end of the connection.
    pub fn chunk(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(size);
        if size == 0 { None } else { String::from_utf8(bytes).ok() }
    }

    /// Whether the peer closes and sends nothing before.
    pub fn is_closed_without_a_byte(&mut self) -> bool {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).is_ok() && rest.is_empty()
    }

    /// Whether the peer has closed, waiting for it a while.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).is_ok()
    }
}
