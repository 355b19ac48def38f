//! Files that a caller attaches to a session. A caller could name any file of the machine, so each one is checked before
//! anything runs, and a single bad one refuses the whole call.
//!
//! Each is copied byte for byte into `raw/assets`, unless that folder has it already: the session cannot access its original folder,
//! and the vault keeps the sources of its pages.

use super::copy::WorkingCopy;
use super::{Agent, Failure};
use crate::disk;
use crate::limits;
use crate::markdown::links::comparable_name;
use crate::vault::{REFUSED_CHARACTERS, VaultPath, etag};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where copies are kept.
const ASSETS: &str = "raw/assets";

/// A file that may be attached to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attached {
    /// In the vault.
    Inside(VaultPath),
    /// In an allowed folder, with symbolic links resolved.
    Outside(PathBuf),
    /// Sent with the call.
    InCall(AttachedFile),
}

/// A file that was sent with a call.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AttachedFile {
    /// Its name, without folders.
    pub(super) name: String,
    #[serde(skip)]
    bytes: Arc<[u8]>,
    /// Of the bytes; requests are compared by it.
    etag: String,
}

impl AttachedFile {
    pub fn new(name: String, bytes: Vec<u8>) -> AttachedFile {
        AttachedFile { name, etag: etag(&bytes), bytes: bytes.into() }
    }
}

/// A file that a change adds to the vault, and its bytes.
pub(super) type Attachment = (VaultPath, Vec<u8>);

/// Checks every file.
///
/// # Errors
/// [`Failure::NotAllowed`] naming the first that is not allowed, as the caller named it.
pub(super) fn check(agent: &Agent, files: &[String], given: &[AttachedFile]) -> Result<Vec<Attached>, Failure> {
    let refused = |argument: &str, file: &str, why: String| {
        let shown: String = file.chars().filter(|c| !c.is_control()).take(300).collect();
        Failure::NotAllowed(format!("{argument}: {shown:?} {why}. Nothing was begun."))
    };
    let mut list = Vec::new();
    for file in files {
        let attached = check_file(agent, file).map_err(|why| refused("files", file, why))?;
        if !list.contains(&attached) {
            list.push(attached);
        }
    }
    for given in given {
        let is_name = !given.name.contains('/') && VaultPath::file(&format!("{ASSETS}/{}", given.name)).is_ok();
        if !is_name {
            return Err(refused("attachments", &given.name, "is not a file name".into()));
        }
        check_format(&given.name, || is_text(&given.bytes)).map_err(|why| refused("attachments", &given.name, why))?;
        list.push(Attached::InCall(given.clone()));
    }
    Ok(list)
}

/// Refuses what the program's `Read` tool cannot show to the model.
fn check_format(name: &str, is_text: impl FnOnce() -> bool) -> Result<(), String> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    let is_known = ["pdf", "png", "jpg", "jpeg", "gif", "webp"].contains(&ending.as_str());
    if is_known || is_text() {
        return Ok(());
    }
    Err("has a format that a session cannot read: it reads text, PDF, PNG, JPEG, GIF and WebP. Convert it first, for example \
         docx, odt or epub with pandoc to Markdown, xlsx or pptx with LibreOffice to PDF, a recording to a transcript"
        .into())
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn check_file(agent: &Agent, file: &str) -> Result<Attached, String> {
    if file.is_empty() || file.contains('\0') {
        return Err("is not a path".into());
    }
    // A relative path is one in the vault.
    let given = &agent.vault.root().join(file);
    // For paths that are not allowed the error does not say whether they exist.
    let folders = allowed(agent);
    let outside =
        || format!("is neither in the vault nor in one of the {} folders of COS_VAULT_ATTACH_DIRS", agent.options.attach_dirs.len());
    let is_allowed = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    let Ok(real) = given.canonicalize() else {
        // By where it really lies, with symbolic links resolved, not by its prefix.
        let above = given.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
        let climbs = given.components().any(|part| part == Component::ParentDir);
        return Err(if !climbs && above.is_some_and(|above| is_allowed(&above)) { "does not exist".into() } else { outside() });
    };
    if agent.options.state.as_deref().and_then(|state| state.canonicalize().ok()).is_some_and(|state| real.starts_with(state)) {
        return Err("belongs to the server".into());
    }
    let Some(below) = folders.iter().find_map(|folder| real.strip_prefix(folder).ok()) else { return Err(outside()) };
    if below.iter().any(|name| name.to_string_lossy().starts_with('.')) {
        return Err("is hidden".into());
    }
    let found = real.metadata().map_err(|error| format!("cannot be read: {}", error.kind()))?;
    if !found.is_file() {
        return Err("is not a file".into());
    }
    check_format(&real.to_string_lossy(), || disk::read_plain(&real, limits::NOTE_BYTES).is_ok_and(|bytes| is_text(&bytes)))?;
    let in_vault = real.strip_prefix(agent.vault.root());
    if found.len() > limits::NOTE_BYTES && !in_vault.as_ref().is_ok_and(|below| below.starts_with(ASSETS)) {
        return Err(format!("has {} bytes; {} can be copied into {ASSETS}", found.len(), limits::NOTE_BYTES));
    }
    if let Ok(below) = in_vault {
        let path = below.to_str().and_then(|path| VaultPath::file(path).ok());
        return path.map(Attached::Inside).ok_or_else(|| "has a name that cannot be served".into());
    }
    let name = real.file_name().and_then(|name| name.to_str());
    if name.is_none_or(|name| VaultPath::file(&format!("{ASSETS}/{name}")).is_err()) {
        return Err("has a name that cannot be a note's".into());
    }
    Ok(Attached::Outside(real))
}

