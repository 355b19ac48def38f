//! The supervisor: this program once more, between the server and a session. Standard input is its lifeline: when that
//! closes, because the server wants the session to end or has been killed, the whole process group ends.

use super::transcript::Status;
use crate::limits;
use crate::process;
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// What the supervisor is to run; the first line on its standard input, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// All of the environment.
    pub(super) environment: Vec<(String, String)>,
    /// The working directory.
    pub(super) folder: PathBuf,
    /// What the program gets on its standard input.
    pub(super) input: String,
}

/// Runs what it is told on standard input, until that ends or standard input does. The session prints to this process's
/// standard output; the last line there says how it ended. Does not come back once the session has begun, since the group
/// that it ends is its own.
///
/// # Errors
/// Why nothing was begun.
pub fn supervise() -> Result<(), String> {
    // The group is ended as a whole, so it has to be one of ours alone.
    if getpgrp() != getpid() {
        return Err("supervise is for the server itself, which starts it to run a session".into());
    }
    let mut line = Vec::new();
    let read = io::stdin().lock().take(limits::AGENT_ORDER_BYTES).read_until(b'\n', &mut line);
    read.map_err(|error| format!("nothing to run: {}", error.kind()))?;
    let order: Order = serde_json::from_slice(&line).map_err(|_| "nothing to run".to_owned())?;
    // Asking the group to end must not end who sees to it.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).map_err(|error| error.to_string())?;
    }
    let mut command = process::inheriting(&order.program);
    command.args(&order.arguments).env_clear().envs(order.environment).current_dir(&order.folder);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            say(&Status::NotStarted(error.kind().to_string()));
            return Ok(());
        }
    };
    let input = child.stdin.take();
    let (tell, told) = channel();
    let ended = tell.clone();
    std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(order.input.as_bytes())));
    std::thread::spawn(move || {
        // Nothing else comes; what matters is the end.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = tell.send(None);
    });
    std::thread::spawn(move || drop(ended.send(Some(child.wait()))));
    let mut status = told.recv().ok().flatten();
    if status.is_none() {
        let _ = kill_current_process_group(Signal::TERM);
        status = told.recv_timeout(limits::AGENT_GRACE).ok().flatten();
    }
    if let Some(Ok(status)) = status {
        // A signal's number is said as shells say it.
        let code = status.code().or_else(|| std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal));
        say(&Status::Exit(code.unwrap_or(-1).into()));
    }
    let _ = kill_current_process_group(Signal::KILL);
    Ok(())
}

fn say(status: &Status) {
    let line = match status {
        Status::Exit(code) => serde_json::json!({ "type": "supervisor", "exit": code }),
        Status::NotStarted(error) => serde_json::json!({ "type": "supervisor", "error": error }),
    };
    let mut out = io::stdout().lock();
    // Begun on a line of its own, whatever the session printed last.
    let _ = out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush());
}
