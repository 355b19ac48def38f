//! Notes, names, expressions and floods that are made to use up memory, time or connections.

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, log_in, register, register_with, tokens, works,
};
use crate::support::short_names::ShortNames;
use crate::support::{
    Connection, Folder, PASSWORD, Server, TOKEN, encode, eventually, post, skipped, slow_call,
    thorough,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends the threads of a test also when the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Aliases of aliases: less than 2 KB of YAML that mean 7.5 million values.
fn alias_bomb() -> String {
    let list = |item: &str, count: usize| vec![item; count].join(",");
    format!(
        "a: &a [{}]\nb: &b [{}]\nc: &c [{}]\n",
        list("x", 250),
        list("*a", 100),
        list("*b", 300)
    )
}

#[cfg(all(feature = "context", feature = "accomplishments"))]
#[test]
fn yaml_that_expands_without_bound_is_a_note_without_properties_also_after_a_restart() {
    let bomb = alias_bomb();
    let brackets = "[".repeat(60_000);
    let folder = Folder::with(&[
        ("bomb.md", format!("---\n{bomb}tags: [*c]\n---\nfind me\n").as_bytes()),
        ("brackets.md", format!("---\ntags: {brackets}\n---\nfind me\n").as_bytes()),
        (
            "Projects/project.md",
            format!("---\ntype: accomplishment\nid: ACC-001\n{bomb}tags: [*c]\n---\nfind me\n")
                .as_bytes(),
        ),
        ("plain.md", b"---\ntags: [plain]\nstatus: ok\n---\nfind me\n"),
    ]);
    let settings = [
        ("TOOLSETS", "vault,context,accomplishments"),
        ("ACCOMPLISHMENTS_FOLDER", "Projects"),
        ("DEFAULT_CANVAS", "Projects.canvas"),
    ];
    for _ in 0..2 {
        let server = Server::with(&folder.vault(), &settings);
        let started = Instant::now();
        assert_eq!(server.call("vault_search", json!({ "query": "find me" }))["total_matches"], 4);
        assert_eq!(
            server.call("vault_list_all", json!({ "tag": "plain" }))["files"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        let found =
            server.result("fetch_matching_files", json!({ "properties": { "status": "ok" } }));
        assert!(found["content"][0]["text"].as_str().unwrap().contains("plain.md"), "{found}");
        assert_eq!(server.call("list_accomplishments", json!({}))["count"], 0);
        assert!(
            !thorough() || started.elapsed() < Duration::from_secs(3),
            "{:?}",
            started.elapsed()
        );
        assert!(server.peak_kb() < 60_000, "{} kB", server.peak_kb());
        server.log_with("bomb.md");
        server.kill();
    }
}

#[cfg(feature = "context")]
#[test]
fn properties_take_no_more_memory_than_a_few_times_their_text() {
    let list = "a,".repeat(30_000);
    let notes: Vec<(String, String)> =
        (0..200).map(|n| (format!("{n}.md"), format!("---\nlist: [{list}]\n---\n"))).collect();
    let notes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&notes);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let found =
        server.result("fetch_matching_files", json!({ "properties": { "list": "nothing" } }));
    assert_eq!(found["isError"], false, "{found}");
    // 58 to 115 MB, as the allocator gives memory back; 376 MB when each item was a value of its
    // own.
    eventually("12 MB of lists take less than 160 MB", || server.memory_kb() < 160_000);
}

/// Sixteen at the same time, with their clients gone, leave the workers free.
#[cfg(feature = "context")]
#[test]
fn expressions_that_take_long_leave_workers_for_others_and_end_with_their_client() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    server.call("vault_list_all", json!({ "limit": 1 }));
    let search =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": slow_call() })
            .to_string();
    let started = Instant::now();
    let mut attackers: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for attacker in &mut attackers {
        attacker.send(post(&search));
    }
    for _ in 0..20 {
        let asked = Instant::now();
        server.call("vault_read", json!({ "path": "000.md", "limit": 1 }));
        assert!(
            !thorough() || asked.elapsed() < Duration::from_millis(1_500),
            "{:?}",
            asked.elapsed()
        );
    }
    drop(attackers);
    eventually("all of them have ended", || {
        server.log().matches("tool=search_vault_content").count() == 16
    });
    assert!(!thorough() || started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert!(
        server.log().contains("outcome=CANCELLED"),
        "a call that only reads ends with its client in the legacy era, too"
    );
}

#[cfg(feature = "context")]
#[test]
fn a_search_for_an_expression_answers_in_seconds_and_says_what_it_has_not_searched() {
    let folder = Folder::slow();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let started = Instant::now();
    let answer = server.result_of("tools/call", slow_call());
    assert!(!thorough() || started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(
        answer["content"][0]["text"].as_str().unwrap().contains(" notes were not searched"),
        "{answer}"
    );
}

#[test]
fn hidden_files_are_not_served_by_their_short_names() {
    let folder = Folder::new();
    let Some(_mount) = ShortNames::mounted_at(&folder.vault()) else {
        return skipped("FUSE file systems cannot be mounted");
    };
    assert!(
        std::fs::read_to_string(folder.vault().join("OBSIDI~1/app.json"))
            .unwrap()
            .contains("secret"),
        "the file system has them"
    );
    let server = Server::with(&folder.vault(), &[("READ_ONLY", "true")]);
    let listed = server.call("vault_list_all", json!({}));
    assert_eq!(listed["total_files"], 3, "{listed}");
    for (path, code) in [
        ("OBSIDI~1/app.json", "PATH_NOT_ALLOWED"),
        ("OBSIDI~1/APP~1.JSO", "PATH_NOT_ALLOWED"),
        ("ALONGN~1.MD", "PATH_NOT_ALLOWED"),
        ("OTHER~1.MD", "FILE_NOT_FOUND"),
        (".obsidian/app.json", "PATH_NOT_ALLOWED"),
    ] {
        assert_eq!(server.fail("vault_read", json!({ "path": path }))["code"], code, "{path}");
    }
    assert_eq!(
        server.fail("vault_list", json!({ "path": "OBSIDI~1" }))["code"],
        "PATH_NOT_ALLOWED"
    );
    assert_eq!(
        server.call("vault_read", json!({ "path": "draft~1.md" }))["content"],
        "a draft\n",
        "a name that is listed"
    );
    assert_eq!(
        server.call("vault_read", json!({ "path": "A long name.md" }))["content"],
        "a note\n"
    );
}

/// On a file system that ignores case, what is hidden or not granted is so under every spelling of
/// its name.
#[test]
fn another_spelling_of_a_name_leads_neither_to_what_is_hidden_nor_out_of_a_grant() {
    let folder = Folder::new();
    let Some(_mount) = ShortNames::mounted_at(&folder.vault()) else {
        return skipped("FUSE file systems cannot be mounted");
    };
    let hash = vault_sync_mcp::secret::SecretHash::of(TOKEN).to_hex();
    let limited = format!("all:{hash}:read=private/;sub/");
    for settings in
        [("HIDE", "Private/"), ("HIDE", "private"), ("API_TOKENS", limited.as_str()), ("HIDE", "")]
    {
        let is_hidden = settings != ("HIDE", "");
        let server = Server::with(&folder.vault(), &[settings, ("READ_ONLY", "true")]);
        for path in ["private/s.md", "PRIVATE/S.MD", "private/S.md", "Private/S.md"] {
            let answer = server.result("vault_read", json!({ "path": path }));
            // What is served is served under its own name.
            let is_served = answer["structuredContent"]["path"] == "Private/s.md";
            assert!(
                answer["isError"] == true || is_served && !is_hidden,
                "{settings:?} {path}: {answer}"
            );
        }
        let listed = server.call("vault_list_all", json!({})).to_string();
        assert_eq!(listed.contains("s.md"), !is_hidden, "{settings:?} {listed}");
        if !is_hidden {
            assert_eq!(
                server.call("vault_read", json!({ "path": "Private/s.md" }))["content"],
                "a secret\n",
                "as it is listed"
            );
        }
    }
}

/// Another program exchanges a folder for a link to outside, over and over, while notes below it
/// are read and written.
#[test]
fn a_folder_that_is_exchanged_for_a_link_is_not_followed() {
    let folder = Folder::with(&[("real/note.md", b"inside\n"), ("other.md", b"")]);
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("note.md"), "SECRET\n").unwrap();
    std::fs::write(outside.join("seen.md"), "SECRET\n").unwrap();
    let server = Server::on(&folder.vault());
    let (real, link) = (folder.vault().join("real"), folder.path().join("link"));
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let began = Instant::now();
        let (mut read, mut written) = (0, 0);
        for number in 0.. {
            let answer = server.result("vault_read", json!({ "path": "real/seen.md" })).to_string();
            assert!(!answer.contains("SECRET"), "{answer}");
            let answer = server.result("vault_read", json!({ "path": "real/note.md" }));
            assert!(!answer.to_string().contains("SECRET"), "{answer}");
            read += usize::from(answer["isError"] == false);
            let content = format!("round {number}\n");
            written += usize::from(
                server.result("vault_write", json!({ "path": "real/note.md", "content": content }))
                    ["isError"]
                    == false,
            );
            let path = format!("real/new {number}.md");
            server.result("vault_write", json!({ "path": path, "content": "new\n" }));
            if began.elapsed() > Duration::from_secs(if thorough() { 30 } else { 4 }) {
                break;
            }
        }
        let enough = if thorough() { 20 } else { 0 };
        assert!(read > enough && written > enough, "{read} read, {written} written");
    });
    let found: Vec<_> =
        std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(std::fs::read(outside.join("note.md")).unwrap(), b"SECRET\n");
}

