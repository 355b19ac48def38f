//! Titles, the file names made from them, and ids.

use super::change::Change;
use super::snapshot::{fold_name, number_of};
use super::{Error, invalid};
use crate::limits;
use crate::vault::VaultPath;
use unicode_normalization::UnicodeNormalization;

/// Bytes of the file name made from a title: short enough on every file system, even with the
/// extension or as a temporary name.
const TITLE_FILE_BYTES: usize = 180;
/// The highest number of an id; far above what a canvas can hold.
const HIGHEST_ID: u32 = 999_999;

/// A title that can be the first line of a note.
pub(super) fn checked_title(title: &str) -> Result<String, Error> {
    let title = title.trim();
    if title.contains("%%") || title.contains("<!--") {
        return Err(invalid(
            "data.title must not begin a comment (%% or <!--): it would hide the note's text.",
        ));
    }
    // Control characters, Unicode line separators, byte order marks and noncharacters.
    let odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    if title.is_empty() || title.chars().any(odd) || title.chars().count() > limits::TITLE_CHARS {
        return Err(invalid(format!(
            "data.title must be one line of 1 to {} characters.",
            limits::TITLE_CHARS
        )));
    }
    Ok(title.to_owned())
}

/// The file name for a title, without its extension: `-` stands for what file systems or Obsidian's
/// links refuse.
pub(super) fn file_name(title: &str) -> String {
    const REFUSED: &str = "\\/:*?\"<>|#^[]";
    let mut name: String = title.nfc().map(|c| if REFUSED.contains(c) { '-' } else { c }).collect();
    while name.len() > TITLE_FILE_BYTES {
        name.pop();
    }
    let name = name.trim();
    let dots = name.len() - name.trim_end_matches('.').len();
    let mut name = format!("{}{}", name.trim_end_matches('.'), "-".repeat(dots));
    if let Some(rest) = name.strip_prefix('.') {
        name = format!("-{rest}");
    }
    // A device name on Windows is one also with an extension.
    if crate::vault::refused_elsewhere(&name).is_some() {
        name.insert(name.find('.').unwrap_or(name.len()), '-');
    }
    name
}

/// Refuses a title that exists already, as a title or as a file, also with different case or
/// Unicode normalization.
pub(super) fn must_be_free(
    change: &Change<'_>,
    title: &str,
    path: &VaultPath,
    own: Option<&VaultPath>,
) -> Result<(), Error> {
    let taken = |by: &str| {
        Err(Error::AlreadyExists(format!(
            "There is {by} already; choose another title, or update that one."
        )))
    };
    if let Some(other) = change
        .snapshot
        .all
        .iter()
        .find(|other| Some(&other.path) != own && fold_name(&other.title) == fold_name(title))
    {
        return taken(&format!("{} with the title {:?}", other.id, other.title));
    }
    let files = change.store.vault().files_below(&path.parent(), ".md");
    match files.iter().find(|file| {
        own.is_none_or(|own| own.as_str() != &*file.path)
            && fold_name(&file.path) == fold_name(path.as_str())
    }) {
        Some(file) => taken(&format!("a note {}", file.path)),
        None => Ok(()),
    }
}

/// The id that a caller wants, if it is free.
pub(super) fn free_id(change: &Change<'_>, id: &str) -> Result<String, Error> {
    if number_of(id).is_none_or(|number| number == 0 || number > HIGHEST_ID) {
        return Err(invalid(
            "id must be ACC- and a number of at most six digits; leave it out to get the next one.",
        ));
    }
    let by_number = |other: &str| number_of(other).is_some() && number_of(other) == number_of(id);
    let taken = change
        .snapshot
        .all
        .iter()
        .find(|other| by_number(&other.id))
        .map(|other| other.path.as_str().to_owned());
    let broken = || {
        change
            .snapshot
            .problems
            .iter()
            .find(|problem| problem.id.as_deref().is_some_and(by_number))
            .map(|problem| problem.path.clone())
    };
    match taken.or_else(broken) {
        Some(path) => Err(Error::DuplicateId(format!(
            "{id} is the id of {path}. Leave id out to get the next free one."
        ))),
        None => Ok(id.to_owned()),
    }
}

/// The next id: one above all that occur on any canvas or in a note of the folder.
pub(super) fn next_id(change: &Change<'_>) -> String {
    let canvases = change.store.vault().files_below(&VaultPath::root(), ".canvas");
    let notes = change.store.vault().files_below(&change.projects.options.folder, ".md");
    let numbers = canvases
        .iter()
        .chain(&notes)
        .filter_map(|entry| highest(&change.store.vault().text(entry).ok()?))
        .max();
    format!("ACC-{:03}", change.projects.raise_highest(numbers.unwrap_or(0)).saturating_add(1))
}

/// Whether the number after this one can be assigned; for any other the next id does not follow it.
pub(super) fn has_next(number: u32) -> bool {
    number < HIGHEST_ID
}

pub(super) fn highest(text: &str) -> Option<u32> {
    let after =
        memchr::memmem::find_iter(text.as_bytes(), b"ACC-").filter_map(|at| text.get(at + 4..));
    let digits = after.filter_map(|rest| {
        rest.get(..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()))
    });
    digits.filter_map(|digits| digits.parse().ok()).filter(|number| has_next(*number)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_that_every_system_takes() {
        for (title, name) in [
            ("Build Feature", "Build Feature"),
            ("A/B: \"C\"? #1 [x]^|<>*\\", "A-B- -C-- -1 -x-------"),
            ("../../etc/passwd", "-.-..-etc-passwd"),
            (".hidden", "-hidden"),
            ("Wait...", "Wait---"),
            ("nul", "nul-"),
            ("com1.txt", "com1-.txt"),
            ("Ça i\u{302}le", "Ça île"),
        ] {
            assert_eq!(file_name(title), name, "{title}");
        }
        assert!(file_name(&"ä".repeat(200)).len() <= TITLE_FILE_BYTES);
        assert_eq!(fold_name("STRASSE\u{301}"), fold_name("strasse\u{301}"));
        assert_eq!(highest("ACC-7 xACC-012, ACC-9999999999 ACC-"), Some(12));
    }
}
