//! Case folding for search, and mapping a match in the folded text back to the original.
//!
//! Strings are compared in composed form (NFC), because macOS writes "é" as two characters and people type it as one.

use crate::slice::Part;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose};

/// A text folded for comparison without case.
#[derive(Debug, Clone)]
pub struct Folded {
    /// `None` if folding changes nothing: then the original is used, without a second copy.
    text: Option<Box<str>>,
    /// Alternating starts and ends of what folding made longer or shorter: (offset in the folded text, offset in the original).
    shifts: Box<[(u32, u32)]>,
}

impl Folded {
    /// Folds a text.
    pub fn of(original: &str) -> Folded {
        if original.is_ascii() {
            let changes = original.bytes().any(|byte| byte.is_ascii_uppercase());
            let text = changes.then(|| original.to_ascii_lowercase().into_boxed_str());
            return Folded { text, shifts: Box::default() };
        }
        let mut text = String::with_capacity(original.len() + 8);
        let mut shifts = Vec::new();
        for (at, length) in clusters(original) {
            let before = text.len();
            push_cluster(&mut text, original.part(at..at + length));
            if text.len() - before != length {
                shifts.push((before as u32, at as u32));
                shifts.push((text.len() as u32, (at + length) as u32));
            }
        }
        let same = text == original;
        Folded { text: (!same).then(|| text.into_boxed_str()), shifts: shifts.into_boxed_slice() }
    }

    /// The folded text.
    pub fn text<'a>(&'a self, original: &'a str) -> &'a str {
        self.text.as_deref().unwrap_or(original)
    }

    /// The range of the original that a match in the folded text covers; whole characters with their combining marks, which
    /// composition may have reordered.
    pub fn original_range(&self, original: &str, from: usize, to: usize) -> (usize, usize) {
        let is_mark = |at: usize| original.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_mark);
        let mut start = self.original_offsets(from).start.min(original.len());
        while !original.is_char_boundary(start) || start > 0 && is_mark(start) {
            start -= 1;
        }
        let mut end = self.original_offsets(to).end.clamp(start, original.len());
        while !original.is_char_boundary(end) || from < to && is_mark(end) {
            end += 1;
        }
        (start, end)
    }

    /// The original offset of a folded one; within a part that folding made longer or shorter, the start and end of that part.
    fn original_offsets(&self, folded: usize) -> Range<usize> {
        let after = self.shifts.partition_point(|(at, _)| *at as usize <= folded);
        let (base_folded, base_original) = after.checked_sub(1).and_then(|last| self.shifts.get(last)).copied().unwrap_or((0, 0));
        let (base_folded, base_original) = (base_folded as usize, base_original as usize);
        match self.shifts.get(after) {
            // Shifts come in pairs of a start and an end.
            Some((_, end)) if after % 2 == 1 && folded > base_folded => base_original..*end as usize,
            _ => base_original + (folded - base_folded)..base_original + (folded - base_folded),
        }
    }
}

/// Folds a string whose original is not needed: queries, names, tags.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    clusters(text).for_each(|(at, length)| push_cluster(&mut folded, text.part(at..at + length)));
    folded
}

/// Start and length of each character with the following ones that are composed with it: combining marks and joining letters (the
/// vowels and finals of decomposed Hangul, vowel signs of Indic scripts).
pub fn clusters(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.next()?;
        let (mut end, mut composed) = (start + first.len_utf8(), first);
        while let Some((_, next)) = rest.next_if(|(_, next)| {
            if is_mark(*next) {
                return true;
            }
            let joined = if may_join(*next) { compose(composed, *next) } else { None };
            composed = joined.unwrap_or(composed);
            joined.is_some()
        }) {
            end += next.len_utf8();
        }
        Some((start, end - start))
    })
}

/// Whether a character that is not a combining mark may be composed with the one before it (Unicode, `NFC_QC=Maybe`).
fn may_join(c: char) -> bool {
    matches!(c, '\u{9be}'..='\u{ddf}' | '\u{102e}' | '\u{1161}'..='\u{11c2}' | '\u{1b35}' | '\u{11000}'..='\u{11fff}' | '\u{16100}'..='\u{16dff}')
}

