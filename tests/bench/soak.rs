//! The soak: `cargo bench --bench soak -- SECONDS` (20 without a number). Five hundred calls a
//! second, nine reads in ten, over connections that come and go, with event streams that listen, a
//! thousand connections that say nothing and two hundred that say almost nothing. Prints how the
//! server's memory, threads and answers do, and ends with an error if a call failed, a note is not
//! what was written last, or the server does not shrink back.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[allow(dead_code)] // The benchmark has both too, and uses more of them.
mod corpus;
#[allow(dead_code)]
mod server;

use serde_json::json;
use server::{Client, Server, TOKEN};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NOTES: usize = 10_000;
const CALLERS: usize = 10;
const CALLS_A_SECOND: u32 = 500;
const LISTENERS: usize = 20;
const IDLE: usize = 1_000;
const SLOW: usize = 200;

/// How long calls took, in microseconds, by kind, since the last look; and all of them in steps of
/// a tenth.
#[derive(Default)]
struct Times {
    recent: Vec<u32>,
    /// How many took at most 1.1 to the power of the index.
    steps: BTreeMap<u32, u64>,
}

impl Times {
    fn add(&mut self, took: Duration) {
        let us = took.as_micros().max(1) as u32;
        self.recent.push(us);
        *self.steps.entry((f64::from(us).ln() / 1.1_f64.ln()).ceil() as u32).or_default() += 1;
    }

    /// In milliseconds.
    fn all(&self, part: f64) -> f64 {
        let total: u64 = self.steps.values().sum();
        let mut seen = 0;
        let step = self.steps.iter().find(|(_, count)| {
            seen += **count;
            seen as f64 >= total as f64 * part
        });
        step.map_or(0.0, |(step, _)| 1.1_f64.powi(*step as i32) / 1e3)
    }
}

fn main() {
    let seconds: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(20);
    let folder = corpus::vault(NOTES);
    // The benchmark writes into a few of them.
    for n in (0..NOTES).filter(|&n| is_changed(&folder, n)) {
        std::fs::write(folder.join(corpus::path(n)), corpus::text(n)).unwrap();
    }
    let (mut server, _) =
        Server::start(&folder, &[("LOG_LEVEL", "warn"), ("MAX_CONNECTIONS", "3000")]);
    server.wait_for_index();
    let (address, over) = (server.address(), Arc::new(AtomicBool::new(false)));
    let times: Arc<[Mutex<Times>; 3]> = Arc::default();
    let (failed, streams) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    println!(
        "{NOTES} notes, {CALLS_A_SECOND} calls a second, {LISTENERS} event streams, {IDLE} idle \
         and {SLOW} slow connections\n"
    );
    println!(
        "| minute | memory | threads | open files | p50 | p99 | slowest | calls | failed | stream \
         messages |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut threads = Vec::new();
    for number in 0..LISTENERS {
        let (over, streams) = (Arc::clone(&over), Arc::clone(&streams));
        threads.push(std::thread::spawn(move || listen(address, number, &over, &streams)));
    }
    let quiet = Arc::clone(&over);
    threads.push(std::thread::spawn(move || keep_open(address, &quiet)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let (over, times, failed) =
                (Arc::clone(&over), Arc::clone(&times), Arc::clone(&failed));
            std::thread::spawn(move || call(address, number, &over, &times, &failed))
        })
        .collect();
    let started = Instant::now();
    let every = Duration::from_secs((seconds / 24).clamp(5, 300));
    let mut calls = 0;
    let (mut first_mb, mut last_mb) = (0.0, 0.0);
    while started.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(
            every.min(Duration::from_secs(seconds).saturating_sub(started.elapsed())),
        );
        let mut recent: Vec<u32> = times
            .iter()
            .flat_map(|times| std::mem::take(&mut times.lock().unwrap().recent))
            .collect();
        recent.sort_unstable();
        calls += recent.len();
        let at = |part: f64| {
            f64::from(recent.get((recent.len() as f64 * part) as usize).copied().unwrap_or(0)) / 1e3
        };
        last_mb = server.rss_mb();
        first_mb = if first_mb == 0.0 { last_mb } else { first_mb };
        println!(
            "| {:.1} | {last_mb:.1} MB | {} | {} | {:.2} ms | {:.2} ms | {:.1} ms | {calls} | {} \
             | {} |",
            started.elapsed().as_secs_f64() / 60.0,
            server.count("task"),
            server.count("fd"),
            at(0.5),
            at(0.99),
            f64::from(recent.last().copied().unwrap_or(0)) / 1e3,
            failed.load(Ordering::Relaxed),
            streams.load(Ordering::Relaxed),
        );
    }
    over.store(true, Ordering::Relaxed);
    let written: BTreeMap<String, String> =
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for (name, times) in ["read", "search", "write"].iter().zip(times.iter()) {
        let times = times.lock().unwrap();
        println!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms",
            times.all(0.5),
            times.all(0.99),
            times.all(0.999)
        );
    }
    let wrong = written
        .iter()
        .filter(|(path, text)| {
            std::fs::read_to_string(folder.join(path)).ok().as_ref() != Some(text)
        })
        .count();
    let changed = (0..NOTES).filter(|&n| is_changed(&folder, n)).count();
    std::thread::sleep(Duration::from_secs(3));
    let (mb, left, files) = (server.rss_mb(), server.count("task"), server.count("fd"));
    println!("{} notes written, {wrong} of them wrong; {changed} others changed", written.len());
    println!(
        "at the end: {mb:.1} MB ({first_mb:.1} at the first line, {last_mb:.1} at the last), \
         {left} threads, {files} open files"
    );
    println!("lines in the log: {}", server.log_lines());
    let failed = failed.load(Ordering::Relaxed);
    drop(server);
    std::fs::remove_dir_all(folder.join("soak")).unwrap();
    if failed > 0 || wrong > 0 || changed > 0 || left > 20 {
        eprintln!("the soak found something");
        std::process::exit(1);
    }
}

