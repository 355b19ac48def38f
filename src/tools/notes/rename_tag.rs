//! `vault_rename_tag`: a tag renamed in all notes.

use super::{CHANGES, DRY_RUN, LEFT_ALONE_TOTAL, SHOW, answer};
use crate::links::plan::Options;
use crate::markdown::inline;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_rename_tag",
    title: "Rename a tag",
    description: "Renames a tag, to rename or merge it in properties and text of the whole vault, \
                  with those nested below (#a, #a/b), all or nothing; for one note use \
                  vault_set_properties. Never in code or URLs. Try it with dry_run.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, "The tag, in any case, with or without #").or("from"),
        required("to", ANY_TEXT, "Its new name; one that exists already is joined"),
        DRY_RUN,
        SHOW,
    ],
    output: &[
        required("tags_updated files_changed", COUNT, ""),
        CHANGES,
        LEFT_ALONE_TOTAL,
        required("dry_run", Shape::Flag, ""),
    ],
    run,
};

/// Refuses a name, without `#`, that no tag can have.
pub(super) fn check_tag(name: &str) -> Result<(), Error> {
    let why = "letters, digits, _ - / and at least one character that is no digit";
    let refusal = || Error::invalid(format!("{name:?} is no tag: a tag has {why}."));
    inline::is_tag_name(name).then_some(()).ok_or_else(refusal)
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let bare = |name: &str| {
        arguments.text(name).trim().trim_start_matches('#').trim_end_matches('/').to_owned()
    };
    let (from, to) = (bare("path"), bare("to"));
    for tag in [&from, &to] {
        check_tag(tag)?;
    }
    if from == to {
        return Err(Error::invalid("Arguments path and to are the same tag."));
    }
    let proceed = |_, _| !context.requester.has_cancelled();
    let options = Options {
        update_links: true,
        dry_run: arguments.flag("dry_run"),
        if_match: None,
        proceed: &proceed,
    };
    context.vault.refresh()?;
    let rewritten = context.links.rename_tag(context.changes, &from, &to, options)?;
    answer("tags_updated", &rewritten, arguments)
}
