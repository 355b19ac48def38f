//! Checks of a configuration, which may have mistakes, against this machine: whether the folders
//! and repository that it names can be used.

use super::systems;
use crate::config::{Config, Mistake, Purpose};
use crate::disk;
use crate::store::Store;
use crate::vault::Vault;
use std::io::ErrorKind;
use std::sync::Arc;

/// What was found in the vault.
pub(super) struct Probed {
    pub(super) store: Store,
    /// With `is_check`: what keeps toolset `git` from writing at the moment.
    pub(super) trouble: Option<String>,
    /// How sessions of toolset `agent` would run.
    pub(super) sessions: Option<String>,
}

/// Adds what keeps the program from starting or, with `is_check`, from writing; and notes on what
/// else is missing. `None` if the vault's path was already reported or it cannot be opened.
pub(super) fn probe(
    config: &Config,
    purpose: Purpose,
    is_check: bool,
    mistakes: &mut Vec<Mistake>,
    notes: &mut Vec<String>,
) -> Option<Probed> {
    let mut add = |setting, what: String| mistakes.push(Mistake { setting, what });
    // The folder itself is created once all else is right.
    if let Some(folder) = config.state_dir.as_deref().filter(|_| purpose == Purpose::Network)
        && let Err(error) =
            disk::try_writing(folder.ancestors().find(|above| above.is_dir()).unwrap_or(folder))
    {
        add("STATE_DIR", format!("cannot be written: {error}"));
    }
    if config.vault_path.as_os_str().is_empty() {
        return None;
    }
    // A full disk may be freed while the server runs; a missing permission has to be reported at
    // the start.
    if purpose == Purpose::Network
        && !config.read_only
        && let Err(error) = disk::try_writing(&config.vault_path)
        && (is_check
            || matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem))
    {
        let why = error.kind();
        add(
            "VAULT_PATH",
            format!(
                "cannot be written: {why}. Run this as the user who owns the vault (sudo -u USER), \
                 free disk space, or set READ_ONLY=true"
            ),
        );
    }
    let opened = Vault::open_with(&config.vault_path, Arc::clone(&config.hidden));
    let opened = opened
        .inspect_err(|error| add("VAULT_PATH", format!("cannot be opened: {}", error.kind())));
    let store = Store::new(opened.ok()?, None);
    let trouble = systems::check_repository(config, &store, is_check, mistakes);
    let sessions = systems::check_agent(config, &store, mistakes, notes);
    Some(Probed { store, trouble, sessions })
}
