//! The lines of a note and the kind of each: the part of CommonMark's block structure that tools
//! and search need, with Obsidian's comments and math. Containers (quotes, callouts, lists) do not
//! form a tree: a line's kind is that of the content after its markers, except that headings in
//! containers are not headings of the note, as in Obsidian.

use super::frontmatter;
use super::marks::{
    can_interrupt_paragraph, cells, columns, fence, heading, is_delimiter_row, is_odd, is_rule,
    item, unclosed, underline, unquoted,
};
use super::open::{Fence, Opaque, Open, begins_html};
use crate::slice::Part;
use std::ops::Range;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In the frontmatter, fences included.
    Frontmatter,
    /// White space only.
    Blank,
    /// Any other: of a paragraph, table, quote or HTML block, a thematic break, or text behind the
    /// end of a comment.
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
    /// In a multi-line comment (`<!-- -->` or `%% %%`), math block, or `<pre>`, `<script>` or
    /// `<style>` element: no Markdown.
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
    /// Whether it is in an HTML block, which ends with the next blank line and contains no
    /// headings or list items.
    pub is_html: bool,
}

/// All lines of a note; an empty text has none.
pub fn lines(text: &str) -> Vec<Line> {
    let body = frontmatter::end(text);
    let mut reader = Reader { text, ..Reader::default() };
    // Without frontmatter `body` is 0, or 3 after a byte order mark. With frontmatter it is larger,
    // and the first line begins at 0.
    let mut start = if body > 3 { 0 } else { body };
    for whole in text.part(start..).split_inclusive('\n') {
        let line =
            whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
        let range = start..start + line.len();
        start += whole.len();
        let next = if range.start < body {
            Line::new(range, Kind::Frontmatter, line)
        } else {
            let continued = reader.continue_open(range.clone(), line);
            continued.unwrap_or_else(|| reader.read(range, line))
        };
        reader.lines.push(next);
    }
    reader.lines
}

impl Line {
    /// A line; `content` is the last part of its text.
    fn new(range: Range<usize>, kind: Kind, content: &str) -> Line {
        Line { content: range.end - content.len(), range, kind, opens: false, is_html: false }
    }
}

/// The state between two lines.
#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    lines: Vec<Line>,
    open: Option<Open>,
    /// The content columns of the open list items, outermost first.
    items: Vec<usize>,
    /// The quote depth of the open list items.
    item_quotes: usize,
    /// The open HTML block: the column of the enclosing list item, and the quote depth.
    html: Option<(usize, usize)>,
    /// Whether the current paragraph is a table; a table does not become a setext heading.
    is_table: bool,
    /// Whether the current paragraph contains a quoted line; such a paragraph does not become a
    /// setext heading.
    is_quoted: bool,
    /// Whether math is open inside the current paragraph or list item.
    in_math: bool,
    /// Whether a comment is open inside the current paragraph or list item.
    in_comment: bool,
}

/// How a line begins.
struct Start<'a> {
    quotes: usize,
    /// Behind the quote markers.
    rest: &'a str,
    /// Behind the indentation.
    trimmed: &'a str,
    /// The columns of the indentation.
    indent: usize,
    /// The content column of the innermost enclosing list item, or 0.
    column: usize,
    /// Whether the line before is in a list item or a paragraph.
    follows_text: bool,
}

impl Start<'_> {
    /// Whether the line is not indented so far that it would be code.
    fn is_shallow(&self) -> bool {
        self.indent < self.column + 4
    }
}

