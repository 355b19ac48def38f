//! The note of an accomplishment: its properties, its sections, its tasks. It is edited, not
//! rewritten: each change here replaces only what it names, and is refused if any other part of the
//! note would then be read differently.

use super::criteria::{Criterion, criteria, split_checkbox, with_criteria};
use super::markdown::{SECTIONS, marks_start, section_text, with_block_id, with_section};
use super::task::{self, Task, TaskInNote};
use super::{Error, invalid, malformed};
use crate::markdown::edit::splice;
use crate::markdown::parts;
use crate::markdown::properties;
use crate::slice::Part;
use crate::yaml;
use serde_yaml::{Mapping, Value};
use std::collections::HashSet;

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
        let note = parts::Note::of(text);
        Body {
            outcome: section_text(&note, "Outcome"),
            criteria: criteria(&note).into_iter().map(|found| found.criterion).collect(),
            tasks: task::tasks(&note).into_iter().map(|found| found.task).collect(),
            notes: section_text(&note, "Notes"),
        }
    }
}

/// A property as text, or the one item of a list, which Obsidian makes where the property's type is
/// list; `None` for other lists and a mapping.
pub(super) fn text_of(properties: &Mapping, key: &str) -> Option<String> {
    let value = match properties.get(properties::name_in(properties, key))? {
        Value::Sequence(items) if items.len() == 1 => items.first()?,
        value => value,
    };
    yaml::scalar(value).map(|text| text.trim().to_owned())
}

/// The ids in `depends_on`: a list, or one comma-separated text.
pub(super) fn depends_on(properties: &Mapping) -> Vec<String> {
    let texts: Vec<&str> = match properties.get(properties::name_in(properties, "depends_on")) {
        Some(Value::Sequence(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split(',').collect(),
        _ => Vec::new(),
    };
    unique(texts.into_iter().filter(|id| !id.trim().is_empty()))
}

/// Ids without white space around them, each once, in their order.
pub(super) fn unique<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.map(str::trim).filter(|id| seen.insert(*id)).map(str::to_owned).collect()
}

/// A note that is being edited.
#[derive(Debug, Clone)]
pub(super) struct Note {
    /// Its text.
    pub(super) text: String,
    /// Its name in messages.
    name: String,
}

impl Note {
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed) for a note without readable frontmatter.
    pub(super) fn new(text: String, name: &str) -> Result<Note, Error> {
        let note = Note { text, name: name.to_owned() };
        note.properties()?;
        Ok(note)
    }

    pub(super) fn properties(&self) -> Result<Mapping, Error> {
        properties::parse(&self.text).map_err(malformed(&self.name))
    }

    /// Replaces a property.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed) when it is written so that replacing it is not
    /// safe.
    pub(super) fn set(
        &mut self,
        key: &str,
        new: impl Into<serde_json::Value>,
    ) -> Result<(), Error> {
        let refused = malformed(&self.name);
        let properties = self.properties()?;
        let key = properties::name_in(&properties, key);
        // Items that are not texts are not ours, and would be lost.
        if properties
            .get(&key)
            .and_then(|own| own.as_sequence())
            .is_some_and(|items| items.iter().any(|item| !item.is_string()))
        {
            return Err(refused(format!(
                "its {key:?} has items that are not texts; it is not replaced"
            )));
        }
        self.text = properties::set(&self.text, &key, Some(&new.into())).map_err(refused)?;
        Ok(())
    }

    /// Replaces the text of the section Outcome or Notes.
    ///
    /// # Errors
    /// [`Invalid`](crate::vault::Error::Invalid) for a text with headings, or unclosed blocks, that
    /// would break the note's structure.
    pub(super) fn set_section(&mut self, name: &'static str, content: &str) -> Result<(), Error> {
        let content = content.replace("\r\n", "\n");
        must_be_text(name, &content)?;
        let content =
            with_block_id(&section_text(&parts::Note::of(&self.text), name), content.trim());
        let edited = with_section(&self.text, name, &content);
        let written = section_text(&parts::Note::of(&edited), name);
        self.take(edited, name, written == content)
    }

    /// Replaces the acceptance criteria. One whose text exists already keeps its line, and so its
    /// box; a text that begins with `[x]` or `[ ]` sets its box.
    ///
    /// # Errors
    /// [`Invalid`](crate::vault::Error::Invalid) for an empty text, or one of several lines.
    pub(super) fn set_criteria(&mut self, texts: &[&str]) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for text in texts {
            // A line copied from a note has its list marker.
            let item =
                ["- ", "* ", "+ "].iter().find_map(|marker| text.trim_start().strip_prefix(marker));
            let (ticked, text) = item
                .and_then(split_checkbox)
                .or_else(|| split_checkbox(text))
                .map_or((None, *text), |(done, text)| (Some(done), text));
            let text = text.trim();
            must_be_text("Acceptance Criteria", text)?;
            if text.is_empty() || text.contains('\n') {
                return Err(invalid("Each of data.acceptance_criteria must be one line of text."));
            }
            wanted.push((ticked, text));
        }
        let edited = with_criteria(&self.text, &wanted);
        let bare = |text: &str| text.part(..marks_start(text)).to_owned();
        let mut now: Vec<String> = criteria(&parts::Note::of(&edited))
            .iter()
            .map(|found| bare(&found.criterion.text))
            .collect();
        let mut as_wanted: Vec<String> = wanted.iter().map(|(_, text)| bare(text)).collect();
        // Each stays below its own heading, so the order in the note may be another.
        now.sort_unstable();
        as_wanted.sort_unstable();
        self.take(edited, "Acceptance Criteria", now == as_wanted)
    }

    /// The tasks.
    pub(super) fn tasks(&self) -> Vec<TaskInNote> {
        task::tasks(&parts::Note::of(&self.text))
    }

    /// Accepts a text in which the section Tasks was edited, if its tasks are the expected ones.
    ///
    /// # Errors
    /// [`Invalid`](crate::vault::Error::Invalid) when they are not: something in a field broke the
    /// note's structure.
    pub(super) fn set_tasks(&mut self, edited: String, expected: &[Task]) -> Result<(), Error> {
        let as_expected =
            task::tasks(&parts::Note::of(&edited)).iter().map(|found| &found.task).eq(expected);
        self.take(edited, "Tasks", as_expected)
    }

    /// Replaces the heading that was made from the title; one that a person has changed stays.
    pub(super) fn set_heading(&mut self, old_title: &str, new_title: &str) {
        let note = parts::Note::of(&self.text);
        let headings = note.headings();
        let first = headings.iter().position(|heading| heading.level == 1);
        let Some(range) = first.and_then(|first| note.heading_text(&headings, first)) else {
            return;
        };
        let made_of = |title: &str| format!("{title} (Accomplishment)");
        if self.text.part(range.clone()) == made_of(old_title).trim() {
            let edited = splice(&self.text, range, &made_of(new_title));
            // A new heading that would change how the note is read is not set.
            if Body::of(&edited) == Body::of(&self.text) {
                self.text = edited;
            }
        }
    }

    /// Accepts the edited text, if the section is as wanted and no other section changed.
    fn take(&mut self, edited: String, name: &str, as_wanted: bool) -> Result<(), Error> {
        if !as_wanted || other_sections(&self.text, name) != other_sections(&edited, name) {
            return Err(invalid(format!(
                "The text for {name} would break the note apart: it must have no headings of the \
                 first or second level (in a task no headings at all), and close every code block \
                 and comment that it opens."
            )));
        }
        self.text = edited;
        Ok(())
    }
}

