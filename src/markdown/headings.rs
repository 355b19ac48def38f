//! The headings of a note: as they are named, in links and by callers.

use regex::Regex;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// A heading. Lines are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub level: u8,
    /// Without markers.
    pub text: String,
    /// Its lines; a setext heading has two or more.
    pub lines: Range<usize>,
}

/// The headings that a path names, each after those above it in the path: each name in the section
/// of the one before.
fn heading_paths(
    headings: &[Heading],
    within: Range<usize>,
    path: &[String],
    form: &dyn Fn(&str) -> String,
) -> Vec<Vec<usize>> {
    let Some((wanted, rest)) = path.split_first() else { return vec![Vec::new()] };
    let mut found = Vec::new();
    for number in within {
        let Some(heading) = headings.get(number).filter(|heading| form(&heading.text) == *wanted)
        else {
            continue;
        };
        let next = headings
            .iter()
            .enumerate()
            .skip(number + 1)
            .find(|(_, next)| next.level <= heading.level);
        let section = number + 1..next.map_or(headings.len(), |(next, _)| next);
        found.extend(
            heading_paths(headings, section, rest, form)
                .into_iter()
                .map(|below| [vec![number], below].concat()),
        );
    }
    found
}

/// The heading that each part of a subpath (`#A#B`) names: the first in the section of the one
/// before. Empty if the subpath matches no heading.
pub fn subpath_headings(headings: &[Heading], subpath: &str) -> Vec<usize> {
    let path: Vec<String> =
        subpath.trim_start_matches('#').split('#').map(comparable_heading).collect();
    let found =
        heading_paths(headings, 0..headings.len(), &path, &comparable_heading).into_iter().next();
    found.filter(|_| !subpath.starts_with("#^")).unwrap_or_default()
}

/// The text of a heading as written in a link: characters that would end the link or begin another
/// part become spaces.
pub fn heading_in_link(heading: &str) -> String {
    let spaced = heading.replace(['#', '|', '^', ':', '\\', '[', ']'], " ").replace("%%", " ");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The headings that a text or path means; see [`Note::find_heading`](super::parts::Note::find_heading).
pub(super) fn headings_named(headings: &[Heading], wanted: &str, strict: bool) -> Vec<usize> {
    let named = headings_of_path(headings, wanted, strict);
    let Some((path, line)) = path_and_line(wanted).filter(|_| named.is_empty()) else {
        return named;
    };
    let named = headings_of_path(headings, path, strict);
    let begins_there = |number: &&usize| {
        headings.get(**number).is_some_and(|heading| heading.lines.start + 1 == line)
    };
    // A line that has moved still means one of them.
    named.iter().find(begins_there).map_or_else(|| named.clone(), |number| vec![*number])
}

/// The parts of `Tasks (line 12)`.
fn path_and_line(wanted: &str) -> Option<(&str, usize)> {
    let (path, line) = wanted.trim_end().strip_suffix(')')?.rsplit_once(" (line ")?;
    Some((path, line.trim().parse().ok()?))
}

fn headings_of_path(headings: &[Heading], wanted: &str, strict: bool) -> Vec<usize> {
    let exact = |text: &str| text.trim().to_owned();
    let spaced = |text: &str| {
        text.replace(['‘', '’'], "'")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let as_shown = |text: &str| spaced(&without_markup(text));
    let forms: [&dyn Fn(&str) -> String; 4] = [&exact, &spaced, &comparable_heading, &as_shown];
    let parts: Vec<&str> = wanted.split(" > ").collect();
    let found = forms.iter().take(if strict { 2 } else { forms.len() }).find_map(|form| {
        let named = |path: &[&str], stripped: fn(&str) -> &str| -> BTreeSet<usize> {
            let path: Vec<String> = path.iter().map(|name| form(stripped(name.trim()))).collect();
            let found = if path.iter().any(String::is_empty) {
                Vec::new()
            } else {
                heading_paths(headings, 0..headings.len(), &path, form)
            };
            found.iter().filter_map(|chain| chain.last().copied()).collect()
        };
        // A heading may begin with a tag; otherwise `#` is a heading marker, or that of a link.
        let strip: [fn(&str) -> &str; 2] = [|name| name, |name| name.trim_start_matches('#')];
        // As in a link: `A#B`.
        let linked: Vec<&str> = wanted.split('#').filter(|part| !part.trim().is_empty()).collect();
        let whole = [wanted];
        let paths = [&whole, &*parts].into_iter().chain((linked.len() > 1).then_some(&*linked));
        paths.flat_map(|path| strip.map(|strip| named(path, strip))).find(|found| !found.is_empty())
    });
    found.into_iter().flatten().collect()
}

/// Bytes of a heading whose markup is looked at: each opening bracket is searched for its end.
const SHOWN_BYTES: usize = 500;

/// A heading as it looks when it is rendered: links by their texts, without tags and emphasis.
fn without_markup(heading: &str) -> String {
    static MARKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|\[([^\]]*)\]\([^)]*\)|<[^<>]*>|[*_`]|==|~~")
            .ok()
    });
    match MARKUP.as_ref().filter(|_| heading.len() <= SHOWN_BYTES) {
        Some(markup) => markup.replace_all(heading, "$1$2").into_owned(),
        None => heading.to_owned(),
    }
}

/// A heading normalized as Obsidian does to match it with a link: punctuation becomes spaces, and
/// case is ignored.
pub fn comparable_heading(heading: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || "!\"#$%&()*+,.:;<=>?@^`{|}~/[]\\".contains(c);
    let words: Vec<&str> = heading.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ").nfc().collect::<String>().to_lowercase()
}
