//! The YAML block at the start of a note: where it is, and the tags in it. Read-only; callers write
//! by replacing text, so that all other bytes are kept.

use crate::limits;
use crate::slice::Part;
use crate::text::fold::fold;
use crate::yaml;
use serde_yaml::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// The frontmatter of a note: the text between the fences; `None` if there is none. It must begin
/// with `---` in the first line (a byte order mark before it is allowed) and be closed with `---`
/// or `...`.
pub fn block(text: &str) -> Option<&str> {
    let start = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = start.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return rest.get(..length);
        }
        length += line.len();
    }
    None
}

/// Where the block is.
pub fn range(text: &str) -> Option<Range<usize>> {
    let block = block(text)?;
    let start = block.as_ptr().addr() - text.as_ptr().addr();
    Some(start..start + block.len())
}

/// Where the body of a note begins: after the closing fence of its frontmatter, or after a byte
/// order mark.
pub fn end(text: &str) -> usize {
    let Some(Range { end: fence, .. }) = range(text) else {
        return if text.starts_with('\u{feff}') { 3 } else { 0 };
    };
    let rest = text.part(fence..);
    fence + rest.find('\n').map_or(rest.len(), |at| at + 1)
}

/// The text up to the end of the frontmatter, to be kept without the rest of the note; empty if it
/// is too long to be parsed.
pub fn head(text: &str) -> &str {
    text.get(..end(text)).filter(|head| head.len() <= limits::FRONTMATTER_BYTES).unwrap_or_default()
}

/// The values of a block.
///
/// # Errors
/// The problem and where it is, phrased to follow "it is"; in one line and without the note's text.
pub fn values(block: &str) -> Result<Value, String> {
    if block.len() > limits::FRONTMATTER_BYTES {
        return Err("too long".into());
    }
    // The fence is line 1.
    yaml::parse(block, 1)
}

/// Whether a block may contain tags. Most notes have none, and parsing YAML costs more than all
/// other processing of a small note.
pub fn may_have_tags(block: &str) -> bool {
    let bytes = block.as_bytes();
    memchr::memchr2_iter(b't', b'T', bytes)
        .any(|at| bytes.get(at..at + 3).is_some_and(|name| name.eq_ignore_ascii_case(b"tag")))
}

/// Whether a name has no character but digits and slashes; it is then no tag.
pub(super) fn is_numeric(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_digit() || c == '/')
}

/// Whether a property has tags.
pub fn is_tags(name: &str) -> bool {
    name.eq_ignore_ascii_case("tags") || name.eq_ignore_ascii_case("tag")
}

/// The tags of a note: frontmatter `tags` and `tag`, a list or a string separated by commas or
/// spaces, without `#`, in order, each once.
///
/// # Errors
/// As [`values`]; the note then has no tags.
pub fn tags(text: &str) -> Result<Vec<String>, String> {
    let Some(yaml) = block(text).filter(|yaml| may_have_tags(yaml)) else { return Ok(Vec::new()) };
    let parsed = values(yaml)?;
    let (mut tags, mut known): (Vec<String>, BTreeSet<String>) = Default::default();
    for key in ["tags", "tag"] {
        let own = parsed.as_mapping().into_iter().flatten();
        let values = own
            .filter(|(name, _)| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case(key)))
            .map(|(_, value)| value);
        for name in values.flat_map(names) {
            let name = name.trim().trim_start_matches('#').to_owned();
            if !is_numeric(&name) && tags.len() < limits::TAGS && known.insert(fold(&name)) {
                tags.push(name);
            }
        }
    }
    Ok(tags)
}

/// The characters around the tags in the lines of `tags` and `tag`.
const TAG_SEPARATORS: [char; 11] = [' ', '\t', ',', '[', ']', '"', '\'', '\r', '\n', '{', '}'];

