//! Pushing a commit, and putting it on top of what the remote has where that is new.

use super::Failure;
use super::checkout::Checkout;
use super::commit::{self, Built, Target};
use super::index::Index;
use super::objects::{File, differences, has_attributes};
use super::objects::{is_ancestor, merge_base};
use super::process::Runner;
use super::repository::{FETCHED, Repository};
use super::settle::{self, Published};
use crate::limits;
use std::path::Path;

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
pub(super) fn publish(repository: &Repository, runner: &Runner<'_>, targets: &[Target], built: &Built) -> Result<Published, Failure> {
    let Some(remote) = &repository.remote else { return Ok(Published { commit: built.commit.clone(), pushed: false, news: None }) };
    let (mut commit, mut news) = (built.commit.clone(), None);
    for attempt in 0..limits::GIT_PUSHES {
        match push(repository, runner, remote, &commit)? {
            Push::Accepted => return Ok(Published { commit, pushed: true, news }),
            Push::Refused(words) => return Err(Failure::Git(words)),
            Push::Behind(words) => {
                fetch(repository, runner, remote)?;
                let base = merge_base(runner, &built.commit, FETCHED)?;
                // A remote of several addresses may have taken it at one of them.
                if base.as_ref() == Some(&commit) || attempt > 0 && is_ancestor(runner, &commit, FETCHED)? {
                    return Ok(Published { commit, pushed: true, news });
                }
                // The remote has no commits that are new here, so the push was rejected for another reason.
                if attempt > 0 && is_ancestor(runner, FETCHED, &commit)? {
                    return Err(Failure::Git(words));
                }
                if repository.head.is_some() && base != repository.head {
                    return Err(Failure::Refused(
                        "Nothing was done: the local branch has commits that were never pushed, and the remote has others. Join them by hand (git pull --rebase, git push)".into(),
                    ));
                }
                let checkout = check_news(repository, runner, targets)?;
                commit = commit::rebuild(repository, runner, built, FETCHED)?;
                news = Some(checkout);
            }
        }
    }
    Err(Failure::Git("the remote changed again and again meanwhile; try again".into()))
}

/// Whether the remote's news can be brought in: it has not changed the same files, and what it has changed is not changed here.
fn check_news(repository: &Repository, runner: &Runner<'_>, targets: &[Target]) -> Result<Checkout, Failure> {
    let news = differences(runner, repository.head.as_deref(), FETCHED)?;
    // The caller has to see what the remote has before anything else can be done about it.
    let is_of = |file: &File, target: &Target| file.name == Path::new(&target.name);
    let (changed, others): (Vec<File>, Vec<File>) = news.iter().cloned().partition(|file| targets.iter().any(|target| is_of(file, target)));
    if let Some(target) = targets.iter().find(|target| changed.iter().any(|file| is_of(file, target))) {
        let on_disk = targets.iter().filter(|target| target.before == target.after && changed.iter().any(|file| is_of(file, target)));
        let moved = give_way(repository, runner, &on_disk.collect::<Vec<_>>(), &others);
        let words = match moved.and_then(|kept| settle::fast_forward(repository, runner, &news).map(|()| kept)) {
            Ok(kept) => {
                let kept = if kept.is_empty() { String::new() } else { format!(", and {} has the text that was here", kept.join(", ")) };
                format!("the local copy has that version now{kept}: read it again, and repeat the change in it")
            }
            Err(why) => format!("and the local copy could not be brought up to date: {why}"),
        };
        return Err(Failure::Conflict(format!("{} was changed on the remote meanwhile; {words}", target.path.as_str()), None));
    }
    // The attributes say what git makes of the note's bytes; with other ones it has to be asked anew.
    if repository.head.is_some() && has_attributes(&news) {
        settle::fast_forward(repository, runner, &news)?;
        return Err(Failure::Git("the remote changed .gitattributes, which is brought in now; repeat the change".into()));
    }
    let checkout = Checkout::prepare(repository, &runner.at(&repository.top), &Index::lock(repository)?, FETCHED, &news, false)?;
    checkout.check()?;
    Ok(checkout)
}

/// Files that are changed on disk already are put back to what the branch has, so that the remote's version can come, if nothing but
/// them is in the way of that. Returns where their texts are kept.
fn give_way(repository: &Repository, runner: &Runner<'_>, targets: &[&Target], others: &[File]) -> Result<Vec<String>, Failure> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    Checkout::prepare(repository, &runner.at(&repository.top), &Index::lock(repository)?, FETCHED, others, false)?.check()?;
    let mut kept = Vec::new();
    for target in targets {
        if let Some(text) = &target.before {
            kept.push(repository.vault.begin_transaction()?.copy_to_trash(&target.path, text)?);
        }
        let committed = target.old.as_ref().map(|_| repository.committed(runner, &target.name)).transpose()?;
        repository.vault.exchange(&target.path, target.before.as_deref(), committed.as_deref())?;
    }
    Ok(kept)
}

fn push(repository: &Repository, runner: &Runner<'_>, remote: &str, commit: &str) -> Result<Push, Failure> {
    let target = format!("{commit}:{}", repository.branch);
    // A client cannot cancel a push that has begun: it would not be known whether the remote has the commit.
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
            confirm_push(repository, runner, remote, commit, words)
        }
        Err(Failure::Git(words)) => confirm_push(repository, runner, remote, commit, words),
        Err(other) => Err(other),
    }
}

/// A push that did not end well may have reached the remote all the same, and a later push may be on top of it.
fn confirm_push(repository: &Repository, runner: &Runner<'_>, remote: &str, commit: &str, words: String) -> Result<Push, Failure> {
    let asking = runner.to_the_end(limits::GIT_DOUBT);
    Ok(match fetch(repository, &asking, remote).and_then(|()| is_ancestor(&asking, commit, FETCHED)) {
        Ok(true) => Push::Accepted,
        Ok(false) => Push::Refused(words),
        Err(_) => Push::Refused(format!("{words} (the remote could not be asked whether it has the commit all the same)")),
    })
}

/// Has [`FETCHED`] stand at the commit that the remote's branch is at. No ref of a person's moves by it.
fn fetch(repository: &Repository, runner: &Runner<'_>, remote: &str) -> Result<(), Failure> {
    let wanted = format!("+{}:{FETCHED}", repository.branch);
    let options = ["--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-prune", "--refmap=", "--quiet"];
    runner.must(&[&["fetch"], &options[..], &[remote, &wanted]].concat()).map(drop)
}
