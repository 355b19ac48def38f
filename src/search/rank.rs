//! How relevant a file is to a query: a rough score from its postings, and a close one by BM25 over
//! its fields (name and aliases, headings and the first words, tags, text) with its best passage.

use crate::search::posting::{IN_NAME, IN_TAG, Posting};
use crate::search::snippet::lines_around;
use crate::text::words::{is_form, is_stop_word, is_word_start, stem, words_of};
use crate::vault::entry::{Entry, name_of};
use crate::{limits, markdown};
use memchr::memmem::Finder;
use std::ops::Range;

/// Occurrences of a stem in one file that are looked at for those that count: a single letter is in
/// each word.
const STEMS_LOOKED_AT: usize = 64 * limits::RANKED_OCCURRENCES;
/// Bytes at the start of a text that weigh as much as a heading: frontmatter and some sixty words.
const RANKED_HEAD_BYTES: usize = 500;
/// Bytes of a passage: about two hundred words.
const PASSAGE_BYTES: usize = 1_200;
/// Bytes of the part of a passage that a snippet is built around.
const SNIPPET_BYTES: usize = 100;

/// BM25: saturation of term frequency.
const K1: f32 = 2.0;
/// BM25: strength of the length normalization for text.
const B_TEXT: f32 = 0.8;
/// The same for names, aliases and tags.
const B_SHORT: f32 = 0.3;
/// Weights of the fields; text is 1.
const NAME: f32 = 4.0;
const HEADING: f32 = 1.5;
const TAG: f32 = 2.0;
/// Bonus for a name whose words are all in the query: `GitHub Pages` for `publish on github pages`.
const WHOLE_NAME: f32 = 1.0;
/// Factor for a file that is not a note: SVG images and files of settings are text, too.
const NON_NOTE: f32 = 0.5;
/// Factor for an occurrence inside another word.
const INSIDE_WORD: f32 = 0.1;
/// Weight of the best passage, added to the score of the whole text.
const PASSAGE: f32 = 0.7;
/// Factor for a file that has all words of the query in one passage.
const ALL_WORDS: f32 = 1.1;
/// The minimum weight of a further passage of a note, as a fraction of that of the previous one.
const NEXT_PASSAGE: f32 = 0.6;

/// A word of the query.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// As in the query, folded.
    pub(crate) asked: String,
    /// What is searched for instead, because no file contains it.
    pub(crate) instead: Option<String>,
    /// Inverse document frequency, rounded to hundredths.
    pub(crate) weight: f32,
    /// The same among names, aliases and tags.
    pub(crate) name_weight: f32,
}

impl Word {
    pub(crate) fn new(asked: &str) -> Word {
        Word { asked: asked.into(), instead: None, weight: 0.0, name_weight: 0.0 }
    }

    /// What is searched for.
    pub(crate) fn text(&self) -> &str {
        self.instead.as_deref().unwrap_or(&self.asked)
    }

    /// What an occurrence counts for, if the word is in the name, an alias or a tag, or only in the
    /// text.
    pub(crate) fn weight_if(&self, is_named: bool) -> f32 {
        if is_named { (self.weight + self.name_weight) / 2.0 } else { self.weight }
    }

    /// What the ranking searches for.
    pub(crate) fn stem(&self) -> &str {
        stem(self.text())
    }
}

/// A word's contribution to the score of a file, from the posting alone. `length` is that of the
/// text, relative to the average. Containing a word at all counts as much as one occurrence in a
/// text of average length.
pub(crate) fn rough_score(weight: f32, posting: Posting, length: f32) -> f32 {
    let in_fields = if posting.fields() & IN_NAME != 0 { NAME } else { 0.0 }
        + if posting.fields() & IN_TAG != 0 { TAG } else { 0.0 };
    let inside = if posting.is_inside() { INSIDE_WORD } else { 1.0 };
    let frequency = posting.count() as f32 * inside / (1.0 - B_TEXT + B_TEXT * length) + in_fields;
    weight * (1.0 + frequency * (K1 + 1.0) / (frequency + K1))
}

