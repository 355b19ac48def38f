//! Looks up the pages of a vault by the names that links use.

use crate::markdown::links::split_subpath;
use crate::markdown::resolve::{Files, Resolved, resolve};
use crate::slice::Part;

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
pub struct Pages(Files);

impl Pages {
    /// Indexes files by their paths.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Pages {
        let mut files = Files::default();
        for path in paths {
            files.insert(&path.into());
        }
        Pages(files)
    }

    /// The file that a path or wikilink means.
    pub fn named(&self, link: &str) -> Option<&str> {
        self.find(link_target(link), "")
    }

    /// The file that a link's target means; of several that Obsidian ranks equally, the first in
    /// the same tree. `from` is the file with the link, empty for none.
    pub fn find(&self, target: &str, from: &str) -> Option<&str> {
        let tree = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
        let source = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        match resolve(target, source, &self.0) {
            Resolved::Missing => None,
            Resolved::One(path) => Some(path),
            Resolved::Several(paths) => {
                paths.iter().find(|path| tree(path) == tree(from)).or(paths.first()).copied()
            }
        }
    }
}

/// Characters of an HTML tag that are read: what ends no tag is scanned again from each of its
/// tags.
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
    let text = text.to_ascii_lowercase();
    // Whether an image has no target of its own: then each definition may be that.
    let has_no_target = |image: &str| {
        !image.starts_with('[')
            && image.split_once(']').is_none_or(|(_, rest)| !rest.starts_with('('))
    };
    let needs_definition = text.split("![").skip(1).any(has_no_target);
    let mut from = 0;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        from += line.len();
        let line = PageLine { line, below: text.part(from..) };
        if line.has_remote_image()
            || needs_definition && line.has_remote_definition()
            || line.has_loading_tag()
        {
            found.push(number);
        }
    }
    found
}

/// A line of a page in lower case, and the text after it, in which what begins in the line may go
/// on.
struct PageLine<'a> {
    line: &'a str,
    below: &'a str,
}

impl PageLine<'_> {
    /// Whether a target that begins in the line is on another server.
    fn is_remote(&self, target: &str) -> bool {
        is_remote(target)
            || target.ends_with('\n') && target.trim().is_empty() && is_remote(self.below)
    }

    fn has_remote_image(&self) -> bool {
        self.line.split("![").skip(1).any(|image| {
            // What follows an embed (`![[file]]`) on its line is no part of it; `![[alt]](target)`
            // is an image.
            let embed = image.strip_prefix('[').and_then(|inner| inner.split_once("]]"));
            if let Some((file, _)) =
                embed.filter(|(file, rest)| !file.contains('[') && !rest.starts_with(['(', '[']))
            {
                return is_remote(file);
            }
            image.split_once("](").is_some_and(|(_, target)| self.is_remote(target))
                || image.contains("][")
                || is_remote(image.trim_start_matches('['))
        })
    }

    /// Whether the line is a link reference definition with such a target.
    fn has_remote_definition(&self) -> bool {
        self.line.split_once("]:").is_some_and(|(name, target)| {
            let name = name.trim_start_matches(|c: char| {
                c.is_whitespace() || c.is_ascii_digit() || ">-*+.)".contains(c)
            });
            name.starts_with('[') && !name.starts_with("[^") && self.is_remote(target)
        })
    }

    /// Whether the line has an HTML tag that loads something, and `//` follows: anywhere in the
    /// line, or in a tag that goes on below it, up to a blank line.
    fn has_loading_tag(&self) -> bool {
        const TAGS: [&str; 9] = [
            "<img", "<iframe", "<video", "<audio", "<source", "<embed", "<object", "<link",
            "<image",
        ];
        let first = TAGS.iter().filter_map(|tag| self.line.find(tag)).min();
        let last = TAGS.iter().filter_map(|tag| self.line.rfind(tag)).max();
        first.into_iter().chain(last).any(|at| self.line.contains("//") || self.tag_has_address(at))
    }

    fn tag_has_address(&self, at: usize) -> bool {
        let rest: String =
            self.line.part(at..).chars().chain(self.below.chars()).take(TAG_CHARS).collect();
        let rest = rest.split("\n\n").next().unwrap_or_default();
        rest.get(..end_of_tag(rest)).is_some_and(|tag| tag.contains("//"))
    }
}

/// Whether a target is on another server.
fn is_remote(target: &str) -> bool {
    let target = target.trim_start_matches([' ', '\r', '\n', '<', '\'', '"']);
    ["//", "http:", "https:"].iter().any(|start| target.starts_with(start))
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
        assert_eq!(
            (link_target("[[a/b#c|d]]"), link_target("![[x\\|y]]"), link_target("plain.md")),
            ("a/b", "x", "plain.md")
        );
    }

    #[test]
    fn what_loads_from_another_server_is_found_over_line_ends() {
        let text = "![a](https://h/a.png)\n![b](\nhttps://h/b.png)\n![logo]\n\n[logo]: https://h/c.png\n<img\nsrc=\"//h/d.png\">\n\
                    ![own](a.png) [link](https://h/)\n<img src=\"a.png\"> https://h/\n";
        assert_eq!(remote_images(text), [1, 2, 6, 7, 10]);
        assert_eq!(remote_images("<img alt=\">\" src=\"https://h/a.png\">\n"), [1]);
        assert_eq!(remote_images("<img alt=\">\"\nsrc=\"https://h/a.png\">\n"), [1]);
        assert_eq!(remote_images("![\u{c4}]\n\n- [\u{e4}]: https://h/a.png\n"), [3]);
        assert_eq!(
            remote_images("![[a.png]]\ntext[^1]\n\n[^1]: https://h/source\n"),
            [0; 0],
            "a footnote"
        );
        assert_eq!(remote_images("[link]\n\n[link]: https://h/\n"), [0; 0], "no image");
    }
}
