//! The tasks of a note: headings of the third level in its section Tasks, with fields as list
//! items.

use super::field::{FIELDS, Field, fields, hours, value, written};
use super::markdown::{is_blank, item, section, with_appended};
use super::status::task_status;
use crate::markdown::blocks::{Kind, line_end};
use crate::markdown::edit::{Edit, apply_all, splice};
use crate::markdown::parts::{self, Heading};
use crate::slice::Part;
use std::collections::BTreeMap;

/// A task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Task {
    /// Its number in the note.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What it achieves.
    pub goal: String,
    /// Details.
    pub description: String,
    /// How it is to be done.
    pub technical_notes: Option<String>,
    /// Hours.
    pub estimate: Option<f64>,
    /// One of [`super::TASK_STATUSES`].
    pub status: &'static str,
    /// Anything else.
    pub notes: Option<String>,
    /// A person's own fields, and an estimate that states no hours.
    pub others: BTreeMap<String, String>,
}

impl Task {
    /// The id on the wire: `ACC-001:Task 1:Name`.
    pub fn id(&self, accomplishment: &str) -> String {
        format!("{accomplishment}:Task {}:{}", self.number, self.name)
    }
}

/// A task, and its position among the lines of its note.
#[derive(Debug)]
pub(super) struct TaskInNote {
    pub(super) task: Task,
    /// Which line its heading is.
    heading: usize,
    /// Its list items; those without a name are a person's.
    fields: Vec<Field>,
}

/// The tasks of a note in their order.
pub(super) fn tasks(note: &parts::Note<'_>) -> Vec<TaskInNote> {
    let Some(body) = section(note, "Tasks") else { return Vec::new() };
    let headings = note.headings();
    let ends = headings.iter().skip(1).map(|next| next.lines.start).chain([note.lines.len()]);
    let own = headings
        .iter()
        .zip(ends)
        .filter(|(heading, _)| heading.level == 3 && body.contains(&heading.lines.start));
    own.filter_map(|(heading, end)| found(note, heading, end)).collect()
}

fn found(note: &parts::Note<'_>, heading: &Heading, end: usize) -> Option<TaskInNote> {
    let (number, name) = numbered(&heading.text)?;
    let fields = fields(note, heading.lines.end..end);
    let text =
        |name: &str| fields.iter().find(|field| field.name == name).map(|field| value(note, field));
    let filled = |name: &str| text(name).filter(|text| !text.is_empty());
    let estimate = filled("Estimate").and_then(|text| hours(&text));
    let is_other = |field: &&Field| match &*field.name {
        "" => false,
        "Estimate" => estimate.is_none(),
        name => !FIELDS.contains(&name),
    };
    let others =
        fields.iter().filter(is_other).map(|field| (field.name.clone(), value(note, field)));
    let task = Task {
        number,
        name: name.to_owned(),
        goal: text("Goal").unwrap_or_default(),
        description: text("Description").unwrap_or_default(),
        technical_notes: filled("Technical Notes"),
        estimate,
        status: task_status(&text("Status").unwrap_or_default()),
        notes: filled("Notes"),
        others: others.filter(|(_, text)| !text.is_empty()).collect(),
    };
    Some(TaskInNote { task, heading: heading.lines.start, fields })
}

/// `Task 3: Name`, or with a dash between spaces instead of the colon.
fn numbered(heading: &str) -> Option<(u32, &str)> {
    let rest = heading
        .get(..4)
        .filter(|word| word.eq_ignore_ascii_case("task"))
        .and_then(|_| heading.get(4..))?;
    let (number, name) = [":", " - ", " – ", " — "].iter().find_map(|mark| {
        let (number, name) = rest.split_once(mark)?;
        Some((number.trim().parse().ok()?, name))
    })?;
    Some((number, name.trim()))
}

/// The text of a note with one more task, whose fields are given by the names in [`FIELDS`].
pub(super) fn add(text: &str, number: u32, name: &str, fields: &[(&str, String)]) -> String {
    let eol = line_end(text, 0);
    let mut block = format!("### Task {number}: {name}{eol}");
    for (field, value) in fields {
        block.push_str(&format!("- **{field}:**{}{eol}", written(value, eol)));
    }
    with_appended(text, "Tasks", block.trim_end())
}

impl TaskInNote {
    /// Whether it has a field several times, so that it is unclear which one counts.
    pub(super) fn has_twice(&self, name: &str) -> bool {
        self.fields.iter().filter(|field| field.name == name).count() > 1
    }

    /// The note with this task renamed.
    pub(super) fn named(&self, text: &str, name: &str) -> String {
        let note = parts::Note::of(text);
        let (start, line) = (note.start(self.heading), note.line(self.heading));
        let digit = |c: char| c.is_ascii_digit();
        let behind = line.trim_start_matches(|c| !digit(c)).trim_start_matches(digit);
        splice(text, start + line.len() - behind.len()..start + line.len(), &format!(": {name}"))
    }