impl<'a> Reader<'a> {
    /// The line, if it belongs to the open construct, which it may close.
    fn continue_open(&mut self, range: Range<usize>, line: &str) -> Option<Line> {
        let (quotes, rest) = unquoted(line);
        match self.open.take()? {
            Open::Fence(fence) => {
                let closes = fence.closes(line, quotes, rest)?;
                self.open = (!closes).then_some(Open::Fence(fence));
                Some(Line::new(range, Kind::Code, line))
            }
            Open::Opaque(opaque) if opaque.contains(quotes) => {
                let (behind, fence) = (opaque.behind(line), opaque.fence_after(rest));
                let kind = match behind {
                    None if opaque.fence.or(fence).is_some() => Kind::Code,
                    Some(behind) if !behind.trim().is_empty() => Kind::Text,
                    _ => Kind::Opaque,
                };
                // The rest of the line belongs to an HTML block (CommonMark, "HTML blocks"), but
                // not to Obsidian's comments and math.
                let ends_html = behind.is_some() && !matches!(opaque.closing, "%%" | "$$");
                self.open = match behind {
                    None => Some(Open::Opaque(Opaque { fence, ..opaque })),
                    Some(_) if ends_html => None,
                    Some(rest) => unclosed(rest.trim_start())
                        .map(|closing| Open::Opaque(Opaque { closing, quotes, fence: None })),
                };
                Some(Line {
                    is_html: ends_html && kind == Kind::Text,
                    ..Line::new(range, kind, behind.unwrap_or(line))
                })
            }
            Open::Opaque(_) => None,
        }
    }

    /// The line; no construct is open before it.
    fn read(&mut self, range: Range<usize>, line: &'a str) -> Line {
        let start = self.start_of(line);
        self.html = self.html_at(&start);
        let (kind, content, item_width) = self.classify(&start);
        self.track_inline(kind, content);
        self.track_items(kind, &start, item_width);
        let opens = matches!(kind, Kind::Code | Kind::Opaque) && self.open.is_some();
        // A comment at the beginning of a line makes all of it HTML.
        let is_comment = kind == Kind::Text && start.trimmed.starts_with("<!--");
        let is_html = self.html.is_some() || is_comment;
        let line = Line { opens, is_html, ..Line::new(range, kind, content) };
        self.is_quoted = match kind {
            Kind::Item { .. } => start.quotes > 0,
            _ => in_paragraph(self.text, &line) && (start.quotes > 0 || self.is_quoted),
        };
        line
    }