/// The vault, and the folders of COS_VAULT_ATTACH_DIRS.
fn allowed(agent: &Agent) -> Vec<&Path> {
    let others = agent.options.attach_dirs.iter().map(PathBuf::as_path);
    std::iter::once(agent.vault.root()).chain(others).collect()
}

/// Copies the files into a session's copy of the vault. Returns the paths of all, and those that are new with their bytes.
///
/// # Errors
/// [`Failure::NotAllowed`] for one that was replaced since it was checked, or that cannot be read.
pub(super) fn copy_in(agent: &Agent, files: &[Attached], copy: &WorkingCopy) -> Result<(Vec<VaultPath>, Vec<Attachment>), Failure> {
    let (mut paths, mut new, mut total) = (Vec::new(), Vec::new(), 0);
    for file in files {
        let (name, bytes) = match file {
            Attached::InCall(given) => (given.name.clone(), Some(given.bytes.to_vec())),
            Attached::Inside(path) if path.as_str().starts_with(&format!("{ASSETS}/")) => {
                paths.push(path.clone());
                continue;
            }
            Attached::Inside(path) => (path.as_str().to_owned(), agent.vault.bytes_if_any(path).ok().flatten()),
            Attached::Outside(real) => {
                let name = real.display().to_string();
                if check_file(agent, &name).as_ref() != Ok(file) {
                    return Err(Failure::NotAllowed(format!("files: {name:?} was replaced meanwhile. Nothing was begun.")));
                }
                (name, disk::read_plain(real, limits::NOTE_BYTES).ok())
            }
        };
        let bytes = bytes.ok_or_else(|| Failure::NotAllowed(format!("files: {name:?} cannot be read. Nothing was begun.")))?;
        total += bytes.len();
        if total > limits::CHANGE_BYTES / 2 {
            return Err(Failure::NotAllowed(format!("files: together they exceed {} bytes. Nothing was begun.", limits::CHANGE_BYTES / 2)));
        }
        let (path, is_new) = asset_path(agent, Path::new(&name), &bytes, &new)?;
        if is_new {
            copy.add(&path, &bytes).map_err(|error| Failure::Failed(format!("The session's copy: {}", error.kind())))?;
            new.push((path.clone(), bytes));
        }
        paths.push(path);
    }
    Ok((paths, new))
}

/// A path below `raw/assets` for these bytes, and whether it is new.
fn asset_path(agent: &Agent, file: &Path, bytes: &[u8], new: &[Attachment]) -> Result<(VaultPath, bool), Failure> {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    let (stem, ending) = (part(file.file_stem()), part(file.extension()));
    let ending = if ending.is_empty() { ending } else { format!(".{ending}") };
    let mut why = format!("{ASSETS} has {} files of this name already", limits::AGENT_NAMES);
    for number in 1..=limits::AGENT_NAMES {
        let name = if number == 1 { format!("{stem}{ending}") } else { format!("{stem} {number}{ending}") };
        let path = VaultPath::file(&format!("{ASSETS}/{}", name.replace(REFUSED_CHARACTERS, "-")))
            .map_err(|error| Failure::Failed(format!("The vault refuses the attachment's name: {error}")))?;
        let is_free = |path: &VaultPath| new.iter().all(|other| comparable_name(other.0.as_str()) != comparable_name(path.as_str()));
        match agent.vault.bytes_if_any(&path) {
            Ok(Some(known)) if known == bytes => return Ok((path, false)),
            Ok(None) if is_free(&path) => match agent.vault.may_write(&path, bytes.len()) {
                Ok(()) => return Ok((path, true)),
                // A name that differs by case only, or that other systems refuse.
                Err(error) => why = error.to_string(),
            },
            _ => {}
        }
    }
    Err(Failure::NotAllowed(format!("files: {:?}: {why} Nothing was begun.", file.file_name().unwrap_or_default())))
}
