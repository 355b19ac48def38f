//! The parts of a note that a caller can name: headings with their sections, blocks with ids, lines
//! and tasks.

use super::blocks::{Kind, Line, lines};
use super::headings::headings_named;
pub use super::headings::{Heading, comparable_heading, heading_in_link, subpath_headings};
use super::marks::{columns, heading, is_delimiter_row, is_rule, unquoted};
use crate::slice::Part;
use std::ops::Range;

/// A text with its lines.
#[derive(Debug)]
pub struct Note<'a> {
    pub text: &'a str,
    pub lines: Vec<Line>,
}

/// A block that has an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Without `^`.
    pub id: String,
    /// Its lines, excluding a line with only the id.
    pub lines: Range<usize>,
    /// The line below the block that contains only the id.
    pub id_line: Option<usize>,
}

/// A list item with a checkbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The number of its line, from 0.
    pub line: usize,
    /// The character in the box, and where it is.
    pub status: char,
    pub status_at: Range<usize>,
    /// The text after the box.
    pub content: Range<usize>,
}

/// Why there is no such part, or why it cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// No match: the name that is missing, of a path the first; and what there is, with its line
    /// number, from 1.
    Missing(String, Vec<(usize, String)>),
    /// Several matches: line number, from 1, and text of each.
    Several(Vec<(usize, String)>),
    /// The line does not exist; the number of lines in the note.
    NoLine(usize),
    Frontmatter,
    /// Only a part of a note can be replaced, or have text before or after it.
    WholeNote,
}

impl<'a> Note<'a> {
    pub fn of(text: &'a str) -> Note<'a> {
        Note { text, lines: lines(text) }
    }

    /// The text of a line without its line ending; empty for a line past the end.
    pub fn line(&self, number: usize) -> &'a str {
        self.lines
            .get(number)
            .and_then(|line| self.text.get(line.range.clone()))
            .unwrap_or_default()
    }

    /// The offset at which a line begins; the end of the text for a line past the end.
    pub fn start(&self, number: usize) -> usize {
        self.lines.get(number).map_or(self.text.len(), |line| line.range.start)
    }

