//! Replacing text in a file, one occurrence or all of them, with the line endings of the file.

use super::error::Error;
use crate::limits;
use crate::slice::Part;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// A text that replaces another.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// Replace every occurrence; otherwise there must be exactly one.
    pub all: bool,
}

/// The bytes with all occurrences replaced, and how many there were. The new text gets the line endings of the file.
pub(super) fn replace_all(bytes: &[u8], edit: &Replacement<'_>) -> Result<(Vec<u8>, usize), Error> {
    let plain = LfText::of(bytes);
    let wanted = edit.old.replace("\r\n", "\n");
    let (mut made, mut from, mut count) = (Vec::with_capacity(bytes.len()), 0, 0);
    let new = [None, Some(LineEnd::Lf), Some(LineEnd::CrLf)]
        .map(|ends| with_line_ends(edit.new, bytes, ends));
    let (mut until, mut ends) = line_end_at(bytes, 0);
    for at in memchr::memmem::find_iter(&plain.bytes, wanted.as_bytes()) {
        let range = plain.in_file(at)..plain.in_file(at + wanted.len());
        made.extend_from_slice(bytes.part(from..range.start));
        from = range.end;
        if range.start > until {
            (until, ends) = line_end_at(bytes, range.start);
        }
        let [as_it_is, lf, crlf] = &new;
        let own = match ends {
            None => as_it_is,
            Some(LineEnd::Lf) => lf,
            Some(LineEnd::CrLf) => crlf,
        };
        made.extend_from_slice(own.as_bytes());
        count += 1;
    }
    made.extend_from_slice(bytes.part(from..));
    if count > 0 {
        Ok((made, count))
    } else {
        Err(Error::TextNotFound(nearest_text(bytes, edit.old)))
    }
}

/// The bytes with the one occurrence of `old_text` replaced. CR LF and LF match each other, and the new text gets the line endings of
/// the file: CR LF or LF or, in a file with both, those at the replaced text.
pub(super) fn replace_once(bytes: &[u8], old_text: &str, new_text: &str) -> Result<Vec<u8>, Error> {
    // An occurrence that begins or ends between CR and LF is none; the text is then searched with line ends treated alike. A text that
    // begins with LF or ends with CR may have such occurrences, so their number is not trusted.
    let splits =
        |at: usize| at > 0 && bytes.get(at - 1) == Some(&b'\r') && bytes.get(at) == Some(&b'\n');
    let exact = occurrences(bytes, old_text.as_bytes());
    let range = match exact {
        Some((_, count))
            if count > 1 && !old_text.starts_with('\n') && !old_text.ends_with('\r') =>
        {
            return Err(Error::TextNotUnique(count));
        }
        Some((at, 1)) if !splits(at) && !splits(at + old_text.len()) => at..at + old_text.len(),
        _ => find_with_any_line_ends(bytes, old_text)?,
    };
    let new_text = with_line_ends(new_text, bytes, line_end_at(bytes, range.start).1);
    Ok([bytes.part(..range.start), new_text.as_bytes(), bytes.part(range.end..)].concat())
}

/// The bytes of a file in which every line ends with LF.
struct LfText {
    bytes: Vec<u8>,
    /// Where a line ending has lost its carriage return.
    ends: Vec<usize>,
}

impl LfText {
    fn of(bytes: &[u8]) -> LfText {
        let (mut plain, mut from) =
            (LfText { bytes: Vec::with_capacity(bytes.len()), ends: Vec::new() }, 0);
        for at in memchr::memmem::find_iter(bytes, b"\r\n") {
            plain.bytes.extend_from_slice(bytes.part(from..at));
            plain.ends.push(plain.bytes.len());
            from = at + 1;
        }
        plain.bytes.extend_from_slice(bytes.part(from..));
        plain
    }

    /// The offset in the file of an offset in these bytes; at a line ending, that of its first byte.
    fn in_file(&self, at: usize) -> usize {
        at + self.ends.partition_point(|&end| end < at)
    }
}

/// Where a text occurs if CR LF and LF are treated alike; the range never splits a CR LF.
fn find_with_any_line_ends(bytes: &[u8], text: &str) -> Result<Range<usize>, Error> {
    let plain = LfText::of(bytes);
    let wanted = text.replace("\r\n", "\n");
    match occurrences(&plain.bytes, wanted.as_bytes()) {
        None => Err(Error::TextNotFound(nearest_text(bytes, text))),
        Some((_, count)) if count > 1 => Err(Error::TextNotUnique(count)),
        Some((at, _)) => Ok(plain.in_file(at)..plain.in_file(at + wanted.len())),
    }
}

