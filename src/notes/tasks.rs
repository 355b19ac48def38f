//! Tasks of notes: listed, and ticked.

use crate::change::Changes;
use crate::change::write::Written;
use crate::limits;
use crate::markdown::blocks::Kind;
use crate::markdown::edit::Edit;
use crate::markdown::parts::{Note, Task};
use crate::markdown::{frontmatter, inline, tasks};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::vault::entry::Text;
use crate::vault::parallel::map_parallel;
use crate::vault::path::rest_below;
use crate::vault::read::utf8;
use crate::vault::{Entry, Error, Vault, VaultPath};
use serde_json::json;
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

/// A note after a change of a task's status.
#[derive(Debug)]
pub struct ChangedTask {
    pub written: Written,
    /// The whole line before the change.
    pub before: String,
    pub after: String,
}

/// All tasks that are wanted, by path and line.
///
/// # Errors
/// [`Error::Unavailable`], [`Error::Cancelled`].
pub fn tasks(
    vault: &Vault,
    query: &TaskQuery,
    proceed: &dyn Fn(usize, usize) -> bool,
) -> Result<Vec<VaultTask>, Error> {
    vault.refresh()?;
    let notes: Vec<Arc<Entry>> = vault.view.read(|entries| {
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
        if is_wanted { tasks_of(vault, entry, query) } else { Vec::new() }
    };
    Ok(map_parallel(&notes, &|entry| entry.search_cost(), &look, proceed)?
        .into_iter()
        .flatten()
        .collect())
}

fn tasks_of(vault: &Vault, entry: &Arc<Entry>, query: &TaskQuery) -> Vec<VaultTask> {
    let Ok(text) = vault.text(entry) else { return Vec::new() };
    let note = Note::of(&text);
    let headings = note.headings();
    let has =
        |tag: &str, wanted: &str| rest_below(&fold(tag.trim_matches(['#', '/'])), wanted).is_some();
    let note_has = |wanted: &str| {
        frontmatter::tags(&text).unwrap_or_default().iter().any(|tag| has(tag, wanted))
    };
    // Where the wanted tag is in the text, unless it is one of the note.
    let of_lines = query.tag.as_ref().filter(|wanted| !note_has(wanted));
    let wanted_tags: Option<Vec<Range<usize>>> = of_lines.map(|wanted| {
        inline::tags(&text).into_iter().filter(|tag| has(text.part(tag.clone()), wanted)).collect()
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
        let heading =
            || above.and_then(|number| headings.get(number)).map(|heading| heading.text.clone());
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
/// [`Changes::edit`].
pub fn set_task(
    changes: &Changes,
    path: &VaultPath,
    line: usize,
    text: &str,
    status: char,
) -> Result<ChangedTask, Error> {
    let (mut line_before, mut line_after) = (String::new(), String::new());
    let written = changes.edit_bytes(path, None, &mut |bytes| {
        let before = utf8(path, bytes)?;
        let note = Note::of(before);
        let tasks = note.tasks();
        let content = |task: &Task| before.part(task.content.clone()).trim();
        // The list of tasks cuts longer texts to this length.
        let is_cut = text.chars().count() == limits::TASK_CHARS;
        let is_meant = |task: &Task| {
            let own = content(task);
            let is_same = |own: &str| own.nfc().eq(text.trim().nfc());
            is_same(own) || is_same(note.line(task.line).trim()) || is_cut && own.starts_with(text)
        };
        let task = tasks.iter().find(|task| task.line + 1 == line).filter(|task| is_meant(task));
        let Some(task) = task else {
            let elsewhere = tasks.iter().filter(|task| is_meant(task));
            let known = elsewhere
                .take(limits::CANDIDATES_SHOWN)
                .map(|task| json!({ "line": task.line + 1, "text": content(task) }));
            let now =
                if note.kind(line.wrapping_sub(1)).is_some_and(|kind| kind != Kind::Frontmatter) {
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
        let after = Edit { range: task.status_at.clone(), text: status.to_string() }.apply(before);
        line_before = note.line(task.line).to_owned();
        line_after = Note::of(&after).line(task.line).to_owned();
        Ok(after.into_bytes())
    })?;
    Ok(ChangedTask { written, before: line_before, after: line_after })
}
