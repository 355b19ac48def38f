//! The lines between which, or instead of which, text is inserted.

use super::parts::Note;
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

/// The range of a line; for a setext heading, that of all its lines.
pub(super) fn around_heading(note: &Note<'_>, line: usize) -> Range<usize> {
    let headings = note.headings();
    headings
        .into_iter()
        .map(|heading| heading.lines)
        .find(|lines| lines.contains(&line))
        .unwrap_or(line..line + 1)
}
