//! The settings of toolset `agent`.

use super::reader::Reader;
use super::value::expand_home;
use crate::agent::{self, Key};
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Reader<'_> {
    /// `workers` is how many requests are handled at once: sessions must leave some of them free.
    pub(super) fn agent(&mut self, state: Option<&Path>, workers: usize) -> agent::Options {
        let timeout = self.number("COS_VAULT_TIMEOUT_MS", 180_000, 1_000, 3_600_000);
        agent::Options {
            command: self.agent_command(),
            key: self.text("ANTHROPIC_API_KEY").map(|key| Key::new(key.to_owned())),
            base_url: self.base_url(),
            model: self
                .read("COS_VAULT_MODEL", checked_model)
                .unwrap_or_else(|| "claude-sonnet-4-6".into()),
            max_turns: self.number("COS_VAULT_MAX_TURNS", 30, 1, 1_000),
            timeout: Duration::from_millis(timeout as u64),
            attach_dirs: self.attach_dirs(),
            concurrency: self.number("COS_VAULT_CONCURRENCY", 2, 1, 64),
            callers: (workers / 4).max(1),
            state: state.map(Path::to_path_buf),
        }
    }

    fn agent_command(&mut self) -> String {
        let command = self.expand_home(self.text("AGENT_COMMAND").unwrap_or("claude"));
        let is_path = command.components().count() > 1;
        let has_arguments = command.as_os_str().to_string_lossy().contains(char::is_whitespace)
            && !command.is_file();
        if is_path && !command.is_absolute() || has_arguments {
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
