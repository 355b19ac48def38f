//! Constructs that continue in the next line: fenced code, comments, math and raw elements.

use super::marks::{closes_fence, columns, fence};

/// A construct that continues in the next line.
#[derive(Clone, Copy)]
pub(super) enum Open {
    Fence(Fence),
    Opaque(Opaque),
}

/// Fenced code.
#[derive(Clone, Copy)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) length: usize,
    pub(super) quotes: usize,
    /// That of the enclosing list item.
    pub(super) column: usize,
    /// The maximum indentation of the closing fence.
    pub(super) max_indent: usize,
}

impl Fence {
    /// Whether a line is in this fence, which ends with the enclosing quote or list item; if so,
    /// whether it closes it. `unquoted` is the line without quote markers.
    pub(super) fn closes(self, line: &str, quotes: usize, unquoted: &str) -> Option<bool> {
        // In a fence outside quotes, a quote marker is code.
        let inner = if self.quotes == 0 { line } else { unquoted };
        let (behind, indent) = (inner.trim_start(), columns(inner));
        let is_in = quotes >= self.quotes && (indent >= self.column || behind.is_empty());
        is_in.then(|| indent <= self.max_indent && closes_fence(behind, self.mark, self.length))
    }
}

/// A comment, math block or raw element.
#[derive(Clone, Copy)]
pub(super) struct Opaque {
    pub(super) closing: &'static str,
    pub(super) quotes: usize,
    /// Character and length of the code fence that is open in a `%%` comment.
    pub(super) fence: Option<(char, usize)>,
}

impl Opaque {
    /// Whether a line is in it: all but Obsidian's own comments end with the enclosing quote.
    pub(super) fn contains(self, quotes: usize) -> bool {
        quotes >= self.quotes || self.closing == "%%"
    }

    /// What is behind the end of it in a line, if it ends there.
    pub(super) fn behind(self, line: &str) -> Option<&str> {
        line.find(self.closing).and_then(|at| line.get(at + self.closing.len()..))
    }

    /// The code fence that is open in it after a line.
    pub(super) fn fence_after(self, unquoted: &str) -> Option<(char, usize)> {
        match self.fence {
            Some((mark, length)) => {
                self.fence.filter(|_| !closes_fence(unquoted.trim_start(), mark, length))
            }
            None if self.closing == "%%" => {
                fence(unquoted.trim_start(), 0).map(|(mark, length, _)| (mark, length))
            }
            None => None,
        }
    }
}

/// Whether a line begins an HTML block that ends with the next blank line (CommonMark section 4.6,
/// conditions 6 and 7).
pub(super) fn begins_html(line: &str, follows_text: bool) -> bool {
    let Some(inner) = line.strip_prefix('<') else { return false };
    let name = inner.strip_prefix('/').unwrap_or(inner);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let (name, rest) = name.split_at_checked(end).unwrap_or_default();
    let is_block = !name.is_empty()
        && HTML_BLOCKS.split(' ').any(|block| block.eq_ignore_ascii_case(name))
        && (rest.is_empty() || rest.starts_with([' ', '\t', '>', '/']));
    // Any other tag has to be complete, and alone on a line that does not continue a paragraph.
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (rest.starts_with([' ', '\t', '>']) || rest == "/>");
    let is_alone = rest
        .trim_end()
        .strip_suffix('>')
        .is_some_and(|attributes| !attributes.contains(['<', '>']));
    is_block || !follows_text && is_tag && is_alone
}

/// The elements of condition 6.
const HTML_BLOCKS: &str = "address article aside base basefont blockquote body caption center col colgroup dd details \
     dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 \
     head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option \
     p param search section summary table tbody td tfoot th thead title tr track ul";
