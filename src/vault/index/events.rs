//! Changes on disk as reported by Linux, inotify(7): one watch for each served folder, and one
//! queue that is read before a call trusts the index.
//!
//! The queue says only which paths have changed; their current state is read from the disk. So
//! neither the order of events matters nor how many of them the kernel has merged.
//!
//! Not reported, and found by the full walk every few minutes: writing through another hard link of
//! a file, mounting over a folder, and writing through a memory map before it is unmapped.

use crate::limits;
use crate::lock::Unpoisoned;
use crate::vault::path::{is_hidden, is_odd, joined, range_below};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{
    CreateFlags, Event, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{fs, io};

/// Bytes read from the event queue at once: a few hundred events.
const EVENT_BUFFER_BYTES: usize = 16 * 1024;
/// Changed paths that are updated one by one; for more, a walk is cheaper. As many as the kernel's
/// queue holds by default.
const CHANGED_PATHS: usize = 16_384;

/// File system types, statfs(2), on which every change goes through this kernel, which reports it:
/// ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs, overlayfs (whose layers must not be
/// changed below it), FAT, exFAT, NTFS. Not network file systems, shares of a virtual machine's
/// host or FUSE.
const REPORTING_FILE_SYSTEMS: [u32; 12] = [
    0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x794c7630,
    0x4d44, 0x2011bab0, 0x5346544e, 0x7366746e,
];

/// What has changed since the queue was read last.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Paths of files and folders, and whether an equal but uncertain stamp is not enough
    /// (`recheck`): the file may have been modified in place.
    pub(crate) paths: BTreeMap<String, bool>,
    /// Why the paths may be incomplete.
    pub(crate) incomplete: Option<&'static str>,
}

/// The watches, by descriptor and by path, and what the queue has reported.
#[derive(Debug, Default)]
struct State {
    changed: Changed,
    folders: HashMap<i32, Arc<str>>,
    by_path: BTreeMap<Arc<str>, i32>,
    /// Devices that report changes.
    devices: HashSet<u64>,
}

/// The queue of changes in one vault.
#[derive(Debug)]
pub(crate) struct Events {
    queue: OwnedFd,
    /// An eventfd that ends [`Events::wait`].
    woken: OwnedFd,
    state: Mutex<State>,
}

impl Events {
    /// An empty queue, without watches.
    ///
    /// # Errors
    /// What the operating system says, for example that the user has too many queues.
    pub(crate) fn new() -> io::Result<Events> {
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Events {
            queue,
            woken: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unpoisoned()
    }

    /// Watches the folder `on_disk`, whose path below the root is `below`. Call it before listing
    /// the folder, so that all later changes are reported.
    ///
    /// # Errors
    /// Why changes in it would not be reported, as text for the log. A folder that is gone or
    /// unreadable is no error.
    pub(crate) fn watch(&self, below: &str, on_disk: &Path) -> Result<(), String> {
        let Ok(device) = fs::symlink_metadata(on_disk).map(|found| found.dev()) else {
            return Ok(());
        };
        let mut state = self.state();
        if state.devices.insert(device) {
            let kind = rustix::fs::statfs(on_disk).map_or(0, |found| found.f_type as u32);
            if !REPORTING_FILE_SYSTEMS.contains(&kind) {
                return Err(format!(
                    "{below:?} lies on a file system (type 0x{kind:x}) that does not report \
                     changes by others"
                ));
            }
        }
        // All but what only reads.
        let reads = WatchFlags::ACCESS | WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE;
        let only = WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW | WatchFlags::EXCL_UNLINK;
        let flags = WatchFlags::ALL_EVENTS.difference(reads) | only;
        match add_watch(&self.queue, on_disk, flags) {
            Ok(watch) => {
                let path: Arc<str> = below.into();
                // A folder that was moved keeps its watch.
                if let Some(old) = state.folders.insert(watch, Arc::clone(&path)) {
                    state.by_path.remove(&old);
                }
                // Another folder has the path now.
                if let Some(old) = state.by_path.insert(path, watch).filter(|old| *old != watch) {
                    state.folders.remove(&old);
                    let _ = remove_watch(&self.queue, old);
                }
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(()),
            Err(Errno::NOSPC) => Err("all watches of this user are in use (sysctl \
                                      fs.inotify.max_user_watches)"
                .into()),
            Err(error) => Err(format!("{below:?} cannot be watched: {error}")),
        }
    }

    /// Ends the watches of a folder that is gone, or of another kind now, and of all below it.
    pub(crate) fn forget(&self, path: &str) {
        let mut state = self.state();
        let inside =
            state.by_path.get_key_value(path).into_iter().chain(range_below(&state.by_path, path));
        for (folder, watch) in
            inside.map(|(folder, watch)| (Arc::clone(folder), *watch)).collect::<Vec<_>>()
        {
            state.by_path.remove(&folder);
            state.folders.remove(&watch);
            // The kernel may have ended it already.
            let _ = remove_watch(&self.queue, watch);
        }
    }

    /// What has changed since the last call.
    pub(crate) fn take(&self) -> Changed {
        let mut state = self.state();
        self.read_queue(&mut state);
        std::mem::take(&mut state.changed)
    }

    fn read_queue(&self, state: &mut State) {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        // Events already in the buffer cannot be read again.
        while state.changed.incomplete.is_none() || !reader.is_buffer_empty() {
            match reader.next() {
                Ok(event) => state.record(&event),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => state.changed.incomplete = Some("the queue of changes cannot be read"),
            }
            if state.changed.paths.len() > CHANGED_PATHS {
                state.changed.incomplete = Some("very many files have changed");
            }
        }
    }

    /// Ends [`Events::wait`] in another thread, or the next one.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.woken, &1_u64.to_ne_bytes());
    }

    /// Waits until the queue has something, [`Events::wake`] was called since the last wait, or the
    /// time is over.
    pub(crate) fn wait(&self, time: Option<Duration>) {
        let mut awaited = [&self.queue, &self.woken].map(|fd| PollFd::new(fd, PollFlags::IN));
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        // If a signal interrupts it, the caller just waits again.
        let _ = poll(&mut awaited, time.as_ref());
        let _ = rustix::io::read(&self.woken, &mut [0_u8; 8]);
    }
}

impl State {
    fn record(&mut self, event: &Event<'_>) {
        let changed = &mut self.changed;
        let what = event.events();
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            changed.incomplete =
                Some("more has changed than the queue holds (sysctl fs.inotify.max_queued_events)");
            return;
        }
        if what.contains(ReadFlags::UNMOUNT) {
            changed.incomplete = Some("a file system was unmounted");
        }
        let Some(folder) = self.folders.get(&event.wd()).cloned() else { return };
        if what.contains(ReadFlags::IGNORED) {
            self.folders.remove(&event.wd());
            self.by_path.remove(&folder);
            return;
        }
        let Some(name) = event.file_name() else {
            // For any other folder, its parent reports the same.
            if folder.is_empty() {
                changed.incomplete = Some("the vault's folder was changed itself");
            }
            return;
        };
        let Some(name) = name.to_str().ok().filter(|name| !is_odd(name)) else { return };
        let path = joined(&folder, name);
        if path.len() > limits::PATH_BYTES {
            return;
        }
        if !is_hidden(name) {
            let must_recheck =
                what.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB | ReadFlags::CLOSE_WRITE);
            *self.changed.paths.entry(path).or_default() |= must_recheck;
        }
    }
}
