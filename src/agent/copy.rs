//! What a session works on: a copy of the wiki, and of the original files in `raw/assets`. Its
//! changes there are applied to the vault as one change when the session is over, so that the
//! vault's rules, its kept versions and `undo` hold for sessions too.

use super::{Page, SESSION_DIR, Work, skills};
use crate::change::Changes;
use crate::change::step::Step;
use crate::change::valid::must_stay_valid;
use crate::disk::{self, Folder};
use crate::limits;
use crate::markdown::resolve::comparable_name;
use crate::store::Store;
use crate::vault::{Entry, Error as VaultError, REFUSED_CHARACTERS, Vault, VaultPath, etag};
use crate::wiki::TREES;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Pages that one session may change.
const PAGES: usize = 500;
/// Bytes of the copy that a session gets, hard links not counted.
const COPY_BYTES: u64 = 1024 * 1024 * 1024;
/// Size in bytes from which an original file is hard-linked instead of copied.
const LINK_BYTES: u64 = 1024 * 1024;

/// The page outside the trees that a session may change.
pub(super) const ALIASES: &str = "aliases.md";

/// Where original files are kept.
pub(super) const ASSETS: &str = "raw/assets";

/// Instruction files, which other programs obey: no session may change one.
pub(super) const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];

/// The copy.
#[derive(Debug)]
pub(super) struct WorkingCopy {
    pub(super) folder: PathBuf,
    /// The etags of the wiki's files, as they were copied.
    originals: HashMap<String, String>,
}

/// A page that could not be written under its name: the vault's was changed while the session ran,
/// or the name would denote an existing file on other systems. Both texts are kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Conflict {
    /// The page, which has the vault's text.
    pub path: String,
    /// The new page with the session's text.
    pub kept_as: String,
}

/// What a session has changed, as steps of one change.
#[derive(Debug, Default)]
pub(super) struct SessionChanges {
    pub(super) steps: Vec<Step>,
    pub(super) pages: Vec<Page>,
    pub(super) conflicts: Vec<Conflict>,
    /// Files that the vault refuses, and why.
    pub(super) left_out: Vec<String>,
    /// All changed files of the copy, and those of them that are left out.
    pub(super) changed: Vec<String>,
    pub(super) refused: Vec<String>,
}

/// Bytes left for a change, and the names of new pages as case-insensitive systems compare them.
struct Budget {
    bytes: usize,
    new: HashSet<String>,
}

impl WorkingCopy {
    /// Copies the wiki of a vault into a new folder, and what is in `raw/assets`: large files as
    /// hard links where the file system supports them; what would exceed [`COPY_BYTES`] is not
    /// copied.
    ///
    /// # Errors
    /// The disk's; `FileTooLarge` where the wiki does not fit, `Interrupted` when `keep_going`
    /// returns false.
    pub(super) fn make(
        vault: &Vault,
        folder: PathBuf,
        work: Work,
        keep_going: &dyn Fn() -> bool,
    ) -> io::Result<WorkingCopy> {
        disk::create_private_folder(&folder)?;
        let mut copy = WorkingCopy { folder, originals: HashMap::new() };
        let mut left = COPY_BYTES;
        let below = |top: &str| {
            VaultPath::folder(top).map(|top| vault.files_below(&top, "")).unwrap_or_default()
        };
        for tree in TREES {
            disk::create_private_folder(&copy.folder.join(tree))?;
            for entry in below(tree) {
                if !keep_going() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                copy.add_page(vault, &entry.path, work, &mut left)?;
            }
        }
        copy.add_page(vault, ALIASES, work, &mut left)?;
        let aliases = copy.folder.join(ALIASES);
        if !aliases.exists() {
            disk::write_new(&aliases, b"")?;
            copy.originals.insert(ALIASES.to_owned(), etag(b""));
        }
        let mut missing = 0;
        for entry in below(ASSETS) {
            if !keep_going() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            missing += u32::from(!copy.add_original(vault, &entry, &mut left)?);
        }
        if missing > 0 {
            log::warn!(
                "agent: {missing} files of {ASSETS} are not in the session's copy, because they \
                 are too large or unreadable"
            );
        }
        Ok(copy)
    }

