//! The benchmark: `cargo bench --bench bench`, or `cargo bench --bench bench -- 1000 10000 100000`
//! for vaults of other sizes. Deterministic vaults, the real binary, one kept-alive connection;
//! each search compared with ripgrep on the same vault in the same run. Times differ between
//! machines, ratios should not: `-- 1000 check` fails where one is less than half of what is
//! recorded.

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

mod corpus;
#[allow(dead_code)] // The soak has it too, and uses more of it.
mod server;

use serde_json::{Value, json};
use server::Server;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let has = |named: &str| words.iter().any(|word| word == named);
    let check = has("check");
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000];
    }
    println!("{}", machine());
    for size in sizes {
        let ratios = bench(size);
        let is_slower = |(ratio, recorded): (&Option<f64>, f64)| {
            ratio.is_none_or(|ratio| ratio < recorded / 2.0)
        };
        if check && ratios.iter().zip(RECORDED).any(is_slower) {
            println!("\nslower than half of the ratios recorded: {RECORDED:?}");
            std::process::exit(1);
        }
    }
}

/// The ratios to ripgrep of [`corpus::QUERIES`] over 1,000 notes, on two cores.
const RECORDED: [f64; corpus::QUERIES.len()] = [150.0, 150.0, 50.0, 40.0, 35.0, 18.0, 12.0, 110.0];

/// What the figures were measured on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: ").map(str::to_owned))
        .unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rg = Command::new("rg").arg("--version").output().map(|output| {
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    });
    format!("{cpu}, {cores} cores; {}", rg.unwrap_or_else(|_| "ripgrep is not here".into()))
}

/// Prints a table; the ratios to ripgrep, where that is installed.
fn bench(size: usize) -> Vec<Option<f64>> {
    let folder = corpus::vault(size);
    let megabytes = corpus::bytes(&folder) as f64 / 1e6;
    println!("\n{size} notes, {megabytes:.0} MB\n");
    println!("| what | p50 | p95 | rg -i -F | ratio |");
    println!("|---|---|---|---|---|");
    let (mut server, first) = Server::start(&folder, &[("TOOLSETS", "vault,notes")]);
    row("start to first answer (vault_list)", &[first], None);
    let complete = server.index_complete();
    row("start to complete index", &[complete], None);
    memory("after the first index", &server, megabytes);
    let mut ratios = Vec::new();
    for (name, query) in corpus::QUERIES {
        let times = server.times(200, |_| ("vault_search", json!({ "query": query })));
        let total = server.call("vault_search", json!({ "query": query }))["total_matches"].clone();
        ratios.push(row(&format!("search, {name} ({total} files)"), &times, rg(&folder, query)));
    }
    let another = |from: usize| {
        move |n: usize| ("vault_search", json!({ "query": corpus::question(from + n) }))
    };
    row("search, six words, each time others, the first 50", &server.times(50, another(0)), None);
    row("search, six words, each time others, after those", &server.times(200, another(50)), None);
    row(
        "search, passages for a question",
        &server.times(100, |n| {
            (
                "vault_search",
                json!({ "query": corpus::question(n), "snippets": "passages", "max_results": 10 }),
            )
        }),
        None,
    );
    memory("after the searches", &server, megabytes);
    row(
        "vault_list_all, a page of 1,000",
        &server.times(50, |_| ("vault_list_all", json!({}))),
        None,
    );
    row("vault_list", &server.times(100, |_| ("vault_list", json!({ "path": "area 03" }))), None);
    let path = |n: usize| corpus::path(n * 7919 % size);
    row("vault_read", &server.times(400, |n| ("vault_read", json!({ "path": path(n) }))), None);
    row(
        "vault_write, durable",
        &server.times(50, |n| {
            ("vault_write", json!({ "path": format!("new/{n}.md"), "content": "new text\n" }))
        }),
        None,
    );
    row(
        "vault_edit, durable",
        &server.times(50, |n| {
            (
                "vault_edit",
                json!({ "path": format!("new/{n}.md"), "old_text": "new", "new_text": "newer" }),
            )
        }),
        None,
    );
    row("the disk's own durable write of a new small file", &flushes(&folder, false), None);
    row("the disk's own durable write instead of another", &flushes(&folder, true), None);
    queries(&mut server, &folder);
    links(&mut server, &folder);
    freshness(&mut server, &folder, size);
    memory("at the end", &server, megabytes);
    let before = server.cpu_ms();
    std::thread::sleep(Duration::from_secs(5));
    println!("| processor time of 5 s without calls | {} ms | | | |", server.cpu_ms() - before);
    for (name, tool, arguments) in [
        ("vault_read", "vault_read", json!({ "path": corpus::path(1) })),
        ("vault_search, rare", "vault_search", json!({ "query": corpus::QUERIES[1].1 })),
    ] {
        if let Some(rate) = server.throughput(tool, &arguments) {
            println!("| {name}, 8 connections, wrk | {rate} calls/s | | | |");
        }
    }
    drop(server);
    std::fs::remove_dir_all(folder.join("new")).unwrap();
    walks(&folder);
    ratios
}

