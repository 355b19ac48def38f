//! A text kept in memory for search: folded, since that is what is searched, with the changes
//! needed to restore the original. Most of a text is the same in both forms, so this takes a tenth
//! more than the text alone, not twice as much.

use super::fold::{clusters, is_mark, push_cluster};
use crate::slice::Part;
use std::ops::Range;
use std::sync::Arc;

/// A folded text, with the changes that restore its original. A clone shares both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    folded: Arc<str>,
    /// The changes, in order. Each begins with the number of bytes since the previous one (in the
    /// folded text), as a varint. Then 0 for an ASCII capital; else the folded length plus one,
    /// the original length, and the original bytes.
    changes: Arc<[u8]>,
    /// Characters of the original.
    chars: u32,
}

impl Kept {
    /// Folds a text and records the changes.
    pub fn of(original: &str) -> Kept {
        let mut folded = String::with_capacity(original.len());
        let mut changes = Vec::new();
        let mut last = 0;
        if original.is_ascii() {
            folded.push_str(original);
            folded.make_ascii_lowercase();
            for (at, _) in
                original.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase())
            {
                push_number(&mut changes, at - last);
                changes.push(0);
                last = at + 1;
            }
        } else {
            for (at, length) in clusters(original) {
                let cluster = original.part(at..at + length);
                let before = folded.len();
                push_cluster(&mut folded, cluster);
                if folded.get(before..) == Some(cluster) {
                    continue;
                }
                push_number(&mut changes, before - last);
                if let [b'A'..=b'Z'] = cluster.as_bytes() {
                    changes.push(0);
                } else {
                    push_number(&mut changes, folded.len() - before + 1);
                    push_number(&mut changes, length);
                    changes.extend_from_slice(cluster.as_bytes());
                }
                last = folded.len();
            }
        }
        let chars = u32::try_from(original.chars().count()).unwrap_or(u32::MAX);
        Kept { folded: folded.into(), changes: changes.into(), chars }
    }

    /// The folded text.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// The number of characters in the original.
    pub fn chars(&self) -> usize {
        self.chars as usize
    }

    /// The original text.
    pub fn original(&self) -> String {
        self.part(0..usize::MAX).1
    }

    /// What folding has changed, in order: each range of the folded text, and its original; `None`
    /// for an ASCII capital.
    fn changes(&self) -> impl Iterator<Item = (Range<usize>, Option<&str>)> {
        let (mut at, mut rest) = (0, &*self.changes);
        std::iter::from_fn(move || {
            let start = at + take_number(&mut rest)?;
            let length = take_number(&mut rest)?;
            if length == 0 {
                at = start + 1;
                return Some((start..at, None));
            }
            let original_length = take_number(&mut rest)?;
            let (original, after) = rest.split_at_checked(original_length)?;
            (at, rest) = (start + length - 1, after);
            // It is UTF-8: it was copied from a string.
            Some((start..at, std::str::from_utf8(original).ok()))
        })
    }

    /// The original of a range of the folded text, and where in the folded text that original
    /// begins: before the range, if its first character is a changed one that the range splits.
    pub fn part(&self, wanted: Range<usize>) -> (usize, String) {
        let wanted = wanted.start..wanted.end.min(self.folded.len());
        let mut original = String::with_capacity(wanted.len() + 16);
        let (mut begins, mut at) = (wanted.start, 0);
        let unchanged = |from: usize, to: usize| {
            let from = from.max(wanted.start);
            self.folded.part(from..to.min(wanted.end).max(from))
        };
        for (changed, written) in
            self.changes().take_while(|(changed, _)| changed.start <= wanted.end)
        {
            original.push_str(unchanged(at, changed.start));
            at = changed.end;
            if at <= wanted.start {
                continue;
            }
            begins = begins.min(changed.start);
            match written {
                Some(written) => original.push_str(written),
                None => original
                    .extend(self.folded.part(changed).chars().map(|c| c.to_ascii_uppercase())),
            }
        }
        original.push_str(unchanged(at, wanted.end));
        (begins, original)
    }

    /// The original of a line, without its end; lines are numbered from 0. Folding keeps line
    /// breaks.
    pub fn line(&self, number: usize) -> Option<String> {
        let mut breaks = memchr::memchr_iter(b'\n', self.folded.as_bytes());
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => breaks.nth(before)? + 1,
        };
        Some(self.part(start..breaks.next().unwrap_or(self.folded.len())).1)
    }

    /// The mapping of offsets back to the original.
    pub fn offsets(&self) -> Offsets {
        let (mut end, mut original_end) = (0, 0);
        let map = |(changed, written): (Range<usize>, Option<&str>)| {
            let start = original_end + changed.start - end;
            (end, original_end) = (changed.end, start + written.map_or(1, str::len));
            (changed, start..original_end)
        };
        Offsets(
            self.changes()
                .map(map)
                .filter(|(changed, original)| changed.len() != original.len())
                .collect(),
        )
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        (self.folded.len() + self.changes.len()) as u64
    }
}

/// The parts of a text that folding has made longer or shorter, in order: each range of the folded
/// text, and that of the original.
pub struct Offsets(Vec<(Range<usize>, Range<usize>)>);

impl Offsets {
    /// The range of the original that a match in the folded text covers; whole characters with
    /// their combining marks, which composition may have reordered.
    pub fn original_range(&self, original: &str, from: usize, to: usize) -> (usize, usize) {
        let is_mark = |at: usize| {
            original.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_mark)
        };
        let mut start = self.original_offset(from).start.min(original.len());
        while !original.is_char_boundary(start) || start > 0 && is_mark(start) {
            start -= 1;
        }
        let mut end = self.original_offset(to).end.clamp(start, original.len());
        while !original.is_char_boundary(end) || from < to && is_mark(end) {
            end += 1;
        }
        (start, end)
    }

    /// The original offset of a folded one; within one of the parts, its start and end.
    fn original_offset(&self, folded: usize) -> Range<usize> {
        let before = self.0.partition_point(|(changed, _)| changed.start < folded);
        match before.checked_sub(1).and_then(|last| self.0.get(last)) {
            None => folded..folded,
            Some((changed, original)) if folded < changed.end => original.clone(),
            Some((changed, original)) => {
                let at = original.end + folded - changed.end;
                at..at
            }
        }
    }
}