/// The result of ranking a file closely.
#[derive(Debug)]
pub(crate) struct Relevance {
    /// 0 if the name or an alias is the query, its words in any order; 1 if the text or path
    /// contains the query as a phrase; else 2.
    pub(crate) class: u8,
    pub(crate) score: f32,
    /// Where the query occurs as a phrase in the text.
    phrase_at: Option<(usize, usize)>,
    /// Start and end of the best passage; none if only the name or a tag contains the words.
    passage: Option<(usize, usize)>,
    pub(crate) match_type: MatchType,
    occurrences: Vec<Occurrence>,
}

/// A word's stem, ready to be searched for.
struct StemFinder<'a> {
    /// The index of the word.
    number: usize,
    text: &'a str,
    stem: Finder<'a>,
}

/// A query prepared for ranking many files closely.
pub(crate) struct Ranker<'a> {
    pub(crate) words: &'a [Word],
    /// How many of them are the query's own.
    asked: usize,
    forms: Vec<StemFinder<'a>>,
    phrase: &'a str,
    phrase_finder: Finder<'a>,
    /// The bits of the query's own words.
    asked_bits: u32,
    average_length: f32,
}

/// How much a form counts in a short field (path, name, alias or tag): less in a long one, and less
/// inside another word.
fn frequency_in(text: &str, form: &StemFinder<'_>) -> f32 {
    let mut found = form.stem.find_iter(text.as_bytes()).peekable();
    if found.peek().is_none() {
        return 0.0;
    }
    let length = 1.0 - B_SHORT + B_SHORT * words_of(text).count() as f32 / 4.0;
    (if found.any(|at| is_form(text, at, form.stem.needle().len())) { 1.0 } else { INSIDE_WORD })
        / length
}

