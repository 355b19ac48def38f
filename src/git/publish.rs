//! Pushing a commit, and putting it on top of what the remote has where that is new.

use super::commit::{self, Target};
use super::process::Runner;
use super::repository::{self, Repository};
use super::{Failure, settle, tree};
use crate::limits;
use crate::vault::Vault;

/// A commit that is to become the branch.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) commit: String,
    pub(super) pushed: bool,
    /// Whether it stands on what the remote had, so that more than those notes is to be moved here.
    pub(super) on_upstream: bool,
}

enum Push {
    Accepted,
    /// The remote has something that we have not, or says so.
    Behind(String),
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
    targets: &[Target],
    built: String,
) -> Result<Published, Failure> {
    let Some(remote) = &repository.remote else { return Ok(Published { commit: built, pushed: false, on_upstream: false }) };
    let mut commit = built;
    for attempt in 0..limits::GIT_PUSHES {
        match push(repository, runner, remote, &commit)? {
            Push::Accepted => return Ok(Published { commit, pushed: true, on_upstream: attempt > 0 }),
            Push::Refused(words) => return Err(Failure::Git(words)),
            Push::Behind(words) => {
                let upstream = fetch(repository, runner, remote)?;
                // A remote of several addresses may have taken it at one of them.
                if repository::is_ancestor(runner, &commit, &upstream)? {
                    return Ok(Published { commit, pushed: true, on_upstream: attempt > 0 });
                }
                // It has nothing new: it is the remote that cannot.
                if attempt > 0 && repository::is_ancestor(runner, &upstream, &commit)? {
                    return Err(Failure::Git(words));
                }
                commit = on_top(vault, repository, runner, &upstream, targets, &commit)?;
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
    targets: &[Target],
    built: &str,
) -> Result<String, Failure> {
    if !repository.leads_to(runner, upstream)? {
        return Err(Failure::Refused(
            "Nothing was done: the local branch has commits that were never pushed, and the remote has others. Somebody has to join them by hand (git pull --rebase, git push)".into(),
        ));
    }
    // What hooks made of the message stays.
    let message = runner.must(&["log", "-1", "--format=%B", "--encoding=UTF-8", built])?;
    let message = String::from_utf8_lossy(&message.stdout).into_owned();
    for target in targets {
        if repository.entry(runner, upstream, &target.name)? == target.committed {
            continue;
        }
        // The caller has to see what the remote has before anything else can be done about it.
        let brought = settle::bring_in(vault, repository, runner, upstream);
        let words = match brought {
            Ok(()) => "the local copy has that version now: read it again, and repeat the change in it".to_owned(),
            Err(why) => format!("and the local copy could not be brought up to date: {why}"),
        };
        return Err(Failure::Conflict(format!("{} was changed on the remote meanwhile; {words}", target.path.as_str()), None));
    }
    // The attributes say what git makes of the note's bytes; with other ones it has to be asked anew.
    if let Some(head) = &repository.head
        && tree::has_attributes(&tree::differences(runner, Some(head), upstream)?)
    {
        settle::bring_in(vault, repository, runner, upstream)?;
        return Err(Failure::Git("the remote changed .gitattributes, which is brought in now; repeat the change".into()));
    }
    // Before the remote gets anything: could the branch be moved there at all?
    settle::try_bringing_in(repository, runner, upstream, targets)?;
    commit::build(vault, repository, runner, Some(upstream), targets, &message, false)
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
                return Ok(Push::Behind(rejected.replace('\t', " ")));
            }
            let words = if rejected.is_empty() { output.words() } else { format!("{} {}", rejected.replace('\t', " "), output.stderr) };
            after_doubt(repository, runner, remote, commit, words)
        }
        Err(Failure::Git(words)) => after_doubt(repository, runner, remote, commit, words),
        Err(other) => Err(other),
    }
}

/// A push that did not end well may have reached the remote all the same, and somebody may have pushed on top of it.
fn after_doubt(repository: &Repository, runner: &Runner<'_>, remote: &str, commit: &str, words: String) -> Result<Push, Failure> {
    let asking = runner.to_the_end(limits::GIT_DOUBT);
    Ok(match fetch(repository, &asking, remote).and_then(|upstream| repository::is_ancestor(&asking, commit, &upstream)) {
        Ok(true) => Push::Accepted,
        Ok(false) => Push::Refused(words),
        Err(_) => Push::Refused(format!("{words} (the remote could not be asked whether it has the commit all the same)")),
    })
}

/// The commit that the remote's branch is at. No ref of anybody's moves by it, and none of ours stays: it would be another
/// operation's as well.
fn fetch(repository: &Repository, runner: &Runner<'_>, remote: &str) -> Result<String, Failure> {
    let id = crate::secret::new_id().map_err(|error| Failure::Git(error.to_string()))?;
    let place = format!("refs/worktree/vault-sync-mcp/fetched/{id}");
    let wanted = format!("+{}:{place}", repository.branch);
    let options = ["--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-prune", "--refmap=", "--quiet"];
    let mut command = vec!["fetch"];
    command.extend(options);
    command.extend([remote, &wanted]);
    runner.must(&command)?;
    let commit = runner.must(&["rev-parse", "--verify", &format!("{place}^{{commit}}")]);
    runner.must(&["update-ref", "-d", &place])?;
    Ok(commit?.line())
}
