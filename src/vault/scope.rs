//! Which parts of a vault exist for a caller: decided only here, from the owner's `HIDE` and the folders of a grant. (Dotfiles
//! are hidden from every login by [`VaultPath`] itself.)

use super::path::{VaultPath, is_hidden, rest_below};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// The folders that a login may read, and those that it may change, which it may also read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GrantedFolders {
    /// `None`: the whole vault.
    pub read: Option<Vec<VaultPath>>,
    pub write: Vec<VaultPath>,
}

impl GrantedFolders {
    fn may_read(&self, path: &str) -> bool {
        self.read.as_ref().is_none_or(|folders| is_in(folders, path)) || self.may_change(path)
    }

    fn may_change(&self, path: &str) -> bool {
        is_in(&self.write, path)
    }

    /// Whether a folder contains one of these that exists on disk or may be created.
    fn is_above_granted(&self, root: &Path, path: &str) -> bool {
        let composed_path = composed(path);
        let is_inner = |folder: &&VaultPath| VaultPath::unchecked(&composed_path).contains(&composed(folder.as_str()));
        let exists = |folder: &VaultPath| !folder.as_str().is_ascii() || root.join(folder.as_str()).is_dir();
        self.read.iter().flatten().filter(is_inner).any(exists) || self.write.iter().any(|folder| is_inner(&folder))
    }
}

/// In the syntax of `API_TOKENS`.
impl fmt::Display for GrantedFolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |folders: &[VaultPath]| folders.iter().map(|folder| format!("{}/", folder.as_str())).collect::<Vec<_>>().join(";");
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
    let path = composed(path);
    folders.iter().any(|folder| rest_below(&path, &composed(folder.as_str())).is_some())
}

/// A string in NFC: macOS writes names in NFD, and both look the same.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfc().collect::<String>().into() }
}

/// A pattern of `HIDE`.
#[derive(Debug)]
struct Pattern {
    matches: Regex,
    is_negated: bool,
    folders_only: bool,
}

/// The patterns of `HIDE`, as in gitignore(5): the last match decides, and everything in a hidden folder is hidden.
#[derive(Debug, Default)]
pub struct Hidden(Vec<Pattern>);

impl Hidden {
    /// Parses patterns separated by `;`.
    ///
    /// # Errors
    /// The first invalid pattern.
    pub fn parse(text: &str) -> Result<Hidden, String> {
        let text = composed(text);
        let patterns = text.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
        patterns.map(|pattern| Pattern::parse(pattern).ok_or_else(|| pattern.to_owned())).collect::<Result<_, _>>().map(Hidden)
    }

    fn hides(&self, root: &Path, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let composed = composed(path);
        let path = &*composed;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.split_at_checked(end)).any(|(above, rest)| {
            let is_folder = || !rest.is_empty() || root.join(above).is_dir();
            let last = self.0.iter().rev().find(|pattern| pattern.matches.is_match(above) && (!pattern.folders_only || is_folder()));
            last.is_some_and(|pattern| !pattern.is_negated)
        })
    }
}

impl Pattern {
    fn parse(pattern: &str) -> Option<Pattern> {
        let (pattern, is_negated) = pattern.strip_prefix('!').map_or((pattern, false), |rest| (rest, true));
        let (pattern, folders_only) = pattern.strip_suffix('/').map_or((pattern, false), |rest| (rest, true));
        // A slash at the beginning or in the middle anchors the pattern at the root.
        let mut expression = if pattern.contains('/') { String::from("^") } else { String::from("^(?:.*/)?") };
        let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
        if rest.is_empty() {
            return None;
        }
        while let Some(first) = rest.chars().next() {
            let (translated, length) = if rest.starts_with("**/") {
                ("(?:.*/)?".to_owned(), 3)
            } else if rest.starts_with("**") {
                (".*".to_owned(), 2)
            } else {
                match first {
                    '*' => ("[^/]*".to_owned(), 1),
                    '?' => ("[^/]".to_owned(), 1),
                    '[' => {
                        let end = rest.char_indices().skip(2).find(|(_, c)| *c == ']')?.0;
                        let class = rest.get(1..end)?;
                        let (negated, class) = class.strip_prefix(['!', '^']).map_or(("", class), |class| ("^", class));
                        (format!("[{negated}{}]", class.replace(['\\', '['], "")), end + 1)
                    }
                    '\\' => {
                        let escaped = rest.chars().nth(1)?;
                        (regex::escape(&escaped.to_string()), 1 + escaped.len_utf8())
                    }
                    plain => (regex::escape(&plain.to_string()), plain.len_utf8()),
                }
            };
            expression.push_str(&translated);
            rest = rest.get(length..)?;
        }
        Some(Pattern { matches: Regex::new(&format!("{expression}$")).ok()?, is_negated, folders_only })
    }
}

