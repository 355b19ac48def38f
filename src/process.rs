//! Runs other programs: each in its own process group, never through a shell, with pipes that are
//! drained, and never without end. The only module that starts one.

use crate::clock::Deadline;
use crate::limits;
use crate::slice::Part;
use regex::Regex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Events in the queue; while it is full, the pipes are not read.
const EVENTS: usize = 64;

/// A program to be started: in its own process group, so that all of it can be ended; without a
/// terminal to prompt on.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

/// A program in this process's own group that prints to this process's output: the supervisor
/// starts a session like this.
pub fn in_this_group(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::piped());
    command
}

/// This program's executable, to be started again; works even after its file was replaced.
pub fn own_executable() -> io::Result<PathBuf> {
    let own = Path::new("/proc/self/exe");
    if own.exists() { Ok(own.to_path_buf()) } else { std::env::current_exe() }
}

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub struct SpawnOptions {
    /// Its standard input stays open until [`Process::end`] or the end of this process, however it
    /// ends.
    pub hold_stdin: bool,
    /// Bytes kept of its output, and of its errors.
    pub keep: usize,
    /// Whatever is left of its group when it has ended is killed, and its pipes are not read on.
    pub kill_group_at_end: bool,
}

/// How a program has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: io::Result<ExitStatus>,
    /// Whether both its output pipes were read to their end.
    pub is_output_complete: bool,
}

/// Something that happened to a program.
#[derive(Debug)]
enum Event {
    Output(Vec<u8>),
    Errors(Vec<u8>),
    /// One of its two output pipes was closed.
    Closed,
    Ended(io::Result<ExitStatus>),
}

