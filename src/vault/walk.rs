//! One look at the whole vault: every served file is compared with what is known of it.

use super::entry::Stamp;
use super::error::words;
use super::events::Events;
use super::jail::Jail;
use super::path::is_hidden;
use crate::disk;
use crate::limits;
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// A file, by its path below the root, as it is now.
pub(super) type Seen = (String, Stamp);

/// Takes note of files that were seen, and leaves only those that are new or changed. A block at a time, so that a walk of a
/// vault in which nothing has changed takes no memory.
pub(super) type Sieve<'a> = dyn Fn(&mut Vec<Seen>) + Sync + 'a;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The files that the sieve left, in the order of their paths; of more than [`limits::FILES`] not all.
    pub(super) news: Vec<Seen>,
    /// Whether there were any files.
    pub(super) any: bool,
    /// Folders and files that could not be looked at for another reason than being gone; what was known of them still holds.
    pub(super) unreadable: Vec<(String, String)>,
    /// Folders with something in them that is not served, and why; for a warning.
    pub(super) unserved: BTreeSet<(String, &'static str)>,
    /// Whether there are links to files or folders in the vault.
    pub(super) has_links: bool,
    /// Why changes in some folder will not be reported.
    pub(super) unwatched: Option<String>,
}

/// What a directory entry is to us.
#[derive(Debug)]
pub(super) enum Found {
    File(Metadata),
    /// A folder, its real place, and whether a link led there.
    Folder {
        place: PathBuf,
        linked: bool,
    },
}

/// How a walk is made.
pub(super) struct WalkOptions<'a> {
    pub(super) jail: &'a Jail,
    /// Watches the folders on the way.
    pub(super) events: Option<&'a Events>,
    /// Removes leftovers of crashed writes on the way.
    pub(super) clean: bool,
    /// Threads.
    pub(super) walkers: usize,
    pub(super) sieve: &'a Sieve<'a>,
}

/// Walks the vault below a folder, by its path; all of it for the empty path.
///
/// # Errors
/// Only when the root itself cannot be read.
pub(super) fn walk(below: &str, options: &WalkOptions<'_>) -> io::Result<Walk> {
    let depth = below.split('/').filter(|name| !name.is_empty()).count();
    let first = Folder { below: below.to_owned(), place: options.jail.root().join(below), depth, linked: false };
    let agenda = Agenda { open: vec![Work::Folder(first)], busy: 0, linked: BTreeMap::new(), linked_places: HashSet::new() };
    let tour = Tour { options, agenda: Mutex::new(agenda), changed: Condvar::new(), news: AtomicUsize::new(0) };
    std::thread::scope(|scope| {
        // Where no thread can be had, the others do its part.
        let others: Vec<_> = (1..options.walkers).filter_map(|_| Builder::new().spawn_scoped(scope, || tour.walk()).ok()).collect();
        let mut found = tour.walk()?;
        for other in others {
            let more = other.join().map_err(|_| io::Error::other("a walk ended early"))??;
            found.news.extend(more.news);
            found.any |= more.any;
            found.unreadable.extend(more.unreadable);
            found.unserved.extend(more.unserved);
            found.has_links |= more.has_links;
            found.unwatched = found.unwatched.or(more.unwatched);
        }
        found.news.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    })
}

/// A folder to be listed.
#[derive(Debug)]
struct Folder {
    /// Its path below the root.
    below: String,
    place: PathBuf,
    depth: usize,
    /// Whether a link led to it, or to one above it.
    linked: bool,
}

/// What a walker can take up.
#[derive(Debug)]
enum Work {
    Folder(Folder),
    /// Entries of a folder with many, to be looked at.
    Entries(Arc<Folder>, Vec<DirEntry>),
}

/// What is still to be done.
#[derive(Debug)]
struct Agenda {
    open: Vec<Work>,
    /// Walkers at work; what they find may be more work.
    busy: usize,
    /// Folders that links lead to, by the links' paths: taken up one after the other when all else is done, so that it is
    /// the same one of several links to a place by which it is entered, whoever is first.
    linked: BTreeMap<String, Folder>,
    linked_places: HashSet<PathBuf>,
}

/// One walk, shared by its walkers.
struct Tour<'a> {
    options: &'a WalkOptions<'a>,
    agenda: Mutex<Agenda>,
    /// There may be more on the agenda, or nothing any more.
    changed: Condvar,
    /// Files that the sieve left.
    news: AtomicUsize,
}

/// A piece of work under way; however it ends, nobody waits for it afterwards.
struct UnderWay<'a, 'b>(&'a Tour<'b>);

impl Drop for UnderWay<'_, '_> {
    fn drop(&mut self) {
        self.0.agenda().busy -= 1;
        self.0.changed.notify_all();
    }
}

