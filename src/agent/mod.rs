//! Each call runs one headless, confined Claude Code session over the vault.
//!
//! A session reads untrusted text, and may obey a sentence in an email, so it gets only what it
//! needs: five file tools, no programs, no network but the API, no settings, no MCP servers. It
//! works on a copy of the vault's visible files, and its changes there are applied to the vault as
//! one change. `command` has the program's own rules, `confine` the kernel's, `skills` what it gets
//! from the vault's `.claude`, `supervise` how it ends.
//!
//! | file | holds |
//! |---|---|
//! | [`ingest`], [`query`], `fix` | what a session is asked to do, and how its answer is used |
//! | `attach` | files attached to it |
//! | [`job`] | sessions that any number of calls wait for |
//! | `gate` | the queue: a few at a time, in order |
//! | [`ledger`] | what sessions have cost |
//! | `session` | one session, from the queue to the end of its group |
//! | `command` | the command line that confines it, and its environment |
//! | `confine` | the rules that the kernel enforces |
//! | `copy` | the copy of the vault, and what was changed in it |
//! | `session_dir`, `skills` | its own folder, with the vault's skills stripped of anything that would be executed |
//! | `transcript` | its output while it runs |
//! | [`mod@supervise`] | the process between the server and a session |
#![doc = include_str!("README.md")]

mod attach;
mod command;
mod confine;
mod copy;
#[cfg(fuzzing)]
pub mod fuzz;
mod gate;
pub mod ingest;
pub mod job;
pub mod ledger;
pub mod query;
mod session;
mod session_dir;
mod skills;
pub mod supervise;
mod transcript;

pub use attach::AttachedFile;
pub use confine::is_supported as is_landlock_supported;
pub use copy::Conflict;

use crate::change::commits::{Commits, Committed};
use crate::limits;
use crate::quota::{Bounds, Permit, Quota};
use crate::store::Store;
use gate::Gate;
use job::Job;
use ledger::Ledger;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// See [`limits::AGENT_WRITTEN`].
const WRITTEN_BYTES: usize = 15_000;
/// The minimum budget of a session, in dollars.
const MIN_USD: f64 = 0.01;

const NO_KEY: &str = "The server has no key for the API: ANTHROPIC_API_KEY is not set.";
const KEY_REFUSED: &str = "The API refused the key of the server; see ANTHROPIC_API_KEY.";
const INSTALL: &str = "The server needs Claude Code (npm install -g @anthropic-ai/claude-code) \
                       and AGENT_COMMAND to name it.";

/// Prefix of the names of session folders.
pub(crate) const SESSION_DIR: &str = "vault-sync-mcp-session-";

/// How sessions are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Claude Code program.
    pub command: String,
    /// The key for the API.
    pub key: Option<Key>,
    /// The API's base URL, if not the program's default.
    pub base_url: Option<String>,
    /// How sessions that write are run.
    pub ingest: SessionLimits,
    /// How questions are answered.
    pub query: SessionLimits,
    /// Further models that a call may ask for.
    pub models: Vec<String>,
    /// Dollars that one session may cost.
    pub max_budget_usd: f64,
    /// Dollars that all sessions within 24 hours may cost.
    pub daily_budget_usd: Option<f64>,
    /// Folders outside the vault from which `ingest` accepts files, with symbolic links resolved.
    pub attach_dirs: Vec<PathBuf>,
    /// Sessions that may run at once.
    pub concurrency: usize,
    /// Calls that may wait for sessions at once, so that workers are left for other calls.
    pub callers: usize,
    /// The state folder.
    pub state: Option<PathBuf>,
}

/// The model and the limits of a tool's sessions.
#[derive(Debug, Clone)]
pub struct SessionLimits {
    /// The model.
    pub model: String,
    /// Turns of one session.
    pub max_turns: usize,
    /// How long one session may take.
    pub timeout: Duration,
    /// The names of the settings for model, turns and time, in this order; for messages.
    pub settings: [&'static str; 3],
}

/// What a call asks for instead of its configured route.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub model: Option<String>,
    pub max_turns: Option<usize>,
    pub timeout_ms: Option<u64>,
}

