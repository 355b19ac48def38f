//! The state of the repository, and the reasons not to touch it.

use super::objects::{Entry, File, Files, Staged, clashes, committed, staged};
use super::process::{Runner, no_answer};
use super::settings::Settings;
use super::{Failure, Folders, Options, Refusal};
use crate::change::Changes;
use crate::disk;
use crate::vault::{self, VaultPath, composed};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The repository at the beginning of an operation.
#[derive(Debug)]
pub(super) struct Repository {
    /// On behalf of the caller, for the kept versions of its changes.
    pub(super) changes: Changes,
    pub(super) folders: Folders,
    /// The branch's full name.
    pub(super) branch: String,
    /// The commit it is at; `None` before the first.
    pub(super) head: Option<String>,
    /// The remote, where there is one.
    pub(super) remote: Option<String>,
    /// Where the hooks are.
    hooks: PathBuf,
    pub(super) settings: Settings,
    /// The files of the branch and of the index.
    pub(super) committed: Files<Entry>,
    pub(super) staged: Files<Staged>,
    /// The index file's fingerprint; a different one later means that something was staged.
    index: Option<disk::Fingerprint>,
    scratch: Scratch,
}

/// A note that a commit changes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: VaultPath,
    /// Its name from the top of the repository, its entry on the branch, and the new one.
    pub(super) file: File,
    /// Its bytes on disk, and the new ones.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

impl Target {
    /// The note with these bytes, stored as this object; for `None` it is deleted.
    pub(super) fn becomes(mut self, after: Option<Vec<u8>>, blob: Option<String>) -> Target {
        let mode = self.file.old.as_ref().map_or("100644", |old| &old.mode).to_owned();
        self.file.new = blob.map(|blob| Entry { mode, blob });
        Target { after, ..self }
    }

    pub(super) fn is(&self, file: &File) -> bool {
        file.name == self.file.name
    }

    pub(super) fn changes_commit(&self) -> bool {
        self.file.old != self.file.new
    }
}

/// A folder for temporary files, removed on drop.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes one that only the server's user can read.
    ///
    /// # Errors
    /// [`Failure::Git`].
    pub(super) fn create(above: &Path) -> Result<Scratch, Failure> {
        let scratch = Scratch(above.join(format!("{SCRATCH}{}", crate::secret::new_id())));
        let failed = |error: std::io::Error| {
            Failure::Git(format!("no temporary folder could be made: {}", error.kind()))
        };
        disk::create_private_folder(&scratch.0).map_err(failed)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = disk::remove_own_folder(&self.0);
    }
}

const SCRATCH: &str = "vault-sync-mcp-";

