//! One session: from the wait for others to the end of its process group.

use super::confine::Confinement;
use super::copy::ALIASES;
use super::session_dir::SessionDir;
use super::supervise::{LaunchSpec, SUPERVISE};
use super::transcript::{End, Transcript};
use super::{Agent, Failure, Key, Options, Progress, Watcher, Work, command, skills};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::process::{self, Ended, Process, SpawnOptions};
use crate::quota::{Permit, Quota};
use crate::wiki::TREES;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The oldest supported Claude Code: the version with which its confinement was tested.
const VERSION: (u32, u32, u32) = (2, 1, 328);
/// How long the program may take to print its version; it is hundreds of megabytes, and SD cards
/// are slow.
const VERSION_WAIT: Duration = Duration::from_secs(30);
/// Bytes of one line that a session prints, enough for a message that contains a page. A session
/// that prints a longer line is ended, and what it has written is filed.
const LINE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that a session may print in all.
const OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// How long to wait for the remaining output of an ended session.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);
/// Characters of a session's own words in an error.
const MESSAGE_CHARS: usize = 600;

/// A session that a login has asked for.
pub(super) struct Session {
    pub(super) work: Work,
    /// The login, as the owner knows it.
    pub(super) login: String,
    asked: Instant,
    _place: Permit,
}

/// The right to run: of a session that writes also the right to be the only one that does.
struct Turn {
    _filing: Option<Permit>,
    _slot: Permit,
}

/// What a session is to do.
pub(super) struct Task {
    pub(super) prompt: String,
    /// JSON Schema of its structured output.
    pub(super) schema: &'static str,
}

/// A session that has its folder, and whose program is not started yet.
pub(super) struct PreparedSession<'a> {
    agent: &'a Agent,
    pub(super) session: Session,
    key: Key,
    pub(super) dir: SessionDir,
    _turn: Turn,
}

/// Waits for other sessions, makes the session's folder, does the work and logs how it ended.
///
/// # Errors
/// [`Failure`]; those of `work`.
pub(super) fn with_session<T>(
    agent: &Agent,
    session: Session,
    watcher: &dyn Watcher,
    progress: &mut Progress,
    work: impl FnOnce(&PreparedSession<'_>, &mut Progress) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (asked, login, kind) = (session.asked, session.login.clone(), session.work);
    let outcome = prepare(agent, session, watcher).and_then(|ready| work(&ready, progress));
    progress.took = asked.elapsed();
    let name = match &outcome {
        Ok(_) if kind.writes() && !progress.filed.has_pages() => "nothing_filed",
        Ok(_) => "completed",
        Err(Failure::TimedOut(_)) => "timed_out",
        Err(Failure::Cancelled) => "cancelled",
        Err(_) => "failed",
    };
    log::info!(
        "agent: {} by {login} outcome={name} turns={} usd={} pages={} refused={} ms={}",
        kind.name(),
        progress.turns,
        progress.cost_usd.map_or("unknown".to_owned(), |dollars| format!("{dollars:.4}")),
        progress.filed.pages.len(),
        progress.refused.len(),
        progress.took.as_millis()
    );
    outcome
}

/// Waits for other sessions, checks that the key, the program and the skill exist, and makes the
/// session's folder.
fn prepare<'a>(
    agent: &'a Agent,
    session: Session,
    watcher: &dyn Watcher,
) -> Result<PreparedSession<'a>, Failure> {
    let turn = agent.wait_for_turn(session.work, watcher)?;
    let key = agent.options.key.clone().ok_or_else(|| Failure::Failed(super::NO_KEY.into()))?;
    agent.check_version().map_err(|why| Failure::Failed(agent.without_paths(why.as_bytes())))?;
    let skill = session.work.skill();
    let skills = skills::of(agent.store.vault().root(), &skill);
    if skills.iter().all(|known| known.name != skill) {
        return Err(Failure::Failed(format!(
            "The vault has no skill {skill} (a file .claude/skills/{skill}/SKILL.md); \
             vault-sync-mcp init-wiki writes the ones that belong to these tools."
        )));
    }
    let _ = agent.store.vault().refresh_now();
    let system_prompt = system_prompt(skills::instructions(agent.store.vault().root()).as_deref());
    let keep_going = || !agent.must_stop(watcher);
    let dir = SessionDir::make(
        agent.options.state.as_deref(),
        agent.store.vault(),
        &skills,
        &system_prompt,
        session.work,
        &keep_going,
    );
    let dir = dir.map_err(|error| match keep_going() {
        true => Failure::Failed(format!("The session's folder cannot be made: {}", error.kind())),
        false => Failure::Cancelled,
    })?;
    Ok(PreparedSession { agent, session, key, dir, _turn: turn })
}

