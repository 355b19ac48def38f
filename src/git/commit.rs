//! A commit of exactly the files of a call, built in a private index. It moves no branch, and
//! neither index nor working tree.

use super::Failure;
use super::process::Runner;
use super::repository::{Entry, File, Repository, parse_changes};
use crate::disk;
use std::path::{Path, PathBuf};

/// Files in one run of git: their names are on the command line.
const FILES_OF_A_RUN: usize = 500;

/// A commit on top of the branch.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) commit: String,
    /// The files in which it differs from what it is on top of: those of the call, as the hooks
    /// left them, and what else the hooks have added.
    pub(super) files: Vec<File>,
    /// Names of the files of the call.
    own: Vec<String>,
    /// The message, as the hooks left it.
    message: PathBuf,
}

impl Built {
    /// Whether a hook has added this file to the commit.
    pub(super) fn is_by_hook(&self, file: &File) -> bool {
        !self.own.contains(&file.name)
    }
}

/// Builds a commit in which the files have these contents (`None`: gone), with the hooks of a
/// commit.
///
/// # Errors
/// [`Failure::Git`] in git's or a hook's words.
pub(super) fn build(
    repository: &Repository<'_>,
    files: Vec<File>,
    message: &str,
) -> Result<Built, Failure> {
    let own = files.iter().map(|file| file.name.clone()).collect();
    let private = private_index(repository, repository.head.as_deref())?;
    stage(&private, files.iter().map(|file| (file.name.as_str(), file.new.as_ref())))?;
    let may_have_changed = hook(repository, &private, "pre-commit", &[])?;
    let tree = private.must(&["write-tree"])?.line();
    let message_file = repository.scratch();
    disk::write_new(&message_file, format!("{}\n", message.trim_end()).as_bytes()).map_err(
        |error| Failure::Git(format!("the commit message could not be written: {}", error.kind())),
    )?;
    hook(repository, &private, "commit-msg", &[&message_file.to_string_lossy()])?;
    let head = repository.head.as_deref();
    let commit = commit_tree(repository, &tree, head, &message_file)?;
    let files = match may_have_changed {
        true => changes(&repository.runner, head, &commit)?,
        false => files,
    };
    if files.is_empty() {
        return Err(Failure::Git(
            "the pre-commit hook has taken the change out of the commit: it has to work on the \
             index, not on the file in the working tree"
                .into(),
        ));
    }
    Ok(Built { commit, files, own, message: message_file })
}

/// Puts the same change on top of the branch, where its files are what they were.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn rebuild(repository: &Repository<'_>, built: Built) -> Result<Built, Failure> {
    let private = private_index(repository, repository.head.as_deref())?;
    stage(&private, built.files.iter().map(|file| (file.name.as_str(), file.new.as_ref())))?;
    let tree = private.must(&["write-tree"])?.line();
    let head = repository.head.as_deref();
    if let Some(head) = head
        && repository.runner.must(&["rev-parse", &format!("{head}^{{tree}}")])?.line() == tree
    {
        // Somebody has made the same change.
        return Ok(Built { commit: head.to_owned(), ..built });
    }
    let commit = commit_tree(repository, &tree, head, &built.message)?;
    Ok(Built { commit, ..built })
}

/// The files in which a commit differs from another; from nothing for `None`.
pub(super) fn changes(
    runner: &Runner<'_>,
    from: Option<&str>,
    to: &str,
) -> Result<Vec<File>, Failure> {
    let options = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index"];
    let of = match from {
        Some(from) => vec![from, to],
        None => vec!["--root", "--no-commit-id", to],
    };
    Ok(parse_changes(&runner.must(&[&options[..], &of].concat())?.stdout))
}

/// Gives files their entries in an index. Git refuses what would put a file where there is a
/// folder.
pub(super) fn stage<'a>(
    runner: &Runner<'_>,
    files: impl Iterator<Item = (&'a str, Option<&'a Entry>)>,
) -> Result<(), Failure> {
    let (mut present, mut gone) = (Vec::new(), Vec::new());
    for (name, entry) in files {
        match entry {
            Some(Entry { mode, blob }) => present.push(format!("{mode},{blob},{name}")),
            None => gone.push(name),
        }
    }
    for names in gone.chunks(FILES_OF_A_RUN) {
        let command = ["update-index", "--force-remove", "--"];
        runner.locally(&[&command[..], names].concat())?;
    }
    for entries in present.chunks(FILES_OF_A_RUN) {
        let mut command = vec!["update-index", "--add"];
        entries.iter().for_each(|entry| command.extend(["--cacheinfo", entry]));
        runner.locally(&command)?;
    }
    Ok(())
}

/// A private index with the files of a commit.
fn private_index<'a>(
    repository: &Repository<'a>,
    commit: Option<&str>,
) -> Result<Runner<'a>, Failure> {
    let private = Runner { index: Some(repository.scratch()), ..repository.runner.clone() };
    private.must(&["read-tree", commit.unwrap_or("--empty")])?;
    Ok(private)
}

fn commit_tree(
    repository: &Repository<'_>,
    tree: &str,
    parent: Option<&str>,
    message: &Path,
) -> Result<String, Failure> {
    let message = message.to_string_lossy();
    let mut command = vec!["commit-tree", tree, "-F", &message];
    if let Some(parent) = parent {
        command.extend(["-p", parent]);
    }
    if repository.signs {
        command.push("-S");
    }
    let output = repository.runner.run(&command)?;
    if output.ok {
        return Ok(output.line());
    }
    // Git's own message is a page long and meant for a terminal.
    if ["user.useConfigOnly", "empty ident", "tell me who you are"]
        .iter()
        .any(|words| output.stderr.contains(words))
    {
        return Err(Failure::Git(
            "git has no identity: as the server's user, run git config --global user.name NAME \
             and user.email ADDRESS"
                .into(),
        ));
    }
    Err(Failure::Git(output.words()))
}

/// Runs a hook; gives whether there is one.
fn hook(
    repository: &Repository<'_>,
    runner: &Runner<'_>,
    name: &str,
    arguments: &[&str],
) -> Result<bool, Failure> {
    if !repository.has_hook(name) {
        return Ok(false);
    }
    let output = runner.run(&[&["hook", "run", name, "--"], arguments].concat())?;
    if output.ok {
        return Ok(true);
    }
    let words = if output.stderr.is_empty() { "it did not say why" } else { &output.stderr };
    Err(Failure::Git(format!("the {name} hook refused: {words}")))
}
