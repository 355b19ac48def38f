//! `vault_restore`: an old version of a note, as a new commit.

use super::{IF_MATCH, MESSAGE, Outcome, PATH, change, failed, version_bytes};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Undoes a change, as a new commit that is pushed: to undo what was just done, to \
                  revert or bring back a version from vault_history, also of a note that was \
                  deleted or had another name; to write other text use vault_write_file. To undo \
                  a commit that deleted a note, take the commit before it.",
    effect: Effect::Replaces { idempotent: true },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        required(
            "version",
            Shape::Text { max: 64 },
            "A commit from vault_history, 7 digits or more; or what a result calls previous",
        ),
        MESSAGE,
        IF_MATCH,
    ],
    output: Restored::FIELDS,
    run,
};

result! {
    struct Restored<'a> {
        path: &'a str,
        /// Whether the note has this content now.
        written: bool,
        /// The version that was given: a commit, or a kept version.
        version: &'a str,
        bytes_written: usize,
        outcome: Inline<Outcome>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.existing_or_deleted(arguments.text("path"))?;
    let version = arguments.text("version");
    if version.len() < 7 || !version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::invalid(
            "Argument version must be 7 to 64 hexadecimal digits, from vault_history.",
        ));
    }
    let bytes = version_bytes(context, &path, version)
        .map_err(|failure| failed(failure, &path, "written"))?;
    let (outcome, _) = change(context, &path, Some(&bytes), arguments, "vault_restore", "written")?;
    Reply::of(&Restored {
        path: path.as_str(),
        written: true,
        version,
        bytes_written: bytes.len(),
        outcome,
    })
}
