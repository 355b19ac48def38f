//! The owner's `HIDE` and the folders of a grant; [`Jail`](super::jail) applies them to a caller.
//! (Dotfiles are hidden from every login by [`VaultPath`] itself.)

use super::entry::name_of;
use super::path::{VaultPath, composed, rest_below};
use glob::{MatchOptions, Pattern};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The folders that a login may read, and those that it may change, which it may also read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GrantedFolders {
    /// `None`: the whole vault.
    pub read: Option<Vec<VaultPath>>,
    pub write: Vec<VaultPath>,
}

impl GrantedFolders {
    pub(crate) fn may_read(&self, path: &str) -> bool {
        self.read.as_ref().is_none_or(|folders| is_in(folders, path)) || self.may_change(path)
    }

    pub(crate) fn may_change(&self, path: &str) -> bool {
        is_in(&self.write, path)
    }

    /// Whether a folder contains one of these that exists, or that may be created.
    pub(crate) fn is_above_granted(&self, path: &str, exists: impl Fn(&VaultPath) -> bool) -> bool {
        let above = VaultPath::unchecked(path);
        let is_inner = |folder: &&VaultPath| above.contains(folder.as_str());
        self.read.iter().flatten().filter(is_inner).any(exists)
            || self.write.iter().any(|folder| is_inner(&folder))
    }
}

/// In the syntax of `API_TOKENS`.
impl fmt::Display for GrantedFolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |folders: &[VaultPath]| {
            folders
                .iter()
                .map(|folder| format!("{}/", folder.as_str()))
                .collect::<Vec<_>>()
                .join(";")
        };
        match &self.read {
            None => f.write_str("read")?,
            Some(read) if read.is_empty() => {}
            Some(read) => write!(f, "read={}", list(read))?,
        }
        let colon = if self.read.as_ref().is_some_and(Vec::is_empty) { "" } else { ":" };
        if self.write.is_empty() { Ok(()) } else { write!(f, "{colon}write={}", list(&self.write)) }
    }
}

fn is_in(folders: &[VaultPath], path: &str) -> bool {
    folders.iter().any(|folder| rest_below(path, folder.as_str()).is_some())
}

/// A pattern of `HIDE`, in lower case.
#[derive(Debug)]
struct HidePattern {
    glob: Pattern,
    /// With a slash at the beginning or in the middle it is a path from the root, else a name in
    /// any folder.
    is_path: bool,
    folders_only: bool,
}

/// The patterns of `HIDE`. Everything in a hidden folder is hidden.
#[derive(Debug, Default)]
pub struct Hidden(Vec<HidePattern>);

impl Hidden {
    /// Parses patterns separated by `;`.
    ///
    /// # Errors
    /// The first pattern that is none, or that means something else in a `.gitignore`: with `!`
    /// before it, a backslash, or a named class.
    pub fn parse(text: &str) -> Result<Hidden, String> {
        let patterns = text.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
        patterns
            .map(|pattern| HidePattern::parse(pattern).ok_or_else(|| pattern.to_owned()))
            .collect::<Result<_, _>>()
            .map(Hidden)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn hides(&self, path: &str, is_folder: impl Fn() -> bool) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let lower = lower_case(path);
        let ends = lower.match_indices('/').map(|(at, _)| at).chain([lower.len()]);
        ends.filter_map(|end| lower.split_at_checked(end)).any(|(above, rest)| {
            let is_folder = || !rest.is_empty() || is_folder();
            self.0
                .iter()
                .any(|pattern| pattern.matches(above) && (!pattern.folders_only || is_folder()))
        })
    }
}

impl HidePattern {
    fn parse(pattern: &str) -> Option<HidePattern> {
        if pattern.starts_with('!') || pattern.contains('\\') || pattern.contains("[:") {
            return None;
        }
        let (pattern, folders_only) =
            pattern.strip_suffix('/').map_or((pattern, false), |rest| (rest, true));
        let is_path = pattern.contains('/');
        let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        if pattern.is_empty() {
            return None;
        }
        let glob = Pattern::new(&lower_case(pattern)).ok()?;
        Some(HidePattern { glob, is_path, folders_only })
    }

    fn matches(&self, path: &str) -> bool {
        const NO_SLASH: MatchOptions = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        self.glob.matches_with(if self.is_path { path } else { name_of(path) }, NO_SLASH)
    }
}

/// A path or pattern as they are compared; `glob` ignores the case of ASCII only.
fn lower_case(text: &str) -> String {
    composed(text).chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_hides_a_name_anywhere_or_a_path_from_the_root() {
        let hides =
            |patterns: &str, path: &str| Hidden::parse(patterns).unwrap().hides(path, || false);
        for (patterns, path, expected) in [
            ("*.pdf", "a/b.pdf", true),
            ("*.pdf", "a/b.md", false),
            ("Private", "Private/x.md", true),
            ("private", "a/PRIVATE/x.md", true),
            ("Private/", "a/Private/x.md", true),
            ("Private/", "Private", false),
            ("ÄPFEL/", "a\u{308}pfel/x.md", true),
            ("/Private", "Private", true),
            ("/Private", "a/Private", false),
            ("a/*.md", "a/b.md", true),
            ("a/*.md", "a/b/c.md", false),
            ("a/**", "a/b/c.md", true),
            ("**/secret.md", "x/y/secret.md", true),
            ("**/secret.md", "secret.md", true),
            ("**", "x", true),
            ("x[!0]y", "x/y", false),
            ("a/**/z.md", "a/z.md", true),
            ("n?te[0-9].md", "note7.md", true),
            ("n?te[!0-9].md", "note7.md", false),
            ("N[A-C].md", "nb.md", true),
            ("n[!]a].md", "nb.md", true),
            ("[[]x]", "[x]", true),
            ("a.b", "axb", false),
            ("*.pdf; b/ ", "b/x.md", true),
        ] {
            assert_eq!(hides(patterns, path), expected, "{patterns} {path}");
        }
        for pattern in ["[a", "/", "!keep.md", r"\[x\]", "n[[:digit:]].md", "a**b"] {
            assert_eq!(Hidden::parse(&format!("ok;{pattern}")).unwrap_err(), pattern);
        }
    }
}