/// Whether NFC may change a single character: ranges that contain all of Unicode's `NFC_QC=No`.
fn has_other_form(c: char) -> bool {
    matches!(c,
        '\u{340}'..='\u{344}' | '\u{374}' | '\u{37e}' | '\u{387}' | '\u{958}'..='\u{fb9}' | '\u{1f71}'..='\u{1ffd}'
        | '\u{2000}' | '\u{2001}' | '\u{2126}'..='\u{212b}' | '\u{2329}' | '\u{232a}' | '\u{2adc}' | '\u{f900}'..='\u{fb4e}'
        | '\u{1d15e}'..='\u{1d1c0}' | '\u{2f800}'..='\u{2fa1d}')
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && canonical_combining_class(c) != 0
}

/// Folds one of [`clusters`] and adds it.
pub(crate) fn push_cluster(folded: &mut String, cluster: &str) {
    let mut chars = cluster.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) if !has_other_form(only) => push_folded(folded, only),
        _ => cluster.nfc().for_each(|c| push_folded(folded, c)),
    }
}

/// Unicode lower case, except for three letters that would not match their capitals: ß and ẞ become `ss` (so that STRASSE finds
/// Straße), and the Greek final sigma becomes σ.
fn push_folded(folded: &mut String, c: char) {
    match c {
        'A'..='Z' => folded.push(c.to_ascii_lowercase()),
        '\0'..='\x7f' => folded.push(c),
        'ß' | 'ẞ' => folded.push_str("ss"),
        'ς' => folded.push('σ'),
        _ => folded.extend(c.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, query: &str) -> Option<String> {
        let folded = Folded::of(text);
        let query = fold(query);
        let at = folded.text(text).find(&query)?;
        let (from, to) = folded.original_range(text, at, at + query.len());
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
        ] {
            assert_eq!(found(text, query).as_deref(), Some(expected), "{text} / {query}");
        }
    }

    #[test]
    fn texts_that_are_canonically_equivalent_fold_to_the_same() {
        for text in [
            "회의록",
            "회의",
            "கொ",
            "Tiếng Việt",
            "ύ \u{1f7b}",
            "\u{2126}\u{212b}\u{2000}x",
            "क़",
            "\u{f900}\u{fb1d}",
            "ñandú",
            "가각힣",
            "\u{11131}\u{11127}",
        ] {
            let (composed, decomposed): (String, String) = (text.nfc().collect(), text.nfd().collect());
            assert_eq!(fold(&decomposed), fold(&composed), "{text}");
            assert_eq!(fold(text), fold(&composed), "{text}");
        }
        // Every character that has another form, and every pair of letters that joins.
        for c in ('\0'..='\u{2fa1d}').filter(|c| !c.is_ascii()) {
            let (composed, decomposed): (String, String) = (std::iter::once(c).nfc().collect(), std::iter::once(c).nfd().collect());
            assert_eq!(fold(&decomposed), fold(&composed), "{:04x}", c as u32);
            assert_eq!(fold(&c.to_string()), fold(&composed), "{:04x}", c as u32);
        }
        assert_eq!(
            found("x \u{1112}\u{116c}\u{110b}\u{1174}\u{1105}\u{1169}\u{11a8} y", "회의").as_deref(),
            Some("\u{1112}\u{116c}\u{110b}\u{1174}")
        );
    }

    #[test]
    fn a_letter_with_an_accent_is_another_letter_in_both_forms() {
        assert_eq!(found("cafe\u{301}", "cafe"), None);
        assert_eq!(found("caf\u{e9}", "cafe"), None);
    }

    /// Found by the fuzz target `fold`: the two marks are reordered, and only one of them was in the range.
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
        let folded = Folded::of(text);
        let length = folded.text(text).len();
        for from in 0..=length {
            for to in from..=length {
                let (start, end) = folded.original_range(text, from, to);
                assert!(text.get(start..end).is_some(), "{from}..{to} -> {start}..{end}");
            }
        }
    }

    #[test]
    fn unchanged_text_costs_nothing() {
        assert!(Folded::of("already small, größer 🎻").text.is_some(), "ß changes");
        assert!(Folded::of("already small 🎻 été").text.is_none());
        assert!(Folded::of("plain ascii").text.is_none());
    }
}
