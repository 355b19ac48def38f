//! What a session works on: a copy of the vault's visible files. What it has changed there is given to the vault as one change
//! when the session is over, so that the vault's rules, its kept versions and `undo` hold for sessions too.

use super::{Failure, Page, SoFar, session_dir};
use crate::disk;
use crate::limits;
use crate::vault::transaction::Step;
use crate::vault::{Entry, Error as VaultError, Vault, VaultPath, etag};
use crate::wiki::TREES;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The page outside the trees that a session may change.
pub(super) const ALIASES: &str = "aliases.md";

/// Files of instructions, which other programs act upon: no session changes one.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];

/// The copy.
#[derive(Debug)]
pub(super) struct Copy {
    folder: PathBuf,
    /// The etags of the pages that a session may change, as they were copied.
    originals: HashMap<String, String>,
}

/// A page that was changed in the vault while the session ran. Both texts are kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Conflict {
    /// The page, which has the vault's text.
    pub path: String,
    /// The new page with the session's text.
    pub kept_as: String,
}

/// What a session has changed, as steps of one change.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) steps: Vec<Step>,
    pub(super) pages: Vec<Page>,
    pub(super) conflicts: Vec<Conflict>,
    /// Files that cannot become the vault's, and why.
    pub(super) left_out: Vec<String>,
}