#[test]
fn a_flood_of_connections_with_one_byte_does_not_lock_out_a_login() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "256")]);
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": "Welcome.md" } } });
    let mut kept = server.connect();
    assert_eq!(kept.send(post(&read.to_string())).response().status, 200);
    let stop = AtomicBool::new(false);
    let seconds = if thorough() { 30 } else { 4 };
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                let mut open = std::collections::VecDeque::new();
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(mut connection) = Connection::try_open(server.address) {
                        connection.try_send("G");
                        open.push_back(connection);
                    }
                    if open.len() > 600 {
                        open.pop_front();
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < Duration::from_secs(seconds) {
            let asked = Instant::now();
            assert_eq!(
                kept.send(post(&read.to_string())).response().status,
                200,
                "on the connection that it has"
            );
            assert_eq!(server.post(&read).status, 200, "on a new one");
            times.push(asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        times.sort();
        assert!(
            !thorough() || times[times.len() * 95 / 100] < Duration::from_millis(200),
            "p95 {:?}",
            times[times.len() * 95 / 100]
        );
    });
}

/// Whoever can write into the state folder can make files of any size.
#[test]
fn sparse_files_are_not_read_whole() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let size = 3 << 30;
    std::fs::File::create(state.join("state.json")).unwrap().set_len(size).unwrap();
    let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
    server.call("vault_read", json!({ "path": "Welcome.md" }));
    assert!(server.peak_kb() < 60_000, "{} kB", server.peak_kb());
    let (access, _) = tokens(&server, &register(&server));
    assert!(works(&server, &access));
}

