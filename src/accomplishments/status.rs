//! The status of a task, on the wire and as people write it.

/// Where a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Open,
    /// Being worked on.
    InProgress,
    /// Done.
    Complete,
    /// Put aside.
    OnHold,
}

impl TaskStatus {
    /// The names on the wire.
    pub const NAMES: [&'static str; 4] = ["Open", "InProgress", "Complete", "OnHold"];

    /// The name on the wire and in notes.
    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Open => "Open",
            TaskStatus::InProgress => "InProgress",
            TaskStatus::Complete => "Complete",
            TaskStatus::OnHold => "OnHold",
        }
    }

    /// The status of a name on the wire.
    pub(super) fn named(name: &str) -> Option<TaskStatus> {
        [TaskStatus::Open, TaskStatus::InProgress, TaskStatus::Complete, TaskStatus::OnHold]
            .into_iter()
            .find(|status| status.name() == name)
    }

    /// What a person may have written.
    pub(super) fn read(text: &str) -> TaskStatus {
        let text = without_comments(text.lines().next().unwrap_or_default()).to_lowercase();
        if text.trim_start().starts_with("not ") || text.contains("to be ") || text.contains("incomplete") {
            return TaskStatus::Open;
        }
        // Whole words: what is abandoned is not done.
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let says = |known: &[&str]| words.iter().any(|word| known.contains(word));
        if text.contains("progress") {
            TaskStatus::InProgress
        } else if says(&["complete", "completed", "done"]) {
            TaskStatus::Complete
        } else if says(&["hold", "onhold", "paused"]) {
            TaskStatus::OnHold
        } else {
            TaskStatus::Open
        }
    }
}

/// A line without its comments (`%%…%%`).
fn without_comments(line: &str) -> String {
    let parts: Vec<&str> = line.split("%%").collect();
    // A comment that does not end is none of this line's.
    parts.iter().enumerate().filter(|(number, _)| number % 2 == 0 || number + 1 == parts.len()).map(|(_, part)| *part).collect()
}
