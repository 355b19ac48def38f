//! Tasks of notes: listed, and ticked.

use crate::change::Changes;
use crate::change::write::Written;
use crate::limits;
use crate::markdown::blocks::{Kind, line_end};
use crate::markdown::edit::{Edit, apply_all};
use crate::markdown::frontmatter;
use crate::markdown::parts::{Note, Task};
use crate::markdown::tasks::{self, Dated, NoteTask};
use crate::notes::recurrence::next_text;
use crate::slice::Part;
use crate::text::fold::fold;
use crate::vault::entry::Text;
use crate::vault::parallel::map_parallel;
use crate::vault::path::rest_below;
use crate::vault::read::utf8;
use crate::vault::{Entry, Error, Vault, VaultPath};
use serde_json::json;
use std::collections::BTreeMap;
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

/// What the settings of the Tasks plugin say, if the vault has it.
#[derive(Debug, Default)]
struct Plugin {
    is_present: bool,
    /// The type of each status that they define, such as `DONE`.
    types: BTreeMap<char, String>,
    sets_done_date: bool,
    sets_cancelled_date: bool,
    /// Whether dates are written as fields, and not behind signs.
    has_fields: bool,
    /// Whether the next occurrence of a task stands below it.
    adds_below: bool,
    sets_created_date: bool,
    /// Only tasks with this text are tasks of the plugin.
    global_filter: String,
}

impl Plugin {
    fn of(vault: &Vault) -> Plugin {
        let settings = vault.obsidian("plugins/obsidian-tasks-plugin/data.json");
        if settings.is_null() {
            return Plugin::default();
        }
        let statuses = ["coreStatuses", "customStatuses"]
            .iter()
            .filter_map(|list| settings.get("statusSettings")?.get(*list)?.as_array());
        let typed = statuses.flatten().filter_map(|status| {
            let symbol = status.get("symbol")?.as_str()?.chars().next()?;
            Some((symbol, status.get("type")?.as_str()?.to_owned()))
        });
        let flag = |name: &str| settings.get(name).and_then(|flag| flag.as_bool()).unwrap_or(true);
        let text = |name: &str| settings.get(name).and_then(|text| text.as_str());
        Plugin {
            is_present: true,
            types: typed.collect(),
            sets_done_date: flag("setDoneDate"),
            sets_cancelled_date: flag("setCancelledDate"),
            has_fields: text("taskFormat") == Some("dataview"),
            adds_below: settings.get("recurrenceOnNextLine") == Some(&true.into()),
            sets_created_date: settings.get("setCreatedDate") == Some(&true.into()),
            global_filter: text("globalFilter").unwrap_or_default().to_owned(),
        }
    }

    fn is_open(&self, status: char) -> bool {
        match self.types.get(&status) {
            Some(kind) => !matches!(kind.as_str(), "DONE" | "CANCELLED" | "NON_TASK"),
            None => tasks::is_open(status),
        }
    }

    fn is_done(&self, status: char) -> bool {
        match self.types.get(&status) {
            Some(kind) => kind == "DONE",
            None => tasks::is_done(status),
        }
    }

    fn includes(&self, wanted: Status, status: char) -> bool {
        match wanted {
            Status::Todo => self.is_open(status),
            Status::Done => self.is_done(status),
            Status::Is(wanted) => status == wanted,
        }
    }

    /// How a task with this status ended.
    fn end(&self, status: char) -> Option<Dated> {
        match self.types.get(&status).map(String::as_str) {
            Some("CANCELLED") => Some(Dated::Cancelled),
            None if status == '-' => Some(Dated::Cancelled),
            _ => self.is_done(status).then_some(Dated::Done),
        }
    }

    /// The text of a task that gets another status: the date of its end comes or goes.
    fn text(&self, text: &str, (before, after): (char, char), today: &str) -> String {
        let (was, is) = (self.end(before), self.end(after));
        if was == is {
            return text.to_owned();
        }
        let open = if was.is_some() { tasks::without_end(text) } else { text.to_owned() };
        let sets_date = match is {
            Some(Dated::Done) => self.sets_done_date,
            Some(Dated::Cancelled) => self.sets_cancelled_date,
            Some(Dated::Created) | None => false,
        };
        match is.filter(|_| sets_date && text.contains(&self.global_filter)) {
            Some(end) => tasks::with_date(&open, end, today, self.has_fields),
            None => open,
        }
    }

    /// The text of the next occurrence of a task that is done with its new status, if it recurs.
    fn next(
        &self,
        text: &str,
        (before, after): (char, char),
        today: &str,
    ) -> Result<Option<String>, Error> {
        let is_done_now = self.is_done(after) && !self.is_done(before);
        let is_of_plugin = text.contains(&self.global_filter);
        if !is_done_now || !is_of_plugin || !tasks::fields_of(text).is_recurring {
            return Ok(None);
        }
        match next_text(text, today, self.sets_created_date, self.has_fields) {
            Ok(next) => Ok(Some(next)),
            // Where the plugin is not, the sign may mean anything.
            Err(_) if !self.is_present => Ok(None),
            Err(rule) => Err(Error::Invalid(format!(
                "This task recurs by a rule that is not understood here ({rule}); tick it in \
                 Obsidian, where its plugin makes the next one."
            ))),
        }
    }
}

