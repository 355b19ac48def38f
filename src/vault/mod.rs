//! The vault: a folder of notes that people, a sync program and this server all read and write.
//! Uses `std::fs`, and system calls where that has none.
//!
//! Paths come in as text and are first parsed into [`VaultPath`]; absolute paths are passed only to
//! git and agent sessions. The types here are plain: `tools` decides how a model sees them. No file
//! is changed here, but for leftovers of a crash, which a walk removes.
//!
//! # Rules
//!
//! 1. Paths are relative to the root, and in NFC; where a name is in another form on disk,
//!    `spelling` finds it. A `..` segment, NUL, backslash or control character is refused.
//! 2. Hidden files and folders (any name that starts with `.`, Syncthing's temporary files and
//!    conflict copies, what `HIDE` names, and what a grant does not cover) are never listed, read,
//!    searched or written.
//! 3. Symbolic links are not followed: they are not listed, and refused if named, as is whatever is
//!    neither a file nor a folder.
//! 4. A change on disk is seen by the next call. A file is read again only when its size, times or
//!    inode changed. Where the file system does not report changes, a call walks the vault first
//!    when the last walk is older than ten of its durations.
//! 5. No message to a remote client contains an absolute path.
//! 6. Malformed or odd files cause a warning, and never make a call fail that is about other files.
//!
//! # Files
//!
//! | file | holds |
//! |---|---|
//! | [`path`], `scope`, `jail`, `spelling` | which paths are served, to whom, and where they are on disk |
//! | `index` | what is in the vault, kept in memory, checked against the disk (rule 4) |
//! | `entry` | a file as the index has it |
//! | [`list`], [`read`] | lists of files, and their contents |
//! | `names`, `obsidian` | how tools name a file, which new names are refused, and what Obsidian's settings say about names and folders |
//! | [`properties`] | frontmatter as values, and notes selected by them |
//! | [`media`] | the kind of a file, by its name |
//! | `parallel` | work on all cores |
//! | [`error`] | refusals and failures |

pub mod entry;
pub mod error;
pub mod index;
pub(crate) mod jail;
pub mod list;
pub mod media;
mod names;
pub(crate) mod obsidian;
pub(crate) mod parallel;
pub mod path;
#[cfg(feature = "pictures")]
pub mod picture;
pub mod properties;
pub mod read;
mod scope;
mod spelling;

use crate::quota::{Bounds, Permit, Quota};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::text::words::is_spelling;
use crate::{clock, limits, secret};
pub use entry::{Entry, Stamp};
pub use error::Error;
use index::Index;
pub use index::table::IndexedState;
use index::view::View;
use jail::{Jail, ResolvedPath};
#[cfg(feature = "notes")]
pub(crate) use names::has_iso_weeks;
pub use names::{Named, Template};
use parallel::cores;
use path::slash_separated;
pub use path::{REFUSED_CHARACTERS, VaultPath, composed, refused_elsewhere};
pub use read::bytes_that_fit;
pub use scope::{GrantedFolders, Hidden};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Costly calls (searches by regular expression, queries, readings of old versions) that may wait
/// per core while one per core runs; further ones are refused, so that workers remain available.
const COSTLY_CALLS_WAITING_PER_CORE: usize = 2;
/// Files of the same name among which the nearest are suggested if a path does not exist.
const SUGGESTED: usize = 1_000;
/// Characters that are enough of a name to suggest files with it in theirs.
const PART_OF_NAME_CHARS: usize = 4;
/// Bytes of a file that are read at a time where it is hashed without being held in memory.
const HASHED_AT_ONCE: usize = 64 * 1024;

/// One vault, or the part of it that a grant covers, shared by all threads: its files, from the
/// index and from the disk.
#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) jail: Arc<Jail>,
    /// The way to entries.
    pub(crate) view: Arc<View>,
    /// Permits for what is costly: regular expressions, queries, and reading the log of versions.
    costly_calls: Arc<Quota>,
}

impl Vault {
    /// Opens the folder at `root`. Nothing is read yet; the first call that needs the index fills
    /// it.
    ///
    /// # Errors
    /// What the operating system says about the folder.
    pub fn open(root: &Path) -> io::Result<Vault> {
        Vault::open_with(root, Arc::default())
    }

    /// As [`Vault::open`], but leaves out what the owner hides.
    pub fn open_with(root: &Path, hidden: Arc<Hidden>) -> io::Result<Vault> {
        let jail = Jail::new(root, hidden)?;
        let costly_calls = Quota::new(Bounds {
            total: cores(),
            per_owner: usize::MAX,
            waiting: cores() * COSTLY_CALLS_WAITING_PER_CORE,
        });
        let view = View::of_all(Arc::new(Index::new(jail.clone())));
        Ok(Vault { jail: Arc::new(jail), view: Arc::new(view), costly_calls })
    }

