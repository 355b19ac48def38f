//! A text kept for search: folded, since that is what is searched, and what it takes to have the original back. Most of a
//! text is the same in both, so this is a tenth more than the text alone, and not twice as much.

use super::fold::{clusters, push_cluster};

/// The text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    folded: Box<str>,
    /// What was changed, in order. Each begins with the bytes since the one before (in the folded text), as a number of seven
    /// bits a byte. Then 0 for an ASCII capital; or one more than the folded bytes, the original bytes, and those themselves.
    changes: Box<[u8]>,
}

impl Kept {
    pub(super) fn of(original: &str) -> Kept {
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
                let cluster = original.get(at..at + length).unwrap_or_default();
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
        Kept { folded: folded.into_boxed_str(), changes: changes.into_boxed_slice() }
    }

    /// The folded text.
    pub(super) fn folded(&self) -> &str {
        &self.folded
    }

    /// The text as it was.
    pub(super) fn original(&self) -> String {
        let mut original = String::with_capacity(self.folded.len() + 16);
        let (mut at, mut rest) = (0, &*self.changes);
        while let Some(gap) = take_number(&mut rest) {
            original.push_str(self.folded.get(at..at + gap).unwrap_or_default());
            at += gap;
            match take_number(&mut rest) {
                Some(0) | None => {
                    original.push_str(&self.folded.get(at..at + 1).unwrap_or_default().to_ascii_uppercase());
                    at += 1;
                }
                Some(more) => {
                    let length = take_number(&mut rest).unwrap_or(0);
                    let (bytes, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    // They were a text when they were put there.
                    original.push_str(std::str::from_utf8(bytes).unwrap_or_default());
                    rest = after;
                    at += more - 1;
                }
            }
        }
        original.push_str(self.folded.get(at..).unwrap_or_default());
        original
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> u64 {
        (self.folded.len() + self.changes.len()) as u64
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn push_number(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn take_number(from: &mut &[u8]) -> Option<usize> {
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
    use super::super::fold::fold;
    use super::*;

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

    /// Texts by chance, of letters that are hard.
    #[test]
    fn any_text_comes_back() {
        let letters: Vec<char> = "aAbBßẞİıKk\u{212a}éÉe\u{301}\u{302}Σσςǅﬁ 🎻\n.Ω\u{2126}가\u{1100}\u{1161}".chars().collect();
        let mut random = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            let next = |random: &mut u64| {
                *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*random >> 33) as usize
            };
            for _ in 0..next(&mut random) % 12 {
                text.push(letters[next(&mut random) % letters.len()]);
            }
            let kept = Kept::of(&text);
            assert_eq!(kept.original(), text);
            assert_eq!(kept.folded(), fold(&text));
        }
    }
}
