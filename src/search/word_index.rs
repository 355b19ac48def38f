//! The inverted word index: all words of the vault, with the files that have them. A search that
//! finds it missing or outdated starts a thread that builds it from the texts in memory; the start
//! of the server does too. It is immutable: each query scans the files that have changed since,
//! until there are so many that it is rebuilt.

use crate::clock::Deadline;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::search::Search;
use crate::search::posting::{IDS, IN_NAME, IN_PATH, IN_TAG, Posting};
use crate::slice::Part;
use crate::text::floor;
use crate::text::kept::{push_number, take_number};
use crate::text::words::{indexed_words, plain_spellings, stem};
use crate::vault::entry::{Entry, Id, name_of};
use crate::vault::index::spawn;
use crate::vault::index::table::Table;
use memchr::memmem::Finder;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that the word index may take beyond half of the texts, but in total no more than all of
/// them: scripts without spaces have many pairs of letters.
const WORD_INDEX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that it may take in addition, for small vaults.
const WORD_INDEX_BASE_BYTES: usize = 4 * 1024 * 1024;
/// Changes after which the word index is rebuilt.
const CHANGES_BEFORE_REBUILD: usize = 64;
/// In a smaller vault, one change for so many files: there a change alters sooner how rare a word
/// is.
const FILES_PER_CHANGE: usize = 50;
/// Bytes of text whose word index is rebuilt after so few changes; that of more text takes long.
const QUICK_INDEX_BYTES: usize = 16 * 1024 * 1024;
/// Other spellings of a word that a search looks for, whoever may see the files that have them.
const SPELLINGS: usize = 16;
/// How long a search with a word that no file has waits for the word index of a vault that was just
/// opened.
const WORD_INDEX_WAIT: Duration = Duration::from_millis(300);

/// The word index at one version of the table.
#[derive(Debug, Default)]
pub(crate) struct WordIndex {
    pub(crate) version: u64,
    /// All words, each followed by a newline.
    text: String,
    /// Where each word begins in `text`, and its first posting in `postings`; then where both end.
    offsets: Vec<(u32, u32)>,
    /// See [`PostingList::close`].
    postings: Vec<u8>,
    /// The words with marks on letters, by their spellings without.
    marked: HashMap<Box<str>, Vec<u32>>,
    /// Bytes of the texts and paths that it was built from.
    text_bytes: usize,
    /// False if it would take too much memory.
    is_usable: bool,
}

/// The postings of one word while the index is built.
#[derive(Default)]
struct PostingList {
    bytes: Vec<u8>,
    /// The posting of the current file, still being counted.
    open: Option<Posting>,
    /// The file of the last posting in `bytes`.
    last: u32,
}

impl PostingList {
    /// Applies `what` to the posting of a file; returns whether that posting is new.
    fn record(&mut self, id: Id, what: &dyn Fn(&mut Posting)) -> bool {
        let is_new = self.open.is_none_or(|open| open.id() != id);
        if is_new {
            self.close();
            self.open = Some(Posting::new(id));
        }
        if let Some(open) = &mut self.open {
            what(open);
        }
        is_new
    }

    /// Encodes the open posting: the distance of its id from the previous one, times four, as a
    /// varint. The lowest two bits are 1 to 3 if the text has the word that many times and no other
    /// field has it, or 0 if a varint with the rest follows.
    fn close(&mut self) {
        let Some(posting) = self.open.take() else { return };
        let (id, rest) = (posting.id(), posting.without_id());
        let kind = if (1..=3).contains(&rest) { rest } else { 0 };
        push_number(
            &mut self.bytes,
            ((id.wrapping_sub(self.last) & IDS) as usize) << 2 | usize::from(kind),
        );
        if kind == 0 {
            push_number(&mut self.bytes, usize::from(rest));
        }
        self.last = id;
    }
}

/// Decodes the postings written by [`PostingList::close`].
#[derive(Clone, Default)]
pub(crate) struct PostingIter<'a> {
    bytes: &'a [u8],
    id: u32,
}

impl Iterator for PostingIter<'_> {
    type Item = Posting;

    fn next(&mut self) -> Option<Posting> {
        let number = take_number(&mut self.bytes)?;
        self.id = self.id.wrapping_add((number >> 2) as u32) & IDS;
        let rest = match number & 3 {
            0 => take_number(&mut self.bytes)?,
            count => count,
        };
        Some(Posting::of(self.id, rest as u16))
    }
}

