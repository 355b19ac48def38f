//! The text around a match: on one line with the matches in bold, or as whole lines.

use crate::limits;
use crate::slice::{Part, first_chars};
use crate::text::kept::Kept;
use crate::text::{ceil, floor};
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;

/// Characters either side of a match in a search result.
const CONTEXT: usize = 50;

/// A line cut to about fifty characters either side of the match at `first` (a range of the folded
/// line): whole words, every occurrence of a needle in `**bold**`, `...` where text is left out.
fn in_line(line: &str, kept: &Kept, first: Range<usize>, needles: &[&str]) -> String {
    let offsets = kept.offsets();
    let (match_start, match_end) = offsets.original_range(line, first.start, first.end);
    let indent = line.len() - line.trim_start().len();
    let start = word_start(
        line,
        before(line, match_start, CONTEXT).max(indent.min(match_start)),
        match_start,
    );
    let end = word_end(
        line,
        after(line, match_end, CONTEXT).min(line.trim_end().len().max(match_end)),
        match_end,
    );
    let text = kept.folded();
    let bold = |found| whole_signs(line, without_outer_punctuation(line, found));
    let mut marks = vec![bold(match_start..match_end)];
    for needle in needles.iter().filter(|needle| needle.contains(char::is_alphanumeric)) {
        // Folding shifts offsets only slightly; a window several times wider than the snippet is
        // certain to cover it.
        let from = floor(text, first.start.saturating_sub(CONTEXT * 16));
        let to = ceil(text, first.end + CONTEXT * 16);
        for (at, found) in text.part(from..to).match_indices(needle) {
            let (mark_start, mark_end) =
                offsets.original_range(line, from + at, from + at + found.len());
            if mark_start >= start && mark_end <= end {
                marks.push(bold(mark_start..mark_end));
            }
        }
    }
    marks.sort_unstable_by_key(|mark| (mark.start, mark.end));
    let mut shown = String::with_capacity(end - start + 16);
    if start > indent {
        shown.push_str("...");
    }
    let mut at = start;
    let mut rest = marks.into_iter().peekable();
    while let Some(Range { start: from, end: mut to }) = rest.next() {
        while let Some(next) = rest.next_if(|next| next.start <= to) {
            to = to.max(next.end);
        }
        // Bold in the line itself is left out.
        push_plain(&mut shown, &line.part(at..from).replace("**", ""));
        let mark = if from == to { "" } else { "**" };
        shown.push_str(mark);
        push_plain(&mut shown, line.part(from..to));
        shown.push_str(mark);
        at = to;
    }
    push_plain(&mut shown, &line.part(at..end).replace("**", ""));
    if end < line.trim_end().len() {
        shown.push_str("...");
    }
    shown
}

/// A match without the punctuation around it, so that its Markdown stays intact; the whole match if
/// it is only punctuation.
fn without_outer_punctuation(line: &str, found: Range<usize>) -> Range<usize> {
    let text = line.part(found.clone());
    let Some(start) = text.find(char::is_alphanumeric) else { return found };
    let is_of_word = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    let end = text
        .char_indices()
        .rev()
        .find(|(_, c)| is_of_word(*c))
        .map_or(text.len(), |(at, c)| at + c.len_utf8());
    // `C++` keeps its punctuation; otherwise that at the ends is taken for markup and left out of
    // the bold.
    if text.get(start..end).is_none_or(str::is_empty) || text.contains("++") {
        found
    } else {
        found.start + start..found.start + end
    }
}

/// The range that has whole signs: with the marks and joined signs of an emoji such as a flag.
fn whole_signs(line: &str, range: Range<usize>) -> Range<usize> {
    const JOINER: char = '\u{200d}';
    let continues = |c: char| {
        is_combining_mark(c)
            || matches!(c, JOINER | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
    };
    let Range { mut start, mut end } = range;
    while let Some(before) = line.part(..start).chars().next_back()
        && (before == JOINER || line.part(start..).starts_with(continues))
    {
        start -= before.len_utf8();
    }
    while let Some(next) = line.part(end..).chars().next()
        && (continues(next) || line.part(..end).ends_with(JOINER) && !next.is_alphanumeric())
    {
        end += next.len_utf8();
    }
    start..end
}

/// A line cut around the first of the wanted texts that it has; `None` if it has none of them.
pub fn snippet_of_line<'a>(
    line: &str,
    mut wanted: impl Iterator<Item = &'a str>,
    needles: &[&str],
) -> Option<String> {
    let kept = Kept::of(line);
    let first =
        wanted.find_map(|needle| kept.folded().find(needle).map(|at| at..at + needle.len()))?;
    Some(in_line(line, &kept, first, needles))
}

