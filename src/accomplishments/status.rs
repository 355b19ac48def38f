//! Maps what people write for a status, effort or priority to its known values.

/// The values of a task's status.
pub const TASK_STATUSES: [&str; 4] = ["Open", "InProgress", "Complete", "OnHold"];

/// The status of a task, as a person may have written it.
pub(super) fn task_status(text: &str) -> &'static str {
    let line = text.lines().next().unwrap_or_default();
    let status = line.split("%%").next().unwrap_or_default();
    nearest(&TASK_STATUSES, status).unwrap_or("Open")
}

/// The known value that is nearest to what a person may have written for it.
pub(super) fn nearest(known: &[&'static str], text: &str) -> Option<&'static str> {
    const WORDS: [(&str, &[&str]); 11] = [
        ("InProgress", &["progress", "inprogress", "progressing"]),
        ("Complete", &["complete", "completed", "done"]),
        ("OnHold", &["hold", "onhold", "paused"]),
        ("Completed", &["done", "complete", "finished", "closed", "shipped"]),
        ("In Progress", &["progress", "doing", "started", "active", "wip", "working"]),
        ("Blocked", &["waiting", "hold", "paused", "stuck", "blocked"]),
        ("Not Started", &["todo", "open", "new", "planned", "backlog", "not"]),
        ("Critical", &["urgent", "highest", "asap", "blocker"]),
        ("High", &["important", "high"]),
        ("Medium", &["normal", "middle", "med"]),
        ("Low", &["lowest", "minor", "later", "someday"]),
    ];
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let is_meant = |meant: &[&str]| words.iter().any(|word| meant.contains(word));
    // "Not done" must not count as done.
    let negated = words.first() == Some(&"not") || text.contains("to be ");
    let found = WORDS
        .iter()
        .filter(|(value, _)| known.contains(value) && (!negated || *value == "Not Started"))
        .find(|(_, meant)| is_meant(meant));
    found.and_then(|(value, _)| known.iter().find(|known| *known == value)).copied()
}