    /// The note with a new value for one of this task's [`FIELDS`].
    pub(super) fn with(&self, text: &str, name: &str, value: &str) -> String {
        let eol = line_end(text, 0);
        if let Some(field) = self.fields.iter().find(|field| field.name == name) {
            let (range, value) = field.replacement(text, value, eol);
            return splice(text, range, &value);
        }
        let order = |name: &str| FIELDS.iter().position(|field| *field == name);
        let before = self
            .fields
            .iter()
            .rev()
            .find(|field| order(&field.name).is_some_and(|at| Some(at) < order(name)));
        let after = before.map_or(self.heading, |field| field.lines.end - 1);
        let note = parts::Note::of(text);
        let (end, next) = (note.start(after + 1), after + 1);
        let field = format!("- **{name}:**{}", written(value, eol));
        // A paragraph right below would become part of the item.
        let is_parted = is_blank(note.line(next))
            || item(&note, next).is_some()
            || matches!(note.kind(next), Some(Kind::Heading(_)));
        let gap = if is_parted { "" } else { eol };
        let inserted = if text.part(..end).ends_with('\n') {
            format!("{field}{eol}{gap}")
        } else {
            format!("{eol}{field}")
        };
        splice(text, end..end, &inserted)
    }

    /// The note without this task: its heading and its fields. Whatever else a person wrote below
    /// the heading stays.
    pub(super) fn removed(&self, text: &str) -> String {
        let note = parts::Note::of(text);
        let mut gone: Vec<usize> = std::iter::once(self.heading).collect();
        self.fields
            .iter()
            .filter(|field| !field.name.is_empty())
            .for_each(|field| gone.extend(field.lines.clone()));
        // The blank line after it is removed too, if there is one before it as well.
        let last = gone.iter().max().copied().unwrap_or(self.heading);
        if self.heading.checked_sub(1).is_some_and(|before| is_blank(note.line(before)))
            && is_blank(note.line(last + 1))
        {
            gone.push(last + 1);
        }
        gone.sort_unstable();
        let edits = gone
            .into_iter()
            .map(|at| Edit { range: note.start(at)..note.start(at + 1), text: String::new() });
        apply_all(text, &edits.collect::<Vec<_>>())
    }
}

