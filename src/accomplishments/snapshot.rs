//! All accomplishments at one moment, and what follows from them. One pass over the index; every
//! result is computed from one snapshot, so that its numbers are consistent.

use super::canvas::Canvas;
use super::note::{Body, depends_on, text_of, unique};
use super::status::nearest;
use super::{Accomplishments, EFFORTS, Error, PRIORITIES, STATUSES, malformed, one_of};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::markdown::properties;
use crate::slice::Part;
use crate::vault::{Entry, Vault, VaultPath};
use serde_yaml::Mapping;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// Lines at the start of a malformed note that are searched for its type and id.
const PROPERTY_LINES: usize = 60;

/// An accomplishment as its note says.
#[derive(Debug, Clone, PartialEq)]
pub struct Accomplishment {
    /// Its note.
    pub path: VaultPath,
    /// `ACC-001`.
    pub id: String,
    /// Display name.
    pub title: String,
    /// One of [`EFFORTS`].
    pub effort: &'static str,
    /// One of [`STATUSES`].
    pub status: &'static str,
    /// One of [`PRIORITIES`].
    pub priority: &'static str,
    /// Whether it is marked as being worked on.
    pub in_progress: bool,
    /// The ids it depends on.
    pub depends_on: Vec<String>,
    /// The canvas that it names.
    pub canvas_source: Option<String>,
    /// What the rest of the note says.
    pub body: Body,
    /// Messages about unknown values written by hand, and what they count as.
    pub unknown_values: Vec<String>,
}

impl Accomplishment {
    /// Reads a note.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn read(
        path: &VaultPath,
        text: &str,
        properties: &Mapping,
    ) -> Result<Accomplishment, String> {
        let value = |key: &str| text_of(properties, key).filter(|text| !text.is_empty());
        let id = value("id").ok_or("it has no id")?;
        if number_of(&id).is_none() {
            return Err(format!(
                "its id {:?} is not ACC- and a number",
                id.chars().take(40).collect::<String>()
            ));
        }
        let mut unknown_values = Vec::new();
        let mut chosen = |key: &str, known: &[&'static str], missing: &'static str| {
            let Some(text) = value(key) else { return missing };
            one_of(known, &text).unwrap_or_else(|| {
                let nearest = nearest(known, &text).unwrap_or(missing);
                let shown: String = text.chars().take(40).collect();
                unknown_values.push(format!(
                    "its {key} {shown:?} is none of {}; it counts as {nearest}",
                    known.join(", ")
                ));
                nearest
            })
        };
        let name = path.name();
        Ok(Accomplishment {
            title: value("title").unwrap_or_else(|| {
                name.get(..name.len().saturating_sub(3)).unwrap_or(name).to_owned()
            }),
            effort: chosen("effort", &EFFORTS, "Engineering"),
            status: chosen("status", &STATUSES, "Not Started"),
            priority: chosen("priority", &PRIORITIES, "High"),
            in_progress: value("inProgress").is_some_and(|text| text.eq_ignore_ascii_case("true")),
            depends_on: depends_on(properties),
            canvas_source: value("canvas_source"),
            body: Body::of(text),
            unknown_values,
            path: path.clone(),
            id,
        })
    }

    /// What `depends_on` has instead of ids.
    fn links(&self) -> Vec<&str> {
        let is_id = |text: &&str| number_of(text).is_some();
        self.depends_on.iter().map(String::as_str).filter(|text| !is_id(text)).collect()
    }

    fn with_links_resolved(&self, names: &HashMap<String, Option<String>>) -> Accomplishment {
        let mut resolved = self.clone();
        resolved.depends_on = unique(self.depends_on.iter().map(|text| {
            // A title may have all characters, and a link to a note its path and a heading.
            let link = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
            let target = link.and_then(|link| link.split(['|', '#']).next()).map(stem);
            names.get(&fold_name(target.unwrap_or(text))).and_then(Option::as_deref).unwrap_or(text)
        }));
        let unknown = resolved.links().into_iter().map(|text| {
            let text: String = text.chars().take(80).collect();
            format!("its depends_on has {text:?}, neither an id nor the note of one accomplishment")
        });
        let unknown: Vec<String> = unknown.collect();
        resolved.unknown_values.extend(unknown);
        resolved
    }

    /// How many of its tasks are complete.
    pub fn completed_tasks(&self) -> usize {
        self.body.tasks.iter().filter(|task| task.status == "Complete").count()
    }
}

/// The last part of a path, without the extension of a note.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path).trim();
    name.strip_suffix(".md").unwrap_or(name)
}