    /// The part of the vault that a grant covers.
    pub fn within(&self, folders: &Arc<GrantedFolders>) -> Vault {
        Vault {
            jail: Arc::new(self.jail.within(folders)),
            view: Arc::new(self.view.part(folders)),
            costly_calls: Arc::clone(&self.costly_calls),
        }
    }

    /// A permit for a costly call, of which one per core runs at a time.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when none became free in time.
    pub fn costly_call(&self) -> Result<Permit, Error> {
        self.costly_calls.take("", limits::SEARCH_TIME).ok_or(Error::Overloaded)
    }

    /// Refuses a change that the caller's grant does not allow.
    ///
    /// # Errors
    /// [`Error::NotGranted`].
    pub(crate) fn check_grant(&self, path: &str) -> Result<(), Error> {
        if self.jail.may_change(path) {
            return Ok(());
        }
        let refuses = |folders: &&Arc<GrantedFolders>| !folders.may_change(path);
        let folders = self
            .jail
            .folders
            .iter()
            .filter(refuses)
            .flat_map(|folders| &folders.write)
            .take(limits::CANDIDATES_SHOWN);
        let granted =
            folders.map(|folder| format!("{}/", folder.as_str())).collect::<Vec<_>>().join(", ");
        Err(Error::NotGranted { path: path.into(), granted })
    }

    /// Brings the index up to date by rule 6. Every operation that needs it does this by itself.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the vault's folder is gone; the index keeps what it had.
    pub fn refresh(&self) -> Result<(), Error> {
        self.view.refresh()
    }

    /// As [`Vault::refresh`], but waits only a short time for the first indexing: then the index
    /// has what was read so far. Gives whether it is still running.
    ///
    /// # Errors
    /// As [`Vault::refresh`].
    pub fn refresh_with_timeout(&self) -> Result<bool, Error> {
        self.view.refresh_with_timeout()
    }

    /// Waits until files have changed, or until a walk may find that they have, and brings the
    /// index up to date. For one thread.
    ///
    /// # Errors
    /// As [`Vault::refresh`].
    pub fn wait_for_change(&self) -> Result<(), Error> {
        self.view.wait_for_change()
    }

    /// As [`Vault::refresh`], but always checks the disk: for a change that depends on several
    /// files.
    ///
    /// # Errors
    /// As [`Vault::refresh`].
    pub fn refresh_now(&self) -> Result<(), Error> {
        self.view.take_changes(clock::instant())
    }

    /// The indexed files below a folder whose paths end with `suffix`, ignoring case, sorted by
    /// path.
    pub fn files_below(&self, folder: &VaultPath, suffix: &str) -> Vec<Arc<Entry>> {
        let ends = |path: &str| {
            path.len()
                .checked_sub(suffix.len())
                .and_then(|at| path.get(at..))
                .is_some_and(|found| found.eq_ignore_ascii_case(suffix))
        };
        self.view.below(folder, |entry| ends(&entry.path))
    }

    /// The entries of these numbers, as far as they are in the index.
    #[cfg(feature = "notes")]
    pub(crate) fn numbered(&self, ids: &[entry::Id]) -> Vec<Arc<Entry>> {
        self.view
            .with_table(|table| ids.iter().filter_map(|id| table.entry(*id)).cloned().collect())
    }

    /// The entry of a file, without checking the disk.
    pub fn indexed(&self, path: &str) -> Option<Arc<Entry>> {
        self.view.get(path)
    }

    /// The state of a file, or of a folder and all files below it, currently in the index.
    pub fn indexed_state(&self, path: &VaultPath) -> IndexedState {
        self.view.indexed_state(path)
    }

    /// The number of files currently in the index.
    pub fn size(&self) -> usize {
        self.view.read(|entries| entries.len())
    }

    /// A number that grows whenever a file appears in the vault or disappears from it.
    pub fn listing_generation(&self) -> u64 {
        self.view.with_table(|table| table.listing)
    }

    /// The entry of a file, brought up to date first.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotAllowed`] (also for a folder), or the disk's.
    pub fn entry(&self, path: &VaultPath) -> Result<Arc<Entry>, Error> {
        let (_, metadata) = self.locate(path)?;
        read::check_is_file(path, &metadata)?;
        self.view
            .refreshed(path, Stamp::of(&metadata))
            .ok_or_else(|| Error::NotFound { path: path.as_str().into(), hint: String::new() })
    }

    /// Whether the path of a file may be seen, if it exists.
    pub fn shows(&self, path: &str) -> bool {
        VaultPath::file(path).is_ok_and(|path| self.jail.shows(path.as_str()))
    }