/// Where a fetch puts the remote's branch, until it is brought in or the next start. Refs below
/// `refs/worktree` belong to one working tree (git-worktree(1)).
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
    pub(super) fn open(
        changes: &Changes,
        runner: &Runner<'_>,
        folders: &Folders,
        options: &Options,
    ) -> Result<Repository, Failure> {
        let refused = |why: String| Err(Failure::Refused(why));
        let Folders { git_dir, common_dir, .. } = folders;
        let branch = format!("refs/heads/{}", options.branch);
        let head = commit_of(runner, &common_dir.join(&branch), &branch)?;
        let settings = Settings::read(runner)?;
        if let Some(words) = in_progress(runner, git_dir)? {
            return refused(words.into());
        }
        let current = current_branch(runner, git_dir)?;
        if current != branch {
            let is = current
                .strip_prefix("refs/heads/")
                .map_or("no branch (a detached HEAD)".to_owned(), |name| format!("branch {name}"));
            let name = &options.branch;
            return refused(format!(
                "the repository is on {is}, and GIT_BRANCH is {name}; git switch {name}, or \
                 change the setting"
            ));
        }
        if settings.is_true("core.sparsecheckout") == Some(true) {
            let why = "this working tree is a sparse checkout, which toolset git does not \
                       support; git sparse-checkout disable";
            return refused(why.into());
        }
        let remotes = settings.remotes();
        let remote = remotes.contains(&*options.remote).then(|| options.remote.clone());
        if remote.is_none() && !remotes.is_empty() {
            let known = Vec::from_iter(remotes).join(", ");
            return refused(format!(
                "there is no remote {}; there is {known}. See GIT_REMOTE",
                options.remote
            ));
        }
        let hooks = match settings.0.contains_key("core.hookspath") {
            true => folders.top.join(runner.must(&["rev-parse", "--git-path", "hooks"])?.line()),
            false => common_dir.join("hooks"),
        };
        let scratch = Scratch::create(git_dir)?;
        let index = fingerprint(git_dir);
        let (committed, staged) = (committed(runner, head.as_deref())?, staged(runner)?);
        let (changes, folders) = (changes.clone(), folders.clone());
        Ok(Repository {
            changes,
            folders,
            branch,
            head,
            remote,
            hooks,
            settings,
            committed,
            staged,
            index,
            scratch,
        })
    }

    /// Whether the index file is unchanged since the operation began.
    pub(super) fn has_same_index(&self) -> bool {
        fingerprint(&self.folders.git_dir) == self.index
    }

    /// The file that records a move in progress. It belongs to one working tree and one branch.
    fn pending_file(&self) -> PathBuf {
        let branch = self
            .branch
            .strip_prefix("refs/heads/")
            .unwrap_or(&self.branch)
            .replace('%', "%25")
            .replace('/', "%2F");
        self.folders.git_dir.join(format!("vault-sync-mcp.pending.{branch}"))
    }

    /// The move of the branch that is in progress: to which commit, and from which.
    pub(super) fn pending(&self) -> Result<Option<(String, Option<String>)>, Failure> {
        let read = disk::none_if_missing(std::fs::read_to_string(self.pending_file()));
        let text = read.map_err(|error| {
            Failure::Git(format!(
                "the file vault-sync-mcp.pending cannot be read: {}",
                error.kind()
            ))
        })?;
        let mut lines = text.as_deref().unwrap_or_default().lines().map(str::to_owned);
        Ok(lines.next().map(|to| (to, lines.next())))
    }

    /// Records that the branch is to be moved to a commit, so that this can be finished after a
    /// crash.
    pub(super) fn begin_move(&self, to: &str) -> Result<(), Failure> {
        let lines: String = [Some(to), self.head.as_deref()]
            .into_iter()
            .flatten()
            .map(|commit| format!("{commit}\n"))
            .collect();
        disk::replace(&self.pending_file(), lines.as_bytes(), disk::Mode::Private, |_| Ok(()))
            .map_err(|error: std::io::Error| {
                Failure::Git(format!(
                    "the file vault-sync-mcp.pending cannot be written: {}",
                    error.kind()
                ))
            })
    }

    pub(super) fn end_move(&self) {
        disk::discard(&self.pending_file());
    }

    /// A note's name in the repository: its path from the top, in the Unicode form that it has on
    /// disk, or if it is not there any more, on the branch.
    pub(super) fn name_of(&self, path: &VaultPath) -> String {
        let of = |path: &str| format!("{}{path}", self.folders.prefix);
        let (name, spelled) = (of(path.as_str()), of(&self.changes.vault.spelled(path)));
        let is_committed = |name: &String| self.committed.contains_key(Path::new(name));
        if name.is_ascii() || spelled != name || is_committed(&spelled) {
            return spelled;
        }
        let names = self.committed.keys().filter_map(|name| name.to_str());
        let other = names.filter(|other| !other.is_ascii()).find(|other| composed(other) == name);
        other.map_or(name.clone(), str::to_owned)
    }

    /// Reads a note on disk and on the branch, as one that is deleted.
    ///
    /// # Errors
    /// [`vault::Error::TooLarge`] beyond `limit` bytes; [`Failure::Refused`] for one that is not a
    /// regular file of this repository, or that is in conflict in the index; [`Failure::Staged`]
    /// for one with staged changes.
    pub(super) fn read_note(
        &self,
        path: &VaultPath,
        name: &str,
        limit: u64,
    ) -> Result<Target, Failure> {
        let refused = |why: &str| Err(Failure::Refused(format!("{} {why}", path.as_str())));
        let mut on_disk = self.changes.vault.root().to_path_buf();
        let spelled = self.changes.vault.spelled(path);
        let mut segments = spelled.split('/').peekable();
        while let Some(segment) = segments.next() {
            on_disk.push(segment);
            if on_disk.is_symlink() {
                // A link that leads out of the vault is refused as everywhere.
                if let Err(error @ vault::Error::NotAllowed { .. }) =
                    self.changes.vault.bytes_if_any(path)
                {
                    return Err(Failure::Vault(error));
                }
                return refused("is, or lies below, a symbolic link, which git keeps as a link");
            }
            if segments.peek().is_some() && on_disk.join(".git").exists() {
                return refused("lies in another repository (a submodule)");
            }
        }
        let name = Path::new(name);
        let committed = self.committed.get(name).cloned();
        if committed.as_ref().is_some_and(|entry| !entry.mode.starts_with("100")) {
            return refused("is not a plain file in git");
        }
        let staged = self.staged.get(name);
        if let Some(why) = staged.and_then(|staged| staged.blocked) {
            return refused(why);
        }
        let staged_changes = |why: &str| Err(Failure::Staged(format!("{} {why}", path.as_str())));
        if self.head.is_none() && !self.staged.is_empty() {
            return staged_changes(
                "cannot be the first commit while other files are staged; commit those first (git \
                 commit)",
            );
        }
        let entry = staged.and_then(|staged| staged.entry.as_ref());
        if entry != committed.as_ref() {
            let why = "has staged changes; commit or unstage them (git restore --staged) first";
            // What a person takes out of git stays out.
            return if entry.is_none() { refused(why) } else { staged_changes(why) };
        }
        let file = File { name: name.into(), old: committed, new: None };
        Ok(Target {
            path: path.clone(),
            file,
            before: self.changes.vault.bytes_if_any_up_to(path, limit)?,
            after: None,
        })
    }

    /// Refuses a new file that needs a folder where there is a file on the branch or in the index,
    /// or has the name of a folder.
    pub(super) fn refuse_clash(&self, name: &str) -> Result<(), Failure> {
        if !clashes(&self.committed, Path::new(name)) && !clashes(&self.staged, Path::new(name)) {
            return Ok(());
        }
        Err(Failure::Refused(format!(
            "git has a file where {name} needs a folder, or a folder of that name"
        )))
    }

    /// Whether a note's bytes are those on the branch. Only the bytes count: a time stamp, a flag
    /// in the index or a lossy filter can each make git take a changed file for unchanged.
    pub(super) fn is_committed(
        &self,
        runner: &Runner<'_>,
        note: &Target,
        name: &str,
    ) -> Result<bool, Failure> {
        let (Some(bytes), Some(committed)) = (&note.before, &note.file.old) else {
            return Ok(note.before.is_none() && note.file.old.is_none());
        };
        let head = self.head.as_deref().unwrap_or_default();
        let text = runner.run(&["cat-file", "--filters", &format!("{head}:{name}")])?;
        if text.ok && text.stdout == *bytes {
            return Ok(true);
        }
        // A tool's bytes are on disk without filters, of which `ident` gives others back, and one
        // may fail.
        if runner.must_with(&["hash-object", "--no-filters", "--stdin"], bytes)?.line()
            == committed.blob
        {
            return Ok(true);
        }
        // A difference in line endings alone is no change, if git ignores it.
        Ok(text.ok
            && same_but_for_line_ends(bytes, &text.stdout)
            && committed.blob == self.hash(runner, name, bytes, false)?)
    }

    /// Those of the files that git ignores (`.gitignore` and the like).
    pub(super) fn ignored(
        &self,
        runner: &Runner<'_>,
        names: &[&str],
    ) -> Result<HashSet<String>, Failure> {
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let asked: String = names.iter().map(|name| format!("./{name}\0")).collect();
        let answer = runner.run_with(&["check-ignore", "-z", "--stdin"], asked.as_bytes())?;
        // Git answers for none if one lies behind a link or in a submodule; such files are refused
        // anyway.
        if !answer.ok && !answer.stderr.is_empty() && names.len() > 1 {
            return names
                .chunks(1)
                .map(|one| self.ignored(runner, one))
                .try_fold(HashSet::new(), |all, one| Ok(&all | &one?));
        }
        Ok(answer
            .parts()
            .filter_map(|name| Some(std::str::from_utf8(name).ok()?.strip_prefix("./")?.to_owned()))
            .collect())
    }

    /// Whether the branch is still checked out and where it was when the operation began, with
    /// nothing in progress.
    pub(super) fn is_at_same_commit(&self, runner: &Runner<'_>) -> Result<bool, Failure> {
        let file = self.folders.common_dir.join(&self.branch);
        Ok(commit_of(runner, &file, &self.branch)? == self.head
            && self.is_branch_checked_out(runner)?)
    }

    /// Whether the branch is still checked out, with nothing in progress.
    pub(super) fn is_branch_checked_out(&self, runner: &Runner<'_>) -> Result<bool, Failure> {
        Ok(current_branch(runner, &self.folders.git_dir)? == self.branch
            && in_progress(runner, &self.folders.git_dir)?.is_none())
    }

    /// As [`Repository::hash`], for files on disk; the objects are stored.
    pub(super) fn store_files(
        &self,
        runner: &Runner<'_>,
        names: &[&str],
    ) -> Result<Vec<String>, Failure> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // A name that begins with a quote would be read as a quoted one.
        let input: String =
            names
                .iter()
                .map(|name| {
                    if name.starts_with('"') { format!("./{name}\n") } else { format!("{name}\n") }
                })
                .collect();
        let blobs =
            runner.must_with(&["hash-object", "-w", "--stdin-paths"], input.as_bytes())?.line();
        let blobs: Vec<String> = blobs.lines().map(str::to_owned).collect();
        if blobs.len() == names.len() { Ok(blobs) } else { Err(no_answer()) }
    }

    /// The id of the object that git makes of a file's bytes, with the filters for its name; with
    /// `store`, the object is stored.
    pub(super) fn hash(
        &self,
        runner: &Runner<'_>,
        name: &str,
        bytes: &[u8],
        store: bool,
    ) -> Result<String, Failure> {
        let path = format!("--path={name}");
        let mut command = vec!["hash-object", "--stdin", &path];
        command.extend(store.then_some("-w"));
        Ok(runner.must_with(&command, bytes)?.line())
    }

    /// Whether a hook exists and is executable.
    pub(super) fn has_hook(&self, name: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(self.hooks.join(name))
            .is_ok_and(|hook| hook.is_file() && hook.permissions().mode() & 0o111 != 0)
    }

    /// Runs a hook, if it exists.
    ///
    /// # Errors
    /// [`Failure::Git`] with what it said when it refuses.
    pub(super) fn hook(
        &self,
        runner: &Runner<'_>,
        name: &str,
        arguments: &[&str],
    ) -> Result<(), Failure> {
        if !self.has_hook(name) {
            return Ok(());
        }
        // By its full path: the pre-commit hook runs in a working tree that need not have it.
        let hooks = format!("core.hooksPath={}", self.hooks.display());
        let output =
            runner.run(&[&["-c", &hooks, "hook", "run", name, "--"], arguments].concat())?;
        if output.ok {
            return Ok(());
        }
        let words = if output.stderr.is_empty() { "it did not say why" } else { &output.stderr };
        Err(Failure::Git(format!("the {name} hook refused: {words}")))
    }

    /// An unused path for a temporary file or folder, which is removed at the end of the operation.
    pub(super) fn scratch(&self) -> PathBuf {
        self.scratch.0.join(crate::secret::new_id())
    }
}

