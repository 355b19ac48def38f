//! Context documents: notes in the folder of a canvas that are not on it, and all notes of a second
//! folder.

use super::canvas::Canvas;
use super::{Accomplishments, Error, invalid};
use crate::markdown::blocks::line_end;
use crate::slice::Part;
use crate::vault::{Error as VaultError, Vault, VaultPath, count_lines, media};

/// Prefix of the names of documents in the folder of further documents.
pub const PREFIX: &str = "context:";

/// The name of a document with its extension, without which it may be named.
pub fn whole_name(name: &str) -> String {
    let has_extension =
        name.rsplit('/').next().is_some_and(|last| media::extension_of(last).is_some());
    if has_extension { name.to_owned() } else { format!("{name}.md") }
}

impl Accomplishments {
    /// All documents, name and path, sorted by name: first those in the folder of the canvas.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`VaultError::Malformed`], or the vault's.
    pub fn documents(
        &self,
        vault: &Vault,
        canvas: &VaultPath,
    ) -> Result<Vec<(String, VaultPath)>, Error> {
        vault.refresh()?;
        let shown = self.canvas_if_any(vault, canvas)?;
        let folder = canvas.parent();
        let mut found = Vec::new();
        for entry in vault.files_below(&folder, ".md") {
            let path = VaultPath::file(&entry.path)?;
            if path.parent() == folder && shown.node_of(&path).is_none() {
                found.push((path.name().to_owned(), path));
            }
        }
        if let Some(docs) = &self.options.docs {
            for entry in vault.files_below(docs, ".md") {
                let below = entry.path.part(docs.as_str().len()..).trim_start_matches('/');
                found.push((format!("{PREFIX}{below}"), VaultPath::file(&entry.path)?));
            }
        }
        Ok(found)
    }

    /// The path of a document: a note that is not on the canvas.
    ///
    /// # Errors
    /// [`VaultError::NotAllowed`] for a note that is on the canvas, [`VaultError::Invalid`] for
    /// anything but a note, [`Error::CanvasNotFound`], or the vault's.
    pub fn document(
        &self,
        vault: &Vault,
        name: &str,
        canvas: &VaultPath,
        to_delete: bool,
    ) -> Result<VaultPath, Error> {
        let path = self.path_of(&whole_name(name), canvas)?;
        if !media::is_note(path.name()) {
            return Err(invalid("Context documents are notes: their names end in .md."));
        }
        // A `context:` document needs no canvas; one on the canvas can be changed, but not deleted.
        let is_further = name.starts_with(PREFIX);
        if is_further && !to_delete {
            return Ok(path);
        }
        let shown = match self.canvas_if_any(vault, canvas) {
            Err(Error::CanvasNotFound(_)) if is_further => Canvas::default(),
            other => other?,
        };
        if shown.node_of(&path).is_some() {
            let why = "it is on the canvas, so it is not a context document; use the tools for \
                       accomplishments, or vault_edit";
            return Err(Error::Vault(VaultError::NotAllowed { path: path.as_str().into(), why }));
        }
        Ok(path)
    }

    /// A canvas; an empty one in place of the default canvas before anything is on it.
    fn canvas_if_any(&self, vault: &Vault, canvas: &VaultPath) -> Result<Canvas, Error> {
        match self.canvas_at(vault, canvas) {
            Err(Error::CanvasNotFound(_)) if *canvas == self.options.canvas => {
                Ok(Canvas::default())
            }
            other => other,
        }
    }

    /// The path that a name means. No name leads out of the two folders.
    fn path_of(&self, name: &str, canvas: &VaultPath) -> Result<VaultPath, Error> {
        let (folder, below) = match name.strip_prefix(PREFIX) {
            Some(below) => (
                self.options.docs.as_ref().ok_or_else(|| {
                    invalid("There is no folder for context: documents (CONTEXT_DOCS_FOLDER).")
                })?,
                below,
            ),
            None if name.contains('/') => {
                let why = "documents in the folder of the canvas have no folder in their names";
                return Err(Error::Vault(VaultError::NotAllowed {
                    path: VaultPath::folder(name)?.as_str().into(),
                    why,
                }));
            }
            None => (&canvas.parent(), name),
        };
        // Checked by itself first, so that it cannot be the folder or lead out of it.
        let below = VaultPath::file(below)?;
        Ok(VaultPath::file(&format!("{}/{}", folder.as_str(), below.as_str()))?)
    }
}

/// Refuses lines that a document does not have; they are counted from 0, and the end is the line
/// after the last.
///
/// # Errors
/// [`VaultError::InvalidRange`].
pub fn check_range((from, to): (usize, usize), lines: usize) -> Result<(), VaultError> {
    if from > to {
        return Err(VaultError::InvalidRange(format!(
            "Line {from} is after line {to}. Lines are counted from 0, and the end is the line \
             after the last."
        )));
    }
    if to > lines {
        return Err(VaultError::InvalidRange(format!(
            "The document has {lines} lines, counted from 0; there is no range {from} to {to}."
        )));
    }
    Ok(())
}

/// A text with a range of lines replaced, and the number of new lines. Line endings are those of
/// the text.
///
/// # Errors
/// [`VaultError::InvalidRange`], [`VaultError::Invalid`] for no content.
pub fn with_lines(
    text: &str,
    (from, to): (usize, usize),
    content: &str,
) -> Result<(String, usize), VaultError> {
    // A byte order mark begins the file, and is not part of a line.
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        return with_lines(rest, (from, to), content)
            .map(|(text, count)| (format!("\u{feff}{text}"), count));
    }
    check_range((from, to), count_lines(text.as_bytes()))?;
    if content.is_empty() && from == to {
        return Err(VaultError::Invalid("content must not be empty.".into()));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (before, after) = (lines.part(..from).concat(), lines.part(to..).concat());
    let eol = line_end(text, 0);
    let content = content.replace("\r\n", "\n").replace('\n', eol);
    let count = count_lines(content.as_bytes());
    let missing = |text: &str| if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    // What follows has to begin on its own line; whether the text ends in a line break stays as it
    // was.
    let end = if after.is_empty() && !text.ends_with('\n') && !text.is_empty() {
        ""
    } else {
        missing(&content)
    };
    Ok((format!("{before}{}{content}{end}{after}", missing(&before)), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_between_lines() {
        for (text, range, content, after) in [
            ("a\nb\n", (1, 1), "x", "a\nx\nb\n"),
            ("a\nb\n", (0, 0), "x\n", "x\na\nb\n"),
            ("a\nb\n", (2, 2), "x\ny", "a\nb\nx\ny\n"),
            ("a\nb", (2, 2), "x", "a\nb\nx"),
            ("a\r\nb\r\n", (1, 2), "x\ny", "a\r\nx\r\ny\r\n"),
            ("a\nb\nc", (0, 2), "", "c"),
            ("", (0, 0), "x", "x\n"),
            ("\u{feff}a\n", (0, 0), "x", "\u{feff}x\na\n"),
        ] {
            assert_eq!(with_lines(text, range, content).unwrap().0, after, "{text:?} {range:?}");
        }
        for (text, range, content) in
            [("a\n", (2, 2), "x"), ("a\n", (1, 0), "x"), ("a\n", (0, 2), "x"), ("a\n", (0, 0), "")]
        {
            assert!(with_lines(text, range, content).is_err(), "{range:?}");
        }
    }
}
