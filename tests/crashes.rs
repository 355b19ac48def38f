//! Kill -9, and a full disk, at every system call of a change of several files, of an undo, and of
//! a start that cleans the log.

use crate::links::{all, vault};
use crate::stdio::Client;
use crate::support::{Folder, thorough};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The system calls that change the disk.
const CALLS: &str =
    "?rename,?renameat,renameat2,?unlink,unlinkat,fsync,fdatasync,?mkdir,mkdirat,write";
/// The same but for those that answers are written with too.
const FULL: &str = "?rename,?renameat,renameat2,fsync,fdatasync,?mkdir,mkdirat";

const FILES: [(&str, &str); 5] = [
    ("A/Old.md", "---\ntags: [t]\n---\n[[m]] [p](../p.png)"),
    ("A/x.md", "[[A/Old]] #t"),
    ("m.md", "[[A/Old|t]] #t/u"),
    ("p.png", "png"),
    ("n.md", "[t](A/Old.md)"),
];

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        crate::support::skipped("strace is missing");
    }
    found
}

/// The program on a vault and its state folder, with a fault at some of its system calls.
fn program(folder: &Folder, arguments: &[&str], fault: Option<String>) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={CALLS}")]);
    command.args(fault.iter().flat_map(|fault| ["-e", fault.as_str()]));
    command
        .arg(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args(arguments)
        .env("VAULT_PATH", folder.vault())
        .env("STATE_DIR", folder.path().join("state"))
        .env("TOOLSETS", "vault,notes");
    command
}

/// Sends messages to the program, waits for the answer to the one with id 1, and for its end;
/// `None` if a fault came first.
fn converse(mut command: Command, messages: &[Value]) -> Option<Value> {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = pipes.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    // Where it has ended already, nothing reads them.
    let _ = input.write_all(lines.as_bytes());
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let answer = answers.find_map(|line| {
        // What was killed within a write has written a part of it, or nothing.
        let answer: Value = serde_json::from_str(&line).ok()?;
        (answer["id"] == 1).then_some(answer)
    });
    drop(input);
    answers.for_each(drop);
    child.wait().unwrap();
    answer
}

fn initialize(id: u64) -> Value {
    let client = json!({ "name": "t", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}

/// Starts on the vault, makes a call, and ends. Whether the call was made; `None` if the fault came
/// before the answer.
fn call(folder: &Folder, tool: &str, arguments: &Value, fault: Option<String>) -> Option<bool> {
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let messages = [initialize(0), initialized, call];
    let answer = converse(program(folder, &["stdio"], fault), &messages)?;
    Some(answer["result"]["isError"] != true)
}

/// A start and its end, with a fault.
fn start(folder: &Folder, fault: Option<String>) {
    converse(program(folder, &["stdio"], fault), &[initialize(1)]);
}

fn undo(folder: &Folder, fault: Option<String>) {
    let words = ["undo", "--login", "local", "--since", "1h"];
    program(folder, &words, fault).output().unwrap();
}

/// At each of the first system calls, killed or failed: after the next start the vault is the old
/// one or the new one, an answer says which, and all of it can be taken back.
#[test]
fn a_change_of_several_files_is_made_or_not_wherever_it_is_interrupted() {
    if !has_strace() {
        return;
    }
    let changes = [
        ("vault_move", json!({ "path": "A/Old.md", "to": "B/New.md" })),
        ("vault_move", json!({ "path": "A", "to": "C/D" })),
        ("vault_rename_tag", json!({ "path": "t", "to": "other" })),
        ("vault_delete", json!({ "paths": ["A", "A/Old.md", "A/x.md"] })),
        (
            "vault_set_properties",
            json!({ "paths": ["A/Old.md", "A/x.md", "m.md"], "set": { "k": 1 } }),
        ),
    ];
    let step = if thorough() { 1 } else { 11 };
    let old = all(&vault(&FILES));
    for (tool, arguments) in changes {
        let folder = vault(&FILES);
        assert_eq!(call(&folder, tool, &arguments, None), Some(true), "{tool} {arguments}");
        let new = all(&folder);
        assert_ne!(old, new);
        for (how, calls) in [("signal=SIGKILL", CALLS), ("error=ENOSPC", FULL)] {
            let (mut is_old_seen, mut new_seen) = (false, 0);
            for number in (1..400).step_by(step) {
                let folder = vault(&FILES);
                let fault = format!("inject={calls}:{how}:when={number}");
                let answer = call(&folder, tool, &arguments, Some(fault));
                if how == "signal=SIGKILL" {
                    // A start on a full disk, killed in turn.
                    start(&folder, Some(format!("inject={FULL}:error=ENOSPC:when=1+")));
                }
                start(&folder, None);
                let now = all(&folder);
                let (is_old, at) = (now == old, format!("{tool} {arguments} {how} {number}"));
                assert!(is_old || now == new, "{at}: {now:?}");
                assert!(answer.is_none_or(|done| done != is_old), "{at}: {answer:?}");
                undo(&folder, None);
                assert_eq!(all(&folder), old, "{at}: undone");
                is_old_seen |= is_old;
                new_seen += usize::from(!is_old);
                if new_seen > 3 {
                    break;
                }
            }
            assert!(is_old_seen && new_seen > 0, "{tool} {how}: {is_old_seen} {new_seen}");
        }
    }
}

/// Killed at each of its system calls, an undo has taken a call back or not, and another one does.
/// So does one after a start that was killed while it cleaned the log.
#[test]
fn an_undo_that_is_interrupted_can_be_repeated() {
    if !has_strace() {
        return;
    }
    let step = if thorough() { 1 } else { 5 };
    let old = all(&vault(&FILES));
    for number in (1..80).step_by(step) {
        let folder = vault(&FILES);
        let arguments = json!({ "path": "A/Old.md", "to": "B/New.md" });
        assert_eq!(call(&folder, "vault_move", &arguments, None), Some(true));
        let new = all(&folder);
        start(&folder, Some(format!("inject={CALLS}:signal=SIGKILL:when={number}")));
        assert_eq!(all(&folder), new, "a start changes nothing");
        undo(&folder, Some(format!("inject={CALLS}:signal=SIGKILL:when={number}")));
        start(&folder, None);
        let now = all(&folder);
        assert!(now == old || now == new, "{number}: {now:?}");
        undo(&folder, None);
        assert_eq!(all(&folder), old, "{number}");
    }
}

/// Without a state folder nothing is changed; when it is back, changes are made again.
#[test]
fn a_state_folder_that_goes_away_keeps_every_file_as_it_is() {
    let folder = vault(&FILES);
    let state = folder.path().join("state");
    let settings = [("TOOLSETS", "vault,notes"), ("STATE_DIR", state.to_str().unwrap())];
    let mut client = Client::with(&folder, &settings);
    client.shake_hands();
    let mut write = |content: &str| {
        let arguments = json!({ "path": "m.md", "content": content });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": arguments } });
        client.send(&call.to_string());
        let answer = std::iter::from_fn(|| client.line()).find(|line| line["id"] == 1).unwrap();
        answer["result"]["isError"] != true
    };
    assert!(write("one"));
    std::fs::rename(&state, folder.path().join("away")).unwrap();
    std::fs::write(&state, "no folder").unwrap();
    assert!(!write("two"));
    assert_eq!(all(&folder)["m.md"], "one");
    std::fs::remove_file(&state).unwrap();
    assert!(write("two"), "a folder that is gone is made anew");
    assert_eq!(all(&folder)["m.md"], "two");
}
