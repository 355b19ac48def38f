//! `vault_edit`: texts in a file replaced.

use super::{IF_MATCH, PATH, WrittenFile};
use crate::change::replace_text::Replacement;
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, Field, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

const OLD_TEXT: &str = "Exact text to find";
const NEW_TEXT: &str = "Text to put instead";
const REPLACE_ALL: Field = optional("replace_all", Shape::Flag, "Replace every occurrence");

pub(super) static TOOL: Tool = Tool {
    name: "vault_edit",
    title: "Edit a file",
    description: "Changes a word or a piece of text: to replace, correct or remove it, or several \
                  with edits; to append or insert use vault_insert, and for frontmatter \
                  vault_set_properties. Every other byte stays. old_text must match exactly, \
                  white space and line breaks included, and appear exactly once: include enough \
                  of the surrounding lines, or set replace_all. Empty new_text deletes. Not a regular expression.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Instruction(
        " Change one with vault_edit, which keeps the rest; vault_write is for new files. Pass the etag \
         you read as if_match. Keep frontmatter, links and style.",
    )],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        optional("old_text", ANY_TEXT, OLD_TEXT),
        optional("new_text", ANY_TEXT, NEW_TEXT),
        REPLACE_ALL,
        optional(
            "edits",
            Shape::List(&Shape::Object(&[
                required("old_text", ANY_TEXT, OLD_TEXT),
                required("new_text", ANY_TEXT, NEW_TEXT),
                REPLACE_ALL,
            ])),
            "Several replacements in order, all or none; instead of old_text",
        ),
        IF_MATCH,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        file: Inline<WrittenFile<'a>>,
        /// Always true; what fails is an error.
        replaced: bool,
        replacements: usize,
        total_lines: usize,
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
    let path = context.path(arguments.text("path"))?;
    let several = arguments.objects("edits");
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
    let (edited, replacements) =
        context.changes.edit(&path, &edits, arguments.maybe("if_match"))?;
    Reply::of(&Answer {
        file: WrittenFile::of(&edited),
        replaced: true,
        replacements,
        total_lines: edited.total_lines,
    })
}
