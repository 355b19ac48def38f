//! `check`: what would be served, and every mistake.

use super::probes::{self, Probed};
use super::{environment, print, print_mistakes, serve};
use crate::cli::Raw;
use crate::config::{Config, Mistake, Purpose};
use crate::http::server;
use crate::tools::Toolset;
use crate::vault::{Vault, VaultPath};
use std::collections::BTreeSet;
use std::io::ErrorKind;

pub(super) fn check(raw: &Raw) -> u8 {
    let (config, mut mistakes) = Config::with_mistakes(raw, Purpose::Network, &environment());
    super::start_logging(config.log_level.min(log::LevelFilter::Warn));
    let mut notes = config.warnings.clone();
    let probed = probes::probe(&config, Purpose::Network, true, &mut mistakes, &mut notes);
    if let Some(trouble) = probed.as_ref().and_then(|probed| probed.trouble.as_ref()) {
        notes.push(format!("toolset git cannot write anything at the moment: {trouble}"));
    }
    if let Some(Err(error)) = probed.as_ref().map(|probed| probed.store.vault().refresh()) {
        mistakes.push(Mistake { setting: "VAULT_PATH", what: error.to_string() });
    }
    let is_listen_wrong = mistakes.iter().any(|mistake| mistake.setting == "LISTEN_ADDR");
    match server::bind(config.listen) {
        _ if is_listen_wrong => {}
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            notes.push(format!(
                "LISTEN_ADDR: something is already listening on {}: this server, if it is running",
                config.listen
            ));
        }
        Err(error) => mistakes.push(Mistake {
            setting: "LISTEN_ADDR",
            what: format!("cannot be used: {error}{}", serve::hint(&error)),
        }),
    }
    if let Some(Probed { store, sessions, .. }) = probed {
        let vault = store.vault();
        notes.extend(missing_folders(&config, vault));
        if vault.size() == 0 {
            notes.push("VAULT_PATH has no files that are served".into());
        }
        print(&summary(&config, vault.size(), sessions, &mistakes));
    }
    for note in &notes {
        print(&format!("Note: {note}\n"));
    }
    if mistakes.is_empty() {
        return print(if notes.is_empty() {
            "Everything is in order.\n"
        } else {
            "Nothing is wrong, but see the notes above.\n"
        });
    }
    print_mistakes(mistakes.iter())
}

/// Notes on folders to which tokens are limited, and which do not exist.
fn missing_folders(config: &Config, vault: &Vault) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, secret) in config.logins.tokens.iter().chain(&config.logins.machines) {
        let folders = secret
            .folders
            .iter()
            .flat_map(|folders| folders.read.iter().flatten().chain(&folders.write));
        let missing = folders.filter(|folder| !vault.absolute(folder.as_str()).exists());
        for folder in missing.map(VaultPath::as_str).collect::<BTreeSet<_>>() {
            notes.push(format!(
                "{name} is limited to {folder}/, which does not exist (upper and lower case \
                 differ)"
            ));
        }
    }
    notes
}

fn summary(
    config: &Config,
    files: usize,
    session_description: Option<String>,
    mistakes: &[Mistake],
) -> String {
    let names =
        |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let state = config
        .state_dir
        .as_ref()
        .map_or("in memory: logins end with the server".to_owned(), |folder| {
            folder.display().to_string()
        });
    let lines = [
        ("VAULT_PATH", "vault", format!("{} ({files} files)", config.vault_path.display())),
        ("LISTEN_ADDR", "listen", config.listen.to_string()),
        ("SERVER_URL", "MCP endpoint", format!("{}/mcp", config.origin)),
        ("AUTH_USERS", "users", names(config.logins.users.keys().map(String::as_str).collect())),
        (
            "CLIENT_CREDENTIALS",
            "machine clients",
            names(config.logins.machines.keys().map(String::as_str).collect()),
        ),
        (
            "API_TOKENS",
            "API tokens",
            names(config.logins.tokens.keys().map(String::as_str).collect()),
        ),
        ("STATE_DIR", "state", state),
        (
            "TOOLSETS",
            "toolsets",
            names(config.toolsets.iter().copied().map(Toolset::name).collect()),
        ),
        ("READ_ONLY", "read-only", config.read_only.to_string()),
    ];
    let lines = lines
        .into_iter()
        .chain(session_description.map(|description| ("", "sessions", description)));
    let is_wrong = |setting: &str| mistakes.iter().any(|mistake| mistake.setting == setting);
    let shown = lines.map(|(setting, name, value)| {
        (name, if is_wrong(setting) { "see the mistakes below".to_owned() } else { value })
    });
    shown.map(|(name, value)| format!("{name:<16}{value}\n")).collect()
}
