//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! A walk compares each file's [`Stamp`] with the one it was read at; only files whose stamp differs are read again.
//! When a walk is due is rule 6 of the vault: a walk is valid for ten times its own duration, so looking costs at most
//! a tenth of a core; while calls keep coming it runs beside them, after a pause in front of the first one.

use super::entry::{Entry, Stamp, Text};
use super::error::Error;
use super::filter::{Rows, Signature};
use super::fold::fold;
use super::frontmatter;
use super::jail::Jail;
use super::kept::Kept;
use super::media::{self, Kind};
use super::path::VaultPath;
use super::table::Table;
use super::walk::{self, Walk};
use crate::clock;
use crate::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The state of a file, or of a folder with all that is below it, as far as the index knows; to be compared only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version {
    files: usize,
    newest: u64,
}

/// How much of the vault is kept in memory for search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// All texts: a search reads nothing.
    #[default]
    Full,
    /// Which words a text may have: a search reads the files that may be found.
    Small,
}

impl Memory {
    /// The bits of a file in the filter.
    fn rows(self) -> Rows {
        match self {
            Memory::Full => Rows::Many,
            Memory::Small => Rows::Few,
        }
    }
}

/// How far the first look at the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    /// Files that are indexed.
    pub indexed: usize,
    /// Files that there are.
    pub files: usize,
}

/// Where the first look at the vault stands.
#[derive(Debug, Clone, Copy)]
enum Fill {
    NotBegun,
    UnderWay(Filling),
    Over,
}

/// The first look while it goes on; however that ends, nobody waits for it afterwards.
struct FirstFill<'a>(Option<&'a Index>);