impl Tour<'_> {
    fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up work until there is none and nobody can find more.
    fn walk(&self) -> io::Result<Walk> {
        let mut walker = Walker { tour: self, found: Walk::default(), block: Vec::new() };
        while let Some((work, _under_way)) = self.take() {
            match work {
                Work::Folder(folder) => walker.list(Arc::new(folder))?,
                Work::Entries(folder, entries) => entries.iter().for_each(|entry| walker.look(&folder, entry)),
            }
        }
        walker.sift();
        Ok(walker.found)
    }

    fn take(&self) -> Option<(Work, UnderWay<'_, '_>)> {
        let mut agenda = self.agenda();
        loop {
            let mut next = agenda.open.pop();
            while next.is_none() && agenda.busy == 0 {
                let (_, folder) = agenda.linked.pop_first()?;
                // Links may form circles, and many of them many ways: each place is entered once by a link.
                next = agenda.linked_places.insert(folder.place.clone()).then_some(Work::Folder(folder));
            }
            if let Some(work) = next {
                agenda.busy += 1;
                return Some((work, UnderWay(self)));
            }
            agenda = self.changed.wait(agenda).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn offer(&self, work: Work) {
        self.agenda().open.push(work);
        self.changed.notify_one();
    }
}

/// One of those who share a walk.
struct Walker<'a, 'b> {
    tour: &'a Tour<'b>,
    found: Walk,
    /// Files that the sieve has not seen yet.
    block: Vec<Seen>,
}

impl Walker<'_, '_> {
    fn sift(&mut self) {
        self.found.any |= !self.block.is_empty();
        (self.tour.options.sieve)(&mut self.block);
        let before = self.tour.news.fetch_add(self.block.len(), Ordering::Relaxed);
        // One more than can be served, so that it is seen that there are more.
        self.block.truncate((limits::FILES + 1).saturating_sub(before));
        self.found.news.append(&mut self.block);
    }

    /// Lists a folder. What cannot be looked at is not gone.
    fn list(&mut self, folder: Arc<Folder>) -> io::Result<()> {
        // A folder that a link leads to is watched under its own path.
        if let Some(Err(why)) = self.tour.options.events.filter(|_| !folder.linked).map(|events| events.watch(&folder.below, &folder.place)) {
            self.found.unwatched = Some(why);
        }
        let entries = match fs::read_dir(&folder.place) {
            Ok(entries) => entries,
            Err(error) if folder.below.is_empty() => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.found.unreadable.push((folder.below.clone(), words(&error)));
                return Ok(());
            }
        };
        let mut block = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => block.push(entry),
                Err(error) if folder.below.is_empty() => return Err(error),
                Err(error) => {
                    self.found.unreadable.push((folder.below.clone(), words(&error)));
                    break;
                }
            }
            if block.len() < limits::WALK_BLOCK {
                continue;
            }
            let block = std::mem::take(&mut block);
            if self.tour.agenda().open.len() < self.tour.options.walkers - 1 {
                self.tour.offer(Work::Entries(Arc::clone(&folder), block));
            } else {
                block.iter().for_each(|entry| self.look(&folder, entry));
            }
        }
        block.iter().for_each(|entry| self.look(&folder, entry));
        Ok(())
    }

    fn leave(&mut self, folder: &str, why: &'static str) {
        if self.found.unserved.len() < limits::COMPLAINTS {
            self.found.unserved.insert((folder.to_owned(), why));
        }
    }

    fn look(&mut self, folder: &Folder, entry: &DirEntry) {
        let below = &folder.below;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return self.leave(below, "a name that is not UTF-8");
        };
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if self.tour.options.clean && is_file && disk::is_temporary(name) && disk::remove_leftover(&entry.path()) {
            log::info!("removed an unfinished write of an earlier run in {below:?}");
        }
        let kind = classify(self.tour.options.jail, entry, name);
        if matches!(kind, Ok(None)) {
            if is_odd(name) && !is_hidden(name) {
                self.leave(below, "a name with a control character or a backslash");
            }
            return;
        }
        self.found.has_links |= entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let mut path = String::with_capacity(below.len() + 1 + name.len());
        if !below.is_empty() {
            path.push_str(below);
            path.push('/');
        }
        path.push_str(name);
        if path.len() > limits::PATH_BYTES {
            return self.leave(below, "a path that is too long");
        }
        match kind {
            Ok(None) => {}
            Err(error) => self.found.unreadable.push((path, words(&error))),
            Ok(Some(Found::File(metadata))) => {
                self.block.push((path, Stamp::of(&metadata)));
                if self.block.len() >= limits::WALK_BLOCK {
                    self.sift();
                }
            }
            Ok(Some(Found::Folder { place, linked })) => {
                // Never below itself.
                let circle = linked && folder.place.starts_with(&place);
                if circle {
                    return;
                }
                if folder.depth >= limits::DEPTH {
                    return self.leave(below, "folders nested too deeply");
                }
                let found = Folder { below: path, place, depth: folder.depth + 1, linked: linked || folder.linked };
                if linked {
                    self.tour.agenda().linked.insert(found.below.clone(), found);
                } else {
                    self.tour.offer(Work::Folder(found));
                }
            }
        }
    }
}

