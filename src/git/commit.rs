//! A commit of exactly the paths that are meant, built beside the index. Nothing of the repository moves by it.

use super::objects::Entry;
use super::process::Runner;
use super::repository::Repository;
use super::{Change, Failure, tree};
use crate::disk::{self, Mode};
use crate::limits;
use crate::vault::transaction::Step;
use crate::vault::{Vault, VaultPath};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A note that a commit is about.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: VaultPath,
    /// Its name from the top of the repository.
    pub(super) name: String,
    pub(super) change: Change,
    pub(super) mode: String,
    /// The object that it becomes; `None` to delete it.
    pub(super) blob: Option<String>,
    /// What the branch had.
    pub(super) committed: Option<Entry>,
    /// What was on disk.
    pub(super) before: Option<Vec<u8>>,
}

/// Builds a commit on top of `base`. With `hooks`, those of a commit run as git would run them; not when the same change
/// is put on top of what the remote has.
///
/// # Errors
/// [`Failure::Git`] in git's or a hook's words.
pub(super) fn build(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    base: Option<&str>,
    targets: &[Target],
    message: &str,
    hooks: bool,
) -> Result<String, Failure> {
    let index = repository.scratch("index")?;
    let beside = Runner { index: Some(index.0.clone()), ..runner.at(&repository.top) };
    match base {
        Some(base) => beside.must(&["read-tree", base])?,
        None => beside.must(&["read-tree", "--empty"])?,
    };
    put(&beside, targets, &[])?;
    if hooks {
        check_with_hook(vault, repository, &beside, targets)?;
    }
    let tree = beside.must(&["write-tree"])?.line();
    if hooks && repository.has_hook("pre-commit") {
        check_tree(repository, &beside, base, &tree, targets)?;
    }
    let words = repository.scratch("message")?;
    disk::replace::<std::io::Error>(&words.0, format!("{}\n", message.trim_end()).as_bytes(), Mode::Private, |_| Ok(()))
        .map_err(|error| Failure::Git(format!("the commit message could not be written: {}", error.kind())))?;
    let file = words.0.to_string_lossy();
    if hooks {
        repository.hook(&beside, "prepare-commit-msg", &[&file, "message"])?;
        repository.hook(&beside, "commit-msg", &[&file])?;
    }
    let mut command = vec!["commit-tree", &tree, "-F", &file];
    if let Some(base) = base {
        command.extend(["-p", base]);
    }
    if repository.settings.is_true("commit.gpgsign") == Some(true) {
        command.push("-S");
    }
    let output = beside.run(&command)?;
    if output.ok {
        return Ok(output.line());
    }
    // Git's own words for this are a page long and about somebody at a terminal.
    if output.stderr.contains("user.useConfigOnly")
        || output.stderr.contains("empty ident")
        || output.stderr.contains("tell me who you are")
    {
        return Err(Failure::Git(
            "git knows no identity: as the server's user, git config --global user.name NAME and user.email ADDRESS".into(),
        ));
    }
    Err(Failure::Git(output.words()))
}

/// Runs the pre-commit hook, which finds the notes in the working tree as they are going to be: many hooks look there and not
/// at the index.
fn check_with_hook(vault: &Vault, repository: &Repository, runner: &Runner<'_>, targets: &[Target]) -> Result<(), Failure> {
    if !repository.has_hook("pre-commit") {
        return Ok(());
    }
    let step = |target: &Target| {
        let path = target.path.clone();
        match (&target.change, target.before.clone()) {
            (Change::Write(after), Some(before)) => (before != *after).then(|| Step::Replace { path, before, after: after.clone() }),
            (Change::Write(bytes), None) => Some(Step::Create { path, bytes: bytes.clone() }),
            (Change::Delete, before) => {
                let mode = vault.root().join(path.as_str()).metadata().map_or(0o644, |found| found.permissions().mode());
                before.map(|bytes| Step::Remove { path, bytes, mode })
            }
        }
    };
    let steps: Vec<Step> = targets.iter().filter_map(step).collect();
    let run = || repository.hook(runner, "pre-commit", &[]);
    if steps.is_empty() { run() } else { vault.begin_transaction()?.show(&steps, run)? }
}

/// Puts notes into an index; `more` are further options of `update-index`, which come after the notes that are written.
pub(super) fn put(runner: &Runner<'_>, targets: &[Target], more: &[&str]) -> Result<(), Failure> {
    for targets in targets.chunks(limits::GIT_ARGUMENTS) {
        let written = targets.iter().filter_map(|target| Some(format!("{},{},{}", target.mode, target.blob.as_ref()?, target.name)));
        let written: Vec<String> = written.collect();
        let mut command = vec!["update-index", "--add"];
        written.iter().for_each(|entry| command.extend(["--cacheinfo", entry]));
        command.extend(more);
        command.extend(["--force-remove", "--"]);
        command.extend(targets.iter().filter(|target| target.blob.is_none()).map(|target| target.name.as_str()));
        runner.must(&command)?;
    }
    Ok(())
}

/// A pre-commit hook may change what is committed; a commit of ours has its own paths, with the bytes that the caller gave.
fn check_tree(repository: &Repository, runner: &Runner<'_>, base: Option<&str>, made: &str, targets: &[Target]) -> Result<(), Failure> {
    let meant = |name: &Path| targets.iter().any(|target| Path::new(&target.name) == name);
    if tree::differences(runner, base, made)?.iter().any(|file| !meant(&file.name)) {
        return Err(Failure::Git("the pre-commit hook added other files to the commit; that is not done here".into()));
    }
    for target in targets {
        let blob = repository.entry(runner, made, &target.name)?.map(|entry| entry.blob);
        if blob != target.blob {
            return Err(Failure::Git(format!("the pre-commit hook changed {}; that is not done here", target.path.as_str())));
        }
    }
    Ok(())
}
