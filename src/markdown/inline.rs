//! Inline elements of a note: code, comments and math, and, outside of these, tags and links.

use super::blocks::{Kind, Line, blocks, lines};
use super::closers::Closers;
use super::frontmatter::is_numeric;
use crate::limits;
use crate::slice::Part;
use crate::text::floor;
use std::ops::Range;

/// Whether a character ends a tag, as in Obsidian.
fn ends_tag(c: char) -> bool {
    c.is_whitespace()
        || c.is_ascii_punctuation() && !matches!(c, '_' | '-' | '/')
        || matches!(c, '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}')
        || c.is_control()
}

/// Whether a name, without `#`, is that of a tag.
pub fn is_tag_name(name: &str) -> bool {
    let tag = format!("#{name}");
    tag_at(&tag, 0) == Some(0..tag.len())
}

/// The tag whose `#` is at an offset, as a range including the `#`: at the beginning of a line, a
/// table's cell or emphasis, or after white space. At least one of its characters must be neither a
/// digit nor a slash.
fn tag_at(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text.get(..at)?;
    let may_begin = match before.chars().next_back() {
        None | Some('\u{feff}' | '*' | '_' | '|') => true,
        Some('=' | '~') => before.ends_with("==") || before.ends_with("~~"),
        Some(c) => c.is_whitespace(),
    };
    may_begin.then(|| tag_from(text, at))?
}

/// The tag that begins with the `#` at an offset, whatever is before it.
fn tag_from(text: &str, at: usize) -> Option<Range<usize>> {
    let name = text.get(at + 1..)?.split(ends_tag).next()?;
    // The end of emphasis, `_#a_`.
    let is_emphasized = text.get(..at)?.ends_with('_');
    let name = if is_emphasized { name.trim_end_matches('_') } else { name };
    (!is_numeric(name)).then(|| at..at + 1 + name.len())
}

/// Whether a text may contain an inline tag; most notes have none and need not be parsed.
pub fn may_have_tags(text: &str) -> bool {
    memchr::memchr_iter(b'#', text.as_bytes()).any(|at| tag_at(text, at).is_some())
}

/// The inline tags of a note, as ranges including the `#`: outside code, HTML, math and link
/// targets.
pub fn tags(text: &str) -> Vec<Range<usize>> {
    let mut tags: Vec<Range<usize>> = Vec::new();
    for block in prose(text, &lines(text)) {
        let opaque: Vec<Range<usize>> =
            spans(text, block.clone()).into_iter().map(|(_, range)| range).collect();
        let inside = |at: usize| {
            let before = opaque.partition_point(|range| range.start <= at);
            before
                .checked_sub(1)
                .and_then(|last| opaque.get(last))
                .is_some_and(|range| range.contains(&at))
        };
        // The last sign, and whether its line is a row of a table.
        let (mut last, mut in_row) = (block.start, is_row(text, block.start));
        for at in memchr::memchr_iter(b'#', text.as_bytes().part(block.clone())) {
            let at = block.start + at;
            if let Some(end) = text.part(last..at).rfind('\n') {
                in_row = is_row(text, last + end + 1);
            }
            last = at;
            // `#a#b` are two.
            let follows_tag = tags.last().is_some_and(|last| last.end == at);
            let tag = if follows_tag { tag_from(text, at) } else { tag_at(text, at) };
            // A cell of a table, and not `a|#b`.
            let begins_cell = text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'|');
            let is_tag = (!begins_cell || in_row) && !inside(at);
            tags.extend(tag.filter(|_| is_tag));
        }
    }
    tags
}

/// Whether the line that begins here is a row of a table with its first bar.
fn is_row(text: &str, start: usize) -> bool {
    text.part(start..).trim_start_matches([' ', '\t', '>']).starts_with('|')
}

/// The blocks of prose: all but code, frontmatter, HTML, and multi-line HTML comments and math.
pub(super) fn prose(text: &str, lines: &[Line]) -> Vec<Range<usize>> {
    let mut hidden = false;
    let mut shown: Vec<Line> = Vec::new();
    for line in lines {
        let bare = text.part(line.range.clone()).trim_start_matches(['>', ' ', '\t']);
        match line.kind {
            Kind::Code | Kind::Frontmatter => {}
            Kind::Text if line.is_html => {}
            // Obsidian's own comments may contain tags and links.
            Kind::Opaque => {
                hidden = if line.opens { !bare.starts_with("%%") } else { hidden };
                if !hidden {
                    shown.push(Line { kind: Kind::Text, ..line.clone() });
                }
            }
            // The end of a comment, with text after it.
            Kind::Text if hidden && line.content > line.range.start => {
                shown.push(Line { range: line.content..line.range.end, ..line.clone() });
            }
            _ => shown.push(line.clone()),
        }
        hidden &= line.kind == Kind::Opaque;
    }
    blocks(&shown)
}

/// The kind of a range inside a block; such a range contains no tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// Code, an HTML comment or math.
    Literal,
    /// `[[…]]`.
    Wikilink,
    /// `](…)`, with the offset of the opening bracket.
    Destination(usize),
}

