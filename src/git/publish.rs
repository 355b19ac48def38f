//! Pushing a commit, after bringing in what is new on the remote; then the branch, the index and
//! the working tree follow. Git does both by fast-forwards, which change nothing that a person has
//! changed.

use super::commit::{self, Built, changes};
use super::process::Runner;
use super::repository::{Entries, Entry, File, Repository};
use super::{FINISHING, Failure};
use std::path::Path;

/// Attempts to push a commit, each on top of what the remote has by then; others push occasionally,
/// not constantly.
const PUSHES: usize = 4;
/// Where a fetch puts the remote's branch: a fetch by a person may change FETCH_HEAD meanwhile.
/// Refs below `refs/worktree` belong to one working tree (git-worktree(1)).
const FETCHED: &str = "refs/worktree/vault-sync-mcp/remote";

/// Pushes a commit that was built on the branch, where there is a remote; gives the one that the
/// remote has. Where it had other commits, they are brought in first.
///
/// # Errors
/// [`Failure::Conflict`] if they change a file of the commit; then nothing is brought in.
pub(super) fn publish(repository: &mut Repository<'_>, mut built: Built) -> Result<Built, Failure> {
    let Some(remote) = repository.remote.clone() else { return Ok(built) };
    let mut rejected = String::new();
    for _ in 0..PUSHES {
        match push(repository, &remote, &built.commit)? {
            Pushed::Accepted => return Ok(built),
            Pushed::Rejected(words) => rejected = words,
        }
        let fetched = fetch(repository, &remote)?;
        // A remote with several URLs may have accepted it at one of them.
        if is_ancestor(&repository.runner, &built.commit, &fetched.commit)? {
            return Ok(built);
        }
        refuse_diverged(repository, &fetched)?;
        let theirs = changes(&repository.runner, repository.head.as_deref(), &fetched.commit)?;
        let changed = built.files.iter().find(|file| {
            theirs.iter().any(|other| other.name == file.name && other.new != file.new)
        });
        if let Some(file) = changed {
            return Err(Failure::Conflict(
                format!("{} was changed on the remote meanwhile", repository.path_of(&file.name)),
                None,
            ));
        }
        fast_forward(repository, &fetched)?;
        built = commit::rebuild(repository, built)?;
    }
    Err(Failure::Git(format!(
        "the remote kept changing meanwhile, or refuses the push: {rejected}; try again"
    )))
}

/// Brings in what the remote has, if there is one.
///
/// # Errors
/// [`Failure::Refused`] in git's words if it cannot be.
pub(super) fn bring_in(repository: &mut Repository<'_>) -> Result<(), Failure> {
    let Some(remote) = repository.remote.clone() else { return Ok(()) };
    let fetched = fetch(repository, &remote)?;
    refuse_diverged(repository, &fetched)?;
    fast_forward(repository, &fetched)
}

/// Refuses to move what another program has used during the push.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn refuse_if_used(repository: &Repository<'_>) -> Result<(), Failure> {
    if repository.is_where_it_was()? {
        return Ok(());
    }
    Err(Failure::Git(
        "nothing was moved here, because another program has used the repository meanwhile".into(),
    ))
}

/// The entries of files on the branch, which nobody has staged.
///
/// # Errors
/// [`Failure::Refused`] naming one that somebody has.
pub(super) fn unstaged_entries(
    repository: &mut Repository<'_>,
    names: &[&str],
) -> Result<Entries, Failure> {
    let mut is_up_to_date = false;
    loop {
        let (committed, staged) = (repository.committed(names)?, repository.staged(names)?);
        let differs = |name: &&&str| committed.get(**name) != staged.get(**name);
        let Some(name) = names.iter().find(differs) else { return Ok(committed) };
        // A crash may have left staged what the remote has.
        if !is_up_to_date && bring_in(repository).is_ok() {
            is_up_to_date = true;
            continue;
        }
        return Err(Failure::Refused(format!(
            "{} has staged changes; commit or unstage them (git restore --staged) first",
            repository.path_of(name)
        )));
    }
}

/// Moves branch, index and working tree forward to a commit that was built on the branch, or on what
/// was brought in. Its files stay on disk as they are.
///
/// # Errors
/// [`Failure::Refused`] in git's words: then nothing has moved.
pub(super) fn land(repository: &mut Repository<'_>, built: &Built) -> Result<(), Failure> {
    let own: Vec<&File> = built.files.iter().filter(|file| !built.is_by_hook(file)).collect();
    merge(repository, &built.commit, &own)
}

/// Moves branch, index and working tree forward to what the remote has, which is ahead. A file that
/// is on disk what it has there counts as unchanged.
///
/// # Errors
/// [`Failure::Refused`] in git's words: then nothing has moved.
fn fast_forward(repository: &mut Repository<'_>, fetched: &Fetched) -> Result<(), Failure> {
    let (runner, commit) = (&repository.runner, &fetched.commit);
    let top = &repository.folders.top;
    let theirs = changes(runner, repository.head.as_deref(), commit)?;
    let leads_elsewhere = |file: &&File| {
        let above = Path::new(&file.name).ancestors().skip(1);
        above
            .filter(|above| !above.as_os_str().is_empty())
            .any(|above| top.join(above).is_symlink())
    };
    if let Some(file) = theirs.iter().find(leads_elsewhere) {
        return Err(Failure::Refused(format!(
            "the remote has changed {}, which lies behind a link here; move that away",
            file.name
        )));
    }
    let may_be_same = |file: &&File| {
        let (Some(new), found) = (&file.new, top.join(&file.name).symlink_metadata()) else {
            return false;
        };
        // Git changes the mode.
        let mode = file.old.as_ref().map_or("100644", |old| &old.mode);
        new.mode == mode && found.is_ok_and(|found| found.is_file())
    };
    let candidates: Vec<&File> = theirs.iter().filter(may_be_same).collect();
    let names: Vec<&str> = candidates.iter().map(|file| file.name.as_str()).collect();
    let blobs = repository.hash_files(&names, false)?;
    let same = candidates
        .into_iter()
        .zip(blobs)
        .filter(|(file, blob)| file.new.as_ref().is_some_and(|new| new.blob == *blob));
    let same: Vec<&File> = same.map(|(file, _)| file).collect();
    let commit = commit.clone();
    merge(repository, &commit, &same)
}

