//! The supervisor: another process of this program, between the server and a session. When its standard input
//! closes, because the server wants the session to end or has been killed, it ends the whole process group.

use super::confine::Confinement;
use super::transcript::Status;
use crate::limits;
use crate::process;
use rustix::process::{Signal, getpgrp, getpid, getppid, kill_current_process_group};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// What the supervisor is to run; the first line on its standard input, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LaunchSpec {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// The complete environment.
    pub(super) environment: Vec<(String, String)>,
    /// The working directory.
    pub(super) folder: PathBuf,
    /// What the program gets on its standard input.
    pub(super) input: String,
    /// What the kernel lets it reach.
    pub(super) confinement: Confinement,
}

/// Runs the command it reads from standard input, until the command ends or standard input closes. The session prints to this
/// process's standard output; the last line there says how it ended. Does not return once the session has started, since it kills
/// its own process group.
///
/// # Errors
/// Why nothing was begun.
pub fn supervise() -> Result<(), String> {
    // The whole group is killed, so nothing else may be in it.
    if getpgrp() != getpid() {
        return Err("supervise is for the server itself, which starts it to run a session".into());
    }
    let mut line = Vec::new();
    let read = io::stdin().lock().take(limits::AGENT_ORDER_BYTES).read_until(b'\n', &mut line);
    read.map_err(|error| format!("nothing to run: {}", error.kind()))?;
    let spec: LaunchSpec = serde_json::from_slice(&line).map_err(|_| "nothing to run".to_owned())?;
    // SIGTERM to the group must not end this process, which sends it and then waits for the session.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).map_err(|error| error.to_string())?;
    }
    // Applies to all threads and programs that are started from here on.
    spec.confinement.enforce(&spec.program, &spec.environment)?;
    // Through this program again (`BECOME`): it asks to be killed with this process, and then executes the session's program.
    let own = process::own_executable().map_err(|error| error.kind().to_string())?;
    let mut command = process::inheriting(own);
    command.arg(BECOME).arg(getpid().as_raw_nonzero().to_string()).arg(&spec.program).args(&spec.arguments);
    command.env_clear().envs(spec.environment).current_dir(&spec.folder);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            report(&Status::NotStarted(error.kind().to_string()));
            return Ok(());
        }
    };
    let input = child.stdin.take();
    let (sender, statuses) = channel();
    let ended = sender.clone();
    std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(spec.input.as_bytes())));
    std::thread::spawn(move || {
        // No more input comes; only its end matters.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = sender.send(None);
    });
    std::thread::spawn(move || drop(ended.send(Some(child.wait()))));
    let mut status = statuses.recv().ok().flatten();
    if status.is_none() {
        let _ = kill_current_process_group(Signal::TERM);
        status = statuses.recv_timeout(limits::AGENT_GRACE).ok().flatten();
    }
    if let Some(Ok(status)) = status {
        // A signal's number is reported as shells do.
        let code = status.code().or_else(|| std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal));
        report(&Status::Exit(code.unwrap_or(-1).into()));
    }
    let _ = kill_current_process_group(Signal::KILL);
    Ok(())
}

/// The argument with which the supervisor starts this program to become a session.
pub const BECOME: &str = "become-session";

/// Becomes a session: the rest of the command line is the supervisor's process id, the program and its arguments. Dies with
/// the supervisor, even when that is killed.
pub fn become_session(mut words: impl Iterator<Item = OsString>) -> u8 {
    let supervisor = words.next().and_then(|id| id.to_str()?.parse::<i32>().ok());
    let tied = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // The supervisor may have died before the signal was set.
    let is_alive = getppid().map(|parent| parent.as_raw_nonzero().get()) == supervisor;
    let (Some(program), Ok(()), true) = (words.next(), tied, is_alive) else { return 1 };
    let error = process::inheriting(program).stdin(Stdio::inherit()).args(words).exec();
    report(&Status::NotStarted(error.kind().to_string()));
    1
}

fn report(status: &Status) {
    let line = serde_json::json!({ "type": "supervisor", "status": status });
    let mut out = io::stdout().lock();
    // On a line of its own, whatever the session printed last.
    let _ = out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush());
}
