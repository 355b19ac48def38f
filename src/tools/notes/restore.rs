//! `vault_restore`: a kept version of a note brought back.

use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::vault::{PREVIOUS, result_of};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Undoes a change: to undo what was just done, or bring back a deleted note or an earlier version \
        from vault_history; to write other text use vault_edit or vault_write. What it replaces is kept as a version \
        as well, so a restore can be undone.",
    effect: Effect::Replaces { idempotent: true },
    reaches_out: false,
    input: &[required("path", ANY_TEXT, "The note"), required("version", ANY_TEXT, "version of vault_history, or previous")],
    output: &[required("path", ANY_TEXT, ""), required("version", ANY_TEXT, ""), required("etag", ANY_TEXT, ""), PREVIOUS],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let version = arguments.text("version").trim();
    let written = context.vault.restore(&context.path(arguments.text("path"))?, version)?;
    result_of(&written, json!({ "version": version }))
}
