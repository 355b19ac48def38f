//! Files in commits and in the index, read by one run of git for a whole operation.

use super::Failure;
use super::process::Runner;
use crate::limits;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The mode of a folder in a tree object, which has no leading zero.
pub(super) const TREE: &str = "40000";

/// A file in a tree or in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) blob: String,
}

/// A file in a commit.
#[derive(Debug, Default)]
pub(super) struct InCommit {
    pub(super) entry: Option<Entry>,
    /// A committed path that differs only in case from a prefix of the wanted path, and that prefix.
    pub(super) twin: Option<(String, String)>,
}

/// An object of a commit or of the index.
#[derive(Debug)]
pub(super) enum Object {
    Folder(HashMap<String, Entry>),
    File(Vec<u8>),
}

/// The folders above files in a commit, as `COMMIT:path`, and with `bytes` the files; and as `:0:path` the files that the index
/// has under the name of such a folder. What does not exist is left out.
pub(super) fn objects(runner: &Runner<'_>, commit: &str, names: &[&str], bytes: bool) -> Result<HashMap<String, Object>, Failure> {
    let above = |name: &'_ str| folders(name).map(str::to_owned).collect::<Vec<_>>();
    let folders: BTreeSet<String> = names.iter().flat_map(|name| above(name)).collect();
    let files = names.iter().filter(|_| bytes).map(|name| format!("{commit}:{name}"));
    let committed = folders.iter().map(String::as_str).chain([""]).map(|folder| format!("{commit}:{folder}"));
    let paths: BTreeSet<String> = committed.chain(folders.iter().map(|folder| format!(":0:{folder}"))).chain(files).collect();
    let asked: String = paths.iter().map(|path| format!("{path}\n")).collect();
    let output = runner.must_with(&["cat-file", "--batch"], asked.as_bytes())?;
    let mut rest = output.stdout.as_slice();
    let cut = || Failure::Git("git ended without an answer; try again".into());
    let mut found = HashMap::new();
    for path in paths {
        // <id> SP <type> SP <size> LF <bytes> LF, or <name> SP missing LF
        let (line, after) = rest.split_at_checked(memchr::memchr(b'\n', rest).ok_or_else(cut)?).ok_or_else(cut)?;
        let line = String::from_utf8_lossy(line).into_owned();
        rest = after.split_at(1).1;
        if line.ends_with(" missing") {
            continue;
        }
        let [id, kind, size] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(cut()) };
        let (bytes, after) = size.parse().ok().and_then(|size| rest.split_at_checked(size)).ok_or_else(cut)?;
        rest = after.strip_prefix(b"\n").ok_or_else(cut)?;
        let object = if kind == "tree" { Object::Folder(tree_entries(bytes, id.len() / 2)) } else { Object::File(bytes.to_vec()) };
        found.insert(path, object);
    }
    Ok(found)
}

/// The paths of the folders above a file.
pub(super) fn folders(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').filter_map(move |(at, _)| name.get(..at))
}

pub(super) fn in_commit(objects: &HashMap<String, Object>, commit: &str, name: &str) -> InCommit {
    let mut found = InCommit::default();
    let mut folder = String::new();
    for segment in name.split('/') {
        let Some(Object::Folder(entries)) = objects.get(&format!("{commit}:{}", folder.trim_end_matches('/'))) else {
            return InCommit { entry: None, ..found };
        };
        found.entry = entries.get(segment).cloned();
        if found.entry.is_none() {
            let twin = entries.keys().find(|known| known.to_lowercase() == segment.to_lowercase());
            found.twin = twin.map(|twin| (format!("{folder}{twin}"), format!("{folder}{segment}")));
            return found;
        }
        folder = format!("{folder}{segment}/");
    }
    found
}

