//! Frontmatter as values, and notes chosen by them.

use super::Vault;
use super::entry::{Entry, Text};
use super::error::{Error, warn_once};
use super::list::wanted_tag;
use super::media::without_ending;
use super::parallel::map_parallel;
use crate::clock::Moment;
use crate::markdown::frontmatter;
use crate::text::fold::fold;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use serde_yaml::Value as Yaml;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What notes must match. An empty criterion matches every note.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename = "default_context")]
pub struct Criteria {
    /// Frontmatter keys and values, case-sensitive; all must match.
    pub properties: Map<String, Value>,
    /// Tags, with or without `#`, in any case; those nested below them do not count.
    pub tags: Vec<String>,
    /// Whether a note needs all the tags, or any of them.
    #[serde(skip)]
    pub all_tags: bool,
}

impl Entry {
    /// The frontmatter of a note; `None` if it is missing or malformed. The YAML is parsed on first
    /// use.
    pub fn properties(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(self.properties_json()?).ok()
    }

    /// The frontmatter as JSON, the form in which it is cached.
    pub fn properties_json(&self) -> Option<&str> {
        self.properties
            .get_or_init(|| self.parse_properties().map(|found| found.to_string().into_boxed_str()))
            .as_deref()
    }

    /// The aliases in the note's frontmatter, folded.
    pub(crate) fn aliases(&self) -> Vec<String> {
        // Most notes have none, and their properties need not be parsed.
        let has_key =
            |frontmatter: &str, key: &[u8]| memmem::find(frontmatter.as_bytes(), key).is_some();
        let may_have = match &self.text {
            Text::Kept(text) => has_key(frontmatter::head(text.folded()), b"alias"),
            Text::NotKept { frontmatter, .. } => {
                has_key(frontmatter, b"lias") || has_key(frontmatter, b"LIAS")
            }
            Text::None => false,
        };
        if !may_have {
            return Vec::new();
        }
        let properties = self.properties().unwrap_or_default();
        let named = properties.iter().filter(|(name, _)| {
            name.eq_ignore_ascii_case("aliases") || name.eq_ignore_ascii_case("alias")
        });
        named
            .flat_map(|(_, value)| match value {
                Value::Array(items) => items.iter().filter_map(Value::as_str).map(fold).collect(),
                Value::String(text) => text.split(',').map(|alias| fold(alias.trim())).collect(),
                _ => Vec::new(),
            })
            .collect()
    }

    fn parse_properties(&self) -> Option<Value> {
        let kept;
        let text: &str = match &self.text {
            Text::Kept(text) => {
                kept = text.original();
                &kept
            }
            Text::NotKept { frontmatter, .. } => frontmatter,
            Text::None => return None,
        };
        let yaml = frontmatter::block(text).filter(|_| self.is_note())?;
        match frontmatter::values(yaml) {
            Ok(properties @ Yaml::Mapping(_)) => Some(json(properties)),
            Ok(_) => None,
            // The index logged this when it read the tags.
            Err(_) if frontmatter::may_have_tags(yaml) => None,
            Err(problem) => {
                warn_once(
                    "frontmatter",
                    format!("frontmatter of {:?} is ignored: {problem}", self.path),
                );
                None
            }
        }
    }

    /// Whether this is a note: a Markdown file.
    pub fn is_note(&self) -> bool {
        super::media::is_note(&self.path)
    }

    /// The title of a note: its property `title`, else its name.
    pub fn title(&self) -> Cow<'_, str> {
        match self
            .properties()
            .and_then(|properties| properties.get("title")?.as_str().map(str::to_owned))
        {
            Some(title) if !title.trim().is_empty() => Cow::Owned(title.trim().to_owned()),
            _ => Cow::Borrowed(without_ending(self.name()).unwrap_or(self.name())),
        }
    }

    /// A property as a line of text, lists separated by commas; empty if the note does not have it.
    pub fn property_text(&self, name: &str) -> String {
        self.properties()
            .and_then(|properties| properties.get(name).map(text_of_value))
            .unwrap_or_default()
    }

    fn satisfies(&self, criteria: &Criteria, folded_tags: &[String]) -> bool {
        let has = |tag: &String| self.folded_tags().iter().any(|own| **own == **tag);
        let tagged = folded_tags.is_empty()
            || if criteria.all_tags {
                folded_tags.iter().all(has)
            } else {
                folded_tags.iter().any(has)
            };
        if !tagged || criteria.properties.is_empty() {
            return tagged;
        }
        let has = |(name, wanted): (&String, &Value), own: &Map<String, Value>| {
            own.get(name).is_some_and(|value| matches(value, wanted))
        };
        self.properties()
            .is_some_and(|own| criteria.properties.iter().all(|wanted| has(wanted, &own)))
    }
}

/// One property from frontmatter as JSON; an exact name is preferred to one in another case. The
/// other properties are not parsed.
pub fn property_in(json: &str, name: &str) -> Option<Value> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let in_other_case = || {
        let wanted = fold(name);
        members
            .iter()
            .filter(|(own, _)| fold(own) == wanted)
            .min_by_key(|(own, _)| own.as_str())
            .map(|(_, value)| value)
    };
    serde_json::from_str(members.get(name).or_else(in_other_case)?.get()).ok()
}

