//! Creating, updating and deleting accomplishments; their tasks; what is being worked on.

use super::canvas::node_of;
use super::change::{Change, Changed};
use super::dependency::{Graph, connect, set_dependencies};
use super::note::{Note, must_be_text, template};
use super::position::{NODE_HEIGHT, NODE_WIDTH, place};
use super::snapshot::{Accomplishment, number_of};
use super::task::{self, Task, TaskStatus, normal, shown_hours};
use super::{Accomplishments, Error};
use crate::clock::Now;
use crate::limits;
use crate::markdown::properties::flow;
use crate::secret;
use crate::vault::{Vault, VaultPath};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// What an accomplishment is to be; what is `None` stays, or gets its default. Values of enumerations are known ones.
#[derive(Debug, Clone, Default)]
pub struct Data<'a> {
    /// Display name.
    pub title: Option<&'a str>,
    /// One of [`super::EFFORTS`].
    pub effort: Option<&'a str>,
    /// One of [`super::PRIORITIES`].
    pub priority: Option<&'a str>,
    /// One of [`super::STATUSES`].
    pub status: Option<&'a str>,
    /// The state when it is done.
    pub outcome: Option<&'a str>,
    /// What has to be so then.
    pub acceptance_criteria: Option<Vec<&'a str>>,
    /// Ids.
    pub depends_on: Option<Vec<&'a str>>,
    /// The canvas it goes on.
    pub canvas_source: Option<&'a str>,
    /// Free text.
    pub notes: Option<&'a str>,
    /// Whether it is being worked on.
    pub in_progress: Option<bool>,
}

/// What a task is to be; what is `None` stays, or gets its default.
#[derive(Debug, Clone, Default)]
pub struct TaskData<'a> {
    /// Its name.
    pub name: Option<&'a str>,
    /// What it achieves.
    pub goal: Option<&'a str>,
    /// Details.
    pub description: Option<&'a str>,
    /// How.
    pub technical_notes: Option<&'a str>,
    /// Hours.
    pub estimate: Option<f64>,
    /// One of [`TaskStatus::NAMES`].
    pub status: Option<&'a str>,
    /// Anything else.
    pub notes: Option<&'a str>,
}