fn memory(when: &str, server: &Server, vault_mb: f64) {
    println!(
        "| memory {when} | {:.1} MB, {:.2} times the vault | | | |",
        server.rss_mb(),
        server.rss_mb() / vault_mb
    );
}

/// Prints a row; the ratio to ripgrep.
fn row(name: &str, times: &[Duration], rg: Option<Duration>) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| {
        sorted[((sorted.len() as f64 * part) as usize).min(sorted.len() - 1)].as_secs_f64() * 1e3
    };
    let (p50, p95) = (at(0.5), at(0.95));
    let p95 = if times.len() > 1 { format!("{p95:.3} ms") } else { String::new() };
    let rg = rg.map(|rg| rg.as_secs_f64() * 1e3);
    let ratio = rg.map(|rg| rg / p50);
    let shown_rg = rg.map_or(String::new(), |rg| format!("{rg:.1} ms"));
    let shown_ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.0}"));
    println!("| {name} | {p50:.3} ms | {p95} | {shown_rg} | {shown_ratio} |");
    ratio
}

/// The best of five runs of ripgrep, so that the ratio is never flattered.
fn rg(folder: &Path, query: &str) -> Option<Duration> {
    let run = || {
        let started = Instant::now();
        let status = Command::new("rg")
            .args(["-i", "-F", "-l", "--", query])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        status.ok().map(|_| started.elapsed())
    };
    (0..5).filter_map(|_| run()).min()
}

/// A thousand notes with properties: an equality, other filters, counts.
fn queries(server: &mut Server, folder: &Path) {
    std::fs::create_dir_all(folder.join("new/queried")).unwrap();
    for n in 0..1000 {
        let (status, due) = (
            if n % 7 == 0 { "active" } else { "done" },
            format!("2026-{:02}-{:02}", n % 12 + 1, n % 28 + 1),
        );
        let text = format!(
            "---\nstatus: {status}\ndue: {due}\nprice: {}\n---\n{}\n",
            n % 100,
            corpus::text(n)
        );
        std::fs::write(folder.join(format!("new/queried/{n}.md")), text).unwrap();
    }
    std::thread::sleep(Duration::from_millis(1500));
    let query = |arguments: Value| ("vault_query", arguments);
    row(
        "vault_query, the first after a change",
        &server.times(1, |_| query(json!({ "where": "status" }))),
        None,
    );
    for (what, arguments) in [
        ("vault_query, an equality", json!({ "where": "status == \"active\"", "limit": 20 })),
        ("vault_query, a date", json!({ "where": "due < today() + \"7d\"", "limit": 20 })),
        ("vault_query, a tag", json!({ "where": "file.hasTag(\"a\")", "limit": 20 })),
        ("vault_query, all tags with counts", json!({ "count": "tag" })),
        (
            "vault_query, changed this week, by folder",
            json!({ "where": "file.mtime > now() - \"7d\"", "count": "folder" }),
        ),
    ] {
        row(what, &server.times(100, |_| query(arguments.clone())), None);
    }
}

