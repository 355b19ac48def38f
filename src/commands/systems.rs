//! Makes what toolsets need besides the vault (repository, projects, sessions) from the
//! configuration, and checks whether git and Claude Code can be used.
#![cfg_attr(
    not(feature = "default"),
    allow(
        unused_imports,
        unused_variables,
        unused_mut,
        dead_code,
        clippy::ptr_arg,
        reason = "each is for one of the toolsets"
    )
)]

use crate::change::commits::Commits;
use crate::config::{Config, Mistake};
use crate::store::Store;
use crate::tools::{Systems, Toolset};
use std::sync::Arc;

#[cfg(feature = "git")]
fn git(config: &Config, store: &Store) -> Option<crate::git::Git> {
    config
        .toolsets
        .contains(&Toolset::Git)
        .then(|| crate::git::Git::new(store.changes().clone(), config.git.clone()))
}

pub(super) fn open(config: &Config, store: &Store) -> Systems {
    let mut systems = Systems::default();
    #[cfg(feature = "git")]
    if let Some(git) = git(config, store).map(Arc::new) {
        if !config.read_only {
            git.prepare();
        }
        systems.commits = Some(Arc::clone(&git) as Arc<dyn Commits>);
        systems.git = Some(git);
    }
    #[cfg(feature = "accomplishments")]
    {
        systems.projects =
            config.projects.clone().map(crate::accomplishments::Accomplishments::new);
    }
    #[cfg(feature = "agent")]
    if config.toolsets.contains(&Toolset::Agent) {
        let agent =
            crate::agent::Agent::new(store.clone(), systems.commits.clone(), config.agent.clone());
        systems.agent = Some(Arc::new(agent));
    }
    systems
}

/// Adds a mistake if toolset `git` cannot be served; with `is_check` gives what keeps it from
/// writing at the moment.
pub(super) fn check_repository(
    config: &Config,
    store: &Store,
    is_check: bool,
    mistakes: &mut Vec<Mistake>,
) -> Option<String> {
    #[cfg(feature = "git")]
    if let Some(git) = git(config, store) {
        match git.check() {
            Ok(()) if is_check => return git.unready_reason(),
            Ok(()) => {}
            Err(why) => {
                mistakes.push(Mistake { setting: "TOOLSETS", what: format!("has git: {why}") })
            }
        }
    }
    None
}

/// Adds a mistake if toolset `agent` cannot be served, and notes on what else is missing; describes
/// how its sessions would run.
pub(super) fn check_agent(
    config: &Config,
    store: &Store,
    mistakes: &mut Vec<Mistake>,
    notes: &mut Vec<String>,
) -> Option<String> {
    #[cfg(feature = "agent")]
    if config.toolsets.contains(&Toolset::Agent) {
        let options = &config.agent;
        let agent = crate::agent::Agent::new(store.clone(), None, options.clone());
        if !agent.has_skills() {
            notes.push(
                "the vault lacks skills for toolset agent: vault-sync-mcp init-wiki writes them"
                    .into(),
            );
        }
        if let Err(why) = agent.check() {
            mistakes.push(Mistake { setting: "TOOLSETS", what: format!("has agent: {why}") });
            return None;
        }
        return Some(format!("Claude Code {}, {}", agent.version(), options.model));
    }
    None
}