impl Accomplishments {
    /// Creates an accomplishment: a note, and a node on a canvas with edges from those it depends on. With `id`, under that
    /// one; else under the next.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] for a title that is there, [`Error::DuplicateId`] for an id that is taken,
    /// [`Error::AccomplishmentNotFound`], [`Error::CircularDependency`], [`Error::CanvasNotFound`],
    /// [`Error::InvalidArgument`], or the vault's.
    pub fn create(&self, vault: &Vault, id: Option<&str>, data: &Data<'_>) -> Result<Changed, Error> {
        let missing = |what: &str| Error::InvalidArgument(format!("data.{what} is required to create an accomplishment."));
        if data.notes.is_some() || data.in_progress.is_some() {
            return Err(Error::InvalidArgument(
                "data.notes and data.inProgress cannot be given when an accomplishment is created; update it afterwards.".into(),
            ));
        }
        let title = checked_title(data.title.ok_or_else(|| missing("title"))?)?;
        let effort = data.effort.ok_or_else(|| missing("effort"))?;
        let canvas_path = self.canvas(data.canvas_source)?;
        self.change(vault, |change| {
            let path = VaultPath::file(&format!("{}/{}.md", self.options.folder.as_str(), file_name(&title)))?;
            must_be_free(change, &title, &path, None)?;
            let id = match id {
                Some(id) => free_id(change, id)?,
                None => free_id(change, &next_id(change))?,
            };
            let blockers = unique(data.depends_on.as_deref().unwrap_or_default());
            for blocker in &blockers {
                if *blocker == id {
                    return Err(Error::CircularDependency(format!("{id} cannot depend on itself.")));
                }
                change.snapshot.find(blocker)?;
            }
            Graph::of(change.snapshot).ensure_acyclic(&blockers, &id, "")?;
            let now = Now::read().rfc3339();
            let value = |value: Value| flow(&value, None);
            let text = |text: &str| value(text.into());
            let properties = [
                ("type", text("accomplishment")),
                ("title", text(&title)),
                ("id", text(&id)),
                ("effort", text(effort)),
                ("status", text(data.status.unwrap_or("Not Started"))),
                ("priority", text(data.priority.unwrap_or("High"))),
                ("inProgress", value(false.into())),
                ("depends_on", value(blockers.clone().into())),
                ("created_by_plugin", value(true.into())),
                ("collapsed_height", "100".to_owned()),
                ("expanded_height", NODE_HEIGHT.to_string()),
                ("expanded_width", NODE_WIDTH.to_string()),
                ("created", text(&now)),
                ("updated", text(&now)),
                ("canvas_source", text(canvas_path.as_str())),
                ("vault_path", text(path.as_str())),
            ];
            let mut note = Note::new(template(&properties, &title), path.as_str())?;
            if let Some(outcome) = data.outcome.filter(|outcome| !outcome.trim().is_empty()) {
                note.set_section("Outcome", outcome)?;
            }
            if let Some(criteria) = &data.acceptance_criteria {
                note.set_criteria(criteria)?;
            }
            let snapshot = change.snapshot;
            let canvas = change.canvas(&canvas_path, true)?;
            let node = secret::new_id().map_err(no_randomness)?;
            let node = node.get(..16).unwrap_or_default();
            let (at, from) = {
                let canvas = canvas.read()?;
                let mut nodes = Vec::new();
                for blocker in &blockers {
                    nodes.push(node_of(&canvas, change_path(snapshot, blocker)?, blocker, &canvas_path)?);
                }
                (place(&canvas, &nodes, None), nodes.iter().map(|node| node.id.to_string()).collect::<Vec<_>>())
            };
            canvas.add_node(node, &path, at, (NODE_WIDTH, NODE_HEIGHT));
            for blocker in &from {
                connect(canvas, blocker, node)?;
            }
            let properties = note.properties()?;
            let accomplishment =
                Accomplishment::read(&path, &note.text, &properties).map_err(|why| Error::Parse { path: path.as_str().into(), why })?;
            let etag = crate::vault::etag(note.text.as_bytes());
            change.create(path, note.text);
            Ok(Changed { accomplishment, properties, etag })
        })
        .inspect(|changed| {
            self.raise(number_of(&changed.accomplishment.id).unwrap_or(0));
        })
    }

    /// Updates an accomplishment; with no data only the time of its last update.
    ///
    /// # Errors
    /// As [`Accomplishments::create`], and [`crate::vault::Error::Conflict`] when the note is not what the caller has read.
    pub fn update(&self, vault: &Vault, id: &str, data: &Data<'_>, if_match: Option<&str>) -> Result<Changed, Error> {
        if data.canvas_source.is_some() {
            return Err(Error::InvalidArgument("data.canvas_source cannot be changed: an accomplishment stays on its canvas.".into()));
        }
        let title = data.title.map(checked_title).transpose()?;
        self.change(vault, |change| {
            let accomplishment = change.snapshot.find(id)?.clone();
            let path = &accomplishment.path;
            change.must_match(path, if_match)?;
            let note = change.note(path)?;
            for (key, value) in [("effort", data.effort), ("status", data.status), ("priority", data.priority)] {
                if let Some(value) = value {
                    note.set(key, value)?;
                }
            }
            if let Some(truth) = data.in_progress {
                note.set("inProgress", truth)?;
            }
            if let Some(outcome) = data.outcome {
                note.set_section("Outcome", outcome)?;
            }
            if let Some(criteria) = &data.acceptance_criteria {
                note.set_criteria(criteria)?;
            }
            if let Some(notes) = data.notes {
                note.set_section("Notes", notes)?;
            }
            if let Some(wanted) = &data.depends_on {
                set_dependencies(change, &accomplishment, &unique(wanted))?;
            }
            if let Some(title) = &title {
                retitle(change, &accomplishment, title)?;
            }
            change.touch(path)?;
            change.outcome(path)
        })
    }

