//! The vault as a git repository: every change is a commit that the remote has, and no other change
//! is touched.
//!
//! ```text
//!  file on disk, or new text ─▶ private index ─▶ commit ─▶ push ─▶ fast-forward of branch, index, files
//!                                  hooks                    │
//!                     rejected: fetch, fast-forward, again ◀┘   a file of the call changed there: CONFLICT
//! ```
//!
//! Git does all of it, so what a person has staged, changed, deleted or not yet added is neither
//! committed nor overwritten, and nothing moves here before the remote has the commit. A crash in
//! between leaves a commit that the remote has, which the next call brings in.
//!
//! | file | holds |
//! |---|---|
//! | `process` | running git: no shell, no prompts, always a timeout |
//! | `folders` | where the repository is |
//! | `lock` | the lock file shared by everything that writes with these tools |
//! | `repository` | its state at the beginning of a call, and the reasons to refuse |
//! | `commit` | a commit of exactly the files of a call, with hooks and signature |
//! | `publish` | pushing it, bringing in what is new on the remote, moving here |
//! | `note` | one note replaced or deleted by the tools of git |
//! | `history` | who changed a note, and its old versions |
#![doc = include_str!("README.md")]

mod commit;
mod folders;
mod history;
mod lock;
mod note;
mod process;
mod publish;
mod repository;

pub use history::Version;
pub use note::{Done, NoteChange};

use crate::change::Changes;
use crate::change::commits::{Author, Commits, Committed};
use crate::clock::Deadline;
use crate::vault::{self, VaultPath};
use commit::Built;
use folders::Folders;
use process::Runner;
use repository::{Entry, File, Repository};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

/// The oldest supported git: it introduced `safe.bareRepository`.
const VERSION: (u32, u32) = (2, 38);
/// For what has to be done here once the remote has a commit, beyond `GIT_TIMEOUT_MS`.
const FINISHING: Duration = Duration::from_secs(10);

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
}