impl<'a> Ranker<'a> {
    /// The first `asked` words are the query's own.
    pub(crate) fn new(
        words: &'a [Word],
        asked: usize,
        phrase: &'a str,
        average_length: f32,
    ) -> Ranker<'a> {
        let form = |(number, word): (usize, &'a Word)| StemFinder {
            number,
            text: word.text(),
            stem: Finder::new(word.stem()),
        };
        let forms = words.iter().enumerate().map(form).collect();
        Ranker {
            words,
            asked,
            forms,
            phrase,
            phrase_finder: Finder::new(phrase),
            asked_bits: first_bits(asked),
            average_length,
        }
    }

    /// Where the query occurs as a phrase. `Chapter 1` is not a phrase of `Chapter 12`.
    fn phrases_in<'t>(&'t self, text: &'t str) -> impl Iterator<Item = usize> + 't {
        let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let goes_on = move |end: usize| end.checked_sub(1).is_some_and(is_digit) && is_digit(end);
        // An empty phrase would be found everywhere.
        let found =
            (!self.phrase.is_empty()).then(|| self.phrase_finder.find_iter(text.as_bytes()));
        found.into_iter().flatten().filter(move |at| !goes_on(at + self.phrase.len()))
    }

    /// The query words in a name, as bits; `None` if it has other words that are not stop words.
    fn words_of_name(&self, name: &str) -> Option<u32> {
        let is_of = |form: &&StemFinder<'_>, word: &str| {
            form.stem.needle() == stem(word).as_bytes()
                || form.text.strip_suffix(".md") == Some(word)
        };
        let bit_of = |word| {
            self.forms.iter().find(|form| is_of(form, word)).map(|form| 1_u32 << form.number)
        };
        words_of(name).try_fold(0, |bits, word| {
            bit_of(word).or_else(|| is_stop_word(word).then_some(0)).map(|bit| bits | bit)
        })
    }

    /// The query's own words that are not in `having` (bits), or were corrected.
    pub(crate) fn missing(&self, having: u32) -> Vec<String> {
        let asked = self.words.iter().take(self.asked).enumerate();
        let missing =
            asked.filter(|(number, word)| having >> number & 1 == 0 || word.instead.is_some());
        missing.map(|(_, word)| word.asked.clone()).collect()
    }

    /// Ranks a file that contains the words or stems in `having` (bits). `text` is its folded text.
    pub(crate) fn relevance(&self, entry: &Entry, text: &str, having: u32) -> Relevance {
        let path = entry.searched_path();
        let aliases = entry.aliases();
        let names: Vec<&str> =
            std::iter::once(name_of(path)).chain(aliases.iter().map(String::as_str)).collect();
        let found = self.find_words(entry, &names, text, having);
        let best =
            best_passage(&found.occurrences, found.in_short_fields, self.words, PASSAGE_BYTES);
        let whole_names: Vec<u32> =
            names.iter().filter_map(|name| self.words_of_name(name)).collect();
        let phrase_at = self.phrase_to_show(text);
        let class = self.class(entry, &whole_names, phrase_at.is_some());
        let passage = best.at.map(|(from, _)| (from, best.end));
        let in_text = phrase_at.or(passage).is_some();
        Relevance {
            class,
            score: self.score(entry, &found, &best, &whole_names),
            match_type: self.match_type(entry, &found, having, in_text),
            // One word next to conditions is no phrase.
            phrase_at: phrase_at.filter(|_| self.asked != 1 || self.words.len() == 1),
            passage,
            occurrences: found.occurrences,
        }
    }

    /// See [`Relevance::class`]. `whole_names` are the query words of each name or alias that has no
    /// others (bits).
    fn class(&self, entry: &Entry, whole_names: &[u32], in_text: bool) -> u8 {
        let path = entry.searched_path();
        let is_phrase =
            |name: &str| self.phrase == name || self.phrase.strip_suffix(".md") == Some(name);
        let is_named = is_phrase(name_of(path))
            || is_phrase(path)
            || self.asked_bits != 0 && whole_names.contains(&self.asked_bits);
        let in_path = || self.phrases_in(entry.path_for(self.phrase.as_bytes())).next().is_some();
        if is_named {
            0
        } else if in_text || in_path() {
            1
        } else {
            2
        }
    }

    /// BM25 over all fields, and what the best passage and the best whole name add.
    fn score(&self, entry: &Entry, found: &Found, best: &BestPassage, whole_names: &[u32]) -> f32 {
        let of_word = |(number, (frequency, word)): (usize, (&f32, &Word))| {
            let weight = word.weight_if(found.in_short_fields >> number & 1 == 1);
            weight * frequency * (K1 + 1.0) / (frequency + K1)
        };
        let words: f32 = found.frequencies.iter().zip(self.words).enumerate().map(of_word).sum();
        let whole_name =
            whole_names.iter().map(|bits| weight_of(self.words, *bits)).fold(0.0, f32::max);
        let kind = if entry.is_note() { 1.0 } else { NON_NOTE };
        let has_all = best.words & self.asked_bits == self.asked_bits;
        let nearness = if has_all { ALL_WORDS } else { 1.0 };
        kind * nearness * (words + PASSAGE * best.weight + WHOLE_NAME * whole_name)
    }

    /// Where in the text the query is shown as a phrase: as words rather than as a part of one.
    fn phrase_to_show(&self, text: &str) -> Option<(usize, usize)> {
        let mut phrases = self.phrases_in(text).peekable();
        let first = phrases.peek().copied();
        let at = phrases.find(|at| is_word_start(text, *at)).or(first)?;
        Some((at, at + self.phrase.len()))
    }

    /// `in_text`: whether there is something to show of the text.
    fn match_type(&self, entry: &Entry, found: &Found, having: u32, in_text: bool) -> MatchType {
        let has_all =
            |field: u32| self.asked_bits != 0 && field & self.asked_bits == self.asked_bits;
        let is_by_name = found.in_path != 0
            && found.in_path == having
            && (!in_text || name_of(entry.searched_path()) == self.phrase || self.asked_bits == 0);
        if is_by_name || has_all(found.in_path) {
            MatchType::Filename
        } else if has_all(found.in_tags) {
            MatchType::Tag
        } else if in_text {
            MatchType::Content
        } else if found.in_path != 0 {
            MatchType::Filename
        } else if found.in_short_fields != 0 {
            MatchType::Tag
        } else {
            MatchType::Content
        }
    }

    /// Finds the words in `having` (bits) in the fields of a file; `names` are its name and
    /// aliases.
    fn find_words(&self, entry: &Entry, names: &[&str], text: &str, having: u32) -> Found {
        // A word may begin with #.
        let tags: Vec<String> = entry.folded_tags().iter().map(|tag| format!("#{tag}")).collect();
        let (mut in_short_fields, mut words_in_path, mut words_in_tags) = (0_u32, 0_u32, 0_u32);
        let mut frequencies = vec![0.0_f32; self.words.len()];
        let mut all: Vec<Occurrence> = Vec::new();
        let length_norm = 1.0 - B_TEXT + B_TEXT * text.len() as f32 / self.average_length;
        for form in self.forms.iter().filter(|form| having >> form.number & 1 == 1) {
            let best = |fields: &mut dyn Iterator<Item = &str>| {
                fields.map(|field| frequency_in(field, form)).fold(0.0, f32::max)
            };
            let is_whole = form.text.ends_with(".md");
            let in_path = frequency_in(
                if is_whole { entry.folded_path() } else { entry.searched_path() },
                form,
            );
            let in_names = if is_whole { in_path } else { best(&mut names.iter().copied()) };
            let in_tags = best(&mut tags.iter().map(String::as_str));
            let in_names_and_tags = in_names * NAME + in_tags * TAG;
            words_in_tags |= u32::from(in_tags > 0.0) << form.number;
            in_short_fields |= u32::from(in_names_and_tags > 0.0) << form.number;
            words_in_path |= u32::from(in_path > 0.0) << form.number;
            let in_text = occurrences(text, form, &mut all);
            if let Some(sum) = frequencies.get_mut(form.number) {
                *sum += in_names_and_tags + in_path + in_text / length_norm;
            }
        }
        all.sort_unstable();
        Found {
            in_short_fields,
            in_path: words_in_path,
            in_tags: words_in_tags,
            frequencies,
            occurrences: all,
        }
    }
}

