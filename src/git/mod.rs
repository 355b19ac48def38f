//! The vault as a git repository: every change is a commit that the remote has, and no other change
//! is touched.
//!
//! A commit is built in a private index file and pushed. Only then do the branch, the index and,
//! for a change by this toolset, the working tree move, so that a failure leaves nothing to undo; a
//! pre-commit hook runs in a working tree of its own. What other tools have changed stays on disk.
//! What a person has staged, changed, deleted or not yet added is checked first, and is neither
//! committed nor overwritten (`repository`, `checkout`).
//!
//! | file | holds |
//! |---|---|
//! | `process` | running git: no shell, no prompts, always a timeout |
//! | `folders` | where the repository is |
//! | `lock` | the lock file shared by everything that writes with these tools |
//! | `repository`, `settings` | the state of the repository, and the reasons to refuse |
//! | `objects` | the files of a commit and of the index |
//! | `commit` | a commit of exactly the target paths, with hooks and signature |
//! | `publish` | pushing it, after bringing in what is new on the remote |
//! | `local_move` | moving branch, index and working tree to it, also after a crash in between |
//! | `index`, `checkout` | the index while it is replaced; the files that differ, moved one by one |
//! | `history` | who changed a note, and its old versions |
//! | `uncommitted` | the list of changed files whose commit is still to be made |
#![doc = include_str!("README.md")]

mod checkout;
mod commit;
mod folders;
mod history;
mod index;
mod local_move;
mod lock;
mod objects;
mod process;
mod publish;
mod repository;
mod settings;
mod uncommitted;

pub use history::Version;

use crate::change::Changes;
use crate::change::commits::{Author, Commits, Committed, Left, Noted};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::quota::{Bounds, Permit, Quota};
use crate::vault::{self, VaultPath, etag};
use folders::Folders;
use index::Index;
use process::Runner;
use repository::{Repository, Target};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use uncommitted::Uncommitted;

/// The oldest supported git: it introduced `safe.bareRepository`.
const VERSION: (u32, u32) = (2, 38);
/// Files named in the result of a call whose change of them is not committed; a change may be of a
/// thousand.
const REFUSALS_NAMED: usize = 5;

/// Where commits go.
#[derive(Debug, Clone)]
pub struct Options {
    /// The remote that is pushed to.
    pub remote: String,
    /// The branch that is committed to.
    pub branch: String,
    /// How long one call may take.
    pub timeout: Duration,
}

/// The vault's repository.
#[derive(Debug)]
pub struct Git {
    changes: Changes,
    options: Options,
    folders: OnceLock<Folders>,
    /// For [`Commits::begin_changes`].
    turn: Arc<Quota>,
}

/// A change to one note.
#[derive(Debug)]
pub struct NoteChange<'a> {
    pub path: &'a VaultPath,
    /// Its new bytes; `None` deletes it.
    pub after: Option<&'a [u8]>,
    /// Of the commit.
    pub message: &'a str,
    pub author: &'a Author,
    /// The etag of the note that the caller has read; without it, a note with uncommitted changes
    /// is not touched.
    pub if_match: Option<&'a str>,
}

/// A change that was made.
#[derive(Debug)]
pub struct Done {
    /// Whether the note is new.
    pub created: bool,
    /// The commit, as published; `None` when there was nothing to change.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What went wrong although the change was made.
    pub trouble: Option<String>,
    /// The etag of the note as the change leaves it; `None` when it is deleted. Where `trouble`
    /// says that the file was changed meanwhile, the disk has another text.
    pub etag: Option<String>,
}

/// Why a change was not made. Nothing of it is left in the working tree, in the index or on the
/// branch.
#[derive(Debug)]
pub enum Failure {
    /// The state of the repository or of the note forbids the change; the text says what to do.
    Refused(String),
    /// What a person has staged forbids the change until that is committed or unstaged.
    Staged(String),
    /// The note is not what the caller read, here or on the remote: a message, and its local etag
    /// if known.
    Conflict(String, Option<String>),
    /// Git failed: its message.
    Git(String),
    /// The vault refused.
    Vault(vault::Error),
    /// The caller cancelled before anything was pushed.
    Cancelled,
    /// A commit was made, or was about to be, and could not be published: it is taken back.
    RolledBack(Box<Failure>),
}

/// A file that cannot be committed, and why.
type Refusal = (VaultPath, Failure);

/// The message alone; `tools::git` adds the code, and what became of the note.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(words)
            | Failure::Staged(words)
            | Failure::Conflict(words, _)
            | Failure::Git(words) => out.write_str(words),
            Failure::RolledBack(failure) => failure.fmt(out),
            Failure::Vault(error) => error.fmt(out),
            Failure::Cancelled => out.write_str("cancelled"),
        }
    }
}

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::Vault(error)
    }
}

