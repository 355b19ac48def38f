//! The supervisor: another process of this program, between the server and a session. When its
//! standard input closes, because the server wants the session to end or has been killed, it ends
//! the whole process group.

use super::confine::Confinement;
use crate::limits;
use crate::process;
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// Bytes of the prompt and the paths passed to a session's supervisor.
const ORDER_BYTES: u64 = 8 * 1024 * 1024;

/// The argument with which the server starts this program as a supervisor; the program to run and
/// its arguments follow.
pub const SUPERVISE: &str = "supervise";

/// What the supervisor reads first from its standard input: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LaunchSpec {
    /// What the program gets on its standard input.
    pub(super) input: String,
    /// What the kernel lets it reach.
    pub(super) confinement: Confinement,
}

/// Runs a program with this process's environment, working directory and output, until it ends or
/// standard input closes; gives its exit code, as shells report it. In the second case it does not
/// return, since it kills its own process group.
///
/// # Errors
/// Why nothing was begun.
pub fn supervise(mut words: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let program = words.next().filter(|_| getpgrp() == getpid());
    // The whole group is killed, so nothing else may be in it.
    let program =
        program.ok_or("supervise is for the server itself, which starts it to run a session")?;
    let mut line = Vec::new();
    let read = io::stdin().lock().take(ORDER_BYTES).read_until(b'\n', &mut line);
    read.map_err(|error| format!("nothing to run: {}", error.kind()))?;
    let spec: LaunchSpec =
        serde_json::from_slice(&line).map_err(|_| "nothing to run".to_owned())?;
    // SIGTERM to the group must not end this process, which sends it and then waits for the
    // session.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in
        [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP]
    {
        signal_hook::flag::register(signal, Arc::clone(&ignored))
            .map_err(|error| error.to_string())?;
    }
    // Applies to all threads and programs that are started from here on.
    spec.confinement.enforce(program.as_ref())?;
    let started = process::in_this_group(program).args(words).spawn();
    let mut child =
        started.map_err(|error| format!("the program cannot be started: {}", error.kind()))?;
    let input = child.stdin.take();
    let (sender, statuses) = channel();
    let ended = sender.clone();
    std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(spec.input.as_bytes())));
    std::thread::spawn(move || {
        // No more input comes; only its end matters.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = sender.send(None);
    });
    std::thread::spawn(move || ended.send(child.wait().ok()));
    let Some(status) = statuses.recv().ok().flatten() else {
        let _ = kill_current_process_group(Signal::TERM);
        let _ = statuses.recv_timeout(limits::AGENT_GRACE);
        let _ = kill_current_process_group(Signal::KILL);
        return Ok(1);
    };
    // What the program has left running is killed by the server.
    Ok(status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .map_or(1, |code| code as u8))
}
