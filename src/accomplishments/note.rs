//! The note of an accomplishment: its properties, its sections, its tasks. It is edited, not rewritten: each change here
//! replaces only what it names, and is refused where the note would then say anything else than before besides.

use super::Error;
use super::markdown::{Kind, Line, NOTHING, SECTIONS, lines, marks_at, section, with_block_id, with_section};
use super::task::{self, Found, Task};
use crate::limits;
use crate::markdown::blocks::line_end;
use crate::markdown::properties::{self, splice};
use serde_yaml::{Mapping, Value};
use std::ops::Range;

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// What has to be so.
    pub text: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// What a person wrote below it, without the indent of the first line; empty if nothing.
    pub details: String,
}

/// What a note's body says.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// The state when all is done.
    pub outcome: String,
    /// What has to be so.
    pub criteria: Vec<Criterion>,
    /// The tasks, in their order.
    pub tasks: Vec<Task>,
    /// Free text.
    pub notes: String,
}

impl Body {
    /// Reads the text of a note.
    pub(super) fn of(text: &str) -> Body {
        let lines = lines(text);
        Body {
            outcome: section_text(text, &lines, "Outcome"),
            criteria: criteria(&lines).into_iter().map(|found| found.criterion).collect(),
            tasks: task::tasks(&lines).into_iter().map(|found| found.task).collect(),
            notes: section_text(text, &lines, "Notes"),
        }
    }
}

