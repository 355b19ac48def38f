//! All matches of a text or a regular expression in all notes.

use crate::clock::Deadline;
use crate::limits;
use crate::search::Search;
use crate::search::expression::Expression;
use crate::search::snippet::{excerpt_around, line_of};
use crate::vault::entry::{Entry, Text};
use crate::vault::error::Error;
use memchr::memmem;
use std::sync::Arc;

/// Excerpts shown of one note.
const GREP_EXCERPTS: usize = 3;

/// A note with matches.
#[derive(Debug)]
pub struct Occurrences {
    /// The note.
    pub entry: Arc<Entry>,
    /// The number of matches.
    pub count: usize,
    /// The first matches: line, from 1, and the match in bold with its context.
    pub excerpts: Vec<(usize, String)>,
}

/// The outcome of [`Search::grep`].
#[derive(Debug, Default)]
pub struct Grep {
    /// The notes, those with the most matches first.
    pub notes: Vec<Occurrences>,
    /// Notes that could not be read, or were not fully searched when the time was up.
    pub not_searched: usize,
}

impl Search {
    /// Searches the text of all notes for a pattern, for at most [`limits::SEARCH_TIME`]. `context`
    /// is the number of characters shown on either side of a match.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`]; [`Error::Overloaded`] when too many searches
    /// are running.
    pub fn grep(
        &self,
        pattern: &Expression,
        context: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Grep, Error> {
        let _permit = self.vault.costly_call()?;
        self.vault.refresh()?;
        // Only notes with the text that every match requires are searched.
        let word_index = self.word_index();
        let required: Vec<&str> = pattern.required().into_iter().collect();
        let mut notes: Vec<Arc<Entry>> = self.vault.view.with_table(|table| {
            let having =
                self.files_that_may_have(&required, word_index.as_deref(), table).into_iter();
            having.chain(table.not_kept()).filter(|entry| entry.is_note()).cloned().collect()
        });
        notes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        notes.dedup_by(|a, b| a.path == b.path);
        let total = notes.len();
        let deadline = Deadline::after(limits::SEARCH_TIME);
        let (mut found, mut cancelled) = (Grep::default(), false);
        for (number, entry) in notes.into_iter().enumerate() {
            let mut in_time = || {
                cancelled = !proceed(number, total);
                !cancelled && deadline.left().is_some()
            };
            if number % limits::SEARCH_BLOCK == 0 {
                // For the progress, and a cancellation; kept texts are searched after the deadline,
                // too.
                let _ = in_time();
            }
            let mut in_note = Occurrences { entry, count: 0, excerpts: Vec::new() };
            let is_searched = self.grep_note(pattern, context, &mut in_note, &mut in_time);
            if cancelled {
                return Err(Error::Cancelled);
            }
            found.not_searched += usize::from(!is_searched);
            if in_note.count > 0 {
                found.notes.push(in_note);
            }
        }
        found.notes.sort_unstable_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| a.entry.path.cmp(&b.entry.path))
        });
        Ok(found)
    }

    /// Adds the matches in one note. Whether it was read and searched to its end.
    fn grep_note(
        &self,
        pattern: &Expression,
        context: usize,
        found: &mut Occurrences,
        in_time: &mut dyn FnMut() -> bool,
    ) -> bool {
        let entry = Arc::clone(&found.entry);
        // Most originals need not be restored.
        if let Text::Kept(kept) = &entry.text
            && let Some(required) = pattern.required()
            && memmem::find(kept.folded().as_bytes(), required.as_bytes()).is_none()
        {
            return true;
        }
        let Some(original) = in_time().then(|| self.vault.text(&entry).ok()).flatten() else {
            return false;
        };
        pattern.each(&original, in_time, |at| {
            if !at.is_empty() {
                found
                    .add(|| (line_of(&original, at.start), excerpt_around(&original, at, context)));
            }
            true
        })
    }
}

impl Occurrences {
    fn add(&mut self, excerpt: impl FnOnce() -> (usize, String)) {
        self.count += 1;
        if self.excerpts.len() < GREP_EXCERPTS {
            self.excerpts.push(excerpt());
        }
    }
}
