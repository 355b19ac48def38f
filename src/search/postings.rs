//! Which files contain a search term, and how often.
//!
//! ```text
//! a term -> Cache::lists       the postings of earlier queries, unless too much has changed since
//!        -> WordIndex          for a word or a part of one
//!        -> the texts          for any other: of the files that have all of its words
//! then, in each_posting: files that have changed since are scanned again
//! ```

use crate::limits;
use crate::lock::Unpoisoned;
use crate::search::posting::{COUNT, IN_NAME, IN_PATH, IN_TAG, Posting};
use crate::search::word_index::WordIndex;
use crate::search::{Search, SearchRun};
use crate::text::words::{indexed_words, is_form, is_indexed_word, stem};
use crate::vault::entry::{Entry, Id, name_of};
use crate::vault::error::Error;
use crate::vault::index::table::Table;
use crate::vault::parallel::map_parallel;
use memchr::memmem::{self, Finder};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// Posting lists cached for later queries, if each lists all files (four bytes per file); those of
/// rare words take less.
const POSTINGS_LISTS: usize = 32;
/// The fixed cost of a cached list, in postings.
const POSTINGS_OVERHEAD: usize = 64;

/// All files that contain a term, at one version of the table.
#[derive(Debug)]
pub(crate) struct Postings {
    version: u64,
    found: Vec<Posting>,
    /// How many files have a form of the word, in their text, path or tags.
    pub(crate) forms: usize,
    /// The number of files that have it in their name, an alias or a tag.
    pub(crate) named: usize,
}

impl Postings {
    fn new(version: u64, mut found: Vec<Posting>) -> Arc<Postings> {
        found.shrink_to_fit();
        let forms = found
            .iter()
            .filter(|posting| !posting.is_inside() || posting.fields() & (IN_PATH | IN_TAG) != 0)
            .count();
        let named =
            found.iter().filter(|posting| posting.fields() & (IN_NAME | IN_TAG) != 0).count();
        Arc::new(Postings { version, found, forms, named })
    }

    /// The number of postings.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// The cost of caching them, in postings.
    fn cost(&self) -> usize {
        self.len() + POSTINGS_OVERHEAD
    }
}

/// What stands in for a word that no file contains, if anything does.
#[derive(Debug)]
pub(crate) struct Correction {
    /// Those of the table and of the word index at which it was looked up.
    pub(crate) versions: (u64, u64),
    pub(crate) instead: Option<String>,
}

/// Cached postings, and cached corrections of words that no file contains.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// By word.
    pub(crate) corrections: Mutex<HashMap<String, Correction>>,
    /// By term, and their total cost.
    lists: Mutex<(HashMap<String, Arc<Postings>>, usize)>,
}

impl Cache {
    /// The cached postings of a term, unless they are older than the word index or than the
    /// recorded changes.
    fn get(&self, text: &str, table: &Table, oldest: u64) -> Option<Arc<Postings>> {
        let lists = self.lists.lock().unpoisoned();
        let is_usable = |list: &&Arc<Postings>| {
            list.version >= oldest && table.changed_since(list.version).is_some()
        };
        lists.0.get(text).filter(is_usable).cloned()
    }

    /// Caches postings. `files` is the number of files in the vault, from which the cache's limit
    /// follows; a full cache is cleared.
    fn put(&self, text: &str, postings: &Arc<Postings>, files: usize) {
        let (lists, cost) = &mut *self.lists.lock().unpoisoned();
        if *cost > (files + POSTINGS_OVERHEAD) * POSTINGS_LISTS {
            lists.clear();
            *cost = 0;
        }
        *cost += postings.cost();
        *cost -= lists.insert(text.to_owned(), Arc::clone(postings)).map_or(0, |old| old.cost());
    }
}

/// The posting of a file for the finder's term, which is folded like `text`. `aliases` are those of
/// the file.
fn posting_of(
    entry: &Entry,
    finder: &Finder<'_>,
    text: &str,
    aliases: &[String],
) -> Option<Posting> {
    let wanted = finder.needle();
    let path = entry.path_for(wanted);
    let in_path = finder.find(path.as_bytes()).is_some();
    let in_name = in_path && finder.find(name_of(path).as_bytes()).is_some()
        || aliases.iter().any(|alias| finder.find(alias.as_bytes()).is_some());
    // Tags may be searched for with or without `#`.
    let tag = wanted.strip_prefix(b"#").filter(|tag| !tag.is_empty());
    let has = |own: &str| match tag {
        Some(tag) => memmem::find(own.as_bytes(), tag).is_some(),
        None => finder.find(own.as_bytes()).is_some(),
    };
    let in_tag = entry.folded_tags().iter().any(|own| has(own));
    let stem_length = std::str::from_utf8(wanted).map_or(wanted.len(), |wanted| stem(wanted).len());
    let (mut forms, mut others) = (0, 0);
    for at in finder.find_iter(text.as_bytes()) {
        let is_form = is_form(text, at, stem_length);
        forms += u32::from(is_form);
        others += u32::from(!is_form);
        if forms == COUNT {
            break;
        }
    }
    let field = |is_in: bool, field: u32| if is_in { field } else { 0 };
    let fields = field(in_path, IN_PATH) | field(in_name, IN_NAME) | field(in_tag, IN_TAG);
    let mut posting = Posting::new(entry.id).counted(forms, others);
    posting.add_fields(fields);
    (fields != 0 || forms + others > 0).then_some(posting)
}

