//! Pushing a commit, and putting it on top of what the remote has where that is new.

use super::commit::{self, Target};
use super::process::Runner;
use super::repository::{self, Repository};
use super::{Failure, settle};
use crate::limits;
use crate::vault::Vault;

/// A commit that is to become the branch.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) commit: String,
    pub(super) pushed: bool,
    /// Whether it stands on what the remote had, so that more than the one note is to be moved here.
    pub(super) on_upstream: bool,
}

/// Where the remote's branch is put; a name of our own, so that nobody's is moved.
const UPSTREAM: &str = "refs/vault-sync-mcp/upstream";

enum Push {
    Accepted,
    /// The remote has something that we have not.
    Behind,
    Refused(String),
}

/// Pushes a commit that was built on the branch. Until the remote has it, nothing here has moved.
///
/// # Errors
/// [`Failure`]; the local repository is as it was, or has what the remote had.
pub(super) fn publish(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    target: &Target,
    built: String,
    message: &str,
) -> Result<Published, Failure> {
    let Some(remote) = &repository.remote else { return Ok(Published { commit: built, pushed: false, on_upstream: false }) };
    let mut commit = built;
    for attempt in 0..limits::GIT_PUSHES {
        match push(repository, runner, remote, &commit)? {
            Push::Accepted => return Ok(Published { commit, pushed: true, on_upstream: attempt > 0 }),
            Push::Refused(words) => return Err(Failure::Git(words)),
            Push::Behind => {
                let upstream = fetch(repository, runner, remote)?;
                // A remote of several addresses may have taken it at one of them.
                if repository::is_ancestor(runner, &commit, &upstream)? {
                    return Ok(Published { commit, pushed: true, on_upstream: attempt > 0 });
                }
                commit = on_top(vault, repository, runner, &upstream, target, message)?;
            }
        }
    }
    Err(Failure::Git("the remote changed again and again meanwhile; try again".into()))
}

/// The same change on top of what the remote has.
fn on_top(
    vault: &Vault,
    repository: &Repository,
    runner: &Runner<'_>,
    upstream: &str,
    target: &Target,
    message: &str,
) -> Result<String, Failure> {
    if !repository.leads_to(runner, upstream)? {
        return Err(Failure::Refused(
            "Nothing was done: the local branch has commits that were never pushed, and the remote has others. Somebody has to join them by hand (git pull --rebase, git push)".into(),
        ));
    }
    let theirs = repository.entry(runner, upstream, &target.name)?;
    if theirs != target.committed {
        // The caller has to see what the remote has before anything else can be done about it.
        let brought = settle::bring_in(vault, repository, runner, upstream);
        let words = match brought {
            Ok(()) => "the local copy has that version now: read it again, and repeat the change in it".to_owned(),
            Err(why) => format!("and the local copy could not be brought up to date: {why}"),
        };
        return Err(Failure::Conflict(format!("{} was changed on the remote meanwhile; {words}", target.path.as_str())));
    }
    // The attributes say what git makes of the note's bytes; with other ones it has to be asked anew.
    if let Some(head) = &repository.head {
        let changed = repository::differences(runner, Some(head), upstream, "ADMT")?;
        if changed.iter().any(|name| name == ".gitattributes" || name.ends_with("/.gitattributes")) {
            settle::bring_in(vault, repository, runner, upstream).map_err(Failure::Git)?;
            return Err(Failure::Git("the remote changed .gitattributes, which is brought in now; repeat the change".into()));
        }
    }
    // Before the remote gets anything: could the branch be moved there at all?
    settle::try_bringing_in(repository, runner, upstream)?;
    commit::build(repository, runner, Some(upstream), target, message, false)
}

fn push(repository: &Repository, runner: &Runner<'_>, remote: &str, commit: &str) -> Result<Push, Failure> {
    let target = format!("{commit}:{}", repository.branch);
    // Hanging up does not stop a push half way: whether the remote has it would be anybody's guess.
    let left = runner.deadline.left().unwrap_or_default();
    if (runner.cancelled)() {
        return Err(Failure::Cancelled);
    }
    let pushing = runner.to_the_end(left);
    match pushing.run(&["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", remote, &target]) {
        Ok(output) if output.ok => Ok(Push::Accepted),
        Ok(output) => {
            let report = String::from_utf8_lossy(&output.stdout).into_owned();
            let rejected = report.lines().find(|line| line.starts_with('!')).unwrap_or_default();
            // The second kind is two pushes at the same moment.
            if rejected.contains("[rejected]") || rejected.contains("failed to update ref") {
                return Ok(Push::Behind);
            }
            let words = if rejected.is_empty() { output.stderr } else { format!("{} {}", rejected.replace('\t', " "), output.stderr) };
            after_doubt(repository, runner, remote, commit, words)
        }
        Err(Failure::Git(words)) => after_doubt(repository, runner, remote, commit, words),
        Err(other) => Err(other),
    }
}

/// A push that did not end well may have reached the remote all the same.
fn after_doubt(repository: &Repository, runner: &Runner<'_>, remote: &str, commit: &str, words: String) -> Result<Push, Failure> {
    let asking = runner.to_the_end(limits::GIT_DOUBT);
    let has = asking.run(&["ls-remote", "--exit-code", remote, &repository.branch]).is_ok_and(|output| output.line().starts_with(commit));
    Ok(if has { Push::Accepted } else { Push::Refused(words) })
}

fn fetch(repository: &Repository, runner: &Runner<'_>, remote: &str) -> Result<String, Failure> {
    let wanted = format!("+{}:{UPSTREAM}", repository.branch);
    runner.must(&["fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet", remote, &wanted])?;
    Ok(runner.must(&["rev-parse", "--verify", &format!("{UPSTREAM}^{{commit}}")])?.line())
}
