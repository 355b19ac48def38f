//! A text kept in memory for search: folded, since that is what is searched, with the changes needed to restore the original. Most
//! of a text is the same in both forms, so this takes a tenth more than the text alone, not twice as much.

use super::fold::{clusters, push_cluster};
use crate::slice::Part;
use std::ops::Range;

/// The text.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    folded: Box<str>,
    /// The changes, in order. Each begins with the number of bytes since the previous one (in the folded text), as a varint. Then
    /// 0 for an ASCII capital; else the folded length plus one, the original length, and the original bytes.
    changes: Box<[u8]>,
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
            for (at, _) in original.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase()) {
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
        Kept { folded: folded.into_boxed_str(), changes: changes.into_boxed_slice(), chars }
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

    /// The original of a range of the folded text, in whole characters; and where the range then begins: changed characters are
    /// not split.
    pub fn part(&self, wanted: Range<usize>) -> (usize, String) {
        let wanted = wanted.start..wanted.end.min(self.folded.len());
        let mut original = String::with_capacity(wanted.len() + 16);
        let mut begins = wanted.start;
        let (mut at, mut rest) = (0, &*self.changes);
        let unchanged = |from: usize, to: usize| {
            let from = from.max(wanted.start);
            self.folded.part(from..to.min(wanted.end).max(from))
        };
        while let Some(gap) = take_number(&mut rest) {
            let change = at + gap;
            original.push_str(unchanged(at, change));
            if change > wanted.end {
                return (begins, original);
            }
            let (length, bytes) = match take_number(&mut rest) {
                Some(0) | None => (1, None),
                Some(more) => {
                    let length = take_number(&mut rest).unwrap_or(0);
                    let (bytes, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    rest = after;
                    (more - 1, Some(bytes))
                }
            };
            at = change + length;
            if at <= wanted.start && at > 0 {
                continue;
            }
            begins = begins.min(change);
            match bytes {
                // They are UTF-8, as they were copied from a string.
                Some(bytes) => original.push_str(std::str::from_utf8(bytes).unwrap_or_default()),
                None => original.push_str(&self.folded.part(change..at).to_ascii_uppercase()),
            }
        }
        original.push_str(unchanged(at, wanted.end));
        (begins, original)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        (self.folded.len() + self.changes.len()) as u64
    }
}

/// Appends a number as a varint (LEB128): seven bits per byte, lowest first; the highest bit says that more follow.
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
        let letters: Vec<char> = "aAbBßẞİıKk\u{212a}éÉe\u{301}\u{302}Σσςǅﬁ 🎻\n.Ω\u{2126}가\u{1100}\u{1161}".chars().collect();
        let mut random = Random::new();
        for _ in 0..20_000 {
            let text: String = (0..random.below(12)).map(|_| letters[random.below(letters.len())]).collect();
            let kept = Kept::of(&text);
            assert_eq!(kept.original(), text);
            assert_eq!(kept.folded(), fold(&text));
        }
    }
}