/// How lines end.
#[derive(Clone, Copy)]
enum LineEnd {
    Lf,
    CrLf,
}

/// The offset of the next line ending (`usize::MAX` if none follows), and its kind; if none follows, that of the last one.
fn line_end_at(bytes: &[u8], at: usize) -> (usize, Option<LineEnd>) {
    let next = bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|found| at + found);
    let end = next.or_else(|| memchr::memrchr(b'\n', bytes));
    let kind_at = |end: usize| {
        if end > 0 && bytes.get(end - 1) == Some(&b'\r') { LineEnd::CrLf } else { LineEnd::Lf }
    };
    (next.unwrap_or(usize::MAX), end.map(kind_at))
}

/// A text with the line endings of a file; `None` if the file has none.
fn with_line_ends(text: &str, bytes: &[u8], ends: Option<LineEnd>) -> String {
    let Some(ends) = ends else { return text.to_owned() };
    let lines = text.replace("\r\n", "\n");
    // A lone carriage return could become half of a CR LF; it is kept only if the file has such already.
    let has_lone = || memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'));
    let lines = if !lines.contains('\r') || has_lone() { lines } else { lines.replace('\r', "\n") };
    match ends {
        LineEnd::CrLf => lines.replace('\n', "\r\n"),
        LineEnd::Lf => lines,
    }
}

/// The first occurrence of a text and their number (counted up to [`limits::OCCURRENCES`]), overlapping ones included: `aa`
/// occurs twice in `aaa`, which is ambiguous.
fn occurrences(bytes: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let finder = memchr::memmem::Finder::new(text);
    let first = finder.find(bytes)?;
    // With repetitive text, each comparison may cover all of a long needle.
    let most = (limits::OCCURRENCE_BYTES / text.len().max(1)).clamp(2, limits::OCCURRENCES);
    let (mut count, mut from) = (1, first + 1);
    while count < most
        && let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest))
    {
        count += 1;
        from += found + 1;
    }
    Some((first, count))
}

/// A hint about the likely mistake, for the next attempt.
fn nearest_text(bytes: &[u8], old_text: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    if old_text.contains('\u{fffd}')
        && matches!(text, std::borrow::Cow::Owned(_))
        && text.contains(old_text)
    {
        return "It has U+FFFD where the file has bytes that are not UTF-8: choose a passage without them.".into();
    }
    let composed = |text: &str| text.nfc().collect::<String>();
    if !old_text.is_ascii() && composed(&text).contains(&composed(old_text)) {
        return "The file has it in another Unicode form (composed and decomposed letters look the same): copy it from a new read, or choose a passage without accents.".into();
    }
    let shown =
        |line: &str| line.trim().chars().take(limits::NEAREST_SHOWN_CHARS).collect::<String>();
    let plain = |text: &str| typed(text).map(|(_, c)| c).collect::<String>();
    let plain_text = plain(&text);
    let find = |wanted: &str| find_as_typed(&text, &plain_text, &plain(wanted));
    if let Some((number, found)) = find(old_text) {
        let found: String = found.chars().take(limits::AS_TYPED_CHARS).collect();
        return format!(
            "The file has it with other quotation marks, apostrophes, dashes, dots (such as ’ “ ” — …), white space or line breaks, from line {number} on. Copy it exactly:\n{found}"
        );
    }
    let first = old_text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if let Some((number, _)) = find(first) {
        return format!(
            "Its first line is in line {number}, but what follows differs: read from there and copy the text exactly."
        );
    }
    let wanted = sentences(first).max_by_key(|sentence| sentence.len()).unwrap_or_default();
    let likeness = |sentence: &str| strsim::sorensen_dice(&shown(sentence), &shown(wanted));
    let all = text
        .lines()
        .enumerate()
        .flat_map(|(number, line)| sentences(line).map(move |sentence| (number + 1, sentence)));
    let alike = all
        .take(limits::NEAREST_SENTENCES)
        .map(|(number, sentence)| (likeness(sentence), number, sentence));
    match alike
        .max_by(|(one, ..), (other, ..)| one.total_cmp(other))
        .filter(|(likeness, ..)| *likeness > 0.4)
    {
        Some((_, number, sentence)) => {
            format!(
                "The most similar is line {number}: \"{}\". Read the file again and copy the text exactly.",
                shown(sentence)
            )
        }
        None => "Read the file again; it may have changed.".into(),
    }
}

