//! Whether a query is in a path, in tags or in a text, and how well. All of it is folded.

use super::fold::fold;
use memchr::memmem::Finder;

/// What is searched for.
#[derive(Debug)]
pub struct Needles {
    phrase: String,
    words: Vec<String>,
}

impl Needles {
    /// Folds a query: its words, and those in their order with one space between them, a phrase.
    pub fn of(query: &str) -> Needles {
        let words: Vec<String> = fold(query).split_whitespace().map(str::to_owned).collect();
        Needles { phrase: words.join(" "), words }
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// The phrase and the words.
    pub fn all(&self) -> Vec<&str> {
        std::iter::once(self.phrase.as_str()).chain(self.words()).collect()
    }
}

/// How well, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// 0 is best; what the steps are says the function that found it.
    pub quality: u8,
    /// How often; 1 where it is not counted.
    pub count: usize,
    /// Begin and end of the first match in what was searched, in bytes; both 0 for tags.
    pub at: (usize, usize),
}

/// A query prepared for many files.
#[derive(Debug)]
pub struct Matcher<'a> {
    needles: &'a Needles,
    phrase: Finder<'a>,
    /// The phrase as a tag, without `#`.
    tag: &'a str,
    tag_finder: Finder<'a>,
    words: Vec<Finder<'a>>,
}

impl<'a> Matcher<'a> {
    /// Prepares a query.
    pub fn of(needles: &'a Needles) -> Matcher<'a> {
        let tag = needles.phrase.trim_start_matches('#');
        let words = needles.words.iter().map(Finder::new).collect();
        Matcher { needles, phrase: Finder::new(&needles.phrase), tag, tag_finder: Finder::new(tag), words }
    }

    /// Exact name, prefix, word, substring of the name; then the folders on the way; then all words somewhere in the path.
    pub fn in_path(&self, whole: &str) -> Option<Match> {
        let phrase = self.needles.phrase.as_str();
        // Most names have nothing to do with the query; they are passed over at once.
        if self.words.len() < 2 && self.phrase.find(whole.as_bytes()).is_none() {
            return None;
        }
        // Every note ends in .md; only who asks for that ending means it.
        let path = if phrase.ends_with(".md") { whole } else { whole.strip_suffix(".md").unwrap_or(whole) };
        let name_at = path.rfind('/').map_or(0, |slash| slash + 1);
        let name = path.get(name_at..)?;
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let (quality, at) = if let Some(found) = name.find(phrase) {
            let is_word = |at: usize| name.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !c.is_alphanumeric());
            let quality = match found {
                0 if stem == phrase || name == phrase => 0,
                0 => 1,
                _ if name.match_indices(phrase).any(|(at, _)| is_word(at)) => 2,
                _ => 3,
            };
            (quality, (name_at + found, name_at + found + phrase.len()))
        } else if let Some(found) = path.find(phrase) {
            (4, (found, found + phrase.len()))
        } else {
            let all = self.words.len() > 1 && self.needles.words().all(|word| path.contains(word));
            let first = if all { self.needles.words.first() } else { None }?;
            let found = path.find(first.as_str())?;
            (5, (found, found + first.len()))
        };
        Some(Match { quality, count: 1, at })
    }

    /// The tag itself, a tag nested below it or starting with it, one containing it; then all words in tags.
    pub fn in_tags(&self, tags: &[Box<str>]) -> Option<Match> {
        // Most tags have nothing to do with it either.
        if self.tag.is_empty() || self.words.len() < 2 && !tags.iter().any(|tag| self.tag_finder.find(tag.as_bytes()).is_some()) {
            return None;
        }
        let one = |tag: &str| match tag.find(self.tag) {
            Some(0) if tag == self.tag => Some(0),
            Some(0) => Some(1),
            Some(_) => Some(2),
            None => None,
        };
        let quality = tags.iter().filter_map(|tag| one(tag)).min().or_else(|| {
            let all = self.needles.words().all(|word| tags.iter().any(|tag| tag.contains(word.trim_start_matches('#'))));
            (self.words.len() > 1 && all).then_some(3)
        })?;
        Some(Match { quality, count: 1, at: (0, 0) })
    }

    /// The phrase, counted; then all words anywhere, with the first of them.
    pub fn in_text(&self, text: &str) -> Option<Match> {
        let text = text.as_bytes();
        if let Some(first) = self.phrase.find(text) {
            let rest = text.get(first..).unwrap_or_default();
            let count = self.phrase.find_iter(rest).count();
            return Some(Match { quality: 0, count, at: (first, first + self.phrase.needle().len()) });
        }
        if self.words.len() < 2 {
            return None;
        }
        let mut first: Option<(usize, usize)> = None;
        for word in &self.words {
            let at = word.find(text)?;
            if first.is_none_or(|(known, _)| at < known) {
                first = Some((at, at + word.needle().len()));
            }
        }
        Some(Match { quality: 1, count: 1, at: first? })
    }
}
