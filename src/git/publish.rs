//! Pushing a commit, after putting it on top of what is new on the remote.

use super::checkout::Checkout;
use super::commit::{self, Built};
use super::objects::{File, committed, differences, is_ancestor, merge_base};
use super::process::Runner;
use super::repository::{FETCHED, Repository, Target};
use super::{Failure, local_move};
use crate::disk;
use std::time::Duration;

/// Attempts to push a commit, each on top of what the remote has by then; others push occasionally,
/// not constantly.
const PUSHES: usize = 4;
/// For asking the remote whether an interrupted push arrived.
const PUSH_CHECK: Duration = Duration::from_secs(5);

/// Pushes a commit that was built on the branch, where there is a remote. Nothing here moves before
/// the remote has it. Returns the commit, and the files to be moved here if it was put on top of
/// new commits of the remote.
///
/// # Errors
/// [`Failure`]; the local repository is as it was, or has what the remote had.
pub(super) fn publish(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
    built: &Built,
) -> Result<(String, Option<Checkout>), Failure> {
    let Some(remote) = &repository.remote else { return Ok((built.commit.clone(), None)) };
    let (mut commit, mut incoming) = (built.commit.clone(), None);
    let mut rejected = String::new();
    for _ in 0..PUSHES {
        match push(repository, runner, remote, &commit)? {
            Pushed::Accepted => return Ok((commit, incoming)),
            Pushed::Rejected(words) => rejected = words,
        }
        fetch(repository, runner, remote)?;
        let base = merge_base(runner, &built.commit, FETCHED)?;
        // A remote with several URLs may have accepted it at one of them. The first commit pushed
        // is the base then; later ones are rebuilt.
        if base.as_ref() == Some(&commit)
            || incoming.is_some() && is_ancestor(runner, &commit, FETCHED)?
        {
            return Ok((commit, incoming));
        }
        if repository.head.is_some() && base != repository.head {
            return Err(Failure::Refused(
                "the local branch has commits that were never pushed, and the remote has others. \
                 Join them by hand (git pull --rebase, git push)"
                    .into(),
            ));
        }
        let news = news(repository, runner)?;
        let target = targets.iter().find(|target| news.iter().any(|file| target.is(file)));
        let checkout = Checkout::prepare(repository, runner, news, false);
        // The caller has to read the remote's version before anything else can be done.
        if let Some(target) = target {
            let words = match checkout
                .and_then(|checkout| local_move::fast_forward(repository, runner, checkout))
            {
                Ok(()) => "the local copy has that version now: read it again, and repeat the \
                           change in it"
                    .to_owned(),
                Err(why) => format!("and the local copy could not be brought up to date: {why}"),
            };
            return Err(Failure::Conflict(
                format!("{} was changed on the remote meanwhile; {words}", target.path.as_str()),
                None,
            ));
        }
        let checkout = checkout?;
        checkout.check()?;
        commit = commit::rebuild(repository, runner, built, FETCHED)?;
        incoming = Some(checkout);
    }
    Err(Failure::Git(format!(
        "the remote kept changing meanwhile, or refuses the push: {rejected}; try again"
    )))
}

/// The files that the fetched commit changes.
fn news(repository: &Repository, runner: &Runner<'_>) -> Result<Vec<File>, Failure> {
    Ok(differences(&repository.committed, &committed(runner, Some(FETCHED))?))
}