/// Sixty strangers guess without end, all through one proxy that is not trusted. A browser from
/// which somebody has logged in before gets in all the same, also after a restart, and the vault
/// answers.
#[test]
fn a_known_browser_gets_in_during_a_flood_of_wrong_passwords() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    let users = format!("alex:{}", bcrypt::hash(PASSWORD, 8).unwrap());
    let settings = [("STATE_DIR", state.to_str().unwrap()), ("AUTH_USERS", &users)];
    let server = Server::with(&folder.vault(), &settings);
    let path = authorize_path(&register(&server), &[]);
    let log_in = |server: &Server, cookie: &str, user: &str, password: &str| {
        let form = encode(&[
            ("username", user),
            ("password", password),
            ("access", "write"),
            ("decision", "allow"),
        ]);
        let head = format!(
            "POST {path} HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9{cookie}\r\nContent-Type: \
             application/x-www-form-urlencoded"
        );
        server.request(&head, &form)
    };
    let first = log_in(&server, "", "alex", PASSWORD);
    let set = first.header("set-cookie").unwrap();
    assert!(
        set.contains("HttpOnly")
            && set.contains("SameSite=Strict")
            && set.contains("Secure")
            && set.starts_with("__Host-"),
        "{set}"
    );
    let known = format!("\r\nCookie: theme=dark; {}", set.split_once(';').unwrap().0);
    server.kill();
    let server = Server::with(&folder.vault(), &settings);
    let (stop, is_full) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for n in 0..60 {
            let (server, stop, is_full, log_in) = (&server, &stop, &is_full, &log_in);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // Some try the owner's name, and a mark that they have made up.
                    let made_up = if n % 3 == 0 {
                        "\r\nCookie: __Host-known-browser=99999999999.00"
                    } else {
                        ""
                    };
                    let status =
                        log_in(server, made_up, if n % 2 == 0 { "alex" } else { "bob" }, "wrong")
                            .status;
                    assert!(matches!(status, 403 | 429), "{status}");
                    is_full.fetch_or(status == 429, Ordering::Relaxed);
                }
            });
        }
        eventually("the lane of strangers is full", || is_full.load(Ordering::Relaxed));
        for _ in 0..8 {
            assert_eq!(log_in(&server, &known, "alex", PASSWORD).status, 303);
            assert!(works(&server, TOKEN));
        }
        assert_eq!(log_in(&server, &known, "alex", "wrong").status, 403, "the mark is no password");
    });
}

