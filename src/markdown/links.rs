//! Links in a note or canvas with their targets, and how a target is written.

use super::blocks::lines;
use super::frontmatter;
use super::inline::{Span, prose, spans};
use super::json;
use super::quoted::{Quoted, Quoting};
use super::resolve::{comparable_name, is_relative};
use crate::limits;
use crate::percent;
use crate::slice::Part;
use crate::text::floor;
use std::ops::Range;

/// Bytes of a YAML anchor or tag that may precede a quoted link.
const ANCHOR_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `[[target]]`
    Wikilink,
    /// `[text](target)`
    Markdown,
    /// The `file` of a node or the `background` of a group in a canvas: a path from the root,
    /// unencoded.
    CanvasPath,
}

/// A link to a file of the vault, or to a part of the note itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub is_embed: bool,
    pub syntax: Syntax,
    /// The quoting of the string that contains it, in frontmatter or a canvas.
    pub quoting: Quoting,
    /// The link with its brackets.
    pub range: Range<usize>,
    /// The target as it is written, without the display text of a wikilink.
    pub target: Range<usize>,
    /// The part of the target before its subpath.
    pub path_at: Range<usize>,
    /// The subpath as it is written, or where one would be.
    pub subpath_at: Range<usize>,
    /// The file that the target names, decoded; empty for a part of the note itself.
    pub path: String,
    /// `#Heading` or `#^id`.
    pub subpath: Option<String>,
}

impl Link {
    /// Whether it is in a string of YAML or JSON, where its target has escapes.
    pub fn is_quoted(&self) -> bool {
        self.quoting != Quoting::None
    }

    /// The same link with ranges in the outer text that contains `string`, in which it was found.
    fn inside(self, string: &Quoted) -> Link {
        let outer = |range: Range<usize>| string.outer(range);
        Link {
            quoting: string.quoting,
            range: outer(self.range),
            target: outer(self.target),
            path_at: outer(self.path_at),
            subpath_at: outer(self.subpath_at),
            ..self
        }
    }

    /// Another path as written in this link; `None` if its syntax cannot express it.
    pub fn write_path(&self, path: &str) -> Option<String> {
        let is_possible = match self.syntax {
            Syntax::Wikilink => can_be_linked_to(path),
            Syntax::Markdown => is_read_back(&format!("[x]({})", encode(path)), path),
            Syntax::CanvasPath => true,
        };
        is_possible.then(|| self.write(path))
    }

    /// A path or subpath as it is written in this link.
    pub fn write(&self, part: &str) -> String {
        self.quoting.escape(&if self.syntax == Syntax::Markdown {
            encode(part)
        } else {
            part.to_owned()
        })
    }
}

/// Whether the file of this path can be linked to from a note.
pub fn can_be_linked_to(path: &str) -> bool {
    is_read_back(&format!("[[{path}]]"), path)
}

/// Whether a link as it is written names this path, and no part of a file.
fn is_read_back(link: &str, path: &str) -> bool {
    matches!(links(link).as_slice(), [only] if only.path == path && only.subpath.is_none() && only.range == (0..link.len()))
}

/// The links in a note or canvas, as identified by the file name, [`limits::LINKS`] at most; other
/// files have none.
pub fn links_of(name: &str, text: &str) -> Vec<Link> {
    match name.rsplit_once('.') {
        Some((_, ending)) if ending.eq_ignore_ascii_case("md") => links(text),
        Some((_, ending)) if ending.eq_ignore_ascii_case("canvas") => in_canvas(text),
        _ => Vec::new(),
    }
}

/// The internal links of a note, in order, [`limits::LINKS`] at most: whole strings in its
/// frontmatter, and those in its text outside code, HTML and math.
pub fn links(text: &str) -> Vec<Link> {
    let mut links = in_frontmatter(text);
    for block in prose(text, &lines(text)) {
        for (kind, range) in spans(text, block.clone()) {
            if links.len() >= limits::LINKS {
                return links;
            }
            links.extend(match kind {
                Span::Literal => None,
                Span::Wikilink => wikilink(text, range),
                Span::Destination(opening) => markdown_link(text, opening, range),
            });
        }
    }
    links
}

