//! Running the `git` program: never through a shell, never with a prompt, always with an end.

use super::Failure;
use crate::clock::Deadline;
use crate::limits;
use crate::settings::SETTINGS;
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// What a run of git gave.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) ok: bool,
    pub(super) stdout: Vec<u8>,
    /// In one line, and without the names of this machine's folders.
    pub(super) stderr: String,
}

impl Output {
    /// Standard output as one line of text.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }

    /// The parts of an output with `-z`.
    pub(super) fn parts(&self) -> impl Iterator<Item = String> {
        self.raw_parts().map(|part| String::from_utf8_lossy(part).into_owned())
    }

    /// The same as they are: a name in a repository may be of any bytes.
    pub(super) fn raw_parts(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|&byte| byte == 0).filter(|part| !part.is_empty())
    }

    /// What git said when it failed; it may have been ended before it could say anything.
    pub(super) fn words(self) -> String {
        if self.stderr.is_empty() { "git ended without a word".into() } else { self.stderr }
    }
}

/// How long the runs of one operation may take together, and whether they are still wanted.
#[derive(Clone)]
pub(super) struct Runner<'a> {
    pub(super) folder: PathBuf,
    pub(super) deadline: Deadline,
    pub(super) cancelled: &'a dyn Fn() -> bool,
    /// A private index file, where the run is not to use the repository's.
    pub(super) index: Option<PathBuf>,
    /// The repository's folder, and another one that is to count as its working tree.
    pub(super) elsewhere: Option<(PathBuf, PathBuf)>,
    /// Settings for this run, `name=value`.
    pub(super) settings: Vec<String>,
}

