//! Bounds on files, and on looking at them.

use std::time::Duration;

/// The largest file that is read, edited or written as text, bytes. Obsidian itself becomes unusable far below.
pub const NOTE_BYTES: u64 = 10 * 1024 * 1024;
/// The largest file whose text is kept for search, bytes; larger ones are found by name.
pub const INDEXED_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes at the head of a file without a known ending from which it is decided whether it is text.
pub const SNIFFED_BYTES: usize = 1024;
/// All text kept for search, bytes, with its folded form where that differs and [`INDEX_ENTRY_BYTES`] for each file. Beyond it
/// files are found by name, tag and property only. With the names of [`FILES`], bodies and answers it fits into the unit's MemoryMax.
pub const INDEX_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes that the index needs for a file in addition to its text.
pub const INDEX_ENTRY_BYTES: u64 = 600;
/// Frontmatter that is kept of files whose text is not, bytes in all, beyond those.
pub const INDEX_HEAD_BYTES: u64 = 32 * 1024 * 1024;
/// Files in the index, half a kilobyte each; beyond it a warning is logged and the rest is not seen.
pub const FILES: usize = 500_000;
/// Folders within folders.
pub const DEPTH: usize = 64;
/// Bytes of a path below the vault.
pub const PATH_BYTES: usize = 1024;
/// Bytes of one name in a path: the limit of Linux file systems.
pub const NAME_BYTES: usize = 255;
/// Bytes of frontmatter that are parsed: YAML beyond that is not metadata.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// Values made of one YAML document, aliases counted each time they are used. The longest frontmatter without aliases has half
/// as many.
pub const YAML_NODES: usize = 64 * 1024;
/// Bytes of text in the values of one YAML document, aliases counted each time: four times [`FRONTMATTER_BYTES`].
pub const YAML_BYTES: usize = 256 * 1024;
/// Brackets open at the same time in a YAML document: `serde_yaml` accepts 128 levels, and its scanner takes time that grows
/// with the square of the open ones.
pub const YAML_BRACKETS: usize = 256;
/// Tags of one note.
pub const TAGS: usize = 256;

/// Bytes of a code span, an inline formula or the target of a link: what is not closed by then is text, so that a note of a
/// million opening signs does not take quadratic time.
pub const INLINE_BYTES: usize = 4096;
/// Parts of the vault that grants of folders cover and that are kept in memory, each with an index of its own.
pub const VAULT_PARTS: usize = 8;
/// Bytes that are read from the queue of changes at once: some hundred events.
pub const EVENT_BUFFER_BYTES: usize = 16 * 1024;
/// Changed paths that are looked at one by one; of more a walk is cheaper. As many as the kernel's queue holds by default.
pub const CHANGED_PATHS: usize = 16_384;
/// A file that a program keeps open is taken for closed when it was not written to for so long.
pub const OPEN_FILE_PATIENCE: Duration = Duration::from_secs(60);
/// How often a vault whose changes are reported is walked all the same: a change through a hard link from elsewhere, or below
/// an overlay, is not reported.
pub const FULL_WALK_EVERY: Duration = Duration::from_secs(300);
/// A walk that takes less than this is made in front of the call when it is due: waiting is cheaper than being stale.
pub const WALK_IN_FRONT: Duration = Duration::from_millis(5);
/// A walk stays valid for this many times its own duration (rule 6 of the vault), so checking takes a tenth of the time.
pub const WALK_VALID_TIMES: u32 = 10;
/// The last walks, of which the shortest tells how long a walk takes on a machine that does nothing else.
pub const WALKS_COMPARED: usize = 8;
/// A file whose mtime lies this close before the moment it was read may change again within the same tick of the
/// file system's clock (10 ms on Linux without high-resolution stamps), so its stamp does not prove it unchanged.
pub const MTIME_TICK: Duration = Duration::from_millis(40);
/// The same for file systems that keep whole seconds (FAT keeps two).
pub const MTIME_COARSE_TICK: Duration = Duration::from_secs(3);
/// Bytes of the names of a file's extended attributes, and of the value of each: Linux's own limit.
pub const ATTRIBUTE_BYTES: usize = 64 * 1024;
/// Troubles with files and folders that are remembered so that each is logged once.
pub const WARNINGS: usize = 1_000;
/// Notes with malformed frontmatter that are named in the log at the usual level; a vault may have thousands.
pub const MALFORMED_SHOWN: u64 = 20;
/// A file that was written less than this ago, and not by us, may be half of what it is to be: programs that save in place
/// write piece by piece. Longer than any pause of theirs that was seen, shorter than a person notices.
pub const AT_REST: Duration = Duration::from_millis(250);
/// How often it is looked at meanwhile.
pub const AT_REST_LOOK: Duration = Duration::from_millis(20);
/// How long such a file is waited for at most; then it is one that never rests, such as a log, and nothing is changed.
pub const REST_PATIENCE: Duration = Duration::from_secs(2);
/// How often an edit is tried again when the file changed between reading and replacing it.
pub const EDIT_RETRIES: usize = 3;
/// Occurrences of an ambiguous text that are counted before giving up: the answer is no after two.
pub const OCCURRENCES: usize = 1_000;
/// Bytes that are compared to count them.
pub const OCCURRENCE_BYTES: usize = 16 * 1024 * 1024;
/// How often a folder that another process has locked for a rename is tried again, and the pause in between: two
/// seconds in all, thousands of times longer than a rename takes.
pub const FOLDER_LOCK_TRIES: u32 = 2_000;
/// See [`FOLDER_LOCK_TRIES`].
pub const FOLDER_LOCK_PAUSE: Duration = Duration::from_millis(1);
/// Names for a temporary file: another one is needed where a start of this program removes the first, which happens once in a start.
pub const TEMPORARY_TRIES: usize = 16;
/// Locks that serialise writers; two paths share one only by chance.
pub const WRITE_LOCKS: usize = 64;
