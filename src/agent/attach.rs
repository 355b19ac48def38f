//! Files that a caller attaches to a session. A caller could name any file of the machine, so each
//! one is checked before anything runs, and a single bad one refuses the whole call.
//!
//! Each is copied byte for byte into `raw/assets`, unless that folder has it already: the session
//! cannot access its original folder, and the vault keeps the sources of its pages.

use super::copy::{ASSETS, WorkingCopy};
use super::{Agent, Failure};
use crate::markdown::resolve::comparable_name;
use crate::vault::{Error as VaultError, REFUSED_CHARACTERS, VaultPath};
use crate::{disk, limits};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// Tries to find a name for a copy of an attached file.
const NAMES: u32 = 50;

/// A file that a change adds to the vault, and its bytes.
pub(super) type Attachment = (VaultPath, Vec<u8>);

/// A file that a request attaches: its bytes, and the name or path to call them by; or its path in
/// `raw/assets`, where it is already.
pub(super) enum Attached {
    New(String, Vec<u8>),
    Kept(VaultPath),
}

/// Checks and reads every file.
///
/// # Errors
/// [`Failure::NotAllowed`] naming the first that is not allowed, as the caller named it.
pub(super) fn read(agent: &Agent, files: &[String]) -> Result<Vec<Attached>, Failure> {
    let (mut attached, mut known, mut total) = (Vec::new(), HashSet::new(), 0);
    for file in files {
        let (real, read) = read_file(agent, file).map_err(|why| {
            let shown: String = file.chars().filter(|c| !c.is_control()).take(300).collect();
            Failure::NotAllowed(format!("files: {shown:?} {why}. Nothing was begun."))
        })?;
        if !known.insert(real) {
            continue;
        }
        total += if let Attached::New(_, bytes) = &read { bytes.len() } else { 0 };
        if total > limits::CHANGE_BYTES / 2 {
            return Err(Failure::NotAllowed(format!(
                "files: together they exceed {} bytes. Nothing was begun.",
                limits::CHANGE_BYTES / 2
            )));
        }
        attached.push(read);
    }
    Ok(attached)
}

/// Refuses what the program's `Read` tool cannot show to the model.
fn check_format(name: &str, bytes: &[u8]) -> Result<(), String> {
    if bytes.is_empty() {
        return Err("is empty".into());
    }
    let ending =
        name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    let is_known = ["pdf", "png", "jpg", "jpeg", "gif", "webp"].contains(&ending.as_str());
    if is_known || !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() {
        return Ok(());
    }
    Err("has a format that a session cannot read: it reads text in UTF-8, PDF, PNG, JPEG, GIF and \
         WebP. Convert it first, for example docx, odt or epub with pandoc to Markdown, xlsx or \
         pptx with LibreOffice to PDF, a recording to a transcript"
        .into())
}

