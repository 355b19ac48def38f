//! Jobs: an `ingest` that runs independently of its calls, so that a client that times out first
//! can fetch the result later. They live in memory, belong to one login, and a repeated request
//! joins the one that is running.

use super::ingest::{Ingested, Request};
use super::{Agent, Failure, Progress, Watcher, Work};
use crate::clock::{self, Moment};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::secret;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Jobs remembered for all logins together; the oldest ended one is dropped first.
const JOBS: usize = 100;
/// Characters of the line that says what a job is about.
const ABOUT_CHARS: usize = 100;

/// The statuses of a job, see [`JobState::status`].
pub const STATUSES: [&str; 5] = ["working", "completed", "nothing_filed", "failed", "cancelled"];

/// One `ingest`.
#[derive(Debug)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// A [`Principal::key`](crate::principal::Principal::key).
    owner: String,
    /// The first line of its material.
    pub about: String,
    /// When it was begun.
    pub begun: Moment,
    started: Instant,
    state: Mutex<JobState>,
    changed: Condvar,
}

/// The state of a job at one moment.
#[derive(Debug, Clone, Default)]
pub struct JobState {
    cancelled: bool,
    /// Calls that it continues for: those that wait for its end, and those that have begun or
    /// joined it in the background.
    callers: usize,
    /// What it has done.
    pub progress: Progress,
    /// What it is doing now; empty when it has ended.
    pub doing: String,
    pub outcome: Option<Arc<Result<Ingested, Failure>>>,
    /// The time since it was begun, up to its end.
    pub took: Duration,
    /// The request, until it has ended: the same again joins it.
    request: Option<Arc<Request>>,
}

impl JobState {
    /// One of [`STATUSES`]: `working` also while it waits, `nothing_filed` where its session
    /// succeeded but wrote nothing.
    pub fn status(&self) -> &'static str {
        match self.outcome.as_deref() {
            None => "working",
            Some(Ok(_)) if !self.progress.filed.has_pages() => "nothing_filed",
            Some(Ok(_)) => "completed",
            Some(Err(Failure::Cancelled)) => "cancelled",
            Some(Err(_)) => "failed",
        }
    }
}

impl Agent {
    /// Starts filing material, or joins the job of the same owner that does so already. `login` is
    /// its name for kept versions and commits.
    ///
    /// # Errors
    /// [`Failure`]; nothing was begun.
    pub fn begin(
        self: &Arc<Agent>,
        owner: &str,
        login: &str,
        request: Request,
    ) -> Result<Arc<Job>, Failure> {
        self.check_request(&request)?;
        let mut jobs = self.jobs.lock().unpoisoned();
        let same = |job: &&Arc<Job>| job.owner == owner && job.join(&request);
        if let Some(job) = jobs.iter().find(same) {
            return Ok(Arc::clone(job));
        }
        let session = self.session(Work::Ingest, login)?;
        let about = match first_line(&request.content) {
            line if line.is_empty() => request.files.first().cloned().unwrap_or_default(),
            line => line,
        };
        let request = Arc::new(request);
        let job = Arc::new(Job {
            id: secret::new_id(),
            owner: owner.to_owned(),
            about,
            begun: Moment::read(),
            started: clock::instant(),
            state: Mutex::new(JobState {
                callers: 1,
                request: Some(Arc::clone(&request)),
                ..JobState::default()
            }),
            changed: Condvar::new(),
        });
        let (agent, own) = (Arc::clone(self), Arc::clone(&job));
        let work = move || {
            let mut progress = Progress::default();
            let filed = catch_unwind(AssertUnwindSafe(|| {
                agent.run_ingest(&request, session, &own.id, &*own, &mut progress)
            }));
            let outcome = filed.unwrap_or_else(|_| {
                progress = own.state().progress.clone();
                Err(Failure::Failed("Internal error; see the server's log.".into()))
            });
            own.end(outcome, progress);
        };
        let thread = std::thread::Builder::new().name("agent job".into()).spawn(work);
        thread.map_err(|error| {
            Failure::Failed(format!("The job's thread cannot be started: {}", error.kind()))
        })?;
        if jobs.len() >= JOBS {
            // One has ended: fewer may run and wait at once than are kept.
            let oldest =
                jobs.iter().position(|job| job.has_ended_within(Duration::ZERO)).unwrap_or(0);
            jobs.remove(oldest);
        }
        jobs.push(Arc::clone(&job));
        Ok(job)
    }

    /// The jobs of an owner, newest first.
    pub fn jobs_of(&self, owner: &str) -> Vec<Arc<Job>> {
        self.jobs
            .lock()
            .unpoisoned()
            .iter()
            .rev()
            .filter(|job| job.owner == owner)
            .cloned()
            .collect()
    }
}

impl Job {
    /// Adds one more caller, if it does the same and is not about to end.
    fn join(&self, request: &Request) -> bool {
        let mut state = self.state();
        let joins = state.outcome.is_none()
            && !state.cancelled
            && state.request.as_deref() == Some(request);
        state.callers += usize::from(joins);
        joins
    }

    /// Waits for the end until the caller cancels. A job is cancelled when all callers have
    /// cancelled; one that does not wait never does.
    pub fn wait(&self, watcher: &dyn Watcher) {
        let mut reported = String::new();
        loop {
            let (has_ended, progress, doing) = {
                let is_as_reported =
                    |state: &mut JobState| state.outcome.is_none() && state.doing == reported;
                let (state, _) = self
                    .changed
                    .wait_timeout_while(self.state(), limits::HANG_UP_EVERY, is_as_reported)
                    .unpoisoned();
                (state.outcome.is_some(), state.progress.clone(), state.doing.clone())
            };
            if has_ended {
                return;
            }
            if watcher.has_cancelled() {
                let mut state = self.state();
                state.callers -= 1;
                state.cancelled |= state.callers == 0;
                return;
            }
            if doing != reported {
                watcher.report(&progress, &doing);
                reported = doing;
            }
        }
    }

    /// Asks it to end; it does so within seconds.
    pub fn cancel(&self) {
        self.state().cancelled = true;
    }

    /// Whether it ends within this time.
    pub fn has_ended_within(&self, patience: Duration) -> bool {
        let state = self.state();
        let waited =
            self.changed.wait_timeout_while(state, patience, |state| state.outcome.is_none());
        waited.unpoisoned().0.outcome.is_some()
    }

    /// Its current state.
    pub fn view(&self) -> JobState {
        let mut state = self.state().clone();
        if state.outcome.is_none() {
            state.took = self.started.elapsed();
        }
        state
    }

    fn end(&self, outcome: Result<Ingested, Failure>, progress: Progress) {
        let mut state = self.state();
        state.progress = progress;
        state.request = None;
        state.doing.clear();
        state.took = self.started.elapsed();
        state.outcome = Some(Arc::new(outcome));
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unpoisoned()
    }
}

/// The first non-blank line of a text, cut to fit one line of a terminal.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(ABOUT_CHARS).collect()
}

/// The job watches its own session.
impl Watcher for Job {
    fn has_cancelled(&self) -> bool {
        self.state().cancelled
    }

    fn report(&self, progress: &Progress, doing: &str) {
        let mut state = self.state();
        state.progress = progress.clone();
        doing.clone_into(&mut state.doing);
        self.changed.notify_all();
    }
}