/// Removes what a crash left behind: temporary files and the ref of a fetch. The caller holds the
/// lock of the repository.
///
/// # Errors
/// [`Failure::Git`].
pub(super) fn remove_leftovers(git_dir: &Path, runner: &Runner<'_>) -> Result<(), Failure> {
    for entry in std::fs::read_dir(git_dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(SCRATCH) {
            drop(Scratch(entry.path()));
        } else if disk::is_temporary(&name) {
            disk::discard(&entry.path());
        }
    }
    runner.must(&["update-ref", "-d", FETCHED]).map(drop)
}

/// Whether a file on disk differs from the committed one in line endings only, which git may have
/// converted without showing a change. Mixed line endings are a person's work, which the history
/// could not restore.
pub(super) fn same_but_for_line_ends(here: &[u8], committed: &[u8]) -> bool {
    let bare =
        |text: &[u8]| text.iter().copied().filter(|&byte| byte != b'\r').collect::<Vec<u8>>();
    let (ends, with_return) = (
        memchr::memchr_iter(b'\n', here).count(),
        memchr::memmem::find_iter(here, b"\r\n").count(),
    );
    (with_return == 0 || with_return == ends) && bare(here) == bare(committed)
}

fn fingerprint(git_dir: &Path) -> Option<disk::Fingerprint> {
    git_dir.join("index").metadata().ok().as_ref().map(disk::fingerprint)
}

