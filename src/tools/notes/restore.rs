//! `vault_restore`: a kept version of a note brought back.

use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::vault::WrittenFile;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Undoes a change of a note's text: to undo what was just done, or bring back a deleted note or an earlier \
        version from vault_history; to undo a move use vault_move. What it replaces is kept as a version \
        as well, so a restore can be undone.",
    effect: Effect::Replaces { idempotent: false },
    input: &[required("path", ANY_TEXT, "The note"), required("version", ANY_TEXT, "version of vault_history, or previous")],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        file: Inline<WrittenFile<'a>>,
        version: &'a str,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let version = arguments.text("version").trim();
    let path = context.existing_or_deleted(arguments.text("path"))?;
    let written = context.vault.restore(&path, version)?;
    Reply::of(&Answer { file: WrittenFile::of(&written), version })
}