/// Logins that wait do not hold up the end of the server.
#[test]
fn logins_that_wait_end_with_the_server() {
    let (_folder, server) = Server::sample();
    let form = encode(&[
        ("username", "alex"),
        ("password", "wrong"),
        ("access", "write"),
        ("decision", "allow"),
    ]);
    let (path, length) = (authorize_path(&register(&server), &[]), form.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {length}"
    );
    let mut waiting: Vec<Connection> = (0..16).map(|_| server.connect()).collect();
    for connection in &mut waiting {
        connection.send(format!("{head}\r\n\r\n{form}"));
    }
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    assert_eq!(server.terminate(), 0);
    assert!(
        !thorough() || started.elapsed() < vault_sync_mcp::limits::SHUTDOWN_GRACE,
        "each of them takes a second: {:?}",
        started.elapsed()
    );
}

/// A login that may only read sends queries that take as much time and memory as they may; another
/// login reads all the while.
#[cfg(feature = "notes")]
#[test]
fn queries_of_one_login_neither_fill_the_memory_nor_keep_others_from_reading() {
    let note =
        "---\nl: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n---\n";
    let files: Vec<(String, &[u8])> =
        (0..300).map(|n| (format!("n{n}.md"), note.as_bytes())).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = Folder::with(&files);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let query = |condition: &str| {
        let arguments = json!({ "where": condition });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_query", "arguments": arguments } });
        server.post_with(crate::support::READ_TOKEN, "", &call)
    };
    let long = "l.map(\"abababab\".repeat(1000).split(\"\")).length > 0";
    let slow = "l.map(l.map(l.map(l.map(value + 1).length).length).length).length > 0";
    let stop = AtomicBool::new(false);
    let mut times = std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for n in 0..40 {
            let (stop, query) = (&stop, &query);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let status = query(if n % 2 == 0 { long } else { slow }).status;
                    assert!(matches!(status, 200 | 503), "{status}");
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let read = || {
            let started = Instant::now();
            assert_eq!(server.call("vault_read", json!({ "path": "n7.md" }))["total_lines"], 3);
            started.elapsed()
        };
        (0..50).map(|_| read()).collect::<Vec<Duration>>()
    });
    times.sort();
    // The unit allows 1,280 MB.
    assert!(server.peak_kb() < 400_000, "{} kB", server.peak_kb());
    assert!(
        !thorough() || times[47] < Duration::from_secs(5),
        "the former program took ten: p95 {:?}",
        times[47]
    );
    assert_eq!(
        query("l.map(value + 1).length == 20").json()["result"]["structuredContent"]["total"],
        300,
        "and a modest one is answered"
    );
}

/// Folder notes: every folder has an `index.md`, and all link to `[[index]]`. Six times as many
/// take six times as long, and not 36 times.
#[cfg(feature = "notes")]
#[test]
fn links_of_many_notes_of_one_name_take_a_time_that_grows_with_their_number() {
    let time = |count: usize| {
        let files: Vec<(String, &[u8])> =
            (0..count).map(|n| (format!("p{n}/index.md"), &b"[[index]]\n"[..])).collect();
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let folder = Folder::with(&files);
        let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
        assert_eq!(server.call("vault_list_all", json!({ "limit": 1 }))["total_files"], count);
        let started = Instant::now();
        assert_eq!(
            server.call("vault_links", json!({ "path": "p1/index.md" }))["total"],
            1,
            "each means the one in its own folder"
        );
        let moved = server.call(
            "vault_move",
            json!({ "path": "p1/index.md", "to": "p1/start.md", "dry_run": true }),
        );
        assert_eq!(moved["links_updated"], 1, "{moved}");
        started.elapsed().as_secs_f64()
    };
    let (few, many) = (time(500), time(3000));
    assert!(!thorough() || many < few * 18.0, "{few} s for 500, {many} s for 3,000");
}

