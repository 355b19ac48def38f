//! Jobs: an `ingest` that runs independently of its calls, so that a client that times out first can fetch the result later.
//! They live in memory, belong to one login, and a repeated request joins the one that is running.

use super::ingest::{Ingested, Request};
use super::ledger::first_line;
use super::session::SessionRequest;
use super::{Agent, Failure, SoFar, Watcher, Work};
use crate::clock::{self, Now};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::secret::{self, SecretHash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits, or its session runs.
    Working,
    /// It has a result.
    Completed,
    /// Its session succeeded but wrote nothing.
    NothingFiled,
    /// It ended without a result.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The server was stopped while it ran.
    Interrupted,
}

impl Status {
    /// The names of all of them.
    pub const NAMES: [&str; 6] = ["working", "completed", "nothing_filed", "failed", "cancelled", "interrupted"];
}

/// One `ingest`.
#[derive(Debug)]
pub struct Job {
    /// Its id.
    pub id: String,
    login: String,
    /// The model of its session.
    pub model: String,
    /// The first line of its material.
    pub about: String,
    /// Fingerprint of the request.
    request: SecretHash,
    /// When it was begun.
    pub begun: Now,
    started: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    /// Whether it continues when no call waits for it.
    background: bool,
    /// Callers that wait for its end.
    waiting: usize,
    so_far: SoFar,
    doing: String,
    outcome: Option<Arc<Result<Ingested, Failure>>>,
    took: Duration,
    interrupted: bool,
    /// The request, until it has a result: another job may continue it. Kept of the newest jobs only.
    request: Option<Request>,
}

/// The state of a job at one moment.
#[derive(Debug)]
pub struct JobView {
    /// Its status.
    pub status: Status,
    /// What it has done.
    pub so_far: SoFar,
    /// What it is doing now; empty when it has ended.
    pub doing: String,
    /// The time since it was begun, up to its end.
    pub took: Duration,
    /// Its outcome.
    pub outcome: Option<Arc<Result<Ingested, Failure>>>,
}

impl Agent {
    /// Starts filing material, or joins the job of the same login that does so already. `by` is the owner's name for the login, for kept
    /// versions and commits.
    ///
    /// # Errors
    /// [`Failure`]; nothing was begun.
    pub fn begin(self: &Arc<Agent>, login: &str, by: &str, request: Request, background: bool) -> Result<Arc<Job>, Failure> {
        self.check_request(&request)?;
        let route = self.options.route(Work::Ingest, &request.overrides)?;
        let text = serde_json::to_string(&request).map_err(|error| Failure::Failed(error.to_string()))?;
        let fingerprint = SecretHash::of(&text);
        let mut jobs = self.jobs.lock().unpoisoned();
        let same = |job: &&Arc<Job>| job.login == login && job.request == fingerprint && job.join(background);
        if let Some(job) = jobs.iter().find(same) {
            return Ok(Arc::clone(job));
        }
        let ticket = self.ticket(Work::Ingest)?;
        let first_file =
            || request.files.first().map(String::as_str).or(request.attachments.first().map(|file| file.name.as_str())).map(str::to_owned);
        let about = Some(first_line(&request.content)).filter(|line| !line.is_empty()).or_else(first_file).unwrap_or_default();
        let kept = Some(request.clone());
        let job = Arc::new(Job {
            id: secret::new_id(),
            login: login.to_owned(),
            model: route.model.clone(),
            about,
            request: fingerprint,
            begun: Now::read(),
            started: clock::instant(),
            state: Mutex::new(State { background, waiting: usize::from(!background), request: kept, ..State::default() }),
            changed: Condvar::new(),
        });
        let (agent, own, by) = (Arc::clone(self), Arc::clone(&job), by.to_owned());
        let work = move || {
            let mut so_far = SoFar::default();
            let asked = SessionRequest { work: Work::Ingest, login: &by, text: &request.content, route };
            let filed = catch_unwind(AssertUnwindSafe(|| agent.file(&request, &asked, ticket, &own.id, &*own, &mut so_far)));
            let outcome = filed.unwrap_or_else(|_| {
                so_far = own.state().so_far.clone();
                Err(Failure::Failed("Internal error; see the server's log.".into()))
            });
            own.end(outcome, so_far, agent.is_stopping());
        };
        let thread = std::thread::Builder::new().name("agent job".into()).spawn(work);
        thread.map_err(|error| Failure::Failed(format!("The job's thread cannot be started: {}", error.kind())))?;
        if jobs.len() >= limits::AGENT_JOBS {
            // They can never all be running.
            let oldest = jobs.iter().position(|job| job.has_ended_within(Duration::ZERO)).unwrap_or(0);
            jobs.remove(oldest);
        }
        for job in jobs.iter().rev().skip(limits::AGENT_CONTINUED) {
            let mut state = job.state();
            if state.outcome.is_some() {
                state.request = None;
            }
        }
        jobs.push(Arc::clone(&job));
        Ok(job)
    }

