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
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};

/// Tasks in one page of a list.
const TASKS_PAGE: usize = 200;

const PATH: &str = "path";
const DUE: &str = "due";

pub(super) static TOOL: Tool = Tool {
    name: "vault_tasks",
    title: "List tasks",
    description: "Lists tasks (to-dos, checkboxes, - [ ] items) of the vault, a folder or a note, \
                  that are still open, due, overdue or done, with heading, due date and priority; \
                  for other text use vault_search.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional("status", ANY_TEXT, "todo, open, done, or the character in the box"),
        optional("path", ANY_TEXT, "Only in this folder or note").of_files(),
        optional("tag", ANY_TEXT, "Only with this tag, of the line or the note"),
        optional("text", ANY_TEXT, "Only with this text"),
        optional(
            "due_before",
            ANY_TEXT,
            "Only open ones due before YYYY-MM-DD, today, tomorrow, +7d",
        ),
        defaulted(
            "sort",
            Shape::OneOf(&[PATH, DUE]),
            DefaultValue::Text(PATH),
            "due: the earliest first",
        ),
        defaulted(
            "limit",
            Shape::Integer { min: 1, max: TASKS_PAGE as i64, outside: Code::InvalidArgument },
            DefaultValue::Integer(TASKS_PAGE as i64),
            "At most",
        ),
        CURSOR,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        total: usize,
        tasks: Vec<Row<'a>>,
        /// More in templates and files that the owner has excluded in Obsidian; path shows them.
        excluded: Option<usize>,
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
        created: Option<&'a str>,
        cancelled: Option<&'a str>,
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
        created: facts.created,
        cancelled: facts.cancelled,
        priority: facts.priority,
        recurring: flag(facts.is_recurring),
    }
}

/// `todo`, `done`, or a character.
pub(super) fn status(text: &str) -> Result<Status, Error> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("todo" | "open", ..) => Ok(Status::Todo),
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
    let today = context.options.zone.at(Moment::read());
    let due_before = arguments.maybe("due_before").map(|text| day(text.trim(), today));
    let due_before = due_before.transpose()?.map(|day| day.format("YYYY-MM-DD"));
    let status = match arguments.maybe("status") {
        Some(text) => Some(status(text)?),
        None => due_before.as_ref().map(|_| Status::Todo),
    };
    let path = arguments.maybe("path").map(|text| context.path_or_folder(text)).transpose()?;
    let query = TaskQuery {
        path,
        status,
        tag: arguments
            .maybe("tag")
            .map(|tag| fold(tag.trim().trim_matches(['#', '/'])))
            .filter(|tag| !tag.is_empty()),
        text: arguments.maybe("text").map(fold),
        due_before,
    };
    let (mut found, excluded) = tasks(context.vault, &query, &context.proceed("notes read"))?;
    // A page begins after a date, a path and a line; the padded digits sort as the numbers do.
    let is_by_due = arguments.text("sort") == DUE;
    let key = |task: &VaultTask| {
        let due = || fields_of(&task.task.text).due.unwrap_or("9999-99-99");
        let due = if is_by_due { due() } else { "" };
        format!("{due}\0{}\0{:012}", task.entry.path, task.task.line)
    };
    if is_by_due {
        found.sort_by_cached_key(key);
    }
    let (tasks, next) = paging::page(arguments, &found, key, arguments.number("limit"), row)?;
    let excluded = Some(excluded).filter(|&count| count > 0);
    Reply::of(&Answer { total: found.len(), tasks, excluded, next })
}

/// A day: a date, `today`, `tomorrow`, or some days from today (`+7d`).
fn day(text: &str, today: DateTime) -> Result<DateTime, Error> {
    let days = || text.strip_prefix('+')?.strip_suffix('d')?.parse().ok();
    match text {
        "today" => Ok(today),
        "tomorrow" => Ok(today.plus_days(1)),
        _ => days()
            .map(|days: u16| today.plus_days(days.into()))
            .or_else(|| DateTime::of_date(text))
            .ok_or_else(|| {
                Error::invalid(
                    "Argument due_before is no date: give YYYY-MM-DD, today, tomorrow or +7d.",
                )
            }),
    }
}
