//! A commit of exactly the target paths, built in a private index. It moves no branch, and neither index nor working tree.

use super::Failure;
use super::objects::{Entry, File, differences, put_entries};
use super::process::Runner;
use super::repository::{Note, Repository, Scratch};
use crate::disk::{self, Mode};
use crate::vault::VaultPath;
use crate::vault::journal::Step;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A note that a commit changes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: VaultPath,
    /// Its name from the top of the repository.
    pub(super) name: String,
    /// Its entry on the branch, and the new one.
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
    /// Its bytes on disk, and the new ones.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

impl Target {
    /// A note that is to have these bytes, stored as this object.
    pub(super) fn of(path: VaultPath, name: String, note: Note, after: Option<Vec<u8>>, blob: Option<String>) -> Target {
        let (old, before) = (note.committed, note.bytes);
        let mode = old.as_ref().map_or("100644", |old| &old.mode).to_owned();
        Target { path, name, new: blob.map(|blob| Entry { mode, blob }), old, before, after }
    }

    pub(super) fn is(&self, file: &File) -> bool {
        file.name == Path::new(&self.name)
    }

    pub(super) fn changes_commit(&self) -> bool {
        self.old != self.new
    }

    /// The file as the commit changes it.
    pub(super) fn file(&self) -> File {
        File { name: PathBuf::from(&self.name), old: self.old.clone(), new: self.new.clone() }
    }
}

/// A commit, and its message as the hooks left it.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) commit: String,
    message: Scratch,
}

/// Builds a commit on top of the branch, with the hooks of a commit as git would run them.
///
/// # Errors
/// [`Failure::Git`] in git's or a hook's words.
pub(super) fn build(repository: &Repository, runner: &Runner<'_>, targets: &[Target], message: &str) -> Result<Built, Failure> {
    let index = repository.scratch("index");
    let private = Runner { index: Some(index.0.clone()), ..runner.at(&repository.top) };
    let head = repository.head.as_deref();
    private.must(&["read-tree", head.unwrap_or("--empty")])?;
    let files: Vec<File> = targets.iter().map(Target::file).collect();
    put_entries(&private, &files, &[])?;
    check_with_hook(repository, &private, targets)?;
    let tree = private.must(&["write-tree"])?.line();
    if repository.has_hook("pre-commit") {
        check_tree(&private, &repository.head_or_empty(&private)?, &tree, targets)?;
    }
    let file = repository.scratch("message");
    disk::replace::<std::io::Error>(&file.0, format!("{}\n", message.trim_end()).as_bytes(), Mode::Private, |_| Ok(()))
        .map_err(|error| Failure::Git(format!("the commit message could not be written: {}", error.kind())))?;
    let path = file.0.to_string_lossy();
    repository.hook(&private, "prepare-commit-msg", &[&path, "message"])?;
    repository.hook(&private, "commit-msg", &[&path])?;
    Ok(Built { commit: commit_tree(repository, runner, &tree, head, &file)?, message: file })
}

/// The same change as a commit on top of `onto`, in which its files are the same as on the branch.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn rebuild(repository: &Repository, runner: &Runner<'_>, built: &Built, onto: &str) -> Result<String, Failure> {
    // Otherwise a new note would be moved along with a folder that was renamed there.
    let merge =
        ["-c", "merge.renames=false", "-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--allow-unrelated-histories"];
    let merged = runner.run(&[&merge[..], &[&built.commit, onto]].concat())?;
    if !merged.ok && merged.stderr.is_empty() {
        return Err(Failure::Git("the remote has a file where the change needs a folder, or a folder of that name".into()));
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
    message: &Scratch,
) -> Result<String, Failure> {
    let message = message.0.to_string_lossy();
    let mut command = vec!["commit-tree", tree, "-F", &message];
    if let Some(parent) = parent {
        command.extend(["-p", parent]);
    }
    if repository.settings.is_true("commit.gpgsign") == Some(true) {
        command.push("-S");
    }
    let output = runner.at(&repository.top).run(&command)?;
    if output.ok {
        return Ok(output.line());
    }
    // Git's own message is a page long and meant for a terminal.
    if output.stderr.contains("user.useConfigOnly")
        || output.stderr.contains("empty ident")
        || output.stderr.contains("tell me who you are")
    {
        return Err(Failure::Git(
            "git has no identity: as the server's user, run git config --global user.name NAME and user.email ADDRESS".into(),
        ));
    }
    Err(Failure::Git(output.words()))
}

/// Runs the pre-commit hook with the new notes in the working tree: many hooks look there and not
/// at the index.
fn check_with_hook(repository: &Repository, runner: &Runner<'_>, targets: &[Target]) -> Result<(), Failure> {
    if !repository.has_hook("pre-commit") {
        return Ok(());
    }
    let step = |target: &Target| {
        let (path, before, after) = (target.path.clone(), target.before.clone(), target.after.clone());
        let on_disk = repository.vault.root().join(path.as_str());
        let mode = after.is_none().then(|| on_disk.metadata().map_or(0o644, |found| found.permissions().mode()));
        (before != after).then_some(Step::Write { path, before, after, mode })
    };
    let steps: Vec<Step> = targets.iter().filter_map(step).collect();
    let run = || repository.hook(runner, "pre-commit", &[]);
    if steps.is_empty() { run() } else { repository.vault.begin_transaction()?.show(&steps, run)? }
}

/// Refuses what a pre-commit hook has changed: our commit has exactly its own paths, with the caller's bytes.
fn check_tree(runner: &Runner<'_>, base: &str, made: &str, targets: &[Target]) -> Result<(), Failure> {
    let made = differences(runner, base, made)?;
    if made.iter().any(|file| !targets.iter().any(|target| target.is(file))) {
        return Err(Failure::Git("the pre-commit hook added other files to the commit; that is not done here".into()));
    }
    // A file without a difference is as on the branch.
    let is_as_meant = |target: &&Target| match made.iter().find(|file| target.is(file)) {
        Some(file) => file.new == target.new,
        None => !target.changes_commit(),
    };
    match targets.iter().find(|target| !is_as_meant(target)) {
        Some(target) => Err(Failure::Git(format!("the pre-commit hook changed {}; that is not done here", target.path.as_str()))),
        None => Ok(()),
    }
}
