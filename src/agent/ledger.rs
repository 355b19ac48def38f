//! What sessions have cost: two lines of JSON for each in the state folder, one when it begins and
//! one, which replaces it, when it has ended. The owner's commands read them while the server runs;
//! without a state folder they are kept in memory.

use super::Progress;
use crate::clock::Moment;
use crate::disk::{self, Mode};
use crate::limits;
use crate::lock::Unpoisoned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Bytes of the session ledger, above which its older half is dropped: a few thousand sessions.
const LEDGER_BYTES: u64 = 2 * 1024 * 1024;
/// Characters of the line that summarizes a session.
const ABOUT_CHARS: usize = 100;

const FILE: &str = "ledger.jsonl";

/// A session, and its end if that is known: a line of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// The name of its folder.
    #[serde(rename = "session")]
    pub folder: String,
    /// Unix time in seconds.
    pub at: u64,
    /// The login, as the owner knows it.
    pub login: String,
    /// `ingest` or `query`.
    pub tool: String,
    pub model: String,
    /// The first line of the material or question.
    pub about: String,
    /// SHA-256 of the material.
    pub material: String,
    /// Dollars that it may cost.
    pub allowed_usd: f64,
    pub ended: Option<Ended>,
}

/// A session when it has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: String,
    pub turns: u64,
    /// Dollars; `None` where the program was ended before it reported them.
    pub cost_usd: Option<f64>,
    pub pages: Vec<String>,
    pub refused: usize,
    pub ms: u64,
}

impl Session {
    /// The session of a folder; `text` is its material or question.
    pub(super) fn of(folder: &Path, login: &str, tool: &str, model: &str, text: &str) -> Session {
        let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let material = crate::secret::SecretHash::of(text.trim()).to_hex();
        let [login, tool, model] = [login, tool, model].map(str::to_owned);
        Session {
            folder,
            at: Moment::read().0,
            login,
            tool,
            model,
            about: first_line(text),
            material,
            allowed_usd: 0.0,
            ended: None,
        }
    }

    /// Dollars that count towards the daily budget: the cost, or the allowance where that is
    /// unknown.
    pub fn charged_usd(&self) -> f64 {
        self.ended.as_ref().and_then(|ended| ended.cost_usd).unwrap_or(self.allowed_usd)
    }
}

#[derive(Debug)]
pub(super) struct Ledger {
    folder: Option<PathBuf>,
    /// The lines, where there is no folder.
    memory: Mutex<Vec<u8>>,
}

impl Ledger {
    pub(super) fn of(state: Option<&Path>) -> Ledger {
        Ledger { folder: state.map(|state| state.join("agent")), memory: Mutex::default() }
    }

    /// Records the start of a session, if `allow` permits it: it gets the dollars spent in the last
    /// [`limits::AGENT_BUDGET_SPAN`], and returns what this session may cost.
    ///
    /// # Errors
    /// Those of `allow`; that the ledger cannot be read or written.
    pub(super) fn begin(
        &self,
        mut session: Session,
        allow: impl FnOnce(f64) -> Result<f64, String>,
    ) -> Result<Session, String> {
        let failed = |error: io::Error| {
            format!("The ledger of sessions in STATE_DIR cannot be used: {}", error.kind())
        };
        // One at a time: two that start together must not both get what is left.
        let mut memory = self.memory.lock().unpoisoned();
        let since = session.at.saturating_sub(limits::AGENT_BUDGET_SPAN.as_secs());
        let sessions = self.read(&memory).map_err(failed)?;
        let spent =
            sessions.iter().filter(|session| session.at >= since).map(Session::charged_usd).sum();
        session.allowed_usd = allow(spent)?;
        self.write(&mut memory, &session).map_err(failed)?;
        Ok(session)
    }

    /// Records the end of a session, in the log too.
    pub(super) fn end(&self, begun: &Session, outcome: &str, progress: &Progress) {
        let Session { login, tool, model, .. } = begun;
        let pages: Vec<String> = progress.filed.shown().map(|page| page.path.clone()).collect();
        let (turns, cost_usd, refused, ms) = (
            progress.turns,
            progress.cost_usd,
            progress.refused.len(),
            progress.took.as_millis() as u64,
        );
        let cost = cost_usd.map_or("unknown".to_owned(), |dollars| format!("{dollars:.4}"));
        let written = progress.filed.pages.len();
        log::info!(
            "agent: {tool} by {login} model={model} outcome={outcome} turns={turns} usd={cost} \
             pages={written} refused={refused} ms={ms}"
        );
        let ended =
            Some(Ended { outcome: outcome.to_owned(), turns, cost_usd, pages, refused, ms });
        if let Err(error) =
            self.write(&mut self.memory.lock().unpoisoned(), &Session { ended, ..begun.clone() })
        {
            log::error!("agent: the cost of a session cannot be recorded: {}", error.kind());
        }
    }

    /// The sessions that are known, oldest first.
    pub(super) fn sessions(&self) -> Vec<Session> {
        self.read(&self.memory.lock().unpoisoned()).unwrap_or_default()
    }

    fn read(&self, memory: &[u8]) -> io::Result<Vec<Session>> {
        self.folder.as_ref().map_or_else(|| Ok(sessions(memory)), |folder| read(folder))
    }

    fn write(&self, memory: &mut Vec<u8>, session: &Session) -> io::Result<()> {
        // A full disk or a power cut may have left half a line, which this one must not continue;
        // empty lines are skipped.
        let mut line = format!("\n{}\n", serde_json::to_string(session)?).into_bytes();
        let Some(folder) = &self.folder else {
            let surplus = memory.len().saturating_sub(LEDGER_BYTES as usize);
            memory.drain(..surplus);
            memory.append(&mut line);
            return Ok(());
        };
        disk::create_private_folder(folder)?;
        let file = folder.join(FILE);
        if file.metadata().is_ok_and(|found| found.len() > LEDGER_BYTES) {
            let newer_half = disk::read_end(&file, LEDGER_BYTES / 2)?;
            return disk::replace(&file, &[newer_half, line].concat(), Mode::Private, |_| {
                Ok::<(), io::Error>(())
            });
        }
        let mut open = disk::open_to_append(&file)?;
        let length = open.metadata()?.len();
        disk::append_durably(&mut open, length, &line)
    }
}

fn read(folder: &Path) -> io::Result<Vec<Session>> {
    let bytes = disk::none_if_missing(disk::read_end(&folder.join(FILE), 2 * LEDGER_BYTES))?;
    Ok(sessions(&bytes.unwrap_or_default()))
}

/// The sessions in a ledger, oldest first. A line that was cut is skipped.
fn sessions(bytes: &[u8]) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for session in bytes
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Session>(line).ok())
    {
        let number = *numbers.entry(session.folder.clone()).or_insert(sessions.len());
        match sessions.get_mut(number) {
            Some(known) => *known = session,
            None => sessions.push(session),
        }
    }
    sessions
}

/// The first non-blank line of a text, cut to fit one line of a terminal.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(ABOUT_CHARS).collect()
}