fn in_frontmatter(text: &str) -> Vec<Link> {
    // What is longer is not read as YAML either.
    let Some(block) =
        frontmatter::range(text).filter(|block| block.len() <= limits::FRONTMATTER_BYTES)
    else {
        return Vec::new();
    };
    let mut start = block.start;
    let mut links = Vec::new();
    // The indentation of the property whose block scalar (`|`, `>`) contains the current lines.
    let mut block_scalar: Option<usize> = None;
    for line in text.part(block).split_inclusive('\n') {
        let (from, end) = (start, start + line.len());
        start = end;
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || block_scalar.is_some_and(|outer| indent > outer) {
            continue;
        }
        let (value, _) = frontmatter::without_comment(line.trim_end());
        let last = value.rsplit([' ', ':']).next().unwrap_or_default();
        // The indicator with up to two modifiers: `|2-`.
        block_scalar = (last.starts_with(['|', '>']) && last.len() <= 3).then_some(indent);
        let mut at = from;
        while let Some(found) =
            text.get(at..from + value.len()).and_then(|rest| rest.find(['"', '\'']))
        {
            at += found;
            let string =
                if may_begin_value(text.part(from..at)) { Quoted::yaml(text, at) } else { None };
            // A quote in the middle of a value does not begin a string, and a key is not a link.
            let Some(string) =
                string.filter(|string| !text.part(string.end..end).trim_start().starts_with(':'))
            else {
                at += 1;
                continue;
            };
            let inner = &string.text;
            let is_one = inner.starts_with("[[")
                && inner.ends_with("]]")
                && inner.matches("[[").count() == 1;
            let link = if is_one {
                wikilink(inner, 0..inner.len())
            } else {
                let middle =
                    inner.find("](").filter(|_| inner.starts_with('[') && inner.ends_with(')'));
                middle.and_then(|at| markdown_link(inner, 0, at..inner.len()))
            };
            links.extend(link.map(|link| link.inside(&string)));
            at = string.end;
        }
    }
    // Malformed frontmatter has no links, and is never changed.
    let is_malformed = || {
        !frontmatter::block(text)
            .is_some_and(|yaml| frontmatter::values(yaml).is_ok_and(|values| values.is_mapping()))
    };
    if !links.is_empty() && is_malformed() { Vec::new() } else { links }
}

/// Whether a quote behind this part of a line begins a string.
fn may_begin_value(before: &str) -> bool {
    let before = before.trim_end();
    if before.ends_with(['"', '\'']) {
        return false;
    }
    // A YAML anchor or tag precedes the value; one of more characters than this is not looked for.
    let near = before.part(floor(before, before.len().saturating_sub(ANCHOR_BYTES))..);
    let space = near.bytes().rposition(|byte| matches!(byte, b' ' | b'\t'));
    let mark = space.filter(|at| near.part(at + 1..).starts_with(['&', '!']));
    let before = mark.map_or(before, |at| before.part(..before.len() - near.len() + at).trim_end());
    before.is_empty() || before.ends_with([':', '-', ',', '[', '{', '?'])
}

