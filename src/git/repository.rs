//! The state of the repository at the beginning of a call, and the reasons not to touch it.

use super::process::{INDEX_POLL, INDEX_WAIT, Runner, index_is_held, no_answer};
use super::{Failure, Folders, Options};
use crate::clock::Deadline;
use crate::disk;
use crate::vault::{Vault, VaultPath, composed};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The repository at the beginning of a call.
pub(super) struct Repository<'a> {
    pub(super) runner: Runner<'a>,
    pub(super) folders: &'a Folders,
    /// The branch's full name.
    pub(super) branch: String,
    /// The commit it is at; `None` before the first.
    pub(super) head: Option<String>,
    /// The remote, where there is one.
    pub(super) remote: Option<String>,
    /// Whether commits are signed.
    pub(super) signs: bool,
    /// Names on the branch that are not ASCII, by their composed form; listed when first needed.
    odd_names: OnceCell<HashMap<String, String>>,
    scratch: Scratch,
}

/// A file in a tree or in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) blob: String,
}

impl Entry {
    /// A file with this content; its mode stays.
    pub(super) fn of(old: Option<&Entry>, blob: String) -> Entry {
        let mode = old.map_or("100644", |old| &old.mode).to_owned();
        Entry { mode, blob }
    }
}

/// A file in which two commits differ, by its name from the top of the repository.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

/// Files of one commit, or of the index.
pub(super) type Entries = BTreeMap<String, Entry>;

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

