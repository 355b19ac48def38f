//! Reads a file of the vault into an index entry.

use crate::markdown::{self, frontmatter};
use crate::text::fold::fold;
use crate::text::kept::Kept;
use crate::vault::entry::{Entry, Stamp, Text, folded_if_other};
use crate::vault::error::{description, warn_once};
use crate::vault::index::Index;
use crate::vault::index::walk::{self, StampedBytes};
use crate::vault::jail::ResolvedPath;
use crate::vault::media::{self, Kind};
use crate::{clock, limits};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Total bytes of frontmatter kept for files whose text is not, in addition to [`limits::INDEX_BYTES`].
const INDEX_HEAD_BYTES: u64 = 32 * 1024 * 1024;

impl Index {
    /// Reads a file into an entry.
    pub(crate) fn load(&self, path: &str, on_disk: &ResolvedPath) -> Option<Entry> {
        let kind = media::of(path).0;
        let is_text = kind == Kind::Text || kind == Kind::Other && walk::looks_like_text(on_disk);
        if !is_text {
            let stamp = Stamp::of(&on_disk.metadata().ok()?);
            return Some(entry_of(path, stamp, &[], Text::None, false));
        }
        let seen = clock::system();
        match walk::read_stamped(on_disk, limits::INDEXED_BYTES + 1) {
            Ok(StampedBytes { bytes, stamp, is_stable }) => {
                let uncertain = !is_stable || stamp.may_hide_a_change(seen);
                Some(self.entry_with(path, stamp, bytes, uncertain))
            }
            Err(error) => {
                let why = format!("{path:?} cannot be read: {}", description(&error));
                warn_once("unreadable files", why);
                // The stamp stays uncertain, so that each event reads it again: granting the right
                // to read may not change the stamp.
                let nothing = Text::NotKept { frontmatter: Box::default(), hash: 0 };
                let stamp = Stamp::of(&on_disk.metadata().ok()?);
                Some(entry_of(path, stamp, &[], nothing, true))
            }
        }
    }

    /// The entry of a file whose name, or beginning, says that it is text; `bytes` are its first
    /// [`limits::INDEXED_BYTES`], and one more of a longer one.
    pub(crate) fn entry_with(
        &self,
        path: &str,
        stamp: Stamp,
        bytes: Vec<u8>,
        uncertain: bool,
    ) -> Entry {
        let (kind, media_type) = media::of(path);
        let is_whole = bytes.len() as u64 <= limits::INDEXED_BYTES;
        let text = match String::from_utf8(bytes) {
            // It begins as text, but is binary. Of a file that was not read to its end, the last
            // character may be cut.
            Err(error)
                if kind == Kind::Other
                    && (is_whole || error.utf8_error().error_len().is_some()) =>
            {
                return entry_of(path, stamp, &[], Text::None, uncertain);
            }
            Ok(text) => text,
            Err(error) if is_whole => {
                let why = format!("{path:?} is not UTF-8: it is found by name only");
                warn_once("UTF-8", why);
                let hash = hash_of(error.as_bytes());
                let text = Text::NotKept { frontmatter: Box::default(), hash };
                return entry_of(path, stamp, &[], text, uncertain);
            }
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let tags = if media_type == "text/markdown" {
            let (tags, problem) = markdown::tags(&text);
            if let Some(problem) = problem {
                warn_once("frontmatter", format!("frontmatter of {path:?} is ignored: {problem}"));
            }
            tags
        } else {
            Vec::new()
        };
        entry_of(path, stamp, &tags, self.text_to_keep(path, &text, is_whole), uncertain)
    }

    /// What the index keeps of a file's text. `is_whole` is false if the file was not read to its
    /// end.
    fn text_to_keep(&self, path: &str, text: &str, is_whole: bool) -> Text {
        // Without the text that this one replaces.
        let kept_bytes = self.with_table(|table| {
            table.kept_bytes - table.entries.get(path).map_or(0, |known| known.text.kept_bytes())
        });
        if is_whole && kept_bytes + text.len() as u64 <= limits::INDEX_BYTES {
            return Text::Kept(Kept::of(text));
        }
        if is_whole {
            let most = limits::INDEX_BYTES >> 20;
            warn_once(
                "the size of the vault",
                format!(
                    "the vault has more than {most} MB of text: the rest is found by name, tag \
                     and property only"
                ),
            );
        } else {
            let most = limits::INDEXED_BYTES >> 20;
            warn_once(
                "large files",
                format!(
                    "{path:?} is larger than {most} MB: it is found by name, tag and property only"
                ),
            );
        }
        let head = frontmatter::head(text);
        let head_fits = kept_bytes + head.len() as u64 <= limits::INDEX_BYTES + INDEX_HEAD_BYTES;
        Text::NotKept {
            frontmatter: if head_fits { head.into() } else { Box::default() },
            // Of a file that was not read to its end, a random number: the file counts as changed.
            hash: if is_whole {
                hash_of(text.as_bytes())
            } else {
                RandomState::new().build_hasher().finish()
            },
        }
    }
}

fn entry_of(path: &str, stamp: Stamp, tags: &[String], text: Text, uncertain: bool) -> Entry {
    Entry {
        path: path.into(),
        stamp,
        folded_tags: folded_tags(tags),
        tags: tags.iter().map(|tag| tag.as_str().into()).collect(),
        folded_path: folded_if_other(path),
        text,
        properties: OnceLock::new(),
        tasks: OnceLock::new(),
        id: 0,
        uncertain,
        written_by_us: AtomicBool::new(false),
        version: 0,
        check: 0,
    }
}

/// The folded tags, if folding changes any.
fn folded_tags(tags: &[String]) -> Option<Box<[Box<str>]>> {
    let folded: Box<[Box<str>]> = tags.iter().map(|tag| fold(tag).into_boxed_str()).collect();
    let same = folded.iter().zip(tags).all(|(folded, tag)| **folded == **tag);
    (!same).then_some(folded)
}

fn hash_of(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
