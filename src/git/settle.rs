//! Moving the branch, the index and the working tree to a published commit, in an order in which a crash loses nothing and the move can
//! be finished later: the files, one by one; the index; the branch. All of it under git's own lock on the index, so that no
//! other program stages, commits or switches in between. The move is recorded before it begins.

use super::Failure;
use super::checkout::Checkout;
use super::commit::Target;
use super::index::Index;
use super::objects::{File, differences, is_ancestor};
use super::process::Runner;
use super::repository::{FETCHED, Repository};
use crate::limits;
use crate::vault::Error as VaultError;

/// Moves everything to a published commit.
///
/// # Errors
/// [`Failure`]. Without a remote everything is as it was. Where a remote has the commit, the next operation finishes the move, or, if
/// the repository was used meanwhile, git pull brings it.
pub(super) fn settle(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
    commit: &str,
    mut incoming: Option<Checkout>,
) -> Result<(), Failure> {
    let runner = uncancellable_at_top(repository, runner);
    let index = Index::lock(repository)?;
    // The push took a while. Where the repository was used meanwhile, nothing here is touched.
    let mut as_it_was = repository.is_unchanged(&runner)?;
    if !repository.has_same_index() {
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let staged = repository.staged(&index.on(&runner), &names)?;
        as_it_was &= targets.iter().all(|target| staged.get(&target.name).cloned().transpose().is_ok_and(|now| now == target.old));
    }
    if !as_it_was {
        let brings = if repository.remote.is_some() { "; the commit is made, and git pull brings it" } else { "; try again" };
        return Err(Failure::Git(format!("nothing was moved here, because the repository was used by another program meanwhile{brings}")));
    }
    if let Some(checkout) = &mut incoming {
        if !repository.has_same_index() {
            *checkout = Checkout::prepare(repository, &runner, &index, &checkout.differences, false)?;
        }
        checkout.check()?;
    }
    move_to(repository, &runner, index, &Destination { commit, incoming: incoming.as_ref(), targets })
}

/// What the branch, the index and the working tree are moved to.
struct Destination<'a> {
    commit: &'a str,
    /// Files that differ, apart from the targets.
    incoming: Option<&'a Checkout>,
    /// If there are any, and no remote has the commit, a move that cannot be finished is rolled back; otherwise it is left for the
    /// next operation, with git's lock on the index.
    targets: &'a [Target],
}

fn move_to(repository: &Repository, runner: &Runner<'_>, index: Index, to: &Destination<'_>) -> Result<(), Failure> {
    repository.begin_move(to.commit)?;
    let (mut kept, mut written) = (Vec::new(), Vec::new());
    let moved = move_files(repository, to, &mut kept, &mut written).and_then(|()| finish(repository, runner, &index, to));
    if let Err(failure) = moved {
        match failure {
            _ if repository.remote.is_none() && !to.targets.is_empty() => {
                written.into_iter().for_each(|target| put_back(repository, target));
                repository.end_move();
            }
            // A person has switched to another branch, and needs the index.
            Failure::Refused(_) => {}
            _ => index.leave(),
        }
        return Err(failure);
    }
    drop(index);
    let hook = runner.uncancellable(limits::GIT_POST_COMMIT).at(&repository.top);
    let _ = repository.hook(&hook, "post-commit", &[]);
    report_kept(&kept)
}

