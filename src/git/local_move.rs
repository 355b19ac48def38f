//! Moving the branch, the index and the working tree to a published commit, in an order in which a
//! crash loses nothing and the move can be finished later: the files, one by one; the index; the
//! branch. All of it under git's own lock on the index, so that no other program stages, commits or
//! switches in between. The move is recorded before it begins.

use super::Failure;
use super::checkout::Checkout;
use super::index::Index;
use super::objects::{Entry, Staged, clashes, committed, differences, put_entries, staged};
use super::process::Runner;
use super::repository::{FETCHED, Repository, Target};
use crate::vault::Error as VaultError;
use std::time::Duration;

/// For the post-commit hook.
const POST_COMMIT: Duration = Duration::from_secs(3);
/// Files named as kept because they were changed.
const NAMED: usize = 10;
/// For moving branch, index and working tree once the remote has a commit; not part of
/// `GIT_TIMEOUT_MS`.
const LOCAL_MOVE: Duration = Duration::from_secs(20);

/// Moves everything to a commit: the files of `incoming`, then the targets. Gives the names of
/// files that were changed meanwhile and stay as they are. With `recovers`, the move was begun
/// before, and what is staged or changed since stays.
///
/// # Errors
/// [`Failure`]. Without a remote everything is as it was. Where a remote has the commit, the record
/// and git's lock stay, and the next operation finishes the move; or, if the repository was used
/// meanwhile, git pull brings it.
pub(super) fn move_to(
    repository: &Repository,
    runner: &Runner<'_>,
    commit: &str,
    mut incoming: Option<Checkout>,
    targets: &[Target],
    recovers: bool,
) -> Result<Vec<String>, Failure> {
    let runner = &runner.uncancellable(LOCAL_MOVE);
    let index = Index::lock(repository)?;
    // The push took a while. Where the repository was used meanwhile, nothing here is touched.
    let mut may_move = repository.is_at_same_commit(runner)?;
    if !repository.has_same_index() {
        let staged = staged(&index.on_copy(runner))?;
        may_move &= targets.iter().map(|target| &target.file).all(|file| {
            is_staged_as(staged.get(&file.name), file.old.as_ref())
                && !(file.new.is_some() && clashes(&staged, &file.name))
        });
        incoming.as_mut().map_or(Ok(()), |incoming| incoming.select(&staged, recovers))?;
    }
    if !may_move {
        let words =
            "nothing was moved here, because the repository was used by another program meanwhile";
        let advice = if repository.remote.is_some() { "git pull brings it" } else { "try again" };
        return Err(Failure::Git(format!("{words}; {advice}")));
    }
    if let Some(incoming) = incoming.as_ref().filter(|_| !recovers) {
        incoming.check()?;
    }
    repository.begin_move(commit)?;
    let (mut kept, mut written) = (Vec::new(), Vec::new());
    let moved = move_files(repository, incoming.as_ref(), targets, &mut kept, &mut written)
        .and_then(|()| finish(repository, runner, &index, commit, incoming.as_ref(), targets));
    if let Err(failure) = moved {
        match failure {
            // The commit exists only here.
            _ if repository.remote.is_none() && !targets.is_empty() => {
                written.into_iter().for_each(|target| put_back(repository, target));
                repository.end_move();
            }
            // A person has switched to another branch, and needs the index.
            Failure::Refused(_) => {}
            _ => index.keep_locked(),
        }
        return Err(failure);
    }
    drop(index);
    // Not where only the remote's commits came; what is finished after a crash may be a commit of
    // ours.
    if recovers || !targets.is_empty() {
        let _ = repository.hook(&runner.uncancellable(POST_COMMIT), "post-commit", &[]);
    }
    Ok(kept)
}

/// Whether the index has exactly this entry of a file, or none, without a conflict or a mark by
/// which git ignores changes.
fn is_staged_as(staged: Option<&Staged>, expected: Option<&Entry>) -> bool {
    staged.is_none_or(|staged| staged.blocked.is_none())
        && staged.and_then(|staged| staged.entry.as_ref()) == expected
}

