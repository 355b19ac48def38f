//! Each call runs one headless, confined Claude Code session over the vault.
//!
//! A session reads untrusted text, and may obey a sentence in an email, so it gets only what it
//! needs: five file tools, no programs, no network but the API, no settings, no MCP servers. It
//! works on a copy of the wiki, and its changes there are applied to the vault as one change. `command` has the program's own rules, `confine` the kernel's, `skills` what it gets
//! from the vault's `.claude`, `supervise` how it ends.
//!
//! | file | holds |
//! |---|---|
//! | [`ingest`], [`query`] | what a session is asked to do, and how its answer is used |
//! | `attach` | files attached to it |
//! | [`job`] | sessions that any number of calls wait for |
//! | `session` | one session, from the wait for others to the end of its group |
//! | `command` | the command line that confines it, and its environment |
//! | `confine` | the rules that the kernel enforces |
//! | `copy` | the copy of the wiki, and what was changed in it |
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
pub mod ingest;
pub mod job;
pub mod query;
mod session;
mod session_dir;
mod skills;
pub mod supervise;
mod transcript;

pub use confine::is_supported as is_landlock_supported;
pub use copy::Conflict;

use crate::change::commits::{Commits, Committed};
use crate::limits;
use crate::quota::{Bounds, Permit, Quota};
use crate::store::Store;
use job::Job;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// See [`limits::AGENT_WRITTEN`].
const WRITTEN_BYTES: usize = 15_000;
const NO_KEY: &str = "The server has no key for the API: ANTHROPIC_API_KEY is not set.";
const KEY_REFUSED: &str = "The API refused the key of the server; see ANTHROPIC_API_KEY.";
const RATE_LIMITED: &str = "The API limits the rate of requests; try again later.";

const UNREACHABLE: &str = "The API cannot be reached: see the server's network, and \
                           ANTHROPIC_BASE_URL if that is set.";

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
    /// The model.
    pub model: String,
    /// Turns of one session.
    pub max_turns: usize,
    /// How long one session may take, without the wait for others.
    pub timeout: Duration,
    /// Folders outside the vault from which `ingest` accepts files, with symbolic links resolved.
    pub attach_dirs: Vec<PathBuf>,
    /// Sessions that may run at once.
    pub concurrency: usize,
    /// Calls that may wait for sessions at once, so that workers are left for other calls.
    pub callers: usize,
    /// The state folder.
    pub state: Option<PathBuf>,
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

    /// Its name in the log and in kept versions.
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
    /// The time from the call to its end, the wait for other sessions included.
    pub took: Duration,
    /// Tool calls that it was denied: the tool, and its file, skill or pattern.
    pub refused: Vec<String>,
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
    /// The commit, where there is a repository.
    pub commit: Option<Committed>,
}

impl Filed {
    /// Whether the session wrote any: files in `raw` are copies of attachments.
    pub fn has_pages(&self) -> bool {
        self.pages.iter().any(|page| !page.path.starts_with("raw/"))
    }

    /// The first pages, as many as fit by name into a result.
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
    /// Sessions that run or wait.
    places: Arc<Quota>,
    /// Sessions that run, and the one of them that writes.
    slots: Arc<Quota>,
    filing: Arc<Quota>,
    jobs: Mutex<Vec<Arc<Job>>>,
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
        session_dir::remove_finished(options.state.as_deref());
        let quota = |total| {
            let most = options.concurrency.saturating_add(limits::AGENT_QUEUE);
            Quota::new(Bounds { total, per_owner: total, waiting: most })
        };
        Agent {
            places: quota(options.concurrency.saturating_add(limits::AGENT_QUEUE)),
            slots: quota(options.concurrency),
            filing: quota(1),
            callers: quota(options.callers),
            store,
            commits,
            options,
            jobs: Mutex::default(),
            stopping: AtomicBool::new(false),
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

    /// Tells every session to end; for the end of the server.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits, up to a limit, until no session that writes runs.
    pub fn wait_for_writing_sessions(&self) {
        if self.filing.take("", limits::AGENT_CANCEL_WAIT).is_none() {
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
}
