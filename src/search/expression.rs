//! Regular expressions over notes: limited in compiled size, and searched one window at a time, so
//! that a search can be stopped within a large file.

use crate::limits;
use crate::text::ceil;
use crate::text::fold::{fold, may_join};
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;

/// Bytes of the longest match of a regular expression that is guaranteed to be found whole; a
/// quarter of a window.
const REGEX_MATCH_BYTES: usize = limits::REGEX_WINDOW_BYTES / 4;

/// The search was stopped before the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished;

/// A regular expression. `^` and `$` match at line boundaries, and CR LF is one line ending.
#[derive(Debug)]
pub struct Expression {
    regex: Regex,
    /// A string that every match contains, folded.
    required: Option<String>,
}

/// A pattern in which a line feed outside of a class also matches CR LF. One with the flag `x`, in
/// which line feeds mean nothing, stays.
fn with_crlf(pattern: &str) -> String {
    let has_x = |group: &str| {
        group.split([':', ')']).next().is_some_and(|flags| {
            flags.contains('x') && flags.bytes().all(|byte| b"imsUuxR-".contains(&byte))
        })
    };
    if pattern.split("(?").skip(1).any(has_x) {
        return pattern.to_owned();
    }
    let (mut result, mut classes) = (String::with_capacity(pattern.len()), 0_usize);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        match (c, escaped) {
            ('\n', _) | ('\\', Some('n')) if classes == 0 => {
                result.push_str("(?:\\r?\\n)");
                continue;
            }
            ('[', _) => classes += 1,
            (']', _) => classes = classes.saturating_sub(1),
            _ => {}
        }
        result.extend([c].into_iter().chain(escaped));
        if c == '[' {
            // The first character of a class is in it, also a `]`.
            result.extend(chars.next_if_eq(&'^').into_iter().chain(chars.next_if_eq(&']')));
        }
    }
    result
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it and where, or that it is too large, in one line.
    pub fn new(pattern: &str, case_sensitive: bool) -> Result<Expression, String> {
        // Parsed as case-sensitive, so that letters are literals.
        let parsed =
            regex_syntax::ParserBuilder::new().multi_line(true).crlf(true).build().parse(pattern);
        let at = |span: &regex_syntax::ast::Span| {
            pattern.get(..span.start.offset).unwrap_or_default().chars().count() + 1
        };
        let hir = parsed.map_err(|error| match error {
            regex_syntax::Error::Parse(error) => {
                format!("{} at character {}", error.kind(), at(error.span()))
            }
            regex_syntax::Error::Translate(error) => {
                format!("{} at character {}", error.kind(), at(error.span()))
            }
            other => other.to_string(),
        })?;
        let build = |pattern: &str| {
            let mut builder = RegexBuilder::new(pattern);
            builder.case_insensitive(!case_sensitive).multi_line(true).crlf(true);
            builder.size_limit(limits::REGEX_BYTES).dfa_size_limit(limits::REGEX_BYTES).build()
        };
        let crlf = with_crlf(pattern);
        let built =
            build(&crlf).or_else(|error| if crlf == pattern { Err(error) } else { build(pattern) });
        let regex = built.map_err(|_| {
            format!("it is too large (more than {} bytes when compiled)", limits::REGEX_BYTES)
        })?;
        let required = literal(&hir).and_then(|found| {
            // In the folded text, a combining mark or a joining letter changes the letter before
            // it: the last letter is dropped, as one may follow, and no part begins with one.
            let joins = |c: char| is_combining_mark(c) || may_join(c);
            let mut text = String::from_utf8(found).ok()?;
            while text.pop().is_some_and(joins) {}
            // Without case, some letters also match others that folding leaves as they are: `s`
            // U+017F, and `μ` the micro sign. A line feed also matches CR LF.
            let has_more_forms = |c: char| {
                matches!(c, 's' | 'S' | '\n')
                    || !c.is_ascii() && (c.is_lowercase() || c.is_uppercase())
            };
            let part =
                text.split(has_more_forms).max_by_key(|part| part.len())?.trim_start_matches(joins);
            Some(fold(part)).filter(|part| part.chars().count() > 1)
        });
        Ok(Expression { regex, required })
    }

    /// Compiles an expression for a text as it is; a line feed in it also matches CR LF.
    ///
    /// # Errors
    /// That it is too large.
    pub fn of_text(text: &str, case_sensitive: bool) -> Result<Expression, String> {
        let text = text.replace("\r\n", "\n");
        let line = text.split('\n').max_by_key(|line| line.len()).map(fold);
        let expression = Expression::new(&regex::escape(&text), case_sensitive)?;
        Ok(Expression { required: line.filter(|line| !line.is_empty()), ..expression })
    }

    /// A folded string that the folded form of every matching text contains.
    pub fn required(&self) -> Option<&str> {
        self.required.as_deref()
    }

    /// The first match, which may be empty. `proceed` is called before each window.
    ///
    /// # Errors
    /// [`Unfinished`] if it returned `false`.
    pub fn find(
        &self,
        text: &str,
        proceed: &dyn Fn() -> bool,
    ) -> Result<Option<Range<usize>>, Unfinished> {
        let mut first = None;
        let is_searched = self.each(text, &mut || proceed(), |found| {
            first = Some(found);
            false
        });
        if is_searched || first.is_some() { Ok(first) } else { Err(Unfinished) }
    }

    /// Passes every match, also empty ones, to `found`, which says whether to go on. `proceed` is
    /// called before each window. Returns whether the whole text was searched. A match longer than
    /// `REGEX_MATCH_BYTES` may be truncated.
    pub fn each(
        &self,
        text: &str,
        proceed: &mut dyn FnMut() -> bool,
        mut found: impl FnMut(Range<usize>) -> bool,
    ) -> bool {
        let mut at = 0;
        while proceed() {
            let end = window_end(text, at);
            let is_last = end == text.len();
            // A match that begins after this may extend beyond the window.
            let sure = if is_last { end } else { end - REGEX_MATCH_BYTES };
            while let Some(matched) =
                text.get(..end).and_then(|window| self.regex.find_at(window, at))
            {
                if matched.start() > sure && matched.start() > at {
                    break;
                }
                if !found(matched.range()) {
                    return false;
                }
                // An empty match would be found again.
                at = if matched.is_empty() { ceil(text, matched.end() + 1) } else { matched.end() };
                if at >= end {
                    break;
                }
            }
            if is_last {
                return true;
            }
            at = ceil(text, at.max(sure));
        }
        false
    }
}

