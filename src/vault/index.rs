//! What is in the vault, in memory, checked against the disk without reading what has not changed.
//!
//! A walk compares each file's [`Stamp`] with the one it was read at; only files whose stamp differs are read again.
//! When a walk is due says `refresh_policy`.

use super::cores;
use super::entry::{Entry, Stamp, Text};
use super::error::{Error, words};
use super::filling::{Filling, FirstLook, IndexProgress};
use super::jail::Jail;
use super::lexicon;
use super::media::{self, Kind};
use super::path::VaultPath;
use super::properties::warn_of_frontmatter;
use super::refresh_policy::{Due, RefreshPolicy};
use super::table::Table;
use super::walk::{self, Walk};
use crate::clock;
use crate::limits;
use crate::markdown::{self, frontmatter};
use crate::text::filter::{Rows, Signature};
use crate::text::fold::fold;
use crate::text::kept::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

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

/// Clears a flag, however the work ends for which it is set.
struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
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
    first_look: FirstLook,
    kept_bytes: AtomicU64,
    changes: AtomicU64,
    /// Walks so far.
    walks: AtomicU32,
    listing_generation: AtomicU64,
    walking: Mutex<()>,
    refresh_policy: RefreshPolicy,
    is_walking_beside: AtomicBool,
    /// What calls of ours have removed since the last walk began.
    removed: Mutex<BTreeSet<Arc<str>>>,
    /// What was complained about, so that a log has one line for each trouble and not one for each walk.
    complaints: Mutex<BTreeSet<String>>,
    pub(super) words: lexicon::Newest,
    /// Whether the last walk found no vault; said once when it goes and once when it is back.
    gone: AtomicBool,
}

impl Index {
    pub(super) fn new(jail: Jail, memory: Memory) -> Index {
        Index {
            place: Mutex::new(jail.identity()),
            jail,
            memory,
            table: RwLock::new(Table::new(memory.rows())),
            first_look: FirstLook::default(),
            kept_bytes: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            walks: AtomicU32::new(0),
            listing_generation: AtomicU64::new(0),
            walking: Mutex::new(()),
            refresh_policy: RefreshPolicy::default(),
            is_walking_beside: AtomicBool::new(false),
            removed: Mutex::default(),
            complaints: Mutex::default(),
            words: lexicon::Newest::default(),
            gone: AtomicBool::new(false),
        }
    }

