//! Creating, updating and deleting accomplishments; their tasks; what is being worked on.

use super::canvas::{NODE_HEIGHT, NODE_WIDTH};
use super::change::{Change, FullAccomplishment};
use super::dependency::{Blocked, drawn_on, set_dependencies};
use super::field::{as_read_back, shown_hours};
use super::markdown::with_block_id;
use super::naming::{checked_title, file_name, free_id, has_next, must_be_free, next_id};
use super::note::{Note, must_be_text, template, unique};
use super::position::position_for;
use super::snapshot::{Accomplishment, number_of};
use super::status::TASK_STATUSES;
use super::task::{self, Task, TaskInNote};
use super::{Accomplishments, Error, invalid, new_id, one_of};
use crate::change::step::Step;
use crate::clock::Moment;
use crate::limits;
use crate::markdown::parts;
use crate::markdown::properties::flow;
use crate::store::Store;
use crate::vault::{Error as VaultError, VaultPath};
use serde::Deserialize;
use serde_json::Value;

/// Tasks named in the error for one that does not exist.
const TASKS_NAMED: usize = 20;

/// New data of an accomplishment; `None` keeps the old value, or means the default. Enumerated
/// values are valid.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Data<'a> {
    pub title: Option<&'a str>,
    pub effort: Option<&'a str>,
    pub priority: Option<&'a str>,
    pub status: Option<&'a str>,
    pub outcome: Option<&'a str>,
    pub acceptance_criteria: Option<Vec<&'a str>>,
    pub depends_on: Option<Vec<&'a str>>,
    pub canvas_source: Option<&'a str>,
    pub notes: Option<&'a str>,
    #[serde(rename = "inProgress")]
    pub in_progress: Option<bool>,
}

/// New data of a task; `None` keeps the old value, or means the default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TaskData<'a> {
    pub name: Option<&'a str>,
    pub goal: Option<&'a str>,
    pub description: Option<&'a str>,
    pub technical_notes: Option<&'a str>,
    /// Hours.
    pub estimate: Option<f64>,
    /// One of [`TASK_STATUSES`].
    pub status: Option<&'a str>,
    pub notes: Option<&'a str>,
}

impl Accomplishments {
    /// Creates an accomplishment: a note, and a node on a canvas with edges from those it depends
    /// on. With `id`, under that one; otherwise under the next.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] for a title that exists, [`Error::DuplicateId`] for an id that is
    /// taken, [`Error::AccomplishmentNotFound`], [`Error::CircularDependency`],
    /// [`Error::CanvasNotFound`], [`Invalid`](crate::vault::Error::Invalid), or the vault's.
    pub fn create(
        &self,
        store: &Store,
        id: Option<&str>,
        data: &Data<'_>,
    ) -> Result<FullAccomplishment, Error> {
        let missing =
            |what: &str| invalid(format!("data.{what} is required to create an accomplishment."));
        if data.notes.is_some() || data.in_progress.is_some() {
            return Err(invalid(
                "data.notes and data.inProgress cannot be given when an accomplishment is \
                 created; update it afterwards.",
            ));
        }
        let title = checked_title(data.title.ok_or_else(|| missing("title"))?)?;
        let effort = data.effort.ok_or_else(|| missing("effort"))?;
        let canvas_path = self.canvas(data.canvas_source)?;
        self.change(store, |change| {
            let path = VaultPath::file(&format!(
                "{}/{}.md",
                self.options.folder.as_str(),
                file_name(&title)
            ))?;
            must_be_free(change, &title, &path, None)?;
            // Whoever else creates one changes this canvas too: this change begins again if they do
            // so after this line, and sees their id if they did before.
            let canvas = change.canvas(&canvas_path, true)?.read()?;
            store.vault().refresh_now()?;
            let id = match id {
                Some(id) => free_id(change, id)?,
                // The snapshot may have a note that was taken back since: begin again.
                None => free_id(change, &next_id(change)).map_err(|error| match error {
                    Error::DuplicateId(_) => Error::from(VaultError::Busy),
                    other => other,
                })?,
            };
            let named = unique(data.depends_on.iter().flatten().copied());
            let snapshot = change.snapshot;
            // A person may have drawn the card before, or drawn it and deleted its note.
            let (drawn, _) = drawn_on(&canvas, snapshot, Some((&path, &id)));
            let above = drawn.iter().filter(|drawn| drawn.blocked == id).map(|drawn| drawn.blocker);
            let blockers = unique(names(&named).into_iter().chain(above));
            let now = Moment::read().rfc3339();
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
            write_sections(&mut note, data)?;
            change.create(&path, note);
            if canvas.node_of(&path).is_none() {
                let nodes: Vec<_> = blockers
                    .iter()
                    .filter_map(|blocker| canvas.node_of(&snapshot.first_with_id(blocker)?.path))
                    .collect();
                let at = position_for(&canvas, &nodes, None);
                change.canvas(&canvas_path, true)?.add_node(&new_id(), &path, at);
            }
            set_dependencies(
                change,
                Blocked { id: &id, note: &path, canvas: &canvas_path },
                &[],
                &blockers,
                &names(&named),
            )?;
            for below in drawn.iter().filter(|drawn| drawn.blocker == id) {
                let below = snapshot.find(below.blocked)?;
                let wanted = unique(names(&below.depends_on).into_iter().chain([id.as_str()]));
                change.note(&below.path)?.set("depends_on", wanted)?;
                change.set_updated(&below.path)?;
            }
            change.after_change(&path)
        })
        .inspect(|changed| {
            self.remember_id(&changed.accomplishment.id);
        })
    }

