//! `vault_delete`: files put into the trash.

use crate::limits;
use crate::tools::schema::{COUNT, Shape, required};
use crate::tools::vault::IF_MATCH;
use crate::tools::{Arguments, Code, Context, Effect, Error, Fact, Reply, Tool};
use serde_json::{Value, json};

pub(super) static TOOL: Tool = Tool {
    name: "vault_delete",
    title: "Delete files",
    description: "Deletes notes or files, to remove a note, folder or attachment; to remove text \
                  use vault_edit. They go to .trash in the vault, all or none. Says which links \
                  to them break. A folder must be empty, or have each of its files named.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Ability("move deleted notes to the trash")],
    input: &[
        required(
            "paths",
            Shape::Names,
            "1 to 50 files or folders: paths, [[Name]], daily:today; one with if_match",
        )
        .of_files(),
        IF_MATCH,
    ],
    output: &[
        required("deleted broken", Shape::List(&Shape::AnyObject), "The first 20 broken links"),
        required("broken_links", COUNT, ""),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    if !(1..=limits::NOTES_PER_CALL).contains(&arguments.texts("paths").count()) {
        return Err(Error::invalid(format!(
            "Argument paths must have 1 to {} files.",
            limits::NOTES_PER_CALL
        )));
    }
    let paths = arguments
        .texts("paths")
        .map(|path| context.path_or_folder(path))
        .collect::<Result<Vec<_>, Error>>()?;
    if paths.iter().any(|path| path.is_root()) {
        return Err(Error::new(
            Code::PathNotAllowed,
            "Path not allowed: / (the vault itself is not deleted)",
        ));
    }
    let if_match = arguments.maybe("if_match");
    if if_match.is_some() && paths.len() > 1 {
        return Err(Error::invalid("Argument if_match is for one file."));
    }
    let deleted = context
        .links
        .delete(context.changes, &paths, if_match, &|_, _| !context.requester.has_cancelled())?;
    let files: Vec<Value> = deleted
        .files
        .iter()
        .map(|(path, trashed_to)| json!({ "path": path, "trashed_to": trashed_to }))
        .collect();
    Reply::of(
        &json!({ "deleted": files, "broken_links": deleted.broken_links, "broken": deleted.broken }),
    )
}