    /// Looks at the entries. Short: writers wait.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<Arc<str>, Arc<Entry>>) -> T) -> T {
        look(&self.table.read().unwrap_or_else(PoisonError::into_inner).entries)
    }

    /// Looks at the table of the entries. Short: writers wait.
    pub(super) fn with_table<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether all texts are in memory, and have been read.
    pub(super) fn keeps_texts(&self) -> bool {
        self.memory == Memory::Full && !self.first_look.is_under_way()
    }

    /// Brings the index up to date as [`Index::refresh`] does, but waits only a while for the very first look, and goes on
    /// with what is there by then; how far that is.
    pub(super) fn refresh_or_go_on(self: &Arc<Self>) -> Result<Option<Filling>, Error> {
        match self.first_look.wait() {
            Some(filling) => Ok(Some(filling)),
            None => self.refresh().map(|()| None),
        }
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
        // While it is away every call fails, and looks whether it is back.
        if self.gone.load(Ordering::Acquire) {
            return self.walk_unless_newer(now);
        }
        match self.refresh_policy.call(now) {
            Due::Nothing => return Ok(()),
            Due::InFront => return self.walk_unless_newer(now),
            Due::Beside => {}
        }
        // What goes wrong is in the log, and fails the next call.
        let walk = move |index: &Arc<Index>| drop(index.walk_unless_newer(now));
        if !self.beside("walk", |index| &index.is_walking_beside, walk) {
            return self.walk_unless_newer(now);
        }
        Ok(())
    }

    /// Does work in a thread of its own, unless it is being done already; false if no thread could be started.
    pub(super) fn beside(
        self: &Arc<Self>,
        name: &str,
        is_running: fn(&Index) -> &AtomicBool,
        work: impl FnOnce(&Arc<Index>) + Send + 'static,
    ) -> bool {
        if is_running(self).swap(true, Ordering::AcqRel) {
            return true;
        }
        let index = Arc::clone(self);
        let run = move || {
            let _running = Running(is_running(&index));
            work(&index);
        };
        let is_started = std::thread::Builder::new().name(name.into()).spawn(run).is_ok();
        if !is_started {
            is_running(self).store(false, Ordering::Release);
        }
        is_started
    }

    /// The same, for a caller with a thread of its own: a walk that is due is waited for.
    pub(super) fn refresh_and_wait(&self) -> Result<(), Error> {
        if self.refresh_policy.is_valid() { Ok(()) } else { self.refresh_now() }
    }

    /// The same, whether a walk is due or not.
    pub(super) fn refresh_now(&self) -> Result<(), Error> {
        self.walk_unless_newer(clock::instant())
    }

    /// Whether what was found in the vault's place is another folder than before, and no vault but what lies below one whose
    /// file system has gone: an empty folder, or one on another device with whatever was left there. `known` of the files are
    /// those of the index.
    fn is_another(&self, found: &Walk, known: usize, place: Option<(u64, u64)>) -> bool {
        let before = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if before == place {
            return false;
        }
        let same_device = before.map(|(device, _)| device) == place.map(|(device, _)| device);
        let indexed = self.read(BTreeMap::len);
        if same_device { !found.any && indexed > 0 } else { known * 2 < indexed }
    }

    /// Threads for a walk: where it is short, starting them takes longer.
    fn walkers(&self) -> usize {
        self.read(|entries| entries.len() / limits::FILES_PER_WALKER).clamp(1, limits::WALKERS.min(cores()))
    }

    /// Walks, unless another thread began a walk after `asked` and has finished it: that one saw everything.
    fn walk_unless_newer(&self, asked: Instant) -> Result<(), Error> {
        let _one_at_a_time = self.walking.lock().unwrap_or_else(PoisonError::into_inner);
        let last_began = self.refresh_policy.last_began();
        if last_began.is_some_and(|began| began >= asked) {
            return Ok(());
        }
        let began = clock::instant();
        let first = last_began.is_none();
        let change_before = self.changes.load(Ordering::Acquire);
        let place = self.jail.identity();
        let looking = self.first_look.begin(first);
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let number = self.walks.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        let known = AtomicUsize::new(0);
        let sieve = |block: &mut Vec<walk::Seen>| {
            self.read(|entries| {
                block.retain(|(path, stamp)| {
                    let Some(entry) = entries.get(path.as_str()) else { return true };
                    // A folder that is changed while it is listed may name a file twice.
                    if entry.seen.swap(number, Ordering::Relaxed) != number {
                        known.fetch_add(1, Ordering::Relaxed);
                    }
                    entry.stamp != *stamp || entry.uncertain
                });
            });
        };
        let found = walk::walk(&self.jail, first, self.walkers(), &sieve).and_then(|found| {
            // A mount point whose file system has gone is an empty folder, and another one than before. One that goes in the
            // middle of a walk is another one at its end.
            if self.is_another(&found, known.load(Ordering::Relaxed), place) || self.jail.identity() != place {
                Err(std::io::ErrorKind::NotFound.into())
            } else {
                Ok(found)
            }
        });
        let found = found.map_err(|error| {
            if !self.gone.swap(true, Ordering::AcqRel) {
                log::error!("the vault cannot be read: {error}; nothing is served or written until it is back (if another one was put in its place: restart)");
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
                log::warn!("{folder:?} cannot be looked at: {why}");
            }
        }
        for (folder, what) in &found.unserved {
            if self.is_new_complaint(format!("{folder}/{what}")) {
                log::warn!("{folder:?} has {what}; that is not served");
            }
        }
        // As many as there are, and none came or went meanwhile: nothing is gone.
        let known = known.into_inner();
        let all_seen = known == self.read(BTreeMap::len) && self.changes.load(Ordering::Acquire) == change_before;
        let news = self.within_limit(found.news, known);
        self.apply(news, change_before, &looking);
        if !all_seen {
            self.drop_unseen(number, &found.unreadable, change_before);
        }
        looking.finish();
        self.refresh_policy.walked(began, took);
        Ok(())
    }

    /// Of more files than are served, those that are known keep their place.
    fn within_limit(&self, mut news: Vec<walk::Seen>, known: usize) -> Vec<walk::Seen> {
        let found = news.len();
        if known + found > limits::FILES {
            let mut room = limits::FILES.saturating_sub(known);
            self.read(|entries| {
                news.retain(|(path, _)| {
                    let is_known = entries.contains_key(path.as_str());
                    let has_place = is_known || room > 0;
                    room -= usize::from(has_place && !is_known);
                    has_place
                });
            });
        }
        if news.len() < found && self.is_new_complaint("/".into()) {
            log::warn!("more than {} files; the rest is not served", limits::FILES);
        }
        news
    }

    /// Reads what is new or changed and puts it in place.
    fn apply(&self, news: Vec<walk::Seen>, change_before: u64, looking: &IndexProgress<'_>) {
        let total = news.len();
        let mut fresh = Vec::new();
        for (number, (path, _)) in news.into_iter().enumerate() {
            fresh.extend(self.make_entry(&path, self.get(&path).as_deref()));
            // What is read is there for others before the rest is.
            if fresh.len() >= limits::FILL_BLOCK {
                self.put_all(std::mem::take(&mut fresh), change_before);
            }
            if number % limits::FILL_BLOCK == 0 {
                looking.is_at(Filling { indexed: number, files: total });
            }
        }
        self.put_all(fresh, change_before);
    }

    /// Drops what this walk has not seen and not failed to look at. What a call of ours put there since the walk began
    /// (`change_before`) is newer than the walk and stays.
    fn drop_unseen(&self, walk: u32, unreadable: &[(String, String)], change_before: u64) {
        let still_holds = |path: &str| unreadable.iter().any(|(place, _)| place == path || VaultPath::known(place).contains(path));
        let is_gone = |entry: &Entry| entry.seen.load(Ordering::Relaxed) != walk && entry.change <= change_before;
        let gone: Vec<Arc<str>> = self.read(|entries| {
            let gone = entries.values().filter(|entry| is_gone(entry) && !still_holds(&entry.path));
            gone.map(|entry| entry.path.clone()).collect()
        });
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
            self.read_again(path, false);
            self.get(path.as_str())
        })
    }

    /// Takes note of a file that this program just wrote.
    pub(super) fn wrote(&self, path: &VaultPath) {
        self.read_again(path, true);
    }

    fn read_again(&self, path: &VaultPath, is_ours: bool) {
        if let Some((mut entry, signature)) = self.make_entry(path.as_str(), None) {
            entry.is_ours = is_ours;
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
        // Read again because its stamp proves nothing yet, it is still what we wrote.
        entry.is_ours |= same.is_some_and(|known| known.is_ours);
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

    /// Reads a file into an entry. `known` is the entry it had: what was wrong with the same file then is not logged again.
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
                is_ours: false,
                seen: AtomicU32::new(0),
                change: 0,
                version: 0,
            };
            signature.add(entry.folded_path());
            entry.folded_tags().iter().for_each(|tag| signature.add(tag));
            (entry, signature)
        };
        let is_text = kind.0 == Kind::Text || kind.0 == Kind::Other && walk::begins_as_text(&place);
        if !is_text {
            return Some(entry(Stamp::of(&place.metadata().ok()?), Vec::new(), Text::None, Signature::new(Rows::Names), false));
        }
        let seen = clock::system();
        let (bytes, stamp, stable) = match walk::read_stamped(&place, limits::INDEXED_BYTES + 1) {
            Ok(read) => read,
            Err(error) => {
                if self.is_new_complaint(path.to_owned()) {
                    log::warn!("{path:?} cannot be read: {}", words(&error));
                }
                // Tried again each time: when the right to read is given, no stamp changes.
                return Some(entry(
                    Stamp::of(&place.metadata().ok()?),
                    Vec::new(),
                    Text::TooMuch { frontmatter: Box::default() },
                    Signature::new(Rows::Names),
                    true,
                ));
            }
        };
        let uncertain = !stable || stamp.may_hide_a_change(seen);
        let news = known.is_none_or(|known| known.stamp != stamp);
        let whole = bytes.len() as u64 <= limits::INDEXED_BYTES;
        let text = match String::from_utf8(bytes) {
            // What begins as text and goes on otherwise is none.
            Err(_) if kind.0 == Kind::Other => return Some(entry(stamp, Vec::new(), Text::None, Signature::new(Rows::Names), uncertain)),
            Ok(text) => text,
            Err(error) => {
                if whole && news {
                    log::warn!("{path:?} is not UTF-8; it is searched as far as it is");
                }
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        };
        let tags = if kind.1 == "text/markdown" {
            let (tags, problem) = markdown::tags(&text);
            if let Some(problem) = problem.filter(|_| news) {
                warn_of_frontmatter(path, &problem);
            }
            tags
        } else {
            Vec::new()
        };
        let kept_bytes = self.kept_bytes.load(Ordering::Acquire);
        let fits = kept_bytes + text.len() as u64 <= limits::INDEX_BYTES;
        if !whole || !fits {
            if !whole && news {
                log::warn!("{path:?} is larger than {} MB: it is found by name, tag and property only", limits::INDEXED_BYTES >> 20);
            } else if !fits && self.is_new_complaint(String::new()) {
                log::warn!(
                    "there is more text than {} MB: what is beyond is found by name, tag and property only",
                    limits::INDEX_BYTES >> 20
                );
            }
            let head = frontmatter::head(&text);
            let fits = kept_bytes + head.len() as u64 <= limits::INDEX_BYTES + limits::INDEX_HEAD_BYTES;
            let text = Text::TooMuch { frontmatter: if fits { head.into() } else { Box::default() } };
            self.kept_bytes.fetch_add(text.kept_bytes(), Ordering::AcqRel);
            return Some(entry(stamp, tags, text, Signature::new(Rows::Names), uncertain));
        }
        let kept = Kept::of(&text);
        let mut signature = Signature::new(self.memory.rows());
        signature.add(kept.folded());
        let text = match self.memory {
            Memory::Full => {
                let text = Text::Kept(kept);
                self.kept_bytes.fetch_add(text.kept_bytes(), Ordering::AcqRel);
                text
            }
            Memory::Small => {
                let frontmatter = frontmatter::head(&text).into();
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                let text = Text::OnDisk { frontmatter, hash: hasher.finish() };
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
