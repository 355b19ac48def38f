//! Whether a file meets a condition of Obsidian's search language, and where.

use crate::markdown::blocks::{self, Kind, Line};
use crate::markdown::{inline, properties, tasks};
use crate::search::expression::Unfinished;
use crate::search::query::{Condition, Field, Scope, Term, Wanted};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::vault::entry::{Entry, name_of};
use crate::vault::path::rest_below;
use crate::vault::properties::text_of_value;
use memchr::memmem;
use serde_json::Value;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Where a condition is met, in [`File::text`]; `None`: at no single range.
type MatchRange = Option<Range<usize>>;

/// A file against which conditions are checked.
pub(crate) struct File<'a> {
    entry: &'a Entry,
    folded: &'a str,
    /// The original text, if a condition needs it.
    original: Option<&'a str>,
    lines: OnceCell<Vec<Line>>,
    blocks: OnceCell<Vec<Range<usize>>>,
    tags: OnceCell<Vec<Range<usize>>>,
    proceed: &'a dyn Fn() -> bool,
}

impl Scope {
    /// Whether a task with this status is one of these tasks.
    fn has(self, status: char) -> bool {
        match self {
            Scope::TaskTodo => tasks::is_open(status),
            Scope::TaskDone => tasks::is_done(status),
            _ => true,
        }
    }
}

