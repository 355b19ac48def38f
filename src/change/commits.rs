//! Who changes files, and how they are committed for tools that know nothing of git; implemented by
//! the repository of toolset `git`.

use crate::lock::Unpoisoned;
use crate::quota::Permit;
use crate::slice::mistakes;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// One tool call: who changes files, and which were changed so far.
#[derive(Debug)]
pub struct Author {
    pub by: String,
    pub tool: &'static str,
    /// Where the call commits its changes when it has made them.
    pub(crate) commits: Option<Arc<dyn Commits>>,
    /// Paths of changed files, old names included.
    changed: Mutex<Vec<String>>,
    /// [`mistakes`] when the call began.
    mistakes: usize,
}

impl Author {
    pub fn new(by: &str, tool: &'static str, commits: Option<Arc<dyn Commits>>) -> Author {
        Author { by: by.to_owned(), tool, commits, changed: Mutex::default(), mistakes: mistakes() }
    }

    /// The paths of all files that were changed, old names included, sorted.
    pub fn changed(&self) -> Vec<String> {
        let mut paths = self.changed.lock().unpoisoned().clone();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Whether this program has noticed a mistake of its own since the call began: then nothing
    /// that was computed may be written.
    pub(crate) fn has_met_mistake(&self) -> bool {
        mistakes() != self.mistakes
    }

    pub(crate) fn add_changed(&self, paths: Vec<String>) {
        self.changed.lock().unpoisoned().extend(paths);
    }
}

/// The outcome of [`Commits::commit_files`].
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The commit; `None` where there was nothing to commit.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What failed.
    pub trouble: Option<String>,
    /// Sentences for the caller: which files were left out of the commit or replaced by the
    /// remote's version, and why.
    pub left: Vec<String>,
    /// The files that the remote had changed too, and that have its version now.
    pub replaced: Vec<String>,
    /// Files of earlier calls that the commit has too: their own commits had failed.
    pub also: Vec<String>,
}

/// What a change leaves at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: String,
    /// The hash of the file; `None` where there is none any more.
    pub hash: Option<String>,
}

/// A path that was noted, and what was noted of it before, if anything was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    pub path: String,
    pub before: Option<Option<String>>,
}

/// A commit history of the vault.
pub trait Commits: Debug + Send + Sync {
    /// Waits until no other call changes files; to be held until they are committed. A commit has
    /// files as they are on disk, so it would have the changes of other calls. `None` when that
    /// takes too long, or `gives_up` says so.
    fn begin_changes(&self, gives_up: &dyn Fn() -> bool) -> Option<Permit>;

    /// Notes, before they are changed, files that are to be committed, with what the change leaves
    /// there: after a kill the next commit has them, if they are still so.
    fn note(&self, left: &[Left]) -> Vec<Noted>;

    /// Takes back such notes: the files were not changed.
    fn forget(&self, noted: &[Noted]);

    /// Commits changed files as they are on disk, and pushes the commit. `summary` is the first
    /// line of the message, whose last lines name the tool and the login of the author.
    ///
    /// # Errors
    /// Why, in words; then nothing was committed, and the files are as they were.
    fn commit_files(
        &self,
        changed: &[String],
        summary: &str,
        author: &Author,
    ) -> Result<Committed, String>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Changes;
    use crate::change::replace_text::Replacement;
    use crate::change::step::Step;
    use crate::vault::Vault;
    use crate::vault::VaultPath;
    use std::path::PathBuf;

    /// A history of commits that looks at each file when it is noted.
    #[derive(Debug)]
    struct Recorder(PathBuf, Mutex<Vec<(String, String)>>);

    impl Commits for Recorder {
        fn begin_changes(&self, _: &dyn Fn() -> bool) -> Option<Permit> {
            None
        }

        fn note(&self, left: &[Left]) -> Vec<Noted> {
            assert!(
                left.iter().all(|left| left.hash.as_deref() == Some(&*crate::vault::hash(b"new"))),
                "{left:?}"
            );
            let seen = |left: &Left| {
                (
                    left.path.clone(),
                    std::fs::read_to_string(self.0.join(&left.path)).unwrap_or_default(),
                )
            };
            self.1.lock().unwrap().extend(left.iter().map(seen));
            left.iter().map(|left| Noted { path: left.path.clone(), before: None }).collect()
        }

        fn forget(&self, noted: &[Noted]) {
            self.1
                .lock()
                .unwrap()
                .retain(|(file, _)| !noted.iter().any(|noted| noted.path == *file));
        }

        fn commit_files(&self, _: &[String], _: &str, _: &Author) -> Result<Committed, String> {
            Ok(Committed::default())
        }
    }

    #[test]
    fn a_call_that_has_met_a_mistake_of_ours_changes_nothing() {
        let root = std::env::temp_dir().join(format!("vsm-mistake-{}", crate::secret::new_id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("a.md"), "old").unwrap();
        let changes = Changes::new(Vault::open(&root).unwrap(), None);
        let author = Author::new("agent", "tool", None);
        // As if one had been counted since.
        let author = Author { mistakes: author.mistakes.wrapping_sub(1), ..author };
        let changes = changes.on_behalf_of(&Arc::new(author));
        let path = VaultPath::file("a.md").unwrap();
        let edit = Replacement { old: "old", new: "new", all: false };
        assert!(matches!(changes.edit(&path, &[edit], None), Err(crate::vault::Error::Mistake)));
        assert_eq!(std::fs::read_to_string(root.join("a.md")).unwrap(), "old");
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn files_are_noted_for_the_commit_before_they_are_changed_and_forgotten_if_they_are_not() {
        let root = std::env::temp_dir().join(format!("vsm-commits-{}", crate::secret::new_id()));
        std::fs::create_dir_all(&root).unwrap();
        ["a.md", "b.md"].iter().for_each(|name| std::fs::write(root.join(name), "old").unwrap());
        let changes = Changes::new(Vault::open(&root).unwrap(), None);
        let recorder = Arc::new(Recorder(root.clone(), Mutex::default()));
        let author =
            Arc::new(Author::new("agent", "tool", Some(Arc::clone(&recorder) as Arc<dyn Commits>)));
        let changes = changes.on_behalf_of(&author);
        let change = |name: &str, known: &[u8]| {
            let step =
                Step::write(VaultPath::file(name).unwrap(), Some(known.to_vec()), b"new".to_vec());
            changes.change(&[step])
        };
        change("a.md", b"old").unwrap();
        change("b.md", b"another").unwrap_err();
        assert_eq!(*recorder.1.lock().unwrap(), [("a.md".to_owned(), "old".to_owned())]);
        std::fs::remove_dir_all(root).unwrap();
    }
}
