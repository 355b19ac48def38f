//! Links as they are listed.

use crate::limits;
use crate::links::Links;
use crate::links::index::folder_of;
use crate::markdown::links::{Link, key_of};
use crate::markdown::parts::Note;
use crate::markdown::resolve::Resolved;
use crate::slice::Part;
use crate::vault::{Error, VaultPath};
use serde::Serialize;
use std::collections::BTreeSet;

/// Links in one page of results: each is located again in the text of its note.
const LINKS_PAGE: usize = 100;
/// Characters shown of a line that contains a link or change.
const LINE_SHOWN_CHARS: usize = 240;

/// Which links are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFilter {
    /// Links to a file.
    Backlinks,
    /// Links in a file.
    Outgoing,
    /// Links that resolve to no file.
    Unresolved,
    /// Links that match several files.
    Ambiguous,
}

/// A link of the vault.
#[derive(Debug, Serialize)]
pub struct VaultLink {
    pub path: String,
    /// From 1.
    pub line: usize,
    /// The line, shortened if it is long.
    pub text: String,
    /// The target, as written.
    pub target: String,
    pub resolved: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subpath: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub embed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// Its sort key among all links.
    #[serde(skip)]
    pub key: String,
}

/// A part of the wanted links.
#[derive(Debug)]
pub struct LinksPage {
    /// The number of all wanted links.
    pub total: usize,
    /// Whether more links follow this page.
    pub has_more: bool,
    pub links: Vec<VaultLink>,
}

impl Links {
    /// The number of links in other notes and canvases that may mean a file.
    ///
    /// # Errors
    /// As [`Links::links`].
    pub fn count_links_to(
        &self,
        path: &VaultPath,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<usize, Error> {
        let index = self.index(proceed)?;
        let mut is_meant = |source: &str, resolved: &Resolved<'_>| {
            resolved.files().contains(&path.as_str()) && source != path.as_str()
        };
        Ok(index.count_links(Some(&[key_of(path.as_str()).into()]), &mut is_meant).values().sum())
    }

    /// The page of the wanted links after `after`, sorted by file and position. For a folder, the
    /// links of all files below it; without a path, those of the whole vault.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn links(
        &self,
        show: LinkFilter,
        path: Option<&VaultPath>,
        after: Option<&str>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<LinksPage, Error> {
        let index = self.index(proceed)?;
        let in_scope = |file: &str| path.is_none_or(|path| path.covers(file));
        // Only links with these keys may be wanted; all for a folder.
        let keys: Option<Vec<Box<str>>> = path
            .and_then(|path| self.vault().view.get(path.as_str()))
            .and_then(|entry| match show {
                LinkFilter::Backlinks => Some(vec![key_of(&entry.path).into()]),
                _ => index.known.get(&entry.id).map(|known| known.keys.clone()),
            });
        let is_wanted = |source: &str, resolved: &Resolved<'_>| match (show, resolved) {
            // A link that may mean another file of this name is shown with its candidates.
            (LinkFilter::Backlinks, _) => resolved.files().iter().any(|file| in_scope(file)),
            (LinkFilter::Outgoing, _) => in_scope(source),
            (LinkFilter::Unresolved, _) => *resolved == Resolved::Missing && in_scope(source),
            (LinkFilter::Ambiguous, _) => {
                matches!(resolved, Resolved::Several(_)) && in_scope(source)
            }
        };
        let found =
            index.count_links(keys.as_deref(), &mut |source, resolved| is_wanted(source, resolved));
        let total = found.values().sum();
        let mut page = Vec::new();
        let first = after.map(|after| after.split('\0').next().unwrap_or(after));
        let mut sources =
            found.keys().copied().filter(|source| first.is_none_or(|first| *source >= first));
        while page.len() < LINKS_PAGE
            && let Some(source) = sources.next()
        {
            let Some(entry) = self.vault().view.get(source) else { continue };
            let (text, links) = self.links_in(&entry);
            let note = Note::of(&text);
            for (number, link) in links.into_iter().enumerate() {
                let key = format!("{source}\0{number:08}");
                let link = link.with_path(&entry.path);
                let resolved = index.resolve(&link, folder_of(source));
                if is_wanted(source, &resolved) && after.is_none_or(|after| *key > *after) {
                    page.push(row(source, &note, &link, &resolved, key));
                }
                if page.len() > LINKS_PAGE {
                    break;
                }
            }
        }
        let has_more = page.len() > LINKS_PAGE || sources.next().is_some();
        page.truncate(LINKS_PAGE);
        Ok(LinksPage { total, has_more, links: page })
    }

    /// The notes that no other note or canvas links to, or, with `show_deadends`, those without
    /// links to another file.
    ///
    /// # Errors
    /// As [`Links::links`].
    pub fn unlinked(
        &self,
        show_deadends: bool,
        path: Option<&VaultPath>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<String>, Error> {
        let index = self.index(proceed)?;
        let notes = index
            .known
            .values()
            .map(|known| &*known.path)
            .filter(|file| crate::vault::media::is_note(file));
        let notes = notes.filter(|file| path.is_none_or(|path| path.contains(file)));
        // Linked to from another file, or with links.
        let mut linked: BTreeSet<&str> = BTreeSet::new();
        index.count_links(None, &mut |source, resolved| {
            if !show_deadends {
                linked.extend(resolved.files().iter().filter(|file| **file != source));
            } else if resolved.files() != [source] {
                linked.insert(source);
            }
            false
        });
        let mut found: Vec<String> =
            notes.filter(|file| !linked.contains(file)).map(str::to_owned).collect();
        found.sort_unstable();
        Ok(found)
    }
}

fn row(
    source: &str,
    note: &Note<'_>,
    link: &Link,
    resolved: &Resolved<'_>,
    key: String,
) -> VaultLink {
    let (resolved, candidates) = match resolved {
        Resolved::Missing => (None, Vec::new()),
        Resolved::One(file) => (Some((*file).to_owned()), Vec::new()),
        Resolved::Several(files) => (
            None,
            files.iter().take(limits::CANDIDATES_SHOWN).map(|file| (*file).to_owned()).collect(),
        ),
    };
    VaultLink {
        path: source.to_owned(),
        line: note.line_at(link.range.start) + 1,
        text: shown_line(note, link.range.start),
        target: note.text.part(link.target.clone()).to_owned(),
        resolved,
        subpath: link.subpath.clone(),
        embed: link.is_embed,
        candidates,
        key,
    }
}

/// The line at an offset; of a long one, the part around it.
pub(crate) fn shown_line(note: &Note<'_>, at: usize) -> String {
    let number = note.line_at(at);
    let line = note.line(number);
    if line.chars().count() <= LINE_SHOWN_CHARS {
        return line.trim().to_owned();
    }
    let before = line.part(..at.saturating_sub(note.start(number))).chars().count();
    line.chars().skip(before.saturating_sub(LINE_SHOWN_CHARS / 3)).take(LINE_SHOWN_CHARS).collect()
}