/// The links in a canvas: files of nodes, backgrounds of groups, and links in texts. A malformed
/// canvas has none.
fn in_canvas(text: &str) -> Vec<Link> {
    let start = json::start(text);
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text.part(start..))
        .is_err()
    {
        return Vec::new();
    }
    let Some(nodes) = json::member(text, start, "nodes") else { return Vec::new() };
    let mut links = Vec::new();
    for node in json::elements(text, nodes.start) {
        if links.len() >= limits::LINKS {
            break;
        }
        let members = json::members(text, node.start);
        let string =
            |name: &str| members.get(name).and_then(|value| Quoted::json(text, value.start));
        let texts = string("text").into_iter();
        links.extend(texts.flat_map(|string| {
            self::links(&string.text)
                .into_iter()
                .map(|link| link.inside(&string))
                .collect::<Vec<_>>()
        }));
        for file in ["file", "background"]
            .into_iter()
            .filter_map(string)
            .filter(|file| !file.text.is_empty())
        {
            let (all, subpath) = (file.outer(0..file.text.len()), string("subpath"));
            links.push(Link {
                is_embed: true,
                syntax: Syntax::CanvasPath,
                quoting: file.quoting,
                range: all.clone(),
                target: all.clone(),
                subpath_at: subpath
                    .as_ref()
                    .map_or(all.end..all.end, |subpath| subpath.outer(0..subpath.text.len())),
                path_at: all,
                path: file.text,
                subpath: subpath
                    .map(|subpath| subpath.text)
                    .filter(|subpath| subpath.starts_with('#')),
            });
        }
    }
    links.sort_by_key(|link| link.range.start);
    links.truncate(limits::LINKS);
    links
}

/// A link in a note: `target` is the one that begins at `start`.
fn link(text: &str, syntax: Syntax, range: Range<usize>, target: &str, start: usize) -> Link {
    let (path, _) = split_subpath(target);
    let (path_end, end) = (start + path.trim_end().len(), start + target.len());
    let read = |part: &str| if syntax == Syntax::Markdown { decode(part) } else { part.to_owned() };
    Link {
        is_embed: text
            .part(..range.start)
            .strip_suffix('!')
            .is_some_and(|before| (before.len() - before.trim_end_matches('\\').len()) % 2 == 0),
        syntax,
        quoting: Quoting::None,
        range,
        target: start..end,
        path_at: start..path_end,
        subpath_at: path_end..end,
        path: read(path.trim_end()),
        subpath: subpath_of(target, syntax),
    }
}

fn wikilink(text: &str, range: Range<usize>) -> Option<Link> {
    let inner = text.get(range.start + 2..range.end - 2)?;
    let written = inner.split('|').next()?;
    // In a table the separator is escaped.
    let written = if written.len() < inner.len() {
        written.strip_suffix('\\').unwrap_or(written)
    } else {
        written
    };
    let target = written.trim();
    let start = range.start + 2 + written.len() - written.trim_start().len();
    (!target.is_empty()).then(|| link(text, Syntax::Wikilink, range, target, start))
}

/// `range` is that of `](target "title")`, `opening` the offset of the bracket before the text.
fn markdown_link(text: &str, opening: usize, range: Range<usize>) -> Option<Link> {
    let inner = text.get(range.start + 2..range.end - 1)?;
    let trimmed = inner.trim_start();
    let start = range.start + 2 + inner.len() - trimmed.len();
    let (target, start) = match trimmed.strip_prefix('<') {
        Some(bracketed) => (bracketed.split('>').next()?, start + 1),
        None => (trimmed.split([' ', '\t']).next()?, start),
    };
    // Only a title may follow the target.
    let behind =
        text.get(start + target.len()..range.end - 1)?.trim_start_matches('>').trim_start();
    if target.is_empty()
        || has_scheme(target)
        || !behind.is_empty() && !behind.starts_with(['"', '\'', '('])
    {
        return None;
    }
    Some(link(text, Syntax::Markdown, opening..range.end, target, start))
}

/// Whether a target begins with the scheme of a URL.
fn has_scheme(target: &str) -> bool {
    !is_relative(target)
        && target.split(['/', '#', '?']).next().is_some_and(|first| first.contains(':'))
}

/// A target split into path and subpath, which begins with the first `#`.
pub fn split_subpath(target: &str) -> (&str, Option<&str>) {
    target.find('#').map_or((target, None), |at| (target.part(..at), target.get(at..)))
}

/// The subpath in the target of a link, as [`Link::subpath`] has it.
pub fn subpath_of(target: &str, syntax: Syntax) -> Option<String> {
    let subpath = split_subpath(target).1?;
    Some(if syntax == Syntax::Markdown { decode(subpath) } else { subpath.to_owned() })
}

