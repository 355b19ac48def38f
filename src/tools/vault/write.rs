//! `vault_write`: a whole file.

use super::{IF_MATCH, PATH, WrittenFile, escapes_warning, frontmatter_warning, name_warning};
use crate::change::write::Overwrite;
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::media::{Kind, extension_of, is_note, of};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const TEXT: &str = "text";
const BASE64: &str = "base64";
/// Bytes of an attachment: what a model's message carries, and a client shows.
const ATTACHMENT_BYTES: usize = 5 * 1024 * 1024;

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
        defaulted(
            "encoding",
            Shape::OneOf(&[TEXT, BASE64]),
            DefaultValue::Text(TEXT),
            "Of content; base64: picture, PDF, sound",
        ),
        defaulted("create_dirs", Shape::Flag, DefaultValue::Flag(true), "Create missing folders"),
        defaulted(
            "create_only",
            Shape::Flag,
            DefaultValue::Flag(false),
            "ALREADY_EXISTS instead of replacing a file",
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
        /// Of text.
        total_lines: Option<usize>,
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
    let create_dirs = arguments.flag("create_dirs");
    let is_text = arguments.text("encoding") == TEXT;
    let written = if is_text {
        context.changes.write(&path, content, create_dirs, over)?
    } else {
        context.changes.write_bytes(&path, &attachment(&path, content)?, create_dirs, over)?
    };
    let is_shown = !written.created || extension_of(path.name()).is_some();
    Reply::of(&Answer {
        file: WrittenFile::of(&written),
        created: written.created,
        size: written.size,
        total_lines: is_text.then_some(written.total_lines),
        warning: match is_shown {
            false => Some(
                "Obsidian does not show a file without an extension; the name of a note ends in \
                 .md."
                    .into(),
            ),
            true => name_warning(&path)
                .filter(|_| written.created)
                .or_else(|| escapes_warning(content).filter(|_| is_text))
                .or_else(|| frontmatter_warning(content).filter(|_| is_note(path.name()))),
        },
    })
}

/// The bytes of an attachment that were sent as base64, also as a `data:` URL.
fn attachment(path: &VaultPath, content: &str) -> Result<Vec<u8>, Error> {
    if of(path.name()).0 == Kind::Text {
        return Err(Error::invalid(format!(
            "{} is the name of a text; send the text itself, without encoding.",
            path.as_str()
        )));
    }
    let data = content.split_once(";base64,").map_or(content, |(_, data)| data);
    let data: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(data).map_err(|why| {
        Error::invalid(format!("Argument content is not base64 ({why}); nothing was written."))
    })?;
    if bytes.len() > ATTACHMENT_BYTES {
        return Err(Error::new(
            Code::TooLarge,
            format!(
                "Too large: {} bytes, the limit of an attachment is {ATTACHMENT_BYTES}. Put it into \
                 the vault another way.",
                bytes.len()
            ),
        ));
    }
    Ok(bytes)
}
