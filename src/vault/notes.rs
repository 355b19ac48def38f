//! Reads and changes parts of notes: inserts text, edits several notes as one, lists and ticks
//! tasks.

use super::change::step::Step;
use super::change::write::{Written, check_size};
use super::entry::Text;
use super::path::rest_below;
use super::read::utf8;
use super::{Entry, Error, Named, Vault, VaultPath};
use crate::limits;
use crate::markdown::blocks::Kind;
use crate::markdown::edit::Edit;
use crate::markdown::insert::{Position, Target, insert};
use crate::markdown::parts::{Note, PartError, Task};
use crate::markdown::{frontmatter, inline, tasks};
use crate::slice::Part;
use crate::text::fold::fold;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// Which tasks are wanted. A field that is `None` matches every task.
#[derive(Debug, Default)]
pub struct TaskQuery {
    /// Only in this file or below this folder.
    pub path: Option<VaultPath>,
    pub status: Option<Status>,
    /// In the task's line, or in the frontmatter of its note; folded, without `#`.
    pub tag: Option<String>,
    /// A part of the text after the checkbox; folded.
    pub text: Option<String>,
    /// Due before this day (`YYYY-MM-DD`).
    pub due_before: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Todo,
    Done,
    Is(char),
}

impl Status {
    fn includes(self, status: char) -> bool {
        match self {
            Status::Todo => tasks::is_open(status),
            Status::Done => tasks::is_done(status),
            Status::Is(wanted) => status == wanted,
        }
    }
}

/// A task of the vault.
#[derive(Debug)]
pub struct VaultTask {
    pub entry: Arc<Entry>,
    /// From 1.
    pub line: usize,
    pub status: char,
    /// The text after the checkbox.
    pub text: String,
    /// The heading above it.
    pub heading: Option<String>,
}

/// The error for a part of a note that is missing, ambiguous, or not to be changed.
pub fn target_error(target: Target<'_>, error: PartError) -> Error {
    let (what, wanted) = match target {
        Target::Heading(wanted) => ("heading", wanted),
        Target::Block(id) => ("block", id),
        Target::Note | Target::Line(_) => ("part", ""),
    };
    match error {
        PartError::Missing(known) => Error::NoTarget {
            what: format!(
                "There is no {what} {wanted:?}{}",
                if known.is_empty() { "; the note has none" } else { "" }
            ),
            known: known.into_iter().take(limits::CANDIDATES_SHOWN).map(Value::from).collect(),
        },
        PartError::Several(lines) => {
            let candidates = lines.into_iter().take(limits::CANDIDATES_SHOWN);
            Error::Ambiguous {
                what: format!("More than one {what} matches {wanted:?}"),
                candidates: candidates
                    .map(|(line, text)| json!({ "line": line, "text": text }))
                    .collect(),
            }
        }
        PartError::NoLine(lines) => Error::NoTarget {
            what: format!("The note has no such line; it has {lines}"),
            known: Vec::new(),
        },
        PartError::Frontmatter => Error::Invalid(
            "That line is part of the frontmatter; use vault_set_properties for properties.".into(),
        ),
        PartError::WholeNote => Error::Invalid(
            "where: before, after and replace need a heading, block or line; vault_write replaces \
             a whole note."
                .into(),
        ),
    }
}

/// A note after an insertion.
#[derive(Debug)]
pub struct Inserted {
    pub written: Written,
    /// The line where the text begins, from 1.
    pub line: usize,
    /// What is wrong with the template of a new note.
    pub warning: Option<&'static str>,
}

/// A note after a change of a task's status.
#[derive(Debug)]
pub struct ChangedTask {
    pub written: Written,
    /// The whole line before the change.
    pub before: String,
    pub after: String,
}

