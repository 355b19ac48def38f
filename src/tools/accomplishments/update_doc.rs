//! `update_doc`: changing context documents.

use super::{CANVAS_SOURCE, IF_MATCH, canvas_of, line, projects};
use crate::accomplishments::docs::with_lines;
use crate::change::write::Overwrite;
use crate::tools::result::{Members, result};
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::{Error as VaultError, count_lines};
use serde_json::{Value, json};

pub(super) static TOOL: Tool = Tool {
    name: "update_doc",
    title: "Change a context document",
    description: "Creates, replaces or deletes a document about a project, or changes lines of \
                  it; for other notes use vault_edit. Lines are counted from 0: insert_at puts \
                  content before start_line, replace_at instead of start_line up to but without \
                  end_line. delete moves it to the vault's trash.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        required("name", ANY_TEXT, "File name, for example notes.md or context:reference.md")
            .of_files(),
        required(
            "operation",
            Shape::OneOf(&["create", "replace", "delete", "insert_at", "replace_at"]),
            "What to do",
        ),
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
        /// Where that content stands now: start_line from 0, and end_line, the line after the last.
        affected_range: Option<Value>,
        /// Pass as if_match; not after delete.
        etag: Option<String>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (name, operation, if_match) =
        (arguments.text("name"), arguments.text("operation"), arguments.maybe("if_match"));
    let missing =
        |name: &str| Error::invalid(format!("Argument {name} is required for {operation}."));
    let content = if operation == "delete" {
        ""
    } else {
        arguments.maybe("content").ok_or_else(|| missing("content"))?
    };
    let number = |name: &str| {
        arguments.has(name).then(|| arguments.number(name)).ok_or_else(|| missing(name))
    };
    let range = match operation {
        "insert_at" => number("start_line").map(|at| Some((at, at)))?,
        "replace_at" => Some((number("start_line")?, number("end_line")?)),
        _ => None,
    };
    // An integer that a client fills in is 0.
    if let Some(name) = ["start_line", "end_line"]
        .into_iter()
        .find(|name| range.is_none() && arguments.number(name) > 0)
    {
        return Err(Error::invalid(format!(
            "Argument {name} is not for {operation}, which is for the whole document; to change \
             lines use replace_at."
        )));
    }
    let path = projects(context)?.document(
        context.vault,
        name,
        &canvas_of(context, arguments)?,
        operation == "delete",
    )?;
    let mut line_count = count_lines(content.as_bytes());
    let mut edit = || {
        context.changes.edit_bytes(&path, if_match, &mut |before| {
            let Some(range) = range else { return Ok(content.as_bytes().to_vec()) };
            let malformed = |_| VaultError::Malformed {
                path: path.as_str().into(),
                why: "it is not UTF-8".into(),
            };
            let (text, count) =
                with_lines(std::str::from_utf8(before).map_err(malformed)?, range, content)?;
            line_count = count;
            Ok(text.into_bytes())
        })
    };
    let written = match operation {
        "create" => Some(context.changes.write(&path, content, true, Overwrite::Nothing)?),
        "delete" => {
            context.links.delete(
                context.changes,
                std::slice::from_ref(&path),
                if_match,
                &|_, _| !context.requester.has_cancelled(),
            )?;
            None
        }
        _ => Some(edit()?),
    };
    let message = match (operation, range) {
        ("create", _) => format!("Created document: {name}"),
        ("replace", _) => format!("Replaced document: {name}"),
        ("insert_at", Some((at, _))) => {
            format!("Inserted {line_count} line(s) at line {at} in document: {name}")
        }
        (_, Some((from, to))) => {
            format!("Replaced lines {from} to {to} with {line_count} line(s) in document: {name}")
        }
        _ => format!("Deleted document: {name} (it is in the vault's .trash)"),
    };
    let from = range.map_or(0, |(from, _)| from);
    Reply::of(&Answer {
        success: true,
        operation,
        doc_name: name,
        message,
        line_count,
        affected_range: written
            .is_some()
            .then(|| json!({ "start_line": from, "end_line": from + line_count })),
        etag: written.map(|written| written.etag),
    })
}
