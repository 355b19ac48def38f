//! The vault that thinks: each call one headless Claude Code session, confined to the vault.
//!
//! A session is a stranger: it reads what others have written, and does what a sentence in a mail tells it. So it is not
//! trusted with anything that it is not needed for. It has five tools for files, no program, no network but the API, no
//! settings, no server; it can read and write the visible files of the vault and nothing else. `command` has the rules,
//! `skills` what it gets of the vault's own, `supervise` how it ends.
//!
//! | file | holds |
//! |---|---|
//! | [`ingest`], [`query`] | what a session is asked to do, and what is made of its answer |
//! | `attach` | the files that are handed to it |
//! | [`job`] | sessions that nobody, or more than one, waits for |
//! | `gate` | a few at a time, in their order |
//! | `session` | one session, from the queue to the end of its group |
//! | `command` | the command line that confines it, and its environment |
//! | `session_dir`, `skills` | a folder of its own, with the vault's skills without what would be acted upon |
//! | `transcript` | what it says while it runs |
//! | [`mod@supervise`] | the process between the server and a session |
#![doc = include_str!("README.md")]

mod attach;
mod command;
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

pub use job::Status;

use crate::git::Git;
use crate::vault::{self, Vault};
use gate::Gate;
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    /// Pages written.
    pub pages: Vec<Page>,
    /// Why they are not committed, where they should be.
    pub trouble: Option<String>,
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

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::Failed(format!("A file could not be kept in the vault: {error}"), SoFar::default())
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
    /// What sessions have written and nobody has committed yet.
    ours: Mutex<HashMap<String, Ours>>,
    /// Calls that wait for a session at the moment.
    callers: AtomicUsize,
    /// The program's version, once it was asked for.
    version: OnceLock<String>,
}

impl Agent {
    /// Sessions over a vault; what they change becomes commits of `git`, where there is one.
    pub fn new(vault: Arc<Vault>, git: Option<Arc<Git>>, options: Options) -> Agent {
        let gate = Gate::new(options.concurrency);
        Agent {
            vault,
            git,
            options,
            gate,
            jobs: job::Jobs::default(),
            stopping: AtomicBool::new(false),
            running: Mutex::new(0),
            ended: Condvar::new(),
            ours: Mutex::default(),
            callers: AtomicUsize::new(0),
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

    /// Notes that a call is about to wait for a session, until what is returned is dropped.
    ///
    /// # Errors
    /// [`Failure::Failed`] when so many do already that there would be nobody left for other calls.
    pub fn attend(&self) -> Result<Attendance<'_>, Failure> {
        let attendance = Attendance(&self.callers);
        if self.callers.fetch_add(1, Ordering::AcqRel) < self.options.callers {
            return Ok(attendance);
        }
        let words = "Too many calls wait for sessions; try again later, or call ingest with background.".to_owned();
        Err(Failure::Failed(words, SoFar::default()))
    }

    /// Whether a session has to end now.
    fn is_over(&self, watcher: &dyn Watcher) -> bool {
        watcher.has_cancelled() || self.is_stopping()
    }

    /// A place in the queue.
    fn ticket(&self) -> Result<gate::Ticket, Failure> {
        let busy = || format!("{} sessions are waiting already; try again when some have ended.", crate::limits::AGENT_QUEUE);
        self.gate.queue().ok_or_else(|| Failure::Failed(busy(), SoFar::default()))
    }
}

/// A file as a session left it.
#[derive(Debug)]
struct Ours {
    etag: String,
    /// Whether that session still runs.
    running: bool,
}

/// A call that waits for a session.
#[derive(Debug)]
pub struct Attendance<'a>(&'a AtomicUsize);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