/// The words of a query in the fields of a file.
struct Found {
    /// Those in its name, aliases or tags (bits).
    in_short_fields: u32,
    /// Those in its path (bits).
    in_path: u32,
    /// Those in its tags (bits).
    in_tags: u32,
    /// Of each word, weighted by field.
    frequencies: Vec<f32>,
    /// In the text, sorted.
    occurrences: Vec<Occurrence>,
}

impl Relevance {
    /// The order of the field that a single term is in: name or alias, tag, text.
    pub(crate) fn field(&self) -> u8 {
        match self.match_type {
            _ if self.class == 0 => 0,
            MatchType::Filename => 0,
            MatchType::Tag => 1,
            MatchType::Content => 2,
        }
    }

    /// The match to show: the phrase, or else of those in the best passage the first with the
    /// heaviest words on its line.
    pub(crate) fn shown_at(&self, words: &[Word]) -> Option<(usize, usize)> {
        let in_passage = || {
            let (from, to) = self.passage?;
            let are_near = |one: &Occurrence, other: &Occurrence| {
                one.line == other.line && one.start.abs_diff(other.start) < SNIPPET_BYTES / 2
            };
            let weight_around = |one: &Occurrence| {
                let near = self.occurrences.iter().filter(|other| are_near(one, other));
                weight_of(words, near.fold(0, |bits, other| bits | 1_u32 << other.word))
            };
            let inside = self.occurrences.iter().filter(|one| (from..=to).contains(&one.start));
            let weighed = inside.map(|one| (weight_around(one), one));
            // Of equal ones the first.
            let (_, first) = weighed.rev().max_by(|(one, _), (other, _)| one.total_cmp(other))?;
            Some((first.start, first.end))
        };
        self.phrase_at.or_else(in_passage)
    }

    /// The best passages of the folded text, the best first, as ranges of whole lines where those
    /// are not too long. `headings` as in [`lines_around`].
    pub(crate) fn passages(
        &self,
        text: &str,
        words: &[Word],
        headings: &[usize],
    ) -> Vec<Range<usize>> {
        // Another program may have changed the text since it was ranked.
        let exists = |from: usize, to: usize| text.get(from..to).is_some();
        let mut all: Vec<Occurrence> =
            self.occurrences.iter().filter(|one| exists(one.start, one.end)).copied().collect();
        let phrase = self.phrase_at.filter(|(from, to)| exists(*from, *to));
        let mut found: Vec<Range<usize>> =
            phrase.map(|(from, to)| lines_around(text, from..to, headings)).into_iter().collect();
        let mut least = 0.0;
        while found.len() < limits::PASSAGES && !all.is_empty() {
            let best = best_passage(&all, 0, words, limits::PASSAGE_CHARS);
            let Some(at) = best.at.filter(|_| best.weight >= least) else { break };
            least = best.weight * NEXT_PASSAGE;
            let range = lines_around(text, at.0..best.end, headings);
            all.retain(|one| one.end <= range.start || one.start >= range.end);
            all.retain(|one| (one.start, one.end) != at);
            if !found.iter().any(|known| known.start < range.end && range.start < known.end) {
                found.push(range);
            }
        }
        found
    }
}