    /// Copies a file of the wiki; one that cannot be read is left out.
    fn add_page(
        &mut self,
        vault: &Vault,
        page: &str,
        work: Work,
        left: &mut u64,
    ) -> io::Result<()> {
        let Ok(path) = VaultPath::file(page) else { return Ok(()) };
        let Ok(Some(bytes)) = vault.bytes_if_any(&path) else { return Ok(()) };
        *left = left.checked_sub(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        self.add(&path, &bytes)?;
        if work.writes() {
            self.originals.insert(page.to_owned(), etag(&bytes));
        }
        Ok(())
    }

    /// Copies a file of `raw/assets`; false where it is left out.
    fn add_original(&self, vault: &Vault, entry: &Entry, left: &mut u64) -> io::Result<bool> {
        let target = self.folder.join(&*entry.path);
        if entry.stamp.size > LINK_BYTES {
            target.parent().map_or(Ok(()), disk::create_private_folder)?;
            if disk::link(&vault.absolute(&entry.path), &target).is_ok() {
                return Ok(true);
            }
        }
        let Some(rest) = left.checked_sub(entry.stamp.size) else { return Ok(false) };
        let Ok(path) = VaultPath::file(&entry.path) else { return Ok(false) };
        let Ok(Some(bytes)) = vault.bytes_if_any(&path) else { return Ok(false) };
        *left = rest;
        self.add(&path, &bytes)?;
        Ok(true)
    }

    /// Puts a file into the copy.
    pub(super) fn add(&self, path: &VaultPath, bytes: &[u8]) -> io::Result<()> {
        skills::put(&self.folder.join(path.as_str()), bytes)
    }

    /// The path in the vault of a file that a tool names; of a path elsewhere only the last
    /// component.
    pub(super) fn shown_path(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.folder).ok().and_then(Path::to_str);
        let mut names: Vec<&str> = Vec::new();
        for name in
            inside.unwrap_or(path).split('/').filter(|name| !name.is_empty() && *name != ".")
        {
            if name == ".." {
                names.pop();
            } else {
                names.push(name);
            }
        }
        match names.iter().position(|name| name.starts_with(SESSION_DIR)) {
            // A file of a skill: plugin/skills/NAME/...
            Some(at) if inside.is_none() => {
                format!("skill {}", names.get(at + 3..).unwrap_or_default().join("/"))
            }
            _ if inside.is_none() && path.starts_with('/') => {
                names.last().map(|name| format!(".../{name}")).unwrap_or_default()
            }
            _ => names.join("/"),
        }
    }

    /// A session's text without the path of the copy.
    pub(super) fn without_root(&self, text: &str) -> String {
        let root = self.folder.display().to_string();
        text.replace(&format!("{root}/"), "").replace(&root, "the vault")
    }

    /// What the session has changed, compared with what the vault has now. `mark` goes into the
    /// names of conflicting pages; `bytes` limits the change, old and new contents together.
    pub(super) fn changes(&self, store: &Store, mark: &str, bytes: usize) -> SessionChanges {
        let mut changes = SessionChanges::default();
        let mut budget = Budget { bytes, new: HashSet::new() };
        for path in self.wiki_files(&mut changes.left_out) {
            let step = match self.read(&path) {
                Ok(bytes) if self.originals.get(&path) == Some(&etag(&bytes)) => continue,
                Ok(_) if changes.steps.len() >= PAGES => {
                    Err(format!("a session may change {} pages", PAGES))
                }
                Ok(bytes) => self.step(store, &path, bytes, mark, &mut budget),
                Err(error) => Err(format!("it cannot be read: {}", error.kind())),
            };
            changes.changed.push(path.clone());
            match step {
                Ok(None) => {}
                Ok(Some((step, conflict))) => {
                    changes.pages.push(Page {
                        path: step.path().to_owned(),
                        created: matches!(step, Step::Write { before: None, .. }),
                    });
                    changes.conflicts.extend(conflict);
                    changes.steps.push(step);
                }
                Err(why) => {
                    changes.left_out.push(format!("{path}: {why}"));
                    changes.refused.push(path);
                }
            }
        }
        changes
    }

