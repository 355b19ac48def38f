//! A long document in chunks: sections one after the other, cut where a section ends, and inside
//! one only where it is longer than a chunk. All chunks together are the whole, character for
//! character; each begins with one line that says which it is, where there is more than one. The
//! document is made anew for each chunk, so that line has a digest of its notes: the caller
//! passes it on, and hears if they have changed since, which would have moved notes between chunks.

use crate::slice::first_chars;
use crate::tools::{Code, Error, Reply};
use crate::vault::Entry;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Characters reserved in a chunk for the line that identifies it.
const CHUNK_HEADER_CHARS: usize = 100;

/// A part of a document, made when it is needed and not kept: a document may be all of a large
/// vault.
pub(super) struct Section<'a> {
    /// Its length in characters, if it is known before it is made.
    length: Option<usize>,
    make: Box<dyn Fn() -> Cow<'a, str> + 'a>,
}

impl<'a> Section<'a> {
    pub(super) fn new(length: Option<usize>, make: impl Fn() -> Cow<'a, str> + 'a) -> Section<'a> {
        Section { length, make: Box::new(make) }
    }
}

/// A document.
pub(super) struct Document<'a> {
    /// Repeated at the head of each chunk: the head of a table.
    head: &'static str,
    /// Its sections, each the same whenever it is made.
    sections: Vec<Section<'a>>,
    /// Of how many notes it is.
    notes: usize,
    /// Of the paths of these notes, and their states.
    digest: String,
    /// The text where there are no notes.
    nothing: String,
}

/// The chunk that is asked for.
pub(super) struct Wanted<'a> {
    /// From 0.
    pub(super) index: usize,
    /// Characters of each.
    pub(super) max_chars: usize,
    /// From an earlier chunk.
    pub(super) digest: Option<&'a str>,
}

/// A chunk.
#[derive(Debug)]
pub struct Chunk {
    /// Its text, with the line that says which it is.
    pub text: String,
    /// How many notes there are in all chunks together.
    pub notes: usize,
    /// How many chunks there are.
    pub chunks: usize,
}

impl Chunk {
    /// The chunk as a tool's answer.
    pub(super) fn reply(self) -> Reply {
        Reply::Document(self.text)
    }
}

impl<'a> Document<'a> {
    pub(super) fn new<'b>(
        head: &'static str,
        sections: Vec<Section<'a>>,
        notes: impl ExactSizeIterator<Item = &'b Arc<Entry>>,
        nothing: String,
    ) -> Document<'a> {
        let count = notes.len();
        let mut hasher = DefaultHasher::new();
        notes.for_each(|entry| (&*entry.path, entry.stamp.written()).hash(&mut hasher));
        Document {
            head,
            sections,
            notes: count,
            digest: format!("n{:08x}", hasher.finish() as u32),
            nothing,
        }
    }

    /// A chunk.
    ///
    /// # Errors
    /// `CONFLICT` if the notes are not those of the digest; `INVALID_RANGE` for a chunk that does
    /// not exist, saying how many there are.
    pub(super) fn chunk(self, wanted: &Wanted<'_>) -> Result<Chunk, Error> {
        let Wanted { index: chunk_index, max_chars, digest } = *wanted;
        if digest.is_some_and(|digest| digest != self.digest) {
            return Err(Error::new(
                Code::Conflict,
                "The notes have changed since the first chunk. Begin again, with chunk_index 0 \
                 and without digest.",
            ));
        }
        let lengths: Vec<usize> = self
            .sections
            .iter()
            .map(|section| section.length.unwrap_or_else(|| (section.make)().chars().count()))
            .collect();
        let total_chars: usize = lengths.iter().sum();
        // A single chunk has no line at its head.
        let budget = if total_chars + self.head.len() <= max_chars {
            max_chars
        } else {
            max_chars - CHUNK_HEADER_CHARS
        };
        let budget = budget.saturating_sub(self.head.len()).max(1);
        let (mut text, mut number, mut used) = (String::new(), 0, 0);
        for (section, length) in self.sections.iter().zip(lengths) {
            if used > 0 && used + length > budget {
                (number, used) = (number + 1, 0);
            }
            if length <= budget {
                if number == chunk_index {
                    text.push_str(&(section.make)());
                }
                used += length;
                continue;
            }
            let whole = (section.make)();
            let mut rest = &*whole;
            loop {
                let (now, later) = cut(rest, budget);
                if number == chunk_index {
                    text.push_str(now);
                }
                if later.is_empty() {
                    used = now.chars().count();
                    break;
                }
                (number, rest) = (number + 1, later);
            }
        }
        let chunks = number + 1;
        if chunk_index >= chunks {
            let there = if chunks == 1 {
                "There is 1 chunk, chunk_index 0".into()
            } else {
                format!("There are {chunks} chunks, 0 to {number}")
            };
            return Err(Error::new(
                Code::InvalidRange,
                format!("No chunk {chunk_index}. {there}."),
            ));
        }
        let header = match Some(chunk_index + 1).filter(|next| *next < chunks) {
            None if chunks == 1 => String::new(),
            None => format!("Chunk {chunks} of {chunks}, the last.\n"),
            // `next`, from 0, is also the number of this chunk, from 1.
            Some(next) => {
                format!(
                    "Chunk {next} of {chunks}; for the next one call again with chunk_index \
                     {next} and digest {}.\n",
                    self.digest
                )
            }
        };
        let text =
            if self.notes == 0 { self.nothing } else { format!("{header}{}{text}", self.head) };
        Ok(Chunk { text, notes: self.notes, chunks })
    }
}

