//! `vault_move`: a file, folder or heading renamed, with the links to it.

use super::links::file_or_folder;
use super::{CHANGES, DRY_RUN, LEFT_ALONE, answer};
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, required};
use crate::tools::vault::IF_MATCH;
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::rewrite::Options;

pub(super) static TOOL: Tool = Tool {
    name: "vault_move",
    title: "Move or rename",
    description: "Renames or moves a note, attachment, canvas, folder or heading, and updates the links to it in all notes and canvases, \
        all or nothing; to change a tag use vault_rename_tag. Never replaces a file. Links that still work stay as they are. \
        dry_run shows what would change.",
    effect: Effect::Replaces { idempotent: false },
    reaches_out: false,
    input: &[
        required("from", ANY_TEXT, "Path or [[Name]] of the file, path of the folder, or Note.md#Heading"),
        required(
            "to",
            ANY_TEXT,
            "The whole new path from the vault's root; an existing folder, or one that ends in /, keeps the name; Note.md#New",
        ),
        defaulted("update_links", Shape::Flag, Default::Flag(true), "Rewrite links that would break"),
        DRY_RUN,
        IF_MATCH,
    ],
    output: &[
        required(
            "moved",
            Shape::List(&Shape::Object(&[required("from", ANY_TEXT, ""), required("to", ANY_TEXT, "")])),
            "Every file, or the heading",
        ),
        required("links_updated", COUNT, ""),
        required("files_changed", COUNT, "Files with new links"),
        CHANGES,
        LEFT_ALONE,
        required("dry_run", Shape::Flag, ""),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (from, to) = (arguments.text("from").trim(), arguments.text("to").trim());
    let go_on = |_, _| !context.caller.has_cancelled();
    let options = Options {
        update_links: arguments.flag("update_links"),
        dry_run: arguments.flag("dry_run"),
        if_match: arguments.maybe("if_match"),
        go_on: &go_on,
    };
    let heading = from.split_once('#').filter(|_| file_or_folder(context, from).is_err());
    let rewritten = match heading {
        Some((note, heading)) => {
            let path = file_or_folder(context, &note.replace("[[", ""))?;
            let (new_note, new) = to.split_once('#').unwrap_or(("", to));
            if !new_note.is_empty() && file_or_folder(context, new_note).ok().as_ref() != Some(&path) {
                return Err(Error::new(Code::InvalidArgument, "A heading stays in its note: give to as the same note with #New heading."));
            }
            context.vault.rename_heading(&path, heading.trim_end_matches("]]"), new, options)?
        }
        None => {
            let path = file_or_folder(context, from)?;
            context.vault.move_file(&path, &target(context, &path, to)?, options)?
        }
    };
    Reply::of(&answer("links_updated", rewritten, options.dry_run))
}

/// The new path: a folder keeps the name, and a file keeps its ending.
fn target(context: &Context<'_>, from: &VaultPath, to: &str) -> Result<VaultPath, Error> {
    let folder = VaultPath::folder(to)?;
    let is_folder = to.ends_with('/') || context.vault.list(&folder).is_ok();
    // A folder in another case may be the same one.
    if is_folder && folder.as_str().to_lowercase() != from.as_str().to_lowercase() {
        return Ok(folder.child(from.name())?);
    }
    let ending = from.name().rsplit_once('.').map(|(_, ending)| format!(".{ending}")).unwrap_or_default();
    let has_ending = if ending.to_lowercase() == ".md" { to.to_lowercase().ends_with(".md") } else { folder.name().contains('.') };
    let is_file = context.vault.list(from).is_err();
    Ok(VaultPath::file(&if is_file && !has_ending { format!("{to}{ending}") } else { to.to_owned() })?)
}
