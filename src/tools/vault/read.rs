//! `vault_read`: a range of lines, or a picture, sound or PDF.

use super::PATH;
use crate::limits;
use crate::tools::result::{Members, flag, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::uri;
use crate::vault::media::Kind;
use crate::vault::read::{Content, Range};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const LINE: Shape = Shape::Integer { min: 1, max: i64::MAX, outside: Code::InvalidRange };

pub(super) static TOOL: Tool = Tool {
    name: "vault_read",
    title: "Read a file",
    description: "Opens one file, to open, read or show it, whole or a range of lines, also a picture, image, PDF or \
        sound; for several notes, one section or properties use vault_read_notes. content is the exact text, so parts \
        of it can be old_text of vault_edit. Long files are cut: go on at next_offset.",
    effect: Effect::Reads,
    input: &[
        required("path", ANY_TEXT, PATH),
        defaulted("offset", LINE, DefaultValue::Integer(1), "First line to show, from 1"),
        defaulted(
            "limit",
            Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange },
            DefaultValue::Integer(0),
            "Number of lines; 0: all from offset on; from line 1 a long file is cut",
        ),
        defaulted(
            "column",
            LINE,
            DefaultValue::Integer(1),
            "First character of the first line, from 1; only for lines too long for one answer",
        ),
    ],
    output: Shown::FIELDS,
    run,
};

result! {
    #[derive(Default)]
    struct Shown<'a> {
        path: &'a str,
        total_lines: Option<usize>,
        /// First and last line shown.
        showing: Option<(usize, usize)>,
        truncated: Option<bool>,
        /// Pass as offset to go on.
        next_offset: Option<usize>,
        /// Pass as column to go on; only when a line was cut.
        next_column: Option<usize>,
        /// Some bytes are not UTF-8 and are shown as U+FFFD; such text cannot be edited.
        lossy: Option<bool>,
        mime_type: Option<&'static str>,
        size: u64,
        modified: String,
        etag: &'a str,
        /// The exact text of these lines.
        content: Option<&'a str>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.path(arguments.text("path"))?;
    let (offset, column, limit) = (arguments.number("offset"), arguments.number("column"), arguments.number("limit"));
    // The cut applies when no range is asked for.
    let cut = offset == 1 && limit == 0;
    let limit = if cut { context.options.read_lines } else { limit };
    // The other members take the rest of the answer.
    let max_chars = limits::RESULT_CHARS - 3_000;
    let read = context.vault.read(&path, Range { offset, column, limit, max_chars })?;
    let mut shown = Shown {
        path: read.path.as_str(),
        size: read.stamp.size,
        modified: read.stamp.modified().rfc3339(),
        etag: &read.etag,
        ..Shown::default()
    };
    match &read.content {
        Content::Lines(lines) => {
            let rest = (lines.showing.1 + 1, 1);
            let next = lines.next.or_else(|| (cut && lines.showing.1 < lines.total_lines).then_some(rest));
            shown.total_lines = Some(lines.total_lines);
            shown.showing = Some(lines.showing);
            shown.truncated = flag(next.is_some());
            shown.next_offset = next.map(|(line, _)| line);
            shown.next_column = next.map(|(_, column)| column).filter(|&column| column > 1);
            shown.lossy = flag(lines.lossy);
            shown.content = Some(&lines.content);
            Reply::of(&shown)
        }
        Content::Blob { bytes, kind, media_type } => {
            shown.mime_type = Some(media_type);
            if bytes.is_empty() {
                return Reply::of(&shown);
            }
            let data = STANDARD.encode(bytes);
            let block = match kind {
                Kind::Image => json!({ "type": "image", "data": data, "mimeType": media_type }),
                _ => {
                    json!({ "type": "resource", "resource": { "uri": uri::of_path(read.path.as_str()), "mimeType": media_type, "blob": data } })
                }
            };
            Ok(Reply { blocks: vec![block], ..Reply::of(&shown)? })
        }
    }
}
