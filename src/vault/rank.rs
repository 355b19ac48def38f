//! Ranking of several words: files that have all of them or some, the most relevant first.
//!
//! The filter says which files can have a word; a look at those gives, for each file, which of the words it has. So totals are
//! exact, and how rare each word is is known. For the files with the most of them BM25 is computed over fields (name and
//! aliases, headings and the first words, tags, text), with the best passage beside it.

use super::Vault;
use super::entry::Entry;
use super::error::Error;
use super::properties::shown;
use super::search::{Found, Hit, MatchType, Unread};
use crate::limits;
use crate::text::fold::{Folded, fold};
use crate::text::query::{Condition, Parsed};
use crate::text::snippet::snippet;
use crate::text::words::{Form, instead, kept_parts, stem};
use memchr::memmem::{self, Finder};
use serde_json::Value;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// BM25: how soon further occurrences of a word count less.
const K1: f64 = 1.2;
/// BM25: how much the length of the text counts.
const B_TEXT: f64 = 0.75;
/// The same for names, aliases and tags.
const B_SHORT: f64 = 0.3;
/// Weights of the fields; text is 1.
const NAME: f64 = 4.0;
const HEADING: f64 = 2.0;
const TAG: f64 = 2.0;
/// What an occurrence inside of a word counts, for one at its beginning.
const INSIDE: f64 = 0.3;
/// How much the best passage counts beside the whole.
const PASSAGE: f64 = 0.5;

/// A word of the query.
#[derive(Debug)]
struct Word {
    /// As it was asked for, folded.
    asked: String,
    /// What is looked for: the word, or what stands in for it because nothing has it.
    texts: Vec<String>,
    /// How much a file is worth that has it: the rarer the more.
    weight: f64,
}

/// A file with the words that it has, as bits.
struct Having {
    entry: Arc<Entry>,
    words: u64,
}

/// How a file is placed: by its class first (0 is best), then by its score.
struct Ranked {
    having: Having,
    class: u8,
    score: f64,
    /// The match to be shown, in the folded text; none when only the name or a tag has it.
    at: Option<(usize, usize)>,
    in_name: bool,
}

impl Vault {
    /// Searches for words and conditions.
    pub(super) fn ranked(
        &self,
        query: &Parsed,
        max_results: usize,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Found, Error> {
        let read = AtomicU64::new(0);
        let asked = query.words.len().min(limits::QUERY_WORDS);
        let texts = query.words.iter().take(asked).chain(&query.hints).take(limits::QUERY_WORDS);
        let mut words: Vec<Word> = texts.map(|word| Word { asked: word.clone(), texts: vec![word.clone()], weight: 0.0 }).collect();
        let (mut having, mut counts, mut not_searched) = self.having(&words, query, wanted, &read, go_on)?;
        let mut did_you_mean = Vec::new();
        for (number, _) in counts.iter().enumerate().take(asked).filter(|(_, count)| **count == 0).take(limits::QUERY_CORRECTIONS) {
            let Some(word) = words.get_mut(number) else { continue };
            let used = self.stand_in(&word.asked, wanted, &read);
            if let Some(first) = used.first() {
                did_you_mean.push((word.asked.clone(), first.clone()));
                word.texts = used;
            }
        }
        if !did_you_mean.is_empty() {
            (having, counts, not_searched) = self.having(&words, query, wanted, &read, go_on)?;
        }
        let files = self.size() as f64;
        for (word, count) in words.iter_mut().zip(&counts) {
            word.weight = (1.0 + (files - *count as f64 + 0.5).max(0.0) / (*count as f64 + 0.5)).ln();
        }
        let all = (1_u64 << asked) - 1;
        // A word that stands in for another does not make a file one that has all of them.
        let exact = words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.texts.first() == Some(&word.asked))
            .fold(0, |bits, (number, _)| bits | 1 << number);
        let total = having.iter().filter(|having| having.words & exact & all == all).count();
        let partial = having.len() - total;
        let bound = |having: &Having| -> f64 {
            words.iter().enumerate().filter(|(number, _)| having.words >> number & 1 == 1).map(|(_, word)| word.weight).sum()
        };
        let best_first =
            |a: &Having, b: &Having| bound(b).total_cmp(&bound(a)).then_with(|| b.entry.stamp.order().cmp(&a.entry.stamp.order()));
        let looked_at = limits::RANKED_FILES.max(max_results);
        if having.len() > looked_at {
            having.select_nth_unstable_by(looked_at, best_first);
            having.truncate(looked_at);
        }
        let average = (having.iter().map(|having| having.entry.stamp.size).sum::<u64>() as f64 / having.len().max(1) as f64).max(1.0);
        let mut ranked: Vec<Ranked> =
            having.into_iter().map(|having| self.rank(having, &words, all, &query.phrase, average, &read)).collect();
        ranked.sort_by(order);
        ranked.truncate(max_results);
        let hits = ranked.iter().map(|ranked| self.ranked_hit(ranked, &words, asked)).collect();
        Ok(Found { total, partial, hits, did_you_mean, not_searched, filling: None })
    }

