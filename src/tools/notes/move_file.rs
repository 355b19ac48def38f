//! `vault_move`: a file, folder or heading renamed, with the links to it.

use super::{CHANGES, COUNTS, DRY_RUN, LEFT_ALONE_TOTAL, SHOW, answer};
use crate::limits;
use crate::links::plan::{Options, Rewritten};
use crate::tools::schema::{ANY_TEXT, COUNT, DefaultValue, Shape, defaulted, optional, required};
use crate::tools::vault::{IF_MATCH, name_warning};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::media::{extension_of, is_note};
use serde_json::{Map, json};

pub(super) static TOOL: Tool = Tool {
    name: "vault_move",
    title: "Move or rename",
    description: "Moves or renames a note, attachment, canvas, folder or heading, or several into \
                  a folder, and updates the links to it in the whole vault, all or nothing; for a \
                  tag use vault_rename_tag. Never replaces a file. Try it with dry_run.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        required(
            "path",
            Shape::Names,
            "Path or [[Name]], a folder, or Note.md#Heading; several for one folder",
        )
        .of_files()
        .or("from"),
        required(
            "to",
            ANY_TEXT,
            "The whole new path; an existing folder, or one that ends in /, keeps the name; \
             Note.md#New",
        )
        .of_files(),
        defaulted(
            "update_links",
            Shape::Flag,
            DefaultValue::Flag(true),
            "Rewrite links that would break",
        ),
        DRY_RUN,
        SHOW,
        IF_MATCH,
    ],
    output: &[
        required("moved", Shape::List(&Shape::AnyObject), "The first 20 files, or the heading"),
        required("moved_total", COUNT, ""),
        required("links_updated files_changed", COUNT, ""),
        CHANGES,
        LEFT_ALONE_TOTAL,
        required("dry_run", Shape::Flag, ""),
        optional("warning", ANY_TEXT, ""),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let to = arguments.text("to").trim();
    let given: Vec<&str> = arguments.texts("path").collect();
    let proceed = |_, _| !context.requester.has_cancelled();
    let options = Options {
        update_links: arguments.flag("update_links"),
        dry_run: arguments.flag("dry_run"),
        if_match: arguments.maybe("if_match"),
        proceed: &proceed,
    };
    if to.is_empty() {
        return Err(Error::invalid("Argument to is empty; give a path."));
    }
    let rewritten = match given.as_slice() {
        [one] => move_one(context, one, to, options)?,
        several if (2..=limits::NOTES_PER_CALL).contains(&several.len()) => {
            if options.if_match.is_some() {
                return Err(Error::invalid("Argument if_match is for one file."));
            }
            let folder = context.folder(to)?;
            if !to.ends_with('/') && !context.vault.is_folder(&folder) {
                return Err(Error::invalid(format!(
                    "There is no folder {to}. To move several files into a new one give {to}/."
                )));
            }
            let mut renames: Vec<(VaultPath, VaultPath)> = Vec::new();
            for text in several {
                let from = context.path_or_folder(text)?;
                if renames.iter().all(|(other, _)| *other != from) {
                    renames.push((from.clone(), folder.child(from.name())?));
                }
            }
            context.links.move_files(context.changes, &renames, options)?
        }
        _ => {
            return Err(Error::invalid(format!(
                "Argument path must have 1 to {} files or folders.",
                limits::NOTES_PER_CALL
            )));
        }
    };
    let shown = if arguments.text("show") == COUNTS { 0 } else { limits::CHANGES_SHOWN };
    let moved = rewritten.moved.iter().take(shown);
    let moved: Vec<_> = moved.map(|(from, to)| json!({ "from": from, "to": to })).collect();
    let mut members = Map::from_iter([
        ("moved".to_owned(), moved.into()),
        ("moved_total".to_owned(), rewritten.moved.len().into()),
    ]);
    if let Some(warning) = rewritten.renamed_to.iter().find_map(name_warning) {
        members.insert("warning".into(), warning.into());
    }
    Ok(answer("links_updated", &rewritten, arguments)?.with_members(members))
}

