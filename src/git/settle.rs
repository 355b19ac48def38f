//! Moving the branch, the index and the working tree to a commit that the remote has, in an order in which a crash loses
//! nothing and can be finished later: the files, each by itself; the index; the branch. All of it while git's own lock on
//! the index is held, so that nobody stages, commits or switches in between. What is pending is written down first, as
//! refs of this working tree: the commit, and where the branch was.

use super::commit::Target;
use super::index::Index;
use super::process::Runner;
use super::publish::Published;
use super::repository::{Repository, Staged, is_ancestor, pending_refs};
use super::tree::Move;
use super::{Change, Failure};
use crate::limits;
use crate::vault::{Error as VaultError, Vault};

/// Moves everything to a published commit.
///
/// # Errors
/// [`Failure`]. Where a remote has the commit, the next operation goes on with it; without one everything is as it was.
pub(super) fn settle(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    targets: &[Target],
    published: &Published,
) -> Result<(), Failure> {
    let runner = from_the_top(repository, runner);
    let index = Index::lock(repository)?;
    // The push took a while. Where somebody has used the repository meanwhile, nothing here is touched.
    let mut as_it_was = repository.is_as_it_was(&runner)?;
    if !repository.has_same_index() {
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let mut staged = repository.staged(&index.on(&runner), &names)?;
        let mut now = |name: &str| staged.remove(name).unwrap_or(Staged::Entry(None));
        as_it_was &= targets
            .iter()
            .map(|target| (now(&target.name), &target.committed))
            .all(|(now, then)| matches!(now, Staged::Entry(entry) if entry == *then));
    }
    if !as_it_was {
        let brings = if published.pushed { "; the commit is made, and git pull brings it" } else { "; try again" };
        return Err(Failure::Git(format!("nothing was moved here, because the repository was used by somebody meanwhile{brings}")));
    }
    let why = match targets {
        [target] => target.name.clone(),
        several => format!("{} files", several.len()),
    };
    if published.on_upstream {
        let mut way = Move::prepare(repository, &index.on(&runner), &published.commit, false)?;
        for target in targets {
            if let Change::Write(bytes) = &target.change {
                way.set(&index.on(&runner), &target.name, bytes)?;
            }
            if let Some(before) = &target.before {
                way.agree(&target.name, before);
            }
        }
        way.check()?;
        return move_to(vault, repository, &runner, index, &way, &published.commit, &why);
    }
    note_pending(repository, &runner, &published.commit)?;
    let (mut moved, mut kept) = (Vec::new(), Vec::new());
    for target in targets {
        match put_in_place(vault, target) {
            Ok(()) => moved.push(target),
            // Somebody saved the note in the meantime: theirs stays on disk, as a change on top of ours.
            Err(VaultError::Conflict(_) | VaultError::Busy) => kept.push(target.path.as_str().to_owned()),
            Err(error) => {
                if !published.pushed {
                    moved.into_iter().for_each(|target| put_back(vault, target));
                    forget(repository, &runner)?;
                }
                return Err(error.into());
            }
        }
    }
    match finish(repository, &runner, &index, targets, &published.commit, &why) {
        Ok(()) => {}
        // Whoever is on another branch now needs the index.
        Err(failure @ Failure::Refused(_)) if published.pushed => return Err(failure),
        Err(failure) if published.pushed => {
            index.leave();
            return Err(failure);
        }
        Err(failure) => {
            moved.into_iter().for_each(|target| put_back(vault, target));
            forget(repository, &runner)?;
            return Err(failure);
        }
    }
    release_index(repository, &runner, index);
    refuse_if_kept(&kept)
}

/// The note as it is to be, if what is there is what was there before.
fn put_in_place(vault: &Vault, target: &Target) -> Result<(), VaultError> {
    match &target.change {
        Change::Write(bytes) if target.before.as_ref() == Some(bytes) => Ok(()),
        Change::Write(bytes) => vault.exchange(&target.path, target.before.as_deref(), bytes),
        Change::Delete if target.before.is_none() => Ok(()),
        Change::Delete => vault.remove(&target.path, target.before.as_deref().unwrap_or_default()),
    }
}