/// Appends a number as a varint (LEB128): seven bits per byte, lowest first; the highest bit says
/// that more follow.
pub(crate) fn push_number(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Takes a number written by [`push_number`]; `None` at the end.
#[inline]
pub(crate) fn take_number(from: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fold::fold;
    use crate::text::random::Random;

    fn found(text: &str, query: &str) -> Option<String> {
        let kept = Kept::of(text);
        let query = fold(query);
        let at = kept.folded().find(&query)?;
        let (from, to) = kept.offsets().original_range(text, at, at + query.len());
        Some(text[from..to].to_owned())
    }

    #[test]
    fn a_match_is_shown_as_it_stands_in_the_text() {
        for (text, query, expected) in [
            ("The MQTT broker", "mqtt", "MQTT"),
            ("Auf der Straße nach Süden", "STRASSE", "Straße"),
            ("Auf der Straße nach Süden", "süden", "Süden"),
            ("İstanbul ve Ankara", "ankara", "Ankara"),
            ("300 \u{212a} is cold", "300 k is", "300 \u{212a} is"),
            ("\u{212a}\u{212a}\u{212a} end", "end", "end"),
            ("ΟΔΟΣ οδός", "οδος", "ΟΔΟΣ"),
            ("ẞ ß", "ss ss", "ẞ ß"),
            ("emoji 🎻 Cello", "🎻 cello", "🎻 Cello"),
            ("a Cre\u{300}me here", "cr\u{e8}me", "Cre\u{300}me"),
            ("a Cr\u{e8}me here", "cre\u{300}me", "Cr\u{e8}me"),
            ("Cre\u{300}me bru\u{302}le\u{301}e, then", "then", "then"),
            ("ｎｇｉｎｘの変数", "nginx", "ｎｇｉｎｘ"),
            ("NGINX ２", "ｎｇｉｎｘ 2", "NGINX ２"),
        ] {
            assert_eq!(found(text, query).as_deref(), Some(expected), "{text} / {query}");
        }
        assert_eq!(
            found("x \u{1112}\u{116c}\u{110b}\u{1174}\u{1105}\u{1169}\u{11a8} y", "회의")
                .as_deref(),
            Some("\u{1112}\u{116c}\u{110b}\u{1174}")
        );
    }

    #[test]
    fn a_letter_with_an_accent_is_another_letter_in_both_forms() {
        assert_eq!(found("cafe\u{301}", "cafe"), None);
        assert_eq!(found("caf\u{e9}", "cafe"), None);
    }

    /// Found by the fuzz target `fold`: the two marks are reordered, and only one of them was in
    /// the range.
    #[test]
    fn a_match_includes_its_combining_marks() {
        assert_eq!(found("x \u{e5}\u{328} y", "x \u{105}").as_deref(), Some("x \u{e5}\u{328}"));
        assert_eq!(found("q\u{301}z", "q").as_deref(), Some("q\u{301}"));
        assert_eq!(found("q\u{301}z", "\u{301}z").as_deref(), Some("q\u{301}z"));
        // One letter that becomes two in composed form.
        assert_eq!(found("x\u{fa7}y", "\u{fb7}").as_deref(), Some("\u{fa7}"));
    }

    #[test]
    fn every_range_maps_to_whole_characters() {
        let text = "aİb\u{212a}cßdẞeÅfe\u{301}g";
        let kept = Kept::of(text);
        let length = kept.folded().len();
        for from in 0..=length {
            for to in from..=length {
                let (start, end) = kept.offsets().original_range(text, from, to);
                assert!(text.get(start..end).is_some(), "{from}..{to} -> {start}..{end}");
            }
        }
    }

    #[test]
    fn unchanged_text_costs_nothing() {
        for text in ["already small 🎻 été", "plain ascii"] {
            assert_eq!(Kept::of(text).bytes(), text.len() as u64, "{text}");
        }
    }

    #[test]
    fn the_original_comes_back_byte_for_byte() {
        let long = format!("{}A{}Ü", "x".repeat(300), "y".repeat(20_000));
        for text in [
            "",
            "plain",
            "A",
            "The QUICK brown",
            "Straße ẞ ß",
            "İstanbul \u{212a}",
            "Cre\u{300}me BRU\u{302}LE\u{301}E",
            "ΟΔΟΣ οδός",
            "🎻 Cello 🎻",
            "\u{feff}Mark\r\nlines\r\n",
            "\u{301}at the start",
            "a\u{301}\u{302}\u{303}B",
            &long,
        ] {
            let kept = Kept::of(text);
            assert_eq!(kept.original(), text);
            assert_eq!(kept.folded(), fold(text));
        }
    }

    /// Random texts of difficult letters.
    #[test]
    fn any_text_comes_back() {
        let letters: Vec<char> = "aAbBßẞİıKk\u{212a}éÉe\u{301}\u{302}Σσςǅﬁ \
                                  🎻\n.Ω\u{2126}가\u{1100}\u{1161}"
            .chars()
            .collect();
        let mut random = Random::new();
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(12)).map(|_| letters[random.below(letters.len())]).collect();
            let kept = Kept::of(&text);
            assert_eq!(kept.original(), text);
            assert_eq!(kept.folded(), fold(&text));
        }
    }
}
