//! The lines of a note and the kind of each: the part of CommonMark's block structure that tools and search need, with
//! Obsidian's comments and math. Containers (quotes, callouts, lists) do not form a tree: a line's kind is that of the content after
//! its markers, except that headings in containers are not headings of the note, as in Obsidian.

use super::frontmatter;
use super::html::begins_html;
use crate::slice::Part;
use std::ops::Range;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In the frontmatter, fences included.
    Frontmatter,
    /// White space only.
    Blank,
    /// Of a paragraph, table or quote.
    Text,
    /// An ATX heading; its level.
    Heading(u8),
    /// A text line of a setext heading; its level.
    Setext(u8),
    /// The underline of a setext heading.
    Underline,
    /// The first line of a list item.
    Item {
        /// The character in its checkbox.
        status: Option<char>,
    },
    /// In a code block, fences included.
    Code,
    /// In a multi-line comment (`<!-- -->` or `%% %%`), math block, or `<pre>`, `<script>` or `<style>` element: no Markdown.
    Opaque,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its bytes, without the line end.
    pub range: Range<usize>,
    pub kind: Kind,
    /// Where its content begins: after quote markers, list marker and checkbox.
    pub content: usize,
    /// Whether fenced code or a hidden construct begins here.
    pub opens: bool,
    /// Whether it is in an HTML block, which ends with the next blank line and contains no Markdown.
    pub is_html: bool,
}