    /// The number of the line that contains an offset.
    pub fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.range.start <= at).saturating_sub(1)
    }

    pub fn kind(&self, number: usize) -> Option<Kind> {
        self.lines.get(number).map(|line| line.kind)
    }

    /// The first line after the frontmatter.
    pub fn body(&self) -> usize {
        self.lines.iter().take_while(|line| line.kind == Kind::Frontmatter).count()
    }

    pub fn headings(&self) -> Vec<Heading> {
        let mut headings: Vec<Heading> = Vec::new();
        let mut is_setext_open = false;
        for (number, line) in self.lines.iter().enumerate() {
            let content = self.text.part(line.content..line.range.end);
            match (line.kind, headings.last_mut().filter(|_| is_setext_open)) {
                (Kind::Setext(_), Some(heading)) => {
                    heading.text.push(' ');
                    heading.text.push_str(content.trim());
                    heading.lines.end = number + 1;
                }
                (Kind::Underline, Some(heading)) => {
                    heading.lines.end = number + 1;
                    is_setext_open = false;
                }
                (Kind::Setext(level), None) => {
                    headings.push(Heading {
                        level,
                        text: content.trim().into(),
                        lines: number..number + 1,
                    });
                    is_setext_open = true;
                }
                (Kind::Heading(level), _) => {
                    let text = without_closing(content).into();
                    headings.push(Heading { level, text, lines: number..number + 1 });
                }
                _ => {}
            }
        }
        headings
    }

    /// The line after the section of a heading: the next heading of the same or a higher level.
    pub fn section_end(&self, headings: &[Heading], number: usize) -> usize {
        let level = headings.get(number).map_or(0, |heading| heading.level);
        let next = headings.iter().skip(number + 1).find(|heading| heading.level <= level);
        next.map_or(self.lines.len(), |heading| heading.lines.start)
    }

    /// The line after the last one of a range that is not blank.
    pub(super) fn behind_lines(&self, lines: Range<usize>) -> usize {
        lines
            .clone()
            .rfind(|line| self.kind(*line) != Some(Kind::Blank))
            .map_or(lines.start, |line| line + 1)
    }

    /// The same, but before a `%%` comment of several lines that ends the note: plugins such as
    /// Kanban and Excalidraw keep data there, and read it from the end.
    pub(super) fn behind_text(&self, lines: Range<usize>) -> usize {
        let end = self.behind_lines(lines.clone());
        let opens = |line: usize| self.lines.get(line).is_some_and(|line| line.opens);
        let closes = |line: usize| self.kind(line) == Some(Kind::Opaque) && !opens(line);
        let ends_note = self.behind_lines(end..self.lines.len()) == end
            && end.checked_sub(1).is_some_and(closes);
        let is_inside = |line: &usize| matches!(self.kind(*line), Some(Kind::Opaque | Kind::Code));
        let begins = |line: &usize| self.line(*line).starts_with("%%") && opens(*line);
        match (lines.start..end).rev().take_while(is_inside).find(begins).filter(|_| ends_note) {
            Some(comment) => self.behind_lines(lines.start..comment),
            None => end,
        }
    }

    /// The heading with a text, or the last one of a path (`A > B`), each in the section of the
    /// previous one; `A (line 12)` is the one of several that begins there. Exact matches are
    /// preferred, then those that differ only in case, spaces and curly apostrophes, then, unless
    /// `strict`, those that Obsidian considers equal, and those that look so when they are rendered.
    ///
    /// # Errors
    /// [`PartError`].
    pub fn find_heading(
        &self,
        headings: &[Heading],
        wanted: &str,
        strict: bool,
    ) -> Result<usize, PartError> {
        match headings_named(headings, wanted, strict).as_slice() {
            [one] => Ok(*one),
            [] => {
                let parts: Vec<&str> = wanted.split(" > ").collect();
                let is_missing = |path: &str| headings_named(headings, path, strict).is_empty();
                // Of all of it, which is missing, the first part that is.
                let ends = 1..=parts.len();
                let mut paths = ends.map(|end| parts.part(..end).join(" > ")).zip(&parts);
                let missing = paths.find(|(path, _)| is_missing(path));
                Err(PartError::Missing(
                    missing.map_or(wanted, |(_, name)| name.trim()).to_owned(),
                    headings
                        .iter()
                        .map(|heading| (heading.lines.start + 1, heading.text.clone()))
                        .collect(),
                ))
            }
            several => {
                let shown = several.iter().filter_map(|number| headings.get(*number));
                Err(PartError::Several(
                    shown.map(|heading| (heading.lines.start + 1, heading.text.clone())).collect(),
                ))
            }
        }
    }

    /// The range of a heading's text, without markers; `None` if it spans several lines.
    pub fn heading_text(&self, headings: &[Heading], number: usize) -> Option<Range<usize>> {
        let heading = headings.get(number)?;
        let line = self.lines.get(heading.lines.start)?;
        // Lines that were joined to one text are not found.
        let start =
            line.content + self.text.part(line.content..line.range.end).find(&heading.text)?;
        Some(start..start + heading.text.len())
    }

    /// All blocks with an id, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let block_starts = self.block_starts();
        let mut blocks = Vec::new();
        // The first line of the current paragraph, or the line itself if it is in no paragraph.
        let mut first = 0;
        // The open list items: indentation and line of each.
        let mut items: Vec<(usize, usize)> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            first = if self.continues_paragraph(number) { first } else { number };
            let indent = columns(self.line(number));
            if matches!(line.kind, Kind::Item { .. }) {
                items.retain(|(outer, _)| *outer < indent);
                items.push((indent, number));
            }
            if !matches!(line.kind, Kind::Text | Kind::Item { .. }) {
                continue;
            }
            let content = self.text.part(line.content..line.range.end).trim_end();
            let Some((before, id)) = content.rsplit_once('^').filter(|(_, id)| is_block_id(id))
            else {
                continue;
            };
            let next = self.line(number + 1).trim_start();
            // A deeper quote, a heading and a thematic break end a paragraph.
            let ((depth, inner), (own_depth, _)) =
                (unquoted(next), unquoted(self.line(number).trim_start()));
            let ends = next.starts_with('^')
                || is_rule(inner)
                || heading(inner).is_some()
                || depth > own_depth;
            let continues = self.kind(number + 1) == Some(Kind::Text) && !ends;
            if before.trim().is_empty() && line.kind == Kind::Text && !self.closes(number) {
                let above = [1, 2]
                    .into_iter()
                    .filter_map(|back| number.checked_sub(back))
                    .find(|above| self.kind(*above) != Some(Kind::Blank));
                let is_part = |kind: Kind| {
                    !matches!(kind, Kind::Heading(_) | Kind::Frontmatter | Kind::Underline)
                };
                let Some(last) = above.filter(|above| self.kind(*above).is_some_and(is_part))
                else {
                    continue;
                };
                let start = block_starts.get(last).copied().unwrap_or(last);
                // An indented id belongs to the list item that it is indented under.
                let item = items
                    .iter()
                    .rev()
                    .find(|(outer, item)| *outer < indent && *item >= start)
                    .map(|(_, item)| *item);
                blocks.push(Block {
                    id: id.into(),
                    lines: item.unwrap_or(start)..last + 1,
                    id_line: Some(number),
                });
            } else if before.ends_with([' ', '\t']) && !continues {
                // A paragraph right below a list item, both quoted or both not, belongs to the
                // item; text behind a closing delimiter to what it closes.
                let is_of_item = line.kind == Kind::Text
                    && first > 0
                    && matches!(self.kind(first - 1), Some(Kind::Item { .. }))
                    && self.is_quote(first - 1) == self.is_quote(first);
                let is_of_opaque =
                    first > 0 && self.kind(first - 1) == Some(Kind::Opaque) && self.closes(first);
                let start = if is_of_opaque {
                    block_starts.get(first - 1).copied().unwrap_or(first)
                } else {
                    first - usize::from(is_of_item)
                };
                blocks.push(Block { id: id.into(), lines: start..number + 1, id_line: None });
            }
        }
        blocks
    }

    /// Whether a line belongs to the same paragraph as the one before. A quote ends a paragraph.
    fn continues_paragraph(&self, number: usize) -> bool {
        let is_text = |number| self.kind(number) == Some(Kind::Text);
        let before = number.checked_sub(1).filter(|before| is_text(*before) && is_text(number));
        before.is_some_and(|before| self.is_quote(before) || !self.is_quote(number))
    }

    /// For each line the first line of the quote, table, list, code or opaque block, or paragraph
    /// to which it belongs: a block id on the next line names everything from there.
    fn block_starts(&self) -> Vec<usize> {
        let mut starts: Vec<usize> = Vec::with_capacity(self.lines.len());
        // The first line of the current list.
        let mut list: Option<usize> = None;
        for (number, line) in self.lines.iter().enumerate() {
            let text = self.line(number).trim_start();
            let before = number.checked_sub(1);
            let kind_before = before.and_then(|before| self.kind(before));
            let continues =
                |is_same: bool| starts.last().copied().filter(|_| is_same).unwrap_or(number);
            let is_quote = self.is_quote(number);
            let is_lazy = line.kind == Kind::Text
                && matches!(kind_before, Some(Kind::Item { .. } | Kind::Text));
            let is_of_list =
                line.kind == Kind::Blank || self.line(number).starts_with([' ', '\t']) || is_lazy;
            list = match line.kind {
                _ if is_quote => None,
                Kind::Item { .. } => {
                    list.filter(|list| !self.begins_new_list(*list, number)).or(Some(number))
                }
                _ => list.filter(|_| is_of_list),
            };
            starts.push(match (list, before) {
                (Some(list), _) => list,
                _ if is_quote => continues(before.is_some_and(|before| self.is_quote(before))),
                (None, Some(header))
                    if line.kind == Kind::Text
                        && kind_before == Some(Kind::Text)
                        && is_delimiter_row(text) =>
                {
                    header
                }
                _ if kind_before == Some(Kind::Opaque) && self.closes(number) => continues(true),
                _ => continues(
                    matches!(line.kind, Kind::Text | Kind::Code | Kind::Opaque)
                        && kind_before == Some(line.kind)
                        && !line.opens,
                ),
            });
        }
        starts
    }

    fn is_quote(&self, number: usize) -> bool {
        self.line(number).trim_start().starts_with('>')
    }

    /// Whether a line of text begins with the end of a comment or of math: its content then starts
    /// after characters that are not quote markers.
    fn closes(&self, number: usize) -> bool {
        let line = self.lines.get(number).filter(|line| line.kind == Kind::Text);
        line.is_some_and(|line| {
            !self
                .text
                .part(line.range.start..line.content)
                .trim_matches(['>', ' ', '\t'])
                .is_empty()
        })
    }

    /// Whether a list item begins a new list after the one with the given first item: same
    /// indentation, but a different marker.
    fn begins_new_list(&self, first: usize, number: usize) -> bool {
        let marker = |line: &str| {
            line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).chars().next()
        };
        let (one, other) = (self.line(first), self.line(number));
        columns(one) == columns(other) && marker(one) != marker(other)
    }

    /// The block with an id, ignoring case. A list item comes with its children.
    ///
    /// # Errors
    /// [`PartError`].
    pub fn find_block(&self, id: &str) -> Result<Block, PartError> {
        let id = id.trim().trim_start_matches('^');
        let all = self.blocks();
        let found: Vec<&Block> =
            all.iter().filter(|block| block.id.eq_ignore_ascii_case(id)).collect();
        match found.as_slice() {
            [block] if block.id_line.is_none() => {
                let end = self.behind_children(&block.lines);
                Ok(Block { lines: block.lines.start..end, ..(*block).clone() })
            }
            [block] => Ok((*block).clone()),
            [] => Err(PartError::Missing(
                id.to_owned(),
                all.into_iter().map(|block| (block.lines.start + 1, block.id)).collect(),
            )),
            several => {
                let line = |block: &&Block| {
                    (block.lines.start + 1, self.line(block.lines.start).to_owned())
                };
                Err(PartError::Several(several.iter().map(line).collect()))
            }
        }
    }

    /// The line behind the last child of a list item; behind the block itself, if it is none.
    fn behind_children(&self, block: &Range<usize>) -> usize {
        let indent = |line: usize| columns(unquoted(self.line(line)).1);
        let is_item = matches!(self.kind(block.start), Some(Kind::Item { .. }));
        let below = (block.end..self.lines.len())
            .take_while(|_| is_item)
            .filter(|line| self.kind(*line) != Some(Kind::Blank));
        below
            .take_while(|line| indent(*line) > indent(block.start))
            .last()
            .map_or(block.end, |line| line + 1)
    }

    /// All tasks, in order.
    pub fn tasks(&self) -> Vec<Task> {
        let tasks = self.lines.iter().enumerate().filter_map(|(number, line)| {
            let Kind::Item { status: Some(status) } = line.kind else { return None };
            let marker = self.text.get(line.range.start..line.content)?;
            let at = line.range.start + marker.rfind(&format!("[{status}]"))? + 1;
            Some(Task {
                line: number,
                status,
                status_at: at..at + status.len_utf8(),
                content: line.content..line.range.end,
            })
        });
        tasks.collect()
    }
}

