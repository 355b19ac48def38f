//! Search over names, tags and text: ranked words, and the conditions of Obsidian's search language.
//!
//! The files that contain each word are found without reading their texts (`postings`). The best by a rough score are scored again from
//! their text (`rank`), and snippets are made only for results that are returned. A page continues after the last result of the previous one in
//! the order of the first page, whose inputs from the vault are part of the cursor.

use super::Vault;
use super::candidate::{Candidate, Key, QueryPart, Rank, RankingInputs, match_rank, score_rank};
use super::condition::File;
use super::entry::{Entry, Id, Text};
use super::error::Error;
use super::list::wanted_tag;
use super::parallel::SearchRun;
use super::path::VaultPath;
use super::posting::{IN_PATH, IN_TAG};
use super::postings::Postings;
pub use super::rank::MatchType;
use super::rank::{Ranker, Relevance, Word, first_bits};
use super::table::{Facts, Table};
use crate::clock::{Deadline, Now};
use crate::limits;
use crate::text::fold::fold;
use crate::text::query::{self, Condition, Parsed, Term};
use crate::text::snippet::around;
use crate::text::words;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to search for, and where.
#[derive(Debug, Default)]
pub struct Query<'a> {
    /// Words or a query in Obsidian's language.
    pub text: &'a str,
    /// Results at most.
    pub max_results: usize,
    /// Only below this folder.
    pub below: Option<VaultPath>,
    /// Only with this tag, or one nested below it.
    pub tag: Option<&'a str>,
    /// Only modified at this moment or later.
    pub since: Option<Now>,
    /// Only modified at this moment or earlier.
    pub until: Option<Now>,
    /// Sort by modification time, newest first, instead of by relevance.
    pub newest_first: bool,
    /// Whether passages are wanted.
    pub passages: bool,
    /// Where the previous page ended: the value of [`Found::cursor`].
    pub after: Option<&'a str>,
}

/// A part of a note that is relevant to a query.
#[derive(Debug)]
pub struct Passage {
    /// Its first line, from 1.
    pub from_line: usize,
    /// Its last line.
    pub to_line: usize,
    /// At most [`limits::PASSAGE_CHARS`] characters.
    pub text: String,
}

/// One result.
#[derive(Debug)]
pub struct Hit {
    /// The file.
    pub entry: Arc<Entry>,
    /// Where it matched.
    pub match_type: MatchType,
    /// An excerpt of the matching line, with the match in bold.
    pub snippet: String,
    /// Its line, from 1; 1 for a match in the name.
    pub line: usize,
    /// Words of the query that the file does not have.
    pub missing: Vec<String>,
    /// The best passages, if they are wanted.
    pub passages: Vec<Passage>,
    pub(super) key: Key,
}

/// The outcome of a search.
#[derive(Debug)]
pub struct Found {
    /// Number of files that match: that contain all words.
    pub total: usize,
    /// Number of files that contain only some of the words.
    pub partial: usize,
    /// Words that no file contains, and what was searched for instead.
    pub did_you_mean: Vec<(String, String)>,
    /// This page of results, best first.
    pub hits: Vec<Hit>,
    /// Whether more results follow.
    pub more: bool,
    /// Number of files whose text could not be searched (too large, unreadable, or out of time); their names and tags were.
    pub not_searched: usize,
    /// Whether the first indexing is running: the results cover the files indexed so far.
    pub indexing: bool,
    order: RankingInputs,
}

impl Found {
    /// The value of [`Query::after`] for the results after `last`.
    ///
    /// # Errors
    /// None in practice: its parts always serialize.
    pub fn cursor(&self, last: &Hit) -> Result<String, serde_json::Error> {
        serde_json::to_string(&RankingInputs { last: Some(last.key.clone()), ..self.order.clone() })
    }
}

/// A candidate with its rank.
type Ranked<'a> = (Rank, &'a Candidate);

