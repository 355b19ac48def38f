//! Where the inline constructs of a block can close. Each place is found once and remembered until
//! it is passed, so a block is read in a time that grows with its length, whatever it holds.

use crate::limits;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// The ends of constructs in a block, which is read from its start to its end.
pub(super) struct Closers<'a> {
    text: &'a str,
    end: usize,
    line_end: Next,
    wikilink: Next,
    nested: Next,
    angle: Next,
    /// The runs of backticks, by length, that are not passed yet.
    runs: Option<HashMap<usize, VecDeque<usize>>>,
    parentheses: Parentheses,
}

impl<'a> Closers<'a> {
    pub(super) fn new(text: &'a str, block: &Range<usize>) -> Closers<'a> {
        let (line_end, wikilink, nested, angle) =
            (Next::new("\n"), Next::new("]]"), Next::new("[["), Next::new(">"));
        let parentheses = Parentheses { line: block.start..block.start, ..Parentheses::default() };
        Closers { text, end: block.end, line_end, wikilink, nested, angle, runs: None, parentheses }
    }

    fn line_end(&mut self, at: usize) -> usize {
        self.line_end.from(self.text, at, self.end).unwrap_or(self.end)
    }

    /// The end of what begins at `at`: a construct on one line, of [`limits::INLINE_BYTES`] at
    /// most.
    fn farthest(&mut self, at: usize) -> usize {
        self.line_end(at).min(at + limits::INLINE_BYTES)
    }

    /// What is between the brackets of the wikilink that begins at `at`, if it is closed and
    /// contains no other.
    pub(super) fn wikilink(&mut self, at: usize) -> Option<&'a str> {
        let inner = at + 2;
        let close = self
            .wikilink
            .from(self.text, inner, self.end)
            .filter(|close| close + 2 <= self.farthest(at))?;
        let nested = self.nested.from(self.text, inner, self.end);
        self.text.get(inner..close).filter(|_| nested.is_none_or(|nested| nested >= close))
    }

    /// The end of the destination `](…)` that begins at `at`: its parentheses are balanced, or it
    /// is in angle brackets.
    pub(super) fn destination(&mut self, at: usize) -> Option<usize> {
        let (inner, farthest) = (at + 2, self.farthest(at));
        let is_bracketed = self.text.get(inner..).is_some_and(|rest| rest.starts_with('<'));
        let angle = if is_bracketed { self.angle.from(self.text, inner, self.end) } else { None };
        let from = angle.filter(|angle| *angle < farthest).unwrap_or(inner);
        if !self.parentheses.line.contains(&from) {
            self.parentheses = Parentheses::of(self.text, from..self.line_end(from));
        }
        self.parentheses.close_around(from).map(|close| close + 1).filter(|end| *end <= farthest)
    }

    /// The end of the code span that begins at `at` with `length` backticks: behind the next run of
    /// as many.
    pub(super) fn code_span(&mut self, at: usize, length: usize) -> Option<usize> {
        let runs =
            self.runs.get_or_insert_with(|| runs(self.text, at..self.end)).get_mut(&length)?;
        while runs.front().is_some_and(|run| *run < at + length) {
            runs.pop_front();
        }
        runs.front().map(|run| run + length).filter(|end| *end <= at + limits::INLINE_BYTES)
    }
}

/// The next place of a text.
struct Next {
    wanted: &'static str,
    searched_from: usize,
    /// The first place from there; `None` where there is none.
    place: Option<usize>,
}

impl Next {
    fn new(wanted: &'static str) -> Next {
        // Nothing was searched yet.
        Next { wanted, searched_from: usize::MAX, place: None }
    }

    /// The first place at or behind `at`, before `end`.
    fn from(&mut self, text: &str, at: usize, end: usize) -> Option<usize> {
        if at < self.searched_from || self.place.is_some_and(|place| place < at) {
            self.place =
                text.get(at..end).and_then(|rest| rest.find(self.wanted)).map(|found| at + found);
            self.searched_from = at;
        }
        self.place
    }
}

/// The runs of backticks in a part of a text, by length.
fn runs(text: &str, part: Range<usize>) -> HashMap<usize, VecDeque<usize>> {
    let mut runs: HashMap<usize, VecDeque<usize>> = HashMap::new();
    let bytes = text.as_bytes().get(part.clone()).unwrap_or_default();
    let mut places = memchr::memchr_iter(b'`', bytes).map(|place| part.start + place).peekable();
    while let Some(start) = places.next() {
        let mut end = start + 1;
        while places.next_if_eq(&end).is_some() {
            end += 1;
        }
        runs.entry(end - start).or_default().push_back(start);
    }
    runs
}

/// The parentheses in a part of a line.
#[derive(Default)]
struct Parentheses {
    line: Range<usize>,
    /// Where they are, in order.
    places: Vec<usize>,
    /// For each the closing one of the pair that it is in: for a closing one itself, for an
    /// opening one that of the pair around.
    closes: Vec<Option<usize>>,
}

impl Parentheses {
    fn of(text: &str, line: Range<usize>) -> Parentheses {
        let bytes = text.as_bytes().get(line.clone()).unwrap_or_default();
        let places: Vec<usize> =
            memchr::memchr2_iter(b'(', b')', bytes).map(|place| line.start + place).collect();
        let is_opening = |place: usize| text.as_bytes().get(place) == Some(&b'(');
        let mut partners: Vec<Option<usize>> = vec![None; places.len()];
        let mut open: Vec<usize> = Vec::new();
        for (number, place) in places.iter().enumerate() {
            if is_opening(*place) {
                open.push(number);
            } else if let Some(partner) = open.pop().and_then(|opening| partners.get_mut(opening)) {
                *partner = Some(number);
            }
        }
        let mut closes: Vec<Option<usize>> = vec![None; places.len()];
        for (number, place) in places.iter().enumerate().rev() {
            let close = if is_opening(*place) {
                // What is behind the pair is in the same pair as the pair itself.
                let partner = partners.get(number).copied().flatten();
                partner.and_then(|partner| closes.get(partner + 1).copied().flatten())
            } else {
                Some(*place)
            };
            if let Some(slot) = closes.get_mut(number) {
                *slot = close;
            }
        }
        Parentheses { line, places, closes }
    }

    /// The closing parenthesis of the pair that a place is in, if it is in one.
    fn close_around(&self, at: usize) -> Option<usize> {
        let next = self.places.partition_point(|place| *place < at);
        self.closes.get(next).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_parentheses_is_closed_by_those_around_it() {
        for (text, at, close) in [
            ("a)b", 0, Some(1)),
            ("a(b)c)d)", 0, Some(5)),
            ("()()())", 0, Some(6)),
            ("(((", 0, None),
            ("((a)", 0, None),
            ("((a)", 1, None),
            ("((a)", 2, Some(3)),
            ("", 0, None),
        ] {
            assert_eq!(Parentheses::of(text, 0..text.len()).close_around(at), close, "{text} {at}");
        }
    }
}