/// Replaces files that a tool has changed here by the remote's versions, if nothing else blocks its
/// new commits. Returns a message that names these files and the copies of the replaced texts, and
/// the paths of the files.
///
/// # Errors
/// [`Failure`]; then the files are as they were.
pub(super) fn take_theirs(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
) -> Result<(String, Vec<String>), Failure> {
    let changes = &repository.changes;
    let mut checkout = Checkout::prepare(repository, runner, news(repository, runner)?, false)?;
    let incoming = |target: &Target| {
        checkout.files.iter().find(|file| target.is(file)).map(|file| file.new.clone())
    };
    let changed: Vec<(&Target, _)> =
        targets.iter().filter_map(|target| Some((target, incoming(target)?))).collect();
    changed.iter().for_each(|(target, _)| checkout.accept(&target.file, target.before.clone()));
    // A file that is here what the remote has, but for line ends, is not copied and does not count
    // as replaced.
    let differing: Vec<(&Target, _)> =
        changed.into_iter().filter(|(target, theirs)| target.file.new != *theirs).collect();
    let paths_where = |is_there: bool| -> Vec<&str> {
        differing
            .iter()
            .filter(|(_, theirs)| theirs.is_some() == is_there)
            .map(|(target, _)| target.path.as_str())
            .collect()
    };
    let (changed, deleted) = (paths_where(true), paths_where(false));
    let replaced: Vec<&Target> = differing.iter().map(|(target, _)| *target).collect();
    checkout.check()?;
    let (mut restored, mut copies) = (Vec::new(), Vec::new());
    let replace = || {
        // First each file gets the branch's version. With the tool's text it would count as changed
        // when the recorded move is finished after a crash: it would stay, and the next call would
        // commit it over the remote's version.
        for target in &replaced {
            let committed = checkout.old_bytes(&target.file)?;
            if let Some(text) = &target.before {
                copies.push((target, changes.copy_to_trash(&target.path, text)?));
            }
            changes.replace_known(&target.path, target.before.as_deref(), committed.as_deref())?;
            restored.push((target, committed));
        }
        local_move::fast_forward(repository, runner, checkout)
    };
    if let Err(failure) = replace() {
        for (target, committed) in restored {
            if let Err(error) =
                changes.replace_known(&target.path, committed.as_deref(), target.before.as_deref())
            {
                log::error!("git: {} could not be put back: {error}", target.path.as_str());
            }
        }
        // A text that was put back needs no copy.
        let is_restored = |target: &Target| {
            changes.vault.bytes_if_any(&target.path).is_ok_and(|now| now == target.before)
        };
        copies
            .iter()
            .filter(|(target, _)| is_restored(target))
            .for_each(|(_, copy)| disk::discard(&changes.vault.root().join(copy)));
        return Err(failure);
    }
    let names: Vec<String> =
        replaced.iter().map(|target| target.path.as_str().to_owned()).collect();
    let copies: Vec<String> = copies.into_iter().map(|(_, copy)| copy).collect();
    let kept = match copies.is_empty() {
        true => String::new(),
        false => format!(
            ". Tell the user: {} has the text that was here, also what was not committed",
            copies.join(", ")
        ),
    };
    let mut words = Vec::new();
    if !changed.is_empty() {
        words.push(format!(
            "{} was changed on the remote meanwhile; the local copy has that version now",
            changed.join(", ")
        ));
    }
    if !deleted.is_empty() {
        words.push(format!(
            "{} was deleted on the remote meanwhile, and is deleted here now",
            deleted.join(", ")
        ));
    }
    // A move cannot be repeated: its new path exists.
    let is_back = replaced.iter().any(|target| target.before.is_none());
    let back = if is_back {
        ". What was moved or deleted is at its old path again: after a move bring what is new in \
         it to the new path, and delete it"
    } else {
        ""
    };
    let again =
        if changed.is_empty() { "" } else { ": read it again, and repeat the change in it" };
    Ok((format!("{}{again}{back}{kept}", words.join("; ")), names))
}

enum Pushed {
    /// The remote has the commit.
    Accepted,
    /// The remote has, or claims to have, other commits: git's words.
    Rejected(String),
}

fn push(
    repository: &Repository,
    runner: &Runner<'_>,
    remote: &str,
    commit: &str,
) -> Result<Pushed, Failure> {
    let target = format!("{commit}:{}", repository.branch);
    // A push that has begun cannot be cancelled: it would be unknown whether the remote has the
    // commit.
    let left = runner.deadline.left().unwrap_or_default();
    if (runner.cancelled)() {
        return Err(Failure::Cancelled);
    }
    let words = match runner.uncancellable(left).run(&[
        "push",
        "--porcelain",
        "--no-follow-tags",
        "--recurse-submodules=no",
        remote,
        &target,
    ]) {
        Ok(output) if output.ok => return Ok(Pushed::Accepted),
        Ok(output) => {
            let report = String::from_utf8_lossy(&output.stdout).replace('\t', " ");
            let rejected = report.lines().find(|line| line.starts_with('!')).unwrap_or_default();
            // The second message means two pushes at the same moment.
            if rejected.contains("[rejected]") || rejected.contains("failed to update ref") {
                return Ok(Pushed::Rejected(rejected.to_owned()));
            }
            if rejected.is_empty() {
                output.words()
            } else {
                format!("{rejected} {}", output.stderr)
            }
        }
        Err(Failure::Git(words)) => words,
        Err(other) => return Err(other),
    };
    // The push may have reached the remote all the same; a later push may be on top of it.
    let asking = runner.uncancellable(PUSH_CHECK);
    match fetch(repository, &asking, remote).and_then(|()| is_ancestor(&asking, commit, FETCHED)) {
        Ok(true) => Ok(Pushed::Accepted),
        Ok(false) => Err(Failure::Git(words)),
        Err(_) => Err(Failure::Git(format!(
            "{words} (the remote could not be asked whether it has the commit all the same)"
        ))),
    }
}

/// Sets [`FETCHED`] to the commit of the remote's branch. Changes no other ref.
fn fetch(repository: &Repository, runner: &Runner<'_>, remote: &str) -> Result<(), Failure> {
    let wanted = format!("+{}:{FETCHED}", repository.branch);
    let options = [
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--no-prune",
        "--refmap=",
        "--quiet",
    ];
    runner.must(&[&["fetch"], &options[..], &[remote, &wanted]].concat()).map(drop)
}
