//! Git settings that operations depend on.

use super::Failure;
use super::process::Runner;
use std::collections::{BTreeMap, BTreeSet};

/// The git settings that operations depend on.
#[derive(Debug)]
pub(super) struct Settings(pub(super) BTreeMap<String, String>);

impl Settings {
    pub(super) fn read(runner: &Runner<'_>) -> Result<Settings, Failure> {
        let asked = r"^(remote\..+|commit\.gpgsign|core\.(sparsecheckout|filemode|hookspath))$";
        let found = runner.run(&["config", "-z", "--get-regexp", asked])?;
        if !found.ok && !found.stderr.is_empty() {
            return Err(Failure::Git(found.words()));
        }
        let text = String::from_utf8_lossy(&found.stdout);
        // <name>\n<value>; one without a value is true (git-config(1)).
        let pairs =
            text.split_terminator('\0').map(|part| part.split_once('\n').unwrap_or((part, "true")));
        Ok(Settings(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    /// Whether a setting is true; `None` where it is not set.
    pub(super) fn is_true(&self, name: &str) -> Option<bool> {
        self.0.get(name).map(|value| {
            !matches!(value.to_ascii_lowercase().as_str(), "" | "false" | "no" | "off" | "0")
        })
    }

    /// The names of the remotes.
    pub(super) fn remotes(&self) -> BTreeSet<&str> {
        self.0
            .keys()
            .filter_map(|name| name.strip_prefix("remote.")?.rsplit_once('.'))
            .map(|(name, _)| name)
            .collect()
    }
}