/// Why a change was not made. Nothing of it is left in the working tree, in the index or on the
/// branch.
#[derive(Debug)]
pub enum Failure {
    /// The state of the repository or of the note forbids the change; the text says what to do.
    Refused(String),
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

/// The message alone; `tools::git` adds the code, and what became of the note.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(words) | Failure::Conflict(words, _) | Failure::Git(words) => {
                out.write_str(words)
            }
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
        Git { changes, options, folders: OnceLock::new() }
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
        let opened = self.runner(&|| false).and_then(|runner| {
            Repository::open(&runner, self.folders(&|| false)?, &self.options).map(drop)
        });
        opened.err().map(|failure| failure.to_string())
    }

    /// Removes what a crash left, and has git ignore the lock file; for the start.
    pub fn prepare(&self) {
        let prepared = self.runner(&|| false).and_then(|runner| {
            let folders = self.folders(&|| false)?;
            if let Err(failure) = lock::exclude_own_files(&runner, &folders.prefix) {
                log::warn!("git: {LOCK} will be shown as an untracked file: {failure}");
            }
            let _lock = self.lock(&runner)?;
            repository::remove_leftovers(&folders.git_dir);
            Ok(())
        });
        if let Err(failure) = prepared {
            log::warn!("git: nothing can be written yet: {failure}");
        }
    }

    /// Commits and pushes files as they are on disk; missing ones are deleted.
    fn commit_files(
        &self,
        paths: &BTreeSet<VaultPath>,
        message: &str,
        author: &Author,
    ) -> Result<Committed, Failure> {
        let runner = self.runner(&|| false)?;
        let mut repository = Repository::open(&runner, self.folders(&|| false)?, &self.options)?;
        let files = self.files_on_disk(&mut repository, paths)?;
        if files.is_empty() {
            return Ok(Committed::default());
        }
        repository.wait_for_index()?;
        let built = commit::build(&repository, files.clone(), &signed(message, author))?;
        let published = publish::publish(&mut repository, built)?;
        let pushed = repository.remote.is_some();
        repository.runner = runner.uncancellable(FINISHING);
        let landed = publish::refuse_if_used(&repository).and_then(|()| {
            self.write_what_hooks_changed(&repository, &files, &published);
            publish::land(&mut repository, &published)
        });
        match landed {
            // Without a remote the commit exists only here: it was not made.
            Err(failure) if !pushed => Err(failure),
            landed => Ok(Committed {
                commit: Some(published.commit),
                pushed,
                trouble: landed.err().map(|failure| {
                    format!("{failure}. The remote has the change; the next call that writes brings it in")
                }),
            }),
        }
    }

    /// The files that differ on disk from the branch, with their new entries. What git ignores is
    /// not committed.
    fn files_on_disk(
        &self,
        repository: &mut Repository<'_>,
        paths: &BTreeSet<VaultPath>,
    ) -> Result<Vec<File>, Failure> {
        let vault = &self.changes.vault;
        let mut names = Vec::new();
        for path in paths {
            names.push(repository.name_of(path, vault)?);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut committed = publish::unstaged_entries(repository, &names)?;
        let new: Vec<&str> =
            names.iter().copied().filter(|name| !committed.contains_key(*name)).collect();
        new.iter().try_for_each(|name| repository.refuse_nested(name))?;
        let ignored = repository.ignored(&new)?;
        let is_file = |name: &&str| {
            let found = repository.folders.top.join(name).symlink_metadata();
            found.is_ok_and(|found| found.is_file())
        };
        let wanted = names.iter().copied().filter(|name| !ignored.contains(*name));
        let (present, gone): (Vec<&str>, Vec<&str>) = wanted.partition(is_file);
        let blobs = repository.hash_files(&present, true)?.into_iter().map(Some);
        let all = present.into_iter().zip(blobs).chain(gone.into_iter().map(|name| (name, None)));
        let files = all.map(|(name, blob)| {
            let old = committed.remove(name);
            let new = blob.map(|blob| Entry::of(old.as_ref(), blob));
            File { name: name.to_owned(), old, new }
        });
        Ok(files.filter(|file| file.old != file.new).collect())
    }

    /// Gives files on disk the text that the hooks have made of them, unless somebody has changed
    /// them since.
    fn write_what_hooks_changed(
        &self,
        repository: &Repository<'_>,
        files: &[File],
        published: &Built,
    ) {
        for file in files {
            let name = &file.name;
            let made = published.files.iter().find(|made| made.name == *name);
            let (Some(ours), Some(new)) = (&file.new, made.and_then(|made| made.new.as_ref()))
            else {
                continue;
            };
            let Ok(path) = VaultPath::file(repository.path_of(name)) else { continue };
            let write = || -> Result<(), Failure> {
                let Some(before) = self.changes.vault.bytes_if_any(&path)? else { return Ok(()) };
                if repository.hash(name, &before, false)? != ours.blob {
                    return Ok(());
                }
                let after = repository.text_of(&published.commit, name)?;
                Ok(self.changes.replace_known(&path, Some(&before), Some(&after))?)
            };
            if ours.blob != new.blob
                && let Err(failure) = write()
            {
                log::warn!("git: {name} is not as the hooks have left it: {failure}");
            }
        }
    }

    fn take_news(&self) -> Result<(), Failure> {
        let runner = self.runner(&|| false)?;
        let mut repository = Repository::open(&runner, self.folders(&|| false)?, &self.options)?;
        publish::bring_in(&mut repository)?;
        Ok(self.changes.vault.refresh_now()?)
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
    /// processes.
    fn lock(&self, runner: &Runner<'_>) -> Result<std::fs::File, Failure> {
        let path = self.changes.vault.root().join(LOCK);
        if path.is_symlink() {
            return Err(Failure::Refused(format!("{LOCK} is a link; remove it")));
        }
        lock::wait_for(runner, &path)
    }
}

/// A message with the lines that name tool and login.
fn signed(message: &str, Author { by, tool, .. }: &Author) -> String {
    format!("{}\n\nTool: {tool}\nLogin: {by}", message.trim_end())
}

impl Commits for Git {
    fn begin(&self, gives_up: &dyn Fn() -> bool) -> Result<std::fs::File, String> {
        let words = |failure: Failure| failure.to_string();
        self.lock(&self.runner(gives_up).map_err(words)?).map_err(words)
    }

    fn bring_in(&self) -> Result<(), String> {
        self.take_news().map_err(|failure| failure.to_string())
    }

    fn commit(&self, summary: &str, author: &Author) -> Result<Committed, String> {
        let changed = author.changed();
        let paths = changed.iter().filter_map(|path| VaultPath::file(path).ok()).collect();
        let not_committed = |failure: Failure| {
            log::warn!("{}: not committed: {failure}", author.tool);
            Committed { trouble: Some(failure.to_string()), ..Committed::default() }
        };
        match self.commit_files(&paths, summary, author) {
            Ok(committed) => Ok(committed),
            Err(conflict @ Failure::Conflict(..)) => {
                if let Err(error) = self.changes.take_back_call(author) {
                    let words = format!("{conflict}, and the change cannot be taken back: {error}");
                    return Ok(not_committed(Failure::Git(words)));
                }
                Err(match self.take_news() {
                    Ok(()) => format!(
                        "{conflict}; nothing was changed here, and the local copy has that \
                         version now: read it again, and repeat the change in it"
                    ),
                    Err(failure) => format!(
                        "{conflict}; nothing was changed here, and that version cannot be brought \
                         in: {failure}"
                    ),
                })
            }
            Err(failure) => Ok(not_committed(failure)),
        }
    }
}