impl Vault {
    /// The notes that match, least recently modified first.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn notes(
        &self,
        criteria: &Criteria,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        self.refresh()?;
        let tags: Vec<String> =
            criteria.tags.iter().filter_map(|tag| wanted_tag(Some(tag))).collect();
        // Frontmatter may be parsed here for the first time, so the index is not locked meanwhile.
        let notes: Vec<Arc<Entry>> = self
            .view
            .read(|entries| entries.values().filter(|entry| entry.is_note()).cloned().collect());
        let wanted = map_parallel(
            &notes,
            &|entry| entry.search_cost(),
            &|entry| entry.satisfies(criteria, &tags),
            proceed,
        )?;
        let mut found: Vec<Arc<Entry>> = notes
            .into_iter()
            .zip(wanted)
            .filter_map(|(entry, wanted)| wanted.then_some(entry))
            .collect();
        found.sort_unstable_by(|a, b| {
            a.stamp.order().cmp(&b.stamp.order()).then_with(|| a.path.cmp(&b.path))
        });
        Ok(found)
    }

    /// All files by path, with their frontmatter parsed.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    #[cfg(feature = "notes")]
    pub fn files_with_frontmatter(
        &self,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        self.refresh()?;
        let entries = self.files_below(&super::VaultPath::root(), "");
        let unread: Vec<&Arc<Entry>> =
            entries.iter().filter(|entry| entry.properties.get().is_none()).collect();
        map_parallel(
            &unread,
            &|entry| entry.search_cost(),
            &|entry| entry.properties_json().is_some(),
            proceed,
        )?;
        Ok(entries)
    }

    /// When a file was created; where the file system does not record it, when it was modified.
    pub fn created(&self, entry: &Entry) -> Moment {
        let found = std::fs::metadata(self.absolute(&entry.path)).and_then(|found| found.created());
        found.map_or(entry.stamp.modified(), Moment::of)
    }

    /// The values of a property in all notes, each with its number of notes, most frequent first.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn values_of(&self, property: &str) -> Result<Vec<(String, usize)>, Error> {
        let notes = self.notes(&Criteria::default(), &|_, _| true)?;
        let mut counts = BTreeMap::<String, usize>::new();
        for value in notes.iter().filter_map(|entry| entry.properties()?.remove(property)) {
            let values = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
            let texts: BTreeSet<String> =
                values.iter().map(text_of_value).filter(|text| !text.is_empty()).collect();
            texts.into_iter().for_each(|text| *counts.entry(text).or_default() += 1);
        }
        let mut values: Vec<(String, usize)> = counts.into_iter().collect();
        values.sort_by(|(_, a), (_, b)| b.cmp(a));
        Ok(values)
    }
}

/// A YAML value as JSON: keys become strings, tags (`!x`) are dropped.
pub fn json(value: Yaml) -> Value {
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(truth) => truth.into(),
        Yaml::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            // JSON has no infinity.
            (None, None) => number
                .as_f64()
                .filter(|number| number.is_finite())
                .map_or_else(|| number.to_string().into(), Value::from),
        },
        Yaml::String(text) => text.into(),
        Yaml::Sequence(items) => items.into_iter().map(json).collect(),
        Yaml::Mapping(members) => members
            .into_iter()
            .map(|(name, value)| (text_of_value(&json(name)), json(value)))
            .collect(),
        Yaml::Tagged(tagged) => json(tagged.value),
    }
}

/// Whether a frontmatter value matches the wanted one. A list matches each of its elements. Dates
/// are strings, as written; null matches a key without a value.
fn matches(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Array(items), Value::Array(all)) => {
            items.len() == all.len()
                && items.iter().zip(all).all(|(item, wanted)| matches(item, wanted))
        }
        (Value::Array(items), _) => items.iter().any(|item| matches(item, wanted)),
        (Value::String(text), Value::Null) => text.is_empty(),
        (Value::Number(number), Value::Number(wanted)) => {
            match (number.as_i64(), wanted.as_i64()) {
                (Some(number), Some(wanted)) => number == wanted,
                _ => number.as_f64() == wanted.as_f64(),
            }
        }
        (Value::Object(members), Value::Object(wanted)) => {
            members.len() == wanted.len()
                && wanted.iter().all(|(name, wanted)| {
                    members.get(name).is_some_and(|value| matches(value, wanted))
                })
        }
        (value, wanted) => value == wanted,
    }
}

pub(crate) fn text_of_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of_value).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let pairs =
                members.iter().map(|(name, value)| format!("{name}: {}", text_of_value(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_compared_as_yaml_means_them() {
        for (yaml, wanted, expected) in [
            ("personal", json!("personal"), true),
            ("Personal", json!("personal"), false),
            ("[a, personal]", json!("personal"), true),
            ("[a, b]", json!(["a", "b"]), true),
            ("[b, a]", json!(["a", "b"]), false),
            ("5", json!(5), true),
            ("5", json!(5.0), true),
            ("5", json!("5"), false),
            ("'5'", json!("5"), true),
            ("1.5", json!(1.5), true),
            ("true", json!(true), true),
            ("yes", json!(true), false),
            ("yes", json!("yes"), true),
            ("2026-02-08", json!("2026-02-08"), true),
            ("", json!(null), true),
            ("''", json!(null), true),
            ("~", json!(null), true),
            ("x", json!(null), false),
            ("{a: 1}", json!({ "a": 1 }), true),
            ("{a: 1}", json!({ "a": 1.0 }), true),
            ("[1, ['']]", json!([1.0, [null]]), true),
            ("{a: 1, b: 2}", json!({ "a": 1 }), false),
            ("!custom x", json!("x"), true),
        ] {
            let value = json(crate::yaml::parse(yaml, 0).unwrap());
            assert_eq!(matches(&value, &wanted), expected, "{yaml} {wanted}");
        }
    }
}
