//! The vault: a folder of notes that people, a sync program and this server all read and write.
//! Uses `std::fs`, and system calls where that has none.
//!
//! [`Vault`] is the only entry point. Paths come in as text and are first parsed into
//! [`VaultPath`]; absolute paths are passed only to git and agent sessions. The types here are
//! plain: `tools` decides how a model sees them.
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
//! 4. Writes are whole, atomic and durable. A failure leaves the old bytes.
//! 5. Nothing else is changed by a write: not a byte.
//! 6. A change on disk is seen by the next call. A file is read again only when its size, times or
//!    inode changed. Where the file system does not report changes, a call walks the vault first
//!    when the last walk is older than ten of its durations.
//! 7. Reads and writes give an etag; a write that names an older one is refused.
//! 8. No message to a remote client contains an absolute path.
//! 9. Malformed or odd files cause a warning, and never make a call fail that is about other files.
//!
//! # Files
//!
//! | file | holds |
//! |---|---|
//! | [`path`], `scope`, `jail`, `spelling` | which paths are served, to whom, and where they are on disk |
//! | `events`, `walk`, `refresh`, `index`, `load`, `table`, `entry` | what is in the vault, kept in memory, checked against the disk (rule 6) |
//! | `view` | as much of that as a grant covers |
//! | `word_index`, `posting`, `postings`, `candidate`, `rank`, `condition`, `hit` | the parts of search: which files have a word, how relevant they are, which conditions they have to meet, what is shown |
//! | `query_words`, `correct` | the words of a query: replacements for those that no file has, and weights |
//! | `results`, `page` | a search and its results: their order, and what is shown of each |
//! | `parallel` | work on all cores |
//! | [`list`], [`read`], [`search`], `grep`, [`complete`] | the operations that read |
//! | `names`, `obsidian` | how tools name a file, and what Obsidian's settings say about names and folders |
//! | `notes` | parts of notes, tasks, properties of several notes |
//! | `links` | which links mean which files |
//! | `template` | the text of a new note |
//! | `rewrite`, `move_file`, `tag` | moving files and updating the links to them, renaming headings and tags, deleting files |
//! | [`change`] | changing files, all together or not at all, also after a crash; kept versions and undoing |
//! | [`properties`] | frontmatter as values, and notes selected by them |
//! | [`media`] | the kind of a file, by its name |
//! | [`error`] | refusals and failures |
//!
//! Without toolset `notes` there is no `notes`, `template`, `links`, `rewrite`, `move_file` or
//! `tag`, without `context` no `grep`.

mod candidate;
pub mod change;
pub mod complete;
mod condition;
mod correct;
mod entry;
pub mod error;
#[cfg_attr(not(target_os = "linux"), path = "no_events.rs")]
mod events;
#[cfg(fuzzing)]
pub mod fuzz;
#[cfg(feature = "context")]
pub mod grep;
mod hit;
mod index;
mod jail;
#[cfg(feature = "notes")]
pub mod links;
pub mod list;
mod load;
pub mod media;
#[cfg(feature = "notes")]
mod move_file;
mod names;
#[cfg(feature = "notes")]
pub mod notes;
mod obsidian;
mod page;
mod parallel;
pub mod path;
mod posting;
mod postings;
pub mod properties;
mod query_words;
mod rank;
pub mod read;
mod refresh;
mod results;
#[cfg(feature = "notes")]
pub mod rewrite;
mod scope;
pub mod search;
mod spelling;
mod table;
#[cfg(feature = "notes")]
mod tag;
#[cfg(feature = "notes")]
mod template;
mod view;
mod walk;
mod word_index;

use crate::slice::Part;
pub use change::TRASH;
pub use entry::{Entry, Stamp};
pub use error::Error;
pub use names::Named;
use path::slash_separated;
pub use path::{REFUSED_CHARACTERS, VaultPath, composed, refused_elsewhere};
pub use read::bytes_that_fit;
pub use scope::{GrantedFolders, Hidden};
pub use table::IndexedState;

use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::{Bounds, Permit, Quota};
use crate::text::fold::fold;
use crate::text::words::is_spelling;
use change::commits::Author;
use change::log::Log;
use index::Index;
use jail::{Jail, ResolvedPath};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use view::View;

/// Costly calls (searches by regular expression, queries, readings of old versions) that may wait
/// per core while one per core runs; further ones are refused, so that workers remain available.
const COSTLY_CALLS_WAITING_PER_CORE: usize = 2;
/// Files of the same name among which the nearest are suggested if a path does not exist.
const SUGGESTED: usize = 1_000;
/// Characters that are enough of a name to suggest files with it in theirs.
const PART_OF_NAME_CHARS: usize = 4;
/// Views of the vault for grants limited to folders, each with its own tables.
const VAULT_PARTS: usize = 8;

/// One vault, shared by all threads, as one of its callers sees it.
#[derive(Debug, Clone)]
pub struct Vault {
    shared: Arc<Shared>,
    /// Where changes are recorded.
    log: Option<Arc<Log>>,
    /// On whose behalf files are changed. What `None` changes is not recorded.
    author: Option<Arc<Author>>,
}

