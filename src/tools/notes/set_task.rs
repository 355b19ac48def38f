//! `vault_set_task`: tasks ticked or unticked.

use super::{LINE, PATH};
use crate::clock::Moment;
use crate::notes::tasks::{ChangedTask, Status, WantedTask, set_tasks};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional, required};
use crate::tools::vault::WrittenFile;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_set_task",
    title: "Tick a task",
    description: "Ticks or unticks tasks of a note: to tick off, check or mark a \
                  task (checkbox) as done; to change its words use vault_edit. Take path, line \
                  and text from vault_tasks.",
    // Of a task that recurs, the next occurrence may stand where it was.
    effect: Effect::Sets { idempotent: false },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        optional("line", LINE, "Line number, from 1"),
        optional("text", ANY_TEXT, "Text behind the box, as it is now"),
        optional(
            "tasks",
            Shape::List(&Shape::Object(&[
                required("line", LINE, ""),
                required("text", ANY_TEXT, ""),
            ])),
            "Several, instead of line and text",
        ),
        defaulted(
            "status",
            ANY_TEXT,
            DefaultValue::Text("done"),
            "done, todo, or the character for the box",
        ),
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        file: Inline<WrittenFile<'a>>,
        /// Of the one task.
        one: Option<Inline<One<'a>>>,
        /// Of several.
        tasks: Option<Vec<One<'a>>>,
    }
}

result! {
    struct One<'a> {
        /// Its line now.
        line: usize = LINE,
        /// The line before the change.
        before: &'a str,
        after: &'a str,
        /// The line of the next occurrence, which was added.
        next: Option<&'a str>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.path(arguments.text("path"))?;
    let several = arguments.objects("tasks");
    let wanted: Vec<WantedTask<'_>> =
        match (arguments.has("line"), arguments.has("text"), several.is_empty()) {
            (true, true, true) => vec![wanted_task(arguments)],
            (false, false, false) => several.iter().map(wanted_task).collect(),
            _ => return Err(Error::invalid("Give line and text of one task, or tasks.")),
        };
    let status = match super::tasks::status(arguments.text("status"))? {
        Status::Todo => ' ',
        Status::Done => 'x',
        Status::Is(character) => character,
    };
    let today = context.options.zone.at(Moment::read()).format("YYYY-MM-DD");
    let (written, changed) = set_tasks(context.changes, &path, &wanted, status, &today)?;
    let mut shown: Vec<One<'_>> = changed.iter().map(One::of).collect();
    let one = if several.is_empty() { shown.pop().map(Inline) } else { None };
    let tasks = (!several.is_empty()).then_some(shown);
    Reply::of(&Answer { file: WrittenFile::of(&written), one, tasks })
}

fn wanted_task(arguments: &Arguments) -> WantedTask<'_> {
    WantedTask { line: arguments.number("line"), text: arguments.text("text") }
}

impl One<'_> {
    fn of(task: &ChangedTask) -> One<'_> {
        let ChangedTask { line, before, after, next } = task;
        One { line: *line, before, after, next: next.as_deref() }
    }
}
