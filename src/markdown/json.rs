//! Positions in a JSON text, so that a link can be replaced and every other byte kept: order,
//! indentation, number formats, unknown members. The text must be valid JSON.

use crate::slice::Part;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;

/// The value that begins at or after `at`.
fn value_at<'a, T: Deserialize<'a>>(text: &'a str, at: usize) -> Option<T> {
    serde_json::Deserializer::from_str(text.get(at..)?).into_iter().next()?.ok()
}

/// The range of a value in the text that it was parsed from.
fn range_of(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

/// The ranges of the member values of the object that begins at or after `at`.
pub fn members(text: &str, at: usize) -> BTreeMap<String, Range<usize>> {
    let members: BTreeMap<String, &RawValue> = value_at(text, at).unwrap_or_default();
    members.into_iter().map(|(name, value)| (name, range_of(text, value))).collect()
}

/// The ranges of the elements of the array that begins at or after `at`.
pub fn elements(text: &str, at: usize) -> Vec<Range<usize>> {
    value_at::<Vec<&RawValue>>(text, at)
        .unwrap_or_default()
        .into_iter()
        .map(|value| range_of(text, value))
        .collect()
}

/// The range of a member value of the object that begins at or after `at`.
pub fn member(text: &str, at: usize, name: &str) -> Option<Range<usize>> {
    members(text, at).remove(name)
}

/// Where the outermost value begins, after a byte order mark and white space.
pub fn start(text: &str) -> usize {
    after_space(text, if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The offset of the first byte from `at` on that is not white space.
fn after_space(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().part(at..);
    at + rest
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        .unwrap_or(rest.len())
}