impl<'a> File<'a> {
    pub(crate) fn new(
        entry: &'a Entry,
        folded: &'a str,
        original: Option<&'a str>,
        proceed: &'a dyn Fn() -> bool,
    ) -> File<'a> {
        File {
            entry,
            folded,
            original,
            lines: OnceCell::new(),
            blocks: OnceCell::new(),
            tags: OnceCell::new(),
            proceed,
        }
    }

    /// The text to which ranges refer.
    fn text(&self) -> &'a str {
        self.original.unwrap_or(self.folded)
    }

    /// Whether all conditions are met; if so, the first range that one of them gives, in the folded
    /// text.
    pub(crate) fn find_match(
        &self,
        conditions: &[Condition],
    ) -> Result<Option<MatchRange>, Unfinished> {
        let found = self.all(conditions, None)?;
        let in_folded = |range: Range<usize>| {
            let Some(original) = self.original else { return range };
            let folded_length =
                |end: usize| original.get(..end).map_or(0, |before| fold(before).len());
            let start = folded_length(range.start).min(self.folded.len());
            start..folded_length(range.end).clamp(start, self.folded.len())
        };
        Ok(found.map(|found_at| found_at.map(in_folded)))
    }

    /// The numbers, from 1, of the lines that one of the conditions is met in, or that `also` is
    /// true for; and whether all lines were looked at.
    pub(crate) fn lines_meeting(
        &self,
        conditions: &[Condition],
        also: &dyn Fn(&str) -> bool,
    ) -> (Vec<usize>, bool) {
        let mut numbers = Vec::new();
        let mut start = 0;
        for (number, line) in (1..).zip(self.text().split_inclusive('\n')) {
            if !(self.proceed)() {
                return (numbers, false);
            }
            let range = start..start + line.trim_end_matches(['\r', '\n']).len();
            start += line.len();
            let mut meets = also(self.text().part(range.clone()));
            for condition in conditions {
                match self.is_met_in_line(condition, &range) {
                    Ok(is_met) => meets |= is_met,
                    Err(Unfinished) => return (numbers, false),
                }
            }
            if meets {
                numbers.push(number);
            }
        }
        (numbers, true)
    }

    /// Whether what a condition looks for is in a line; of a longer part of a note, what has to be
    /// in it.
    fn is_met_in_line(
        &self,
        condition: &Condition,
        line: &Range<usize>,
    ) -> Result<bool, Unfinished> {
        Ok(match condition {
            Condition::Not(_)
            | Condition::Property(..)
            | Condition::Has(Field::Name | Field::Path, _) => false,
            Condition::Within(Scope::Block | Scope::Section, inner) => {
                self.is_met_in_line(inner, line)?
            }
            Condition::Within(Scope::Line, inner) => self.find(inner, Some(line))?.is_some(),
            Condition::Within(scope, inner) => {
                let lines = self.lines.get_or_init(|| blocks::lines(self.text()));
                let at = lines.partition_point(|other| other.range.start < line.start);
                let kind = lines.get(at).map(|line| line.kind);
                let is_task =
                    matches!(kind, Some(Kind::Item { status: Some(status) }) if scope.has(status));
                is_task && self.find(inner, Some(line))?.is_some()
            }
            Condition::All(parts) | Condition::Any(parts) => {
                for part in parts {
                    if self.is_met_in_line(part, line)? {
                        return Ok(true);
                    }
                }
                false
            }
            other => self.find(other, Some(line))?.is_some(),
        })
    }

    fn all(
        &self,
        conditions: &[Condition],
        part: Option<&Range<usize>>,
    ) -> Result<Option<MatchRange>, Unfinished> {
        let mut first = None;
        for condition in conditions {
            match self.find(condition, part)? {
                None => return Ok(None),
                Some(found_at) => first = first.or(found_at),
            }
        }
        Ok(Some(first))
    }

    /// Where a condition is met in a part of the text, or without one in the whole file; `None` if
    /// it is not met.
    fn find(
        &self,
        condition: &Condition,
        part: Option<&Range<usize>>,
    ) -> Result<Option<MatchRange>, Unfinished> {
        Ok(match condition {
            Condition::Has(field, term) => return self.find_term(*field, term, part),
            Condition::Tag(name) => match part {
                None => self.entry.has_tag(name).then_some(None),
                Some(part) => self.find_tag(name, part).map(Some),
            },
            Condition::Property(name, value) => {
                has_property(self.entry, name, value.as_ref(), self.proceed)?
                    .then(|| self.find_key(name))
            }
            Condition::Not(condition) => match self.find(condition, part)? {
                Some(_) => None,
                None => Some(None),
            },
            Condition::All(conditions) => return self.all(conditions, part),
            Condition::Any(conditions) => {
                for condition in conditions {
                    if let Some(found_at) = self.find(condition, part)? {
                        return Ok(Some(found_at));
                    }
                }
                None
            }
            Condition::Within(scope, condition) => {
                // A nested scope scans all lines for each part of the outer one.
                if !(self.proceed)() {
                    return Err(Unfinished);
                }
                for range in self.parts(*scope, part) {
                    if let Some(found_at) = self.find(condition, Some(&range))? {
                        return Ok(Some(Some(found_at.unwrap_or(range))));
                    }
                }
                None
            }
        })
    }

    fn find_term(
        &self,
        field: Field,
        term: &Term,
        part: Option<&Range<usize>>,
    ) -> Result<Option<MatchRange>, Unfinished> {
        let part_of_path = |path: &'a str| if field == Field::Name { name_of(path) } else { path };
        let path = part_of_path(&self.entry.path);
        if part.is_none() && field != Field::Content {
            let in_path_or_tags = match term {
                Term::Folded(wanted) => {
                    let tag =
                        wanted.strip_prefix('#').filter(|tag| !tag.is_empty()).unwrap_or(wanted);
                    let in_tags = || self.entry.folded_tags().iter().any(|own| own.contains(tag));
                    let is_any = field == Field::Any;
                    let path = if is_any {
                        self.entry.path_for(wanted.as_bytes())
                    } else {
                        part_of_path(self.entry.folded_path())
                    };
                    path.contains(wanted) || is_any && in_tags()
                }
                Term::Exact(wanted) if field == Field::Any && !wanted.ends_with(".md") => {
                    path.strip_suffix(".md").unwrap_or(path).contains(wanted)
                }
                Term::Exact(wanted) => path.contains(wanted),
                Term::Regex(expression) => expression.find(path, self.proceed)?.is_some(),
            };
            if in_path_or_tags {
                return Ok(Some(None));
            }
        }
        if matches!(field, Field::Name | Field::Path) || !self.entry.has_searched_text() {
            return Ok(None);
        }
        let range = part.cloned().unwrap_or(0..self.text().len());
        let text = self.text().part(range.clone());
        let found = |at: usize, length: usize| Some(range.start + at..range.start + at + length);
        Ok(match term {
            Term::Folded(wanted) if self.original.is_none() => {
                memmem::find(text.as_bytes(), wanted.as_bytes()).map(|at| found(at, wanted.len()))
            }
            // A match in the folded text gives no range in the original.
            Term::Folded(wanted) if part.is_none() => {
                self.folded.contains(wanted.as_str()).then_some(None)
            }
            Term::Folded(wanted) => fold(text).contains(wanted).then_some(None),
            Term::Exact(wanted) => {
                memmem::find(text.as_bytes(), wanted.as_bytes()).map(|at| found(at, wanted.len()))
            }
            Term::Regex(expression) => {
                expression.find(text, self.proceed)?.map(|at| found(at.start, at.len()))
            }
        })
    }

    /// The range of a property's key in the note.
    fn find_key(&self, name: &str) -> MatchRange {
        if self.original.is_none() {
            return properties::key_range(self.text(), name);
        }
        let own = self
            .entry
            .properties()?
            .into_iter()
            .map(|(own, _)| own)
            .find(|own| fold(own) == *name)?;
        properties::key_range(self.text(), &own)
    }

    /// An inline tag in a part, or one nested below it.
    fn find_tag(&self, wanted: &str, part: &Range<usize>) -> Option<Range<usize>> {
        let tags = self.tags.get_or_init(|| inline::tags(self.text()));
        let first = tags.partition_point(|tag| tag.start < part.start);
        let mut inside = tags.iter().skip(first).take_while(|tag| tag.end <= part.end);
        inside
            .find(|tag| {
                rest_below(&fold(self.text().part(tag.start + 1..tag.end)), wanted).is_some()
            })
            .cloned()
    }

    /// The lines, blocks, sections or tasks of the text, or of a part of it.
    fn parts(&self, scope: Scope, part: Option<&Range<usize>>) -> Vec<Range<usize>> {
        let lines = self.lines.get_or_init(|| blocks::lines(self.text()));
        let blocks = || self.blocks.get_or_init(|| blocks::blocks(lines));
        let mut parts: Vec<Range<usize>> = match scope {
            Scope::Line => lines.iter().map(|line| line.range.clone()).collect(),
            Scope::Block => blocks().clone(),
            Scope::Section => blocks::sections(lines),
            Scope::Task | Scope::TaskTodo | Scope::TaskDone => {
                let tasks = lines.iter().filter(|line| matches!(line.kind, Kind::Item { status: Some(status) } if scope.has(status)));
                // A task goes on to the end of its block.
                let block_of = |line: &Line| {
                    blocks().get(blocks().partition_point(|block| block.end < line.range.end))
                };
                // Inside of a line it ends with the line.
                let most = part.map_or(usize::MAX, |part| part.end);
                let end_of = |line: &Line| {
                    block_of(line)
                        .map_or(line.range.end, |block| block.end.min(most).max(line.range.end))
                };
                tasks.map(|line| line.content..end_of(line)).collect()
            }
        };
        parts.retain(|own| part.is_none_or(|part| part.start <= own.start && own.end <= part.end));
        parts
    }
}