/// A task of the vault.
#[derive(Debug)]
pub struct VaultTask {
    pub entry: Arc<Entry>,
    pub task: NoteTask,
}

/// A task whose status was set.
#[derive(Debug)]
pub struct ChangedTask {
    /// Its line now, from 1.
    pub line: usize,
    /// The whole line before the change.
    pub before: String,
    pub after: String,
    /// The line of the next occurrence, where one was added.
    pub next: Option<String>,
}

/// All tasks that are wanted, by path and line, and how many more are in templates and in files
/// that the owner has excluded in Obsidian; with a path, those count like others.
///
/// # Errors
/// [`Error::Unavailable`], [`Error::Cancelled`].
pub fn tasks(
    vault: &Vault,
    query: &TaskQuery,
    proceed: &dyn Fn(usize, usize) -> bool,
) -> Result<(Vec<VaultTask>, usize), Error> {
    vault.refresh()?;
    let is_wanted = |entry: &Entry| {
        let below = query.path.as_ref().is_none_or(|path| path.covers(&entry.path));
        let may_have = |tag: &String| !entry.has_searched_text() || entry.has_tag(tag);
        below && entry.is_note() && query.tag.as_ref().is_none_or(may_have)
    };
    let root = VaultPath::root();
    let within = query.path.as_ref().unwrap_or(&root);
    let mut notes = vault.view.below(within, is_wanted);
    notes.extend(vault.view.get(within.as_str()).filter(|entry| is_wanted(entry)));
    let unread = |entry: &Arc<Entry>| match entry.tasks.get() {
        Some(Some(_)) => 0,
        _ => entry.search_cost(),
    };
    let plugin = Plugin::of(vault);
    let look = |entry: &Arc<Entry>| wanted_tasks(vault, entry, query, &plugin);
    let mut found: Vec<VaultTask> =
        map_parallel(&notes, &unread, &look, proceed)?.into_iter().flatten().collect();
    let all = found.len();
    if query.path.is_none() {
        let (excluded, templates) = (vault.excluded(), vault.templates_folder());
        let is_template =
            |path: &str| templates.as_ref().is_some_and(|folder| path.starts_with(folder));
        found.retain(|task| !excluded.covers(&task.entry.path) && !is_template(&task.entry.path));
    }
    let excluded = all - found.len();
    Ok((found, excluded))
}

/// The tasks of a note that are wanted.
fn wanted_tasks(
    vault: &Vault,
    entry: &Arc<Entry>,
    query: &TaskQuery,
    plugin: &Plugin,
) -> Vec<VaultTask> {
    let of_note = tasks_of(vault, entry);
    if of_note.is_empty() {
        return Vec::new();
    }
    let has = |tag: &str, wanted: &str| rest_below(tag, wanted).is_some();
    // A tag of the note is one of all its tasks.
    let of_lines = query.tag.as_ref().filter(|wanted| {
        let text = vault.text(entry).unwrap_or_default();
        let tags = frontmatter::tags(&text).unwrap_or_default();
        !tags.iter().any(|tag| has(&fold(tag.trim_matches(['#', '/'])), wanted))
    });
    let is_wanted = |task: &NoteTask| {
        query.status.is_none_or(|status| plugin.includes(status, task.status))
            && of_lines.is_none_or(|wanted| task.tags.iter().any(|tag| has(tag, wanted)))
            && query.text.as_ref().is_none_or(|wanted| fold(&task.text).contains(wanted.as_str()))
            && query.due_before.as_ref().is_none_or(|day| {
                tasks::fields_of(&task.text).due.is_some_and(|due| due < day.as_str())
            })
    };
    let wanted = of_note.iter().filter(|task| is_wanted(task));
    wanted.map(|task| VaultTask { entry: Arc::clone(entry), task: task.clone() }).collect()
}

/// The tasks of a note. They are kept with its entry, unless they take twice as much as its text.
fn tasks_of(vault: &Vault, entry: &Entry) -> Arc<[NoteTask]> {
    if let Some(Some(kept)) = entry.tasks.get() {
        return Arc::clone(kept);
    }
    // A checkbox is a bracket, one character and a bracket; folding may make up to three of the
    // character.
    let may_have_tasks = |folded: &str| {
        memchr::memchr_iter(b'[', folded.as_bytes()).any(|at| {
            let behind = folded.get(at + 1..).unwrap_or_default();
            behind.chars().take(4).skip(1).any(|c| c == ']')
        })
    };
    let may_have_tasks = match &entry.text {
        Text::Kept(kept) => may_have_tasks(kept.folded()),
        Text::NotKept { .. } => true,
        Text::None => false,
    };
    let text = if may_have_tasks { vault.text(entry) } else { Ok(String::new()) };
    // A file that cannot be read now may be read at the next call.
    let Ok(text) = text else { return Arc::default() };
    let tasks: Arc<[NoteTask]> = tasks::tasks_in(&text).into();
    let bytes: usize = tasks.iter().map(NoteTask::bytes).sum();
    let is_kept = bytes as u64 <= 2 * entry.search_cost();
    entry.tasks.get_or_init(|| is_kept.then(|| Arc::clone(&tasks)));
    tasks
}

