//! All files with the frontmatter of the notes, as JSON in one text: a question about properties goes through this text from its beginning to
//! its end, and a text that a property has to have is found in it without looking at the files. Made anew by the first question
//! after a change.

use super::entry::Entry;
use super::{Error, Vault, VaultPath};
use crate::lock::Unpoisoned;
use crate::slice::Part;
use memchr::memmem;
use std::ops::Range;
use std::sync::Arc;

/// The files by path.
#[derive(Debug, Default)]
pub struct Facts {
    version: u64,
    files: Vec<FileFacts>,
    text: String,
}

#[derive(Debug)]
pub struct FileFacts {
    pub entry: Arc<Entry>,
    pub is_note: bool,
    /// In the text of [`Facts`].
    range: Range<usize>,
}

impl Facts {
    /// The frontmatter of a file as JSON; empty where there is none.
    pub fn properties(&self, file: &FileFacts) -> &str {
        self.text.part(file.range.clone())
    }

    /// The first file by path.
    pub fn first(&self) -> Option<&Arc<Entry>> {
        self.files.first().map(|file| &file.entry)
    }

    /// The file of this path, or those below a folder.
    pub fn below(&self, path: &VaultPath) -> &[FileFacts] {
        let index_of = |start: &str| self.files.partition_point(|file| *file.entry.path < *start);
        let from = index_of(path.as_str());
        if path.is_root() || self.files.get(from).is_some_and(|file| *file.entry.path == *path.as_str()) {
            let count = if path.is_root() { self.files.len() } else { 1 };
            return self.files.part(from..from + count);
        }
        // 0 is the character after the slash.
        let (first, end) = (index_of(&format!("{}/", path.as_str())), index_of(&format!("{}0", path.as_str())));
        self.files.part(first..end)
    }

    /// Whether a file may have a property of this name, as it is written.
    pub fn may_have(&self, name: &str) -> bool {
        let key = serde_json::Value::from(name).to_string() + ":";
        memmem::find(self.text.as_bytes(), key.as_bytes()).is_some()
    }

    /// The files among neighbours whose frontmatter has a text.
    pub fn with_text<'a>(&'a self, files: &'a [FileFacts], wanted: &str) -> Vec<&'a FileFacts> {
        let (Some(first), Some(last)) = (files.first(), files.last()) else { return Vec::new() };
        let text = self.text.as_bytes().part(first.range.start..last.range.end);
        let mut found: Vec<&FileFacts> = Vec::new();
        for at in memmem::find_iter(text, wanted) {
            let file = files.get(files.partition_point(|file| file.range.end <= first.range.start + at));
            if let Some(file) = file.filter(|file| found.last().is_none_or(|last| last.range.end <= file.range.start)) {
                found.push(file);
            }
        }
        found
    }
}

impl Vault {
    /// All files with their frontmatter, as they are now.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn facts(&self, go_on: &dyn Fn(usize, usize) -> bool) -> Result<Arc<Facts>, Error> {
        self.refresh()?;
        let mut known = self.facts.lock().unpoisoned();
        let version = self.changes();
        if known.version == version && !known.files.is_empty() {
            return Ok(Arc::clone(&known));
        }
        let entries = self.files_below(&VaultPath::root(), "");
        let bytes = entries.iter().map(|entry| entry.text_bytes()).sum();
        // The frontmatter of many notes may be parsed here for the first time.
        self.on_all_cores(&entries, bytes, &|entry| entry.properties_json().map_or(0, str::len), go_on)?;
        let mut facts = Facts { version, ..Facts::default() };
        for entry in entries {
            let from = facts.text.len();
            facts.text.push_str(entry.properties_json().unwrap_or_default());
            facts.files.push(FileFacts { is_note: entry.is_note(), range: from..facts.text.len(), entry });
        }
        *known = Arc::new(facts);
        Ok(Arc::clone(&known))
    }
}
