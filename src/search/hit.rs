//! Snippets and passages of search results.

use crate::clock::Deadline;
use crate::limits;
use crate::markdown::blocks::{self, Kind, Line};
use crate::markdown::{frontmatter, inline};
use crate::search::Search;
use crate::search::condition::File;
use crate::search::query::Condition;
use crate::search::rank::{MatchType, Relevance, Word};
use crate::search::results::{MatchingLines, Passage};
use crate::search::snippet::{line_of, lines_around, snippet_of_kept, snippet_of_line};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::text::kept::Kept;
use crate::text::words::is_form;
use crate::text::{ceil, floor};
use crate::vault::entry::{Entry, Text};
use crate::vault::error::Error;
use std::borrow::Cow;
use std::ops::Range;

impl Search {
    /// The line of a match, with the match in bold, and the line's number. `at` is the match in the
    /// folded text.
    pub(crate) fn snippet(
        &self,
        entry: &Entry,
        match_type: MatchType,
        at: Option<(usize, usize)>,
        words: &[Word],
    ) -> (String, usize) {
        let needles: Vec<&str> = words.iter().map(Word::text).collect();
        match (match_type, at) {
            (MatchType::Content, Some((from, to))) => {
                self.content_snippet(entry, from..to, &needles)
            }
            (MatchType::Tag, _) => {
                tag_line(entry, &self.vault.text(entry).unwrap_or_default(), &needles)
            }
            _ => {
                let needles_and_stems = needles.iter().copied().chain(words.iter().map(Word::stem));
                (
                    snippet_of_line(&entry.path, needles_and_stems, &needles)
                        .unwrap_or_else(|| entry.path.to_string()),
                    1,
                )
            }
        }
    }

    /// The text of a file as it is in memory, or made from the file.
    pub(crate) fn kept_text<'a>(&self, entry: &'a Entry) -> Result<Cow<'a, Kept>, Error> {
        Ok(match &entry.text {
            Text::Kept(kept) => Cow::Borrowed(kept),
            _ => Cow::Owned(Kept::of(&self.vault.text(entry)?)),
        })
    }

    /// The best passages of a note; if it has none, the part around `at` or its beginning.
    pub(crate) fn passages(
        &self,
        entry: &Entry,
        relevance: &Relevance,
        at: Option<(usize, usize)>,
        words: &[Word],
    ) -> Vec<Passage> {
        if !entry.has_searched_text() {
            return Vec::new();
        }
        let kept = self.kept_text(entry).unwrap_or_default();
        let text = kept.folded();
        let is_heading = |line: &Line| matches!(line.kind, Kind::Heading(_));
        let headings: Vec<usize> = blocks::lines(text)
            .iter()
            .filter(|line| is_heading(line))
            .map(|line| line.range.start)
            .collect();
        let mut ranges = relevance.passages(text, words, &headings);
        if ranges.is_empty() {
            let start = at.map_or_else(|| frontmatter::end(text), |(from, _)| floor(text, from));
            ranges.push(lines_around(text, start..start, &headings));
        }
        let passage = |range: Range<usize>| Passage {
            from_line: line_of(text, range.start),
            to_line: line_of(text, range.end),
            text: kept
                .part(range)
                .1
                .replace('\r', "")
                .chars()
                .take(limits::PASSAGE_CHARS)
                .collect(),
        };
        ranges.into_iter().map(passage).filter(|passage| !passage.text.trim().is_empty()).collect()
    }

    /// The lines that have one of the words, in any form, or meet one of the conditions.
    pub(crate) fn matching_lines(
        &self,
        entry: &Entry,
        words: &[Word],
        conditions: &[Condition],
        deadline: Deadline,
    ) -> MatchingLines {
        if !entry.has_searched_text() {
            return MatchingLines::default();
        }
        let kept = self.kept_text(entry).unwrap_or_default();
        let original = kept.original();
        let has_word = |line: &str| {
            let line = fold(line);
            words.iter().any(|word| {
                let stem = word.stem();
                line.contains(word.text())
                    || line.match_indices(stem).any(|(at, _)| is_form(&line, at, stem.len()))
            })
        };
        let in_time = || deadline.left().is_some();
        let (numbers, is_complete) = File::new(entry, kept.folded(), Some(&original), &in_time)
            .lines_meeting(conditions, &has_word);
        let mut lines = original.lines().enumerate();
        let shown = numbers.iter().take(limits::LINES_OF_NOTE).filter_map(|number| {
            let (_, line) = lines.find(|(at, _)| at + 1 == *number)?;
            Some((*number, line.trim().chars().take(limits::PASSAGE_CHARS).collect()))
        });
        MatchingLines { shown: shown.collect(), total: numbers.len(), is_cut_off: !is_complete }
    }

    /// The line of a match in the folded text, cut around it, and its number.
    fn content_snippet(
        &self,
        entry: &Entry,
        at: Range<usize>,
        needles: &[&str],
    ) -> (String, usize) {
        let kept = self.kept_text(entry).unwrap_or_default();
        let text = kept.folded();
        let at = match text.strip_suffix('\n') {
            // Another program may have changed it since it was searched: then its first line is
            // shown.
            _ if at.end > text.len() => 0..0,
            // An empty match may be after the last line.
            Some(lines) if at.start > lines.len() => lines.len()..lines.len(),
            // A match in the original may end inside of what folding has composed.
            _ => floor(text, at.start)..ceil(text, at.end),
        };
        snippet_of_kept(&kept, at, needles)
    }
}

/// The line of the first tag that contains one of the needles, in the `tags` and `tag` of the
/// frontmatter or in the text, and its number.
fn tag_line(entry: &Entry, original: &str, needles: &[&str]) -> (String, usize) {
    let wanted: Vec<&str> = needles
        .iter()
        .map(|needle| needle.trim_start_matches('#'))
        .filter(|needle| !needle.is_empty())
        .collect();
    let shown = |line: &str| snippet_of_line(line, wanted.iter().copied(), &wanted);
    for tag in frontmatter::tag_ranges(original).into_iter().chain(inline::tags(original)) {
        let name = fold(original.part(tag.clone()));
        let number = line_of(original, tag.start);
        let line = original.lines().nth(number - 1).unwrap_or_default();
        if let Some(line) =
            wanted.iter().any(|needle| name.contains(needle)).then(|| shown(line)).flatten()
        {
            return (line, number);
        }
    }
    let tags = entry.tags.join(", ");
    (shown(&tags).unwrap_or(tags), 1)
}