/// The snippet around a match (a range of the folded text) in a kept text, and its line number. As
/// little of the text as possible is unfolded.
pub fn snippet_of_kept(kept: &Kept, first: Range<usize>, needles: &[&str]) -> (String, usize) {
    let text = kept.folded();
    let line = line_around(text, first.clone());
    // A character has four bytes at most and folds to three characters, so this is more than
    // CONTEXT characters.
    let near = floor(text, first.start.saturating_sub(CONTEXT * 12)).max(line.start)
        ..ceil(text, first.end + CONTEXT * 12).min(line.end);
    let (begins, original) = kept.part(near);
    let shown =
        in_line(&original, &Kept::of(&original), first.start - begins..first.end - begins, needles);
    (shown, line_of(text, first.start))
}

/// The whole lines that a range of a text touches, without the last line ending.
fn line_around(text: &str, range: Range<usize>) -> Range<usize> {
    let start =
        text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let end = text
        .get(range.end..)
        .and_then(|behind| behind.find('\n'))
        .map_or(text.len(), |at| range.end + at);
    start..end
}

/// Whole lines around a range, up to [`limits::PASSAGE_CHARS`]: those after it up to the next
/// heading, then those before it up to and including its own heading. Part of a line if that alone
/// is too long. `headings` are where headings begin, in order.
pub fn lines_around(text: &str, range: Range<usize>, headings: &[usize]) -> Range<usize> {
    let most = limits::PASSAGE_CHARS;
    let length = |range: Range<usize>| {
        text.get(range).map_or(usize::MAX, |part| part.chars().take(most + 1).count())
    };
    let mut part = line_around(text, range.clone());
    if length(part.clone()) > most {
        let start = before(text, range.start, most / 4).max(part.start);
        let start = word_start(text, start, range.start);
        let end = after(text, start, most).min(part.end);
        return start..word_end(text, end, range.end.min(end));
    }
    let is_heading = |line: &Range<usize>| headings.binary_search(&line.start).is_ok();
    while part.end < text.len() {
        let next = line_around(text, part.end + 1..part.end + 1);
        if length(part.start..next.end) > most || is_heading(&next) {
            break;
        }
        part.end = next.end;
    }
    while part.start > 0 && !is_heading(&line_around(text, part.start..part.start)) {
        let line = line_around(text, part.start - 1..part.start - 1);
        if length(line.start..part.end) > most {
            break;
        }
        part.start = line.start;
    }
    let blank = text.get(part.clone()).map_or(0, |shown| shown.len() - shown.trim_end().len());
    part.start..(part.end - blank).max(part.start)
}

/// One line: `context` characters either side of a match (a range of the text), the match in
/// `**bold**`, line breaks as spaces, `...` where text is left out.
pub fn excerpt_around(text: &str, found: Range<usize>, context: usize) -> String {
    let (start, end) = (before(text, found.start, context), after(text, found.end, context));
    let mut line = String::from(if start > 0 { "..." } else { "" });
    push_plain(&mut line, text.part(start..found.start));
    line.push_str("**");
    push_plain(&mut line, text.part(found.clone()));
    line.push_str("**");
    push_plain(&mut line, text.part(found.end..end));
    line.push_str(if end < text.len() { "..." } else { "" });
    line
}

/// The number of the line that contains an offset, from 1. Folding keeps line endings, so it is the
/// same in a folded text.
pub fn line_of(text: &str, offset: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', text.as_bytes().part(..offset)).count()
}

fn push_plain(line: &mut String, text: &str) {
    line.extend(text.chars().filter(|&c| c != '\r').map(|c| if c.is_control() { ' ' } else { c }));
}

/// The start of the first whole word at or after `at`, if one begins before `limit`; else `at`
/// itself.
fn word_start(text: &str, at: usize, limit: usize) -> usize {
    let is_cut =
        text.get(..at).is_some_and(|before| before.ends_with(|c: char| !c.is_whitespace()));
    let Some(rest) = text.get(at..limit).filter(|_| is_cut) else { return at };
    let space = rest.find(char::is_whitespace).unwrap_or(0);
    let word = rest.get(space..).map_or("", str::trim_start);
    if word.is_empty() { at } else { limit - word.len() }
}

/// The end of the last whole word before `at`, if one ends after `limit`; else `at` itself.
fn word_end(text: &str, at: usize, limit: usize) -> usize {
    let is_cut =
        text.get(at..).is_some_and(|behind| behind.starts_with(|c: char| !c.is_whitespace()));
    let Some(rest) = text.get(limit..at).filter(|_| is_cut) else { return at };
    let space = rest.rfind(char::is_whitespace).unwrap_or(rest.len());
    let words = rest.get(..space).map_or("", str::trim_end);
    if words.is_empty() { at } else { limit + words.len() }
}

fn before(text: &str, at: usize, context: usize) -> usize {
    let part = text.part(..at);
    part.char_indices().rev().take(context).last().map_or(at, |(start, _)| start)
}

