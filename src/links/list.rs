//! Links as they are listed.

use crate::limits;
use crate::links::Links;
use crate::links::index::{LinkIndex, Place, Written};
use crate::markdown::links::{Link, Syntax, key_of, subpath_of};
use crate::markdown::parts::Note;
use crate::markdown::resolve::Resolved;
use crate::slice::Part;
use crate::vault::entry::Text;
use crate::vault::media::is_note;
use crate::vault::{Error, VaultPath};
use serde::Serialize;
use std::cell::OnceCell;
use std::sync::Arc;

/// Links in one page of results: the line of each is read again.
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
        let is_meant = |source: &str, resolved: &Resolved<'_>| {
            resolved.files().contains(&path.as_str()) && source != path.as_str()
        };
        let mut count = 0;
        let links = index.links_with(Some(vec![key_of(path.as_str()).into()]));
        index.each_resolved(links, |_, place, resolved| {
            count += usize::from(is_meant(index.path(place.source), resolved));
            true
        });
        Ok(count)
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
        let keys: Option<Vec<Arc<str>>> = path
            .and_then(|path| self.vault().view.get(path.as_str()))
            .and_then(|entry| match show {
                LinkFilter::Backlinks => Some(vec![key_of(&entry.path).into()]),
                _ => index.known(entry.id).map(|known| known.keys.to_vec()),
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
        let links: Box<dyn Iterator<Item = (&Written, &Place)>> = match show {
            LinkFilter::Unresolved | LinkFilter::Ambiguous if keys.is_none() => {
                Box::new(index.doubtful_links())
            }
            _ => Box::new(index.links_with(keys)),
        };
        let mut found: Vec<Found<'_>> = Vec::new();
        let (mut number, mut cancelled) = (0, false);
        index.each_resolved(links, |written, place, resolved| {
            number += 1;
            cancelled = number % limits::LINKS == 0 && !proceed(number, number);
            let source = index.path(place.source);
            if is_wanted(source, resolved) {
                found.push(Found { source, written, place });
            }
            !cancelled
        });
        if cancelled {
            return Err(Error::Cancelled);
        }
        let total = found.len();
        if let Some(after) = after {
            found.retain(|found| *found.key() > *after);
        }
        let has_more = found.len() > LINKS_PAGE;
        if has_more {
            found.select_nth_unstable_by(LINKS_PAGE, |a, b| a.order().cmp(&b.order()));
            found.truncate(LINKS_PAGE);
        }
        found.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        let links = found
            .chunk_by(|a, b| a.source == b.source)
            .flat_map(|of_file| self.rows(&index, of_file))
            .collect();
        Ok(LinksPage { total, has_more, links })
    }

    /// The rows of links of one file.
    fn rows(&self, index: &LinkIndex, found: &[Found<'_>]) -> Vec<VaultLink> {
        let Some(Found { source, .. }) = found.first() else { return Vec::new() };
        let Some(entry) = self.vault().view.get(source) else { return Vec::new() };
        let is_current = index.is_current(&entry);
        let kept = match &entry.text {
            Text::Kept(kept) if is_current => Some(kept),
            _ => None,
        };
        let mut line = (None, String::new());
        let mut by_line = |found: &Found<'_>| {
            let number = found.place.line as usize;
            if line.0 != Some(number) {
                line = (Some(number), kept?.line(number)?);
            }
            found.row_in_line(&line.1)
        };
        // Of other programs' changes, of large files and of some properties the whole is read.
        let (read, note) = (OnceCell::new(), OnceCell::new());
        let by_text = |found: &Found<'_>| {
            let (text, links) = read.get_or_init(|| self.links_in(&entry));
            found.row_in_text(note.get_or_init(|| Note::of(text)), links)
        };
        let row = |found: &Found<'_>| {
            let row = by_line(found).or_else(|| by_text(found))?;
            Some(row.leading_to(&index.leads_to(found.written, found.place)))
        };
        found.iter().filter_map(row).collect()
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
        let is_wanted =
            |file: &&Arc<str>| is_note(file) && path.is_none_or(|path| path.contains(file));
        let files: Box<dyn Iterator<Item = &Arc<str>>> =
            if show_deadends { Box::new(index.dead_ends()) } else { Box::new(index.orphans()) };
        let mut found: Vec<String> = files.filter(is_wanted).map(|file| file.to_string()).collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// A link that is wanted.
struct Found<'a> {
    source: &'a str,
    written: &'a Written,
    place: &'a Place,
}

