//! Reading one file: a range of lines, or an image, audio file or PDF as bytes.

use super::entry::{Entry, Stamp, Text};
use super::error::Error;
use super::index::walk::{self, StampedBytes};
use super::media::{self, Kind};
use super::path::VaultPath;
#[cfg(feature = "pictures")]
use super::picture::{self, Scaled};
use super::{Vault, count_lines, etag, hash_of_all};
use crate::slice::Part;
use crate::{disk, limits};
use std::fs::Metadata;
use std::io::Read as _;
use std::path::Path;

/// Bytes of an image, audio file or PDF returned to a client: Claude Desktop accepts results up to
/// 1 MB, and base64 adds a third.
const BLOB_BYTES: u64 = 700 * 1024;

/// Which part of a text is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// First line, from 1.
    pub offset: usize,
    /// First character of that line, from 1; another than 1 where the previous answer ended within
    /// a line.
    pub column: usize,
    /// Lines at most; 0 means all that follow.
    pub limit: usize,
    /// Characters at most, counted as they appear in a JSON string.
    pub max_chars: usize,
}

/// What a file holds.
#[derive(Debug)]
pub enum Content {
    /// A range of lines.
    Lines(Lines),
    /// A file that is not text, whole.
    Blob {
        /// Its bytes.
        bytes: Vec<u8>,
        /// What it is.
        kind: Kind,
        /// Its media type.
        media_type: &'static str,
    },
    /// A picture that was too large.
    #[cfg(feature = "pictures")]
    Scaled(Scaled),
}

/// A range of lines of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Lines {
    /// Lines in the whole text.
    pub total_lines: usize,
    /// First and last line shown; `(0, 0)` for an empty file.
    pub showing: (usize, usize),
    /// The exact text of these lines, line ends included.
    pub content: String,
    /// Line and column where the rest of the range begins, if it did not fit.
    pub next: Option<(usize, usize)>,
    /// Whether bytes that are not UTF-8 were replaced by U+FFFD.
    pub lossy: bool,
}

/// A file as it was read.
#[derive(Debug)]
pub struct Read {
    /// What it holds.
    pub content: Content,
    /// Size and time.
    pub stamp: Stamp,
    /// For `if_match`.
    pub etag: String,
}

impl Content {
    /// What a file of this name with these bytes holds; the range is that of a text.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::NotText`], [`Error::InvalidRange`].
    pub fn of(path: &VaultPath, bytes: Vec<u8>, range: Range) -> Result<Content, Error> {
        let (kind, media_type) = media::of(path.name());
        if matches!(kind, Kind::Image | Kind::Audio | Kind::Pdf) {
            let size = bytes.len() as u64;
            #[cfg(feature = "pictures")]
            if size > BLOB_BYTES && kind == Kind::Image {
                return Ok(Content::Scaled(picture::scaled(path, &bytes, BLOB_BYTES)?));
            }
            if size > BLOB_BYTES {
                return Err(Error::TooLarge {
                    path: path.as_str().into(),
                    size,
                    limit: BLOB_BYTES,
                });
            }
            return Ok(Content::Blob { bytes, kind, media_type });
        }
        // Text contains no NUL; other bytes that are not UTF-8 are replaced in a file whose name
        // says that it is text.
        match utf8(path, &bytes) {
            Ok(text) => Ok(Content::Lines(lines(text, range, false)?)),
            Err(_) if kind == Kind::Text && memchr::memchr(0, &bytes).is_none() => {
                Ok(Content::Lines(lines(&String::from_utf8_lossy(&bytes), range, true)?))
            }
            Err(error) => Err(error),
        }
    }
}

/// Bytes of a file that are hashed at most: a deleted one may be a film.
const HASHED_BYTES: u64 = 128 * 1024 * 1024;

impl Vault {
    /// The text of a note, and its etag.
    ///
    /// # Errors
    /// As [`Vault::bytes`]; [`Error::NotText`].
    pub fn note(&self, path: &VaultPath) -> Result<(String, String), Error> {
        let bytes = self.bytes(path)?;
        let text = utf8(path, &bytes)?.to_owned();
        Ok((text, etag(&bytes)))
    }