/// Moves a file or folder, or renames a heading.
fn move_one(
    context: &Context<'_>,
    given: &str,
    to: &str,
    options: Options<'_>,
) -> Result<Rewritten, Error> {
    // A name may begin with a space.
    let (from, found) = match context.path_or_folder(given) {
        Err(_) => (given.trim(), context.path_or_folder(given.trim())),
        found => (given, found),
    };
    if from.is_empty() {
        return Err(Error::invalid("Argument path is empty; give a path."));
    }
    if let Some((note, heading)) = from.split_once('#').filter(|_| found.is_err()) {
        let path = note_of_heading(context, note)?;
        let new = new_heading(context, &path, heading, to)?;
        let heading = without_brackets(note, heading);
        return Ok(context.links.rename_heading(context.changes, &path, heading, new, options)?);
    }
    let path = found?;
    // `Folder/A#b.md` is a path with `#` in its name; `Note.md#New` and `Note#New` mean a heading.
    let is_heading = |(note, _): (&str, &str)| {
        let is_own = || {
            note_of_heading(context, note).is_ok_and(|note| note == path && is_note(note.name()))
        };
        is_note(note) || to.starts_with("[[") || !is_note(to) && !note.is_empty() && is_own()
    };
    if to.split_once('#').is_some_and(is_heading) {
        return Err(Error::invalid(format!(
            "Argument to names a heading of a note: to rename a heading, give path as {}#Heading.",
            path.as_str()
        )));
    }
    let to = new_path(context, &path, to)?;
    Ok(context.links.move_files(context.changes, &[(path, to)], options)?)
}

/// The note of `Note#Heading` or `[[Note#Heading]]`, of which `text` is what stands before the `#`.
fn note_of_heading(context: &Context<'_>, text: &str) -> Result<VaultPath, Error> {
    let whole = if text.starts_with("[[") { format!("{text}]]") } else { text.to_owned() };
    let path = context.exact_path(&whole)?;
    context.vault.entry(&path)?;
    Ok(path)
}

/// The text of the new heading, of `Note.md#New`, `#New` or, where `from` has headings above it,
/// `#Above#New`.
fn new_heading<'a>(
    context: &Context<'_>,
    path: &VaultPath,
    from: &str,
    to: &'a str,
) -> Result<&'a str, Error> {
    let (note, new) = to.split_once('#').unwrap_or(("", to));
    let is_same_note =
        note.is_empty() || note_of_heading(context, note).ok().as_ref() == Some(path);
    // A path that ends in .md, without `#`, is another file and not a heading's text.
    if !is_same_note || (!to.contains('#') && is_note(to)) {
        return Err(Error::invalid(
            "A heading stays in its note: give to as the same note with #New heading.",
        ));
    }
    let new = without_brackets(note, new);
    let above = from.rsplit_once('#').map_or("", |(above, _)| above);
    Ok(new
        .strip_prefix(above)
        .and_then(|new| new.strip_prefix('#'))
        .filter(|_| !above.is_empty())
        .unwrap_or(new))
}

/// The heading of `[[Note#Heading]]` without the brackets of the link; `note` is what stands before
/// the `#`.
fn without_brackets<'a>(note: &str, heading: &'a str) -> &'a str {
    heading.strip_suffix("]]").filter(|_| note.starts_with("[[")).unwrap_or(heading)
}

/// The new path: `[[Name]]` stays in its folder, a folder keeps the name, and a file keeps its
/// ending.
fn new_path(context: &Context<'_>, from: &VaultPath, to: &str) -> Result<VaultPath, Error> {
    let name = to.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]"));
    let in_same_folder = name
        .filter(|name| !name.contains('/'))
        .map(|name| format!("{}/{name}", from.parent().as_str()));
    let to = in_same_folder.as_deref().or(name).unwrap_or(to);
    let folder = context.folder(to)?;
    let is_folder = to.ends_with('/') || context.vault.is_folder(&folder);
    // A folder whose name differs only in case may be the same one.
    if is_folder && folder.as_str().to_lowercase() != from.as_str().to_lowercase() {
        return Ok(folder.child(from.name())?);
    }
    let (ending, new) = (extension_of(from.name()), extension_of(folder.name()));
    let keeps_ending = new == ending || new.is_some() && !is_note(from.name());
    let is_file = !context.vault.is_folder(from);
    if let Some(ending) = ending.as_deref().filter(|_| is_file && name.is_none())
        && !to.contains(['/', '.'])
    {
        return Err(Error::invalid(format!(
            "There is no folder {to}. To move the file into a new one give {to}/, to rename it \
             {to}.{ending}"
        )));
    }
    Ok(VaultPath::file(&match ending.filter(|_| is_file && !keeps_ending) {
        Some(ending) => format!("{}.{ending}", folder.as_str()),
        None => folder.as_str().to_owned(),
    })?)
}