/// A task that is to be changed: its line, from 1, and its text, which it must still have.
#[derive(Debug, Clone, Copy)]
pub struct WantedTask<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// Sets the status character of tasks of a note, of all or of none. As the Tasks plugin does where
/// the vault has it, the date of their end comes and goes, and one that recurs gets its next
/// occurrence; `today` is the owner's.
///
/// # Errors
/// [`Error::NoTarget`], [`Error::Invalid`] for a rule of recurrence that is not understood, and
/// those of [`Changes::edit`].
pub fn set_tasks(
    changes: &Changes,
    path: &VaultPath,
    wanted: &[WantedTask<'_>],
    status: char,
    today: &str,
) -> Result<(Written, Vec<ChangedTask>), Error> {
    let plugin = Plugin::of(&changes.vault);
    let mut changed = Vec::new();
    let written = changes.edit_bytes(path, None, &mut |bytes| {
        let before = utf8(path, bytes)?;
        let note = Note::of(before);
        let tasks = note.tasks();
        let mut edits = Vec::new();
        // Each task once, with the line that is added for it.
        let mut chosen: BTreeMap<usize, Option<String>> = BTreeMap::new();
        for one in wanted {
            let task = find_task(before, &note, &tasks, *one)?;
            if chosen.contains_key(&task.line) {
                continue;
            }
            let own = before.part(task.content.clone());
            edits.push(Edit { range: task.status_at.clone(), text: status.to_string() });
            if task.status != status {
                let text = plugin.text(own, (task.status, status), today);
                edits.push(Edit { range: task.content.clone(), text });
            }
            let next = plugin.next(own, (task.status, status), today)?.map(|text| {
                let to_box = before.part(note.start(task.line)..task.status_at.start);
                let behind_box = before.part(task.status_at.end..task.content.start);
                format!("{to_box} {behind_box}{}", text.trim_end())
            });
            if let Some(next) = &next {
                let at = note.start(task.line + usize::from(plugin.adds_below));
                let is_last = plugin.adds_below && !before.part(..at).ends_with('\n');
                let end = line_end(before, at);
                let text = if is_last { format!("{end}{next}") } else { format!("{next}{end}") };
                edits.push(Edit { range: at..at, text });
            }
            chosen.insert(task.line, next);
        }
        let after = apply_all(before, &edits);
        let note_after = Note::of(&after);
        let mut added = 0;
        changed = chosen
            .into_iter()
            .map(|(line, next)| {
                let has_next = usize::from(next.is_some());
                let now = line + added + if plugin.adds_below { 0 } else { has_next };
                added += has_next;
                let (before, after) = (note.line(line).to_owned(), note_after.line(now).to_owned());
                ChangedTask { line: now + 1, before, after, next }
            })
            .collect();
        Ok(after.into_bytes())
    })?;
    Ok((written, changed))
}

/// The task of a note that is meant.
fn find_task<'t>(
    text: &str,
    note: &Note<'_>,
    tasks: &'t [Task],
    wanted: WantedTask<'_>,
) -> Result<&'t Task, Error> {
    let WantedTask { line, text: wanted } = wanted;
    let content = |task: &Task| text.part(task.content.clone()).trim();
    // The list of tasks cuts longer texts to this length.
    let is_cut = wanted.chars().count() == limits::TASK_CHARS;
    let is_meant = |task: &Task| {
        let own = content(task);
        let is_same = |own: &str| own.nfc().eq(wanted.trim().nfc());
        is_same(own) || is_same(note.line(task.line).trim()) || is_cut && own.starts_with(wanted)
    };
    let task = tasks.iter().find(|task| task.line + 1 == line).filter(|task| is_meant(task));
    task.ok_or_else(|| {
        let elsewhere = tasks.iter().filter(|task| is_meant(task));
        let known = elsewhere
            .take(limits::CANDIDATES_SHOWN)
            .map(|task| json!({ "line": task.line + 1, "text": content(task) }));
        let is_text = |kind| kind != Kind::Frontmatter;
        let now = match note.kind(line.wrapping_sub(1)).is_some_and(is_text) {
            true => note.line(line - 1),
            false => "",
        };
        Error::NoTarget {
            what: format!("Line {line} is not the task {wanted:?}; it is {now:?}"),
            known: known.collect(),
        }
    })
}
