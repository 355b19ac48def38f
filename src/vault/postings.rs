//! Which files have a text, and how often: for a word, or a part of one, the index of words says it; for any other text, those that
//! have all its words are looked at. It is kept for the next query with the same text. A file that has changed since is looked at.

use super::Vault;
use super::entry::{Entry, Id, name_of};
use super::error::Error;
use super::lexicon::Lexicon;
use super::parallel::Run;
use super::posting::{COUNT, IN_NAME, IN_PATH, IN_TAG, Posting};
use super::rank::aliases;
use super::table::Table;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::text::words::{indexed_words, is_form, is_indexed_word, stem};
use memchr::memmem::{self, Finder};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// All files that have a text, as of a version of the table.
#[derive(Debug)]
pub(super) struct Postings {
    version: u64,
    found: Vec<Posting>,
    /// How many files have a form of the word, in their text, path or tags.
    pub(super) forms: usize,
}

impl Postings {
    fn new(version: u64, mut found: Vec<Posting>) -> Arc<Postings> {
        found.shrink_to_fit();
        let forms = found.iter().filter(|posting| !posting.is_inside() || posting.fields() & (IN_PATH | IN_TAG) != 0).count();
        Arc::new(Postings { version, found, forms })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// What keeping them costs, in postings.
    fn cost(&self) -> usize {
        self.len() + limits::POSTINGS_LEAST
    }
}

/// The postings of texts that were asked for, and what stands in for words that no file has.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// With the version of the table.
    corrections: Mutex<HashMap<String, (u64, Option<String>)>>,
    /// By text, and what they cost together.
    lists: Mutex<(HashMap<String, Arc<Postings>>, usize)>,
}

impl Cache {
    /// What stands in for a word, if it was looked for in this version of the table.
    pub(super) fn correction(&self, word: &str, version: u64) -> Option<Option<String>> {
        let corrections = self.corrections.lock().unpoisoned();
        corrections.get(word).filter(|(known, _)| *known == version).map(|(_, instead)| instead.clone())
    }

    pub(super) fn keep_correction(&self, word: &str, version: u64, instead: &Option<String>) {
        let mut corrections = self.corrections.lock().unpoisoned();
        if corrections.len() >= limits::CORRECTIONS_KEPT {
            corrections.clear();
        }
        corrections.insert(word.to_owned(), (version, instead.clone()));
    }

    /// Those of a text, unless they are older than the index of words or than the recorded changes.
    fn get(&self, text: &str, table: &Table, oldest: u64) -> Option<Arc<Postings>> {
        let lists = self.lists.lock().unpoisoned();
        let is_usable = |list: &&Arc<Postings>| list.version >= oldest && table.changed_since(list.version).is_some();
        lists.0.get(text).filter(is_usable).cloned()
    }

    /// Keeps postings; of a vault of `files`, at most a number of lists that have every file. All are looked up again when there are more.
    fn put(&self, text: &str, postings: &Arc<Postings>, files: usize) {
        let (lists, cost) = &mut *self.lists.lock().unpoisoned();
        if *cost > (files + limits::POSTINGS_LEAST) * limits::POSTINGS_LISTS {
            lists.clear();
            *cost = 0;
        }
        *cost += postings.cost();
        *cost -= lists.insert(text.to_owned(), Arc::clone(postings)).map_or(0, |old| old.cost());
    }
}

