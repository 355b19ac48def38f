//! `vault_history`: the kept versions of a note.

use crate::clock::Now;
use crate::tools::paging::{self, CURSOR, NEXT_CURSOR, Next, TRUNCATED};
use crate::tools::reply::fitting;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_history",
    title: "History of a note",
    description: "Lists earlier versions of a note that tools have replaced or deleted (when, by which login and tool); \
        to bring one back use vault_restore. Works for one that was deleted, and follows renames.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[required("path", ANY_TEXT, "The note, as it is or was called"), CURSOR],
    output: &[
        required("path", ANY_TEXT, ""),
        required("versions", Shape::List(&Shape::Object(&VERSION)), "The newest first: each is the text before a change"),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

const VERSION: [Field; 5] = [
    required("version", ANY_TEXT, "For vault_restore"),
    required("at", ANY_TEXT, "When it was replaced"),
    required("by", ANY_TEXT, "The login, as the command grants names it"),
    required("tool", ANY_TEXT, ""),
    optional("bytes", COUNT, ""),
];

#[derive(Serialize)]
struct Version<'a> {
    version: &'a str,
    at: String,
    by: &'a str,
    tool: &'a str,
    bytes: u64,
}

#[derive(Serialize)]
struct History<'a> {
    path: &'a str,
    versions: Vec<Version<'a>>,
    #[serde(flatten)]
    next: Next,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.path(arguments.text("path"))?;
    let lines = context.vault.history(&path)?;
    let after = paging::after(arguments)?;
    let first = after.and_then(|after| lines.iter().position(|line| line.version == after)).map_or(0, |last| last + 1);
    let rest = lines.get(first..).unwrap_or_default();
    let rows = rest.iter().map(|line| Version {
        version: &line.version,
        at: Now(line.at).rfc3339(),
        by: &line.by,
        tool: &line.tool,
        bytes: line.size(),
    });
    let versions = fitting(rows.take(crate::limits::LIST_PAGE_USUAL));
    let last = versions.last().filter(|_| versions.len() < rest.len()).map(|version| version.version.to_owned());
    Reply::of(&History { path: path.as_str(), versions, next: Next::after(arguments, last.as_deref()) })
}
