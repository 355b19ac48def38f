//! `vault_tasks`: the tasks of the vault.

use crate::calendar::DateTime;
use crate::clock::Moment;
use crate::limits;
use crate::markdown::tasks::fields_of;
use crate::notes::tasks::{Status, TaskQuery, VaultTask, tasks};
use crate::slice::first_chars;
use crate::text::fold::fold;
use crate::tools::paging::{self, CURSOR, Next};
use crate::tools::result::{Inline, Members, flag, result};
use crate::tools::schema::{ANY_TEXT, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

/// Tasks in one page of a list.
const TASKS_PAGE: usize = 200;

pub(super) static TOOL: Tool = Tool {
    name: "vault_tasks",
    title: "List tasks",
    description: "Lists tasks (to-dos, checkboxes, - [ ] items) of the vault, a folder or a note, \
                  that are still open, due, overdue or done, with heading, due date and priority; \
                  for other text use vault_search. vault_set_task changes one, vault_insert adds \
                  one.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional(
            "status",
            ANY_TEXT,
            "todo (not done, not cancelled), done, or the character in the box",
        ),
        optional("path", ANY_TEXT, "Only in this folder or note; also [[Name]] or daily:today")
            .of_files(),
        optional(
            "tag",
            ANY_TEXT,
            "Only with this tag in the line or in the properties of the note",
        ),
        optional("text", ANY_TEXT, "Only with this text"),
        optional("due_before", ANY_TEXT, "Only due before this day: YYYY-MM-DD, today"),
        CURSOR,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        total: usize,
        tasks: Vec<Row<'a>>,
        next: Inline<Next>,
    }
}

result! {
    struct Row<'a> {
        path: &'a str,
        line: usize,
        /// The character in the box: space is open, x is done.
        status: char,
        text: &'a str,
        heading: Option<&'a str>,
        due: Option<&'a str>,
        scheduled: Option<&'a str>,
        start: Option<&'a str>,
        done: Option<&'a str>,
        /// highest, high, medium, low, lowest.
        priority: Option<&'a str>,
        recurring: Option<bool>,
    }
}

fn row(found: &VaultTask) -> Row<'_> {
    let task = &found.task;
    let facts = fields_of(&task.text);
    Row {
        path: &found.entry.path,
        line: task.line,
        status: task.status,
        text: first_chars(&task.text, limits::TASK_CHARS),
        heading: task.heading.as_deref(),
        due: facts.due,
        scheduled: facts.scheduled,
        start: facts.start,
        done: facts.done,
        priority: facts.priority,
        recurring: flag(facts.is_recurring),
    }
}

/// `todo`, `done`, or a character.
pub(super) fn status(text: &str) -> Result<Status, Error> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("todo", ..) => Ok(Status::Todo),
        ("done", ..) => Ok(Status::Done),
        (_, Some(one), None) if !one.is_control() => Ok(Status::Is(one)),
        _ => Err(Error::invalid(
            "Argument status must be todo, done, or the one character in the box (- for \
             cancelled).",
        )),
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    // A client may not know the date.
    let today = context.options.zone.at(Moment::read()).format("YYYY-MM-DD");
    let due_before = arguments
        .maybe("due_before")
        .map(str::trim)
        .map(|day| if day == "today" { &*today } else { day });
    if due_before.is_some_and(|day| DateTime::of_date(day).is_none()) {
        return Err(Error::invalid("Argument due_before is no date: give YYYY-MM-DD or today."));
    }
    let path = arguments.maybe("path").map(|text| context.path_or_folder(text)).transpose()?;
    let query = TaskQuery {
        path,
        status: arguments.maybe("status").map(status).transpose()?,
        tag: arguments
            .maybe("tag")
            .map(|tag| fold(tag.trim().trim_matches(['#', '/'])))
            .filter(|tag| !tag.is_empty()),
        text: arguments.maybe("text").map(fold),
        due_before: due_before.map(str::to_owned),
    };
    let found = tasks(context.vault, &query, &context.proceed("notes read"))?;
    // A page begins after a path and a line; the padded digits sort as the numbers do.
    let key = |task: &VaultTask| format!("{}\0{:012}", task.entry.path, task.task.line);
    let (tasks, next) = paging::page(arguments, &found, key, TASKS_PAGE, row)?;
    Reply::of(&Answer { total: found.len(), tasks, next })
}
