//! `vault_delete_file`: a note removed, committed and pushed; the history keeps it.

use super::{IF_MATCH, MESSAGE, OUTCOME, Outcome, PATH, change, note_path};
use crate::git::Change;
use crate::tools::schema::{ANY_TEXT, Shape, joined, required};
use crate::tools::{Arguments, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_delete_file",
    title: "Delete a note and commit it",
    description: "Deletes a note, as one commit that is pushed; to empty or change one use vault_write_file. The history keeps it: \
        vault_history lists its versions, and vault_restore brings one back.",
    effect: Effect::Replaces { idempotent: false },
    reaches_out: true,
    input: &[required("path", ANY_TEXT, PATH), MESSAGE, IF_MATCH],
    output: &OUTPUT,
    run,
};

const OUTPUT: [Field; 10] =
    joined(&[required("path", ANY_TEXT, "The note"), required("deleted", Shape::Flag, "Whether it is gone")], &OUTCOME);

#[derive(Serialize)]
struct Deleted<'a> {
    path: &'a str,
    deleted: bool,
    #[serde(flatten)]
    outcome: Outcome,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), false)?;
    let (outcome, _) = change(context, &path, &Change::Delete, arguments, "vault_delete_file", "deleted")?;
    Reply::of(&Deleted { path: path.as_str(), deleted: true, outcome })
}
