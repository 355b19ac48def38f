//! Changing files: a whole one, or one place in it. Atomic and durable. An edit is never made over a change that came in
//! between: the bytes are compared once more right before the rename, with the folder locked against our own kind, and the
//! last thing before it is a look whether the file stayed what it was while they were. What is left for another program are
//! the microseconds between that and the rename.

use super::error::Error;
use super::path::VaultPath;
use super::walk::read_stamped;
use super::{Stamp, Vault, count_lines, etag};
use crate::clock::{self, Deadline};
use crate::disk::{self, Mode};
use crate::limits;
use std::fs::{self, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use unicode_normalization::UnicodeNormalization;

/// The outcome of [`Vault::write`].
#[derive(Debug, PartialEq, Eq)]
pub struct Written {
    /// The path as it is on disk.
    pub path: VaultPath,
    /// Whether the file is new.
    pub created: bool,
    /// Bytes.
    pub size: usize,
    /// Lines.
    pub total_lines: usize,
    /// The etag of what was written.
    pub etag: String,
}

impl Vault {
    /// Creates a file, or replaces all of it.
    ///
    /// # Errors
    /// [`Error::Conflict`] when `if_match` is not the etag of the file, or somebody makes it at the same moment;
    /// [`Error::Busy`], [`Error::NotAllowed`], [`Error::TooLarge`],
    /// [`Error::ReadOnly`], [`Error::NotFound`] for a missing folder without `create_dirs`, or the disk's. The file
    /// then has its old bytes.
    pub fn write(&self, path: &VaultPath, content: &str, create_dirs: bool, if_match: Option<&str>) -> Result<Written, Error> {
        check_size(path, content.len())?;
        self.index.refuse_if_away()?;
        // A note that exists under the same name in another Unicode form is that note, not a second one beside it.
        let path = &self.jail.as_on_disk(path.clone());
        let top = self.jail.folder_that_is_there(path);
        let outcome = self.write_at(path, content, create_dirs, if_match);
        if outcome.is_err() {
            // Folders that were made for it go again.
            disk::remove_empty_folders(&self.jail.root().join(path.parent().as_str()), &top);
        }
        let before = outcome?;
        self.index.wrote(path);
        Ok(Written {
            path: path.clone(),
            created: before.is_none(),
            size: content.len(),
            total_lines: count_lines(content.as_bytes()),
            etag: etag(content.as_bytes()),
        })
    }

    /// What was there before.
    fn write_at(&self, path: &VaultPath, content: &str, create_dirs: bool, if_match: Option<&str>) -> Result<Option<Metadata>, Error> {
        let place = match self.jail.for_writing(path, create_dirs && if_match.is_none()) {
            Err(Error::NotFound { .. }) if if_match.is_some() => return Err(Error::Conflict(None)),
            other => other?,
        };
        let _turn = self.write_turn(&place);
        let before = existing(&place, path)?;
        let look = || {
            self.index.refuse_if_away()?;
            let Some(wanted) = if_match else { return Ok(()) };
            let (found, stayed) = disk::while_it_stays(&place, || current(&place, path));
            match found?.map(|bytes| etag(&bytes)) {
                Some(found) if found == wanted && stayed => Ok(()),
                Some(found) if found == wanted => Err(Error::Busy),
                found => Err(Error::Conflict(found)),
            }
        };
        look()?;
        let outcome = disk::replace(&place, content.as_bytes(), mode_of(before.as_ref()), look);
        outcome.map_err(|error| match naming(error, path) {
            // It was not there a moment ago, and nobody has read what is there now.
            Error::Busy => match current(&place, path) {
                Ok(found) => Error::Conflict(found.map(|bytes| etag(&bytes))),
                Err(error) => error,
            },
            other => other,
        })?;
        Ok(before)
    }

    /// The last look before a file is changed: the vault is there, and the file has these bytes, or is not there (`None`).
    ///
    /// # Errors
    /// [`Error::Busy`] when it is another; [`Error::Unavailable`], [`Error::TooLarge`], or the disk's.
    pub(super) fn is_still(&self, place: &Path, path: &VaultPath, known: Option<&[u8]>) -> Result<(), Error> {
        self.index.refuse_if_away()?;
        let (found, stayed) = disk::while_it_stays(place, || current(place, path));
        if found?.as_deref() == known && stayed { Ok(()) } else { Err(Error::Busy) }
    }

    /// Waits until a file that another program is writing in place is at rest; half of a file is no file to go on from, and
    /// what that program writes after it was replaced would be in no file at all.
    ///
    /// # Errors
    /// [`Error::Busy`] when it does not come to rest.
    fn wait_for_rest(&self, path: &VaultPath, place: &Path, patience: Deadline) -> Result<(), Error> {
        let (mut last, mut replaced) = (None, 0);
        while let Ok(found) = fs::metadata(place) {
            let stamp = Stamp::of(&found);
            // A program that goes on replacing it never leaves half of one.
            replaced += usize::from(last.replace(found.ino()).is_some_and(|last| last != found.ino()));
            // One that we wrote is whole. So is one that was put there whole: a rename is seen in the time at which the file
            // itself was changed, and not in that of its bytes.
            let is_ours = || self.index.get(path.as_str()).is_some_and(|known| known.stamp == stamp && known.is_ours);
            let was_put = (found.ctime(), found.ctime_nsec()) > (found.mtime(), found.mtime_nsec());
            if !stamp.is_younger_than(limits::AT_REST, clock::system()) || was_put || replaced > 1 || is_ours() {
                return Ok(());
            }
            if patience.left().is_none() {
                return Err(Error::Busy);
            }
            std::thread::sleep(limits::AT_REST_LOOK);
        }
        Ok(())
    }

    /// Whether a file of this size could be written there now; nothing is made.
    ///
    /// # Errors
    /// Those of [`Vault::write`].
    pub fn may_write(&self, path: &VaultPath, size: usize) -> Result<(), Error> {
        check_size(path, size)?;
        self.index.refuse_if_away()?;
        let mut folder = path.parent();
        let place = loop {
            match self.jail.existing(&folder) {
                Err(Error::NotFound { .. }) if !folder.is_root() => folder = folder.parent(),
                other => break other?,
            }
        };
        if !place.is_dir() {
            return Err(Error::NotAllowed { path: path.as_str().into(), why: "a name in it is a file, not a folder" });
        }
        if !disk::may_write_in(&place) {
            return Err(Error::ReadOnly(path.as_str().into()));
        }
        existing(&place.join(path.name()), path).map(drop)
    }

    /// Puts other bytes in the place of those that the caller knows (`None`: there is no file), missing folders included.
    ///
    /// # Errors
    /// [`Error::Busy`] when the file is not what the caller knows; those of [`Vault::write`].
    pub fn exchange(&self, path: &VaultPath, known: Option<&[u8]>, bytes: &[u8]) -> Result<(), Error> {
        check_size(path, bytes.len())?;
        self.index.refuse_if_away()?;
        let place = self.jail.for_writing(path, true)?;
        let _turn = self.write_turn(&place);
        self.wait_for_rest(path, &place, Deadline::after(limits::REST_PATIENCE))?;
        let before = existing(&place, path)?;
        let look = || self.is_still(&place, path, known);
        look()?;
        disk::replace(&place, bytes, mode_of(before.as_ref()), look).map_err(|error| naming(error, path))?;
        self.index.wrote(path);
        Ok(())
    }

    /// Removes a file with the bytes that the caller knows.
    ///
    /// # Errors
    /// [`Error::Busy`] when they are not those; [`Error::NotFound`], [`Error::ReadOnly`], or the disk's.
    pub fn remove(&self, path: &VaultPath, known: &[u8]) -> Result<(), Error> {
        let (path, place) = &self.locate(path)?;
        let _turn = self.write_turn(place);
        self.wait_for_rest(path, place, Deadline::after(limits::REST_PATIENCE))?;
        existing(place, path)?;
        disk::remove(place, || self.is_still(place, path, Some(known))).map_err(|error| naming(error, path))?;
        self.index.removed(path);
        Ok(())
    }

    /// Replaces the one place where `old_text` stands by `new_text`, byte for byte, and keeps every other byte. In a
    /// file with CRLF line ends, a text that is not found is looked for with CRLF too, and the replacement gets CRLF;
    /// so do new line ends where all others of the file are CRLF.
    ///
    /// # Errors
    /// [`Error::TextNotFound`], [`Error::TextNotUnique`], [`Error::Conflict`], [`Error::Busy`], and those of [`Vault::write`].
    pub fn edit(&self, path: &VaultPath, old_text: &str, new_text: &str, if_match: Option<&str>) -> Result<Written, Error> {
        let (path, place) = &self.locate(path)?;
        let _turn = self.write_turn(place);
        let patience = Deadline::after(limits::REST_PATIENCE);
        for _ in 0..limits::EDIT_RETRIES {
            self.wait_for_rest(path, place, patience)?;
            let bytes = self.bytes(path)?;
            if let Some(wanted) = if_match
                && etag(&bytes) != wanted
            {
                return Err(Error::Conflict(Some(etag(&bytes))));
            }
            let edited = replace_once(&bytes, old_text, new_text)?;
            check_size(path, edited.len())?;
            let before = existing(place, path)?;
            // Another program may have saved the file since it was read. Its bytes are compared again at the last
            // moment; if they differ, the edit is made anew in what it wrote.
            match disk::replace(place, &edited, mode_of(before.as_ref()), || self.is_still(place, path, Some(&bytes))) {
                Err(Error::Busy) => continue,
                other => other.map_err(|error| naming(error, path))?,
            }
            self.index.wrote(path);
            return Ok(Written {
                path: path.clone(),
                created: false,
                size: edited.len(),
                total_lines: count_lines(&edited),
                etag: etag(&edited),
            });
        }
        let bytes = self.bytes(path)?;
        Err(Error::Conflict(Some(etag(&bytes))))
    }
}

fn check_size(path: &VaultPath, size: usize) -> Result<(), Error> {
    if size as u64 > limits::NOTE_BYTES {
        return Err(Error::TooLarge { path: path.as_str().into(), size: size as u64, limit: limits::NOTE_BYTES });
    }
    Ok(())
}

pub(super) fn existing(place: &Path, path: &VaultPath) -> Result<Option<Metadata>, Error> {
    match fs::metadata(place) {
        // A rename would replace even a file that its owner made read-only; that mark is a wish to be respected.
        Ok(metadata) if metadata.mode() & 0o222 == 0 => Err(Error::ReadOnly(path.as_str().into())),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::disk("write the file", path.as_str())(error)),
    }
}

