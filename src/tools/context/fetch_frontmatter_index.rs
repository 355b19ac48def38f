//! `fetch_frontmatter_index`: matching notes as a table.

use super::document::{Document, Section};
use super::{
    CHUNK_INDEX, CONTEXT, DIGEST, MATCH_ALL_TAGS, MAX_CHARS, PROPERTIES, TAGS, criteria, matching,
    shown_path, wanted_chunk, why_nothing,
};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::Entry;
use std::borrow::Cow;

pub(super) static TOOL: Tool = Tool {
    name: "fetch_frontmatter_index",
    title: "Browse frontmatter",
    description: "Lists notes as a table (title, path, tags, context, type, time, size) without \
                  their text, the oldest first; to load them whole use fetch_matching_files. A \
                  long table comes in chunks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[PROPERTIES, TAGS, MATCH_ALL_TAGS, CHUNK_INDEX, DIGEST, MAX_CHARS],
    output: &[],
    run,
};

const HEAD: &str =
    "| title | path | tags | context | type | modified | bytes |\n|---|---|---|---|---|---|---|\n";

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let criteria = criteria(arguments);
    let notes = matching(context, &criteria)?;
    let sections: Vec<Section<'_>> = notes
        .iter()
        .map(|entry| Section::new(None, move || Cow::Owned(row(context, entry))))
        .collect();
    let nothing = if notes.is_empty() {
        let why = why_nothing(context, &criteria)?;
        format!("No note matches.{why} Names and values of properties are compared in their case.")
    } else {
        String::new()
    };
    Ok(Document::new(HEAD, sections, notes.iter(), nothing)
        .chunk(&wanted_chunk(arguments))?
        .reply())
}

fn row(context: &Context<'_>, entry: &Entry) -> String {
    let day = entry.stamp.modified().rfc3339();
    let cells = [
        cell(&entry.title()),
        cell(&shown_path(context, entry)),
        cell(&entry.tags.join(", ")),
        cell(&entry.property_text(CONTEXT)),
        cell(&entry.property_text("type")),
        day.get(..10).unwrap_or_default().to_owned(),
        entry.stamp.size.to_string(),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A text as one cell of a table: no line breaks, and `|` escaped.
fn cell(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .replace('|', "\\|")
}
