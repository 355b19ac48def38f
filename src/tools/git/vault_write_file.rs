//! `vault_write_file`: a whole note, committed and pushed.

use super::{IF_MATCH, MESSAGE, OUTCOME, Outcome, PATH, change, check_frontmatter, note_path};
use crate::git::Change;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, joined, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_write_file",
    title: "Write a note and commit it",
    description: "Creates a note or replaces a whole one, as one commit that is pushed; to change a part of it use vault_edit. The \
        content must begin with frontmatter that has date, tags and type. Nothing is changed when the commit cannot be \
        pushed. Read a note before you replace it.",
    effect: Effect::Replaces { idempotent: true },
    reaches_out: true,
    input: &[required("path", ANY_TEXT, PATH), required("content", ANY_TEXT, "The full content, frontmatter first"), MESSAGE, IF_MATCH],
    output: &OUTPUT,
    run,
};

const OUTPUT: [Field; 12] = joined(
    &[
        required("path", ANY_TEXT, "The note"),
        required("written", Shape::Flag, "Whether the note has this content now"),
        required("created", Shape::Flag, "Whether it is new"),
        required("bytes_written", COUNT, "Bytes of the content"),
    ],
    &OUTCOME,
);

#[derive(Serialize)]
struct Written<'a> {
    path: &'a str,
    written: bool,
    created: bool,
    bytes_written: usize,
    #[serde(flatten)]
    outcome: Outcome,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), true)?;
    let content = arguments.text("content");
    check_frontmatter(content)?;
    let wanted = Change::Write(content.as_bytes().to_vec());
    let (outcome, done) = change(context, &path, &wanted, arguments, "vault_write_file", "written")?;
    Reply::of(&Written { path: path.as_str(), written: true, created: done.created, bytes_written: content.len(), outcome })
}
