//! Moving the branch, the index and the working tree to a commit that the remote has, in an order in which a crash loses
//! nothing and can be finished later: the note on disk, the index, the rest of the working tree, the branch. What is
//! pending is written down first, as a ref of our own.
//!
//! `git read-tree -m -u OLD NEW` moves index and working tree and refuses, before it touches anything, where a file that
//! differs between the two has changes of somebody's (git-read-tree(1), "Two Tree Merge").

use super::commit::{self, Target};
use super::process::Runner;
use super::publish::Published;
use super::repository::{Repository, Staged, commit_of, differences, is_ancestor};
use super::{Change, Failure};
use crate::limits;
use crate::vault::{Error as VaultError, Vault};
use std::collections::HashSet;
use std::path::Path;

/// The commit that the branch is on its way to.
const PENDING: &str = "refs/vault-sync-mcp/pending";
/// The remote's commit that the branch is on its way to, where no change of ours is involved.
const BRINGING: &str = "refs/vault-sync-mcp/bringing";
/// The name of no commit.
const NONE: &str = "0000000000000000000000000000000000000000";

/// Moves everything to a published commit.
///
/// # Errors
/// In words, when it could not be finished; the next operation goes on with it. The change itself is made.
pub(super) fn settle(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    target: &Target,
    published: &Published,
) -> Result<(), String> {
    let runner = from_the_top(repository, runner);
    // The push took a while. Where somebody has used the repository meanwhile, nothing here is touched: the remote has the
    // commit, and the next operation, or a pull, brings it.
    if !repository.is_as_it_was(&runner, &target.name, target.committed.as_ref()).unwrap_or(false) {
        return Err(
            "the commit is made; the repository was used by somebody meanwhile, so nothing was moved here: git pull brings it".into()
        );
    }
    let settled = runner
        .must(&["update-ref", PENDING, &published.commit])
        .and_then(|_| advance(vault, repository, &runner, target, &published.commit, published.on_upstream));
    settled.map_err(|failure| failure.to_string())
}

/// Finishes what a crash, or a lock of somebody else's, interrupted; whether there was something.
///
/// # Errors
/// [`Failure`] when it cannot be finished now either.
pub(super) fn recover(vault: &Vault, repository: &Repository, runner: &Runner<'_>) -> Result<bool, Failure> {
    let runner = from_the_top(repository, runner);
    if let Some(bringing) = commit_of(&runner, BRINGING)? {
        // What is there already stays there; where somebody has changed a file meanwhile, nothing moves.
        if repository.leads_to(&runner, &bringing)? {
            bring(repository, &runner, &bringing)?;
        }
        runner.must(&["update-ref", "-d", BRINGING])?;
        return Ok(true);
    }
    let Some(pending) = commit_of(&runner, PENDING)? else { return Ok(false) };
    let is_there = repository.head.as_deref().map_or(Ok(false), |head| is_ancestor(&runner, &pending, head))?;
    let is_open = !is_there && repository.leads_to(&runner, &pending)?;
    match target_of(repository, &runner, vault, &pending)? {
        Some(target) if is_open => {
            log::info!("git: finishing the change of {:?} that was interrupted", target.path.as_str());
            advance(vault, repository, &runner, &target, &pending, true)?;
        }
        // The branch is there, or somebody has moved it elsewhere: then the remote has the commit, and the next pull brings it.
        over => {
            over.iter().try_for_each(|target| unstage(repository, &runner, target))?;
            runner.must(&["update-ref", "-d", PENDING])?;
        }
    }
    Ok(true)
}

