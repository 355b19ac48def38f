//! Runs other programs: each in its own process group, never through a shell, with pipes that are drained, and never without
//! end. The only module that starts one.

use crate::clock::Deadline;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::slice::Part;
use regex::Regex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// Events in the queue; while it is full, the pipes are not read.
const EVENTS: usize = 64;

/// A program to be started: in its own process group, so that all of it can be ended; without a terminal to prompt on.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

/// A program in this process's own group that prints to this process's output: the supervisor starts a session like this.
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
    /// Each line of its output is an event, and its standard input stays open until [`Process::end`] or the end of
    /// this process, however it ends. Otherwise its output is collected.
    pub lines: bool,
    /// Bytes kept of its output, or of one line of it, and of its errors.
    pub keep: usize,
    /// Whatever is left of its group when it has ended is killed.
    pub kill_group_at_end: bool,
}

/// Something that happened to a program.
#[derive(Debug)]
pub enum Event {
    /// A line of its output, without its end.
    Line(Vec<u8>),
    /// A line that was longer than what is kept.
    LineTooLong,
    /// One of its two output pipes was closed.
    Closed,
    /// It has ended.
    Ended(io::Result<ExitStatus>),
}

/// A program that was started.
#[derive(Debug)]
pub struct Process {
    events: Receiver<Event>,
    group: Pid,
    /// Dropping it closes the program's standard input, by which a supervisor knows that it must end.
    stdin_guard: Option<Sender<()>>,
    stdout: Collected,
    stderr: Collected,
}

impl Process {
    /// Starts what [`program`] made, with bytes on its standard input.
    ///
    /// # Errors
    /// What the system says; then nothing runs.
    pub fn start(command: &mut Command, input: Vec<u8>, spawn: SpawnOptions) -> io::Result<Process> {
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        let (sender, events) = sync_channel(EVENTS);
        let (stdin_guard, stdin_released) = channel();
        let (stdout, stderr) = (Collected::default(), Collected::default());
        let (out, err, input_pipe) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
        let process = Process { events, group, stdin_guard: spawn.lines.then_some(stdin_guard), stdout, stderr };
        let threads = || {
            if spawn.lines {
                read_lines(out, spawn.keep, &sender)?
            } else {
                collect(out, &process.stdout, spawn.keep, &sender)?
            }
            collect(err, &process.stderr, spawn.keep, &sender)?;
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
        // The thread that waits for the end gets the child, and is the last one: no other can fail after it.
        let waits = move || drop(sender.send(Event::Ended(wait(&mut child, spawn.kill_group_at_end))));
        if let Err(error) = ready.and_then(|()| thread(waits)) {
            process.kill();
            let _ = waitid(WaitId::Pid(group), WaitIdOptions::EXITED);
            return Err(error);
        }
        Ok(process)
    }

    /// The next event.
    ///
    /// # Errors
    /// No event within this time, or no more events.
    pub fn next(&self, patience: Duration) -> Result<Event, RecvTimeoutError> {
        self.events.recv_timeout(patience)
    }

    /// Closes the program's standard input, asks the whole group to end, and kills it if it does not within `grace`: programs remove
    /// their lock files when they are asked to end, but not when they are killed.
    pub fn end(&mut self, grace: Duration) {
        self.stdin_guard = None;
        self.signal(Signal::TERM);
        if !self.wait_for_end(grace) {
            self.kill();
        }
    }

    /// Whether it ends within this time.
    pub fn wait_for_end(&self, patience: Duration) -> bool {
        let until = Deadline::after(patience);
        while let Some(left) = until.left() {
            match self.next(left) {
                Ok(Event::Ended(_)) | Err(RecvTimeoutError::Disconnected) => return true,
                _ => {}
            }
        }
        false
    }

    /// Its exit status, and whether both pipes were read to the end, at most `linger` after its own end. `None` if it has not ended by
    /// the deadline, or the wait is cancelled: it may still run.
    pub fn wait_with_output(
        &self,
        mut until: Deadline,
        linger: Duration,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<(io::Result<ExitStatus>, bool)> {
        let (mut closed, mut ended) = (0, None);
        while ended.is_none() || closed < 2 {
            match until.left().map(|left| self.next(left.min(limits::HANG_UP_EVERY))) {
                Some(Ok(Event::Closed)) => closed += 1,
                Some(Ok(Event::Ended(status))) => (ended, until) = (Some(status), Deadline::after(linger)),
                Some(Err(RecvTimeoutError::Timeout)) if ended.is_none() && is_cancelled() => return None,
                Some(Ok(_) | Err(RecvTimeoutError::Timeout)) => {}
                None | Some(Err(RecvTimeoutError::Disconnected)) => break,
            }
        }
        ended.map(|status| (status, closed == 2))
    }

    /// Ends the whole group at once.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }

    /// What was kept of its output so far.
    pub fn take_stdout(&self) -> Vec<u8> {
        std::mem::take(&mut self.stdout.lock().unpoisoned())
    }

    /// What was kept of its errors so far.
    pub fn take_stderr(&self) -> Vec<u8> {
        std::mem::take(&mut self.stderr.lock().unpoisoned())
    }
}

fn wait(child: &mut Child, kill_group_at_end: bool) -> io::Result<ExitStatus> {
    if kill_group_at_end {
        let pid = Pid::from_child(child);
        // Its process id is not reused before it is reaped, so the group is still its own.
        while matches!(waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT), Err(rustix::io::Errno::INTR)) {}
        let _ = kill_process_group(pid, Signal::KILL);
    }
    child.wait()
}

/// The output collected from a pipe, up to a limit.
type Collected = Arc<Mutex<Vec<u8>>>;

fn thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("process".into()).spawn(work).map(drop)
}

