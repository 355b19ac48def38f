//! Commits changed files for tools that know nothing of git; implemented by the repository of toolset `git`.

use super::versions::Author;
use std::fmt::Debug;

/// The outcome of [`Commits::commit_files`].
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The commit; `None` where there was nothing to commit.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What failed.
    pub trouble: Option<String>,
    /// Sentences for the caller: which files were left out of the commit or replaced by the remote's version, and why.
    pub left: Vec<String>,
    /// The files that the remote had changed too, and that have its version now.
    pub replaced: Vec<String>,
}

/// A commit history of the vault.
pub trait Commits: Debug + Send + Sync {
    /// Commits changed files as they are on disk, and pushes the commit. `summary` is the first line of the message, whose last lines
    /// name the tool and the login of the author.
    ///
    /// # Errors
    /// Why, in words; then nothing was committed, and the files are as they were.
    fn commit_files(&self, changed: &[String], summary: &str, author: &Author) -> Result<Committed, String>;
}