/// Moves the files of the working tree. `kept` gets the names of those that stay because they were
/// changed meanwhile.
fn move_files<'a>(
    repository: &Repository,
    incoming: Option<&Checkout>,
    targets: &'a [Target],
    kept: &mut Vec<String>,
    written: &mut Vec<&'a Target>,
) -> Result<(), Failure> {
    if let Some(checkout) = incoming {
        let moved = checkout.apply();
        let _ = repository.changes.vault.refresh_now();
        *kept = moved?;
    }
    for target in targets.iter().filter(|target| target.before != target.after) {
        match repository.changes.replace_known(
            &target.path,
            target.before.as_deref(),
            target.after.as_deref(),
        ) {
            Ok(()) => written.push(target),
            // The note was saved by another program meanwhile: that text stays on disk, as a change
            // on top of ours.
            Err(VaultError::Conflict(_) | VaultError::Busy) => {
                kept.push(target.path.as_str().to_owned())
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Restores the note; for a commit that was not pushed.
fn put_back(repository: &Repository, target: &Target) {
    if let Err(error) = repository.changes.replace_known(
        &target.path,
        target.after.as_deref(),
        target.before.as_deref(),
    ) {
        log::error!("git: {} could not be put back: {error}", target.path.as_str());
    }
}

/// Moves the index and the branch, with a time limit of its own; then the move is complete.
fn finish(
    repository: &Repository,
    runner: &Runner<'_>,
    index: &Index,
    commit: &str,
    incoming: Option<&Checkout>,
    targets: &[Target],
) -> Result<(), Failure> {
    let runner = &runner.uncancellable(LOCAL_MOVE);
    let files = incoming
        .into_iter()
        .flat_map(|incoming| &incoming.files)
        .chain(targets.iter().map(|target| &target.file));
    put_entries(&index.on_copy(runner), files)?;
    // A new branch can be checked out without the lock (git switch -c).
    if !repository.is_branch_checked_out(runner)? {
        return Err(Failure::Refused(
            "another branch was checked out, or this one was moved, at the same moment; git pull \
             there brings it"
                .into(),
        ));
    }
    index.install()?;
    let branch = match &repository.head {
        Some(head) => format!("update {} {commit} {head}", repository.branch),
        None => format!("create {} {commit}", repository.branch),
    };
    let what = match targets {
        [] => "what the remote has".to_owned(),
        [target] => target.file.name.display().to_string(),
        several => format!("{} files", several.len()),
    };
    let change = ["update-ref", "-m", &format!("vault-sync-mcp: {what}"), "--stdin"];
    let fetched = if incoming.is_some() { format!("delete {FETCHED}\n") } else { String::new() };
    if let Err(failure) = runner.must_with(&change, format!("{branch}\n{fetched}").as_bytes()) {
        // The branch could not be moved: nothing of ours may stay staged.
        index.restore()?;
        return Err(failure);
    }
    repository.end_move();
    Ok(())
}

/// Describes files that were changed meanwhile: they are a change on top of the commit. `None` for
/// none.
pub(super) fn describe_kept(mut kept: Vec<String>) -> Option<String> {
    kept.truncate(NAMED);
    (!kept.is_empty()).then(|| {
        format!(
            "changed on disk meanwhile, and left as it is, on top of the commit: {}",
            kept.join(", ")
        )
    })
}

/// Finishes what a crash, or a full disk, interrupted. Whether there was anything to finish.
///
/// # Errors
/// [`Failure`] when it cannot be finished now either.
pub(super) fn recover(repository: &Repository, runner: &Runner<'_>) -> Result<bool, Failure> {
    let Some((commit, from)) = &repository.pending()? else { return Ok(false) };
    let runner = &runner.uncancellable(LOCAL_MOVE);
    let exists = runner.run(&["cat-file", "-e", &format!("{commit}^{{commit}}")])?.ok;
    if !exists || *from != repository.head {
        if repository.head.as_ref() != Some(commit) {
            log::warn!(
                "git: a change was interrupted and is not finished, because the branch was moved \
                 since: commit {commit}"
            );
        }
        repository.end_move();
        return Ok(true);
    }
    log::info!("git: finishing what was interrupted: {commit}");
    let incoming = differences(&repository.committed, &committed(runner, Some(commit))?);
    let checkout = Checkout::prepare(repository, runner, incoming, true)?;
    match move_to(repository, runner, commit, Some(checkout), &[], true) {
        Err(failure) if repository.pending()?.is_some() => return Err(failure),
        Err(failure) => log::warn!("git: {failure}"),
        Ok(kept) => describe_kept(kept).iter().for_each(|words| log::warn!("git: {words}")),
    }
    Ok(true)
}

/// Moves everything forward to what was fetched, never over an uncommitted change.
///
/// # Errors
/// [`Failure::Refused`] naming what blocks it, [`Failure::Git`] when it could not be finished; the
/// next operation goes on.
pub(super) fn fast_forward(
    repository: &Repository,
    runner: &Runner<'_>,
    incoming: Checkout,
) -> Result<(), Failure> {
    let commit = runner.must(&["rev-parse", "--verify", &format!("{FETCHED}^{{commit}}")])?.line();
    match describe_kept(move_to(repository, runner, &commit, Some(incoming), &[], false)?) {
        Some(kept) => Err(Failure::Git(kept)),
        None => Ok(()),
    }
}