/// A note that a thousand others link to: the links listed, and the note renamed.
fn links(server: &mut Server, folder: &Path) {
    std::fs::create_dir_all(folder.join("new/linking")).unwrap();
    std::fs::write(folder.join("new/Hub.md"), "# Hub\n").unwrap();
    for n in 0..1000 {
        std::fs::write(
            folder.join(format!("new/linking/{n}.md")),
            format!(
                "{}\nsee [[Hub]], [[note {n:06}]] and [[no note {n}]]\n- [ ] a task\n",
                corpus::text(n)
            ),
        )
        .unwrap();
    }
    std::thread::sleep(Duration::from_millis(1500));
    let backlinks = |path: &str| ("vault_links", json!({ "path": path }));
    row("vault_links, the first call", &server.times(1, |_| backlinks("new/Hub.md")), None);
    assert_eq!(server.call("vault_links", json!({ "path": "new/Hub.md" }))["total"], 1000);
    row(
        "vault_links, a note with 1,000 backlinks",
        &server.times(200, |_| backlinks("new/Hub.md")),
        None,
    );
    for show in ["orphans", "unresolved"] {
        let times = server.times(50, |_| ("vault_links", json!({ "show": show })));
        row(&format!("vault_links, {show}"), &times, None);
    }
    let tasks = json!({ "path": "new/linking", "status": "todo" });
    row("vault_tasks, of a folder", &server.times(50, |_| ("vault_tasks", tasks.clone())), None);
    let renamed = |n: usize| {
        if n.is_multiple_of(2) {
            ("new/Hub.md", "new/Centre.md")
        } else {
            ("new/Centre.md", "new/Hub.md")
        }
    };
    let planned =
        |_| ("vault_move", json!({ "path": "new/Hub.md", "to": "new/Centre.md", "dry_run": true }));
    row("vault_move of it, planned", &server.times(50, planned), None);
    let done = |n| ("vault_move", json!({ "path": renamed(n).0, "to": renamed(n).1 }));
    row("vault_move of it, done, durable", &server.times(4, done), None);
}

/// A change by another program, and the next call.
fn freshness(server: &mut Server, folder: &Path, size: usize) {
    let (mut pauses, mut times) = (Vec::new(), Vec::new());
    for n in 0..10 {
        // So long that a walk, where one is needed, is not valid any more.
        std::thread::sleep(Duration::from_millis(1500));
        pauses.extend(server.times(1, |_| ("vault_search", json!({ "query": "absentwordhere" }))));
        std::thread::sleep(Duration::from_millis(1500));
        let word = format!("quixotic{n}word");
        std::fs::write(
            folder.join(corpus::path(n * 31 % size)),
            format!("{word}\n{}", corpus::text(n * 31 % size)),
        )
        .unwrap();
        let started = Instant::now();
        loop {
            let found: Value = server.call("vault_search", json!({ "query": word }));
            if found["total_matches"] == 1 {
                break;
            }
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        times.push(started.elapsed());
    }
    row("a call after a pause", &pauses, None);
    row("a change by another program until it is found", &times, None);
}

/// The cost of a look at the disk when nothing has changed, through the library.
fn walks(folder: &Path) {
    let vault = vault_sync_mcp::vault::Vault::open(folder).unwrap();
    vault.refresh_now().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    vault.refresh_now().unwrap();
    let times: Vec<Duration> = (0..10)
        .map(|_| {
            let started = Instant::now();
            vault.refresh_now().unwrap();
            started.elapsed()
        })
        .collect();
    let best = times.iter().min().unwrap();
    println!(
        "| a look at the disk, nothing changed | {:.3} ms | {:.2} us a file | | |",
        best.as_secs_f64() * 1e3,
        best.as_secs_f64() * 1e6 / vault.size() as f64
    );
}

/// What the disk itself takes for a small durable file, a new one or one instead of another: the
/// floor of every write that is whole and durable.
fn flushes(folder: &Path, replacing: bool) -> Vec<Duration> {
    let flush = |n: usize| {
        let (temporary, on_disk) =
            (folder.join("new/flush.tmp"), folder.join(format!("new/flush {n}")));
        if replacing {
            std::fs::write(&on_disk, b"new text\n").unwrap();
            std::fs::File::open(&on_disk).unwrap().sync_all().unwrap();
        }
        let started = Instant::now();
        let mut file = std::fs::File::create(&temporary).unwrap();
        std::io::Write::write_all(&mut file, b"newer text\n").unwrap();
        file.sync_all().unwrap();
        std::fs::rename(&temporary, &on_disk).unwrap();
        std::fs::File::open(on_disk.parent().unwrap()).unwrap().sync_all().unwrap();
        let took = started.elapsed();
        std::fs::remove_file(&on_disk).unwrap();
        took
    };
    (0..50).map(flush).collect()
}
