//! The acceptance criteria of a note: a list of boxes, each with what stands below it.

use super::field::goes_on;
use super::markdown::{Kind, Line, lines, marks_at, section, section_text, with_section};
use crate::limits;
use crate::markdown::blocks::line_end;
use crate::markdown::properties::splice;
use crate::slice::Part;
use std::ops::Range;

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// What has to be so.
    pub text: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// What a person wrote below it, without the indent of the first line; empty if nothing.
    pub details: String,
}

/// A criterion in its note.
pub(super) struct FoundCriterion {
    pub(super) criterion: Criterion,
    /// The lines it takes.
    pub(super) lines: Range<usize>,
    /// The sub-heading it stands below, counted from the head of the section.
    group: usize,
}

pub(super) fn criteria(lines: &[Line<'_>]) -> Vec<FoundCriterion> {
    let mut found: Vec<FoundCriterion> = Vec::new();
    let (mut blank, mut group) = (0, 0);
    for at in section(lines, "Acceptance Criteria").map_or(0..0, |section| section.body) {
        let Some(line) = lines.get(at) else { break };
        if line.is_blank() {
            blank += 1;
            continue;
        }
        let follows = |last: &FoundCriterion| last.lines.end + blank == at;
        if matches!(line.kind, Kind::Heading(_)) {
            group += 1;
        } else if let Some(item) = line.item() {
            let (done, text) = boxed(item).unwrap_or((false, item));
            let criterion = Criterion { text: text.trim().to_owned(), done, details: String::new() };
            found.push(FoundCriterion { criterion, lines: at..at + 1, group });
        } else if let Some(last) = found.last_mut().filter(|last| follows(last) && (line.is_indented() || blank == 0 && goes_on(line))) {
            last.lines.end = at + 1;
        }
        blank = 0;
    }
    for found in &mut found {
        let below = lines.part(found.lines.start + 1..found.lines.end);
        let indent = below.iter().find(|line| !line.is_blank()).map_or(0, |line| line.text.len() - line.text.trim_start().len());
        let dedented = below.iter().map(|line| line.text.get(indent..).filter(|_| line.is_indented()).unwrap_or(line.text.trim_start()));
        found.criterion.details = dedented.collect::<Vec<_>>().join("\n").trim_end().to_owned();
    }
    found
}

/// What follows a box, and whether that is ticked.
pub(super) fn boxed(item: &str) -> Option<(bool, &str)> {
    let rest = item.trim_start().strip_prefix('[')?;
    let sign = rest.chars().next()?;
    let text = rest.get(sign.len_utf8()..)?.strip_prefix(']')?;
    (text.is_empty() || text.starts_with([' ', '\t'])).then_some((matches!(sign, 'x' | 'X'), text))
}

pub(super) fn with_criteria(text: &str, wanted: &[(Option<bool>, &str)]) -> String {
    let eol = line_end(text, 0);
    let all = lines(text);
    let old = criteria(&all);
    if old.is_empty() {
        let list: Vec<String> = wanted.iter().map(|(ticked, text)| new_criterion(*ticked, text)).collect();
        let section = section_text(text, &all, "Acceptance Criteria");
        return match (list.join("\n"), section) {
            (list, _) if list.is_empty() => text.to_owned(),
            (list, section) if section.is_empty() => with_section(text, "Acceptance Criteria", &list),
            // A person's words above the list stay.
            (list, section) => with_section(text, "Acceptance Criteria", &format!("{section}\n\n{list}")),
        };
    }
    let chosen = choose(&old, wanted);
    let range_of = |found: &FoundCriterion| {
        let (first, last) = (all.get(found.lines.start), all.get(found.lines.end - 1));
        first.map_or(0, |line| line.range.start)..last.map_or(0, |line| line.range.end)
    };
    let ranges: Vec<Range<usize>> = old.iter().map(range_of).collect();
    let block_of = |number: usize, ticked: Option<bool>, wanted: &str| {
        let block = ranges.get(number).and_then(|range| text.get(range.clone())).unwrap_or_default().trim_end_matches(['\r', '\n']);
        let known = old.get(number).map(|found| &found.criterion);
        let block = match ticked.filter(|ticked| known.is_some_and(|known| known.done != *ticked)) {
            Some(ticked) => with_box(block, ticked),
            None => block.to_owned(),
        };
        known.map_or_else(|| block.clone(), |known| with_words(&block, &known.text, wanted))
    };
    // What is new goes below the heading of what stands before it.
    let mut group = old.first().map_or(0, |first| first.group);
    let mut items: Vec<(usize, Option<usize>, String)> = Vec::new();
    for ((ticked, wanted), chosen) in wanted.iter().zip(&chosen) {
        let block = match *chosen {
            Some(number) => {
                group = old.get(number).map_or(group, |found| found.group);
                block_of(number, *ticked, wanted)
            }
            None => new_criterion(*ticked, wanted),
        };
        items.push((group, *chosen, block));
    }
    // From the end, so that places in front stay right.
    let mut edited = text.to_owned();
    let mut groups: Vec<usize> = old.iter().map(|found| found.group).collect();
    groups.dedup();
    for group in groups.into_iter().rev() {
        let first = old.partition_point(|found| found.group < group);
        let count = old.iter().filter(|found| found.group == group).count();
        let own = items.iter().filter(|(of, ..)| *of == group);
        let own: Vec<(Option<usize>, &String)> = own.map(|(_, chosen, block)| (chosen.map(|number| number - first), block)).collect();
        edited = with_list(&edited, ranges.part(first..first + count), &own, eol);
    }
    edited
}

pub(super) fn new_criterion(ticked: Option<bool>, text: &str) -> String {
    format!("- [{}] {text}", if ticked == Some(true) { 'x' } else { ' ' })
}

/// Which old criterion each wanted one is: the same words, else, of those that are left, the one that is most like it, if that is
/// like it at all.
pub(super) fn choose(old: &[FoundCriterion], wanted: &[(Option<bool>, &str)]) -> Vec<Option<usize>> {
    let bare = |text: &str| text.part(..marks_at(text)).to_lowercase();
    let known: Vec<String> = old.iter().map(|found| bare(&found.criterion.text)).collect();
    let mut taken = vec![false; old.len()];
    let mut chosen: Vec<Option<usize>> = vec![None; wanted.len()];
    for (choice, (_, text)) in chosen.iter_mut().zip(wanted) {
        let text = bare(text);
        if let Some((at, is_taken)) = taken.iter_mut().enumerate().find(|(at, taken)| !**taken && known.get(*at) == Some(&text)) {
            *is_taken = true;
            *choice = Some(at);
        }
    }
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (number, (_, text)) in wanted.iter().enumerate().filter(|(number, _)| chosen.get(*number) == Some(&None)) {
        let free = known.iter().enumerate().filter(|(at, _)| taken.get(*at) == Some(&false));
        pairs.extend(free.map(|(at, known)| (strsim::normalized_levenshtein(&bare(text), known), number, at)));
    }
    pairs.retain(|(likeness, ..)| *likeness >= limits::CRITERION_LIKENESS);
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    for (_, number, at) in pairs {
        if let (Some(choice @ None), Some(taken @ false)) = (chosen.get_mut(number), taken.get_mut(at)) {
            *choice = Some(at);
            *taken = true;
        }
    }
    chosen
}

/// A criterion's lines with other words in the first of them; its marks stay, unless the words have marks of their own.
pub(super) fn with_words(block: &str, old: &str, new: &str) -> String {
    let (old_words, new_words) = (old.part(..marks_at(old)), new.part(..marks_at(new)));
    if old_words == new_words && (old == new || new == new_words) {
        return block.to_owned();
    }
    let first_line = block.find('\n').unwrap_or(block.len());
    let Some(at) = block.get(..first_line).and_then(|line| line.rfind(old)) else { return block.to_owned() };
    let marks = if new_words == new { old.part(old_words.len()..) } else { "" };
    splice(block, at..at + old.len(), &format!("{new}{marks}"))
}

/// A list with these blocks; each is one of `old` (by its number) or new. What stands between them stays.
fn with_list(text: &str, old: &[Range<usize>], items: &[(Option<usize>, &String)], eol: &str) -> String {
    let kept: Vec<usize> = items.iter().filter_map(|(chosen, _)| *chosen).collect();
    let range = |number: usize| old.get(number).cloned().unwrap_or(0..0);
    let mut edited = text.to_owned();
    if !kept.is_sorted() {
        edited = remove_all(&edited, old, 1..old.len());
        return put(&edited, range(0), items.iter().map(|(_, block)| *block), eol);
    }
    // In place: what goes goes, what comes stands after the one it follows in the list.
    let mut at = old.len();
    let mut pending: Vec<&String> = Vec::new();
    for (chosen, block) in items.iter().rev() {
        let Some(number) = *chosen else {
            pending.push(block);
            continue;
        };
        edited = remove_all(&edited, old, number + 1..at);
        edited = put(&edited, range(number), std::iter::once(*block).chain(pending.drain(..).rev()), eol);
        at = number;
    }
    // The new ones at the head take the place of the first that was there.
    if at > 0 && !pending.is_empty() {
        edited = remove_all(&edited, old, 1..at);
        return put(&edited, range(0), pending.into_iter().rev(), eol);
    }
    edited = remove_all(&edited, old, 0..at);
    let head: Vec<&String> = pending.into_iter().rev().collect();
    if head.is_empty() { edited } else { put(&edited, range(0).start..range(0).start, head.into_iter(), eol) }
}

fn remove_all(text: &str, old: &[Range<usize>], numbers: Range<usize>) -> String {
    old.get(numbers).unwrap_or_default().iter().rev().fold(text.to_owned(), |text, range| splice(&text, range.clone(), ""))
}

/// Puts blocks in the place of one, which ends as it did: the last line of a file may have no end.
fn put<'a>(text: &str, range: Range<usize>, blocks: impl Iterator<Item = &'a String>, eol: &str) -> String {
    let old = text.part(range.clone());
    // The line that was there keeps its own end.
    let own = match old {
        "" => eol,
        old if old.ends_with("\r\n") => "\r\n",
        old if old.ends_with('\n') => "\n",
        _ => "",
    };
    let blocks: Vec<&String> = blocks.collect();
    let mut list = String::new();
    for (number, block) in blocks.iter().enumerate() {
        let is_last = number + 1 == blocks.len();
        let end = match (number, is_last) {
            (0, true) => own,
            (0, false) if !own.is_empty() => own,
            (_, true) if own.is_empty() => "",
            _ => eol,
        };
        list.push_str(block);
        list.push_str(end);
    }
    splice(text, range, &list)
}

/// A criterion's lines with its box ticked or not.
fn with_box(block: &str, ticked: bool) -> String {
    let sign = if ticked { "[x]" } else { "[ ]" };
    let numbered = block.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let sign_of_item: &[char] = if numbered { &['.', ')'] } else { &['-', '*', '+'] };
    let item_at = block.find(sign_of_item).map_or(0, |at| at + 1);
    let (before, rest) = block.split_at_checked(item_at).unwrap_or((block, ""));
    let gap = rest.len() - rest.trim_start().len();
    match boxed(rest) {
        Some(_) => {
            let start = item_at + gap;
            let end = start + block.get(start..).and_then(|rest| rest.find(']')).map_or(0, |at| at + 1);
            splice(block, start..end, sign)
        }
        None => format!("{before} {sign}{rest}"),
    }
}