/// What exists for a caller.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) hidden: Arc<Hidden>,
    /// `None`: everything.
    pub(super) folders: Option<Arc<GrantedFolders>>,
}

impl Scope {
    /// Whether nothing is hidden, and no grant limits the caller.
    pub(super) fn is_everything(&self) -> bool {
        self.folders.is_none() && self.hidden.0.is_empty()
    }

    /// Whether a path below the root exists for the caller, provided it exists on disk.
    pub(super) fn shows(&self, root: &Path, path: &str) -> bool {
        let is_granted = |folders: &Arc<GrantedFolders>| path.is_empty() || folders.may_read(path) || folders.is_above_granted(root, path);
        self.folders.as_ref().is_none_or(is_granted) && !self.hidden.hides(root, path)
    }

    /// Whether a folder contains anything on disk that the owner hides or, with `copies`, conflict copies. Dotfiles belong to the folder.
    pub(super) fn has_hidden(&self, root: &Path, folder: &str, copies: bool, depth: usize) -> bool {
        if self.hidden.0.is_empty() && !copies || depth == 0 {
            return false;
        }
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let names =
            entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().is_ok_and(|kind| kind.is_dir()))));
        names.filter(|(name, _)| !name.starts_with('.')).any(|(name, is_folder)| {
            let path = format!("{folder}/{name}");
            self.hidden.hides(root, &path) || copies && is_hidden(&name) || is_folder && self.has_hidden(root, &path, copies, depth - 1)
        })
    }

    /// Whether the caller may change or create a file, according to the grant and `HIDE`.
    pub(super) fn may_change(&self, root: &Path, path: &str) -> bool {
        self.folders.as_ref().is_none_or(|folders| folders.may_change(path)) && !self.hidden.hides(root, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let hides = |patterns: &str, path: &str| Hidden::parse(patterns).unwrap().hides(Path::new("/nowhere"), path);
        for (patterns, path, expected) in [
            ("*.pdf", "a/b.pdf", true),
            ("*.pdf", "a/b.md", false),
            ("Private", "Private/x.md", true),
            ("Private/", "a/Private/x.md", true),
            ("Private/", "Private", false),
            ("/Private", "a/Private", false),
            ("a/*.md", "a/b.md", true),
            ("a/*.md", "a/b/c.md", false),
            ("a/**", "a/b/c.md", true),
            ("**/secret.md", "x/y/secret.md", true),
            ("a/**/z.md", "a/z.md", true),
            ("*.md;!keep.md", "keep.md", false),
            ("Private/;!Private/x.md", "Private/x.md", true),
            ("n?te[0-9].md", "note7.md", true),
            ("n?te[!0-9].md", "note7.md", false),
            ("a.b", "axb", false),
            (r"\[x\]", "[x]", true),
        ] {
            assert_eq!(hides(patterns, path), expected, "{patterns} {path}");
        }
        assert_eq!(Hidden::parse("ok;[a").unwrap_err(), "[a");
        assert!(Hidden::parse("/").is_err());
    }

    #[test]
    fn what_may_be_changed_may_be_read_and_folders_are_no_prefixes() {
        let folder = |path: &str| VaultPath::folder(path).unwrap();
        let folders = GrantedFolders { read: Some(vec![folder("Projects/A")]), write: vec![folder("Inbox")] };
        let scope = Scope { folders: Some(Arc::new(folders)), ..Scope::default() };
        let root = Path::new("/nowhere");
        for (path, shows, may_change) in [
            ("Projects/A/x.md", true, false),
            ("Projects/A", true, false),
            ("Projects/AB/x.md", false, false),
            ("Inbox/x.md", true, true),
            ("Inbox 2/x.md", false, false),
            ("x.md", false, false),
            ("", true, false),
        ] {
            assert_eq!((scope.shows(root, path), scope.may_change(root, path)), (shows, may_change), "{path}");
        }
    }
}