/// A word in a folded text; the order is that of their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    start: usize,
    end: usize,
    /// The index of the word.
    word: usize,
    /// Where its line begins.
    line: usize,
}

/// The weighted number of occurrences of a form in a text; each is added to `all`.
fn occurrences(text: &str, form: &StemFinder<'_>, all: &mut Vec<Occurrence>) -> f32 {
    let length = form.stem.needle().len();
    // Those inside other words are limited apart: a short word is inside many.
    let (mut count, mut forms_left, mut inside_left) =
        (0.0, limits::RANKED_OCCURRENCES, limits::RANKED_OCCURRENCES);
    for at in form.stem.find_iter(text.as_bytes()).take(STEMS_LOOKED_AT) {
        let is_form = is_form(text, at, length);
        // A stem inside another word is not a match, unless the whole word follows.
        if !is_form && (inside_left == 0 || text.get(at..at + form.text.len()) != Some(form.text)) {
            continue;
        }
        if is_form && forms_left == 0 {
            break;
        }
        *(if is_form { &mut forms_left } else { &mut inside_left }) -= 1;
        let line = text
            .as_bytes()
            .get(..at)
            .and_then(|before| memchr::memrchr(b'\n', before))
            .map_or(0, |end| end + 1);
        let is_heading =
            text.get(line..at + length).is_some_and(|line| markdown::heading(line).is_some());
        let is_tag = at > 0 && text.as_bytes().get(at - 1) == Some(&b'#');
        let field = if is_heading || is_tag || at < RANKED_HEAD_BYTES { HEADING } else { 1.0 };
        count += field * if is_form { 1.0 } else { INSIDE_WORD };
        all.push(Occurrence { start: at, end: at + length, word: form.number, line });
    }
    count
}

struct BestPassage {
    /// Its words, including those of name, aliases and tags.
    words: u32,
    /// The weight of its words, reduced by up to half the further they are apart.
    weight: f32,
    /// Its first match.
    at: Option<(usize, usize)>,
    /// Where the last of its words ends.
    end: usize,
}

/// A mask of the first `count` words.
pub(crate) fn first_bits(count: usize) -> u32 {
    ((1_u64 << count) - 1) as u32
}

/// The total weight of the words in `bits`.
fn weight_of(words: &[Word], bits: u32) -> f32 {
    words
        .iter()
        .enumerate()
        .filter(|(number, _)| bits >> number & 1 == 1)
        .map(|(_, word)| word.weight)
        .sum()
}

/// The passage of `length` bytes with the greatest weight; `all` is sorted.
fn best_passage(
    all: &[Occurrence],
    named_words: u32,
    words: &[Word],
    length: usize,
) -> BestPassage {
    let mut best =
        BestPassage { words: named_words, weight: weight_of(words, named_words), at: None, end: 0 };
    // The next occurrence of each word from the current position on.
    let mut next: Vec<Option<(usize, usize)>> = vec![None; words.len()];
    for &Occurrence { start: from, end: to, word, .. } in all.iter().rev() {
        if let Some(next) = next.get_mut(word) {
            *next = Some((from, to));
        }
        let (mut bits, mut weight, mut last) = (0, 0.0, (from, to));
        for (number, word) in words.iter().enumerate() {
            let inside = next.get(number).copied().flatten().filter(|(at, _)| *at < from + length);
            if inside.is_some() || named_words >> number & 1 == 1 {
                bits |= 1_u32 << number;
                weight += word.weight;
            }
            last = last.max(inside.unwrap_or_default());
        }
        let nearness = 1.0 - 0.5 * (last.0 - from) as f32 / length as f32;
        if best.at.is_none() || weight * nearness >= best.weight {
            best = BestPassage {
                words: bits,
                weight: weight * nearness,
                at: Some((from, to)),
                end: last.1,
            };
        }
    }
    best
}

/// Where a file matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchType {
    /// In its path.
    Filename,
    /// In a tag.
    Tag,
    /// In its text.
    Content,
}