/// A program that was started.
#[derive(Debug)]
pub struct Process {
    events: Receiver<Event>,
    group: Pid,
    /// Dropping it closes the program's standard input, by which a supervisor knows that it must
    /// end.
    stdin_guard: Option<Sender<()>>,
    keep: usize,
    has_ended: bool,
    /// What was kept so far of its output and its errors.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Process {
    /// Starts what [`program`] made, with bytes on its standard input.
    ///
    /// # Errors
    /// What the system says; then nothing runs.
    pub fn start(
        command: &mut Command,
        input: Vec<u8>,
        spawn: SpawnOptions,
    ) -> io::Result<Process> {
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        let (sender, events) = sync_channel(EVENTS);
        let (stdin_guard, stdin_released) = channel();
        let (out, err, input_pipe) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
        let stdin_guard = spawn.hold_stdin.then_some(stdin_guard);
        let process = Process {
            events,
            group,
            stdin_guard,
            keep: spawn.keep,
            has_ended: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        let threads = || {
            read(out, &sender, Event::Output, spawn.kill_group_at_end)?;
            read(err, &sender, Event::Errors, spawn.kill_group_at_end)?;
            if let Some(mut pipe) = input_pipe {
                thread(move || {
                    // If a program does not read its input, its exit code tells.
                    let _ = pipe.write_all(&input).and_then(|()| pipe.flush());
                    // Until the other side is dropped.
                    let _ = stdin_released.recv();
                })?;
            }
            Ok(())
        };
        let ready = threads();
        // The thread that waits for the end gets the child, and is the last one: no other can fail
        // after it.
        let waits =
            move || drop(sender.send(Event::Ended(wait(&mut child, spawn.kill_group_at_end))));
        if let Err(error) = ready.and_then(|()| thread(waits)) {
            process.signal(Signal::KILL);
            let _ = waitid(WaitId::Pid(group), WaitIdOptions::EXITED);
            return Err(error);
        }
        Ok(process)
    }

    /// Closes the program's standard input, asks the whole group to end, and kills it if it does
    /// not within `grace`: programs remove their lock files when they are asked to end, but not
    /// when they are killed.
    pub fn end(&mut self, grace: Duration) {
        self.stdin_guard = None;
        if self.has_ended {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            self.signal(signal);
            if self
                .wait_with_output(Deadline::after(grace), Duration::ZERO, &mut |_| true)
                .is_some()
            {
                return;
            }
        }
    }

    /// How it ended; its pipes are read at most `linger` longer. `None` if it has not ended by the
    /// deadline, or `proceed` returns false before: it may still run. `proceed` is called after
    /// each event, and at least every [`limits::HANG_UP_EVERY`], with the output that was kept so
    /// far, and may take from it.
    pub fn wait_with_output(
        &mut self,
        mut until: Deadline,
        linger: Duration,
        proceed: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Option<Ended> {
        let (mut closed, mut ended) = (0, None);
        while (ended.is_none() || closed < 2)
            && let Some(left) = until.left()
        {
            match self.events.recv_timeout(left.min(limits::HANG_UP_EVERY)) {
                Ok(Event::Output(piece)) => keep(&mut self.stdout, piece, self.keep),
                Ok(Event::Errors(piece)) => keep(&mut self.stderr, piece, self.keep),
                Ok(Event::Closed) => closed += 1,
                Ok(Event::Ended(status)) => {
                    self.has_ended = true;
                    (ended, until) = (Some(status), Deadline::after(linger));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !proceed(&mut self.stdout) && ended.is_none() {
                return None;
            }
        }
        ended.map(|status| Ended { status, is_output_complete: closed == 2 })
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }
}

fn wait(child: &mut Child, kill_group_at_end: bool) -> io::Result<ExitStatus> {
    if kill_group_at_end {
        let pid = Pid::from_child(child);
        // Its process id is not reused before it is reaped, so the group is still its own.
        while matches!(
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT),
            Err(rustix::io::Errno::INTR)
        ) {}
        let _ = kill_process_group(pid, Signal::KILL);
    }
    child.wait()
}

fn thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("process".into()).spawn(work).map(drop)
}

fn keep(kept: &mut Vec<u8>, piece: Vec<u8>, most: usize) {
    if kept.len() < most {
        kept.extend(piece);
    }
}

/// Reads a pipe to its end; with `stops`, until nothing waits for the program any more.
fn read(
    mut pipe: Option<impl Read + Send + 'static>,
    sender: &SyncSender<Event>,
    event: fn(Vec<u8>) -> Event,
    stops: bool,
) -> io::Result<()> {
    let sender = sender.clone();
    thread(move || {
        let mut piece = [0; 8192];
        // A helper that git has left behind may go on printing.
        while let Some(Ok(count @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut piece)) {
            if sender.send(event(piece.part(..count).to_vec())).is_err() && stops {
                return;
            }
        }
        let _ = sender.send(Event::Closed);
    })
}

/// A program's output for a client: one line of at most `most` characters, without absolute paths
/// of this machine or a password in a URL.
pub fn plain(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    redacted(&lines.join(" ")).chars().filter(|c| !c.is_control()).take(most).collect()
}

/// Text without the user and password of a URL, and with only the last component of an absolute
/// path.
fn redacted(words: &str) -> String {
    static RULES: LazyLock<[Option<(Regex, &str)>; 3]> = LazyLock::new(|| {
        let rule = |pattern: &str, shown| Regex::new(pattern).ok().map(|pattern| (pattern, shown));
        [
            rule(r"([a-z][a-z0-9+.-]*://)[^/\s@']*@", "$1"),
            // In quotes a path may have spaces.
            rule(r"'(?:file://)?/[^']*/([^'/]+)/?'", "'.../$1'"),
            rule(r#"(^|[\s"(\[=:,<])(?:file://)?/(?:[^\s/'"\]):,>]+/)+"#, "$1.../"),
        ]
    });
    let rules = RULES.iter().flatten();
    rules.fold(words.to_owned(), |words, (pattern, shown)| {
        pattern.replace_all(&words, *shown).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_folders_nor_passwords_are_repeated() {
        for (word, expected) in [
            ("'/home/x/vault/.git/index.lock':", "'.../index.lock':"),
            ("/a", "/a"),
            ("refs/heads/main", "refs/heads/main"),
            ("https://me:secret@example.com/x.git", "https://example.com/x.git"),
            ("'https://token@example.com/x.git/'", "'https://example.com/x.git/'"),
            ("git@example.com:x.git", "git@example.com:x.git"),
            (
                "'file:///tmp/a/remote.git' key=/home/x/k [/home/x/l] a:/home/x/m",
                "'.../remote.git' key=.../k [.../l] a:.../m",
            ),
            ("unable to read '/home/my secret/dir/x.git/'", "unable to read '.../x.git'"),
            (
                "https://example.com/a/b.git refs/heads/a/b",
                "https://example.com/a/b.git refs/heads/a/b",
            ),
        ] {
            assert_eq!(redacted(word), expected);
        }
    }
}
