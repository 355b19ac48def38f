//! Search over names, tags and text, in memory.
//!
//! Three steps: the filter passes over almost all files that do not have the words; what is left is scored (one pass of
//! SIMD substring search over folded text, on all cores where that pays); the best are sorted to the front, and only for
//! those returned are lines counted and snippets made.

use super::entry::{Entry, Text};
use super::error::Error;
use super::filling::Filling;
use super::list::wanted_tag;
use super::path::VaultPath;
use super::{Vault, cores, frontmatter};
use crate::limits;
use crate::text::fold::{Folded, fold};
use crate::text::matching::{Match, Matcher, Needles};
use crate::text::query::{self, Parsed};
use crate::text::snippet::{line_of, of_kept, snippet};
use crate::text::words;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What to search for, and where.
#[derive(Debug)]
pub struct Query<'a> {
    /// Words; together a phrase first, then each for itself.
    pub text: &'a str,
    /// Results at most.
    pub max_results: usize,
    /// Only below this folder.
    pub below: Option<VaultPath>,
    /// Only with this tag, or one nested below it.
    pub tag: Option<&'a str>,
}

/// Where a file matched: the best of the three counts, one result for each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchType {
    /// In its path.
    Filename,
    /// In a tag of its frontmatter.
    Tag,
    /// In its text.
    Content,
}

/// One result.
#[derive(Debug)]
pub struct Hit {
    /// The file.
    pub entry: Arc<Entry>,
    /// Where it matched.
    pub match_type: MatchType,
    /// The match in bold with what stands around it.
    pub snippet: String,
    /// Its line, from 1; 1 for a match in the name.
    pub line: usize,
    /// Words of the query that the file does not have.
    pub missing: Vec<String>,
}

/// The outcome of a search.
#[derive(Debug)]
pub struct Found {
    /// All files that match: that have all words.
    pub total: usize,
    /// Files that have some of the words.
    pub partial: usize,
    /// Words that no file has, and what was looked for instead.
    pub did_you_mean: Vec<(String, String)>,
    /// The best of them, best first.
    pub hits: Vec<Hit>,
    /// Files whose text could not be searched, too large or unreadable; their names and tags were.
    pub not_searched: usize,
    /// How far the first look at the vault is, while it goes on: what is found is right for the files indexed by then.
    pub filling: Option<Filling>,
}

/// What sorts results, smallest first. Within a place: how well it matched; then more matches, an earlier one, the
/// newer file; the path at last, so that the order is always the same.
type Rank = (MatchType, u8, Reverse<usize>, usize, Reverse<u64>);

/// How well a file matches, and where in its folded text or path.
type Ranked = (Rank, (usize, usize));

struct Candidate<'a> {
    rank: Rank,
    entry: &'a Arc<Entry>,
    /// Where the match to be shown lies in the folded text or path.
    at: (usize, usize),
}

impl Vault {
    /// Searches names, tags and texts, without case. `go_on` is told now and then how many files of how many were looked
    /// at, and says whether the rest is still wanted.
    ///
    /// # Errors
    /// [`Error::Unavailable`], [`Error::Cancelled`].
    pub fn search(&self, query: &Query<'_>, go_on: &dyn Fn(usize, usize) -> bool) -> Result<Found, Error> {
        let filling = self.index.refresh_or_go_on()?;
        let words = words::of_query(query.text);
        let tag = wanted_tag(query.tag);
        let below = self.narrowed(query.below.as_ref())?;
        let wanted = |entry: &Entry| {
            below.as_ref().is_none_or(|folder| folder.contains(&entry.path)) && tag.as_ref().is_none_or(|tag| entry.has_tag(tag))
        };
        if let Some(parsed) = query::parse(query.text) {
            return Ok(Found { filling, ..self.ranked(&parsed, query.max_results, &wanted, go_on)? });
        }
        if words.len() > 1 || query.text.split_whitespace().nth(1).is_some() {
            let parsed = Parsed::of_words(words, query.text);
            return Ok(Found { filling, ..self.ranked(&parsed, query.max_results, &wanted, go_on)? });
        }
        let mut found = self.search_one(query, Needles::of(query.text), &wanted, go_on)?;
        // A mark at the end of a word is no part of it, unless it stands so in a text.
        if let (0, [word]) = (found.total, words.as_slice())
            && *word != fold(query.text.trim())
        {
            found = self.search_one(query, Needles::of(word), &wanted, go_on)?;
        }
        // A single word that nothing has may be mistyped, or in another form.
        let instead = match words.first() {
            Some(word) if found.total == 0 && found.not_searched == 0 => self.stand_in(word, &wanted, &AtomicU64::new(0)),
            _ => Vec::new(),
        };
        match (words.first(), instead.as_slice()) {
            (Some(word), [used]) => {
                let other = self.search_one(query, Needles::of(used), &wanted, go_on)?;
                let hits = other.hits.into_iter().map(|hit| Hit { missing: vec![word.clone()], ..hit }).collect();
                let did_you_mean = vec![(word.clone(), used.clone())];
                Ok(Found { total: 0, partial: other.total, hits, did_you_mean, filling, ..other })
            }
            (Some(word), pairs) if pairs.len() > 1 => {
                let parsed = Parsed::of_words(pairs.to_vec(), query.text);
                let ranked = self.ranked(&parsed, query.max_results, &wanted, go_on)?;
                let hits = ranked.hits.into_iter().map(|hit| Hit { missing: vec![word.clone()], ..hit }).collect();
                let did_you_mean = vec![(word.clone(), pairs.join(" "))];
                Ok(Found { total: 0, partial: ranked.total + ranked.partial, hits, did_you_mean, filling, ..ranked })
            }
            _ => Ok(Found { filling, ..found }),
        }
    }

