//! The state of the repository, and the reasons not to touch it.

use super::objects::{Entry, InCommit, Object, TREE, commit_of, folders, in_commit, objects};
use super::process::Runner;
use super::settings::Settings;
use super::{Failure, Folders, Options};
use crate::disk;
use crate::limits;
use crate::vault::{self, Vault, VaultPath};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The repository at the beginning of an operation.
#[derive(Debug)]
pub(super) struct Repository {
    /// On behalf of the caller, for the kept versions of its changes.
    pub(super) vault: Vault,
    /// The top of the working tree; git runs there.
    pub(super) top: PathBuf,
    /// The folder with this working tree's index and HEAD.
    pub(super) git_dir: PathBuf,
    /// Where the vault lies below the top: empty, or with a slash at the end.
    prefix: String,
    /// The branch's full name.
    pub(super) branch: String,
    /// The commit it is at; `None` before the first.
    pub(super) head: Option<String>,
    /// The remote, where there is one.
    pub(super) remote: Option<String>,
    /// Where the hooks are.
    pub(super) hooks: PathBuf,
    pub(super) settings: Settings,
    /// The index file's fingerprint; a different one later means that something was staged.
    index: Option<disk::Fingerprint>,
    /// The files that the branch and HEAD are read from; a different fingerprint later means that one of them may have moved.
    refs: RefFiles,
}

/// A move of the branch that is in progress.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) to: String,
    pub(super) from: Option<String>,
}

type RefFiles = [(PathBuf, Option<disk::Fingerprint>); 5];

/// The refs of an operation.
#[derive(Debug)]
struct Refs {
    /// Whether the branch exists and is checked out.
    is_current: bool,
    head: Option<String>,
}

impl Refs {
    fn read(runner: &Runner<'_>, branch: &str) -> Result<Refs, Failure> {
        let found = runner.run(&["for-each-ref", "--format=%(HEAD)%(refname) %(objectname)", branch])?;
        if !found.ok {
            return Err(Failure::Refused(format!("The vault is not in a git repository that the server may use: {}", found.words())));
        }
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let head = text.lines().find_map(|line| {
            let commit = line.get(1..)?.strip_prefix(branch)?.strip_prefix(' ')?;
            Some((line.starts_with('*'), commit.to_owned()))
        });
        Ok(Refs { is_current: head.as_ref().is_some_and(|(is_current, _)| *is_current), head: head.map(|(_, commit)| commit) })
    }
}

/// A note on disk and on the branch.
#[derive(Debug)]
pub(super) struct Note {
    /// Its bytes on disk.
    pub(super) bytes: Option<Vec<u8>>,
    /// What the branch has.
    pub(super) committed: Option<Entry>,
    /// The bytes of the committed blob, without git's filters; `None` where they were not requested.
    in_history: Option<Vec<u8>>,
}

/// What the branch and the index have of the files of an operation.
#[derive(Debug)]
pub(super) struct Known {
    objects: HashMap<String, Object>,
    staged: HashMap<String, Staged>,
    ignored: HashSet<String>,
}

impl Known {
    /// Refuses a new file whose name is that of a folder in the index, or that needs a folder where the index has a file.
    pub(super) fn refuse_clash(&self, head: Option<&str>, name: &str) -> Result<(), Failure> {
        let head = head.unwrap_or_default();
        let is_file = |folder: &str| matches!(self.objects.get(&format!(":0:{folder}")), Some(Object::File(_)));
        let below = format!("{name}/");
        // A submodule's commit is not an object of this repository.
        let is_in_commit = |folder| in_commit(&self.objects, head, folder).entry.is_some_and(|entry| entry.mode != TREE);
        if !folders(name).any(|folder| is_file(folder) || is_in_commit(folder))
            && !self.staged.keys().any(|staged| staged.starts_with(&below))
        {
            return Ok(());
        }
        Err(Failure::Refused(format!("Nothing was done: git has a file where {name} needs a folder, or a folder of that name")))
    }
}

/// A file's entry in the index, or why the file cannot be written.
pub(super) type Staged = Result<Entry, &'static str>;

/// A temporary file or folder in the repository's folder, removed on drop.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Git may have left its lock file.
        disk::discard(&self.0.with_extension("lock"));
        if self.0.is_dir() {
            let _ = disk::remove_own_folder(&self.0);
        } else {
            disk::discard(&self.0);
        }
    }
}