/// The first `budget` characters, ended after a line where there is one in the second half, and the
/// rest.
fn cut(text: &str, budget: usize) -> (&str, &str) {
    let part = first_chars(text, budget);
    if part.len() == text.len() {
        return (text, "");
    }
    let line_end = part.rfind('\n').map(|at| at + 1).filter(|at| *at > part.len() / 2);
    text.split_at_checked(line_end.unwrap_or(part.len())).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(sections: &[String]) -> Document<'_> {
        let sections = sections
            .iter()
            .map(|text| Section::new(None, || Cow::Borrowed(text.as_str())))
            .collect();
        Document { head: "", sections, notes: 1, digest: "0".into(), nothing: String::new() }
    }

    /// A chunk without the line that says which it is.
    fn bare(sections: &[String], index: usize, max_chars: usize) -> Result<Chunk, Error> {
        let mut chunk = document(sections).chunk(&Wanted { index, max_chars, digest: None })?;
        if chunk.chunks > 1 {
            chunk.text = chunk.text.split_once('\n').unwrap().1.to_owned();
        }
        Ok(chunk)
    }

    #[test]
    fn all_chunks_together_are_the_whole() {
        let sections: Vec<String> =
            (0..60).map(|n| format!("§{n}\n{}\n", "ä🎻 line\n".repeat(n * n % 97))).collect();
        let whole = sections.concat();
        for max in [crate::limits::CHUNK_CHARS_MIN, 1_013, 1_200, 5_000, 100_000] {
            let chunks = bare(&sections, 0, max).unwrap().chunks;
            let parts: Vec<String> =
                (0..chunks).map(|index| bare(&sections, index, max).unwrap().text).collect();
            assert_eq!(parts.concat(), whole, "{max}");
            assert!(parts.iter().all(|part| !part.is_empty() && part.chars().count() <= max));
            let error = bare(&sections, chunks, max).unwrap_err();
            assert!(
                error.message.contains(&chunks.to_string()) && error.code == Code::InvalidRange,
                "{}",
                error.message
            );
        }
    }

    #[test]
    fn a_section_that_fits_is_never_cut() {
        let sections = ["a".repeat(600), "b".repeat(600), "c".repeat(3_000), "d".repeat(10)];
        let texts: Vec<String> = (0..6)
            .map_while(|index| bare(&sections, index, 1_000).ok())
            .map(|chunk| chunk.text)
            .collect();
        assert_eq!(texts[..2], sections[..2]);
        assert_eq!(texts.len(), 6);
        assert!(texts[5].ends_with("cdddddddddd"), "what follows joins the end of a long section");
    }

    #[test]
    fn nothing_is_one_empty_chunk() {
        let chunk = bare(&[], 0, 1_000).unwrap();
        assert_eq!((chunk.text.as_str(), chunk.chunks), ("", 1));
        assert!(bare(&[], 1, 1_000).is_err());
    }
}