impl<'a> FirstFill<'a> {
    fn begin(index: &'a Index, first: bool) -> FirstFill<'a> {
        if first {
            index.fill(Fill::UnderWay(Filling { indexed: 0, files: 0 }));
        }
        FirstFill(first.then_some(index))
    }

    fn over(mut self) {
        if let Some(index) = self.0.take() {
            index.fill(Fill::Over);
        }
    }
}

impl Drop for FirstFill<'_> {
    fn drop(&mut self) {
        if let Some(index) = self.0 {
            index.fill(Fill::NotBegun);
        }
    }
}

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    jail: Jail,
    /// Which folder the root was at the last walk: device and inode.
    place: Mutex<Option<(u64, u64)>>,
    memory: Memory,
    table: RwLock<Table>,
    /// How far the first walk is.
    filling: Mutex<Fill>,
    filled: Condvar,
    kept_bytes: AtomicU64,
    changes: AtomicU64,
    listing_generation: AtomicU64,
    walking: Mutex<()>,
    pace: Mutex<Pace>,
    beside: AtomicBool,
    /// What calls of ours have removed since the last walk began.
    removed: Mutex<BTreeSet<Box<str>>>,
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
    pub(super) fn new(jail: Jail, memory: Memory) -> Index {
        Index {
            place: Mutex::new(jail.identity()),
            jail,
            memory,
            table: RwLock::new(Table::new(memory.rows())),
            filling: Mutex::new(Fill::NotBegun),
            filled: Condvar::new(),
            kept_bytes: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            listing_generation: AtomicU64::new(0),
            walking: Mutex::new(()),
            pace: Mutex::new(Pace::default()),
            beside: AtomicBool::new(false),
            removed: Mutex::default(),
            complaints: Mutex::default(),
            gone: AtomicBool::new(false),
            malformed: AtomicU64::new(0),
        }
    }

    /// Looks at the entries. Short: writers wait.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<Box<str>, Arc<Entry>>) -> T) -> T {
        look(&self.table.read().unwrap_or_else(PoisonError::into_inner).entries)
    }

    /// The entries that may have all these folded words, in no order; all where the words are too short to say. And how many
    /// there are whose text is not searched.
    pub(super) fn candidates<'a>(&self, words: impl Iterator<Item = &'a str>, wanted: impl Fn(&Entry) -> bool) -> (Vec<Arc<Entry>>, usize) {
        self.table.read().unwrap_or_else(PoisonError::into_inner).candidates(words, wanted)
    }

    /// Brings the index up to date as [`Index::refresh`] does, but waits only a while for the very first look, and goes on
    /// with what is there by then; how far that is.
    pub(super) fn refresh_or_go_on(self: &Arc<Self>) -> Result<Option<Filling>, Error> {
        let filling = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.filled.wait_timeout_while(filling, limits::FILL_PATIENCE, |fill| matches!(fill, Fill::UnderWay(_)));
        let filling = *waited.unwrap_or_else(PoisonError::into_inner).0;
        match filling {
            Fill::UnderWay(filling) => Ok(Some(filling)),
            Fill::NotBegun | Fill::Over => self.refresh().map(|()| None),
        }
    }

    /// Notes how far the first walk is.
    fn fill(&self, fill: Fill) {
        *self.filling.lock().unwrap_or_else(PoisonError::into_inner) = fill;
        self.filled.notify_all();
    }

    /// Refuses what would change a vault that is not there: where its file system has gone, what is written goes into the
    /// place that it was mounted at, and is hidden when it is back.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(super) fn refuse_if_away(&self) -> Result<(), Error> {
        let known = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = self.jail.identity() != known && self.read(|entries| !entries.is_empty());
        // Another folder may be the vault now; whoever looks knows.
        if moved { self.refresh_now() } else { Ok(()) }
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
        // While it is away everybody is told so, and whoever asks looks whether it is back.
        if self.gone.load(Ordering::Acquire) {
            return self.walk_unless_newer(now);
        }
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
                // What went wrong is in the log, and told to the next call.
                let _ = index.walk_unless_newer(now);
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
        let place = self.jail.identity();
        let filling = FirstFill::begin(self, first);
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let found = walk::walk(&self.jail, first).and_then(|found| {
            // A mount point whose file system has gone is an empty folder, and another one than before. One that goes in the
            // middle of a walk is another one at its end.
            let moved = *self.place.lock().unwrap_or_else(PoisonError::into_inner) != place;
            let emptied = moved && found.files.is_empty() && self.read(|entries| !entries.is_empty());
            if emptied || self.jail.identity() != place { Err(std::io::ErrorKind::NotFound.into()) } else { Ok(found) }
        });
        let found = found.map_err(|error| {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!("the vault cannot be read: {error}");
            }
            Error::Unavailable
        })?;
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
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
        self.apply(found, change_before, first);
        filling.over();
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).walked = Some((began, took));
        Ok(())
    }

    /// Reads what is new or changed, then puts it in place and drops what is gone. What a call of ours changed since
    /// the walk began (`change_before`) is newer than the walk and stays.
    fn apply(&self, mut found: Walk, change_before: u64, first: bool) {
        // Both in the order of their paths, the index and the disk are compared in one pass.
        found.files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let still_holds = |path: &str| found.unreadable.iter().any(|(folder, _)| VaultPath::known(folder).contains(path));
        let (changed, gone) = self.read(|entries| {
            let (mut changed, mut gone) = (Vec::new(), Vec::new());
            let mut known = entries.values().peekable();
            let mut is_gone = |entry: &Arc<Entry>| {
                if entry.change <= change_before && !still_holds(&entry.path) {
                    gone.push(entry.path.clone());
                }
            };
            for (path, stamp) in &found.files {
                while let Some(entry) = known.next_if(|entry| *entry.path < **path) {
                    is_gone(entry);
                }
                match known.next_if(|entry| *entry.path == **path) {
                    Some(entry) if entry.stamp == *stamp && !entry.uncertain => {}
                    entry => changed.push((path, entry.cloned())),
                }
            }
            known.for_each(is_gone);
            (changed, gone)
        });
        let total = changed.len();
        let mut fresh = Vec::new();
        for (number, (path, known)) in changed.into_iter().enumerate() {
            fresh.extend(self.make_entry(path, known.as_deref()));
            // What is read is there for others before the rest is.
            if fresh.len() >= limits::FILL_BLOCK {
                self.put_all(std::mem::take(&mut fresh), change_before);
            }
            if first && number % limits::FILL_BLOCK == 0 {
                self.fill(Fill::UnderWay(Filling { indexed: number, files: total }));
            }
        }
        self.put_all(fresh, change_before);
        if gone.is_empty() {
            return;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for path in gone {
            if table.entries.get(&path).is_some_and(|entry| entry.change <= change_before) {
                self.forget(table.remove(&path).as_deref());
                self.changes.fetch_add(1, Ordering::AcqRel);
                self.listing_generation.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    fn put_all(&self, fresh: Vec<(Entry, Signature)>, change_before: u64) {
        if fresh.is_empty() {
            return;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut listing_changed = false;
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, signature) in fresh {
            // What a call of ours has put there, or taken away, since is newer.
            if removed.contains(&entry.path) {
                self.forget(Some(&entry));
            } else if table.entries.get(&entry.path).is_none_or(|known| known.change <= change_before || known.stamp == entry.stamp) {
                listing_changed |= self.put(&mut table, entry, &signature);
            } else {
                self.forget(Some(&entry));
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
        if let Some((entry, signature)) = self.make_entry(path.as_str(), None) {
            let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
            self.removed.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry.path);
            if self.put(&mut table, entry, &signature) {
                self.listing_generation.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Takes note of a file that this program just removed.
    pub(super) fn removed(&self, path: &VaultPath) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.as_str().into());
        if let Some(entry) = table.remove(path.as_str()) {
            self.forget(Some(&entry));
            self.changes.fetch_add(1, Ordering::AcqRel);
            self.listing_generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether the path is new.
    fn put(&self, table: &mut Table, mut entry: Entry, signature: &Signature) -> bool {
        entry.change = self.changes.fetch_add(1, Ordering::AcqRel) + 1;
        let same = table.entries.get(&entry.path).filter(|known| known.stamp == entry.stamp && known.text.is_same(&entry.text));
        entry.version = same.map_or(entry.change, |known| known.version);
        let before = table.insert(entry, signature);
        self.forget(before.as_deref());
        before.is_none()
    }

    fn forget(&self, entry: Option<&Entry>) {
        if let Some(entry) = entry {
            self.kept_bytes.fetch_sub(entry.text.kept_bytes(), Ordering::AcqRel);
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
    fn make_entry(&self, path: &str, known: Option<&Entry>) -> Option<(Entry, Signature)> {
        let place = self.jail.existing(&VaultPath::known(path)).ok()?;
        let kind = media::of(path);
        let entry = |stamp: Stamp, tags: Vec<String>, text: Text, mut signature: Signature, uncertain: bool| {
            let entry = Entry {
                path: path.into(),
                stamp,
                folded_tags: folded_tags(&tags),
                tags: tags.into_iter().map(String::into_boxed_str).collect(),
                folded_path: Some(fold(path)).filter(|folded| folded != path).map(String::into_boxed_str),
                text,
                properties: OnceLock::new(),
                slot: 0,
                uncertain,
                change: 0,
                version: 0,
            };
            signature.add(entry.folded_path());
            entry.folded_tags().iter().for_each(|tag| signature.add(tag));
            (entry, signature)
        };
        if kind.0 != Kind::Text {
            return Some(entry(
                Stamp::of(&std::fs::metadata(&place).ok()?),
                Vec::new(),
                Text::None,
                Signature::new(self.memory.rows()),
                false,
            ));
        }
        let seen = clock::system();
        let (bytes, stamp, stable) = match walk::read_stamped(&place, limits::INDEXED_BYTES + 1) {
            Ok(read) => read,
            Err(error) => {
                if self.is_new_complaint(path.to_owned()) {
                    log::warn!("{path:?} cannot be read: {}", error.kind());
                }
                // Tried again each time: when the right to read is given, no stamp changes.
                return Some(entry(
                    Stamp::of(&std::fs::metadata(&place).ok()?),
                    Vec::new(),
                    Text::TooMuch,
                    Signature::new(self.memory.rows()),
                    true,
                ));
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
            return Some(entry(stamp, tags, Text::TooMuch, Signature::new(self.memory.rows()), uncertain));
        }
        let kept = Kept::of(&text);
        let mut signature = Signature::new(self.memory.rows());
        signature.add(kept.folded());
        let text = match self.memory {
            Memory::Full => {
                self.kept_bytes.fetch_add(kept.bytes(), Ordering::AcqRel);
                Text::Kept(kept)
            }
            Memory::Small => {
                // Nothing reads a longer one.
                let frontmatter = text.get(..frontmatter::end(&text)).filter(|block| block.len() <= limits::FRONTMATTER_BYTES);
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                let text = Text::OnDisk { frontmatter: frontmatter.unwrap_or_default().into(), hash: hasher.finish() };
                self.kept_bytes.fetch_add(text.kept_bytes(), Ordering::AcqRel);
                text
            }
        };
        Some(entry(stamp, tags, text, signature, uncertain))
    }
}

/// The tags folded, where that changes one of them.
fn folded_tags(tags: &[String]) -> Option<Box<[Box<str>]>> {
    let folded: Box<[Box<str>]> = tags.iter().map(|tag| fold(tag).into_boxed_str()).collect();
    let same = folded.iter().zip(tags).all(|(folded, tag)| **folded == **tag);
    (!same).then_some(folded)
}