impl<'a> Runner<'a> {
    /// The same in another folder.
    pub(super) fn at(&self, folder: &Path) -> Runner<'a> {
        Runner { folder: folder.to_path_buf(), ..self.clone() }
    }

    /// The same with this much time from now on, and not to be cancelled: for what has to be finished once it is begun.
    pub(super) fn to_the_end(&self, time: Duration) -> Runner<'static> {
        Runner {
            folder: self.folder.clone(),
            deadline: Deadline::after(time),
            cancelled: &|| false,
            index: None,
            elsewhere: None,
            settings: Vec::new(),
        }
    }

    /// Runs git and waits for its end.
    ///
    /// # Errors
    /// [`Failure::Git`] when it cannot be started or takes too long, [`Failure::Cancelled`].
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Output, Failure> {
        self.run_with(arguments, &[])
    }

    /// The same; anything but success is a failure, in git's words.
    pub(super) fn must(&self, arguments: &[&str]) -> Result<Output, Failure> {
        self.must_with(arguments, &[])
    }

    /// The same with bytes on standard input.
    pub(super) fn must_with(&self, arguments: &[&str], input: &[u8]) -> Result<Output, Failure> {
        let output = self.run_with(arguments, input)?;
        if output.ok { Ok(output) } else { Err(Failure::Git(output.words())) }
    }

    /// Runs git with bytes on standard input.
    pub(super) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Result<Output, Failure> {
        if (self.cancelled)() {
            return Err(Failure::Cancelled);
        }
        let mut child = self.command(arguments).spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::Git("the program git was not found on the server's PATH".into()),
            _ => Failure::Git(format!("git could not be started: {}", error.kind())),
        })?;
        let (done, waiting) = channel();
        let (stdout, stderr) = (Collected::of(child.stdout.take(), &done), Collected::of(child.stderr.take(), &done));
        feed(&mut child, input.to_vec());
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        std::thread::spawn(move || drop(done.send(Event::Ended(child.wait()))));
        let (status, read) = self.wait(&waiting, group)?;
        // A helper that a push, fetch or hook left behind (a shared ssh connection) may keep the pipes open; what it says is
        // not waited for. What git answers to a question has to be all of it.
        let may_linger = matches!(arguments.first(), Some(&("push" | "fetch" | "ls-remote" | "hook")));
        let patience = if may_linger { limits::GIT_PIPE_PATIENCE } else { limits::GIT_SETTLE };
        for _ in read..2 {
            if waiting.recv_timeout(patience).is_err() {
                if !may_linger {
                    return Err(Failure::Git("git's answer was lost half way".into()));
                }
                break;
            }
        }
        let stdout = stdout.take();
        if stdout.len() >= limits::GIT_OUTPUT_BYTES {
            return Err(Failure::Git(format!("git's answer is longer than {} bytes", limits::GIT_OUTPUT_BYTES)));
        }
        Ok(Output { ok: status.success(), stdout, stderr: plain(&stderr.take()) })
    }

    /// The end of the run, and how many pipes were read to theirs before.
    fn wait(&self, waiting: &std::sync::mpsc::Receiver<Event>, group: Option<Pid>) -> Result<(ExitStatus, usize), Failure> {
        let mut read = 0;
        // Git takes its locks away when it is asked to end, and leaves them when it is killed.
        let end = |failure| {
            for (signal, patience) in [(Signal::TERM, limits::GIT_GRACE), (Signal::KILL, Duration::ZERO)] {
                if let Some(group) = group {
                    let _ = kill_process_group(group, signal);
                }
                let until = Deadline::after(patience);
                while let Some(left) = until.left() {
                    if matches!(waiting.recv_timeout(left), Ok(Event::Ended(_)) | Err(_)) {
                        break;
                    }
                }
            }
            Err(failure)
        };
        loop {
            let Some(left) = self.deadline.left() else {
                return end(Failure::Git("git took longer than GIT_TIMEOUT_MS and was stopped".into()));
            };
            match waiting.recv_timeout(left.min(limits::HANG_UP_EVERY)) {
                Ok(Event::Ended(status)) => {
                    return status.map(|status| (status, read)).map_err(|error| Failure::Git(format!("git was lost: {}", error.kind())));
                }
                Ok(Event::Read) => read += 1,
                Err(RecvTimeoutError::Timeout) if (self.cancelled)() => return end(Failure::Cancelled),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return end(Failure::Git("git was lost".into())),
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        // No background work that outlives the call, no identity made up from the host's name, no prompt of any kind.
        // Paths are never patterns; check-ignore takes only plain names and does not know the option.
        if arguments.first() != Some(&"check-ignore") {
            command.arg("--literal-pathspecs");
        }
        command.args(["--no-replace-objects", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.askPass="]);
        command.args(["-c", "core.splitIndex=false", "-c", "submodule.recurse=false", "-c", "diff.orderFile=/dev/null"]);
        command.args(["-c", "user.useConfigOnly=true", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(arguments).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            let Some(name) = name.to_str() else { continue };
            // What git should know stands in its configuration; a variable may be meant for another repository.
            let kept = name == "GIT_SSH_COMMAND" || name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_");
            let ours = SETTINGS.iter().any(|setting| setting.variable == name);
            if ours || name.starts_with("GIT_") && !kept {
                command.env_remove(name);
            }
        }
        if std::env::var_os("GIT_SSH_COMMAND").is_none() {
            command.env("GIT_SSH_VARIANT", "ssh").env("SSH_ASKPASS_REQUIRE", "never");
        }
        command.env_remove("SSH_ASKPASS").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some((git_dir, work_tree)) = &self.elsewhere {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", work_tree);
        }
        // A group of its own, so that all of it can be ended; no terminal to ask on.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }
}

/// What git says on its way to a client: one line, bounded, without absolute paths of this machine or a password in a
/// remote's URL.
fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:")).collect();
    without_places(&lines.join(" ")).chars().filter(|c| !c.is_control()).take(limits::GIT_WORDS).collect()
}

/// Words without the user and password of a URL, and with no more of an absolute path than its last name.
fn without_places(words: &str) -> String {
    static PLACES: LazyLock<[Option<(Regex, &str)>; 3]> = LazyLock::new(|| {
        let rule = |pattern: &str, shown| Regex::new(pattern).ok().map(|pattern| (pattern, shown));
        [
            rule(r"([a-z][a-z0-9+.-]*://)[^/\s@']*@", "$1"),
            // In quotes a path may have spaces.
            rule(r"'(?:file://)?/[^']*/([^'/]+)/?'", "'.../$1'"),
            rule(r#"(^|[\s"(\[=:,<])(?:file://)?/(?:[^\s/'"\]):,>]+/)+"#, "$1.../"),
        ]
    });
    let rules = PLACES.iter().flatten();
    rules.fold(words.to_owned(), |words, (pattern, shown)| pattern.replace_all(&words, *shown).into_owned())
}

enum Event {
    Ended(io::Result<ExitStatus>),
    Read,
}

/// What comes out of a pipe, up to a bound.
#[derive(Clone)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Collected {
    fn of(pipe: Option<impl Read + Send + 'static>, done: &Sender<Event>) -> Collected {
        let collected = Collected(Arc::default());
        let (into, done) = (collected.clone(), done.clone());
        std::thread::spawn(move || {
            let mut piece = [0; 8192];
            let Some(mut pipe) = pipe else { return };
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                let mut bytes = into.0.lock().unwrap_or_else(PoisonError::into_inner);
                if bytes.len() < limits::GIT_OUTPUT_BYTES {
                    bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
                }
            }
            let _ = done.send(Event::Read);
        });
        collected
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn feed(child: &mut Child, input: Vec<u8>) {
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read its input is answered by its exit code.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
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
            assert_eq!(without_places(word), expected);
        }
    }
}
