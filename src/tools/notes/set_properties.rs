//! `vault_set_properties`: properties of one or many notes.

use super::rename_tag::check_tag;
use crate::calendar::Zone;
use crate::change::write::Changed;
use crate::markdown::frontmatter::{self, is_tags};
use crate::markdown::properties::{name_in, parse, set};
use crate::tools::result::{Members, result};
use crate::tools::schema::{Shape, optional, required};
use crate::tools::vault::IF_MATCH;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::media::is_note;
use crate::vault::{Error as VaultError, VaultPath};
use serde_json::{Value, json};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;

pub(super) static TOOL: Tool = Tool {
    name: "vault_set_properties",
    title: "Set properties of notes",
    description: "Sets properties (frontmatter, YAML, metadata) of one or many notes: to set the \
                  status of a project or a date, to tag a note as something or take a tag away, \
                  to add aliases; for text below the frontmatter use vault_edit. Every other \
                  byte stays. All or none.",
    effect: Effect::Replaces { idempotent: true },
    facts: &[],
    input: &[
        required(
            "paths",
            Shape::Names,
            "1 to 50 notes: paths, [[Name]], daily:today; one with if_match",
        )
        .of_files(),
        optional(
            "set",
            Shape::AnyObject,
            "Names and values, such as {\"status\": \"done\", \"due\": \"2026-11-30\"}",
        ),
        optional("remove", Shape::Names, "Names of properties to remove"),
        optional(
            "add_values",
            Shape::AnyObject,
            "Values to add to lists, such as {\"tags\": [\"home\"]}",
        ),
        optional("remove_values", Shape::AnyObject, "Values to remove from lists"),
        IF_MATCH,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer {
        changed: Vec<Value>,
        unchanged: Vec<String>,
        warning: Option<String>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let paths = context.paths(arguments)?;
    if let Some(other) = paths.iter().find(|path| !is_note(path.name())) {
        context.vault.entry(other)?;
        return Err(Error::invalid(format!(
            "{} is no note: only files that end in .md have properties.",
            other.as_str()
        )));
    }
    let changes = changes(context, arguments)?;
    let change = |path: &VaultPath, text: &str| {
        apply(text, &changes)
            .map_err(|why| VaultError::Malformed { path: path.as_str().into(), why })
    };
    let outcome = match (paths.as_slice(), arguments.maybe("if_match")) {
        (_, None) => context.changes.change_all(&paths, false, &change),
        ([_], Some(etag)) => context.changes.change_all(&paths, false, &|path, text| {
            let now = crate::vault::etag(text.as_bytes());
            if now == etag { change(path, text) } else { Err(VaultError::Conflict(Some(now))) }
        }),
        _ => return Err(Error::invalid("Argument if_match is for one note.")),
    };
    let outcome = outcome.map_err(|error| match error {
        VaultError::NotFound { path, hint }
            if arguments.texts("paths").any(|path| path.contains(':')) =>
        {
            VaultError::NotFound {
                path,
                hint: format!(
                    "{hint} If it is a daily note: vault_insert with create makes it from its \
                     template."
                ),
            }
        }
        other => other,
    })?;
    let warning = arguments.members("set").find_map(|(name, value)| {
        let kind = context.vault.property_type(name)?;
        (!has_type(value, &kind)).then(|| {
            format!(
                "{name} is of type {kind} in Obsidian's settings, which {value} is not; it was \
                 written as it is."
            )
        })
    });
    let mut answer = Answer { changed: Vec::new(), unchanged: Vec::new(), warning };
    for Changed { path, written } in outcome {
        match written {
            Some(written) => {
                answer.changed.push(json!({ "path": path.as_str(), "etag": written.etag }))
            }
            None => answer.unchanged.push(path.as_str().into()),
        }
    }
    Reply::of(&answer)
}

/// Whether a value is of a type of Obsidian's properties; an empty one is of each.
fn has_type(value: &Value, kind: &str) -> bool {
    let date = |text: &str| Zone::default().parse(text);
    match (kind, value) {
        (_, Value::Null) => true,
        ("number", value) => value.is_number(),
        ("checkbox", value) => value.is_boolean(),
        ("date", Value::String(text)) => date(text).is_some_and(|(_, has_time)| !has_time),
        ("datetime", Value::String(text)) => date(text).is_some(),
        ("date" | "datetime", _) => false,
        ("text", value) => !value.is_array() && !value.is_object(),
        _ => true,
    }
}

/// What is to be done to a property.
enum Change {
    /// Removed if there is no value.
    Set(Option<Value>),
    Add(Vec<Value>),
    Remove(Vec<Value>),
}

/// What is to be done to each note, in this order.
fn changes(context: &Context<'_>, arguments: &Arguments) -> Result<Vec<(String, Change)>, Error> {
    // `[[2026]]` is a link.
    let is_json_list = |value: &Value| {
        value.as_str().is_some_and(|text| {
            !text.starts_with("[[") && serde_json::from_str::<Vec<Value>>(text).is_ok()
        })
    };
    let lists = arguments
        .members("set")
        .filter(|(name, _)| is_tags(name) || context.vault.is_list_property(name));
    if let Some((name, _)) =
        lists.chain(arguments.members("add_values")).find(|(_, value)| is_json_list(value))
    {
        return Err(Error::invalid(format!(
            "The value of {name:?} is a list written as a text; give the list itself: [\"a\", \
             \"b\"]."
        )));
    }
    let all = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let list = |name: &str, value: &Value| {
        let items = all(value);
        if is_tags(name) { items.iter().flat_map(tags_of).collect() } else { items }
    };
    let sets = arguments.members("set").map(|(name, value)| {
        let is_list = value.is_array() || is_tags(name) || context.vault.is_list_property(name);
        (
            name.clone(),
            Change::Set(Some(if is_list && !value.is_null() {
                list(name, value).into()
            } else {
                value.clone()
            })),
        )
    });
    let remove = arguments.texts("remove").map(|name| (name.to_owned(), Change::Set(None)));
    let add = arguments
        .members("add_values")
        .map(|(name, value)| (name.clone(), Change::Add(list(name, value))));
    // Also as written: an item that no tag can be is removed, too.
    let remove_values = arguments.members("remove_values").map(|(name, value)| {
        (name.clone(), Change::Remove([list(name, value), all(value)].concat()))
    });
    let changes: Vec<(String, Change)> =
        sets.chain(remove).chain(add).chain(remove_values).collect();
    if changes.is_empty() {
        return Err(Error::invalid("Give at least one of set, remove, add_values, remove_values."));
    }
    if let Some((wrong, _)) =
        changes.iter().find(|(name, _)| name.trim().is_empty() || name.contains(char::is_control))
    {
        return Err(Error::invalid(format!("{wrong:?} cannot be the name of a property.")));
    }
    let mut replaced = HashSet::new();
    let mut is_twice = |(name, change): &&(String, Change)| {
        let name = name.to_lowercase();
        if matches!(change, Change::Set(_)) {
            !replaced.insert(name)
        } else {
            replaced.contains(&name)
        }
    };
    if let Some((name, _)) = changes.iter().find(&mut is_twice) {
        return Err(Error::invalid(format!(
            "{name:?} is changed twice: after set or remove nothing can be added to or removed \
             from it. Names are compared without case: to change that of a name use vault_edit."
        )));
    }
    for (_, change) in changes.iter().filter(|(name, _)| is_tags(name)) {
        let (Change::Set(Some(Value::Array(tags))) | Change::Add(tags)) = change else { continue };
        tags.iter().filter_map(Value::as_str).try_for_each(check_tag)?;
    }
    Ok(changes)
}

fn apply(text: &str, changes: &[(String, Change)]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (name, change) in changes {
        let properties = if frontmatter::block(&text).is_some() {
            parse(&text)?
        } else {
            serde_yaml::Mapping::new()
        };
        let name = name_in(&properties, name);
        let own = properties.get(&name).cloned().map(crate::vault::properties::json);
        let new = match change {
            Change::Set(value) => value.clone(),
            Change::Add(_) | Change::Remove(_) if own.as_ref().is_some_and(has_nested) => {
                return Err(format!(
                    "its {name:?} has items that are lists or maps, which would be rewritten; \
                     give all of it with set"
                ));
            }
            Change::Add(values) => with_values(own, values, true, &name),
            Change::Remove(values) => with_values(own, values, false, &name),
        };
        text = set(&text, &name, new.as_ref())?;
    }
    Ok(text)
}

/// Whether a list has items that are lists or maps: their formatting would be lost.
fn has_nested(list: &Value) -> bool {
    list.as_array()
        .is_some_and(|items| items.iter().any(|item| item.is_array() || item.is_object()))
}

/// The tags in a value: those of a text are separated by commas.
fn tags_of(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => text
            .split(',')
            .map(|tag| tag.trim().trim_start_matches('#'))
            .filter(|tag| !tag.is_empty())
            .map(Value::from)
            .collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string().into()],
    }
}

