//! A session's own folder, outside the vault: its copy of the vault, its plugin, its system prompt,
//! its temporary files. It is removed with the session; what a crash leaves is removed by the next
//! one, and by the next start.

use super::copy::WorkingCopy;
use super::skills::{self, Skill};
use super::{SESSION_DIR, Work};
use crate::disk;
use crate::secret;
use crate::vault::Vault;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Locked while the session runs; one that is not locked belongs to a session that is over.
const LOCK: &str = "lock";

/// The folder.
#[derive(Debug)]
pub(super) struct SessionDir {
    pub(super) folder: PathBuf,
    /// Where the program keeps its own files.
    pub(super) home: PathBuf,
    /// For its temporary files.
    pub(super) temporary: PathBuf,
    pub(super) copy: WorkingCopy,
    _lock: Option<File>,
}

impl SessionDir {
    /// Makes the folder, in the state folder if there is one.
    ///
    /// # Errors
    /// What the disk says; then nothing is left behind.
    pub(super) fn make(
        state: Option<&Path>,
        vault: &Vault,
        skills: &[Skill],
        system_prompt: &str,
        work: Work,
        keep_going: &dyn Fn() -> bool,
    ) -> io::Result<SessionDir> {
        remove_finished(state);
        let base = base(state);
        disk::create_private_folder(&base)?;
        // Sessions name their files by canonical paths.
        let base = base.canonicalize()?;
        let folder = base.join(format!("{SESSION_DIR}{}", secret::new_id()));
        disk::create_private_folder(&folder)?;
        let fill = || {
            let _lock = disk::take_lock(&folder.join(LOCK))?;
            let home = state.map_or_else(|| folder.join("home"), |_| base.join("home"));
            let (temporary, plugin) = (folder.join("tmp"), folder.join("plugin"));
            for made in [&home, &temporary, &plugin] {
                disk::create_private_folder(made)?;
            }
            skills::write_plugin(skills, &plugin)?;
            skills::put(&folder.join("system.md"), system_prompt.as_bytes())?;
            let copy = WorkingCopy::make(vault, folder.join("vault"), work, keep_going)?;
            Ok(SessionDir { folder: folder.clone(), home, temporary, copy, _lock })
        };
        fill().inspect_err(|_| drop(disk::remove_own_folder(&folder)))
    }
}

impl Drop for SessionDir {
    fn drop(&mut self) {
        if let Err(error) = disk::remove_own_folder(&self.folder) {
            log::warn!("agent: a session's folder could not be removed: {}", error.kind());
        }
    }
}

/// Whether the session of a folder runs, in this process or another; `None` where that is unknown.
fn is_running(folder: &Path) -> Option<bool> {
    let lock = folder.join(LOCK);
    // A folder without a lock file is just being created, or was never finished: it is left alone.
    lock.is_file().then(|| disk::take_lock(&lock).ok()).flatten().map(|lock| lock.is_none())
}

/// Where the folders of sessions are.
fn base(state: Option<&Path>) -> PathBuf {
    state.map_or_else(std::env::temp_dir, |state| state.join("agent"))
}

/// Removes the folders of sessions that are over.
pub(super) fn remove_finished(state: Option<&Path>) {
    let Ok(entries) = std::fs::read_dir(base(state)) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(SESSION_DIR));
        if is_ours && is_running(&entry.path()) == Some(false) {
            let _ = disk::remove_own_folder(&entry.path());
        }
    }
}
