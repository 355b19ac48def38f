//! Conversations, word for word: `fixtures/wire`. A file begins with what it shows; `-->` is what
//! the client sends, `<--` what comes back. `UPDATE_FIXTURES=1 cargo test` rewrites the server's
//! half; the diff is the review.
//!
//! Those in `both` are held over HTTP and over stdio, where headers and statuses do not exist and
//! the messages are the same.

use crate::stdio::Client;
use crate::support::{Folder, Server, TOKEN};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Exchange {
    method: String,
    headers: Vec<(String, String)>,
    body: String,
    answer: String,
}

struct Conversation {
    file: PathBuf,
    prose: String,
    exchanges: Vec<Exchange>,
}

fn conversations(folder: &str) -> Vec<Conversation> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 5);
    files.into_iter().map(Conversation::read).collect()
}

impl Conversation {
    fn read(file: PathBuf) -> Conversation {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut parts = text.split("\n--> ");
        let prose = parts.next().unwrap().trim().to_owned();
        let exchanges = parts.map(|part| {
            let (sent, answer) = part.split_once("\n<-- ").unwrap_or((part, ""));
            let (head, body) = sent.trim_end().split_once("\n\n").unwrap_or((sent.trim_end(), ""));
            let mut lines = head.lines();
            let method = lines.next().unwrap().trim().to_owned();
            let headers = lines.map(|line| {
                line.split_once(':')
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .unwrap()
            });
            Exchange {
                method,
                headers: headers.collect(),
                body: body.to_owned(),
                answer: answer.trim().to_owned(),
            }
        });
        Conversation { exchanges: exchanges.collect(), prose, file }
    }

    fn write(&self) {
        let mut text = format!("{}\n", self.prose);
        for exchange in &self.exchanges {
            text.push_str(&format!("\n--> {}\n", exchange.method));
            exchange
                .headers
                .iter()
                .for_each(|(name, value)| text.push_str(&format!("{name}:{value}\n")));
            if !exchange.body.is_empty() {
                text.push_str(&format!("\n{}\n", exchange.body));
            }
            text.push_str(&format!("\n<-- {}\n", exchange.answer));
        }
        std::fs::write(&self.file, text).unwrap();
    }

    fn name(&self) -> String {
        self.file.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Holds it over HTTP: the files' headers replace the usual ones, and an empty value takes one
    /// away.
    fn over_http(mut self) {
        let (_folder, server) = Server::sample();
        let mut session = String::new();
        for number in 0..self.exchanges.len() {
            let exchange = &self.exchanges[number];
            let mut headers = vec![
                ("Host".to_owned(), "vault.example.com".to_owned()),
                ("Authorization".into(), format!("Bearer {TOKEN}")),
                ("Content-Type".into(), "application/json".into()),
                ("Accept".into(), "application/json, text/event-stream".into()),
                ("Content-Length".into(), exchange.body.len().to_string()),
                ("Connection".into(), "close".into()),
            ];
            for (name, value) in &exchange.headers {
                headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                if !value.is_empty() {
                    headers.push((name.clone(), value.replace("{session}", &session)));
                }
            }
            let (method, path) =
                exchange.method.split_once(' ').unwrap_or((&exchange.method, "/mcp"));
            let lines: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let response = server
                .connect()
                .send(format!("{method} {path} HTTP/1.1\r\n{lines}\r\n{}", exchange.body))
                .response();
            if let Some(id) = response.header("mcp-session-id") {
                session = id.to_owned();
            }
            let mut answer = response.status.to_string();
            for name in ["Content-Type", "Allow", "WWW-Authenticate", "Mcp-Session-Id"] {
                let value = response
                    .header(name)
                    .map(|value| if name == "Mcp-Session-Id" { "{session}" } else { value });
                value.iter().for_each(|value| answer.push_str(&format!("\n{name}: {value}")));
            }
            if !response.body.is_empty() {
                answer.push_str(&format!("\n\n{}", shown(response.json())));
            }
            self.hold(number, answer);
        }
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            self.write();
        }
    }

    fn hold(&mut self, number: usize, answer: String) {
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            self.exchanges[number].answer = answer;
        } else {
            assert_eq!(
                self.exchanges[number].answer,
                answer,
                "{}, answer {}: see UPDATE_FIXTURES",
                self.name(),
                number + 1
            );
        }
    }

    fn over_stdio(self) {
        let folder = Folder::sample();
        let mut client = Client::on(&folder);
        for exchange in &self.exchanges {
            client.send(&exchange.body.replace('\n', " "));
            if let Some((_, expected)) = exchange.answer.split_once("\n\n") {
                let answer = client
                    .line()
                    .unwrap_or_else(|| panic!("{}: no answer to {}", self.name(), exchange.body));
                assert_eq!(shown(answer), expected, "{}", self.name());
            }
        }
        assert_eq!(client.end(), 0, "{}: and nothing more was said", self.name());
    }
}

/// An answer as it is compared: times and the version of this program differ from run to run, long
/// texts are shown by their beginning.
fn shown(mut answer: Value) -> String {
    fn plain(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.iter_mut().for_each(|(name, value)| match name.as_str() {
                    "modified" | "lastModified" => *value = "{time}".into(),
                    "version" => *value = "{version}".into(),
                    // It has the time of a file in it.
                    "next_cursor" => *value = "{cursor}".into(),
                    _ => plain(value),
                })
            }
            Value::Array(items) => items.iter_mut().for_each(plain),
            Value::String(text) if text.chars().count() > 300 => {
                *text = text.chars().take(60).chain("...".chars()).collect()
            }
            _ => {}
        }
    }
    plain(&mut answer);
    serde_json::to_string_pretty(&answer).unwrap()
}

#[test]
fn every_row_of_the_classification() {
    conversations("classification").into_iter().for_each(Conversation::over_http);
}

#[test]
fn every_step_of_the_order() {
    conversations("order").into_iter().for_each(Conversation::over_http);
}

#[test]
fn the_same_over_http_and_stdio() {
    conversations("both").into_iter().for_each(Conversation::over_http);
    conversations("both").into_iter().for_each(Conversation::over_stdio);
}
