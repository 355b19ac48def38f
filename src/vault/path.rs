//! [`VaultPath`]: a path that is checked when it is parsed (rules 1 and 2 of the vault).

use super::error::Error;
use crate::limits;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::ffi::OsStr;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// A path or name in NFC. A name in ASCII is on disk as it is: the few that would become one, such
/// as by a Kelvin sign, stay.
pub fn composed(path: &str) -> Cow<'_, str> {
    if path.is_ascii() {
        return path.into();
    }
    let compose = |name: &str| {
        let composed: String = name.nfc().collect();
        if composed.is_ascii() { name.to_owned() } else { composed }
    };
    path.split('/').map(compose).collect::<Vec<String>>().join("/").into()
}

/// A path below the root as a string, separated by `/` on every platform; `None` if it is not
/// UTF-8.
pub(crate) fn slash_separated(below: &Path) -> Option<String> {
    Some(below.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>()?.join("/"))
}

/// The path of a name on disk in a folder.
pub(crate) fn joined(below: &str, name: &str) -> String {
    let name = composed(name);
    if below.is_empty() { name.into_owned() } else { [below, "/", &name].concat() }
}

/// A path relative to the vault's root: `/`-separated, without a leading or trailing `/`, no `..`,
/// nothing hidden, no control characters or backslashes; in NFC, whatever form the disk has. The
/// root itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct VaultPath(String);

impl VaultPath {
    /// The vault itself.
    pub fn root() -> VaultPath {
        VaultPath(String::new())
    }

    /// Parses the path of a file.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] with the violated rule; the empty path and `/` are refused.
    pub fn file(text: &str) -> Result<VaultPath, Error> {
        let path = VaultPath::folder(text)?;
        if path.is_root() {
            return Err(refused(text, "a file path is needed, and this is the vault itself"));
        }
        Ok(path)
    }

    /// Parses the path of a folder; the empty path and `/` are the root.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] with the violated rule.
    pub fn folder(text: &str) -> Result<VaultPath, Error> {
        if text.len() > limits::PATH_BYTES {
            return Err(refused(text, "it is too long"));
        }
        if text.contains('\\') {
            return Err(refused(text, "folders are separated by /, not by a backslash"));
        }
        if text.chars().any(char::is_control) {
            return Err(refused(text, "it has a control character"));
        }
        let mut segments = Vec::new();
        // `.` and empty segments are skipped, as usual.
        for segment in text.split('/').filter(|segment| !segment.is_empty() && *segment != ".") {
            let segment = composed(segment);
            if segment == ".." {
                return Err(refused(text, ".. is not followed; paths start at the vault's root"));
            }
            if is_hidden(&segment) {
                return Err(refused(text, "hidden files and folders are not served"));
            }
            if segment.len() > limits::NAME_BYTES {
                return Err(refused(text, "a name in it is too long"));
            }
            segments.push(segment);
        }
        // Deeper files are not indexed either.
        if segments.len() > limits::DEPTH + 1 {
            return Err(refused(text, "it is nested too deeply"));
        }
        Ok(VaultPath(segments.join("/")))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the vault itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(_, name)| name)
    }

    /// The path of a name in this folder.
    ///
    /// # Errors
    /// As [`VaultPath::file`].
    pub fn child(&self, name: &str) -> Result<VaultPath, Error> {
        VaultPath::file(&format!("{}/{name}", self.as_str()))
    }

    /// The containing folder; the root is its own parent.
    pub fn parent(&self) -> VaultPath {
        VaultPath(self.0.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default())
    }

    /// The path's segments, starting at the root.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// Whether `path` lies below this folder.
    pub fn contains(&self, path: &str) -> bool {
        self.is_root() || rest_below(path, self.as_str()).is_some_and(|rest| !rest.is_empty())
    }

    /// Whether `path` is this file, or lies below this folder.
    pub fn covers(&self, path: &str) -> bool {
        self.as_str() == path || self.contains(path)
    }

    /// Wraps a path without checking it: one that comes from the index, or is made of parts of a
    /// checked path.
    pub(crate) fn unchecked(path: &str) -> VaultPath {
        VaultPath(path.to_owned())
    }
}

impl<'de> Deserialize<'de> for VaultPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VaultPath, D::Error> {
        VaultPath::file(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The rest of a path or nested tag after the prefix `above`: empty, or beginning with `/`. `None`
/// if it is not at or below it.
pub fn rest_below<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    path.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The entries of a map keyed by path that lie below a folder; all of them for the empty path.
pub(crate) fn range_below<'a, V>(
    map: &'a BTreeMap<Arc<str>, V>,
    folder: &str,
) -> btree_map::Range<'a, Arc<str>, V> {
    // In ASCII, `0` follows `/`.
    let (first, end) = (format!("{folder}/"), format!("{folder}0"));
    let inside = (Bound::Included(first.as_str()), Bound::Excluded(end.as_str()));
    map.range::<str, _>(if folder.is_empty() {
        (Bound::Unbounded, Bound::Unbounded)
    } else {
        inside
    })
}

