//! `vault_write`: a whole file.

use super::{IF_MATCH, PATH, WrittenFile, escapes_warning, frontmatter_warning, name_warning};
use crate::change::write::Overwrite;
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::media::{extension_of, is_note};

pub(super) static TOOL: Tool = Tool {
    name: "vault_write",
    title: "Write a file",
    description: "Writes a whole file: to create a new note, or to replace all of one; to change \
                  part of it use vault_edit, and to add to it vault_insert. Before replacing a \
                  note read it; pass its etag as if_match.",
    effect: Effect::Replaces { idempotent: true },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        required("content", ANY_TEXT, "The full content"),
        defaulted("create_dirs", Shape::Flag, DefaultValue::Flag(true), "Create missing folders"),
        defaulted(
            "create_only",
            Shape::Flag,
            DefaultValue::Flag(false),
            "Fail with ALREADY_EXISTS instead of replacing a file",
        ),
        IF_MATCH,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        file: Inline<WrittenFile<'a>>,
        created: bool,
        /// Bytes.
        size: usize,
        total_lines: usize,
        warning: Option<String>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let name = arguments.text("path");
    if name.trim_end().ends_with('/') {
        return Err(Error::invalid(
            "Argument path ends with a slash, as the path of a folder does; add the name of the \
             file. Folders are made with it.",
        ));
    }
    let path = context.new_path(name)?;
    let over = match (arguments.flag("create_only"), arguments.maybe("if_match")) {
        (true, Some(_)) => {
            return Err(Error::invalid(
                "Give if_match for an existing file, or create_only, not both.",
            ));
        }
        (true, None) => Overwrite::Nothing,
        (false, Some(etag)) => Overwrite::Etag(etag),
        (false, None) => Overwrite::Anything,
    };
    let content = arguments.text("content");
    let written = context.changes.write(&path, content, arguments.flag("create_dirs"), over)?;
    let is_shown = !written.created || extension_of(path.name()).is_some();
    Reply::of(&Answer {
        file: WrittenFile::of(&written),
        created: written.created,
        size: written.size,
        total_lines: written.total_lines,
        warning: match is_shown {
            false => Some(
                "Obsidian does not show a file without an extension; the name of a note ends in \
                 .md."
                    .into(),
            ),
            true => name_warning(&path)
                .filter(|_| written.created)
                .or_else(|| escapes_warning(content))
                .or_else(|| frontmatter_warning(content).filter(|_| is_note(path.name()))),
        },
    })
}
