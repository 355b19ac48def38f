//! `fetch`: one note, whole.

use super::url;
use crate::limits;
use crate::object::without_nulls;
use crate::slice::Part;
use crate::tools::schema::{ANY_TEXT, Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::bytes_that_fit;
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "fetch",
    title: "Read a note for research",
    description: "Reads the whole text of one note that search has found, with its title, url, \
                  tags and time; a very long one in parts, each with the id of the next.",
    effect: Effect::Reads,
    facts: &[],
    input: &[required("id", ANY_TEXT, "The id that search gave: the path of the note").of_files()],
    output: &[
        required("id title text url", ANY_TEXT, ""),
        required("metadata", Shape::AnyObject, "tags, modified; next_id if there is more text"),
    ],
    run,
};

/// Stands in the id of a further part of a note, between the note's path and the number of the
/// part.
const PART: &str = "#part-";

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let id = arguments.text("id");
    let (named, number) = id
        .rsplit_once(PART)
        .and_then(|(path, number)| Some((path, number.parse::<u32>().ok()?)))
        .unwrap_or((id, 1));
    let path = context.path(named)?;
    let (text, _) = context.vault.note(&path)?;
    let entry = context.vault.entry(&path)?;
    let part = |from: usize| {
        text.part(
            from..from + bytes_that_fit(text.part(from..), &mut (limits::RESULT_CHARS - 5_000)),
        )
    };
    let mut from = 0;
    for _ in 1..number {
        from += part(from).len();
        if from == text.len() {
            return Err(Error::invalid("Argument id names a part that the note does not have."));
        }
    }
    let shown = part(from);
    let next_id = (from + shown.len() < text.len())
        .then(|| format!("{}{PART}{}", path.as_str(), number.max(1) + 1));
    Reply::of(&json!({
        "id": id,
        "title": entry.title(),
        "text": shown,
        "url": url(context, path.as_str()),
        "metadata": without_nulls(json!({ "tags": &*entry.tags, "modified": entry.stamp.modified().rfc3339(), "next_id": next_id })),
    }))
}