impl Vault {
    /// Inserts text at a position in a note. With `create`, a missing heading is created, and so is
    /// a missing note, which begins with the text of its template.
    ///
    /// # Errors
    /// [`Error::NoTarget`], [`Error::Ambiguous`], [`Error::Invalid`], and those of [`Vault::edit`].
    pub fn insert(
        &self,
        named: &Named,
        (target, position): (Target<'_>, Position),
        text: &str,
        create: bool,
        if_match: Option<&str>,
    ) -> Result<Inserted, Error> {
        let path = &named.path;
        let (mut line, mut warning) = (0, None);
        let mut change = |before: &str| {
            let (edit, first) = insert(&Note::of(before), target, position, text, create)
                .map_err(|error| target_error(target, error))?;
            line = first;
            Ok(edit.apply(before).into_bytes())
        };
        if !create || if_match.is_some() {
            let written = self.edit_bytes(path, if_match, &mut |bytes| change(utf8(path, bytes)?));
            return match written {
                Err(Error::NotFound { .. }) if create => Err(Error::Conflict(None)),
                written => Ok(Inserted { written: written?, line, warning: None }),
            };
        }
        // In this order: what a login may not change is said first.
        self.check_grant(path.as_str())?;
        self.view.check_available()?;
        self.check_new_name(path, None)?;
        let mut make = |now: Option<&[u8]>| {
            let first;
            (first, warning) =
                if now.is_some() { Default::default() } else { self.first_text(named)? };
            change(now.map_or(Ok(&*first), |bytes| utf8(path, bytes))?)
        };
        // What refuses the insertion does so before folders are created for it.
        if matches!(self.jail.folder(&path.parent()), Err(Error::NotFound { .. })) {
            check_size(path, make(None)?.len())?;
        }
        let written = self.update(path, true, &mut make)?;
        Ok(Inserted { written, line, warning })
    }

    /// Changes the texts of several notes: all of them, or none. Returns `None` for a note that
    /// stays as it is.
    ///
    /// # Errors
    /// Those of `change`, and of [`super::change::apply::Alone::change`].
    pub fn edit_all(
        &self,
        paths: &[VaultPath],
        change: &dyn Fn(&VaultPath, &str) -> Result<String, Error>,
    ) -> Result<Vec<(VaultPath, Option<Written>)>, Error> {
        for _ in 0..limits::EDIT_ATTEMPTS {
            let alone = self.alone();
            let (mut steps, mut outcome, mut bytes) = (Vec::new(), Vec::new(), 0);
            for path in paths {
                let before = self.bytes(path)?;
                let after = change(path, utf8(path, &before)?)?.into_bytes();
                let written = (after != before).then(|| Written::of(path, false, &after));
                if written.is_some() {
                    bytes += before.len() + after.len();
                    if bytes > limits::CHANGE_BYTES {
                        let most = limits::CHANGE_BYTES >> 20;
                        return Err(Error::Invalid(format!(
                            "Together these changes need more than {most} MB. Use fewer files."
                        )));
                    }
                    steps.push(Step::write(path.clone(), Some(before), after));
                }
                outcome.push((path.clone(), written));
            }
            match alone.change(&steps) {
                Err(Error::Busy) => {}
                other => return other.map(|_| outcome),
            }
        }
        Err(Error::Busy)
    }

    /// All tasks that are wanted, by path and line.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn tasks(
        &self,
        query: &TaskQuery,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<VaultTask>, Error> {
        self.refresh()?;
        let notes: Vec<Arc<Entry>> = self.view.read(|entries| {
            let is_wanted = |entry: &&Arc<Entry>| {
                let below = query.path.as_ref().is_none_or(|path| path.covers(&entry.path));
                below && entry.is_note()
            };
            entries.values().filter(is_wanted).cloned().collect()
        });
        let look = |entry: &Arc<Entry>| {
            // A checkbox is a bracket, one character and a bracket; folding may make up to three of
            // the character.
            let may_have_tasks = |folded: &str| {
                let mut brackets = memchr::memchr_iter(b'[', folded.as_bytes());
                brackets.any(|at| {
                    folded
                        .get(at + 1..)
                        .is_some_and(|rest| rest.chars().take(4).skip(1).any(|c| c == ']'))
                })
            };
            let has_text = |folded: &str| {
                query.text.as_ref().is_none_or(|wanted| folded.contains(wanted.as_str()))
            };
            let is_wanted = match &entry.text {
                Text::Kept(kept) => has_text(kept.folded()) && may_have_tasks(kept.folded()),
                Text::NotKept { .. } => true,
                Text::None => false,
            };
            if is_wanted { self.tasks_of(entry, query) } else { Vec::new() }
        };
        Ok(self
            .map_parallel(&notes, &|entry| entry.search_cost(), &look, proceed)?
            .into_iter()
            .flatten()
            .collect())
    }

    fn tasks_of(&self, entry: &Arc<Entry>, query: &TaskQuery) -> Vec<VaultTask> {
        let Ok(text) = self.text(entry) else { return Vec::new() };
        let note = Note::of(&text);
        let headings = note.headings();
        let has = |tag: &str, wanted: &str| {
            rest_below(&fold(tag.trim_matches(['#', '/'])), wanted).is_some()
        };
        let note_has = |wanted: &str| {
            frontmatter::tags(&text).unwrap_or_default().iter().any(|tag| has(tag, wanted))
        };
        // Where the wanted tag is in the text, unless it is one of the note.
        let of_lines = query.tag.as_ref().filter(|wanted| !note_has(wanted));
        let wanted_tags: Option<Vec<Range<usize>>> = of_lines.map(|wanted| {
            inline::tags(&text)
                .into_iter()
                .filter(|tag| has(text.part(tag.clone()), wanted))
                .collect()
        });
        let is_wanted = |task: &Task, content: &str| {
            let first_in = |tags: &[Range<usize>]| {
                tags.get(tags.partition_point(|tag| tag.start < task.content.start)).cloned()
            };
            wanted_tags
                .as_ref()
                .is_none_or(|tags| first_in(tags).is_some_and(|tag| tag.end <= task.content.end))
                && query.status.is_none_or(|status| status.includes(task.status))
                && query.text.as_ref().is_none_or(|wanted| fold(content).contains(wanted.as_str()))
                && query.due_before.as_ref().is_none_or(|day| {
                    tasks::fields_of(content).due.is_some_and(|due| due < day.as_str())
                })
        };
        let found = note.tasks().into_iter().filter_map(|task| {
            let content = text.part(task.content.clone()).trim_end();
            let above =
                headings.partition_point(|heading| heading.lines.start < task.line).checked_sub(1);
            let heading = || {
                above.and_then(|number| headings.get(number)).map(|heading| heading.text.clone())
            };
            is_wanted(&task, content).then(|| VaultTask {
                entry: Arc::clone(entry),
                line: task.line + 1,
                status: task.status,
                text: content.to_owned(),
                heading: heading(),
            })
        });
        found.collect()
    }

    /// Sets the status character of a task, if its line still has the text.
    ///
    /// # Errors
    /// [`Error::NoTarget`], [`Error::Invalid`] for a task that recurs, and those of
    /// [`Vault::edit`].
    pub fn set_task(
        &self,
        path: &VaultPath,
        line: usize,
        text: &str,
        status: char,
    ) -> Result<ChangedTask, Error> {
        let (mut line_before, mut line_after) = (String::new(), String::new());
        let written = self.edit_bytes(path, None, &mut |bytes| {
            let before = utf8(path, bytes)?;
            let note = Note::of(before);
            let tasks = note.tasks();
            let content = |task: &Task| before.part(task.content.clone()).trim();
            // The list of tasks cuts longer texts to this length.
            let is_cut = text.chars().count() == limits::TASK_CHARS;
            let is_meant = |task: &Task| {
                let own = content(task);
                let is_same = |own: &str| own.nfc().eq(text.trim().nfc());
                is_same(own)
                    || is_same(note.line(task.line).trim())
                    || is_cut && own.starts_with(text)
            };
            let task =
                tasks.iter().find(|task| task.line + 1 == line).filter(|task| is_meant(task));
            let Some(task) = task else {
                let elsewhere = tasks.iter().filter(|task| is_meant(task));
                let known = elsewhere
                    .take(limits::CANDIDATES_SHOWN)
                    .map(|task| json!({ "line": task.line + 1, "text": content(task) }));
                let now = if note
                    .kind(line.wrapping_sub(1))
                    .is_some_and(|kind| kind != Kind::Frontmatter)
                {
                    note.line(line - 1)
                } else {
                    ""
                };
                return Err(Error::NoTarget {
                    what: format!("Line {line} is not the task {text:?}; it is {now:?}"),
                    known: known.collect(),
                });
            };
            if tasks::fields_of(content(task)).is_recurring {
                return Err(Error::Invalid(
                    "This task recurs: the plugin that knows the rule makes its next occurrence \
                     when it is ticked in Obsidian; tick it there."
                        .into(),
                ));
            }
            let after =
                Edit { range: task.status_at.clone(), text: status.to_string() }.apply(before);
            line_before = note.line(task.line).to_owned();
            line_after = Note::of(&after).line(task.line).to_owned();
            Ok(after.into_bytes())
        })?;
        Ok(ChangedTask { written, before: line_before, after: line_after })
    }
}