impl Copy {
    /// Copies the visible files of a vault into a new folder. Large files that no session may change are hard links where the file system
    /// has them; what would exceed [`limits::AGENT_COPY_BYTES`] is not copied.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn make(vault: &Vault, folder: PathBuf) -> io::Result<Copy> {
        disk::create_private_folder(&folder)?;
        for tree in TREES {
            disk::create_private_folder(&folder.join(tree))?;
        }
        let mut copy = Copy { folder, originals: HashMap::new() };
        let root = VaultPath::folder("").map_err(|error| io::Error::other(error.to_string()))?;
        let (mut left, mut missing) = (limits::AGENT_COPY_BYTES, 0);
        for entry in vault.files_below(&root, "") {
            missing += u32::from(!copy.add_entry(vault, &entry, &mut left)?);
        }
        if missing > 0 {
            log::warn!("agent: {missing} files are too large for the copy that a session gets");
        }
        Ok(copy)
    }

    /// Whether a file is in the copy now, or does not exist any more.
    fn add_entry(&mut self, vault: &Vault, entry: &Entry, left: &mut u64) -> io::Result<bool> {
        let place = self.folder.join(&*entry.path);
        if entry.stamp.size > limits::AGENT_LINK_BYTES && !is_writable(&entry.path) {
            place.parent().map_or(Ok(()), disk::create_private_folder)?;
            if disk::link(&vault.root().join(&*entry.path), &place).is_ok() {
                return Ok(true);
            }
        }
        let Some(rest) = left.checked_sub(entry.stamp.size) else { return Ok(false) };
        let Ok(path) = VaultPath::file(&entry.path) else { return Ok(true) };
        let bytes = match vault.bytes_if_any(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        };
        *left = rest;
        self.add(&path, &bytes)?;
        disk::set_time(&place, UNIX_EPOCH + Duration::from_secs(entry.stamp.modified().0))?;
        if is_writable(path.as_str()) {
            self.originals.insert(path.as_str().to_owned(), etag(&bytes));
        }
        Ok(true)
    }

    /// Puts a file into the copy.
    pub(super) fn add(&self, path: &VaultPath, bytes: &[u8]) -> io::Result<()> {
        let place = self.folder.join(path.as_str());
        place.parent().map_or(Ok(()), disk::create_private_folder)?;
        disk::write_new(&place, bytes)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file as tools name it: by its path in the vault. Of another place only the last name is given.
    pub(super) fn page(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.folder).ok().and_then(Path::to_str);
        let mut names: Vec<&str> = Vec::new();
        for name in inside.unwrap_or(path).split('/').filter(|name| !name.is_empty() && *name != ".") {
            if name == ".." {
                names.pop();
            } else {
                names.push(name);
            }
        }
        match names.iter().position(|name| name.starts_with(session_dir::PREFIX)) {
            // A file of a skill: plugin/skills/NAME/...
            Some(at) if inside.is_none() => format!("skill {}", names.get(at + 3..).unwrap_or_default().join("/")),
            _ if inside.is_none() && path.starts_with('/') => names.last().map(|name| format!(".../{name}")).unwrap_or_default(),
            _ => names.join("/"),
        }
    }

    /// What a session said, without the copy's place on this machine.
    pub(super) fn without_root(&self, text: &str) -> String {
        let root = self.folder.display().to_string();
        text.replace(&format!("{root}/"), "").replace(&root, "the vault")
    }

    /// What the session has changed, compared with what the vault has now. `id` is put into the names of pages in conflict.
    pub(super) fn changes(&self, vault: &Vault, id: &str) -> Result<Changes, Failure> {
        let mut changes = Changes::default();
        let mut left = limits::CHANGE_BYTES;
        for (path, bytes) in self.changed()? {
            match self.step(vault, &path, bytes, id, &mut left) {
                Ok(None) => {}
                Ok(Some((step, conflict))) => {
                    changes.pages.push(Page { path: step.path().to_owned(), created: matches!(step, Step::Create { .. }) });
                    changes.conflicts.extend(conflict);
                    changes.steps.push(step);
                }
                Err(why) => changes.left_out.push(format!("{path}: {why}")),
            }
        }
        Ok(changes)
    }

    /// The files below the trees that are not as they were copied, and their bytes.
    fn changed(&self) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let mut changed = Vec::new();
        let mut open: Vec<(String, usize)> = TREES.iter().map(|tree| ((*tree).to_owned(), 0)).collect();
        let look = |path: String, changed: &mut Vec<(String, Vec<u8>)>| {
            if changed.len() < limits::AGENT_PAGES
                && let Ok(bytes) = disk::read_at_most(&self.folder.join(&path), limits::NOTE_BYTES)
                && self.originals.get(&path) != Some(&etag(&bytes))
            {
                changed.push((path, bytes));
            }
        };
        look(ALIASES.to_owned(), &mut changed);
        while let Some((folder, depth)) = open.pop() {
            let failed =
                |error: io::Error| Failure::Failed(format!("The session's copy cannot be read: {}", error.kind()), SoFar::default());
            let mut entries: Vec<_> = std::fs::read_dir(self.folder.join(&folder)).map_err(failed)?.flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < limits::DEPTH => open.push((path, depth + 1)),
                    Ok(kind) if kind.is_file() => look(path, &mut changed),
                    _ => {}
                }
            }
        }
        Ok(changed)
    }

    /// The step that brings a file's new bytes into the vault; `None` where the vault has them already.
    fn step(
        &self,
        vault: &Vault,
        path: &str,
        bytes: Vec<u8>,
        id: &str,
        left: &mut usize,
    ) -> Result<Option<(Step, Option<Conflict>)>, String> {
        let known = VaultPath::file(path).map_err(|error| error.to_string())?;
        if !is_writable(path) {
            return Err("no session may change this file".into());
        }
        let now = match vault.bytes_if_any(&known) {
            Ok(Some(now)) if now == bytes => return Ok(None),
            other => other.map_err(|error| error.to_string())?,
        };
        let size = bytes.len() + now.as_ref().map_or(0, Vec::len);
        *left = left.checked_sub(size).ok_or_else(|| format!("all changes together exceed {} bytes", limits::CHANGE_BYTES))?;
        let create = |path: VaultPath, bytes: Vec<u8>| {
            vault.may_write(&path, bytes.len()).map_err(|error| error.to_string())?;
            Ok::<Step, String>(Step::Create { path, bytes })
        };
        match (now, self.originals.get(path)) {
            (None, None) => Ok(Some((create(known, bytes)?, None))),
            (Some(before), Some(original)) if etag(&before) == *original => {
                vault.may_write(&known, bytes.len()).map_err(|error| error.to_string())?;
                Ok(Some((Step::Replace { path: known, before, after: bytes }, None)))
            }
            _ => {
                let (stem, ending) = path.rsplit_once('.').unwrap_or((path, "md"));
                let kept_as = format!("{stem} (ingest {}).{ending}", id.get(..8).unwrap_or(id));
                let beside = VaultPath::file(&kept_as).map_err(|error| error.to_string())?;
                Ok(Some((create(beside, bytes)?, Some(Conflict { path: path.to_owned(), kept_as }))))
            }
        }
    }
}

/// Whether a session may change a file of this path.
fn is_writable(path: &str) -> bool {
    let in_tree = |tree: &str| path.strip_prefix(tree).is_some_and(|rest| rest.starts_with('/'));
    let name = path.rsplit('/').next().unwrap_or(path);
    (path == ALIASES || TREES.iter().any(|tree| in_tree(tree))) && !INSTRUCTIONS.contains(&name)
}

impl Changes {
    /// Makes the change whole, or nothing of it.
    ///
    /// # Errors
    /// [`VaultError::Busy`] when a page was changed since the steps were made; the vault's.
    pub(super) fn make(&self, vault: &Vault) -> Result<(), VaultError> {
        if self.steps.is_empty() {
            return Ok(());
        }
        vault.begin_transaction()?.change(&self.steps).map(drop)
    }
}