    /// The plain files of the wiki, by path.
    fn wiki_files(&self, left_out: &mut Vec<String>) -> Vec<String> {
        let mut found = vec![ALIASES.to_owned()];
        let mut open: Vec<(String, usize)> =
            TREES.iter().map(|tree| ((*tree).to_owned(), 0)).collect();
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = std::fs::read_dir(self.folder.join(&folder)) else {
                left_out.push(format!("{folder}: the folder cannot be read"));
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let path = format!("{folder}/{}", name.to_string_lossy());
                match entry.file_type() {
                    Ok(_) if name.to_str().is_none() => {
                        left_out.push(format!("{path}: its name is not UTF-8"))
                    }
                    Ok(kind) if kind.is_dir() && depth < limits::DEPTH => {
                        open.push((path, depth + 1))
                    }
                    Ok(kind) if kind.is_dir() => {
                        left_out.push(format!("{path}: folders are nested too deeply"))
                    }
                    Ok(kind) if kind.is_file() => found.push(path),
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Reads a file of the copy. No symbolic link that the session may have created leads out of
    /// it.
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = Folder::open(&self.folder, Path::new(folder))?;
        disk::read_plain(&folder.path().join(name), limits::NOTE_BYTES)
    }

    /// The step that brings a file's new bytes into the vault; `None` where the vault has them
    /// already.
    fn step(
        &self,
        store: &Store,
        path: &str,
        bytes: Vec<u8>,
        mark: &str,
        budget: &mut Budget,
    ) -> Result<Option<(Step, Option<Conflict>)>, String> {
        let known = VaultPath::file(path).map_err(|error| error.to_string())?;
        if !is_writable(path) {
            return Err("no session may change this file".into());
        }
        let now = match store.vault().bytes_if_any(&known) {
            // Such as a symbolic link.
            Err(VaultError::NotAllowed { why, .. }) => return Err(why.into()),
            now => now.map_err(|error| error.to_string()),
        };
        if now.as_ref().is_ok_and(|now| now.as_deref() == Some(&*bytes)) {
            return Ok(None);
        }
        let size = bytes.len() + now.as_ref().map_or(0, |now| now.as_ref().map_or(0, Vec::len));
        budget.bytes = budget
            .bytes
            .checked_sub(size)
            .ok_or_else(|| format!("all changes together exceed {} bytes", limits::CHANGE_BYTES))?;
        if let (Ok(Some(before)), Some(original)) = (&now, self.originals.get(path))
            && etag(before) == *original
        {
            store
                .changes()
                .may_write(&known, bytes.len())
                .and_then(|()| must_stay_valid(&known, Some(before), &bytes))
                .map_err(|error| error.to_string())?;
            return Ok(Some((Step::write(known, Some(before.clone()), bytes), None)));
        }
        // An empty original was recorded for a missing aliases.md, so that a new one is no
        // conflict.
        let had_none = self
            .originals
            .get(path)
            .is_none_or(|original| path == ALIASES && *original == etag(b""));
        let is_new = matches!(now, Ok(None)) && had_none;
        if is_new
            && store.changes().may_write(&known, bytes.len()).is_ok()
            && budget.new.insert(comparable_name(path))
        {
            return Ok(Some((Step::write(known, None, bytes), None)));
        }
        let kept_as = conflict_name(path, mark);
        let second = VaultPath::file(&kept_as).map_err(|error| error.to_string())?;
        store.changes().may_write(&second, bytes.len()).map_err(|error| error.to_string())?;
        if !budget.new.insert(comparable_name(&kept_as)) {
            return Err("the name of its second page is taken".into());
        }
        Ok(Some((
            Step::write(second, None, bytes),
            Some(Conflict { path: path.to_owned(), kept_as }),
        )))
    }

    /// Moves changed files out of the copy, into a folder that is kept. Returns messages for the
    /// result: where they are, and which could not be moved.
    pub(super) fn set_aside(&self, changes: &SessionChanges, all: bool, id: &str) -> Vec<String> {
        let Some(base) = self.folder.parent().and_then(Path::parent) else { return Vec::new() };
        let name = format!("unfiled-{id}");
        let (mut moved, mut words) = (0, Vec::new());
        for path in if all { &changes.changed } else { &changes.refused } {
            let to = base.join(&name).join(path);
            let made = to.parent().map_or(Ok(()), disk::create_private_folder);
            match made.and_then(|()| disk::set_aside(&self.folder.join(path), &to)) {
                Ok(()) => moved += 1,
                Err(error) => {
                    words.push(format!("{path}: it could not be kept either: {}", error.kind()))
                }
            }
        }
        if moved > 0 {
            words.push(format!(
                "What was refused is kept on the server, in {name} next to the folders of sessions"
            ));
            log::warn!(
                "agent: {moved} files of a session that the vault refused are in {}",
                base.join(&name).display()
            );
        }
        words
    }
}

/// A name for a second page in the same folder, without characters that other systems refuse.
fn conflict_name(path: &str, mark: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "md"));
    let stem: String = stem.replace(REFUSED_CHARACTERS, "-").chars().take(60).collect();
    let separator = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{separator}{stem} ({mark}).{ending}")
}

/// Whether a file belongs to the wiki, which is always copied whole.
fn is_wiki(path: &str) -> bool {
    let in_tree = |tree: &str| path.strip_prefix(tree).is_some_and(|rest| rest.starts_with('/'));
    path == ALIASES || TREES.iter().any(|tree| in_tree(tree))
}

/// Whether a session may change a file of this path.
fn is_writable(path: &str) -> bool {
    is_wiki(path) && !INSTRUCTIONS.contains(&path.rsplit('/').next().unwrap_or(path))
}

impl SessionChanges {
    /// Applies all steps, or none.
    ///
    /// # Errors
    /// [`VaultError::Busy`] when a page was changed since the steps were computed; the vault's.
    pub(super) fn apply(&self, changes: &Changes) -> Result<(), VaultError> {
        if self.steps.is_empty() {
            return Ok(());
        }
        changes.change(&self.steps).map(drop)
    }
}
