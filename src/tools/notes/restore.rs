//! `vault_restore`: a kept version of a note brought back.

use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::vault::{PREVIOUS, result_of};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Brings back (undo, revert) a version of a note from vault_history, or the previous of a change, also \
        one that was deleted; to write other text use vault_write. What it replaces is kept as well.",
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