impl Vault {
    /// Searches names, tags and texts. `proceed` is called periodically with the files processed so far and their total, and returns
    /// whether to continue.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`], [`Error::Invalid`], [`Error::Overloaded`] for regular expressions.
    pub fn search(&self, query: &Query<'_>, proceed: &dyn Fn(usize, usize) -> bool) -> Result<Found, Error> {
        let indexing = self.index.refresh_with_timeout()?;
        let properties = OnceCell::new();
        let is_property = |name: &str| properties.get_or_init(|| self.property_names()).contains(name);
        let everything = SearchRun { wanted: &|_: &Entry| true, is_narrowed: false, read: AtomicU64::new(0), proceed };
        let is_written = |text: &str| {
            let found = self.postings(&[text], &everything);
            found.is_ok_and(|(lists, _)| lists.get(text).is_some_and(|list| list.len() > 0))
        };
        let known = query::Known { is_property: &is_property, is_written: &is_written };
        let parsed = query::parse(query.text, &known).map_err(|why| Error::Invalid(format!("Argument query: {why}")))?;
        let tag = wanted_tag(query.tag);
        let below = self.existing_folder(query.below.as_ref())?;
        let is_narrowed = below.is_some() || tag.is_some() || query.since.is_some() || query.until.is_some();
        let wanted = |entry: &Entry| {
            !is_narrowed
                || below.as_ref().is_none_or(|folder| folder.contains(&entry.path))
                    && tag.as_ref().is_none_or(|tag| entry.has_tag(tag))
                    && query.since.is_none_or(|since| entry.stamp.modified() >= since)
                    && query.until.is_none_or(|until| entry.stamp.modified() <= until)
        };
        let run = SearchRun { wanted: &wanted, is_narrowed, read: AtomicU64::new(0), proceed };
        let read = &run.read;
        let order = match query.after {
            Some(after) => RankingInputs::from_cursor(after, &parsed)?,
            None => self.order(&parsed, &run)?,
        };
        let asked = order.asked;
        let (mut found, mut not_searched) = self.candidates(&parsed, &order, &run)?;
        let mut condition_matches = HashMap::new();
        if !parsed.conditions.is_empty() {
            not_searched += self.retain_matching(&parsed.conditions, &mut found, &mut condition_matches, &run)?;
        }
        // A file has all words if it has each asked word as it was asked for. A corrected word is in no file, so with one, no file has all.
        let all = first_bits(asked);
        let exact = order.words.iter().take(asked).enumerate().filter(|(_, word)| word.instead.is_none());
        let exact = exact.fold(0_u32, |bits, (number, _)| bits | 1 << number);
        let has_all = |candidate: &Candidate| candidate.words & exact & all == all;
        let total = found.iter().filter(|candidate| has_all(candidate)).count();
        let partial = found.len() - total;

        // Sorted by where it is (name, tag, text), and not by relevance.
        let is_single_term = matches!(order.words.as_slice(), [word] if word.asked == parsed.phrase) && parsed.conditions.is_empty();
        let after = order.last.as_ref();
        let mut last_close = order.close.clone();
        let ranker = Ranker::new(&order.words, asked, &parsed.phrase, order.average_length);
        let close = |candidate: &Candidate, entry: &Arc<Entry>| {
            let text = self.folded_text(entry, read).unwrap_or_default();
            ranker.relevance(entry, &text, candidate.words | candidate.stems)
        };
        let page_length = query.max_results + 1;
        let mut page: Vec<(Key, Candidate, Arc<Entry>)>;
        let mut ranked_closely: HashMap<Id, Relevance> = HashMap::new();
        if query.newest_first || is_single_term {
            let rank = |candidate: &Candidate, table: &Table| {
                let Facts { modified, is_note, .. } = table.facts(candidate.id);
                // Bitwise not reverses the order.
                let age = !modified;
                if query.newest_first {
                    return (u8::from(!has_all(candidate)), 0, 0, age);
                }
                let entry_and_word = table.entry(candidate.id).zip(order.words.first());
                let (class, quality) = entry_and_word.map_or((u8::MAX, 0), |(entry, word)| match_rank(candidate, entry, word));
                (class, quality * 2 + u8::from(!is_note), u64::from(!candidate.count), age)
            };
            page = self.smallest(&found, page_length, &rank, after, None);
        } else {
            let rough =
                |candidate: &Candidate, table: &Table| (u8::MAX, 0, score_rank(candidate.score), !table.facts(candidate.id).modified);
            let most = limits::RANKED_FILES.max(query.max_results);
            let is_first = query.after.is_none();
            let shortlist = self.smallest(&found, if is_first { most } else { usize::MAX }, &rough, None, last_close.as_ref());
            if is_first && found.len() > most {
                last_close = shortlist.last().map(|(key, ..)| key.clone());
            }
            let look = |((rank, path), candidate, entry): &(Key, Candidate, Arc<Entry>)| {
                let close = close(candidate, entry);
                (((close.class, 0, score_rank(close.score), rank.3), path.clone()), close)
            };
            let looked: Vec<(Key, Relevance)> = self.map_parallel(&shortlist, &|(.., entry)| entry.text_bytes(), &look, proceed)?;
            let ranked = looked.into_iter().zip(shortlist).map(|((key, close), (_, candidate, entry))| {
                ranked_closely.insert(candidate.id, close);
                (key, candidate, entry)
            });
            page = ranked.filter(|(key, ..)| after.is_none_or(|after| key > after)).collect();
            page.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
            if let (Some(last), true) = (&last_close, page.len() < page_length) {
                let behind = after.map_or(last, |after| after.max(last));
                page.extend(self.smallest(&found, page_length - page.len(), &rough, Some(behind), None));
            }
        }
        let more = page.len() > query.max_results;
        page.truncate(query.max_results);
        // If the query is only a tag, the tag is what is shown.
        let tags = parsed.conditions.iter().flat_map(Condition::tags).filter(|_| order.words.is_empty());
        let tag_asked: Vec<Word> = tags.map(Word::new).collect();
        let is_form_in_name =
            |candidate: &Candidate, entry: &Entry| order.words.first().is_some_and(|word| match_rank(candidate, entry, word).0 == 0);
        let hit = |(key, candidate, entry): (Key, Candidate, Arc<Entry>)| {
            let close = ranked_closely.remove(&candidate.id).unwrap_or_else(|| close(&candidate, &entry));
            let fulfilled = condition_matches.get(&candidate.id).copied();
            let at = if asked == 0 { fulfilled.or(close.shown_at(&order.words)) } else { close.shown_at(&order.words).or(fulfilled) };
            let match_type = match is_single_term {
                _ if !tag_asked.is_empty() && at.is_none() => MatchType::Tag,
                _ if asked == 0 && fulfilled.is_some() => MatchType::Content,
                _ if asked == 0 && order.words.is_empty() => MatchType::Filename,
                true if candidate.is_in(IN_PATH) || candidate.words == 0 && is_form_in_name(&candidate, &entry) => MatchType::Filename,
                true if candidate.is_in(IN_TAG) => MatchType::Tag,
                true => MatchType::Content,
                false => close.match_type,
            };
            let words = if match_type == MatchType::Tag && !tag_asked.is_empty() { &tag_asked } else { &order.words };
            let passages = if query.passages { self.passages(&entry, &close, at, &order.words) } else { Vec::new() };
            let mut expressions = parsed.conditions.iter().flat_map(Condition::expressions).filter(|_| match_type == MatchType::Filename);
            let in_path =
                expressions.find_map(|expression| expression.find(&entry.path, &|| true).ok().flatten().filter(|range| !range.is_empty()));
            let (snippet, line) = match in_path {
                Some(found) => (around(&entry.path, found, entry.path.len()), 1),
                None => self.snippet(&entry, match_type, at, words),
            };
            Hit { entry, match_type, snippet, line, missing: ranker.missing(candidate.words), passages, key }
        };
        let hits = page.into_iter().map(hit).collect();
        let order = RankingInputs { close: last_close, ..order };
        Ok(Found { total, partial, did_you_mean: order.did_you_mean.clone(), hits, more, not_searched, indexing, order })
    }

