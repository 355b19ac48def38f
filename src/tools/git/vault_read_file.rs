//! `vault_read_file`: one note.

use super::{ETAG, PATH, note_path};
use crate::limits;
use crate::tools::paging::TRUNCATED;
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::{etag, fitting};
use serde::Serialize;
use std::borrow::Cow;

pub(super) static TOOL: Tool = Tool {
    name: "vault_read_file",
    title: "Read a note of the repository",
    description: "Reads one note of the repository, whole, with its etag for vault_write_file; for a range of lines use vault_read. A \
        note that does not exist is exists: false, no error. A long one is cut: go on at next_offset.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[
        required("path", ANY_TEXT, PATH),
        defaulted(
            "offset",
            Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange },
            Default::Integer(0),
            "First character to show, counted from 0",
        ),
        defaulted(
            "limit",
            Shape::Integer { min: 1, max: READ_CHARS as i64, outside: Code::InvalidRange },
            Default::Integer(READ_CHARS as i64),
            "Characters to show at most",
        ),
    ],
    output: &[
        required("path", ANY_TEXT, "The note"),
        required("exists", Shape::Flag, "Whether there is such a note"),
        required("size_bytes", COUNT, "Bytes of the whole note"),
        required("content", ANY_TEXT, "Its text from offset on"),
        TRUNCATED,
        optional("next_offset", COUNT, "Pass as offset to go on"),
        optional("lossy", Shape::Flag, "True when the note is not UTF-8: what is not shown as it is would be lost by writing it back"),
        optional("etag", ANY_TEXT, ETAG),
    ],
    run,
};

/// Room for the text, as JSON writes it, beside the other members.
const READ_CHARS: usize = limits::RESULT_CHARS * 9 / 10;

#[derive(Serialize)]
struct Read<'a> {
    path: &'a str,
    exists: bool,
    size_bytes: usize,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), false)?;
    let Some(bytes) = context.vault.bytes_if_any(&path)? else {
        let missing = Read {
            path: path.as_str(),
            exists: false,
            size_bytes: 0,
            content: "",
            truncated: false,
            next_offset: None,
            lossy: false,
            etag: None,
        };
        return Reply::of(&missing);
    };
    let text = String::from_utf8_lossy(&bytes);
    let (offset, limit) = (arguments.number("offset"), arguments.number("limit"));
    let from = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let rest = text.get(from..).unwrap_or_default();
    if offset > 0 && from == text.len() {
        let total = text.chars().count();
        return Err(Error::new(Code::InvalidRange, format!("offset {offset} is past the end: the note has {total} characters")));
    }
    let wanted = rest.char_indices().nth(limit).and_then(|(at, _)| rest.get(..at)).unwrap_or(rest);
    let content = wanted.get(..fitting(wanted, &mut READ_CHARS.clone())).unwrap_or_default();
    let truncated = content.len() < rest.len();
    Reply::of(&Read {
        path: path.as_str(),
        exists: true,
        size_bytes: bytes.len(),
        content,
        truncated,
        next_offset: truncated.then(|| offset + content.chars().count()),
        lossy: matches!(text, Cow::Owned(_)),
        etag: Some(etag(&bytes)),
    })
}