/// Goes a way that was prepared, from noting it down to the end. Where it ends half way, the lock on the index stays.
fn move_to(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    index: Index,
    way: &Move,
    commit: &str,
    why: &str,
) -> Result<(), Failure> {
    note_pending(repository, runner, commit)?;
    let gone = way.go().and_then(|kept| finish(repository, runner, &index, &[], commit, why).map(|()| kept));
    let _ = vault.refresh_now();
    match gone {
        Ok(kept) => {
            release_index(repository, runner, index);
            refuse_if_kept(&kept)
        }
        // Whoever is on another branch now needs the index.
        Err(failure @ Failure::Refused(_)) => Err(failure),
        Err(failure) => {
            index.leave();
            Err(failure)
        }
    }
}

/// The note as it was before; for a commit that nobody has.
fn put_back(vault: &Vault, target: &Target) {
    let outcome = match (&target.change, &target.before) {
        (Change::Write(bytes), Some(before)) if bytes == before => Ok(()),
        (Change::Write(bytes), Some(before)) => vault.exchange(&target.path, Some(bytes), before),
        (Change::Write(bytes), None) => vault.remove(&target.path, bytes),
        (Change::Delete, Some(before)) => vault.exchange(&target.path, None, before),
        (Change::Delete, None) => Ok(()),
    };
    if let Err(error) = outcome {
        log::error!("git: {} could not be put back: {error}", target.path.as_str());
    }
}

/// The index and the branch, in a time of its own; then nothing is pending any more.
fn finish(repository: &Repository, runner: &Runner<'_>, index: &Index, targets: &[Target], commit: &str, why: &str) -> Result<(), Failure> {
    let runner = &runner.to_the_end(limits::GIT_SETTLE).at(&repository.top);
    index.put(runner, targets)?;
    // Another branch can be begun without the lock (git switch -c).
    if !repository.is_undisturbed(runner)? {
        return Err(Failure::Refused(
            "somebody switched to another branch, or moved this one, at the same moment; git pull there brings it".into(),
        ));
    }
    index.install()?;
    let [to, from] = pending_refs(&repository.branch);
    let branch = match &repository.head {
        Some(head) => format!("update {} {commit} {head}", repository.branch),
        None => format!("create {} {commit}", repository.branch),
    };
    let change = ["update-ref", "-m", &format!("vault-sync-mcp: {why}"), "--stdin"];
    let moved = runner.must_with(&change, format!("{branch}\ndelete {to}\ndelete {from}\n").as_bytes());
    if let Err(failure) = moved {
        // Somebody has moved the branch all the same: what is staged must not be of our doing.
        index.restore()?;
        return Err(failure);
    }
    Ok(())
}

/// The lock goes, and the hook for it is told of the commit.
fn release_index(repository: &Repository, runner: &Runner<'_>, index: Index) {
    drop(index);
    let hook = runner.to_the_end(limits::GIT_AFTER).at(&repository.top);
    let _ = repository.hook(&hook, "post-commit", &[]);
}

fn note_pending(repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    let [to, from] = pending_refs(&repository.branch);
    let was = repository.head.as_ref().map_or(format!("delete {from}\n"), |head| format!("update {from} {head}\n"));
    runner.must_with(&["update-ref", "--stdin"], format!("update {to} {commit}\n{was}").as_bytes()).map(drop)
}

fn forget(repository: &Repository, runner: &Runner<'_>) -> Result<(), Failure> {
    let [to, from] = pending_refs(&repository.branch);
    runner.must_with(&["update-ref", "--stdin"], format!("delete {to}\ndelete {from}\n").as_bytes()).map(drop)
}

