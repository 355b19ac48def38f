//! Inserting text into a note at a heading, block or line, keeping every other byte.

use super::blocks::{Kind, line_end};
use super::edit::Edit;
use super::frontmatter;
use super::joins::{is_underline, needs_blank_line_above, needs_blank_line_below};
use super::marks::is_rule;
use super::parts::{Block, Note, PartError};
use crate::slice::Part;
use serde::Deserialize;
use std::ops::Range;

/// The part of a note that a position refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    Note,
    Heading(&'a str),
    Block(&'a str),
    /// From 1.
    Line(usize),
}

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
fn around(lines: Range<usize>, position: Position) -> Range<usize> {
    match position {
        Position::Start | Position::Before => lines.start..lines.start,
        Position::End | Position::After => lines.end..lines.end,
        Position::Replace => lines,
    }
}

/// The range of a line; for a setext heading, that of all its lines.
fn around_heading(note: &Note<'_>, line: usize) -> Range<usize> {
    let headings = note.headings();
    headings
        .into_iter()
        .map(|heading| heading.lines)
        .find(|lines| lines.contains(&line))
        .unwrap_or(line..line + 1)
}

/// The edit that inserts text at a position, and the line, from 1, in which the text then begins.
/// With `create`, a missing heading is created: at the end of the note, or of the section that the
/// path names, one level below it.
///
/// # Errors
/// [`PartError`].
pub fn insert(
    note: &Note<'_>,
    target: Target<'_>,
    position: Position,
    new: &str,
    create: bool,
) -> Result<(Edit, usize), PartError> {
    let block;
    let (mut headings, mut makes_heading) = (Vec::new(), false);
    let (lines, id) = match target {
        Target::Note if matches!(position, Position::Start | Position::End) => {
            let body = note.body();
            (around(body..note.behind_text(body..note.lines.len()), position), None)
        }
        Target::Note => return Err(PartError::WholeNote),
        Target::Heading(wanted) => {
            let (lines, created) = at_heading(note, wanted, position, create)?;
            // A text that begins with the heading has it already.
            let name = |line: &str| {
                line.strip_prefix('#')?
                    .trim_start_matches('#')
                    .strip_prefix([' ', '\t'])
                    .map(|name| name.trim().to_owned())
            };
            let own = new.lines().next().and_then(name);
            makes_heading = !created.is_empty();
            headings = created;
            headings.pop_if(|last| own.is_some() && own == name(last));
            (lines, None)
        }
        Target::Block(id) => {
            block = note.find_block(id)?;
            at_block(note, &block, position, new)
        }
        Target::Line(number) => {
            let line = number
                .checked_sub(1)
                .filter(|line| *line < note.lines.len())
                .ok_or(PartError::NoLine(note.lines.len()))?;
            let lines = if position == Position::Replace {
                line..line + 1
            } else {
                around_heading(note, line)
            };
            (around(lines, position), None)
        }
    };
    if lines.start < note.body() {
        return Err(PartError::Frontmatter);
    }
    let is_section = matches!(target, Target::Heading(_)) && position == Position::Replace;
    let below = if is_section { without_own_heading(note, lines.start, new) } else { new };
    let above = lines.start.checked_sub(1).filter(|line| *line >= note.body());
    let is_apart = above.is_none_or(|line| note.kind(line) == Some(Kind::Blank));
    if makes_heading && !is_apart {
        headings.insert(0, String::new());
    }
    let with_headings: String = headings.iter().map(|heading| format!("{heading}\n")).collect();
    let (mut edit, line) = edit(note, &lines, id, &(with_headings + below));
    // An insertion that begins with `---` must not turn the text below it into frontmatter.
    let has_properties = |text: &str| frontmatter::range(text).is_some();
    let is_at_start = edit.range.start == frontmatter::end(note.text)
        && !has_properties(note.text)
        && !has_properties(new);
    let makes_frontmatter = is_at_start && has_properties(&edit.apply(note.text));
    if makes_frontmatter {
        edit.text.insert_str(0, line_end(note.text, 0));
    }
    Ok((edit, line + usize::from(makes_frontmatter) + headings.len()))
}

/// A text without the heading of the section whose text begins at a line, if it begins with that: a
/// section as it is read does.
fn without_own_heading<'a>(note: &Note<'_>, line: usize, new: &'a str) -> &'a str {
    let inserted = Note::of(new);
    let first = inserted.headings().into_iter().next().filter(|first| first.lines.start == 0);
    let own = note.headings().into_iter().rfind(|heading| heading.lines.end <= line);
    match first.zip(own) {
        Some((first, own)) if (first.level, &first.text) == (own.level, &own.text) => {
            new.part(inserted.start(first.lines.end)..).trim_matches(['\r', '\n'])
        }
        _ => new,
    }
}

/// The lines that the text replaces, and the id that the replaced block keeps.
fn at_block<'a>(
    note: &Note<'_>,
    block: &'a Block,
    position: Position,
    new: &str,
) -> (Range<usize>, Option<&'a str>) {
    // Text after a block also goes after its id line, unless it continues a list, quote or table.
    let marker =
        |line: &str| line.trim_start().chars().next().filter(|mark| "|>-*+".contains(*mark));
    let continues = position == Position::End
        && marker(new).is_some_and(|mark| marker(note.line(block.lines.start)) == Some(mark));
    let with_id = block.lines.start
        ..block.id_line.filter(|_| !continues).map_or(block.lines.end, |line| line + 1);
    if position != Position::Replace {
        return (around(with_id, position), None);
    }
    // A block that is replaced by nothing, or by a text that has the id itself, loses its own.
    let stays = !new.trim().is_empty() && Note::of(new).find_block(&block.id).is_err();
    let id = Some(&*block.id).filter(|_| stays && block.id_line.is_none());
    (if stays { block.lines.clone() } else { with_id }, id)
}