    /// The names of all properties, folded.
    fn property_names(&self) -> HashSet<String> {
        let entries: Vec<Arc<Entry>> = self.index.read(|entries| entries.values().cloned().collect());
        let names =
            entries.iter().filter_map(|entry| entry.properties()).flat_map(|properties| properties.into_iter().map(|(name, _)| name));
        names.map(|name| fold(&name)).collect()
    }

    /// The words to search for, corrections of those that no file contains, and the weight of each.
    fn order(&self, parsed: &Parsed, run: &SearchRun<'_>) -> Result<RankingInputs, Error> {
        let texts: Vec<&str> = parsed.words.iter().take(limits::QUERY_WORDS_WEIGHED).map(String::as_str).collect();
        let (lists, unread) = self.postings(&texts, run)?;
        let mut words: Vec<Word> = texts.iter().map(|text| Word::new(text)).collect();
        let known = self.having(&lists, run);
        let unknown = words.iter_mut().filter(|word| unread == 0 && !known.contains(&word.asked));
        let mut corrections = 0..limits::QUERY_CORRECTIONS;
        let mut did_you_mean = Vec::new();
        // Words that no file contains, each with its parts, or the two words it consists of, which are searched for instead.
        let mut split_words: Vec<(String, Vec<String>)> = Vec::new();
        for word in unknown {
            // Punctuation at the ends of a word, and what is before a path, is dropped if no file contains the word with it.
            let path = word.asked.trim_start_matches("./").trim_start_matches('/');
            if let [bare] = words::query_words(if path.is_empty() { &word.asked } else { path }).as_slice()
                && *bare != word.asked
                && !word.asked.contains(' ')
                && corrections.next().is_some()
            {
                *word = Word::new(bare);
                if !self.having(&self.postings(&[bare], run)?.0, run).is_empty() {
                    continue;
                }
            }
            let parts: Vec<String> =
                words::parts_of(&word.asked).into_iter().filter(|part| *part != word.asked).map(str::to_owned).collect();
            let is_corrected = !words::has_unspaced(&word.asked) && corrections.next().is_some();
            let instead = if is_corrected { self.correction(&word.asked, run)? } else { None };
            // A correction that is only the first part says less than all the parts.
            let is_near = |instead: &String| instead.chars().count().abs_diff(word.asked.chars().count()) < 2;
            match instead.filter(|instead| parts.is_empty() || is_near(instead)) {
                Some(two) if two.contains(' ') => split_words.push((word.asked.clone(), two.split(' ').map(str::to_owned).collect())),
                Some(instead) => {
                    did_you_mean.push((word.asked.clone(), instead.clone()));
                    word.instead = Some(instead);
                }
                None => split_words.push((word.asked.clone(), parts)),
            }
        }
        let mut seen: HashSet<&str> = words.iter().map(Word::text).collect();
        let others = parsed.hints.iter().chain(split_words.iter().flat_map(|(_, parts)| parts)).filter(|text| seen.insert(text));
        let mut others: Vec<Word> = others.take(limits::QUERY_WORDS_WEIGHED).map(|text| Word::new(text)).collect();
        let stems: Vec<&str> = words.iter().chain(&others).map(Word::stem).collect();
        let (lists, _) = self.postings(&stems, run)?;
        let files = self.size() as f32;
        for word in words.iter_mut().chain(&mut others) {
            let count = lists.get(word.stem()).map_or(0, |list| list.forms) as f32;
            let weight = |count: f32| ((1.0 + (files - count + 0.5).max(0.0) / (count + 0.5)).ln() * 100.0).round() / 100.0;
            word.weight = weight(count);
            word.name_weight = weight(lists.get(word.stem()).map_or(0, |list| list.named) as f32);
        }
        if words.len() > limits::QUERY_WORDS || !others.is_empty() {
            let known = self.having(&lists, run);
            others.retain(|word| known.contains(word.stem()));
            let heaviest = |words: &mut Vec<Word>, count: usize| {
                if words.len() > count {
                    words.sort_by_cached_key(|word| (!known.contains(word.stem()), score_rank(word.weight)));
                    words.truncate(count);
                }
            };
            heaviest(&mut words, limits::QUERY_WORDS);
            heaviest(&mut others, limits::QUERY_WORDS - words.len());
        }
        let asked = words.len();
        words.append(&mut others);
        for (word, mut parts) in split_words {
            parts.retain(|part| words.iter().any(|word| word.asked == *part));
            let parts = parts.join(" ");
            if !parts.is_empty() && parts != word {
                did_you_mean.push((word, parts));
            }
        }
        let average_length = self.index.with_table(Table::average_length);
        Ok(RankingInputs { words, asked, average_length, close: None, last: None, did_you_mean })
    }

