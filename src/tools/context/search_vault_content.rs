//! `search_vault_content`: notes by what stands in them, plain or as a regular expression.

use super::document::{Document, Section};
use super::{CHUNK_INDEX, CONTEXT, DIGEST, MAX_CHARS, shown_path, wanted_chunk};
use crate::limits;
use crate::search::expression::Expression;
use crate::search::grep::Occurrences;
use crate::tools::schema::{DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use std::borrow::Cow;

/// Maximum characters of context on either side of a match.
const GREP_CONTEXT_CHARS: usize = 1_000;

pub(super) static TOOL: Tool = Tool {
    name: "search_vault_content",
    title: "Search note contents",
    description: "Searches the text of all notes, frontmatter included, for an exact piece of \
                  text or a regular expression; for questions and words use vault_search. Gives \
                  the notes that have it, most matches first, a few in context. A long answer \
                  comes in chunks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        required("search_pattern", Shape::Text { max: limits::QUERY_CHARS }, "The text to find"),
        defaulted(
            "case_sensitive",
            Shape::Flag,
            DefaultValue::Flag(false),
            "Tell capital letters from small ones",
        ),
        defaulted(
            "regex",
            Shape::Flag,
            DefaultValue::Flag(false),
            "Take search_pattern as a regular expression, without look-around and backreferences; \
             ^ and $ match at line ends",
        ),
        defaulted(
            "context_chars",
            Shape::Integer {
                min: 0,
                max: GREP_CONTEXT_CHARS as i64,
                outside: Code::InvalidArgument,
            },
            DefaultValue::Integer(100),
            "Characters to show on either side of a match",
        ),
        CHUNK_INDEX,
        DIGEST,
        MAX_CHARS,
    ],
    output: &[],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let text = arguments.text("search_pattern");
    if text.is_empty() {
        return Err(Error::invalid(
            "Argument search_pattern is empty; fetch_frontmatter_index shows all notes.",
        ));
    }
    let wrong = |why: String| {
        Error::invalid(format!("Argument search_pattern is not a regular expression: {why}"))
    };
    let of = if arguments.flag("regex") { Expression::new } else { Expression::of_text };
    let pattern = of(text, arguments.flag("case_sensitive")).map_err(wrong)?;
    let found = context.search.grep(
        &pattern,
        arguments.number("context_chars"),
        &context.proceed("notes searched"),
    )?;
    let matches: usize = found.notes.iter().map(|found| found.count).sum();
    let mut title = format!("{matches} matches in {} notes for {text:?}\n", found.notes.len());
    if found.not_searched > 0 {
        title.push_str(&format!(
            "{} notes were not searched to their end: they cannot be read, or time ran out.\n",
            found.not_searched
        ));
    }
    title.push('\n');
    let mut sections: Vec<Section<'_>> = vec![Section::new(None, || Cow::Borrowed(title.as_str()))];
    sections.extend((1..).zip(&found.notes).map(|(number, found)| {
        Section::new(None, move || Cow::Owned(section(context, number, found)))
    }));
    let nothing = match found.not_searched {
        0 => "No note has it. Try fewer words, another form of the word, or regex.".to_owned(),
        count => format!(
            "Not found, but {count} notes were not searched to their end: they cannot be read, or \
             time ran out."
        ),
    };
    let notes = found.notes.iter().map(|found| &found.entry);
    Ok(Document::new("", sections, notes, nothing).chunk(&wanted_chunk(arguments))?.reply())
}

fn section(context: &Context<'_>, number: usize, found: &Occurrences) -> String {
    let entry = &found.entry;
    let mut about = vec![format!("modified: {}", entry.stamp.modified().rfc3339())];
    for (name, value) in [
        ("tags", entry.tags.join(", ")),
        (CONTEXT, entry.property_text(CONTEXT)),
        ("type", entry.property_text("type")),
    ] {
        if !value.is_empty() {
            about.push(format!("{name}: {}", value.replace(['\n', '\r'], " ")));
        }
    }
    let mut text = format!(
        "{number}. {} ({} match{})\n   path: {}\n   {}\n",
        entry.title().replace(['\n', '\r'], " "),
        found.count,
        if found.count == 1 { "" } else { "es" },
        shown_path(context, entry),
        about.join("; ")
    );
    for (line, snippet) in &found.excerpts {
        text.push_str(&format!("   line {line}: {snippet}\n"));
    }
    if found.count > found.excerpts.len() {
        text.push_str(&format!("   and {} more\n", found.count - found.excerpts.len()));
    }
    text.push('\n');
    text
}
