//! Where bases, queries, reference links and HTML mention what gets another name: only listed, as
//! they may mean something else, or Obsidian does not read them as links.

use crate::links::Links;
use crate::links::plan::{LeftAlone, left_alone};
use crate::markdown::blocks::Kind;
use crate::markdown::parts::Note;
use crate::percent;
use crate::slice::Part;
use crate::text::fold::fold;
use crate::vault::entry::Entry;
use crate::vault::parallel::map_parallel;
use crate::vault::{Error, VaultPath};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The languages of code blocks with queries: Obsidian's own, bases, and those of the plugins
/// Dataview and Tasks.
const QUERY_BLOCKS: [&str; 5] = ["query", "base", "dataview", "dataviewjs", "tasks"];

/// What a note has that refers to a file by a reference link or in HTML, folded.
const OUTSIDE_LINKS: [&str; 3] = ["]:", "src=", "href="];

impl Links {
    /// Where reference links and HTML mention the name of a file.
    pub(crate) fn outside_links(
        &self,
        name: &str,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<LeftAlone>, Error> {
        let wanted = fold(name);
        let encoded = fold(&percent::encode(name, "/"));
        let names = BTreeSet::from([&*wanted, &*encoded]);
        let texts = names.iter().flat_map(|name| OUTSIDE_LINKS.map(|sign| [*name, sign]));
        let entries = self.notes_that_may_have(texts.collect());
        let look = |entry: &Arc<Entry>| {
            let folded = entry.folded_text();
            let has = |sign: &&str| folded.contains(*sign);
            if !OUTSIDE_LINKS.iter().any(has)
                || ![&wanted, &encoded].iter().any(|name| folded.contains(&**name))
            {
                return Vec::new();
            }
            let text = self.vault().text(entry).unwrap_or_default();
            let note = Note::of(&text);
            let mut found = Vec::new();
            for (number, line) in note.lines.iter().enumerate() {
                let shown = note.line(number);
                if matches!(line.kind, Kind::Code | Kind::Opaque | Kind::Frontmatter) {
                    continue;
                }
                let is_meant = |target: &str| {
                    has_word(&fold(&percent::decode(target, false).unwrap_or_default()), &wanted)
                };
                let kind = if reference_target(shown).is_some_and(is_meant) {
                    "a reference link"
                } else if html_targets(shown).any(is_meant) {
                    "HTML"
                } else {
                    continue;
                };
                let reason = format!("{kind}: change it by hand if it refers to this");
                found.push(left_alone(&entry.path, &note, line.range.start, &reason));
            }
            found
        };
        let found = map_parallel(&entries, &|entry| entry.search_cost(), &look, proceed)?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The notes that may have both texts of one of the pairs, folded.
    fn notes_that_may_have(&self, pairs: Vec<[&str; 2]>) -> Vec<Arc<Entry>> {
        let word_index = self.search.word_index();
        let mut notes: Vec<Arc<Entry>> = self.vault().view.with_table(|table| {
            let having = pairs.iter().flat_map(|pair| {
                self.search.files_that_may_have(pair, word_index.as_deref(), table)
            });
            having.filter(|entry| entry.is_note()).cloned().collect()
        });
        notes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        notes.dedup_by(|a, b| a.path == b.path);
        notes
    }

    /// Where bases and query blocks mention a name or tag.
    pub(crate) fn mentions(
        &self,
        name: &str,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<LeftAlone>, Error> {
        let wanted = fold(name);
        let mut entries = self.vault().files_below(&VaultPath::root(), ".base");
        let texts = QUERY_BLOCKS.map(|kind| [&*wanted, kind]);
        entries.extend(self.notes_that_may_have(texts.into()));
        let look = |entry: &Arc<Entry>| {
            let is_base = !entry.is_note();
            let folded = entry.folded_text();
            if !is_base && !["```", "~~~"].iter().any(|fence| folded.contains(fence)) {
                return Vec::new();
            }
            let text = self.vault().text(entry).unwrap_or_default();
            let note = Note::of(&text);
            let mut is_query = is_base;
            let mut found = Vec::new();
            for (number, line) in note.lines.iter().enumerate() {
                let shown = note.line(number);
                if !is_base {
                    let info =
                        shown.trim_start_matches(['>', ' ', '\t']).trim_start_matches(['`', '~']);
                    is_query = line.kind == Kind::Code
                        && if line.opens { QUERY_BLOCKS.contains(&info.trim()) } else { is_query };
                }
                if is_query && has_word(&fold(shown), &wanted) {
                    let reason = if is_base { "a base" } else { "a query block" };
                    found.push(left_alone(
                        &entry.path,
                        &note,
                        line.range.start,
                        &format!("{reason}: change it by hand if it refers to this"),
                    ));
                }
            }
            found
        };
        Ok(map_parallel(&entries, &|entry| entry.search_cost(), &look, proceed)?
            .into_iter()
            .flatten()
            .collect())
    }
}

/// The target of a line that defines a reference link: `[name]: target`.
fn reference_target(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    (!name.is_empty() && !name.starts_with('^')).then(|| target.trim())
}

/// The values of the attributes `src` and `href` in a line, and what follows them.
fn html_targets(line: &str) -> impl Iterator<Item = &str> {
    let has_tag = line.contains('<');
    let behind = |name: &'static str| line.split(name).skip(1);
    let values = behind("src=").chain(behind("href="));
    values.filter(move |_| has_tag).map(|value| {
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let end = |c: char| quote.map_or(c.is_whitespace() || c == '>', |quote| c == quote);
        let start = quote.map_or(0, char::len_utf8);
        value.part(start..).split(end).next().unwrap_or_default()
    })
}

/// Whether a text contains a word that is not part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !behind.is_some_and(char::is_alphanumeric)
    })
}
