//! A new wiki: its trees, its index and log pages, its rules, and the three skills. The files
//! themselves are `fixtures/wiki`; a test compares the two.

use crate::disk::{self, Mode};
use std::io;
use std::path::Path;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wiki/", $path)))),*]
    };
}

/// Every file of the starter wiki: its path below the vault's root, and its bytes.
pub static FILES: &[(&str, &[u8])] = files![
    ".claude/skills/second-brain-ingest/SKILL.md",
    ".claude/skills/second-brain-lint/SKILL.md",
    ".claude/skills/second-brain-query/SKILL.md",
    "CLAUDE.md",
    "aliases.md",
    "life/wiki/index.md",
    "life/wiki/log.md",
    "work/wiki/index.md",
    "work/wiki/log.md",
];

/// Its folders, including those without a file.
const FOLDERS: &str = "work/wiki/entities work/wiki/concepts work/wiki/sources life/wiki/entities \
                       life/wiki/concepts life/wiki/sources shared/wiki/entities raw/assets";

/// Writes the starter wiki into a vault, and overwrites nothing. Returns each folder and file, in
/// order, and whether it is new.
///
/// # Errors
/// The path, and what the disk says of it. What was written before stays; the next run goes on.
pub fn write(vault: &Path) -> Result<Vec<(&'static str, bool)>, (&'static str, io::Error)> {
    let folders = FOLDERS.split(' ').map(|path| (path, make_folders(vault, path)));
    let files = FILES.iter().map(|&(path, bytes)| (path, make_file(vault, path, bytes)));
    folders
        .chain(files)
        .map(|(path, made)| made.map(|is_new| (path, is_new)).map_err(|error| (path, error)))
        .collect()
}

/// Makes a folder and those above it that are missing; whether any is new.
fn make_folders(vault: &Path, path: &str) -> io::Result<bool> {
    let mut on_disk = vault.to_path_buf();
    let mut is_new = false;
    for name in path.split('/') {
        on_disk.push(name);
        match on_disk.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            // A link may lead out of the vault, and a file of this name belongs to a person.
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(_) => {
                disk::create_folder(&on_disk)?;
                is_new = true;
            }
        }
    }
    Ok(is_new)
}

/// Makes a file, unless something has its name; whether it is new.
fn make_file(vault: &Path, path: &str, bytes: &[u8]) -> io::Result<bool> {
    if let Some((above, _)) = path.rsplit_once('/') {
        make_folders(vault, above)?;
    }
    let on_disk = vault.join(path);
    let is_free = || match on_disk.symlink_metadata() {
        Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        Err(_) => Ok(()),
    };
    match is_free().and_then(|()| disk::replace(&on_disk, bytes, Mode::New, |_| is_free())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