impl Search {
    /// The word index, if there is one that is recent enough. A missing or outdated one is built in
    /// a thread of its own.
    pub(crate) fn word_index(&self) -> Option<Arc<WordIndex>> {
        let newest = self.cache.word_index.lock().unpoisoned().clone();
        // A query scans a file once, however often it has changed.
        let changed = |table: &Table| {
            Some(table.changed_since(newest.as_ref()?.version)?.collect::<HashSet<Id>>().len())
        };
        let changes = self.vault.view.with_table(changed);
        let is_quick = newest
            .as_ref()
            .is_some_and(|index| index.is_usable && index.text_bytes < QUICK_INDEX_BYTES);
        let most = CHANGES_BEFORE_REBUILD;
        let most = if is_quick { most.min(self.vault.size() / FILES_PER_CHANGE) } else { most };
        let is_old = changes.is_none_or(|changes| changes > most);
        if is_old && !self.vault.view.is_first_indexing() {
            let search = self.clone();
            let build = move || {
                let (version, entries) = search
                    .vault
                    .view
                    .with_table(|table| (table.version, table.all().cloned().collect::<Vec<_>>()));
                let word_index = search.build_word_index(version, &entries);
                *search.cache.word_index.lock().unpoisoned() = Some(Arc::new(word_index));
            };
            // Without a thread the texts are searched.
            spawn("words", &self.cache.word_index_permit, build);
        }
        newest.filter(|word_index| changes.is_some() && word_index.is_usable)
    }

    /// As [`Search::word_index`], but waits a moment for the first one, which is begun when all
    /// files are read.
    pub(crate) fn first_word_index(&self) -> Option<Arc<WordIndex>> {
        let patience = Deadline::after(WORD_INDEX_WAIT);
        loop {
            let is_built = self.cache.word_index.lock().unpoisoned().is_some();
            let word_index = self.word_index();
            if is_built || self.vault.view.is_first_indexing() || patience.left().is_none() {
                return word_index;
            }
            std::thread::sleep(limits::FIRST_INDEXING_POLL);
        }
    }

    /// Builds the word index of these files, at a version of the table.
    fn build_word_index(&self, version: u64, entries: &[Arc<Entry>]) -> WordIndex {
        let mut word_index = WordIndex { version, ..WordIndex::default() };
        let mut lists: HashMap<Box<str>, PostingList> = HashMap::new();
        let (mut bytes, mut cost) = (0, 0);
        for entry in entries {
            let text = entry.folded_text();
            bytes += text.len() + entry.path.len();
            let path = entry.searched_path();
            let tags = entry.folded_tags().iter().flat_map(|tag| words_of(tag));
            let mut record = |word: &str, what: &dyn Fn(&mut Posting)| {
                if !lists.contains_key(word) {
                    // One with marks is also kept by its spellings without.
                    let spellings = if word.is_ascii() { 1 } else { 3 };
                    cost += spellings * (WORD_COST + word.len());
                    lists.insert(word.into(), PostingList::default());
                }
                cost += lists
                    .get_mut(word)
                    .map_or(0, |list| usize::from(list.record(entry.id, what)) * POSTING_COST);
            };
            words_of(text).for_each(|word| record(word, &Posting::count_one));
            words_of(path).for_each(|word| record(word, &|posting| posting.add_fields(IN_PATH)));
            let aliases = entry.aliases();
            let names = std::iter::once(name_of(path)).chain(aliases.iter().map(String::as_str));
            names
                .flat_map(words_of)
                .for_each(|word| record(word, &|posting| posting.add_fields(IN_NAME)));
            tags.for_each(|word| record(word, &|posting| posting.add_fields(IN_TAG)));
        }
        let most_bytes = bytes.min(bytes / 2 + WORD_INDEX_BYTES) + WORD_INDEX_BASE_BYTES;
        if cost > most_bytes {
            return WordIndex { version, ..WordIndex::default() };
        }
        word_index.text_bytes = bytes;
        lists.values_mut().for_each(PostingList::close);
        word_index.postings.reserve_exact(lists.values().map(|list| list.bytes.len()).sum());
        for (word, mut list) in lists {
            if !word.is_ascii() {
                let number = word_index.offsets.len() as u32;
                let spellings: HashSet<String> = plain_spellings(&word).into();
                for spelling in spellings.into_iter().filter(|spelling| **spelling != *word) {
                    word_index.marked.entry(spelling.into()).or_default().push(number);
                }
            }
            word_index
                .offsets
                .push((word_index.text.len() as u32, word_index.postings.len() as u32));
            word_index.text.push_str(&word);
            word_index.text.push('\n');
            word_index.postings.append(&mut list.bytes);
        }
        word_index.offsets.push((word_index.text.len() as u32, word_index.postings.len() as u32));
        word_index.is_usable = true;
        word_index
    }
}

