//! `vault_delete_file`: a note removed, committed and pushed; the history keeps it.

use super::{IF_MATCH, MESSAGE, Outcome, PATH, change, note_path};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_delete_file",
    title: "Delete a note and commit it",
    description: "Deletes a note, as one commit that is pushed; to empty or change one use \
                  vault_write_file. The history keeps it: vault_history lists its versions, and \
                  vault_restore brings one back.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Ability("delete files")],
    input: &[required("path", ANY_TEXT, PATH).of_files(), MESSAGE, IF_MATCH],
    output: Deleted::FIELDS,
    run,
};

result! {
    struct Deleted<'a> {
        path: &'a str,
        deleted: bool,
        outcome: Inline<Outcome>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), Context::exact_path)?;
    let (outcome, _) = change(context, &path, None, arguments, "vault_delete_file", "deleted")?;
    Reply::of(&Deleted { path: path.as_str(), deleted: true, outcome })
}
