//! Snippets and passages of search results.

use super::Vault;
use super::entry::{Entry, Text};
use super::rank::MatchType;
use super::rank::{Relevance, Word};
use super::search::Passage;
use crate::limits;
use crate::markdown::{frontmatter, inline};
use crate::slice::Part;
use crate::text::fold::{Folded, fold};
use crate::text::kept::Kept;
use crate::text::snippet::{in_line, line_of, of_kept, part_of};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

impl Vault {
    /// The line of a match, with the match in bold, and the line's number. `at` is the match in the folded text.
    pub(super) fn snippet(&self, entry: &Entry, match_type: MatchType, at: Option<(usize, usize)>, words: &[Word]) -> (String, usize) {
        let needles: Vec<&str> = words.iter().map(Word::text).collect();
        match (match_type, at) {
            (MatchType::Content, Some((from, to))) => self.content_snippet(entry, from..to, &needles),
            (MatchType::Tag, _) => tag_line(entry, &self.text(entry).unwrap_or_default(), &needles),
            _ => {
                let folded = Folded::of(&entry.path);
                let path = folded.text(&entry.path);
                let needles_and_stems = needles.iter().copied().chain(words.iter().map(Word::stem));
                let first = needles_and_stems.into_iter().find_map(|needle| path.find(needle).map(|at| at..at + needle.len()));
                (first.map_or_else(|| entry.path.to_string(), |first| in_line(&entry.path, &folded, first, &needles)), 1)
            }
        }
    }

    /// The best passages of a note; if it has none, the part around `at` or its beginning.
    pub(super) fn passages(
        &self,
        entry: &Entry,
        relevance: &Relevance,
        at: Option<(usize, usize)>,
        words: &[Word],
        read: &AtomicU64,
    ) -> Vec<Passage> {
        let Some(folded) = self.folded_text(entry, read).filter(|text| !text.is_empty()) else { return Vec::new() };
        let mut ranges = relevance.passages(&folded, words);
        if ranges.is_empty() {
            let start = at.map_or_else(|| frontmatter::end(&folded), |(from, _)| from);
            ranges.push(part_of(&folded, start..start));
        }
        let original = |range: Range<usize>| match &entry.text {
            Text::Kept(kept) => kept.part(range).1,
            _ => {
                let original = self.text(entry).unwrap_or_default();
                let mapping = Folded::of(&original);
                // Another program has changed it since it was searched.
                if mapping.text(&original) != &*folded {
                    return folded.part(range).to_owned();
                }
                let (start, end) = mapping.original_range(&original, range.start, range.end);
                original.part(start..end).to_owned()
            }
        };
        let passage = |range: Range<usize>| Passage {
            from_line: line_of(&folded, range.start),
            to_line: line_of(&folded, range.end),
            text: original(range).replace('\r', "").chars().take(limits::PASSAGE_CHARS).collect(),
        };
        ranges.into_iter().map(passage).filter(|passage| !passage.text.trim().is_empty()).collect()
    }

    /// The line of a match in the folded text, cut around it, and its number.
    fn content_snippet(&self, entry: &Entry, at: Range<usize>, needles: &[&str]) -> (String, usize) {
        // An empty match may be after the last line.
        let inside = |kept: &Kept| match kept.folded().strip_suffix('\n') {
            Some(lines) if at.start > lines.len() => lines.len()..lines.len(),
            _ => at.clone(),
        };
        match &entry.text {
            Text::Kept(kept) => of_kept(kept, inside(kept), needles),
            _ => {
                let kept = Kept::of(&self.text(entry).unwrap_or_default());
                // Another program may have changed it since it was searched: then its first line is shown.
                let at = if kept.folded().get(at.clone()).is_some() { inside(&kept) } else { 0..0 };
                of_kept(&kept, at, needles)
            }
        }
    }
}

/// The line of the first tag that contains one of the needles, in the frontmatter from its `tags` key on or in the text, and its number.
fn tag_line(entry: &Entry, original: &str, needles: &[&str]) -> (String, usize) {
    let wanted: Vec<&str> = needles.iter().map(|needle| needle.trim_start_matches('#')).filter(|needle| !needle.is_empty()).collect();
    let shown = |line: &str| {
        let folded = Folded::of(line);
        let found = wanted.iter().find_map(|needle| folded.text(line).find(needle).map(|at| at..at + needle.len()));
        found.map(|found| in_line(line, &folded, found, &wanted))
    };
    for tag in frontmatter::tag_ranges(original).into_iter().chain(inline::tags(original)) {
        let name = fold(original.part(tag.clone()));
        let number = line_of(original, tag.start);
        let line = original.lines().nth(number - 1).unwrap_or_default();
        if let Some(line) = wanted.iter().any(|needle| name.contains(needle)).then(|| shown(line)).flatten() {
            return (line, number);
        }
    }
    let tags = entry.tags.join(", ");
    (shown(&tags).unwrap_or(tags), 1)
}
