//! The files of a commit and of the index, each read whole by one run of git.

use super::Failure;
use super::process::Runner;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file in a tree or in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) blob: String,
}

/// A file in the index.
#[derive(Debug, Clone)]
pub(super) struct Staged {
    /// `None` where it is in conflict.
    pub(super) entry: Option<Entry>,
    /// Why it cannot be written.
    pub(super) blocked: Option<&'static str>,
}

/// Files by their paths from the top of the repository, which need not be UTF-8.
pub(super) type Files<T> = BTreeMap<PathBuf, T>;

/// The files of a commit; none for `None`.
pub(super) fn committed(
    runner: &Runner<'_>,
    commit: Option<&str>,
) -> Result<Files<Entry>, Failure> {
    let Some(commit) = commit else { return Ok(Files::new()) };
    // <mode> <type> <object>\t<name>
    let listed = runner.must(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
    Ok(listed
        .parts()
        .filter_map(words_and_name)
        .filter_map(|(words, name)| Some((name, entry(words.first()?, words.last()?))))
        .collect())
}

/// The files of the index.
pub(super) fn staged(runner: &Runner<'_>) -> Result<Files<Staged>, Failure> {
    let listed = runner.must(&["ls-files", "-s", "-v", "-z"])?;
    let mut files = Files::new();
    for (words, name) in listed.parts().filter_map(words_and_name) {
        // <tag> <mode> <object> <stage>\t<name>
        let [tag, mode, blob, stage] = words[..] else { continue };
        let (entry, blocked) = match (stage, tag) {
            ("0", tag) if tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase()) => (
                Some(entry(mode, blob)),
                Some(
                    "has a mark by which git ignores changes; run git update-index \
                     --no-assume-unchanged --no-skip-worktree on it first",
                ),
            ),
            ("0", _) => (Some(entry(mode, blob)), None),
            _ => (None, Some("has a conflict that is not resolved; git status says more")),
        };
        files.insert(name, Staged { entry, blocked });
    }
    Ok(files)
}

fn entry(mode: &str, blob: &str) -> Entry {
    Entry { mode: mode.to_owned(), blob: blob.to_owned() }
}

fn words_and_name(line: &[u8]) -> Option<(Vec<&str>, PathBuf)> {
    let (words, name) = line.split_at_checked(memchr::memchr(b'\t', line)?)?;
    Some((
        std::str::from_utf8(words).ok()?.split(' ').collect(),
        OsStr::from_bytes(name.get(1..)?).into(),
    ))
}

/// Whether a new file needs a folder where there is a file, or has the name of a folder. Paths are
/// ordered by component, so the files of a folder come right after its name.
pub(super) fn clashes<T>(files: &Files<T>, name: &Path) -> bool {
    let next = files.range::<Path, _>((Bound::Excluded(name), Bound::Unbounded)).next();
    name.ancestors().skip(1).any(|above| files.contains_key(above))
        || next.is_some_and(|(next, _)| next.starts_with(name))
}

/// A file that differs between two commits.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) name: PathBuf,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

/// The files that differ between two commits.
pub(super) fn differences(old: &Files<Entry>, new: &Files<Entry>) -> Vec<File> {
    let names: BTreeSet<&PathBuf> = old.keys().chain(new.keys()).collect();
    let file = |name: &PathBuf| File {
        name: name.clone(),
        old: old.get(name).cloned(),
        new: new.get(name).cloned(),
    };
    names.into_iter().filter(|name| old.get(*name) != new.get(*name)).map(file).collect()
}

/// Gives files entries in an index file, at a stage (0: merged), or removes them (mode 0). Replaces
/// a file where there has to be a folder, and a folder where there has to be a file; see
/// [`clashes`].
///
/// # Errors
/// [`Failure::Git`], also for a path that git refuses (`.git`, on some systems `git~1`) and would
/// leave out.
pub(super) fn add_entries<'a>(
    runner: &Runner<'_>,
    entries: impl Iterator<Item = (&'a PathBuf, &'a Entry, u8)>,
) -> Result<(), Failure> {
    let line = |(name, entry, stage): (&PathBuf, &Entry, u8)| {
        [
            format!("{} {} {stage}\t", entry.mode, entry.blob).as_bytes(),
            name.as_os_str().as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let output = runner.must_with(
        &["update-index", "-z", "--index-info"],
        &entries.flat_map(line).collect::<Vec<u8>>(),
    )?;
    if output.stderr.contains("Ignoring path") { Err(Failure::Git(output.words())) } else { Ok(()) }
}

/// Gives files their new entries in an index.
pub(super) fn put_entries<'a>(
    runner: &Runner<'_>,
    files: impl Iterator<Item = &'a File>,
) -> Result<(), Failure> {
    let removal =
        |file: &File| file.old.as_ref().map(|old| Entry { mode: "0".into(), ..old.clone() });
    let entry = |file: &'a File| Some((&file.name, file.new.clone().or_else(|| removal(file))?));
    let entries: Vec<(&PathBuf, Entry)> = files.filter_map(entry).collect();
    add_entries(runner, entries.iter().map(|(name, entry)| (*name, entry, 0)))
}

/// The best common ancestor of two commits.
pub(super) fn merge_base(
    runner: &Runner<'_>,
    one: &str,
    other: &str,
) -> Result<Option<String>, Failure> {
    let output = runner.run(&["merge-base", one, other])?;
    Ok(output.ok.then(|| output.line()))
}

/// Whether a commit is another one or an ancestor of it.
pub(super) fn is_ancestor(runner: &Runner<'_>, commit: &str, of: &str) -> Result<bool, Failure> {
    Ok(runner.run(&["merge-base", "--is-ancestor", commit, of])?.ok)
}
