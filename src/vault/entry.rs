//! A file as the index knows it.

use super::path::rest_below;
use crate::clock::Moment;
use crate::markdown::tasks::NoteTask;
use crate::text::fold::fold;
use crate::text::kept::Kept;
use crate::{disk, limits};
use std::fs::Metadata;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file whose mtime is less than this before it was read may change again within the same tick of
/// the file system's clock (10 ms on Linux without high-resolution timestamps), so its stamp does
/// not prove it unchanged.
const MTIME_TICK: Duration = Duration::from_millis(40);
/// The same for file systems that keep whole seconds (FAT keeps two).
const MTIME_COARSE_TICK: Duration = Duration::from_secs(3);

/// The number of an entry while it is in the table: its slot.
pub(crate) type Id = u32;

/// Identifies a state of a file without reading it (rule 6 of the vault).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    mtime: i64,
    /// The time of the last change to the file or its metadata, which no program can set.
    ctime: i64,
    inode: u64,
    device: u64,
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        let ((device, inode), (mtime, ctime)) = (disk::identity(metadata), disk::times(metadata));
        Stamp { size: metadata.len(), mtime, ctime, inode, device }
    }

    /// Modification time, whole seconds.
    pub fn modified(&self) -> Moment {
        Moment(u64::try_from(self.mtime / 1_000_000_000).unwrap_or(0))
    }

    /// Whether it is of the same file, with a text written at the same time; a rename changes the
    /// ctime.
    pub(crate) fn is_same_file_as(&self, other: &Stamp) -> bool {
        Stamp { ctime: other.ctime, ..*self } == *other
    }

    /// Size and modification time: what changes when a program writes the file.
    pub fn written(&self) -> (u64, i64) {
        (self.size, self.mtime)
    }

    /// Sort key by modification time, oldest first.
    pub(crate) fn order(&self) -> i64 {
        self.mtime
    }

    /// Whether the file was written at most `age` before `now`.
    pub(crate) fn is_younger_than(&self, age: Duration, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
        (now.saturating_sub(nanoseconds(age))..=now).contains(&self.mtime)
    }

    /// Whether the file could have changed after `seen` without its stamp showing it: the file
    /// system's clock ticks in steps, and two changes within one step leave the same time.
    pub(crate) fn may_hide_a_change(&self, seen: SystemTime) -> bool {
        let seen = seen.duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
        let coarse = self.mtime % 1_000_000_000 == 0;
        let tick = if coarse { MTIME_COARSE_TICK } else { MTIME_TICK };
        // Any new change replaces a time far in the future (a copy from elsewhere, a clock that was
        // set back).
        let window = seen.saturating_sub(nanoseconds(tick))
            ..=seen.saturating_add(nanoseconds(MTIME_COARSE_TICK));
        window.contains(&self.mtime)
    }
}

/// One file of the vault.
#[derive(Debug)]
pub struct Entry {
    /// Path below the root; its key in the index.
    pub path: Arc<str>,
    /// Its state when it was read.
    pub stamp: Stamp,
    /// Tags of its frontmatter and its text, without `#`; empty for anything but Markdown.
    pub tags: Box<[Box<str>]>,
    /// The folded path, if folding changes it.
    pub(crate) folded_path: Option<Box<str>>,
    /// The folded tags, if folding changes any.
    pub(crate) folded_tags: Option<Box<[Box<str>]>>,
    pub(crate) text: Text,
    /// The frontmatter as JSON, once requested; as parsed values it would take thirty times the
    /// memory of its text.
    pub(crate) properties: OnceLock<Option<Box<str>>>,
    /// Its tasks, once requested; `None` where they would take too much.
    pub(crate) tasks: OnceLock<Option<Arc<[NoteTask]>>>,
    /// Its number in the table.
    pub(crate) id: Id,
    /// The stamp does not prove that the file is unchanged; look again.
    pub(crate) uncertain: bool,
    /// It was read right after this program wrote it.
    pub(crate) written_by_us: AtomicBool,
    /// The table's version at the last change of the file; reading an unchanged file again keeps
    /// it.
    pub(crate) version: u64,
    /// The number of the check that read it ([`Index::checks`](super::index::Index::checks)).
    pub(crate) check: u64,
}