/// One note with more links and tags than any person writes; the server answers, and goes on
/// reading the others.
#[cfg(feature = "notes")]
#[test]
fn a_note_of_brackets_holds_up_nobody() {
    let brackets = format!("#t\n{}", "[[".repeat(950_000));
    let links = format!("[[target]]\n{}", "[a]((((".repeat(170_000));
    let many = "[[target]] ".repeat(150_000);
    let node = |n: usize| {
        format!(
            r#"{{"id":"{n}","type":"text","text":"[[target]]","x":0,"y":0,"width":1,"height":1}}"#
        )
    };
    let canvas = format!(
        r#"{{"nodes":[{}],"edges":[]}}"#,
        (0..60_000).map(node).collect::<Vec<_>>().join(",")
    );
    let folder = Folder::with(&[
        ("brackets.md", brackets.as_bytes()),
        ("links.md", links.as_bytes()),
        ("many.md", many.as_bytes()),
        ("many.canvas", canvas.as_bytes()),
        ("target.md", b"the target\n"),
        ("other.md", b"[[target]]\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let started = Instant::now();
    let listed = server.call("vault_list_all", json!({}));
    assert_eq!(listed["total_files"], 6);
    let found = server.call("vault_links", json!({ "path": "target.md" }));
    assert!(
        found["total"].as_u64().unwrap() > 2 * vault_sync_mcp::limits::LINKS as u64,
        "{}",
        found["total"]
    );
    server.log_with("more than 50000 links");
    server.call("vault_edit", json!({ "path": "brackets.md", "old_text": "#t", "new_text": "#u" }));
    assert_eq!(server.call("vault_search", json!({ "query": "tag:#u" }))["total_matches"], 1);
    // The former program took half a minute for the first of these notes alone.
    assert!(!thorough() || started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Drawings of Excalidraw have words of hundreds of letters: the word index has them in pieces, and
/// goes on working for all other notes.
#[test]
fn words_of_hundreds_of_letters_leave_the_word_index_in_use() {
    let mut files: Vec<(String, Vec<u8>)> = (0..400)
        .map(|n| (format!("n{n}.md"), format!("kettle number{n}\n").into_bytes()))
        .collect();
    let long = |n: usize| {
        let letter = |state: &mut u64| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Some(char::from(b'a' + (*state >> 33) as u8 % 26))
        };
        std::iter::successors(Some(n as u64), |_| None)
            .flat_map(|n| (0..700).scan(n, move |state, _| letter(state)))
            .collect::<String>()
    };
    files.extend((0..100).map(|n| {
        (format!("drawing{n}.md"), format!("{}needle{n}x{}\n", long(n), long(n + 1)).into_bytes())
    }));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let found =
        |query: &str| server.call("vault_search", json!({ "query": query, "max_results": 3 }));
    eventually("the word index corrects", || {
        found("kettel")["did_you_mean"].to_string().contains("kettle")
    });
    // Parts of a long word are found wherever they are, also where two pieces meet.
    assert_eq!(found("needle42x")["results"][0]["path"], "drawing42.md");
    let text = long(7);
    for start in (0..text.len() - 60).step_by(37) {
        let part = &text[start..start + 60];
        let paths: Vec<String> = found(part)["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["path"].to_string())
            .collect();
        assert!(paths.iter().any(|path| path.contains("drawing7.md")), "{start}: {paths:?}");
    }
    assert!(
        found(&text[10..200])["total_matches"].as_u64().unwrap() >= 1,
        "and a longer part than the pieces are"
    );
}

#[test]
fn the_address_that_a_login_was_sent_to_is_logged_and_listed() {
    let (_folder, state, server) = Server::sample_with_state();
    let loopback = "http://127.0.0.1:4711/callback";
    let wish = json!({ "client_name": "Two", "redirect_uris": [REDIRECT, "http://127.0.0.1/callback"], "token_endpoint_auth_method": "none" });
    let client = register_with(&server, &wish).json()["client_id"].as_str().unwrap().to_owned();
    let answer = log_in(
        &server,
        &authorize_path(&client, &[("redirect_uri", Some(loopback))]),
        PASSWORD,
        "write",
    );
    let location = answer.header("location").unwrap().to_owned();
    let query = vault_sync_mcp::form::Form::parse(location.split_once('?').unwrap().1).unwrap();
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", client.as_str()),
        ("code", query.get("code").unwrap()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", loopback),
    ];
    assert_eq!(server.form("/oauth/token", &fields).status, 200);
    let line = server.log_with("login ok");
    assert!(
        line.lines().any(|line| line.contains("login ok") && line.contains(loopback)),
        "{line}"
    );
    let grants = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .arg("grants")
        .env("STATE_DIR", &state)
        .output()
        .unwrap();
    let table = String::from_utf8(grants.stdout).unwrap();
    assert!(table.contains("this computer") && !table.contains("claude.ai"), "{table}");
}

#[test]
fn a_refusal_of_head_has_no_body() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    connection.send("HEAD /\u{e9} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = connection.headless();
    assert_eq!(head.status, 400);
    assert!(connection.is_closed_without_a_byte(), "RFC 9110 section 9.3.2");
}

#[test]
fn several_accept_lines_are_one_list() {
    let (_folder, server) = Server::sample();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for (accept, status, media) in [
        ("Accept: text/html\r\nAccept: application/json", 200, "application/json"),
        ("Accept: text/html, Application/JSON;q=0.5", 200, "application/json"),
        ("Accept: text/html, */*;q=0.8", 200, "application/json"),
        ("Accept: text/event-stream", 200, "application/json"),
        ("Accept: text/html", 406, "application/json"),
        ("X-Other: 1", 200, "application/json"),
    ] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: \
             application/json\r\n{accept}"
        );
        let response = server.request(&head, &ping);
        assert_eq!(
            (response.status, response.header("content-type").unwrap()),
            (status, media),
            "{accept}"
        );
    }
}

#[test]
fn a_site_that_only_a_wildcard_allows_is_sent_nothing_without_a_login() {
    for (hosts, status) in [("*", 400), ("app.example.com", 303)] {
        let folder = Folder::sample();
        let server = Server::with(&folder.vault(), &[("REDIRECT_HOSTS", hosts)]);
        let uri = "https://app.example.com/callback";
        let client = register_with(&server, &json!({ "redirect_uris": [uri] })).json()["client_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let broken = authorize_path(
            &client,
            &[("redirect_uri", Some(uri)), ("response_type", Some("token"))],
        );
        assert_eq!(server.get(&broken).status, status, "{hosts}");
        assert_eq!(
            server.get(&authorize_path(&client, &[("redirect_uri", Some(uri))])).status,
            200,
            "the login page is shown"
        );
        for port in ["+443", "4 43", "x"] {
            let odd =
                json!({ "redirect_uris": [format!("https://app.example.com:{port}/callback")] });
            assert_eq!(register_with(&server, &odd).status, 400, "a port is digits: {port}");
        }
    }
}

#[test]
fn huge_texts_and_many_folders_take_milliseconds() {
    let folder = Folder::with(&[("huge.md", "a".repeat(9_000_000).as_bytes())]);
    let folders = if thorough() { 3_000 } else { 800 };
    for number in 0..folders {
        let on_disk = folder.vault().join(format!("many/{number}"));
        std::fs::create_dir_all(&on_disk).unwrap();
        (0..5).for_each(|file| std::fs::write(on_disk.join(format!("{file}.md")), "").unwrap());
    }
    let server = Server::on(&folder.vault());
    assert_eq!(
        server.call("vault_list_all", json!({ "limit": 1 }))["total_files"],
        folders * 5 + 1
    );
    let slow = |what: &str, act: &dyn Fn()| {
        let started = Instant::now();
        act();
        assert!(
            !thorough() || started.elapsed() < Duration::from_millis(1_000),
            "{what}: {:?}",
            started.elapsed()
        );
    };
    slow("an edit", &|| {
        let error = server.fail(
            "vault_edit",
            json!({ "path": "huge.md", "old_text": "a".repeat(4_500_000), "new_text": "b" }),
        );
        assert_eq!(error["code"], "TEXT_NOT_UNIQUE");
    });
    slow("a list", &|| {
        let listing = server.call("vault_list", json!({ "path": "many" }));
        assert_eq!(
            (&listing["total_entries"], &listing["entries"][0]["children"]),
            (&json!(folders), &json!(5))
        );
    });
    slow("a completion", &|| {
        let reference = json!({ "type": "ref/resource", "uri": "vault:///{path}" });
        server
            .result_of("completion/complete", json!({ "ref": reference, "argument": { "name": "path", "value": "b".repeat(3_000_000) } }));
    });
}
