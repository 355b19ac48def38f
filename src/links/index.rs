//! The links of all files, by the name that they have: they are updated with the index of files,
//! and a query resolves only links that may match.

use crate::markdown::links::{Link, Syntax, key_of};
use crate::markdown::resolve::{Among, Files, Resolved};
use crate::vault::entry::{Entry, Id};
use crate::vault::index::table::Table;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What the link index knows about a file.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The version of the entry it was read from.
    version: u64,
    pub(super) path: Arc<str>,
    /// The keys of its links, each once.
    pub(super) keys: Vec<Box<str>>,
}

/// The names of all files and of all links.
#[derive(Debug, Default, Clone)]
pub struct LinkIndex {
    pub(super) version: Option<u64>,
    pub(super) known: HashMap<Id, Known>,
    pub(crate) files: Files,
    /// Links by key: file name without folder and any `.md` at its end, in lower case and NFC
    /// ([`key_of`]). A link can only mean a file with its own key.
    links: HashMap<Box<str>, LinksOfKey>,
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

/// By path as written, and whether it is a canvas path: the files with such a link, once for each
/// link.
type LinksOfKey = BTreeMap<(Box<str>, bool), Vec<Id>>;

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

    pub(super) fn forget(&mut self, id: Id) {
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

    pub(super) fn add(&mut self, entry: &Entry, paths: Vec<(Box<str>, bool)>) {
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
    pub(crate) fn links_of_key(&self, key: &str) -> impl Iterator<Item = (&str, bool, &str)> {
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
    pub(super) fn count_links<'a>(
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
