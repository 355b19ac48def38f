//! Toolset `context`: notes chosen by their frontmatter, loaded whole. All tools read only.

mod document;
mod fetch_context;
mod fetch_frontmatter_index;
mod fetch_matching_files;
mod fetch_specific_file;
mod search_vault_content;
mod vault_info;

pub use document::Chunk;

use super::schema::{ANY_TEXT, DefaultValue, Field, Shape, defaulted, optional};
use super::{Arguments, Code, Context, Error, Resource, Tool};
use crate::limits;
use crate::vault::Entry;
use crate::vault::properties::Criteria;
use document::Wanted;
use serde_json::Map;
use std::sync::Arc;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 5] = [
    &fetch_context::TOOL,
    &fetch_matching_files::TOOL,
    &fetch_frontmatter_index::TOOL,
    &fetch_specific_file::TOOL,
    &search_vault_content::TOOL,
];

/// The resources of the set.
pub static RESOURCES: [&Resource; 1] = [&vault_info::RESOURCE];

/// The property that says which context a note belongs to.
pub const CONTEXT: &str = "context";

const PROPERTIES: Field = optional(
    "properties",
    Shape::AnyObject,
    "All of these properties with these values; a list matches when it contains the value. For \
     example {\"type\": \"project\"}",
);
const TAGS: Field =
    optional("tags", Shape::List(&ANY_TEXT), "Any of these tags, or one nested below");
const MATCH_ALL_TAGS: Field = defaulted(
    "match_all_tags",
    Shape::Flag,
    DefaultValue::Flag(false),
    "Only notes with all of the tags",
);
const CHUNK_INDEX: Field = defaulted(
    "chunk_index",
    Shape::Integer { min: 0, max: i64::MAX, outside: Code::InvalidRange },
    DefaultValue::Integer(0),
    "Which chunk, from 0",
);
const DIGEST: Field = optional(
    "digest",
    ANY_TEXT,
    "From the first chunk: refuses a later one once the notes have changed",
);
const MAX_CHARS: Field = defaulted(
    "max_chars",
    Shape::Integer {
        min: limits::CHUNK_CHARS_MIN as i64,
        max: limits::RESULT_CHARS as i64,
        outside: Code::InvalidArgument,
    },
    DefaultValue::Integer(limits::RESULT_CHARS as i64),
    "Characters of a chunk",
);

/// Which chunk is asked for, and how long it may be.
fn wanted_chunk(arguments: &Arguments) -> Wanted<'_> {
    Wanted {
        index: arguments.number("chunk_index"),
        max_chars: arguments.number("max_chars"),
        digest: arguments.maybe("digest"),
    }
}

fn criteria(arguments: &Arguments) -> Criteria {
    Criteria {
        properties: arguments
            .members("properties")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        tags: arguments.texts("tags").map(str::to_owned).collect(),
        all_tags: arguments.flag("match_all_tags"),
    }
}

/// A sentence for an answer without notes: which filter no note passes, or that all do by
/// themselves.
fn why_nothing(context: &Context<'_>, criteria: &Criteria) -> Result<String, Error> {
    let mut alone: Vec<(String, Criteria)> = Vec::new();
    for (name, value) in &criteria.properties {
        let properties = Map::from_iter([(name.clone(), value.clone())]);
        alone.push((format!("{name}: {value}"), Criteria { properties, ..Criteria::default() }));
    }
    if !criteria.tags.is_empty() {
        let of_tags = Criteria { properties: Map::new(), ..criteria.clone() };
        alone.push((format!("tags: {}", criteria.tags.join(", ")), of_tags));
    }
    let mut excluding = Vec::new();
    for (name, criteria) in &alone {
        if matching(context, criteria)?.is_empty() {
            excluding.push(name.as_str());
        }
    }
    Ok(match (alone.len(), excluding.as_slice()) {
        (0 | 1, _) => String::new(),
        (_, []) => " Each filter alone has notes; no note passes all of them.".into(),
        (_, names) => format!(" No note passes {}.", names.join("; nor ")),
    })
}

fn matching(context: &Context<'_>, criteria: &Criteria) -> Result<Vec<Arc<Entry>>, Error> {
    Ok(context.vault.notes(criteria, &context.proceed("notes looked at"))?)
}

/// A note's path as the caller may see it.
fn shown_path(context: &Context<'_>, entry: &Entry) -> String {
    if context.options.local {
        context.vault.absolute(&entry.path).display().to_string()
    } else {
        entry.path.to_string()
    }
}
