//! Toolset `vault`: list, read, search, write and edit.

mod edit;
mod list;
mod list_all;
mod read;
mod search;
mod write;

use super::Tool;
use super::result::{Inline, result};
use super::schema::{ANY_TEXT, Field, optional};
use crate::change::write::Written;
use crate::markdown::frontmatter;
use crate::markdown::links::can_be_linked_to;
use crate::vault::VaultPath;

/// The tools, in the order in which they are listed: the overview of the vault first.
pub static TOOLS: [&Tool; 6] =
    [&list_all::TOOL, &list::TOOL, &read::TOOL, &search::TOOL, &write::TOOL, &edit::TOOL];

const PATH: &str = "Path, [[Name]] or daily:today";

result! {
    /// The file that a tool has written.
    pub(super) struct WrittenFile<'a> {
        path: &'a str,
        etag: &'a str,
        /// The kept version that was replaced, for vault_restore.
        previous: Option<&'a str>,
    }
}

impl WrittenFile<'_> {
    pub(super) fn of(written: &Written) -> Inline<WrittenFile<'_>> {
        Inline(WrittenFile {
            path: written.path.as_str(),
            etag: &written.etag,
            previous: written.previous.as_deref(),
        })
    }
}

/// A warning for a text whose line breaks seem to have arrived as two characters each.
pub(super) fn escapes_warning(text: &str) -> Option<String> {
    (!text.contains('\n') && text.contains("\\n")).then(|| {
        "The text has no line break, but \\n as two characters; if lines were meant, write it \
         again with line breaks."
            .into()
    })
}

/// A warning for a new file to which no wikilink can lead.
pub(super) fn name_warning(path: &VaultPath) -> Option<String> {
    (!can_be_linked_to(path.as_str())).then(|| {
        "Links such as [[Name]] cannot lead to a name with # or |, nor to most with ^ or brackets; \
         without these they do."
            .into()
    })
}

/// A warning for the text of a note whose properties Obsidian would not read.
pub(super) fn frontmatter_warning(text: &str) -> Option<String> {
    let why = frontmatter::values(frontmatter::block(text)?).err()?;
    Some(format!("Its frontmatter is {why}; so it has no properties and tags."))
}

/// Parameter of the tools that change a file.
pub(super) const IF_MATCH: Field = optional("if_match", ANY_TEXT, "etag of the last read");