/// A construct that continues in the next line.
enum Open {
    /// `column` is that of the enclosing list item.
    Fence {
        mark: char,
        length: usize,
        quotes: usize,
        column: usize,
        /// The maximum indentation of the closing fence.
        max_indent: usize,
    },
    /// `fence`: character and length of the code fence that is open inside a `%%` comment.
    Until { mark: &'static str, quotes: usize, fence: Option<(char, usize)> },
}

/// All lines of a note; an empty text has none.
pub fn lines(text: &str) -> Vec<Line> {
    let body = frontmatter::end(text);
    let mut lines: Vec<Line> = Vec::new();
    let mut open: Option<Open> = None;
    // The content columns of the open list items, outermost first, and the quote depth they are at.
    let mut items: Vec<usize> = Vec::new();
    let mut item_quotes = 0;
    // The open HTML block: the column of the enclosing list item, and the quote depth.
    let mut html: Option<(usize, usize)> = None;
    // Whether the current paragraph is a table, and whether it contains a quoted line: neither becomes a setext heading.
    let (mut is_table, mut is_quoted) = (false, false);
    // Whether math or a comment is open inside the current paragraph or list item.
    let (mut in_math, mut in_comment) = (false, false);
    // Without frontmatter the first line begins after a byte order mark, which has 3 bytes; with it, lines begin at 0.
    let mut start = if body > 3 { 0 } else { body };
    for whole in text.part(start..).split_inclusive('\n') {
        let line = whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
        let range = start..start + line.len();
        start += whole.len();
        if range.start < body {
            lines.push(Line { content: range.start, range, kind: Kind::Frontmatter, opens: false, is_html: false });
            continue;
        }
        let (quotes, rest) = unquoted(line);
        let content = |rest: &str| range.end - rest.len();
        if let Some(Open::Fence { mark, length, quotes: outer, column, max_indent }) = open {
            // In a fence outside quotes, a quote marker is code.
            let inner = if outer == 0 { line } else { rest };
            let (behind, indent) = (inner.trim_start(), columns(inner));
            let closes = indent <= max_indent && closes_fence(behind, mark, length);
            // A fence ends with the enclosing quote or list item.
            if (quotes >= outer || outer == 0) && (indent >= column || behind.is_empty()) {
                open = if closes { None } else { open };
                lines.push(Line { content: range.start, range, kind: Kind::Code, opens: false, is_html: false });
                continue;
            }
            open = None;
        }
        // All but Obsidian's own comments end with the enclosing quote.
        open = open.filter(|open| !matches!(open, Open::Until { mark, quotes: outer, .. } if quotes < *outer && *mark != "%%"));
        if let Some(Open::Until { mark, quotes: outer, fence: before }) = open {
            let closing = line.find(mark).map(|at| at + mark.len());
            let behind = closing.and_then(|at| line.get(at..)).unwrap_or(line);
            let code = match before {
                Some((mark, length)) => before.filter(|_| !closes_fence(rest.trim_start(), mark, length)),
                None => fence(rest.trim_start(), 0).map(|(mark, length, _)| (mark, length)).filter(|_| mark == "%%"),
            };
            open = if closing.is_some() { None } else { Some(Open::Until { mark, quotes: outer, fence: code }) };
            let kind = match closing {
                None if before.or(code).is_some() => Kind::Code,
                Some(_) if !behind.trim().is_empty() => Kind::Text,
                _ => Kind::Opaque,
            };
            lines.push(Line { content: content(behind), range, kind, opens: false, is_html: false });
            continue;
        }
        let trimmed = rest.trim_start();
        let indent = columns(rest);
        let after_blank = lines.last().is_none_or(|last| !matches!(last.kind, Kind::Text | Kind::Item { .. }));
        if quotes < item_quotes {
            items.clear();
        }
        // The column of the innermost enclosing list item.
        let column = items.iter().rev().copied().find(|column| *column <= indent).unwrap_or(0);
        let is_code = after_blank && indent >= items.last().copied().unwrap_or(0) + 4 && !trimmed.is_empty();
        let is_shallow = indent < column + 4;
        let goes_on = html.filter(|(outer, depth)| indent >= *outer && quotes >= *depth);
        let begins = || (is_shallow && begins_html(trimmed, after_blank)).then_some((column, quotes));
        html = goes_on.or_else(begins).filter(|_| !trimmed.is_empty() && unclosed(trimmed).is_none());
        // The width of the list marker, if a list item begins here.
        let mut item_width = 0;
        let kind_and_content = if trimmed.is_empty() {
            (Kind::Blank, rest)
        } else if html.is_some() {
            (Kind::Text, trimmed)
        } else if is_code {
            (Kind::Code, rest)
        } else if let Some((mark, length, width)) = fence(trimmed, indent).filter(|_| is_shallow) {
            let column = if width > 0 { indent + width } else { column };
            open = Some(Open::Fence { mark, length, quotes, column, max_indent: indent + width + 3 });
            item_width = width;
            (Kind::Code, trimmed)
        } else if let Some(mark) = unclosed(trimmed).filter(|mark| !(in_math && *mark == "$$" || in_comment && *mark == "%%")) {
            open = Some(Open::Until { mark, quotes, fence: None });
            (Kind::Opaque, trimmed)
        } else if let Some((level, title)) = heading(trimmed).filter(|_| quotes == 0 && column == 0 && indent < 4) {
            (Kind::Heading(level), title)
        } else if let Some(level) = underline(trimmed)
            && lines.last().is_some_and(|last| in_paragraph(text, last))
            && items.is_empty()
            && quotes == 0
            && indent < 4
            && !(is_table || is_quoted)
        {
            for line in lines.iter_mut().rev().take_while(|line| in_paragraph(text, line)) {
                line.kind = Kind::Setext(level);
            }
            (Kind::Underline, trimmed)
        } else if let Some((width, status, inner)) = item(trimmed, indent) {
            item_width = width;
            (Kind::Item { status }, inner)
        } else {
            (Kind::Text, trimmed)
        };
        let (kind, behind) = kind_and_content;
        // An odd number of `$$` or `%%` in a line of a paragraph opens or closes inline math or a comment; a list item begins with neither open.
        let continues_text = kind == Kind::Text;
        let has_content = continues_text || matches!(kind, Kind::Item { .. });
        in_math = has_content && (continues_text && in_math) != is_odd(behind, "$$");
        in_comment = has_content && (continues_text && in_comment) != is_odd(behind, "%%");
        if kind == Kind::Text {
            let before = lines.last().filter(|last| last.kind == Kind::Text).map(|last| text.part(last.content..last.range.end));
            is_table = before.is_some_and(|before| is_table || is_delimiter_row(behind) && cells(before) == cells(behind));
        }
        let continues = matches!(kind, Kind::Item { .. } | Kind::Blank | Kind::Code) || indent > 0 || kind == Kind::Text && !after_blank;
        let ends = matches!(kind, Kind::Heading(_)) || is_rule(trimmed) && column == 0;
        if ends || !continues {
            items.clear();
        }
        if item_width > 0 {
            items.retain(|column| *column <= indent);
            item_quotes = if items.is_empty() { quotes } else { item_quotes };
            items.push(indent + item_width);
        }
        let opens = matches!(kind, Kind::Code | Kind::Opaque) && open.is_some();
        let line = Line { content: content(behind), range, kind, opens, is_html: html.is_some() };
        is_quoted = in_paragraph(text, &line) && (quotes > 0 || is_quoted);
        lines.push(line);
    }
    lines
}

/// Whether a line is in a paragraph: neither a thematic break nor a comment on a line of its own.
fn in_paragraph(text: &str, line: &Line) -> bool {
    let own = text.part(line.range.clone());
    line.kind == Kind::Text && !is_rule(own) && !own.trim_start().starts_with("<!--")
}

/// The ranges of blocks: a paragraph, a list item with its continuation lines, a table, a quote, a code block, the frontmatter, a
/// heading. Lines missing from `lines` separate blocks.
pub fn blocks(lines: &[Line]) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Blank;
    for line in lines {
        let continues = match line.kind {
            Kind::Blank => false,
            Kind::Text => matches!(last, Kind::Text | Kind::Item { .. }),
            Kind::Underline => true,
            Kind::Heading(_) | Kind::Item { .. } => false,
            Kind::Frontmatter | Kind::Code | Kind::Opaque | Kind::Setext(_) => last == line.kind,
        };
        // A line ending has at most two bytes.
        match blocks.last_mut().filter(|block| continues && line.range.start <= block.end + 2) {
            Some(block) => block.end = line.range.end,
            None if line.kind != Kind::Blank => blocks.push(line.range.clone()),
            None => {}
        }
        last = line.kind;
    }
    blocks
}

