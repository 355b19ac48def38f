//! Each call one headless Claude Code session over the vault, confined.
//!
//! A session reads what others have written, and may do what a sentence in a mail says. So it is trusted with nothing that it
//! does not need. It has five tools for files, no program, no network but the API, no settings, no server; it works on a copy of the
//! vault's visible files, and what it changed there is given to the vault as one change. `command` has the program's own rules,
//! `confine` the kernel's, `skills` what it gets of the vault's own, `supervise` how it ends.
//!
//! | file | holds |
//! |---|---|
//! | [`ingest`], [`query`] | what a session is asked to do, and what is made of its answer |
//! | `attach` | the files that are handed to it |
//! | [`job`] | sessions that nobody, or more than one, waits for |
//! | `gate` | a few at a time, in their order |
//! | `session` | one session, from the queue to the end of its group |
//! | `command` | the command line that confines it, and its environment |
//! | `confine` | the rules that the kernel holds |
//! | `copy` | the copy of the vault, and what was changed in it |
//! | `session_dir`, `skills` | a folder of its own, with the vault's skills without what would be acted upon |
//! | `transcript` | what it says while it runs |
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
pub mod query;
mod session;
mod session_dir;
mod skills;
pub mod supervise;
mod transcript;

pub use confine::is_supported as is_landlock_supported;
pub use copy::Conflict;
pub use job::Status;

use crate::git::{Committed, Git};
use crate::quota::{Bounds, Permit, Quota};
use crate::vault::{self, Vault};
use gate::Gate;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

const NO_KEY: &str = "The server has no key for the API: ANTHROPIC_API_KEY is not set.";
const INSTALL: &str = "The server needs Claude Code (npm install -g @anthropic-ai/claude-code) and AGENT_COMMAND to name it.";

/// How sessions are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub command: String,
    /// The key for the API.
    pub key: Option<Key>,
    /// Where the API is, if not where the program thinks.
    pub base_url: Option<String>,
    /// The model.
    pub model: String,
    /// Turns of one session.
    pub max_turns: usize,
    /// Dollars that one session may cost.
    pub max_budget_usd: f64,
    /// How long one session may take.
    pub timeout: Duration,
    /// Folders outside the vault from which files may be handed to `ingest`, with links resolved.
    pub attach_dirs: Vec<PathBuf>,
    /// Sessions at one time.
    pub concurrency: usize,
    /// Calls that may wait for sessions at one time, so that others are still answered.
    pub callers: usize,
    /// The state folder.
    pub state: Option<PathBuf>,
}

/// A key that is in no log and no error.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key as it was configured.
    pub fn new(text: String) -> Key {
        Key(text)
    }

    fn text(&self) -> &str {
        &self.0
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
    /// Answering a question; it does not.
    Query,
}

impl Work {
    /// The skill that says how.
    fn skill(self) -> &'static str {
        match self {
            Work::Ingest => "second-brain-ingest",
            Work::Query => "second-brain-query",
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

/// What a session has done until now.
#[derive(Debug, Clone, Default)]
pub struct SoFar {
    /// Turns of the model.
    pub turns: u64,
    /// Calls of tools.
    pub steps: u64,
    /// What it cost, in dollars, once it has ended.
    pub cost_usd: f64,
    pub filed: Box<Filed>,
}

/// What the vault has of a session that has ended.
#[derive(Debug, Clone, Default)]
pub struct Filed {
    /// Pages that were written, attachments included.
    pub pages: Vec<Page>,
    pub conflicts: Vec<Conflict>,
    /// Files that were not taken, and why.
    pub left_out: Vec<String>,
    /// The commit, where there is a repository.
    pub commit: Option<Committed>,
}

/// Who waits for a session.
pub trait Watcher {
    /// Whether nobody waits for it any more.
    fn has_cancelled(&self) -> bool;
    /// How far it is, and what it does now.
    fn hear(&self, so_far: &SoFar, doing: &str);
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The request is not one; nothing was begun.
    Argument(String),
    /// A file that may not be handed to a session; nothing was begun.
    NotAllowed(String),
    /// The session failed, or could not be begun.
    Failed(String, SoFar),
    /// It took too long.
    TimedOut(String, SoFar),
    /// It was not wanted any more.
    Cancelled(SoFar),
}

impl Failure {
    /// What happened, for a person or a model.
    pub fn words(&self) -> &str {
        match self {
            Failure::Argument(words) | Failure::NotAllowed(words) | Failure::Failed(words, _) | Failure::TimedOut(words, _) => words,
            Failure::Cancelled(_) => "The session was ended before it had finished.",
        }
    }

    /// What was done until then; `None` where nothing was begun.
    fn so_far_mut(&mut self) -> Option<&mut SoFar> {
        match self {
            Failure::Argument(_) | Failure::NotAllowed(_) => None,
            Failure::Failed(_, so_far) | Failure::TimedOut(_, so_far) | Failure::Cancelled(so_far) => Some(so_far),
        }
    }
}

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::Failed(format!("The vault does not take what the session wrote: {error}"), SoFar::default())
    }
}

/// The sessions of one vault.
#[derive(Debug)]
pub struct Agent {
    vault: Arc<Vault>,
    git: Option<Arc<Git>>,
    options: Options,
    gate: Arc<Gate>,
    jobs: job::Jobs,
    stopping: AtomicBool,
    /// Jobs at work.
    running: Mutex<usize>,
    ended: Condvar,
    /// Calls that wait for a session.
    callers: Arc<Quota>,
    /// The program's version, once it was asked for.
    version: OnceLock<String>,
}

impl Agent {
    /// Sessions over a vault; what they change becomes commits of `git`, where there is one.
    pub fn new(vault: Arc<Vault>, git: Option<Arc<Git>>, options: Options) -> Agent {
        let gate = Gate::new(options.concurrency);
        let callers = Quota::new(Bounds { all: options.callers, per_owner: options.callers, waiting: 0 });
        Agent {
            vault,
            git,
            options,
            gate,
            jobs: job::Jobs::default(),
            stopping: AtomicBool::new(false),
            running: Mutex::new(0),
            ended: Condvar::new(),
            callers,
            version: OnceLock::new(),
        }
    }

    /// Whether sessions can be run, for the owner: the key, and the program.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        if self.options.key.is_none() {
            return Err(NO_KEY.into());
        }
        self.check_version()
    }

    /// Ends every session, soon; for the end of the server.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits a while for the end of all sessions, so that nothing of them is left.
    pub fn wait_for_the_end(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.wait_timeout_while(running, crate::limits::AGENT_CANCEL_WAIT, |running| *running > 0);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 > 0 {
            log::warn!("agent: a session goes on; its supervisor ends it");
        }
    }

    /// Permits a call to wait for a session.
    ///
    /// # Errors
    /// [`Failure::Failed`] when so many do already that other calls would find no worker.
    pub fn permit_waiting(&self) -> Result<Permit, Failure> {
        let words = || "Too many calls wait for sessions; try again later, or call ingest with background.".to_owned();
        self.callers.take("", Duration::ZERO).ok_or_else(|| Failure::Failed(words(), SoFar::default()))
    }

    /// Whether a session has to end now.
    fn is_over(&self, watcher: &dyn Watcher) -> bool {
        watcher.has_cancelled() || self.is_stopping()
    }

    fn ticket(&self, work: Work) -> Result<gate::Ticket, Failure> {
        let busy = || format!("{} sessions are waiting already; try again when some have ended.", crate::limits::AGENT_QUEUE);
        self.gate.queue(work).ok_or_else(|| Failure::Failed(busy(), SoFar::default()))
    }
}