/// The bytes of the file at this moment; `None` when it is gone. A file too large to be read here has no etag that
/// anybody could have been given.
fn current(place: &Path, path: &VaultPath) -> Result<Option<Vec<u8>>, Error> {
    match read_stamped(place, limits::NOTE_BYTES + 1) {
        Ok((bytes, ..)) => check_size(path, bytes.len()).map(|()| Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::disk("read the file", path.as_str())(error)),
    }
}

fn mode_of(before: Option<&Metadata>) -> Mode<'_> {
    before.map_or(Mode::New, Mode::Like)
}

/// A failure of the disk under the name the caller knows. One that has a name already is in the log.
pub(super) fn naming(error: Error, path: &VaultPath) -> Error {
    match error {
        Error::Disk { cause, .. } if cause.kind() == std::io::ErrorKind::AlreadyExists => Error::Busy,
        Error::Disk { doing, path: unnamed, cause } if unnamed.is_empty() => {
            log::error!("could not {doing} {:?}: {cause}", path.as_str());
            Error::Disk { doing, path: path.as_str().into(), cause }
        }
        Error::ReadOnly(_) => Error::ReadOnly(path.as_str().into()),
        Error::NotFound { hint, .. } => Error::NotFound { path: path.as_str().into(), hint },
        other => other,
    }
}