/// Moves the files of the working tree. `kept` gets the names of those that stay because they were changed meanwhile.
fn move_files<'a>(
    repository: &Repository,
    to: &Destination<'a>,
    kept: &mut Vec<String>,
    written: &mut Vec<&'a Target>,
) -> Result<(), Failure> {
    if let Some(checkout) = to.incoming {
        let moved = checkout.apply();
        let _ = repository.vault.refresh_now();
        *kept = moved?;
    }
    for target in to.targets {
        match exchange(repository, target, &target.before, &target.after) {
            Ok(()) => written.push(target),
            // The note was saved by another program meanwhile: that text stays on disk, as a change on top of ours.
            Err(VaultError::Conflict(_) | VaultError::Busy) => kept.push(target.path.as_str().to_owned()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes or removes the note on disk, if it still is `known` (`None`: no file).
fn exchange(repository: &Repository, target: &Target, known: &Option<Vec<u8>>, wanted: &Option<Vec<u8>>) -> Result<(), VaultError> {
    if known == wanted { Ok(()) } else { repository.vault.exchange(&target.path, known.as_deref(), wanted.as_deref()) }
}

/// Restores the note; for a commit that was not pushed.
fn put_back(repository: &Repository, target: &Target) {
    if let Err(error) = exchange(repository, target, &target.after, &target.before) {
        log::error!("git: {} could not be put back: {error}", target.path.as_str());
    }
}

/// Moves the index and the branch, with a time limit of its own; then the move is complete.
fn finish(repository: &Repository, runner: &Runner<'_>, index: &Index, to: &Destination<'_>) -> Result<(), Failure> {
    let runner = &runner.uncancellable(limits::GIT_SETTLE).at(&repository.top);
    let incoming = to.incoming.into_iter().flat_map(|incoming| &incoming.files).cloned();
    let files: Vec<File> = incoming.chain(to.targets.iter().map(Target::file)).collect();
    index.put(runner, &files)?;
    // A new branch can be checked out without the lock (git switch -c).
    if !repository.is_undisturbed(runner)? {
        return Err(Failure::Refused(
            "another branch was checked out, or this one was moved, at the same moment; git pull there brings it".into(),
        ));
    }
    index.install()?;
    let branch = match &repository.head {
        Some(head) => format!("update {} {} {head}", repository.branch, to.commit),
        None => format!("create {} {}", repository.branch, to.commit),
    };
    let what = match to.targets {
        [] => "what the remote has".to_owned(),
        [target] => target.name.clone(),
        several => format!("{} files", several.len()),
    };
    let change = ["update-ref", "-m", &format!("vault-sync-mcp: {what}"), "--stdin"];
    let fetched = if to.incoming.is_some() { format!("delete {FETCHED}\n") } else { String::new() };
    if let Err(failure) = runner.must_with(&change, format!("{branch}\n{fetched}").as_bytes()) {
        // The branch could not be moved: nothing of ours may stay staged.
        index.restore()?;
        return Err(failure);
    }
    repository.end_move();
    Ok(())
}

/// Reports files that were kept because they were saved meanwhile: they are a change on top of the commit.
fn report_kept(kept: &[String]) -> Result<(), Failure> {
    match kept {
        [] => Ok(()),
        kept => Err(Failure::Git(format!(
            "changed on disk meanwhile, and left as it is, on top of the commit: {}",
            kept.iter().take(limits::GIT_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Finishes what a crash, or a full disk, interrupted. Whether there was anything to finish.
///
/// # Errors
/// [`Failure`] when it cannot be finished now either.
pub(super) fn recover(repository: &Repository, runner: &Runner<'_>) -> Result<bool, Failure> {
    let runner = uncancellable_at_top(repository, runner);
    let Some(pending) = repository.pending()? else { return Ok(false) };
    let commit = &pending.to;
    if !runner.run(&["cat-file", "-e", &format!("{commit}^{{commit}}")])?.ok {
        log::warn!("git: what was interrupted cannot be finished: the repository has no commit {commit} any more");
        repository.end_move();
        return Ok(true);
    }
    let is_on_branch = match &repository.head {
        Some(head) => is_ancestor(&runner, commit, head)?,
        None => false,
    };
    if is_on_branch || pending.from != repository.head {
        if !is_on_branch && repository.remote.is_none() {
            // The commit exists only here: a ref keeps it findable.
            let name = format!("refs/vault-sync-mcp/left/{commit}");
            runner.must(&["update-ref", &name, commit])?;
            log::warn!("git: the branch was moved after a crash; the change that was interrupted is {name}");
        }
        repository.end_move();
        return Ok(true);
    }
    log::info!("git: finishing what was interrupted: {commit}");
    let index = Index::lock(repository)?;
    if !repository.is_unchanged(&runner)? {
        return Err(Failure::Git("the repository was used by another program at the same moment; try again".into()));
    }
    let incoming = differences(&runner, &repository.head_or_empty(&runner)?, commit)?;
    let checkout = Checkout::prepare(repository, &runner, &index, &incoming, true)?;
    match move_to(repository, &runner, index, &Destination { commit, incoming: Some(&checkout), targets: &[] }) {
        Err(failure) if repository.pending()?.is_some() => Err(failure),
        // Files that stayed as they were are a change on top of the commit.
        outcome => {
            outcome.unwrap_or_else(|failure| log::warn!("git: {failure}"));
            Ok(true)
        }
    }
}

/// Moves the branch, the index and the working tree forward to what was fetched, never over an uncommitted change; `incoming` are
/// the files that differ.
///
/// # Errors
/// [`Failure::Refused`] naming what blocks it, [`Failure::Git`] when it could not be finished; the next operation goes on.
pub(super) fn fast_forward(repository: &Repository, runner: &Runner<'_>, incoming: &[File]) -> Result<(), Failure> {
    let runner = uncancellable_at_top(repository, runner);
    let commit = runner.must(&["rev-parse", "--verify", &format!("{FETCHED}^{{commit}}")])?.line();
    let index = Index::lock(repository)?;
    if !repository.is_unchanged(&runner)? {
        return Err(Failure::Refused("the repository was used by another program at the same moment".into()));
    }
    let checkout = Checkout::prepare(repository, &runner, &index, incoming, false)?;
    checkout.check()?;
    move_to(repository, &runner, index, &Destination { commit: &commit, incoming: Some(&checkout), targets: &[] })
}

/// A runner at the top of the working tree, with a time limit of its own, that a client cannot cancel any more.
fn uncancellable_at_top(repository: &Repository, runner: &Runner<'_>) -> Runner<'static> {
    runner.uncancellable(limits::GIT_SETTLE).at(&repository.top)
}
