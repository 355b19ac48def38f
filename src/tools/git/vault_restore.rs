//! `vault_restore`: an old version of a note, as a new commit.

use super::{IF_MATCH, MESSAGE, OUTCOME, Outcome, PATH, change, failed, note_path, repository};
use crate::git::Change;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, joined, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Field, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Undoes a change, as a new commit that is pushed: to undo what was just done, to revert or bring \
        back a version from vault_history, also of a note that was deleted or had another name; to write other text \
        use vault_write_file. To undo a commit that deleted a note, take the commit before it.",
    effect: Effect::Replaces { idempotent: true },
    reaches_out: true,
    input: &[
        required("path", ANY_TEXT, PATH),
        required("version", Shape::Text { max: 64 }, "A commit from vault_history that has the version wanted; 7 digits or more"),
        MESSAGE,
        IF_MATCH,
    ],
    output: &OUTPUT,
    run,
};

const OUTPUT: [Field; 12] = joined(
    &[
        required("path", ANY_TEXT, "The note"),
        required("written", Shape::Flag, "Whether the note has this content now"),
        required("version", ANY_TEXT, "The commit that was given"),
        required("bytes_written", COUNT, "Bytes of the content"),
    ],
    &OUTCOME,
);

#[derive(Serialize)]
struct Restored<'a> {
    path: &'a str,
    written: bool,
    version: &'a str,
    bytes_written: usize,
    #[serde(flatten)]
    outcome: Outcome,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), false)?;
    let commit = arguments.text("version");
    if commit.len() < 7 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::new(Code::InvalidArgument, "Argument version must be 7 to 64 hexadecimal digits, from vault_history."));
    }
    let bytes = repository(context)?
        .version(&path, commit, &|| context.caller.has_cancelled())
        .map_err(|failure| failed(failure, &path, "written"))?;
    let size = bytes.len();
    let (outcome, _) = change(context, &path, &Change::Write(bytes), arguments, "vault_restore", "written")?;
    Reply::of(&Restored { path: path.as_str(), written: true, version: commit, bytes_written: size, outcome })
}
