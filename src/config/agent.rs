//! The settings of toolset `agent`.

use super::reader::Reader;
use super::value::expand_home;
use crate::agent::{self, Key, SessionLimits};
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Reader<'_> {
    /// `workers` is how many requests are handled at once: sessions must leave some of them free.
    pub(super) fn agent(&mut self, state: Option<&Path>, workers: usize) -> agent::Options {
        let ingest = self.route(
            ["COS_VAULT_MODEL", "COS_VAULT_MAX_TURNS", "COS_VAULT_TIMEOUT_MS"],
            SessionLimits {
                model: "claude-sonnet-4-6".into(),
                max_turns: 30,
                timeout: Duration::from_secs(180),
                settings: [""; 3],
            },
        );
        // A question is less work; but a configured model is used for both.
        let model = if self.text("COS_VAULT_MODEL").is_some() {
            ingest.model.clone()
        } else {
            "claude-haiku-4-5".into()
        };
        let query = self.route(
            ["COS_VAULT_QUERY_MODEL", "COS_VAULT_QUERY_MAX_TURNS", "COS_VAULT_QUERY_TIMEOUT_MS"],
            SessionLimits {
                model,
                max_turns: ingest.max_turns.min(20),
                timeout: ingest.timeout.min(Duration::from_secs(120)),
                settings: [""; 3],
            },
        );
        agent::Options {
            command: self.agent_command(),
            key: self.text("ANTHROPIC_API_KEY").map(|key| Key::new(key.to_owned())),
            base_url: self.base_url(),
            query,
            ingest,
            models: self.read_list("COS_VAULT_MODELS", ',', |_, model| checked_model(model)),
            max_budget_usd: self.dollars("COS_VAULT_MAX_BUDGET_USD").unwrap_or(5.0),
            daily_budget_usd: self.dollars("COS_VAULT_DAILY_BUDGET_USD"),
            attach_dirs: self.attach_dirs(),
            concurrency: self.number("COS_VAULT_CONCURRENCY", 2, 1, 64),
            callers: (workers / 4).max(1),
            state: state.map(Path::to_path_buf),
        }
    }

    fn agent_command(&mut self) -> String {
        let command = self.expand_home(self.text("AGENT_COMMAND").unwrap_or("claude"));
        if command.components().count() > 1 && !command.is_absolute() {
            self.add_mistake(
                "AGENT_COMMAND",
                "must be a name or an absolute path, without arguments",
            );
        }
        command.display().to_string()
    }

    fn base_url(&mut self) -> Option<String> {
        self.read("ANTHROPIC_BASE_URL", |url| {
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let is_url =
                rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace));
            is_url
                .then(|| url.to_owned())
                .ok_or("must be a URL that starts with https:// or http://")
        })
    }

    fn route(&mut self, settings: [&'static str; 3], default: SessionLimits) -> SessionLimits {
        let [model, turns, timeout] = settings;
        let model = self.read(model, checked_model).unwrap_or(default.model);
        let max_turns = self.number(turns, default.max_turns, 1, 1_000);
        let timeout = self.number(timeout, default.timeout.as_millis() as usize, 1_000, 3_600_000);
        SessionLimits { model, max_turns, timeout: Duration::from_millis(timeout as u64), settings }
    }

    fn dollars(&mut self, setting: &'static str) -> Option<f64> {
        let parse =
            |text: &str| text.parse().ok().filter(|dollars| (0.01..=1_000.0).contains(dollars));
        self.read(setting, |text| parse(text).ok_or("must be a number from 0.01 to 1000"))
    }

    /// Folders from which a caller may have files read, so a wrong one is an error and is not
    /// skipped.
    fn attach_dirs(&mut self) -> Vec<PathBuf> {
        let home = self.environment.home.as_deref();
        self.read_list("COS_VAULT_ATTACH_DIRS", ':', |_, name| {
            let path = expand_home(name, home);
            match path.canonicalize() {
                _ if !path.is_absolute() => {
                    Err(format!("has {name:?}, which is not an absolute path"))
                }
                Ok(real) if real.parent().is_none() => {
                    Err("has /, which is the whole machine".into())
                }
                Ok(real) if real.is_dir() => Ok(real),
                Ok(_) => Err(format!("has {name:?}, which is not a folder")),
                Err(error) => Err(format!("has {name:?}, which cannot be opened: {error}")),
            }
        })
    }
}

/// The name of a model becomes an argument of the program.
fn checked_model(model: &str) -> Result<String, String> {
    let is_odd = model.starts_with('-')
        || model.chars().any(|c| !c.is_ascii_alphanumeric() && !"-._:/@[]".contains(c));
    if is_odd { Err("is not the name of a model".into()) } else { Ok(model.to_owned()) }
}
