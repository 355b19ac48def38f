//! Where the repository of a vault is.

use super::Failure;
use super::process::Runner;
use std::path::{Path, PathBuf};

/// Found once: what is written into the vault later must not make git find another repository.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    /// The top of the working tree.
    pub(super) top: PathBuf,
    /// Where the vault lies below the top: empty, or with a slash at the end.
    pub(super) prefix: String,
    /// The folder of this working tree's index and HEAD.
    pub(super) git_dir: PathBuf,
    /// The folder of the hooks.
    pub(super) hooks: PathBuf,
}

impl Folders {
    /// The repository of a vault's folder, as git finds it: only git can say whether it is one, and
    /// whether its owner is trusted. It has to be that of the nearest `.git`: git skips a damaged
    /// one and searches further up, and the repository of a whole home directory, with another
    /// remote, must not get these notes.
    pub(super) fn find(vault: &Path, runner: Runner<'_>) -> Result<Folders, Failure> {
        let nearest =
            vault.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        let unusable = |words: &str| {
            Failure::Refused(format!(
                "the vault is not in a git repository that the server may use: {words}"
            ))
        };
        let Some(nearest) = nearest else {
            return Err(unusable(
                "there is no .git in its folder, nor in one above (git init makes one)",
            ));
        };
        let runner = Runner { folder: nearest.to_path_buf(), ..runner };
        let found = runner.run(&[
            "rev-parse",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-path",
            "hooks",
        ])?;
        if !found.ok {
            return Err(unusable(&found.words()));
        }
        let text = found.line();
        let mut lines = text.lines().map(|line| nearest.join(line));
        let (Some(top), Some(git_dir), Some(hooks)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(unusable("git does not say where it is"));
        };
        if nearest.canonicalize().ok() != top.canonicalize().ok() {
            return Err(unusable(
                "git does not accept the nearest .git and takes another one above; run git status \
                 there",
            ));
        }
        let below = vault
            .strip_prefix(nearest)
            .ok()
            .and_then(Path::to_str)
            .ok_or_else(|| unusable("its path is not UTF-8"))?;
        if below.split('/').any(|name| name == ".git") {
            return Err(unusable(
                "the vault lies in the folder of a repository, not in its working tree",
            ));
        }
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        Ok(Folders { top, prefix, git_dir, hooks })
    }
}
