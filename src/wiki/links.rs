//! `[[wikilinks]]` in a text, and the files that they lead to, as Obsidian finds them.

use std::collections::HashMap;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// What it names: a path or a file's name, without heading, block or shown text. Empty for a place in the same note.
    pub target: &'a str,
    /// The line it stands in, from 1.
    pub line: usize,
}

/// The links of a text, embedded files (`![[...]]`) among them; what stands in code is none.
pub fn of(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for (line, rest) in outside_code(text) {
        let mut rest = rest;
        while let Some(at) = rest.find("[[") {
            let after = rest.get(at + 2..).unwrap_or_default();
            let Some(end) = after.find("]]") else { break };
            let inner = after.get(..end).unwrap_or_default();
            // Of several openings the last one counts.
            let inner = inner.rsplit("[[").next().unwrap_or_default();
            found.push(Link { target: bare(inner), line });
            rest = after.get(end + 2..).unwrap_or_default();
        }
    }
    found
}

/// The lines of a text that are not in fenced code, numbered from 1, without what stands in code within a line.
pub fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<(char, usize)> = None;
    (1..).zip(text.lines()).flat_map(move |(number, line)| {
        let start = line.trim_start();
        let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| start.chars().take_while(|&c| c == mark).count());
        let pieces: Vec<(usize, &str)> = match (fence, mark) {
            (Some((open, least)), Some(mark)) if mark == open && length >= least && start.trim_end().chars().all(|c| c == mark) => {
                fence = None;
                Vec::new()
            }
            (Some(_), _) => Vec::new(),
            (None, Some(mark)) if length >= 3 => {
                fence = Some((mark, length));
                Vec::new()
            }
            (None, _) => line.split('`').step_by(2).map(|piece| (number, piece)).collect(),
        };
        pieces
    })
}

/// What a link names, of `target#heading|shown`, `[[target]]` or a plain path.
pub fn bare(link: &str) -> &str {
    let link = link.trim().trim_start_matches('!');
    let link = link.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")).unwrap_or(link);
    // In a table the bar has a backslash before it.
    link.split(['|', '#', '^']).next().unwrap_or_default().trim_end_matches('\\').trim()
}

/// The files of a vault, by the ways in which a link can name them.
#[derive(Debug, Default)]
pub struct Pages {
    by_name: HashMap<String, Vec<String>>,
}

impl Pages {
    /// Of their paths.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Pages {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths {
            by_name.entry(key(path.rsplit('/').next().unwrap_or(path))).or_default().push(path.to_owned());
        }
        // Of several the one nearest to the root, as Obsidian has it.
        by_name.values_mut().for_each(|same| same.sort_by_key(|path| (path.matches('/').count(), path.clone())));
        Pages { by_name }
    }

    /// The file that a link's target leads to: by its path, the end of its path, or its name; a note with or without `.md`.
    pub fn find(&self, target: &str) -> Option<&str> {
        let target = target.trim_start_matches("./").trim_start_matches('/');
        let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
        let wanted = folder.to_lowercase();
        let lies_there = |path: &&String| {
            let own = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_lowercase();
            wanted.is_empty() || own == wanted || own.strip_suffix(&wanted).is_some_and(|before| before.ends_with('/'))
        };
        self.by_name.get(&key(name))?.iter().find(lies_there).map(String::as_str)
    }
}

/// A name without `.md` and without case.
fn key(name: &str) -> String {
    let name = name.to_lowercase();
    name.strip_suffix(".md").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "a [[Ada]] and [[work/wiki/x.md#Part|shown]] `[[no]]` ![[pic.png]]\n```\n[[no]]\n```\n| [[Bo\\|b]] | [[#here]] [[open\n~~~~\n~~~\n[[no]]\n~~~~\n[[last]]";
        let found: Vec<(usize, &str)> = of(text).into_iter().map(|link| (link.line, link.target)).collect();
        assert_eq!(found, [(1, "Ada"), (1, "work/wiki/x.md"), (1, "pic.png"), (5, "Bo"), (5, ""), (10, "last")]);
    }

    #[test]
    fn a_name_leads_to_a_file_as_in_obsidian() {
        let pages = Pages::of(["work/wiki/entities/Ada.md", "life/Ada.md", "raw/assets/plan.pdf", "Top.md"].into_iter());
        for (target, found) in [
            ("ada", Some("life/Ada.md")),
            ("entities/Ada", Some("work/wiki/entities/Ada.md")),
            ("work/wiki/entities/Ada.md", Some("work/wiki/entities/Ada.md")),
            ("ties/Ada", None),
            ("plan.pdf", Some("raw/assets/plan.pdf")),
            ("plan", None),
            ("top", Some("Top.md")),
            ("", None),
        ] {
            assert_eq!(pages.find(target), found, "{target}");
        }
    }
}
