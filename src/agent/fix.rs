//! `lint --fix`: a session that repairs what breaks the wiki's rules, for the owner.

use super::ingest::{cut, delimited};
use super::session::{self, SessionRequest, Task};
use super::{Agent, Failure, Overrides, Progress, Watcher, Work};
use crate::limits;

impl Agent {
    /// Repairs what `findings` name: one change, and one commit where there is a repository.
    /// Returns the session's closing message.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn fix(
        &self,
        login: &str,
        findings: &str,
        watcher: &dyn Watcher,
        progress: &mut Progress,
    ) -> Result<String, Failure> {
        let asked = SessionRequest {
            work: Work::Lint,
            login,
            text: findings,
            route: self.options.route(Work::Lint, &Overrides::default())?,
        };
        session::with_session(
            self,
            self.ticket(Work::Lint)?,
            &asked,
            watcher,
            progress,
            |ready, progress| {
                let task = Task {
                    prompt: prompt(findings),
                    schema: r#"{"type":"object","properties":{}}"#,
                };
                let id = ready.begun.folder.rsplit('-').next().unwrap_or_default();
                let end = self.run_and_apply(ready, &task, &[], id, watcher, progress)?;
                Ok(cut(&ready.dir.copy.without_root(end.result.trim()), limits::AGENT_DOMAIN_CHARS))
            },
        )
    }
}

fn prompt(findings: &str) -> String {
    let findings = delimited("table of findings", findings);
    format!(
        "Use the skill {} to repair the pages below, as it says under Repairing.\n\n{findings}",
        Work::Lint.skill()
    )
}