    /// Reads a file. `range` applies to text only; other files are read whole.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotAllowed`], [`Error::TooLarge`], [`Error::NotText`],
    /// [`Error::InvalidRange`], or the disk's.
    pub fn read(&self, path: &VaultPath, range: Range) -> Result<Read, Error> {
        let (kind, _) = media::of(path.name());
        let limit = match kind {
            #[cfg(feature = "pictures")]
            Kind::Image => picture::PICTURE_BYTES,
            #[cfg(not(feature = "pictures"))]
            Kind::Image => BLOB_BYTES,
            Kind::Audio | Kind::Pdf => BLOB_BYTES,
            Kind::Text | Kind::Other => limits::NOTE_BYTES,
        };
        let (bytes, stamp) = self.bytes_up_to(path, limit)?;
        let etag = etag(&bytes);
        let content = Content::of(path, bytes, range)?;
        Ok(Read { content, stamp, etag })
    }

    /// All bytes of a file, to be returned as they are.
    ///
    /// # Errors
    /// As [`Vault::read`]; [`Error::TooLarge`] above `BLOB_BYTES`.
    pub fn blob(&self, path: &VaultPath) -> Result<Vec<u8>, Error> {
        self.bytes_up_to(path, BLOB_BYTES).map(|(bytes, _)| bytes)
    }

    /// All bytes of a note.
    ///
    /// # Errors
    /// As [`Vault::read`].
    pub fn bytes(&self, path: &VaultPath) -> Result<Vec<u8>, Error> {
        self.bytes_up_to(path, limits::NOTE_BYTES).map(|(bytes, _)| bytes)
    }

    /// All bytes of a note; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Vault::read`], except [`Error::NotFound`].
    pub fn bytes_if_any(&self, path: &VaultPath) -> Result<Option<Vec<u8>>, Error> {
        Error::none_if_missing(self.bytes(path))
    }

    /// The SHA-256 of a file's first bytes, `HASHED_BYTES` at most, in hexadecimal;
    /// `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Vault::bytes_if_any`], except [`Error::TooLarge`].
    pub fn hash_if_any(&self, path: &VaultPath) -> Result<Option<String>, Error> {
        let Some((on_disk, found)) = Error::none_if_missing(self.locate(path))? else {
            return Ok(None);
        };
        check_is_file(path, &found)?;
        let first_bytes = disk::open_plain(&on_disk).map(|file| file.take(HASHED_BYTES));
        first_bytes
            .and_then(hash_of_all)
            .map(Some)
            .map_err(Error::disk("read the file", path.as_str()))
    }

    /// The bytes of a file unchanged since it was indexed. Its inode is the same and access was
    /// checked then, so its path need not be resolved again. `None` if it has changed or is too
    /// large.
    fn bytes_as_indexed(&self, entry: &Entry, limit: u64) -> Option<Vec<u8>> {
        let on_disk = self.jail.root().join(&*entry.path);
        let read = |limit| {
            walk::read_stamped(&on_disk, limit + 1)
                .ok()
                .filter(|read| read.is_stable && read.stamp == entry.stamp)
        };
        Some(entry.stamp.size).filter(|size| *size <= limit).and_then(read).map(|read| read.bytes)
    }

    fn bytes_up_to(&self, path: &VaultPath, limit: u64) -> Result<(Vec<u8>, Stamp), Error> {
        if let Some(entry) = self.view.get(path.as_str())
            && let Some(bytes) = self.bytes_as_indexed(&entry, limit)
        {
            return Ok((bytes, entry.stamp));
        }
        let (on_disk, found) = self.locate(path)?;
        let StampedBytes { bytes, stamp, .. } = bytes_on_disk(path, &on_disk, &found, limit)?;
        Ok((bytes, stamp))
    }

