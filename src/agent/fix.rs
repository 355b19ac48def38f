//! `lint --fix`: a session that repairs what breaks the wiki's rules, for the owner.

use super::ingest::{cut, marked};
use super::job::Running;
use super::session::{self, Done, SessionRequest, Task};
use super::{Agent, Failure, SoFar, Wanted, Watcher, Work};
use crate::limits;
use serde_json::json;
use std::sync::Arc;

/// What came of it.
#[derive(Debug)]
pub struct Fixed {
    /// The session's last words.
    pub summary: String,
    /// What it took, and what the vault has of it.
    pub so_far: SoFar,
}

impl Done for Fixed {
    fn so_far(&self) -> &SoFar {
        &self.so_far
    }
}

impl Agent {
    /// Repairs what `findings` name: one change, and one commit where there is a repository.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn fix(self: &Arc<Agent>, login: &str, findings: &str, watcher: &dyn Watcher) -> Result<Fixed, Failure> {
        let asked = SessionRequest { work: Work::Lint, login, text: findings, route: self.options.route(Work::Lint, &Wanted::default())? };
        let _running = Running::of(self);
        session::within(self, self.ticket(Work::Lint)?, &asked, watcher, |ready| {
            let task = Task { prompt: prompt(findings)?, schema: json!({ "type": "object", "properties": {} }) };
            let id = ready.begun.session.rsplit('-').next().unwrap_or_default();
            let finished = self.write(ready, &task, &[], id, watcher)?;
            let summary = cut(&ready.dir.copy.without_root(finished.end.text.trim()), limits::AGENT_DOMAIN_CHARS);
            Ok(Fixed { summary, so_far: finished.so_far })
        })
    }
}

fn prompt(findings: &str) -> Result<String, Failure> {
    let findings = marked("table of findings", findings)?;
    Ok(format!("Use the skill {} to repair the pages below, as it says under Repairing.\n\n{findings}", Work::Lint.skill()))
}
