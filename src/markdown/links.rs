//! Links in a note or canvas with their targets, the file to which Obsidian resolves a target, and how a target is written.

use super::blocks::lines;
use super::frontmatter;
use super::inline::{Span, prose, spans};
use super::json;
use super::quoted::{Quoted, Quoting};
use crate::percent;
use crate::slice::Part;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `[[target]]`
    Wikilink,
    /// `[text](target)`
    Markdown,
    /// The `file` of a node or the `background` of a group in a canvas: a path from the root, unencoded.
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
            Syntax::Wikilink => !path.contains(['#', '|', '^', '[', ']']),
            Syntax::Markdown => !path.contains('#') && !has_scheme(path),
            Syntax::CanvasPath => true,
        };
        is_possible.then(|| self.write(path))
    }

    /// A path or subpath as it is written in this link.
    pub fn write(&self, part: &str) -> String {
        self.quoting.escape(&if self.syntax == Syntax::Markdown { encode(part) } else { part.to_owned() })
    }
}

/// All links in a note or canvas, as identified by the file name; other files have none.
pub fn links_of(name: &str, text: &str) -> Vec<Link> {
    match name.rsplit_once('.') {
        Some((_, ending)) if ending.eq_ignore_ascii_case("md") => links(text),
        Some((_, ending)) if ending.eq_ignore_ascii_case("canvas") => in_canvas(text),
        _ => Vec::new(),
    }
}

/// All internal links of a note, in order: whole strings in its frontmatter, and those in its text outside code, HTML comments and
/// math.
pub fn links(text: &str) -> Vec<Link> {
    let mut links = in_frontmatter(text);
    for block in prose(text, &lines(text)) {
        for (kind, range) in spans(text, block.clone()) {
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
    let Some(block) = frontmatter::range(text) else { return Vec::new() };
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
        while let Some(found) = text.get(at..from + value.len()).and_then(|rest| rest.find(['"', '\''])) {
            at += found;
            let before = text.part(from..at).trim_end();
            // A YAML anchor or tag precedes the value.
            let mark = before.rsplit_once([' ', '\t']).filter(|(_, mark)| mark.starts_with(['&', '!']));
            let before = mark.map_or(before, |(outer, _)| outer.trim_end());
            let string = Quoted::yaml(text, at).filter(|_| before.is_empty() || before.ends_with([':', '-', ',', '[', '{', '?']));
            // A quote in the middle of a value does not begin a string, and a key is not a link.
            let Some(string) = string.filter(|string| !text.part(string.end..end).trim_start().starts_with(':')) else {
                at += 1;
                continue;
            };
            let inner = &string.text;
            let is_one = inner.starts_with("[[") && inner.ends_with("]]") && inner.matches("[[").count() == 1;
            let link = if is_one {
                wikilink(inner, 0..inner.len())
            } else {
                let middle = inner.find("](").filter(|_| inner.starts_with('[') && inner.ends_with(')'));
                middle.and_then(|at| markdown_link(inner, 0, at..inner.len()))
            };
            links.extend(link.map(|link| link.inside(&string)));
            at = string.end;
        }
    }
    // Malformed frontmatter has no links, and is never changed.
    let is_malformed = || !frontmatter::block(text).is_some_and(|yaml| frontmatter::values(yaml).is_ok_and(|values| values.is_mapping()));
    if !links.is_empty() && is_malformed() { Vec::new() } else { links }
}

/// The links in a canvas: files of nodes, backgrounds of groups, and links in texts. A malformed canvas has none.
fn in_canvas(text: &str) -> Vec<Link> {
    let start = json::start(text);
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text.part(start..)).is_err() {
        return Vec::new();
    }
    let Some(nodes) = json::member(text, start, "nodes") else { return Vec::new() };
    let mut links = Vec::new();
    for node in json::elements(text, nodes.start) {
        let members = json::members(text, node.start);
        let string = |name: &str| members.get(name).and_then(|value| Quoted::json(text, value.start));
        let texts = string("text").into_iter();
        links.extend(texts.flat_map(|string| self::links(&string.text).into_iter().map(|link| link.inside(&string)).collect::<Vec<_>>()));
        for file in ["file", "background"].into_iter().filter_map(string).filter(|file| !file.text.is_empty()) {
            let (all, subpath) = (file.outer(0..file.text.len()), string("subpath"));
            links.push(Link {
                is_embed: true,
                syntax: Syntax::CanvasPath,
                quoting: file.quoting,
                range: all.clone(),
                target: all.clone(),
                subpath_at: subpath.as_ref().map_or(all.end..all.end, |subpath| subpath.outer(0..subpath.text.len())),
                path_at: all,
                path: file.text,
                subpath: subpath.map(|subpath| subpath.text).filter(|subpath| subpath.starts_with('#')),
            });
        }
    }
    links.sort_by_key(|link| link.range.start);
    links
}