/// Whether a text is a valid block id.
fn is_block_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-')
}

/// The text of an ATX heading without its closing markers.
fn without_closing(content: &str) -> &str {
    let content = content.trim();
    let open = content.trim_end_matches('#');
    if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { content }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_html_and_tables_end_where_they_end() {
        for (text, expected) in [
            ("## A\n```md\n    ```\n```\n## B\n", &["A", "B"][..]),
            ("## A\npara\n    ```\nmore\n## B\n", &["A", "B"]),
            ("## A\n- ```\n  # no\n\n## B\n", &["A", "B"]),
            ("## A\n- x\n  ```\n  # no\n  ```\n## B\n", &["A", "B"]),
            ("## A\n> <!-- c\n\n## B\n", &["A", "B"]),
            ("## A\nx\n\nTitle | Site\n===\ny\n", &["A", "Title | Site"]),
            ("Title | Site\n---\ny\n", &["Title | Site"]),
            ("a | b\n--|--\nc | d\n---\n", &[]),
            (
                "<https://x.y>\n---\n<span>T</span> itle\n---\n",
                &["<https://x.y>", "<span>T</span> itle"],
            ),
            ("<div>\n# no\n\n# B\n", &["B"]),
            ("## A\n<pre>\n# x\n\n# y\n</pre>\n## B\n", &["A", "B"]),
            ("para\n    # no\nmore\n", &[]),
            ("- [ ] t\n\n  # no\n\n# B\n", &["B"]),
            ("***\nTitle\n---\n\n* * *\n---\n", &["Title"]),
            ("a | b\n--|--\nc | d\n===\n> quote\nTitle\n===\n", &[]),
            ("<!-- c -->\nTitle\n===\n", &["Title"]),
            ("<prefix> is text\n\n# A\n<styled>\n\n# B\n", &["A", "B"]),
            ("- a\n  <div>x</div>\n- b\n# H\n", &["H"]),
            ("> - a\n\n  ```\n# no\n  ```\n\n# H\n", &["H"]),
            ("-\ttext\n\t```\n\t# no\n# H\n", &["H"]),
            ("- a\n\t- b\n\t\t- c\n\t```\n\t# no\n\t```\n# B\n", &["B"]),
            ("- a\n    - b\n        - c\n        ```\n# not in it\n", &["not in it"]),
            ("- a\n---\nTitle\n===\n\n- a\n  - b\n\n   # no\n", &["Title"]),
        ] {
            let headings: Vec<String> =
                Note::of(text).headings().into_iter().map(|heading| heading.text).collect();
            assert_eq!(headings, expected, "{text:?}");
        }
    }

    #[test]
    fn headings_are_distinguished_from_similar_lines() {
        for (text, expected) in [
            (
                "\u{feff}---\r\na: b\r\n---\r\n# One ##\r\n```md\r\n## code\r\n````\r\n## \
                 Two\r\n<!--\r\n## no\r\n-->\r\n%%\n## hidden\n%%\n    ## set \
                 in\n#hashtag\n~~~\n```\n## still code\n~~~\n### C# ###\n## C#\n",
                [(1, "One"), (2, "Two"), (3, "C#"), (2, "C#")].as_slice(),
            ),
            (
                "Title\nmore\n===\n\n- item\n\n  para\n---\n\na | b\n--- | ---\n1 | \
                 2\n---\n\n<div>\n---\n\n$$\nx\n---\n$$\n- item\n---\n\nx `%%` y\n## \
                 A\nMine\n----\n> q\n---\n",
                &[(1, "Title more"), (2, "A"), (2, "Mine")],
            ),
        ] {
            let headings = Note::of(text).headings();
            assert_eq!(
                headings
                    .iter()
                    .map(|heading| (heading.level, heading.text.as_str()))
                    .collect::<Vec<_>>(),
                expected
            );
        }
    }

    #[test]
    fn headings_have_levels_lines_and_sections() {
        let text = "---\na: 1\n---\n# One #\nx\n\nTwo\nlines\n---\n### C#\n```\n# no\n```\n> # \
                    Quoted\n# Last";
        let note = Note::of(text);
        let headings = note.headings();
        let shown: Vec<_> = headings
            .iter()
            .map(|heading| (heading.level, heading.text.as_str(), heading.lines.clone()))
            .collect();
        assert_eq!(
            shown,
            [(1, "One", 3..4), (2, "Two lines", 6..9), (3, "C#", 9..10), (1, "Last", 14..15)]
        );
        assert_eq!(
            (
                note.section_end(&headings, 0),
                note.section_end(&headings, 1),
                note.section_end(&headings, 3)
            ),
            (14, 14, 15)
        );
    }

    #[test]
    fn headings_are_found_by_text_or_path_and_never_guessed() {
        let note = Note::of("# A\n## Log: day, one!\n# B\n## Log\n## Log\n### Deep\n# C > D");
        let headings = note.headings();
        let find = |wanted: &str| {
            note.find_heading(&headings, wanted, false).map(|number| headings[number].lines.start)
        };
        assert_eq!(find("log day  ONE"), Ok(1));
        assert_eq!(
            (find("A > Log: day, one"), find("B > Deep"), find("C > D"), find("## A")),
            (Ok(1), Ok(5), Ok(6), Ok(0))
        );
        assert_eq!(
            find("Log"),
            Err(PartError::Several(vec![(4, "Log".into()), (5, "Log".into())]))
        );
        assert!(
            matches!(find("A > Deep"), Err(PartError::Missing(missing, known)) if missing == "Deep" && known.len() == 7)
        );
        let note = Note::of("## C\n## C#\n## C++\n## ***\n");
        let headings = note.headings();
        let find = |wanted: &str, strict| {
            note.find_heading(&headings, wanted, strict)
                .map_err(|error| matches!(error, PartError::Several(_)))
        };
        assert_eq!(
            (find("C++", false), find("c#", true), find("C-", true), find("C!", false)),
            (Ok(2), Ok(1), Err(false), Err(true))
        );
        assert_eq!((find("...", false), find("***", false)), (Err(false), Ok(3)));
    }

    #[test]
    fn blocks_have_the_lines_to_which_their_id_belongs() {
        let text = "para\ngoes on ^p1\n\n- a\n- b ^b\n- c\n  more ^c-2\n\n| t |\n|---|\n| x \
                    |\n\n^table\n\n> quote\n^q\n\na^no ^no_\n`x` ^Last";
        let found: Vec<_> = Note::of(text)
            .blocks()
            .into_iter()
            .map(|block| (block.id, block.lines, block.id_line.is_some()))
            .collect();
        let expected = [
            ("p1", 0..2, false),
            ("b", 4..5, false),
            ("c-2", 5..7, false),
            ("table", 8..11, true),
            ("q", 14..15, true),
            ("Last", 17..19, false),
        ];
        assert_eq!(found, expected.map(|(id, lines, below)| (id.to_owned(), lines, below)));
        assert_eq!(Note::of(text).find_block("^LAST").unwrap().lines, 17..19);
        assert!(
            matches!(Note::of("a ^x\n\nb ^X").find_block("x"), Err(PartError::Several(lines)) if lines.len() == 2)
        );
    }

    #[test]
    fn tasks_are_list_items_with_a_box() {
        let text = "- [ ] a\n\t* [x] b [c]\n> 1. [ß] q\n```\n- [ ] no\n```\n- [] no\n%%\n- [ ] \
                    no\n%%\n- [[] d";
        let found: Vec<_> = Note::of(text)
            .tasks()
            .into_iter()
            .map(|task| (task.line, task.status, text[task.content].to_owned()))
            .collect();
        assert_eq!(
            found,
            [
                (0, ' ', "a".to_owned()),
                (1, 'x', "b [c]".into()),
                (2, 'ß', "q".into()),
                (10, '[', "d".into())
            ]
        );
        for task in Note::of(text).tasks() {
            assert_eq!(text[task.status_at].chars().next(), Some(task.status));
        }
    }
}