/// Whether two values are the same, texts in any Unicode form; tags are compared without case and
/// number sign.
fn is_same(one: &Value, other: &Value, tags: bool) -> bool {
    let is_same_text =
        one.as_str().zip(other.as_str()).is_some_and(|(one, other)| one.nfc().eq(other.nfc()));
    let bare = |value: &Value| {
        value.as_str().unwrap_or(&value.to_string()).trim().trim_start_matches('#').to_lowercase()
    };
    one == other || is_same_text || tags && bare(one) == bare(other)
}

/// The items of a property, and what separates them if they are tags in one text.
fn items_of(own: &Value, name: &str) -> (Vec<Value>, Option<&'static str>) {
    // Obsidian reads a text as a list in these, too.
    let separators: &[char] = match name.to_lowercase().as_str() {
        name if is_tags(name) => &[',', ' '],
        "aliases" | "alias" => &[','],
        _ => &[],
    };
    match own {
        Value::Array(items) => (items.clone(), None),
        Value::String(text) if text.trim().contains(separators) => {
            let items = text
                .split(separators)
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(Value::from);
            (items.collect(), is_tags(name).then_some(if text.contains(',') { ", " } else { " " }))
        }
        Value::Null => (Vec::new(), None),
        Value::String(text) if text.trim().is_empty() => (Vec::new(), None),
        one => (vec![one.clone()], None),
    }
}

/// A property with values added or removed; unchanged if it has all of them, or none.
fn with_values(own: Option<Value>, values: &[Value], adds: bool, name: &str) -> Option<Value> {
    let (tags, (mut items, separator)) =
        (is_tags(name), own.as_ref().map(|own| items_of(own, name)).unwrap_or_default());
    let before = items.len();
    for value in values.iter().filter(|value| !adds || !value.is_null()) {
        // A text of several items may also be named whole.
        let is_whole = own.as_ref() == Some(value);
        if !adds {
            items.retain(|item| !is_whole && !is_same(item, value, tags));
        } else if !is_whole && !items.iter().any(|item| is_same(item, value, tags)) {
            items.push(value.clone());
        }
    }
    match separator {
        _ if items.len() == before => own,
        Some(separator) => {
            Some(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(separator).into())
        }
        None => Some(items.into()),
    }
}
