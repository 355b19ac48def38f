//! The file to which Obsidian resolves the target of a link.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// What a target means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved<'a> {
    Missing,
    One(&'a str),
    /// Obsidian opens the one that comes first in its index.
    Several(Vec<&'a str>),
}

impl<'a> Resolved<'a> {
    fn of(mut files: Vec<&'a str>) -> Resolved<'a> {
        files.sort_unstable();
        match files.as_slice() {
            [] => Resolved::Missing,
            [only] => Resolved::One(only),
            _ => Resolved::Several(files),
        }
    }

    /// The files that it may mean.
    pub fn files(&self) -> &[&'a str] {
        match self {
            Resolved::Missing => &[],
            Resolved::One(file) => std::slice::from_ref(file),
            Resolved::Several(files) => files,
        }
    }
}

/// A name normalized for comparison: NFC, no-break spaces as spaces, lower case.
pub fn comparable_name(name: &str) -> String {
    name.nfc()
        .map(|c| if matches!(c, '\u{a0}' | '\u{202f}') { ' ' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Files by their last name as [`comparable_name`] gives it, so that a link is resolved without
/// looking at all files of its name: in a vault of folder notes every folder has an `index.md`.
#[derive(Debug, Default, Clone)]
pub struct Files(HashMap<Box<str>, SameName>);

/// The files of one name.
#[derive(Debug, Default, Clone)]
struct SameName {
    /// The comparable path, and the path.
    by_path: BTreeSet<(Arc<str>, Arc<str>)>,
    /// With the length of the comparable path in front, as JavaScript counts it. Empty while there
    /// is only one file.
    by_length: BTreeSet<(usize, Arc<str>, Arc<str>)>,
}

/// Of so many files below a folder the shortest path is looked for one by one.
const FEW: usize = 32;

impl SameName {
    fn insert(&mut self, comparable: Arc<str>, path: Arc<str>) {
        let with_length = |(comparable, path): &(Arc<str>, Arc<str>)| {
            (length(comparable), Arc::clone(comparable), Arc::clone(path))
        };
        let file = (comparable, path);
        if !self.by_path.is_empty() {
            let known = if self.by_length.is_empty() { self.by_path.first() } else { None };
            self.by_length.extend(known.into_iter().chain([&file]).map(with_length));
        }
        self.by_path.insert(file);
    }

    fn remove(&mut self, comparable: &str, path: &str) {
        let file: (Arc<str>, Arc<str>) = (comparable.into(), path.into());
        self.by_path.remove(&file);
        self.by_length.remove(&(length(comparable), file.0, file.1));
        if self.by_path.len() < 2 {
            self.by_length.clear();
        }
    }

    /// The files whose comparable path is this one. Several may differ in case only.
    fn at<'a>(&'a self, comparable: &str) -> impl Iterator<Item = &'a str> {
        let from: (Arc<str>, Arc<str>) = (comparable.into(), "".into());
        let wanted = Arc::clone(&from.0);
        self.by_path
            .range(from..)
            .take_while(move |(own, _)| *own == wanted)
            .map(|(_, path)| &**path)
    }

    /// The shortest paths below a folder (`folder/`) that end like this, with their length.
    fn shortest<'a>(
        &'a self,
        below: &str,
        ending: &str,
        is_gone: &dyn Fn(&str) -> bool,
    ) -> Option<(usize, Vec<&'a str>)> {
        let is_meant = |own: &str, path: &str| {
            own.starts_with(below) && own.ends_with(ending) && !is_gone(path)
        };
        let from: (Arc<str>, Arc<str>) = (below.into(), "".into());
        let few: Vec<_> = self
            .by_path
            .range(from..)
            .take_while(|(own, _)| own.starts_with(below))
            .take(FEW)
            .collect();
        if few.len() < FEW {
            let meant = few
                .into_iter()
                .filter(|(own, path)| is_meant(own, path))
                .map(|(own, path)| (length(own), &**path));
            return shortest_of(meant.collect());
        }
        let mut all = self.by_length.iter().filter(|(_, own, path)| is_meant(own, path));
        let (length, _, first) = all.next()?;
        let others = all.take_while(|(own, ..)| own == length).map(|(.., path)| &**path);
        Some((*length, [&**first].into_iter().chain(others).collect()))
    }
}

fn length(comparable: &str) -> usize {
    comparable.encode_utf16().count()
}

fn shortest_of(files: Vec<(usize, &str)>) -> Option<(usize, Vec<&str>)> {
    let least = files.iter().map(|(length, _)| *length).min()?;
    Some((
        least,
        files.into_iter().filter(|(length, _)| *length == least).map(|(_, path)| path).collect(),
    ))
}

impl Files {
    pub fn insert(&mut self, path: &Arc<str>) {
        let comparable: Arc<str> = comparable_name(path).into();
        self.0.entry(name_of(&comparable).into()).or_default().insert(comparable, Arc::clone(path));
    }

    pub fn remove(&mut self, path: &str) {
        let comparable = comparable_name(path);
        let name = name_of(&comparable);
        if let Some(files) = self.0.get_mut(name) {
            files.remove(&comparable, path);
            if files.by_path.is_empty() {
                self.0.remove(name);
            }
        }
    }

    /// The file at a path: of those that differ in case only, the one that is written.
    fn at(&self, path: &str) -> Option<&str> {
        let comparable = comparable_name(path);
        let files = self.0.get(name_of(&comparable))?;
        files.at(&comparable).find(|file| *file == path).or_else(|| files.at(&comparable).next())
    }
}

/// The files of one name in a layer, and whether one of them is left out.
struct Named<'a, 'b> {
    files: &'a SameName,
    is_gone: &'b dyn Fn(&str) -> bool,
}

/// The files among which a link is resolved.
pub struct Among<'a, 'b> {
    /// Those of the vault, and, where some move, those at their new paths.
    pub layers: &'b [&'a Files],
    /// Whether a file of the first layer is to be left out.
    pub is_gone: &'b dyn Fn(&str) -> bool,
}

impl<'a> Among<'a, '_> {
    /// Each layer's files of a name.
    fn of_name(&self, name: &str) -> Vec<Named<'a, '_>> {
        let layers = self.layers.iter().enumerate();
        let named = |(number, files): (usize, &&'a Files)| {
            let is_gone = if number == 0 { self.is_gone } else { &|_: &str| false };
            Some(Named { files: files.0.get(name)?, is_gone })
        };
        layers.filter_map(named).collect()
    }

    /// Whether a link of this bare name can mean one file alone, from every folder.
    pub fn is_unique(&self, name: &str) -> bool {
        let name = comparable_name(name);
        let count = |name: &str| -> usize {
            let layers = self.of_name(name);
            let files = layers.iter().map(|layer| {
                layer
                    .files
                    .by_path
                    .iter()
                    .filter(|(_, path)| !(layer.is_gone)(path))
                    .take(2)
                    .count()
            });
            files.sum()
        };
        count(&name) + count(&format!("{name}.md")) == 1
    }

    /// Resolves the path of a canvas, which is a path from the root.
    pub fn at(&self, path: &str) -> Resolved<'a> {
        let mut layers = self.layers.iter().enumerate();
        let found = layers.find_map(|(number, files)| {
            files.at(path).filter(|file| number > 0 || !(self.is_gone)(file))
        });
        found.map_or(Resolved::Missing, Resolved::One)
    }

    /// Resolves the path of a link in a note of the folder `source`. An empty path, which means the
    /// note itself, is [`Resolved::Missing`].
    pub fn resolve(&self, path: &str, source: &str) -> Resolved<'a> {
        let wanted = comparable_name(path.trim());
        if name_of(&wanted).is_empty() {
            return Resolved::Missing;
        }
        // A name with a dot is first tried as a complete file name.
        if name_of(&wanted).contains('.') {
            let found = self.resolve_as(&wanted, source);
            if found != Resolved::Missing {
                return found;
            }
        }
        self.resolve_as(&format!("{wanted}.md"), source)
    }

    /// The same for a comparable path with its extension.
    fn resolve_as(&self, wanted: &str, source: &str) -> Resolved<'a> {
        let named = self.of_name(name_of(wanted));
        let mut all = named.iter().flat_map(|named| {
            named.files.by_path.iter().filter(|(_, path)| !(named.is_gone)(path))
        });
        match (all.next(), all.next()) {
            (None, _) => return Resolved::Missing,
            (Some((_, only)), None) if !wanted.contains('/') => return Resolved::One(only),
            _ => {}
        }
        let exact = |comparable: &str| {
            let found = named
                .iter()
                .flat_map(|named| named.files.at(comparable).filter(|path| !(named.is_gone)(path)));
            Some(Resolved::of(found.collect())).filter(|found| *found != Resolved::Missing)
        };
        let source = comparable_name(source);
        if is_relative(wanted)
            && let Some(found) = joined(&source, wanted).and_then(|path| exact(&path))
        {
            return found;
        }
        if let Some(found) = exact(wanted.trim_start_matches('/')) {
            return found;
        }
        if wanted.starts_with('/') {
            return Resolved::Missing;
        }
        // As in Obsidian the ending may begin inside the name of a folder. First what is below the
        // note's folder, then the shortest path.
        let ending = wanted.trim_start_matches("./").trim_start_matches("../");
        let below = if source.is_empty() { source } else { source + "/" };
        let best = |below: &str| {
            let found: Vec<_> = named
                .iter()
                .filter_map(|named| named.files.shortest(below, ending, named.is_gone))
                .collect();
            let least = found.iter().map(|(length, _)| *length).min()?;
            Some(Resolved::of(
                found
                    .into_iter()
                    .filter(|(length, _)| *length == least)
                    .flat_map(|(_, files)| files)
                    .collect(),
            ))
        };
        best(&below).or_else(|| best("")).unwrap_or(Resolved::Missing)
    }
}