fn collect(mut pipe: Option<impl Read + Send + 'static>, into: &Collected, keep: usize, sender: &SyncSender<Event>) -> io::Result<()> {
    let (into, sender) = (Arc::clone(into), sender.clone());
    thread(move || {
        let mut piece = [0; 8192];
        // No pipe: the output goes into a file.
        while let Some(Ok(count @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut piece)) {
            let mut bytes = into.lock().unpoisoned();
            if bytes.len() < keep {
                bytes.extend_from_slice(piece.part(..count));
            }
        }
        let _ = sender.send(Event::Closed);
    })
}

fn read_lines(pipe: Option<impl Read + Send + 'static>, keep: usize, sender: &SyncSender<Event>) -> io::Result<()> {
    let sender = sender.clone();
    thread(move || {
        let mut piece = [0; 8192];
        let Some(mut pipe) = pipe else { return };
        let mut line = Vec::new();
        let event_of = |line: Vec<u8>| if line.len() > keep { Event::LineTooLong } else { Event::Line(line) };
        while let Ok(count @ 1..) = pipe.read(&mut piece) {
            let mut rest = piece.part(..count);
            while let Some(end) = memchr::memchr(b'\n', rest) {
                extend(&mut line, rest.part(..end), keep);
                if sender.send(event_of(std::mem::take(&mut line))).is_err() {
                    return;
                }
                rest = rest.part(end + 1..);
            }
            extend(&mut line, rest, keep);
        }
        if !line.is_empty() {
            let _ = sender.send(event_of(line));
        }
        let _ = sender.send(Event::Closed);
    })
}

fn extend(line: &mut Vec<u8>, piece: &[u8], keep: usize) {
    // One byte over the limit shows that there was more.
    let left = (keep + 1).saturating_sub(line.len()).min(piece.len());
    line.extend_from_slice(piece.part(..left));
}

/// A program's output for a client: one line of at most `most` characters, without absolute paths of this
/// machine or a password in a URL.
pub fn plain(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    redacted(&lines.join(" ")).chars().filter(|c| !c.is_control()).take(most).collect()
}

/// Text without the user and password of a URL, and with only the last component of an absolute path.
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
    rules.fold(words.to_owned(), |words, (pattern, shown)| pattern.replace_all(&words, *shown).into_owned())
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
            ("'file:///tmp/a/remote.git' key=/home/x/k [/home/x/l] a:/home/x/m", "'.../remote.git' key=.../k [.../l] a:.../m"),
            ("unable to read '/home/my secret/dir/x.git/'", "unable to read '.../x.git'"),
            ("https://example.com/a/b.git refs/heads/a/b", "https://example.com/a/b.git refs/heads/a/b"),
        ] {
            assert_eq!(redacted(word), expected);
        }
    }
}