/// The lock file of the source of these tools, so that its program and this one do not write at
/// once; it begins with a dot, so no tool sees it.
const LOCK: &str = ".neurostack-write.lock";

impl Git {
    /// The repository that a vault is in.
    pub fn new(changes: Changes, options: Options) -> Git {
        let turn = Quota::new(Bounds { total: 1, per_owner: 1, waiting: usize::MAX });
        Git { changes, options, folders: OnceLock::new(), turn }
    }

    /// Whether git exists, is new enough, and accepts the vault's repository; for the start.
    ///
    /// # Errors
    /// What is missing, in words for the owner.
    pub fn check(&self) -> Result<(), String> {
        let words = |failure: Failure| failure.to_string();
        let version = self.outside(&|| false).must(&["--version"]).map_err(words)?.line();
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse::<u32>().ok());
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < VERSION {
            let (major, minor) = VERSION;
            return Err(format!("{version} is too old; toolset git needs {major}.{minor}"));
        }
        // A merge or rebase may be over by the first call; a vault outside of any repository will
        // still be outside.
        self.folders(&|| false).map(drop).map_err(words)
    }

    /// Why nothing can be written at the moment, if so: another branch, a merge in progress.
    pub fn unready_reason(&self) -> Option<String> {
        let opened = self.runner(&|| false).and_then(|runner| self.open(&self.changes, &runner));
        opened.err().map(|failure| failure.to_string())
    }

    /// Finishes what a crash interrupted, and has git ignore the lock file; for the start. A
    /// repository that cannot be touched now is left for later.
    pub fn recover(&self) {
        let recovered = self.runner(&|| false).and_then(|runner| {
            if let Err(failure) =
                lock::exclude_own_files(&runner, &self.folders(runner.cancelled)?.prefix)
            {
                log::warn!("git: {LOCK} will be shown as an untracked file: {failure}");
            }
            let _lock = self.lock(&runner)?;
            repository::remove_leftovers(&self.folders(runner.cancelled)?.git_dir, &runner)?;
            let repository = self.open(&self.changes, &runner)?;
            local_move::recover(&repository, &runner).map(drop)
        });
        if let Err(failure) = recovered {
            log::warn!("git: nothing can be written yet: {failure}");
        }
    }

    /// Replaces or deletes one note of `vault`, the caller's view of it: one commit with exactly
    /// that path, pushed.
    ///
    /// # Errors
    /// [`Failure`]; then nothing has changed, except that the remote's commits may have been
    /// brought in, or a note to be deleted committed.
    pub fn change(
        &self,
        changes: &Changes,
        wanted: &NoteChange<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Done, Failure> {
        let NoteChange { after, if_match, author, .. } = *wanted;
        let runner = self.runner(cancelled)?;
        let (_lock, mut repository) = self.begin(changes, &runner)?;
        let path = wanted.path;
        let name = repository.name_of(path);
        let read_state = |repository: &Repository| {
            let note = repository.read_note(path, &name, limits::NOTE_BYTES)?;
            let is_committed = repository.is_committed(&runner, &note, &name)?;
            Ok::<_, Failure>((note, is_committed))
        };
        let (mut note, mut is_committed) = read_state(&repository)?;
        let current_etag = note.before.as_deref().map(etag);
        if if_match.is_some() && current_etag.as_deref() != if_match {
            let is = |etag: &String| format!("its etag is now {etag}; read it again");
            let words = current_etag.as_ref().map_or("it does not exist any more".into(), is);
            return Err(Failure::Conflict(
                format!("The note is not what was read: {words}"),
                current_etag,
            ));
        }
        // Locked and released: if another program holds the index, that is reported before anything
        // is pushed.
        drop(Index::lock(&repository)?);
        if after.is_some() || note.before.is_some() {
            changes.may_write(path, after.map_or(0, <[u8]>::len))?;
        }
        if note.file.old.is_none() && (after.is_some() || note.before.is_some()) {
            repository.refuse_clash(&name)?;
            if repository.ignored(&runner, &[&name])?.contains(&name) {
                return Err(ignored(path));
            }
        }
        if after.is_none() {
            if note.before.is_some() && !is_committed && if_match.is_some() {
                self.commit_before_deletion(&repository, &runner, path, author)?;
                repository = self.open(changes, &runner)?;
                (note, is_committed) = read_state(&repository)?;
            }
            if note.before.is_none() && note.file.old.is_none() {
                return Err(Failure::Vault(vault::Error::NotFound {
                    path: path.as_str().into(),
                    hint: String::new(),
                }));
            }
            if note.before.is_some() && !is_committed {
                let why = "has a text on disk that is not committed, and deleting it would lose \
                           that. Read it, and pass its etag as if_match: then it is committed \
                           before it is deleted";
                return Err(Failure::Refused(format!("{} {why}.", path.as_str())));
            }
        }
        let blob = after.map(|bytes| repository.hash(&runner, &name, bytes, true)).transpose()?;
        let target = note.becomes(after.map(<[u8]>::to_vec), blob);
        if is_committed && !target.changes_commit() {
            return Ok(Done {
                created: false,
                commit: None,
                pushed: false,
                trouble: None,
                etag: current_etag,
            });
        }
        // A note that was deleted on disk needs no protection: the history has its text.
        if !is_committed
            && target.before.is_some()
            && target.before != target.after
            && if_match.is_none()
        {
            let words = format!(
                "{} has uncommitted changes on disk. Read it, and pass its etag as if_match to \
                 replace it all the same; or have them committed first.",
                path.as_str()
            );
            return Err(Failure::Conflict(words, current_etag));
        }
        let created = target.file.old.is_none();
        let made = self.commit_and_publish(&repository, &runner, &[target], wanted.message, author);
        let Committed { commit, pushed, trouble, .. } =
            made.map_err(|failure| Failure::RolledBack(Box::new(failure)))?;
        Ok(Done { created, commit, pushed, trouble, etag: after.map(etag) })
    }

    /// Commits a note as it is on disk, for the history to have what is deleted next.
    fn commit_before_deletion(
        &self,
        repository: &Repository,
        runner: &Runner<'_>,
        path: &VaultPath,
        author: &Author,
    ) -> Result<(), Failure> {
        let (targets, left) = self.targets_from_disk(repository, runner, std::iter::once(path))?;
        if let Some((_, failure)) = left.into_iter().next() {
            return Err(failure);
        }
        if targets.is_empty() {
            return Ok(());
        }
        let message = format!("{}: as it was before it was deleted", path.as_str());
        let made = self.commit_and_publish(repository, runner, &targets, &message, author);
        made.map(drop).map_err(|failure| Failure::RolledBack(Box::new(failure)))
    }

    /// Takes the locks and opens the repository, after finishing what a crash interrupted.
    fn begin(
        &self,
        changes: &Changes,
        runner: &Runner<'_>,
    ) -> Result<([std::fs::File; 2], Repository), Failure> {
        let locks = self.lock(runner)?;
        let mut repository = self.open(changes, runner)?;
        if local_move::recover(&repository, runner)? {
            repository = self.open(changes, runner)?;
        }
        Ok((locks, repository))
    }

    /// Commits and pushes the files that differ on disk from the branch. Where the remote has
    /// another text of one of them, nothing is committed: those that it has changed get its
    /// version, and the same call commits the others. Also the files that cannot be committed.
    fn commit_all(
        &self,
        paths: &BTreeSet<VaultPath>,
        message: &str,
        author: &Author,
    ) -> Result<(Committed, Vec<Refusal>), Failure> {
        let runner = self.runner(&|| false)?;
        let (_locks, mut repository) = self.begin(&self.changes, &runner)?;
        loop {
            drop(Index::lock(&repository)?);
            let (targets, refused) = self.targets_from_disk(&repository, &runner, paths.iter())?;
            if targets.is_empty() {
                return Ok((Committed::default(), refused));
            }
            let conflict =
                match self.commit_and_publish(&repository, &runner, &targets, message, author) {
                    Err(conflict @ Failure::Conflict(..)) => conflict,
                    made => return made.map(|made| (made, refused)),
                };
            let mut now = self.open(&self.changes, &runner)?;
            if now.head == repository.head {
                let Ok((words, replaced)) = publish::take_theirs(&repository, &runner, &targets)
                else {
                    return Err(conflict);
                };
                if !replaced.is_empty() {
                    return Ok((
                        Committed { left: vec![words], replaced, ..Committed::default() },
                        refused,
                    ));
                }
                now = self.open(&self.changes, &runner)?;
            }
            // The remote's versions are those on disk, and the branch has them now: what else there
            // is goes on top.
            repository = now;
        }
    }

    /// Targets for the files that differ on disk from the branch; missing ones are deleted. And why
    /// others cannot be committed.
    fn targets_from_disk<'a>(
        &self,
        repository: &Repository,
        runner: &Runner<'_>,
        paths: impl Iterator<Item = &'a VaultPath>,
    ) -> Result<(Vec<Target>, Vec<Refusal>), Failure> {
        let files: Vec<(String, VaultPath)> =
            paths.map(|path| (repository.name_of(path), path.clone())).collect();
        let new = files
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !repository.committed.contains_key(Path::new(name)));
        let ignored_names = repository.ignored(runner, &new.collect::<Vec<&str>>())?;
        let (mut targets, mut left, mut room) = (Vec::new(), Vec::new(), limits::GIT_FILE_BYTES);
        for (name, path) in &files {
            let check = |note: Target| match (&note.file.old, &note.before) {
                (None, Some(_)) if ignored_names.contains(name) => Err(ignored(path)),
                (None, Some(_)) => repository.refuse_clash(name).map(|()| note),
                _ => Ok(note),
            };
            match repository.read_note(path, name, room.max(limits::NOTE_BYTES)).and_then(check) {
                Ok(note) => {
                    let size = note.before.as_ref().map_or(0, |bytes| bytes.len() as u64);
                    room = room.saturating_sub(if size > limits::NOTE_BYTES { size } else { 0 });
                    targets.push(note);
                }
                Err(failure @ (Failure::Refused(_) | Failure::Staged(_) | Failure::Vault(_))) => {
                    left.push((path.clone(), failure))
                }
                Err(other) => return Err(other),
            }
        }
        left.extend(repository::hold_back_too_large(runner, &mut targets, &left)?);
        let names = targets
            .iter()
            .filter(|note| note.before.is_some())
            .filter_map(|note| note.file.name.to_str());
        let mut blobs = repository.store_files(runner, &names.collect::<Vec<&str>>())?.into_iter();
        let on_disk = |note: Target| {
            let (after, blob) =
                (note.before.clone(), note.before.as_ref().and_then(|_| blobs.next()));
            note.becomes(after, blob)
        };
        Ok((targets.into_iter().map(on_disk).filter(Target::changes_commit).collect(), left))
    }

    /// Makes the commit, publishes it, and moves branch, index and working tree to it.
    fn commit_and_publish(
        &self,
        repository: &Repository,
        runner: &Runner<'_>,
        targets: &[Target],
        message: &str,
        Author { by, tool, .. }: &Author,
    ) -> Result<Committed, Failure> {
        let built = commit::build(
            repository,
            runner,
            targets,
            &format!("{}\n\nTool: {tool}\nLogin: {by}", message.trim_end()),
        )?;
        let (commit, incoming) = publish::publish(repository, runner, targets, &built)?;
        let pushed = repository.remote.is_some();
        match local_move::move_to(repository, runner, &commit, incoming, targets, false) {
            // Without a remote the commit exists only here: if the branch was not moved to it, it
            // was not made.
            Err(failure) if !pushed => Err(failure),
            outcome => {
                let trouble = outcome
                    .map_or_else(|failure| Some(failure.to_string()), local_move::describe_kept);
                Ok(Committed { commit: Some(commit), pushed, trouble, ..Committed::default() })
            }
        }
    }

    /// Runs git in the vault's repository.
    fn runner<'a>(&self, cancelled: &'a dyn Fn() -> bool) -> Result<Runner<'a>, Failure> {
        let folders = self.folders(cancelled)?;
        Ok(Runner {
            folder: folders.top.clone(),
            git_dir: Some(folders.git_dir.clone()),
            ..self.outside(cancelled)
        })
    }

    fn open(&self, changes: &Changes, runner: &Runner<'_>) -> Result<Repository, Failure> {
        Repository::open(changes, runner, self.folders(runner.cancelled)?, &self.options)
    }

    /// Runs git in the vault's folder, before its repository is known.
    fn outside<'a>(&self, cancelled: &'a dyn Fn() -> bool) -> Runner<'a> {
        Runner {
            folder: self.changes.vault.root().to_path_buf(),
            deadline: Deadline::after(self.options.timeout),
            cancelled,
            index: None,
            git_dir: None,
        }
    }

    fn folders(&self, cancelled: &dyn Fn() -> bool) -> Result<&Folders, Failure> {
        if let Some(folders) = self.folders.get() {
            return Ok(folders);
        }
        let found = Folders::find(self.changes.vault.root(), self.outside(cancelled))?;
        Ok(self.folders.get_or_init(|| found))
    }

    /// Takes the lock that excludes all other writes with these tools, also those of other
    /// processes, other vaults and other working trees of the repository.
    fn lock(&self, runner: &Runner<'_>) -> Result<[std::fs::File; 2], Failure> {
        let path = self.changes.vault.root().join(LOCK);
        if path.is_symlink() {
            return Err(Failure::Refused(format!("{LOCK} is a link; remove it")));
        }
        let Folders { git_dir, common_dir, .. } = self.folders(runner.cancelled)?;
        let locks = [
            lock::wait_for(runner, &path, LOCK)?,
            lock::wait_for(runner, &common_dir.join("vault-sync-mcp.lock"), "vault-sync-mcp.lock")?,
        ];
        // Our own `index.lock` that a crash left is removed even if nothing else can be done now: a
        // person may need the index to resolve that.
        index::remove_stale_lock(&git_dir.join("index.lock"));
        Ok(locks)
    }

    fn uncommitted(&self) -> Result<Uncommitted, Failure> {
        Ok(Uncommitted::of(&self.folders(&|| false)?.git_dir))
    }
}

