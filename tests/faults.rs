//! What can go wrong with its disk and its peers: full and broken disks, vaults that go, programs
//! that write at the same time. Those that need root (a file system of their own) are left out
//! where they cannot be arranged.

use crate::support::{Connection, Folder, Server, TOKEN, eventually, mcp_head};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A small file system in memory, unmounted in the end.
struct Mount(PathBuf);

impl Mount {
    /// `None` where it may not be mounted.
    fn on(on_disk: &Path, options: &str) -> Option<Mount> {
        std::fs::create_dir_all(on_disk).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(on_disk)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            crate::support::skipped("no file system can be mounted");
            return None;
        }
        Some(Mount(on_disk.to_owned()))
    }

    fn again(&self, options: &str) {
        assert!(
            Command::new("mount")
                .args(["-o", &format!("remount,{options}")])
                .arg(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// All files with their bytes, hidden ones too.
fn all(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path())
            } else {
                files.push((entry.path(), std::fs::read(entry.path()).unwrap()))
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_disk_that_fills_keeps_the_old_bytes_and_no_litter() {
    let folder = Folder::new();
    for options in ["size=256k", "nr_inodes=6"] {
        let vault = folder.path().join(options);
        let Some(disk) = Mount::on(&vault, options) else { return };
        std::fs::write(vault.join("note.md"), "old text\n").unwrap();
        let server = Server::on(&vault);
        server.call("vault_list_all", json!({}));
        // Full to the last byte, or inode.
        let filler: Vec<PathBuf> = (0..64).map(|n| vault.join(format!("filler {n}"))).collect();
        for on_disk in &filler {
            let _ = std::fs::write(on_disk, vec![b'x'; 16_000]);
        }
        let before = all(&vault);
        let large = "y".repeat(300_000);
        for (tool, arguments) in [
            ("vault_write", json!({ "path": "new.md", "content": large })),
            ("vault_write", json!({ "path": "a/b/new.md", "content": large })),
            ("vault_write", json!({ "path": "note.md", "content": large })),
            ("vault_edit", json!({ "path": "note.md", "old_text": "old", "new_text": large })),
        ] {
            let error = server.fail(tool, arguments);
            assert_eq!(error["code"], "WRITE_ERROR", "{error}");
            assert!(error["message"].as_str().unwrap().contains("no storage space"), "{error}");
        }
        assert_eq!(all(&vault), before, "with {options}");
        assert!(!vault.join("a").exists(), "folders that were made for it are gone again");
        filler.iter().for_each(|on_disk| drop(std::fs::remove_file(on_disk)));
        server
            .call("vault_edit", json!({ "path": "note.md", "old_text": "old", "new_text": "new" }));
        assert_eq!(std::fs::read_to_string(vault.join("note.md")).unwrap(), "new text\n");
        drop((server, disk));
    }
}

#[test]
fn a_disk_that_becomes_read_only_is_reported_and_used_again_afterwards() {
    let folder = Folder::new();
    let Some(disk) = Mount::on(&folder.vault(), "size=1m") else { return };
    std::fs::write(folder.vault().join("note.md"), "text").unwrap();
    let server = Server::on(&folder.vault());
    disk.again("ro");
    let edit = || {
        server.result(
            "vault_edit",
            json!({ "path": "note.md", "old_text": "text", "new_text": "more text" }),
        )
    };
    assert!(edit()["content"][0]["text"].as_str().unwrap().contains("READ_ONLY"));
    assert_eq!(server.call("vault_search", json!({ "query": "text" }))["total_matches"], 1);
    disk.again("rw");
    assert_eq!(edit()["isError"], false);
}

/// Nothing is written to a mount point that has a file of its own while the vault is away.
#[test]
fn a_file_left_in_the_mount_point_is_not_taken_for_the_vault() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.vault()).unwrap();
    std::fs::write(folder.vault().join("forgotten.md"), "left below").unwrap();
    let Some(disk) = Mount::on(&folder.vault(), "size=1m") else { return };
    for n in 0..5 {
        std::fs::write(folder.vault().join(format!("note {n}.md")), "heating").unwrap();
    }
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_search", json!({ "query": "heating" }))["total_matches"], 5);
    drop(disk);
    for (tool, arguments) in [
        ("vault_write", json!({ "path": "new.md", "content": "x" })),
        ("vault_edit", json!({ "path": "note 1.md", "old_text": "heating", "new_text": "x" })),
        ("vault_search", json!({ "query": "heating" })),
        ("vault_list", json!({})),
        ("vault_read", json!({ "path": "note 1.md" })),
    ] {
        let error = server.fail(tool, arguments);
        assert!(
            error["code"] == "READ_ERROR"
                && error["message"].as_str().unwrap().contains("not available"),
            "{tool}: {error}"
        );
    }
    assert_eq!(
        all(&folder.vault()),
        [(folder.vault().join("forgotten.md"), b"left below".to_vec())]
    );
    let _disk = Mount::on(&folder.vault(), "size=1m").unwrap();
    for n in 0..5 {
        std::fs::write(folder.vault().join(format!("note {n}.md")), "heating").unwrap();
    }
    eventually("it is back", || {
        server.result("vault_search", json!({ "query": "heating" }))["structuredContent"]["total_matches"]
            == 5
    });
    server.call("vault_write", json!({ "path": "new.md", "content": "x" }));
}

/// An edit waits for a program that writes the file piece by piece, or is refused: it never
/// replaces half a file.
#[test]
fn an_edit_during_a_slow_save_never_keeps_half_a_file() {
    let text = |round: usize| {
        format!(
            "# Note {round}\nstart\n{}end {round}\n",
            "a line of the sync program\n".repeat(3000)
        )
    };
    let folder = Folder::with(&[("note.md", text(0).as_bytes())]);
    let server = Server::on(&folder.vault());
    let (file, over) = (folder.vault().join("note.md"), AtomicBool::new(false));
    // On a busy machine the sync program is kept waiting between two pieces for as long as a file
    // takes to count as whole.
    let (round, mut held_up) = (AtomicUsize::new(0), Mutex::new(HashSet::new()));
    let mut halves = HashSet::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            for number in 1..12 {
                round.store(number, Ordering::SeqCst);
                // In place, in pieces, with pauses.
                let mut last = Instant::now();
                let mut open = std::fs::File::create(&file).unwrap();
                for piece in text(number).as_bytes().chunks(16_000) {
                    let begun = Instant::now();
                    open.write_all(piece).unwrap();
                    if last.elapsed() > vault_sync_mcp::limits::AT_REST / 2 {
                        held_up.lock().unwrap().insert(number);
                    }
                    last = begun;
                    std::thread::sleep(Duration::from_millis(4));
                }
                drop(open);
                std::thread::sleep(Duration::from_millis(120));
            }
            over.store(true, Ordering::Relaxed);
        });
        while !over.load(Ordering::Relaxed) {
            let _ = server.result(
                "vault_edit",
                json!({ "path": "note.md", "old_text": "start\n", "new_text": "start\nmark\n" }),
            );
            std::thread::sleep(Duration::from_millis(3));
            let before = round.load(Ordering::SeqCst);
            let now = std::fs::read_to_string(&file).unwrap();
            // Where there is a mark, an edit was made; the file it was made in was whole.
            if now.contains("mark\n")
                && !now.contains("\nend ")
                && before == round.load(Ordering::SeqCst)
            {
                halves.insert(before);
            }
        }
    });
    let wrong: Vec<&usize> = halves.difference(held_up.get_mut().unwrap()).collect();
    assert!(wrong.is_empty(), "half a file is left of the rounds {wrong:?}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("end 11\n"));
}

