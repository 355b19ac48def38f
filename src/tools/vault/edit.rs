//! `vault_edit`: texts in a file replaced.

use super::{IF_MATCH, PATH, WrittenFile};
use crate::change::replace_text::Replacement;
use crate::change::write::Changed;
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_edit",
    title: "Edit a file",
    description: "Changes a word or a piece of text: to replace, correct or remove it, or several \
                  with edits; to append or insert use vault_insert, and for frontmatter \
                  vault_set_properties. old_text must match exactly, \
                  white space and line breaks included, and appear exactly once: include enough \
                  of the surrounding lines, or set replace_all. Empty new_text deletes. Not a regular expression.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Instruction(
        " Change one with vault_edit, which keeps the rest; vault_write is for new files. Pass the etag \
         you read as if_match. Keep frontmatter, links and style.",
    )],
    input: &[
        optional("path", ANY_TEXT, PATH).of_files(),
        optional("paths", Shape::Names, "Instead of path: up to 50 files, all or none").of_files(),
        optional("old_text", ANY_TEXT, "Exact text to find"),
        optional("new_text", ANY_TEXT, "Text to put instead"),
        optional("replace_all", Shape::Flag, "Replace every occurrence"),
        optional(
            "edits",
            Shape::List(&Shape::Object(&[
                required("old_text", ANY_TEXT, ""),
                required("new_text", ANY_TEXT, ""),
                optional("replace_all", Shape::Flag, ""),
            ])),
            "Several replacements in order, all or none; instead of old_text",
        ),
        IF_MATCH,
        optional("dry_run", Shape::Flag, "With paths: only answer what would change"),
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    /// Of `path`, or of `paths`.
    struct Answer<'a> {
        file: Option<Inline<WrittenFile<'a>>>,
        /// Whether the file has the new text now; what fails is an error.
        replaced: bool,
        replacements: usize,
        total_lines: Option<usize>,
        changed: Option<Vec<OneOfSeveral<'a>>>,
        dry_run: Option<bool>,
    }
}

result! {
    struct OneOfSeveral<'a> {
        path: &'a str,
        replacements: usize,
        etag: Option<&'a str>,
    }
}

fn replacement(one: &Arguments) -> Replacement<'_> {
    Replacement {
        old: one.text("old_text"),
        new: one.text("new_text"),
        all: one.flag("replace_all"),
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let several = arguments.objects("edits");
    let edits = edits(arguments, &several)?;
    let dry_run = arguments.flag("dry_run");
    match (arguments.has("path"), arguments.has("paths")) {
        (true, false) if !dry_run => {}
        (false, true) if !arguments.has("if_match") => {
            let changed = context.changes.edit_all(&context.paths(arguments)?, &edits, dry_run)?;
            return Reply::of(&Answer {
                file: None,
                replaced: !dry_run,
                replacements: changed.iter().map(|(_, count)| count).sum(),
                total_lines: None,
                changed: Some(changed.iter().map(OneOfSeveral::of).collect()),
                dry_run: Some(dry_run),
            });
        }
        (true, false) => return Err(Error::invalid("Argument dry_run is for paths.")),
        (false, true) => return Err(Error::invalid("Argument if_match is for path.")),
        _ => return Err(Error::invalid("Give path, or paths for several files.")),
    }
    let path = context.path(arguments.text("path"))?;
    let (edited, replacements) =
        context.changes.edit(&path, &edits, arguments.maybe("if_match"))?;
    Reply::of(&Answer {
        file: Some(WrittenFile::of(&edited)),
        replaced: true,
        replacements,
        total_lines: Some(edited.total_lines),
        changed: None,
        dry_run: None,
    })
}

impl OneOfSeveral<'_> {
    fn of((file, count): &(Changed, usize)) -> OneOfSeveral<'_> {
        OneOfSeveral {
            path: file.path.as_str(),
            replacements: *count,
            etag: file.written.as_ref().map(|written| &*written.etag),
        }
    }
}

fn edits<'a>(
    arguments: &'a Arguments,
    several: &'a [Arguments],
) -> Result<Vec<Replacement<'a>>, Error> {
    let edits: Vec<Replacement<'_>> = match (arguments.maybe("old_text"), several.is_empty()) {
        (Some(_), true) if arguments.has("new_text") => vec![replacement(arguments)],
        (Some(_), true) => {
            return Err(Error::invalid(
                "Argument new_text is missing: the text to put instead of old_text.",
            ));
        }
        (None, false) if !["new_text", "replace_all"].iter().any(|name| arguments.has(name)) => {
            several.iter().map(replacement).collect()
        }
        (None, true) => {
            return Err(Error::invalid(
                "Argument old_text is missing: the text to find; or give edits.",
            ));
        }
        _ => {
            return Err(Error::invalid(
                "Give old_text and new_text, or edits, and not both; replace_all is given in each \
                 of the edits.",
            ));
        }
    };
    if edits.iter().any(|edit| edit.old.is_empty()) {
        return Err(Error::invalid(
            "Argument old_text is empty; give the text to replace, or use vault_write for a new \
             file.",
        ));
    }
    Ok(edits)
}