fn section_text(text: &str, lines: &[Line<'_>], name: &str) -> String {
    let Some(section) = section(lines, name) else { return String::new() };
    let body = lines.get(section.body).unwrap_or_default();
    let place = body.first().map_or(0..0, |first| first.place.start..body.last().map_or(0, |last| last.place.end));
    let said = text.get(place).unwrap_or_default().trim();
    if NOTHING.contains(&said) { String::new() } else { said.replace("\r\n", "\n") }
}

/// A criterion in its note.
struct FoundCriterion {
    criterion: Criterion,
    /// The lines it takes.
    lines: Range<usize>,
    /// The sub-heading it stands below, counted from the head of the section.
    group: usize,
}

fn criteria(lines: &[Line<'_>]) -> Vec<FoundCriterion> {
    let mut found: Vec<FoundCriterion> = Vec::new();
    let (mut blank, mut group) = (0, 0);
    for at in section(lines, "Acceptance Criteria").map_or(0..0, |section| section.body) {
        let Some(line) = lines.get(at) else { break };
        if line.is_blank() {
            blank += 1;
            continue;
        }
        let follows = |last: &FoundCriterion| last.lines.end + blank == at;
        if matches!(line.kind, Kind::Heading(_)) {
            group += 1;
        } else if let Some(item) = line.item() {
            let (done, text) = boxed(item).unwrap_or((false, item));
            let criterion = Criterion { text: text.trim().to_owned(), done, details: String::new() };
            found.push(FoundCriterion { criterion, lines: at..at + 1, group });
        } else if let Some(last) =
            found.last_mut().filter(|last| follows(last) && (line.is_indented() || blank == 0 && task::goes_on(line)))
        {
            last.lines.end = at + 1;
        }
        blank = 0;
    }
    for found in &mut found {
        let below = lines.get(found.lines.start + 1..found.lines.end).unwrap_or_default();
        let indent = below.iter().find(|line| !line.is_blank()).map_or(0, |line| line.text.len() - line.text.trim_start().len());
        let dedented = below.iter().map(|line| line.text.get(indent..).filter(|_| line.is_indented()).unwrap_or(line.text.trim_start()));
        found.criterion.details = dedented.collect::<Vec<_>>().join("\n").trim_end().to_owned();
    }
    found
}

/// What follows a box, and whether that is ticked.
fn boxed(item: &str) -> Option<(bool, &str)> {
    let rest = item.trim_start().strip_prefix('[')?;
    let sign = rest.chars().next()?;
    let text = rest.get(sign.len_utf8()..)?.strip_prefix(']')?;
    (text.is_empty() || text.starts_with([' ', '\t'])).then_some((matches!(sign, 'x' | 'X'), text))
}

/// A property as a text; of a list or mapping none.
pub(super) fn text_of(properties: &Mapping, key: &str) -> Option<String> {
    match properties.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The ids in `depends_on`: a list, or one text with commas.
pub(super) fn depends_on(properties: &Mapping) -> Vec<String> {
    let texts: Vec<&str> = match properties.get("depends_on") {
        Some(Value::Sequence(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split(',').collect(),
        _ => Vec::new(),
    };
    let mut ids = Vec::new();
    for id in texts.into_iter().map(str::trim).filter(|id| !id.is_empty()) {
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// A note that is being edited.
#[derive(Debug, Clone)]
pub(super) struct Note {
    /// Its text.
    pub(super) text: String,
    /// How messages call it.
    name: String,
}

impl Note {
    /// # Errors
    /// [`Error::Parse`] for a note without readable frontmatter.
    pub(super) fn new(text: String, name: &str) -> Result<Note, Error> {
        let note = Note { text, name: name.to_owned() };
        note.properties()?;
        Ok(note)
    }

    pub(super) fn properties(&self) -> Result<Mapping, Error> {
        properties::parse(&self.text).map_err(|why| Error::Parse { path: self.name.clone(), why })
    }

    /// Replaces a property.
    ///
    /// # Errors
    /// [`Error::Parse`] when it is written in a way in which that is not safe.
    pub(super) fn set(&mut self, key: &str, new: impl Into<serde_json::Value>) -> Result<(), Error> {
        let refused = |why: String| Error::Parse { path: self.name.clone(), why };
        // Items that are no texts are none of ours, and would be lost.
        if self.properties()?.get(key).and_then(|own| own.as_sequence()).is_some_and(|items| items.iter().any(|item| !item.is_string())) {
            return Err(refused(format!("its {key:?} has items that are no texts; it is not replaced")));
        }
        self.text = properties::set(&self.text, key, Some(&new.into())).map_err(refused)?;
        Ok(())
    }

    /// Replaces the text of the section Outcome or Notes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text with headings, or open ends, that would break the note apart.
    pub(super) fn set_section(&mut self, name: &'static str, content: &str) -> Result<(), Error> {
        let content = content.replace("\r\n", "\n");
        must_be_text(name, &content)?;
        let content = with_block_id(&section_text(&self.text, &lines(&self.text), name), content.trim());
        let edited = with_section(&self.text, name, &content);
        let said = section_text(&edited, &lines(&edited), name);
        self.take(edited, name, said == content)
    }

    /// Replaces the acceptance criteria. One whose text is there already keeps its line, and so its box; a text that begins
    /// with `[x]` or `[ ]` says how its box is to be.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty text, or one of several lines.
    pub(super) fn set_criteria(&mut self, texts: &[&str]) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for text in texts {
            let (ticked, text) = boxed(text).map_or((None, *text), |(done, text)| (Some(done), text));
            let text = text.trim();
            must_be_text("Acceptance Criteria", text)?;
            if text.is_empty() || text.contains('\n') {
                return Err(Error::InvalidArgument("Each of data.acceptance_criteria must be one line of text.".into()));
            }
            wanted.push((ticked, text));
        }
        let edited = with_criteria(&self.text, &wanted);
        let bare = |text: &str| text.get(..marks_at(text)).unwrap_or_default().to_owned();
        let mut now: Vec<String> = criteria(&lines(&edited)).iter().map(|found| bare(&found.criterion.text)).collect();
        let mut as_wanted: Vec<String> = wanted.iter().map(|(_, text)| bare(text)).collect();
        // Each stays below its own heading, so the order in the note may be another.
        now.sort_unstable();
        as_wanted.sort_unstable();
        self.take(edited, "Acceptance Criteria", now == as_wanted)
    }

    /// The tasks.
    pub(super) fn tasks(&self) -> Vec<Found> {
        task::tasks(&lines(&self.text))
    }

    /// Takes over a text in which the section Tasks was edited, if its tasks are what they should be.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they are not: something in a field broke the note apart.
    pub(super) fn set_tasks(&mut self, edited: String, expected: &[Task]) -> Result<(), Error> {
        let as_expected = task::tasks(&lines(&edited)).iter().map(|found| &found.task).eq(expected);
        self.take(edited, "Tasks", as_expected)
    }

    /// Replaces the heading that was made from the title; one that a person has changed stays.
    pub(super) fn set_heading(&mut self, old_title: &str, new_title: &str) {
        let lines = lines(&self.text);
        let Some(first) = lines.iter().find(|line| line.kind == Kind::Heading(1)) else { return };
        let made_of = |title: &str| format!("{title} (Accomplishment)");
        if first.heading() == made_of(old_title).trim() && first.text.trim_start().starts_with('#') {
            let start = first.place.start + first.text.find(first.heading()).unwrap_or_default();
            let edited = splice(&self.text, start..start + first.heading().len(), &made_of(new_title));
            // A heading that would mean something else there stays what it was.
            if Body::of(&edited) == Body::of(&self.text) {
                self.text = edited;
            }
        }
    }

    /// What one section was to become must be so, and all other sections what they were.
    fn take(&mut self, edited: String, name: &str, as_wanted: bool) -> Result<(), Error> {
        if !as_wanted || others(&self.text, name) != others(&edited, name) {
            return Err(Error::InvalidArgument(format!(
                "The text for {name} would break the note apart: it must have no headings of the first or second level (in a task no headings at all), and close every code block and comment that it opens."
            )));
        }
        self.text = edited;
        Ok(())
    }
}

/// Control characters end lines in some programs, and are seen in none.
pub(super) fn must_be_text(name: &str, text: &str) -> Result<(), Error> {
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Error::InvalidArgument(format!("The text for {name} has a control character.")));
    }
    Ok(())
}

/// All sections but one, each with its text.
fn others(text: &str, but: &str) -> Vec<(String, String)> {
    let lines = lines(text);
    let mut sections = vec![(String::new(), String::new())];
    for line in &lines {
        if let Kind::Heading(1 | 2) = line.kind {
            sections.push((line.text.to_owned(), String::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push_str(text.get(line.place.clone()).unwrap_or_default().trim_end());
            body.push('\n');
        }
    }
    sections.retain(|(heading, _)| !heading.trim_matches(['#', ' ', '\t']).eq_ignore_ascii_case(but));
    sections.into_iter().map(|(heading, body)| (heading, body.trim().to_owned())).collect()
}

fn with_criteria(text: &str, wanted: &[(Option<bool>, &str)]) -> String {
    let eol = line_end(text, 0);
    let all = lines(text);
    let old = criteria(&all);
    if old.is_empty() {
        let list: Vec<String> = wanted.iter().map(|(ticked, text)| new_criterion(*ticked, text)).collect();
        let said = section_text(text, &all, "Acceptance Criteria");
        return match (list.join("\n"), said) {
            (list, _) if list.is_empty() => text.to_owned(),
            (list, said) if said.is_empty() => with_section(text, "Acceptance Criteria", &list),
            // A person's words above the list stay.
            (list, said) => with_section(text, "Acceptance Criteria", &format!("{said}\n\n{list}")),
        };
    }
    let chosen = choose(&old, wanted);
    let place_of = |found: &FoundCriterion| {
        let (first, last) = (all.get(found.lines.start), all.get(found.lines.end - 1));
        first.map_or(0, |line| line.place.start)..last.map_or(0, |line| line.place.end)
    };
    let places: Vec<Range<usize>> = old.iter().map(place_of).collect();
    let block_of = |number: usize, ticked: Option<bool>, wanted: &str| {
        let block = places.get(number).and_then(|place| text.get(place.clone())).unwrap_or_default().trim_end_matches(['\r', '\n']);
        let known = old.get(number).map(|found| &found.criterion);
        let block = match ticked.filter(|ticked| known.is_some_and(|known| known.done != *ticked)) {
            Some(ticked) => with_box(block, ticked),
            None => block.to_owned(),
        };
        known.map_or_else(|| block.clone(), |known| with_words(&block, &known.text, wanted))
    };
    // What is new goes below the heading of what stands before it.
    let mut group = old.first().map_or(0, |first| first.group);
    let mut items: Vec<(usize, Option<usize>, String)> = Vec::new();
    for ((ticked, wanted), chosen) in wanted.iter().zip(&chosen) {
        let block = match *chosen {
            Some(number) => {
                group = old.get(number).map_or(group, |found| found.group);
                block_of(number, *ticked, wanted)
            }
            None => new_criterion(*ticked, wanted),
        };
        items.push((group, *chosen, block));
    }
    // From the end, so that places in front stay right.
    let mut edited = text.to_owned();
    let mut groups: Vec<usize> = old.iter().map(|found| found.group).collect();
    groups.dedup();
    for group in groups.into_iter().rev() {
        let first = old.partition_point(|found| found.group < group);
        let count = old.iter().filter(|found| found.group == group).count();
        let own = items.iter().filter(|(of, ..)| *of == group);
        let own: Vec<(Option<usize>, &String)> = own.map(|(_, chosen, block)| (chosen.map(|number| number - first), block)).collect();
        edited = with_list(&edited, places.get(first..first + count).unwrap_or_default(), &own, eol);
    }
    edited
}

fn new_criterion(ticked: Option<bool>, text: &str) -> String {
    format!("- [{}] {text}", if ticked == Some(true) { 'x' } else { ' ' })
}

/// Which old criterion each wanted one is: the same words, else, of those that are left, the one that is most like it, if that is
/// like it at all.
fn choose(old: &[FoundCriterion], wanted: &[(Option<bool>, &str)]) -> Vec<Option<usize>> {
    let bare = |text: &str| text.get(..marks_at(text)).unwrap_or_default().to_lowercase();
    let known: Vec<String> = old.iter().map(|found| bare(&found.criterion.text)).collect();
    let mut taken = vec![false; old.len()];
    let mut chosen: Vec<Option<usize>> = vec![None; wanted.len()];
    for (choice, (_, text)) in chosen.iter_mut().zip(wanted) {
        let text = bare(text);
        if let Some((at, free)) = taken.iter_mut().enumerate().find(|(at, taken)| !**taken && known.get(*at) == Some(&text)) {
            *free = true;
            *choice = Some(at);
        }
    }
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (number, (_, text)) in wanted.iter().enumerate().filter(|(number, _)| chosen.get(*number) == Some(&None)) {
        let free = known.iter().enumerate().filter(|(at, _)| taken.get(*at) == Some(&false));
        pairs.extend(free.map(|(at, known)| (strsim::normalized_levenshtein(&bare(text), known), number, at)));
    }
    pairs.retain(|(likeness, ..)| *likeness >= limits::CRITERION_LIKENESS);
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    for (_, number, at) in pairs {
        if let (Some(choice @ None), Some(taken @ false)) = (chosen.get_mut(number), taken.get_mut(at)) {
            *choice = Some(at);
            *taken = true;
        }
    }
    chosen
}

/// A criterion's lines with other words in the first of them; its marks stay, unless the words have marks of their own.
fn with_words(block: &str, old: &str, new: &str) -> String {
    let (old_words, new_words) = (old.get(..marks_at(old)).unwrap_or_default(), new.get(..marks_at(new)).unwrap_or_default());
    if old_words == new_words && (old == new || new == new_words) {
        return block.to_owned();
    }
    let first_line = block.find('\n').unwrap_or(block.len());
    let Some(at) = block.get(..first_line).and_then(|line| line.rfind(old)) else { return block.to_owned() };
    let marks = if new_words == new { old.get(old_words.len()..).unwrap_or_default() } else { "" };
    splice(block, at..at + old.len(), &format!("{new}{marks}"))
}

/// A list with these blocks; each is one of `old` (by its number) or new. What stands between them stays.
fn with_list(text: &str, old: &[Range<usize>], items: &[(Option<usize>, &String)], eol: &str) -> String {
    let kept: Vec<usize> = items.iter().filter_map(|(chosen, _)| *chosen).collect();
    let place = |number: usize| old.get(number).cloned().unwrap_or(0..0);
    let mut edited = text.to_owned();
    if !kept.is_sorted() {
        edited = remove_all(&edited, old, 1..old.len());
        return put(&edited, place(0), items.iter().map(|(_, block)| *block), eol);
    }
    // In place: what goes goes, what comes stands after the one it follows in the list.
    let mut at = old.len();
    let mut pending: Vec<&String> = Vec::new();
    for (chosen, block) in items.iter().rev() {
        let Some(number) = *chosen else {
            pending.push(block);
            continue;
        };
        edited = remove_all(&edited, old, number + 1..at);
        edited = put(&edited, place(number), std::iter::once(*block).chain(pending.drain(..).rev()), eol);
        at = number;
    }
    // The new ones at the head take the place of the first that was there.
    if at > 0 && !pending.is_empty() {
        edited = remove_all(&edited, old, 1..at);
        return put(&edited, place(0), pending.into_iter().rev(), eol);
    }
    edited = remove_all(&edited, old, 0..at);
    let head: Vec<&String> = pending.into_iter().rev().collect();
    if head.is_empty() { edited } else { put(&edited, place(0).start..place(0).start, head.into_iter(), eol) }
}

fn remove_all(text: &str, old: &[Range<usize>], numbers: Range<usize>) -> String {
    old.get(numbers).unwrap_or_default().iter().rev().fold(text.to_owned(), |text, place| splice(&text, place.clone(), ""))
}

/// Puts blocks in the place of one, which ends as it did: the last line of a file may have no end.
fn put<'a>(text: &str, place: Range<usize>, blocks: impl Iterator<Item = &'a String>, eol: &str) -> String {
    let old = text.get(place.clone()).unwrap_or_default();
    // The line that was there keeps its own end.
    let own = match old {
        "" => eol,
        old if old.ends_with("\r\n") => "\r\n",
        old if old.ends_with('\n') => "\n",
        _ => "",
    };
    let blocks: Vec<&String> = blocks.collect();
    let mut list = String::new();
    for (number, block) in blocks.iter().enumerate() {
        let is_last = number + 1 == blocks.len();
        let end = match (number, is_last) {
            (0, true) => own,
            (0, false) if !own.is_empty() => own,
            (_, true) if own.is_empty() => "",
            _ => eol,
        };
        list.push_str(block);
        list.push_str(end);
    }
    splice(text, place, &list)
}

/// A criterion's lines with its box ticked or not.
fn with_box(block: &str, ticked: bool) -> String {
    let sign = if ticked { "[x]" } else { "[ ]" };
    let numbered = block.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let sign_of_item: &[char] = if numbered { &['.', ')'] } else { &['-', '*', '+'] };
    let item_at = block.find(sign_of_item).map_or(0, |at| at + 1);
    let (before, rest) = block.split_at_checked(item_at).unwrap_or((block, ""));
    let gap = rest.len() - rest.trim_start().len();
    match boxed(rest) {
        Some(_) => {
            let start = item_at + gap;
            let end = start + block.get(start..).and_then(|rest| rest.find(']')).map_or(0, |at| at + 1);
            splice(block, start..end, sign)
        }
        None => format!("{before} {sign}{rest}"),
    }
}

/// A new note: properties in their order, each with its value in YAML, and empty sections.
pub(super) fn template(properties: &[(&str, String)], title: &str) -> String {
    let mut text = String::from("---\n");
    for (key, yaml) in properties {
        text.push_str(&format!("{key}: {yaml}\n"));
    }
    text.push_str(&format!("---\n\n# {title} (Accomplishment)\n"));
    for section in SECTIONS {
        text.push_str(&format!("\n## {section}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Note {
        Note::new(format!("---\na: 1\n---\n{text}"), "n.md").unwrap()
    }

    fn body(note: &Note) -> &str {
        note.text.strip_prefix("---\na: 1\n---\n").unwrap()
    }

    #[test]
    fn a_section_is_replaced_and_its_surroundings_kept() {
        for (before, content, after) in [
            ("## Outcome\n\nold\ntext\n\n\n## Notes\nn", "new", "## Outcome\n\nnew\n\n\n## Notes\nn"),
            ("## Outcome", "new", "## Outcome\n\nnew\n"),
            ("## Outcome\n\n## Notes\n", "new", "## Outcome\n\nnew\n\n## Notes\n"),
            ("## Outcome\n\n\n## Notes\n", "new", "## Outcome\n\nnew\n\n## Notes\n"),
            ("# T\n\n## Notes\nn\n", "new", "# T\n\n## Outcome\n\nnew\n\n## Notes\nn\n"),
            ("# T", "new", "# T\n\n## Outcome\n\nnew\n"),
            ("", "new", "\n## Outcome\n\nnew\n"),
            ("## Outcome\nold\n", "", "## Outcome\n\n"),
        ] {
            let mut note = note(before);
            note.set_section("Outcome", content).unwrap();
            assert_eq!(body(&note), after, "{before:?}");
        }
        let mut windows = Note::new("---\r\na: 1\r\n---\r\n## Outcome\r\nold\r\n## Notes\r\n".into(), "n.md").unwrap();
        windows.set_section("Outcome", "a\nb").unwrap();
        assert_eq!(windows.text, "---\r\na: 1\r\n---\r\n## Outcome\r\na\r\nb\r\n## Notes\r\n");
        for content in ["a\n## Notes\nb", "# A", "```\nopen", "<!-- open", "%%\nopen"] {
            let mut note = note("## Outcome\nold\n\n## Notes\nn\n");
            assert!(note.set_section("Outcome", content).is_err(), "{content:?}");
            assert_eq!(body(&note), "## Outcome\nold\n\n## Notes\nn\n");
        }
        let mut fenced = note("## Outcome\nold\n");
        fenced.set_section("Outcome", "### Deeper\n```\n## code\n```").unwrap();
        assert_eq!(Body::of(&fenced.text).outcome, "### Deeper\n```\n## code\n```");
    }

    #[test]
    fn criteria_keep_their_lines_and_boxes() {
        const LIST: &str = "## Acceptance Criteria\nIntro:\n- [x] a\n  - detail\n- [ ] b\n\nBetween.\n* [-] c\n- d\n\nEnd.\n";
        for (wanted, after) in [
            (vec!["a", "b", "c", "d"], LIST.to_owned()),
            (vec!["a", "c", "d"], LIST.replace("- [ ] b\n", "")),
            (
                vec!["n", "a", "b", "m", "c", "d", "o"],
                LIST.replace("- [x] a", "- [ ] n\n- [x] a").replace("- [ ] b\n", "- [ ] b\n- [ ] m\n").replace("- d\n", "- d\n- [ ] o\n"),
            ),
            (vec!["n"], "## Acceptance Criteria\nIntro:\n- [ ] n\n\nBetween.\n\nEnd.\n".to_owned()),
            (vec!["d", "a"], "## Acceptance Criteria\nIntro:\n- d\n- [x] a\n  - detail\n\nBetween.\n\nEnd.\n".to_owned()),
            (
                vec!["[ ] a", "[x] b", "c", "[x] d"],
                LIST.replace("[x] a", "[ ] a").replace("[ ] b", "[x] b").replace("\n- d\n", "\n- [x] d\n"),
            ),
            (vec![], "## Acceptance Criteria\nIntro:\n\nBetween.\n\nEnd.\n".to_owned()),
            (vec!["n", "c"], "## Acceptance Criteria\nIntro:\n- [ ] n\n\nBetween.\n* [-] c\n\nEnd.\n".to_owned()),
        ] {
            let mut note = note(LIST);
            note.set_criteria(&wanted).unwrap();
            assert_eq!(body(&note), after, "{wanted:?}");
        }
        let done: Vec<bool> = Body::of(&note(LIST).text).criteria.iter().map(|criterion| criterion.done).collect();
        assert_eq!(done, [true, false, false, false]);
        let mut empty = note("## Acceptance Criteria\n\n_No criteria yet._\n");
        empty.set_criteria(&["a", "b"]).unwrap();
        assert_eq!(body(&empty), "## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n");
        assert!(empty.set_criteria(&["a\n## b"]).is_err() && empty.set_criteria(&[" "]).is_err());
    }

    #[test]
    fn what_belongs_to_a_criterion_stays_with_the_one_that_is_most_like_it() {
        const LIST: &str = "## Acceptance Criteria\n\n### Must\n- [x] Starts cold ^c1\n  - measured 4 s\nlazy line\n- [ ] Burns clean[^1] ✅ 2026-11-22\n\n### Should\n- [ ] Is quiet\n- [ ] Is cheap\n  > really\n";
        for (wanted, after) in [
            (vec!["Starts cold", "Burns clean", "Is quiet", "Is cheap"], LIST.to_owned()),
            (vec!["Starts when cold", "Burns clean", "Is quiet", "Is cheap"], LIST.replace("Starts cold", "Starts when cold")),
            (vec!["Starts cold", "Burns very clean", "Is quiet", "Is cheap"], LIST.replace("Burns clean", "Burns very clean")),
            (
                vec!["Starts cold", "Burns clean", "Is cheap", "Is quiet"],
                LIST.replace("- [ ] Is quiet\n- [ ] Is cheap\n  > really\n", "- [ ] Is cheap\n  > really\n- [ ] Is quiet\n"),
            ),
            (
                vec!["Starts cold", "Burns clean", "Is quiet", "Lasts", "Is cheap"],
                LIST.replace("- [ ] Is cheap", "- [ ] Lasts\n- [ ] Is cheap"),
            ),
            (vec!["Starts cold ^c9", "Burns clean", "Is quiet", "Is cheap"], LIST.replace("^c1", "^c9")),
        ] {
            let mut note = note(LIST);
            note.set_criteria(&wanted).unwrap();
            assert_eq!(body(&note), after, "{wanted:?}");
        }
        let found = Body::of(&note(LIST).text).criteria;
        assert_eq!((found[0].details.as_str(), found[3].details.as_str()), ("- measured 4 s\nlazy line", "> really"));
    }

    #[test]
    fn a_block_id_at_the_end_of_a_section_stays() {
        for (before, after) in [
            ("## Outcome\nold ^o1\n", "## Outcome\nnew ^o1\n"),
            ("## Outcome\nold\n^o1\n\n## Notes\n", "## Outcome\nnew\n^o1\n\n## Notes\n"),
        ] {
            let mut note = note(before);
            note.set_section("Outcome", "new").unwrap();
            assert_eq!(body(&note), after, "{before:?}");
        }
    }

    #[test]
    fn a_heading_of_a_persons_stays() {
        let mut made = note("# Old (Accomplishment)\n## Old\n");
        made.set_heading("Old", "New");
        assert_eq!(body(&made), "# New (Accomplishment)\n## Old\n");
        let mut own = note("# My own words\n");
        own.set_heading("Old", "New");
        assert_eq!(body(&own), "# My own words\n");
    }
}