    /// The whole text of a file, from the index if that has it. Does not lock the index, so the
    /// caller may hold its lock.
    ///
    /// # Errors
    /// As [`Vault::bytes`].
    pub fn text(&self, entry: &Entry) -> Result<String, Error> {
        if let Text::Kept(text) = &entry.text {
            return Ok(text.original());
        }
        if let Some(bytes) = self.bytes_as_indexed(entry, limits::NOTE_BYTES) {
            return Ok(text_of(bytes));
        }
        let path = VaultPath::unchecked(&entry.path);
        let (on_disk, found) = self.jail.look_up(&path)?;
        let read = bytes_on_disk(&path, &on_disk, &found, limits::NOTE_BYTES)?;
        Ok(text_of(read.bytes))
    }
}

/// The text of a file that is UTF-8, without a NUL.
///
/// # Errors
/// [`Error::NotText`].
pub(crate) fn utf8<'a>(path: &VaultPath, bytes: &'a [u8]) -> Result<&'a str, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) if memchr::memchr(0, bytes).is_none() => Ok(text),
        _ => Err(not_text(path, bytes)),
    }
}

fn not_text(path: &VaultPath, bytes: &[u8]) -> Error {
    let (kind, by_name) = media::of(path.name());
    let media_type = match bytes {
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => "text/plain; charset=utf-16",
        _ if kind == Kind::Text && memchr::memchr(0, bytes).is_none() => {
            "text of one byte a character, such as windows-1252"
        }
        _ => by_name,
    };
    Error::NotText { path: path.as_str().into(), size: bytes.len() as u64, media_type }
}

/// The bytes of a file of at most `limit` bytes.
fn bytes_on_disk(
    path: &VaultPath,
    on_disk: &Path,
    found: &Metadata,
    limit: u64,
) -> Result<StampedBytes, Error> {
    check_is_file(path, found)?;
    let check_size = |size| {
        if size > limit {
            Err(Error::TooLarge { path: path.as_str().into(), size, limit })
        } else {
            Ok(())
        }
    };
    check_size(found.len())?;
    let read = walk::read_stamped(on_disk, limit + 1)
        .map_err(Error::disk("read the file", path.as_str()))?;
    check_size(read.stamp.size.max(read.bytes.len() as u64))?;
    Ok(read)
}

/// Refuses a folder.
pub(crate) fn check_is_file(path: &VaultPath, found: &Metadata) -> Result<(), Error> {
    match found.is_dir() {
        true => Err(Error::NotAllowed {
            path: path.as_str().into(),
            why: "it is a folder; use vault_list",
        }),
        false => Ok(()),
    }
}

/// Bytes as text, with U+FFFD for what is not UTF-8.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Characters of a byte in a JSON string at most (`\u001b`).
const ESCAPED_MAX: usize = 6;