    /// Those terms that at least one wanted file contains.
    fn having(&self, lists: &HashMap<String, Arc<Postings>>, run: &SearchRun<'_>) -> HashSet<String> {
        let numbered = lists.iter().enumerate();
        let lists: Vec<_> = numbered.map(|(number, (text, list))| (number, text.as_str(), Arc::clone(list))).collect();
        let mut found = vec![false; lists.len()];
        self.index.with_table(|table| {
            self.each_posting(table, &lists, &run.read, |number, posting| {
                if let Some(found) = found.get_mut(number).filter(|found| !**found) {
                    *found = table.entry(posting.id()).is_some_and(|entry| (run.wanted)(entry));
                }
            });
        });
        lists.iter().zip(found).filter(|(_, found)| *found).map(|((_, text, _), _)| (*text).to_owned()).collect()
    }

    /// The files that contain some of the words or, if there are none, may meet the conditions; and how many could not be searched.
    fn candidates(&self, parsed: &Parsed, order: &RankingInputs, run: &SearchRun<'_>) -> Result<(Vec<Candidate>, usize), Error> {
        let asked = order.asked;
        let mut texts: Vec<(QueryPart, &str)> = Vec::new();
        for (number, word) in order.words.iter().enumerate() {
            texts.extend([(QueryPart::Word(number), word.text()), (QueryPart::Stem(number), word.stem())]);
        }
        if asked > 0 && parsed.words != [parsed.phrase.as_str()] {
            texts.push((QueryPart::Phrase, &parsed.phrase));
        }
        let only: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
        let (lists, unread) = self.postings(&only, run)?;
        let lists: Vec<(QueryPart, &str, Arc<Postings>)> =
            texts.into_iter().filter_map(|(what, text)| Some((what, text, Arc::clone(lists.get(text)?)))).collect();
        let (required, word_index) = (parsed.required(), self.word_index());
        Ok(self.index.with_table(|table| {
            // An array by file id if many files match, else a map.
            let bound = table.id_bound();
            let is_dense = asked == 0 || lists.iter().map(|(_, _, list)| list.len()).sum::<usize>() > bound / 8;
            let mut all = vec![Candidate::default(); if is_dense { bound } else { 0 }];
            let mut some: BTreeMap<Id, Candidate> = BTreeMap::new();
            self.each_posting(table, &lists, &run.read, |what, posting| {
                let id = posting.id();
                let candidate = if is_dense { all.get_mut(id as usize) } else { Some(some.entry(id).or_default()) };
                candidate.into_iter().for_each(|candidate| candidate.add(what, posting, order, table));
            });
            let mut found: Vec<Candidate> = if asked == 0 {
                let having = self.files_with_all(&required, word_index.as_deref(), table, &run.read).into_iter();
                having.filter_map(|entry| Some(Candidate { id: entry.id, ..*all.get(entry.id as usize)? })).collect()
            } else if is_dense {
                all
            } else {
                some.into_values().collect()
            };
            found.retain(|candidate| {
                (asked == 0 || candidate.words | candidate.stems != 0) && table.entry(candidate.id).is_some_and(|entry| (run.wanted)(entry))
            });
            (found, unread + table.not_searched(run.wanted))
        }))
    }