/// Resolves the path of a link in a note of the folder `source` among some files.
pub fn resolve<'a>(path: &str, source: &str, files: &'a Files) -> Resolved<'a> {
    Among { layers: &[files], is_gone: &|_| false }.resolve(path, source)
}

/// The last name of a path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a path is relative to the folder of its note.
pub fn is_relative(path: &str) -> bool {
    path.starts_with("./") || path.starts_with("../")
}

/// Whether the path of a link, taken as relative to the folder `source`, is exactly that of a file.
pub fn leads_to(path: &str, source: &str, file: &str) -> bool {
    let (wanted, file) = (comparable_name(path.trim()), comparable_name(file));
    let found = joined(&comparable_name(source), &wanted);
    found.is_some_and(|found| found == file || format!("{found}.md") == file)
}

/// The relative path from a folder to a file, both given from the root.
pub fn relative(folder: &str, file: &str) -> String {
    let (folder, file): (Vec<&str>, Vec<&str>) =
        (folder.split('/').filter(|name| !name.is_empty()).collect(), file.split('/').collect());
    let shared = folder
        .iter()
        .zip(&file)
        .take_while(|(one, other)| one == other)
        .count()
        .min(file.len() - 1);
    let up = folder.iter().skip(shared).map(|_| "..");
    up.chain(file.into_iter().skip(shared)).collect::<Vec<_>>().join("/")
}

