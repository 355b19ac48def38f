//! What is configured for one toolset alone.

use super::{Reader, expand_home};
use crate::agent::{self, Key};
use crate::git;
use crate::tools::{Criteria, Toolset};
use crate::vault::VaultPath;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that `CONTEXT_CONFIG` names. It may have other keys; they are not ours.
#[derive(Deserialize)]
struct ContextFile {
    vault_path: Option<String>,
    default_context: Option<DefaultContext>,
}

#[derive(Deserialize)]
struct DefaultContext {
    #[serde(default)]
    properties: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    tags: Vec<String>,
}

impl ContextFile {
    fn parse(text: &str) -> Result<ContextFile, String> {
        let value = crate::yaml::parse(text).map_err(|error| format!("it is {error}"))?;
        serde_yaml::from_value(value).map_err(|error| error.to_string())
    }
}

impl Reader<'_> {
    pub(super) fn git(&mut self) -> git::Options {
        git::Options {
            remote: self.git_name("GIT_REMOTE", "origin"),
            branch: self.git_name("GIT_BRANCH", "main"),
            timeout: Duration::from_millis(self.number("GIT_TIMEOUT_MS", 30_000, 1_000, 600_000) as u64),
        }
    }

    /// `workers` are the requests that are handled at one time: sessions must leave some of them free.
    pub(super) fn agent(&mut self, home: Option<&str>, state: Option<&Path>, workers: usize) -> agent::Options {
        agent::Options {
            command: self.agent_command(home),
            key: self.text("ANTHROPIC_API_KEY").map(|key| Key::new(key.to_owned())),
            base_url: self.base_url(),
            model: self.model(),
            max_turns: self.number("COS_VAULT_MAX_TURNS", 30, 1, 1_000),
            max_budget_usd: self.dollars("COS_VAULT_MAX_BUDGET_USD", 5.0),
            timeout: Duration::from_millis(self.number("COS_VAULT_TIMEOUT_MS", 180_000, 1_000, 3_600_000) as u64),
            attach_dirs: self.attach_dirs(home),
            concurrency: self.number("COS_VAULT_CONCURRENCY", 2, 1, 64),
            callers: (workers / 2).max(1),
            state: state.map(Path::to_path_buf),
        }
    }

    fn agent_command(&mut self, home: Option<&str>) -> String {
        let command = expand_home(self.text("AGENT_COMMAND").unwrap_or("claude"), home);
        if command.components().count() > 1 && !command.is_absolute() {
            self.wrong("AGENT_COMMAND", "must be a name or an absolute path, without arguments");
        }
        command.display().to_string()
    }

    fn base_url(&mut self) -> Option<String> {
        let url = self.text("ANTHROPIC_BASE_URL")?.to_owned();
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.contains(char::is_whitespace)) {
            self.wrong("ANTHROPIC_BASE_URL", "must be a URL that starts with https:// or http://");
        }
        Some(url)
    }

    /// The name of a model, which becomes an argument of the program.
    fn model(&mut self) -> String {
        let model = self.text("COS_VAULT_MODEL").unwrap_or("claude-sonnet-4-6").to_owned();
        if model.starts_with('-') || model.chars().any(|c| !c.is_ascii_alphanumeric() && !"-._:/@[]".contains(c)) {
            self.wrong("COS_VAULT_MODEL", "is not the name of a model");
        }
        model
    }

    fn dollars(&mut self, setting: &'static str, default: f64) -> f64 {
        let Some(text) = self.text(setting) else { return default };
        match text.parse::<f64>() {
            Ok(dollars) if (0.01..=1_000.0).contains(&dollars) => dollars,
            _ => {
                self.wrong(setting, "must be a number from 0.01 to 1000");
                default
            }
        }
    }

    /// Folders from which a caller may have files read, so each has to be one that somebody meant.
    fn attach_dirs(&mut self, home: Option<&str>) -> Vec<PathBuf> {
        let named = self.text("COS_VAULT_ATTACH_DIRS").unwrap_or_default().to_owned();
        let mut folders = Vec::new();
        for name in named.split(':').map(str::trim).filter(|name| !name.is_empty()) {
            let path = expand_home(name, home);
            match path.canonicalize() {
                _ if !path.is_absolute() => self.wrong("COS_VAULT_ATTACH_DIRS", format!("has {name:?}, which is not an absolute path")),
                Ok(real) if real.parent().is_none() => self.wrong("COS_VAULT_ATTACH_DIRS", "has /, which is the whole machine"),
                Ok(real) if real.is_dir() => folders.push(real),
                Ok(_) => self.wrong("COS_VAULT_ATTACH_DIRS", format!("has {name:?}, which is not a folder")),
                Err(error) => self.wrong("COS_VAULT_ATTACH_DIRS", format!("has {name:?}, which cannot be opened: {}", error.kind())),
            }
        }
        folders
    }

    /// The name of a remote or branch, which becomes an argument of git's and part of a ref's name.
    fn git_name(&mut self, setting: &'static str, default: &str) -> String {
        let name = self.text(setting).unwrap_or(default).to_owned();
        let fine = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '@');
        if !name.chars().all(fine) || name.starts_with(['-', '/', '.']) || name.ends_with('/') || name.contains("..") {
            self.wrong(setting, "is not a name that git allows");
        }
        name
    }

    /// The places of toolset `accomplishments`, which has no sensible defaults for them.
    pub(super) fn projects(&mut self) -> Option<crate::accomplishments::Options> {
        if !self.toolsets_named().any(|name| name == "all" || name == Toolset::Accomplishments.name()) {
            return None;
        }
        let folder = self.below_vault("ACCOMPLISHMENTS_FOLDER", true, VaultPath::folder);
        let canvas = self.below_vault("DEFAULT_CANVAS", true, VaultPath::file);
        let docs = self.below_vault("CONTEXT_DOCS_FOLDER", false, VaultPath::folder);
        if canvas.as_ref().is_some_and(|canvas| !canvas.as_str().to_lowercase().ends_with(".canvas")) {
            self.wrong("DEFAULT_CANVAS", "must be a file that ends in .canvas");
        }
        Some(crate::accomplishments::Options { folder: folder?, canvas: canvas?, docs })
    }

    fn below_vault(
        &mut self,
        setting: &'static str,
        required: bool,
        parse: fn(&str) -> Result<VaultPath, crate::vault::Error>,
    ) -> Option<VaultPath> {
        let Some(text) = self.text(setting) else {
            if required {
                self.wrong(setting, "is required for toolset accomplishments: a path in the vault");
            }
            return None;
        };
        match parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                let why = error.to_string();
                self.wrong(setting, why);
                None
            }
        }
    }

    /// The file of the system that the `context` tools come from, as it is there.
    pub(super) fn default_context(&mut self, home: Option<&str>, vault: Option<&Path>) -> Option<Criteria> {
        let path = expand_home(self.text("CONTEXT_CONFIG")?, home);
        let read = std::fs::read_to_string(&path).map_err(|error| format!("cannot be read: {}", error.kind()));
        let parsed = read.and_then(|text| ContextFile::parse(&text).map_err(|why| format!("is not what it should be: {why}")));
        match parsed {
            Err(why) => {
                self.wrong("CONTEXT_CONFIG", why);
                None
            }
            Ok(file) => {
                let other = file.vault_path.as_deref().map(|path| expand_home(path, home)).filter(|path| Some(path.as_path()) != vault);
                if other.is_some() {
                    self.notes.push("CONTEXT_CONFIG has a vault_path that is not VAULT_PATH; it is ignored".into());
                }
                file.default_context.map(|wanted| Criteria {
                    properties: wanted.properties.into_iter().collect(),
                    tags: wanted.tags,
                    all_tags: false,
                })
            }
        }
    }
}
