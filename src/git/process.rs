//! Running the `git` program: never through a shell, never with a prompt, always with a timeout.

use super::Failure;
use crate::clock::Deadline;
use crate::process::{self, Process, SpawnOptions};
use crate::settings::SETTINGS;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Bytes kept of the output of one git command: the list of half a million files, or the largest
/// note.
const OUTPUT_BYTES: usize = 128 * 1024 * 1024;
/// Characters of git's error message in a result.
const MESSAGE_CHARS: usize = 600;
/// How long to wait for the remaining output of a git command that has exited.
const PIPE_PATIENCE: Duration = Duration::from_millis(500);
/// How long git may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// The pause between two looks at the lock on the index.
pub(super) const INDEX_POLL: Duration = Duration::from_millis(20);
/// How long another program may hold the repository's index before a write gives up.
pub(super) const INDEX_WAIT: Duration = Duration::from_secs(3);
/// How long to wait for the rest of an output that has to be complete.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(20);

/// The result of a run of git.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) ok: bool,
    pub(super) stdout: Vec<u8>,
    /// In one line, without paths of this machine.
    pub(super) stderr: String,
}

impl Output {
    /// Standard output as text, trimmed.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }

    /// The parts of an output with `-z`. A name in a repository need not be UTF-8.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|&byte| byte == 0).filter(|part| !part.is_empty())
    }

    /// What git said when it failed; it may have been ended before it could say anything.
    pub(super) fn words(self) -> String {
        if self.stderr.is_empty() { "git failed without a message".into() } else { self.stderr }
    }
}

/// What the runs of git in one operation share.
#[derive(Clone)]
pub(super) struct Runner<'a> {
    /// The top of the working tree; the vault while its repository is not known.
    pub(super) folder: PathBuf,
    pub(super) deadline: Deadline,
    pub(super) cancelled: &'a dyn Fn() -> bool,
    /// A private index file, instead of the repository's.
    pub(super) index: Option<PathBuf>,
    /// The repository's folder; `None`: git has to find it.
    pub(super) git_dir: Option<PathBuf>,
}

/// For output that was cut off, by a crash of git or of a program that holds its pipe.
pub(super) fn no_answer() -> Failure {
    Failure::Git("git ended without an answer; try again".into())
}

/// For an index that another program does not let go.
pub(super) fn index_is_held() -> Failure {
    Failure::Refused(
        "another program holds the repository's index (.git/index.lock). If no git is running, \
         remove that file"
            .into(),
    )
}