fn paths_of(files: &[String]) -> BTreeSet<VaultPath> {
    files.iter().filter_map(|path| VaultPath::file(path).ok()).collect()
}

impl Commits for Git {
    fn begin_changes(&self, gives_up: &dyn Fn() -> bool) -> Option<Permit> {
        let attempt = || match self.turn.take("", limits::HANG_UP_EVERY) {
            None if gives_up() => Err(()),
            permit => Ok(permit),
        };
        Deadline::after(self.options.timeout).poll(Duration::ZERO, attempt).ok().flatten()
    }

    fn note(&self, left: &[Left]) -> Vec<Noted> {
        self.uncommitted().map(|list| list.add(left)).unwrap_or_default()
    }

    fn forget(&self, noted: &[Noted]) {
        if let Ok(list) = self.uncommitted() {
            list.take_back(noted);
        }
    }

    /// All in one commit, with the files whose commits failed before, or were interrupted, and that
    /// are still as the tool left them: what a person has written into one since is theirs to
    /// commit. What git ignores is not committed.
    fn commit_files(
        &self,
        changed: &[String],
        summary: &str,
        author: &Author,
    ) -> Result<Committed, String> {
        let started = clock::instant();
        let list = self.uncommitted().map_err(|failure| failure.to_string())?;
        let own = paths_of(changed);
        let (earlier, others) = list.as_left_and_changed(&own, &self.changes.vault);
        // Another process may have taken them off the list since they were noted.
        list.add(&uncommitted::left_now(&own, &self.changes.vault));
        let (mut words, mut replaced) = (Vec::new(), Vec::new());
        let mut commit = |paths: &BTreeSet<VaultPath>| -> Result<_, Failure> {
            loop {
                let (made, refused) = self.commit_all(paths, summary, author)?;
                if made.replaced.is_empty() {
                    return Ok((made, refused));
                }
                words.extend(made.left);
                replaced.extend(made.replaced);
            }
        };
        let mut paths = &earlier | &own;
        let mut outcome = commit(&paths);
        // One of the earlier files may be the cause.
        if outcome.is_err() && paths != own && started.elapsed() < self.options.timeout / 2 {
            paths = own.clone();
            outcome = commit(&paths);
        }
        let (made, refused) = outcome
            .map_err(|failure: Failure| [&words[..], &[failure.to_string()]].concat().join("; "))?;
        let was_refused = |path: &VaultPath| refused.iter().any(|(refused, _)| refused == path);
        let also = paths
            .iter()
            .filter(|path| !own.contains(path) && !was_refused(path))
            .map(|path| path.as_str().to_owned())
            .collect();
        list.remove(&others);
        let changed_since = |path: &VaultPath| {
            format!("{} has other changes since an earlier call of a tool", path.as_str())
        };
        words.extend(others.iter().take(REFUSALS_NAMED).map(changed_since));
        let is_for_now = |(_, failure): &&Refusal| matches!(failure, Failure::Staged(_));
        list.remove(
            &(&paths - &refused.iter().filter(is_for_now).map(|(path, _)| path.clone()).collect()),
        );
        // Those of earlier calls were named then.
        let mut own_refusals = refused
            .iter()
            .filter(|(path, _)| own.contains(path))
            .map(|(_, failure)| failure.to_string());
        words.extend(own_refusals.by_ref().take(REFUSALS_NAMED));
        let more = own_refusals.count();
        words.extend((more > 0).then(|| format!("and {more} more files")));
        Ok(Committed { left: words, replaced, also, ..made })
    }
}

/// The refusal of a new file that git ignores.
fn ignored(path: &VaultPath) -> Failure {
    Failure::Refused(format!("{} is ignored by git (.gitignore)", path.as_str()))
}
