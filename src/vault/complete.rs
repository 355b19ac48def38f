//! Completing what a person begins to type: paths, notes, topics, days.

use super::Vault;
use super::error::Error;
use crate::calendar::DateTime;
use crate::text::fold::fold;
use memchr::memmem::Finder;
use std::collections::BTreeMap;

/// What is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
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

/// What it could become.
#[derive(Debug, PartialEq, Eq)]
pub struct Completions {
    /// The best of them, best first.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

impl Vault {
    /// Completes what was typed, without case: what begins with it, then what has a name that does, then what has it
    /// somewhere.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn complete(&self, typing: Typing, typed: &str, limit: usize) -> Result<Completions, Error> {
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
        if typing == Typing::Context {
            self.values_of("context")?.iter().for_each(|(value, _)| take(value));
        }
        self.index.read(|entries| {
            for entry in entries.values() {
                let note = entry.name().strip_suffix(".md");
                match (typing, note) {
                    (Typing::Path, _) | (Typing::Note, Some(_)) => take(&entry.path),
                    (Typing::Topic, Some(name)) => {
                        take(name);
                        entry.tags.iter().for_each(|tag| take(tag));
                    }
                    (Typing::Day, Some(name)) if DateTime::of_date(name).is_some() => take(name),
                    (Typing::Note | Typing::Topic | Typing::Day | Typing::Context, _) => {}
                }
            }
        });
        let total = found.len();
        let mut ranked: Vec<(u8, String)> = found.into_iter().map(|(value, quality)| (quality, value)).collect();
        ranked.sort_unstable_by(|(quality, value), (other_quality, other)| {
            let by_value = if typing == Typing::Day { other.cmp(value) } else { value.cmp(other) };
            quality.cmp(other_quality).then(by_value)
        });
        Ok(Completions { values: ranked.into_iter().map(|(_, value)| value).take(limit).collect(), total })
    }
}
