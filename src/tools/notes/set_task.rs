//! `vault_set_task`: one task ticked or unticked.

use super::{LINE, PATH};
use crate::clock::Moment;
use crate::notes::tasks::{ChangedTask, Status, set_task};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, defaulted, required};
use crate::tools::vault::WrittenFile;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_set_task",
    title: "Tick a task",
    description: "Ticks or unticks one task: to tick off, check or mark a task (checkbox) as \
                  done; to change its words use vault_edit. Take path, line and text from \
                  vault_tasks. A task that recurs is refused: Obsidian's plugin makes the next \
                  one.",
    effect: Effect::Sets { idempotent: true },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        required("line", LINE, "Line number, from 1"),
        required("text", ANY_TEXT, "Text behind the box, as it is now"),
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
        line: usize = LINE,
        /// The line before the change.
        before: String,
        after: String,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.path(arguments.text("path"))?;
    let line = arguments.number("line");
    let status = match super::tasks::status(arguments.text("status"))? {
        Status::Todo => ' ',
        Status::Done => 'x',
        Status::Is(character) => character,
    };
    let today = context.options.zone.at(Moment::read()).format("YYYY-MM-DD");
    let ChangedTask { written, before, after } =
        set_task(context.changes, &path, line, arguments.text("text"), status, &today)?;
    Reply::of(&Answer { file: WrittenFile::of(&written), line, before, after })
}
