//! The resource `config://vault-info`: what a model needs to know to ask for a context.

use super::CONTEXT;
use crate::tools::{Context, Error, Resource};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Contexts, and tags, named in `config://vault-info`.
const INFO_NAMES: usize = 100;

pub(super) static RESOURCE: Resource = Resource {
    uri: "config://vault-info",
    name: "vault-info",
    title: "About this vault",
    description: "How many notes there are, which contexts and tags they have, and what \
                  fetch_context loads without a type",
    mime_type: "application/json",
    read,
};

fn read(context: &Context<'_>) -> Result<String, Error> {
    let notes =
        context.vault.notes(&super::Criteria::default(), &context.proceed("notes looked at"))?;
    let mut tags = BTreeMap::<&str, usize>::new();
    notes
        .iter()
        .flat_map(|entry| entry.tags.iter())
        .for_each(|tag| *tags.entry(tag).or_default() += 1);
    let mut tags: Vec<(&str, usize)> = tags.into_iter().collect();
    tags.sort_by(|(_, a), (_, b)| b.cmp(a));
    let counted = |names: Vec<(String, usize)>| {
        names.into_iter().map(|(name, count)| (name, count.into())).collect::<Map<String, Value>>()
    };
    let default = context
        .options
        .default_context
        .as_ref()
        .map(|default| json!({ "properties": default.properties, "tags": default.tags }));
    let info = json!({
        "files": context.vault.size(),
        "notes": notes.len(),
        "contexts": counted(context.vault.values_of(CONTEXT)?.into_iter().take(INFO_NAMES).collect()),
        "tags": counted(tags.into_iter().take(INFO_NAMES).map(|(tag, count)| (tag.to_owned(), count)).collect()),
        "default_context": default,
    });
    Ok(info.to_string())
}