impl Deref for Vault {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// The state of a vault, or of the part that a grant covers, shared by its callers.
#[derive(Debug)]
pub struct Shared {
    jail: Jail,
    view: View,
    locks: Arc<Locks>,
    /// Permits for what is costly: regular expressions, queries, and reading the log of versions.
    costly_calls: Arc<Quota>,
    /// The whole vault, where this is a part of it.
    whole: Option<Arc<Shared>>,
    /// The parts for callers whose grant is limited to folders, the last used at the end.
    parts: Mutex<Vec<Arc<Shared>>>,
    postings_cache: postings::Cache,
    #[cfg(feature = "notes")]
    links: Mutex<Arc<links::LinkIndex>>,
}

/// Locks shared by the whole vault and its parts.
#[derive(Debug)]
struct Locks {
    /// Held while the vault is changed.
    changes: Mutex<()>,
    /// The permit for reading the links of notes: a note of many lines takes much memory while it
    /// is read.
    #[cfg(feature = "notes")]
    links: Arc<Quota>,
}

impl Shared {
    fn new(
        jail: Jail,
        view: View,
        locks: Arc<Locks>,
        costly_calls: Arc<Quota>,
        whole: Option<Arc<Shared>>,
    ) -> Shared {
        Shared {
            jail,
            view,
            locks,
            costly_calls,
            whole,
            parts: Mutex::default(),
            postings_cache: postings::Cache::default(),
            #[cfg(feature = "notes")]
            links: Mutex::default(),
        }
    }
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
        let locks = Locks {
            changes: Mutex::new(()),
            #[cfg(feature = "notes")]
            links: Quota::new(Bounds { total: 1, per_owner: 1, waiting: usize::MAX }),
        };
        let costly_calls = Quota::new(Bounds {
            total: cores(),
            per_owner: usize::MAX,
            waiting: cores() * COSTLY_CALLS_WAITING_PER_CORE,
        });
        let view = View::of_all(Arc::new(Index::new(jail.clone())));
        let shared = Shared::new(jail, view, Arc::new(locks), costly_calls, None);
        Ok(Vault { shared: Arc::new(shared), log: None, author: None })
    }

    /// The part of the vault that a grant covers.
    pub fn within(&self, folders: Option<&Arc<GrantedFolders>>) -> Vault {
        let Some(folders) = folders else { return self.clone() };
        let mut parts = self.parts.lock().unpoisoned();
        let known = parts.iter().position(|part| part.jail.folders.as_ref() == Some(folders));
        let part = match known {
            Some(at) => parts.remove(at),
            None => {
                let jail = self.jail.within(folders);
                let (locks, costly_calls) =
                    (Arc::clone(&self.locks), Arc::clone(&self.costly_calls));
                let (view, whole) = (self.view.part(folders), Arc::clone(&self.shared));
                Arc::new(Shared::new(jail, view, locks, costly_calls, Some(whole)))
            }
        };
        // A part in use, by a call or by a client that listens, stays.
        if parts.len() >= VAULT_PARTS
            && let Some(idle) = parts.iter().position(|part| Arc::strong_count(part) == 1)
        {
            parts.remove(idle);
        }
        parts.push(Arc::clone(&part));
        Vault { shared: part, ..self.clone() }
    }

    /// A permit for a costly call, of which one per core runs at a time.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when none became free in time.
    pub fn costly_call(&self) -> Result<Permit, Error> {
        self.costly_calls.take("", limits::SEARCH_TIME).ok_or(Error::Overloaded)
    }

    /// The whole vault, for what belongs to no caller.
    fn whole(&self) -> Vault {
        Vault {
            shared: Arc::clone(self.shared.whole.as_ref().unwrap_or(&self.shared)),
            ..self.clone()
        }
    }

    /// Refuses a change that the caller's grant does not allow.
    ///
    /// # Errors
    /// [`Error::NotGranted`].
    fn check_grant(&self, path: &str) -> Result<(), Error> {
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

    /// This vault, but changes are recorded in `log`, and what they replace is kept.
    pub fn with_log(self, log: Option<Arc<Log>>) -> Vault {
        Vault { log, ..self }
    }

    /// The vault for one tool call: its changes are recorded in the author, and what they replace
    /// is kept.
    pub fn on_behalf_of(&self, author: &Arc<Author>) -> Vault {
        Vault { author: Some(Arc::clone(author)), ..self.clone() }
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

    /// Starts building the word index, so that the first search has it.
    pub fn prepare_search(&self) {
        drop(self.word_index());
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
    fn locate(&self, path: &VaultPath) -> Result<(ResolvedPath, Metadata), Error> {
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

/// The number of processor cores, determined once.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The etag of a file's bytes: the first 16 hex digits of their SHA-256. It tells contents apart,
/// not versions: a file changed back has its old etag again.
pub fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    crate::secret::hex(digest.part(..8))
}

/// Lines as people count them: `a\nb\n` has two, `a\nb` too, the empty text none.
pub fn count_lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
        + usize::from(bytes.last().is_some_and(|&last| last != b'\n'))
}