const SCRATCH: &str = "vault-sync-mcp-";

/// Where a fetch puts the remote's branch. Refs below `refs/worktree` belong to one working tree (git-worktree(1)).
pub(super) const FETCHED: &str = "refs/worktree/vault-sync-mcp/remote";

/// Operations in progress: the file in the repository's folder that shows one, and how to end it.
const IN_PROGRESS: [(&str, &str); 7] = [
    ("MERGE_HEAD", "a merge is in progress; finish it (git commit) or git merge --abort"),
    ("rebase-merge", "a rebase is in progress; git rebase --continue or --abort"),
    ("rebase-apply", "a rebase or am is in progress; git rebase --continue or --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is in progress; git cherry-pick --continue or --abort"),
    ("REVERT_HEAD", "a revert is in progress; git revert --continue or --abort"),
    ("BISECT_LOG", "a bisect is in progress; git bisect reset"),
    ("sequencer", "a series of commits is in progress; finish or abort it"),
];

impl Repository {
    /// Opens the repository that the runner's folder is in.
    ///
    /// # Errors
    /// [`Failure::Refused`] when its state forbids any change.
    pub(super) fn open(vault: &Vault, runner: &Runner<'_>, folders: &Folders, options: &Options) -> Result<Repository, Failure> {
        let branch = format!("refs/heads/{}", options.branch);
        let files = [
            folders.git_dir.join("HEAD"),
            folders.common_dir.join(&branch),
            folders.common_dir.join("packed-refs"),
            folders.common_dir.join("reftable/tables.list"),
            folders.git_dir.join("reftable/tables.list"),
        ];
        let refs = files.map(|file| (file.clone(), fingerprint(&file)));
        let Refs { is_current, head } = Refs::read(runner, &branch)?;
        let settings = Settings::read(runner)?;
        let hooks = match settings.has("core.hookspath") {
            true => runner.folder.join(runner.must(&["rev-parse", "--git-path", "hooks"])?.line()),
            false => folders.common_dir.join("hooks"),
        };
        let (top, git_dir, prefix) = (folders.top.clone(), folders.git_dir.clone(), folders.prefix.clone());
        let index = fingerprint(&git_dir.join("index"));
        let repository =
            Repository { vault: vault.clone(), top, git_dir, prefix, branch, head, remote: None, hooks, settings, index, refs };
        if let Some(words) = repository.in_progress(runner)? {
            return Err(Failure::Refused(format!("Nothing was done: {words}")));
        }
        if !is_current && !repository.is_current(runner)? {
            let current = current_branch(runner)?;
            let is = current.strip_prefix("refs/heads/").map_or("no branch (a detached HEAD)".to_owned(), |name| format!("branch {name}"));
            return Err(Failure::Refused(format!(
                "Nothing was done: the repository is on {is}, and GIT_BRANCH is {}; git switch {}, or change the setting",
                options.branch, options.branch
            )));
        }
        if repository.settings.is_true("core.sparsecheckout") == Some(true) {
            return Err(Failure::Refused(
                "Nothing was done: this working tree is a sparse checkout, which toolset git does not support; git sparse-checkout disable"
                    .into(),
            ));
        }
        let remotes = repository.settings.remotes();
        if !remotes.is_empty() && !remotes.contains(&options.remote.as_str()) {
            let known = remotes.join(", ");
            return Err(Failure::Refused(format!(
                "Nothing was done: there is no remote {}; there is {known}. See GIT_REMOTE",
                options.remote
            )));
        }
        let remote = remotes.into_iter().find(|name| *name == options.remote).map(str::to_owned);
        Ok(Repository { remote, ..repository })
    }

    /// Whether the branch is checked out.
    fn is_current(&self, runner: &Runner<'_>) -> Result<bool, Failure> {
        // HEAD is a file (gitrepository-layout(5)); with the reftable backend it names a branch that does not exist.
        let head = std::fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        match head.trim_end().strip_prefix("ref: ") {
            Some("refs/heads/.invalid") | None => Ok(current_branch(runner)? == self.branch),
            Some(branch) => Ok(branch == self.branch),
        }
    }

    /// Whether the index file is unchanged since the operation began.
    pub(super) fn has_same_index(&self) -> bool {
        fingerprint(&self.git_dir.join("index")) == self.index
    }

