//! `undo`, for the owner: takes back everything that one login has done.

use super::grants::{folder, refuse_other_user, whole_id};
use super::{FAILED, WRONG, fail, print, systems};
use crate::change::log::Log;
use crate::change::undo::{Scope, Undone};
use crate::cli::Raw;
use crate::clock::Moment;
use crate::config::Config;
use crate::store::Store;
use crate::vault::Vault;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Exit code 0 when all was taken back, 1 when something was left alone or the log does not have
/// all changes.
pub(super) fn undo(
    raw: &Raw,
    config: &Config,
    login: &str,
    since: Duration,
    dry_run: bool,
) -> Result<u8, u8> {
    let failed = |why: String| fail(why, FAILED);
    let state_dir = folder(raw)?;
    refuse_other_user(&state_dir, "undo")?;
    if !config.versions {
        return Err(fail("VERSIONS is 0: nothing was kept", WRONG));
    }
    let log = Log::at(&state_dir);
    let vault = Vault::open(&config.vault_path)
        .map_err(|error| failed(format!("the vault cannot be opened: {}", error.kind())))?;
    let store = Store::new(vault, Some(Arc::clone(&log)));
    let now = Moment::read();
    let kept = log.past().map_err(|error| failed(format!("STATE_DIR: {}", error.kind())))?;
    let logins: BTreeSet<String> = kept.lines.into_iter().map(|line| line.by).collect();
    // As the log shows them.
    let login =
        login.strip_prefix("token:").or_else(|| login.strip_prefix("client:")).unwrap_or(login);
    let login = match whole_id(logins.iter(), login) {
        Ok(login) => login,
        Err(_) if logins.is_empty() => login.to_owned(),
        Err(why) => {
            let logins = Vec::from_iter(logins).join(", ");
            return Err(failed(format!("{why}; changes are kept of: {logins}")));
        }
    };
    let login = login.as_str();
    let commits = if dry_run { None } else { systems::open(config, &store).commits };
    let since = Moment(now.0.saturating_sub(since.as_secs()));
    let undone = store
        .changes()
        .undo_for_owner("", login, Scope::Since(since), dry_run, commits.as_deref())
        .map_err(|error| failed(error.to_string()))?;
    print(&report(&undone, login, dry_run));
    Ok(if undone.left.is_empty() { 0 } else { FAILED })
}

fn report(undone: &Undone, login: &str, dry_run: bool) -> String {
    if undone.done.is_empty() && undone.left.is_empty() {
        return format!("{login} has changed nothing in that time that is not undone already.\n");
    }
    let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let left = if undone.left.is_empty() {
        String::new()
    } else {
        format!("\nLeft alone:\n{}", lines(&undone.left))
    };
    let word = if dry_run { "would be taken back" } else { "taken back" };
    format!(
        "{}{left}\n{} changes {word}, {} left alone.\n",
        lines(&undone.done),
        undone.done.len(),
        undone.left.len()
    )
}