impl<'a> Repository<'a> {
    /// Looks at the repository.
    ///
    /// # Errors
    /// [`Failure::Refused`] when its state forbids any change.
    pub(super) fn open(
        runner: &Runner<'a>,
        folders: &'a Folders,
        options: &Options,
    ) -> Result<Repository<'a>, Failure> {
        let branch = format!("refs/heads/{}", options.branch);
        let in_progress = IN_PROGRESS.iter().find(|(name, _)| folders.git_dir.join(name).exists());
        if let Some((_, words)) = in_progress {
            return Err(Failure::Refused((*words).into()));
        }
        let current = current_branch(runner, &folders.git_dir)?;
        if current != branch {
            let is = current
                .strip_prefix("refs/heads/")
                .map_or("no branch (a detached HEAD)".to_owned(), |name| format!("branch {name}"));
            let name = &options.branch;
            return Err(Failure::Refused(format!(
                "the repository is on {is}, and GIT_BRANCH is {name}; git switch {name}, or \
                 change the setting"
            )));
        }
        let settings =
            runner.run(&["config", "--get-regexp", r"^(remote\..+\.url|commit\.gpgsign)$"])?;
        let settings = settings.line();
        let remotes: BTreeSet<&str> = settings
            .lines()
            .filter_map(|line| {
                line.strip_prefix("remote.")?.split_once(".url ").map(|(name, _)| name)
            })
            .collect();
        let remote = remotes.get(&*options.remote).map(|name| (*name).to_owned());
        if remote.is_none() && !remotes.is_empty() {
            let known = Vec::from_iter(remotes).join(", ");
            return Err(Failure::Refused(format!(
                "there is no remote {}; there is {known}. See GIT_REMOTE",
                options.remote
            )));
        }
        let signs = settings.lines().rfind(|line| line.starts_with("commit.gpgsign"));
        let signs = signs.is_some_and(|line| {
            let value = line.split_once(' ').map_or("true", |(_, value)| value);
            ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str())
        });
        let found = runner.run(&["rev-parse", "-q", "--verify", "HEAD^{commit}"])?;
        if !found.ok && !found.stderr.is_empty() {
            return Err(Failure::Refused(format!(
                "the vault is not in a git repository that the server may use: {}",
                found.words()
            )));
        }
        let head = found.ok.then(|| found.line());
        let scratch = Scratch::create(&folders.git_dir)?;
        let runner = runner.clone();
        let odd_names = OnceCell::new();
        Ok(Repository { runner, folders, branch, head, remote, signs, odd_names, scratch })
    }

    /// The remote-tracking branch, below `refs/remotes`.
    pub(super) fn tracking(&self) -> String {
        let branch = self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch);
        format!("{}/{branch}", self.remote.as_deref().unwrap_or_default())
    }

    /// Whether the branch is still checked out, and where it was.
    pub(super) fn is_where_it_was(&self) -> Result<bool, Failure> {
        let now = self.runner.run(&["rev-parse", "-q", "--verify", "HEAD^{commit}"])?;
        let head = now.ok.then(|| now.line());
        let branch = current_branch(&self.runner, &self.folders.git_dir)?;
        Ok(head == self.head && branch == self.branch)
    }

    /// The path in the vault of a file of the repository, for messages.
    pub(super) fn path_of<'b>(&self, name: &'b str) -> &'b str {
        name.strip_prefix(&*self.folders.prefix).unwrap_or(name)
    }

    /// A note's name in the repository: its path from the top, in the Unicode form that it has on
    /// disk, or if it is not there any more, on the branch.
    pub(super) fn name_of(&self, path: &VaultPath, vault: &Vault) -> Result<String, Failure> {
        let of = |path: &str| format!("{}{path}", self.folders.prefix);
        let (name, spelled) = (of(path.as_str()), of(&vault.spelled(path)));
        if name.is_ascii() || spelled != name || self.head.is_none() {
            return Ok(spelled);
        }
        if self.odd_names.get().is_none() {
            let command = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"];
            let listed = self.runner.must(&command)?;
            let names = listed.parts().filter_map(|name| std::str::from_utf8(name).ok());
            let odd = names.filter(|name| !name.is_ascii());
            let odd = odd.map(|odd| (composed(odd).into_owned(), odd.to_owned())).collect();
            let _ = self.odd_names.set(odd);
        }
        let odd_name = self.odd_names.get().and_then(|names| names.get(&name));
        Ok(odd_name.unwrap_or(&name).clone())
    }

    /// Refuses a file that lies in another repository, whose owner has another remote for it.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub(super) fn refuse_nested(&self, name: &str) -> Result<(), Failure> {
        let above =
            Path::new(name).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        for above in above {
            if self.folders.top.join(above).join(".git").exists() {
                return Err(Failure::Refused(format!(
                    "{} lies in another repository (a submodule)",
                    self.path_of(name)
                )));
            }
        }
        Ok(())
    }

    /// Whether a hook exists and is executable.
    pub(super) fn has_hook(&self, name: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(self.folders.hooks.join(name))
            .is_ok_and(|hook| hook.is_file() && hook.permissions().mode() & 0o111 != 0)
    }

    /// Files of the branch; those that it does not have are missing.
    pub(super) fn committed(&self, names: &[&str]) -> Result<Entries, Failure> {
        if self.head.is_none() {
            return Ok(Entries::new());
        }
        // <mode> <type> <object>\t<name>
        self.entries(&["ls-tree", "-z", "--full-tree", "HEAD", "--"], names, |words| {
            let [mode, _, blob] = words else { return None };
            Some(Entry { mode: (*mode).to_owned(), blob: (*blob).to_owned() })
        })
    }

    /// Files of the index; one in conflict has an entry that equals no other.
    pub(super) fn staged(&self, names: &[&str]) -> Result<Entries, Failure> {
        // <mode> <object> <stage>\t<name>
        self.entries(&["ls-files", "-s", "-z", "--"], names, |words| {
            let [mode, blob, stage] = words else { return None };
            let mode = if *stage == "0" { (*mode).to_owned() } else { "conflict".to_owned() };
            Some(Entry { mode, blob: (*blob).to_owned() })
        })
    }

    fn entries(
        &self,
        command: &[&str],
        names: &[&str],
        read: impl Fn(&[&str]) -> Option<Entry>,
    ) -> Result<Entries, Failure> {
        let mut entries = Entries::new();
        let wanted: HashSet<&str> = names.iter().copied().collect();
        for names in names.chunks(500) {
            let listed = self.runner.must(&[command, names].concat())?;
            for line in listed.parts() {
                let line = String::from_utf8_lossy(line);
                let Some((words, name)) = line.split_once('\t') else { continue };
                let words: Vec<&str> = words.split(' ').collect();
                if let Some(entry) = read(&words)
                    && wanted.contains(name)
                {
                    entries.insert(name.to_owned(), entry);
                }
            }
        }
        Ok(entries)
    }

    /// Those of the files that git ignores (`.gitignore` and the like).
    pub(super) fn ignored(&self, names: &[&str]) -> Result<HashSet<String>, Failure> {
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let asked: String = names.iter().map(|name| format!("./{name}\0")).collect();
        let answer = self.runner.run_with(&["check-ignore", "-z", "--stdin"], asked.as_bytes())?;
        let names = answer.parts().filter_map(|name| std::str::from_utf8(name).ok());
        Ok(names.filter_map(|name| Some(name.strip_prefix("./")?.to_owned())).collect())
    }

    /// The ids of the objects that git makes of files on disk, with its filters; with `store` they
    /// are stored.
    pub(super) fn hash_files(&self, names: &[&str], store: bool) -> Result<Vec<String>, Failure> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // A name that begins with a quote would be read as a quoted one.
        let input: String = names.iter().map(|name| format!("./{name}\n")).collect();
        let mut command = vec!["hash-object", "--stdin-paths"];
        if store {
            command.push("-w");
        }
        let listed = self.runner.must_with(&command, input.as_bytes())?.line();
        let blobs: Vec<String> = listed.lines().map(str::to_owned).collect();
        if blobs.len() == names.len() { Ok(blobs) } else { Err(no_answer()) }
    }

    /// The id of the object that git makes of these bytes, with the filters for the name; with
    /// `store` it is stored.
    pub(super) fn hash(&self, name: &str, bytes: &[u8], store: bool) -> Result<String, Failure> {
        let path = format!("--path={name}");
        let mut command = vec!["hash-object", "--stdin", &path];
        if store {
            command.push("-w");
        }
        Ok(self.runner.must_with(&command, bytes)?.line())
    }

    /// The bytes of a file in a commit, as git would check it out.
    pub(super) fn text_of(&self, commit: &str, name: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.runner.must(&["cat-file", "--filters", &format!("{commit}:{name}")])?.stdout)
    }

    /// Waits briefly while another program holds the index.
    ///
    /// # Errors
    /// [`Failure::Refused`] when it does not let it go.
    pub(super) fn wait_for_index(&self) -> Result<(), Failure> {
        let lock = self.folders.git_dir.join("index.lock");
        let attempt = || Ok::<_, Failure>((!lock.exists()).then_some(()));
        Deadline::after(INDEX_WAIT).poll(INDEX_POLL, attempt)?.ok_or_else(index_is_held)
    }

    /// Whether bytes on disk are those of an object: as git would store them, or as they are (it
    /// stores some files with the line ends that they have).
    pub(super) fn is_same(&self, name: &str, bytes: &[u8], blob: &str) -> Result<bool, Failure> {
        let as_they_are = ["hash-object", "--no-filters", "--stdin"];
        Ok(self.hash(name, bytes, false)? == blob
            || self.runner.must_with(&as_they_are, bytes)?.line() == blob)
    }

    /// An unused path for a temporary file, which is removed at the end of the call.
    pub(super) fn scratch(&self) -> PathBuf {
        self.scratch.0.join(crate::secret::new_id())
    }
}

