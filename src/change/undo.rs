//! Undoing what one login did.

use super::Changes;
use super::commits::{Author, Commits};
use super::log::{Did, Line, UNDO};
use super::step::Step;
use super::take_back::{Back, Planned};
use crate::clock::Moment;
use crate::vault::error::Error;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The tool with which a login undoes its own calls. What it did is undone by `vault_restore`, so
/// that it goes further back when it is called again.
pub const TOOL: &str = "vault_undo";

/// Which calls are undone.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// All from this moment on.
    Since(Moment),
    /// The last ones.
    Calls(usize),
    /// The one with the first id and those after it of the same user, up to the one with the second,
    /// if that is given.
    From(&'a str, Option<&'a str>),
}

/// What was undone, or would be, and what was not; each a line of text.
#[derive(Debug, Default)]
pub struct Undone {
    pub done: Vec<String>,
    pub left: Vec<String>,
    /// The newest call in the scope.
    pub newest: Option<String>,
    /// Calls that are not marked as undone yet.
    unmarked: Vec<String>,
}

/// How one call is undone.
#[derive(Default)]
struct Plan {
    steps: Vec<Step>,
    /// What each step does.
    done: Vec<String>,
    /// What is left as it is, and why.
    left: Vec<(String, String)>,
}

impl Changes {
    /// Undoes what the login that calls has done.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    pub fn undo_own(&self, scope: Scope<'_>, dry_run: bool) -> Result<Undone, Error> {
        match &self.author {
            Some(author) => self.undo(&author.by, scope, dry_run, author, false),
            None => Err(Error::Invalid("Nobody is logged in who could have done anything.".into())),
        }
    }

    /// Undoes for the owner, who is `user` if that is known, what a login has done; where the vault
    /// is in a repository, as a commit.
    ///
    /// # Errors
    /// As [`Changes::undo_own`]; [`Error::Invalid`] with what git says.
    pub fn undo_for_owner(
        &self,
        user: &str,
        by: &str,
        scope: Scope<'_>,
        dry_run: bool,
        commits: Option<&dyn Commits>,
    ) -> Result<Undone, Error> {
        let commits = commits.filter(|_| !dry_run);
        let _turn = commits
            .map(|commits| commits.begin(&|| false))
            .transpose()
            .map_err(|why| Error::Invalid(format!("git: {why}")))?;
        // What the remote has changed meanwhile is left alone.
        if let Some(Err(why)) = commits.map(Commits::bring_in) {
            log::warn!("git: {why}");
        }
        let owner = Arc::new(Author::committing("owner", UNDO).of_user(user));
        let mut undone = self.undo(by, scope, dry_run, &owner, commits.is_some())?;
        let changed = owner.changed().len();
        if let Some(commits) = commits.filter(|_| changed > 0) {
            let summary = format!("undo: what {by} has changed ({changed} files)");
            match commits.commit(&summary, &owner) {
                Ok(committed) => {
                    undone
                        .left
                        .extend(committed.trouble.map(|why| format!("not committed: {why}")));
                    let changes = self.on_behalf_of(&owner);
                    for of in std::mem::take(&mut undone.unmarked) {
                        changes.alone().apply(Vec::new(), None, Some(Did::Undone { of }))?;
                    }
                }
                // All of it was taken back.
                Err(why) => {
                    undone.done.clear();
                    undone.left.push(why);
                }
            }
        }
        Ok(undone)
    }

    /// Undoes what a login has done, newest call first. A file changed since is left alone; if a
    /// file or folder cannot be moved back, its whole call is. `author` is who undoes it: for the
    /// login itself calls of [`TOOL`] stand, for the owner they are calls as others. With
    /// `marks_later` the caller marks the calls as undone.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no versions are kept, or the disk's.
    fn undo(
        &self,
        by: &str,
        scope: Scope<'_>,
        dry_run: bool,
        author: &Arc<Author>,
        marks_later: bool,
    ) -> Result<Undone, Error> {
        let is_own_undo = author.tool == TOOL;
        let log = self.kept_versions()?;
        let changes = self.on_behalf_of(author);
        let (since, calls) = match scope {
            Scope::Since(since) => (since, usize::MAX),
            Scope::Calls(calls) => (Moment(0), calls),
            Scope::From(..) => (Moment(0), usize::MAX),
        };
        changes.vault.refresh_now()?;
        let alone = changes.alone();
        // What a crash has left half done is not the login's to undo.
        if !dry_run {
            drop(changes.open_log(log)?);
        }
        let past = self.past()?;
        // What the login has undone is undone again, and then done by no one.
        let stands = |line: &Line| is_own_undo || line.by != by || line.at < since.0;
        let undone_calls = undone_calls(&past.lines, &stands);
        let places = places(&past.lines, scope);
        // What several users have taken back is all done by the owner.
        let first = past.lines.get(places.start).filter(|_| matches!(scope, Scope::From(..)));
        let of_user = first.map(|line| line.user.as_str());
        let is_own = |(place, line): &(usize, &Line)| {
            line.by == by
                && !(is_own_undo && line.tool == TOOL)
                && line.at >= since.0
                && places.contains(place)
                && of_user.is_none_or(|user| line.user == user)
                && !matches!(line.did, Did::Undone { .. } | Did::Dropped { .. })
                && !undone_calls.contains(&*line.call)
        };
        let own = past.lines.iter().enumerate().filter(is_own);
        let own: Vec<&Line> = own.map(|(_, line)| line).collect();
        let mut planned = Planned::of(&changes, log);
        let newest = own.last().map(|line| line.call.clone());
        let (mut undone, mut left) = (Undone { newest, ..Undone::default() }, HashSet::new());
        let mut found = 0;
        for lines in own.chunk_by(|one, other| one.call == other.call).rev() {
            if found == calls {
                break;
            }
            let shown: Vec<&Line> =
                lines.iter().copied().filter(|line| changes.shows(line)).collect();
            let mut plan = plan_undo(&mut planned, &shown)?;
            if shown.len() < lines.len() {
                let what = "files that are hidden".to_owned();
                plan.left.push((what, "changes of them are not taken back".into()));
            }
            // A call of which nothing is left does not count.
            found += usize::from(!plan.steps.is_empty() || !plan.left.is_empty());
            if !dry_run && !plan.steps.is_empty() {
                for step in &plan.steps {
                    if let Step::Rename { to, .. } = step {
                        planned.make_room(to);
                    }
                }
                let of = lines.first().map(|line| line.call.clone()).unwrap_or_default();
                let is_whole = plan.left.is_empty();
                if is_whole && marks_later {
                    undone.unmarked.push(of.clone());
                }
                let mark = (is_whole && !marks_later).then_some(Did::Undone { of });
                if let Err(error) = alone.apply(std::mem::take(&mut plan.steps), None, mark) {
                    let why = error.to_string();
                    plan.left.extend(plan.done.drain(..).map(|what| (what, why.clone())));
                }
                planned = Planned::of(&changes, log);
            }
            undone.done.extend(plan.done);
            // Each once.
            undone.left.extend(
                plan.left
                    .into_iter()
                    .filter(|(path, _)| left.insert(path.clone()))
                    .map(|(path, why)| format!("{path}: {why}")),
            );
        }
        if first.is_none() && found < calls && !past.is_whole_of(by, since) {
            undone.left.push(
                "there were so many changes that some are no longer known; vault_history shows \
                 what is kept of a note"
                    .into(),
            );
        }
        Ok(undone)
    }
}