/// The ranges of sections, each a heading with the text up to the next one; the text before the first heading is a section, too.
pub fn sections(lines: &[Line]) -> Vec<Range<usize>> {
    let mut sections: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Blank;
    for line in lines {
        let begins = matches!(line.kind, Kind::Heading(_)) || matches!(line.kind, Kind::Setext(_)) && last != line.kind;
        match sections.last_mut().filter(|_| !begins) {
            Some(section) => section.end = line.range.end,
            None => sections.push(line.range.clone()),
        }
        last = line.kind;
    }
    sections
}

/// The number of a line's quote markers, and the line without them.
pub(super) fn unquoted(line: &str) -> (usize, &str) {
    let (mut quotes, mut rest) = (0, line);
    while let Some(inner) = rest.trim_start_matches(' ').strip_prefix('>').filter(|_| columns(rest) < 4) {
        rest = inner.strip_prefix([' ', '\t']).unwrap_or(inner);
        quotes += 1;
    }
    (quotes, rest)
}

/// The width of a line's indentation; a tab extends to the next multiple of four.
pub(super) fn columns(line: &str) -> usize {
    columns_from(0, line)
}

/// The same for a part of a line that begins at a column.
fn columns_from(start: usize, part: &str) -> usize {
    let white = part.chars().take_while(|c| matches!(c, ' ' | '\t'));
    white.fold(start, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 }) - start
}

/// Character and length of the fence that a line opens, and the width of a list marker before it.
fn fence(line: &str, indent: usize) -> Option<(char, usize, usize)> {
    // A list item may begin with one.
    let (width, line) = item(line, indent).map_or((0, line), |(width, _, inner)| (width, inner));
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    // A line that begins with three backticks and contains more of them is inline code.
    let info = line.get(length..)?;
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length, width))
}

/// Whether a line, without indentation, closes a fence.
fn closes_fence(line: &str, mark: char, length: usize) -> bool {
    let run = line.chars().take_while(|&c| c == mark).count();
    run >= length && line.chars().skip(run).all(char::is_whitespace)
}

/// Whether a line has an odd number of a delimiter outside code spans.
fn is_odd(line: &str, mark: &str) -> bool {
    line.contains(mark) && line.split('`').step_by(2).map(|part| part.matches(mark).count()).sum::<usize>() % 2 == 1
}