/// A connection that is closed because the table is full is closed before its call is carried out,
/// or after its answer.
#[test]
fn a_call_that_is_carried_out_is_answered() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "12")]);
    let deadline = Instant::now() + Duration::from_secs(4);
    let (address, vault) = (server.address, folder.vault());
    let unheard: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..24)
            .map(|caller| {
                let vault = vault.clone();
                scope.spawn(move || {
                    let (mut connection, mut unheard, mut n) = (Connection::open(address), 0, 0);
                    while Instant::now() < deadline {
                        n += 1;
                        let path = format!("calls/{caller} {n}.md");
                        let arguments = json!({ "path": path, "content": "x" });
                        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": arguments } });
                        let (head, body) = (mcp_head(TOKEN, ""), body.to_string());
                        let request = format!("{head}\r\nHost: vault.example.com\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                        if !connection.try_send(&request) || connection.try_response().is_none() {
                            // Whatever is still going on is over by then.
                            std::thread::sleep(Duration::from_millis(30));
                            unheard += usize::from(vault.join(&path).exists());
                            connection = Connection::open(address);
                        }
                    }
                    unheard
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert_eq!(unheard, 0, "calls that were made and not answered");
}

/// Log lines that are not read are dropped and counted; calls do not wait for them.
#[test]
fn a_log_that_is_not_read_delays_no_call() {
    let folder = Folder::sample();
    let token = vault_sync_mcp::secret::SecretHash::of(TOKEN).to_hex();
    let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = probe.local_addr().unwrap();
    drop(probe);
    let mut child = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .env_clear()
        .env("VAULT_PATH", folder.vault())
        .env("LISTEN_ADDR", address.to_string())
        .env("SERVER_URL", "https://vault.example.com")
        .env("API_TOKENS", format!("all:{token}"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    eventually("it listens", || std::net::TcpStream::connect(address).is_ok());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_search", "arguments": { "query": "heating" } } }).to_string();
    let request = format!(
        "{}\r\nHost: vault.example.com\r\nContent-Length: {}\r\n\r\n{body}",
        mcp_head(TOKEN, ""),
        body.len()
    );
    let mut connection = Connection::open(address);
    let started = Instant::now();
    // A pipe has 64 KiB, a line a hundred bytes.
    for _ in 0..1500 {
        assert!(connection.try_send(&request) && connection.try_response().is_some());
    }
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
    assert!(
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success()
    );
    eventually("it ends", || child.try_wait().unwrap().is_some());
    let mut log = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut log).unwrap();
    assert!(log.lines().all(|line| line.starts_with("20")), "whole lines only");
}

/// The texts of a note and of its conflict copies.
fn texts_of(vault: &Path, note: &str) -> String {
    let entries = std::fs::read_dir(vault).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name == format!("{note}.md") || name.starts_with(&format!("{note} (conflict "))
    };
    entries.filter(is_one).map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// A sync program that writes a thousand files a second during calls of ours, and two servers on
/// the vault: each edit that was answered is kept. Where one server took its text back at the
/// moment in which the other had edited that, the edit is in a conflict copy.
#[test]
fn two_servers_and_a_busy_sync_program_lose_nothing() {
    let folder = Folder::with(&[("log.md", b"end\n")]);
    let servers = [Server::on(&folder.vault()), Server::on(&folder.vault())];
    let deadline = Instant::now() + Duration::from_secs(4);
    let (vault, edits) = (folder.vault(), AtomicBool::new(true));
    let done: Vec<String> = std::thread::scope(|scope| {
        let syncing = scope.spawn(|| {
            let mut written = 0_u32;
            while edits.load(Ordering::Relaxed) {
                let on_disk = vault.join(format!("synced {}.md", written % 300));
                std::fs::write(vault.join(".sync.tmp"), format!("version {written}")).unwrap();
                std::fs::rename(vault.join(".sync.tmp"), on_disk).unwrap();
                written += 1;
                std::thread::sleep(Duration::from_micros(700));
            }
            written
        });
        let editors: Vec<_> = (0..4)
            .map(|editor| {
                let server = &servers[editor % 2];
                scope.spawn(move || {
                    let mut done = Vec::new();
                    let mut n = 0;
                    while Instant::now() < deadline {
                        n += 1;
                        let line = format!("line {editor} {n}\n");
                        let result: Value = server
                            .result("vault_edit", json!({ "path": "log.md", "old_text": "end\n", "new_text": format!("{line}end\n") }));
                        if result["isError"] == false {
                            done.push(line);
                        }
                    }
                    done
                })
            })
            .collect();
        let done = editors.into_iter().flat_map(|editor| editor.join().unwrap()).collect();
        edits.store(false, Ordering::Relaxed);
        assert!(syncing.join().unwrap() > 500);
        done
    });
    let text = texts_of(&folder.vault(), "log");
    let lost = done.iter().filter(|line| !text.contains(line.as_str())).count();
    assert!(done.len() > 100 && lost == 0, "{lost} of {} lost", done.len());
    for n in 0..300 {
        let text = std::fs::read_to_string(folder.vault().join(format!("synced {n}.md"))).unwrap();
        assert!(text.starts_with("version "), "{text}");
    }
}

#[test]
fn a_vault_that_cannot_be_written_is_only_served_read_only() {
    let folder = Folder::new();
    let vault = folder.path().join("mounted");
    let Some(disk) = Mount::on(&vault, "size=256k") else { return };
    std::fs::write(vault.join("note.md"), "text\n").unwrap();
    disk.again("ro");
    let token = "a:0000000000000000000000000000000000000000000000000000000000000000";
    // A port that is taken: a server that went on would end all the same.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let variables = [
        ("VAULT_PATH", vault.to_str().unwrap()),
        ("SERVER_URL", "https://vault.example.com"),
        ("API_TOKENS", token),
    ];
    let output = crate::commands::run(
        &["serve", "--listen-addr", &taken.local_addr().unwrap().to_string()],
        &variables,
        "",
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("set READ_ONLY=true"), "{said}");
    let server = Server::with(&vault, &[("READ_ONLY", "true")]);
    assert_eq!(server.call("vault_read", json!({ "path": "note.md" }))["content"], "text\n");
}

#[test]
fn check_finds_a_full_disk_and_serve_starts_on_it() {
    let folder = Folder::new();
    let Some(_disk) = Mount::on(&folder.vault(), "size=64k") else { return };
    std::fs::write(folder.vault().join("note.md"), "text").unwrap();
    let _ = std::fs::write(folder.vault().join("filler"), vec![b'x'; 100_000]);
    let token = "a:0000000000000000000000000000000000000000000000000000000000000000";
    let arguments =
        ["check", "--listen-addr", "127.0.0.1:0", "--server-url", "http://127.0.0.1:8090"];
    let settings =
        [("VAULT_PATH", folder.vault().display().to_string()), ("API_TOKENS", token.to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let output = crate::commands::run(&arguments, &settings, "");
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && shown.contains("cannot be written: no storage space"),
        "{shown}"
    );
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_read", json!({ "path": "note.md" }))["content"], "text");
}
