//! `fetch`: one note, whole.

use super::url;
use crate::limits;
use crate::slice::Part;
use crate::tools::schema::{ANY_TEXT, Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::fitting;
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "fetch",
    title: "Read a note for research",
    description: "Reads the whole text of one note that search has found, with its title, url, tags and time; for lines of a file use \
        vault_read where that is listed.",
    effect: Effect::Reads,
    input: &[required("id", ANY_TEXT, "The id that search gave: the path of the note")],
    output: &[
        required("id title text url", ANY_TEXT, ""),
        required("metadata", Shape::Anything, "tags, modified; truncated if the text is cut"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (path, text, _) = context.vault.note(&context.path(arguments.text("id"))?)?;
    let entry = context.vault.entry(&path)?;
    let mut left = limits::RESULT_CHARS - 5_000;
    let length = fitting(&text, &mut left);
    let mut metadata = json!({ "tags": &*entry.tags, "modified": entry.stamp.modified().rfc3339() });
    if let (Some(members), true) = (metadata.as_object_mut(), length < text.len()) {
        members.insert("truncated".into(), true.into());
    }
    let shown = text.part(..length);
    Reply::of(&json!({
        "id": path.as_str(),
        "title": entry.title(),
        "text": shown,
        "url": url(context, path.as_str()),
        "metadata": metadata,
    }))
}