/// Whether a name has what no path may have (rule 1 of the vault).
pub(super) fn is_odd(name: &str) -> bool {
    let bytes = name.as_bytes();
    let odd = bytes.iter().any(|&byte| byte < 0x20 || byte == b'\\' || byte == 0x7f);
    odd || !bytes.is_ascii() && name.chars().any(char::is_control)
}

/// What an entry of a folder is, if it is served: not hidden, a regular file or folder, or a link that ends at one
/// inside the vault (rules 2 and 3 of the vault).
///
/// # Errors
/// Why it cannot be told, other than that it is gone.
pub(super) fn classify(jail: &Jail, entry: &DirEntry, name: &str) -> io::Result<Option<Found>> {
    let unless_gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
        _ => Err(error),
    };
    if is_hidden(name) || is_odd(name) {
        return Ok(None);
    }
    let kind = match entry.file_type() {
        Ok(kind) => kind,
        Err(error) => return unless_gone(error),
    };
    if kind.is_dir() {
        return Ok(Some(Found::Folder { place: entry.path(), linked: false }));
    }
    if kind.is_file() {
        return entry.metadata().map(|metadata| Some(Found::File(metadata))).or_else(unless_gone);
    }
    let followed = if kind.is_symlink() { jail.follow(&entry.path()) } else { None };
    let Some(place) = followed else { return Ok(None) };
    let found = match fs::metadata(&place) {
        Ok(metadata) if metadata.is_dir() => Found::Folder { place, linked: true },
        Ok(metadata) if metadata.is_file() => Found::File(metadata),
        Ok(_) => return Ok(None),
        Err(error) => return unless_gone(error),
    };
    Ok(Some(found))
}

/// Whether a file whose name does not say what it is begins as text does: its first bytes are UTF-8 without a NUL.
pub(super) fn begins_as_text(place: &Path) -> bool {
    let read = |(mut file, _): (fs::File, Stamp)| {
        let mut bytes = [0; limits::SNIFFED_BYTES];
        let count = file.read(&mut bytes)?;
        Ok(bytes.get(..count).unwrap_or_default().to_vec())
    };
    open_stamped(place).and_then(read).is_ok_and(|bytes: Vec<u8>| {
        // The last character may be cut.
        let whole =
            std::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none() && bytes.len() == limits::SNIFFED_BYTES, |_| true);
        whole && memchr::memchr(0, &bytes).is_none()
    })
}

/// Reads a file, at most `max` bytes; its stamp, and whether it stayed the same while it was read. A link is not followed.
pub(super) fn read_stamped(place: &Path, max: u64) -> io::Result<(Vec<u8>, Stamp, bool)> {
    let (mut file, stamp) = open_stamped(place)?;
    read_open(&mut file, stamp, max)
}

/// As [`read_stamped`], of a file that has this stamp and stays like that; `None` if not.
pub(super) fn read_known(place: &Path, known: Stamp) -> Option<Vec<u8>> {
    let (mut file, stamp) = open_stamped(place).ok().filter(|(_, stamp)| *stamp == known)?;
    let (bytes, _, stable) = read_open(&mut file, stamp, known.size.saturating_add(1)).ok()?;
    stable.then_some(bytes)
}

fn open_stamped(place: &Path) -> io::Result<(fs::File, Stamp)> {
    // Opening a named pipe would wait for its writer.
    let flags = OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = fs::File::from(rustix::fs::open(place, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let stamp = Stamp::of(&metadata);
    Ok((file, stamp))
}

fn read_open(file: &mut fs::File, before: Stamp, max: u64) -> io::Result<(Vec<u8>, Stamp, bool)> {
    // One byte more than there should be: a read that does not fill it has come to the end.
    let mut bytes = vec![0; before.size.saturating_add(1).min(max) as usize];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..) {
        let asked = rest.len();
        let more = match file.read(rest) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            more => more?,
        };
        read += more;
        if more == 0 || more < asked && read as u64 == before.size {
            break;
        }
    }
    bytes.truncate(read);
    let mut after = Stamp::of(&file.metadata()?);
    let stable = after == before && read as u64 == before.size.min(max);
    if !stable {
        // It grows, or is on a file system that does not know sizes.
        file.take(max.saturating_sub(read as u64)).read_to_end(&mut bytes)?;
        let last = Stamp::of(&file.metadata()?);
        // What is shorter than it says, before and after, was not read: an edit would cut the rest off.
        if last == before && (bytes.len() as u64) < before.size.min(max) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its size"));
        }
        after = last;
    }
    Ok((bytes, after, stable))
}
