//! The links of all files, by the name that they have, and what each leads to; and the notes by tag
//! and property. It follows the index of files: of a file that has changed its own links are read
//! again, and the links of its name resolved again; all others stay.

use crate::links::lists::{Listed, Lists, Shared, is_listed};
use crate::markdown::links::{Link, Syntax, key_of};
use crate::markdown::resolve::{Among, Files, Resolved};
use crate::vault::entry::{Entry, Id};
use crate::vault::error::warn_once;
use crate::vault::index::table::Table;
use crate::vault::media::is_note;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Links of a vault that are known, 32 bytes each: one for each hundred bytes of the most text that
/// is kept.
const LINKS_OF_VAULT: usize = 4_000_000;

/// What the link index knows about a file.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The version of the entry it was read from.
    pub(super) version: u64,
    pub(super) path: Arc<str>,
    /// The keys of its links, each once.
    pub(super) keys: Box<[Arc<str>]>,
    lists: Box<[Arc<Shared>]>,
}

/// The names of all files and of all links.
#[derive(Debug, Default, Clone)]
pub struct LinkIndex {
    pub(super) version: Option<u64>,
    /// By id.
    known: Vec<Option<Known>>,
    ids: HashMap<Arc<str>, Id>,
    pub(crate) files: Files,
    /// Links by key: file name without folder and any `.md` at its end, in lower case and NFC
    /// ([`key_of`]). A link can only mean a file with its own key.
    links: HashMap<Arc<str>, Vec<Written>>,
    lists: Lists,
    /// Keys of links that are to be resolved again.
    changed_keys: HashSet<Arc<str>>,
    /// Keys of links some of which lead to nothing, or may lead to several files.
    doubtful_keys: HashSet<Arc<str>>,
    /// By id, the number of links of other files that lead to that file alone.
    linked: Vec<u32>,
    /// The number of all links.
    places: usize,
}

/// The links that are written with one path.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) path: Box<str>,
    pub(super) is_canvas_path: bool,
    places: Vec<Place>,
}

/// Where a link is, and what it leads to.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The file that has it.
    pub(super) source: Id,
    /// The number of its line, from 0.
    pub(super) line: u32,
    /// Where it and its target begin and the target ends, in bytes of the line.
    pub(super) start: u32,
    pub(super) target_start: u32,
    pub(super) target_end: u32,
    pub(super) syntax: Syntax,
    pub(super) is_embed: bool,
    /// Whether its subpath is in a string of YAML or JSON, with its escapes.
    pub(super) has_quoted_subpath: bool,
    leads_to: Target,
}

/// What a link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Nothing,
    One(Id),
    /// Which ones is looked up again: it is rare.
    Several,
}

/// A link that was read, for the index.
pub(super) struct ReadLink {
    path: Box<str>,
    is_canvas_path: bool,
    place: Place,
}

impl ReadLink {
    /// A link of a file, in the line of this number that begins at `line_start`.
    pub(super) fn of(entry: &Entry, link: Link, line: usize, line_start: usize) -> ReadLink {
        let at = |offset: usize| u32::try_from(offset - line_start).unwrap_or(u32::MAX);
        let is_own = link.path.is_empty();
        let place = Place {
            source: entry.id,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            start: at(link.range.start),
            target_start: at(link.target.start),
            target_end: at(link.target.end),
            syntax: link.syntax,
            is_embed: link.is_embed,
            has_quoted_subpath: link.is_quoted() && link.subpath.is_some(),
            leads_to: Target::Nothing,
        };
        ReadLink {
            path: if is_own { (*entry.path).into() } else { link.path.into() },
            is_canvas_path: is_own || link.syntax == Syntax::CanvasPath,
            place,
        }
    }
}

/// Files whose links have to be forgotten, and files whose links have to be read.
pub(super) struct Stale {
    pub(super) gone: Vec<Id>,
    pub(super) fresh: Vec<Arc<Entry>>,
}

impl Stale {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.fresh.is_empty()
    }
}

