//! `vault_read_file`: one note.

use super::{PATH, note_path};
use crate::limits;
use crate::slice::{Part, first_chars};
use crate::tools::result::{Members, flag, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::{bytes_that_fit, etag};
use std::borrow::Cow;

pub(super) static TOOL: Tool = Tool {
    name: "vault_read_file",
    title: "Read a note of the repository",
    description: "Reads one note of the repository, whole, with its etag for vault_write_file; \
                  for a range of lines or an old version use vault_read. A long one is cut: go on \
                  at next_offset.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        defaulted(
            "offset",
            Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange },
            DefaultValue::Integer(0),
            "First character to show, counted from 0",
        ),
        defaulted(
            "limit",
            Shape::Integer { min: 1, max: READ_CHARS as i64, outside: Code::InvalidRange },
            DefaultValue::Integer(READ_CHARS as i64),
            "Characters to show",
        ),
    ],
    output: Read::FIELDS,
    run,
};

/// Characters that the text may take, as JSON; the other members take the rest.
const READ_CHARS: usize = limits::RESULT_CHARS * 9 / 10;

result! {
    struct Read<'a> {
        path: &'a str,
        exists: bool,
        /// Of the whole note.
        size_bytes: usize,
        /// Its text from offset on.
        content: &'a str,
        truncated: Option<bool>,
        /// Pass as offset to go on.
        next_offset: Option<usize>,
        /// The note is not UTF-8: what is not shown as it is would be lost by writing it back.
        lossy: Option<bool>,
        /// Pass as if_match.
        etag: Option<String>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), Context::path)?;
    let found = context.vault.bytes_if_any(&path)?;
    let bytes = found.as_deref().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let (offset, limit) = (arguments.number("offset"), arguments.number("limit"));
    let from = first_chars(&text, offset).len();
    let rest = text.part(from..);
    if found.is_some() && offset > 0 && from == text.len() {
        let total = text.chars().count();
        return Err(Error::new(
            Code::InvalidRange,
            format!("offset {offset} is past the end: the note has {total} characters"),
        ));
    }
    let wanted = first_chars(rest, limit);
    let mut chars_left = READ_CHARS;
    let content = wanted.part(..bytes_that_fit(wanted, &mut chars_left));
    let truncated = content.len() < rest.len();
    Reply::of(&Read {
        path: path.as_str(),
        exists: found.is_some(),
        size_bytes: bytes.len(),
        content,
        truncated: flag(truncated),
        next_offset: truncated.then(|| offset + content.chars().count()),
        lossy: flag(matches!(text, Cow::Owned(_))),
        etag: found.as_deref().map(etag),
    })
}