/// The lines that the text replaces, and the lines of the headings to create above it.
fn at_heading(
    note: &Note<'_>,
    wanted: &str,
    position: Position,
    create: bool,
) -> Result<(Range<usize>, Vec<String>), PartError> {
    let headings = note.headings();
    let number = match note.find_heading(&headings, wanted, create) {
        Ok(number) => number,
        Err(PartError::Missing(missing, known)) if create => {
            let (line, created) =
                new_headings(note, wanted).ok_or(PartError::Missing(missing, known))?;
            return Ok((line..line, created));
        }
        Err(error) => return Err(error),
    };
    let end = note.section_end(&headings, number);
    let heading = headings.get(number).map(|heading| heading.lines.clone()).unwrap_or_default();
    let last = note.behind_lines(heading.end..end);
    let text_end = text_end(note, heading.end..end);
    let lines = match position {
        Position::After if text_end < last => text_end..text_end,
        Position::Before | Position::After => around(heading.start..end, position),
        Position::Start => {
            let start = text_start(note, heading.end..text_end);
            start..start
        }
        Position::End => text_end..text_end,
        // All that a section as it is read has.
        Position::Replace => {
            (heading.end..last).find(|line| note.kind(*line) != Some(Kind::Blank)).unwrap_or(last)
                ..last
        }
    };
    Ok((lines, Vec::new()))
}

/// The line at which the text of a section begins: in a board of the plugin Kanban, behind the mark
/// of a lane whose cards are complete.
fn text_start(note: &Note<'_>, section: Range<usize>) -> usize {
    let first = section.clone().find(|line| note.kind(*line) != Some(Kind::Blank));
    let mark = first.filter(|line| note.line(*line).trim() == "**Complete**");
    mark.map_or(section.start, |mark| mark + 1)
}

/// The line behind the text of a section. A rule at its end separates it from the next one, in a
/// board of the plugin Kanban the last lane from the archive, and stays at the end.
fn text_end(note: &Note<'_>, section: Range<usize>) -> usize {
    let end = note.behind_text(section.clone());
    let is_rule = |line: &usize| note.kind(*line) == Some(Kind::Text) && is_rule(note.line(*line));
    match (section.start..end).next_back().filter(is_rule) {
        Some(rule) => note.behind_lines(section.start..rule),
        None => end,
    }
}

