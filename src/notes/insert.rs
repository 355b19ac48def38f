//! Inserting text at a position in a note.

use crate::change::Changes;
use crate::change::write::{Overwrite, Written, check_size};
use crate::markdown::insert::{self, Position, Target};
use crate::markdown::parts::Note;
use crate::notes::template::first_text;
use crate::vault::read::utf8;
use crate::vault::{Error, Named};

/// A note after an insertion.
#[derive(Debug)]
pub struct Inserted {
    pub written: Written,
    /// The line where the text begins, from 1.
    pub line: usize,
    /// What is wrong with the template of a new note.
    pub warning: Option<&'static str>,
}

/// Makes a new note of its template.
///
/// # Errors
/// [`Error::Exists`], and those of [`Changes::write`].
pub fn from_template(changes: &Changes, named: &Named) -> Result<Inserted, Error> {
    let (text, warning) = first_text(&changes.vault, named)?;
    let written = changes.write(&named.path, &text, true, Overwrite::Nothing)?;
    Ok(Inserted { written, line: 1, warning })
}

/// Inserts text at a position in a note. With `create`, a missing heading is created, and so is
/// a missing note, which begins with the text of its template.
///
/// # Errors
/// [`Error::NoTarget`], [`Error::Ambiguous`], [`Error::Invalid`], and those of [`Changes::edit`].
pub fn insert(
    changes: &Changes,
    named: &Named,
    (target, position): (Target<'_>, Position),
    text: &str,
    create: bool,
    if_match: Option<&str>,
) -> Result<Inserted, Error> {
    let path = &named.path;
    let (mut line, mut warning) = (0, None);
    let mut change = |before: &str| {
        let (edit, first) = insert::insert(&Note::of(before), target, position, text, create)
            .map_err(|error| Error::of_part(target, error))?;
        line = first;
        Ok(edit.apply(before).into_bytes())
    };
    if !create || if_match.is_some() {
        let written = changes.edit_bytes(path, if_match, &mut |bytes| change(utf8(path, bytes)?));
        return match written {
            Err(Error::NotFound { .. }) if create => Err(Error::Conflict(None)),
            written => Ok(Inserted { written: written?, line, warning: None }),
        };
    }
    changes.check_new(path)?;
    let mut make = |now: Option<&[u8]>| {
        let first;
        (first, warning) =
            if now.is_some() { Default::default() } else { first_text(&changes.vault, named)? };
        change(now.map_or(Ok(&*first), |bytes| utf8(path, bytes))?)
    };
    // What refuses the insertion does so before folders are created for it.
    if matches!(changes.vault.jail.folder(&path.parent()), Err(Error::NotFound { .. })) {
        check_size(path, make(None)?.len() as u64)?;
    }
    let written = changes.update(path, true, &mut make)?;
    Ok(Inserted { written, line, warning })
}
