//! Git settings that operations depend on.

use super::Failure;
use super::process::Runner;
use std::collections::BTreeSet;

/// The git settings that operations depend on.
#[derive(Debug)]
pub(super) struct Settings(Vec<(String, Option<String>)>);

impl Settings {
    pub(super) fn read(runner: &Runner<'_>) -> Result<Settings, Failure> {
        let asked = r"^(remote\..+|commit\.gpgsign|core\.(sparsecheckout|filemode|hookspath))$";
        let found = runner.run(&["config", "-z", "--get-regexp", asked])?;
        if !found.ok && !found.stderr.is_empty() {
            return Err(Failure::Git(found.words()));
        }
        // <name>\n<value>
        let pair = |part: &[u8]| {
            let part = String::from_utf8_lossy(part);
            part.split_once('\n').map_or((part.to_string(), None), |(name, value)| (name.to_owned(), Some(value.to_owned())))
        };
        Ok(Settings(found.parts().map(pair).collect()))
    }

    /// Whether a setting is true; `None` where it is not set. One without a value is true (git-config(1)).
    pub(super) fn is_true(&self, name: &str) -> Option<bool> {
        let (_, value) = self.0.iter().rev().find(|(known, _)| known == name)?;
        let is_false = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "" | "false" | "no" | "off" | "0");
        Some(!value.as_deref().is_some_and(is_false))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The names of the remotes.
    pub(super) fn remotes(&self) -> BTreeSet<&str> {
        self.0.iter().filter_map(|(name, _)| name.strip_prefix("remote.")?.rsplit_once('.')).map(|(name, _)| name).collect()
    }
}
