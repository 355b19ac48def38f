//! Another name for a tag, in the texts and properties of notes.

use crate::change::Changes;
use crate::links::Links;
use crate::links::plan::{FilePlan, Options, Plan, Rewritten};
use crate::markdown::edit::{Edit, apply_all};
use crate::markdown::{frontmatter, inline};
use crate::text::fold::fold;
use crate::vault::Error;
use crate::vault::entry::Entry;
use crate::vault::parallel::map_parallel;
use crate::vault::path::rest_below;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

impl Links {
    /// Renames a tag and those nested below it in the properties and text of all notes. Both names
    /// are without `#`.
    ///
    /// # Errors
    /// As [`Links::move_files`].
    pub fn rename_tag(
        &self,
        changes: &Changes,
        from: &str,
        to: &str,
        options: Options<'_>,
    ) -> Result<Rewritten, Error> {
        self.rewrite(changes, options, &|_| self.plan_tag(from, to, options))
    }

    fn plan_tag(&self, from: &str, to: &str, options: Options<'_>) -> Result<Plan, Error> {
        let wanted = fold(from);
        let mut entries: Vec<Arc<Entry>> = self.vault().view.read(|entries| {
            entries
                .values()
                .filter(|entry| entry.is_note() && entry.has_tag(&wanted))
                .cloned()
                .collect()
        });
        if entries.is_empty() {
            return Err(Error::NoTarget {
                what: format!("No note has the tag {from:?}"),
                known: Vec::new(),
            });
        }
        // Those whose frontmatter is not YAML have no tags in the index, and are listed as left
        // alone.
        let word_index = self.search.word_index();
        self.vault().view.with_table(|table| {
            let having = self
                .search
                .files_that_may_have(&[&wanted], word_index.as_deref(), table)
                .into_iter();
            entries
                .extend(having.filter(|entry| entry.is_note() && !entry.has_tag(&wanted)).cloned());
        });
        let rename = TagRename::new(from, to);
        let look = |entry: &Arc<Entry>| {
            let Ok(text) = self.vault().text(entry) else {
                let left_alone = vec![(0, "the file cannot be read, or is too large".to_owned())];
                return FilePlan {
                    path: entry.path.to_string(),
                    text: String::new(),
                    edits: Vec::new(),
                    left_alone,
                };
            };
            let in_properties = rename.in_properties(&text);
            let is_done = in_properties.is_some();
            let edits = in_properties.into_iter().flatten().chain(rename.in_text(&text)).collect();
            let mut file = self.plan_file(entry, text, edits);
            if !is_done {
                file.left_alone
                    .push((0, "the tag in its properties cannot be replaced safely".into()));
            }
            file
        };
        let mut plan = Plan::default();
        map_parallel(&entries, &|entry| entry.search_cost(), &look, options.proceed)?
            .into_iter()
            .for_each(|file| plan.add(file));
        plan.left_alone.extend(self.mentions(from, options.proceed)?);
        Ok(plan)
    }
}

pub(crate) struct TagRename<'a> {
    /// Folded.
    from: String,
    to: &'a str,
    /// The new name as it may stand in YAML: a name that YAML does not read as a string needs
    /// quotes; any other may need them depending on the context.
    forms: Vec<String>,
}

impl<'a> TagRename<'a> {
    pub(crate) fn new(from: &str, to: &'a str) -> TagRename<'a> {
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
    pub(crate) fn in_text(&self, text: &str) -> Vec<Edit> {
        inline::tags(text)
            .into_iter()
            .filter_map(|tag| self.edit(text, tag.start + 1..tag.end, self.to))
            .collect()
    }

    /// The edits of a note's properties; `None` if the tag cannot be replaced safely.
    pub(crate) fn in_properties(&self, text: &str) -> Option<Vec<Edit>> {
        let tags_of = |text: &str| {
            frontmatter::tags(text)
                .map(|tags| tags.iter().map(|tag| fold(tag)).collect::<BTreeSet<String>>())
        };
        let Ok(before) = tags_of(text) else {
            // Not YAML, such as a template with {{date}}: it has no tags, but the notes made from
            // it do.
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
        let edits_with = |form: &str, joins: bool| -> Vec<Edit> {
            let mut known = BTreeSet::new();
            let mut above: Option<Range<usize>> = None;
            let mut edit_of = |range: Range<usize>| {
                let tag = text.get(range.clone())?;
                let name = renamed(&fold(tag));
                let is_repeated = !known.insert(name.clone());
                let own = with_quotes(text, range.clone());
                let before = above.replace(own.clone());
                if joins
                    && is_repeated
                    && rest_below(&name, &fold(self.to)).is_some()
                    && let Some(edit) = before.and_then(|before| removal(text, before, own))
                {
                    return Some(edit);
                }
                let new = if in_quotes(range.start) { self.to } else { form };
                self.edit(text, range, new)
            };
            frontmatter::tag_ranges(text).into_iter().filter_map(&mut edit_of).collect()
        };
        // Tags that are one then are listed once, where that can be done.
        let ways = [true, false]
            .into_iter()
            .flat_map(|joins| self.forms.iter().map(move |form| (form, joins)));
        ways.map(|(form, joins)| edits_with(form, joins))
            .find(|edits| tags_of(&apply_all(text, edits)).is_ok_and(|tags| tags == expected))
    }
}

/// A range with the quotes around it, and the `#` before it.
fn with_quotes(text: &str, range: Range<usize>) -> Range<usize> {
    let is_sign = |c: char| matches!(c, '#' | '"' | '\'');
    let before = text.get(..range.start).unwrap_or_default().trim_end_matches(is_sign);
    let after = text.get(range.end..).unwrap_or_default();
    let is_quoted = after.starts_with(['"', '\'']);
    before.len()..range.end + usize::from(is_quoted)
}

/// The edit that removes an item of a list: its line, if it has nothing else, or, behind another on
/// the same line, the item and the comma before it. A comment keeps it.
fn removal(text: &str, before: Range<usize>, own: Range<usize>) -> Option<Edit> {
    let start = text.get(..own.start)?.rfind('\n')? + 1;
    let end = text.get(own.end..)?.find('\n')? + own.end + 1;
    let range = if before.start >= start {
        before.end..own.end
    } else {
        let is_alone =
            text.get(start..own.start)?.trim() == "-" && text.get(own.end..end)?.trim().is_empty();
        if !is_alone {
            return None;
        }
        start..end
    };
    Some(Edit { range, text: String::new() })
}
