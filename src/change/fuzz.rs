//! Checks of this module's internals for the fuzz targets (`tests/fuzz`). Compiled for them only.

#![allow(clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use crate::change::replace_text::{Replacement, replace};

/// Checks the replacement of one occurrence.
pub fn edit(text: &str, old: &str, new: &str) {
    let edit = Replacement { old, new, all: false };
    let Ok((edited, _)) = replace(text.as_bytes(), &edit) else { return };
    let edited = String::from_utf8(edited).expect("still UTF-8");
    // Both texts get the line endings of the file, which may mix several kinds.
    let plain = |text: &str| text.replace('\r', "");
    // A lone carriage return may become a line ending.
    let forms = |text: &str| [plain(text), text.replace("\r\n", "\n").replace('\r', "\n")];
    let before = plain(text);
    let is_replaced = |wanted: &str, new: &str| {
        // Occurrences may overlap.
        let mut found = (0..=before.len())
            .filter(|&at| before.get(at..).is_some_and(|rest| rest.starts_with(wanted)));
        found
            .any(|at| plain(&edited) == [&before[..at], new, &before[at + wanted.len()..]].concat())
    };
    assert!(
        forms(old).iter().any(|old| forms(new).iter().any(|new| is_replaced(old, new))),
        "{text:?} became {edited:?}"
    );
    let same = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let outside = same(&mut text.bytes(), &mut edited.bytes())
        + same(&mut text.bytes().rev(), &mut edited.bytes().rev());
    let replaced = plain(old).replace('\n', "\r\n").len() + old.matches('\r').count();
    assert!(outside + replaced >= text.len(), "{text:?} became {edited:?}");
}
