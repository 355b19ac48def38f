//! Checks of this module's internals for the fuzz targets (`tests/fuzz`). Compiled for them only.

#![allow(clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use crate::text::fold::fold;
use crate::text::kept::Kept;
use crate::text::words::indexed_words;

/// Checks folding, and the mapping back to the original.
pub fn folding(text: &str) {
    let folded = fold(text);
    let kept = Kept::of(text);
    assert_eq!(kept.folded(), folded);
    assert_eq!(kept.original(), text);
    let ends: Vec<usize> =
        (0..=folded.len()).filter(|&at| folded.is_char_boundary(at)).take(24).collect();
    for (number, &from) in ends.iter().enumerate() {
        for &to in ends.iter().skip(number) {
            let (start, end) = kept.offsets().original_range(text, from, to);
            let original = text.get(start..end).expect("whole characters");
            assert!(
                fold(original).contains(&folded[from..to]) || !is_plain(original),
                "{original:?} for {:?}",
                &folded[from..to]
            );
        }
    }
    let words: Vec<&str> = indexed_words(&folded).collect();
    for pair in ends.windows(5) {
        let mut parts = indexed_words(&folded[pair[0]..pair[4]]);
        assert!(
            parts.all(|part| words.iter().any(|word| word.contains(part))),
            "the word index misses a part of a text"
        );
    }
}

/// Whether no character of the text combines with the one before it.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_ascii()
            || c.is_alphabetic() && unicode_normalization::char::canonical_combining_class(c) == 0
    }) && crate::text::fold::clusters(text)
        .all(|(at, length)| text[at..at + length].chars().count() == 1)
}