/// A key that is equal for names that people, or other file systems, do not distinguish.
pub(super) fn fold_name(name: &str) -> String {
    name.nfkc().collect::<String>().to_lowercase().nfc().collect()
}

/// The number in `ACC-012`.
pub(super) fn number_of(id: &str) -> Option<u32> {
    id.strip_prefix("ACC-")
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
}

/// A note that calls itself an accomplishment but cannot be read as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path.
    pub path: String,
    /// The id found in it.
    pub id: Option<String>,
    /// What is wrong.
    pub why: String,
}

/// What the notes said, by path, each with the version it was read at.
pub(super) type Known = HashMap<Arc<str>, (u64, Read)>;

/// `None` for a note that does not call itself an accomplishment.
type Read = Result<Option<Arc<Accomplishment>>, Problem>;

/// All accomplishments at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Sorted by id number, then by id, then by path.
    pub(super) all: Vec<Arc<Accomplishment>>,
    /// Notes that cannot be read as one.
    pub problems: Vec<Problem>,
    /// Ids that several notes have.
    pub duplicates: Vec<String>,
}

impl Accomplishments {
    /// Reads all accomplishments from the index, brought up to date.
    ///
    /// # Errors
    /// The vault's.
    pub fn snapshot(&self, vault: &Vault) -> Result<Snapshot, Error> {
        vault.refresh()?;
        self.snapshot_of_index(vault)
    }

    pub(super) fn snapshot_of_index(&self, vault: &Vault) -> Result<Snapshot, Error> {
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        let mut known = self.known.lock().unpoisoned();
        let mut now = Known::new();
        for entry in vault.files_below(&self.options.folder, ".md") {
            // A note is read again only when it has changed.
            let read = match known.remove(&entry.path) {
                Some((version, read)) if version == entry.version() => read,
                _ => read(vault, &entry),
            };
            match &read {
                Ok(Some(accomplishment)) => all.push(Arc::clone(accomplishment)),
                Ok(None) => {}
                Err(problem) => problems.push(problem.clone()),
            }
            now.insert(entry.path.clone(), (entry.version(), read));
        }
        *known = now;
        Ok(Snapshot::of(all, problems))
    }
}

fn read(vault: &Vault, entry: &Entry) -> Read {
    let problem =
        |id: Option<String>, why: String| Problem { path: entry.path.to_string(), id, why };
    let path =
        VaultPath::file(&entry.path).map_err(|_| problem(None, "its name is not served".into()))?;
    let text = vault.text(entry).map_err(|error| problem(None, error.to_string()))?;
    let is_one = |properties: &Mapping| {
        text_of(properties, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("accomplishment"))
    };
    let properties = match properties::parse(&text) {
        Ok(properties) => properties,
        Err(why) => {
            // Frontmatter that cannot be parsed may still show what it was meant to be.
            let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
            let line = |key: &str| {
                text.lines().take(PROPERTY_LINES).find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    bare(name)
                        .eq_ignore_ascii_case(key)
                        .then(|| bare(value.split(" #").next().unwrap_or_default()))
                })
            };
            let is_one =
                line("type").is_some_and(|kind| kind.eq_ignore_ascii_case("accomplishment"));
            return if is_one { Err(problem(line("id"), why)) } else { Ok(None) };
        }
    };
    if !is_one(&properties) {
        return Ok(None);
    }
    Accomplishment::read(&path, &text, &properties)
        .map(|found| Some(Arc::new(found)))
        .map_err(|why| problem(text_of(&properties, "id"), why))
}

impl Snapshot {
    pub(super) fn of(mut all: Vec<Arc<Accomplishment>>, problems: Vec<Problem>) -> Snapshot {
        all.sort_unstable_by(|a, b| {
            (number_of(&a.id), &a.id, &a.path).cmp(&(number_of(&b.id), &b.id, &b.path))
        });
        let same_id = all.chunk_by(|a, b| a.id == b.id);
        let mut duplicates: Vec<String> =
            same_id.filter_map(|notes| Some(notes.get(1)?.id.clone())).collect();
        duplicates.sort_unstable();
        let mut snapshot = Snapshot { all, problems, duplicates };
        let has_link = |found: &Arc<Accomplishment>| !found.links().is_empty();
        if snapshot.all.iter().any(has_link) {
            let names = snapshot.names();
            for found in snapshot.all.iter_mut().filter(|found| has_link(found)) {
                *found = Arc::new(found.with_links_resolved(&names));
            }
        }
        snapshot
    }