/// The folder of a path.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Resolves the path of a link in a file in `folder`.
pub(crate) fn resolve_path<'a>(
    path: &str,
    is_canvas_path: bool,
    folder: &str,
    among: &Among<'a, '_>,
) -> Resolved<'a> {
    if is_canvas_path { among.at(path) } else { among.resolve(path, folder) }
}

impl LinkIndex {
    /// Resolves a link in a file in `folder`.
    pub(crate) fn resolve(&self, link: &Link, folder: &str) -> Resolved<'_> {
        self.resolve_path(&link.path, link.syntax == Syntax::CanvasPath, folder)
    }

    pub(crate) fn resolve_path(
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
    pub(crate) fn resolve_without(
        &self,
        gone: &BTreeSet<&str>,
        link: &Link,
        folder: &str,
    ) -> Resolved<'_> {
        let among = Among { layers: &[&self.files], is_gone: &|path| gone.contains(path) };
        resolve_path(&link.path, link.syntax == Syntax::CanvasPath, folder, &among)
    }

    /// What differs from the table of files.
    pub(super) fn stale(&self, table: &Table) -> Stale {
        let ids: BTreeSet<Id> = match self.version.and_then(|known| table.changed_since(known)) {
            Some(changed) => changed.collect(),
            None => table.all().map(|entry| entry.id).chain(self.all().map(|(id, _)| id)).collect(),
        };
        let gone = ids
            .iter()
            .copied()
            .filter(|id| table.entry(*id).is_none() && self.known(*id).is_some())
            .collect();
        let entries = ids.into_iter().filter_map(|id| table.entry(id));
        let fresh = entries.filter(|entry| !self.is_current(entry)).cloned().collect();
        Stale { gone, fresh }
    }

    pub(super) fn known(&self, id: Id) -> Option<&Known> {
        self.known.get(id as usize)?.as_ref()
    }

    /// Whether it knows a file as it is now.
    pub fn is_current(&self, entry: &Entry) -> bool {
        self.known(entry.id).is_some_and(|known| known.version == entry.version)
    }

    /// All files, by id.
    fn all(&self) -> impl Iterator<Item = (Id, &Known)> {
        (0..).zip(&self.known).filter_map(|(id, known)| Some((id, known.as_ref()?)))
    }

    /// Forgets files with their links: all at once, since they may be in the same lists.
    pub(super) fn forget(&mut self, ids: &HashSet<Id>) {
        let (mut keys, mut lists) = (HashSet::new(), HashSet::new());
        for id in ids {
            let Some(known) = self.known.get_mut(*id as usize).and_then(Option::take) else {
                continue;
            };
            self.files.remove(&known.path);
            self.ids.remove(&known.path);
            self.changed_keys.insert(key_of(&known.path).into());
            keys.extend(known.keys);
            lists.extend(known.lists);
        }
        self.lists.remove(ids, &lists);
        for key in keys {
            let Some(written) = self.links.get_mut(&key) else { continue };
            for written in &mut *written {
                let gone = written.places.extract_if(.., |place| ids.contains(&place.source));
                for mut place in gone {
                    place.lead_to(Target::Nothing, &mut self.linked);
                    self.places -= 1;
                }
            }
            written.retain(|written| !written.places.is_empty());
            if written.is_empty() {
                self.links.remove(&key);
                self.doubtful_keys.remove(&key);
            }
        }
    }

    pub(super) fn add(&mut self, entry: &Entry, links: Vec<ReadLink>) {
        self.files.insert(&entry.path);
        self.ids.insert(Arc::clone(&entry.path), entry.id);
        self.changed_keys.insert(key_of(&entry.path).into());
        let mut keys: Vec<Arc<str>> = Vec::new();
        let room = LINKS_OF_VAULT - self.places.min(LINKS_OF_VAULT);
        if links.len() > room {
            let most = LINKS_OF_VAULT;
            let why = format!("the vault has more than {most} links: the rest is not known");
            warn_once("links of the vault", why);
        }
        for ReadLink { path, is_canvas_path, place } in links.into_iter().take(room) {
            self.places += 1;
            let key = key_of(&path);
            let known = self.links.get_key_value(&*key).map(|(known, _)| Arc::clone(known));
            let key = known.unwrap_or_else(|| key.into());
            let of_key = self.links.entry(Arc::clone(&key)).or_default();
            let at = of_key.binary_search_by(|written| {
                (&*written.path, written.is_canvas_path).cmp(&(&*path, is_canvas_path))
            });
            match at.map(|at| of_key.get_mut(at)) {
                Ok(Some(written)) => written.places.push(place),
                Ok(None) => {}
                Err(at) => {
                    of_key.insert(at, Written { path, is_canvas_path, places: vec![place] });
                }
            }
            keys.push(key);
        }
        keys.sort_unstable();
        keys.dedup();
        self.changed_keys.extend(keys.iter().cloned());
        let known = &self.known;
        let path_of = |id: Id| {
            known.get(id as usize).and_then(Option::as_ref).map_or("", |known| &*known.path)
        };
        let lists = self.lists.add(entry, &path_of);
        let (path, keys) = (Arc::clone(&entry.path), keys.into());
        let known = Known { version: entry.version, path, keys, lists };
        let slot = entry.id as usize;
        if slot >= self.known.len() {
            self.known.resize(slot + 1, None);
            self.linked.resize(slot + 1, 0);
        }
        if let Some(slot) = self.known.get_mut(slot) {
            *slot = Some(known);
        }
    }

    /// Resolves the links that may mean other files than before.
    pub(super) fn resolve_changed(&mut self) {
        let everything = Among { layers: &[&self.files], is_gone: &|_| false };
        for key in std::mem::take(&mut self.changed_keys) {
            let Some((key, mut of_key)) = self.links.remove_entry(&key) else { continue };
            let mut is_doubtful = false;
            for Written { path, is_canvas_path, places } in &mut of_key {
                let is_unique = !path.contains('/') && everything.is_unique(path);
                let mut last: Option<(Id, Target)> = None;
                for place in places {
                    let same_folder = |other: Id| {
                        folder_of(self.path(other)) == folder_of(self.path(place.source))
                    };
                    // A bare name that only one file has resolves to it from every folder.
                    let known = last.filter(|(other, _)| is_unique || same_folder(*other));
                    let target = match known {
                        Some((_, target)) => target,
                        None => self.target(path, *is_canvas_path, place.source),
                    };
                    place.lead_to(target, &mut self.linked);
                    last = Some((place.source, target));
                    is_doubtful |= !matches!(target, Target::One(_));
                }
            }
            if is_doubtful {
                self.doubtful_keys.insert(Arc::clone(&key));
            } else {
                self.doubtful_keys.remove(&key);
            }
            self.links.insert(key, of_key);
        }
    }

    fn target(&self, path: &str, is_canvas_path: bool, source: Id) -> Target {
        match self.resolve_path(path, is_canvas_path, folder_of(self.path(source))) {
            Resolved::Missing => Target::Nothing,
            Resolved::One(file) => {
                self.ids.get(file).map_or(Target::Nothing, |id| Target::One(*id))
            }
            Resolved::Several(_) => Target::Several,
        }
    }

    /// What a link leads to.
    pub(super) fn leads_to(&self, written: &Written, place: &Place) -> Resolved<'_> {
        match place.leads_to {
            Target::Nothing => Resolved::Missing,
            Target::One(id) => Resolved::One(self.path(id)),
            Target::Several => {
                let folder = folder_of(self.path(place.source));
                self.resolve_path(&written.path, written.is_canvas_path, folder)
            }
        }
    }

    /// Passes links with what they lead to, until `pass` says not to go on. Of the files that a
    /// link may mean only those of the last one are held; they are many where folders have notes of
    /// one name.
    pub(super) fn each_resolved<'a>(
        &'a self,
        links: impl Iterator<Item = (&'a Written, &'a Place)>,
        mut pass: impl FnMut(&'a Written, &'a Place, &Resolved<'a>) -> bool,
    ) {
        let mut last: Option<(&Written, &str, Resolved<'a>)> = None;
        for (written, place) in links {
            if place.leads_to != Target::Several {
                if !pass(written, place, &self.leads_to(written, place)) {
                    return;
                }
                continue;
            }
            let folder = folder_of(self.path(place.source));
            let same = last
                .take()
                .filter(|(known, within, _)| std::ptr::eq(*known, written) && *within == folder);
            let (.., resolved) = last
                .insert(same.unwrap_or_else(|| (written, folder, self.leads_to(written, place))));
            if !pass(written, place, resolved) {
                return;
            }
        }
    }

    /// The links of a key: path, whether that is a canvas path, and the file with the link.
    pub(crate) fn links_of_key(&self, key: &str) -> impl Iterator<Item = (&str, bool, &str)> {
        self.links_with(Some(vec![key.into()])).map(|(written, place)| {
            (&*written.path, written.is_canvas_path, self.path(place.source))
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
        let keys = files.iter().map(|file| key_of(file).into()).collect();
        let mut sources = BTreeSet::new();
        self.each_resolved(self.links_with(Some(keys)), |_, place, resolved| {
            if resolved.files().iter().any(|file| files.contains(file)) {
                sources.insert(self.path(place.source).to_owned());
            }
            true
        });
        sources
    }

    pub(super) fn path(&self, id: Id) -> &str {
        self.known(id).map_or("", |known| &known.path)
    }

    /// How many notes there are, and how many have each tag.
    pub fn count_tags(&self) -> (usize, BTreeMap<String, usize>) {
        (self.all().filter(|(_, known)| is_note(&known.path)).count(), self.lists.tags())
    }

    /// The notes that have a text as a property, or may have it; `None` for a text that may be
    /// written in several forms.
    pub fn with_text(&self, property: &str, text: &str) -> Option<Listed> {
        is_listed(text).then(|| self.lists.with_text(property, text))
    }

    /// All links, or with `keys` those of these keys.
    pub(super) fn links_with(
        &self,
        keys: Option<Vec<Arc<str>>>,
    ) -> impl Iterator<Item = (&Written, &Place)> {
        let all = keys.is_none().then_some(self.links.values()).into_iter().flatten();
        let some = keys.into_iter().flatten().filter_map(|key| self.links.get(&key));
        all.chain(some)
            .flatten()
            .flat_map(|written| written.places.iter().map(move |place| (written, place)))
    }

    /// The links that lead to nothing or may lead to several files, and others of their names.
    pub(super) fn doubtful_links(&self) -> impl Iterator<Item = (&Written, &Place)> {
        self.links_with(Some(self.doubtful_keys.iter().cloned().collect()))
    }

    /// The files that no other file has a link to.
    pub(super) fn orphans(&self) -> impl Iterator<Item = &Arc<str>> {
        let mut may_be_linked = HashSet::new();
        self.each_resolved(self.doubtful_links(), |_, place, resolved| {
            let source = self.path(place.source);
            if let Resolved::Several(files) = resolved {
                may_be_linked.extend(files.iter().copied().filter(|file| *file != source));
            }
            true
        });
        let is_linked = |id: Id| self.linked.get(id as usize).is_some_and(|count| *count > 0);
        self.all()
            .filter(move |(id, _)| !is_linked(*id))
            .map(|(_, known)| &known.path)
            .filter(move |path| !may_be_linked.contains(&***path))
    }

    /// The files without a link to another file.
    pub(super) fn dead_ends(&self) -> impl Iterator<Item = &Arc<str>> {
        let leads_out = |place: &Place| place.leads_to != Target::One(place.source);
        let sources: HashSet<Id> = self
            .links_with(None)
            .filter(|(_, place)| leads_out(place))
            .map(|(_, place)| place.source)
            .collect();
        self.all().filter(move |(id, _)| !sources.contains(id)).map(|(_, known)| &known.path)
    }
}

impl Place {
    /// Sets what it leads to, and counts it there.
    fn lead_to(&mut self, target: Target, linked: &mut [u32]) {
        let mut count = |target: Target, change: fn(u32, u32) -> u32| {
            if let Target::One(id) = target
                && id != self.source
                && let Some(count) = linked.get_mut(id as usize)
            {
                *count = change(*count, 1);
            }
        };
        count(self.leads_to, u32::saturating_sub);
        count(target, u32::saturating_add);
        self.leads_to = target;
    }
}
