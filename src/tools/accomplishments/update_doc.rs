//! `update_doc`: changing context documents.

use super::{CANVAS_SOURCE, IF_MATCH, canvas_of, line, projects};
use crate::accomplishments::docs::Edit;
use crate::tools::result::{Members, result};
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "update_doc",
    title: "Change a context document",
    description: "Creates, replaces or deletes a document about a project, or changes lines of it; for other notes use vault_edit. Lines are counted from 0: insert_at puts content before start_line, replace_at in the place of start_line up to but without end_line. delete moves it to the vault's trash.",
    effect: Effect::Replaces { idempotent: false },
    reaches_out: false,
    input: &[
        required("name", ANY_TEXT, "File name, for example notes.md or context:reference.md"),
        required("operation", Shape::OneOf(&["create", "replace", "delete", "insert_at", "replace_at"]), "What to do"),
        optional("content", ANY_TEXT, "The text; for everything but delete"),
        line("start_line", "First line, from 0"),
        line("end_line", "For replace_at: the line after the last"),
        CANVAS_SOURCE,
        IF_MATCH,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        /// Always true; what fails is an error.
        success: bool,
        operation: &'a str,
        doc_name: &'a str,
        /// What was done.
        message: String,
        /// Lines of the content that was given.
        line_count: usize,
        /// Where that content stands now.
        affected_range: Option<Lines>,
        /// Pass as if_match; not after delete.
        etag: Option<String>,
    }
}

result! {
    struct Lines {
        /// From 0.
        start_line: usize,
        /// The line after the last.
        end_line: usize,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let projects = projects(context)?;
    let (name, operation) = (arguments.text("name"), arguments.text("operation"));
    let missing = |name: &str| Error::new(Code::InvalidArgument, format!("Argument {name} is required for {operation}."));
    let content = || arguments.maybe("content").ok_or_else(|| missing("content"));
    let number = |name: &str| arguments.has(name).then(|| arguments.number(name)).ok_or_else(|| missing(name));
    let edit = match operation {
        "create" => Edit::Create(content()?),
        "replace" => Edit::Replace(content()?),
        "insert_at" => Edit::InsertAt(number("start_line")?, content()?),
        "replace_at" => Edit::ReplaceAt(number("start_line")?, number("end_line")?, content()?),
        _ => Edit::Delete,
    };
    let canvas = canvas_of(context, arguments)?;
    let done = projects.edit_document(context.vault, name, &canvas, edit, arguments.maybe("if_match"))?;
    Reply::of(&Answer {
        success: true,
        operation,
        doc_name: name,
        message: done.message,
        line_count: done.line_count,
        affected_range: done.affected.map(|(start_line, end_line)| Lines { start_line, end_line }),
        etag: done.etag,
    })
}