impl WordIndex {
    /// A word, and the files that have it.
    fn word(&self, number: usize) -> (&str, PostingIter<'_>) {
        let Some([(text, postings), (text_end, postings_end)]) =
            self.offsets.get(number..number + 2)
        else {
            return Default::default();
        };
        let word = self.text.part(*text as usize..*text_end as usize).trim_end_matches('\n');
        (
            word,
            PostingIter {
                bytes: self.postings.part(*postings as usize..*postings_end as usize),
                id: 0,
            },
        )
    }

    /// The other spellings of a word, with or without marks on its letters; those without may be
    /// no words here.
    pub(crate) fn spellings(&self, word: &str) -> Vec<String> {
        let plain = plain_spellings(word);
        let marked = plain.iter().filter_map(|plain| self.marked.get(plain.as_str()));
        let marked: Vec<&str> =
            marked.flatten().map(|number| self.word(*number as usize).0).collect();
        let mut all: Vec<String> = marked.into_iter().map(str::to_owned).chain(plain).collect();
        all.sort_unstable();
        all.dedup();
        // Of a mark alone nothing is left without it.
        all.retain(|spelling| spelling != word && !spelling.is_empty());
        all.truncate(SPELLINGS);
        all
    }

    /// All words, each with the files that have it.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, PostingIter<'_>)> {
        (1..self.offsets.len()).map(|next| self.word(next - 1))
    }

    /// The postings of a text that is a word or a part of one.
    pub(crate) fn postings(&self, wanted: &str, table: &Table) -> Vec<Posting> {
        let finder = Finder::new(wanted);
        let stem_length = stem(wanted).len();
        // The words that contain it: word, occurrences at the beginning of a form of it, other
        // occurrences.
        let mut having: Vec<(usize, u32, u32)> = Vec::new();
        for at in finder.find_iter(self.text.as_bytes()) {
            let number =
                self.offsets.partition_point(|&(start, _)| start as usize <= at).saturating_sub(1);
            let is_start = self.offsets.get(number).is_some_and(|&(start, _)| start as usize == at);
            let is_form = is_start && stem(self.word(number).0).len() == stem_length;
            if having.last().is_none_or(|(last, ..)| *last != number) {
                having.push((number, 0, 0));
            }
            if let Some((_, forms, others)) = having.last_mut() {
                *if is_form { forms } else { others } += 1;
            }
        }
        let each = having.into_iter().flat_map(|(number, forms, others)| {
            self.word(number).1.map(move |posting| posting.times(forms, others))
        });
        let mut by_id: Vec<Option<Posting>> = vec![None; table.id_bound()];
        for posting in each {
            if let Some(known) = by_id.get_mut(posting.id() as usize) {
                match known {
                    Some(known) => known.join(posting),
                    None => *known = Some(posting),
                }
            }
        }
        by_id.into_iter().flatten().collect()
    }
}

/// The words of a text; of a longer one than [`limits::WORD_BYTES`], such as a drawing in base64,
/// pieces of twice that, so that every text of at most that length which it contains is in one of
/// them.
fn words_of(text: &str) -> impl Iterator<Item = &str> + Clone {
    indexed_words(text).flat_map(|word| {
        let starts =
            (0..word.len().saturating_sub(limits::WORD_BYTES).max(1)).step_by(limits::WORD_BYTES);
        starts.map(move |start| {
            word.part(
                floor(word, start)..floor(word, (start + 2 * limits::WORD_BYTES).min(word.len())),
            )
        })
    })
}

/// Approximate size of a posting, in bytes.
const POSTING_COST: usize = 2;
/// Overhead of a word in addition to its letters and postings, in bytes.
const WORD_COST: usize = 9;