    /// The ids by title and by the name of the note; `None` where several have one.
    fn names(&self) -> HashMap<String, Option<String>> {
        let mut names = HashMap::new();
        for found in self.iter() {
            let own: HashSet<String> =
                [&*found.title, stem(found.path.as_str())].into_iter().map(fold_name).collect();
            for name in own {
                let id = names.entry(name).or_insert_with(|| Some(found.id.clone()));
                id.take_if(|id| *id != found.id);
            }
        }
        names
    }

    /// Puts ids into `depends_on` where a person has written links to notes or their titles.
    pub(super) fn resolve_links(&self, accomplishment: &mut Accomplishment) {
        if !accomplishment.links().is_empty() {
            *accomplishment = accomplishment.with_links_resolved(&self.names());
        }
    }

    /// All that have this id.
    fn with_id(&self, id: &str) -> &[Arc<Accomplishment>] {
        let from = self.all.partition_point(|found| {
            (number_of(&found.id), found.id.as_str()) < (number_of(id), id)
        });
        let rest = self.all.part(from..);
        rest.part(..rest.partition_point(|found| found.id == id))
    }

    /// The accomplishment with an id.
    ///
    /// # Errors
    /// [`Error::AccomplishmentNotFound`], [`Error::DuplicateId`] naming the notes,
    /// [`Malformed`](crate::vault::Error::Malformed) naming the broken one.
    pub fn find(&self, id: &str) -> Result<&Accomplishment, Error> {
        let taken = |by: String| {
            Error::DuplicateId(format!(
                "{id} is the id of {by}. A person has to give one of them another id."
            ))
        };
        match (
            self.with_id(id),
            self.problems.iter().find(|problem| problem.id.as_deref() == Some(id)),
        ) {
            ([one], None) => Ok(one),
            ([one], Some(broken)) => Err(taken(format!(
                "{} and of {}, which cannot be read",
                one.path.as_str(),
                broken.path
            ))),
            ([], Some(Problem { path, why, .. })) => Err(malformed(path)(why.clone())),
            ([], None) => {
                let id: String = id.chars().take(60).collect();
                Err(Error::AccomplishmentNotFound(format!(
                    "There is no accomplishment {id}. list_accomplishments shows those that exist."
                )))
            }
            (several, _) => {
                let paths: Vec<&str> = several
                    .iter()
                    .take(limits::NOTES_NAMED)
                    .map(|found| found.path.as_str())
                    .collect();
                Err(taken(paths.join(" and ")))
            }
        }
    }

    /// Whether everything with this id is completed; an unknown id is not.
    fn is_completed(&self, id: &str) -> bool {
        let found = self.with_id(id);
        !found.is_empty() && found.iter().all(|found| found.status == "Completed")
    }

    /// What an accomplishment waits for: the dependencies that are not completed, unless it is
    /// completed itself.
    pub fn blocking<'a>(
        &'a self,
        accomplishment: &'a Accomplishment,
    ) -> impl Iterator<Item = &'a str> {
        let is_open = accomplishment.status != "Completed";
        let ids = accomplishment.depends_on.iter().map(String::as_str);
        ids.filter(move |id| is_open && !self.is_completed(id))
    }

    /// Whether an accomplishment waits for another one.
    pub fn is_blocked(&self, accomplishment: &Accomplishment) -> bool {
        self.blocking(accomplishment).next().is_some()
    }

    /// Whether an accomplishment can be started.
    pub fn is_ready(&self, accomplishment: &Accomplishment) -> bool {
        accomplishment.status == "Not Started" && !self.is_blocked(accomplishment)
    }

    /// The accomplishment with an id, if there is one; of several with the same id, the first.
    pub fn first_with_id(&self, id: &str) -> Option<&Accomplishment> {
        self.with_id(id).first().map(Arc::as_ref)
    }

    /// The id of each note, by its path.
    pub(super) fn ids_by_path(&self) -> HashMap<&str, &str> {
        self.iter().map(|found| (found.path.as_str(), found.id.as_str())).collect()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Accomplishment> {
        self.all.iter().map(Arc::as_ref)
    }

    /// Those whose note is on a canvas.
    pub(super) fn with_node_on<'a>(&'a self, canvas: &Canvas) -> Vec<&'a Accomplishment> {
        let shown: HashSet<&str> =
            canvas.nodes.iter().filter_map(|node| node.file.as_deref()).collect();
        self.iter().filter(|accomplishment| shown.contains(accomplishment.path.as_str())).collect()
    }
}