/// Where a file has a text: the line, and the passage as the file has it. `plain` is the file as it is [`typed`], and so is `wanted`.
fn find_as_typed<'t>(text: &'t str, plain: &str, wanted: &str) -> Option<(usize, &'t str)> {
    let at = plain.find(wanted).filter(|_| !wanted.is_empty())?;
    let mut found = typed(text)
        .skip(plain.part(..at).chars().count())
        .take(wanted.chars().count())
        .map(|(at, _)| at);
    let start = found.next()?;
    let last = found.last().unwrap_or(start);
    let end = last + text.get(last..)?.chars().next()?.len_utf8();
    Some((text.get(..start)?.matches('\n').count() + 1, text.get(start..end)?))
}

/// The characters of a text as they are typed, each with its offset: without white space, and without the quotation marks, dashes and dots
/// that word processors put in.
fn typed(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut last = ' ';
    text.char_indices().filter(|(_, c)| !c.is_whitespace()).flat_map(move |(at, c)| {
        let (plain, count) = match c {
            '‘' | '’' => ('\'', 1),
            '“' | '”' | '„' => ('"', 1),
            // Two or three hyphens are typed for a dash.
            '-' | '–' | '—' => ('-', usize::from(last != '-')),
            '…' => ('.', 3),
            c => (c, 1),
        };
        last = plain;
        std::iter::repeat_n((at, plain), count)
    })
}

