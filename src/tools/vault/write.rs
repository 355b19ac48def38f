//! `vault_write`: a whole file.

use super::{ETAG, IF_MATCH, PATH};
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_write",
    title: "Write a file",
    description: "Creates a file with the given content, or replaces the whole content of an existing one. To change part of \
        a note use vault_edit, which cannot lose the rest. Before replacing a note read it, and pass its etag as if_match.",
    effect: Effect::Replaces { idempotent: true },
    reaches_out: false,
    input: &[
        required("path", ANY_TEXT, PATH),
        required("content", ANY_TEXT, "The full content"),
        defaulted("create_dirs", Shape::Flag, Default::Flag(true), "Create missing folders"),
        IF_MATCH,
    ],
    output: &[
        required("path", ANY_TEXT, "The file"),
        required("created", Shape::Flag, "True if the file is new, false if it was replaced"),
        required("size", COUNT, "Bytes"),
        required("total_lines", COUNT, "Lines"),
        required("etag", ANY_TEXT, ETAG),
    ],
    run,
};

#[derive(Serialize)]
struct Written<'a> {
    path: &'a str,
    created: bool,
    size: usize,
    total_lines: usize,
    etag: &'a str,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = VaultPath::file(arguments.text("path"))?;
    let written = context.vault.write(&path, arguments.text("content"), arguments.flag("create_dirs"), arguments.maybe("if_match"))?;
    Reply::of(&Written {
        path: written.path.as_str(),
        created: written.created,
        size: written.size,
        total_lines: written.total_lines,
        etag: &written.etag,
    })
}