/// A link in a note: `target` is the one that begins at `start`.
fn link(text: &str, syntax: Syntax, range: Range<usize>, target: &str, start: usize) -> Link {
    let (path, subpath) = split_subpath(target);
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
        subpath: subpath.map(read),
    }
}

fn wikilink(text: &str, range: Range<usize>) -> Option<Link> {
    let inner = text.get(range.start + 2..range.end - 2)?;
    let written = inner.split('|').next()?;
    // In a table the separator is escaped.
    let written = if written.len() < inner.len() { written.strip_suffix('\\').unwrap_or(written) } else { written };
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
    let behind = text.get(start + target.len()..range.end - 1)?.trim_start_matches('>').trim_start();
    if target.is_empty() || has_scheme(target) || !behind.is_empty() && !behind.starts_with(['"', '\'', '(']) {
        return None;
    }
    Some(link(text, Syntax::Markdown, opening..range.end, target, start))
}

/// Whether a target begins with the scheme of a URL.
fn has_scheme(target: &str) -> bool {
    !is_relative(target) && target.split(['/', '#', '?']).next().is_some_and(|first| first.contains(':'))
}

/// A target split into path and subpath, which begins with the first `#`.
pub fn split_subpath(target: &str) -> (&str, Option<&str>) {
    target.find('#').map_or((target, None), |at| (target.part(..at), target.get(at..)))
}

/// A target decoded as by JavaScript's `decodeURI`: characters that are reserved in URIs stay encoded.
fn decode(target: &str) -> String {
    let bytes = target.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|code| !b";/?:@&=+$,#".contains(code));
        decoded.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| target.to_owned())
}

/// A target encoded for a Markdown link; [`decode`] reverses it.
fn encode(target: &str) -> String {
    let must_be_encoded = |c: char| " %()<>\"\\\u{a0}".contains(c);
    target.chars().map(|c| if must_be_encoded(c) { percent::encode(&c.to_string(), "") } else { c.to_string() }).collect()
}

/// The last name of a path as [`comparable_name`] gives it, without any `.md` at its end: a link can only
/// resolve to a file with the same key.
pub fn key_of(path: &str) -> String {
    let name = comparable_name(path.trim().rsplit('/').next().unwrap_or_default());
    name.trim_end_matches(".md").to_owned()
}

/// What a target means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved<'a> {
    Missing,
    One(&'a str),
    /// Obsidian opens the one that comes first in its index.
    Several(Vec<&'a str>),
}

impl<'a> Resolved<'a> {
    fn of(files: Vec<&'a str>) -> Resolved<'a> {
        match files.as_slice() {
            [] => Resolved::Missing,
            [only] => Resolved::One(only),
            _ => Resolved::Several(files),
        }
    }

    /// The files that it may mean.
    pub fn files(&self) -> &[&'a str] {
        match self {
            Resolved::Missing => &[],
            Resolved::One(file) => std::slice::from_ref(file),
            Resolved::Several(files) => files,
        }
    }
}

/// A name normalized for comparison: NFC, no-break spaces as spaces, lower case.
pub fn comparable_name(name: &str) -> String {
    name.nfc().map(|c| if matches!(c, '\u{a0}' | '\u{202f}') { ' ' } else { c }).flat_map(char::to_lowercase).collect()
}

/// A file that a link may resolve to: its path as [`comparable_name`] gives it, and as it is.
pub type Candidate<'a> = (&'a str, &'a str);

/// Resolves the path of a link in a note of the folder `source` among all files of the vault. An empty path, which means the note
/// itself, is [`Resolved::Missing`].
pub fn resolve<'a>(path: &str, source: &str, files: impl Iterator<Item = Candidate<'a>> + Clone) -> Resolved<'a> {
    let wanted = comparable_name(path.trim());
    let name = wanted.rsplit('/').next().unwrap_or_default().to_owned();
    if name.is_empty() {
        return Resolved::Missing;
    }
    // A name with a dot is first tried as a complete file name.
    if name.contains('.') {
        let found = resolve_as(&wanted, source, files.clone());
        if found != Resolved::Missing {
            return found;
        }
    }
    resolve_as(&format!("{wanted}.md"), source, files)
}

