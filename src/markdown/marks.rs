//! The markers in one line: of quotes, lists, fences, headings, tables, comments, math and raw
//! elements.

/// The number of a line's quote markers, and the line without them.
pub(super) fn unquoted(line: &str) -> (usize, &str) {
    let (mut quotes, mut rest) = (0, line);
    let indented = |rest: &'_ str| rest.starts_with(' ') && columns(rest) < 4;
    while let Some(inner) = rest
        .strip_prefix('>')
        .or_else(|| rest.trim_start_matches(' ').strip_prefix('>').filter(|_| indented(rest)))
    {
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
pub(super) fn fence(line: &str, indent: usize) -> Option<(char, usize, usize)> {
    // A list item may begin with one.
    let (width, line) = item(line, indent).map_or((0, line), |item| (item.width, item.content));
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    // A line that begins with three backticks and contains more of them is inline code.
    let info = line.get(length..)?;
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length, width))
}

/// Whether a line, without indentation, closes a fence.
pub(super) fn closes_fence(line: &str, mark: char, length: usize) -> bool {
    let run = line.chars().take_while(|&c| c == mark).count();
    run >= length && line.chars().skip(run).all(char::is_whitespace)
}

/// Whether a line has an odd number of a delimiter outside code spans.
pub(super) fn is_odd(line: &str, mark: &str) -> bool {
    line.contains(mark)
        && line.split('`').step_by(2).map(|part| part.matches(mark).count()).sum::<usize>() % 2 == 1
}

/// Whether a line may be the delimiter row of a table.
pub(super) fn is_delimiter_row(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.chars().all(|c| "|-: \t".contains(c))
}

/// The number of cells in a table row.
pub(super) fn cells(row: &str) -> usize {
    let row = row.trim().replace("\\|", "");
    let row = row.strip_prefix('|').unwrap_or(&row);
    row.strip_suffix('|').unwrap_or(row).split('|').count()
}

/// The closing delimiter of the comment, math or raw-text element that a line opens, if it is not
/// on the same line.
pub(super) fn unclosed(line: &str) -> Option<&'static str> {
    let marks = [
        ("<!--", "-->"),
        ("%%", "%%"),
        ("$$", "$$"),
        ("<pre", "</pre>"),
        ("<script", "</script>"),
        ("<style", "</style>"),
    ];
    marks.into_iter().find_map(|(opening, closing)| {
        let inner = line.strip_prefix(opening)?;
        // The element's name must end there.
        let is_whole = !opening.ends_with(char::is_alphabetic)
            || inner.is_empty()
            || inner.starts_with([' ', '\t', '>']);
        (is_whole && !inner.contains(closing)).then_some(closing)
    })
}

/// Level and text of an ATX heading.
pub fn heading(line: &str) -> Option<(u8, &str)> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    let title = line.get(level..)?;
    let is_heading =
        (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then_some((level as u8, title.trim_start()))
}

/// The level of the setext heading that a line may underline.
pub(super) fn underline(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let all = |mark: char| line.chars().all(|c| c == mark);
    if all('=') { Some(1) } else { all('-').then_some(2) }
}

/// Whether a list item can interrupt a paragraph: not if it is empty, or numbered other than 1
/// (CommonMark, "List items").
pub(super) fn can_interrupt_paragraph(item: &str) -> bool {
    let (marker, rest) = item.split_once([' ', '\t']).unwrap_or((item, ""));
    let number = marker.strip_suffix(['.', ')']).and_then(|number| number.parse().ok());
    !rest.trim().is_empty() && number.is_none_or(|number: u32| number == 1)
}

/// The first line of a list item.
pub(super) struct ListItem<'a> {
    /// The width of the marker with the white space after it.
    pub(super) width: usize,
    /// The character in the checkbox.
    pub(super) status: Option<char>,
    /// The text after marker and checkbox.
    pub(super) content: &'a str,
}

/// The list item that a line, without indentation, begins.
pub(super) fn item(line: &str, indent: usize) -> Option<ListItem<'_>> {
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
            return Some(ListItem { width, status: Some(status), content: rest.trim_start() });
        }
    }
    Some(ListItem { width, status: None, content: inner })
}

/// Whether a line is a thematic break.
pub(super) fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    marks.clone().all(|c| c == first) && marks.count() >= 2
}