impl Options {
    /// The route of a call.
    ///
    /// # Errors
    /// [`Failure::Argument`] for a model that is not configured. Turns and time are capped at the
    /// configured ones.
    fn route(&self, work: Work, overrides: &Overrides) -> Result<SessionLimits, Failure> {
        let route = if work == Work::Query { &self.query } else { &self.ingest };
        let known: BTreeSet<&String> =
            [&self.ingest.model, &self.query.model].into_iter().chain(&self.models).collect();
        let model = overrides.model.as_ref().unwrap_or(&route.model);
        if !known.contains(&model) {
            let known = known.iter().map(|model| model.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Failure::Argument(format!(
                "Argument model must be one of: {known} (COS_VAULT_MODELS)."
            )));
        }
        let max_turns = overrides.max_turns.filter(|turns| *turns < route.max_turns);
        let timeout = overrides
            .timeout_ms
            .map(Duration::from_millis)
            .filter(|timeout| *timeout < route.timeout);
        let [model_setting, turns_setting, timeout_setting] = route.settings;
        Ok(SessionLimits {
            model: model.clone(),
            max_turns: max_turns.unwrap_or(route.max_turns),
            timeout: timeout.unwrap_or(route.timeout),
            // A limit that the call sets is named as its argument.
            settings: [
                model_setting,
                max_turns.map_or(turns_setting, |_| "max_turns"),
                timeout.map_or(timeout_setting, |_| "timeout_ms"),
            ],
        })
    }
}

/// An API key, which `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key as it was configured.
    pub fn new(text: String) -> Key {
        Key(text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(the key)")
    }
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Filing material into the wiki; it writes.
    Ingest,
    /// Answering a question; it writes nothing.
    Query,
}

impl Work {
    /// The name of the skill for it.
    fn skill(self) -> String {
        format!("second-brain-{}", self.name())
    }

    fn writes(self) -> bool {
        self == Work::Ingest
    }

    /// Its name in the ledger and in kept versions.
    fn name(self) -> &'static str {
        match self {
            Work::Ingest => "ingest",
            Work::Query => "query",
        }
    }
}

/// A page that a session has written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Page {
    /// Its path in the vault.
    pub path: String,
    /// Whether it is new.
    pub created: bool,
}

/// What a session has done so far.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Turns of the model.
    pub turns: u64,
    /// Its cost in dollars; `None` until the program reports it, which one that was cut off never
    /// does.
    pub cost_usd: Option<f64>,
    /// How long it ran, without the wait for a slot, once it has ended.
    pub took: Duration,
    /// Tool calls that it was denied: the tool, and its file, skill or pattern.
    pub refused: Vec<String>,
    /// Sessions ahead of it in the queue, while it waits.
    pub ahead: Option<usize>,
    pub filed: Filed,
}

/// What a session that has ended brought into the vault.
#[derive(Debug, Clone, Default)]
pub struct Filed {
    /// Pages that were written, attachments included.
    pub pages: Vec<Page>,
    pub conflicts: Vec<Conflict>,
    /// Files that the vault refused, and why.
    pub left_out: Vec<String>,
    /// Where written pages load images from other servers: path and line.
    pub remote_images: Vec<String>,
    /// The commit, where there is a repository.
    pub commit: Option<Committed>,
}

impl Filed {
    /// Whether the session wrote any: files in `raw` are copies of attachments.
    pub fn has_pages(&self) -> bool {
        self.pages.iter().any(|page| !page.path.starts_with("raw/"))
    }

    /// The first pages, as many as fit by name into a result or a line of the ledger.
    pub fn shown(&self) -> impl Iterator<Item = &Page> {
        let mut left = WRITTEN_BYTES;
        self.pages.iter().take_while(move |page| {
            left.checked_sub(page.path.len()).inspect(|rest| left = *rest).is_some()
        })
    }
}

/// Follows a session, and may cancel it.
pub trait Watcher {
    /// Whether the session is no longer needed.
    fn has_cancelled(&self) -> bool;
    /// Takes its progress, and what it is doing now.
    fn report(&self, progress: &Progress, doing: &str);
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The request is invalid; nothing was started.
    Argument(String),
    /// A file that may not be attached to a session; nothing was started.
    NotAllowed(String),
    /// The session failed, or could not be started.
    Failed(String),
    /// It took too long.
    TimedOut(String),
    /// It was cancelled by its caller, or by the end of the server.
    Cancelled,
}