/// The same for a comparable path with its extension.
fn resolve_as<'a>(wanted: &str, source: &str, files: impl Iterator<Item = Candidate<'a>>) -> Resolved<'a> {
    let name_at = |path: &'_ str| path.rsplit_once('/').map_or(0, |(folder, _)| folder.len() + 1);
    let name = wanted.get(name_at(wanted)..);
    let candidates: Vec<Candidate<'a>> = files.filter(|(own, _)| own.get(name_at(own)..) == name).collect();
    // Several may differ in case only.
    let exact = |path: &str| {
        let found = Resolved::of(candidates.iter().filter(|(own, _)| *own == path).map(|(_, file)| *file).collect());
        Some(found).filter(|found| *found != Resolved::Missing)
    };
    match candidates.as_slice() {
        [] => return Resolved::Missing,
        [(_, only)] if !wanted.contains('/') => return Resolved::One(only),
        _ => {}
    }
    let source = comparable_name(source);
    if is_relative(wanted)
        && let Some(found) = joined(&source, wanted).and_then(|path| exact(&path))
    {
        return found;
    }
    if let Some(found) = exact(wanted.trim_start_matches('/')) {
        return found;
    }
    if wanted.starts_with('/') {
        return Resolved::Missing;
    }
    let ending = wanted.trim_start_matches("./").trim_start_matches("../");
    let below = if source.is_empty() { source } else { source + "/" };
    // As in Obsidian the ending may begin inside the name of a folder. First what is below the note's folder, then the shortest
    // path, as JavaScript counts it.
    let mut ranked: Vec<(bool, usize, &str)> = candidates
        .iter()
        .filter(|(own, _)| own.ends_with(ending))
        .map(|(own, file)| (!own.starts_with(&below), own.encode_utf16().count(), *file))
        .collect();
    ranked.sort_unstable();
    let best = ranked.first().map(|(is_elsewhere, length, _)| (*is_elsewhere, *length));
    ranked.retain(|(is_elsewhere, length, _)| Some((*is_elsewhere, *length)) == best);
    Resolved::of(ranked.into_iter().map(|(_, _, file)| file).collect())
}

/// Whether a path is relative to the folder of its note.
pub fn is_relative(path: &str) -> bool {
    path.starts_with("./") || path.starts_with("../")
}

/// Whether the path of a link, taken as relative to the folder `source`, is exactly that of a file.
pub fn leads_to(path: &str, source: &str, file: &str) -> bool {
    let (wanted, file) = (comparable_name(path.trim()), comparable_name(file));
    let found = joined(&comparable_name(source), &wanted);
    found.is_some_and(|found| found == file || format!("{found}.md") == file)
}

/// The relative path from a folder to a file, both given from the root.
pub fn relative(folder: &str, file: &str) -> String {
    let (folder, file): (Vec<&str>, Vec<&str>) = (folder.split('/').filter(|name| !name.is_empty()).collect(), file.split('/').collect());
    let shared = folder.iter().zip(&file).take_while(|(one, other)| one == other).count().min(file.len() - 1);
    let up = folder.iter().skip(shared).map(|_| "..");
    up.chain(file.into_iter().skip(shared)).collect::<Vec<_>>().join("/")
}

/// A relative path joined to a folder; `None` where it leaves the vault.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
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
        let link =
            |path: &str, subpath: &str, is_embed| (path.to_owned(), Some(subpath.to_owned()).filter(|sub| !sub.is_empty()), is_embed);
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
            let found: Vec<String> = links(&format!("---\n{yaml}---\n")).into_iter().map(|link| link.path).collect();
            assert_eq!(found, expected, "{yaml}");
        }
    }

    #[test]
    fn targets_mean_the_files_that_obsidian_opens() {
        let files = [
            "Note.md",
            "a/Same.md",
            "b/Same.md",
            "b/c/Same.md",
            "a/Only.md",
            "img/p.png",
            "x.y.md",
            "a/Cafe\u{301}.md",
            "b/Deep.md",
            "b/x/Deep.md",
            "long name/y/Same.md",
            "very/far/Deeper.md",
            "a-longer-folder/Deeper.md",
        ];
        let comparable = files.map(comparable_name);
        let of = |path: &str, source: &str| resolve(path, source, comparable.iter().map(String::as_str).zip(files));
        use Resolved::{Missing, One, Several};
        for (path, source, expected) in [
            ("note", "", One("Note.md")),
            ("Only", "b", One("a/Only.md")),
            ("Only.md", "", One("a/Only.md")),
            ("p", "", Missing),
            ("p.png", "a", One("img/p.png")),
            ("x.y", "", One("x.y.md")),
            ("Caf\u{e9}", "", One("a/Cafe\u{301}.md")),
            ("b/Same", "", One("b/Same.md")),
            ("c/same", "", One("b/c/Same.md")),
            ("./Same", "b/c", One("b/c/Same.md")),
            ("../Same", "b/c", One("b/Same.md")),
            ("/a/Same", "b", One("a/Same.md")),
            ("/Same", "b", Missing),
            ("Same", "b", One("b/Same.md")),
            ("Same", "", Several(vec!["a/Same.md", "b/Same.md"])),
            ("y/same", "", One("long name/y/Same.md")),
            ("Deeper", "", One("very/far/Deeper.md")),
            ("Deep", "b", One("b/Deep.md")),
            ("Nothing", "", Missing),
            ("", "", Missing),
        ] {
            let found = of(path, source);
            let is_same = match (&found, &expected) {
                (Several(some), Several(others)) => some.first() == others.first(),
                _ => found == expected,
            };
            assert!(is_same, "{path} in {source}: {found:?}");
        }
    }
}
