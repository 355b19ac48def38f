//! Setting and removing properties in a note's frontmatter, keeping every other byte: comments,
//! order, quotes, line endings. The result is parsed again and rejected unless it is exactly what
//! was intended.

use super::blocks::line_end;
use super::comments::{SPACE, comment_after_scalar, comment_of, item, list_comments};
use super::edit::splice;
use super::frontmatter::{self, outside_quotes, without_comment};
use crate::slice::Part;
use crate::yaml;
use serde_json::{Value as Json, json};
use serde_yaml::{Mapping, Value};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// The frontmatter of a note as values.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Mapping, String> {
    let yaml = frontmatter::block(text).ok_or("it has no frontmatter")?;
    match frontmatter::values(yaml) {
        Ok(Value::Mapping(properties)) => Ok(properties),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err("its frontmatter is not a mapping".into()),
        Err(why) => Err(format!("its frontmatter is {why}")),
    }
}

/// The name of a property as the note spells it, which may differ in case and Unicode form.
pub fn name_in(properties: &Mapping, name: &str) -> String {
    let names = || properties.keys().filter_map(Value::as_str);
    let lower = |name: &str| name.nfc().collect::<String>().to_lowercase();
    let same =
        names().find(|own| *own == name).or_else(|| names().find(|own| lower(own) == lower(name)));
    same.unwrap_or(name).to_owned()
}

/// The text with a property set, at the end of the frontmatter if it is new, or removed (`None`).
/// Missing frontmatter is created.
///
/// # Errors
/// If the frontmatter is malformed, or written in a form that cannot be changed safely.
pub fn set(text: &str, key: &str, new: Option<&Json>) -> Result<String, String> {
    let Some(block) = frontmatter::range(text) else {
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let eol = line_end(text, start);
        let fenced = splice(text, start..start, &format!("---{eol}---{eol}"));
        return if new.is_some() { set(&fenced, key, new) } else { Ok(text.to_owned()) };
    };
    if text.part(block.clone()).trim_start().starts_with('{') {
        return Err("its frontmatter is JSON, which is only read, never written".into());
    }
    let mut wanted = parse(text)?;
    let value = new.map(serde_yaml::to_value).transpose().map_err(|error| error.to_string())?;
    if wanted.get(key) == value.as_ref() {
        return Ok(text.to_owned());
    }
    let not_replaceable =
        || format!("its frontmatter is written so that {key:?} cannot be replaced safely");
    let Range { start, end } = block;
    let eol = line_end(text, 0);
    let edited = match (find_property(text, start..end, key), new) {
        (Some(property), Some(new)) => replaced(text, &property, new, eol).map_err(|comment| {
            format!(
                "the comment {comment:?} is inside of its {key:?}, and would be lost; change it with \
                 vault_edit"
            )
        })?,
        (Some(property), None) => {
            let (first, last) = (
                property.lines.first().map_or(end, |line| line.start),
                property.lines.last().map_or(end, |line| line.end),
            );
            let rest = splice(text, first..last, "");
            // Nothing is left between the fences, and no comment went with the property.
            let is_last = wanted.len() == 1 && text.part(start..first).trim().is_empty();
            let is_all = text.part(last..end).trim().is_empty();
            let has_comment = text
                .part(first..last)
                .lines()
                .any(|line| !without_comment(line).1.is_empty());
            if is_last && is_all && !has_comment {
                return Ok(without_frontmatter(&rest));
            }
            rest
        }
        (None, Some(new)) => splice(
            text,
            end..end,
            &format!("{}:{}{eol}", scalar(key, None, false), after_colon(new, eol)),
        ),
        (None, None) => text.to_owned(),
    };
    match value {
        Some(value) => drop(wanted.insert(Value::String(key.to_owned()), value)),
        None => drop(wanted.remove(key)),
    }
    match parse(&edited) {
        Ok(found) if found == wanted => Ok(edited),
        _ => Err(not_replaceable()),
    }
}