/// The operation that a person or another program has in progress, and how to end it.
fn in_progress(runner: &Runner<'_>, git_dir: &Path) -> Result<Option<&'static str>, Failure> {
    // The reftable backend has `CHERRY_PICK_HEAD` and the like as refs.
    let in_tables = git_dir.join("reftable").exists();
    for (name, words) in IN_PROGRESS {
        let is_ref = in_tables && name.ends_with("_HEAD");
        if git_dir.join(name).exists()
            || is_ref && runner.run(&["rev-parse", "-q", "--verify", name])?.ok
        {
            return Ok(Some(words));
        }
    }
    Ok(None)
}

/// The commit that the branch is at; `None` before the first.
fn commit_of(runner: &Runner<'_>, file: &Path, branch: &str) -> Result<Option<String>, Failure> {
    // A loose ref takes precedence over a packed one (gitrepository-layout(5)).
    let loose = std::fs::read_to_string(file).unwrap_or_default();
    let loose = loose.trim_end();
    if matches!(loose.len(), 40 | 64) && loose.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Some(loose.to_owned()));
    }
    let found = runner.run(&["rev-parse", "-q", "--verify", branch])?;
    if !found.ok && !found.stderr.is_empty() {
        return Err(Failure::Refused(format!(
            "the vault is not in a git repository that the server may use: {}",
            found.words()
        )));
    }
    Ok(found.ok.then(|| found.line()))
}