/// The note that a commit of ours is about, as it is to become.
fn target_of(repository: &Repository, runner: &Runner<'_>, vault: &Vault, commit: &str) -> Result<Option<Target>, Failure> {
    let changed = runner.must(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", "--root", commit])?;
    let Some((name, path)) = changed.parts().find_map(|name| repository.path_of(&name).map(|path| (name, path))) else { return Ok(None) };
    let entry = repository.entry(runner, commit, &name)?;
    let change = match &entry {
        Some(_) => Change::Write(runner.must(&["cat-file", "--filters", &format!("{commit}:{name}")])?.stdout),
        None => Change::Delete,
    };
    let committed = match &repository.head {
        Some(head) => repository.entry(runner, head, &name)?,
        None => None,
    };
    // Only what the branch had may be replaced: anything else on disk is somebody's.
    let on_disk = vault.bytes_if_any(&path)?;
    let blob = on_disk.as_deref().map(|bytes| repository.store(&runner.at(vault.root()), &name, bytes)).transpose()?;
    let untouched = blob.as_deref() == committed.as_ref().map(|entry| entry.blob.as_str());
    let mode = entry.as_ref().map_or("100644".into(), |entry| entry.mode.clone());
    let change_it = if untouched { change } else { on_disk.clone().map_or(Change::Delete, Change::Write) };
    Ok(Some(Target { path, name, change: change_it, mode, blob: entry.map(|entry| entry.blob), committed, before: on_disk }))
}

/// `more` says whether other files than the note may have to move.
fn advance(vault: &Vault, repository: &Repository, runner: &Runner<'_>, target: &Target, commit: &str, more: bool) -> Result<(), Failure> {
    let mut trouble = None;
    let moved = match &target.change {
        Change::Write(bytes) if target.before.as_ref() == Some(bytes) => Ok(()),
        Change::Write(bytes) => vault.exchange(&target.path, target.before.as_deref(), bytes),
        Change::Delete if target.before.is_none() => Ok(()),
        Change::Delete => vault.remove(&target.path, target.before.as_deref().unwrap_or_default()),
    };
    match moved {
        Ok(()) => {}
        // Somebody saved the note in the meantime: theirs stays on disk, as a change on top of ours.
        Err(VaultError::Conflict(_)) => {
            trouble =
                Some("the note was changed on disk meanwhile: that stays as it is, and this change is in the commit before it".to_owned());
        }
        Err(error) => return Err(error.into()),
    }
    locked(runner, || commit::put(runner, target))?;
    if more {
        move_files(repository, runner, commit)?;
    }
    let why = format!("vault-sync-mcp: {}", target.path.as_str());
    let before = repository.head.as_deref().unwrap_or(NONE);
    let moved = locked(runner, || runner.must(&["update-ref", "-m", &why, &repository.branch, commit, before]).map(drop));
    if moved.is_err() {
        // Somebody has committed in between: what is staged must not be of our doing.
        unstage(repository, runner, target)?;
    }
    moved?;
    runner.must(&["update-ref", "-d", PENDING])?;
    let _ = repository.hook(runner, "post-commit", &[]);
    trouble.map_or(Ok(()), |words| Err(Failure::Git(words)))
}

/// Takes our version of a note out of the index again, if it is what stands there and the branch has another.
fn unstage(repository: &Repository, runner: &Runner<'_>, target: &Target) -> Result<(), Failure> {
    let Staged::Entry(staged) = repository.staged(runner, &target.name)? else { return Ok(()) };
    let has = repository.entry(runner, &repository.branch, &target.name).unwrap_or_default();
    if staged.map(|entry| entry.blob) != target.blob || has.as_ref().map(|entry| &entry.blob) == target.blob.as_ref() {
        return Ok(());
    }
    let (blob, mode) = has.map_or((None, target.mode.clone()), |entry| (Some(entry.blob), entry.mode));
    commit::put(runner, &Target { blob, mode, ..target.clone() })
}

/// Moves the branch, the index and the working tree forward to a commit of the remote's, over nobody's changes.
///
/// # Errors
/// In words: which files are in the way.
pub(super) fn bring_in(vault: &Vault, repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), String> {
    let runner = from_the_top(repository, runner);
    let words = |failure: Failure| failure.to_string();
    try_bringing_in(repository, &runner, commit).map_err(words)?;
    runner.must(&["update-ref", BRINGING, commit]).map_err(words)?;
    let brought = bring(repository, &runner, commit).map_err(words);
    runner.must(&["update-ref", "-d", BRINGING]).map_err(words)?;
    let _ = vault.refresh_and_wait();
    brought
}

fn bring(repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    move_files(repository, runner, commit)?;
    let from = repository.head.as_deref().unwrap_or(NONE);
    runner.must(&["update-ref", "-m", "vault-sync-mcp: what the remote has", &repository.branch, commit, from]).map(drop)
}

/// Moves index and working tree from the branch's commit to another one.
fn move_files(repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    refuse_to_overwrite(repository, runner, commit)?;
    locked(runner, || runner.must(&read_tree(repository, commit, &["-m", "-u"])).map(drop))
}

/// From the branch's commit, where there is one, to another.
fn read_tree<'a>(repository: &'a Repository, commit: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let mut command = vec!["read-tree"];
    command.extend(options);
    command.extend(repository.head.as_deref());
    command.push(commit);
    command
}

/// Whether [`bring_in`] would be possible; nothing is touched.
///
/// # Errors
/// [`Failure::Refused`], naming the files that are in the way.
pub(super) fn try_bringing_in(repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    let runner = runner.at(&repository.top);
    refuse_to_overwrite(repository, &runner, commit)?;
    let tried = runner.run(&read_tree(repository, commit, &["-n", "-m", "-u"]))?;
    if tried.ok {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "Nothing was done: the remote has changes to files that are changed here and not committed: {}",
        tried.stderr.trim_start_matches("error: ")
    )))
}

/// Git overwrites files that it ignores, and everything below a folder that becomes a file. Here nothing that is not in
/// the index is overwritten.
fn refuse_to_overwrite(repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    let added = differences(runner, repository.head.as_deref(), commit, "AT")?;
    let known: HashSet<String> = runner.must(&["ls-files", "-z"])?.parts().collect();
    for name in added {
        let mut above = repository.top.clone();
        let mut so_far = String::new();
        for segment in name.split('/') {
            above.push(segment);
            so_far = if so_far.is_empty() { segment.to_owned() } else { format!("{so_far}/{segment}") };
            let Ok(found) = above.symlink_metadata() else { break };
            let is_last = so_far == name;
            let in_the_way = if found.is_dir() { is_last && has_unknown(&above, &so_far, &known, 0) } else { !known.contains(&so_far) };
            if in_the_way {
                return Err(Failure::Refused(format!(
                    "Nothing was done: the remote has {name}, and {so_far} is here, not committed; move it away, or add it (git add)"
                )));
            }
        }
    }
    Ok(())
}

/// Whether a folder has a file that the index does not know.
fn has_unknown(folder: &Path, name: &str, known: &HashSet<String>, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return true };
    entries.flatten().any(|entry| {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => depth >= limits::DEPTH || has_unknown(&entry.path(), &inner, known, depth + 1),
            _ => !known.contains(&inner),
        }
    })
}

/// The rest is done to its end, in a time of its own: the remote has the commit.
fn from_the_top(repository: &Repository, runner: &Runner<'_>) -> Runner<'static> {
    runner.to_the_end(limits::GIT_SETTLE).at(&repository.top)
}

/// Tries again while somebody else's git has the index or a ref locked for a moment.
fn locked(runner: &Runner<'_>, work: impl Fn() -> Result<(), Failure>) -> Result<(), Failure> {
    loop {
        match work() {
            Err(Failure::Git(words)) if words.contains(".lock") && runner.deadline.left().is_some() => {
                std::thread::sleep(limits::GIT_LOCK_PAUSE);
            }
            other => return other,
        }
    }
}
