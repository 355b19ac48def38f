//! The rules of the wiki that a program can check: the deterministic part of the skill `second-brain-lint`. Nothing is
//! repaired.

use super::{TREES, links};
use crate::vault::{Entry, Error, Vault, VaultPath};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A page that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The page, or folder.
    pub page: String,
    /// The line, from 1; 0 where it is about the page as a whole.
    pub line: usize,
    /// The rule.
    pub rule: &'static str,
    /// What is wrong.
    pub what: String,
}

/// Pages that are not about anything, so they need no heading of their own, and nothing has to link to them.
const FRAME: [&str; 2] = ["index.md", "log.md"];

/// Checks the three trees. Findings are sorted by page and line.
///
/// # Errors
/// Those of the vault.
pub fn lint(vault: &Vault) -> Result<Vec<Finding>, Error> {
    vault.refresh_now()?;
    let everything = vault.files_below(&VaultPath::folder("")?, "");
    let pages = links::Pages::of(everything.iter().map(|entry| entry.path.as_ref()));
    let wiki: Vec<&Arc<Entry>> =
        everything.iter().filter(|entry| tree(&entry.path).is_some() && entry.path.to_lowercase().ends_with(".md")).collect();
    let mut found = Vec::new();
    let mut linked: HashMap<String, HashSet<String>> = HashMap::new();
    for entry in &wiki {
        let Ok(text) = vault.text(entry) else {
            found.push(Finding {
                page: entry.path.to_string(),
                line: 0,
                rule: "unreadable",
                what: "the page cannot be read as text".into(),
            });
            continue;
        };
        look_at(entry, &text, &pages, &mut linked, &mut found);
    }
    for entry in &wiki {
        look_around(entry, &pages, &linked, &mut found);
    }
    let folders = everything.iter().filter_map(|entry| reminders(&entry.path));
    let folders: HashSet<&str> = folders.collect();
    found.extend(folders.into_iter().map(|folder| Finding {
        page: folder.to_owned(),
        line: 0,
        rule: "knowledge-only",
        what: "a folder for reminders; those live on the board".into(),
    }));
    found.sort();
    Ok(found)
}

/// The tree that a path lies in.
fn tree(path: &str) -> Option<&str> {
    path.split_once('/').map(|(top, _)| top).filter(|top| TREES.contains(top))
}

/// The folder `reminders` that a path of the wiki lies in.
fn reminders(path: &str) -> Option<&str> {
    tree(path)?;
    let at = path.find("/reminders/")?;
    path.get(..at + "/reminders".len())
}

/// What a page says by itself.
fn look_at(entry: &Entry, text: &str, pages: &links::Pages, linked: &mut HashMap<String, HashSet<String>>, found: &mut Vec<Finding>) {
    let path = entry.path.as_ref();
    let mut finding = |line, rule, what: String| found.push(Finding { page: path.to_owned(), line, rule, what });
    let name = entry.name();
    let stem = name.strip_suffix(".md").unwrap_or(name);
    if !FRAME.contains(&name) {
        match links::outside_code(text).find_map(|(line, text)| Some((line, text.strip_prefix("# ")?.trim()))) {
            Some((_, heading)) if heading == stem => {}
            Some((line, heading)) => finding(line, "file-name", format!("the first heading is {heading:?}, not the file's name")),
            None => finding(0, "file-name", "the page has no heading with its name".into()),
        }
    }
    if name == "priorities.md" {
        finding(0, "knowledge-only", "a page for priorities; those live on the board".into());
    }
    for (line, text) in links::outside_code(text) {
        if is_task(text) {
            finding(line, "knowledge-only", "a task; those live on the board".into());
        }
    }
    let here = tree(path);
    for link in links::of(text) {
        if link.target.is_empty() {
            continue;
        }
        match pages.find(link.target) {
            None => finding(link.line, "broken-link", format!("[[{}]] leads nowhere", link.target)),
            Some(to) => {
                let there = tree(to);
                if matches!((here, there), (Some("work"), Some("life")) | (Some("life"), Some("work"))) {
                    finding(link.line, "cross-domain", format!("[[{}]] leads to {to}; only shared/ belongs to both", link.target));
                }
                linked.entry(path.to_owned()).or_default().insert(to.to_owned());
            }
        }
    }
}

/// What others say of a page.
fn look_around(entry: &Entry, pages: &links::Pages, linked: &HashMap<String, HashSet<String>>, found: &mut Vec<Finding>) {
    let path = entry.path.as_ref();
    let Some(here) = tree(path).filter(|_| !FRAME.contains(&entry.name())) else { return };
    let is_frame = |page: &str| FRAME.iter().any(|frame| page.ends_with(&format!("/{frame}")));
    let is_linked = linked.iter().any(|(from, to)| from != path && !is_frame(from) && to.contains(path));
    let mut finding = |rule, what: String| found.push(Finding { page: path.to_owned(), line: 0, rule, what });
    if !is_linked {
        finding("orphan", "no page links to it but an index or log".into());
    }
    let index = format!("{here}/wiki/index.md");
    if here != "shared" && pages.find(&index) == Some(index.as_str()) && !linked.get(&index).is_some_and(|to| to.contains(path)) {
        finding("index-gap", format!("{index} does not list it"));
    }
}

/// A checkbox in a list, ticked or not.
fn is_task(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(rest) = rest.strip_prefix(['-', '*', '+', '.', ')']) else { return false };
    let mut chars = rest.trim_start().chars();
    chars.next() == Some('[')
        && chars.next().is_some_and(|c| c != ']' && c != '[')
        && chars.next() == Some(']')
        && chars.next() != Some('(')
}