/// Refuses control characters, which end lines in some programs and are visible in none.
pub(super) fn must_be_text(name: &str, text: &str) -> Result<(), Error> {
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(invalid(format!("The text for {name} has a control character.")));
    }
    Ok(())
}

/// The texts of all sections but one, without white space at line ends.
fn other_sections(text: &str, but: &str) -> Vec<String> {
    let note = parts::Note::of(text);
    let headings: Vec<parts::Heading> =
        note.headings().into_iter().filter(|heading| heading.level <= 2).collect();
    let starts = headings.iter().map(|heading| (heading.lines.start, heading.text.as_str()));
    let ends = headings.iter().map(|heading| heading.lines.start).chain([note.lines.len()]);
    let sections = [(note.body(), "")]
        .into_iter()
        .chain(starts)
        .zip(ends)
        .filter(|((_, heading), _)| !heading.eq_ignore_ascii_case(but));
    let texts = sections.map(|((start, _), end)| {
        (start..end).map(|at| note.line(at).trim_end()).collect::<Vec<_>>().join("\n")
    });
    texts.map(|text| text.trim().to_owned()).collect()
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
            (
                "## Outcome\n\nold\ntext\n\n\n## Notes\nn",
                "new",
                "## Outcome\n\nnew\n\n\n## Notes\nn",
            ),
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
        let mut windows =
            Note::new("---\r\na: 1\r\n---\r\n## Outcome\r\nold\r\n## Notes\r\n".into(), "n.md")
                .unwrap();
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
        const LIST: &str = "## Acceptance Criteria\nIntro:\n- [x] a\n  - detail\n- [ ] \
                            b\n\nBetween.\n* [-] c\n- d\n\nEnd.\n";
        for (wanted, after) in [
            (vec!["a", "b", "c", "d"], LIST.to_owned()),
            (vec!["a", "c", "d"], LIST.replace("- [ ] b\n", "")),
            (
                vec!["n", "a", "b", "m", "c", "d", "o"],
                LIST.replace("- [x] a", "- [ ] n\n- [x] a")
                    .replace("- [ ] b\n", "- [ ] b\n- [ ] m\n")
                    .replace("- d\n", "- d\n- [ ] o\n"),
            ),
            (vec!["n"], "## Acceptance Criteria\nIntro:\n- [ ] n\n\nBetween.\n\nEnd.\n".to_owned()),
            (
                vec!["d", "a"],
                "## Acceptance Criteria\nIntro:\n- d\n- [x] a\n  - detail\n\nBetween.\n\nEnd.\n"
                    .to_owned(),
            ),
            (
                vec!["[ ] a", "[x] b", "c", "[x] d"],
                LIST.replace("[x] a", "[ ] a")
                    .replace("[ ] b", "[x] b")
                    .replace("\n- d\n", "\n- [x] d\n"),
            ),
            (vec![], "## Acceptance Criteria\nIntro:\n\nBetween.\n\nEnd.\n".to_owned()),
            (
                vec!["n", "c"],
                "## Acceptance Criteria\nIntro:\n- [ ] n\n\nBetween.\n* [-] c\n\nEnd.\n".to_owned(),
            ),
        ] {
            let mut note = note(LIST);
            note.set_criteria(&wanted).unwrap();
            assert_eq!(body(&note), after, "{wanted:?}");
        }
        let done: Vec<bool> =
            Body::of(&note(LIST).text).criteria.iter().map(|criterion| criterion.done).collect();
        assert_eq!(done, [true, false, false, false]);
        let mut empty = note("## Acceptance Criteria\n\n_No criteria yet._\n");
        empty.set_criteria(&["a", "b"]).unwrap();
        assert_eq!(body(&empty), "## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n");
        assert!(empty.set_criteria(&["a\n## b"]).is_err() && empty.set_criteria(&[" "]).is_err());
    }

    #[test]
    fn what_belongs_to_a_criterion_stays_with_its_words() {
        const LIST: &str = "## Acceptance Criteria\n\n### Must\n- [x] Starts cold ^c1\n  - \
                            measured 4 s\nlazy line\n- [ ] Burns clean[^1] ✅ 2026-11-22\n\n### \
                            Should\n- [ ] Is quiet\n- [ ] Is cheap\n  > really\n";
        for (wanted, after) in [
            (vec!["Starts cold", "Burns clean", "Is quiet", "Is cheap"], LIST.to_owned()),
            (
                vec!["Starts when cold", "Burns clean", "Is quiet", "Is cheap"],
                LIST.replace(
                    "- [x] Starts cold ^c1\n  - measured 4 s\nlazy line\n",
                    "- [ ] Starts when cold\n",
                ),
            ),
            (
                vec!["Starts cold", "Burns very clean", "Is quiet", "Is cheap"],
                LIST.replace("Burns clean[^1] ✅ 2026-11-22", "Burns very clean"),
            ),
            (
                vec!["Starts cold", "Burns clean", "Is cheap", "Is quiet"],
                LIST.replace(
                    "- [ ] Is quiet\n- [ ] Is cheap\n  > really\n",
                    "- [ ] Is cheap\n  > really\n- [ ] Is quiet\n",
                ),
            ),
            (
                vec!["Starts cold", "Burns clean", "Is quiet", "Lasts", "Is cheap"],
                LIST.replace("- [ ] Is cheap", "- [ ] Lasts\n- [ ] Is cheap"),
            ),
            (
                vec!["Starts cold ^c9", "Burns clean", "Is quiet", "Is cheap"],
                LIST.replace("^c1", "^c9"),
            ),
        ] {
            let mut note = note(LIST);
            note.set_criteria(&wanted).unwrap();
            assert_eq!(body(&note), after, "{wanted:?}");
        }
        let found = Body::of(&note(LIST).text).criteria;
        assert_eq!(
            (found[0].details.as_str(), found[3].details.as_str()),
            ("- measured 4 s\nlazy line", "> really")
        );
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
    fn a_heading_that_a_person_wrote_stays() {
        let mut made = note("# Old (Accomplishment)\n## Old\n");
        made.set_heading("Old", "New");
        assert_eq!(body(&made), "# New (Accomplishment)\n## Old\n");
        let mut own = note("# My own words\n");
        own.set_heading("Old", "New");
        assert_eq!(body(&own), "# My own words\n");
    }
}