fn lines(text: &str, range: Range, lossy: bool) -> Result<Lines, Error> {
    let total_lines = count_lines(text.as_bytes());
    if range.offset < 1 || range.column < 1 {
        return Err(Error::InvalidRange("Lines and columns are counted from 1.".into()));
    }
    if total_lines == 0 && range.offset == 1 {
        return Ok(Lines {
            total_lines,
            showing: (0, 0),
            content: String::new(),
            next: None,
            lossy,
        });
    }
    if range.offset > total_lines {
        return Err(Error::InvalidRange(format!(
            "offset {} is past the end; the file has {total_lines} lines.",
            range.offset
        )));
    }
    let wanted = if range.limit == 0 { usize::MAX } else { range.limit };
    if range.column == 1 {
        let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let start = range.offset.checked_sub(2).and_then(|before| ends.nth(before)).unwrap_or(0);
        let end = ends.nth(wanted - 1).unwrap_or(text.len());
        // What fits even if each byte is escaped need not be counted.
        if let Some(all) =
            text.get(start..end).filter(|all| all.len() * ESCAPED_MAX <= range.max_chars)
        {
            let last = total_lines.min((range.offset - 1).saturating_add(wanted));
            return Ok(Lines {
                total_lines,
                showing: (range.offset, last),
                content: all.into(),
                next: None,
                lossy,
            });
        }
    }
    let mut content = String::new();
    let mut left = range.max_chars;
    let mut last = range.offset;
    for (index, line) in text.split_inclusive('\n').enumerate().skip(range.offset - 1).take(wanted)
    {
        let number = index + 1;
        let column = if number == range.offset { range.column } else { 1 };
        let start = line.char_indices().nth(column - 1).map(|(at, _)| at);
        let Some(part) = start.and_then(|start| line.get(start..)) else {
            return Err(Error::InvalidRange(format!(
                "column {column} is past the end of line {number}."
            )));
        };
        let fits = bytes_that_fit(part, &mut left);
        if fits == part.len() {
            content.push_str(part);
            last = number;
            continue;
        }
        // A line that would fit into a result of its own is not split.
        let mut whole = range.max_chars;
        let alone = content.is_empty() || bytes_that_fit(part, &mut whole) < part.len();
        let next = if alone {
            let piece = part.part(..fits);
            content.push_str(piece);
            if !piece.is_empty() {
                last = number;
            }
            (number, column + piece.chars().count())
        } else {
            (number, 1)
        };
        return Ok(Lines {
            total_lines,
            showing: (range.offset, last),
            content,
            next: Some(next),
            lossy,
        });
    }
    Ok(Lines { total_lines, showing: (range.offset, last), content, next: None, lossy })
}

/// How many bytes of `text` fit into `left` characters of a JSON string; reduces `left` by what
/// they use.
pub fn bytes_that_fit(text: &str, left: &mut usize) -> usize {
    for (at, c) in text.char_indices() {
        let cost = match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            '\0'..='\x1f' => 6,
            _ => 1,
        };
        match left.checked_sub(cost) {
            Some(rest) => *left = rest,
            None => return at,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, offset: usize, limit: usize, max_chars: usize) -> Lines {
        lines(text, Range { offset, column: 1, limit, max_chars }, false).unwrap()
    }

    #[test]
    fn lines_are_counted_as_people_do_and_shown_with_their_ends() {
        assert_eq!(read("a\nb\n", 1, 0, 99).total_lines, 2);
        assert_eq!(read("a\nb", 1, 0, 99).total_lines, 2);
        assert_eq!(read("\n", 1, 0, 99).total_lines, 1);
        let empty = read("", 1, 0, 99);
        assert_eq!((empty.total_lines, empty.showing, empty.next), (0, (0, 0), None));
        let part = read("a\r\nb\r\nc\r\nd", 2, 2, 99);
        assert_eq!((part.content.as_str(), part.showing, part.next), ("b\r\nc\r\n", (2, 3), None));
    }

    #[test]
    fn ranges_outside_are_errors() {
        for (text, offset, column) in
            [("a\n", 2, 1), ("a\n", 0, 1), ("a\n", 1, 0), ("", 2, 1), ("abc\n", 1, 9)]
        {
            let range = Range { offset, column, limit: 0, max_chars: 99 };
            assert!(
                matches!(lines(text, range, false), Err(Error::InvalidRange(_))),
                "{text:?} {offset} {column}"
            );
        }
    }

    /// Whatever the text and the budget, following `next` gives every byte exactly once.
    #[test]
    fn following_next_reads_everything_once() {
        let long = "x\"ü🎻".repeat(50);
        let text = format!("one\ntwo\r\n{long}\n\nlast {long}");
        for budget in [7, 13, 40, 151, 100_000] {
            let (mut offset, mut column, mut whole, mut steps) = (1, 1, String::new(), 0);
            loop {
                let part =
                    lines(&text, Range { offset, column, limit: 0, max_chars: budget }, false)
                        .unwrap();
                whole.push_str(&part.content);
                steps += 1;
                assert!(steps < 1000, "no progress with {budget}");
                match part.next {
                    Some(next) => (offset, column) = next,
                    None => break,
                }
            }
            assert_eq!(whole, text, "budget {budget}");
        }
    }
}
