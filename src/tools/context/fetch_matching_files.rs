//! `fetch_matching_files`: all notes with certain properties and tags.

use super::document::{Document, Section};
use super::{
    CHUNK_INDEX, DIGEST, MATCH_ALL_TAGS, MAX_CHARS, PROPERTIES, TAGS, criteria, matching,
    shown_path, wanted_chunk, why_nothing,
};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::Entry;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) static TOOL: Tool = Tool {
    name: "fetch_matching_files",
    title: "Load matching notes",
    description: "Loads all notes with certain frontmatter properties and tags, whole, the oldest \
                  first; to see first which there are use fetch_frontmatter_index. Both have to \
                  match. Much text comes in chunks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[PROPERTIES, TAGS, MATCH_ALL_TAGS, CHUNK_INDEX, DIGEST, MAX_CHARS],
    output: &[],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let criteria = criteria(arguments);
    let notes = matching(context, &criteria)?;
    let nothing = if notes.is_empty() {
        format!(
            "No note matches.{} Names and values of properties are compared in their case, as \
             they are written: links with [[ ]], numbers as numbers, each value of a list alone. \
             fetch_frontmatter_index without arguments shows what notes have.",
            why_nothing(context, &criteria)?
        )
    } else {
        String::new()
    };
    Ok(whole_notes(context, &notes, nothing).chunk(&wanted_chunk(arguments))?.reply())
}

/// Notes one after the other, each below a head with its path.
pub(super) fn whole_notes<'a>(
    context: &'a Context<'a>,
    notes: &'a [Arc<Entry>],
    nothing: String,
) -> Document<'a> {
    let section = |(number, entry): (usize, &'a Arc<Entry>)| -> Section<'a> {
        let is_last = number == notes.len();
        let end = move |ends_with_line: bool| match (ends_with_line, is_last) {
            (_, true) => "",
            (true, false) => "\n",
            (false, false) => "\n\n",
        };
        let head = move || {
            let rule = "=".repeat(80);
            format!("{rule}\n{}\n{rule}\n", shown_path(context, entry))
        };
        let length = entry.text_length().map(|(chars, has_end)| {
            head().chars().count() + chars + end(has_end || chars == 0).len()
        });
        Section::new(length, move || {
            // Gone, or unreadable, since it was found: the others are still wanted.
            let text = context.vault.text(entry).unwrap_or_else(|error| format!("({error})"));
            Cow::Owned(format!("{}{text}{}", head(), end(text.ends_with('\n') || text.is_empty())))
        })
    };
    Document::new("", (1..).zip(notes).map(section).collect(), notes.iter(), nothing)
}
