//! `check`: what would be served, and every mistake.

use super::{read, say, serve, wrong};
use crate::agent::Agent;
use crate::cli::Raw;
use crate::config::{Config, For};
use crate::disk;
use crate::git::Git;
use crate::http::server::Server;
use crate::tools::Toolset;
use crate::vault::Vault;
use std::fmt::Write;
use std::io::ErrorKind;
use std::sync::Arc;

pub(super) fn check(raw: &Raw) -> u8 {
    let config = match read(raw, For::Network) {
        Ok(config) => config,
        Err(mistakes) => return wrong(mistakes.iter()),
    };
    super::start_logging(config.log_level.min(log::LevelFilter::Warn));
    let mut problems = Vec::new();
    let files = match Vault::open(&config.vault_path) {
        Err(error) => {
            problems.push(format!("VAULT_PATH (--vault-path) cannot be opened: {}", error.kind()));
            0
        }
        Ok(vault) => {
            let vault = Arc::new(vault);
            if let Err(error) = vault.refresh() {
                problems.push(format!("VAULT_PATH (--vault-path): {error}"));
            }
            if config.toolsets.contains(&Toolset::Git)
                && let Err(why) = Git::new(Arc::clone(&vault), config.git.clone()).check()
            {
                problems.push(format!("TOOLSETS (--toolsets) has git: {why}"));
            }
            if config.toolsets.contains(&Toolset::Agent)
                && let Err(why) = Agent::new(Arc::clone(&vault), None, config.agent.clone()).check()
            {
                problems.push(format!("TOOLSETS (--toolsets) has agent: {why}"));
            }
            vault.size()
        }
    };
    if !config.read_only
        && let Err(error) = disk::try_writing(&config.vault_path)
    {
        problems.push(format!(
            "VAULT_PATH (--vault-path) cannot be written: {}. Give the server's user the right, or set READ_ONLY=true",
            error.kind()
        ));
    }
    if let Some(folder) = &config.state_dir
        && let Err(error) = disk::try_writing(folder.ancestors().find(|above| above.is_dir()).unwrap_or(folder))
    {
        problems.push(format!("STATE_DIR (--state-dir) cannot be written: {}", error.kind()));
    }
    let mut notes = config.notes.clone();
    match Server::bind(config.listen, config.max_connections, config.workers) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            notes.push(format!("LISTEN_ADDR: something listens on {} already: this server, if it runs now", config.listen));
        }
        Err(error) => problems.push(format!("LISTEN_ADDR (--listen-addr): {error}{}", serve::hint(&error))),
    }
    say(&summary(&config, files));
    for note in notes {
        say(&format!("Note: {note}\n"));
    }
    if problems.is_empty() {
        return say("Everything is in order.\n");
    }
    wrong(problems.iter())
}

fn summary(config: &Config, files: usize) -> String {
    let mut text = String::new();
    let names = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let state = config.state_dir.as_ref().map_or("in memory: logins end with the server".to_owned(), |folder| folder.display().to_string());
    let lines = [
        ("vault", format!("{} ({files} files)", config.vault_path.display())),
        ("listen", config.listen.to_string()),
        ("MCP endpoint", format!("{}/mcp", config.origin)),
        ("users", names(config.logins.users.keys().map(String::as_str).collect())),
        ("machine clients", names(config.logins.machines.keys().map(String::as_str).collect())),
        ("API tokens", names(config.logins.tokens.iter().map(|(name, ..)| name.as_str()).collect())),
        ("state", state),
        ("toolsets", names(config.toolsets.iter().copied().map(Toolset::name).collect())),
        ("read-only", config.read_only.to_string()),
    ];
    for (name, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<16}{value}");
    }
    text
}