    /// Updates an accomplishment; without data, only the time of its last update.
    ///
    /// # Errors
    /// As [`Accomplishments::create`], and [`crate::vault::Error::Conflict`] when the note is not
    /// what the caller has read.
    pub fn update(
        &self,
        store: &Store,
        id: &str,
        data: &Data<'_>,
        if_match: Option<&str>,
    ) -> Result<FullAccomplishment, Error> {
        if data.canvas_source.is_some() {
            return Err(invalid(
                "data.canvas_source cannot be changed: an accomplishment stays on its canvas.",
            ));
        }
        let title = data.title.map(checked_title).transpose()?;
        let changed = self.change_note(store, id, if_match, |change, accomplishment| {
            let path = &accomplishment.path;
            if let Some(title) = title.as_ref().filter(|title| **title != accomplishment.title) {
                retitle(change, accomplishment, title)?;
            }
            let note = change.note(path)?;
            for (key, value) in
                [("effort", data.effort), ("status", data.status), ("priority", data.priority)]
            {
                if let Some(value) = value {
                    note.set(key, value)?;
                }
            }
            if let Some(truth) = data.in_progress {
                note.set("inProgress", truth)?;
            }
            write_sections(note, data)?;
            if let Some(wanted) = &data.depends_on {
                let canvas = change.canvas_of(accomplishment)?;
                let blocked = Blocked { id, note: path, canvas: &canvas };
                let wanted = unique(wanted.iter().copied());
                set_dependencies(
                    change,
                    blocked,
                    &accomplishment.depends_on,
                    &wanted,
                    &names(&wanted),
                )?;
            }
            Ok(())
        })?;
        Ok(changed.0)
    }

    /// Deletes an accomplishment: moves its note to the trash, and removes its nodes, their edges,
    /// and its id from what depends on it.
    ///
    /// # Errors
    /// As [`Accomplishments::update`].
    pub fn delete(&self, store: &Store, id: &str, if_match: Option<&str>) -> Result<(), Error> {
        self.change(store, |change| {
            let accomplishment = change.snapshot.find(id)?.clone();
            let path = &accomplishment.path;
            change.must_match(path, if_match)?;
            change.note(path)?;
            change.moved.push(Step::trash(path.clone()));
            for canvas in self.canvases_with(store.vault(), path)? {
                change.canvas(&canvas, false)?.remove_file(path)?;
            }
            let waiting =
                change.snapshot.all.iter().filter(|other| {
                    other.id != id && other.depends_on.iter().any(|known| known == id)
                });
            for other in waiting.cloned().collect::<Vec<_>>() {
                let left: Vec<String> =
                    other.depends_on.iter().filter(|known| *known != id).cloned().collect();
                change.note(&other.path)?.set("depends_on", left.as_slice())?;
                change.set_updated(&other.path)?;
            }
            self.remember_id(id);
            Ok(())
        })
    }

    /// Adds a task to an accomplishment.
    ///
    /// # Errors
    /// Those of [`super::Snapshot::find`], [`Invalid`](crate::vault::Error::Invalid), or the
    /// vault's.
    pub fn add_task(
        &self,
        store: &Store,
        id: &str,
        data: &TaskData<'_>,
        if_match: Option<&str>,
    ) -> Result<Task, Error> {
        let missing = |what: &str| invalid(format!("data.{what} is required to add a task."));
        let (Some(_), Some(_)) = (data.name, data.goal) else {
            return Err(missing(if data.name.is_none() { "name" } else { "goal" }));
        };
        self.change_tasks(store, id, if_match, |note| {
            let before: Vec<Task> = note.tasks().into_iter().map(|found| found.task).collect();
            let number = before.iter().map(|task| task.number).max().unwrap_or(0).saturating_add(1);
            let nothing = Task { number, status: "Open", ..Task::default() };
            let task = with_data(&nothing, data)?;
            let always = |name: &str| matches!(name, "Goal" | "Description" | "Status");
            let fields: Vec<(&str, String)> = field_texts(&task)
                .into_iter()
                .filter(|(name, value)| always(name) || !value.is_empty())
                .collect();
            let edited = task::add(&note.text, number, &task.name, &fields);
            note.set_tasks(edited, &[before, vec![task.clone()]].concat())?;
            Ok(task)
        })
    }

