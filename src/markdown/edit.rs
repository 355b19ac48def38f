//! Changing a text by replacing ranges of bytes.

use crate::slice::Part;
use std::ops::Range;

/// Text with a part of it replaced.
pub fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let (before, after) = (text.part(..range.start), text.part(range.end..));
    [before, new, after].concat()
}

/// Text that replaces a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

impl Edit {
    /// Applies the edit to a text.
    pub fn apply(&self, text: &str) -> String {
        splice(text, self.range.clone(), &self.text)
    }
}

/// Applies several edits, which must not overlap.
pub fn apply_all(text: &str, edits: &[Edit]) -> String {
    let mut in_order: Vec<&Edit> = edits.iter().collect();
    // An insertion comes before a replacement that begins at the same byte; insertions at one byte
    // keep their order.
    in_order.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut made, mut at) = (String::with_capacity(text.len()), 0);
    for edit in in_order {
        made.push_str(text.part(at..edit.range.start));
        made.push_str(&edit.text);
        at = edit.range.end;
    }
    made + text.part(at..)
}
