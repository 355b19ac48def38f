//! Who changes files, and how they are committed for tools that know nothing of git; implemented by
//! the repository of toolset `git`.

use super::step::Step;
use crate::lock::Unpoisoned;
use crate::slice::mistakes;
use std::fmt::Debug;
use std::fs::File;
use std::sync::Mutex;

/// One tool call: who changes files, and which were changed so far.
#[derive(Debug)]
pub struct Author {
    pub by: String,
    /// The user who has allowed it; empty where that is nobody.
    pub user: String,
    pub tool: &'static str,
    /// Paths of changed files, old names included.
    changed: Mutex<Vec<String>>,
    /// Its steps, where they may have to be taken back.
    made: Option<Mutex<Vec<Step>>>,
    /// [`mistakes`] when the call began.
    mistakes: usize,
}

impl Author {
    pub fn new(by: &str, tool: &'static str) -> Author {
        let (by, changed, mistakes) = (by.to_owned(), Mutex::default(), mistakes());
        Author { by, user: String::new(), tool, changed, made: None, mistakes }
    }

    pub fn of_user(self, user: &str) -> Author {
        Author { user: user.to_owned(), ..self }
    }

    /// One whose changes are committed when it has made them; if the remote does not want them,
    /// they are taken back.
    pub fn committing(by: &str, tool: &'static str) -> Author {
        Author { made: Some(Mutex::default()), ..Author::new(by, tool) }
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

    pub(crate) fn add_made(&self, steps: &[Step], paths: Vec<String>) {
        self.changed.lock().unpoisoned().extend(paths);
        if let Some(made) = &self.made {
            made.lock().unpoisoned().extend_from_slice(steps);
        }
    }

    /// The steps that take back what it has changed so far.
    pub(crate) fn reversed(&self) -> Vec<Step> {
        let made = self.made.as_ref().map(|made| made.lock().unpoisoned().clone());
        made.unwrap_or_default().into_iter().rev().map(Step::reversed).collect()
    }
}

/// What became of a call's changes in the repository.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The commit; `None` where there was nothing to commit, or it failed.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What git said when something failed; the changes stand all the same.
    pub trouble: Option<String>,
}

/// The repository that a vault is in.
pub trait Commits: Debug + Send + Sync {
    /// Waits until no other call, of any process, changes files. To be held until they are
    /// committed: a commit has files as they are on disk, so it would have the changes of others.
    ///
    /// # Errors
    /// Why not, in words; `gives_up` says so, or it takes too long.
    fn begin(&self, gives_up: &dyn Fn() -> bool) -> Result<File, String>;

    /// Brings in what the remote has.
    ///
    /// # Errors
    /// Why not, in words.
    fn bring_in(&self) -> Result<(), String>;

    /// Commits exactly the files that a call has changed, as they are on disk, and pushes the
    /// commit. `summary` is the first line of the message, whose last lines name the tool and the
    /// login of the author.
    ///
    /// # Errors
    /// The remote had changed one of the files meanwhile: what the call has done is taken back, and
    /// the remote's version is here.
    fn commit(&self, summary: &str, author: &Author) -> Result<Committed, String>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Changes;
    use crate::change::replace_text::Replacement;
    use crate::vault::Error;
    use crate::vault::Vault;
    use crate::vault::VaultPath;
    use std::sync::Arc;

    #[test]
    fn a_call_that_has_met_a_mistake_of_ours_changes_nothing() {
        let root = std::env::temp_dir().join(format!("vsm-mistake-{}", crate::secret::new_id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("a.md"), "old").unwrap();
        let changes = Changes::new(Vault::open(&root).unwrap(), None);
        let author = Author::new("agent", "tool");
        // As if one had been counted since.
        let author = Author { mistakes: author.mistakes.wrapping_sub(1), ..author };
        let changes = changes.on_behalf_of(&Arc::new(author));
        let path = VaultPath::file("a.md").unwrap();
        let edit = Replacement { old: "old", new: "new", all: false };
        assert!(matches!(changes.edit(&path, &[edit], None), Err(Error::Mistake)));
        assert_eq!(std::fs::read_to_string(root.join("a.md")).unwrap(), "old");
        std::fs::remove_dir_all(root).unwrap();
    }
}