    /// Updates a task.
    ///
    /// # Errors
    /// As [`Accomplishments::add_task`], and [`Error::TaskNotFound`].
    pub fn update_task(
        &self,
        store: &Store,
        id: &str,
        task_id: &str,
        data: &TaskData<'_>,
        if_match: Option<&str>,
    ) -> Result<Task, Error> {
        self.change_tasks(store, id, if_match, |note| edit_task(note, id, task_id, data))
    }

    /// Removes a task and renumbers the others.
    ///
    /// # Errors
    /// As [`Accomplishments::update_task`].
    pub fn remove_task(
        &self,
        store: &Store,
        id: &str,
        task_id: &str,
        if_match: Option<&str>,
    ) -> Result<(), Error> {
        self.change_tasks(store, id, if_match, |note| {
            let tasks = note.tasks();
            let (at, found) = find_task(&tasks, id, task_id)?;
            let without = found.removed(&note.text);
            let left = tasks
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != at)
                .map(|(_, found)| found.task.clone());
            let expected: Vec<Task> =
                (1..).zip(left).map(|(number, task)| Task { number, ..task }).collect();
            note.set_tasks(task::renumbered(&without), &expected)
        })
    }

    /// Says what is being worked on: an accomplishment's flag, a task's status, or both. A task in
    /// progress marks its accomplishment, unless `in_progress` says otherwise.
    ///
    /// # Errors
    /// As [`Accomplishments::update_task`].
    pub fn focus(
        &self,
        store: &Store,
        id: &str,
        in_progress: Option<bool>,
        task: Option<(&str, &str)>,
        if_match: Option<&str>,
    ) -> Result<(FullAccomplishment, Option<Task>), Error> {
        let with_status = |status| TaskData { status: Some(status), ..TaskData::default() };
        self.change_note(store, id, if_match, |change, found| {
            let note = change.note(&found.path)?;
            let task = task
                .map(|(task_id, status)| edit_task(note, id, task_id, &with_status(status)))
                .transpose()?;
            let begun =
                task.as_ref().is_some_and(|task| task.status == "InProgress").then_some(true);
            if let Some(truth) = in_progress.or(begun) {
                note.set("inProgress", truth)?;
            }
            Ok(task)
        })
    }

    /// Keeps the number of an id from being assigned again; numbers that the next id does not
    /// follow are left out.
    fn remember_id(&self, id: &str) {
        self.raise_highest(number_of(id).filter(|number| has_next(*number)).unwrap_or(0));
    }

    fn change_tasks<T>(
        &self,
        store: &Store,
        id: &str,
        if_match: Option<&str>,
        edit: impl Fn(&mut Note) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Ok(self
            .change_note(store, id, if_match, |change, found| edit(change.note(&found.path)?))?
            .1)
    }

    /// Makes a change that begins with the note of an accomplishment; gives it as it is afterwards.
    fn change_note<T>(
        &self,
        store: &Store,
        id: &str,
        if_match: Option<&str>,
        edit: impl Fn(&mut Change<'_>, &Accomplishment) -> Result<T, Error>,
    ) -> Result<(FullAccomplishment, T), Error> {
        self.change(store, |change| {
            let snapshot = change.snapshot;
            let found = snapshot.find(id)?;
            change.must_match(&found.path, if_match)?;
            let outcome = edit(change, found)?;
            change.set_updated(&found.path)?;
            Ok((change.after_change(&found.path)?, outcome))
        })
    }
}

/// Writes the sections that are given.
fn write_sections(note: &mut Note, data: &Data<'_>) -> Result<(), Error> {
    data.outcome.map_or(Ok(()), |text| note.set_section("Outcome", text))?;
    data.acceptance_criteria.as_ref().map_or(Ok(()), |criteria| note.set_criteria(criteria))?;
    data.notes.map_or(Ok(()), |text| note.set_section("Notes", text))
}