    /// The file that records a move in progress. It belongs to one working tree and one branch.
    fn pending_file(&self) -> PathBuf {
        let branch = self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch).replace('%', "%25").replace('/', "%2F");
        self.git_dir.join(format!("vault-sync-mcp.pending.{branch}"))
    }

    /// The move of the branch that is in progress.
    pub(super) fn pending(&self) -> Result<Option<Pending>, Failure> {
        let read = disk::none_if_missing(std::fs::read_to_string(self.pending_file()));
        let text = read.map_err(|error| Failure::Git(format!("the file vault-sync-mcp.pending cannot be read: {}", error.kind())))?;
        let mut lines = text.as_deref().unwrap_or_default().lines().map(str::to_owned);
        Ok(lines.next().map(|to| Pending { to, from: lines.next() }))
    }

    /// Records that the branch is to be moved to a commit, so that this can be finished after a crash.
    pub(super) fn begin_move(&self, to: &str) -> Result<(), Failure> {
        let lines: String = [Some(to), self.head.as_deref()].into_iter().flatten().map(|commit| format!("{commit}\n")).collect();
        disk::replace(&self.pending_file(), lines.as_bytes(), disk::Mode::Private, |_| Ok(()))
            .map_err(|error: std::io::Error| Failure::Git(format!("the file vault-sync-mcp.pending cannot be written: {}", error.kind())))
    }

    pub(super) fn end_move(&self) {
        disk::discard(&self.pending_file());
    }

    /// The branch's commit, or the empty tree if it has none.
    pub(super) fn head_or_empty(&self, runner: &Runner<'_>) -> Result<String, Failure> {
        match &self.head {
            Some(head) => Ok(head.clone()),
            None => Ok(runner.must(&["hash-object", "-t", "tree", "--stdin"])?.line()),
        }
    }

    /// The operation that a person or another program has in progress, and how to end it.
    fn in_progress(&self, runner: &Runner<'_>) -> Result<Option<&'static str>, Failure> {
        // The reftable backend also holds the pseudorefs (`MERGE_HEAD` and the like).
        let in_tables = self.git_dir.join("reftable").exists();
        for (name, words) in IN_PROGRESS {
            let is_ref = in_tables && name.ends_with("_HEAD");
            if self.git_dir.join(name).exists() || is_ref && commit_of(runner, name)?.is_some() {
                return Ok(Some(words));
            }
        }
        Ok(None)
    }

    /// A note's name in the repository: its path from the top.
    pub(super) fn name_of(&self, path: &VaultPath) -> String {
        format!("{}{}", self.prefix, path.as_str())
    }

    /// Reads a note on disk, in the index and on the branch.
    ///
    /// # Errors
    /// [`Failure::Refused`] for one that is not a regular file of this repository, or that has staged changes or a conflict in
    /// the index.
    pub(super) fn read_note(&self, runner: &Runner<'_>, known: &Known, path: &VaultPath, name: &str) -> Result<Note, Failure> {
        let refused = |why: &str| Err(Failure::Refused(format!("Nothing was done: {} {why}", path.as_str())));
        let mut on_disk = self.vault.root().to_path_buf();
        let mut segments = path.segments().peekable();
        while let Some(segment) = segments.next() {
            on_disk.push(segment);
            if on_disk.is_symlink() {
                // A link that leads out of the vault is refused as everywhere.
                if let Err(error @ vault::Error::NotAllowed { .. }) = self.vault.bytes_if_any(path) {
                    return Err(Failure::Vault(error));
                }
                return refused("is, or lies below, a symbolic link, which git keeps as a link");
            }
            if segments.peek().is_some() && on_disk.join(".git").exists() {
                return refused("lies in another repository (a submodule)");
            }
        }
        let InCommit { entry: committed, twin } = in_commit(&known.objects, self.head.as_deref().unwrap_or_default(), name);
        if committed.as_ref().is_some_and(|entry| !entry.mode.starts_with("100")) {
            return refused("is not a plain file in git");
        }
        let staged = match known.staged.get(name).cloned().transpose() {
            Ok(entry) => entry,
            Err(why) => return refused(why),
        };
        if self.head.is_none() && !runner.must(&["ls-files", "-z", "--full-name"])?.stdout.is_empty() {
            return refused("cannot be the first commit while other files are staged; commit those first (git commit)");
        }
        if staged != committed {
            return refused("has staged changes; commit or unstage them (git restore --staged) first");
        }
        if committed.is_none() {
            if known.ignored.contains(name) {
                return refused("is ignored by git (.gitignore)");
            }
            if let Some((twin, known)) = twin {
                let why = format!("Nothing was done: {twin} exists, and differs from {known} only by capital letters");
                return Err(Failure::Refused(why));
            }
        }
        let bytes = self.vault.bytes_if_any(path)?;
        let in_history = match known.objects.get(&format!("{}:{name}", self.head.as_deref().unwrap_or_default())) {
            Some(Object::File(bytes)) => Some(bytes.clone()),
            _ => None,
        };
        Ok(Note { bytes, committed, in_history })
    }

    /// Whether a note's bytes are those on the branch. Only the bytes count: a time stamp, a flag in the index or a lossy
    /// filter can each make git take a changed file for unchanged.
    pub(super) fn is_committed(&self, runner: &Runner<'_>, note: &Note, name: &str) -> Result<bool, Failure> {
        let (Some(bytes), Some(committed)) = (&note.bytes, &note.committed) else {
            return Ok(note.bytes.is_none() && note.committed.is_none());
        };
        if note.in_history.as_ref() == Some(bytes) {
            return Ok(true);
        }
        let text = self.committed(runner, name)?;
        // A difference in line endings alone is no change, if git ignores it.
        Ok(text == *bytes || same_but_for_line_ends(bytes, &text) && committed.blob == self.hash(runner, name, bytes, false)?)
    }

    /// The bytes of a file on the branch as git would check it out.
    pub(super) fn committed(&self, runner: &Runner<'_>, name: &str) -> Result<Vec<u8>, Failure> {
        let head = self.head.as_deref().unwrap_or_default();
        Ok(runner.at(&self.top).must(&["cat-file", "--filters", &format!("{head}:{name}")])?.stdout)
    }

    /// What the branch and the index have of files; with `bytes`, also the bytes on the branch.
    pub(super) fn read_known(&self, runner: &Runner<'_>, names: &[&str], bytes: bool) -> Result<Known, Failure> {
        let objects = self.head.as_deref().map_or(Ok(HashMap::new()), |head| objects(runner, head, names, bytes))?;
        let head = self.head.as_deref().unwrap_or_default();
        let new: Vec<&str> = names.iter().copied().filter(|name| in_commit(&objects, head, name).entry.is_none()).collect();
        Ok(Known { ignored: self.ignored(runner, &new)?, objects, staged: self.staged(runner, names)? })
    }

    /// Those of the files that git ignores (`.gitignore` and the like).
    fn ignored(&self, runner: &Runner<'_>, names: &[&str]) -> Result<HashSet<String>, Failure> {
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let asked: String = names.iter().map(|name| format!("./{name}\0")).collect();
        let answer = runner.at(&self.top).run_with(&["check-ignore", "-z", "--stdin"], asked.as_bytes())?;
        // Git answers for none if one lies behind a link or in a submodule; such files are refused anyway.
        if !answer.ok && !answer.stderr.is_empty() && names.len() > 1 {
            return names.chunks(1).map(|one| self.ignored(runner, one)).try_fold(HashSet::new(), |all, one| Ok(&all | &one?));
        }
        Ok(answer.parts().filter_map(|name| Some(name.strip_prefix("./")?.to_owned())).collect())
    }

    /// The index entries of files; one that is not in the index is not in the map.
    pub(super) fn staged(&self, runner: &Runner<'_>, names: &[&str]) -> Result<HashMap<String, Staged>, Failure> {
        let runner = runner.at(&self.top);
        let mut staged = HashMap::new();
        for names in names.chunks(limits::GIT_ARGUMENTS) {
            let index = runner.must(&[&["ls-files", "-s", "-v", "-z", "--"], names].concat())?;
            for part in index.parts() {
                // <tag> <mode> <object> <stage>\t<name>
                let (about, name) = part.split_once('\t').unwrap_or_default();
                let [tag, mode, blob, stage] = about.split(' ').collect::<Vec<_>>()[..] else { continue };
                let found = match (stage, tag) {
                    ("0", tag) if tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase()) => Err(
                        "has a mark by which git ignores changes; run git update-index --no-assume-unchanged --no-skip-worktree on it first",
                    ),
                    ("0", _) => Ok(Entry { mode: mode.to_owned(), blob: blob.to_owned() }),
                    _ => Err("has a conflict that is not resolved; git status says more"),
                };
                staged.insert(name.to_owned(), found);
            }
        }
        Ok(staged)
    }

    /// Whether the branch is still checked out and where it was when the operation began, with nothing in progress.
    pub(super) fn is_unchanged(&self, runner: &Runner<'_>) -> Result<bool, Failure> {
        let is_same =
            self.refs.iter().all(|(file, seen)| fingerprint(file) == *seen) || Refs::read(runner, &self.branch)?.head == self.head;
        Ok(is_same && self.is_undisturbed(runner)?)
    }

    /// Whether the branch is still checked out, with nothing in progress.
    pub(super) fn is_undisturbed(&self, runner: &Runner<'_>) -> Result<bool, Failure> {
        Ok(self.is_current(runner)? && self.in_progress(runner)?.is_none())
    }

    /// As [`Repository::hash`], for files on disk; the objects are stored.
    pub(super) fn store_files(&self, runner: &Runner<'_>, names: &[&str]) -> Result<Vec<String>, Failure> {
        // A name that begins with a quote would be read as a quoted one.
        let input: String =
            names.iter().map(|name| if name.starts_with('"') { format!("./{name}\n") } else { format!("{name}\n") }).collect();
        let output = runner.at(&self.top).must_with(&["hash-object", "-w", "--stdin-paths"], input.as_bytes())?;
        Ok(output.line().lines().map(str::to_owned).collect())
    }

    /// The id of the object that git makes of a file's bytes, with the filters for its name; with `store`, the object is stored.
    pub(super) fn hash(&self, runner: &Runner<'_>, name: &str, bytes: &[u8], store: bool) -> Result<String, Failure> {
        let path = format!("--path={name}");
        let mut command = vec!["hash-object", "--stdin", &path];
        command.extend(store.then_some("-w"));
        Ok(runner.at(&self.top).must_with(&command, bytes)?.line())
    }

    /// Whether a hook exists and is executable.
    pub(super) fn has_hook(&self, name: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(self.hooks.join(name)).is_ok_and(|hook| hook.is_file() && hook.permissions().mode() & 0o111 != 0)
    }

    /// Runs a hook, if it exists.
    ///
    /// # Errors
    /// [`Failure::Git`] with what it said when it refuses.
    pub(super) fn hook(&self, runner: &Runner<'_>, name: &str, arguments: &[&str]) -> Result<(), Failure> {
        if !self.has_hook(name) {
            return Ok(());
        }
        let mut command = vec!["hook", "run", name, "--"];
        command.extend(arguments);
        let output = runner.run(&command)?;
        if output.ok {
            return Ok(());
        }
        let words = if output.stderr.is_empty() { "it did not say why" } else { &output.stderr };
        Err(Failure::Git(format!("the {name} hook refused: {words}")))
    }

    /// A name for a temporary file or folder.
    pub(super) fn scratch(&self, what: &str) -> Scratch {
        Scratch(self.git_dir.join(format!("{SCRATCH}{what}-{}", crate::secret::new_id())))
    }
}