/// Runs a session; `progress` becomes what it has done, however it ends. When this returns, no
/// process of it is running.
///
/// # Errors
/// [`Failure`].
pub(super) fn run(
    ready: &PreparedSession<'_>,
    task: &Task,
    watcher: &dyn Watcher,
    progress: &mut Progress,
) -> Result<End, Failure> {
    let PreparedSession { agent, session: Session { work, .. }, .. } = ready;
    let SessionDir { folder, home, temporary, copy, .. } = &ready.dir;
    let mut write = vec![home.clone(), temporary.clone()];
    if work.writes() {
        write.extend(TREES.iter().chain([&ALIASES]).map(|name| copy.folder.join(name)));
    }
    let confinement = Confinement {
        read: vec![folder.clone()],
        write,
        port: api_port(agent.options.base_url.as_deref()),
    };
    let start = || {
        let mut command = process::program(process::own_executable()?);
        command.arg0("vault-sync-mcp").args([SUPERVISE, &agent.options.command]);
        command.args(command::arguments(&agent.options, *work, task.schema, folder));
        command
            .env_clear()
            .envs(command::environment(&agent.options, &ready.key.0, home, temporary))
            .current_dir(&copy.folder);
        let mut input =
            serde_json::to_vec(&LaunchSpec { input: task.prompt.clone(), confinement })?;
        input.push(b'\n');
        let spawn =
            SpawnOptions { hold_stdin: true, keep: LINE_BYTES + 1, kill_group_at_end: true };
        Process::start(&mut command, input, spawn)
    };
    let mut running = start().map_err(|error| {
        Failure::Failed(format!("The session's supervisor cannot be started: {}", error.kind()))
    })?;
    let mut transcript = Transcript::default();
    let followed = follow(ready, &mut running, &mut transcript, watcher);
    // The supervisor ends a session that still runs when its standard input closes.
    running.end(limits::AGENT_GRACE + Duration::from_secs(1));
    let stderr = agent.without_paths(&running.stderr);
    *progress = transcript.progress;
    let followed = followed?;
    match transcript.end {
        Some(end) if !end.is_error && end.subtype == "success" => Ok(end),
        Some(end) => Err(Failure::Failed(agent.failure_text(&end))),
        None => Err(Failure::Failed(missing_result(agent, followed, &stderr))),
    }
}

/// The port of the API.
fn api_port(base_url: Option<&str>) -> u16 {
    let Some(url) = base_url else { return 443 };
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.unwrap_or(if scheme == "http" { 80 } else { 443 })
}

