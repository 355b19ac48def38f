//! Looks up the pages of a vault by the names that links use.

use crate::markdown::links::{Resolved, comparable_name, key_of, resolve, split_subpath};
use std::cell::LazyCell;
use std::collections::HashMap;

/// The target of a link: of `target#heading|shown`, `[[target]]` or a plain path.
pub fn link_target(link: &str) -> &str {
    let link = link.trim().trim_start_matches('!');
    let link = link.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")).unwrap_or(link);
    let target = link.split('|').next().unwrap_or_default();
    // In a table the bar is escaped by a backslash.
    split_subpath(target).0.trim_end_matches('\\').trim()
}

/// The files of a vault, by the last component of their paths.
#[derive(Debug, Default)]
pub struct Pages {
    /// By key: comparable path and path.
    by_name: HashMap<String, Vec<(String, String)>>,
}

impl Pages {
    /// Indexes files by their paths.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Pages {
        let mut by_name: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for path in paths {
            by_name.entry(key_of(path)).or_default().push((comparable_name(path), path.to_owned()));
        }
        Pages { by_name }
    }

    /// The file that a path or wikilink means.
    pub fn named(&self, link: &str) -> Option<&str> {
        self.find(link_target(link), "")
    }

    /// The file that a link's target means; of several that Obsidian ranks equally, the first in the same tree. `from` is the file
    /// with the link, empty for none.
    pub fn find(&self, target: &str, from: &str) -> Option<&str> {
        let tree = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
        let source = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        match resolve(target, source, self.by_name.get(&key_of(target))?.iter().map(|(own, path)| (own.as_str(), path.as_str()))) {
            Resolved::Missing => None,
            Resolved::One(path) => Some(path),
            Resolved::Several(paths) => paths.iter().find(|path| tree(path) == tree(from)).or(paths.first()).copied(),
        }
    }
}

/// Characters of an HTML tag that are read: what ends no tag is scanned again from each of its tags.
const TAG_CHARS: usize = 1_000;

/// Where an HTML tag ends; a `>` in quotes does not end it.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    let ends = |c: char| match quote {
        Some(open) => {
            quote = quote.filter(|_| c != open);
            false
        }
        None => {
            quote = Some(c).filter(|c| ['"', '\''].contains(c));
            c == '>'
        }
    };
    tag.find(ends).unwrap_or(tag.len())
}

/// The lines, from 1, that load something from another server when the page is rendered.
pub fn remote_images(text: &str) -> Vec<usize> {
    const TAGS: [&str; 9] = ["<img", "<iframe", "<video", "<audio", "<source", "<embed", "<object", "<link", "<image"];
    let is_remote = |target: &str| {
        let target = target.trim_start_matches([' ', '\r', '\n', '<', '\'', '"']);
        target.starts_with("//") || target.starts_with("http:") || target.starts_with("https:")
    };
    let text = text.to_ascii_lowercase();
    // Whether an image has no target of its own: then each definition may be that.
    let has_no_target = |image: &str| !image.starts_with('[') && image.split_once(']').is_none_or(|(_, rest)| !rest.starts_with('('));
    let needs_definition = text.split("![").skip(1).any(has_no_target);
    // `below` is the text after the line, in which what begins in it may go on.
    let is_loading = |line: &str, below: &str| {
        let is_remote_below = LazyCell::new(|| is_remote(below));
        let is_remote_from = |target: &str| is_remote(target) || target.ends_with('\n') && target.trim().is_empty() && *is_remote_below;
        let is_image = |image: &str| {
            image.split_once("](").is_some_and(|(_, target)| is_remote_from(target))
                || image.contains("][")
                || is_remote(image.trim_start_matches('['))
        };
        let is_definition = |(name, target): (&str, &str)| {
            let name = name.trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit() || ">-*+.)".contains(c));
            needs_definition && name.starts_with('[') && !name.starts_with("[^") && is_remote_from(target)
        };
        // An HTML tag that loads something in a line with `//`, or that has one further on, in the same paragraph.
        let is_tag = |at: usize| {
            let begun = line.get(at..).unwrap_or_default();
            let rest: String = begun.chars().chain(below.chars()).take(TAG_CHARS).collect();
            let rest = rest.split("\n\n").next().unwrap_or_default();
            rest.get(..end_of_tag(rest)).is_some_and(|tag| tag.contains("//"))
        };
        let tags =
            || TAGS.iter().filter_map(|tag| line.find(tag)).min().into_iter().chain(TAGS.iter().filter_map(|tag| line.rfind(tag)).max());
        line.split("![").skip(1).any(is_image)
            || line.split_once("]:").is_some_and(is_definition)
            || tags().any(|at| line.contains("//") || is_tag(at))
    };
    let mut from = 0;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        from += line.len();
        if is_loading(line, text.get(from..).unwrap_or_default()) {
            found.push(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("ties/Ada", "", Some("work/wiki/entities/Ada.md")),
            ("plan.pdf", "", Some("raw/assets/plan.pdf")),
            ("plan", "", None),
            ("top", "", Some("Top.md")),
            ("caf\u{e9}", "", Some("work/Cafe\u{301}.md")),
            ("", "", None),
        ] {
            assert_eq!(pages.find(target, from), found, "{target} from {from}");
        }
        assert_eq!((link_target("[[a/b#c|d]]"), link_target("![[x\\|y]]"), link_target("plain.md")), ("a/b", "x", "plain.md"));
    }

    #[test]
    fn what_loads_from_another_server_is_found_over_line_ends() {
        let text = "![a](https://h/a.png)\n![b](\nhttps://h/b.png)\n![logo]\n\n[logo]: https://h/c.png\n<img\nsrc=\"//h/d.png\">\n\
                    ![own](a.png) [link](https://h/)\n<img src=\"a.png\"> https://h/\n";
        assert_eq!(remote_images(text), [1, 2, 6, 7, 10]);
        assert_eq!(remote_images("<img alt=\">\" src=\"https://h/a.png\">\n"), [1]);
        assert_eq!(remote_images("<img alt=\">\"\nsrc=\"https://h/a.png\">\n"), [1]);
        assert_eq!(remote_images("![\u{c4}]\n\n- [\u{e4}]: https://h/a.png\n"), [3]);
        assert_eq!(remote_images("![[a.png]]\ntext[^1]\n\n[^1]: https://h/source\n"), [0; 0], "a footnote");
        assert_eq!(remote_images("[link]\n\n[link]: https://h/\n"), [0; 0], "no image");
    }
}
