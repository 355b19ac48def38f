//! All matches of a text or a regular expression in all notes.

use super::Vault;
use super::entry::{Entry, Text};
use super::error::Error;
use crate::clock::Deadline;
use crate::limits;
use crate::text::fold::fold;
use crate::text::kept::Kept;
use crate::text::pattern::Expression;
use crate::text::snippet::{excerpt_around, excerpt_of_kept, line_of};
use memchr::memmem::{self, Finder};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What to look for.
#[derive(Debug)]
pub enum Pattern {
    /// A folded text, with LF and with CR LF if it has several lines; and its longest line.
    Folded(Vec<Finder<'static>>, String),
    /// A case-sensitive text likewise, and its longest line, folded.
    Exact(Vec<Finder<'static>>, String),
    /// A regular expression.
    Regex(Expression),
}

impl Pattern {
    /// Prepares a pattern.
    ///
    /// # Errors
    /// What is wrong with a regular expression, see [`Expression::new`].
    pub fn new(text: &str, regex: bool, case_sensitive: bool) -> Result<Pattern, String> {
        // A line feed also matches CR LF, as in an expression.
        let lines = text.replace("\r\n", "\n");
        let line = fold(lines.split('\n').max_by_key(|line| line.len()).unwrap_or_default());
        let finders = |text: &str| {
            let with_crlf = Some(text.replace('\n', "\r\n")).filter(|_| text.contains('\n'));
            [text]
                .into_iter()
                .chain(with_crlf.as_deref())
                .map(|text| Finder::new(text).into_owned())
                .collect()
        };
        Ok(match (regex, case_sensitive) {
            (true, _) => Pattern::Regex(Expression::new(text, case_sensitive)?),
            (false, true) => Pattern::Exact(finders(&lines), line),
            (false, false) => Pattern::Folded(finders(&fold(&lines)), line),
        })
    }

    /// Whether a text can have a match, judging by its folded form.
    fn may_be_in(&self, kept: &Kept) -> bool {
        self.required().is_none_or(|required| {
            memmem::find(kept.folded().as_bytes(), required.as_bytes()).is_some()
        })
    }

    /// A folded text that every text with a match contains in its folded form.
    fn required(&self) -> Option<&str> {
        match self {
            Pattern::Folded(_, line) | Pattern::Exact(_, line) => Some(line),
            Pattern::Regex(expression) => expression.required(),
        }
    }
}

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

/// The outcome of [`Vault::grep`].
#[derive(Debug, Default)]
pub struct Grep {
    /// The notes, those with the most matches first.
    pub notes: Vec<Occurrences>,
    /// Notes that could not be read, or were not fully searched when the time was up.
    pub not_searched: usize,
}

impl Vault {
    /// Searches the text of all notes for a pattern, for at most [`limits::SEARCH_TIME`]. `context` is the number of characters
    /// shown on either side of a match.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`]; [`Error::Overloaded`] when too many searches by expression are running.
    pub fn grep(
        &self,
        pattern: &Pattern,
        context: usize,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Grep, Error> {
        let _permit = match pattern {
            Pattern::Regex(_) => Some(self.costly_call()?),
            Pattern::Folded(..) | Pattern::Exact(..) => None,
        };
        self.refresh()?;
        // Only notes with the text that every match requires are searched.
        let word_index = self.word_index();
        let required: Vec<&str> = pattern.required().into_iter().collect();
        let mut notes: Vec<Arc<Entry>> = self.index.with_table(|table| {
            let having = self
                .files_that_may_have(&required, word_index.as_deref(), table, &AtomicU64::new(0))
                .into_iter();
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
                // For the progress, and a cancellation; kept texts are searched after the deadline, too.
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
        pattern: &Pattern,
        context: usize,
        found: &mut Occurrences,
        in_time: &mut dyn FnMut() -> bool,
    ) -> bool {
        let entry = Arc::clone(&found.entry);
        match (pattern, &entry.text) {
            // Only excerpts are taken from the original.
            (Pattern::Folded(finders, _), text) => {
                (matches!(text, Text::Kept(_)) || in_time())
                    && self.kept_text(&entry).is_ok_and(|kept| {
                        matches(finders, kept.folded())
                            .for_each(|at| found.add(|| excerpt_of_kept(&kept, at, context)));
                        true
                    })
            }
            // Most originals need not be restored.
            (_, Text::Kept(kept)) if !pattern.may_be_in(kept) => true,
            _ => {
                in_time()
                    && self.text(&entry).is_ok_and(|original| {
                        let take = |at: Range<usize>| {
                            if !at.is_empty() {
                                found.add(|| {
                                    (
                                        line_of(&original, at.start),
                                        excerpt_around(&original, at, context),
                                    )
                                });
                            }
                            true
                        };
                        match pattern {
                            Pattern::Regex(expression) => expression.each(&original, in_time, take),
                            Pattern::Exact(finders, _) | Pattern::Folded(finders, _) => {
                                matches(finders, &original).all(take)
                            }
                        }
                    })
            }
        }
    }
}

impl Occurrences {
    fn add(&mut self, excerpt: impl FnOnce() -> (usize, String)) {
        self.count += 1;
        if self.excerpts.len() < limits::GREP_EXCERPTS {
            self.excerpts.push(excerpt());
        }
    }
}

/// The matches of each finder. A text that begins with LF also matches within its form with CR LF, and is counted once.
fn matches(finders: &[Finder<'static>], text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let with_crlf = finders.get(1).map(Finder::needle);
    let is_repeated = move |at: usize| {
        let from_before = at.checked_sub(1).and_then(|before| bytes.get(before..));
        with_crlf.is_some_and(|needle| from_before.is_some_and(|found| found.starts_with(needle)))
    };
    finders.iter().flat_map(move |finder| {
        finder
            .find_iter(bytes)
            .filter(move |at| !is_repeated(*at))
            .map(move |at| at..at + finder.needle().len())
    })
}
