//! `[[wikilinks]]` in a text, and the files that they lead to, as Obsidian finds them.

use crate::markdown::frontmatter;
use std::borrow::Cow;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it names: a path or a file's name, without heading, block or shown text. Empty for a place in the same note.
    pub target: String,
    /// The line it stands in, from 1.
    pub line: usize,
}

/// The links of a text, embedded files (`![[...]]`) among them.
pub fn of(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let mut rest = &*text;
        while let Some(at) = rest.find("[[") {
            let after = rest.get(at + 2..).unwrap_or_default();
            let Some(end) = after.find("]]") else { break };
            // Of several openings the last one counts.
            let inner = after.get(..end).unwrap_or_default().rsplit("[[").next().unwrap_or_default();
            found.push(Link { target: bare(inner).to_owned(), line });
            rest = after.get(end + 2..).unwrap_or_default();
        }
    }
    found
}

/// The lines of a text below its frontmatter, numbered from 1, without code and comments.
pub fn prose(text: &str) -> Vec<(usize, Cow<'_, str>)> {
    let start = frontmatter::end(text);
    // Not its lines: a byte order mark by itself is none.
    let before = text.get(..start).unwrap_or_default().matches('\n').count();
    let (mut fence, mut comment) = (None::<(char, usize)>, None::<&str>);
    let mut lines = Vec::new();
    for (number, line) in (before + 1..).zip(text.get(start..).unwrap_or_default().lines()) {
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or(' ');
        let length = trimmed.chars().take_while(|&c| c == mark).count();
        let info = trimmed.get(length..).unwrap_or_default();
        match fence {
            Some((open, least)) if mark == open && length >= least && info.trim().is_empty() => fence = None,
            Some(_) => {}
            // What begins with three backticks and has more of them is code within a line.
            None if comment.is_none() && mark != ' ' && length >= 3 && !(mark == '`' && info.contains('`')) => fence = Some((mark, length)),
            None => lines.push((number, without_code(without_comments(line, &mut comment)))),
        }
    }
    lines
}

/// A line without `%%comments%%` and `<!-- comments -->`, which may begin in one line and end in another.
fn without_comments<'a>(line: &'a str, open: &mut Option<&'static str>) -> Cow<'a, str> {
    if open.is_none() && !line.contains("%%") && !line.contains("<!--") {
        return Cow::Borrowed(line);
    }
    let (mut kept, mut rest) = (String::new(), line);
    loop {
        match *open {
            Some(close) => match rest.split_once(close) {
                Some((_, after)) => {
                    *open = None;
                    rest = after;
                }
                None => return Cow::Owned(kept),
            },
            None => {
                let at = |mark: &str| rest.find(mark).unwrap_or(usize::MAX);
                let (first, mark, close) = if at("%%") < at("<!--") { (at("%%"), "%%", "%%") } else { (at("<!--"), "<!--", "-->") };
                let Some(before) = rest.get(..first) else {
                    kept.push_str(rest);
                    return Cow::Owned(kept);
                };
                kept.push_str(before);
                rest = rest.get(first + mark.len()..).unwrap_or_default();
                *open = Some(close);
            }
        }
    }
}

