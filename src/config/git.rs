//! The settings of toolset `git`.

use super::reader::Reader;
use crate::git;
use std::time::Duration;

impl Reader<'_> {
    pub(super) fn git(&mut self) -> git::Options {
        git::Options {
            remote: self.git_name("GIT_REMOTE", "origin"),
            branch: self.git_name("GIT_BRANCH", "main"),
            timeout: Duration::from_millis(self.number("GIT_TIMEOUT_MS", 30_000, 1_000, 600_000) as u64),
        }
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
}
