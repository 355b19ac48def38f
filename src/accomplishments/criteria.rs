//! The acceptance criteria of a note: a list of boxes, each with what stands below it.

use super::markdown::{is_blank, is_indented, items, marks_start, section, with_appended};
use crate::markdown::blocks::line_end;
use crate::markdown::edit::{Edit, apply_all, splice};
use crate::markdown::parts;
use crate::slice::Part;
use std::ops::Range;

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// The condition to be met.
    pub text: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// What a person wrote below it, with the first line's indentation removed; may be empty.
    pub details: String,
}

/// A criterion in its note.
pub(super) struct CriterionInNote {
    pub(super) criterion: Criterion,
    /// The lines it takes.
    pub(super) lines: Range<usize>,
    /// The number of headings above it in the note: the same for all below one subheading.
    group: usize,
}

pub(super) fn criteria(note: &parts::Note<'_>) -> Vec<CriterionInNote> {
    let headings = note.headings();
    let found = |(lines, item): (Range<usize>, &str)| {
        let (done, text) = split_checkbox(item).unwrap_or((false, item));
        let below = (lines.start + 1..lines.end).map(|at| note.line(at));
        let indent = below
            .clone()
            .find(|line| !is_blank(line))
            .map_or(0, |line| line.len() - line.trim_start().len());
        let dedented = below.map(|line| {
            line.get(indent..).filter(|_| is_indented(line)).unwrap_or(line.trim_start())
        });
        let details = dedented.collect::<Vec<_>>().join("\n").trim_end().to_owned();
        let group = headings.partition_point(|heading| heading.lines.start < lines.start);
        CriterionInNote {
            criterion: Criterion { text: text.trim().to_owned(), done, details },
            lines,
            group,
        }
    };
    let body = section(note, "Acceptance Criteria").unwrap_or_default();
    items(note, body).into_iter().map(found).collect()
}

/// Whether an item's checkbox is ticked, and the text after it.
pub(super) fn split_checkbox(item: &str) -> Option<(bool, &str)> {
    let rest = item.trim_start().strip_prefix('[')?;
    let sign = rest.chars().next()?;
    let text = rest.get(sign.len_utf8()..)?.strip_prefix(']')?;
    (text.is_empty() || text.starts_with([' ', '\t'])).then_some((matches!(sign, 'x' | 'X'), text))
}

/// A note's text with these acceptance criteria: of each, whether its box is to be ticked (`None`
/// keeps the box as it is), and its words. Criteria that are not among them are removed.
pub(super) fn with_criteria(text: &str, wanted: &[(Option<bool>, &str)]) -> String {
    let eol = line_end(text, 0);
    let note = parts::Note::of(text);
    let old = criteria(&note);
    if old.is_empty() {
        let list: Vec<String> =
            wanted.iter().map(|(ticked, text)| new_criterion(*ticked, text)).collect();
        return if list.is_empty() {
            text.to_owned()
        } else {
            with_appended(text, "Acceptance Criteria", &list.join(eol))
        };
    }
    let chosen = match_to_old(&old, wanted);
    let range_of =
        |found: &CriterionInNote| note.start(found.lines.start)..note.start(found.lines.end);
    let is_in_order = |group: usize| {
        chosen
            .iter()
            .flatten()
            .filter(|number| old.get(**number).is_some_and(|found| found.group == group))
            .is_sorted()
    };
    let mut edits: Vec<Edit> =
        old.iter().map(|found| Edit { range: range_of(found), text: String::new() }).collect();
    // A new criterion follows the one before it, below the same heading. A reordered group is
    // written where its first one was.
    let mut last = 0;
    for ((ticked, wanted), chosen) in wanted.iter().zip(&chosen) {
        last = chosen.unwrap_or(last);
        let Some(found) = old.get(last) else { continue };
        let position = if is_in_order(found.group) {
            last
        } else {
            old.partition_point(|other| other.group < found.group)
        };
        let block = match chosen {
            None => new_criterion(*ticked, wanted) + eol,
            Some(_) => {
                let own = text.part(range_of(found));
                let block = own.trim_end_matches(['\r', '\n']);
                let end = if block.len() < own.len() { own.part(block.len()..) } else { eol };
                let ticked = ticked.filter(|ticked| *ticked != found.criterion.done);
                let block =
                    ticked.map_or_else(|| block.to_owned(), |ticked| with_box(block, ticked));
                with_words(&block, &found.criterion.text, wanted) + end
            }
        };
        if let Some(edit) = edits.get_mut(position) {
            edit.text += &block;
        }
    }
    // The last line of a file may have no end.
    if let Some(edit) =
        edits.last_mut().filter(|edit| edit.range.end == text.len() && !text.ends_with('\n'))
    {
        edit.text.truncate(edit.text.trim_end_matches(['\r', '\n']).len());
    }
    apply_all(text, &edits)
}

pub(super) fn new_criterion(ticked: Option<bool>, text: &str) -> String {
    format!("- [{}] {text}", if ticked == Some(true) { 'x' } else { ' ' })
}

/// Which old criterion each wanted one is: the one with the same words, if there is one.
pub(super) fn match_to_old(
    old: &[CriterionInNote],
    wanted: &[(Option<bool>, &str)],
) -> Vec<Option<usize>> {
    let bare = |text: &str| text.part(..marks_start(text)).to_lowercase();
    let known: Vec<String> = old.iter().map(|found| bare(&found.criterion.text)).collect();
    let mut taken = vec![false; old.len()];
    let mut old_of = |text: &str| {
        let text = bare(text);
        let mut free = taken.iter_mut().zip(&known).enumerate();
        let (at, (is_taken, _)) = free.find(|(_, (taken, known))| !**taken && **known == text)?;
        *is_taken = true;
        Some(at)
    };
    wanted.iter().map(|(_, text)| old_of(text)).collect()
}

/// A criterion's lines with new words in the first; its trailing marks stay, unless the new text
/// has its own.
pub(super) fn with_words(block: &str, old: &str, new: &str) -> String {
    let (old_words, new_words) = (old.part(..marks_start(old)), new.part(..marks_start(new)));
    if old_words == new_words && (old == new || new == new_words) {
        return block.to_owned();
    }
    let first_line = block.find('\n').unwrap_or(block.len());
    let Some(at) = block.get(..first_line).and_then(|line| line.rfind(old)) else {
        return block.to_owned();
    };
    let marks = if new_words == new { old.part(old_words.len()..) } else { "" };
    splice(block, at..at + old.len(), &format!("{new}{marks}"))
}

/// A criterion's lines with its box ticked or not.
fn with_box(block: &str, ticked: bool) -> String {
    let sign = if ticked { "[x]" } else { "[ ]" };
    // A box is preceded by spaces, digits and the list marker.
    let rest = block
        .trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit())
        .get(1..)
        .unwrap_or_default();
    match (split_checkbox(rest), block.find('[')) {
        (Some((_, text)), Some(at)) => [block.part(..at), sign, text].concat(),
        _ => splice(block, block.len() - rest.len()..block.len() - rest.len(), &format!(" {sign}")),
    }
}