/// A text without its empty frontmatter.
fn without_frontmatter(text: &str) -> String {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let rest = splice(text, start..frontmatter::end(text), "");
    // What follows must not be taken for frontmatter.
    if frontmatter::range(&rest).is_some() { text.to_owned() } else { rest }
}

/// A value as written after the colon of a new property: a list has one item per line, as Obsidian
/// writes it.
fn after_colon(new: &Json, eol: &str) -> String {
    match new {
        Json::Array(items) if !items.is_empty() => {
            items.iter().map(|item| format!("{eol}  - {}", flow(item, None))).collect()
        }
        Json::Null => String::new(),
        Json::String(text) => format!(" {}", scalar(text, None, false)),
        other => format!(" {}", flow(other, None)),
    }
}

/// A value in one line.
pub fn flow(new: &Json, quote: Option<char>) -> String {
    match new {
        Json::String(text) => scalar(text, quote, true),
        Json::Array(items) => format!(
            "[{}]",
            items.iter().map(|item| flow(item, None)).collect::<Vec<_>>().join(", ")
        ),
        // JSON is YAML.
        other => other.to_string(),
    }
}

/// A property in the text: where its value begins, right after the colon, and the lines it takes.
struct Property {
    value: usize,
    lines: Vec<Range<usize>>,
}

/// Finds a property of the top-level mapping; `None` if it is not written in the usual form.
fn find_property(text: &str, block: Range<usize>, key: &str) -> Option<Property> {
    let mut at = block.start;
    let mut lines = text.get(block)?.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len()..at, line)
    });
    let (first, colon) = lines.find_map(|(range, line)| {
        let rest = [key.to_owned(), json(key), single_quoted(key)]
            .iter()
            .find_map(|key| line.strip_prefix(key.as_str()))?;
        let value = rest
            .trim_start_matches(' ')
            .strip_prefix(':')
            .filter(|value| value.is_empty() || value.starts_with([' ', '\t', '\r', '\n']))?;
        Some((range.clone(), range.end - value.len()))
    })?;
    let mut property = Property { value: colon, lines: vec![first.clone()] };
    // In a block scalar, `#` and brackets are text.
    let is_block_scalar = text.get(colon..first.end)?.trim_start().starts_with(['|', '>']);
    let depth = |line: &str| if is_block_scalar { 0 } else { depth(line) };
    let mut open = depth(text.get(colon..first.end)?);
    let mut waiting = Vec::new();
    for (line_range, line) in lines {
        let bare = line.trim_end();
        let is_comment = !is_block_scalar && open <= 0 && bare.trim_start().starts_with('#');
        let is_indented = bare.starts_with([' ', '\t']) && !bare.trim().is_empty();
        let continues =
            !is_comment && (open > 0 || is_indented || bare == "-" || bare.starts_with("- "));
        if continues {
            open += depth(line);
            property.lines.append(&mut waiting);
            property.lines.push(line_range);
        } else if bare.is_empty() || is_comment {
            waiting.push(line_range);
        } else {
            break;
        }
    }
    Some(property)
}

/// The range of a property's key, if it is written in the usual form.
pub fn key_range(text: &str, key: &str) -> Option<Range<usize>> {
    let property = find_property(text, frontmatter::range(text)?, key)?;
    let start = property.lines.first()?.start;
    Some(start..start + text.get(start..property.value)?.trim_end_matches([':', ' ']).len())
}

/// How many brackets a line of YAML leaves open; an approximation suffices, since the result is
/// parsed again.
fn depth(line: &str) -> i32 {
    let bracket = |c: char| i32::from(matches!(c, '[' | '{')) - i32::from(matches!(c, ']' | '}'));
    outside_quotes(without_comment(line.trim_end()).0).map(|(.., c)| bracket(c)).sum()
}