    /// Deletes an accomplishment: its note goes to the trash, its nodes and their edges, and its id in what depended on it.
    ///
    /// # Errors
    /// As [`Accomplishments::update`].
    pub fn delete(&self, vault: &Vault, id: &str, if_match: Option<&str>) -> Result<(), Error> {
        self.change(vault, |change| {
            let accomplishment = change.snapshot.find(id)?.clone();
            let path = &accomplishment.path;
            change.must_match(path, if_match)?;
            change.note(path)?;
            change.trash(path);
            for canvas in change.canvases_with(path)? {
                change.canvas(&canvas, false)?.remove_file(path)?;
            }
            let waiting = change.snapshot.all.iter().filter(|other| other.id != id && other.depends_on.iter().any(|known| known == id));
            for other in waiting.cloned().collect::<Vec<_>>() {
                let left: Vec<String> = other.depends_on.iter().filter(|known| *known != id).cloned().collect();
                change.note(&other.path)?.set("depends_on", left.as_slice())?;
                change.touch(&other.path)?;
            }
            self.raise(number_of(id).unwrap_or(0));
            Ok(())
        })
    }

    /// Adds a task to an accomplishment.
    ///
    /// # Errors
    /// Those of [`super::Snapshot::find`], [`Error::InvalidArgument`], or the vault's.
    pub fn add_task(&self, vault: &Vault, id: &str, data: &TaskData<'_>, if_match: Option<&str>) -> Result<Task, Error> {
        let missing = |what: &str| Error::InvalidArgument(format!("data.{what} is required to add a task."));
        let (Some(_), Some(_)) = (data.name, data.goal) else {
            return Err(missing(if data.name.is_none() { "name" } else { "goal" }));
        };
        self.change_tasks(vault, id, if_match, |note| {
            let before: Vec<Task> = note.tasks().into_iter().map(|found| found.task).collect();
            let number = before.iter().map(|task| task.number).max().unwrap_or(0).saturating_add(1);
            let nothing = Task {
                number,
                name: String::new(),
                goal: String::new(),
                description: String::new(),
                technical_notes: None,
                estimate: None,
                status: TaskStatus::Open,
                notes: None,
            };
            let task = with_data(&nothing, data)?;
            let always = |name: &str| matches!(name, "Goal" | "Description" | "Status");
            let fields: Vec<(&str, String)> =
                written(&task).into_iter().filter(|(name, value)| always(name) || !value.is_empty()).collect();
            let edited = task::add(&note.text, number, &task.name, &fields);
            note.set_tasks(edited, &[before, vec![task.clone()]].concat())?;
            Ok(task)
        })
    }

    /// Updates a task.
    ///
    /// # Errors
    /// As [`Accomplishments::add_task`], and [`Error::TaskNotFound`].
    pub fn update_task(&self, vault: &Vault, id: &str, task_id: &str, data: &TaskData<'_>, if_match: Option<&str>) -> Result<Task, Error> {
        self.change_tasks(vault, id, if_match, |note| edit_task(note, id, task_id, data))
    }

    /// Removes a task and numbers the others anew.
    ///
    /// # Errors
    /// As [`Accomplishments::update_task`].
    pub fn remove_task(&self, vault: &Vault, id: &str, task_id: &str, if_match: Option<&str>) -> Result<(), Error> {
        self.change_tasks(vault, id, if_match, |note| {
            let (at, tasks) = find_task(note, id, task_id)?;
            let without = tasks.get(at).map(|found| found.removed(&note.text)).unwrap_or_default();
            let left = tasks.iter().enumerate().filter(|(number, _)| *number != at).map(|(_, found)| found.task.clone());
            let expected: Vec<Task> = (1..).zip(left).map(|(number, task)| Task { number, ..task }).collect();
            note.set_tasks(task::renumbered(&without), &expected)
        })
    }

