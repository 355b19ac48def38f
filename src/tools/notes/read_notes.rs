//! `vault_read_notes`: several notes, or a part of each, within one budget.

use super::{BLOCK, HEADING, target};
use crate::limits;
use crate::markdown::insert::Target;
use crate::markdown::parts::{Heading, Note, PartError};
use crate::markdown::tasks::{is_done, is_open};
use crate::markdown::{links, properties};
use crate::slice::{Part, first_chars};
use crate::text::words::words_of;
use crate::tools::reply::json_of;
use crate::tools::result::{Members, flag, result, unless_empty};
use crate::tools::schema::{DefaultValue, Shape, defaulted, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::{Error as VaultError, VaultPath, bytes_that_fit};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// Default number of characters that one call reads from several notes.
const NOTES_CHARS: usize = 20_000;

pub(super) static TOOL: Tool = Tool {
    name: "vault_read_notes",
    title: "Read notes or parts of them",
    description: "Reads, to show them, today's daily note, several notes at once, or a section, \
                  block, outline (headings) or the properties of each; for one whole file, \
                  pictures and PDF use vault_read. A note that is cut has next_line, for \
                  vault_read as offset; next_paths did not fit.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        required(
            "paths",
            Shape::Names,
            "1 to 50 notes: paths, [[Name]], daily:today, weekly:2026-W48, monthly:2026-11",
        )
        .of_files(),
        HEADING,
        BLOCK,
        defaulted(
            "view",
            Shape::OneOf(&["text", "outline", "properties"]),
            DefaultValue::Text("text"),
            "What to show of each",
        ),
        defaulted(
            "max_chars",
            Shape::Integer { min: 100, max: 90_000, outside: Code::InvalidArgument },
            DefaultValue::Integer(NOTES_CHARS as i64),
            "Characters of text in all",
        ),
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        notes: Vec<Shown>,
        missing: Vec<Value>,
        /// Something did not fit.
        truncated: Option<bool>,
        /// Notes that did not fit; ask for them next.
        next_paths: Option<&'a [&'a str]>,
    }
}

result! {
    #[derive(Default)]
    struct Shown {
        path: String,
        etag: String,
        text: Option<String>,
        from_line: Option<usize>,
        to_line: Option<usize>,
        total_lines: Option<usize>,
        /// There is more.
        truncated: Option<bool>,
        /// `offset` for `vault_read` to go on.
        next_line: Option<usize>,
        headings: Option<Vec<Value>>,
        blocks: Option<Vec<Value>>,
        words: Option<usize>,
        tasks: Option<Value>,
        /// Links in the note.
        links_out: Option<usize>,
        /// Links to the note.
        links_in: Option<usize>,
        properties: Option<Map<String, Value>>,
    }
}

/// Characters of JSON for what an answer has besides notes.
const OTHER_CHARS: usize = 8_000;

/// What is left of the answer.
struct Budget {
    /// Characters of text.
    chars: usize,
    /// Characters of JSON.
    json: usize,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let target = target(arguments)?;
    let paths: Vec<&str> = arguments.texts("paths").collect();
    if paths.is_empty() || paths.len() > limits::NOTES_PER_CALL {
        return Err(Error::invalid(format!(
            "Argument paths must have 1 to {} notes.",
            limits::NOTES_PER_CALL
        )));
    }
    let mut budget =
        Budget { chars: arguments.number("max_chars"), json: limits::RESULT_CHARS - OTHER_CHARS };
    let (mut notes, mut missing): (Vec<Shown>, Vec<(&str, Error)>) = (Vec::new(), Vec::new());
    let mut next_paths: &[&str] = &[];
    for (number, &path) in paths.iter().enumerate() {
        match show(context, path, arguments.text("view"), target, &mut budget, notes.is_empty()) {
            Ok(Some(shown)) => notes.push(shown),
            Ok(None) => {
                next_paths = paths.part(number..);
                break;
            }
            // The log of changes is read for one of them.
            Err(error) if missing.is_empty() => {
                missing.push((path, context.or_moved(error, std::iter::once(path))));
            }
            Err(error) => missing.push((path, error)),
        }
    }
    let share = OTHER_CHARS / 2 / missing.len().max(1);
    let shown = |(path, error): (&str, Error)| {
        let candidates =
            error.facts.get("candidates").map(|candidates| format!(" candidates: {candidates}"));
        let message: String =
            (error.message + &candidates.unwrap_or_default()).chars().take(share).collect();
        json!({ "path": path, "code": error.code.as_str(), "message": message })
    };
    let missing = missing.into_iter().map(shown).collect();
    let truncated = !next_paths.is_empty() || notes.iter().any(|note| note.truncated.is_some());
    Reply::of(&Answer {
        notes,
        missing,
        truncated: flag(truncated),
        next_paths: unless_empty(next_paths),
    })
}

/// One note; `None` if it does not fit and is not the first.
fn show(
    context: &Context<'_>,
    named: &str,
    view: &str,
    target: Target<'_>,
    budget: &mut Budget,
    is_first: bool,
) -> Result<Option<Shown>, Error> {
    let path = context.path(named)?;
    let (text, etag) = context.vault.note(&path)?;
    let note = Note::of(&text);
    let lines = lines_of(&note, target).map_err(|error| VaultError::of_part(target, error))?;
    let shown = Shown { path: path.as_str().into(), etag, ..Shown::default() };
    let shown = match view {
        "outline" => outline(context, &path, &note, &lines, shown)?,
        "properties" => Shown { properties: Some(properties_of(&path, &text)?), ..shown },
        _ => return Ok(show_text(&text, &note, &lines, budget, is_first, shown)),
    };
    fit(shown, budget, is_first)
}

