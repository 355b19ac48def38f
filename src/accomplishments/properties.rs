//! One property of a note's frontmatter replaced, and every other byte kept: comments, order, quotes, line ends. What
//! was made is parsed again, and if it says anything but what was meant, it is not used.

use super::markdown::line_end;
use crate::markdown::frontmatter;
use crate::yaml;
use serde_yaml::{Mapping, Value};
use std::ops::Range;

/// A value for a property.
#[derive(Debug, Clone, Copy)]
pub(super) enum New<'a> {
    /// A text.
    Text(&'a str),
    /// True or false.
    Flag(bool),
    /// A list of texts.
    List(&'a [String]),
}

impl New<'_> {
    fn value(self) -> Value {
        match self {
            New::Text(text) => Value::String(text.to_owned()),
            New::Flag(truth) => Value::Bool(truth),
            New::List(items) => Value::Sequence(items.iter().map(|item| Value::String(item.clone())).collect()),
        }
    }

    /// In YAML, in one line.
    pub(super) fn yaml(self) -> String {
        match self {
            New::Text(text) => scalar(text, None),
            New::Flag(truth) => truth.to_string(),
            New::List(items) => format!("[{}]", items.iter().map(|item| scalar(item, None)).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// The frontmatter of a note as values.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parse(text: &str) -> Result<Mapping, String> {
    let yaml = frontmatter::block(text).ok_or("it has no frontmatter")?;
    match frontmatter::values(yaml) {
        Ok(Value::Mapping(properties)) => Ok(properties),
        Ok(_) => Err("its frontmatter is not a mapping".into()),
        Err(why) => Err(format!("its frontmatter is {why}")),
    }
}

/// The text with this property replaced, or added at the end of the frontmatter.
///
/// # Errors
/// When the frontmatter is malformed, or written in a way in which it cannot be replaced safely.
pub(super) fn set(text: &str, key: &str, new: New<'_>) -> Result<String, String> {
    let mut wanted = parse(text)?;
    if wanted.get(key) == Some(&new.value()) {
        return Ok(text.to_owned());
    }
    let unsafe_way = || format!("its frontmatter is written in a way in which {key:?} cannot be replaced safely");
    // Items that are no texts would be lost.
    if wanted.get(key).and_then(Value::as_sequence).is_some_and(|items| items.iter().any(|item| !item.is_string())) {
        return Err(unsafe_way());
    }
    let start = frontmatter::block(text).map_or(0, |block| block.as_ptr().addr() - text.as_ptr().addr());
    let end = start + frontmatter::block(text).map_or(0, str::len);
    let eol = line_end(text);
    let edited = match place_of(text, start..end, key) {
        Some(place) => replaced(text, &place, new, eol).ok_or_else(|| {
            let comments = place.lines.iter().filter_map(|line| text.get(line.clone())?.split_once('#')).map(|(_, comment)| comment.trim());
            match comments.take(1).next() {
                Some(comment) => {
                    format!("the comment \"# {comment}\" beside its {key:?} would be lost; take it out or move it, and repeat the change")
                }
                None => unsafe_way(),
            }
        })?,
        None => splice(text, end..end, &format!("{key}: {}{eol}", new.yaml())),
    };
    wanted.insert(Value::String(key.to_owned()), new.value());
    match parse(&edited) {
        Ok(found) if found == wanted => Ok(edited),
        _ => Err(unsafe_way()),
    }
}

/// Text with a part of it replaced.
pub(super) fn splice(text: &str, place: Range<usize>, new: &str) -> String {
    let (before, after) = (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
    [before, new, after].concat()
}

/// A property in the text: where its value begins, right after the colon, and the lines it takes.
struct Place {
    value: usize,
    lines: Vec<Range<usize>>,
}

fn place_of(text: &str, block: Range<usize>, key: &str) -> Option<Place> {
    let mut at = block.start;
    let mut lines = text.get(block)?.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len()..at, line)
    });
    let (first, colon) = lines.find_map(|(place, line)| {
        let rest = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")].iter().find_map(|key| line.strip_prefix(key.as_str()))?;
        let value = rest
            .trim_start_matches(' ')
            .strip_prefix(':')
            .filter(|value| value.is_empty() || value.starts_with([' ', '\t', '\r', '\n']))?;
        Some((place.clone(), place.end - value.len()))
    })?;
    let mut place = Place { value: colon, lines: vec![first.clone()] };
    let mut open = depth(text.get(colon..first.end)?);
    // In a block of text a number sign is text.
    let is_text = text.get(colon..first.end)?.trim_start().starts_with(['|', '>']);
    let mut waiting = Vec::new();
    for (line_place, line) in lines {
        let bare = line.trim_end();
        let is_comment = !is_text && open <= 0 && bare.trim_start().starts_with('#');
        let is_set_in = bare.starts_with([' ', '\t']) && !bare.trim().is_empty();
        let goes_on = !is_comment && (open > 0 || is_set_in || bare == "-" || bare.starts_with("- "));
        if goes_on {
            open += depth(line);
            place.lines.append(&mut waiting);
            place.lines.push(line_place);
        } else if bare.is_empty() || is_comment {
            waiting.push(line_place);
        } else {
            break;
        }
    }
    Some(place)
}

/// How many brackets a piece of YAML leaves open; as good as it has to be, since the outcome is parsed again.
fn depth(yaml: &str) -> i32 {
    yaml.chars().map(|c| i32::from(matches!(c, '[' | '{')) - i32::from(matches!(c, ']' | '}'))).sum()
}

/// `None` where comments would be lost.
fn replaced(text: &str, place: &Place, new: New<'_>, eol: &str) -> Option<String> {
    let end = place.lines.last().map_or(place.value, |last| last.end);
    let first_end = place.lines.first().map_or(end, |first| first.end);
    let rest = text.get(place.value..first_end).unwrap_or_default();
    let (value, comment) = without_comment(rest.trim_end_matches(['\r', '\n']));
    let ending = text.get(first_end.saturating_sub(if rest.ends_with("\r\n") { 2 } else { usize::from(rest.ends_with('\n')) })..first_end);
    let ending = ending.unwrap_or(eol);
    if let (New::List(items), true) = (new, place.lines.len() > 1 && value.trim().is_empty())
        && let Some(list) = block_list(text, place, items, eol)
    {
        return Some(splice(text, first_end..end, &list));
    }
    let further: Vec<&str> = place.lines.iter().skip(1).filter_map(|line| text.get(line.clone())).collect();
    let is_list = value.trim().is_empty() && further.iter().all(|line| line.trim().is_empty() || line.trim_start().starts_with(['-', '#']));
    // In another order, or written anew, comments beside items that stay would have no place.
    let is_emptied = matches!(new, New::List([]));
    if is_list && !is_emptied && further.iter().any(|line| line.contains('#')) {
        return None;
    }
    let is_text = value.trim_start().starts_with(['|', '>']);
    // Comments of their own in a list that is written anew stay below it; anywhere else there is no place for them.
    let comments: String = further.iter().filter(|line| is_list && line.trim_start().starts_with('#')).copied().collect();
    if !is_list && !is_text && further.iter().any(|line| line.contains('#')) {
        return None;
    }
    let old = value.trim();
    let shown = match new {
        New::Text(text) => scalar(text, old.chars().next().filter(|quote| matches!(quote, '"' | '\''))),
        New::List(items) => inline_list(old, items),
        New::Flag(_) => new.yaml(),
    };
    let gap = value.get(..value.len() - value.trim_start().len()).filter(|gap| !gap.is_empty()).unwrap_or(" ");
    Some(splice(text, place.value..end, &format!("{gap}{shown}{comment}{ending}{comments}")))
}

/// A value and the comment after it, with the white space between.
fn without_comment(rest: &str) -> (&str, &str) {
    let (mut quote, mut before, mut first) = (None, ' ', true);
    for (at, c) in rest.char_indices() {
        match quote {
            // In double quotes a backslash takes the meaning from what follows.
            Some('"') if before == '\\' => {
                before = ' ';
                continue;
            }
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => {
                let value = rest.get(..at).unwrap_or_default().trim_end();
                return (value, rest.get(value.len()..).unwrap_or_default());
            }
            None if matches!(c, '"' | '\'') && (first || matches!(before, '[' | ',' | ' ')) => quote = Some(c),
            None => {}
        }
        first &= c.is_whitespace();
        before = c;
    }
    let value = rest.trim_end();
    (value, "")
}

/// The lines of a list with those of its items that stay, as they are, and new ones like them.
fn block_list(text: &str, place: &Place, items: &[String], eol: &str) -> Option<String> {
    let old: Vec<&str> = place.lines.iter().skip(1).filter_map(|line| text.get(line.clone())).collect();
    let item_of = |line: &str| {
        let (value, _) = without_comment(line.trim().strip_prefix('-')?);
        yaml::parse(value.trim()).ok().and_then(|value| value.as_str().map(str::to_owned))
    };
    let mut kept: Vec<(String, &str)> = Vec::new();
    let mut lines: Vec<(Option<String>, String)> = Vec::new();
    for line in &old {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            lines.push((None, (*line).to_owned()));
            continue;
        }
        let item = item_of(line)?;
        if items.contains(&item) {
            kept.push((item.clone(), line));
            lines.push((Some(item), (*line).to_owned()));
        }
    }
    let sample = old.iter().find(|line| line.trim_start().starts_with('-'))?;
    let indent = sample.get(..sample.len() - sample.trim_start().len())?;
    let quote = sample.trim_start().strip_prefix('-')?.trim_start().chars().next().filter(|quote| matches!(quote, '"' | '\''));
    let in_order: Vec<&String> = items.iter().filter(|item| kept.iter().any(|(known, _)| known == *item)).collect();
    // Another order than the lines have: then all of them are written anew.
    if kept.is_empty() || !kept.iter().map(|(item, _)| item).eq(in_order) {
        return None;
    }
    let fresh: Vec<&String> = items.iter().filter(|item| !kept.iter().any(|(known, _)| known == *item)).collect();
    // New ones come last, or the order would not be the one that is wanted.
    if items.iter().skip(kept.len()).collect::<Vec<_>>() != fresh {
        return None;
    }
    let last = lines.iter().rposition(|(item, _)| item.is_some())?;
    let mut list = String::new();
    for (number, (_, line)) in lines.iter().enumerate() {
        list.push_str(line);
        if number == last {
            fresh.iter().for_each(|item| list.push_str(&format!("{indent}- {}{eol}", scalar(item, quote))));
        }
    }
    Some(list)
}

