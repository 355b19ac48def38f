//! Checks of a valid configuration against this machine: whether the folders and repository that it names can be used.

use super::systems;
use crate::config::{Config, Mistake, Purpose};
use crate::disk;
use crate::vault::Vault;
use std::sync::Arc;

fn mistake(setting: &'static str, what: String) -> Mistake {
    Mistake { setting, what }
}

/// The vault, unless its path was already reported or it cannot be opened.
pub(super) fn vault(config: &Config, mistakes: &mut Vec<Mistake>) -> Option<Arc<Vault>> {
    if config.vault_path.as_os_str().is_empty() {
        return None;
    }
    let opened = Vault::open_with(&config.vault_path, config.memory, Arc::clone(&config.hidden));
    let opened = opened.inspect_err(|error| mistakes.push(mistake("VAULT_PATH", format!("cannot be opened: {}", error.kind()))));
    opened.ok().map(Arc::new)
}

/// The mistakes that keep the program from starting.
pub(super) fn to_start(config: &Config, purpose: Purpose) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if let Some(vault) = vault(config, &mut mistakes) {
        systems::check_repository(config, &vault, &mut mistakes);
    }
    if purpose == Purpose::Network {
        state(config, &mut mistakes);
    }
    mistakes
}

/// Checks that logins can be stored; the folder itself is created once all else is right.
fn state(config: &Config, mistakes: &mut Vec<Mistake>) {
    if let Some(folder) = &config.state_dir
        && let Err(error) = disk::try_writing(folder.ancestors().find(|above| above.is_dir()).unwrap_or(folder))
    {
        mistakes.push(mistake("STATE_DIR", format!("cannot be written: {}", error.kind())));
    }
}

#[cfg(unix)]
/// What would make calls fail later, or logins be lost.
pub(super) fn to_work(config: &Config, vault: Option<&Arc<Vault>>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if let Some(vault) = vault {
        if let Err(error) = vault.refresh() {
            mistakes.push(mistake("VAULT_PATH", error.to_string()));
        }
        if !config.read_only
            && let Err(error) = disk::try_writing(&config.vault_path)
        {
            let why = error.kind();
            let what = format!("cannot be written: {why}. Give the server's user the right, or set READ_ONLY=true");
            mistakes.push(mistake("VAULT_PATH", what));
        }
    }
    state(config, &mut mistakes);
    mistakes
}