    /// Keeps the candidates that meet all conditions, and adds where in the folded text; returns how many could not be searched.
    fn retain_matching(
        &self,
        conditions: &[Condition],
        candidates: &mut Vec<Candidate>,
        condition_matches: &mut HashMap<Id, (usize, usize)>,
        run: &SearchRun<'_>,
    ) -> Result<usize, Error> {
        let any_term = |is_of_kind: &dyn Fn(&Term) -> bool| conditions.iter().any(|condition| condition.any_term(is_of_kind));
        let has_regex = any_term(&|term| matches!(term, Term::Regex(_)));
        let _permit = if has_regex { Some(self.expressions.take("", limits::SEARCH_TIME).ok_or(Error::Overloaded)?) } else { None };
        let needs_original = any_term(&|term| !matches!(term, Term::Folded(_)));
        let (read, deadline) = (&run.read, Deadline::after(limits::SEARCH_TIME));
        let in_time = || deadline.left().is_some();
        let files: Vec<(Candidate, Arc<Entry>)> = self.index.with_table(|table| {
            candidates.drain(..).filter_map(|candidate| Some((candidate, Arc::clone(table.entry(candidate.id)?)))).collect()
        });
        // `None` for a file that could not be read or searched in time.
        let look = |(_, entry): &(Candidate, Arc<Entry>)| {
            let text = self.folded_text(entry, read).filter(|_| in_time())?;
            let original = match &entry.text {
                _ if !needs_original => None,
                Text::Kept(kept) => Some(kept.original()),
                Text::None | Text::NotKept { .. } => Some(String::new()),
                Text::OnDisk { .. } => Some(self.text(entry).ok()?),
            };
            File::new(entry, &text, original.as_deref(), &in_time).holds(conditions).ok()
        };
        let outcomes = self.map_parallel(&files, &|(_, entry)| entry.text_bytes(), &look, run.proceed)?;
        let mut unread = 0;
        for ((candidate, _), outcome) in files.into_iter().zip(outcomes) {
            match outcome {
                Some(Some(at)) => {
                    candidates.push(candidate);
                    condition_matches.extend(at.map(|range| (candidate.id, (range.start, range.end))));
                }
                Some(None) => {}
                None => unread += 1,
            }
        }
        Ok(unread)
    }