impl Failure {
    /// What happened, for a person or a model.
    pub fn words(&self) -> &str {
        match self {
            Failure::Argument(words)
            | Failure::NotAllowed(words)
            | Failure::Failed(words)
            | Failure::TimedOut(words) => words,
            Failure::Cancelled => "The session was ended before it had finished.",
        }
    }
}

/// The sessions of one vault.
#[derive(Debug)]
pub struct Agent {
    store: Store,
    commits: Option<Arc<dyn Commits>>,
    options: Options,
    gate: Arc<Gate>,
    jobs: Mutex<Vec<Arc<Job>>>,
    ledger: Ledger,
    stopping: AtomicBool,
    /// Calls that wait for a session.
    callers: Arc<Quota>,
    /// The program's version, once it was asked for.
    version: OnceLock<String>,
}

impl Agent {
    /// Sessions on a vault; their changes are committed by `commits`, where the vault has a
    /// repository.
    pub fn new(store: Store, commits: Option<Arc<dyn Commits>>, options: Options) -> Agent {
        let gate = Gate::new(options.concurrency);
        let callers =
            Quota::new(Bounds { total: options.callers, per_owner: options.callers, waiting: 0 });
        Agent {
            store,
            commits,
            ledger: Ledger::of(options.state.as_deref()),
            options,
            gate,
            jobs: Mutex::default(),
            stopping: AtomicBool::new(false),
            callers,
            version: OnceLock::new(),
        }
    }

    /// Whether sessions can run: whether there is a key, and a program that is new enough.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        if self.options.key.is_none() {
            return Err(NO_KEY.into());
        }
        self.check_version()
    }

    /// The program's version, once [`Agent::check`] has succeeded.
    pub fn version(&self) -> &str {
        self.version.get().map_or("", String::as_str)
    }

    /// Whether the vault has the skills that the tools `ingest` and `query` need.
    pub fn has_skills(&self) -> bool {
        [Work::Ingest, Work::Query].into_iter().all(|work| {
            let needed = work.skill();
            skills::of(self.store.vault().root(), &needed).iter().any(|skill| skill.name == needed)
        })
    }

    /// Dollars that a session starting now may cost, if those of the last 24 hours have cost
    /// `spent`.
    fn allowance(&self, spent: f64) -> Result<f64, String> {
        let most = self.options.max_budget_usd;
        let Some(daily) = self.options.daily_budget_usd else { return Ok(most) };
        // Equal shares for this session and for all others that may begin before one ends.
        let share = (daily - spent) / self.gate.without_allowance().max(1) as f64;
        if share < MIN_USD {
            return Err(format!(
                "COS_VAULT_DAILY_BUDGET_USD ({daily}) is used up: the sessions of the last 24 \
                 hours have cost {spent:.2}, including what running ones may cost. Try again \
                 later, or raise the setting."
            ));
        }
        Ok(most.min(share))
    }

    /// Tells every session to end; for the end of the server.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits, up to a limit, until no session that writes runs or waits.
    pub fn wait_for_writing_sessions(&self) {
        if !self.gate.has_no_writer_within(limits::AGENT_CANCEL_WAIT) {
            log::warn!("agent: a session is still running; its supervisor ends it");
        }
    }

    /// Permits a call to wait for a session.
    ///
    /// # Errors
    /// [`Failure::Failed`] when so many wait already that no worker would be left for other calls.
    pub fn permit_waiting(&self) -> Result<Permit, Failure> {
        let words = || {
            "Too many calls wait for sessions; try again later, or call ingest with background."
                .to_owned()
        };
        self.callers.take("", Duration::ZERO).ok_or_else(|| Failure::Failed(words()))
    }

    /// Whether a session has to end now.
    fn must_stop(&self, watcher: &dyn Watcher) -> bool {
        watcher.has_cancelled() || self.is_stopping()
    }

    fn ticket(&self, work: Work) -> Result<gate::Ticket, Failure> {
        let busy = || {
            format!(
                "{} sessions are waiting already; try again when some have ended.",
                limits::AGENT_QUEUE
            )
        };
        self.gate.queue(work).ok_or_else(|| Failure::Failed(busy()))
    }
}