/// The end of the window that begins at `at`: after a line ending, if its second half has one.
fn window_end(text: &str, at: usize) -> usize {
    let most = ceil(text, at + limits::REGEX_WINDOW_BYTES);
    if most == text.len() {
        return most;
    }
    let least = at + limits::REGEX_WINDOW_BYTES / 2;
    let line_end = text.get(ceil(text, least)..most).and_then(|part| part.rfind('\n'));
    line_end.map_or(most, |found| ceil(text, least) + found + 1)
}

/// The longest literal that every match has.
fn literal(hir: &Hir) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Literal(found) => Some(found.0.to_vec()),
        HirKind::Capture(inner) => literal(&inner.sub),
        HirKind::Repetition(inner) if inner.min > 0 => literal(&inner.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(literal).max_by_key(Vec::len),
        HirKind::Empty
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::random::Random;

    fn all(pattern: &str, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let take = |at: Range<usize>| {
            found.extend((!at.is_empty()).then_some((at.start, at.end)));
            true
        };
        assert!(Expression::new(pattern, false).unwrap().each(text, &mut || true, take));
        found
    }

    #[test]
    fn a_line_feed_outside_of_a_class_also_matches_crlf() {
        for (pattern, text, is_match) in [
            ("a\\nb", "a\r\nb", true),
            ("a\\n+b", "a\r\n\r\nb", true),
            ("a\nb", "a\nb", true),
            (r"\[[^]\n]+\]", "x [p (q)]", true),
            (r"[]\n]b", "]b", true),
            (r"a[^\n]b", "a\nb", false),
            (r"a\\nb", "a\\nb", true),
            ("(?x)second # c\nZZZ", "second", false),
            ("(?x)second # c\nZZZ", "secondZZZ", true),
        ] {
            let found = Expression::new(pattern, true).unwrap().find(text, &|| true).ok().flatten();
            assert_eq!(found.is_some(), is_match, "{pattern:?} {text:?}");
        }
        assert!(Expression::new("foo\\n(bar", true).unwrap_err().contains("at character 6"));
    }

    #[test]
    fn expressions_say_what_is_wrong_with_them() {
        for (text, word) in [
            ("a(b", "unclosed"),
            ("(?=a)", "look-around"),
            (r"(a)\1", "backreferences"),
            ("(a{1000}){1000}", "too large"),
        ] {
            let why = Expression::new(text, false).unwrap_err();
            assert!(why.contains(word) && !why.contains('\n'), "{why}");
        }
    }

    #[test]
    fn windows_find_what_a_search_of_the_whole_finds() {
        let mut random = Random::new();
        let words = ["status: active", "ü", "\n", "\r\n", "a", "plugin", " ", "🎻", "b\nb"];
        for _ in 0..20 {
            let text: String = (0..80_000).map(|_| words[random.below(words.len())]).collect();
            for pattern in [
                r"^status: active$",
                r"plugin\s+a",
                "(?s)plugin.{1,40}b",
                "[^a]+",
                "zz",
                "",
                "🎻$",
                "x*",
            ] {
                let regex = RegexBuilder::new(pattern)
                    .case_insensitive(true)
                    .multi_line(true)
                    .crlf(true)
                    .build()
                    .unwrap();
                let expected: Vec<_> = regex
                    .find_iter(&text)
                    .filter(|found| !found.is_empty())
                    .map(|found| (found.start(), found.end()))
                    .collect();
                assert_eq!(all(pattern, &text), expected, "{pattern}");
            }
        }
    }

    #[test]
    fn a_search_can_be_ended_inside_a_text() {
        let text = "a ".repeat(limits::REGEX_WINDOW_BYTES * 4);
        let (mut asked, mut found) = (0, 0);
        let mut twice = || {
            asked += 1;
            asked < 3
        };
        let count = |_| {
            found += 1;
            true
        };
        assert!(!Expression::new("a", true).unwrap().each(&text, &mut twice, count));
        assert!((1..text.len() / 2).contains(&found), "{found}");
    }

    #[test]
    fn what_every_match_has_is_known() {
        for (pattern, required) in [
            (".{0,200}Plugin.{0,200}", Some("plugi")),
            ("a|plugin", None),
            ("(plugin)+x", Some("plugi")),
            ("(plugin)*", None),
            (r"^date: \d+$", Some("date:")),
            ("classic", Some("cla")),
            ("abc", Some("ab")),
            ("s\u{301}wiat", Some("wia")),
            ("a", None),
            ("foo alpha\\nbar beta", Some("foo alpha")),
            // Greek; the text has the micro sign.
            ("10 \u{3bc}m wide", Some("m wid")),
        ] {
            assert_eq!(Expression::new(pattern, false).unwrap().required(), required, "{pattern}");
        }
        assert_eq!(all("10 \u{3bc}m wide", "10 \u{b5}m wide"), [(0, 11)]);
        assert!(fold("10 \u{b5}m wide").contains("m wid"));
    }
}