fn retitle(
    change: &mut Change<'_>,
    accomplishment: &Accomplishment,
    title: &str,
) -> Result<(), Error> {
    let old = &accomplishment.path;
    let new = old.parent().child(&format!("{}.md", file_name(title)))?;
    must_be_free(change, title, &new, Some(old))?;
    if new != *old {
        change.move_note(old, &new)?;
        change.note(old)?.set("vault_path", new.as_str())?;
    }
    let note = change.note(old)?;
    note.set_heading(&accomplishment.title, title);
    note.set("title", title)
}

/// A task's fields as they are written.
fn field_texts(task: &Task) -> [(&'static str, String); 6] {
    [
        ("Goal", task.goal.clone()),
        ("Description", task.description.clone()),
        ("Technical Notes", task.technical_notes.clone().unwrap_or_default()),
        ("Estimate", task.estimate.map(shown_hours).unwrap_or_default()),
        ("Status", task.status.to_owned()),
        ("Notes", task.notes.clone().unwrap_or_default()),
    ]
}

/// A task with the data that is given.
fn with_data(task: &Task, data: &TaskData<'_>) -> Result<Task, Error> {
    let wrong = |what: &str| Err(invalid(what.to_owned()));
    let mut task = task.clone();
    if let Some(name) = data.name {
        let name = name.trim();
        if name.is_empty()
            || name.chars().any(char::is_control)
            || name.chars().count() > limits::TITLE_CHARS
        {
            return wrong(&format!(
                "data.name must be one line of 1 to {} characters.",
                limits::TITLE_CHARS
            ));
        }
        task.name = name.to_owned();
    }
    if let Some(estimate) = data.estimate {
        if !(0.0..=100_000.0).contains(&estimate) {
            return wrong("data.estimate must be hours, from 0 to 100000.");
        }
        task.estimate = Some(estimate);
        task.others.remove("Estimate");
    }
    for text in
        [data.goal, data.description, data.technical_notes, data.notes].into_iter().flatten()
    {
        must_be_text("Tasks", &text.replace("\r\n", "\n"))?;
    }
    // A text that is replaced keeps its block id.
    let replaced = |old: String, new: Option<&str>| match new {
        Some(new) => with_block_id(&old, &as_read_back(new)),
        None => old,
    };
    let filled = |old: Option<String>, new| {
        Some(replaced(old.unwrap_or_default(), new)).filter(|text| !text.is_empty())
    };
    task.goal = replaced(task.goal, data.goal);
    task.description = replaced(task.description, data.description);
    task.technical_notes = filled(task.technical_notes, data.technical_notes);
    task.notes = filled(task.notes, data.notes);
    task.status =
        data.status.and_then(|status| one_of(&TASK_STATUSES, status)).unwrap_or(task.status);
    Ok(task)
}

fn names(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

fn find_task<'t>(
    tasks: &'t [TaskInNote],
    id: &str,
    task_id: &str,
) -> Result<(usize, &'t TaskInNote), Error> {
    let mut same = tasks.iter().enumerate().filter(|(_, found)| found.task.id(id) == task_id);
    match (same.next(), same.next()) {
        (Some(found), None) => return Ok(found),
        (Some(_), Some(_)) => {
            return Err(Error::DuplicateId(format!(
                "{task_id} is the id of several tasks; a person has to change the number of one \
                 of them."
            )));
        }
        (None, _) => {}
    }
    let known: Vec<String> =
        tasks.iter().take(TASKS_NAMED).map(|found| found.task.id(id)).collect();
    let known = if known.is_empty() {
        "the accomplishment has none".to_owned()
    } else {
        format!("the tasks are: {}", known.join("; "))
    };
    Err(Error::TaskNotFound(format!(
        "There is no task {:?}; {known}.",
        task_id.chars().take(200).collect::<String>()
    )))
}

/// Changes each field that differs; everything else in the note stays.
fn edit_task(note: &mut Note, id: &str, task_id: &str, data: &TaskData<'_>) -> Result<Task, Error> {
    let tasks = note.tasks();
    let (at, TaskInNote { task: before, .. }) = find_task(&tasks, id, task_id)?;
    let after = with_data(before, data)?;
    let others =
        |number: usize, task: &Task| if number == at { after.clone() } else { task.clone() };
    let expected: Vec<Task> =
        tasks.iter().enumerate().map(|(number, found)| others(number, &found.task)).collect();
    let mut text = note.text.clone();
    let again = |text: &str| task::tasks(&parts::Note::of(text)).into_iter().nth(at);
    for ((name, value), (_, old)) in field_texts(&after).into_iter().zip(field_texts(before)) {
        // A status that a person wrote in their own words stays while it means the same.
        if value != old
            && let Some(found) = again(&text)
        {
            if found.has_twice(name) {
                return Err(invalid(format!(
                    "The task has the field {name} twice; a person has to remove one."
                )));
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
