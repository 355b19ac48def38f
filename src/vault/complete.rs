//! Completes what a person has begun to enter: paths, notes, topics, contexts, days.

use super::Vault;
use super::error::Error;
use crate::calendar::DateTime;
use crate::text::fold::fold;
use memchr::memmem::Finder;
use std::collections::BTreeMap;

/// What is being completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// The path of any file.
    Path,
    /// The path of a note.
    Note,
    /// A tag or the name of a note.
    Topic,
    /// A value of the property `context`.
    Context,
    /// A day that a note is named after, `2026-02-08`; the newest first.
    Day,
}

/// The completions of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Completions {
    /// The best of them, best first.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

impl Vault {
    /// Completes `typed`, ignoring case: values that begin with it, then those with a path segment that does, then those that contain
    /// it elsewhere.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn complete(&self, kind: CompletionKind, typed: &str, limit: usize) -> Result<Completions, Error> {
        self.refresh()?;
        let typed = fold(typed.trim_start_matches(['/', '#']));
        let finder = Finder::new(&typed);
        let mut found: BTreeMap<String, u8> = BTreeMap::new();
        let mut take = |value: &str| {
            let folded = fold(value);
            let quality = match finder.find(folded.as_bytes()) {
                Some(0) => 0,
                Some(at) if folded.get(..at).is_some_and(|before| before.ends_with('/')) => 1,
                Some(_) => 2,
                None => return,
            };
            found.entry(value.to_owned()).or_insert(quality);
        };
        if kind == CompletionKind::Context {
            self.values_of("context")?.iter().for_each(|(value, _)| take(value));
        }
        self.index.read(|entries| {
            for entry in entries.values() {
                let note = entry.name().strip_suffix(".md");
                match (kind, note) {
                    (CompletionKind::Path, _) | (CompletionKind::Note, Some(_)) => take(&entry.path),
                    (CompletionKind::Topic, Some(name)) => {
                        take(name);
                        entry.tags.iter().for_each(|tag| take(tag));
                    }
                    (CompletionKind::Day, Some(name)) if DateTime::of_date(name).is_some() => take(name),
                    (CompletionKind::Note | CompletionKind::Topic | CompletionKind::Day | CompletionKind::Context, _) => {}
                }
            }
        });
        let total = found.len();
        let mut ranked: Vec<(u8, String)> = found.into_iter().map(|(value, quality)| (quality, value)).collect();
        ranked.sort_unstable_by(|(quality, value), (other_quality, other)| {
            let by_value = if kind == CompletionKind::Day { other.cmp(value) } else { value.cmp(other) };
            quality.cmp(other_quality).then(by_value)
        });
        Ok(Completions { values: ranked.into_iter().map(|(_, value)| value).take(limit).collect(), total })
    }
}