/// Whether a line may be the delimiter row of a table.
pub(super) fn is_delimiter_row(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.chars().all(|c| "|-: \t".contains(c))
}

/// The number of cells in a table row.
fn cells(row: &str) -> usize {
    let row = row.trim().replace("\\|", "");
    let row = row.strip_prefix('|').unwrap_or(&row);
    row.strip_suffix('|').unwrap_or(row).split('|').count()
}

/// The closing delimiter of the comment, math or raw-text element that a line opens, if it is not on the same line.
fn unclosed(line: &str) -> Option<&'static str> {
    let marks = [("<!--", "-->"), ("%%", "%%"), ("$$", "$$"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>")];
    marks.into_iter().find_map(|(opening, closing)| {
        let inner = line.strip_prefix(opening)?;
        // The element's name must end there.
        let is_whole = !opening.ends_with(char::is_alphabetic) || inner.is_empty() || inner.starts_with([' ', '\t', '>']);
        (is_whole && !inner.contains(closing)).then_some(closing)
    })
}

/// Level and text of an ATX heading.
fn heading(line: &str) -> Option<(u8, &str)> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    let title = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then_some((level as u8, title.trim_start()))
}

/// The level of the setext heading that a line may underline.
pub(super) fn underline(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let all = |mark: char| line.chars().all(|c| c == mark);
    if all('=') { Some(1) } else { all('-').then_some(2) }
}

/// The width of a list marker with the white space after it, the checkbox, and the content after that.
fn item(line: &str, indent: usize) -> Option<(usize, Option<char>, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let behind = match line.get(digits..)?.strip_prefix(['.', ')']) {
        Some(behind) if (1..=9).contains(&digits) => behind,
        _ => line.strip_prefix(['-', '*', '+'])?,
    };
    if !(behind.is_empty() || behind.starts_with([' ', '\t'])) || is_rule(line) {
        return None;
    }
    let inner = behind.trim_start();
    let marker = line.len() - behind.len();
    let space = columns_from(indent + marker, behind);
    let width = marker + if inner.is_empty() || space > 4 { 1 } else { space };
    let mut chars = inner.chars();
    if let (Some('['), Some(status), Some(']')) = (chars.next(), chars.next(), chars.next()) {
        let rest = chars.as_str();
        if rest.is_empty() || rest.starts_with([' ', '\t']) {
            return Some((width, Some(status), rest.trim_start()));
        }
    }
    Some((width, None, inner))
}

/// Whether a line is a thematic break.
fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    marks.clone().all(|c| c == first) && marks.count() >= 2
}