impl Found<'_> {
    fn order(&self) -> (&str, u32, u32) {
        (self.source, self.place.line, self.place.start)
    }

    /// Sorts as [`Found::order`] does.
    fn key(&self) -> String {
        let (source, line, start) = self.order();
        format!("{source}\0{line:010}:{start:010}")
    }

    /// The row, from the line that has the link alone, if that is enough.
    fn row_in_line(&self, line: &str) -> Option<VaultLink> {
        let Place { start, target_start, target_end, syntax, .. } = *self.place;
        let target = line.get(target_start as usize..target_end as usize)?;
        // That of a canvas path is elsewhere.
        let subpath = match syntax {
            Syntax::CanvasPath => None,
            _ => subpath_of(target, syntax),
        };
        (!self.place.has_quoted_subpath)
            .then(|| self.row(shown_part(line, start as usize), target.to_owned(), subpath))
    }

    /// The row, from the whole text and its links; `None` if the link is not there any more.
    fn row_in_text(&self, note: &Note<'_>, links: &[Link]) -> Option<VaultLink> {
        let before = (self.place.line as usize).checked_sub(1);
        let mut breaks = memchr::memchr_iter(b'\n', note.text.as_bytes());
        let line_start = before.map_or(Some(0), |before| Some(breaks.nth(before)? + 1))?;
        let at = line_start + self.place.start as usize;
        let link = links.iter().find(|link| link.range.start == at)?;
        let target = note.text.part(link.target.clone()).to_owned();
        Some(self.row(shown_line(note, at), target, link.subpath.clone()))
    }

    fn row(&self, text: String, target: String, subpath: Option<String>) -> VaultLink {
        VaultLink {
            path: self.source.to_owned(),
            line: self.place.line as usize + 1,
            text,
            target,
            resolved: None,
            subpath,
            embed: self.place.is_embed,
            candidates: Vec::new(),
            key: self.key(),
        }
    }
}

impl VaultLink {
    fn leading_to(self, resolved: &Resolved<'_>) -> VaultLink {
        match resolved {
            Resolved::Missing => self,
            Resolved::One(file) => VaultLink { resolved: Some((*file).to_owned()), ..self },
            Resolved::Several(files) => {
                let candidates = files.iter().take(limits::CANDIDATES_SHOWN);
                VaultLink {
                    candidates: candidates.map(|file| (*file).to_owned()).collect(),
                    ..self
                }
            }
        }
    }
}

/// The line at an offset; of a long one, the part around it.
pub(crate) fn shown_line(note: &Note<'_>, at: usize) -> String {
    let number = note.line_at(at);
    shown_part(note.line(number), at.saturating_sub(note.start(number)))
}

/// A line; of a long one, the part around an offset.
fn shown_part(line: &str, at: usize) -> String {
    if line.chars().count() <= LINE_SHOWN_CHARS {
        return line.trim_start_matches('\u{feff}').trim().to_owned();
    }
    let before = line.part(..at).chars().count();
    line.chars().skip(before.saturating_sub(LINE_SHOWN_CHARS / 3)).take(LINE_SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Search;
    use crate::text::random::Random;
    use crate::vault::Vault;
    use std::path::Path;

    /// All that the index says, in words.
    fn told(links: &Links) -> String {
        let proceed = |_, _| true;
        let rows = |show, path: Option<&VaultPath>| {
            let page = links.links(show, path, None, &proceed).unwrap();
            let rows = page.links.iter().map(|link| {
                format!("{} {}: {} -> {:?}\n", link.path, link.line, link.target, link.resolved)
            });
            format!("{} {show:?} of {path:?}\n{}", page.total, rows.collect::<String>())
        };
        let mut told =
            [LinkFilter::Unresolved, LinkFilter::Ambiguous].map(|show| rows(show, None)).concat();
        for entry in links.vault().files_below(&VaultPath::root(), "") {
            let path = VaultPath::file(&entry.path).unwrap();
            told += &rows(LinkFilter::Backlinks, Some(&path));
            told += &rows(LinkFilter::Outgoing, Some(&path));
        }
        let index = links.index(&proceed).unwrap();
        let paths = |ids: Vec<_>| ids.into_iter().map(|id| index.path(id)).collect::<Vec<_>>();
        let listed = index.with_text("kind", "word").unwrap();
        let unlinked = [false, true].map(|ends| links.unlinked(ends, None, &proceed).unwrap());
        told + &format!(
            "{unlinked:?} {:?} {:?} {:?}",
            index.count_tags(),
            paths(listed.having),
            paths(listed.others)
        )
    }

    fn change(folder: &Path, random: &mut Random) {
        let names = ["a.md", "b.md", "sub/a.md", "sub/deep/a.md", "c.md", "sub/c d.md", "x.canvas"];
        let name = || names.map(|name| folder.join(name));
        let at = name()[random.below(names.len())].clone();
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        match random.below(4) {
            0 => drop(std::fs::remove_file(at)),
            1 => drop(std::fs::rename(at, &name()[random.below(6)])),
            _ => {
                let links = ["[[a]]", "[[sub/a]] #T", "[x](./a.md)", "[[c d#H|c]]", "[[no]] #t/u"];
                let kinds = ["word", "Word", "[[a]]", "[list]", "7", "'\"word\"'"];
                let mut text = format!("---\nkind: {}\n---\n", kinds[random.below(kinds.len())]);
                for _ in 0..random.below(4) {
                    text += &format!("line {}\n\n", links[random.below(links.len())]);
                }
                std::fs::write(at, text).unwrap();
            }
        }
    }

    #[test]
    fn an_index_that_has_followed_changes_says_what_a_new_one_says() {
        let folder = std::env::temp_dir().join(format!("vsm-links-{}", crate::secret::new_id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut random = Random::new();
        let new = || Links::new(Search::new(Vault::open(&folder).unwrap()));
        let following = new();
        for round in 0..60 {
            for _ in 0..=random.below(4) {
                change(&folder, &mut random);
            }
            following.vault().refresh_now().unwrap();
            assert_eq!(told(&following), told(&new()), "round {round}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