/// Removes what a crash left behind: temporary files and the ref of a fetch. The caller holds the lock of the repository.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn remove_leftovers(git_dir: &Path, runner: &Runner<'_>) -> Result<(), Failure> {
    let names = std::fs::read_dir(git_dir).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(SCRATCH) || disk::is_temporary(name);
    names.filter(|entry| is_ours(&entry.file_name().to_string_lossy())).for_each(|entry| drop(Scratch(entry.path())));
    runner.must(&["update-ref", "-d", FETCHED]).map(drop)
}

/// Whether a file on disk differs from the committed one in line endings only, which git may have converted without showing
/// a change. Mixed line endings are a person's work, which the history could not restore.
pub(super) fn same_but_for_line_ends(here: &[u8], committed: &[u8]) -> bool {
    let bare = |text: &[u8]| text.iter().copied().filter(|&byte| byte != b'\r').collect::<Vec<u8>>();
    let (ends, with_return) = (memchr::memchr_iter(b'\n', here).count(), memchr::memmem::find_iter(here, b"\r\n").count());
    (with_return == 0 || with_return == ends) && bare(here) == bare(committed)
}

fn fingerprint(file: &Path) -> Option<disk::Fingerprint> {
    file.metadata().ok().as_ref().map(disk::fingerprint)
}

/// The full name of the branch that is checked out; empty for none.
fn current_branch(runner: &Runner<'_>) -> Result<String, Failure> {
    Ok(runner.run(&["symbolic-ref", "-q", "HEAD"])?.line())
}
