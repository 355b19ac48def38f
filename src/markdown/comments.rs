//! Comments in the lines of a property of the frontmatter.

use super::frontmatter::without_comment;
use crate::limits;
use crate::slice::Part;
use crate::yaml;

/// Bytes of YAML that are parsed to find the comment in one line; where there are aliases, each
/// parse counts as [`crate::limits::YAML_NODES`].
const COMMENT_CHECK_BYTES: usize = 4 * 1024 * 1024;

/// The comment in a value of one line, as YAML reads it: it begins with the first `#` that can be
/// removed, together with all that follows, without changing the value. `None` if the value goes on
/// in the next line.
pub(super) fn comment_of(value: &str) -> Option<Option<&str>> {
    // As an item of a list: at the beginning of a line `---` would be a marker.
    let parse = |value: &str| yaml::parse(&format!("- {value}"), 0);
    let Ok(whole) = parse(value) else {
        // Other values that cannot be read alone use an anchor of another property.
        let (_, comment) = without_comment(value);
        let goes_on = value.starts_with(['"', '\'', '[', '{', '|', '>']);
        return (!goes_on)
            .then(|| Some(comment.trim_start()).filter(|comment| !comment.is_empty()));
    };
    let may_begin = |before: &str| {
        before.chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'])}".contains(c))
    };
    let cost = if value.contains('*') { limits::YAML_NODES } else { 0 };
    let mut left = COMMENT_CHECK_BYTES;
    let mut signs =
        value.match_indices('#').map(|(at, _)| at).filter(|at| may_begin(value.part(..*at)));
    let found = signs.find(|at| match left.checked_sub(cost.max(*at)) {
        Some(rest) => {
            left = rest;
            parse(value.part(..*at)).as_ref() == Ok(&whole)
        }
        None => true,
    });
    Some(found.map(|at| value.part(at..)))
}

/// YAML's white space: other spaces are part of a value.
pub(super) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// The item that a line begins.
pub(super) fn item(line: &str) -> Option<&str> {
    let rest = line.trim_matches(SPACE).strip_prefix('-');
    rest.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        .map(|rest| rest.trim_matches(SPACE))
}

fn is_comment_line(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// The comment in each line of a block list whose items take a line each; `None` for anything else.
pub(super) fn list_comments<'a>(lines: &[&'a str]) -> Option<Vec<Option<&'a str>>> {
    let comment_in = |line: &&'a str| match line.trim() {
        "" => Some(None),
        bare if is_comment_line(bare) => Some(Some(bare)),
        bare => comment_of(item(bare).filter(|item| !item.starts_with(['|', '>']))?),
    };
    lines.iter().map(comment_in).collect()
}

/// The first comment below the text of a block scalar, which ends where a line is indented less.
pub(super) fn comment_after_scalar<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = lines.iter().find(|line| !line.trim().is_empty())?;
    lines
        .iter()
        .find(|line| is_comment_line(line) && indent(line) < indent(first))
        .map(|line| line.trim())
}
