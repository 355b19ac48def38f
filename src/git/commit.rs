//! A commit of exactly the target paths, built in a private index. It moves no branch, and neither
//! index nor working tree.

use super::Failure;
use super::objects::{File, add_entries, committed, differences};
use super::process::Runner;
use super::repository::{Repository, Scratch, Target};
use crate::disk;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A commit, and its message as the hooks left it.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) commit: String,
    message: PathBuf,
}

/// Builds a commit on top of the branch, with the hooks of a commit as git would run them.
///
/// # Errors
/// [`Failure::Git`] in git's or a hook's words.
pub(super) fn build(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
    message: &str,
) -> Result<Built, Failure> {
    let private = Runner { index: Some(repository.scratch()), ..runner.clone() };
    let others = repository
        .committed
        .iter()
        .filter(|(name, _)| targets.iter().all(|target| target.file.name != **name));
    let new =
        targets.iter().filter_map(|target| Some((&target.file.name, target.file.new.as_ref()?, 0)));
    add_entries(&private, others.map(|(name, entry)| (name, entry, 0)).chain(new))?;
    let tree = private.must(&["write-tree"])?.line();
    if repository.has_hook("pre-commit") {
        run_pre_commit(repository, &private, targets)?;
        refuse_changed(&private, &tree, &private.must(&["write-tree"])?.line(), targets)?;
    }
    let message_file = repository.scratch();
    disk::write_new(&message_file, format!("{}\n", message.trim_end()).as_bytes()).map_err(
        |error| Failure::Git(format!("the commit message could not be written: {}", error.kind())),
    )?;
    let path = message_file.to_string_lossy();
    repository.hook(&private, "prepare-commit-msg", &[&path, "message"])?;
    repository.hook(&private, "commit-msg", &[&path])?;
    let commit = commit_tree(repository, runner, &tree, repository.head.as_deref(), &message_file)?;
    Ok(Built { commit, message: message_file })
}

/// The same change as a commit on top of `onto`, in which its files are the same as on the branch.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn rebuild(
    repository: &Repository,
    runner: &Runner<'_>,
    built: &Built,
    onto: &str,
) -> Result<String, Failure> {
    // Otherwise a new note would be moved along with a folder that was renamed there.
    let merge = [
        "-c",
        "merge.renames=false",
        "-c",
        "merge.directoryRenames=false",
        "merge-tree",
        "--write-tree",
        "--allow-unrelated-histories",
    ];
    let merged = runner.run(&[&merge[..], &[&built.commit, onto]].concat())?;
    if !merged.ok && merged.stderr.is_empty() {
        return Err(Failure::Git(
            "the remote has a file where the change needs a folder, or a folder of that name"
                .into(),
        ));
    } else if !merged.ok {
        return Err(Failure::Git(merged.words()));
    }
    commit_tree(repository, runner, &merged.line(), Some(onto), &built.message)
}

fn commit_tree(
    repository: &Repository,
    runner: &Runner<'_>,
    tree: &str,
    parent: Option<&str>,
    message: &Path,
) -> Result<String, Failure> {
    let message = message.to_string_lossy();
    let mut command = vec!["commit-tree", tree, "-F", &message];
    if let Some(parent) = parent {
        command.extend(["-p", parent]);
    }
    if repository.settings.is_true("commit.gpgsign") == Some(true) {
        command.push("-S");
    }
    let output = runner.run(&command)?;
    if output.ok {
        return Ok(output.line());
    }
    // Git's own message is a page long and meant for a terminal.
    if output.stderr.contains("user.useConfigOnly")
        || output.stderr.contains("empty ident")
        || output.stderr.contains("tell me who you are")
    {
        return Err(Failure::Git(
            "git has no identity: as the server's user, run git config --global user.name NAME \
             and user.email ADDRESS"
                .into(),
        ));
    }
    Err(Failure::Git(output.words()))
}

/// Runs the pre-commit hook in a working tree of its own with the files of the index: many hooks
/// look at files and not at the index, and the vault never has what is not published yet. It is not
/// in the repository's folder, where some hooks refuse to run.
fn run_pre_commit(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
) -> Result<(), Failure> {
    let tree = Scratch::create(&std::env::temp_dir())?;
    let there = Runner { folder: tree.0.clone(), ..runner.clone() };
    // Another file may have a filter that is not set up here.
    let all = there.run(&["checkout-index", "--all", "--quiet"])?;
    if !all.ok {
        log::warn!("git: the pre-commit hook does not see all files: {}", all.words());
        let names = targets
            .iter()
            .filter(|target| target.file.new.is_some())
            .map(|target| target.file.name.as_os_str());
        let command = ["checkout-index", "--force", "--quiet", "--"].map(OsStr::new);
        there.must(&command.into_iter().chain(names).collect::<Vec<_>>())?;
    }
    repository.hook(&there, "pre-commit", &[])
}

/// Refuses what a pre-commit hook has changed in the tree: our commit has exactly its own paths,
/// with the caller's bytes.
fn refuse_changed(
    runner: &Runner<'_>,
    tree: &str,
    now: &str,
    targets: &[Target],
) -> Result<(), Failure> {
    if tree == now {
        return Ok(());
    }
    let changed = differences(&committed(runner, Some(tree))?, &committed(runner, Some(now))?);
    let is_target = |file: &File| targets.iter().any(|target| target.is(file));
    let what = match changed.first().filter(|_| changed.iter().all(is_target)) {
        Some(file) => format!("changed {}", file.name.display()),
        None => "added other files to the commit".to_owned(),
    };
    Err(Failure::Git(format!("the pre-commit hook {what}; that is not done here")))
}
