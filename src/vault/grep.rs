//! Every place in every note where a text or a regular expression stands.

use super::Vault;
use super::entry::{Entry, Text};
use super::error::Error;
use super::properties::Criteria;
use crate::limits;
use crate::text::fold::{Folded, fold};
use crate::text::snippet::{around, line_of};
use memchr::memmem::Finder;
use regex::{Regex, RegexBuilder};
use std::sync::Arc;

/// What to look for.
#[derive(Debug)]
pub enum Pattern {
    /// A text, in any case; folded.
    Folded(Finder<'static>),
    /// A text as it is.
    Exact(Finder<'static>),
    /// A regular expression; it runs in linear time.
    Regex(Regex),
}

impl Pattern {
    /// Prepares a pattern.
    ///
    /// # Errors
    /// What is wrong with a regular expression and where, or that it is too large, in one line.
    pub fn new(text: &str, regex: bool, case_sensitive: bool) -> Result<Pattern, String> {
        if !regex {
            return Ok(match case_sensitive {
                true => Pattern::Exact(Finder::new(text).into_owned()),
                false => Pattern::Folded(Finder::new(&fold(text)).into_owned()),
            });
        }
        let mut builder = RegexBuilder::new(text);
        builder.case_insensitive(!case_sensitive).size_limit(limits::REGEX_BYTES).dfa_size_limit(limits::REGEX_BYTES);
        builder.build().map(Pattern::Regex).map_err(|error| match error {
            regex::Error::CompiledTooBig(limit) => format!("it is too large (more than {limit} bytes when compiled)"),
            other => told(&other.to_string()),
        })
    }
}

/// A parser's words in one line. They come as the pattern with a line of carets below it, and then what is wrong; what the
/// carets say is said as a number.
fn told(words: &str) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = words.lines();
    let carets = lines.find(|line| !line.trim().is_empty() && line.trim().chars().all(|c| c == '^' || c == ' '));
    match (carets.and_then(|carets| carets.find('^')), one_line(&lines.collect::<Vec<_>>().join(" "))) {
        // The pattern is set in by four.
        (Some(at), what) if !what.is_empty() => format!("{} at character {}", what.trim_start_matches("error: "), at.saturating_sub(3)),
        _ => one_line(words),
    }
}

/// A note that has it.
#[derive(Debug)]
pub struct Occurrences {
    /// The note.
    pub entry: Arc<Entry>,
    /// How often.
    pub count: usize,
    /// The first places: line, from 1, and the match in bold with what stands around it.
    pub places: Vec<(usize, String)>,
}

impl Vault {
    /// Looks for a pattern in the text of all notes; those with the most matches first. `context` is the number of
    /// characters shown on either side of a match.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn grep(&self, pattern: &Pattern, context: usize, go_on: &dyn Fn(usize, usize) -> bool) -> Result<Vec<Occurrences>, Error> {
        let notes = self.notes(&Criteria::default(), &|_, _| true)?;
        let total = notes.len();
        let mut found = Vec::new();
        for (number, entry) in notes.into_iter().enumerate() {
            if number % limits::GREP_BLOCK == 0 && !go_on(number, total) {
                return Err(Error::Cancelled);
            }
            let (mut count, mut places) = (0, Vec::new());
            // Most notes do not have it, and need not be put together for that.
            if let (Pattern::Folded(finder), Text::Kept(kept)) = (pattern, &entry.text)
                && finder.find(kept.folded().as_bytes()).is_none()
            {
                continue;
            }
            let original = self.text(&entry).unwrap_or_default();
            each_match(pattern, &original, |from, to| {
                count += 1;
                if places.len() < limits::GREP_PLACES {
                    places.push((line_of(&original, from), around(&original, from..to, context)));
                }
            });
            drop(original);
            if count > 0 {
                found.push(Occurrences { entry, count, places });
            }
        }
        found.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.entry.path.cmp(&b.entry.path)));
        Ok(found)
    }
}

/// Every match, as a range of the original text. Empty matches are none.
fn each_match(pattern: &Pattern, original: &str, mut found: impl FnMut(usize, usize)) {
    match pattern {
        Pattern::Exact(finder) => {
            finder.find_iter(original.as_bytes()).for_each(|at| found(at, at + finder.needle().len()));
        }
        Pattern::Regex(regex) => {
            regex.find_iter(original).filter(|found| !found.is_empty()).for_each(|matched| found(matched.start(), matched.end()));
        }
        Pattern::Folded(finder) => {
            let folded = Folded::of(original);
            for at in finder.find_iter(folded.text(original).as_bytes()) {
                let (from, to) = folded.original_range(original, at, at + finder.needle().len());
                found(from, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_say_what_is_wrong_with_them() {
        for (text, word) in [("a(b", "unclosed"), ("(?=a)", "look-around"), (r"(a)\1", "backreferences"), ("(a{1000}){1000}", "too large")]
        {
            let why = Pattern::new(text, true, false).unwrap_err();
            assert!(why.contains(word) && !why.contains('\n'), "{why}");
        }
        assert!(Pattern::new("a(b", false, false).is_ok(), "a plain text is no expression");
    }
}