/// Reads the output of a session until it has ended, or must be ended; gives its supervisor's exit
/// code, `None` if it has a result and still runs.
///
/// # Errors
/// Why it must be ended; it is still running.
fn follow(
    ready: &PreparedSession<'_>,
    running: &mut Process,
    transcript: &mut Transcript,
    watcher: &dyn Watcher,
) -> Result<Option<i32>, Failure> {
    let timeout = ready.agent.options.timeout;
    let too_much_output = || {
        Failure::Failed(
            "The session printed more than it may, in total or in one line, and was ended.".into(),
        )
    };
    let page = |path: &str| ready.dir.copy.shown_path(path);
    watcher.report(&transcript.progress, "the session starts");
    let (mut printed, mut grace) = (0, None);
    let mut read = |output: &mut Vec<u8>| {
        while let Some(end) = memchr::memchr(b'\n', output) {
            let line: Vec<u8> = output.drain(..=end).collect();
            printed += line.len();
            if printed > OUTPUT_BYTES || end > LINE_BYTES {
                return Err(too_much_output());
            }
            if let Some(doing) = transcript.read_line(&line, &page).map_err(Failure::Failed)? {
                watcher.report(&transcript.progress, &doing);
            }
        }
        if output.len() > LINE_BYTES {
            return Err(too_much_output());
        }
        if ready.agent.must_stop(watcher) {
            return Err(Failure::Cancelled);
        }
        // The program may go on running after its result.
        Ok(transcript.end.is_none()
            || grace.get_or_insert_with(|| Deadline::after(limits::AGENT_GRACE)).left().is_some())
    };
    let mut outcome = Ok(true);
    let ended = running.wait_with_output(Deadline::after(timeout), PIPE_PATIENCE, &mut |output| {
        if matches!(outcome, Ok(true)) {
            outcome = read(output);
        }
        matches!(outcome, Ok(true))
    });
    outcome?;
    if let Some(Ended { status, .. }) = ended {
        // The last line may lack its end.
        transcript.read_line(&running.stdout, &page).map_err(Failure::Failed)?;
        return Ok(status.ok().and_then(|status| status.code()));
    }
    if transcript.end.is_some() {
        return Ok(None);
    }
    Err(Failure::TimedOut(format!(
        "The session took longer than COS_VAULT_TIMEOUT_MS ({} s) and was ended. Ask for less at \
         once, or raise the setting.",
        timeout.as_secs_f64()
    )))
}

/// Why a session ended without a result, and what to do about it.
fn missing_result(agent: &Agent, code: Option<i32>, stderr: &str) -> String {
    let words = if stderr.is_empty() { String::new() } else { format!(" It said: {stderr}") };
    match code {
        Some(0) => {
            format!(
                "{} ended without a result: its output was not understood. {}{words}",
                agent.program(),
                install()
            )
        }
        Some(code) => {
            format!("{} ended with exit code {code} and without a result.{words}", agent.program())
        }
        None => format!("{} ended in an unknown state.{words}", agent.program()),
    }
}

/// Every session's system prompt, with the vault's CLAUDE.md.
fn system_prompt(instructions: Option<&str>) -> String {
    let mut text = include_str!("system_prompt.txt").to_owned();
    if let Some(instructions) = instructions {
        text.push_str("\n# The vault's CLAUDE.md\n\n");
        text.push_str(instructions);
    }
    text
}

impl Agent {
    /// A session of a login, which begins now.
    ///
    /// # Errors
    /// [`Failure::Failed`] where too many wait already.
    pub(super) fn session(&self, work: Work, login: &str) -> Result<Session, Failure> {
        let place = self.places.take("", Duration::ZERO).ok_or_else(|| {
            let waiting = limits::AGENT_QUEUE;
            Failure::Failed(format!("{waiting} sessions wait already; try again later."))
        })?;
        Ok(Session { work, login: login.to_owned(), asked: clock::instant(), _place: place })
    }

    /// Waits for other sessions. Only one at a time writes: each builds on what the previous one
    /// filed.
    fn wait_for_turn(&self, work: Work, watcher: &dyn Watcher) -> Result<Turn, Failure> {
        let wait = |quota: &Arc<Quota>| loop {
            if let Some(permit) = quota.take("", limits::HANG_UP_EVERY) {
                return Ok(permit);
            }
            if self.must_stop(watcher) {
                return Err(Failure::Cancelled);
            }
            watcher.report(&Progress::default(), "waiting for another session to end");
        };
        let filing = work.writes().then(|| wait(&self.filing)).transpose()?;
        Ok(Turn { _filing: filing, _slot: wait(&self.slots)? })
    }

