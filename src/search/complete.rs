//! Completes what a person has begun to enter: paths, notes, days.

use crate::calendar::DateTime;
use crate::search::Search;
use crate::text::fold::fold;
use crate::vault::error::Error;
use crate::vault::media;
use memchr::memmem::Finder;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What is being completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// The path of any file.
    Path,
    /// The path of a note.
    Note,
    /// A day that a note is named after, `2026-02-08`; the newest first.
    Day,
}

impl Search {
    /// Completes `typed`, ignoring case: values that begin with it, then those with a path segment
    /// that does, then those that contain it elsewhere. Gives the first `limit` of them, and the
    /// number of all.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn complete(
        &self,
        kind: CompletionKind,
        typed: &str,
        limit: usize,
    ) -> Result<(Vec<String>, usize), Error> {
        self.vault.refresh()?;
        let typed = fold(typed.trim_start_matches(['/', '#']));
        let finder = Finder::new(&typed);
        let excluded = self.vault.excluded();
        let mut found: BTreeSet<(u8, String)> = BTreeSet::new();
        let mut take = |value: &str| {
            let folded = fold(value);
            let quality = match finder.find(folded.as_bytes()) {
                Some(0) => 0,
                Some(at) if folded.get(..at).is_some_and(|before| before.ends_with('/')) => 1,
                Some(_) => 2,
                None => return,
            };
            found.insert((quality, value.to_owned()));
        };
        self.vault.view.read(|entries| {
            for entry in entries.values().filter(|entry| !excluded.covers(&entry.path)) {
                let note = media::without_ending(entry.name());
                match (kind, note) {
                    (CompletionKind::Path, _) | (CompletionKind::Note, Some(_)) => {
                        take(&entry.path)
                    }
                    (CompletionKind::Day, Some(name)) if DateTime::of_date(name).is_some() => {
                        take(name)
                    }
                    (CompletionKind::Note | CompletionKind::Day, _) => {}
                }
            }
        });
        let total = found.len();
        let mut ranked = Vec::from_iter(found);
        if kind == CompletionKind::Day {
            ranked.sort_by_key(|(quality, day)| (*quality, Reverse(day.clone())));
        }
        Ok((ranked.into_iter().map(|(_, value)| value).take(limit).collect(), total))
    }
}