/// The posting of a file for a text, which is folded. `aliases` are those of the file.
fn look_at(entry: &Entry, finder: &Finder<'_>, text: &str, aliases: &[String]) -> Option<Posting> {
    let wanted = finder.needle();
    let path = entry.path_for(wanted);
    let in_path = finder.find(path.as_bytes()).is_some();
    let in_name =
        in_path && finder.find(name_of(path).as_bytes()).is_some() || aliases.iter().any(|alias| finder.find(alias.as_bytes()).is_some());
    // A tag is asked for with or without its number sign.
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

impl Vault {
    /// The postings of folded texts, and how many files could not be read.
    pub(super) fn postings(&self, texts: &[&str], run: &Run<'_>) -> Result<(HashMap<String, Arc<Postings>>, usize), Error> {
        let read = &run.read;
        let mut found = HashMap::new();
        let lexicon = self.lexicon();
        let (missing, version) = self.index.with_table(|table| {
            let lexicon = lexicon.as_deref();
            let known = |text: &&str| Some(((*text).to_owned(), self.known_postings(text, lexicon, table, read)?));
            found.extend(texts.iter().filter_map(known));
            let missing: BTreeSet<&str> = texts.iter().copied().filter(|text| !found.contains_key(*text)).collect();
            (missing.into_iter().collect::<Vec<_>>(), table.version)
        });
        let mut unread = 0;
        for some in missing.chunks(u64::BITS as usize) {
            let candidates: Vec<(Arc<Entry>, u64)> = self.index.with_table(|table| {
                let mut bits = vec![0_u64; table.numbers()];
                for (number, text) in some.iter().enumerate() {
                    for entry in self.files_with_all(&[text], lexicon.as_deref(), table, read) {
                        bits.get_mut(entry.id as usize).into_iter().for_each(|bits| *bits |= 1 << number);
                    }
                }
                let having = bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0);
                having.filter_map(|(id, bits)| Some((Arc::clone(table.entry(id as Id)?), bits))).collect()
            });
            let finders: Vec<Finder<'_>> = some.iter().map(Finder::new).collect();
            let look = |(entry, bits): &(Arc<Entry>, u64)| {
                let text = self.folded_text(entry, read);
                let was_read = text.is_some();
                let text = text.unwrap_or_default();
                let aliases = aliases(entry, &text);
                let wanted = finders.iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1);
                let of = |(number, finder)| Some((number, look_at(entry, finder, &text, &aliases)?));
                (was_read, wanted.filter_map(of).collect::<Vec<(usize, Posting)>>())
            };
            let bytes = candidates.iter().map(|(entry, _)| entry.text_bytes()).sum();
            let mut lists: Vec<Vec<Posting>> = vec![Vec::new(); some.len()];
            let unread_before = unread;
            for (was_read, postings) in self.map_parallel(&candidates, bytes, &look, run.proceed)? {
                unread += usize::from(!was_read);
                postings.into_iter().for_each(|(number, posting)| lists.get_mut(number).into_iter().for_each(|list| list.push(posting)));
            }
            for (text, list) in some.iter().zip(lists) {
                let postings = Postings::new(version, list);
                if unread == unread_before {
                    self.postings.put(text, &postings, self.size());
                }
                found.insert((*text).to_owned(), postings);
            }
        }
        Ok((found, unread))
    }

    /// The postings of a text that are kept, or of a word those of the index of words and of the files that are not in it.
    fn known_postings(&self, text: &str, lexicon: Option<&Lexicon>, table: &Table, read: &AtomicU64) -> Option<Arc<Postings>> {
        let lexicon = lexicon.filter(|lexicon| table.changed_since(lexicon.version).is_some());
        if let Some(postings) = self.postings.get(text, table, lexicon.map_or(0, |lexicon| lexicon.version)) {
            return Some(postings);
        }
        let lexicon = lexicon.filter(|_| is_indexed_word(text))?;
        let mut found = lexicon.postings(text, table);
        let finder = Finder::new(text);
        let unindexed = lexicon.unindexed.iter().filter_map(|id| table.entry(*id));
        found.extend(unindexed.filter_map(|entry| {
            let text = self.folded_text(entry, read).unwrap_or_default();
            look_at(entry, &finder, &text, &aliases(entry, &text))
        }));
        let postings = Postings::new(lexicon.version, found);
        self.postings.put(text, &postings, table.numbers());
        Some(postings)
    }

    /// The files that may have all of some folded texts, by their numbers: those with all their words, those that have changed since
    /// the index of words was made, and those that are not in it. All files where there is none.
    pub(super) fn files_with_all<'a>(
        &self,
        texts: &[&str],
        lexicon: Option<&Lexicon>,
        table: &'a Table,
        read: &AtomicU64,
    ) -> Vec<&'a Arc<Entry>> {
        // Every note ends in .md, and the index does not have that.
        let mut words: Vec<&str> = texts.iter().flat_map(|text| indexed_words(text.strip_suffix(".md").unwrap_or(text))).collect();
        // A single letter is in most files and excludes few.
        if words.iter().any(|word| word.len() > 1) {
            words.retain(|word| word.len() > 1);
        }
        // A few words leave out enough files, and long ones the most.
        words.sort_unstable_by_key(|word| (Reverse(word.len()), *word));
        words.dedup();
        words.truncate(limits::QUERY_WORDS);
        let changed = lexicon.and_then(|lexicon| Some((lexicon, table.changed_since(lexicon.version)?)));
        let Some((lexicon, changed)) = changed.filter(|_| !words.is_empty()) else { return table.all().collect() };
        let mut counts = vec![0; table.numbers()];
        for word in &words {
            let postings = self.known_postings(word, Some(lexicon), table, read);
            let postings = postings.unwrap_or_else(|| Postings::new(lexicon.version, lexicon.postings(word, table)));
            for posting in &postings.found {
                counts.get_mut(posting.id() as usize).into_iter().for_each(|count| *count += 1);
            }
        }
        for id in changed.chain(lexicon.unindexed.iter().copied()) {
            counts.get_mut(id as usize).into_iter().for_each(|count| *count = words.len());
        }
        let having = counts.iter().enumerate().filter(|(_, count)| **count == words.len());
        having.filter_map(|(id, _)| table.entry(id as Id)).collect()
    }

    /// Gives the postings of texts to `add`, each with what the text is, with files that have changed since as they are now.
    pub(super) fn each_posting<T: Copy>(
        &self,
        table: &Table,
        lists: &[(T, &str, Arc<Postings>)],
        read: &AtomicU64,
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
            let text = self.folded_text(entry, read).unwrap_or_default();
            let aliases = aliases(entry, &text);
            for (what, wanted, _) in lists {
                look_at(entry, &Finder::new(wanted), &text, &aliases).into_iter().for_each(|posting| add(*what, posting));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::vault::Vault;
    use crate::vault::parallel::Run;
    use std::sync::atomic::AtomicU64;

    /// What the index of words says of a part of a word is what a look at the files says.
    #[test]
    fn postings_are_those_of_a_look_at_the_files() {
        let folder = std::env::temp_dir().join(format!("vsm-words-{}", crate::secret::new_id().unwrap()));
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
            std::fs::write(folder.join(format!("Plug in/time {number}.md")), format!("---\ntags: [tim, note]\n---\n{text}")).unwrap();
        }
        let long = format!("{} plugin", "x".repeat(100));
        std::fs::write(folder.join("long.md"), long).unwrap();
        let vault = Vault::open(&folder).unwrap();
        vault.refresh().unwrap();
        let run = Run { wanted: &|_| true, is_narrowed: false, read: AtomicU64::new(0), proceed: &|_, _| true };
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
        let ask = |vault: &Vault| {
            let (lists, _) = vault.postings(&parts, &run).unwrap();
            parts.map(|part| {
                let mut found: Vec<String> = lists.get(part).unwrap().found.iter().map(|posting| format!("{posting:?}")).collect();
                found.sort_unstable();
                found
            })
        };
        let looked_at = ask(&vault);
        while vault.lexicon().is_none() {
            std::thread::yield_now();
        }
        *vault.postings.lists.lock().unwrap() = Default::default();
        assert_eq!(ask(&vault), looked_at);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(looked_at.iter().take(26).all(|found| !found.is_empty()));
    }
}