/// Files that stayed because somebody had saved them meanwhile are a change on top of the commit.
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
pub(super) fn recover(vault: &Vault, repository: &Repository, runner: &Runner<'_>) -> Result<bool, Failure> {
    let runner = from_the_top(repository, runner);
    let Some((commit, was)) = repository.pending.clone() else { return Ok(false) };
    let is_there = match &repository.head {
        Some(head) => is_ancestor(&runner, &commit, head)?,
        None => false,
    };
    if is_there || was != repository.head {
        if !is_there && repository.remote.is_none() {
            // Nobody else has it: it gets a name under which it can be found.
            let name = format!("refs/vault-sync-mcp/left/{commit}");
            runner.must(&["update-ref", &name, &commit])?;
            log::warn!("git: the branch was moved after a crash; the change that was interrupted is {name}");
        }
        forget(repository, &runner)?;
        return Ok(true);
    }
    log::info!("git: finishing what was interrupted: {commit}");
    let index = Index::lock(repository)?;
    if !repository.is_as_it_was(&runner)? {
        return Err(Failure::Git("the repository was used by somebody at the same moment; try again".into()));
    }
    let way = Move::prepare(repository, &index.on(&runner), &commit, true)?;
    match move_to(vault, repository, &runner, index, &way, &commit, "finished after an interruption") {
        Err(failure) if repository.is_pending(&runner)? => Err(failure),
        // Files that stayed as somebody has them are a change on top of the commit.
        outcome => {
            outcome.unwrap_or_else(|failure| log::warn!("git: {failure}"));
            Ok(true)
        }
    }
}

/// Moves the branch, the index and the working tree forward to a commit of the remote's, over nobody's changes.
///
/// # Errors
/// [`Failure::Refused`] naming what is in the way, [`Failure::Git`] when it could not be finished; the next operation goes on.
pub(super) fn bring_in(vault: &Vault, repository: &Repository, runner: &Runner<'_>, commit: &str) -> Result<(), Failure> {
    let runner = from_the_top(repository, runner);
    let index = Index::lock(repository)?;
    if !repository.is_as_it_was(&runner)? {
        return Err(Failure::Refused("the repository was used by somebody at the same moment".into()));
    }
    let way = Move::prepare(repository, &index.on(&runner), commit, false)?;
    way.check()?;
    move_to(vault, repository, &runner, index, &way, commit, "what the remote has")
}

/// Whether [`bring_in`] would be possible; nothing is touched. `targets` are what is to be changed on top of it.
///
/// # Errors
/// [`Failure::Refused`], naming what is in the way.
pub(super) fn try_bringing_in(repository: &Repository, runner: &Runner<'_>, commit: &str, targets: &[Target]) -> Result<(), Failure> {
    let index = Index::lock(repository)?;
    let mut way = Move::prepare(repository, &index.on(&runner.at(&repository.top)), commit, false)?;
    for target in targets {
        if let Some(before) = &target.before {
            way.agree(&target.name, before);
        }
    }
    way.check()
}

/// Refuses a commit with a new note that sparse patterns would not have here: it would be gone with the next news.
///
/// # Errors
/// [`Failure::Refused`].
pub(super) fn refuse_left_out(repository: &Repository, runner: &Runner<'_>, commit: &str, name: &str) -> Result<(), Failure> {
    if repository.settings.is_true("core.sparsecheckout") != Some(true) {
        return Ok(());
    }
    let runner = runner.at(&repository.top);
    let index = Index::lock(repository)?;
    if Move::prepare(repository, &index.on(&runner), commit, false)?.leaves_out(name) {
        return Err(Failure::Refused(format!("Nothing was done: {name} is outside the sparse checkout of this working tree")));
    }
    Ok(())
}

/// The rest is done to its end, in a time of its own: the remote has the commit.
fn from_the_top(repository: &Repository, runner: &Runner<'_>) -> Runner<'static> {
    runner.to_the_end(limits::GIT_SETTLE).at(&repository.top)
}