/// The sentences of a line, which may be a whole paragraph, as far as their ends have white space behind them.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut last = ' ';
    line.split_inclusive(move |c: char| {
        let before = std::mem::replace(&mut last, c);
        c.is_whitespace() && matches!(before, '.' | '!' | '?' | '…')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> Result<String, Error> {
        replace_once(text.as_bytes(), old, new).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn one_occurrence_changes_and_nothing_else() {
        assert_eq!(edit("a\nb\nc", "b", "$1 \\0 &").unwrap(), "a\n$1 \\0 &\nc");
        assert_eq!(edit("a.c abc", "a.c", "x").unwrap(), "x abc", "never a pattern");
        assert_eq!(
            edit("\u{feff}a\r\nb\r\nc", "a\nb", "x\ny\nz").unwrap(),
            "\u{feff}x\r\ny\r\nz\r\nc"
        );
        assert_eq!(
            edit("a\r\nb\r\n", "b", "x\ny").unwrap(),
            "a\r\nx\r\ny\r\n",
            "the file keeps CRLF"
        );
        assert_eq!(edit("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny").unwrap(), "x\r\ny\r\nc\r\n");
        assert_eq!(
            edit("a\r\nb\n", "b", "x\ny").unwrap(),
            "a\r\nx\ny\n",
            "in a file of both kinds the line end at the replaced text counts"
        );
        assert_eq!(
            edit("a\r\nb\n", "a\r\nb", "q").unwrap(),
            "q\n",
            "an exact match is taken as it is"
        );
        assert_eq!(edit("keep", "keep", "").unwrap(), "");
        assert_eq!(
            edit("a\r\nb\r\nc\r\n", "\nb", "\nB").unwrap(),
            "a\r\nB\r\nc\r\n",
            "a line end is not split"
        );
        assert_eq!(edit("a\r\nb\r\nc\r\n", "\nb", "").unwrap(), "a\r\nc\r\n");
        assert_eq!(
            edit("a\r\nb\nc", "a\nb\nc", "x\ny").unwrap(),
            "x\r\ny",
            "line ends of both kinds are found"
        );
        assert_eq!(
            edit("a\nb\n", "a\r\nb", "x\r\ny").unwrap(),
            "x\ny\n",
            "a file with LF keeps it"
        );
        assert!(edit("a\r\nb", "a\r", "x").is_err(), "half of a line end");
        assert!(matches!(edit("x\r\ny\r\nx\r\ny", "x\ny", ""), Err(Error::TextNotUnique(2))));
    }

    #[test]
    fn all_occurrences_are_replaced_where_that_is_asked_for() {
        let all = |text: &str, old, new| {
            replace_all(text.as_bytes(), &Replacement { old, new, all: true })
                .map(|(bytes, count)| (String::from_utf8(bytes).unwrap(), count))
        };
        assert_eq!(all("a b a\n", "a", "$1").unwrap(), ("$1 b $1\n".into(), 2));
        assert_eq!(all("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n").unwrap(), ("c\r\nc\r\n".into(), 2));
        assert_eq!(all("a\nb\n", "a\r\nb", "c\r\nd").unwrap(), ("c\nd\n".into(), 1));
        assert_eq!(all("aaa", "aa", "a").unwrap(), ("aa".into(), 1));
        assert_eq!(
            all("a\r\nb\nc\n", "\n", " ").unwrap(),
            ("a b c ".into(), 3),
            "whole line ends of both kinds"
        );
        assert_eq!(all("a\r\nb\nx\na\nb\n", "a\nb", "q").unwrap(), ("q\nx\nq\n".into(), 2));
        assert!(all("abc", "x", "y").is_err());
    }

    /// Random texts and edits.
    #[test]
    fn the_line_endings_of_a_file_are_kept() {
        let mut random = crate::text::random::Random::new();
        for eol in ["\n", "\r\n"] {
            for _ in 0..5_000 {
                let mut any = |pieces: &[&str], count: usize| {
                    (0..random.below(count))
                        .map(|_| pieces[random.below(pieces.len())])
                        .collect::<String>()
                };
                let text = any(&["a", "b", eol, "ü"], 12);
                let (old, new) = (
                    any(&["a", "b", "\n", "\r\n", "\r", "ü"], 5),
                    any(&["x", "\n", "\r\n", "\r"], 5),
                );
                if old.is_empty() {
                    continue;
                }
                let Ok(edited) = edit(&text, &old, &new) else { continue };
                let others = edited.replace(eol, "").contains(['\r', '\n']);
                assert!(
                    !others || !text.contains('\n'),
                    "{text:?}: {old:?} to {new:?} gave {edited:?}"
                );
                // Outside the replaced text nothing changes.
                let lines = |text: &str| text.replace("\r\n", "\n");
                if text.contains('\n') {
                    let wanted =
                        lines(&text).replacen(&lines(&old), &lines(&new).replace('\r', "\n"), 1);
                    assert_eq!(lines(&edited), wanted, "{text:?}: {old:?} to {new:?}");
                }
            }
        }
    }

    #[test]
    fn a_text_that_is_missing_or_ambiguous_changes_nothing() {
        assert!(matches!(edit("aaa", "aa", "b"), Err(Error::TextNotUnique(2))));
        assert!(matches!(edit("x x x", "x", "b"), Err(Error::TextNotUnique(3))));
        assert!(matches!(edit("a\nb\na\nb\n", "\nb", ""), Err(Error::TextNotUnique(2))));
        let Err(Error::TextNotFound(hint)) = edit("one  two", "one two", "") else { panic!() };
        assert!(hint.contains("white space"), "{hint}");
        for (text, old, word) in [
            ("cafe\u{301} au lait", "café au", "Unicode form"),
            ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "Unicode form"),
        ] {
            let Err(Error::TextNotFound(hint)) = edit(text, old, "") else { panic!("{text}") };
            assert!(hint.contains(word), "{hint}");
        }
        let Err(Error::TextNotFound(hint)) = replace_once(b"caf\xe9 au lait", "caf\u{fffd} au", "")
        else {
            panic!()
        };
        assert!(hint.contains("not UTF-8"), "{hint}");
        let Err(Error::TextNotFound(hint)) = edit("a\nfirst\nother", "first\nsecond", "") else {
            panic!()
        };
        assert!(hint.contains("line 2"), "{hint}");
        let Err(Error::TextNotFound(hint)) =
            edit("a\nThe boiler is old.\n", "The boiler was old.", "")
        else {
            panic!()
        };
        assert!(hint.contains("most similar is line 2: \"The boiler is old.\""), "{hint}");
    }

    #[test]
    fn many_occurrences_are_replaced_in_one_pass() {
        let edit = Replacement { old: "a", new: "b\n", all: true };
        for (bytes, expected) in [
            (b"a\n".repeat(500_000), b"b\n\n".repeat(500_000)),
            (b"a".repeat(500_000), b"b\n".repeat(500_000)),
        ] {
            let started = std::time::Instant::now();
            let made = replace_all(&bytes, &edit).unwrap();
            assert!(
                made == (expected, 500_000)
                    && started.elapsed() < std::time::Duration::from_secs(2),
                "{:?}",
                started.elapsed()
            );
        }
        let mixed = Replacement { old: "x", new: "1\n2", all: true };
        assert_eq!(replace_all(b"x\r\nx\nx", &mixed).unwrap().0, b"1\r\n2\r\n1\n2\n1\n2");
    }
}
