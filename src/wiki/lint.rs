//! The rules of the wiki that a program can check: the deterministic part of the skill
//! `second-brain-lint`. Nothing is repaired.

use super::TREES;
use super::links::{Pages, remote_images};
use crate::markdown::frontmatter;
use crate::markdown::links::links;
use crate::markdown::parts::Note;
use crate::vault::{Entry, Error, Vault, VaultPath, composed};
use std::collections::HashSet;
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

/// Pages without a subject of their own, which need no heading with their name, and no links to
/// them.
const STRUCTURAL: [&str; 2] = ["index.md", "log.md"];

/// Checks the three trees. Findings are sorted by page and line.
///
/// # Errors
/// Those of the vault.
pub fn lint(vault: &Vault) -> Result<Vec<Finding>, Error> {
    vault.refresh_now()?;
    let everything = vault.files_below(&VaultPath::root(), "");
    let pages = Pages::of(everything.iter().map(|entry| entry.path.as_ref()));
    let wiki: Vec<&Arc<Entry>> =
        everything.iter().filter(|entry| tree(&entry.path).is_some() && entry.is_note()).collect();
    if wiki.is_empty() {
        return Err(Error::Invalid(format!(
            "There is no wiki here, no page in {}; init-wiki writes one",
            TREES.join("/, ") + "/"
        )));
    }
    let (mut found, mut linked) = (Vec::new(), Linked::default());
    for entry in &wiki {
        // One that cannot be read has no heading, which is reported.
        let text = vault.text(entry).unwrap_or_default();
        check_page(entry, &text, &pages, &mut linked, &mut found);
    }
    for entry in &wiki {
        check_links(entry, &linked, &mut found);
    }
    check_for_actions(&everything, &mut found);
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Which pages are linked to.
#[derive(Default)]
struct Linked {
    /// From another page that is neither an index nor a log.
    by_pages: HashSet<String>,
    /// From the index of each tree.
    by_index: HashSet<(String, String)>,
}

/// The tree that a path lies in.
fn tree(path: &str) -> Option<&str> {
    path.split_once('/').map(|(top, _)| top).filter(|top| TREES.contains(top))
}

fn index_of(tree: &str) -> String {
    format!("{tree}/wiki/index.md")
}

/// Finds what older wikis had for actions: a page `priorities.md`, a folder `reminders`; in a tree,
/// or at the root.
fn check_for_actions(everything: &[Arc<Entry>], found: &mut Vec<Finding>) {
    for entry in everything {
        let above = entry.path.match_indices("reminders/").find_map(|(at, _)| {
            entry.path.get(..at).filter(|above| above.is_empty() || above.ends_with('/'))
        });
        let (page, what) = match above {
            Some(above) => {
                (format!("{above}reminders"), "a folder for reminders; those live on the board")
            }
            None if entry.name() == "priorities.md" => {
                (entry.path.to_string(), "a page for priorities; those live on the board")
            }
            None => continue,
        };
        if tree(&page).is_some() || !page.contains('/') {
            found.push(Finding { page, line: 0, rule: "knowledge-only", what: what.to_owned() });
        }
    }
}

/// Checks a page's own text, and collects its links.
fn check_page(
    entry: &Entry,
    text: &str,
    pages: &Pages,
    linked: &mut Linked,
    found: &mut Vec<Finding>,
) {
    let path = entry.path.as_ref();
    let mut finding =
        |line, rule, what: String| found.push(Finding { page: path.to_owned(), line, rule, what });
    let name = entry.name();
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let note = Note::of(text);
    if !STRUCTURAL.contains(&name) {
        match note.headings().into_iter().find(|heading| heading.level == 1) {
            Some(heading) if composed(&heading.text) == stem => {}
            Some(heading) => {
                let what = format!("the first heading is {:?}, not the file's name", heading.text);
                finding(heading.lines.start + 1, "file-name", what);
            }
            None => finding(0, "file-name", "the page has no heading with its name".into()),
        }
    }
    for task in note.tasks() {
        finding(task.line + 1, "knowledge-only", "a task; those live on the board".into());
    }
    for line in remote_images(text) {
        finding(
            line,
            "remote-image",
            "loads from another server, which learns when the page is read".into(),
        );
    }
    if frontmatter::block(text)
        .is_some_and(|yaml| yaml.lines().any(|line| line.trim_end() == "status: partial"))
    {
        finding(0, "unfinished", "the session that wrote it was cut off".into());
    }
    let here = tree(path);
    for link in links(text).into_iter().filter(|link| !link.path.is_empty()) {
        let line = note.line_at(link.range.start) + 1;
        let Some(to) = pages.find(&link.path, path) else {
            finding(line, "broken-link", format!("[[{}]] leads nowhere", link.path));
            continue;
        };
        if matches!((here, tree(to)), (Some("work"), Some("life")) | (Some("life"), Some("work"))) {
            finding(
                line,
                "cross-domain",
                format!("[[{}]] leads to {to}; only shared/ belongs to both", link.path),
            );
        }
        if let Some(here) = here.filter(|here| path == index_of(here)) {
            linked.by_index.insert((here.to_owned(), to.to_owned()));
        } else if !STRUCTURAL.contains(&name) && to != path {
            linked.by_pages.insert(to.to_owned());
        }
    }
}

/// Checks the links from other pages to a page.
fn check_links(entry: &Entry, linked: &Linked, found: &mut Vec<Finding>) {
    let path = entry.path.as_ref();
    let Some(here) = tree(path).filter(|_| !STRUCTURAL.contains(&entry.name())) else { return };
    let mut finding =
        |rule, what: String| found.push(Finding { page: path.to_owned(), line: 0, rule, what });
    if !linked.by_pages.contains(path) {
        finding("orphan", "no page except an index or log links to it".into());
    }
    // `shared` needs no index.
    if here != "shared" && !linked.by_index.contains(&(here.to_owned(), path.to_owned())) {
        finding("index-gap", format!("{} does not list it", index_of(here)));
    }
}