impl Runner<'_> {
    /// Runs what changes an index, again and again while another program holds it.
    ///
    /// # Errors
    /// As [`Runner::must`].
    pub(super) fn locally(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Output, Failure> {
        let lock = self.git_dir.as_ref().map(|git_dir| git_dir.join("index.lock"));
        let is_held = || lock.as_ref().is_some_and(|lock| lock.exists());
        let attempt = || match self.must(arguments) {
            Err(Failure::Git(_)) if is_held() => Ok(None),
            done => done.map(Some),
        };
        Deadline::after(INDEX_WAIT).poll(INDEX_POLL, attempt)?.ok_or_else(index_is_held)
    }

    /// The same repository with its real index, not a private one, and a new deadline; not
    /// cancellable: for what has to be finished once it is begun.
    pub(super) fn uncancellable(&self, time: Duration) -> Runner<'static> {
        let (folder, git_dir) = (self.folder.clone(), self.git_dir.clone());
        Runner {
            folder,
            deadline: Deadline::after(time),
            cancelled: &|| false,
            index: None,
            git_dir,
        }
    }

    /// Runs git and waits for its end.
    ///
    /// # Errors
    /// [`Failure::Git`] when it cannot be started or takes too long, [`Failure::Cancelled`].
    pub(super) fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Output, Failure> {
        self.run_with(arguments, &[])
    }

    /// The same; anything but success is a failure, with git's message.
    pub(super) fn must(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Output, Failure> {
        self.must_with(arguments, &[])
    }

    /// The same with bytes on standard input.
    pub(super) fn must_with(
        &self,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<Output, Failure> {
        let output = self.run_with(arguments, input)?;
        if output.ok { Ok(output) } else { Err(Failure::Git(output.words())) }
    }

    /// Runs git with bytes on standard input.
    pub(super) fn run_with(
        &self,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<Output, Failure> {
        if (self.cancelled)() {
            return Err(Failure::Cancelled);
        }
        let spawn =
            SpawnOptions { hold_stdin: false, keep: OUTPUT_BYTES, kill_group_at_end: false };
        let started = Process::start(&mut self.command(arguments), input.to_vec(), spawn);
        let mut running = started.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Failure::Git("the program git was not found on the server's PATH".into())
            }
            _ => Failure::Git(format!("git could not be started: {}", error.kind())),
        })?;
        // A helper that a push, a fetch or a hook left behind (a shared ssh connection) may keep the
        // pipes open; its output is not waited for. The output of other commands has to be
        // complete.
        let may_linger = matches!(
            arguments.first().and_then(|word| word.as_ref().to_str()),
            Some("push" | "fetch" | "hook" | "merge")
        );
        let patience = if may_linger { PIPE_PATIENCE } else { OUTPUT_PATIENCE };
        let Some(ended) =
            running.wait_with_output(self.deadline, patience, &mut |_| !(self.cancelled)())
        else {
            running.end(GRACE);
            return Err(match self.deadline.left() {
                _ if (self.cancelled)() => Failure::Cancelled,
                None => Failure::Git(
                    "git took longer than it may (GIT_TIMEOUT_MS, or the limit of a step that \
                     cannot be cancelled) and was stopped"
                        .into(),
                ),
                Some(_) => no_answer(),
            });
        };
        let status = ended.status.map_err(|error| {
            Failure::Git(format!("git ended without an answer: {}", error.kind()))
        })?;
        if !ended.is_output_complete && !may_linger {
            return Err(no_answer());
        }
        if running.stdout.len() >= OUTPUT_BYTES {
            return Err(Failure::Git(format!(
                "git's answer is longer than {} bytes",
                OUTPUT_BYTES
            )));
        }
        Ok(Output { ok: status.success(), stdout: running.stdout, stderr: words(&running.stderr) })
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = process::program("git");
        // No background work that outlives the call, no identity made up from the host's name, no
        // prompt of any kind. Paths are never patterns; check-ignore takes only plain names and
        // does not know the option; hooks would inherit it.
        let plain = ["check-ignore", "hook", "merge", "push"];
        if arguments.first().is_none_or(|word| !plain.iter().any(|plain| word.as_ref() == *plain)) {
            command.arg("--literal-pathspecs");
        }
        command.args([
            "--no-replace-objects",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "-c",
            "core.askPass=",
        ]);
        command.args([
            "-c",
            "core.splitIndex=false",
            "-c",
            "submodule.recurse=false",
            "-c",
            "diff.orderFile=/dev/null",
        ]);
        command.args([
            "-c",
            "user.useConfigOnly=true",
            "-c",
            "core.quotePath=false",
            "-c",
            "core.fsmonitor=false",
        ]);
        // Otherwise a folder with files named HEAD, config, objects and refs, which any client may
        // write, is a repository whose configuration names programs to run.
        command.args(["-c", "safe.bareRepository=explicit"]);
        command.args(arguments).current_dir(&self.folder);
        for (name, _) in std::env::vars_os() {
            let Some(name) = name.to_str() else { continue };
            // Git is configured by its configuration files; a variable may be meant for another
            // repository.
            let kept = name == "GIT_SSH_COMMAND"
                || name.starts_with("GIT_AUTHOR_")
                || name.starts_with("GIT_COMMITTER_");
            let ours = SETTINGS.iter().any(|setting| setting.variable == name);
            if ours || name.starts_with("GIT_") && !kept {
                command.env_remove(name);
            }
        }
        if std::env::var_os("GIT_SSH_COMMAND").is_none() {
            command.env("GIT_SSH_VARIANT", "ssh").env("SSH_ASKPASS_REQUIRE", "never");
        }
        command
            .env_remove("SSH_ASKPASS")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C");
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", &self.folder);
        }
        command
    }
}

/// Git's message for a client, without its hints for a terminal.
fn words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("hint:")).collect();
    process::plain(lines.join("\n").as_bytes(), MESSAGE_CHARS)
}