/// Whether a note has a property and, if given, this value.
fn has_property(
    entry: &Entry,
    name: &str,
    wanted: Option<&Wanted>,
    proceed: &dyn Fn() -> bool,
) -> Result<bool, Unfinished> {
    let properties = entry.properties().unwrap_or_default();
    let Some((_, value)) = properties.iter().find(|(own, _)| fold(own) == name) else {
        return Ok(false);
    };
    let Some(wanted) = wanted else { return Ok(true) };
    let items = match value {
        Value::Array(items) if !items.is_empty() => items.as_slice(),
        // An empty list is as empty as no value.
        Value::Array(_) => &[Value::Null],
        other => std::slice::from_ref(other),
    };
    match wanted {
        Wanted::Text(text) => Ok(items.iter().any(|item| equals(item, text))),
        Wanted::Matching(expression) => {
            for item in items {
                if expression.find(&text_of_value(item), proceed)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Wanted::Compared(comparison) => {
            let held: Vec<Option<bool>> = items.iter().map(|item| comparison.holds(item)).collect();
            let is_empty = items.iter().all(|item| text_of_value(item).trim().is_empty());
            if !is_empty && held.iter().all(Option::is_none) {
                comparison.incomparable.fetch_add(1, Ordering::Relaxed);
            }
            Ok(held.contains(&Some(true)))
        }
    }
}

fn equals(value: &Value, wanted: &str) -> bool {
    let own = fold(&text_of_value(value));
    // A link is meant by its target.
    let target = own
        .strip_prefix("[[")
        .and_then(|rest| rest.strip_suffix("]]"))
        .and_then(|inside| inside.split('|').next());
    own == wanted || own.is_empty() && wanted == "null" || target == Some(wanted)
}