/// The calls that are marked as undone, of which no later call has undone the mark; of the marks
/// that stand.
pub(super) fn undone_calls<'a>(
    lines: &'a [Line],
    stands: &dyn Fn(&Line) -> bool,
) -> HashSet<&'a str> {
    let mut undone = HashSet::new();
    for line in lines.iter().rev().filter(|line| stands(line)) {
        if let Did::Undone { of } = &line.did
            && !undone.contains(&*line.call)
        {
            undone.insert(of.as_str());
        }
    }
    undone
}

/// The places in the log of what a scope that begins with a call is about.
fn places(lines: &[Line], scope: Scope<'_>) -> Range<usize> {
    let Scope::From(first, last) = scope else { return 0..lines.len() };
    let start = lines.iter().position(|line| line.call == first).unwrap_or(lines.len());
    let end = last.and_then(|last| lines.iter().rposition(|line| line.call == last));
    start..end.map_or(lines.len(), |end| end + 1)
}

/// Plans the steps that undo the changes of a call, the last first.
fn plan_undo(planned: &mut Planned<'_>, lines: &[&Line]) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    // A move that cannot be undone stays, together with everything that belongs to it.
    for line in lines {
        if let Did::Renamed { from, to } = &line.did
            && planned.is_taken(from)
            && planned.exists(to)
        {
            plan.left.push((to.clone(), format!("cannot be moved back, another {from} exists")));
            return Ok(plan);
        }
    }
    for line in lines.iter().rev() {
        let when = format!("{} of {}", line.tool, Moment(line.at).rfc3339());
        match planned.back(&line.did)? {
            Back::Step(step) => {
                let path = step.path();
                plan.done.push(match &line.did {
                    Did::Renamed { to, .. } => format!("{path}: moved back from {to}; {when}"),
                    Did::Wrote { before: None, .. } => {
                        format!("{path}: to the trash; created by {when}")
                    }
                    Did::Trashed { .. } => format!("{path}: restored; deleted by {when}"),
                    _ => format!("{path}: as before {when}"),
                });
                planned.assume(&step, &line.did);
                plan.steps.push(step);
            }
            Back::Nothing => {}
            Back::Left(path, why) => plan.left.push((path, format!("{why} ({when})"))),
        }
    }
    Ok(plan)
}