/// Refuses branches of which neither has all commits of the other.
fn refuse_diverged(
    repository: &Repository<'_>,
    Fetched { commit, has_dropped }: &Fetched,
) -> Result<(), Failure> {
    let runner = &repository.runner;
    if let Some(head) = &repository.head
        && !is_ancestor(runner, head, commit)?
    {
        return Err(Failure::Refused(if *has_dropped {
            "the history of the remote was rewritten (a forced push): the local branch has commits \
             that it does not have any more. Take the remote's by hand (git fetch, git rebase)"
                .into()
        } else {
            "the local branch has commits that were never pushed, and the remote has others. Join \
             them by hand (git pull --rebase, git push)"
                .into()
        }));
    }
    Ok(())
}

/// Has git fast-forward to a commit; `here` are files that need not be written.
fn merge(repository: &mut Repository<'_>, to: &str, here: &[&File]) -> Result<(), Failure> {
    let names: Vec<&str> = here.iter().map(|file| file.name.as_str()).collect();
    let staged = repository.staged(&names)?;
    // What a person has staged meanwhile is theirs; git refuses to go over it.
    let here: Vec<&&File> =
        here.iter().filter(|file| staged.get(&file.name) == file.old.as_ref()).collect();
    let entries = |of: fn(&File) -> Option<&Entry>| {
        here.iter().map(move |file| (file.name.as_str(), of(file)))
    };
    // What is begun here is finished.
    let runner = repository.runner.uncancellable(FINISHING);
    // By default it overwrites files that it ignores; and stashed changes may come back with
    // conflicts.
    let options = ["merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash"];
    let command = [&options[..], &["--no-stat", "--quiet", to]].concat();
    let merged = commit::stage(&runner, entries(|file| file.new.as_ref()))
        .and_then(|()| runner.locally(&command));
    if let Err(failure) = merged {
        commit::stage(&runner, entries(|file| file.old.as_ref()))?;
        return Err(match failure {
            Failure::Git(words) => Failure::Refused(format!("git cannot bring it in: {words}")),
            other => other,
        });
    }
    repository.head = Some(to.to_owned());
    Ok(())
}

enum Pushed {
    /// The remote has the commit.
    Accepted,
    /// The remote has, or claims to have, other commits: git's words.
    Rejected(String),
}

fn push(repository: &Repository<'_>, remote: &str, commit: &str) -> Result<Pushed, Failure> {
    let runner = &repository.runner;
    let target = format!("{commit}:{}", repository.branch);
    if (runner.cancelled)() {
        return Err(Failure::Cancelled);
    }
    // A push that has begun cannot be cancelled: it would be unknown whether the remote has the
    // commit.
    let pushing = Runner { cancelled: &|| false, ..runner.clone() };
    let options =
        ["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", remote, &target];
    let words = match pushing.run(&options) {
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
    match fetch(repository, remote).and_then(|fetched| is_ancestor(runner, commit, &fetched.commit))
    {
        Ok(true) => Ok(Pushed::Accepted),
        Ok(false) => Err(Failure::Git(words)),
        Err(_) => Err(Failure::Git(format!(
            "{words} (the remote could not be asked whether it has the commit all the same)"
        ))),
    }
}

/// The remote's branch.
struct Fetched {
    commit: String,
    /// Whether it once had what the local branch has, and has it no more.
    has_dropped: bool,
}

/// Asks for the remote's branch. Changes no ref of a person's.
fn fetch(repository: &Repository<'_>, remote: &str) -> Result<Fetched, Failure> {
    let runner = &repository.runner;
    let head = repository.head.as_deref().unwrap_or_default();
    let tracking = format!("refs/remotes/{}", repository.tracking());
    let was_there =
        [FETCHED, &tracking].iter().any(|known| is_ancestor(runner, head, known).unwrap_or(false));
    let wanted = format!("+{}:{FETCHED}", repository.branch);
    let options = [
        "fetch",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--no-prune",
        "--refmap=",
        "--quiet",
        remote,
        &wanted,
    ];
    runner.must(&options)?;
    let found = format!("{FETCHED}^{{commit}}");
    let commit = runner.must(&["rev-parse", "--verify", &found])?.line();
    let has_dropped = was_there && !is_ancestor(runner, head, &commit)?;
    if has_dropped {
        // For the next call to know it too.
        runner.must(&["update-ref", FETCHED, head])?;
    }
    Ok(Fetched { commit, has_dropped })
}

/// Whether a commit is another one or an ancestor of it.
pub(super) fn is_ancestor(runner: &Runner<'_>, commit: &str, of: &str) -> Result<bool, Failure> {
    Ok(runner.run(&["merge-base", "--is-ancestor", commit, of])?.ok)
}