    /// The files that have at least one of the words, how many have each, and how many could not be read.
    fn having(
        &self,
        words: &[Word],
        query: &Parsed,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        read: &AtomicU64,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<(Vec<Having>, Vec<usize>, usize), Error> {
        let texts: Vec<Vec<&str>> = words.iter().map(|word| word.texts.iter().map(String::as_str).collect()).collect();
        let (candidates, too_much) = if query.words.is_empty() {
            let (all, too_much) = self.index.candidates(std::iter::empty(), wanted);
            (all.into_iter().map(|entry| (entry, u64::MAX)).collect(), too_much)
        } else {
            self.index.candidates_by_word(&texts, wanted)
        };
        let finders: Vec<Vec<Finder<'_>>> = texts.iter().map(|texts| texts.iter().map(Finder::new).collect()).collect();
        let look = |(entry, may_have): &(Arc<Entry>, u64)| -> Result<Option<u64>, Unread> {
            let text = self.folded_text(entry, read).ok_or(Unread)?;
            let text = text.as_bytes();
            // Every note ends in .md; only who asks for that ending means it.
            let whole = entry.folded_path();
            let path = whole.strip_suffix(".md").unwrap_or(whole);
            let has = |finder: &Finder<'_>| {
                let path = if finder.needle().ends_with(b".md") { whole } else { path };
                finder.find(text).is_some()
                    || finder.find(path.as_bytes()).is_some()
                    || entry.folded_tags().iter().any(|tag| finder.find(tag.as_bytes()).is_some())
            };
            if !query.conditions.iter().all(|condition| holds(condition, entry, text)) {
                return Ok(None);
            }
            let bits = finders.iter().enumerate().filter(|(number, finders)| may_have >> number & 1 == 1 && finders.iter().any(has));
            let bits = bits.fold(0, |bits, (number, _)| bits | 1 << number);
            Ok(Some(bits).filter(|bits| *bits != 0 || query.words.is_empty()))
        };
        let bytes = candidates.iter().map(|(entry, _)| entry.text_bytes()).sum();
        let looked = self.on_all_cores(&candidates, bytes, &look, go_on)?;
        let (mut found, mut counts, mut unread) = (Vec::new(), vec![0; words.len()], too_much);
        for ((entry, _), bits) in candidates.into_iter().zip(looked) {
            match bits {
                Ok(None) => {}
                Ok(Some(bits)) => {
                    counts.iter_mut().enumerate().for_each(|(number, count)| *count += (bits >> number & 1) as usize);
                    found.push(Having { entry, words: bits });
                }
                Err(Unread) => unread += 1,
            }
        }
        Ok((found, counts, unread))
    }

    /// What some file has in place of a word that none has: the nearest form; of a script without spaces all pairs of letters.
    pub(super) fn stand_in(&self, word: &str, wanted: &(dyn Fn(&Entry) -> bool + Sync), read: &AtomicU64) -> Vec<String> {
        if word.contains(' ') {
            return Vec::new();
        }
        let forms = instead(word);
        if forms.iter().all(|form| form.text.chars().count() == 2) {
            return forms.into_iter().map(|form| form.text).collect();
        }
        let exists = |text: &str, fits: &dyn Fn(&str, usize) -> bool| {
            let has = |own: &str| memmem::find_iter(own.as_bytes(), text).any(|at| fits(own, at));
            let (candidates, _) = self.index.candidates(std::iter::once(text), wanted);
            candidates.iter().any(|entry| has(entry.folded_path()) || self.folded_text(entry, read).is_some_and(|own| has(&own)))
        };
        // Hundreds of edits need not be looked for where nothing has what they leave as it is.
        let parts: Vec<String> = kept_parts(word).into_iter().filter(|part| exists(part, &|_, _| true)).collect();
        let is_possible = |form: &Form| !form.is_whole || parts.iter().any(|part| form.text.contains(part));
        let mut existing = forms.into_iter().filter(|form| is_possible(form) && exists(&form.text, &|own, at| is_word(own, at, form)));
        existing.next().map(|form| form.text).into_iter().collect()
    }

