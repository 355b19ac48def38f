//! All words of the vault with the files that have them: an inverted index. A search that finds it missing or old starts a thread
//! which makes it of the texts that are kept. It is never changed: files that have changed since are looked at with each query,
//! until there are so many that it is made again.

use super::entry::{Entry, Text, name_of};
use super::posting::Posting;
use super::table::{Id, Table};
use crate::limits;
use crate::slice::Part;
use crate::text::words::{stem, words_of};
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The index of words as of a version of the table.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    pub(super) version: u64,
    /// Every word, with a line end behind it.
    text: String,
    /// Where each word begins in that.
    words: Vec<u32>,
    /// Where the postings of each word begin.
    first_postings: Vec<u32>,
    postings: Vec<Posting>,
    /// Files with a word that is too long to be here; they are looked at.
    pub(super) left_out: Vec<Id>,
    /// Whether it can be used: it does not take too much memory.
    pub(super) is_whole: bool,
}

/// The newest one.
#[derive(Debug, Default)]
pub(super) struct Newest {
    pub(super) lexicon: Mutex<Option<Arc<Lexicon>>>,
    pub(super) is_building: AtomicBool,
}

impl Lexicon {
    /// The index of the words of these files, as of a version of the table.
    pub(super) fn build(version: u64, entries: &[(Id, Arc<Entry>)]) -> Lexicon {
        let mut lexicon = Lexicon { version, ..Lexicon::default() };
        let mut files: HashMap<&str, Vec<Posting>> = HashMap::new();
        let (mut bytes, mut cost) = (0, 0);
        for (id, entry) in entries {
            let text = match &entry.text {
                Text::Kept(kept) => kept.folded(),
                _ => "",
            };
            bytes += text.len() + entry.path.len();
            let path = entry.searched_path();
            let tags = entry.folded_tags().iter().flat_map(|tag| words_of(tag));
            if words_of(text).chain(words_of(path)).chain(tags.clone()).any(|word| word.len() > limits::WORD_BYTES) {
                lexicon.left_out.push(*id);
                continue;
            }
            let mut note = |word, what: &dyn Fn(&mut Posting)| {
                let known = files.entry(word).or_insert_with(|| {
                    cost += WORD_COST + word.len();
                    Vec::new()
                });
                if known.last().is_none_or(|last| last.id() != *id) {
                    cost += size_of::<Posting>();
                    known.push(Posting::new(*id));
                }
                known.last_mut().into_iter().for_each(what);
            };
            words_of(text).for_each(|word| note(word, &Posting::count_one));
            words_of(path).for_each(|word| note(word, &Posting::set_in_path));
            words_of(name_of(path)).for_each(|word| note(word, &Posting::set_in_name));
            tags.for_each(|word| note(word, &Posting::set_in_tag));
        }
        let most_left_out = entries.len() / limits::LEFT_OUT_PART + limits::LEFT_OUT_LEAST;
        if cost > bytes / 2 + limits::WORDS_LEAST_BYTES || lexicon.left_out.len() > most_left_out {
            return Lexicon { version, ..Lexicon::default() };
        }
        for (word, files) in files {
            lexicon.words.push(lexicon.text.len() as u32);
            lexicon.text.push_str(word);
            lexicon.text.push('\n');
            lexicon.first_postings.push(lexicon.postings.len() as u32);
            lexicon.postings.extend(files);
        }
        lexicon.is_whole = true;
        lexicon
    }

    fn word(&self, number: usize) -> &str {
        let start = self.words.get(number).map_or(0, |start| *start as usize);
        let end = self.words.get(number + 1).map_or(self.text.len(), |end| *end as usize);
        self.text.part(start..end).trim_end_matches('\n')
    }

    /// The files that have a word.
    fn files(&self, number: usize) -> &[Posting] {
        let start = self.first_postings.get(number).map_or(0, |start| *start as usize);
        let end = self.first_postings.get(number + 1).map_or(self.postings.len(), |end| *end as usize);
        self.postings.part(start..end)
    }

    /// All words, each with the files that have it.
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, &[Posting])> {
        (0..self.words.len()).map(|number| (self.word(number), self.files(number)))
    }

    /// The postings of a text that is a word or a part of one.
    pub(super) fn postings(&self, wanted: &str, table: &Table) -> Vec<Posting> {
        let finder = Finder::new(wanted);
        let stem_length = stem(wanted).len();
        // Each word that has it, with how often at its beginning as a form of it, and how often else.
        let mut having: Vec<(usize, u32, u32)> = Vec::new();
        for at in finder.find_iter(self.text.as_bytes()) {
            let number = self.words.partition_point(|&start| start as usize <= at).saturating_sub(1);
            let is_start = self.words.get(number).is_some_and(|&start| start as usize == at);
            let is_form = is_start && stem(self.word(number)).len() == stem_length;
            if having.last().is_none_or(|(last, ..)| *last != number) {
                having.push((number, 0, 0));
            }
            if let Some((_, forms, others)) = having.last_mut() {
                *if is_form { forms } else { others } += 1;
            }
        }
        if let [(number, forms, others)] = having.as_slice() {
            return self.files(*number).iter().map(|posting| posting.times(*forms, *others)).collect();
        }
        let total: usize = having.iter().map(|(number, ..)| self.files(*number).len()).sum();
        let each =
            having.iter().flat_map(|(number, forms, others)| self.files(*number).iter().map(move |posting| posting.times(*forms, *others)));
        if total < table.numbers() / 8 {
            let mut all: Vec<Posting> = each.collect();
            all.sort_unstable_by_key(|posting| posting.id());
            all.dedup_by(|next, kept| {
                let is_same = kept.id() == next.id();
                if is_same {
                    kept.join(*next);
                }
                is_same
            });
            return all;
        }
        let mut by_position: Vec<Option<Posting>> = vec![None; table.numbers()];
        for posting in each {
            if let Some(known) = by_position.get_mut(table.position(posting.id())) {
                match known {
                    Some(known) => known.join(posting),
                    None => *known = Some(posting),
                }
            }
        }
        by_position.into_iter().flatten().collect()
    }
}

/// What a word costs beside its letters and its postings, in bytes.
const WORD_COST: usize = 9;

/// Whether a text is a word or a part of one, so that only words can have it.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(char::is_alphanumeric)
}
