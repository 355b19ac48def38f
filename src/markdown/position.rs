//! The lines between which, or instead of which, text is inserted.

use super::blocks::Kind;
use super::marks::{columns, is_delimiter_row, is_rule, unquoted};
use super::parts::Note;
use crate::slice::Part;
use serde::Deserialize;
use std::ops::Range;

/// Where text goes: inside its target (`Start`, `End`), outside (`Before`, `After`), or instead of
/// it; a line or block has no inside.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Position {
    Start,
    #[default]
    End,
    Before,
    After,
    Replace,
}

/// The lines that new text replaces: all of `lines` for `Replace`, else none, where `lines` begin
/// or end.
pub(super) fn around(lines: Range<usize>, position: Position) -> Range<usize> {
    match position {
        Position::Start | Position::Before => lines.start..lines.start,
        Position::End | Position::After => lines.end..lines.end,
        Position::Replace => lines,
    }
}

/// Where text goes at the start or end of lines. Rows of a table without its head go to the end of
/// the last table, of a section that above its first subheading: below other text they would be no
/// rows.
pub(super) fn inside(
    note: &Note<'_>,
    lines: Range<usize>,
    position: Position,
    new: &str,
) -> Range<usize> {
    let is_rows = new.starts_with('|') && new.trim_end().lines().all(|line| line.starts_with('|'));
    let is_text = |line: &usize| note.kind(*line) == Some(Kind::Text);
    let is_delimiter = |line: &usize| is_text(line) && is_delimiter_row(note.line(*line));
    let is_head = |line: &usize| {
        is_text(line) && note.line(*line).starts_with('|') && is_delimiter(&(line + 1))
    };
    // Rows below the head may begin without a bar; then they are not continued.
    let is_row = |line: &usize| is_text(line) && note.line(*line).contains('|');
    let begins_with_bar =
        |line: &usize| note.line(*line).trim_start().starts_with('|') || is_delimiter(line);
    let last_row = |lines: Range<usize>| {
        (lines.clone().rfind(is_head)?..lines.end).take_while(is_row).last().filter(begins_with_bar)
    };
    let is_heading =
        |line: &usize| matches!(note.kind(*line), Some(Kind::Heading(_) | Kind::Setext(_)));
    // The end of a note is below all of its headings.
    let subheading = lines.clone().find(is_heading).filter(|_| lines.start > note.body());
    let row =
        last_row(lines.start..subheading.unwrap_or(lines.end)).or_else(|| last_row(lines.clone()));
    match row.filter(|_| {
        position == Position::End
            && is_rows
            && !is_delimiter_row(new.lines().nth(1).unwrap_or_default())
    }) {
        Some(row) => row + 1..row + 1,
        None => around(lines, position),
    }
}

/// The lines of a section where text goes. In a board of the plugin Kanban, which reads one list
/// below a heading: those below `**Complete**` and above the rule before its archive.
pub(super) fn cards(note: &Note<'_>, lines: Range<usize>) -> Range<usize> {
    if !note.text.part(..note.start(note.body())).contains("kanban-plugin:") {
        return lines;
    }
    let is_filled = |line: &usize| note.kind(*line) != Some(Kind::Blank);
    let first = lines
        .clone()
        .find(is_filled)
        .filter(|line| note.line(*line).starts_with("**") && !is_rule(note.line(*line)));
    let start = first.map_or(lines.start, |line| line + 1);
    let last = lines.clone().rfind(is_filled).filter(|line| is_rule(note.line(*line)));
    let end = last.map_or(lines.end, |line| note.behind_lines(lines.start..line));
    start..end.max(start)
}

/// The range of a line; for a setext heading, that of all its lines.
pub(super) fn around_heading(note: &Note<'_>, line: usize) -> Range<usize> {
    let headings = note.headings();
    headings
        .into_iter()
        .map(|heading| heading.lines)
        .find(|lines| lines.contains(&line))
        .unwrap_or(line..line + 1)
}

/// The line after a block and, if it is a list item, after what is indented below it.
pub(super) fn behind_children(note: &Note<'_>, block: &Range<usize>) -> usize {
    let indent = |line: usize| columns(unquoted(note.line(line)).1);
    let is_item = matches!(note.kind(block.start), Some(Kind::Item { .. }));
    let below = (block.end..note.lines.len())
        .take_while(|_| is_item)
        .filter(|line| note.kind(*line) != Some(Kind::Blank));
    below
        .take_while(|line| indent(*line) > indent(block.start))
        .last()
        .map_or(block.end, |line| line + 1)
}