/// Whether a note is not what it was when the vault was made.
fn is_changed(folder: &Path, n: usize) -> bool {
    std::fs::read_to_string(folder.join(corpus::path(n))).ok() != Some(corpus::text(n))
}

/// One caller: its share of the calls in time, each connection for some calls only. Gives the notes
/// that it wrote.
fn call(
    address: SocketAddr,
    number: usize,
    over: &AtomicBool,
    times: &[Mutex<Times>; 3],
    failed: &AtomicU64,
) -> BTreeMap<String, String> {
    let pause = Duration::from_secs(1) * CALLERS as u32 / CALLS_A_SECOND;
    let (mut written, mut next, mut n) =
        (BTreeMap::new(), Instant::now() + pause * number as u32 / CALLERS as u32, number);
    let mut client = Client::connect(address);
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += pause;
        n += CALLERS;
        if n % 470 < CALLERS {
            client = Client::connect(address);
        }
        let path = format!("soak/{number}/note {}.md", n / CALLERS % 200);
        let (kind, tool, arguments) = match n / CALLERS % 50 {
            0 => {
                let text = format!("# Note {n}\n\n{}\n", "soaked ".repeat(n % 300));
                written.insert(path.clone(), text.clone());
                (2, "vault_write", json!({ "path": path, "content": text }))
            }
            1..5 => (
                1,
                "vault_search",
                json!({ "query": corpus::QUERIES[n / CALLERS % corpus::QUERIES.len()].1 }),
            ),
            _ => (0, "vault_read", json!({ "path": corpus::path(n * 7919 % NOTES) })),
        };
        let began = Instant::now();
        match client.try_call(tool, &arguments) {
            Ok(_) => times[kind].lock().unwrap().add(began.elapsed()),
            Err(why) => {
                eprintln!("{tool}: {why}");
                failed.fetch_add(1, Ordering::Relaxed);
                client = Client::connect(address);
            }
        }
    }
    written
}

/// An event stream of a session; a new one now and then.
fn listen(address: SocketAddr, number: usize, over: &AtomicBool, heard: &AtomicU64) {
    while !over.load(Ordering::Relaxed) {
        let session = Client::connect(address).initialize();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nAccept: \
             text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let until = Instant::now() + Duration::from_secs(30 + number as u64 * 5);
        let mut piece = [0; 4096];
        while Instant::now() < until && !over.load(Ordering::Relaxed) {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(_) => drop(heard.fetch_add(1, Ordering::Relaxed)),
                Err(_) => {}
            }
        }
        Client::connect(address).end(&session);
    }
}

/// Connections that say nothing, and ones that send a byte now and then. The server ends both after
/// a while; new ones come.
fn keep_open(address: SocketAddr, over: &AtomicBool) {
    let connect = |_| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let mut idle: Vec<TcpStream> = (0..IDLE).map(connect).collect();
    let mut slow: Vec<TcpStream> = (0..SLOW).map(connect).collect();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(500));
        for stream in slow.iter_mut().chain(&mut idle) {
            let mut byte = [0];
            if (&*stream).read(&mut byte).is_ok() {
                *stream = connect(0);
            }
        }
        for stream in &mut slow {
            let _ = stream.write(b"G");
        }
    }
}
