//! The lines of a note and the kind of each: the part of CommonMark's block structure that tools and search need, with
//! Obsidian's comments and math. Containers (quotes, callouts, lists) do not form a tree: a line's kind is that of the content after
//! its markers, except that headings in containers are not headings of the note, as in Obsidian.

use super::frontmatter;
use super::html::begins_html;
use super::marks::{
    can_interrupt_paragraph, cells, columns, fence, heading, is_delimiter_row, is_odd, is_rule, item, unclosed, underline, unquoted,
};
use super::open::{Fence, Opaque, Open};
use crate::slice::Part;
use std::ops::Range;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In the frontmatter, fences included.
    Frontmatter,
    /// White space only.
    Blank,
    /// Any other: of a paragraph, table, quote or HTML block, a thematic break, or text behind the end of a comment.
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
    /// Whether fenced code or an opaque construct begins here that ends on a later line.
    pub opens: bool,
    /// Whether it is in an HTML block, which ends with the next blank line and contains no headings or list items.
    pub is_html: bool,
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
    // `body` is 0 or, after a byte order mark, 3 without frontmatter; the lines of frontmatter begin at 0.
    let mut start = if body > 3 { 0 } else { body };
    for whole in text.part(start..).split_inclusive('\n') {
        let line = whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
        let range = start..start + line.len();
        start += whole.len();
        let content = |rest: &str| range.end - rest.len();
        let plain = |kind: Kind, behind: &str| Line { content: content(behind), range: range.clone(), kind, opens: false, is_html: false };
        if range.start < body {
            lines.push(plain(Kind::Frontmatter, line));
            continue;
        }
        let (quotes, rest) = unquoted(line);
        match open.take() {
            Some(Open::Fence(fence)) => {
                if let Some(closes) = fence.closes(line, quotes, rest) {
                    open = (!closes).then_some(Open::Fence(fence));
                    lines.push(plain(Kind::Code, line));
                    continue;
                }
            }
            Some(Open::Opaque(opaque)) if opaque.contains(quotes) => {
                let (behind, fence) = (opaque.behind(line), opaque.fence_after(rest));
                let kind = match behind {
                    None if opaque.fence.or(fence).is_some() => Kind::Code,
                    Some(behind) if !behind.trim().is_empty() => Kind::Text,
                    _ => Kind::Opaque,
                };
                // The rest of the line belongs to an HTML block (CommonMark, "HTML blocks"), but not to Obsidian's comments and math.
                let ends_html = behind.is_some() && !matches!(opaque.closing, "%%" | "$$");
                open = match behind {
                    None => Some(Open::Opaque(Opaque { fence, ..opaque })),
                    Some(_) if ends_html => None,
                    Some(rest) => unclosed(rest.trim_start()).map(|closing| Open::Opaque(Opaque { closing, quotes, fence: None })),
                };
                lines.push(Line { is_html: ends_html && kind == Kind::Text, ..plain(kind, behind.unwrap_or(line)) });
                continue;
            }
            _ => {}
        }
        let trimmed = rest.trim_start();
        let indent = columns(rest);
        let last = lines.last();
        let follows_text = last.is_some_and(|last| matches!(last.kind, Kind::Item { .. }) || in_paragraph(text, last));
        // In the same quote; a table is none.
        let is_same_quote = |last: &Line| unquoted(text.part(last.range.clone())).0 == quotes;
        let follows_paragraph = last.is_some_and(|last| !is_table && in_paragraph(text, last) && is_same_quote(last));
        if quotes < item_quotes {
            items.clear();
        }
        // The column of the innermost enclosing list item.
        let column = items.iter().rev().copied().find(|column| *column <= indent).unwrap_or(0);
        let is_code = !follows_text && indent >= items.last().copied().unwrap_or(0) + 4 && !trimmed.is_empty();
        let is_shallow = indent < column + 4;
        let goes_on = html.filter(|(outer, depth)| indent >= *outer && quotes >= *depth);
        let begins = || (is_shallow && begins_html(trimmed, follows_text)).then_some((column, quotes));
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
            open = Some(Open::Fence(Fence { mark, length, quotes, column, max_indent: indent + width + 3 }));
            item_width = width;
            (Kind::Code, trimmed)
        } else if let Some(closing) = unclosed(trimmed).filter(|mark| !(in_math && *mark == "$$" || in_comment && *mark == "%%")) {
            open = Some(Open::Opaque(Opaque { closing, quotes, fence: None }));
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
        } else if let Some((width, status, inner)) = item(trimmed, indent)
            && (can_interrupt_paragraph(trimmed) || !items.is_empty() || !follows_paragraph)
        {
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
        let stays_in_list =
            matches!(kind, Kind::Item { .. } | Kind::Blank | Kind::Code) || indent > 0 || kind == Kind::Text && follows_text;
        let ends_list = matches!(kind, Kind::Heading(_)) || is_rule(trimmed) && column == 0;
        if ends_list || !stays_in_list {
            items.clear();
        }
        if item_width > 0 {
            items.retain(|column| *column <= indent);
            item_quotes = if items.is_empty() { quotes } else { item_quotes };
            items.push(indent + item_width);
        }
        let opens = matches!(kind, Kind::Code | Kind::Opaque) && open.is_some();
        let line = Line { content: content(behind), range, kind, opens, is_html: html.is_some() };
        is_quoted = match line.kind {
            Kind::Item { .. } => quotes > 0,
            _ => in_paragraph(text, &line) && (quotes > 0 || is_quoted),
        };
        lines.push(line);
    }
    lines
}

/// Whether a line is in a paragraph: neither in an HTML block, nor a thematic break, nor a comment on a line of its own.
fn in_paragraph(text: &str, line: &Line) -> bool {
    let own = text.part(line.range.clone());
    line.kind == Kind::Text && !line.is_html && !is_rule(own) && !own.trim_start().starts_with("<!--")
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