/// The text with the value of a property replaced.
///
/// # Errors
/// The comment that would be lost.
fn replaced<'a>(
    text: &'a str,
    property: &Property,
    new: &Json,
    eol: &str,
) -> Result<String, &'a str> {
    let end = property.lines.last().map_or(property.value, |last| last.end);
    let first_end = property.lines.first().map_or(end, |first| first.end);
    let line = text.part(property.value..first_end);
    let (rest, ending) = line.split_at(line.trim_end_matches(SPACE).len());
    let comment =
        comment_of(rest.trim_start()).unwrap_or_else(|| Some(without_comment(rest).1.trim_start()));
    let value = rest.part(..rest.len() - comment.unwrap_or_default().len()).trim_end_matches(SPACE);
    let comment = rest.part(value.len()..);
    let further: Vec<&str> =
        property.lines.iter().skip(1).filter_map(|line| text.get(line.clone())).collect();
    let is_list = value.trim_matches(SPACE).is_empty();
    let comments = list_comments(&further).filter(|_| is_list);
    if let Json::Array(items) = new
        && comments.is_some()
        && let Some(added) = added_lines(&further, items, eol)
    {
        return Ok(splice(text, end..end, &added));
    }
    let lost = match comments {
        Some(comments) => comments.into_iter().flatten().next(),
        None if value.trim_start().starts_with(['|', '>']) => comment_after_scalar(&further),
        None => further.iter().find_map(|line| Some(line.part(line.find('#')?..).trim_end())),
    };
    if let Some(lost) = lost {
        return Err(lost);
    }
    if let Json::Array(items) = new
        && is_list
        && let Some(list) = block_list(&further, items, eol)
    {
        let empty = if items.is_empty() { " []" } else { "" };
        return Ok(splice(text, property.value..end, &format!("{empty}{comment}{ending}{list}")));
    }
    let old = value.trim_matches(SPACE);
    let shown = match new {
        Json::String(text) => scalar(text, quote_of(old), false),
        Json::Array(items) => {
            // `[a,b]` stays as tight.
            let is_tight = old.contains(',') && !old.contains([' ', '\t', '\n']);
            let comma = if is_tight { "," } else { ", " };
            format!("[{}]", written_items(old, &further, items).join(comma))
        }
        Json::Null => String::new(),
        other => flow(other, None),
    };
    let gap = value
        .get(..value.len() - value.trim_start_matches(SPACE).len())
        .filter(|gap| !gap.is_empty())
        .unwrap_or(" ");
    let gap = if shown.is_empty() { "" } else { gap };
    Ok(splice(text, property.value..end, &format!("{gap}{shown}{comment}{ending}")))
}

/// The quote that a value begins with.
fn quote_of(value: &str) -> Option<char> {
    value.chars().next().filter(|quote| matches!(quote, '"' | '\''))
}

/// A value as JSON; `None` if it cannot be parsed alone.
fn read(value: &str) -> Option<Json> {
    serde_json::to_value(yaml::parse(value, 0).ok()?).ok()
}

/// The lines of the items that are new at the end of a block list whose others stay; `None` for any
/// other change.
fn added_lines(old: &[&str], items: &[Json], eol: &str) -> Option<String> {
    let known: Vec<(&str, &str)> =
        old.iter().filter_map(|line| Some((*line, item(line)?))).collect();
    let (stay, new) = items.split_at_checked(known.len())?;
    let is_same = |((_, item), stays): (&(&str, &str), &Json)| read(item).as_ref() == Some(stays);
    let (sample, first) = known.first().filter(|_| known.iter().zip(stay).all(is_same))?;
    let indent = sample.part(..sample.len() - sample.trim_start().len());
    let line = |new: &Json| format!("{indent}- {}{eol}", flow(new, quote_of(first)));
    Some(new.iter().map(line).collect())
}

