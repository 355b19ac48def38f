//! A piece of text around a match, with the matches in bold.

use super::fold::Folded;
use crate::limits;
use std::ops::Range;

/// One line: about [`limits::SNIPPET_CONTEXT`] characters either side of the match at `first` (a range of the folded
/// text), every occurrence of a needle within it in `**bold**`, line breaks as spaces, `...` where text is left out.
pub(super) fn snippet(original: &str, folded: &Folded, first: Range<usize>, needles: &[&str]) -> String {
    let (match_start, match_end) = folded.original_range(original, first.start, first.end);
    let start = before(original, match_start, limits::SNIPPET_CONTEXT);
    let end = after(original, match_end, limits::SNIPPET_CONTEXT);
    let text = folded.text(original);
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for needle in needles.iter().filter(|needle| !needle.is_empty()) {
        // Folding moves offsets by little; a window a few times wider than the snippet surely covers it.
        let from = floor(text, first.start.saturating_sub(limits::SNIPPET_CONTEXT * 16));
        let to = ceil(text, (first.end + limits::SNIPPET_CONTEXT * 16).min(text.len()));
        for (at, found) in text.get(from..to).unwrap_or_default().match_indices(needle) {
            let (mark_start, mark_end) = folded.original_range(original, from + at, from + at + found.len());
            if mark_start >= start && mark_end <= end {
                marks.push((mark_start, mark_end));
            }
        }
    }
    marks.push((match_start, match_end));
    marks.sort_unstable();
    let mut line = String::with_capacity(end - start + 16);
    if start > 0 {
        line.push_str("...");
    }
    let mut at = start;
    let mut rest = marks.into_iter().peekable();
    while let Some((from, mut to)) = rest.next() {
        while let Some((_, next_to)) = rest.next_if(|(next_from, _)| *next_from <= to) {
            to = to.max(next_to);
        }
        push_plain(&mut line, original.get(at..from).unwrap_or_default());
        line.push_str("**");
        push_plain(&mut line, original.get(from..to).unwrap_or_default());
        line.push_str("**");
        at = to;
    }
    push_plain(&mut line, original.get(at..end).unwrap_or_default());
    if end < original.len() {
        line.push_str("...");
    }
    line
}

/// One line: `context` characters either side of a match (a range of the text), the match in `**bold**`, line breaks as
/// spaces, `...` where text is left out.
pub(super) fn around(text: &str, found: Range<usize>, context: usize) -> String {
    let (start, end) = (before(text, found.start, context), after(text, found.end, context));
    let mut line = String::from(if start > 0 { "..." } else { "" });
    push_plain(&mut line, text.get(start..found.start).unwrap_or_default());
    line.push_str("**");
    push_plain(&mut line, text.get(found.clone()).unwrap_or_default());
    line.push_str("**");
    push_plain(&mut line, text.get(found.end..end).unwrap_or_default());
    line.push_str(if end < text.len() { "..." } else { "" });
    line
}

/// The number of the line that an offset is in, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', text.as_bytes().get(..offset).unwrap_or_default()).count()
}

fn push_plain(line: &mut String, text: &str) {
    line.extend(text.chars().filter(|&c| c != '\r').map(|c| if c.is_control() { ' ' } else { c }));
}

fn before(text: &str, at: usize, context: usize) -> usize {
    let part = text.get(..at).unwrap_or_default();
    part.char_indices().rev().take(context).last().map_or(at, |(start, _)| start)
}

fn after(text: &str, at: usize, context: usize) -> usize {
    let part = text.get(at..).unwrap_or_default();
    part.char_indices().nth(context).map_or(text.len(), |(length, _)| at + length)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, needles: &[&str]) -> String {
        let folded = Folded::of(text);
        let at = folded.text(text).find(needles[0]).unwrap();
        snippet(text, &folded, at..at + needles[0].len(), needles)
    }

    #[test]
    fn matches_are_bold_and_the_rest_is_one_line() {
        assert_eq!(of("The Heating\r\ncontroller talks", &["heating"]), "The **Heating** controller talks");
        assert_eq!(of("a b a b", &["a", "b"]), "**a** **b** **a** **b**");
        assert_eq!(of("aaaa", &["aa", "a"]), "**aaaa**");
        assert_eq!(of("Große STRASSE, kleine Straße", &["strasse"]), "Große **STRASSE**, kleine **Straße**");
        let long = format!("{} needle {}", "x".repeat(200), "y".repeat(200));
        let cut = of(&long, &["needle"]);
        assert!(cut.starts_with("...x") && cut.ends_with("y...") && cut.contains("**needle**"), "{cut}");
        assert_eq!(cut.chars().count(), 3 + 50 + 2 + 6 + 2 + 50 + 3);
        let wide = format!("{}needle{}", "🎻".repeat(60), "ü".repeat(60));
        assert_eq!(of(&wide, &["needle"]).matches('🎻').count(), 50);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!((line_of("a\nb", 0), line_of("a\nb", 1), line_of("a\nb", 2)), (1, 1, 2));
    }
}
