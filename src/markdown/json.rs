//! Positions in a JSON text, so that one value can be replaced and every other byte kept: order,
//! indentation, number formats, unknown members. The text must be valid JSON.

use super::edit::splice;
use crate::slice::Part;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};
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

/// The text with some elements of an array removed, given by index. `array` is the offset of its
/// opening bracket.
pub fn without(text: &str, array: usize, numbers: &[usize]) -> String {
    let all = elements(text, array);
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return text.to_owned() };
    let gone: HashSet<usize> = numbers.iter().copied().collect();
    let mut kept = String::new();
    let mut before: Option<usize> = None;
    for (number, element) in all.iter().enumerate().filter(|(number, _)| !gone.contains(number)) {
        // Each element keeps the separator before it, except the first that is kept.
        let from = match (before, number.checked_sub(1).and_then(|above| all.get(above))) {
            (Some(_), Some(above)) => above.end,
            _ => element.start,
        };
        kept.push_str(text.part(from..element.end));
        before = Some(number);
    }
    let start = if before.is_some() { first.start } else { array + 1 };
    splice(text, start..last.end, &kept)
}

/// The text with an object appended to an array that is a member of the outermost object, on one
/// line as Obsidian writes it. `array` is the offset of its opening bracket.
pub fn with_element(text: &str, array: usize, members: &[(&str, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let element = format!("{{{}}}", members.join(","));
    let lead = text.part(array + 1..after_space(text, array + 1));
    match elements(text, array).last() {
        Some(last) => splice(text, last.end..last.end, &format!(",{lead}{element}")),
        None => {
            let outer = start(text);
            let unit = text.part(outer + 1..after_space(text, outer + 1));
            let indent = unit.rsplit_once('\n').map_or("", |(_, indent)| indent);
            splice(
                text,
                array + 1..array + 1 + lead.len(),
                &format!("{unit}{indent}{element}{unit}"),
            )
        }
    }
}

/// The text with a member of an object set to a value, added if it is missing. `object` is the
/// offset of its opening brace.
pub fn with_member(text: &str, object: usize, name: &str, value: &str) -> String {
    let all = members(text, object);
    if let Some(range) = all.get(name) {
        return splice(text, range.clone(), value);
    }
    match all.values().map(|range| range.end).max() {
        Some(end) => {
            let lead = text.part(object + 1..after_space(text, object + 1));
            splice(text, end..end, &format!(",{lead}\"{name}\":{value}"))
        }
        None => splice(text, object + 1..object + 1, &format!("\"{name}\":{value}")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn array(text: &str) -> usize {
        member(text, 0, "nodes").unwrap().start
    }

    #[test]
    fn an_element_is_added_behind_a_byte_order_mark() {
        let added = with_element("\u{feff}{\n\t\"nodes\": []\n}", 15, &[("id", "1".into())]);
        assert_eq!(added, "\u{feff}{\n\t\"nodes\": [\n\t\t{\"id\":1}\n\t]\n}");
    }

    /// Found by the fuzz target `canvas`.
    #[test]
    fn a_comma_in_a_line_of_its_own_is_kept_once() {
        let text = "{\"id\":\"a\"\n\t,\"color\":\"1\"}";
        assert_eq!(with_member(text, 0, "x", "5"), "{\"id\":\"a\"\n\t,\"color\":\"1\",\"x\":5}");
    }

    #[test]
    fn elements_are_added_in_lines_of_their_own_where_there_are_lines() {
        let new = [("id", "\"b\"".to_owned()), ("x", "1".to_owned())];
        for (before, after) in [
            (
                "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"x\":0}\n\t],\n\t\"edges\":[]\n}",
                "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"x\":0},\n\t\t{\"id\":\"b\",\"x\":1}\n\t],\n\t\"edges\":[]\n}",
            ),
            (
                "{\n  \"nodes\": [\n    {\n      \"id\": \"a\",\n      \"x\": 0\n    }\n  ]\n}\n",
                "{\n  \"nodes\": [\n    {\n      \"id\": \"a\",\n      \"x\": 0\n    },\n    {\"id\":\"b\",\"x\":1}\n  ]\n}\n",
            ),
            ("{\n  \"nodes\": []\n}", "{\n  \"nodes\": [\n    {\"id\":\"b\",\"x\":1}\n  ]\n}"),
            ("{\n\t\"nodes\":[]\n}", "{\n\t\"nodes\":[\n\t\t{\"id\":\"b\",\"x\":1}\n\t]\n}"),
            ("{\"nodes\":[]}", "{\"nodes\":[{\"id\":\"b\",\"x\":1}]}"),
        ] {
            assert_eq!(with_element(before, array(before), &new), after, "{before}");
        }
    }

    #[test]
    fn elements_go_and_the_rest_stays() {
        let text = "{\"nodes\": [ {\"a\": \"]},\"},\n {\"b\": [1]}, 3 , 4\n]}";
        for (numbers, after) in [
            (&[0][..], "{\"nodes\": [ {\"b\": [1]}, 3 , 4\n]}"),
            (&[1], "{\"nodes\": [ {\"a\": \"]},\"}, 3 , 4\n]}"),
            (&[3], "{\"nodes\": [ {\"a\": \"]},\"},\n {\"b\": [1]}, 3\n]}"),
            (&[2, 3], "{\"nodes\": [ {\"a\": \"]},\"},\n {\"b\": [1]}\n]}"),
            (&[0, 2], "{\"nodes\": [ {\"b\": [1]} , 4\n]}"),
            (&[0, 1, 2, 3], "{\"nodes\": [\n]}"),
        ] {
            assert_eq!(without(text, array(text), numbers), after, "{numbers:?}");
        }
    }

    #[test]
    fn members_are_replaced_or_added() {
        let text = "{\n\t\"x\" : 1.50,\n\t\"n\\u0061me\": {\"x\": 2}\n}";
        assert_eq!(with_member(text, 0, "x", "7"), text.replace("1.50", "7"));
        assert_eq!(with_member(text, 0, "name", "7"), text.replace("{\"x\": 2}", "7"));
        assert_eq!(with_member(text, 0, "y", "7"), text.replace("2}\n", "2},\n\t\"y\":7\n"));
        assert_eq!(with_member("{}", 0, "y", "7"), "{\"y\":7}");
        assert_eq!(with_member("{\"a\":1, \"b\":2}", 0, "y", "7"), "{\"a\":1, \"b\":2,\"y\":7}");
    }
}