/// A heading to create below those that are missing above it, and the line, from 0, before which
/// they come; `None` if one above it is ambiguous.
fn new_headings(note: &Note<'_>, wanted: &str) -> Option<(usize, Vec<String>)> {
    let headings = note.headings();
    let (above, name) =
        wanted.rsplit_once(" > ").map_or((None, wanted), |(above, name)| (Some(above), name));
    let level_of = |line: &str| line.trim().bytes().take_while(|byte| *byte == b'#').count();
    let (level, at, mut created) = match above {
        None => (2, note.behind_text(note.body()..note.lines.len()), Vec::new()),
        Some(above) => match note.find_heading(&headings, above, true) {
            Ok(number) => {
                let heading = headings.get(number)?;
                let section = heading.lines.end..note.section_end(&headings, number);
                (usize::from(heading.level) + 1, text_end(note, section), Vec::new())
            }
            Err(PartError::Missing(..)) => {
                let (at, created) = new_headings(note, above)?;
                (level_of(created.last()?) + 1, at, created)
            }
            Err(_) => return None,
        },
    };
    let level = Some(level_of(name)).filter(|own| (1..=6).contains(own)).unwrap_or(level.min(6));
    let name = name.trim().trim_start_matches('#').trim();
    let is_name = !name.is_empty() && !name.contains(['\n', '\r']);
    created.push(format!("{} {name}", "#".repeat(level)));
    is_name.then_some((at, created))
}

/// A text with the id of the block that it replaces, unless it has that already. That of a list
/// item is in front of its children.
fn with_id(text: &str, id: Option<&str>) -> String {
    let has_id = |id: &str| text.to_lowercase().ends_with(&format!(" ^{}", id.to_lowercase()));
    let Some(id) = id.filter(|id| !has_id(id)) else { return text.to_owned() };
    let parts = Note::of(text);
    let last = parts.lines.len().saturating_sub(1);
    if matches!(parts.kind(0), Some(Kind::Item { .. })) {
        let more = (1..=last).take_while(|line| parts.kind(*line) == Some(Kind::Text)).count();
        let end = parts.start(more) + parts.line(more).trim_end().len();
        return format!("{} ^{id}{}", text.part(..end), text.part(end..));
    }
    let is_line = matches!(parts.kind(last), Some(Kind::Text | Kind::Item { .. }))
        && !parts.line(last).trim_start().starts_with(['|', '>']);
    // After code, a table or a quote, an id needs a line of its own.
    if is_line {
        format!("{} ^{id}", text.trim_end())
    } else {
        format!("{}\n\n^{id}", text.trim_end())
    }
}

/// The edit itself: the text with the note's line endings, separated by blank lines from what it
/// must not join; and the line, from 1, in which it then begins.
fn edit(note: &Note<'_>, lines: &Range<usize>, id: Option<&str>, new: &str) -> (Edit, usize) {
    let range = note.start(lines.start)..note.start(lines.end);
    let eol = line_end(note.text, range.start);
    let new = new.replace("\r\n", "\n");
    let text = with_id(new.strip_suffix('\n').unwrap_or(&new), id);
    if text.is_empty() {
        return (removal(note, lines, range, eol), lines.start + 1);
    }
    let (inserted, replaced) = (Note::of(&text), Note::of(note.text.part(range.clone())));
    let joins_above = |text: &Note<'_>| {
        lines.start.checked_sub(1).is_some_and(|above| needs_blank_line_above(note, above, text))
    };
    let joins_below = |text: &Note<'_>| needs_blank_line_below(text, note, lines.end);
    // Prose may join what the lines that it replaces had joined: it stays in their paragraph.
    let stays = !lines.is_empty() && stays_in_paragraph(&inserted, &replaced);
    let is_apart_above = joins_above(&inserted)
        && (is_underline(inserted.line(0)) || !(stays && joins_above(&replaced)));
    let is_apart_below = joins_below(&inserted) && !(stays && joins_below(&replaced));
    // A last line without a line ending stays so.
    let ends_open =
        lines.end >= note.lines.len() && !note.lines.is_empty() && !note.text.ends_with('\n');
    let mut whole = String::new();
    if ends_open && range.start == note.text.len() {
        whole.push('\n');
    }
    if is_apart_above {
        whole.push('\n');
    }
    whole.push_str(&text);
    if is_apart_below {
        whole.push('\n');
    }
    if !ends_open {
        whole.push('\n');
    }
    let text = if eol == "\r\n" { whole.replace('\n', eol) } else { whole };
    (Edit { range, text }, lines.start + 1 + usize::from(is_apart_above))
}

