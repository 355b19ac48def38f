//! Context documents: notes beside a canvas that are not on it, and all notes of one more folder.

use super::canvas::form;
use super::{Accomplishments, Error, invalid, text};
use crate::markdown::blocks::line_end;
use crate::slice::Part;
use crate::vault::journal::Step;
use crate::vault::{Error as VaultError, Vault, VaultPath, count_lines, etag};

/// What a name of a document in the folder of further documents begins with.
pub const PREFIX: &str = "context:";

/// A document, or lines of it.
#[derive(Debug)]
pub struct Document {
    /// The lines.
    pub content: String,
    /// Lines in all.
    pub line_count: usize,
    /// First line, and the one after the last; counted from 0.
    pub range: (usize, usize),
    /// The etag of the whole.
    pub etag: String,
}

/// What is done to a document. Lines are counted from 0, and an end is the line after the last.
#[derive(Debug, Clone, Copy)]
pub enum Edit<'a> {
    /// A new one.
    Create(&'a str),
    /// All of it.
    Replace(&'a str),
    /// It goes to the trash.
    Delete,
    /// Lines before this one.
    InsertAt(usize, &'a str),
    /// Lines in the place of these.
    ReplaceAt(usize, usize, &'a str),
}

/// What was done.
#[derive(Debug)]
pub struct Edited {
    /// In words.
    pub message: String,
    /// Lines of the content that was given.
    pub line_count: usize,
    /// The lines that it takes now.
    pub affected: Option<(usize, usize)>,
    /// The etag of the whole, unless it is gone.
    pub etag: Option<String>,
}

impl Accomplishments {
    /// All documents, name and path, sorted by name: first those beside the canvas.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`VaultError::Malformed`], or the vault's.
    pub fn documents(&self, vault: &Vault, canvas: &VaultPath) -> Result<Vec<(String, VaultPath)>, Error> {
        vault.refresh()?;
        let shown = self.shown_on(vault, canvas)?;
        let folder = canvas.parent();
        let mut found = Vec::new();
        for entry in vault.files_below(&folder, ".md") {
            let path = VaultPath::file(&entry.path)?;
            if path.parent() == folder && !shown.contains(&form(path.as_str()).into_owned()) {
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

    /// Lines of a document, all of them unless a range is given.
    ///
    /// # Errors
    /// [`VaultError::InvalidRange`] for lines that it does not have, [`VaultError::NotFound`], or the vault's.
    pub fn read_document(
        &self,
        vault: &Vault,
        name: &str,
        canvas: &VaultPath,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Result<Document, Error> {
        let path = self.document(vault, name, canvas, false)?;
        let bytes = vault.bytes(&path)?;
        let etag = etag(&bytes);
        let text = text(bytes, &path)?;
        let line_count = count_lines(text.as_bytes());
        let range = (from.unwrap_or(0), to.unwrap_or(line_count));
        check_range(range, line_count)?;
        let content = text.split_inclusive('\n').skip(range.0).take(range.1 - range.0).collect();
        Ok(Document { content, line_count, range, etag })
    }

    /// Changes a document.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`VaultError::NotFound`], [`VaultError::InvalidRange`], [`VaultError::Conflict`] when it is not what
    /// the caller has read, [`VaultError::NotAllowed`] for a note that is on the canvas, or the vault's.
    pub fn edit_document(
        &self,
        vault: &Vault,
        name: &str,
        canvas: &VaultPath,
        edit: Edit<'_>,
        if_match: Option<&str>,
    ) -> Result<Edited, Error> {
        let transaction = vault.begin_transaction()?;
        let path = self.document(vault, name, canvas, matches!(edit, Edit::Delete))?;
        let before = match edit {
            Edit::Create(_) => vault.bytes_if_any(&path)?,
            _ => Some(vault.bytes(&path)?),
        };
        if let (Some(wanted), found) = (if_match, before.as_deref().map(etag))
            && found.as_deref() != Some(wanted)
        {
            return Err(Error::Vault(VaultError::Conflict(found)));
        }
        let Some(before) = before else {
            let Edit::Create(content) = edit else { return Err(invalid("there is no such document")) };
            transaction.change(&[Step::Create { path, bytes: content.as_bytes().to_vec() }])?;
            return Ok(whole(format!("Created document: {name}"), content));
        };
        let old = text(before.clone(), &path)?;
        let replace = |after: &str| {
            transaction.change(&[Step::Replace { path: path.clone(), before: before.clone(), after: after.as_bytes().to_vec() }])
        };
        match edit {
            Edit::Create(_) => Err(Error::AlreadyExists(format!("There is a document {name} already; use replace, or another name."))),
            Edit::Replace(content) => {
                replace(content)?;
                Ok(whole(format!("Replaced document: {name}"), content))
            }
            Edit::Delete => {
                transaction.change(&[Step::Trash { path }])?;
                let message = format!("Deleted document: {name} (it is in the vault's .trash)");
                Ok(Edited { message, line_count: 0, affected: None, etag: None })
            }
            Edit::InsertAt(at, content) => {
                let (after, lines) = with_lines(&old, (at, at), content)?;
                replace(&after)?;
                let message = format!("Inserted {lines} line(s) at line {at} in document: {name}");
                Ok(Edited { message, line_count: lines, affected: Some((at, at + lines)), etag: Some(etag(after.as_bytes())) })
            }
            Edit::ReplaceAt(from, to, content) => {
                let (after, lines) = with_lines(&old, (from, to), content)?;
                replace(&after)?;
                let message = format!("Replaced lines {from} to {to} with {lines} line(s) in document: {name}");
                Ok(Edited { message, line_count: lines, affected: Some((from, from + lines)), etag: Some(etag(after.as_bytes())) })
            }
        }
    }

    /// The path of a document: a note that is not on the canvas.
    fn document(&self, vault: &Vault, name: &str, canvas: &VaultPath, to_delete: bool) -> Result<VaultPath, Error> {
        // A note may be named without its ending.
        let whole = if name.rsplit('/').next().is_some_and(|last| last.contains('.')) { name.to_owned() } else { format!("{name}.md") };
        let path = vault.spelled(&self.path_of(&whole, canvas)?);
        if !crate::vault::media::is_note(path.name()) {
            return Err(invalid("Context documents are notes: their names end in .md."));
        }
        // Further documents need no canvas, and are what they are on one too; but none is taken from a canvas.
        let is_further = name.starts_with(PREFIX);
        if is_further && !to_delete {
            return Ok(path);
        }
        let shown = match self.shown_on(vault, canvas) {
            Err(Error::CanvasNotFound(_)) if is_further => Vec::new(),
            other => other?,
        };
        if shown.contains(&form(path.as_str()).into_owned()) {
            let why = "it is on the canvas, so it is no context document; use the tools for accomplishments, or vault_edit";
            return Err(Error::Vault(VaultError::NotAllowed { path: path.as_str().into(), why }));
        }
        Ok(path)
    }

    /// The path that a name means. Nothing outside the two folders has a name here.
    fn path_of(&self, name: &str, canvas: &VaultPath) -> Result<VaultPath, Error> {
        let (folder, below) = match name.strip_prefix(PREFIX) {
            Some(below) => (
                self.options.docs.as_ref().ok_or_else(|| invalid("There is no folder for context: documents (CONTEXT_DOCS_FOLDER)."))?,
                below,
            ),
            None if name.contains('/') => {
                let why = "documents beside the canvas have no folder in their names";
                return Err(Error::Vault(VaultError::NotAllowed { path: VaultPath::folder(name)?.as_str().into(), why }));
            }
            None => (&canvas.parent(), name),
        };
        // Checked by itself first, so that it cannot be the folder or lead out of it.
        let below = VaultPath::file(below)?;
        Ok(VaultPath::file(&format!("{}/{}", folder.as_str(), below.as_str()))?)
    }

    pub(super) fn shown_on(&self, vault: &Vault, canvas: &VaultPath) -> Result<Vec<String>, Error> {
        Ok(self.canvas_at(vault, canvas)?.nodes.into_iter().filter_map(|node| node.file).collect())
    }
}

fn whole(message: String, content: &str) -> Edited {
    let lines = count_lines(content.as_bytes());
    Edited { message, line_count: lines, affected: Some((0, lines)), etag: Some(etag(content.as_bytes())) }
}

fn check_range((from, to): (usize, usize), lines: usize) -> Result<(), Error> {
    if from > to {
        return Err(VaultError::InvalidRange(format!(
            "Line {from} is after line {to}. Lines are counted from 0, and the end is the line after the last."
        ))
        .into());
    }
    if to > lines {
        return Err(
            VaultError::InvalidRange(format!("The document has {lines} lines, counted from 0; there is no range {from} to {to}.")).into()
        );
    }
    Ok(())
}

/// A text with these lines in the place of others, and how many they are. Line ends are those of the text.
fn with_lines(text: &str, (from, to): (usize, usize), content: &str) -> Result<(String, usize), Error> {
    check_range((from, to), count_lines(text.as_bytes()))?;
    // A byte order mark is the beginning of the file and of no line.
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        return with_lines(rest, (from, to), content).map(|(text, count)| (format!("\u{feff}{text}"), count));
    }
    if content.is_empty() && from == to {
        return Err(invalid("content must not be empty."));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (before, after) = (lines.part(..from).concat(), lines.part(to..).concat());
    let eol = line_end(text, 0);
    let content = if eol == "\r\n" { content.replace("\r\n", "\n").replace('\n', eol) } else { content.to_owned() };
    let count = count_lines(content.as_bytes());
    let missing = |text: &str| if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    // What follows has to begin on a line of its own; the last line of a text keeps or lacks its end as it did.
    let end = if after.is_empty() && !text.ends_with('\n') && !text.is_empty() { "" } else { missing(&content) };
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
        for (text, range, content) in [("a\n", (2, 2), "x"), ("a\n", (1, 0), "x"), ("a\n", (0, 2), "x"), ("a\n", (0, 0), "")] {
            assert!(with_lines(text, range, content).is_err(), "{range:?}");
        }
    }
}
