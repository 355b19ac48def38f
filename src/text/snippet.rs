//! A piece of text around a match, with the matches in bold.

use super::fold::Folded;
use super::kept::Kept;
use std::ops::Range;

/// Characters either side of a match in a search result.
const CONTEXT: usize = 50;

/// One line: about fifty characters either side of the match at `first` (a range of the folded
/// text), every occurrence of a needle within it in `**bold**`, line breaks as spaces, `...` where text is left out.
pub fn snippet(original: &str, folded: &Folded, first: Range<usize>, needles: &[&str]) -> String {
    let (match_start, match_end) = folded.original_range(original, first.start, first.end);
    let start = before(original, match_start, CONTEXT);
    let end = after(original, match_end, CONTEXT);
    let text = folded.text(original);
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for needle in needles.iter().filter(|needle| !needle.is_empty()) {
        // Folding moves offsets by little; a window a few times wider than the snippet surely covers it.
        let from = floor(text, first.start.saturating_sub(CONTEXT * 16));
        let to = ceil(text, (first.end + CONTEXT * 16).min(text.len()));
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

/// The snippet around a match in a text that is kept, and the number of its line. Of the text as little is unfolded as will do.
pub fn of_kept(kept: &Kept, first: Range<usize>, needles: &[&str]) -> (String, usize) {
    let line = line_of(kept.folded(), first.start);
    let near = near(kept, first.clone(), needles);
    let whole = || {
        let original = kept.original();
        snippet(&original, &Folded::of(&original), first, needles)
    };
    (near.unwrap_or_else(whole), line)
}

/// The same from the text around the match, if it can be told that it is the same.
fn near(kept: &Kept, first: Range<usize>, needles: &[&str]) -> Option<String> {
    let text = kept.folded();
    let from = floor(text, first.start.saturating_sub(CONTEXT * 5));
    let to = ceil(text, (first.end + CONTEXT * 5).min(text.len()));
    let (begins, original) = kept.part(from..to);
    let folded = Folded::of(&original);
    let part = folded.text(&original);
    let ends = begins + part.len();
    // A mark that was cut off from its letter folds to something else.
    if text.get(begins..ends) != Some(part) {
        return None;
    }
    let first = first.start - begins..first.end - begins;
    let (start, end) = folded.original_range(&original, first.start, first.end);
    let beyond = |mut chars: std::str::Chars<'_>| chars.nth(CONTEXT).is_some();
    let is_enough = (begins == 0 || beyond(original.get(..start)?.chars())) && (ends == text.len() || beyond(original.get(end..)?.chars()));
    is_enough.then(|| snippet(&original, &folded, first, needles))
}

/// One line: `context` characters either side of a match (a range of the text), the match in `**bold**`, line breaks as
/// spaces, `...` where text is left out.
pub fn around(text: &str, found: Range<usize>, context: usize) -> String {
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

/// The number of the line that an offset is in, from 1. Folding keeps line ends, so it is the same in a folded text.
pub fn line_of(text: &str, offset: usize) -> usize {
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
    use crate::text::random::Random;

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

    /// Texts by chance, of letters that are hard: what is made from a part is what is made from all.
    #[test]
    fn a_snippet_from_a_part_is_that_from_the_whole() {
        let letters: Vec<char> = "aAbBßẞİıKk\u{212a}éÉe\u{301}\u{302}Σσς 🎻\n.Ω가\u{1100}\u{1161}".chars().collect();
        let mut random = Random::new();
        let mut next = |end| random.below(end);
        let mut from_a_part = 0;
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
            let needle = kept.folded()[first.clone()].to_owned();
            let folded = Folded::of(&text);
            let line = line_of(folded.text(&text), first.start);
            assert_eq!(of_kept(&kept, first.clone(), &[]), (snippet(&text, &folded, first.clone(), &[]), line), "{text:?} {first:?}");
            // In a row of the same letter it depends on the place where the search begins which of them are found.
            let (marked, _) = of_kept(&kept, first.clone(), &[&needle]);
            assert_eq!(marked.replace("**", ""), snippet(&text, &folded, first.clone(), &[]).replace("**", ""));
            from_a_part += usize::from(near(&kept, first, &[&needle]).is_some());
        }
        assert!(from_a_part > 1_000, "{from_a_part}");
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!((line_of("a\nb", 0), line_of("a\nb", 1), line_of("a\nb", 2)), (1, 1, 2));
    }
}