/// Removes lines, so that those around them do not become one paragraph or a heading.
fn removal(note: &Note<'_>, lines: &Range<usize>, range: Range<usize>, eol: &str) -> Edit {
    let is_text = |line| matches!(note.kind(line), Some(Kind::Text | Kind::Item { .. }));
    let joins =
        !lines.is_empty() && lines.start.checked_sub(1).is_some_and(is_text) && is_text(lines.end);
    Edit { range, text: if joins { eol.to_owned() } else { String::new() } }
}

/// Whether a text is prose that may continue a paragraph; a thematic break is in none.
fn stays_in_paragraph(inserted: &Note<'_>, replaced: &Note<'_>) -> bool {
    let is_prose = |line: usize| {
        inserted.kind(line) == Some(Kind::Text)
            && !inserted.line(line).starts_with([' ', '\t', '|', '>'])
    };
    let has_rule = |text: &Note<'_>| (0..text.lines.len()).any(|line| is_rule(text.line(line)));
    (0..inserted.lines.len()).all(is_prose) && (is_rule(inserted.text) || !has_rule(replaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, target: Target<'_>, position: Position, new: &str) -> String {
        put_or_create(text, target, position, new, false).unwrap()
    }

    fn put_or_create(
        text: &str,
        target: Target<'_>,
        position: Position,
        new: &str,
        create: bool,
    ) -> Result<String, PartError> {
        let (edit, line) = insert(&Note::of(text), target, position, new, create)?;
        let made = edit.apply(text);
        if let Some(first) = new.lines().next() {
            assert!(
                made.trim_start_matches('\u{feff}')
                    .lines()
                    .nth(line - 1)
                    .unwrap()
                    .starts_with(first),
                "{made:?} has {first:?} in line {line}"
            );
        }
        Ok(made)
    }

    /// Replacing a block keeps everything above and below it.
    #[test]
    fn a_block_is_what_its_id_names() {
        for (text, new, expected) in [
            ("# A\n\n$$\nx\n$$\n^x\n\nend\n", "$$\ny\n$$", "# A\n\n$$\ny\n$$\n^x\n\nend\n"),
            ("<!-- a\nb -->\n\n^x\ntext\n", "new", "new\n\n^x\ntext\n"),
            ("$$\na\n$$ ^x\n", "$$\nb\n$$", "$$\nb\n$$\n\n^x\n"),
            ("- a\n- b\n  ^x\n- c\n", "- new", "- a\n- new\n\n  ^x\n- c\n"),
            ("para\n> quote ^x\n", "> new", "para\n> new\n\n^x\n"),
            ("- item\n> quote ^x\n", "> new", "- item\n> new\n\n^x\n"),
            ("```\na\n```\n```\nb\n```\n^x\n", "```\nc\n```", "```\na\n```\n```\nc\n```\n^x\n"),
            ("- a\n- b\n\n1. c\n2. d\n\n^x\n", "1. e", "- a\n- b\n\n1. e\n\n^x\n"),
            ("$$\na\n$$\n^x\n\nq\n", "", "\nq\n"),
        ] {
            assert_eq!(put(text, Target::Block("x"), Position::Replace, new), expected, "{text:?}");
        }
        let before = put("# A\n\n$$\nx\n$$\n^x\n", Target::Block("x"), Position::Before, "new");
        assert_eq!(before, "# A\n\nnew\n$$\nx\n$$\n^x\n");
        let after = put(
            "> [!todo] T\n> - [ ] a ^x\n>   - [ ] b\n",
            Target::Block("x"),
            Position::After,
            "> - [ ] new",
        );
        assert_eq!(after, "> [!todo] T\n> - [ ] a ^x\n>   - [ ] b\n> - [ ] new\n");
    }

    /// Inserted text neither absorbs its surroundings nor is absorbed by them; lists stay as they
    /// are.
    #[test]
    fn text_stays_apart_from_what_would_swallow_it() {
        use Position::{After, End, Start};
        for (text, target, position, new, expected) in [
            (
                "## S\n3. c\n4. d\n",
                Target::Heading("S"),
                Start,
                "text",
                "## S\ntext\n\n3. c\n4. d\n",
            ),
            ("1. a ^x\n2. b\n", Target::Block("x"), After, "text", "1. a ^x\n\ntext\n\n2. b\n"),
            (
                "## H\n# B\n",
                Target::Heading("H"),
                End,
                "<div>x</div>",
                "## H\n<div>x</div>\n\n# B\n",
            ),
            ("<div>x</div>\n", Target::Note, End, "- [ ] t", "<div>x</div>\n\n- [ ] t\n"),
            (
                "# H\n| a |\n|---|\n| 1 |\n",
                Target::Heading("H"),
                Start,
                "| x | y |\n|---|---|",
                "# H\n| x | y |\n|---|---|\n\n| a |\n|---|\n| 1 |\n",
            ),
            (
                "# H\n| a |\n|---|\n",
                Target::Heading("H"),
                End,
                "| b |\n|---|",
                "# H\n| a |\n|---|\n\n| b |\n|---|\n",
            ),
            (
                "# H\n> mine\n",
                Target::Heading("H"),
                Start,
                "> [!note] N\n> b",
                "# H\n> [!note] N\n> b\n\n> mine\n",
            ),
            (
                "## H\n> quote ^x\n",
                Target::Heading("H"),
                End,
                "> more",
                "## H\n> quote ^x\n\n> more\n",
            ),
            (
                "> [!n] T\n> - a ^x\n> - b\n",
                Target::Block("x"),
                After,
                "> - n",
                "> [!n] T\n> - a ^x\n> - n\n> - b\n",
            ),
            (
                "1. a\n2. b ^x\n",
                Target::Block("x"),
                Position::Before,
                "5. n\n   more",
                "1. a\n5. n\n   more\n2. b ^x\n",
            ),
            (
                "1. a\n\n   <img src=\"x\">\n2. b\n",
                Target::Note,
                End,
                "3. c",
                "1. a\n\n   <img src=\"x\">\n2. b\n3. c\n",
            ),
            ("Title\n===\nx\n", Target::Line(1), After, "new", "Title\n===\nnew\n\nx\n"),
            (
                "# H\n\ntext\n\n---\n\nmore\n",
                Target::Note,
                Start,
                "---",
                "\n---\n# H\n\ntext\n\n---\n\nmore\n",
            ),
        ] {
            assert_eq!(put(text, target, position, new), expected, "{text:?}");
        }
        assert_eq!(
            put("x\n---\na: 1\n---\n", Target::Line(1), Position::Replace, ""),
            "\n---\na: 1\n---\n"
        );
    }

    #[test]
    fn text_goes_to_the_end_or_start_of_a_note() {
        use Position::{End, Start};
        for (text, position, expected) in [
            ("", End, "- new\n"),
            ("a\n", End, "a\n- new\n"),
            ("a", End, "a\n- new"),
            ("a\r\nb", End, "a\r\nb\r\n- new"),
            ("a\n\n\n", End, "a\n- new\n\n\n"),
            (
                "\u{feff}---\r\nx: 1\r\n---\r\nbody\r\n",
                Start,
                "\u{feff}---\r\nx: 1\r\n---\r\n- new\r\n\r\nbody\r\n",
            ),
            ("---\nx: 1\n---", End, "---\nx: 1\n---\n- new"),
            ("\u{feff}a\n", Start, "\u{feff}- new\n\na\n"),
            ("# H\n", Start, "- new\n# H\n"),
            ("- a\n", End, "- a\n- new\n"),
            ("```\nopen\n```\n", End, "```\nopen\n```\n- new\n"),
        ] {
            assert_eq!(put(text, Target::Note, position, "- new"), expected, "{text:?}");
        }
        assert_eq!(
            put("a\n", Target::Note, End, "b\nc\n"),
            "a\n\nb\nc\n",
            "no paragraph is joined"
        );
        assert_eq!(put("- a\n", Target::Note, End, "b"), "- a\n\nb\n");
        assert_eq!(put("- a\n", Target::Note, End, "\tb"), "- a\n\tb\n");
        assert_eq!(put("a\n", Target::Note, End, "---"), "a\n\n---\n", "no heading is made");
        assert_eq!(
            put("a\n", Target::Note, End, "10. b"),
            "a\n\n10. b\n",
            "a list from 10 does not end a paragraph"
        );
        assert_eq!(put("a\n", Target::Note, End, "1. b"), "a\n1. b\n");
        assert_eq!(put("| a |\n|---|\n", Target::Note, End, "| b |"), "| a |\n|---|\n| b |\n");
        assert_eq!(put("> a\n", Target::Note, End, "> b"), "> a\n> b\n");
        assert_eq!(put("> [!a] x\n", Target::Note, End, "> [!b] y"), "> [!a] x\n\n> [!b] y\n");
        assert_eq!(put("a\n", Target::Note, End, "b\n\n"), "a\n\nb\n\n");
        assert_eq!(
            put("a\nb\nc\n", Target::Line(2), Position::Replace, "X"),
            "a\nX\nc\n",
            "a line of a paragraph stays in it"
        );
        assert_eq!(
            put("a\nb\nc\n", Target::Line(2), Position::Replace, "---"),
            "a\n\n---\nc\n",
            "no heading is made"
        );
        assert_eq!(put("a\n===\n", Target::Line(1), Position::Replace, "X"), "X\n===\n");
        for (new, expected) in
            [("- X", "a\n- X\n\nc\n"), ("| x |\n|---|", "a\n\n| x |\n|---|\n\nc\n")]
        {
            assert_eq!(
                put("a\nb\nc\n", Target::Line(2), Position::Replace, new),
                expected,
                "{new:?} is no line of a paragraph"
            );
        }
        assert_eq!(
            put_or_create("a", Target::Note, Position::Replace, "b", false),
            Err(PartError::WholeNote)
        );
    }

    #[test]
    fn a_rule_at_the_end_of_a_section_stays_there() {
        let board = "---\n\nkanban-plugin: board\n\n---\n\n## Done\n\n**Complete**\n- [x] a\n\n\n***\n\n## \
                     Archive\n\n- [x] z\n\n%% kanban:settings\n```\n{}\n```\n%%\n";
        for (lane, card) in [("Done", "- [x] a\n"), ("Archive", "- [x] z\n")] {
            assert_eq!(
                put(board, Target::Heading(lane), Position::End, "- [x] n"),
                board.replace(card, &format!("{card}- [x] n\n"))
            );
        }
        let parts = "# A\n\na\n\n---\n\n# B\n\nb\n";
        let added = put(parts, Target::Heading("A"), Position::End, "n");
        assert_eq!(added, "# A\n\na\n\nn\n\n---\n\n# B\n\nb\n");
        let start = put(board, Target::Heading("Done"), Position::Start, "- [x] n");
        assert_eq!(start, board.replace("- [x] a\n", "- [x] n\n- [x] a\n"));
        let after = put(board, Target::Heading("Done"), Position::After, "- [x] n");
        assert_eq!(after, board.replace("- [x] a\n", "- [x] a\n- [x] n\n"));
    }

    #[test]
    fn text_goes_to_a_section() {
        use Position::{After, Before, End, Replace, Start};
        let text = "# A\none\n\n## B\n\ntwo\n\n# C\n";
        for (heading, position, expected) in [
            ("A", End, "# A\none\n\n## B\n\ntwo\n- new\n\n# C\n"),
            ("A", Start, "# A\n- new\n\none\n\n## B\n\ntwo\n\n# C\n"),
            ("A", Before, "- new\n# A\none\n\n## B\n\ntwo\n\n# C\n"),
            ("B", After, "# A\none\n\n## B\n\ntwo\n\n- new\n# C\n"),
            ("A > B", Replace, "# A\none\n\n## B\n\n- new\n\n# C\n"),
            ("C", End, "# A\none\n\n## B\n\ntwo\n\n# C\n- new\n"),
            ("C", Replace, "# A\none\n\n## B\n\ntwo\n\n# C\n- new\n"),
        ] {
            assert_eq!(
                put(text, Target::Heading(heading), position, "- new"),
                expected,
                "{heading} {position:?}"
            );
        }
        assert_eq!(put("A\n===\nx", Target::Heading("a"), Start, "- y"), "A\n===\n- y\n\nx");
        assert_eq!(put("# A\n", Target::Heading("A"), Replace, ""), "# A\n");
        assert_eq!(put("# A\nx\ny\n\n# B\n", Target::Heading("A"), Replace, ""), "# A\n\n# B\n");
        assert_eq!(put("# A\n", Target::Heading("A"), After, "b"), "# A\nb\n");
        assert_eq!(
            put("# A\nSet\n---\n", Target::Heading("A"), Start, "b"),
            "# A\nb\n\nSet\n---\n",
            "a heading stays what it is"
        );
        // A heading in a quote or list item is not a heading of the note.
        let boxed = "## A\n> [!info]\n> # Box\n> a\n\nout\n1. root:\n   # ls\n2. b\n\n## B\n";
        assert_eq!(
            put(boxed, Target::Heading("A"), End, "3. c"),
            boxed.replace("2. b\n", "2. b\n3. c\n")
        );
        assert_eq!(put(boxed, Target::Heading("A"), Replace, "- new"), "## A\n- new\n\n## B\n");
        assert!(matches!(
            put_or_create(boxed, Target::Heading("Box"), Replace, "x", false),
            Err(PartError::Missing(..))
        ));
    }

    #[test]
    fn a_missing_heading_is_made_where_its_path_says() {
        let create = |text, heading| {
            put_or_create(text, Target::Heading(heading), Position::End, "- new", true)
        };
        assert_eq!(create("a\n", "Log").unwrap(), "a\n\n## Log\n- new\n");
        assert_eq!(create("", "### Log").unwrap(), "### Log\n- new\n");
        assert_eq!(create("# A\nx\n# B", "A > Log").unwrap(), "# A\nx\n\n## Log\n- new\n# B");
        assert_eq!(
            put_or_create("a\n", Target::Heading("Log"), Position::Replace, "## Log\n- new", true)
                .unwrap(),
            "a\n\n## Log\n- new\n"
        );
        let tagged = put_or_create("a\n", Target::Heading("log"), Position::End, "#log\n- x", true);
        assert_eq!(tagged.unwrap(), "a\n\n## log\n#log\n- x\n", "a tag is no heading");
        let other_level = put_or_create(
            "# A\n",
            Target::Heading("A > Log"),
            Position::End,
            "### Log\n- new",
            true,
        );
        assert_eq!(other_level.unwrap(), "# A\n\n### Log\n- new\n");
        assert_eq!(create("# A\n", "X > Log").unwrap(), "# A\n\n## X\n### Log\n- new\n");
        assert_eq!(create("# A\n", "A > X > # Log").unwrap(), "# A\n\n## X\n# Log\n- new\n");
        assert!(matches!(create("# A\n# A", "A"), Err(PartError::Several(_))));
    }

    #[test]
    fn blocks_keep_their_ids_and_lines_are_counted_from_one() {
        use Position::{After, Before, Replace};
        assert_eq!(put("a\nb ^x\n\nc", Target::Block("x"), Replace, "new"), "new ^x\n\nc");
        assert_eq!(
            put("- a ^x\n- b\n", Target::Block("^x"), Replace, "- new\n"),
            "- new ^x\n- b\n"
        );
        assert_eq!(put("> a\n\n^x\n", Target::Block("x"), Replace, "> new"), "> new\n\n^x\n");
        assert_eq!(put("> a\n^x\n", Target::Block("x"), After, "- new"), "> a\n^x\n- new\n");
        assert_eq!(
            put("> a\n\n^x\n\nb\n", Target::Block("x"), After, "> new"),
            "> a\n\n^x\n> new\n\nb\n"
        );
        // The whole list, table or quote and nothing else; a continuation goes before its id.
        for (block, new) in [
            ("- a\n  b\n\n- c\n", "- new\n"),
            ("> [!x] t\n> - a\n>\n> b\n", "> new\n"),
            ("| a |\n|---|\n| b |\n", "| new |\n"),
        ] {
            let text = |block: &str| format!("Things:\n{block}\n^x\n\nend\n");
            // A row alone is not a table, and would join the paragraph.
            let before = if new.starts_with('|') { "\n" } else { "" };
            assert_eq!(
                put(&text(block), Target::Block("x"), Replace, new),
                text(&format!("{before}{new}"))
            );
            assert_eq!(
                put(&text(block), Target::Block("x"), Position::End, new),
                text(&format!("{block}{new}"))
            );
        }
        assert_eq!(
            put("- a ^x\n  - child\n\n  more\n- b\n", Target::Block("x"), After, "- new"),
            "- a ^x\n  - child\n\n  more\n- new\n- b\n"
        );
        assert_eq!(
            put("- a ^x\n  - child\n- b\n", Target::Block("x"), Replace, "- new\n  - other"),
            "- new ^x\n  - other\n- b\n"
        );
        assert_eq!(
            put("p ^x\n\n# N\n", Target::Block("x"), Replace, "```\nc\n```"),
            "```\nc\n```\n\n^x\n\n# N\n"
        );
        assert_eq!(put("a\n\np ^x\n\nb", Target::Block("x"), Replace, ""), "a\n\n\nb");
        assert_eq!(put("p ^X\n", Target::Block("x"), Replace, "new ^x"), "new ^x\n");
        assert_eq!(put("para\n- x\n---", Target::Line(2), Replace, ""), "para\n\n---");
        assert_eq!(put("a\n\n-\n- b\n", Target::Line(3), Before, "foo"), "a\n\nfoo\n\n-\n- b\n");
        assert_eq!(
            put_or_create("## C#\n2\n", Target::Heading("C++"), Position::End, "- new", true)
                .unwrap(),
            "## C#\n2\n\n## C++\n- new\n"
        );
        assert_eq!(put("a\nb\n", Target::Line(2), Before, "- new"), "a\n- new\n\nb\n");
        assert_eq!(put("a\nb", Target::Line(2), Replace, "- new"), "a\n- new");
        let refused = |line| {
            put_or_create("---\nx: 1\n---\na", Target::Line(line), Before, "b", false).unwrap_err()
        };
        assert_eq!(
            (refused(1), refused(3), refused(9), refused(0)),
            (
                PartError::Frontmatter,
                PartError::Frontmatter,
                PartError::NoLine(4),
                PartError::NoLine(4)
            )
        );
    }

    /// Random notes: the bytes outside the insertion and the kind of line endings do not change.
    #[test]
    fn every_byte_outside_of_an_insertion_stays() {
        let mut random = crate::text::random::Random::new();
        let pieces = [
            "# H",
            "## K",
            "text",
            "- [ ] task",
            "  - sub",
            "> quote",
            "",
            "| a |",
            "```",
            "---",
            "Set",
            "===",
            "%%",
            "a ^id",
            "\tx",
            "1. one",
        ];
        for round in 0..20_000 {
            let eol = if round % 2 == 0 { "\n" } else { "\r\n" };
            let count = random.below(12);
            let mut text: String = (0..count)
                .map(|_| format!("{}{eol}", pieces[random.below(pieces.len())]))
                .collect();
            if round % 3 == 0 {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            let new = pieces[random.below(6)];
            let target = match random.below(4) {
                0 => Target::Note,
                1 => Target::Heading(["H", "K", "Set"][random.below(3)]),
                2 => Target::Block("id"),
                _ => Target::Line(random.below(12)),
            };
            let position = [
                Position::Start,
                Position::End,
                Position::Before,
                Position::After,
                Position::Replace,
            ][random.below(5)];
            let note = Note::of(&text);
            let Ok((edit, _)) = insert(&note, target, position, new, false) else { continue };
            let made = edit.apply(&text);
            assert!(
                made.starts_with(&text[..edit.range.start])
                    && made.ends_with(&text[edit.range.end..]),
                "{text:?}"
            );
            assert_eq!(
                edit.range.is_empty(),
                position != Position::Replace || edit.range.is_empty(),
                "{text:?} {position:?}"
            );
            let others = made.replace("\r\n", "");
            assert!(
                eol == "\n" || !text.contains('\n') || !others.contains('\n'),
                "{text:?}: {made:?}"
            );
            let is_final = |text: &str| text.ends_with('\n');
            assert!(
                text.is_empty()
                    || is_final(&text) == is_final(&made)
                    || edit.range.end == text.len() && edit.text.is_empty(),
                "{text:?}: {made:?}"
            );
        }
    }
}