/// The note with its tasks numbered from 1 in their order.
pub(super) fn renumbered(text: &str) -> String {
    let note = parts::Note::of(text);
    let edits = (1..).zip(tasks(&note)).filter(|(number, found)| found.task.number != *number).map(
        |(number, found)| {
            let line = note.line(found.heading);
            let behind = line.trim_start_matches(|c: char| !c.is_ascii_digit());
            let start = note.start(found.heading) + line.len() - behind.len();
            let digits =
                behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            Edit { range: start..start + digits, text: number.to_string() }
        },
    );
    apply_all(text, &edits.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "# T\n\n## Tasks\nIntro.\n\n### Task 1: One\n- **Goal:** a\n- **Owner:** \
                        Ann\n- **Description:** b\n  more\n\n  and more\n- **Estimate:** about \
                        4h\n- **Status:** In progress since May\n\nA person's words.\n\n### Task \
                        2: Two: b\n* **Goal**: g\n\n### Later\nx\n\n## Notes\nn\n";

    fn all(text: &str) -> Vec<TaskInNote> {
        tasks(&parts::Note::of(text))
    }

    #[test]
    fn tasks_are_read_as_people_write_them() {
        let found = all(NOTE);
        let task = &found[0].task;
        assert_eq!(
            (task.number, task.name.as_str(), task.goal.as_str(), task.description.as_str()),
            (1, "One", "a", "b\nmore\n\nand more")
        );
        assert_eq!((task.estimate, task.status, &task.notes), (None, "InProgress", &None));
        assert_eq!(
            (found[1].task.name.as_str(), found[1].task.goal.as_str(), found.len()),
            ("Two: b", "g", 2)
        );
        for (text, status) in [
            ("done!", "Complete"),
            ("not done", "Open"),
            ("Open\n- not done because", "Open"),
            ("paused", "OnHold"),
            ("On Hold", "OnHold"),
            ("?", "Open"),
        ] {
            assert_eq!(task_status(text), status);
        }
        let others = |text: &str| {
            all(&format!("## Tasks\n### Task 7 - A: b\n{text}"))[0]
                .task
                .others
                .clone()
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            others("- **Owner:** Ann\n- **Estimate:** 3 days\n- **Notes:** n\n- x\n"),
            [("Estimate".into(), "3 days".into()), ("Owner".into(), "Ann".into())]
        );
        let dashed = "## Tasks\n### Task 7 – A: b\n";
        assert_eq!(
            (all(dashed)[0].task.id("ACC-1"), all(dashed)[0].named(dashed, "C")),
            ("ACC-1:Task 7:A: b".into(), "## Tasks\n### Task 7: C\n".into())
        );
        assert_eq!((hours("2.5h"), hours("4 hours"), hours("x")), (Some(2.5), Some(4.0), None));
    }

    #[test]
    fn an_edit_touches_its_field_alone() {
        let first = &all(NOTE)[0];
        assert_eq!(
            first.with(NOTE, "Status", "Complete"),
            NOTE.replace("In progress since May", "Complete")
        );
        assert_eq!(first.with(NOTE, "Estimate", "5h"), NOTE.replace("about 4h", "5h"));
        for (before, status, after) in [
            ("Open %% waiting for parts %% ^st", "OnHold", "OnHold %% waiting for parts %% ^st"),
            ("✅ Done", "Open", "Open"),
            ("almost done ^s", "Open", "Open ^s"),
            ("", "Open", "Open"),
        ] {
            let note = format!("## Tasks\n### Task 1: A\n- **Status:** {before}\n");
            let edited = all(&note)[0].with(&note, "Status", status);
            assert_eq!(
                edited,
                format!("## Tasks\n### Task 1: A\n- **Status:** {after}\n"),
                "{before:?}"
            );
            assert_eq!(all(&edited)[0].task.status, status);
        }
        for (before, after) in
            [("4h (with paint) ^e", "6h (with paint) ^e"), ("4 hours", "6h"), ("2.5", "6h")]
        {
            let note = format!("## Tasks\n### Task 1: A\n- **Estimate:** {before}\n");
            assert_eq!(
                all(&note)[0].with(&note, "Estimate", "6h"),
                format!("## Tasks\n### Task 1: A\n- **Estimate:** {after}\n")
            );
        }
        assert_eq!(
            first.with(NOTE, "Description", "c\nd"),
            NOTE.replace("b\n  more\n\n  and more\n", "c\n  d\n")
        );
        assert_eq!(
            first.with(NOTE, "Notes", "n"),
            NOTE.replace("since May\n", "since May\n- **Notes:** n\n")
        );
        assert_eq!(
            first.with(NOTE, "Technical Notes", "t"),
            NOTE.replace("  and more\n", "  and more\n- **Technical Notes:** t\n")
        );
        assert_eq!(first.named(NOTE, "Uno"), NOTE.replace("Task 1: One", "Task 1: Uno"));
        let below = NOTE.replace("since May\n", "since May\n  - [x] asked Ann\n> a quote\n");
        assert_eq!(
            all(&below)[0].with(&below, "Status", "Complete"),
            below.replace("In progress since May", "Complete")
        );
        let prose = "## Tasks\n### Task 1: A\nProse.\nMore.\n";
        let once = all(prose)[0].with(prose, "Status", "Open");
        assert_eq!(once, "## Tasks\n### Task 1: A\n- **Status:** Open\n\nProse.\nMore.\n");
        assert_eq!(
            all(&once)[0].with(&once, "Status", "Complete"),
            once.replace("Open", "Complete")
        );
        let parted =
            "## Tasks\n### Task 1: A\n- **Goal:** g\n> quote\n\nText.\n- **Status:** Complete\n";
        assert_eq!(
            (all(parted)[0].task.status, all(parted)[0].task.goal.as_str()),
            ("Complete", "g")
        );
        assert_eq!(all(parted)[0].removed(parted), "## Tasks\n> quote\n\nText.\n");
        let mixed = "## Tasks\n### Task 1: A\nProse.\n- **Goal:** g\n\n- [x] mine\n";
        assert_eq!(all(mixed)[0].removed(mixed), "## Tasks\nProse.\n\n- [x] mine\n");
        let removed = renumbered(&first.removed(NOTE));
        assert_eq!(
            removed,
            "# T\n\n## Tasks\nIntro.\n\nA person's words.\n\n### Task 1: Two: b\n* **Goal**: \
             g\n\n### Later\nx\n\n## Notes\nn\n"
        );
        let more = add(
            NOTE,
            3,
            "Three",
            &[("Goal", "x".into()), ("Description", "```\ncode\n```".into())],
        );
        assert_eq!(
            more,
            NOTE.replace(
                "### Later\nx\n",
                "### Later\nx\n\n### Task 3: Three\n- **Goal:** x\n- **Description:**\n  ```\n  \
                 code\n  ```\n"
            )
        );
        assert_eq!(all(&more)[2].task.description, "```\ncode\n```");
    }

    #[test]
    fn a_task_is_added_whatever_the_note_has() {
        for (before, after) in [
            ("## Tasks", "## Tasks\n\n### Task 1: N\n- **Goal:** g\n"),
            ("## Tasks\n", "## Tasks\n\n### Task 1: N\n- **Goal:** g\n"),
            ("## Tasks\n\n## Notes\n", "## Tasks\n\n### Task 1: N\n- **Goal:** g\n\n## Notes\n"),
            ("## Tasks\n## Notes\n", "## Tasks\n\n### Task 1: N\n- **Goal:** g\n\n## Notes\n"),
            (
                "x\r\n## Notes\r\n",
                "x\r\n\r\n## Tasks\r\n\r\n### Task 1: N\r\n- **Goal:** g\r\n\r\n## Notes\r\n",
            ),
            ("## Tasks\n\t", "## Tasks\n\t\n### Task 1: N\n- **Goal:** g\n"),
            ("x", "x\n\n## Tasks\n\n### Task 1: N\n- **Goal:** g\n"),
        ] {
            assert_eq!(add(before, 1, "N", &[("Goal", "g".into())]), after, "{before:?}");
        }
    }
}