/// The line ending of the line at an offset, or else of the line before it; `\n` for a text of one line.
pub fn line_end(text: &str, at: usize) -> &'static str {
    let bytes = text.as_bytes();
    let behind = bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|found| at + found);
    let end = behind.or_else(|| bytes.get(..at).and_then(|before| memchr::memrchr(b'\n', before)));
    let is_crlf = end.and_then(|end| end.checked_sub(1)).is_some_and(|before| bytes.get(before) == Some(&b'\r'));
    if is_crlf { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, Kind)> {
        lines(text).into_iter().map(|line| (&text[line.content..line.range.end], line.kind)).collect()
    }

    #[test]
    fn every_line_has_its_kind() {
        use Kind::*;
        let todo = Item { status: Some(' ') };
        let plain = Item { status: None };
        for (text, expected) in [
            (
                "---\na: 1\n---\n# One #\n\ntext",
                &[("---", Frontmatter), ("a: 1", Frontmatter), ("---", Frontmatter), ("One #", Heading(1)), ("", Blank), ("text", Text)][..],
            ),
            ("\u{feff}# a\r\n#tag\r\n####### no\r\n", &[("a", Heading(1)), ("#tag", Text), ("####### no", Text)]),
            (
                "Title\nmore\n===\nx\n---\n\n---",
                &[
                    ("Title", Setext(1)),
                    ("more", Setext(1)),
                    ("===", Underline),
                    ("x", Setext(2)),
                    ("---", Underline),
                    ("", Blank),
                    ("---", Text),
                ],
            ),
            (
                "- [ ] a\n* [x] b\n1. c\n2) [/] d\n- [] e\n- [ ]f\n-g\n* * *",
                &[
                    ("a", todo),
                    ("b", Item { status: Some('x') }),
                    ("c", plain),
                    ("d", Item { status: Some('/') }),
                    ("[] e", plain),
                    ("[ ]f", plain),
                    ("-g", Text),
                    ("* * *", Text),
                ],
            ),
            ("~~~\n# no\n~~~~\n```a`b\n# yes", &[("~~~", Code), ("# no", Code), ("~~~~", Code), ("```a`b", Text), ("yes", Heading(1))]),
            (
                "> [!note] t\n> ```\n> # no\nout\n> - [ ] q",
                &[("[!note] t", Text), ("> ```", Code), ("> # no", Code), ("out", Text), ("q", todo)],
            ),
            (
                "a\n\n    code\n\n- a\n\n    more\n\n        code",
                &[
                    ("a", Text),
                    ("", Blank),
                    ("    code", Code),
                    ("", Blank),
                    ("a", plain),
                    ("", Blank),
                    ("more", Text),
                    ("", Blank),
                    ("        code", Code),
                ],
            ),
            (
                "%%\n# no\n%% #yes\n<!-- a\nb -->\n$$\n- x\n$$",
                &[
                    ("%%", Opaque),
                    ("# no", Opaque),
                    (" #yes", Text),
                    ("<!-- a", Opaque),
                    ("", Opaque),
                    ("$$", Opaque),
                    ("- x", Opaque),
                    ("", Opaque),
                ],
            ),
            (
                "E is $$\nE=m\n$$\n# Yes\n- x %%a\n  b\n  %%\n- [ ] y\n`$$`\n$$\n# no\n$$",
                &[
                    ("E is $$", Text),
                    ("E=m", Text),
                    ("$$", Text),
                    ("Yes", Heading(1)),
                    ("x %%a", plain),
                    ("b", Text),
                    ("%%", Text),
                    ("y", todo),
                    ("`$$`", Text),
                    ("$$", Opaque),
                    ("# no", Opaque),
                    ("", Opaque),
                ],
            ),
            (
                "%%\n~~~\n# no\n~~~\n# no\n%%\n# Yes\n>\t- [ ] q",
                &[
                    ("%%", Opaque),
                    ("~~~", Code),
                    ("# no", Code),
                    ("~~~", Code),
                    ("# no", Opaque),
                    ("", Opaque),
                    ("Yes", Heading(1)),
                    ("q", todo),
                ],
            ),
            ("```\n> ```\n> # no\n```\n# Yes", &[("```", Code), ("```", Code), ("# no", Code), ("```", Code), ("Yes", Heading(1))]),
            ("- a\n  - [ ] b\n\t- c", &[("a", plain), ("b", todo), ("c", plain)]),
            ("", &[]),
        ] {
            let found = kinds(text);
            let expected: Vec<(&str, Kind)> = expected.to_vec();
            let trimmed = |list: Vec<(&str, Kind)>| {
                list.into_iter().map(|(line, kind)| (line.trim_start_matches(['>', ' ']).to_owned(), kind)).collect::<Vec<_>>()
            };
            assert_eq!(trimmed(found), trimmed(expected), "{text:?}");
        }
    }

    #[test]
    fn blocks_and_sections_are_ranges_of_lines() {
        let text = "---\na: 1\n---\nintro\ngoes on\n\n# One\n- a\n  more\n- b\n```\nx\n\ny\n```\nSet\next\n---\nlast";
        let of = |ranges: Vec<Range<usize>>| ranges.into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>();
        let lines = lines(text);
        let expected = ["---\na: 1\n---", "intro\ngoes on", "# One", "- a\n  more", "- b", "```\nx\n\ny\n```", "Set\next\n---", "last"];
        assert_eq!(of(blocks(&lines)), expected);
        let expected = ["---\na: 1\n---\nintro\ngoes on\n", "# One\n- a\n  more\n- b\n```\nx\n\ny\n```", "Set\next\n---\nlast"];
        assert_eq!(of(sections(&lines)), expected);
    }
}