/// A line without what stands between runs of as many backticks.
fn without_code(line: Cow<'_, str>) -> Cow<'_, str> {
    if !line.contains('`') {
        return line;
    }
    let (mut kept, mut rest) = (String::new(), &*line);
    while let Some(at) = rest.find('`') {
        kept.push_str(rest.get(..at).unwrap_or_default());
        let opened = rest.get(at..).unwrap_or_default();
        let length = opened.chars().take_while(|&c| c == '`').count();
        let inner = opened.get(length..).unwrap_or_default();
        match closing(inner, length) {
            Some(end) => {
                // Something stands there, so that a list with code in it does not become another one.
                kept.push('`');
                rest = inner.get(end + length..).unwrap_or_default();
            }
            None => {
                kept.push_str(opened.get(..length).unwrap_or_default());
                rest = inner;
            }
        }
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Where the run of so many backticks begins, and no more of them.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('`') {
        let run = text.get(at + found..)?.chars().take_while(|&c| c == '`').count();
        if run == length {
            return Some(at + found);
        }
        at += found + run;
    }
    None
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
        by_name.values_mut().for_each(|same| same.sort_unstable_by_key(|path| (path.matches('/').count(), path.clone())));
        Pages { by_name }
    }

    /// The file that a link's target leads to: by its path, the end of its path, or its name; a note with or without `.md`.
    /// Of several, one in the folder that the link stands in, then one in the same tree, then the one nearest to the root.
    /// `from` is the file that the link stands in, empty for none.
    pub fn find(&self, target: &str, from: &str) -> Option<&str> {
        let here = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let resolved;
        let target = if target.split('/').any(|name| name == "..") {
            resolved = resolve(here, target);
            &resolved
        } else {
            target.trim_start_matches("./").trim_start_matches('/')
        };
        let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
        let wanted = folded(folder);
        let folder_of = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let lies_there = |path: &&String| {
            let own = folded(&folder_of(path));
            wanted.is_empty() || own == wanted || own.strip_suffix(&wanted).is_some_and(|before| before.ends_with('/'))
        };
        let tree = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
        let near = |path: &&String| (folder_of(path) != here, tree(path) != tree(from));
        self.by_name.get(&key(name))?.iter().filter(lies_there).min_by_key(near).map(String::as_str)
    }
}

/// A relative target from the root.
fn resolve(here: &str, target: &str) -> String {
    let mut names: Vec<&str> = here.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// In composed form, without case.
pub fn folded(text: &str) -> String {
    text.nfc().collect::<String>().to_lowercase()
}

/// A name without `.md` and without case.
fn key(name: &str) -> String {
    let name = folded(name);
    name.strip_suffix(".md").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        of(text).into_iter().map(|link| (link.line, link.target)).collect()
    }

    /// Found by the fuzz target `links`.
    #[test]
    fn a_byte_order_mark_is_no_line() {
        assert_eq!(of("\u{feff}[[a]]\n[[b]]").iter().map(|link| link.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(of("\u{feff}---\na: 1\n---\n[[a]]")[0].line, 4);
        assert_eq!(of("---\n---"), []);
    }

    #[test]
    fn links_are_found_outside_of_code_and_comments() {
        for (text, expected) in [
            ("a [[Ada]] and [[x/y.md#Part|shown]] `[[no]]` ![[pic.png]]", &[(1, "Ada"), (1, "x/y.md"), (1, "pic.png")][..]),
            ("```\n[[no]]\n```\n| [[Bo\\|b]] | [[#here]] [[open", &[(4, "Bo"), (4, "")]),
            ("~~~~\n~~~\n[[no]]\n~~~~\n[[last]]", &[(5, "last")]),
            ("``[[no]] ` ``[[yes]] ` [[too]]", &[(1, "yes"), (1, "too")]),
            ("```inline``` [[yes]]\n[[too]]", &[(1, "yes"), (2, "too")]),
            ("%%[[no]]\n[[no]]%%[[yes]]<!-- [[no]] -->\n<!--\n[[no]]\n-->[[too]]", &[(2, "yes"), (5, "too")]),
            ("---\na: \"[[no]]\"\n---\n[[yes]]", &[(4, "yes")]),
        ] {
            let expected: Vec<(usize, String)> = expected.iter().map(|(line, target)| (*line, (*target).to_owned())).collect();
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_leads_to_a_file_as_in_obsidian() {
        let files = [
            "work/wiki/entities/Ada.md",
            "life/Ada.md",
            "raw/assets/plan.pdf",
            "Top.md",
            "work/index.md",
            "life/index.md",
            "work/Cafe\u{301}.md",
        ];
        let pages = Pages::of(files.into_iter());
        for (target, from, found) in [
            ("ada", "", Some("life/Ada.md")),
            ("Ada", "work/wiki/index.md", Some("work/wiki/entities/Ada.md")),
            ("index", "life/wiki/x.md", Some("life/index.md")),
            ("../entities/Ada", "work/wiki/sources/x.md", Some("work/wiki/entities/Ada.md")),
            ("entities/Ada", "", Some("work/wiki/entities/Ada.md")),
            ("work/wiki/entities/Ada.md", "life/x.md", Some("work/wiki/entities/Ada.md")),
            ("ties/Ada", "", None),
            ("plan.pdf", "", Some("raw/assets/plan.pdf")),
            ("plan", "", None),
            ("top", "", Some("Top.md")),
            ("caf\u{e9}", "", Some("work/Cafe\u{301}.md")),
            ("", "", None),
        ] {
            assert_eq!(pages.find(target, from), found, "{target} from {from}");
        }
    }
}
