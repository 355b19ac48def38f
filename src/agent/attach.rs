//! Files that a caller hands to a session. This is where a caller could ask for any file of the machine, so each one is
//! looked at before anything runs, and one bad one refuses the whole call.
//!
//! A file of the vault is read where it is. One from an allowed folder is copied into `raw/assets`, byte for byte, and the
//! session reads the copy: it never gets near the folder, and the vault keeps what its pages are made from.

use super::{Agent, Failure, Page};
use crate::limits;
use crate::vault::{Error as VaultError, VaultPath};
use std::path::{Component, Path, PathBuf};

/// Where copies are kept.
const ASSETS: &str = "raw/assets";

/// A file that may be handed to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attached {
    /// Of the vault.
    Inside(VaultPath),
    /// Of an allowed folder, with links resolved.
    Outside(PathBuf),
}

/// Looks at every file.
///
/// # Errors
/// [`Failure::NotAllowed`] naming the first that may not be handed over, as the caller named it.
pub(super) fn check(agent: &Agent, files: &[String]) -> Result<Vec<Attached>, Failure> {
    let mut list = Vec::new();
    for file in files {
        let attached = look_at(agent, file).map_err(|why| {
            let shown: String = file.chars().filter(|c| !c.is_control()).take(300).collect();
            Failure::NotAllowed(format!("files: {shown:?} {why}. Nothing was begun."))
        })?;
        if !list.contains(&attached) {
            list.push(attached);
        }
    }
    Ok(list)
}

fn look_at(agent: &Agent, file: &str) -> Result<Attached, String> {
    let given = Path::new(file);
    if file.contains('\0') || !given.is_absolute() {
        return Err("is not an absolute path".into());
    }
    // Whether something is there is not told of places that are not allowed.
    let folders = allowed(agent);
    let outside =
        || format!("is neither in the vault nor in one of the {} folders of COS_VAULT_ATTACH_DIRS", agent.options.attach_dirs.len());
    let is_allowed = |place: &Path| folders.iter().any(|folder| place.starts_with(folder));
    let Ok(real) = given.canonicalize() else {
        // Where the way to it leads, links and all, and not only how it begins.
        let above = given.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
        let climbs = given.components().any(|part| part == Component::ParentDir);
        return Err(if !climbs && above.is_some_and(|above| is_allowed(&above)) { "does not exist".into() } else { outside() });
    };
    if agent.options.state.as_deref().and_then(|state| state.canonicalize().ok()).is_some_and(|state| real.starts_with(state)) {
        return Err("is the server's own".into());
    }
    let Some(below) = folders.iter().find_map(|folder| real.strip_prefix(folder).ok()) else { return Err(outside()) };
    if below.iter().any(|name| name.to_string_lossy().starts_with('.')) {
        return Err("is hidden".into());
    }
    let found = real.metadata().map_err(|error| format!("cannot be read: {}", error.kind()))?;
    if !found.is_file() {
        return Err("is not a file".into());
    }
    if let Ok(below) = real.strip_prefix(agent.vault.root()) {
        let path = below.to_str().and_then(|path| VaultPath::file(path).ok());
        return path.map(Attached::Inside).ok_or_else(|| "has a name that cannot be served".into());
    }
    if found.len() > limits::NOTE_BYTES {
        return Err(format!("has {} bytes; {} can be copied into the vault", found.len(), limits::NOTE_BYTES));
    }
    let name = real.file_name().and_then(|name| name.to_str());
    if name.is_none_or(|name| VaultPath::file(&format!("{ASSETS}/{name}")).is_err()) {
        return Err("has a name that cannot be a note's".into());
    }
    Ok(Attached::Outside(real))
}

/// The vault, and the folders beside it.
fn allowed(agent: &Agent) -> Vec<&Path> {
    let beside = agent.options.attach_dirs.iter().map(PathBuf::as_path);
    std::iter::once(agent.vault.root()).chain(beside).collect()
}

/// Brings the files to where a session can read them. Gives their paths in the vault, and which of them are new there.
///
/// # Errors
/// The disk's, or [`Failure::NotAllowed`] for one that has become something else since it was looked at.
pub(super) fn bring(agent: &Agent, files: &[Attached], new: &mut Vec<Page>) -> Result<Vec<VaultPath>, Failure> {
    // All of them are read before the first is kept: one that cannot be read leaves nothing behind.
    let mut read = Vec::new();
    for file in files {
        match file {
            Attached::Inside(path) => read.push((path.clone(), None)),
            Attached::Outside(real) => {
                let name = real.display().to_string();
                if check(agent, std::slice::from_ref(&name))?.as_slice() != [file.clone()] {
                    return Err(Failure::NotAllowed(format!("files: {name:?} was replaced meanwhile. Nothing was begun.")));
                }
                let bytes = std::fs::read(real).map_err(|error| {
                    Failure::NotAllowed(format!("files: {name:?} cannot be read: {}. Nothing was begun.", error.kind()))
                })?;
                read.push((VaultPath::file(ASSETS)?, Some((real, bytes))));
            }
        }
    }
    let keep_or_name = |(path, outside): (VaultPath, Option<(&PathBuf, Vec<u8>)>)| match outside {
        None => Ok(path),
        Some((real, bytes)) => keep(agent, real, &bytes, new),
    };
    read.into_iter().map(keep_or_name).collect()
}

/// A copy of these bytes under this name; one that is there already is as good.
fn keep(agent: &Agent, file: &Path, bytes: &[u8], new: &mut Vec<Page>) -> Result<VaultPath, Failure> {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    let (stem, ending) = (part(file.file_stem()), part(file.extension()));
    let ending = if ending.is_empty() { ending } else { format!(".{ending}") };
    for number in 1..=limits::AGENT_NAMES {
        let name = if number == 1 { format!("{stem}{ending}") } else { format!("{stem} {number}{ending}") };
        // Names that other systems refuse, as those of new notes.
        let name = name.replace(['<', '>', ':', '"', '|', '?', '*'], "-");
        let path = VaultPath::file(&format!("{ASSETS}/{name}"))?;
        match agent.vault.exchange(&path, None, bytes) {
            Ok(()) => {
                new.push(Page { path: path.as_str().to_owned(), created: true });
                return Ok(path);
            }
            Err(VaultError::Conflict(_) | VaultError::Busy)
                if agent.vault.bytes_if_any(&path).is_ok_and(|known| known.as_deref() == Some(bytes)) =>
            {
                return Ok(path);
            }
            Err(VaultError::Conflict(_) | VaultError::Busy) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::NotAllowed(format!("files: {ASSETS} has {} files of this name already", limits::AGENT_NAMES)))
}
