//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! A walk compares each file's [`Stamp`] with the one it was read at; only files whose stamp differs are read again.
//! When a walk is due is rule 6 of the vault: a walk is valid for ten times its own duration, so looking costs at most
//! a tenth of a core; while calls keep coming it runs beside them, after a pause in front of the first one.

use super::error::Error;
use super::fold::{Folded, fold};
use super::frontmatter;
use super::jail::Jail;
use super::media::{self, Kind};
use super::path::VaultPath;
use super::walk::{self, Walk};
use crate::clock::{self, Now};
use crate::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What tells one state of a file from another without reading it (rule 6 of the vault).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    mtime: i128,
    inode: u64,
    device: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Stamp {
        let mtime = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Stamp { size: metadata.size(), mtime, inode: metadata.ino(), device: metadata.dev() }
    }

    /// Modification time, whole seconds.
    pub fn modified(&self) -> Now {
        Now(u64::try_from(self.mtime / 1_000_000_000).unwrap_or(0))
    }

    /// What sorts files by modification time, the oldest first.
    pub(super) fn order(&self) -> i128 {
        self.mtime
    }

    /// Whether the file could have changed after `seen` without its stamp showing it: the file system's clock ticks
    /// in steps, and two changes within one step leave the same time.
    fn may_hide_a_change(&self, seen: SystemTime) -> bool {
        let seen = seen.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let coarse = self.mtime % 1_000_000_000 == 0;
        let tick = if coarse { limits::MTIME_COARSE_TICK } else { limits::MTIME_TICK };
        // A time far in the future (a copy from elsewhere, a clock that was set back) is left by any new change.
        let window = seen - tick.as_nanos() as i128..=seen + limits::MTIME_COARSE_TICK.as_nanos() as i128;
        window.contains(&self.mtime)
    }
}

/// One file of the vault.
#[derive(Debug)]
pub struct Entry {
    /// Path below the root.
    pub path: Box<str>,
    /// Its state when it was read.
    pub stamp: Stamp,
    /// Tags of its frontmatter, without `#`; empty for anything but Markdown.
    pub tags: Box<[Box<str>]>,
    pub(super) folded_path: Box<str>,
    /// The tags, folded.
    pub(super) folded_tags: Box<[Box<str>]>,
    pub(super) text: Text,
    /// The frontmatter as values, once somebody has asked for it.
    pub(super) properties: OnceLock<Option<Box<serde_yaml::Mapping>>>,
    /// The stamp does not prove that the file is unchanged; look again.
    uncertain: bool,
    /// Number of the change to the index that made this entry.
    change: u64,
    /// Number of the change with which the file last became another: a file that is read again and found the same has
    /// an older one.
    version: u64,
}

impl Entry {
    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&*self.path, |(_, name)| name)
    }

    /// A number that is another one whenever the file has become another.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the note has this tag or one nested below it, as Obsidian's `tag:` search does. `tag` is folded.
    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.folded_tags.iter().any(|own| own.strip_prefix(tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }
}

/// What of a file's content is kept for search.
#[derive(Debug)]
pub(super) enum Text {
    /// The text and its folded form.
    Kept(Box<str>, Folded),
    /// Not text by its name: found by name only, as everybody expects.
    None,
    /// Text that is too large or did not fit: found by name and tag, and answers say so.
    TooMuch,
}

impl Text {
    fn is_same(&self, other: &Text) -> bool {
        match (self, other) {
            (Text::Kept(one, _), Text::Kept(another, _)) => one == another,
            (Text::None, Text::None) | (Text::TooMuch, Text::TooMuch) => true,
            _ => false,
        }
    }
}

/// The state of a file, or of a folder with all that is below it, as far as the index knows; to be compared only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version {
    files: usize,
    newest: u64,
}

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    jail: Jail,
    entries: RwLock<BTreeMap<Box<str>, Arc<Entry>>>,
    kept_bytes: AtomicU64,
    changes: AtomicU64,
    listing_generation: AtomicU64,
    walking: Mutex<()>,
    pace: Mutex<Pace>,
    beside: AtomicBool,
    /// What was complained about, so that a log has one line for each trouble and not one for each walk.
    complaints: Mutex<BTreeSet<String>>,
    /// Whether the last walk found no vault; said once when it goes and once when it is back.
    gone: AtomicBool,
    malformed: AtomicU64,
}

/// When the last walk began and how long it took, when the last call came, and the walking time saved up since.
#[derive(Debug, Default, Clone, Copy)]
struct Pace {
    walked: Option<(Instant, Duration)>,
    called: Option<Instant>,
    credit: Duration,
}