/// The bytes with the one place where `old_text` stands replaced. Line ends of both kinds are the same for finding it, and those
/// of the new text become those of the file: CR LF, or LF, or, in a file with both, what the replaced place has.
pub(super) fn replace_once(bytes: &[u8], old_text: &str, new_text: &str) -> Result<Vec<u8>, Error> {
    let splits = |at: usize| at > 0 && bytes.get(at - 1) == Some(&b'\r') && bytes.get(at) == Some(&b'\n');
    let exact = occurrences(bytes, old_text.as_bytes());
    let place = match exact {
        Some((_, count)) if count > 1 && !old_text.starts_with('\n') && !old_text.ends_with('\r') => {
            return Err(Error::TextNotUnique(count));
        }
        Some((at, 1)) if !splits(at) && !splits(at + old_text.len()) => at..at + old_text.len(),
        _ => find_with_any_line_ends(bytes, old_text)?,
    };
    let new_text = with_line_ends(new_text, bytes, &place);
    let (Some(before), Some(after)) = (bytes.get(..place.start), bytes.get(place.end..)) else {
        return Err(Error::TextNotFound(nearly(bytes, old_text)));
    };
    Ok([before, new_text.as_bytes(), after].concat())
}

/// Where a text stands when CR LF and LF are the same; whole line ends of the file.
fn find_with_any_line_ends(bytes: &[u8], text: &str) -> Result<Range<usize>, Error> {
    let not_found = || Error::TextNotFound(nearly(bytes, text));
    let carriage_returns: Vec<usize> = memchr::memmem::find_iter(bytes, b"\r\n").collect();
    if carriage_returns.is_empty() && !text.contains("\r\n") {
        return Err(not_found());
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for &at in &carriage_returns {
        plain.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        from = at + 1;
    }
    plain.extend_from_slice(bytes.get(from..).unwrap_or_default());
    let wanted = text.replace("\r\n", "\n");
    match occurrences(&plain, wanted.as_bytes()) {
        None => Err(not_found()),
        Some((_, count)) if count > 1 => Err(Error::TextNotUnique(count)),
        Some((at, _)) => {
            // One was taken out for each line end that began before.
            let removed_before = |plain_at: usize| {
                let (mut low, mut high) = (0, carriage_returns.len());
                while low < high {
                    let middle = (low + high) / 2;
                    if carriage_returns.get(middle).is_some_and(|&at| at - middle < plain_at) { low = middle + 1 } else { high = middle }
                }
                low
            };
            let end = at + wanted.len();
            Ok(at + removed_before(at)..end + removed_before(end))
        }
    }
}

/// A text with the line ends of a file, as they are at a place of it.
fn with_line_ends(text: &str, bytes: &[u8], place: &Range<usize>) -> String {
    let is_crlf = |end: usize| end > 0 && bytes.get(end - 1) == Some(&b'\r');
    let within = bytes.get(place.clone()).and_then(|part| memchr::memchr(b'\n', part)).map(|at| place.start + at);
    let behind = || bytes.get(place.end..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|at| place.end + at);
    let before = || bytes.get(..place.start).and_then(|part| memchr::memrchr(b'\n', part));
    let Some(end) = within.or_else(behind).or_else(before) else { return text.to_owned() };
    let lines = text.replace("\r\n", "\n");
    // A carriage return alone would become half of a line end beside what follows; in a file that has such it is kept.
    let has_lone = memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'));
    let lines = if has_lone { lines } else { lines.replace('\r', "\n") };
    if is_crlf(end) { lines.replace('\n', "\r\n") } else { lines }
}

/// Where a text first stands and how often (counted up to [`limits::OCCURRENCES`]), overlapping places included: `aa`
/// stands twice in `aaa`, and nobody can tell which is meant.
fn occurrences(bytes: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let finder = memchr::memmem::Finder::new(text);
    let first = finder.find(bytes)?;
    // In a text that repeats itself each comparison goes over all of a long one.
    let most = (limits::OCCURRENCE_BYTES / text.len().max(1)).clamp(2, limits::OCCURRENCES);
    let (mut count, mut from) = (1, first + 1);
    while count < most
        && let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest))
    {
        count += 1;
        from += found + 1;
    }
    Some((first, count))
}