impl Search {
    /// The postings of folded terms.
    pub(crate) fn postings(
        &self,
        texts: &[&str],
        run: &SearchRun<'_>,
    ) -> Result<HashMap<String, Arc<Postings>>, Error> {
        let mut found = HashMap::new();
        let word_index = self.word_index();
        let (missing, version) = self.vault.view.with_table(|table| {
            let word_index = word_index.as_deref();
            let known = |text: &&str| {
                Some(((*text).to_owned(), self.known_postings(text, word_index, table)?))
            };
            found.extend(texts.iter().filter_map(known));
            let missing: BTreeSet<&str> =
                texts.iter().copied().filter(|text| !found.contains_key(*text)).collect();
            (missing.into_iter().collect::<Vec<_>>(), table.version)
        });
        // 64 terms at a time: which of them a file is scanned for are the bits of a u64.
        for terms in missing.chunks(u64::BITS as usize) {
            let candidates: Vec<(Arc<Entry>, u64)> = self.vault.view.with_table(|table| {
                let mut bits = vec![0_u64; table.id_bound()];
                for (number, text) in terms.iter().enumerate() {
                    for entry in self.files_that_may_have(&[text], word_index.as_deref(), table) {
                        if let Some(bits) = bits.get_mut(entry.id as usize) {
                            *bits |= 1 << number;
                        }
                    }
                }
                let having = bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0);
                having
                    .filter_map(|(id, bits)| Some((Arc::clone(table.entry(id as Id)?), bits)))
                    .collect()
            });
            let finders: Vec<Finder<'_>> = terms.iter().map(Finder::new).collect();
            let look = |(entry, bits): &(Arc<Entry>, u64)| {
                let aliases = entry.aliases();
                let wanted =
                    finders.iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1);
                let of = |(number, finder)| {
                    Some((number, posting_of(entry, finder, entry.folded_text(), &aliases)?))
                };
                wanted.filter_map(of).collect::<Vec<(usize, Posting)>>()
            };
            let mut lists: Vec<Vec<Posting>> = vec![Vec::new(); terms.len()];
            for postings in
                map_parallel(&candidates, &|(entry, _)| entry.search_cost(), &look, run.proceed)?
            {
                for (number, posting) in postings {
                    if let Some(list) = lists.get_mut(number) {
                        list.push(posting);
                    }
                }
            }
            for (text, list) in terms.iter().zip(lists) {
                let postings = Postings::new(version, list);
                self.cache.postings.put(text, &postings, self.vault.size());
                found.insert((*text).to_owned(), postings);
            }
        }
        Ok(found)
    }

    /// The postings of a term from the cache; for a word also from the word index.
    fn known_postings(
        &self,
        text: &str,
        word_index: Option<&WordIndex>,
        table: &Table,
    ) -> Option<Arc<Postings>> {
        let word_index =
            word_index.filter(|word_index| table.changed_since(word_index.version).is_some());
        if let Some(postings) = self.cache.postings.get(
            text,
            table,
            word_index.map_or(0, |word_index| word_index.version),
        ) {
            return Some(postings);
        }
        let word_index = word_index.filter(|_| is_indexed_word(text))?;
        let found = word_index.postings(text, table);
        let postings = Postings::new(word_index.version, found);
        self.cache.postings.put(text, &postings, table.id_bound());
        Some(postings)
    }

    /// The files that may contain all the folded terms, by id: those with all their words, and
    /// those changed since the word index was built. All files if there is no word index.
    pub(crate) fn files_that_may_have<'a>(
        &self,
        texts: &[&str],
        word_index: Option<&WordIndex>,
        table: &'a Table,
    ) -> Vec<&'a Arc<Entry>> {
        // The word index lacks the ending `.md`. Terms that are a part of it exclude nothing; of
        // others it is cut off, or its beginning `.m`, with which the literal of an expression may
        // end.
        let texts = texts.iter().copied().filter(|text| !".md".contains(text));
        let bare = texts.map(|text| {
            [".md", ".m"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text)
        });
        // The word index has longer words in pieces only.
        let mut words: Vec<&str> =
            bare.flat_map(indexed_words).filter(|word| word.len() <= limits::WORD_BYTES).collect();
        // A single letter is in most files and excludes few.
        if words.iter().any(|word| word.len() > 1) {
            words.retain(|word| word.len() > 1);
        }
        // A few words exclude enough files, and long ones exclude the most.
        words.sort_unstable_by_key(|word| (Reverse(word.len()), *word));
        words.dedup();
        words.truncate(limits::QUERY_WORDS);
        let changed = word_index
            .and_then(|word_index| Some((word_index, table.changed_since(word_index.version)?)));
        let Some((word_index, changed)) = changed.filter(|_| !words.is_empty()) else {
            return table.all().collect();
        };
        let mut counts = vec![0; table.id_bound()];
        for word in &words {
            let postings = self.known_postings(word, Some(word_index), table);
            let postings = postings.unwrap_or_else(|| {
                Postings::new(word_index.version, word_index.postings(word, table))
            });
            for posting in &postings.found {
                if let Some(count) = counts.get_mut(posting.id() as usize) {
                    *count += 1;
                }
            }
        }
        for id in changed {
            if let Some(count) = counts.get_mut(id as usize) {
                *count = words.len();
            }
        }
        let having = counts.iter().enumerate().filter(|(_, count)| **count == words.len());
        having.filter_map(|(id, _)| table.entry(id as Id)).collect()
    }

    /// Passes all postings to `add`, each with its list's label. Files changed since the lists were
    /// made are scanned again.
    pub(crate) fn each_posting<T: Copy>(
        &self,
        table: &Table,
        lists: &[(T, &str, Arc<Postings>)],
        mut add: impl FnMut(T, Posting),
    ) {
        let oldest = lists.iter().map(|(_, _, list)| list.version).min().unwrap_or(table.version);
        let changed: BTreeSet<Id> = table.changed_since(oldest).into_iter().flatten().collect();
        for (what, _, list) in lists {
            for &posting in &list.found {
                if changed.is_empty() || !changed.contains(&posting.id()) {
                    add(*what, posting);
                }
            }
        }
        for &id in &changed {
            let Some(entry) = table.entry(id) else { continue };
            let aliases = entry.aliases();
            for (what, wanted, _) in lists {
                let finder = Finder::new(wanted);
                if let Some(posting) = posting_of(entry, &finder, entry.folded_text(), &aliases) {
                    add(*what, posting);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::search::{Search, SearchRun};
    use crate::vault::Vault;

    /// Looking up part of a word in the word index gives the same as scanning the files.
    #[test]
    fn the_word_index_agrees_with_a_scan_of_the_files() {
        let folder = std::env::temp_dir().join(format!("vsm-words-{}", crate::secret::new_id()));
        let texts = [
            "plugins plugin pluginplugin plug ins",
            "Tim timed his time: tim",
            "größe Grösse gross",
            "aaaa aa a",
            "note_book note-book #note",
            "x",
            "会議の議事録、iphone用のケース",
        ];
        for (number, text) in texts.iter().enumerate() {
            std::fs::create_dir_all(folder.join("Plug in")).unwrap();
            std::fs::write(
                folder.join(format!("Plug in/time {number}.md")),
                format!("---\ntags: [tim, note]\n---\n{text}"),
            )
            .unwrap();
        }
        let long = format!("{} plugin", "x".repeat(100));
        std::fs::write(folder.join("long.md"), long).unwrap();
        let search = Search::new(Vault::open(&folder).unwrap());
        search.vault.refresh().unwrap();
        let run = SearchRun { wanted: &|_| true, is_narrowed: false, proceed: &|_, _| true };
        let parts = [
            "plugin",
            "plug",
            "lug",
            "s",
            "tim",
            "time",
            "ti",
            "grösse",
            "gross",
            "oss",
            "a",
            "aa",
            "note",
            "book",
            "x",
            "in",
            "0",
            "議事",
            "の",
            "iphone用",
            "iphone",
            "用のケ",
            "plugins plug",
            "his t",
            "note-",
            "4.md",
            "zzz",
        ];
        let ask = |search: &Search| {
            let lists = search.postings(&parts, &run).unwrap();
            parts.map(|part| {
                let mut found: Vec<String> = lists
                    .get(part)
                    .unwrap()
                    .found
                    .iter()
                    .map(|posting| format!("{posting:?}"))
                    .collect();
                found.sort_unstable();
                found
            })
        };
        let scanned = ask(&search);
        while search.word_index().is_none() {
            std::thread::yield_now();
        }
        *search.cache.postings.lists.lock().unwrap() = Default::default();
        assert_eq!(ask(&search), scanned);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(scanned.iter().take(26).all(|found| !found.is_empty()));
    }
}
