//! One session: from its position in the queue to the end of its process group.

use super::confine::Confinement;
use super::copy::ALIASES;
use super::gate::Ticket;
use super::ledger::Session;
use super::session_dir::SessionDir;
use super::supervise::{LaunchSpec, SUPERVISE};
use super::transcript::{End, Transcript};
use super::{Agent, Failure, Key, Progress, SessionLimits, Watcher, Work, command, skills};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::process::{self, Ended, Process, SpawnOptions};
use crate::wiki::TREES;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

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

/// Who wants a session, and what for.
pub(super) struct SessionRequest<'a> {
    pub(super) work: Work,
    /// The login, as the owner knows it.
    pub(super) login: &'a str,
    /// The material or question.
    pub(super) text: &'a str,
    pub(super) route: SessionLimits,
}

/// What a session is to do.
pub(super) struct Task {
    pub(super) prompt: String,
    /// JSON Schema of its structured output.
    pub(super) schema: &'static str,
}

/// A session that has its slot, folder and budget, and whose program is not started yet.
pub(super) struct PreparedSession<'a> {
    agent: &'a Agent,
    pub(super) request: &'a SessionRequest<'a>,
    key: Key,
    pub(super) dir: SessionDir,
    pub(super) begun: Session,
}

/// Waits for a slot, makes the session's folder, does the work and records what it has cost.
///
/// # Errors
/// [`Failure`]; those of `work`.
pub(super) fn with_session<T>(
    agent: &Agent,
    mut ticket: Ticket,
    asked: &SessionRequest<'_>,
    watcher: &dyn Watcher,
    progress: &mut Progress,
    work: impl FnOnce(&PreparedSession<'_>, &mut Progress) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let ready = prepare(agent, &mut ticket, asked, watcher)?;
    let outcome = work(&ready, progress);
    let name = match &outcome {
        Ok(_) if asked.work.writes() && !progress.filed.has_pages() => "nothing_filed",
        Ok(_) => "completed",
        Err(Failure::TimedOut(_)) => "timed_out",
        Err(Failure::Cancelled) => "cancelled",
        Err(_) => "failed",
    };
    // A session that failed before its first turn cost nothing; without a cost it would count with
    // its whole allowance.
    let without_cost = Progress { cost_usd: Some(0.0), ..Progress::default() };
    agent.ledger.end(
        &ready.begun,
        name,
        if name == "failed" && progress.turns == 0 { &without_cost } else { progress },
    );
    outcome
}

/// Waits for a slot, checks that the key, the program and the skill exist, and makes the session's
/// folder.
fn prepare<'a>(
    agent: &'a Agent,
    ticket: &mut Ticket,
    asked: &'a SessionRequest<'_>,
    watcher: &dyn Watcher,
) -> Result<PreparedSession<'a>, Failure> {
    let waits = |ahead: usize| {
        watcher.report(
            &Progress { ahead: Some(ahead), ..Progress::default() },
            &format!("waiting; {ahead} before this one"),
        );
        !agent.must_stop(watcher)
    };
    if !ticket.wait(&waits) {
        return Err(Failure::Cancelled);
    }
    let key = agent.options.key.clone().ok_or_else(|| Failure::Failed(super::NO_KEY.into()))?;
    agent.check_version().map_err(Failure::Failed)?;
    let skill = asked.work.skill();
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
        &keep_going,
    );
    let dir = dir.map_err(|error| match keep_going() {
        true => Failure::Failed(format!("The session's folder cannot be made: {}", error.kind())),
        false => Failure::Cancelled,
    })?;
    let begun =
        Session::of(&dir.folder, asked.login, asked.work.name(), &asked.route.model, asked.text);
    let allow = |spent| agent.allowance(spent).inspect(|_| ticket.note_allowance());
    let begun = agent.ledger.begin(begun, allow).map_err(Failure::Failed)?;
    Ok(PreparedSession { agent, request: asked, key, dir, begun })
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
    let PreparedSession { agent, request: SessionRequest { work, route, .. }, begun, .. } = ready;
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
    let started = clock::instant();
    let start = || {
        let mut command = process::program(process::own_executable()?);
        command.arg0("vault-sync-mcp").args([SUPERVISE, &agent.options.command]);
        command.args(command::arguments(route, begun.allowed_usd, *work, task.schema, folder));
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
    *progress = Progress { took: started.elapsed(), ..transcript.progress };
    let followed = followed?;
    match transcript.end {
        Some(end) if !end.is_error && end.subtype == "success" => Ok(end),
        Some(end) => {
            Err(Failure::Failed(agent.failure_text(&end, ready.request, begun.allowed_usd)))
        }
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
    let SessionRequest { work, route, .. } = ready.request;
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
    let ended =
        running.wait_with_output(Deadline::after(route.timeout), PIPE_PATIENCE, &mut |output| {
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
    let why = transcript
        .retry_status
        .as_ref()
        .map(|status| format!(" The API answered {status} at the end."));
    let (why, limit, [.., setting]) =
        (why.unwrap_or_default(), route.timeout.as_secs_f64(), route.settings);
    let go_on = if *work == Work::Ingest {
        " Call ingest with continue to go on."
    } else {
        " Ask for less at once, or allow more time."
    };
    Err(Failure::TimedOut(format!(
        "The session took longer than {setting} ({limit} s) and was ended.{go_on}{why}"
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
                super::INSTALL
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
    /// Why a session failed, and what to do about it.
    fn failure_text(
        &self,
        end: &End,
        SessionRequest { work, route, .. }: &SessionRequest<'_>,
        allowed_usd: f64,
    ) -> String {
        let [model, turns, _] = route.settings;
        let words = self.without_paths(end.result.as_bytes());
        let advice = if *work == Work::Ingest { "Go on with continue, give" } else { "Give" };
        let detail = if words.is_empty() { String::new() } else { format!(" It said: {words}") };
        match (end.subtype.as_str(), end.api_error_status) {
            ("error_max_turns", _) => {
                format!(
                    "The session did not finish within {turns} ({}). {advice} it less at once, or \
                     allow more.",
                    route.max_turns
                )
            }
            ("error_max_budget_usd", _) => format!(
                "The session did not finish within {} ({allowed_usd:.2}). {advice} it less at \
                 once, or raise the setting.",
                if allowed_usd < self.options.max_budget_usd {
                    "what is left of COS_VAULT_DAILY_BUDGET_USD"
                } else {
                    "COS_VAULT_MAX_BUDGET_USD"
                }
            ),
            (_, Some(401 | 403)) => format!("{}{detail}", super::KEY_REFUSED),
            (_, Some(404)) => {
                format!(
                    "The API does not know the model {} or the address; see {model} and \
                     ANTHROPIC_BASE_URL.{detail}",
                    route.model
                )
            }
            (_, Some(429)) => {
                format!("The API reports too many requests; try again later.{detail}")
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

    /// Whether the program exists and is new enough; not checked again once it was.
    ///
    /// # Errors
    /// What is wrong, in words for the owner.
    pub(super) fn check_version(&self) -> Result<(), String> {
        if self.version.get().is_some() {
            return Ok(());
        }
        let mut command = process::program(&self.options.command);
        command.arg("--version").env_clear().current_dir("/").env("HOME", "/nonexistent");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let spawn =
            SpawnOptions { hold_stdin: false, keep: MESSAGE_CHARS, kill_group_at_end: true };
        let started = Process::start(&mut command, Vec::new(), spawn);
        let mut running =
            started.map_err(|error| format!("{}: {error}. {}", self.program(), super::INSTALL))?;
        if running
            .wait_with_output(Deadline::after(VERSION_WAIT), PIPE_PATIENCE, &mut |_| true)
            .is_none()
        {
            running.end(limits::AGENT_GRACE);
            return Err(format!(
                "{} did not report its version in time. {}",
                self.program(),
                super::INSTALL
            ));
        }
        let detail = String::from_utf8_lossy(&running.stdout).into_owned();
        let mut numbers = detail
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
            (Some(a), Some(b), Some(c)) => Err(format!(
                "{} is version {a}.{b}.{c}; {major}.{minor}.{patch} or newer is needed; older \
                 ones are not known to confine a session. {}",
                self.program(),
                super::INSTALL
            )),
            _ => Err(format!(
                "{} does not say a version as Claude Code does. {}",
                self.program(),
                super::INSTALL
            )),
        }
    }
}