    /// The request of a job that has ended without a result, to continue it.
    ///
    /// # Errors
    /// [`Failure::Argument`] where there is no such job.
    pub fn request_of(&self, login: &str, id: &str) -> Result<Request, Failure> {
        let wrong = |why: &str| Failure::Argument(format!("Argument continue {why}"));
        let job = self.jobs_of(login).into_iter().find(|job| job.id == id);
        let job = job.ok_or_else(|| wrong("names no job of yours; give the material again."))?;
        let state = job.state();
        let ended = state.outcome.is_some();
        let request = state.request.as_ref().filter(|_| ended);
        let request = request.ok_or_else(|| {
            wrong(if ended {
                "names a job that has its result, or an old one; give the material again."
            } else {
                "names a job that is still running."
            })
        })?;
        let mut request = request.clone();
        request.written_before.extend(state.so_far.filed.pages.iter().map(|page| page.path.clone()));
        request.written_before.truncate(limits::AGENT_LISTED);
        Ok(request)
    }

    /// The jobs of a login, newest first.
    pub fn jobs_of(&self, login: &str) -> Vec<Arc<Job>> {
        self.jobs.lock().unpoisoned().iter().rev().filter(|job| job.login == login).cloned().collect()
    }
}

impl Job {
    /// Adds one more caller, unless the job has ended or is about to.
    fn join(&self, background: bool) -> bool {
        let mut state = self.state();
        if state.outcome.is_some() || state.cancelled {
            return false;
        }
        state.background |= background;
        state.waiting += usize::from(!background);
        true
    }

    /// Waits for the end until the caller cancels; only for callers that [`Agent::begin`] gave it to in the foreground. A job that no call
    /// waits for any more is cancelled, unless it was to continue in the background.
    pub fn wait(&self, watcher: &dyn Watcher) {
        let mut reported = String::new();
        loop {
            let (has_ended, so_far, doing) = {
                let (state, _) = self.changed.wait_timeout(self.state(), limits::HANG_UP_EVERY).unpoisoned();
                (state.outcome.is_some(), state.so_far.clone(), state.doing.clone())
            };
            if has_ended {
                return;
            }
            if watcher.has_cancelled() {
                let mut state = self.state();
                state.waiting -= 1;
                state.cancelled |= state.waiting == 0 && !state.background;
                return;
            }
            if doing != reported {
                watcher.report(&so_far, &doing);
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
        let waited = self.changed.wait_timeout_while(state, patience, |state| state.outcome.is_none());
        waited.unpoisoned().0.outcome.is_some()
    }

    /// Its current state.
    pub fn view(&self) -> JobView {
        let state = self.state();
        let status = match state.outcome.as_deref() {
            None => Status::Working,
            Some(Ok(_)) if state.so_far.filed.pages.is_empty() => Status::NothingFiled,
            Some(Ok(_)) => Status::Completed,
            Some(Err(_)) if state.interrupted => Status::Interrupted,
            Some(Err(Failure::Cancelled)) => Status::Cancelled,
            Some(Err(_)) => Status::Failed,
        };
        let took = if state.outcome.is_some() { state.took } else { self.started.elapsed() };
        JobView { status, so_far: state.so_far.clone(), doing: state.doing.clone(), took, outcome: state.outcome.clone() }
    }

    fn end(&self, outcome: Result<Ingested, Failure>, so_far: SoFar, stopping: bool) {
        let mut state = self.state();
        state.so_far = so_far;
        if outcome.is_ok() {
            state.request = None;
        }
        state.interrupted = stopping && matches!(outcome, Err(Failure::Cancelled));
        state.doing.clear();
        state.took = self.started.elapsed();
        state.outcome = Some(Arc::new(outcome));
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unpoisoned()
    }
}

/// The job watches its own session.
impl Watcher for Job {
    fn has_cancelled(&self) -> bool {
        self.state().cancelled
    }

    fn report(&self, so_far: &SoFar, doing: &str) {
        let mut state = self.state();
        state.so_far = so_far.clone();
        doing.clone_into(&mut state.doing);
        self.changed.notify_all();
    }
}