    fn rank(&self, having: Having, words: &[Word], all: u64, phrase: &str, average: f64, read: &AtomicU64) -> Ranked {
        let entry = &having.entry;
        let text = self.folded_text(entry, read).unwrap_or_default();
        let text: &str = &text;
        let path = entry.folded_path();
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let name = name.strip_suffix(".md").unwrap_or(name);
        let aliases = aliases(entry);
        let (mut score, mut beside, mut in_name) = (0.0, 0_u64, 0_u64);
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for (number, word) in words.iter().enumerate().filter(|(number, _)| having.words >> number & 1 == 1) {
            let short = |field: &str| word.texts.iter().map(|text| in_field(field, text)).fold(0.0, f64::max);
            let path = path.strip_suffix(".md").unwrap_or(path);
            let named = short(name).max(aliases.iter().map(|alias| short(alias)).fold(0.0, f64::max)) * NAME + short(path) * HEADING / 2.0;
            let tagged = entry.folded_tags().iter().map(|tag| short(tag)).fold(0.0, f64::max) * TAG;
            if named > 0.0 || tagged > 0.0 {
                beside |= 1 << number;
            }
            in_name |= u64::from(short(path) > 0.0) << number;
            let occurrences = word.texts.iter().map(|form| occurrences(text, form, number, &mut places)).sum::<f64>();
            let found = occurrences / (1.0 - B_TEXT + B_TEXT * text.len() as f64 / average);
            let frequency = found + named + tagged;
            score += word.weight * frequency * (K1 + 1.0) / (frequency + K1);
        }
        places.sort_unstable();
        let weight =
            |bits: u64| words.iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1).map(|(_, word)| word.weight).sum::<f64>();
        let passage = best_passage(&places, beside, &weight);
        score += PASSAGE * weight(passage.words) * passage.nearness;
        let phrase_at = if phrase.is_empty() { None } else { memmem::find(text.as_bytes(), phrase.as_bytes()) };
        let class = if name == phrase {
            0
        } else if phrase_at.is_some() || !phrase.is_empty() && path.contains(phrase) {
            1
        } else if passage.words & all == all {
            2
        } else {
            3
        };
        let at = phrase_at.map(|at| (at, at + phrase.len())).or(passage.at);
        Ranked { class, score, at, in_name: in_name == having.words && (at.is_none() || name == phrase || in_name & all == all), having }
    }

    fn ranked_hit(&self, ranked: &Ranked, words: &[Word], asked: usize) -> Hit {
        let entry = Arc::clone(&ranked.having.entry);
        let needles: Vec<&str> = words.iter().flat_map(|word| word.texts.iter().map(String::as_str)).collect();
        let missing = words
            .iter()
            .take(asked)
            .enumerate()
            .filter(|(number, word)| ranked.having.words >> number & 1 == 0 || word.texts.first() != Some(&word.asked));
        let missing = missing.map(|(_, word)| word.asked.clone()).collect();
        let (match_type, (snippet, line)) = match ranked.at {
            Some((from, to)) if !ranked.in_name => (MatchType::Content, self.content_snippet(&entry, from..to, &needles)),
            _ => {
                let folded = Folded::of(&entry.path);
                let path = folded.text(&entry.path);
                let first = needles.iter().find_map(|needle| path.find(needle).map(|at| at..at + needle.len()));
                let match_type = if first.is_some() || needles.is_empty() { MatchType::Filename } else { MatchType::Tag };
                let shown = match &first {
                    Some(range) => snippet(&entry.path, &folded, range.clone(), &needles),
                    None if needles.is_empty() => entry.path.to_string(),
                    None => entry.tags.join(", "),
                };
                (match_type, (shown, 1))
            }
        };
        Hit { entry, match_type, snippet, line, missing }
    }
}

fn order(a: &Ranked, b: &Ranked) -> Ordering {
    let entry = |ranked: &Ranked| (std::cmp::Reverse(ranked.having.entry.stamp.order()), Arc::clone(&ranked.having.entry.path));
    a.class.cmp(&b.class).then_with(|| b.score.total_cmp(&a.score)).then_with(|| entry(a).cmp(&entry(b)))
}

