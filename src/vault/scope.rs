//! The owner's `HIDE` and the folders of a grant; [`Jail`](super::jail) applies them to a caller. (Dotfiles are hidden from every login by
//! [`VaultPath`] itself.)

use super::path::{VaultPath, rest_below};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use unicode_normalization::UnicodeNormalization;

/// The folders that a login may read, and those that it may change, which it may also read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GrantedFolders {
    /// `None`: the whole vault.
    pub read: Option<Vec<VaultPath>>,
    pub write: Vec<VaultPath>,
}

impl GrantedFolders {
    pub(super) fn may_read(&self, path: &str) -> bool {
        self.read.as_ref().is_none_or(|folders| is_in(folders, path)) || self.may_change(path)
    }

    pub(super) fn may_change(&self, path: &str) -> bool {
        is_in(&self.write, path)
    }

    /// Whether a folder contains one of these that exists on disk (which is assumed of a name that is not ASCII) or may be created.
    pub(super) fn is_above_granted(&self, root: &Path, path: &str) -> bool {
        let composed_path = composed(path);
        let is_inner = |folder: &&VaultPath| {
            VaultPath::unchecked(&composed_path).contains(&composed(folder.as_str()))
        };
        let exists =
            |folder: &VaultPath| !folder.as_str().is_ascii() || root.join(folder.as_str()).is_dir();
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

/// The patterns of `HIDE`, as in gitignore(5), but without case: the last match decides, and everything in a hidden folder is hidden.
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
        patterns
            .map(|pattern| Pattern::parse(pattern).ok_or_else(|| pattern.to_owned()))
            .collect::<Result<_, _>>()
            .map(Hidden)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn hides(&self, root: &Path, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let composed = composed(path);
        let ends = composed.match_indices('/').map(|(at, _)| at).chain([composed.len()]);
        ends.filter_map(|end| composed.split_at_checked(end)).any(|(above, rest)| {
            // Without a rest it is the whole path, which is on disk as it was given.
            let is_folder = || !rest.is_empty() || root.join(path).is_dir();
            let last = self.0.iter().rev().find(|pattern| {
                pattern.matches.is_match(above) && (!pattern.folders_only || is_folder())
            });
            last.is_some_and(|pattern| !pattern.is_negated)
        })
    }
}

impl Pattern {
    fn parse(pattern: &str) -> Option<Pattern> {
        let (pattern, is_negated) =
            pattern.strip_prefix('!').map_or((pattern, false), |rest| (rest, true));
        let (pattern, folders_only) =
            pattern.strip_suffix('/').map_or((pattern, false), |rest| (rest, true));
        // A slash at the beginning or in the middle anchors the pattern at the root.
        let is_anchored = pattern.contains('/');
        let mut expression = String::from(if is_anchored { "^" } else { "^(?:.*/)?" });
        let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
        if rest.is_empty() {
            return None;
        }
        // Whether the rest begins the name of a file or folder; git compares the literal beginning of a pattern apart, and what follows it
        // begins anew.
        let (mut is_whole_name, mut is_literal) = (true, true);
        while let Some(first) = rest.chars().next() {
            let stars = rest.len() - rest.trim_start_matches('*').len();
            let spans_folders = is_anchored && stars >= 2 && (is_whole_name || is_literal);
            let behind = rest.get(stars..)?;
            let (translated, length) = if spans_folders && behind.starts_with('/') {
                ("(?:.*/)?".to_owned(), stars + 1)
            } else if spans_folders && behind.is_empty() {
                (".*".to_owned(), stars)
            } else {
                match first {
                    // Several within a name are like one.
                    '*' => ("[^/]*".to_owned(), stars),
                    '?' => ("[^/]".to_owned(), 1),
                    '[' => class_of(rest)?,
                    '\\' => {
                        let escaped = rest.chars().nth(1)?;
                        (regex::escape(&escaped.to_string()), 1 + escaped.len_utf8())
                    }
                    plain => (regex::escape(&plain.to_string()), plain.len_utf8()),
                }
            };
            expression.push_str(&translated);
            let (done, left) = rest.split_at_checked(length)?;
            is_whole_name = done.ends_with('/');
            is_literal &= !matches!(first, '*' | '?' | '[' | '\\');
            rest = left;
        }
        Some(Pattern {
            matches: Regex::new(&format!("(?i){expression}$")).ok()?,
            is_negated,
            folders_only,
        })
    }
}

/// A class at the beginning of a pattern, as `regex` has it, and its length in the pattern; `None` if it does not end. Characters are
/// escaped, because in `regex` `&&`, `--` and `~~` are operations on sets.
fn class_of(pattern: &str) -> Option<(String, usize)> {
    let literal = |c: char| regex::escape(&c.to_string());
    let inside = pattern.strip_prefix('[')?;
    let (is_negated, mut rest) =
        inside.strip_prefix(['!', '^']).map_or((false, inside), |inside| (true, inside));
    let mut members = String::new();
    // A `]` at the beginning is a member.
    while members.is_empty() || !rest.starts_with(']') {
        if let Some((name, behind)) =
            rest.strip_prefix("[:").and_then(|named| named.split_once(":]"))
        {
            members += &format!("[:{name}:]");
            rest = behind;
            continue;
        }
        let (first, behind) = member_of(rest)?;
        rest = behind;
        members += &literal(first);
        if let Some((last, behind)) =
            rest.strip_prefix('-').filter(|behind| !behind.starts_with(']')).and_then(member_of)
        {
            if first <= last {
                members += &format!("-{}", literal(last));
            }
            rest = behind;
        }
    }
    // No class matches a slash.
    let class = if is_negated { format!("[^/{members}]") } else { format!("[{members}&&[^/]]") };
    Some((class, pattern.len() - rest.len() + 1))
}

/// The first character of what is left of a class, without the backslash that may precede it, and what follows.
fn member_of(class: &str) -> Option<(char, &str)> {
    let class = class.strip_prefix('\\').unwrap_or(class);
    let first = class.chars().next()?;
    Some((first, class.get(first.len_utf8()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let hides = |patterns: &str, path: &str| {
            Hidden::parse(patterns).unwrap().hides(Path::new("/nowhere"), path)
        };
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
            ("a**/b.md", "ab.md", true),
            ("a**/b.md", "a/x/b.md", true),
            ("***/b.md", "a/x/b.md", true),
            ("?**/b.md", "a/x/b.md", false),
            ("a**b.md", "a/x/b.md", false),
            ("a**b.md", "axb.md", true),
            ("**", "x", true),
            ("*;!a**", "a/b.md", true),
            ("*.md;!keep**", "keep/x.md", true),
            ("x[!0]y", "x/y", false),
            ("a/**/z.md", "a/z.md", true),
            ("*.md;!keep.md", "keep.md", false),
            ("Private/;!Private/x.md", "Private/x.md", true),
            ("n?te[0-9].md", "note7.md", true),
            ("n?te[!0-9].md", "note7.md", false),
            ("n[a&&b].md", "na.md", true),
            ("n[[:digit:]].md", "n7.md", true),
            (r"n[a\]b].md", "nb.md", true),
            ("n[!]a].md", "nb.md", true),
            ("n[a--b].md", "nb.md", true),
            ("n[a--b].md", "n-.md", false),
            ("n[!a--b].md", "n-.md", true),
            ("n[+--].md", "n,.md", true),
            ("n[a~~b].md", "na.md", true),
            ("a.b", "axb", false),
            (r"\[x\]", "[x]", true),
        ] {
            assert_eq!(hides(patterns, path), expected, "{patterns} {path}");
        }
        assert_eq!(Hidden::parse("ok;[a").unwrap_err(), "[a");
        assert!(Hidden::parse("/").is_err());
    }
}
