//! `fetch_context`: all notes of one context.

use super::document::Wanted;
use super::fetch_matching_files::whole_notes;
use super::{CHUNK_INDEX, CONTEXT, Chunk, DIGEST, MAX_CHARS, matching, wanted_chunk};
use crate::tools::schema::{ANY_TEXT, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::properties::Criteria;
use serde_json::{Map, Value};

pub(super) static TOOL: Tool = Tool {
    name: "fetch_context",
    title: "Load a context",
    description: "Loads all notes of one context (frontmatter property context, such as personal \
                  or work), whole, the oldest first; for notes about a topic use vault_search. A \
                  good first call of a conversation. Long contexts come in chunks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional(
            "context_type",
            ANY_TEXT,
            "Value of the property context; without it the configured default context",
        ),
        CHUNK_INDEX,
        DIGEST,
        MAX_CHARS,
    ],
    output: &[],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    Ok(load(context, arguments.maybe("context_type"), &wanted_chunk(arguments))?.reply())
}

/// A chunk of a context; without a type, of the default one.
fn load(context: &Context<'_>, kind: Option<&str>, wanted: &Wanted) -> Result<Chunk, Error> {
    let of = |value: Value| Criteria {
        properties: Map::from_iter([(CONTEXT.into(), value)]),
        ..Criteria::default()
    };
    let criteria = match (kind, &context.options.default_context) {
        (Some(kind), _) => of(kind.into()),
        (None, Some(default)) => default.clone(),
        (None, None) => {
            let why = format!(
                "Argument context_type is missing, and no default context is configured. {}",
                known_types(context)?
            );
            return Err(Error::invalid(why));
        }
    };
    let mut notes = matching(context, &criteria)?;
    // YAML makes a number of `context: 5`, and a flag of `context: true`.
    let scalar = kind.and_then(|kind| serde_json::from_str(kind).ok());
    if let Some(value @ (Value::Number(_) | Value::Bool(_))) = scalar.filter(|_| notes.is_empty()) {
        notes = matching(context, &of(value))?;
    }
    let nothing = if notes.is_empty() {
        format!("No note belongs to this context. {}", known_types(context)?)
    } else {
        String::new()
    };
    whole_notes(context, &notes, nothing).chunk(wanted)
}

/// A sentence about the contexts that exist.
fn known_types(context: &Context<'_>) -> Result<String, Error> {
    let types: Vec<String> = context
        .vault
        .values_of(CONTEXT)?
        .into_iter()
        .take(20)
        .map(|(name, notes)| format!("{name} ({notes})"))
        .collect();
    Ok(if types.is_empty() {
        "No note has the property context; use fetch_matching_files or fetch_frontmatter_index."
            .into()
    } else {
        format!("Contexts and their notes: {}.", types.join(", "))
    })
}
