//! Positions in a JSON text, so that one value can be replaced and every other byte kept: order, indentation, the way in which
//! numbers are written, members that are unknown here. The text is one that a JSON parser has accepted.

use super::properties::splice;
use crate::slice::Part;
use std::collections::HashSet;
use std::ops::Range;

/// A member of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name, with the quotes.
    pub name: Range<usize>,
    pub value: Range<usize>,
}

/// The members of the object that begins at or after `at`.
pub fn members(text: &str, at: usize) -> Vec<Member> {
    let mut members = Vec::new();
    let mut at = space(text, at) + 1;
    loop {
        at = space(text, at);
        if byte(text, at) != Some(b'"') {
            return members;
        }
        let name = at..end(text, at);
        let start = space(text, space(text, name.end) + 1);
        let value = start..end(text, start);
        at = space(text, value.end);
        members.push(Member { name, value });
        if byte(text, at) != Some(b',') {
            return members;
        }
        at += 1;
    }
}

/// The elements of the array that begins at or after `at`.
pub fn elements(text: &str, at: usize) -> Vec<Range<usize>> {
    let mut elements = Vec::new();
    let mut at = space(text, at) + 1;
    loop {
        at = space(text, at);
        if matches!(byte(text, at), None | Some(b']')) {
            return elements;
        }
        let element = at..end(text, at);
        at = space(text, element.end);
        elements.push(element);
        if byte(text, at) != Some(b',') {
            return elements;
        }
        at += 1;
    }
}

/// The value of a member of the object that begins at `at`.
pub fn member(text: &str, at: usize, name: &str) -> Option<Range<usize>> {
    let wanted = serde_json::Value::String(name.to_owned());
    let named =
        |member: &Member| text.get(member.name.clone()).is_some_and(|found| serde_json::from_str(found).ok().as_ref() == Some(&wanted));
    members(text, at).into_iter().find(named).map(|member| member.value)
}