impl Entry {
    /// The same file under another path. The text, most of what an entry takes, is shared.
    pub(crate) fn at(&self, path: Arc<str>) -> Entry {
        Entry {
            folded_path: folded_if_other(&path),
            path,
            stamp: self.stamp,
            tags: self.tags.clone(),
            folded_tags: self.folded_tags.clone(),
            text: self.text.clone(),
            properties: self.properties.clone(),
            tasks: self.tasks.clone(),
            id: 0,
            uncertain: self.uncertain,
            written_by_us: AtomicBool::new(false),
            version: 0,
            check: 0,
        }
    }

    /// The last segment of the path.
    pub fn name(&self) -> &str {
        name_of(&self.path)
    }

    /// Whether its text is searched.
    pub fn has_searched_text(&self) -> bool {
        !matches!(self.text, Text::None | Text::NotKept { .. })
    }

    pub(crate) fn written_by_us(&self) -> bool {
        self.written_by_us.load(Ordering::Acquire)
    }

    /// A number that changes whenever the file does.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The path, folded.
    pub(crate) fn folded_path(&self) -> &str {
        self.folded_path.as_deref().unwrap_or(&self.path)
    }

    /// The folded path in which words are searched, without `.md`: every note has that, so only a
    /// query that names it should match it.
    pub(crate) fn searched_path(&self) -> &str {
        let path = self.folded_path();
        path.strip_suffix(".md").unwrap_or(path)
    }

    /// The folded path in which to search for a folded text.
    pub(crate) fn path_for(&self, wanted: &[u8]) -> &str {
        if wanted.ends_with(b".md") { self.folded_path() } else { self.searched_path() }
    }

    /// The tags, folded.
    pub(crate) fn folded_tags(&self) -> &[Box<str>] {
        self.folded_tags.as_deref().unwrap_or(&self.tags)
    }

    /// Characters in its text, and whether it ends with a newline, if the text is kept.
    pub fn text_length(&self) -> Option<(usize, bool)> {
        let Text::Kept(kept) = &self.text else { return None };
        Some((kept.chars(), kept.folded().ends_with('\n')))
    }

    /// The folded text; empty if its text is not searched.
    pub(crate) fn folded_text(&self) -> &str {
        match &self.text {
            Text::Kept(text) => text.folded(),
            Text::None | Text::NotKept { .. } => "",
        }
    }

    /// The cost of searching its text, in bytes of kept text.
    pub(crate) fn search_cost(&self) -> u64 {
        self.folded_text().len() as u64
    }

    /// Whether the note has this tag or one nested below it, as Obsidian's `tag:` search does.
    /// `tag` is folded.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.folded_tags().iter().any(|own| rest_below(own, tag).is_some())
    }
}

/// The folded path, if folding changes it.
pub(crate) fn folded_if_other(path: &str) -> Option<Box<str>> {
    Some(fold(path)).filter(|folded| folded != path).map(String::into_boxed_str)
}

/// The last segment of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// What of a file's content is kept for search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// The text.
    Kept(Kept),
    /// Not text: found by name only.
    None,
    /// Text that is too large or did not fit: found by name, tag and property, and answers say so.
    NotKept {
        /// The frontmatter with its fences; empty where it is too long to be read.
        frontmatter: Box<str>,
        /// Of the text, to detect changes; random if the file was not read to its end, 0 if it
        /// cannot be read.
        hash: u64,
    },
}

impl Text {
    /// Bytes that it takes in memory, with the index's overhead.
    pub(crate) fn kept_bytes(&self) -> u64 {
        match self {
            Text::Kept(text) => text.bytes() + limits::INDEX_ENTRY_BYTES,
            Text::NotKept { frontmatter, .. } => frontmatter.len() as u64,
            Text::None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_within_a_tick_of_reading_proves_nothing() {
        let seen = UNIX_EPOCH + Duration::from_millis(1_000_500);
        let stamp =
            |nanoseconds: i64| Stamp { size: 1, mtime: nanoseconds, ctime: 1, inode: 1, device: 1 };
        assert!(stamp(1_000_499_000_000).may_hide_a_change(seen), "changed a moment ago");
        assert!(stamp(1_001_000_000_001).may_hide_a_change(seen), "clocks that differ a little");
        assert!(
            !stamp(9_000_000_000_001).may_hide_a_change(seen),
            "a copy from the future is read once"
        );
        assert!(!stamp(999_499_000_001).may_hide_a_change(seen));
        assert!(stamp(999_000_000_000).may_hide_a_change(seen), "whole seconds: a coarse clock");
        assert!(!stamp(900_000_000_000).may_hide_a_change(seen));
    }
}