impl Index {
    pub(super) fn new(jail: Jail) -> Index {
        Index {
            jail,
            entries: RwLock::new(BTreeMap::new()),
            kept_bytes: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            listing_generation: AtomicU64::new(0),
            walking: Mutex::new(()),
            pace: Mutex::new(Pace::default()),
            beside: AtomicBool::new(false),
            complaints: Mutex::default(),
            gone: AtomicBool::new(false),
            malformed: AtomicU64::new(0),
        }
    }

    /// Looks at the entries. Short: writers wait.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<Box<str>, Arc<Entry>>) -> T) -> T {
        look(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Visits all entries, in order, a block at a time: between blocks writers get their turn, and `go_on` is told how many
    /// of how many were visited and says whether to.
    pub(super) fn each(&self, go_on: &dyn Fn(usize, usize) -> bool, mut visit: impl FnMut(&Arc<Entry>)) -> Result<(), Error> {
        let (mut visited, mut after) = (0, None::<Arc<Entry>>);
        loop {
            let (last, total) = self.read(|entries| {
                let start = after.as_ref().map_or(Bound::Unbounded, |entry| Bound::Excluded(&*entry.path));
                let mut last = None;
                for (_, entry) in entries.range::<str, _>((start, Bound::Unbounded)).take(limits::SEARCH_BLOCK) {
                    visit(entry);
                    visited += 1;
                    last = Some(entry);
                }
                (last.cloned(), entries.len())
            });
            if last.is_none() {
                return Ok(());
            }
            if !go_on(visited, total.max(visited)) {
                return Err(Error::Cancelled);
            }
            after = last;
        }
    }

    /// The entries below a folder that are wanted, in order.
    pub(super) fn below(&self, folder: &VaultPath, wanted: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let first = format!("{}/", folder.as_str());
        let start = if folder.is_root() { Bound::Unbounded } else { Bound::Included(first.as_str()) };
        self.read(|entries| {
            let inside = entries.range::<str, _>((start, Bound::Unbounded)).take_while(|(path, _)| folder.contains(path));
            inside.map(|(_, entry)| entry).filter(|entry| wanted(entry)).cloned().collect()
        })
    }

    pub(super) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.read(|entries| entries.get(path).cloned())
    }

