//! What takes changed files as commits: the repository of toolset `git`, for tools that know nothing of git.

use std::fmt::Debug;

/// What became of files that were changed without toolset `git`.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The commit; `None` where there was nothing to commit.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What failed.
    pub trouble: Option<String>,
    /// What is not in it, and why.
    pub left: Vec<String>,
}

/// A history of the vault that is made of commits.
pub trait Commits: Debug + Send + Sync {
    /// Commits files that are changed already, as they are on disk, and pushes them. `summary` is the first line of the message,
    /// `login` who changed them.
    ///
    /// # Errors
    /// Why, in words; then nothing was committed, and the files are as they were.
    fn commit_files(&self, changed: &[String], summary: &str, login: &str) -> Result<Committed, String>;
}