/// A target decoded as by JavaScript's `decodeURI`: characters that are reserved in URIs stay
/// encoded.
fn decode(target: &str) -> String {
    let bytes = target.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = digits
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|code| !b";/?:@&=+$,#".contains(code));
        decoded.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| target.to_owned())
}

/// A target encoded for a Markdown link; [`decode`] reverses it.
fn encode(target: &str) -> String {
    let must_be_encoded = |c: char| " %()<>\"\\\u{a0}".contains(c);
    target
        .chars()
        .map(
            |c| {
                if must_be_encoded(c) { percent::encode(&c.to_string(), "") } else { c.to_string() }
            },
        )
        .collect()
}

/// The last name of a path as [`comparable_name`] gives it, without any `.md` at its end: a link
/// can only resolve to a file with the same key.
pub fn key_of(path: &str) -> String {
    let name = comparable_name(path.trim().rsplit('/').next().unwrap_or_default());
    name.trim_end_matches(".md").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_those_of_obsidian() {
        let text = "---\nup: \"[[Up|u]]\"\nlist: ['[[a]]', [[no]]]\nmd: \"[t](x%20y.md)\"\nurl: \"[t](https://x)\"\n---\n\
            [[One]] ![[two.png|100]] [[#Here]] `[[no]]` <!-- [[no]] --> \\[[no]] [[a#b | c]]\n| [[T\\|t]] |\n\
            [t](<my note.md> \"title\") ![i](img/a%20(1).png) [u](https://example.com) [m](mailto:x) [s](#sub) [r](../a%2Fb.md#H%20x)\n\
            [p](100%+f.md) %% [[comment]] %%\n- [ ] [[task]]\n```\n[[no]]\n```\n$[[no]]$ [[Other#Heading [Bracket]]]";
        let found: Vec<(String, Option<String>, bool)> =
            links(text).into_iter().map(|link| (link.path, link.subpath, link.is_embed)).collect();
        let link = |path: &str, subpath: &str, is_embed| {
            (path.to_owned(), Some(subpath.to_owned()).filter(|sub| !sub.is_empty()), is_embed)
        };
        let expected = [
            link("Up", "", false),
            link("a", "", false),
            link("x y.md", "", false),
            link("One", "", false),
            link("two.png", "", true),
            link("", "#Here", false),
            link("a", "#b", false),
            link("T", "", false),
            link("my note.md", "", false),
            link("img/a (1).png", "", true),
            link("", "#sub", false),
            link("../a%2Fb.md", "#H x", false),
            link("100%+f.md", "", false),
            link("comment", "", false),
            link("task", "", false),
            link("Other", "#Heading [Bracket", false),
        ];
        assert_eq!(found, expected);
        let targets: Vec<&str> = links(text).into_iter().map(|link| &text[link.target]).collect();
        assert_eq!(targets[..4], ["Up", "a", "x%20y.md", "One"]);
        assert_eq!((targets[6], targets[8], targets[9]), ("a#b", "my note.md", "img/a%20(1).png"));
        assert!(links(text).iter().all(|link| text[link.range.clone()].starts_with('[')));
    }

    #[test]
    fn values_of_frontmatter_that_can_be_read_are_links() {
        for (yaml, expected) in [
            ("l: &a \"[[A]]\"\nm: !t '[[B]]'\n", &["A", "B"][..]),
            ("l: ['it''s # 1', '[[A]]'] # '[[C]]'\n", &["A"]),
            ("a: [\nb: \"[[A]]\"\n", &[]),
            ("x: \"[[A]]\": 2\ny: \"[[B]]\"\n", &[]),
        ] {
            let found: Vec<String> =
                links(&format!("---\n{yaml}---\n")).into_iter().map(|link| link.path).collect();
            assert_eq!(found, expected, "{yaml}");
        }
    }
}