    /// Says what is being worked on: an accomplishment's flag, a task's status, or both. A task in progress marks its
    /// accomplishment, unless `in_progress` says otherwise.
    ///
    /// # Errors
    /// As [`Accomplishments::update_task`].
    pub fn focus(
        &self,
        vault: &Vault,
        id: &str,
        in_progress: Option<bool>,
        task: Option<(&str, &str)>,
        if_match: Option<&str>,
    ) -> Result<(Changed, Option<Task>), Error> {
        self.change(vault, |change| {
            let path = change.snapshot.find(id)?.path.clone();
            change.must_match(&path, if_match)?;
            let note = change.note(&path)?;
            let task = match task {
                Some((task_id, status)) => Some(edit_task(note, id, task_id, &TaskData { status: Some(status), ..TaskData::default() })?),
                None => None,
            };
            let begun = task.as_ref().is_some_and(|task| task.status == TaskStatus::InProgress).then_some(true);
            if let Some(truth) = in_progress.or(begun) {
                note.set("inProgress", truth)?;
            }
            change.touch(&path)?;
            Ok((change.outcome(&path)?, task))
        })
    }

    fn change_tasks<T>(
        &self,
        vault: &Vault,
        id: &str,
        if_match: Option<&str>,
        edit: impl Fn(&mut Note) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.change(vault, |change| {
            let path = change.snapshot.find(id)?.path.clone();
            change.must_match(&path, if_match)?;
            let outcome = edit(change.note(&path)?)?;
            change.touch(&path)?;
            Ok(outcome)
        })
    }
}

fn no_randomness(error: secret::NoRandomness) -> Error {
    Error::Vault(crate::vault::Error::Disk { doing: "make an id", path: String::new(), cause: std::io::Error::other(error.to_string()) })
}

fn change_path<'a>(snapshot: &'a super::Snapshot, id: &str) -> Result<&'a VaultPath, Error> {
    snapshot.find(id).map(|accomplishment| &accomplishment.path)
}

fn unique(ids: &[&str]) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for id in ids.iter().map(|id| id.trim()) {
        if !unique.iter().any(|known| known == id) {
            unique.push(id.to_owned());
        }
    }
    unique
}

/// A title that can be the first line of a note.
fn checked_title(title: &str) -> Result<String, Error> {
    let title = title.trim();
    if title.contains("%%") || title.contains("<!--") {
        return Err(Error::InvalidArgument("data.title must not begin a comment (%% or <!--): it would hide the note's text.".into()));
    }
    // Line ends of Unicode's, byte order marks, and what is no character.
    let odd = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    if title.is_empty() || title.chars().any(odd) || title.chars().count() > limits::TITLE_CHARS {
        return Err(Error::InvalidArgument(format!("data.title must be one line of 1 to {} characters.", limits::TITLE_CHARS)));
    }
    Ok(title.to_owned())
}

/// The name of a title's file, without its ending: `-` stands for what file systems or Obsidian's links refuse.
fn file_name(title: &str) -> String {
    const REFUSED: &str = "\\/:*?\"<>|#^[]";
    let mut name: String = title.nfc().map(|c| if REFUSED.contains(c) { '-' } else { c }).collect();
    while name.len() > limits::TITLE_FILE_BYTES {
        name.pop();
    }
    let name = name.trim();
    let dots = name.len() - name.trim_end_matches('.').len();
    let mut name = format!("{}{}", name.trim_end_matches('.'), "-".repeat(dots));
    if let Some(rest) = name.strip_prefix('.') {
        name = format!("-{rest}");
    }
    // The name of a device on Windows.
    if crate::vault::refused_elsewhere(&name).is_some() {
        name.push('-');
    }
    name
}

/// A form in which names that people, or other file systems, do not tell apart are the same.
fn alike(name: &str) -> String {
    name.nfkc().collect::<String>().to_lowercase().nfc().collect()
}