/// Code, HTML comments, math, wikilinks and link destinations in a block, in order.
pub(super) fn spans(text: &str, block: Range<usize>) -> Vec<(Span, Range<usize>)> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut closers = Closers::new(text, &block);
    let mut at = block.start;
    let end = block.end;
    // Comments may have any length; if one is not closed, no later one is.
    let mut may_close = true;
    while let Some(rest) = text.get(at..end) {
        let Some(next) = rest.find(['\\', '`', '$', '<', '[', ']']) else { break };
        at += next;
        let Some(rest) = text.get(at..end) else { break };
        let mut kind = Span::Literal;
        let length = match rest.as_bytes() {
            [b'\\', ..] => {
                at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
                continue;
            }
            [b'`', ..] => closers.code_span(at, backticks(rest)).map(|end| end - at),
            [b'$', ..] => math(bounded(rest)),
            [b'<', ..] if may_close && rest.starts_with("<!--") => {
                let close = rest.find("-->");
                may_close = close.is_some();
                close.map(|close| close + 3)
            }
            [b'[', b'[', ..] => {
                // `[[1] Name](note.md)` is a Markdown link and not a wikilink.
                let inner = closers.wikilink(at).filter(|inner| !ends_link_text(inner));
                let length = inner.map(|inner| inner.len() + 4);
                if length.is_some() {
                    kind = Span::Wikilink;
                } else {
                    open.push(at);
                }
                length
            }
            [b']', ..] => open.pop().filter(|_| rest.starts_with("](")).and_then(|opening| {
                kind = Span::Destination(opening);
                closers.destination(at).map(|end| end - at)
            }),
            [b'[', ..] => {
                open.push(at);
                None
            }
            _ => None,
        };
        match length {
            Some(length) => {
                found.push((kind, at..at + length));
                at += length;
            }
            // A run of backticks that opens nothing is skipped as a whole.
            None => at += backticks(rest).max(1),
        }
    }
    found
}

/// Whether in the text after `[[` one of these two brackets is closed with `](`, as that of a
/// Markdown link.
fn ends_link_text(inner: &str) -> bool {
    let (mut depth, mut is_escaped) = (0_i32, false);
    inner.char_indices().any(|(at, c)| {
        let is_literal = is_escaped;
        is_escaped = c == '\\' && !is_literal;
        if is_literal {
            return false;
        }
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ']' && depth < 0 && inner.get(at..).is_some_and(|rest| rest.starts_with("]("))
    })
}

/// The beginning of a text, up to the maximum length of code, math and links.
fn bounded(text: &str) -> &str {
    text.part(..floor(text, limits::INLINE_BYTES))
}

/// The number of backticks that a text begins with.
fn backticks(text: &str) -> usize {
    text.bytes().take_while(|&byte| byte == b'`').count()
}

/// The length of the math that a text begins with: `$$…$$`, or `$…$` without white space just
/// inside the delimiters or a digit after them, so that prices do not count.
fn math(text: &str) -> Option<usize> {
    if let Some(inner) = text.strip_prefix("$$") {
        return inner.find("$$").map(|close| close + 4);
    }
    let inner = text.strip_prefix('$').filter(|inner| !inner.starts_with(char::is_whitespace))?;
    let close = inner
        .find(['$', '\n'])
        .filter(|&close| close > 0 && inner.as_bytes().get(close) == Some(&b'$'))?;
    let spaced = inner.get(..close)?.ends_with(char::is_whitespace);
    let digit = inner.get(close + 1..)?.starts_with(|c: char| c.is_ascii_digit());
    (!spaced && !digit).then_some(close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_tags_are_those_of_obsidian() {
        for (text, expected) in [
            ("#a text #b/c #d-e_f, (#no) x#no", &["#a", "#b/c", "#d-e_f"][..]),
            ("# Heading #tag\n#2026 #y2026 #1/2", &["#tag", "#y2026"]),
            ("`#no` ``a ` #no`` #yes \\#no ` #open", &["#yes", "#open"]),
            ("`a\n#no` #yes\n\n` #too", &["#yes", "#too"]),
            ("```\n#no\n```\n    #no\n\n\ta #no\n\n- x\n\t- #yes", &["#yes"]),
            ("<!-- #no\n#no --> #yes a <!-- #no --> #b\n%% #c %%\n%%\n#d\n%%", &["#c", "#d"]),
            ("$$\n#no\n$$ #yes\n$a #no$ it costs $5 #b $6", &["#yes", "#b"]),
            ("[[a #no]] [x](y #no) ![[b#c]] #yes", &["#yes"]),
            (
                "---\ntags: [a]\n# comment\nb: x #no\n---\n> #quoted\n- [ ] #task",
                &["#quoted", "#task"],
            ),
            (
                "#日本語 #größe #🎉 #a.b #c/ #d'e\r\n#last",
                &["#日本語", "#größe", "#🎉", "#a", "#c/", "#d", "#last"],
            ),
            ("\u{feff}#first", &["#first"]),
            // As Obsidian's own index has them (public reports).
            ("(#no) $#no$ \"#no\" .#no x—#no", &[]),
            ("a\t#pf [x #ph] a\u{a0}#qi b\u{3000}#qj", &["#pf", "#ph", "#qi", "#qj"]),
            ("[D #tf](https://x.y#no) [a #tg][ref]", &["#tf", "#tg"]),
            ("```a\n```b\nx #no\n```\nprose #tv\n```\n#no\n```", &["#tv"]),
            ("<div>\nhello #no\n</div>\n\n<p>x #no</p>\n\na <b>x #tt</b>", &["#tt"]),
            ("<!-- c --> #no\n\n<!--\n#no\n--> #no\n\na <!-- c --> #yes", &["#yes"]),
            ("#tl#tm #tn/#to x#no#no", &["#tl", "#tm", "#tn/", "#to"]),
            ("x _#uc_ y snake_case_#wc **#b** ==#h== a=#no", &["#uc", "#wc", "#b", "#h"]),
            ("|a|b|\n|-|-|\n|#uo|x|\n\na|#no", &["#uo"]),
            (
                "<style>\n.x { color: #abc }\n</style>\n%%\n<!-- #yes -->\n$$ x \
                 $$\n#too\n~~~\n#no\n~~~\n%%",
                &["#too"],
            ),
        ] {
            let found: Vec<&str> = tags(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