    /// The first `count` candidates by rank and then path, in order, after `after` and up to `last`.
    fn smallest(
        &self,
        candidates: &[Candidate],
        count: usize,
        rank: &dyn Fn(&Candidate, &Table) -> Rank,
        after: Option<&Key>,
        last: Option<&Key>,
    ) -> Vec<(Key, Candidate, Arc<Entry>)> {
        self.index.with_table(|table| {
            let path = |candidate: &Candidate| table.entry(candidate.id).map_or("", |entry| &*entry.path);
            let is_behind = |(own, candidate): &Ranked<'_>, key: &Key| (own, path(candidate)) > (&key.0, key.1.as_str());
            let compare = |a: &Ranked<'_>, b: &Ranked<'_>| a.0.cmp(&b.0).then_with(|| path(a.1).cmp(path(b.1)));
            let (mut best, mut worst): (Vec<Ranked<'_>>, Option<Ranked<'_>>) = (Vec::new(), None);
            for candidate in candidates {
                let own = (rank(candidate, table), candidate);
                let is_on_page = after.is_none_or(|after| is_behind(&own, after)) && !last.is_some_and(|last| is_behind(&own, last));
                if !is_on_page || worst.is_some_and(|worst| compare(&own, &worst).is_gt()) {
                    continue;
                }
                best.push(own);
                if best.len() / 2 >= count {
                    best.select_nth_unstable_by(count - 1, compare);
                    best.truncate(count);
                    worst = best.last().copied();
                }
            }
            best.sort_unstable_by(compare);
            best.truncate(count);
            let with_entry = |(rank, candidate): Ranked<'_>| {
                let entry = Arc::clone(table.entry(candidate.id)?);
                Some(((rank, entry.path.to_string()), *candidate, entry))
            };
            best.into_iter().filter_map(with_entry).collect()
        })
    }

    /// The folded text of a file, empty if its text is not searched; `None` if it cannot be read, or the search has read too
    /// much.
    pub(super) fn folded_text<'a>(&self, entry: &'a Entry, read: &AtomicU64) -> Option<Cow<'a, str>> {
        match &entry.text {
            Text::Kept(kept) => Some(Cow::Borrowed(kept.folded())),
            Text::OnDisk { .. } if read.fetch_add(entry.stamp.size, Ordering::Relaxed) > limits::SEARCH_READ_BYTES => None,
            Text::OnDisk { .. } => self.text(entry).ok().map(|text| Cow::Owned(fold(&text))),
            Text::None | Text::NotKept { .. } => Some(Cow::Borrowed("")),
        }
    }
}