/// Gives also the file's path, with symbolic links resolved.
fn read_file(agent: &Agent, file: &str) -> Result<(PathBuf, Attached), String> {
    if file.is_empty() || file.contains('\0') {
        return Err("is not a path".into());
    }
    // A relative path is one in the vault.
    let given = &agent.store.vault().root().join(file);
    // For paths that are not allowed the error does not say whether they exist.
    let others = agent.options.attach_dirs.iter().map(PathBuf::as_path);
    let folders: Vec<&Path> = std::iter::once(agent.store.vault().root()).chain(others).collect();
    let outside = || {
        format!(
            "is neither in the vault nor in one of the {} folders of COS_VAULT_ATTACH_DIRS",
            agent.options.attach_dirs.len()
        )
    };
    let is_allowed = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    let Ok(real) = given.canonicalize() else {
        // By where it really lies, with symbolic links resolved, not by its prefix.
        let above = given.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
        let climbs = given.components().any(|part| part == Component::ParentDir);
        return Err(if !climbs && above.is_some_and(|above| is_allowed(&above)) {
            "does not exist".into()
        } else {
            outside()
        });
    };
    if agent
        .options
        .state
        .as_deref()
        .and_then(|state| state.canonicalize().ok())
        .is_some_and(|state| real.starts_with(state))
    {
        return Err("belongs to the server".into());
    }
    let Some(below) = folders.iter().find_map(|folder| real.strip_prefix(folder).ok()) else {
        return Err(outside());
    };
    if below.iter().any(|name| name.to_string_lossy().starts_with('.')) {
        return Err("is hidden".into());
    }
    let found = real.metadata().map_err(|error| format!("cannot be read: {}", error.kind()))?;
    if !found.is_file() {
        return Err("is not a file".into());
    }
    let in_vault = real
        .strip_prefix(agent.store.vault().root())
        .ok()
        .map(|below| below.to_str().and_then(|path| VaultPath::file(path).ok()));
    let in_vault =
        in_vault.map(|path| path.ok_or("has a name that cannot be served")).transpose()?;
    let served = in_vault.as_ref().map(|path| agent.store.vault().bytes_if_any(path));
    if matches!(served, Some(Ok(None) | Err(VaultError::NotAllowed { .. }))) {
        return Err("does not exist".into());
    }
    let is_kept =
        in_vault.as_ref().is_some_and(|path| path.as_str().starts_with(&format!("{ASSETS}/")));
    if found.len() > limits::NOTE_BYTES && !is_kept {
        return Err(format!(
            "has {} bytes; {} can be copied into {ASSETS}",
            found.len(),
            limits::NOTE_BYTES
        ));
    }
    let name = real.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|name| VaultPath::file(&format!("{ASSETS}/{name}")).is_ok())
    else {
        return Err("has a name that cannot be a note's".into());
    };
    let read = served.map_or_else(
        || disk::read_plain(&real, limits::NOTE_BYTES).ok(),
        |served| served.ok().flatten(),
    );
    // A kept file may be too large to be read; then it is no text.
    let bytes = read.or(is_kept.then(|| vec![0])).ok_or("cannot be read")?;
    check_format(name, &bytes)?;
    let attached = match in_vault.filter(|_| is_kept) {
        Some(path) => Attached::Kept(path),
        None => Attached::New(name.to_owned(), bytes),
    };
    Ok((real, attached))
}

/// Copies the files into a session's copy of the vault. Returns the paths of all, and those that
/// are new with their bytes.
///
/// # Errors
/// [`Failure::NotAllowed`] for one that has no free name.
pub(super) fn copy_in(
    agent: &Agent,
    files: Vec<Attached>,
    copy: &WorkingCopy,
) -> Result<(Vec<VaultPath>, Vec<Attachment>), Failure> {
    let (mut paths, mut new) = (Vec::new(), Vec::new());
    for file in files {
        paths.push(match file {
            Attached::Kept(path) => path,
            Attached::New(name, bytes) => {
                let (path, is_new) = asset_path(agent, Path::new(&name), &bytes, &new)?;
                if is_new {
                    copy.add(&path, &bytes).map_err(|error| {
                        Failure::Failed(format!("The session's copy: {}", error.kind()))
                    })?;
                    new.push((path.clone(), bytes));
                }
                path
            }
        });
    }
    Ok((paths, new))
}

/// A path below `raw/assets` for these bytes, and whether it is new.
fn asset_path(
    agent: &Agent,
    file: &Path,
    bytes: &[u8],
    new: &[Attachment],
) -> Result<(VaultPath, bool), Failure> {
    let part = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (stem, ending) = (part(file.file_stem()), part(file.extension()));
    let ending = if ending.is_empty() { ending } else { format!(".{ending}") };
    let mut why = format!("{ASSETS} has {} files of this name already", NAMES);
    for number in 1..=NAMES {
        let name = if number == 1 {
            format!("{stem}{ending}")
        } else {
            format!("{stem} {number}{ending}")
        };
        let path = VaultPath::file(&format!("{ASSETS}/{}", name.replace(REFUSED_CHARACTERS, "-")))
            .map_err(|error| {
                Failure::Failed(format!("The vault refuses the attachment's name: {error}"))
            })?;
        if new.iter().any(|(known, added)| *known == path && added == bytes) {
            return Ok((path, false));
        }
        let is_free = |path: &VaultPath| {
            new.iter()
                .all(|other| comparable_name(other.0.as_str()) != comparable_name(path.as_str()))
        };
        match agent.store.vault().bytes_if_any(&path) {
            Ok(Some(known)) if known == bytes => return Ok((path, false)),
            Ok(None) if is_free(&path) => match agent.store.changes().may_write(&path, bytes.len())
            {
                Ok(()) => return Ok((path, true)),
                // A name that differs by case only, or that other systems refuse.
                Err(error) => why = error.to_string(),
            },
            _ => {}
        }
    }
    Err(Failure::NotAllowed(format!(
        "{:?} cannot be attached: {}.",
        file.file_name().unwrap_or_default(),
        why.trim_end_matches('.')
    )))
}