/// What a model most often gets wrong, said so that the next try works.
fn nearly(bytes: &[u8], old_text: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    if old_text.contains('\u{fffd}') && matches!(text, std::borrow::Cow::Owned(_)) && text.contains(old_text) {
        return "It has U+FFFD where the file has bytes that are not UTF-8: choose a piece of text without them.".into();
    }
    let composed = |text: &str| text.nfc().collect::<String>();
    if !old_text.is_ascii() && composed(&text).contains(&composed(old_text)) {
        return "It is there in another Unicode form (composed and decomposed letters look the same): copy it from a new read, or choose a piece of text without accents.".into();
    }
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = plain(old_text);
    if !wanted.is_empty() && plain(&text).contains(&wanted) {
        return "It is there with other white space or line breaks: read the file again and copy the text exactly.".into();
    }
    let first = old_text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match text.lines().position(|line| line.trim() == first) {
        Some(line) if !first.is_empty() => {
            format!("Its first line stands in line {}, but what follows differs: read from there and copy the text exactly.", line + 1)
        }
        _ => "Read the file again; it may have changed.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> Result<String, Error> {
        replace_once(text.as_bytes(), old, new).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn one_place_changes_and_nothing_else() {
        assert_eq!(edit("a\nb\nc", "b", "$1 \\0 &").unwrap(), "a\n$1 \\0 &\nc");
        assert_eq!(edit("a.c abc", "a.c", "x").unwrap(), "x abc", "never a pattern");
        assert_eq!(edit("\u{feff}a\r\nb\r\nc", "a\nb", "x\ny\nz").unwrap(), "\u{feff}x\r\ny\r\nz\r\nc");
        assert_eq!(edit("a\r\nb\r\n", "b", "x\ny").unwrap(), "a\r\nx\r\ny\r\n", "the file keeps CRLF");
        assert_eq!(edit("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny").unwrap(), "x\r\ny\r\nc\r\n");
        assert_eq!(edit("a\r\nb\n", "b", "x\ny").unwrap(), "a\r\nx\ny\n", "a file of both kinds gets what was given");
        assert_eq!(edit("a\r\nb\n", "a\r\nb", "q").unwrap(), "q\n", "an exact match is taken as it is");
        assert_eq!(edit("keep", "keep", "").unwrap(), "");
        assert_eq!(edit("a\r\nb\r\nc\r\n", "\nb", "\nB").unwrap(), "a\r\nB\r\nc\r\n", "a line end is not split");
        assert_eq!(edit("a\r\nb\r\nc\r\n", "\nb", "").unwrap(), "a\r\nc\r\n");
        assert_eq!(edit("a\r\nb\nc", "a\nb\nc", "x\ny").unwrap(), "x\r\ny", "line ends of both kinds are found");
        assert_eq!(edit("a\nb\n", "a\r\nb", "x\r\ny").unwrap(), "x\ny\n", "a file with LF keeps it");
        assert!(edit("a\r\nb", "a\r", "x").is_err(), "half of a line end");
        assert!(matches!(edit("x\r\ny\r\nx\r\ny", "x\ny", ""), Err(Error::TextNotUnique(2))));
    }

    /// Texts and edits by chance.
    #[test]
    fn the_line_ends_of_a_file_stay_what_they_were() {
        let mut random = crate::text::random::Random::new();
        for eol in ["\n", "\r\n"] {
            for _ in 0..5_000 {
                let mut any = |pieces: &[&str], count: usize| {
                    (0..random.below(count)).map(|_| pieces[random.below(pieces.len())]).collect::<String>()
                };
                let text = any(&["a", "b", eol, "ü"], 12);
                let (old, new) = (any(&["a", "b", "\n", "\r\n", "\r", "ü"], 5), any(&["x", "\n", "\r\n", "\r"], 5));
                if old.is_empty() {
                    continue;
                }
                let Ok(edited) = edit(&text, &old, &new) else { continue };
                let others = edited.replace(eol, "").contains(['\r', '\n']);
                assert!(!others || !text.contains('\n'), "{text:?}: {old:?} to {new:?} gave {edited:?}");
                // Outside of the replaced place all is as it was.
                let lines = |text: &str| text.replace("\r\n", "\n");
                if text.contains('\n') {
                    let wanted = lines(&text).replacen(&lines(&old), &lines(&new).replace('\r', "\n"), 1);
                    assert_eq!(lines(&edited), wanted, "{text:?}: {old:?} to {new:?}");
                }
            }
        }
    }

    #[test]
    fn a_text_that_is_missing_or_ambiguous_changes_nothing() {
        assert!(matches!(edit("aaa", "aa", "b"), Err(Error::TextNotUnique(2))));
        assert!(matches!(edit("x x x", "x", "b"), Err(Error::TextNotUnique(3))));
        let Err(Error::TextNotFound(hint)) = edit("one  two", "one two", "") else { panic!() };
        assert!(hint.contains("white space"), "{hint}");
        for (text, old, word) in [
            ("cafe\u{301} au lait", "café au", "Unicode form"),
            ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "Unicode form"),
        ] {
            let Err(Error::TextNotFound(hint)) = edit(text, old, "") else { panic!("{text}") };
            assert!(hint.contains(word), "{hint}");
        }
        let Err(Error::TextNotFound(hint)) = replace_once(b"caf\xe9 au lait", "caf\u{fffd} au", "") else { panic!() };
        assert!(hint.contains("not UTF-8"), "{hint}");
        let Err(Error::TextNotFound(hint)) = edit("a\nfirst\nother", "first\nsecond", "") else { panic!() };
        assert!(hint.contains("line 2"), "{hint}");
    }
}