/// Adds the lines of a note, as many as fit; `None` if none do and it is not the first note.
fn show_text(
    text: &str,
    note: &Note<'_>,
    lines: &Range<usize>,
    budget: &mut Budget,
    is_first: bool,
    shown: Shown,
) -> Option<Shown> {
    // From the first line on, the byte order mark is shown, too.
    let start = if lines.start == 0 { 0 } else { note.start(lines.start) };
    let part = text.part(start..note.start(lines.end));
    let fits = cut(part, budget, is_first)?;
    let shown_part = part.part(..fits);
    let to_line = lines.start + crate::vault::count_lines(shown_part.as_bytes());
    let is_cut = fits < part.len();
    Some(Shown {
        text: Some(shown_part.to_owned()),
        from_line: Some(if part.is_empty() { 0 } else { lines.start + 1 }),
        to_line: Some(to_line),
        total_lines: Some(note.lines.len()),
        truncated: flag(is_cut),
        // The line after the last whole one, or the line that was cut.
        next_line: is_cut.then_some(to_line + usize::from(shown_part.ends_with('\n'))),
        ..shown
    })
}

/// An outline, or properties, if they fit; the lists of the first note are cut until they do.
fn fit(mut shown: Shown, budget: &mut Budget, is_first: bool) -> Result<Option<Shown>, Error> {
    let mut length = json_of(&shown)?.chars().count();
    if length > budget.chars.min(budget.json) && !is_first {
        return Ok(None);
    }
    while length > budget.json {
        let lists = shown.headings.as_mut().zip(shown.blocks.as_mut());
        let Some((headings, blocks)) =
            lists.filter(|(headings, blocks)| headings.len() + blocks.len() > 0)
        else {
            return Err(Error::new(
                Code::TooLarge,
                "The properties of this note are too long for one answer.",
            ));
        };
        headings.truncate(headings.len() / 2);
        blocks.truncate(blocks.len() / 2);
        shown.truncated = Some(true);
        length = json_of(&shown)?.chars().count();
    }
    budget.chars = budget.chars.saturating_sub(length);
    budget.json = budget.json.saturating_sub(length);
    Ok(Some(shown))
}

fn lines_of(note: &Note<'_>, target: Target<'_>) -> Result<Range<usize>, PartError> {
    match target {
        Target::Heading(wanted) => {
            let headings = note.headings();
            let number = note.find_heading(&headings, wanted, false)?;
            let start = headings.get(number).map_or(0, |heading| heading.lines.start);
            Ok(start..note.section_end(&headings, number))
        }
        Target::Block(id) => note.find_block(id).map(|block| block.lines),
        Target::Note | Target::Line(_) => Ok(0..note.lines.len()),
    }
}

/// Bytes of a part that fit: whole lines, or a piece of the first line if nothing else is in the
/// answer; `None` if none do.
fn cut(part: &str, budget: &mut Budget, is_first: bool) -> Option<usize> {
    let (mut chars, mut json) = (budget.chars, budget.json);
    let mut fits = 0;
    for line in part.split_inclusive('\n') {
        let length = line.chars().count();
        if length > chars || bytes_that_fit(line, &mut json) < line.len() {
            break;
        }
        chars -= length;
        fits += line.len();
    }
    if fits == 0 && !part.is_empty() {
        if !is_first {
            return None;
        }
        fits = bytes_that_fit(first_chars(part, budget.chars), &mut budget.json);
        chars = 0;
    }
    // After a note that is cut nothing else is shown.
    budget.chars = if fits < part.len() { 0 } else { chars };
    budget.json = json;
    Some(fits)
}

fn outline(
    context: &Context<'_>,
    path: &VaultPath,
    note: &Note<'_>,
    lines: &Range<usize>,
    shown: Shown,
) -> Result<Shown, Error> {
    let tasks = note.tasks();
    let count = |is_it: fn(char) -> bool| {
        tasks.iter().filter(|task| lines.contains(&task.line) && is_it(task.status)).count()
    };
    let range = note.start(lines.start)..note.start(lines.end);
    let body = note.start(lines.start.max(note.body()))..range.end;
    let headings =
        note.headings().into_iter().filter(|heading| lines.contains(&heading.lines.start));
    let blocks = note.blocks().into_iter().filter(|block| lines.contains(&block.lines.start));
    let heading = |heading: Heading| json!({ "level": heading.level, "text": heading.text, "line": heading.lines.start + 1 });
    let links = links::links(note.text)
        .into_iter()
        .filter(|link| range.contains(&link.range.start) && !link.path.is_empty());
    Ok(Shown {
        headings: Some(headings.map(heading).collect()),
        blocks: Some(
            blocks.map(|block| json!({ "id": block.id, "line": block.lines.start + 1 })).collect(),
        ),
        words: Some(words_of(note.text.part(body)).count()),
        tasks: Some(json!({ "open": count(is_open), "done": count(is_done) })),
        links_out: Some(links.count()),
        links_in: Some(
            context.links.count_links_to(path, &|_, _| !context.requester.has_cancelled())?,
        ),
        ..shown
    })
}

fn properties_of(path: &VaultPath, text: &str) -> Result<Map<String, Value>, Error> {
    if crate::markdown::frontmatter::block(text).is_none() {
        return Ok(Map::new());
    }
    let malformed = |why| Error::from(VaultError::Malformed { path: path.as_str().into(), why });
    let values = properties::parse(text).map_err(malformed)?;
    match crate::vault::properties::json(serde_yaml::Value::Mapping(values)) {
        Value::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}