/// A list in brackets; items that stay keep their quotes.
fn inline_list(old: &str, items: &[String]) -> String {
    let inner = old.strip_prefix('[').and_then(|old| old.strip_suffix(']')).unwrap_or_default();
    let known: Vec<&str> = inner.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let quote = known.first().and_then(|part| part.chars().next()).filter(|quote| matches!(quote, '"' | '\''));
    let shown = |item: &String| {
        let same = known.iter().find(|part| yaml::parse(part).is_ok_and(|value| value.as_str() == Some(item)));
        same.map_or_else(|| scalar(item, quote), |part| (*part).to_owned())
    };
    format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// A text as YAML writes it in one line; in quotes where it needs them, or where it is to look like what was there.
pub(super) fn scalar(text: &str, quote: Option<char>) -> String {
    let single = format!("'{}'", text.replace('\'', "''"));
    let plain = !text.contains([',', '[', ']', '{', '}', '\n', '\r', '\t'])
        && text.trim() == text
        && yaml::parse(text).is_ok_and(|value| value.as_str() == Some(text))
        && !text.contains(" #");
    match quote {
        None if plain => text.to_owned(),
        Some('\'') if !text.chars().any(char::is_control) => single,
        // JSON is YAML, and has an escape for everything.
        _ => Value::String(text.to_owned()).as_str().map(json).unwrap_or_default(),
    }
}

fn json(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn one_value_changes_and_nothing_else() {
        for (before, key, text, after) in [
            (
                "---\na: 1 # one\nstatus: Not Started   # mine\nb: x\n---\n",
                "status",
                "Blocked",
                "---\na: 1 # one\nstatus: Blocked   # mine\nb: x\n---\n",
            ),
            ("---\r\nstatus: \"Not Started\"\r\n---\r\nx", "status", "Completed", "---\r\nstatus: \"Completed\"\r\n---\r\nx"),
            ("\u{feff}---\nstatus:   'a'\n...\nx", "status", "b", "\u{feff}---\nstatus:   'b'\n...\nx"),
            ("---\nstatus:\n---\n", "status", "b", "---\nstatus: b\n---\n"),
            ("---\nstatus: >-\n  long\n  text\n\n# c\nb: 1\n---\n", "status", "b", "---\nstatus: b\n\n# c\nb: 1\n---\n"),
            ("---\na: 1\n---\n", "status", "true", "---\na: 1\nstatus: \"true\"\n---\n"),
            ("---\na: 1\n---\n", "title", "C# #1: \"x\"", "---\na: 1\ntitle: \"C# #1: \\\"x\\\"\"\n---\n"),
            ("---\n\"status\": a\nnested:\n  status: b\n---\n", "status", "c", "---\n\"status\": c\nnested:\n  status: b\n---\n"),
            ("---\nnested:\n  status: b\n---\n", "status", "c", "---\nnested:\n  status: b\nstatus: c\n---\n"),
            ("---\nupdated: a\n  # mine\nb: 1\n---\n", "updated", "c", "---\nupdated: c\n  # mine\nb: 1\n---\n"),
            ("---\ntitle: \"say \\\"x\\\" # 1\" # c\n---\n", "title", "Neu", "---\ntitle: \"Neu\" # c\n---\n"),
            ("---\nstatus: \"a # b\" # c\n---\n", "status", "d", "---\nstatus: \"d\" # c\n---\n"),
        ] {
            assert_eq!(set(before, key, New::Text(text)).unwrap(), after, "{before:?}");
        }
        assert_eq!(set("---\nx: true # t\n---\n", "x", New::Flag(false)).unwrap(), "---\nx: false # t\n---\n");
    }

    #[test]
    fn lists_keep_their_style_and_the_items_that_stay() {
        for (before, items, after) in [
            ("---\nd: []\n---\n", list(&["A-1"]), "---\nd: [A-1]\n---\n"),
            ("---\nd: ['A-1', A-2] # c\n---\n", list(&["A-2", "A-3"]), "---\nd: [A-2, 'A-3'] # c\n---\n"),
            (
                "---\nd:\n  - A-1 # one\n  # two\n  - A-2\nx: 1\n---\n",
                list(&["A-1", "A-2", "A-3"]),
                "---\nd:\n  - A-1 # one\n  # two\n  - A-2\n  - A-3\nx: 1\n---\n",
            ),
            (
                "---\r\nd:\r\n- \"A-1\"\r\n- \"A-2\"\r\nx: 1\r\n---\r\n",
                list(&["A-2", "A-3"]),
                "---\r\nd:\r\n- \"A-2\"\r\n- \"A-3\"\r\nx: 1\r\n---\r\n",
            ),
            ("---\nd:\n  # first\n  - A-1 # x\n  # last\nx: 1\n---\n", list(&[]), "---\nd: []\n  # first\n  # last\nx: 1\n---\n"),
            ("---\nd:\n  - A-1\nx: 1\n---\n", list(&[]), "---\nd: []\nx: 1\n---\n"),
            ("---\nd:\n  - A-1\n  - A-2\n---\n", list(&["A-2", "A-1"]), "---\nd: [A-2, A-1]\n---\n"),
            ("---\nd: [\n  A-1,\n]\nx: 1\n---\n", list(&["A-1", "A-2"]), "---\nd: [A-1, A-2]\nx: 1\n---\n"),
            ("---\nx: 1\n---\n", list(&["A-1"]), "---\nx: 1\nd: [A-1]\n---\n"),
        ] {
            assert_eq!(set(before, "d", New::List(&items)).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_safely_is_left_alone() {
        for text in [
            "no frontmatter",
            "---\na: [\n---\n",
            "---\n- a\n---\n",
            "---\n? status\n: a\n---\n",
            "---\n{status: a}\n---\n",
            "---\nstatus: &x a\nb: *x\n---\n",
            "---\nstatus: [a,\n  # one\n  b]\n---\n",
            "---\nstatus: [a, 5, null]\n---\n",
        ] {
            assert!(set(text, "status", New::Text("b")).is_err(), "{text:?}");
        }
    }
}