/// The lines of a block list whose items take a line each: items that stay keep their line, new
/// ones are written like the first. `None` if there is no item, or one takes several lines.
fn block_list(old: &[&str], items: &[Json], eol: &str) -> Option<String> {
    let mut known: Vec<(Option<Json>, &str)> = Vec::new();
    for line in old.iter().filter(|line| !line.trim().is_empty()) {
        known.push((read(item(line)?), line));
    }
    let (_, sample) = known.first()?;
    let indent = sample.part(..sample.len() - sample.trim_start().len());
    let quote = quote_of(item(sample)?);
    let line = |new: &Json| match known.iter().position(|(own, _)| own.as_ref() == Some(new)) {
        Some(at) => known.remove(at).1.to_owned(),
        None => format!("{indent}- {}{eol}", flow(new, quote)),
    };
    Some(items.iter().map(line).collect())
}

/// The items of a list in one line; those that stay keep their spelling in the old value or its
/// further lines.
fn written_items(old: &str, further: &[&str], items: &[Json]) -> Vec<String> {
    let known: Vec<&str> = match old.strip_prefix('[').and_then(|old| old.strip_suffix(']')) {
        Some(inner) => inner.split(',').map(str::trim).filter(|part| !part.is_empty()).collect(),
        None if old.is_empty() => further.iter().filter_map(|line| item(line)).collect(),
        None if old.starts_with(['[', '|', '>']) => Vec::new(),
        None => vec![old],
    };
    let quote = known.first().and_then(|part| quote_of(part));
    let mut known: Vec<(&str, Option<Json>)> =
        known.into_iter().map(|part| (part, read(part))).collect();
    // Within brackets a spelling may mean something else, for example two items.
    let means = |part: &str, value: &Json| {
        read(&format!("[{part}]")).is_some_and(|list| list == json!([value]))
    };
    let shown = |item: &Json| match known
        .iter()
        .position(|(part, value)| value.as_ref() == Some(item) && means(part, item))
    {
        Some(number) => known.remove(number).0.to_owned(),
        None => flow(item, quote),
    };
    items.iter().map(shown).collect()
}