/// The ranges of the tags in a note's frontmatter, without `#`: in the lines of `tags` and `tag`,
/// separated by white space, commas, brackets and quotes.
pub fn tag_ranges(text: &str) -> Vec<Range<usize>> {
    let Some(block) = range(text) else { return Vec::new() };
    let mut at = block.start;
    let mut is_tags = false;
    let mut found = Vec::new();
    for line in text.part(block).split_inclusive('\n') {
        let mut value = line;
        if !line.starts_with([' ', '\t', '-', '#', '\r', '\n', ']']) {
            let (name, behind) = line.split_once(':').unwrap_or((line, ""));
            is_tags = self::is_tags(name.trim().trim_matches(['"', '\'']));
            value = behind;
        }
        let start = at + line.len() - value.len();
        at += line.len();
        if !is_tags {
            continue;
        }
        let (value, _) = without_comment(value);
        let mut from = start;
        for piece in value.split_inclusive(TAG_SEPARATORS) {
            let name = piece.trim_end_matches(TAG_SEPARATORS);
            let bare = name.trim_start_matches('#');
            if !matches!(bare, "" | "-") {
                found.push(from + name.len() - bare.len()..from + name.len());
            }
            from += piece.len();
        }
    }
    found
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split([',', ' ', '\t', '\n']).map(str::to_owned).collect(),
        Value::Sequence(items) => items.iter().filter_map(yaml::scalar).collect(),
        other => yaml::scalar(other).into_iter().collect(),
    }
}

/// The characters of a line of YAML outside quotes, each with its offset and the character before
/// it: (offset, previous, character).
pub(super) fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char, char)> {
    // A guess: a line that ends in a comma or bracket and begins with none is taken for the
    // continuation of a flow list.
    let bare = text.trim();
    let is_in_list = bare.ends_with([',', ']', '}']) && !bare.starts_with(['[', '{']);
    let mut scan = Scan { depth: usize::from(is_in_list), ..Scan::default() };
    text.char_indices().filter_map(move |(at, c)| {
        let (previous, is_outside) = (scan.previous, scan.quote.is_none());
        scan.take(c);
        is_outside.then_some((at, previous, c))
    })
}

/// Where in a line of YAML a scan is.
struct Scan {
    /// The quote that is open.
    quote: Option<char>,
    /// The quote that the previous character has closed, if it is a single one.
    has_closed: bool,
    /// Open brackets.
    depth: usize,
    /// Whether the value has begun: more than white space, marks, or the dash of an item.
    has_begun: bool,
    /// Whether this is an anchor or a tag, which precede a value.
    is_mark: bool,
    previous: char,
    /// The last character that is neither white space nor of a mark.
    last_visible: char,
}

impl Default for Scan {
    fn default() -> Scan {
        let (quote, previous, last_visible) = (None, ' ', ' ');
        let (has_closed, has_begun, is_mark) = (false, false, false);
        Scan { quote, has_closed, depth: 0, has_begun, is_mark, previous, last_visible }
    }
}

impl Scan {
    fn take(&mut self, c: char) {
        // A quote in the middle of a plain value is an ordinary character.
        let may_begin = (self.previous.is_whitespace() || "[{,:".contains(self.previous))
            && (!self.has_begun
                || self.last_visible == ':'
                || self.depth > 0 && "[{,".contains(self.last_visible));
        let closes_single = self.quote == Some('\'') && c == '\'';
        let is_escaped = self.quote == Some('"') && self.previous == '\\';
        match self.quote {
            Some(_) if is_escaped => {}
            Some(open) if c == open => self.quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && may_begin => self.quote = Some(c),
            // Two single quotes inside single quotes are an escaped one.
            None if c == '\'' && self.has_closed => self.quote = Some(c),
            None if matches!(c, '[' | '{') && may_begin => self.depth += 1,
            None if matches!(c, ']' | '}') => self.depth = self.depth.saturating_sub(1),
            None => {}
        }
        let begins_mark = may_begin && self.quote.is_none() && matches!(c, '&' | '!');
        self.is_mark = !c.is_whitespace() && (self.is_mark || begins_mark);
        self.has_begun |= !(c.is_whitespace() || self.is_mark || matches!(c, '-' | '?'));
        self.has_closed = closes_single;
        if !c.is_whitespace() && !self.is_mark {
            self.last_visible = c;
        }
        // A character that was escaped escapes nothing.
        self.previous = if is_escaped { ' ' } else { c };
    }
}

