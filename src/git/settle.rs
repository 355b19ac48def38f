//! Moving the branch, the index and the working tree to a published commit, in an order in which a crash loses nothing and can be
//! finished later: the files, each by itself; the index; the branch. All of it while git's own lock on the index is held, so
//! that no other program stages, commits or switches in between. What is in progress is written down first.

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
/// [`Failure`]. Without a remote everything is as it was. Where a remote has the commit, the next operation finishes it, or, if the
/// repository was used meanwhile, git pull brings it.
pub(super) fn settle(
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
    commit: &str,
    mut news: Option<Checkout>,
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
    if let Some(checkout) = &mut news {
        if !repository.has_same_index() {
            *checkout = Checkout::prepare(repository, &runner, &index, commit, &checkout.differences, false)?;
        }
        checkout.check()?;
    }
    move_to(repository, &runner, index, &Destination { commit, news: news.as_ref(), targets })
}

/// What the branch, the index and the working tree are moved to.
struct Destination<'a> {
    commit: &'a str,
    /// Files that differ, but for the targets.
    news: Option<&'a Checkout>,
    /// Where there are some, and no remote has the commit, what cannot be finished is taken back; otherwise it is left for the next
    /// operation, with git's lock on the index.
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
            // A person who is on another branch now needs the index.
            Failure::Refused(_) => {}
            _ => index.leave(),
        }
        return Err(failure);
    }
    drop(index);
    let hook = runner.to_the_end(limits::GIT_AFTER).at(&repository.top);
    let _ = repository.hook(&hook, "post-commit", &[]);
    refuse_if_kept(&kept)
}

/// The files of the working tree. `kept` are the names of those that stay because they were changed meanwhile.
fn move_files<'a>(
    repository: &Repository,
    to: &Destination<'a>,
    kept: &mut Vec<String>,
    written: &mut Vec<&'a Target>,
) -> Result<(), Failure> {
    if let Some(checkout) = to.news {
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

/// Writes or removes the note on disk, if it is what is known (`None`: no file).
fn exchange(repository: &Repository, target: &Target, known: &Option<Vec<u8>>, wanted: &Option<Vec<u8>>) -> Result<(), VaultError> {
    if known == wanted { Ok(()) } else { repository.vault.exchange(&target.path, known.as_deref(), wanted.as_deref()) }
}

/// The note as it was before; for a commit that was not pushed.
fn put_back(repository: &Repository, target: &Target) {
    if let Err(error) = exchange(repository, target, &target.after, &target.before) {
        log::error!("git: {} could not be put back: {error}", target.path.as_str());
    }
}

/// The index and the branch, in a time of its own; then nothing is in progress any more.
fn finish(repository: &Repository, runner: &Runner<'_>, index: &Index, to: &Destination<'_>) -> Result<(), Failure> {
    let runner = &runner.to_the_end(limits::GIT_SETTLE).at(&repository.top);
    let news = to.news.into_iter().flat_map(|news| &news.files).cloned();
    let files: Vec<File> = news.chain(to.targets.iter().map(Target::file)).collect();
    index.put(repository, runner, &files, to.news.is_some())?;
    // Another branch can be begun without the lock (git switch -c).
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
    let fetched = if to.news.is_some() { format!("delete {FETCHED}\n") } else { String::new() };
    if let Err(failure) = runner.must_with(&change, format!("{branch}\n{fetched}").as_bytes()) {
        // The branch was moved all the same: nothing of ours may stay staged.
        index.restore()?;
        return Err(failure);
    }
    repository.end_move();
    Ok(())
}

/// Files that stayed because they were saved meanwhile are a change on top of the commit.
fn refuse_if_kept(kept: &[String]) -> Result<(), Failure> {
    match kept {
        [] => Ok(()),
        kept => Err(Failure::Git(format!(
            "changed on disk meanwhile, and left as it is, on top of the commit: {}",
            kept.iter().take(limits::GIT_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Finishes what a crash, or a full disk, interrupted; whether there was something.
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
    let is_there = match &repository.head {
        Some(head) => is_ancestor(&runner, commit, head)?,
        None => false,
    };
    if is_there || pending.from != repository.head {
        if !is_there && repository.remote.is_none() {
            // It is nowhere else: it gets a name under which it can be found.
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
    let news = differences(&runner, &repository.head_or_empty(&runner)?, commit)?;
    let checkout = Checkout::prepare(repository, &runner, &index, commit, &news, true)?;
    match move_to(repository, &runner, index, &Destination { commit, news: Some(&checkout), targets: &[] }) {
        Err(failure) if repository.pending()?.is_some() => Err(failure),
        // Files that stayed as they were are a change on top of the commit.
        outcome => {
            outcome.unwrap_or_else(|failure| log::warn!("git: {failure}"));
            Ok(true)
        }
    }
}

/// Moves the branch, the index and the working tree forward to what was fetched, over no uncommitted change; `news` are the
/// files that differ.
///
/// # Errors
/// [`Failure::Refused`] naming what blocks it, [`Failure::Git`] when it could not be finished; the next operation goes on.
pub(super) fn fast_forward(repository: &Repository, runner: &Runner<'_>, news: &[File]) -> Result<(), Failure> {
    let runner = uncancellable_at_top(repository, runner);
    let commit = runner.must(&["rev-parse", "--verify", &format!("{FETCHED}^{{commit}}")])?.line();
    let index = Index::lock(repository)?;
    if !repository.is_unchanged(&runner)? {
        return Err(Failure::Refused("the repository was used by another program at the same moment".into()));
    }
    let checkout = Checkout::prepare(repository, &runner, &index, &commit, news, false)?;
    checkout.check()?;
    move_to(repository, &runner, index, &Destination { commit: &commit, news: Some(&checkout), targets: &[] })
}

/// Refuses a commit with a new note that sparse patterns would not have here: it would be gone with the next news.
///
/// # Errors
/// [`Failure::Refused`].
pub(super) fn refuse_left_out(repository: &Repository, runner: &Runner<'_>, target: &Target) -> Result<(), Failure> {
    if !repository.is_sparse() {
        return Ok(());
    }
    let index = Index::lock(repository)?;
    let checkout = Checkout::prepare(repository, &runner.at(&repository.top), &index, FETCHED, &[target.file()], false)?;
    if checkout.leaves_out(&target.name) {
        return Err(Failure::Refused(format!("Nothing was done: {} is outside the sparse checkout of this working tree", target.name)));
    }
    Ok(())
}

/// A runner at the top of the working tree, with a time limit of its own, that a client cannot cancel any more.
fn uncancellable_at_top(repository: &Repository, runner: &Runner<'_>) -> Runner<'static> {
    runner.to_the_end(limits::GIT_SETTLE).at(&repository.top)
}
