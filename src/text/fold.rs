//! Case folding for search.
//!
//! Strings are compared in composed form (NFC), because macOS writes "é" as two characters and
//! people type it as one.

use crate::slice::Part;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Folds a string whose original is not needed: queries, names, tags.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    clusters(text).for_each(|(at, length)| push_cluster(&mut folded, text.part(at..at + length)));
    folded
}

/// Start and length of each character with the following ones that may be composed with it:
/// combining marks and joining letters (the vowels and finals of decomposed Hangul, vowel signs of
/// Indic scripts).
pub fn clusters(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.next()?;
        let mut end = start + first.len_utf8();
        while let Some((_, next)) = rest.next_if(|(_, next)| may_join(*next)) {
            end += next.len_utf8();
        }
        Some((start, end - start))
    })
}

/// Whether a character is in composed form: `Maybe` for one that may be composed with the one
/// before it, and `No` for one with another form (Unicode, `NFC_QC`).
fn quick_check(c: char) -> IsNormalized {
    if c.is_ascii() { IsNormalized::Yes } else { is_nfc_quick(std::iter::once(c)) }
}

/// Whether a character may be composed with the one before it.
pub(crate) fn may_join(c: char) -> bool {
    is_mark(c) || quick_check(c) == IsNormalized::Maybe
}

pub(super) fn is_mark(c: char) -> bool {
    !c.is_ascii() && canonical_combining_class(c) != 0
}

/// Folds one of [`clusters`] and adds it.
pub(crate) fn push_cluster(folded: &mut String, cluster: &str) {
    let mut chars = cluster.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) if quick_check(only) == IsNormalized::Yes => push_folded(folded, only),
        _ => {
            // Again, since some letters are composed in lower case alone: J with a caron.
            let mut parts = String::with_capacity(cluster.len());
            cluster.nfc().for_each(|c| push_folded(&mut parts, c));
            folded.extend(parts.nfc());
        }
    }
}

/// Unicode lower case, except for four letters that would not match their capitals: ß and ẞ become
/// `ss` (so that STRASSE finds Straße), the Greek final sigma becomes σ, and the Turkish İ becomes
/// i, without a dot that would divide the word. Curly apostrophes become straight ones and no-break
/// spaces common ones, as they are typed; Arabic and Persian digits, and full-width letters and
/// signs, as Japanese keyboards have them, become those of ASCII.
fn push_folded(folded: &mut String, c: char) {
    match c {
        'A'..='Z' => folded.push(c.to_ascii_lowercase()),
        '\0'..='\x7f' => folded.push(c),
        'ß' | 'ẞ' => folded.push_str("ss"),
        'ς' => folded.push('σ'),
        'İ' => folded.push('i'),
        // As other programs write İ in lower case.
        '\u{307}' if folded.ends_with('i') => {}
        // Their last four bits are the number.
        '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => {
            folded.push(char::from(b'0' + (u32::from(c) & 15) as u8))
        }
        '‘' | '’' => folded.push('\''),
        '\u{a0}' | '\u{202f}' => folded.push(' '),
        '\u{ff01}'..='\u{ff5e}' => push_folded(folded, char::from((u32::from(c) - 0xfee0) as u8)),
        _ => folded.extend(c.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let (composed, decomposed): (String, String) =
                (text.nfc().collect(), text.nfd().collect());
            assert_eq!(fold(&decomposed), fold(&composed), "{text}");
            assert_eq!(fold(text), fold(&composed), "{text}");
        }
        assert_eq!(fold("İ"), fold("i\u{307}"));
        // Every character that has another form, and every pair of letters that joins.
        for c in ('\0'..='\u{2fa1d}').filter(|c| !c.is_ascii()) {
            let (composed, decomposed): (String, String) =
                (std::iter::once(c).nfc().collect(), std::iter::once(c).nfd().collect());
            assert_eq!(fold(&decomposed), fold(&composed), "{:04x}", c as u32);
            assert_eq!(fold(&c.to_string()), fold(&composed), "{:04x}", c as u32);
        }
    }
}
