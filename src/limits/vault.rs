//! Bounds on files, and on watching, indexing and writing them.

use std::time::Duration;

/// The largest file that is read, edited or written as text, bytes. Obsidian itself becomes
/// unusable far below.
pub const NOTE_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes of a file that are read at a time where it is hashed without being held in memory.
pub const HASHED_AT_ONCE: usize = 64 * 1024;
/// The largest file whose text is kept for search, bytes; larger ones are found by name.
pub const INDEXED_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes at the start of a file with an unknown extension that decide whether it is text.
pub const SNIFFED_BYTES: u64 = 1024;
/// All text kept for search, bytes, including its folded form where that differs, and
/// [`INDEX_ENTRY_BYTES`] per file. Further files are found only by name, tag and property. With the
/// names of [`FILES`], bodies and responses it fits into the unit's MemoryMax.
pub const INDEX_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes that the index needs for a file in addition to its text.
pub const INDEX_ENTRY_BYTES: u64 = 600;
/// Total bytes of frontmatter kept for files whose text is not, in addition to [`INDEX_BYTES`].
pub const INDEX_HEAD_BYTES: u64 = 32 * 1024 * 1024;
/// Files in the index, half a kilobyte each; beyond it a warning is logged and the rest is not
/// seen.
pub const FILES: usize = 500_000;
/// Nesting depth of folders.
pub const DEPTH: usize = 64;
/// Bytes of a path below the vault.
pub const PATH_BYTES: usize = 1024;
/// Bytes of one name in a path: the limit of Linux file systems.
pub const NAME_BYTES: usize = 255;
/// Bytes of frontmatter that are parsed: YAML beyond that is not metadata.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// Bytes of a YAML anchor or tag that may precede a quoted link.
pub const ANCHOR_BYTES: usize = 32;
/// Values in one parsed YAML document, aliases counted at each use. The longest frontmatter without
/// aliases has half as many.
pub const YAML_NODES: usize = 64 * 1024;
/// Bytes of text in the values of one YAML document, aliases counted at each use: four times
/// [`FRONTMATTER_BYTES`].
pub const YAML_BYTES: usize = 256 * 1024;
/// Brackets open at the same time in a YAML document: `serde_yaml` accepts 128 levels, and its
/// scanner takes time quadratic in their number.
pub const YAML_BRACKETS: usize = 256;
/// Tags of one note; a note that lists the tags of a vault may have hundreds.
pub const TAGS: usize = 1024;
/// How long a file that has just become empty is read again: apps that save in place were seen to
/// leave it empty for 5 to 50 ms.
pub const EMPTIED_PATIENCE: Duration = Duration::from_millis(250);
/// How often.
pub const EMPTIED_POLL: Duration = Duration::from_millis(5);

/// Links of one note or canvas that are read; a list of all notes of a large vault has a tenth.
pub const LINKS: usize = 50_000;
/// How long a call waits for the links of all notes to be read. What was read by then stays, so the
/// next call gets on.
pub const LINK_INDEX_WAIT: Duration = Duration::from_secs(20);
/// Files whose links are read before they are added to the link index, and bytes of their text: so
/// many are read again after a call was cancelled.
pub const LINK_INDEX_BATCH: usize = 4096;
/// See [`LINK_INDEX_BATCH`].
pub const LINK_INDEX_BATCH_BYTES: u64 = 32 * 1024 * 1024;

/// Bytes of a code span, inline math or a link target: what is not closed by then is plain text, so
/// that a note with a million opening delimiters does not take quadratic time.
pub const INLINE_BYTES: usize = 4096;
/// Views of the vault for grants limited to folders, each with its own tables.
pub const VAULT_PARTS: usize = 8;
/// Bytes read from the event queue at once: a few hundred events.
pub const EVENT_BUFFER_BYTES: usize = 16 * 1024;
/// Changed paths that are updated one by one; for more, a walk is cheaper. As many as the kernel's
/// queue holds by default.
pub const CHANGED_PATHS: usize = 16_384;
/// How often a vault whose changes are reported is walked all the same: changes through a hard link
/// elsewhere, or below an overlay, are not reported.
pub const FULL_WALK_EVERY: Duration = Duration::from_secs(300);
/// A walk stays valid for this many times its own duration (rule 6 of the vault), so walking takes
/// at most a tenth of the time.
pub const WALK_VALID_TIMES: u32 = 10;
/// A file whose mtime is less than this before it was read may change again within the same tick of
/// the file system's clock (10 ms on Linux without high-resolution timestamps), so its stamp does
/// not prove it unchanged.
pub const MTIME_TICK: Duration = Duration::from_millis(40);
/// The same for file systems that keep whole seconds (FAT keeps two).
pub const MTIME_COARSE_TICK: Duration = Duration::from_secs(3);
/// Bytes of the names of a file's extended attributes, and of the value of each: Linux's own limit.
pub const ATTRIBUTE_BYTES: usize = 64 * 1024;
/// Warnings of one kind about files and folders that are logged; a vault may have thousands of
/// malformed notes.
pub const WARNINGS: usize = 20;
/// A file written less than this ago, and not by us, may be incomplete: programs that save in place
/// write piece by piece. Longer than any observed pause between pieces, shorter than a person
/// notices.
pub const AT_REST: Duration = Duration::from_millis(250);
/// How often it is checked meanwhile.
pub const AT_REST_POLL: Duration = Duration::from_millis(20);
/// The longest wait for such a file; one that is still being written, such as a log, is not
/// changed.
pub const REST_PATIENCE: Duration = Duration::from_secs(2);
/// Attempts at an edit if the file changes between reading and replacing it.
pub const EDIT_ATTEMPTS: usize = 3;
/// Occurrences of an ambiguous text that are counted: two are enough to refuse the edit.
pub const OCCURRENCES: usize = 1_000;
/// Bytes compared while occurrences are counted.
pub const OCCURRENCE_BYTES: usize = 16 * 1024 * 1024;
/// Names tried for a temporary file: a starting instance of this program may remove the first one,
/// once per start.
pub const TEMPORARY_TRIES: usize = 16;