fn after(text: &str, at: usize, context: usize) -> usize {
    at + first_chars(text.part(at..), context).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::random::Random;

    fn of(text: &str, needles: &[&str]) -> String {
        let kept = Kept::of(text);
        let at = kept.folded().find(needles[0]).unwrap();
        snippet_of_kept(&kept, at..at + needles[0].len(), needles).0
    }

    #[test]
    fn matches_are_bold_in_their_line() {
        assert_eq!(of("The Heating\r\ncontroller talks", &["heating"]), "The **Heating**");
        assert_eq!(of("a b a b", &["a", "b"]), "**a** **b** **a** **b**");
        assert_eq!(of("aaaa", &["aa", "a"]), "**aaaa**");
        assert_eq!(
            of("Große STRASSE, kleine Straße", &["strasse"]),
            "Große **STRASSE**, kleine **Straße**"
        );
        assert_eq!(
            of("  - [ ] [[Some Note]] x", &["- [ ] [[some note"]),
            "- [ ] [[**Some Note**]] x"
        );
        assert_eq!(of("a [[Some Note]]", &["[["]), "a **[[**Some Note]]");
        assert_eq!(of("in C++ and c", &["c++"]), "in **C++** and c");
        for flag in ["🏳", "🏳\u{fe0f}\u{200d}🌈", "🌈"] {
            let whole = "a **🏳\u{fe0f}\u{200d}🌈** b";
            assert_eq!(of("a 🏳\u{fe0f}\u{200d}🌈 b", &[flag]), whole);
        }
        let long = format!("{} needle {}", "x".repeat(200), "y".repeat(200));
        let cut = of(&long, &["needle"]);
        assert!(
            cut.starts_with("...x") && cut.ends_with("y...") && cut.contains("**needle**"),
            "{cut}"
        );
        assert_eq!(cut.chars().count(), 3 + 50 + 2 + 6 + 2 + 50 + 3);
        let words = format!("{} needle {}", "word ".repeat(40).trim_end(), "other ".repeat(40));
        let cut = of(&words, &["needle"]);
        assert!(
            cut.starts_with("...word ") && cut.ends_with(" other...") && cut.len() < 130,
            "{cut}"
        );
        let wide = format!("{}needle{}", "🎻".repeat(60), "ü".repeat(60));
        assert_eq!(of(&wide, &["needle"]).matches('🎻').count(), 50);
    }

    #[test]
    fn only_matches_are_bold() {
        assert_eq!(
            of("**it is so by default**. Now", &["default"]),
            "it is so by **default**. Now"
        );
        assert_eq!(of("**Toggling**: on", &["toggling", "on"]), "**Toggling**: **on**");
        assert_eq!(of("abc", &[""]), "abc", "nothing is not bold");
        assert_eq!(of("a cafe\u{301} x", &["caf\u{e9}"]), "a **cafe\u{301}** x");
    }

    #[test]
    fn passages_are_whole_lines_below_their_heading() {
        let text = format!(
            "# One\n{}\n## Two\nbefore\n\nneedle\nbehind\n\n## Three\nno",
            "filler ".repeat(100)
        );
        let at = text.find("needle").unwrap();
        let headings: Vec<usize> = text
            .match_indices("# ")
            .map(|(at, _)| at - usize::from(text[..at].ends_with('#')))
            .collect();
        assert_eq!(
            &text[lines_around(&text, at..at + 6, &headings)],
            "## Two\nbefore\n\nneedle\nbehind"
        );
        let long = format!("{} needle {}", "word ".repeat(300), "other ".repeat(300));
        let at = long.find("needle").unwrap();
        let shown = &long[lines_around(&long, at..at + 6, &[])];
        assert!(
            shown.starts_with("word") && shown.ends_with("other") && shown.contains("needle"),
            "{shown}"
        );
        assert!((500..=limits::PASSAGE_CHARS).contains(&shown.chars().count()));
    }

    /// Random texts of difficult letters: a snippet from part of a text equals one from the whole.
    #[test]
    fn a_snippet_from_a_part_is_that_from_the_whole() {
        let letters: Vec<char> =
            "aAbBßẞİıKk\u{212a}éÉe\u{301}\u{302}Σσς 🎻.Ω가\u{1100}\u{1161}".chars().collect();
        let mut random = Random::new();
        let mut next = |end| random.below(end);
        for _ in 0..2_000 {
            let kinds = next(letters.len()) + 1;
            let text: String = (0..next(1200)).map(|_| letters[next(kinds)]).collect();
            let kept = Kept::of(&text);
            let ends: Vec<usize> = kept.folded().char_indices().map(|(at, _)| at).collect();
            if ends.len() < 4 {
                continue;
            }
            let at = next(ends.len() - 2);
            let first = ends[at]..ends[at + 1 + next(2)];
            assert_eq!(
                snippet_of_kept(&kept, first.clone(), &[]).0,
                in_line(&text, &kept, first.clone(), &[]),
                "{text:?} {first:?}"
            );
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!((line_of("a\nb", 0), line_of("a\nb", 1), line_of("a\nb", 2)), (1, 1, 2));
    }
}
