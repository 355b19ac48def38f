//! `vault_edit`: one place in a file.

use super::{ETAG, IF_MATCH, PATH};
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_edit",
    title: "Edit a file",
    description: "Replaces one piece of text in a file and leaves every other byte as it is. old_text must match exactly, \
        white space and line breaks included, and must appear exactly once: include enough of the surrounding lines. \
        Empty new_text deletes. Not a regular expression; new_text is taken literally, but line breaks become CRLF in a file that has only those.",
    effect: Effect::Replaces { idempotent: false },
    reaches_out: false,
    input: &[
        required("path", ANY_TEXT, PATH),
        required("old_text", ANY_TEXT, "Exact text to find"),
        required("new_text", ANY_TEXT, "Text to put in its place"),
        IF_MATCH,
    ],
    output: &[
        required("path", ANY_TEXT, "The file"),
        required("replaced", Shape::Flag, "True"),
        required("total_lines", COUNT, "Lines of the file now"),
        required("etag", ANY_TEXT, ETAG),
    ],
    run,
};

#[derive(Serialize)]
struct Edited<'a> {
    path: &'a str,
    replaced: bool,
    total_lines: usize,
    etag: &'a str,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = VaultPath::file(arguments.text("path"))?;
    let old_text = arguments.text("old_text");
    if old_text.is_empty() {
        return Err(Error::new(
            Code::InvalidArgument,
            "Argument old_text is empty; give the text to replace, or use vault_write for a new file.",
        ));
    }
    let edited = context.vault.edit(&path, old_text, arguments.text("new_text"), arguments.maybe("if_match"))?;
    Reply::of(&Edited { path: edited.path.as_str(), replaced: true, total_lines: edited.total_lines, etag: &edited.etag })
}
