//! `list_accomplishments`: all accomplishments, or those of a status or canvas.

use super::{CANVAS_SOURCE, Summary, by_id, canvas_of, page, problems, projects, snapshot};
use crate::accomplishments::STATUSES;
use crate::tools::paging::{CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{Shape, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "list_accomplishments",
    title: "List accomplishments",
    description: "Lists all accomplishments by id, with what each waits for and the number of its \
                  complete tasks; for numbers only use get_project_status. Narrow them by status \
                  or canvas; get_accomplishment has the rest.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional("status", Shape::Status(&STATUSES), "Only those of this status"),
        CANVAS_SOURCE_FILTER,
        CURSOR,
    ],
    output: Listed::FIELDS,
    run,
};

const CANVAS_SOURCE_FILTER: crate::tools::Field = crate::tools::Field {
    about: "Only those of this canvas: the path of a .canvas file; without it those of all",
    ..CANVAS_SOURCE
};

result! {
    struct Listed<'a> {
        /// On all pages.
        count: usize,
        /// Sorted by id.
        accomplishments: Vec<Summary<'a>>,
        problems: Option<Vec<String>>,
        next: Inline<Next>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let snapshot = snapshot(context)?;
    let projects = projects(context)?;
    let shown = match arguments.maybe("canvas_source") {
        Some(_) => projects.on_canvas(context.vault, &snapshot, &canvas_of(context, arguments)?)?.0,
        None => snapshot.iter().collect(),
    };
    let wanted = shown
        .into_iter()
        .filter(|found| arguments.maybe("status").is_none_or(|status| found.status == status));
    let all = wanted.map(|found| (by_id(found), found)).collect();
    let (count, accomplishments, next) =
        page(arguments, all, |found| Summary::of(&snapshot, found))?;
    Reply::of(&Listed { count, accomplishments, problems: problems(&snapshot), next })
}