    fn start_of(&mut self, line: &'a str) -> Start<'a> {
        let (quotes, rest) = unquoted(line);
        let indent = columns(rest);
        if quotes < self.item_quotes {
            self.items.clear();
        }
        let column = self.items.iter().rev().copied().find(|column| *column <= indent).unwrap_or(0);
        let last = self.lines.last();
        let follows_text = last.is_some_and(|last| {
            matches!(last.kind, Kind::Item { .. }) || in_paragraph(self.text, last)
        });
        Start { quotes, rest, trimmed: rest.trim_start(), indent, column, follows_text }
    }

    /// The HTML block that is open in a line.
    fn html_at(&self, start: &Start<'_>) -> Option<(usize, usize)> {
        let goes_on =
            self.html.filter(|(outer, depth)| start.indent >= *outer && start.quotes >= *depth);
        let begins = || {
            (start.is_shallow() && begins_html(start.trimmed, start.follows_text))
                .then_some((start.column, start.quotes))
        };
        goes_on
            .or_else(begins)
            .filter(|_| !start.trimmed.is_empty() && unclosed(start.trimmed).is_none())
    }

    /// The kind of a line, its content, and the width of the list marker if a list item begins
    /// here, or else 0.
    fn classify(&mut self, start: &Start<'a>) -> (Kind, &'a str, usize) {
        let Start { quotes, rest, trimmed, indent, column, follows_text } = *start;
        if trimmed.is_empty() {
            return (Kind::Blank, rest, 0);
        }
        if self.html.is_some() {
            return (Kind::Text, trimmed, 0);
        }
        if !follows_text && indent >= self.items.last().copied().unwrap_or(0) + 4 {
            return (Kind::Code, rest, 0);
        }
        if let Some((mark, length, width)) = fence(trimmed, indent).filter(|_| start.is_shallow()) {
            let column = if width > 0 { indent + width } else { column };
            self.open = Some(Open::Fence(Fence {
                mark,
                length,
                quotes,
                column,
                max_indent: indent + width + 3,
            }));
            return (Kind::Code, trimmed, width);
        }
        let closes = |mark: &str| self.in_math && mark == "$$" || self.in_comment && mark == "%%";
        if let Some(closing) = unclosed(trimmed).filter(|mark| !closes(mark)) {
            self.open = Some(Open::Opaque(Opaque { closing, quotes, fence: None }));
            return (Kind::Opaque, trimmed, 0);
        }
        if let Some((level, title)) =
            heading(trimmed).filter(|_| quotes == 0 && column == 0 && indent < 4)
        {
            return (Kind::Heading(level), title, 0);
        }
        if let Some(level) = underline(trimmed)
            && self.lines.last().is_some_and(|last| in_paragraph(self.text, last))
            && self.items.is_empty()
            && quotes == 0
            && indent < 4
            && !(self.is_table || self.is_quoted)
        {
            for line in self.lines.iter_mut().rev().take_while(|line| in_paragraph(self.text, line))
            {
                line.kind = Kind::Setext(level);
            }
            return (Kind::Underline, trimmed, 0);
        }
        if let Some(item) = item(trimmed, indent)
            && (can_interrupt_paragraph(trimmed)
                || !self.items.is_empty()
                || !self.follows_paragraph(quotes))
        {
            return (Kind::Item { status: item.status }, item.content, item.width);
        }
        (Kind::Text, trimmed, 0)
    }

    /// Whether the last line is in a paragraph of the same quote; a table is none.
    fn follows_paragraph(&self, quotes: usize) -> bool {
        let is_same_quote = |last: &Line| unquoted(self.text.part(last.range.clone())).0 == quotes;
        self.lines.last().is_some_and(|last| {
            !self.is_table && in_paragraph(self.text, last) && is_same_quote(last)
        })
    }

    /// Follows math, comments and tables inside paragraphs.
    fn track_inline(&mut self, kind: Kind, content: &str) {
        // An odd number of `$$` or `%%` in a line of a paragraph opens or closes inline math or a
        // comment; a list item begins with neither open.
        let is_text = kind == Kind::Text;
        let has_content = is_text || matches!(kind, Kind::Item { .. });
        self.in_math = has_content && (is_text && self.in_math) != is_odd(content, "$$");
        self.in_comment = has_content && (is_text && self.in_comment) != is_odd(content, "%%");
        if is_text {
            let last = self.lines.last().filter(|last| last.kind == Kind::Text);
            let before = last.map(|last| self.text.part(last.content..last.range.end));
            self.is_table = before.is_some_and(|before| {
                self.is_table || is_delimiter_row(content) && cells(before) == cells(content)
            });
        }
    }

    /// Follows the open list items.
    fn track_items(&mut self, kind: Kind, start: &Start<'_>, item_width: usize) {
        let is_in_list = matches!(kind, Kind::Item { .. } | Kind::Blank | Kind::Code);
        let stays_in_list =
            is_in_list || start.indent > 0 || kind == Kind::Text && start.follows_text;
        let ends_list =
            matches!(kind, Kind::Heading(_)) || is_rule(start.trimmed) && start.column == 0;
        if ends_list || !stays_in_list {
            self.items.clear();
        }
        if item_width > 0 {
            self.items.retain(|column| *column <= start.indent);
            self.item_quotes = if self.items.is_empty() { start.quotes } else { self.item_quotes };
            self.items.push(start.indent + item_width);
        }
    }
}

/// Whether a line is in a paragraph, in a quote or not: neither in an HTML block, nor a thematic
/// break, a heading or a comment on a line of its own.
fn in_paragraph(text: &str, line: &Line) -> bool {
    let (_, own) = unquoted(text.part(line.range.clone()));
    line.kind == Kind::Text && !line.is_html && !is_rule(own) && heading(own).is_none()
}

/// The ranges of blocks: a paragraph, a list item with its continuation lines, a table, a quote, a
/// code block, the frontmatter, a heading. Lines missing from `lines` separate blocks.
pub fn blocks(lines: &[Line]) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Blank;
    for line in lines {
        let continues = match line.kind {
            Kind::Blank | Kind::Heading(_) | Kind::Item { .. } => false,
            Kind::Text => matches!(last, Kind::Text | Kind::Item { .. }),
            Kind::Underline => true,
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

/// The ranges of sections, each a heading with the text up to the next one; the text before the
/// first heading is a section, too.
pub fn sections(lines: &[Line]) -> Vec<Range<usize>> {
    let mut sections: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Blank;
    for line in lines {
        let begins = matches!(line.kind, Kind::Heading(_))
            || matches!(line.kind, Kind::Setext(_)) && last != line.kind;
        match sections.last_mut().filter(|_| !begins) {
            Some(section) => section.end = line.range.end,
            None => sections.push(line.range.clone()),
        }
        last = line.kind;
    }
    sections
}

/// The line ending of the line at an offset, or else of the line before it; `\n` for a text of one
/// line.
pub fn line_end(text: &str, at: usize) -> &'static str {
    let bytes = text.as_bytes();
    let behind =
        bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|found| at + found);
    let end = behind.or_else(|| bytes.get(..at).and_then(|before| memchr::memrchr(b'\n', before)));
    let is_crlf = end
        .and_then(|end| end.checked_sub(1))
        .is_some_and(|before| bytes.get(before) == Some(&b'\r'));
    if is_crlf { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, Kind)> {
        lines(text)
            .into_iter()
            .map(|line| (&text[line.content..line.range.end], line.kind))
            .collect()
    }

    #[test]
    fn every_line_has_its_kind() {
        use Kind::*;
        let todo = Item { status: Some(' ') };
        let plain = Item { status: None };
        for (text, expected) in [
            (
                "---\na: 1\n---\n# One #\n\ntext",
                &[
                    ("---", Frontmatter),
                    ("a: 1", Frontmatter),
                    ("---", Frontmatter),
                    ("One #", Heading(1)),
                    ("", Blank),
                    ("text", Text),
                ][..],
            ),
            (
                "\u{feff}# a\r\n#tag\r\n####### no\r\n",
                &[("a", Heading(1)), ("#tag", Text), ("####### no", Text)],
            ),
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
            (
                "~~~\n# no\n~~~~\n```a`b\n# yes",
                &[
                    ("~~~", Code),
                    ("# no", Code),
                    ("~~~~", Code),
                    ("```a`b", Text),
                    ("yes", Heading(1)),
                ],
            ),
            (
                "> [!note] t\n> ```\n> # no\nout\n> - [ ] q",
                &[
                    ("[!note] t", Text),
                    ("> ```", Code),
                    ("> # no", Code),
                    ("out", Text),
                    ("q", todo),
                ],
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
            (
                "```\n> ```\n> # no\n```\n# Yes",
                &[("```", Code), ("```", Code), ("# no", Code), ("```", Code), ("Yes", Heading(1))],
            ),
            ("- a\n  - [ ] b\n\t- c", &[("a", plain), ("b", todo), ("c", plain)]),
            ("", &[]),
        ] {
            let found = kinds(text);
            let expected: Vec<(&str, Kind)> = expected.to_vec();
            let trimmed = |list: Vec<(&str, Kind)>| {
                list.into_iter()
                    .map(|(line, kind)| (line.trim_start_matches(['>', ' ']).to_owned(), kind))
                    .collect::<Vec<_>>()
            };
            assert_eq!(trimmed(found), trimmed(expected), "{text:?}");
        }
    }

    #[test]
    fn blocks_and_sections_are_ranges_of_lines() {
        let text = "---\na: 1\n---\nintro\ngoes on\n\n# One\n- a\n  more\n- \
                    b\n```\nx\n\ny\n```\nSet\next\n---\nlast";
        let of = |ranges: Vec<Range<usize>>| {
            ranges.into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>()
        };
        let lines = lines(text);
        let expected = [
            "---\na: 1\n---",
            "intro\ngoes on",
            "# One",
            "- a\n  more",
            "- b",
            "```\nx\n\ny\n```",
            "Set\next\n---",
            "last",
        ];
        assert_eq!(of(blocks(&lines)), expected);
        let expected = [
            "---\na: 1\n---\nintro\ngoes on\n",
            "# One\n- a\n  more\n- b\n```\nx\n\ny\n```",
            "Set\next\n---\nlast",
        ];
        assert_eq!(of(sections(&lines)), expected);
    }
}