/// A value and the comment after it, with the white space between.
pub(super) fn without_comment(rest: &str) -> (&str, &str) {
    let comment = outside_quotes(rest).find(|(_, before, c)| *c == '#' && before.is_whitespace());
    let value = rest.part(..comment.map_or(rest.len(), |(at, ..)| at)).trim_end();
    (value, if comment.is_some() { rest.part(value.len()..) } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_found_behind_quotes_of_every_kind() {
        for (text, value) in [
            ("['it''s # x', b] # c", "['it''s # x', b]"),
            ("'it''s # x'", "'it''s # x'"),
            ("Rock 'n Roll # live", "Rock 'n Roll"),
            ("x \"a # c", "x \"a"),
            ("rock''n # c", "rock''n"),
            ("a, 'b # c", "a, 'b"),
            ("- 'a # b' # c", "- 'a # b'"),
            ("key: \"a # b\" # c", "key: \"a # b\""),
            ("{a: 'b # c', \"d\": [\"e # f\"]} # c", "{a: 'b # c', \"d\": [\"e # f\"]}"),
            ("'' # c", "''"),
            ("!!str \"a # b\" # c", "!!str \"a # b\""),
            ("- &x 'a # b' # c", "- &x 'a # b'"),
            ("  x, \"a # b\", c]", "  x, \"a # b\", c]"),
        ] {
            assert_eq!(without_comment(text).0, value, "{text}");
        }
    }

    #[test]
    fn tags_in_every_style_found_in_the_wild() {
        for (text, expected) in [
            ("---\ntags: [project, go]\n---\nx", vec!["project", "go"]),
            ("---\ntags:\n  - project\n  - '#go'\n---\n", vec!["project", "go"]),
            ("---\ntags:\n- a\n- b\n---", vec!["a", "b"]),
            ("---\ntags: coffee, recipe\n---\n", vec!["coffee", "recipe"]),
            ("---\ntags: coffee recipe\n---\n", vec!["coffee", "recipe"]),
            ("---\ntag: daily\n---\n", vec!["daily"]),
            ("---\ntags: [a]\ntag: [b, a]\n---\n", vec!["a", "b"]),
            ("---\r\ntags: [x]\r\ntitle: y\r\n---\r\nbody", vec!["x"]),
            ("\u{feff}---\ntags: [bom]\n---\n", vec!["bom"]),
            ("---\ntags: [2026, y2026]\n---\n", vec!["y2026"]),
            ("---\ntags:\n---\n", vec![]),
            ("---\ntags: [home/mqtt, \"with space\"]\n...\n", vec!["home/mqtt", "with space"]),
            ("---\n---\ntags: [no]\n---\n", vec![]),
            ("no frontmatter\n---\ntags: [no]\n---\n", vec![]),
            ("---\ntags: [never closed]\n", vec![]),
            (" ---\ntags: [indented]\n---\n", vec![]),
            ("", vec![]),
            ("---", vec![]),
        ] {
            assert_eq!(tags(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn malformed_yaml_is_an_error_in_one_line_and_no_panic() {
        for text in [
            "---\ntags: [a, b\n---\n",
            "---\n\ttags: a\n---\n",
            "---\ntags: &a [*a]\n---\n",
            "---\ntags: \"x\n---\n",
        ] {
            if let Err(message) = tags(text) {
                assert!(!message.contains('\n'), "{message}");
            }
        }
        assert!(tags("---\ntags: [a, b\n---\n").is_err());
        let deep = format!("---\ntags: {}\n---\n", "[".repeat(20_000));
        assert!(tags(&deep).is_err());
    }
}
