//! Links of the vault: the files that each resolves to, the backlinks of a file, unresolved links.
//! Link paths are kept by file and updated with the index, so that a query resolves only links that
//! may match.

use super::entry::{Entry, Id, Text};
use super::error::warn_once;
use super::table::Table;
use super::{Error, Vault, VaultPath};
use crate::clock::Deadline;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::markdown::links::{Link, Syntax, key_of, links_of};
use crate::markdown::parts::Note;
use crate::markdown::resolve::{Among, Files, Resolved};
use crate::slice::Part;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Links in one page of results: each is located again in the text of its note.
const LINKS_PAGE: usize = 100;
/// Characters shown of a line that contains a link or change.
const LINE_SHOWN_CHARS: usize = 240;
/// How long a call waits for the links of all notes to be read. What was read by then stays, so the
/// next call gets on.
const LINK_INDEX_WAIT: Duration = Duration::from_secs(20);
/// See [`limits::LINK_INDEX_BATCH`].
const LINK_INDEX_BATCH_BYTES: u64 = 32 * 1024 * 1024;

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

/// What the link index knows about a file.
#[derive(Debug, Clone)]
struct Known {
    /// The version of the entry it was read from.
    version: u64,
    path: Arc<str>,
    /// The keys of its links, each once.
    keys: Vec<Box<str>>,
}

/// The names of all files and of all links.
#[derive(Debug, Default, Clone)]
pub struct LinkIndex {
    version: Option<u64>,
    known: HashMap<Id, Known>,
    pub(super) files: Files,
    /// Links by key: file name without folder and any `.md` at its end, in lower case and NFC
    /// ([`key_of`]). A link can only mean a file with its own key.
    links: HashMap<Box<str>, LinksOfKey>,
}

/// Files whose links have to be forgotten, and files whose links have to be read.
struct Stale {
    gone: Vec<Id>,
    fresh: Vec<Arc<Entry>>,
}

impl Stale {
    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.fresh.is_empty()
    }
}

/// By path as written, and whether it is a canvas path: the files with such a link, once for each
/// link.
type LinksOfKey = BTreeMap<(Box<str>, bool), Vec<Id>>;

/// The folder of a path.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Resolves the path of a link in a file in `folder`.
pub(super) fn resolve_path<'a>(
    path: &str,
    is_canvas_path: bool,
    folder: &str,
    among: &Among<'a, '_>,
) -> Resolved<'a> {
    if is_canvas_path { among.at(path) } else { among.resolve(path, folder) }
}