/// Refuses a title that is there already, as a title or as a file, also in other letters' case or Unicode form.
fn must_be_free(change: &Change<'_>, title: &str, path: &VaultPath, own: Option<&VaultPath>) -> Result<(), Error> {
    let taken = |by: &str| Err(Error::AlreadyExists(format!("There is {by} already; choose another title, or update that one.")));
    if let Some(other) = change.snapshot.all.iter().find(|other| Some(&other.path) != own && alike(&other.title) == alike(title)) {
        return taken(&format!("{} with the title {:?}", other.id, other.title));
    }
    let files = change.vault.files_below(&path.parent(), ".md");
    match files.iter().find(|file| own.is_none_or(|own| own.as_str() != &*file.path) && alike(&file.path) == alike(path.as_str())) {
        Some(file) => taken(&format!("a note {}", file.path)),
        None => Ok(()),
    }
}

fn retitle(change: &mut Change<'_>, accomplishment: &Accomplishment, title: &str) -> Result<(), Error> {
    let old = &accomplishment.path;
    let folder = old.parent();
    let name = format!("{}.md", file_name(title));
    let new = VaultPath::file(&if folder.is_root() { name } else { format!("{}/{name}", folder.as_str()) })?;
    must_be_free(change, title, &new, Some(old))?;
    let note = change.note(old)?;
    note.set_heading(&accomplishment.title, title);
    note.set("title", title)?;
    if new != *old {
        note.set("vault_path", new.as_str())?;
        for canvas in change.canvases_with(old)? {
            change.canvas(&canvas, false)?.rename_file(old, &new)?;
        }
        change.rename(old, &new);
    }
    Ok(())
}

/// The id that a caller wants, if nobody has it.
fn free_id(change: &Change<'_>, id: &str) -> Result<String, Error> {
    if number_of(id).is_none_or(|number| number == 0 || number > limits::HIGHEST_ID) {
        return Err(Error::InvalidArgument("id must be ACC- and a number of at most six digits; leave it out to get the next one.".into()));
    }
    let by_number = |other: &str| number_of(other).is_some() && number_of(other) == number_of(id);
    let taken = change.snapshot.all.iter().find(|other| by_number(&other.id)).map(|other| other.path.as_str().to_owned());
    let broken =
        || change.snapshot.problems.iter().find(|problem| problem.id.as_deref().is_some_and(by_number)).map(|problem| problem.path.clone());
    match taken.or_else(broken) {
        Some(path) => Err(Error::DuplicateId(format!("{id} is the id of {path}. Leave id out to get the next free one."))),
        None => Ok(id.to_owned()),
    }
}

/// The next id: one above all that stand anywhere on a canvas or in a note of the folder.
fn next_id(change: &Change<'_>) -> String {
    let canvases = change.vault.files_below(&VaultPath::root(), ".canvas");
    let notes = change.vault.files_below(&change.projects.options.folder, ".md");
    let numbers = canvases.iter().chain(&notes).filter_map(|entry| highest(&change.vault.text(entry).ok()?)).max();
    format!("ACC-{:03}", change.projects.raise(numbers.unwrap_or(0)).saturating_add(1))
}

fn highest(text: &str) -> Option<u32> {
    let after = memchr::memmem::find_iter(text.as_bytes(), b"ACC-").filter_map(|at| text.get(at + 4..));
    let digits = after.filter_map(|rest| rest.get(..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())));
    // Higher ones are none that this program gave.
    digits.filter_map(|digits| digits.parse().ok()).filter(|number| *number < limits::HIGHEST_ID).max()
}