/// A relative path joined to a folder; `None` where it leaves the vault.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_mean_the_files_that_obsidian_opens() {
        let files = [
            "Note.md",
            "a/Same.md",
            "b/Same.md",
            "b/c/Same.md",
            "a/Only.md",
            "img/p.png",
            "x.y.md",
            "a/Cafe\u{301}.md",
            "b/Deep.md",
            "b/x/Deep.md",
            "long name/y/Same.md",
            "very/far/Deeper.md",
            "a-longer-folder/Deeper.md",
        ];
        let mut known = Files::default();
        files.iter().for_each(|path| known.insert(&Arc::from(*path)));
        let of = |path: &str, source: &str| resolve(path, source, &known);
        use Resolved::{Missing, One, Several};
        for (path, source, expected) in [
            ("note", "", One("Note.md")),
            ("Only", "b", One("a/Only.md")),
            ("Only.md", "", One("a/Only.md")),
            ("p", "", Missing),
            ("p.png", "a", One("img/p.png")),
            ("x.y", "", One("x.y.md")),
            ("Caf\u{e9}", "", One("a/Cafe\u{301}.md")),
            ("b/Same", "", One("b/Same.md")),
            ("c/same", "", One("b/c/Same.md")),
            ("./Same", "b/c", One("b/c/Same.md")),
            ("../Same", "b/c", One("b/Same.md")),
            ("/a/Same", "b", One("a/Same.md")),
            ("/Same", "b", Missing),
            ("Same", "b", One("b/Same.md")),
            ("Same", "", Several(vec!["a/Same.md", "b/Same.md"])),
            ("y/same", "", One("long name/y/Same.md")),
            ("Deeper", "", One("very/far/Deeper.md")),
            ("Deep", "b", One("b/Deep.md")),
            ("Nothing", "", Missing),
            ("", "", Missing),
        ] {
            let found = of(path, source);
            let is_same = match (&found, &expected) {
                (Several(some), Several(others)) => some.first() == others.first(),
                _ => found == expected,
            };
            assert!(is_same, "{path} in {source}: {found:?}");
        }
    }
}