impl LinkIndex {
    /// Resolves a link in a file in `folder`.
    pub(super) fn resolve(&self, link: &Link, folder: &str) -> Resolved<'_> {
        self.resolve_path(&link.path, link.syntax == Syntax::CanvasPath, folder)
    }

    pub(super) fn resolve_path(
        &self,
        path: &str,
        is_canvas_path: bool,
        folder: &str,
    ) -> Resolved<'_> {
        resolve_path(
            path,
            is_canvas_path,
            folder,
            &Among { layers: &[&self.files], is_gone: &|_| false },
        )
    }

    /// The same without some of the files.
    pub(super) fn resolve_without(
        &self,
        gone: &BTreeSet<&str>,
        link: &Link,
        folder: &str,
    ) -> Resolved<'_> {
        let among = Among { layers: &[&self.files], is_gone: &|path| gone.contains(path) };
        resolve_path(&link.path, link.syntax == Syntax::CanvasPath, folder, &among)
    }

    /// What differs from the table of files.
    fn stale(&self, table: &Table) -> Stale {
        let ids: BTreeSet<Id> = match self.version.and_then(|known| table.changed_since(known)) {
            Some(changed) => changed.collect(),
            None => table.all().map(|entry| entry.id).chain(self.known.keys().copied()).collect(),
        };
        let gone = ids
            .iter()
            .copied()
            .filter(|id| table.entry(*id).is_none() && self.known.contains_key(id))
            .collect();
        let is_fresh = |entry: &&Arc<Entry>| {
            self.known.get(&entry.id).is_none_or(|known| known.version != entry.version)
        };
        let fresh =
            ids.into_iter().filter_map(|id| table.entry(id)).filter(is_fresh).cloned().collect();
        Stale { gone, fresh }
    }

    fn forget(&mut self, id: Id) {
        let Some(known) = self.known.remove(&id) else { return };
        self.files.remove(&known.path);
        for key in known.keys {
            let Some(links) = self.links.get_mut(&key) else { continue };
            links.retain(|_, ids| {
                ids.retain(|own| *own != id);
                !ids.is_empty()
            });
            if links.is_empty() {
                self.links.remove(&key);
            }
        }
    }

    fn add(&mut self, entry: &Entry, paths: Vec<(Box<str>, bool)>) {
        self.files.insert(&entry.path);
        let mut keys: Vec<Box<str>> = Vec::new();
        for path in paths {
            let key: Box<str> = key_of(&path.0).into();
            self.links.entry(key.clone()).or_default().entry(path).or_default().push(entry.id);
            keys.push(key);
        }
        keys.sort_unstable();
        keys.dedup();
        self.known.insert(
            entry.id,
            Known { version: entry.version, path: Arc::clone(&entry.path), keys },
        );
    }

    /// The links of a key: path, whether that is a canvas path, and the file with the link.
    pub(super) fn links_of_key(&self, key: &str) -> impl Iterator<Item = (&str, bool, &str)> {
        let paths = self.links.get(key).into_iter().flatten();
        paths.flat_map(|((path, is_canvas_path), ids)| {
            ids.iter().map(|id| (&**path, *is_canvas_path, self.path(*id)))
        })
    }

    /// The file that a link path resolves to from a file in `folder`. Obsidian picks one of
    /// several; here it is the first by path.
    pub fn file_of(&self, path: &str, folder: &str) -> Option<String> {
        self.resolve_path(path, false, folder).files().first().map(|file| (*file).to_owned())
    }

    /// The files with a link whose path is written like this.
    pub fn sources_of_text(&self, path: &str) -> BTreeSet<String> {
        let key = key_of(path);
        self.links_of_key(&key)
            .filter(|(own, ..)| *own == path)
            .map(|(.., source)| source.to_owned())
            .collect()
    }

    /// The files with links that may resolve to one of `files`.
    pub fn sources_of(&self, files: &BTreeSet<&str>) -> BTreeSet<String> {
        let keys: Vec<Box<str>> = files.iter().map(|file| key_of(file).into()).collect();
        let found = self.count_links(Some(&keys), &mut |_, resolved| {
            resolved.files().iter().any(|file| files.contains(file))
        });
        found.into_keys().map(str::to_owned).collect()
    }

    fn path(&self, id: Id) -> &str {
        self.known.get(&id).map_or("", |known| &known.path)
    }

    /// For each file the number of its links for which `wanted` is true; `wanted` gets the file
    /// with the link, and what the link resolves to. With `keys`, only links of these keys are
    /// looked at.
    fn count_links<'a>(
        &'a self,
        keys: Option<&[Box<str>]>,
        wanted: &mut dyn FnMut(&'a str, &Resolved<'a>) -> bool,
    ) -> BTreeMap<&'a str, usize> {
        let mut found = BTreeMap::new();
        let some = keys.into_iter().flatten().filter_map(|key| self.links.get_key_value(key));
        let all = keys.is_none().then_some(&self.links).into_iter().flatten();
        for (_, paths) in some.chain(all) {
            for ((path, is_canvas_path), ids) in paths {
                let is_unique = !path.contains('/') && self.files.is_unique(path);
                let mut last_resolved: Option<(&str, Resolved<'_>)> = None;
                for &id in ids {
                    let source = self.path(id);
                    let folder = folder_of(source);
                    // A bare name that only one file has resolves to it from every folder.
                    let reusable =
                        last_resolved.as_ref().filter(|(known, _)| *known == folder || is_unique);
                    let resolved = match reusable {
                        Some((_, resolved)) => resolved,
                        None => {
                            &last_resolved
                                .insert((folder, self.resolve_path(path, *is_canvas_path, folder)))
                                .1
                        }
                    };
                    if wanted(source, resolved) {
                        *found.entry(source).or_default() += 1;
                    }
                }
            }
        }
        found
    }
}

