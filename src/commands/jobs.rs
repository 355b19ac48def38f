//! `jobs` and `lint --fix`: the sessions of toolset `agent`, for the owner.

use super::{
    FAILED, columns, fail, grants, open_vault, print, print_error, print_mistakes, systems,
    until_signal, wiki,
};
use crate::agent::ledger::{Session, sessions_of};
use crate::agent::{Agent, Progress, Watcher};
use crate::cli::Raw;
use crate::clock::Moment;
use crate::config::Config;
use crate::limits;
use crate::wiki::lint;
use std::io::Error;
use std::sync::Arc;

/// Sessions listed at most, newest first.
const LISTED: usize = 50;

pub(super) fn list(raw: &Raw) -> Result<u8, u8> {
    let failed = |error: Error| {
        fail(format!("the ledger in STATE_DIR cannot be read: {}", error.kind()), FAILED)
    };
    let sessions = sessions_of(&grants::folder(raw)?).map_err(failed)?;
    Ok(print(&table(&sessions)))
}

fn table(sessions: &[(Session, bool)]) -> String {
    let heads = [
        "BEGUN", "LOGIN", "TOOL", "MODEL", "STATUS", "TURNS", "DOLLARS", "PAGES", "REFUSED",
        "ABOUT",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    for (session, runs) in sessions.iter().rev().take(LISTED) {
        let number =
            |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        let Session { ended, .. } = session;
        let status =
            if *runs { "running" } else { ended.as_ref().map_or("lost", |ended| &ended.outcome) };
        let cost =
            ended.as_ref().and_then(|ended| ended.cost_usd).map(|dollars| format!("{dollars:.2}"));
        let (login, tool, model, about) = (
            session.login.clone(),
            session.tool.clone(),
            session.model.clone(),
            session.about.clone(),
        );
        let [turns, pages, refused] = [
            ended.as_ref().map(|ended| ended.turns as usize),
            ended.as_ref().map(|ended| ended.pages.len()),
            ended.as_ref().map(|ended| ended.refused),
        ]
        .map(number);
        let cost = cost.unwrap_or_else(|| format!("<{:.2}", session.allowed_usd));
        rows.push([
            Moment(session.at).rfc3339(),
            login,
            tool,
            model,
            status.to_owned(),
            turns,
            cost,
            pages,
            refused,
            about,
        ]);
    }
    if rows.len() == 1 {
        return "No session has been run yet.\n".into();
    }
    let since = Moment::read().0.saturating_sub(limits::AGENT_BUDGET_SPAN.as_secs());
    let spent: f64 = sessions
        .iter()
        .map(|(session, _)| session)
        .filter(|session| session.at >= since)
        .map(Session::charged_usd)
        .sum();
    format!(
        "{}\nThe last 24 hours: {spent:.2} dollars; a session that was cut off counts with its \
         whole budget.\n",
        columns(&rows)
    )
}

/// Reports on stderr what a session is doing.
struct Terminal;

impl Watcher for Terminal {
    fn has_cancelled(&self) -> bool {
        false
    }

    fn report(&self, _: &Progress, doing: &str) {
        print_error(&format!("{doing}\n"));
    }
}

pub(super) fn fix(config: Config) -> u8 {
    if config.read_only {
        return print_mistakes(["READ_ONLY is set: lint --fix would change pages"].iter());
    }
    let Some((store, _)) = open_vault(&config) else { return FAILED };
    let found = match lint::lint(store.vault()) {
        Ok(found) if found.is_empty() => return print("The wiki keeps its rules.\n"),
        Ok(found) => wiki::table(&found),
        Err(error) => {
            return fail(error, FAILED);
        }
    };
    print(&found);
    let agent = Arc::new(Agent::new(
        store.clone(),
        systems::open(&config, &store).commits,
        config.agent.clone(),
    ));
    let fixing = Arc::clone(&agent);
    let work = move || {
        let mut progress = Progress::default();
        let summary = match fixing.fix("owner", &found, &Terminal, &mut progress) {
            Ok(summary) => summary,
            Err(failure) => return fail(failure.words(), FAILED),
        };
        let written = &progress.filed.pages;
        let pages: String =
            written.iter().map(|page| format!("written  {}\n", page.path)).collect();
        let cost = progress.cost_usd.unwrap_or_default();
        print(&format!(
            "\n{summary}\n\n{pages}\n{} pages written, {cost:.2} dollars.\n",
            written.len()
        ));
        wiki::report(lint::lint(store.vault()))
    };
    until_signal(work, move || {
        agent.stop();
        agent.wait_for_writing_sessions();
    })
}
