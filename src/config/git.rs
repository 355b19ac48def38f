//! The settings of toolset `git`.

use super::reader::Reader;
use crate::git;
use std::time::Duration;

impl Reader<'_> {
    pub(super) fn git(&mut self) -> git::Options {
        git::Options {
            remote: self.git_name("GIT_REMOTE", "origin"),
            branch: self.git_name("GIT_BRANCH", "main"),
            timeout: Duration::from_millis(
                self.number("GIT_TIMEOUT_MS", 30_000, 1_000, 600_000) as u64
            ),
        }
    }

    /// The name of a remote or branch, which becomes an argument of git's and part of a ref's name.
    fn git_name(&mut self, setting: &'static str, default: &str) -> String {
        let is_fine =
            |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '@');
        let name = self.read(setting, |name| {
            let is_odd = !name.chars().all(is_fine)
                || name.starts_with(['-', '/', '.'])
                || name.ends_with('/')
                || name.contains("..");
            if is_odd { Err("is not a name that git allows") } else { Ok(name) }
        });
        name.unwrap_or(default).to_owned()
    }
}