impl Vault {
    /// The link index, brought up to date with the file index. A call that still reads an older one
    /// keeps that.
    ///
    /// One call builds it; others wait for that one. No lock is held while notes are read, and what
    /// was read stays when the call ends early.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`]; [`Error::Overloaded`] when it took longer than
    /// `LINK_INDEX_WAIT`.
    pub fn link_index(
        &self,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Arc<LinkIndex>, Error> {
        self.refresh()?;
        let deadline = Deadline::after(LINK_INDEX_WAIT);
        let mut building = None;
        loop {
            if let Some(index) = self.complete_links() {
                return Ok(index);
            }
            if deadline.left().is_none() {
                return Err(Error::Overloaded);
            }
            building = building.or_else(|| self.locks.links.take("", limits::HANG_UP_EVERY));
            if building.is_some() {
                self.read_some_links(proceed)?;
            } else if !proceed(0, 0) {
                return Err(Error::Cancelled);
            }
        }
    }

    /// The link index, if it has the links of all files that are known now. An incomplete one is
    /// not handed out: whoever holds it makes the next change copy it.
    fn complete_links(&self) -> Option<Arc<LinkIndex>> {
        let mut index = self.links.lock().unpoisoned();
        let (version, stale) = self.view.with_table(|table| (table.version, index.stale(table)));
        if !stale.is_empty() {
            return None;
        }
        if index.version != Some(version) {
            Arc::make_mut(&mut index).version = Some(version);
        }
        Some(Arc::clone(&index))
    }

    /// Reads the links of some of the files that have changed since they were read.
    fn read_some_links(&self, proceed: &dyn Fn(usize, usize) -> bool) -> Result<(), Error> {
        let stale = {
            let index = self.links.lock().unpoisoned();
            self.view.with_table(|table| index.stale(table))
        };
        let mut bytes = 0;
        let within = |entry: &&Arc<Entry>| {
            let is_within = bytes < LINK_INDEX_BATCH_BYTES;
            bytes += entry.search_cost();
            is_within
        };
        let fresh: Vec<Arc<Entry>> =
            stale.fresh.iter().take(limits::LINK_INDEX_BATCH).take_while(within).cloned().collect();
        let total = stale.fresh.len();
        let look = |entry: &Arc<Entry>| {
            let links = self.links_in(entry).1.into_iter();
            links
                .map(|link| link.with_path(&entry.path))
                .map(|link| (link.path.into_boxed_str(), link.syntax == Syntax::CanvasPath))
                .collect::<Vec<_>>()
        };
        let found =
            self.map_parallel(&fresh, &|entry| entry.search_cost(), &look, &|done, _| {
                proceed(done, total)
            })?;
        let mut index = self.links.lock().unpoisoned();
        let changed = Arc::make_mut(&mut index);
        // All before the first is added: a file that came back has another id, and its old id may
        // be that of another file.
        let is_other = |entry: &&Arc<Entry>| {
            changed.known.get(&entry.id).is_some_and(|known| known.path != entry.path)
        };
        let others: Vec<Id> = stale.fresh.iter().filter(is_other).map(|entry| entry.id).collect();
        let read_now = fresh.iter().map(|entry| entry.id);
        stale.gone.into_iter().chain(others).chain(read_now).for_each(|id| changed.forget(id));
        fresh.iter().zip(found).for_each(|(entry, paths)| changed.add(entry, paths));
        Ok(())
    }

    /// The text of a note or canvas, and its links; both empty for other files, and if it cannot be
    /// read.
    pub fn links_in(&self, entry: &Entry) -> (String, Vec<Link>) {
        let has_links = entry.is_note() || entry.path.to_ascii_lowercase().ends_with(".canvas");
        if !has_links || matches!(entry.text, Text::None) {
            return (String::new(), Vec::new());
        }
        let text = self.text(entry).unwrap_or_default();
        let links = links_of(entry.name(), &text);
        if links.len() >= limits::LINKS {
            let path = &entry.path;
            warn_once(
                "links",
                format!(
                    "{path:?} has more than {} links: the rest is not read, nor changed when a \
                     note is moved",
                    limits::LINKS
                ),
            );
        }
        (text, links)
    }

    /// The number of links in other notes and canvases that may mean a file.
    ///
    /// # Errors
    /// As [`Vault::links`].
    pub fn count_links_to(
        &self,
        path: &VaultPath,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<usize, Error> {
        let index = self.link_index(proceed)?;
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
        let index = self.link_index(proceed)?;
        let in_scope = |file: &str| path.is_none_or(|path| path.covers(file));
        // Only links with these keys may be wanted; all for a folder.
        let keys: Option<Vec<Box<str>>> =
            path.and_then(|path| self.view.get(path.as_str())).and_then(|entry| match show {
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
            let Some(entry) = self.view.get(source) else { continue };
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
    /// As [`Vault::links`].
    pub fn unlinked(
        &self,
        show_deadends: bool,
        path: Option<&VaultPath>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<String>, Error> {
        let index = self.link_index(proceed)?;
        let notes = index
            .known
            .values()
            .map(|known| &*known.path)
            .filter(|file| super::media::is_note(file));
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
pub(super) fn shown_line(note: &Note<'_>, at: usize) -> String {
    let number = note.line_at(at);
    let line = note.line(number);
    if line.chars().count() <= LINE_SHOWN_CHARS {
        return line.trim().to_owned();
    }
    let before = line.part(..at.saturating_sub(note.start(number))).chars().count();
    line.chars().skip(before.saturating_sub(LINE_SHOWN_CHARS / 3)).take(LINE_SHOWN_CHARS).collect()
}