/// Whether a name is not served: dotfiles, and Syncthing's temporary files and conflict copies.
/// HFS+ ignores some characters, so these may precede the dot.
pub(crate) fn is_hidden(name: &str) -> bool {
    let ignorable = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    name.trim_start_matches(ignorable).starts_with('.')
        || name.starts_with("~syncthing~")
        || is_conflict_copy(name)
}

/// Whether a name is `NAME.sync-conflict-DATE-TIME-DEVICE.EXTENSION`: Syncthing's copy of the
/// version that lost a conflict.
fn is_conflict_copy(name: &str) -> bool {
    let date = name.split_once(".sync-conflict-").and_then(|(_, rest)| rest.split_once('-'));
    date.is_some_and(|(date, _)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An error that repeats the path sanitized: without control characters, and truncated.
fn refused(text: &str, why: &'static str) -> Error {
    let shown: String =
        text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect();
    Error::NotAllowed { path: shown, why }
}

/// Characters not allowed in names on Windows and Android.
pub const REFUSED_CHARACTERS: [char; 8] = ['<', '>', ':', '"', '|', '?', '*', '\\'];

/// Why Windows, Android or iOS would not accept a name, phrased to follow the name.
pub fn refused_elsewhere(name: &str) -> Option<&'static str> {
    let stem = name.split('.').next().unwrap_or(name).to_uppercase();
    let is_numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            rest.chars().count() == 1
                && rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'))
        })
    };
    if name.contains(REFUSED_CHARACTERS) {
        Some("has one of < > : \" | ? * \\")
    } else if name.ends_with(['.', ' ']) {
        Some("ends in a dot or a space")
    } else if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || is_numbered("COM")
        || is_numbered("LPT")
    {
        Some("is the name of a device")
    } else {
        None
    }
}

/// Whether a name contains a backslash or a control character, which no path may have (rule 1 of
/// the vault).
pub(crate) fn is_odd(name: &str) -> bool {
    name.contains(|c: char| c == '\\' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_syncthing_are_hidden() {
        for (name, hidden) in [
            ("Note.sync-conflict-20261123-101500-ABCDEFG.md", true),
            (".syncthing.Note.md.tmp", true),
            ("~syncthing~Note.md.tmp", true),
            ("How to mend a .sync-conflict-file.md", false),
            ("x.sync-conflict-2 ways.md", false),
            ("sync-conflict-20261123-101500-ABCDEFG.md", false),
        ] {
            assert_eq!(is_hidden(name), hidden, "{name}");
        }
    }

    #[test]
    fn paths_are_brought_into_one_form() {
        for (text, expected) in [
            ("a.md", "a.md"),
            ("/a/b.md", "a/b.md"),
            ("a/b/", "a/b"),
            ("a//b.md", "a/b.md"),
            ("./a.md", "a.md"),
            ("Hmm...md", "Hmm...md"),
            ("a/b../c..md", "a/b../c..md"),
            ("Crème 🎻/it's \"x\".md", "Crème 🎻/it's \"x\".md"),
        ] {
            assert_eq!(VaultPath::file(text).unwrap().as_str(), expected, "{text}");
        }
        assert!(VaultPath::folder("/").unwrap().is_root());
        assert!(VaultPath::folder("").unwrap().is_root());
    }

    #[test]
    fn hostile_paths_are_refused() {
        for text in [
            "",
            "/",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "/../etc/passwd",
            "a\\..\\b",
            "..\\x",
            "a\0.md",
            "a\nb.md",
            "a\u{7f}",
            "\u{85}x.md",
            ".obsidian/app.json",
            "a/.git/config",
            ".trash/x.md",
            ".hidden.md",
            "a/.x/b.md",
            "a/..b/c.md",
            "\u{200c}.git/config",
        ] {
            assert!(matches!(VaultPath::file(text), Err(Error::NotAllowed { .. })), "{text:?}");
        }
        assert!(VaultPath::file(&"a".repeat(256)).is_err());
        assert!(VaultPath::file(&"a/".repeat(600)).is_err());
    }

    #[test]
    fn a_folder_contains_what_is_below_it_only() {
        let folder = VaultPath::folder("Projects").unwrap();
        assert!(folder.contains("Projects/a.md"));
        assert!(!folder.contains("Projects2/a.md") && !folder.contains("Projects"));
        assert!(VaultPath::folder("").unwrap().contains("a.md"));
    }
}