/// A string as a YAML scalar on one line; quoted if it has to be, or if the old value was
/// (`quote`).
fn scalar(text: &str, quote: Option<char>, in_list: bool) -> String {
    let is_flow =
        |c: char| matches!(c, '[' | ']' | '{' | '}' | '\n' | '\r' | '\t') || in_list && c == ',';
    let plain = !text.contains(is_flow)
        && text.trim() == text
        // Within brackets these begin a key or a value; lists without brackets are written with the
        // same quotes.
        && !(in_list && text.starts_with(['?', ':']))
        && yaml::parse(text, 0).is_ok_and(|value| value.as_str() == Some(text))
        // Other YAML parsers read a string such as a postcode as a number.
        && !(text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && text.parse::<f64>().is_ok())
        && !text.contains(" #");
    match quote {
        None if plain => text.to_owned(),
        Some('\'') if !text.chars().any(char::is_control) => single_quoted(text),
        // JSON is YAML, and has an escape for everything.
        _ => json(text),
    }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn json(text: &str) -> String {
    // YAML does not allow these characters unescaped.
    let escaped = |text: String, c: char| text.replace(c, &format!("\\u{:04x}", c as u32));
    ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']
        .into_iter()
        .fold(serde_json::Value::String(text.to_owned()).to_string(), escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Json {
        items.iter().copied().collect()
    }

    #[test]
    fn no_comment_is_lost_and_no_other_sign_counts_as_one() {
        for value in [
            "\n- Salt, 'n pepper # see [[Spices]]",
            "\n- Rock, \"live # see [[Band]]",
            "\n- a ,'b # c]",
            "\n- at 12:'30 # c",
            "\n- a::'x # c",
            "\n- -- 'tis the season # c",
            "\n- \"multi\n  - \" # c",
            "\n- \"a\"# c",
            "\n- [a]# c",
            "\n- x\n# c\n- y",
            " Salt, 'n pepper # see [[Spices]]",
            " drive C:\"x # c",
            " |\n    text\n  # c",
            " [a, # c\n  b]",
            " x:'a # c' # d",
            "\n- --- \"x # c",
            " --- \"x # c",
            " Salt, 'n # see' # b]",
            "\n- \"a\n  # b\n  - c\"",
            "\n  -1 # c",
        ] {
            let note = format!("---\nk:{value}\nz: 1\n---\n");
            for new in [list(&["new"]), "new".into()] {
                let comment = note
                    .get(note.find('#').unwrap()..)
                    .and_then(|rest| rest.lines().next())
                    .unwrap();
                let kept = set(&note, "k", Some(&new)).unwrap_or_else(|why| why);
                assert!(kept.contains(comment), "{value:?}: {kept}");
            }
        }
        let many = "\n- \"[[Some note#Heading]]\"\n- \"#tag\"".repeat(400);
        let headings = format!(" |{}", "\n  ## Heading".repeat(400));
        let flow = format!(" [{}]", ["\"#tag\""; 400].join(", "));
        let plain = [
            "\n- \"C# notes\"\n- C#",
            "\n- \"a # b\"",
            " [\"#a\", '#b']",
            " C# notes",
            " |\n  # text\n  more",
        ];
        let aliases = [" [*t, \"C#\"]", "\n- *t\n- https://x/#y", " *t"];
        for value in plain.into_iter().chain(aliases).chain([&*many, &headings, &flow]) {
            let note = format!("---\nt: &t x\nk:{value}\nz: 1\n---\n");
            let short = value.get(..value.len().min(40)).unwrap();
            assert_eq!(
                set(&note, "k", Some(&"new".into())).unwrap(),
                "---\nt: &t x\nk: new\nz: 1\n---\n",
                "{short:?}"
            );
        }
    }

    #[test]
    fn a_list_with_a_comment_in_it_is_not_changed() {
        for before in [
            "- a # 1\n- b\n",
            "- a\n# of b\n- b\n",
            "- !x a # 1\n- b # 2\n",
            "- .inf # 1\n- b\n",
            "- --- a # 1\n- b\n",
        ] {
            for new in [&["b"][..], &["b", "a"], &["c", "b"], &[]] {
                let note = format!("---\nk:\n{before}z: 1\n---\n");
                let why = set(&note, "k", Some(&list(new))).unwrap_err();
                assert!(why.contains("vault_edit"), "{before:?} {new:?}: {why}");
            }
        }
        let grown = set("---\nk:\n- a # 1\n# 2\n- 'b'\n---\n", "k", Some(&list(&["a", "b", "c"])));
        assert_eq!(grown.as_deref(), Ok("---\nk:\n- a # 1\n# 2\n- 'b'\n- c\n---\n"));
        for value in [" x\u{a0}", " \u{a0}", " [a,\nb]", " {a: 1,\nb: 2}"] {
            let note = format!("---\nk:{value}\n---\n");
            assert_eq!(
                set(&note, "k", Some(&"y".into())).unwrap(),
                "---\nk: y\n---\n",
                "{value:?}"
            );
        }
        for (value, after) in
            [("\n- a, b\n- x\n  y", " [\"a, b\", x y, c]"), (" a, b", " [\"a, b\", c]")]
        {
            let items = if value.starts_with('\n') {
                list(&["a, b", "x y", "c"])
            } else {
                list(&["a, b", "c"])
            };
            assert_eq!(
                set(&format!("---\nk:{value}\n---\n"), "k", Some(&items)).unwrap(),
                format!("---\nk:{after}\n---\n")
            );
        }
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
            (
                "---\r\nstatus: \"Not Started\"\r\n---\r\nx",
                "status",
                "Completed",
                "---\r\nstatus: \"Completed\"\r\n---\r\nx",
            ),
            (
                "\u{feff}---\nstatus:   'a'\n...\nx",
                "status",
                "b",
                "\u{feff}---\nstatus:   'b'\n...\nx",
            ),
            ("---\nstatus:\n---\n", "status", "b", "---\nstatus: b\n---\n"),
            (
                "---\nstatus: >-\n  long\n  text\n\n# c\nb: 1\n---\n",
                "status",
                "b",
                "---\nstatus: b\n\n# c\nb: 1\n---\n",
            ),
            ("---\na: 1\n---\n", "status", "true", "---\na: 1\nstatus: \"true\"\n---\n"),
            (
                "---\na: 1\n---\n",
                "title",
                "C# #1: \"x\"",
                "---\na: 1\ntitle: \"C# #1: \\\"x\\\"\"\n---\n",
            ),
            (
                "---\n\"status\": a\nnested:\n  status: b\n---\n",
                "status",
                "c",
                "---\n\"status\": c\nnested:\n  status: b\n---\n",
            ),
            (
                "---\nnested:\n  status: b\n---\n",
                "status",
                "c",
                "---\nnested:\n  status: b\nstatus: c\n---\n",
            ),
            (
                "---\nupdated: a\n  # mine\nb: 1\n---\n",
                "updated",
                "c",
                "---\nupdated: c\n  # mine\nb: 1\n---\n",
            ),
            (
                "---\ntitle: \"say \\\"x\\\" # 1\" # c\n---\n",
                "title",
                "Neu",
                "---\ntitle: \"Neu\" # c\n---\n",
            ),
            ("---\nstatus: \"a # b\" # c\n---\n", "status", "d", "---\nstatus: \"d\" # c\n---\n"),
        ] {
            assert_eq!(set(before, key, Some(&text.into())).unwrap(), after, "{before:?}");
        }
        assert_eq!(
            set("---\nx: true # t\n---\n", "x", Some(&false.into())).unwrap(),
            "---\nx: false # t\n---\n"
        );
    }

    #[test]
    fn lists_keep_their_style_and_the_items_that_stay() {
        for (before, items, after) in [
            ("---\nd: []\n---\n", list(&["A-1"]), "---\nd: [A-1]\n---\n"),
            (
                "---\nd: ['A-1', A-2] # c\n---\n",
                list(&["A-2", "A-3"]),
                "---\nd: [A-2, 'A-3'] # c\n---\n",
            ),
            (
                "---\r\nd:\r\n- \"A-1\"\r\n- \"A-2\"\r\nx: 1\r\n---\r\n",
                list(&["A-2", "A-3"]),
                "---\r\nd:\r\n- \"A-2\"\r\n- \"A-3\"\r\nx: 1\r\n---\r\n",
            ),
            ("---\nd:\n  - A-1\nx: 1\n---\n", list(&[]), "---\nd: []\nx: 1\n---\n"),
            (
                "---\nd:\n  - A-1\n  - A-2\n---\n",
                list(&["A-2", "A-1"]),
                "---\nd:\n  - A-2\n  - A-1\n---\n",
            ),
            (
                "---\nd: # why\n  - a\n  - b\n---\n",
                list(&["b", "a"]),
                "---\nd: # why\n  - b\n  - a\n---\n",
            ),
            (
                "---\r\nd:\r\n- 'A-1'\r\nx: 1\r\n---\r\n",
                list(&["B"]),
                "---\r\nd:\r\n- 'B'\r\nx: 1\r\n---\r\n",
            ),
            (
                "---\nd: [\n  A-1,\n]\nx: 1\n---\n",
                list(&["A-1", "A-2"]),
                "---\nd: [A-1, A-2]\nx: 1\n---\n",
            ),
            ("---\nx: 1\n---\n", list(&["A-1"]), "---\nx: 1\nd:\n  - A-1\n---\n"),
        ] {
            assert_eq!(set(before, "d", Some(&items)).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_safely_is_left_alone() {
        for text in [
            "---\na: [\n---\n",
            "---\n- a\n---\n",
            "---\n? status\n: a\n---\n",
            "---\n{status: a}\n---\n",
            "---\nstatus: &x a\nb: *x\n---\n",
            "---\nstatus: [a,\n  # one\n  b]\n---\n",
            "---\n{ \"status\": \"a\" }\n---\n",
        ] {
            assert!(set(text, "status", Some(&"b".into())).is_err(), "{text:?}");
        }
    }

    #[test]
    fn values_of_every_type_are_set_and_removed() {
        use serde_json::json;
        for (before, key, new, after) in [
            ("body", "a", json!(5), "---\na: 5\n---\nbody"),
            ("\u{feff}x\r\ny", "a", json!("1.10"), "\u{feff}---\r\na: \"1.10\"\r\n---\r\nx\r\ny"),
            ("", "due", json!("2026-11-30"), "---\ndue: 2026-11-30\n---\n"),
            (
                "---\n---\nx",
                "t",
                json!(["a", "[[N]]", 3]),
                "---\nt:\n  - a\n  - \"[[N]]\"\n  - 3\n---\nx",
            ),
            (
                "---\nv: 1.10 # keep\nyes: yes\nd: 2026-01-01\n---\n",
                "v",
                json!(1.5),
                "---\nv: 1.5 # keep\nyes: yes\nd: 2026-01-01\n---\n",
            ),
            (
                "---\na: &x 1\nb: *x\nc: >\n  f\n  g\n---\n",
                "c",
                json!("h"),
                "---\na: &x 1\nb: *x\nc: h\n---\n",
            ),
            ("---\na: x # c\n---\n", "a", json!(null), "---\na: # c\n---\n"),
            (
                "---\nn:\n  - 1.10\n  - x\n---\n",
                "n",
                json!([1.1, "x", "y"]),
                "---\nn:\n  - 1.10\n  - x\n  - y\n---\n",
            ),
            ("---\na: 1\n---\n", "odd: key", json!(true), "---\na: 1\n\"odd: key\": true\n---\n"),
            ("---\na: 1\n---\n", "o", json!({ "k": [1] }), "---\na: 1\no: {\"k\":[1]}\n---\n"),
        ] {
            assert_eq!(set(before, key, Some(&new)).as_deref(), Ok(after), "{before:?}");
            assert_eq!(set(after, key, Some(&new)).as_deref(), Ok(after), "once is enough");
        }
        for (before, after) in [
            ("---\na: 1\nt:\n  - x\n  - y\nb: 2\n---\n", "---\na: 1\nb: 2\n---\n"),
            ("---\r\nt: x\r\n---\r\nbody", "body"),
            ("---\nt: x\n# c\n---\nbody", "---\n# c\n---\nbody"),
            ("---\na: 1\n---\n", "---\na: 1\n---\n"),
            ("body", "body"),
        ] {
            assert_eq!(set(before, "t", None).as_deref(), Ok(after), "{before:?}");
        }
        assert!(set("---\nt: &x 1\nb: *x\n---\n", "t", None).is_err(), "another property needs it");
        for (before, key, new, after) in [
            ("\u{feff}\u{feff}x\n", "a", json!(1), "\u{feff}---\na: 1\n---\n\u{feff}x\n"),
            (
                "---\nt: \"Part [1\" # see [2\nb: 1\n---\n",
                "t",
                json!("P"),
                "---\nt: \"P\" # see [2\nb: 1\n---\n",
            ),
            ("---\nt: |\n  smile :[ x\nb: 1\n---\n", "t", json!("P"), "---\nt: P\nb: 1\n---\n"),
            ("---\na: 1.10\n---\n", "a", json!([1.1, "q"]), "---\na: [1.10, q]\n---\n"),
            (
                "---\na: [1.10, 1.1]\n---\n",
                "a",
                json!([1.1, 1.1, "q"]),
                "---\na: [1.10, 1.1, q]\n---\n",
            ),
            (
                "---\na:\n  - 1.10\n  - z\n---\n",
                "a",
                json!(["z", 1.1]),
                "---\na:\n  - z\n  - 1.10\n---\n",
            ),
            ("x", "a", json!("\u{2028}\u{85}"), "---\na: \"\\u2028\\u0085\"\n---\nx"),
        ] {
            assert_eq!(set(before, key, Some(&new)).as_deref(), Ok(after), "{before:?}");
        }
    }
}