    /// Why a session failed, and what to do about it.
    fn failure_text(&self, end: &End) -> String {
        let Options { model, max_turns, .. } = &self.options;
        let words = self.without_paths(end.result.as_bytes());
        let detail = if words.is_empty() { String::new() } else { format!(" It said: {words}") };
        match (end.subtype.as_str(), end.api_error_status) {
            ("error_max_turns", _) => format!(
                "The session did not finish within COS_VAULT_MAX_TURNS ({max_turns}). Give it \
                 less at once, or raise the setting."
            ),
            (_, Some(401 | 403)) => format!("{}{detail}", super::KEY_REFUSED),
            (_, Some(404)) => {
                format!(
                    "The API does not know the model {model} or the address; see \
                     COS_VAULT_MODEL and ANTHROPIC_BASE_URL.{detail}"
                )
            }
            (_, Some(429)) => {
                format!("{}{detail}", super::RATE_LIMITED)
            }
            (_, Some(status)) => format!("The API answered {status}.{detail}"),
            ("success", None) => format!("The session failed.{detail}"),
            (subtype, None) => {
                format!("The session failed ({}).{detail}", self.without_paths(subtype.as_bytes()))
            }
        }
    }

    /// What a program said, for a client: one line, without paths of this machine and without the
    /// key.
    fn without_paths(&self, words: &[u8]) -> String {
        let text = String::from_utf8_lossy(words);
        let text = match &self.options.key {
            Some(key) => text.replace(&key.0, "(the key)"),
            None => text.into_owned(),
        };
        process::plain(text.as_bytes(), MESSAGE_CHARS)
    }

    /// The program's name for messages, without its folder.
    fn program(&self) -> String {
        let name = Path::new(&self.options.command).file_name();
        format!("AGENT_COMMAND, the program {}", name.unwrap_or_default().to_string_lossy())
    }

    /// Whether the program exists, runs under the rules of a session and is new enough; not checked
    /// again once it was.
    ///
    /// # Errors
    /// What is wrong, in words for the owner.
    pub(super) fn check_version(&self) -> Result<(), String> {
        if self.version.get().is_some() {
            return Ok(());
        }
        let program = self.program();
        let wrong = |why: &str| format!("{program} {why}. {}", install());
        let confinement = Confinement { read: Vec::new(), write: Vec::new(), port: 443 };
        let start = || {
            let mut command = process::program(process::own_executable()?);
            command.arg0("vault-sync-mcp").args([SUPERVISE, &self.options.command, "--version"]);
            command.env_clear().current_dir("/").env("HOME", "/nonexistent");
            command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
            let mut input = serde_json::to_vec(&LaunchSpec { input: String::new(), confinement })?;
            input.push(b'\n');
            let spawn =
                SpawnOptions { hold_stdin: true, keep: MESSAGE_CHARS, kill_group_at_end: true };
            Process::start(&mut command, input, spawn)
        };
        let mut running =
            start().map_err(|error| wrong(&format!("cannot be started: {}", error.kind())))?;
        let ended =
            running.wait_with_output(Deadline::after(VERSION_WAIT), PIPE_PATIENCE, &mut |_| true);
        let Some(Ended { status, .. }) = ended else {
            running.end(limits::AGENT_GRACE);
            return Err(wrong("did not report its version in time"));
        };
        let said = String::from_utf8_lossy(&running.stdout).into_owned();
        let mut numbers = said
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .split('.')
            .map_while(|part| part.parse::<u32>().ok());
        let (major, minor, patch) = VERSION;
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(a), Some(b), Some(c)) if (a, b, c) >= VERSION => {
                let _ = self.version.set(format!("{a}.{b}.{c}"));
                Ok(())
            }
            (Some(a), Some(b), Some(c)) => Err(wrong(&format!(
                "is version {a}.{b}.{c}; {major}.{minor}.{patch} or newer is needed; older ones \
                 are not known to confine a session"
            ))),
            _ => {
                let errors = String::from_utf8_lossy(&running.stderr);
                let code = status.ok().and_then(|status| status.code());
                Err(match (errors.trim(), code) {
                    (errors, Some(126)) => format!(
                        "{program} starts another file, which the rules of a session do not let \
                         it read ({errors}). Let AGENT_COMMAND name that file."
                    ),
                    ("", _) => wrong("does not say a version as Claude Code does"),
                    (errors, _) => wrong(&format!("does not run: {errors}")),
                })
            }
        }
    }
}

/// How to get a program that is accepted.
pub(super) fn install() -> String {
    let (major, minor, patch) = VERSION;
    format!(
        "The server needs Claude Code (npm install -g \
         @anthropic-ai/claude-code@{major}.{minor}.{patch}) and AGENT_COMMAND to name it."
    )
}
