//! Another name for a tag, in the text and the properties of a note.

use super::path::rest_below;
use crate::markdown::edit::{Edit, apply_all};
use crate::markdown::{frontmatter, inline, properties};
use crate::slice::Part;
use crate::text::fold::fold;
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) struct TagRename<'a> {
    /// Folded.
    from: String,
    to: &'a str,
    /// The new name as it may stand in YAML: a name that YAML does not read as a string needs quotes; any other may need them depending on
    /// the context.
    forms: Vec<String>,
}

impl<'a> TagRename<'a> {
    pub(super) fn new(from: &str, to: &'a str) -> TagRename<'a> {
        let is_text = frontmatter::values(to).is_ok_and(|value| value.is_string());
        let forms =
            is_text.then(|| to.to_owned()).into_iter().chain([format!("\"{to}\"")]).collect();
        TagRename { from: fold(from), to, forms }
    }

    /// What follows the tag in a nested one; `None` for another tag.
    fn rest(&self, tag: &str) -> Option<String> {
        rest_below(&fold(tag), &self.from).map(str::to_owned)
    }

    fn edit(&self, text: &str, range: Range<usize>, new: &str) -> Option<Edit> {
        let tag = text.get(range.clone()).filter(|tag| self.rest(tag).is_some())?;
        // Folding may change the length of the name.
        let length = (0..=tag.len())
            .find(|end| tag.get(..*end).is_some_and(|head| fold(head) == self.from))?;
        Some(Edit { range: range.start..range.start + length, text: new.to_owned() })
    }

    /// The edits of a note's text.
    pub(super) fn in_text(&self, text: &str) -> Vec<Edit> {
        inline::tags(text)
            .into_iter()
            .filter_map(|tag| self.edit(text, tag.start + 1..tag.end, self.to))
            .collect()
    }

    /// The edits of a note's properties; `None` if the tag cannot be replaced safely.
    pub(super) fn in_properties(&self, text: &str) -> Option<Vec<Edit>> {
        let tags_of = |text: &str| {
            frontmatter::tags(text)
                .map(|tags| tags.iter().map(|tag| fold(tag)).collect::<BTreeSet<String>>())
        };
        let Ok(before) = tags_of(text) else {
            // Not YAML, such as a template with {{date}}: it has no tags, but the notes made from it do.
            let is_meant =
                |range: Range<usize>| text.get(range).is_some_and(|tag| self.rest(tag).is_some());
            return (!frontmatter::tag_ranges(text).into_iter().any(is_meant)).then(Vec::new);
        };
        if before.iter().all(|tag| self.rest(tag).is_none()) {
            return Some(Vec::new());
        }
        let renamed = |tag: &String| {
            self.rest(tag).map_or_else(|| tag.clone(), |rest| format!("{}{rest}", fold(self.to)))
        };
        let expected: BTreeSet<String> = before.iter().map(renamed).collect();
        // Inside of quotes the name is always bare.
        let in_quotes = |at: usize| {
            text.get(..at).is_some_and(|before| before.trim_end_matches('#').ends_with(['"', '\'']))
        };
        let edits_with = |form: &String| -> Vec<Edit> {
            let ranges = frontmatter::tag_ranges(text).into_iter();
            ranges
                .filter_map(|range| {
                    self.edit(
                        text,
                        range.clone(),
                        if in_quotes(range.start) { self.to } else { form },
                    )
                })
                .collect()
        };
        let edits =
            self.forms.iter().map(edits_with).find(|edits| {
                tags_of(&apply_all(text, edits)).is_ok_and(|tags| tags == expected)
            })?;
        Some(joined(text, &edits).map_or(edits, |edit| vec![edit]))
    }
}

/// The edit of the frontmatter that also removes, from lists of tags, those that are equal to another then; `None` if there are none.
fn joined(text: &str, edits: &[Edit]) -> Option<Edit> {
    let renamed = apply_all(text, edits);
    let mut made = renamed.clone();
    for (name, list) in properties::parse(&renamed)
        .ok()?
        .iter()
        .filter_map(|(name, value)| Some((name.as_str()?, value.as_sequence()?)))
    {
        let Some(mut tags) = list.iter().map(|tag| tag.as_str()).collect::<Option<Vec<&str>>>()
        else {
            continue;
        };
        let mut known = BTreeSet::new();
        tags.retain(|tag| known.insert(fold(tag.trim_start_matches('#'))));
        if frontmatter::is_tags(name) && tags.len() < list.len() {
            made = properties::set(&made, name, Some(&tags.into())).ok()?;
        }
    }
    let range = frontmatter::range(text)?;
    let (old, new) = (text.part(range.clone()), made.part(frontmatter::range(&made)?));
    // From the first difference on: its line is the one that is shown.
    let same: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(one, other)| one == other)
        .map(|(c, _)| c.len_utf8())
        .sum();
    (made != renamed)
        .then(|| Edit { range: range.start + same..range.end, text: new.part(same..).to_owned() })
}