/// The full name of the branch that is checked out; empty for none.
fn current_branch(runner: &Runner<'_>, git_dir: &Path) -> Result<String, Failure> {
    // HEAD is a file (gitrepository-layout(5)); with the reftable backend it names a branch that
    // does not exist.
    match std::fs::read_to_string(git_dir.join("HEAD"))
        .unwrap_or_default()
        .trim_end()
        .strip_prefix("ref: ")
    {
        Some("refs/heads/.invalid") | None => {
            Ok(runner.run(&["symbolic-ref", "-q", "HEAD"])?.line())
        }
        Some(branch) => Ok(branch.to_owned()),
    }
}

/// Takes out the deletions of files as large as one that is too large to be committed, which has
/// probably moved: what cannot be committed where it is now stays in git where it was. Returns why
/// they are not committed.
pub(super) fn hold_back_too_large(
    runner: &Runner<'_>,
    targets: &mut Vec<Target>,
    left: &[Refusal],
) -> Result<Vec<Refusal>, Failure> {
    let size_of = |(_, failure): &Refusal| match failure {
        Failure::Vault(vault::Error::TooLarge { size, .. }) => Some(size.to_string()),
        _ => None,
    };
    let too_large: HashSet<String> = left.iter().filter_map(size_of).collect();
    if too_large.is_empty() {
        return Ok(Vec::new());
    }
    let gone = targets
        .iter()
        .filter(|note| note.before.is_none())
        .filter_map(|note| note.file.old.as_ref());
    let blobs: String = gone.map(|entry| format!("{}\n", entry.blob)).collect();
    let sizes = runner
        .must_with(&["cat-file", "--batch-check=%(objectname) %(objectsize)"], blobs.as_bytes())?;
    let sizes = String::from_utf8_lossy(&sizes.stdout);
    let held: HashSet<&str> = sizes
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, size)| too_large.contains(*size))
        .map(|(blob, _)| blob)
        .collect();
    let is_held = |note: &mut Target| {
        note.before.is_none() && note.file.old.as_ref().is_some_and(|old| held.contains(&*old.blob))
    };
    let stays = |note: Target| {
        (note.path.clone(), Failure::Refused(format!("{} stays in git", note.path.as_str())))
    };
    Ok(targets.extract_if(.., is_held).map(stays).collect())
}
