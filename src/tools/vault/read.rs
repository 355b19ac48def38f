//! `vault_read`: a range of lines, or a picture, sound or PDF.

use super::PATH;
use crate::tools::reply::json_of;
use crate::tools::result::{flag, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::media::Kind;
use crate::vault::read::{Content, Range, Read};
use crate::{limits, uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const LINE: Shape = Shape::Integer { min: 1, max: i64::MAX, outside: Code::InvalidRange };

pub(super) static TOOL: Tool = Tool {
    name: "vault_read",
    title: "Read a file",
    description: "Opens one file, to open, read or show it, whole or a range of lines, also a \
                  picture, image, PDF or sound; for several notes, one section or properties use \
                  vault_read_notes. content is the exact text. Long files are cut: go on at \
                  next_offset.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        defaulted("offset", LINE, DefaultValue::Integer(1), "First line to show, from 1"),
        defaulted(
            "limit",
            Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange },
            DefaultValue::Integer(0),
            "Lines; 0: all from offset on, cut if many",
        ),
        defaulted(
            "column",
            LINE,
            DefaultValue::Integer(1),
            "First character of that line, from 1: next_column",
        ),
        optional("version", ANY_TEXT, "From vault_history"),
    ],
    output: &[],
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
        /// Width and height of a picture that was scaled down, as it is shown.
        scaled_to: Option<(usize, usize)>,
        /// And in the file, upright.
        scaled_from: Option<(usize, usize)>,
        size: u64,
        /// Not of an old version.
        modified: Option<String>,
        /// Likewise.
        etag: Option<&'a str>,
        /// The exact text of these lines.
        content: Option<&'a str>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (offset, column, limit) =
        (arguments.number("offset"), arguments.number("column"), arguments.number("limit"));
    // The cut applies when no range is asked for.
    let cut = offset == 1 && limit == 0;
    let limit = if cut { context.options.read_lines } else { limit };
    // The other members take the rest of the answer.
    let max_chars = limits::RESULT_CHARS - 3_000;
    let range = Range { offset, column, limit, max_chars };
    let (path, size, modified, etag, content) = match arguments.maybe("version") {
        None => {
            let path = context.path(arguments.text("path"))?;
            let Read { content, stamp, etag } = context.vault.read(&path, range)?;
            (path, stamp.size, Some(stamp.modified().rfc3339()), Some(etag), content)
        }
        Some(version) => {
            let mut path = context.existing_or_deleted(arguments.text("path"))?;
            let bytes = match context.changes.kept_version(&path, version.trim()) {
                Ok(bytes) => bytes,
                Err(no_version) => {
                    path = context.path_in_commit(arguments.text("path"), path);
                    context.bytes_in_commit(&path, version.trim())?.ok_or(no_version)?
                }
            };
            (path.clone(), bytes.len() as u64, None, None, Content::of(&path, bytes, range)?)
        }
    };
    let mut shown =
        Shown { path: path.as_str(), size, modified, etag: etag.as_deref(), ..Shown::default() };
    match &content {
        Content::Lines(lines) => {
            let rest = (lines.showing.1 + 1, 1);
            let next =
                lines.next.or_else(|| (cut && lines.showing.1 < lines.total_lines).then_some(rest));
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
                    json!({ "type": "resource", "resource": { "uri": uri::of_path(path.as_str()), "mimeType": media_type, "blob": data } })
                }
            };
            Ok(Reply::Media { block, about: json_of(&shown)? })
        }
        #[cfg(feature = "pictures")]
        Content::Scaled(picture) => {
            shown.mime_type = Some("image/jpeg");
            shown.scaled_to = Some(picture.size);
            shown.scaled_from = Some(picture.original);
            let data = STANDARD.encode(&picture.jpeg);
            let block = json!({ "type": "image", "data": data, "mimeType": "image/jpeg" });
            Ok(Reply::Media { block, about: json_of(&shown)? })
        }
    }
}