    /// A number that grows with every change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn version(&self, path: &VaultPath) -> Version {
        self.read(|entries| {
            let below = format!("{}/", path.as_str());
            let start = if path.is_root() { Bound::Unbounded } else { Bound::Included(below.as_str()) };
            let inside = entries.range::<str, _>((start, Bound::Unbounded)).take_while(|(found, _)| path.contains(found));
            let of = |version: Version, entry: &Arc<Entry>| Version { files: version.files + 1, newest: version.newest.max(entry.version) };
            entries.get(path.as_str()).into_iter().chain(inside.map(|(_, entry)| entry)).fold(Version::default(), of)
        })
    }

    pub(super) fn listing_generation(&self) -> u64 {
        self.listing_generation.load(Ordering::Acquire)
    }

    /// Brings the index up to date by rule 6 of the vault.
    pub(super) fn refresh(self: &Arc<Self>) -> Result<(), Error> {
        let now = clock::instant();
        let (pace, saved) = {
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let before = *pace;
            let since = before.called.map_or(Duration::ZERO, |called| now.saturating_duration_since(called));
            let credit = (before.credit + since / limits::WALK_VALID_TIMES).min(limits::WALK_CREDIT);
            let took = before.walked.map_or(Duration::ZERO, |(_, took)| took);
            let saved = credit.checked_sub(took).filter(|_| took < limits::WALK_IN_FRONT);
            pace.called = Some(now);
            pace.credit = saved.unwrap_or(credit);
            (before, saved.is_some())
        };
        let Some((began, took)) = pace.walked else { return self.walk_unless_newer(now) };
        let valid_for = took * limits::WALK_VALID_TIMES;
        // A small vault is looked at for each call as long as the time for it was saved up by the pauses before.
        if now.saturating_duration_since(began) < valid_for && !saved {
            return Ok(());
        }
        let calls_keep_coming = pace.called.is_some_and(|called| now.saturating_duration_since(called) < valid_for);
        if took < limits::WALK_IN_FRONT || !calls_keep_coming {
            return self.walk_unless_newer(now);
        }
        if !self.beside.swap(true, Ordering::AcqRel) {
            let index = Arc::clone(self);
            let walk = move || {
                if let Err(error) = index.walk_unless_newer(now) {
                    log::warn!("{error}");
                }
                index.beside.store(false, Ordering::Release);
            };
            if std::thread::Builder::new().name("walk".into()).spawn(walk).is_err() {
                self.beside.store(false, Ordering::Release);
                return self.walk_unless_newer(now);
            }
        }
        Ok(())
    }

    /// The same, for a caller with a thread of its own: a walk that is due is waited for.
    pub(super) fn refresh_and_wait(&self) -> Result<(), Error> {
        let now = clock::instant();
        let walked = self.pace.lock().unwrap_or_else(PoisonError::into_inner).walked;
        let valid = |(began, took): (Instant, Duration)| now.saturating_duration_since(began) < took * limits::WALK_VALID_TIMES;
        if walked.is_some_and(valid) { Ok(()) } else { self.walk_unless_newer(now) }
    }

    /// The same, whether a walk is due or not.
    pub(super) fn refresh_now(&self) -> Result<(), Error> {
        self.walk_unless_newer(clock::instant())
    }

    /// Walks, unless another thread began a walk after `asked` and has finished it: that one saw everything.
    fn walk_unless_newer(&self, asked: Instant) -> Result<(), Error> {
        let _one_at_a_time = self.walking.lock().unwrap_or_else(PoisonError::into_inner);
        let walked = self.pace.lock().unwrap_or_else(PoisonError::into_inner).walked;
        if walked.is_some_and(|(began, _)| began >= asked) {
            return Ok(());
        }
        let began = clock::instant();
        let first = walked.is_none();
        let change_before = self.changes.load(Ordering::Acquire);
        let found = walk::walk(&self.jail, first).map_err(|error| {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!("the vault cannot be read: {error}");
            }
            Error::Unavailable
        })?;
        if self.gone.swap(false, Ordering::AcqRel) {
            log::info!("the vault can be read again");
        }
        // Reading what has changed is not counted: looking is what the next walk will cost.
        let took = began.elapsed();
        for (folder, why) in &found.unreadable {
            if self.is_new_complaint(format!("{folder}/")) {
                log::warn!("folder {folder:?} cannot be read: {why}");
            }
        }
        self.apply(found, change_before);
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).walked = Some((began, took));
        Ok(())
    }

    /// Reads what is new or changed, then puts it in place and drops what is gone. What a call of ours changed since
    /// the walk began (`change_before`) is newer than the walk and stays.
    fn apply(&self, found: Walk, change_before: u64) {
        let mut fresh = Vec::new();
        let mut seen: Vec<Box<str>> = Vec::with_capacity(found.files.len());
        for (path, stamp) in found.files {
            let known = self.get(&path);
            if known.as_ref().is_none_or(|entry| entry.stamp != stamp || entry.uncertain)
                && let Some(entry) = self.make_entry(&path, known.as_deref())
            {
                fresh.push(entry);
            }
            seen.push(path.into_boxed_str());
        }
        seen.sort_unstable();
        let still_holds = |path: &str| found.unreadable.iter().any(|(folder, _)| VaultPath::known(folder).contains(path));
        let gone: Vec<Box<str>> = self.read(|entries| {
            let missing = entries.values().filter(|entry| seen.binary_search(&entry.path).is_err());
            missing.filter(|entry| entry.change <= change_before && !still_holds(&entry.path)).map(|entry| entry.path.clone()).collect()
        });
        if fresh.is_empty() && gone.is_empty() {
            return;
        }
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut listing_changed = false;
        for path in gone {
            if entries.get(&path).is_some_and(|entry| entry.change <= change_before) {
                self.forget(entries.remove(&path));
                self.changes.fetch_add(1, Ordering::AcqRel);
                listing_changed = true;
            }
        }
        for entry in fresh {
            if entries.get(&entry.path).is_none_or(|known| known.change <= change_before) {
                listing_changed |= self.put(&mut entries, entry);
            } else {
                self.forget(Some(Arc::new(entry)));
            }
        }
        if listing_changed {
            self.listing_generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The entry of a file that has this stamp now; read again if that is not the one it was read at.
    pub(super) fn look_at(&self, path: &VaultPath, stamp: Stamp) -> Option<Arc<Entry>> {
        let known = self.get(path.as_str()).filter(|entry| entry.stamp == stamp && !entry.uncertain);
        known.or_else(|| {
            self.wrote(path);
            self.get(path.as_str())
        })
    }

    /// Takes note of a file that this program just wrote.
    pub(super) fn wrote(&self, path: &VaultPath) {
        if let Some(entry) = self.make_entry(path.as_str(), None) {
            let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            if self.put(&mut entries, entry) {
                self.listing_generation.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Takes note of a file that this program just removed.
    pub(super) fn removed(&self, path: &VaultPath) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.remove(path.as_str()) {
            self.forget(Some(entry));
            self.changes.fetch_add(1, Ordering::AcqRel);
            self.listing_generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether the path is new.
    fn put(&self, entries: &mut BTreeMap<Box<str>, Arc<Entry>>, mut entry: Entry) -> bool {
        entry.change = self.changes.fetch_add(1, Ordering::AcqRel) + 1;
        let same = entries.get(&entry.path).filter(|known| known.stamp == entry.stamp && known.text.is_same(&entry.text));
        entry.version = same.map_or(entry.change, |known| known.version);
        let before = entries.insert(entry.path.clone(), Arc::new(entry));
        let new = before.is_none();
        self.forget(before);
        new
    }

    fn forget(&self, entry: Option<Arc<Entry>>) {
        if let Some(Text::Kept(text, folded)) = entry.as_deref().map(|entry| &entry.text) {
            self.kept_bytes.fetch_sub(text.len() as u64 + folded.own_bytes(), Ordering::AcqRel);
        }
    }

    fn is_new_complaint(&self, about: String) -> bool {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.len() < limits::COMPLAINTS && complaints.insert(about)
    }

    fn complain_of_frontmatter(&self, path: &str, problem: &str) {
        let before = self.malformed.fetch_add(1, Ordering::Relaxed);
        match before.cmp(&limits::MALFORMED_SHOWN) {
            std::cmp::Ordering::Less => log::warn!("frontmatter of {path:?} is ignored: {problem}"),
            std::cmp::Ordering::Equal => log::warn!("more notes have malformed frontmatter; LOG_LEVEL=debug names them all"),
            std::cmp::Ordering::Greater => {}
        }
        if before >= limits::MALFORMED_SHOWN {
            log::debug!("frontmatter of {path:?} is ignored: {problem}");
        }
    }

    /// Reads a file into an entry. `known` is the entry it had: what was wrong with the same file then is not told again.
    fn make_entry(&self, path: &str, known: Option<&Entry>) -> Option<Entry> {
        let place = self.jail.existing(&VaultPath::known(path)).ok()?;
        let kind = media::of(path);
        let entry = |stamp: Stamp, tags: Vec<String>, text: Text, uncertain: bool| Entry {
            path: path.into(),
            stamp,
            folded_tags: tags.iter().map(|tag| fold(tag).into_boxed_str()).collect(),
            tags: tags.into_iter().map(String::into_boxed_str).collect(),
            folded_path: fold(path).into_boxed_str(),
            text,
            properties: OnceLock::new(),
            uncertain,
            change: 0,
            version: 0,
        };
        if kind.0 != Kind::Text {
            return Some(entry(Stamp::of(&std::fs::metadata(&place).ok()?), Vec::new(), Text::None, false));
        }
        let seen = clock::system();
        let (bytes, stamp, stable) = match walk::read_stamped(&place, limits::INDEXED_BYTES + 1) {
            Ok(read) => read,
            Err(error) => {
                if self.is_new_complaint(path.to_owned()) {
                    log::warn!("{path:?} cannot be read: {}", error.kind());
                }
                // Tried again each time: when the right to read is given, no stamp changes.
                return Some(entry(Stamp::of(&std::fs::metadata(&place).ok()?), Vec::new(), Text::TooMuch, true));
            }
        };
        let uncertain = !stable || stamp.may_hide_a_change(seen);
        let news = known.is_none_or(|known| known.stamp != stamp);
        let whole = bytes.len() as u64 <= limits::INDEXED_BYTES;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                if whole && news {
                    log::warn!("{path:?} is not UTF-8; it is searched as far as it is");
                }
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        };
        let tags = if kind.1 == "text/markdown" {
            frontmatter::tags(&text).unwrap_or_else(|problem| {
                if news {
                    self.complain_of_frontmatter(path, &problem);
                }
                Vec::new()
            })
        } else {
            Vec::new()
        };
        if !whole || self.kept_bytes.load(Ordering::Acquire) + text.len() as u64 > limits::INDEX_BYTES {
            return Some(entry(stamp, tags, Text::TooMuch, uncertain));
        }
        let text = text.into_boxed_str();
        let folded = Folded::of(&text);
        self.kept_bytes.fetch_add(text.len() as u64 + folded.own_bytes(), Ordering::AcqRel);
        Some(entry(stamp, tags, Text::Kept(text, folded), uncertain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_within_a_tick_of_reading_proves_nothing() {
        let seen = UNIX_EPOCH + Duration::from_millis(1_000_500);
        let stamp = |nanoseconds: i128| Stamp { size: 1, mtime: nanoseconds, inode: 1, device: 1 };
        assert!(stamp(1_000_499_000_000).may_hide_a_change(seen), "changed a moment ago");
        assert!(stamp(1_001_000_000_001).may_hide_a_change(seen), "clocks that differ a little");
        assert!(!stamp(9_000_000_000_001).may_hide_a_change(seen), "a copy from the future is read once");
        assert!(!stamp(999_499_000_001).may_hide_a_change(seen));
        assert!(stamp(999_000_000_000).may_hide_a_change(seen), "whole seconds: a coarse clock");
        assert!(!stamp(900_000_000_000).may_hide_a_change(seen));
    }
}