    /// A path as it is on disk, where names may have another Unicode form, for git and for
    /// attachments.
    pub fn spelled<'a>(&self, path: &'a VaultPath) -> Cow<'a, str> {
        self.jail.spelled(path.as_str())
    }

    /// The vault's folder, for the module that runs git in it.
    pub fn root(&self) -> &Path {
        self.jail.root()
    }

    /// The absolute path of a file on this machine.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.jail.absolute(path)
    }

    /// The path below the root of an absolute path that begins with the root, under whatever name;
    /// `None` for any other.
    pub fn below_root(&self, absolute: &str) -> Option<String> {
        let absolute = Path::new(absolute);
        let is_root = |folder: &&Path| {
            folder.is_absolute()
                && folder.canonicalize().is_ok_and(|folder| folder == self.jail.root())
        };
        let below = absolute.strip_prefix(absolute.ancestors().find(is_root)?).ok()?;
        slash_separated(below)
    }

    /// Where an existing file or folder is on disk, and what was found there.
    pub(crate) fn locate(&self, path: &VaultPath) -> Result<(ResolvedPath, Metadata), Error> {
        self.jail.look_up(path).or_else(|error| {
            if !matches!(error, Error::NotFound { .. }) {
                return Err(error);
            }
            self.view.check_available()?;
            Err(Error::NotFound { hint: self.same_name_hint(path), path: path.as_str().into() })
        })
    }

    /// A sentence about files of the same name (whatever its case, accents, Unicode form and `.md`)
    /// or alias, or else about folders of that name, for an error a model can act on.
    fn same_name_hint(&self, path: &VaultPath) -> String {
        if self.refresh().is_err() {
            return String::new();
        }
        let folded = fold(path.name());
        let wanted = folded.strip_suffix(".md").unwrap_or(&folded);
        let mut found: Vec<String> = self.view.read(|entries| {
            let is_named = |name: &str| name == wanted || is_spelling(name, wanted);
            let is_alias = |entry: &Entry| entry.aliases().iter().any(|alias| is_named(alias));
            let alike = entries
                .values()
                .filter(|entry| is_named(entry::name_of(entry.searched_path())) || is_alias(entry));
            alike.take(SUGGESTED).map(|entry| entry.path.to_string()).collect()
        });
        // First those that share the longest prefix with the wanted path.
        let shared = |found: &str| {
            found.chars().zip(path.as_str().chars()).take_while(|(a, b)| a == b).count()
        };
        found.sort_by_key(|found| std::cmp::Reverse(shared(found)));
        found.truncate(3);
        if found.is_empty() {
            found = self.folders_named(path);
        }
        // A part of a name: `Plan` of `Plan v2`.
        if found.is_empty() && wanted.chars().count() >= PART_OF_NAME_CHARS {
            found = self.view.read(|entries| {
                let has_it =
                    |entry: &&Arc<Entry>| entry::name_of(entry.searched_path()).contains(wanted);
                entries
                    .values()
                    .filter(has_it)
                    .take(3)
                    .map(|entry| entry.path.to_string())
                    .collect()
            });
        }
        suggestion(&found, "Look for it by another name or in another folder.")
    }

    /// Folders whose paths end with a path, ignoring case; at most three.
    fn folders_named(&self, path: &VaultPath) -> Vec<String> {
        let wanted = format!("/{}/", fold(path.as_str()));
        let folder = |entry: &Arc<Entry>| {
            let folded = format!("/{}", entry.folded_path());
            let above = folded.split_at_checked(folded.find(&wanted)? + wanted.len() - 1)?.0;
            Some(
                entry
                    .path
                    .split('/')
                    .take(above.matches('/').count())
                    .collect::<Vec<_>>()
                    .join("/"),
            )
        };
        let found: BTreeSet<String> =
            self.view.read(|entries| entries.values().filter_map(folder).collect());
        found.into_iter().take(3).collect()
    }
}

/// The sentence of an error that suggests paths, or says something else where there are none.
fn suggestion(found: &[String], otherwise: &str) -> String {
    if found.is_empty() {
        otherwise.to_owned()
    } else {
        format!("Did you mean: {}?", found.join(", "))
    }
}

/// The hash by which bytes are known: SHA-256 in hex.
pub fn hash(bytes: &[u8]) -> String {
    secret::hex(&Sha256::digest(bytes))
}

/// As [`hash`], of a file too large to be held in memory.
pub fn hash_of_all(mut file: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; HASHED_AT_ONCE];
    while let count @ 1.. = file.read(&mut buffer)? {
        digest.update(buffer.part(..count));
    }
    Ok(secret::hex(&digest.finalize()))
}

/// The etag of a file's bytes: the first 16 hex digits of their SHA-256. It tells contents apart,
/// not versions: a file changed back has its old etag again.
pub fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    secret::hex(digest.part(..8))
}

/// Lines as people count them: `a\nb\n` has two, `a\nb` too, the empty text none.
pub fn count_lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
        + usize::from(bytes.last().is_some_and(|&last| last != b'\n'))
}