/// Whether a file fulfils a condition. `text` is its text, folded.
fn holds(condition: &Condition, entry: &Entry, text: &[u8]) -> bool {
    let path = entry.folded_path();
    let has = |wanted: &str| memmem::find(text, wanted.as_bytes()).is_some();
    match condition {
        Condition::Has(wanted) => has(wanted) || path.contains(wanted) || entry.folded_tags().iter().any(|tag| tag.contains(&**wanted)),
        Condition::Name(wanted) => path.rsplit_once('/').map_or(path, |(_, name)| name).contains(wanted),
        Condition::Path(wanted) => path.contains(wanted),
        Condition::Content(wanted) => has(wanted),
        Condition::Tag(wanted) => entry.has_tag(wanted.trim_end_matches('/')),
        Condition::Property(name, value) => entry.properties().is_some_and(|properties| {
            let own = properties.iter().find(|(own, _)| fold(own) == *name).map(|(_, value)| value);
            let equals = |own: &Value, wanted: &str| fold(&shown(own)) == wanted;
            own.is_some_and(|own| match (value, own) {
                (None, _) => true,
                (Some(wanted), Value::Array(items)) => items.iter().any(|item| equals(item, wanted)),
                (Some(wanted), own) => equals(own, wanted),
            })
        }),
        Condition::Not(condition) => !holds(condition, entry, text),
        Condition::All(conditions) => conditions.iter().all(|condition| holds(condition, entry, text)),
        Condition::Any(conditions) => conditions.iter().any(|condition| holds(condition, entry, text)),
    }
}

/// The aliases of a note, folded.
fn aliases(entry: &Entry) -> Vec<String> {
    let Some(properties) = entry.properties() else { return Vec::new() };
    let named = properties.iter().filter(|(name, _)| name.eq_ignore_ascii_case("aliases") || name.eq_ignore_ascii_case("alias"));
    named
        .flat_map(|(_, value)| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(fold).collect(),
            Value::String(text) => text.split(',').map(|alias| fold(alias.trim())).collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// Whether a word begins at an offset.
fn is_word_start(text: &str, at: usize) -> bool {
    text.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !c.is_alphanumeric())
}

/// Whether what was found at an offset is a word of such a form.
fn is_word(text: &str, at: usize, form: &Form) -> bool {
    let ends = || text.get(at + form.text.len()..).and_then(|behind| behind.chars().next()).is_none_or(|c| !c.is_alphanumeric());
    is_word_start(text, at) && (!form.is_whole || ends())
}

/// How much a word counts in a short field: by its stem, less in a long field and less inside of another word.
fn in_field(field: &str, word: &str) -> f64 {
    let stem = stem(word);
    let Some(at) = field.find(stem) else { return 0.0 };
    let starts = field.match_indices(stem).any(|(at, _)| is_word_start(field, at)) || is_word_start(field, at);
    let words = field.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
    (if starts { 1.0 } else { INSIDE }) / (1.0 - B_SHORT + B_SHORT * words as f64 / 4.0)
}

/// The weighed number of occurrences of a word's stem in a text; each is noted with its place and the word's number.
fn occurrences(text: &str, word: &str, number: usize, places: &mut Vec<(usize, usize, usize)>) -> f64 {
    let stem = stem(word);
    let mut count = 0.0;
    for at in memmem::find_iter(text.as_bytes(), stem.as_bytes()).take(limits::RANKED_OCCURRENCES) {
        let starts = is_word_start(text, at);
        // A stem inside of another word is another word; the whole word is what was asked for.
        if !starts && text.get(at..at + word.len()) != Some(word) {
            continue;
        }
        let line = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let is_heading = text.get(line..at).is_some_and(|line| line.starts_with('#') && line.trim_start_matches('#').starts_with(' '));
        let is_tag = at > 0 && text.as_bytes().get(at - 1) == Some(&b'#');
        let field = if is_heading || is_tag || at < limits::RANKED_HEAD_BYTES { HEADING } else { 1.0 };
        count += field * if starts { 1.0 } else { INSIDE };
        places.push((at, at + stem.len(), number));
    }
    count
}

/// The passage with the heaviest words.
struct Passage {
    /// Its words, with those that stand beside the text.
    words: u64,
    /// 1 when its words stand together, less the further they are apart.
    nearness: f64,
    /// Its first match.
    at: Option<(usize, usize)>,
}

fn best_passage(places: &[(usize, usize, usize)], beside: u64, weight: &dyn Fn(u64) -> f64) -> Passage {
    let mut best = Passage { words: beside, nearness: 1.0, at: None };
    let mut best_score = -1.0;
    let all = places.iter().fold(0, |bits, (_, _, number)| bits | 1 << number);
    for (first, &(from, to, _)) in places.iter().enumerate() {
        let inside = places.iter().skip(first).take_while(|(at, ..)| *at < from + limits::PASSAGE_BYTES);
        let (mut words, mut last) = (0_u64, from);
        for (at, _, number) in inside {
            if words >> number & 1 == 0 {
                words |= 1 << number;
                last = *at;
            }
            if words == all {
                break;
            }
        }
        let nearness = 1.0 - 0.5 * (last - from) as f64 / limits::PASSAGE_BYTES as f64;
        let score = weight(words | beside) * nearness;
        if score > best_score {
            best_score = score;
            best = Passage { words: words | beside, nearness, at: Some((from, to)) };
        }
    }
    best
}