    /// Searches for one word or text.
    fn search_one(
        &self,
        query: &Query<'_>,
        needles: Needles,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Found, Error> {
        // A tag is asked for with or without its number sign.
        let words = needles.words().map(|word| word.trim_start_matches('#'));
        let (entries, too_much) = self.index.candidates(words, wanted);
        let (mut candidates, unread) = self.scored(&entries, &needles, go_on)?;
        let total = candidates.len();
        let order = |a: &Candidate<'_>, b: &Candidate<'_>| a.rank.cmp(&b.rank).then_with(|| a.entry.path.cmp(&b.entry.path));
        if query.max_results < candidates.len() && query.max_results > 0 {
            candidates.select_nth_unstable_by(query.max_results - 1, order);
        }
        candidates.truncate(query.max_results);
        candidates.sort_unstable_by(order);
        let hits = candidates.iter().map(|candidate| self.hit(candidate, &needles)).collect();
        Ok(Found { total, partial: 0, did_you_mean: Vec::new(), hits, not_searched: too_much + unread, filling: None })
    }

    /// Those that match, with how well; and how many texts could not be read. More than one core takes part where there is
    /// more to read than it costs to ask for help.
    fn scored<'a>(
        &self,
        entries: &'a [Arc<Entry>],
        needles: &Needles,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<(Vec<Candidate<'a>>, usize), Error> {
        let matcher = Matcher::of(needles);
        let bytes = entries.iter().map(|entry| entry.text_bytes()).sum();
        let read = AtomicU64::new(0);
        let look = |entry: &Arc<Entry>| score(&matcher, entry, |entry| self.folded_from_disk(entry, &read));
        let (mut candidates, mut unread) = (Vec::new(), 0);
        for (entry, outcome) in entries.iter().zip(self.on_all_cores(entries, bytes, &look, go_on)?) {
            match outcome {
                Ok(Some((rank, at))) => candidates.push(Candidate { rank, entry, at }),
                Ok(None) => {}
                Err(Unread) => unread += 1,
            }
        }
        Ok((candidates, unread))
    }

    /// What `look` says of each item, in their order. More than one core takes part where there is more to read than it costs to
    /// ask for help.
    pub(super) fn on_all_cores<T: Sync, R: Send>(
        &self,
        items: &[T],
        bytes: u64,
        look: &(dyn Fn(&T) -> R + Sync),
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<R>, Error> {
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        // Whoever is free takes the next piece, so all are done at the same time.
        let work = |go_on: &dyn Fn(usize) -> bool| {
            let mut pieces: Vec<(usize, Vec<R>)> = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let from = next.fetch_add(limits::SEARCH_BLOCK, Ordering::Relaxed);
                let Some(rest) = items.get(from..).filter(|rest| !rest.is_empty()) else { break };
                pieces.push((from, rest.iter().take(limits::SEARCH_BLOCK).map(look).collect()));
                if !go_on((from + limits::SEARCH_BLOCK).min(items.len())) {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
            pieces
        };
        let helpers = if bytes < limits::SEARCH_ALONE_BYTES { 0 } else { cores().saturating_sub(1).min(limits::SEARCH_HELPERS) };
        let (mut pieces, failed) = std::thread::scope(|scope| {
            let work = &work;
            // Without a thread to be had the others do it all.
            let help = || std::thread::Builder::new().name("search".into()).spawn_scoped(scope, move || work(&|_| true)).ok();
            let helping: Vec<_> = (0..helpers).filter_map(|_| help()).collect();
            let (mut pieces, mut failed) = (work(&|done| go_on(done, items.len())), false);
            for helper in helping {
                match helper.join() {
                    Ok(more) => pieces.extend(more),
                    Err(_) => failed = true,
                }
            }
            (pieces, failed)
        });
        if stopped.into_inner() {
            return Err(Error::Cancelled);
        }
        // A mistake of ours is the caller's error, and no answer that lacks a piece.
        if failed {
            std::panic::resume_unwind(Box::new("a search ended early"));
        }
        pieces.sort_unstable_by_key(|(from, _)| *from);
        Ok(pieces.into_iter().flat_map(|(_, piece)| piece).collect())
    }

    /// The folded text of a file that is not kept, as long as one search has not read too much.
    fn folded_from_disk(&self, entry: &Entry, read: &AtomicU64) -> Option<String> {
        if read.fetch_add(entry.stamp.size, Ordering::Relaxed) > limits::SEARCH_READ_BYTES {
            return None;
        }
        self.text(entry).ok().map(|text| fold(&text))
    }

    fn hit(&self, candidate: &Candidate<'_>, needles: &Needles) -> Hit {
        let entry = Arc::clone(candidate.entry);
        let match_type = candidate.rank.0;
        let (from, to) = candidate.at;
        let (snippet, line) = match match_type {
            MatchType::Filename => (snippet(&entry.path, &Folded::of(&entry.path), from..to, &needles.all()), 1),
            MatchType::Tag => tag_line(&entry, &self.text(&entry).unwrap_or_default(), needles),
            MatchType::Content => self.content_snippet(&entry, from..to, &needles.all()),
        };
        Hit { entry, match_type, snippet, line, missing: Vec::new() }
    }

    /// A match in the folded text with what stands around it, and its line.
    pub(super) fn content_snippet(&self, entry: &Entry, at: Range<usize>, needles: &[&str]) -> (String, usize) {
        if let Text::Kept(kept) = &entry.text {
            return of_kept(kept, at, needles);
        }
        let original = self.text(entry).unwrap_or_default();
        let folded = Folded::of(&original);
        let line = line_of(folded.text(&original), at.start);
        (snippet(&original, &folded, at, needles), line)
    }

    /// The folded text of a file, empty where it has none that is searched; `None` if it cannot be read, or one search has read
    /// too much.
    pub(super) fn folded_text<'a>(&self, entry: &'a Entry, read: &AtomicU64) -> Option<Cow<'a, str>> {
        match &entry.text {
            Text::Kept(kept) => Some(Cow::Borrowed(kept.folded())),
            Text::OnDisk { .. } => self.folded_from_disk(entry, read).map(Cow::Owned),
            Text::None | Text::TooMuch { .. } => Some(Cow::Borrowed("")),
        }
    }
}

/// The text of a file could not be read.
pub(super) struct Unread;

/// How well a file matches: by its name, else by its tags, else by its text, which is `from_disk` if it is not kept.
fn score(matcher: &Matcher<'_>, entry: &Entry, from_disk: impl Fn(&Entry) -> Option<String>) -> Result<Option<Ranked>, Unread> {
    let ranked = |place: MatchType| {
        move |found: Match| {
            let rank = (place, found.quality, Reverse(found.count), found.at.0, Reverse(entry.stamp.modified().0));
            (rank, found.at)
        }
    };
    let in_name = matcher.in_path(entry.folded_path()).map(ranked(MatchType::Filename));
    let named = in_name.or_else(|| matcher.in_tags(entry.folded_tags()).map(ranked(MatchType::Tag)));
    if named.is_some() {
        return Ok(named);
    }
    let in_text = match &entry.text {
        Text::Kept(kept) => matcher.in_text(kept.folded()),
        Text::OnDisk { .. } => matcher.in_text(&from_disk(entry).ok_or(Unread)?),
        Text::None | Text::TooMuch { .. } => None,
    };
    Ok(in_text.map(ranked(MatchType::Content)))
}

/// The line of the frontmatter in which the tag stands: the first one from the `tags` key on that has one of the words.
fn tag_line(entry: &Entry, original: &str, needles: &Needles) -> (String, usize) {
    let wanted: Vec<&str> =
        needles.all().into_iter().map(|needle| needle.trim_start_matches('#')).filter(|needle| !needle.is_empty()).collect();
    let tags = entry.tags.join(", ");
    let in_tags = || {
        let folded = Folded::of(&tags);
        let found = wanted.iter().find_map(|needle| folded.text(&tags).find(needle).map(|at| at..at + needle.len()));
        (snippet(&tags, &folded, found.unwrap_or(0..0), &wanted), 1)
    };
    let Some(yaml) = frontmatter::block(original) else { return in_tags() };
    let mut below_key = false;
    for (number, line) in yaml.lines().enumerate() {
        // A line that begins with a letter or a quote is a key; the tags stand at one and below it.
        if line.starts_with(|c: char| c.is_alphanumeric() || c == '"' || c == '\'') {
            let key = line.split(':').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
            below_key = key == "tags" || key == "tag";
        }
        let folded = Folded::of(line);
        let found = wanted.iter().find_map(|needle| folded.text(line).find(needle).map(|at| at..at + needle.len()));
        if let (true, Some(range)) = (below_key, found) {
            // The fence is line 1.
            return (snippet(line, &folded, range, &wanted), number + 2);
        }
    }
    in_tags()
}