/// An array without some of its elements.
pub fn without(text: &str, array: usize, numbers: &[usize]) -> String {
    let all = elements(text, array);
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return text.to_owned() };
    let gone: HashSet<usize> = numbers.iter().copied().collect();
    let mut kept = String::new();
    let mut before: Option<usize> = None;
    for (number, element) in all.iter().enumerate().filter(|(number, _)| !gone.contains(number)) {
        // What stands in front of it comes along, comma included; the first that stays has what the first one had.
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

/// An array with one more element at its end, written like those that are there. `like` is an element of this or a
/// neighbouring array, if there is one.
pub fn with_element(text: &str, array: usize, like: Option<Range<usize>>, members: &[(&str, String)]) -> String {
    let all = elements(text, array);
    let lead = |at: usize| text.part(at..space(text, at));
    match (all.first(), all.last()) {
        (Some(_), Some(last)) => {
            let lead = all.len().checked_sub(2).and_then(|before| all.get(before)).map_or_else(
                || lead(array + 1),
                // Between two of them, after the comma.
                |before| lead(space(text, before.end) + 1),
            );
            let element = written(text, Some(last.clone()), lead, members);
            splice(text, last.end..last.end, &format!(",{lead}{element}"))
        }
        _ => {
            let outer = start(text);
            let unit = lead(outer + 1);
            let end = space(text, array + 1);
            let (open, close) = if unit.contains('\n') {
                let indent = unit.rsplit('\n').next().unwrap_or_default();
                (format!("{unit}{indent}"), unit.to_owned())
            } else {
                (String::new(), String::new())
            };
            let element = written(text, like, &open, members);
            splice(text, array + 1..end, &format!("{open}{element}{close}"))
        }
    }
}

/// An object in the style of another one; without one, in one line if the text's colons have no space after them (as
/// Obsidian writes) or it has no lines at all.
fn written(text: &str, like: Option<Range<usize>>, lead: &str, new: &[(&str, String)]) -> String {
    let sample = like.map(|like| (like.clone(), members(text, like.start)));
    let gap = |from: usize, to: usize| text.part(from..to);
    let (open, colon, comma, close) = match sample.as_ref().and_then(|(like, members)| Some((like, members, members.first()?))) {
        Some((like, members, first)) => {
            let comma = members.get(1).map_or(",", |second| gap(first.value.end, second.name.start));
            let last = members.last().unwrap_or(first);
            (
                gap(like.start + 1, first.name.start).to_owned(),
                gap(first.name.end, first.value.start),
                comma.to_owned(),
                gap(last.value.end, like.end - 1).to_owned(),
            )
        }
        None => {
            let outer = members(text, start(text));
            let colon = outer.first().map_or(":", |member| gap(member.name.end, member.value.start));
            let unit = lead.rsplit('\n').next().unwrap_or_default();
            if colon.len() > 1 && lead.contains('\n') {
                let inner = format!("{lead}{}", unit.part(unit.len() / 2..));
                (inner.clone(), colon, format!(",{inner}"), lead.to_owned())
            } else {
                (String::new(), colon, if colon.len() > 1 { ", ".to_owned() } else { ",".to_owned() }, String::new())
            }
        }
    };
    let members: Vec<String> = new.iter().map(|(name, value)| format!("\"{name}\"{colon}{value}")).collect();
    format!("{{{open}{}{close}}}", members.join(&comma))
}

/// An object with another value for a member, which is added where it is missing.
pub fn with_member(text: &str, object: usize, name: &str, value: &str) -> String {
    if let Some(range) = member(text, object, name) {
        return splice(text, range, value);
    }
    let all = members(text, object);
    match (all.first(), all.last()) {
        (Some(first), Some(last)) => {
            let colon = text.get(first.name.end..first.value.start).unwrap_or(":");
            let lead = text.part(object + 1..first.name.start);
            let lead = if lead.is_empty() {
                // What stands after the comma, which need not follow the value at once.
                all.get(1).and_then(|second| text.get(space(text, first.value.end) + 1..second.name.start)).unwrap_or_default()
            } else {
                lead
            };
            splice(text, last.value.end..last.value.end, &format!(",{lead}\"{name}\"{colon}{value}"))
        }
        _ => splice(text, object + 1..object + 1, &format!("\"{name}\":{value}")),
    }
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// Where the outermost value begins, after a byte order mark and white space.
pub fn start(text: &str) -> usize {
    space(text, if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The first byte from `at` on that is not white space.
pub fn space(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().part(at..);
    at + rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).unwrap_or(rest.len())
}

/// The end of the value that begins at `at`.
fn end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in bytes.part(at..).iter().enumerate() {
        let position = at + offset;
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return position + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return position,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return position + 1;
                }
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return position,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(text: &str) -> usize {
        member(text, 0, "nodes").unwrap().start
    }

    /// Found by the fuzz target `canvas`: the style of a text is read behind its byte order mark.
    #[test]
    fn a_text_with_a_byte_order_mark_keeps_its_style() {
        let added = with_element("\u{feff}{\n\t\"nodes\": []\n}", 15, None, &[("id", "1".into())]);
        assert_eq!(added, "\u{feff}{\n\t\"nodes\": [\n\t\t{\n\t\t\t\"id\": 1\n\t\t}\n\t]\n}");
    }

    /// Found by the fuzz target `canvas`.
    #[test]
    fn a_comma_in_a_line_of_its_own_is_kept_once() {
        let text = "{\"id\":\"a\"\n\t,\"color\":\"1\"}";
        assert_eq!(with_member(text, 0, "x", "5"), "{\"id\":\"a\"\n\t,\"color\":\"1\",\"x\":5}");
    }

    #[test]
    fn elements_are_added_in_the_style_of_the_text() {
        let new = [("id", "\"b\"".to_owned()), ("x", "1".to_owned())];
        for (before, after) in [
            (
                "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"x\":0}\n\t],\n\t\"edges\":[]\n}",
                "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"x\":0},\n\t\t{\"id\":\"b\",\"x\":1}\n\t],\n\t\"edges\":[]\n}",
            ),
            (
                "{\n  \"nodes\": [\n    {\n      \"id\": \"a\",\n      \"x\": 0\n    }\n  ]\n}\n",
                "{\n  \"nodes\": [\n    {\n      \"id\": \"a\",\n      \"x\": 0\n    },\n    {\n      \"id\": \"b\",\n      \"x\": 1\n    }\n  ]\n}\n",
            ),
            ("{\n  \"nodes\": []\n}", "{\n  \"nodes\": [\n    {\n      \"id\": \"b\",\n      \"x\": 1\n    }\n  ]\n}"),
            ("{\n\t\"nodes\":[]\n}", "{\n\t\"nodes\":[\n\t\t{\"id\":\"b\",\"x\":1}\n\t]\n}"),
            ("{\"nodes\":[]}", "{\"nodes\":[{\"id\":\"b\",\"x\":1}]}"),
            (
                "{\"nodes\": [{\"id\": \"a\", \"x\": 0}, {\"id\": \"c\", \"x\": 0}]}",
                "{\"nodes\": [{\"id\": \"a\", \"x\": 0}, {\"id\": \"c\", \"x\": 0}, {\"id\": \"b\", \"x\": 1}]}",
            ),
        ] {
            assert_eq!(with_element(before, array(before), None, &new), after, "{before}");
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
        assert_eq!(with_member(text, 0, "y", "7"), text.replace("2}\n", "2},\n\t\"y\" : 7\n"));
        assert_eq!(with_member("{}", 0, "y", "7"), "{\"y\":7}");
        assert_eq!(with_member("{\"a\":1, \"b\":2}", 0, "y", "7"), "{\"a\":1, \"b\":2, \"y\":7}");
    }
}