/// The entries of a tree by name: `<mode> SP <name> NUL <id>`, one after the other. An id has 20 bytes, or 32 in a
/// repository with SHA-256.
fn tree_entries(tree: &[u8], id_bytes: usize) -> HashMap<String, Entry> {
    let mut entries = HashMap::new();
    let mut rest = tree;
    while let Some((about, after)) = memchr::memchr(0, rest).and_then(|end| rest.split_at_checked(end)) {
        let Some((id, next)) = after.split_at(1).1.split_at_checked(id_bytes) else { break };
        let about = String::from_utf8_lossy(about);
        if let Some((mode, name)) = about.split_once(' ') {
            let blob = id.iter().map(|byte| format!("{byte:02x}")).collect();
            entries.insert(name.to_owned(), Entry { mode: mode.to_owned(), blob });
        }
        rest = next;
    }
    entries
}

/// A file that differs between two commits, or between a commit and the index.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Its path from the top of the repository; not necessarily UTF-8.
    pub(super) name: PathBuf,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

/// The files that differ between two commits or trees.
pub(super) fn differences(runner: &Runner<'_>, from: &str, to: &str) -> Result<Vec<File>, Failure> {
    let command = ["diff-tree", "-r", "--ignore-submodules=none", "-z", "--raw", "--no-abbrev", "--no-renames", from, to];
    Ok(raw_differences(&runner.must(&command)?.stdout))
}

/// The raw format of git-diff-tree(1) with `-z`: `:<old mode> <new mode> <old object> <new object> <status>`, then the name.
pub(super) fn raw_differences(output: &[u8]) -> Vec<File> {
    let mut parts = output.split(|&byte| byte == 0);
    let mut files = Vec::new();
    while let (Some(about), Some(name)) = (parts.next(), parts.next()) {
        let about = String::from_utf8_lossy(about);
        if let [old_mode, new_mode, old, new, _] = about.trim_start_matches(':').split(' ').collect::<Vec<_>>()[..] {
            let entry = |mode: &str, blob: &str| (mode != "000000").then(|| Entry { mode: mode.to_owned(), blob: blob.to_owned() });
            files.push(File { name: OsStr::from_bytes(name).into(), old: entry(old_mode, old), new: entry(new_mode, new) });
        }
    }
    files
}

/// Gives files their new entries in an index; `after` are options of `update-index` that follow them.
pub(super) fn put_entries(runner: &Runner<'_>, files: &[File], after: &[&str]) -> Result<(), Failure> {
    for files in files.chunks(limits::GIT_ARGUMENTS) {
        let mut command: Vec<OsString> = ["update-index", "--add"].map(OsString::from).to_vec();
        for (file, new) in files.iter().filter_map(|file| Some((file, file.new.as_ref()?))) {
            let mut entry = OsString::from(format!("{},{},", new.mode, new.blob));
            entry.push(&file.name);
            command.extend(["--cacheinfo".into(), entry]);
        }
        command.extend([after, &["--force-remove", "--"]].concat().into_iter().map(OsString::from));
        command.extend(files.iter().filter(|file| file.new.is_none()).map(|file| file.name.clone().into_os_string()));
        runner.must(&command)?;
    }
    Ok(())
}

/// The commit that a ref points to, if it exists.
pub(super) fn commit_of(runner: &Runner<'_>, name: &str) -> Result<Option<String>, Failure> {
    let output = runner.run(&["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")])?;
    Ok(output.ok.then(|| output.line()))
}

/// The best common ancestor of two commits.
pub(super) fn merge_base(runner: &Runner<'_>, one: &str, other: &str) -> Result<Option<String>, Failure> {
    let output = runner.run(&["merge-base", one, other])?;
    Ok(output.ok.then(|| output.line()))
}

/// Whether a commit is another one or an ancestor of it.
pub(super) fn is_ancestor(runner: &Runner<'_>, commit: &str, of: &str) -> Result<bool, Failure> {
    Ok(runner.run(&["merge-base", "--is-ancestor", commit, of])?.ok)
}