/// A task's fields as they are written.
fn written(task: &Task) -> [(&'static str, String); 6] {
    [
        ("Goal", task.goal.clone()),
        ("Description", task.description.clone()),
        ("Technical Notes", task.technical_notes.clone().unwrap_or_default()),
        ("Estimate", task.estimate.map(shown_hours).unwrap_or_default()),
        ("Status", task.status.name().to_owned()),
        ("Notes", task.notes.clone().unwrap_or_default()),
    ]
}

/// A task with the data that is given.
fn with_data(task: &Task, data: &TaskData<'_>) -> Result<Task, Error> {
    let wrong = |what: &str| Err(Error::InvalidArgument(what.to_owned()));
    let mut task = task.clone();
    if let Some(name) = data.name {
        let name = name.trim();
        if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > limits::TITLE_CHARS {
            return wrong(&format!("data.name must be one line of 1 to {} characters.", limits::TITLE_CHARS));
        }
        task.name = name.to_owned();
    }
    if let Some(estimate) = data.estimate {
        if !(0.0..=100_000.0).contains(&estimate) {
            return wrong("data.estimate must be hours, from 0 to 100000.");
        }
        task.estimate = Some(estimate);
    }
    for text in [data.goal, data.description, data.technical_notes, data.notes].into_iter().flatten() {
        must_be_text("Tasks", &text.replace("\r\n", "\n"))?;
    }
    let filled = |text: &str| Some(normal(text)).filter(|text| !text.is_empty());
    task.goal = data.goal.map_or(task.goal, normal);
    task.description = data.description.map_or(task.description, normal);
    task.technical_notes = data.technical_notes.map_or(task.technical_notes, filled);
    task.notes = data.notes.map_or(task.notes, filled);
    task.status = data.status.and_then(TaskStatus::named).unwrap_or(task.status);
    Ok(task)
}

fn find_task(note: &Note, id: &str, task_id: &str) -> Result<(usize, Vec<task::Found>), Error> {
    let tasks = note.tasks();
    match tasks.iter().position(|found| found.task.id(id) == task_id) {
        Some(at) => Ok((at, tasks)),
        None => Err(Error::TaskNotFound {
            id: task_id.chars().take(200).collect(),
            known: tasks.iter().take(limits::TASKS_NAMED).map(|found| found.task.id(id)).collect(),
        }),
    }
}

/// Changes the fields that differ, each by itself; everything else of the note stays.
fn edit_task(note: &mut Note, id: &str, task_id: &str, data: &TaskData<'_>) -> Result<Task, Error> {
    let (at, tasks) = find_task(note, id, task_id)?;
    let mut expected: Vec<Task> = tasks.into_iter().map(|found| found.task).collect();
    let Some(slot) = expected.get_mut(at) else { return Err(Error::InvalidArgument("no such task".into())) };
    let before = slot.clone();
    let after = with_data(&before, data)?;
    *slot = after.clone();
    let mut text = note.text.clone();
    let again = |text: &str| task::tasks(&super::markdown::lines(text)).into_iter().nth(at);
    for ((name, value), (_, old)) in written(&after).into_iter().zip(written(&before)) {
        // A status that a person wrote in their own words stays while it means the same.
        if value != old
            && let Some(found) = again(&text)
        {
            if found.has_twice(name) {
                return Err(Error::InvalidArgument(format!("The task has the field {name} twice; a person has to remove one.")));
            }
            text = found.with(&text, name, &value);
        }
    }
    if after.name != before.name
        && let Some(found) = again(&text)
    {
        text = found.named(&text, &after.name);
    }
    note.set_tasks(text, &expected)?;
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_that_every_system_takes() {
        for (title, name) in [
            ("Build Feature", "Build Feature"),
            ("A/B: \"C\"? #1 [x]^|<>*\\", "A-B- -C-- -1 -x-------"),
            ("../../etc/passwd", "-.-..-etc-passwd"),
            (".hidden", "-hidden"),
            ("Wait...", "Wait---"),
            ("nul", "nul-"),
            ("com1.txt", "com1.txt-"),
            ("Ça i\u{302}le", "Ça île"),
        ] {
            assert_eq!(file_name(title), name, "{title}");
        }
        assert!(file_name(&"ä".repeat(200)).len() <= limits::TITLE_FILE_BYTES);
        assert_eq!(alike("STRASSE\u{301}"), alike("strasse\u{301}"));
        assert_eq!(highest("ACC-7 xACC-012, ACC-9999999999 ACC-"), Some(12));
    }
}