/// The full name of the branch that is checked out; empty for none.
fn current_branch(runner: &Runner<'_>, git_dir: &Path) -> Result<String, Failure> {
    // HEAD is a file (gitrepository-layout(5)); with the reftable backend it names a branch that
    // does not exist.
    let head = std::fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
    match head.trim_end().strip_prefix("ref: ") {
        Some("refs/heads/.invalid") | None => {
            Ok(runner.run(&["symbolic-ref", "-q", "HEAD"])?.line())
        }
        Some(branch) => Ok(branch.to_owned()),
    }
}

/// Reads `git diff-tree --raw -z`: `:OLD_MODE NEW_MODE OLD_BLOB NEW_BLOB STATUS`, then the name.
pub(super) fn parse_changes(raw: &[u8]) -> Vec<File> {
    let text = String::from_utf8_lossy(raw);
    let mut parts = text.split('\0');
    let mut files = Vec::new();
    while let (Some(line), Some(name)) = (parts.next(), parts.next()) {
        let words: Vec<&str> = line.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_blob, new_blob, _] = words[..] else { break };
        let entry = |mode: &str, blob: &str| {
            (mode != "000000").then(|| Entry { mode: mode.to_owned(), blob: blob.to_owned() })
        };
        files.push(File {
            name: name.to_owned(),
            old: entry(old_mode, old_blob),
            new: entry(new_mode, new_blob),
        });
    }
    files
}

/// A folder for temporary files, removed on drop.
struct Scratch(PathBuf);

const SCRATCH: &str = "vault-sync-mcp-";

impl Scratch {
    /// Makes one that only the server's user can read.
    ///
    /// # Errors
    /// [`Failure::Git`].
    fn create(above: &Path) -> Result<Scratch, Failure> {
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

/// Removes temporary files that a crash left behind. The caller holds the lock.
pub(super) fn remove_leftovers(git_dir: &Path) {
    for entry in std::fs::read_dir(git_dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            drop(Scratch(entry.path()));
        }
    }
}
