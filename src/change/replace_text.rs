//! Replacing text in a file, one occurrence or all of them, with the line endings of the file.

use crate::limits;
use crate::slice::Part;
use crate::vault::error::Error;

/// Characters shown of a text that the file has in another form, for a caller to copy.
const AS_TYPED_CHARS: usize = 2_000;
/// Bytes compared while occurrences are counted.
const OCCURRENCE_BYTES: usize = 16 * 1024 * 1024;

/// A text that replaces another.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// Replace every occurrence; otherwise there must be exactly one.
    pub all: bool,
}

/// The bytes with the one occurrence of a text replaced, or with all, and how many there were. The
/// text is searched as it is, and with the line ends of the file, which the new text gets.
pub(crate) fn replace(bytes: &[u8], edit: &Replacement<'_>) -> Result<(Vec<u8>, usize), Error> {
    let ends = line_ends_of(bytes);
    let with_ends = |text: &str, ends: LineEnds| match ends {
        LineEnds::None => text.to_owned(),
        LineEnds::Lf => text.replace("\r\n", "\n"),
        LineEnds::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
    };
    // With the line ends of the file first: one of them alone would be split.
    let forms =
        [with_ends(edit.old, ends), edit.old.to_owned(), with_ends(edit.old, LineEnds::CrLf)];
    let occurring = forms.iter().find_map(|old| Some((old, occurrences(bytes, old.as_bytes())?)));
    let Some((old, (first, count))) = occurring else {
        return Err(Error::TextNotFound(nearest_text(bytes, edit.old)));
    };
    let of_old = if old.contains('\n') { line_ends_of(old.as_bytes()) } else { ends };
    let new = with_ends(edit.new, of_old);
    if !edit.all {
        let after = bytes.part(first + old.len()..);
        return match count {
            1 => Ok(([bytes.part(..first), new.as_bytes(), after].concat(), 1)),
            several => Err(Error::TextNotUnique(several)),
        };
    }
    let all = memchr::memmem::find_iter(bytes, old.as_bytes()).count();
    let longer = all.saturating_mul(new.len().saturating_sub(old.len()));
    if bytes.len().saturating_add(longer) as u64 > limits::NOTE_BYTES {
        return Err(Error::Invalid(format!(
            "With {all} replacements the file would be too large; {} MB are allowed.",
            limits::NOTE_BYTES >> 20
        )));
    }
    let (mut made, mut from, mut count) = (Vec::with_capacity(bytes.len()), 0, 0);
    for at in memchr::memmem::find_iter(bytes, old.as_bytes()) {
        made.extend_from_slice(bytes.part(from..at));
        made.extend_from_slice(new.as_bytes());
        from = at + old.len();
        count += 1;
    }
    made.extend_from_slice(bytes.part(from..));
    Ok((made, count))
}

/// How the lines of a text end.
#[derive(Clone, Copy)]
enum LineEnds {
    None,
    Lf,
    CrLf,
}

/// As the first line ends.
fn line_ends_of(bytes: &[u8]) -> LineEnds {
    match memchr::memchr(b'\n', bytes) {
        None => LineEnds::None,
        Some(at) if at > 0 && bytes.get(at - 1) == Some(&b'\r') => LineEnds::CrLf,
        Some(_) => LineEnds::Lf,
    }
}

/// The first occurrence of a text and their number (counted up to [`limits::OCCURRENCES`]),
/// overlapping ones included: `aa` occurs twice in `aaa`, which is ambiguous.
fn occurrences(bytes: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let finder = memchr::memmem::Finder::new(text);
    let first = finder.find(bytes)?;
    // With repetitive text, each comparison may cover all of a long needle.
    let most = (OCCURRENCE_BYTES / text.len().max(1)).clamp(2, limits::OCCURRENCES);
    let (mut count, mut from) = (1, first + 1);
    while count < most
        && let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest))
    {
        count += 1;
        from += found + 1;
    }
    Some((first, count))
}

/// What to copy, where the file has the text with the signs of a word processor.
fn nearest_text(bytes: &[u8], old_text: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain = |text: &str| typed(text).map(|(_, c)| c).collect::<String>();
    match find_as_typed(&text, &plain(&text), &plain(old_text)) {
        Some((number, found)) => {
            let found: String = found.chars().take(AS_TYPED_CHARS).collect();
            format!(
                "The file has it with other quotation marks, apostrophes, dashes, dots (such as ’ \
                 “ ” — …), white space or line breaks, from line {number} on. Copy it \
                 exactly:\n{found}"
            )
        }
        None => "Read the file again; it may have changed.".into(),
    }
}

/// Where a file has a text: the line, and the passage as the file has it. `plain` is the file as it
/// is [`typed`], and so is `wanted`.
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

/// The characters of a text as they are typed, each with its offset: without white space, and
/// without the quotation marks, dashes and dots that word processors put in.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> Result<String, Error> {
        let edit = Replacement { old, new, all: false };
        replace(text.as_bytes(), &edit).map(|(bytes, _)| String::from_utf8(bytes).unwrap())
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
            "a\r\nx\r\ny\n",
            "a file of both kinds has that of its first line"
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
            edit("a\nb\n", "a\r\nb", "x\r\ny").unwrap(),
            "x\ny\n",
            "a file with LF keeps it"
        );
        assert!(matches!(edit("x\r\ny\r\nx\r\ny", "x\ny", ""), Err(Error::TextNotUnique(2))));
    }

    #[test]
    fn all_occurrences_are_replaced_where_that_is_asked_for() {
        let all = |text: &str, old, new| {
            replace(text.as_bytes(), &Replacement { old, new, all: true })
                .map(|(bytes, count)| (String::from_utf8(bytes).unwrap(), count))
        };
        assert_eq!(all("a b a\n", "a", "$1").unwrap(), ("$1 b $1\n".into(), 2));
        assert_eq!(all("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n").unwrap(), ("c\r\nc\r\n".into(), 2));
        assert_eq!(all("a\nb\n", "a\r\nb", "c\r\nd").unwrap(), ("c\nd\n".into(), 1));
        assert_eq!(all("aaa", "aa", "a").unwrap(), ("aa".into(), 1));
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
                let (old, new) =
                    (any(&["a", "b", "\n", "\r\n", "ü"], 5), any(&["x", "\n", "\r\n"], 5));
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
                    let wanted = lines(&text).replacen(&lines(&old), &lines(&new), 1);
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
        for (text, old) in [
            ("a\nfirst\nother", "first\nsecond"),
            ("a\nThe boiler is old.\n", "The boiler was old."),
        ] {
            let Err(Error::TextNotFound(hint)) = edit(text, old, "") else { panic!("{text}") };
            assert!(hint.starts_with("Read the file again"), "{hint}");
        }
    }

    #[test]
    fn many_occurrences_are_replaced_in_one_pass() {
        let edit = Replacement { old: "a", new: "b\n", all: true };
        for (bytes, expected) in [
            (b"a\n".repeat(500_000), b"b\n\n".repeat(500_000)),
            (b"a".repeat(500_000), b"b\n".repeat(500_000)),
        ] {
            let started = std::time::Instant::now();
            let made = replace(&bytes, &edit).unwrap();
            assert!(
                made == (expected, 500_000)
                    && started.elapsed() < std::time::Duration::from_secs(2),
                "{:?}",
                started.elapsed()
            );
        }
        let mixed = Replacement { old: "x", new: "1\n2", all: true };
        assert_eq!(replace(b"x\r\nx\nx", &mixed).unwrap().0, b"1\r\n2\r\n1\r\n2\n1\r\n2");
    }
}
