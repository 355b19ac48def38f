//! One note replaced or deleted by the tools of git: pushed before anything changes here.

use super::commit::{self, Built};
use super::publish;
use super::repository::{Entry, File, Repository};
use super::{FINISHING, Failure, Git, signed};
use crate::change::Changes;
use crate::change::commits::Author;
use crate::vault::{self, VaultPath, etag};

/// A change to one note.
#[derive(Debug)]
pub struct NoteChange<'a> {
    pub path: &'a VaultPath,
    /// Its new bytes; `None` deletes it.
    pub after: Option<&'a [u8]>,
    /// Of the commit.
    pub message: &'a str,
    pub author: &'a Author,
    /// The etag of the note that the caller has read; without it, a note with uncommitted changes
    /// is not touched.
    pub if_match: Option<&'a str>,
}

/// A change that was made.
#[derive(Debug)]
pub struct Done {
    /// Whether the note is new.
    pub created: bool,
    /// The commit, as published; `None` when there was nothing to change.
    pub commit: Option<String>,
    /// Whether a remote has it.
    pub pushed: bool,
    /// What went wrong although the change was made.
    pub trouble: Option<String>,
    /// The etag of the note as the change leaves it; `None` when it is deleted. Where `trouble`
    /// says that the file was changed meanwhile, the disk has another text.
    pub etag: Option<String>,
}

/// A note as the change finds it.
struct Found {
    name: String,
    /// Its bytes on disk.
    before: Option<Vec<u8>>,
    committed: Option<Entry>,
    /// Whether the two are the same to git.
    is_committed: bool,
}

impl Git {
    /// Replaces or deletes one note of `changes`, the caller's view of the vault: one commit with
    /// exactly that path, pushed. The caller holds the lock of [`Git::begin`].
    ///
    /// [`Git::begin`]: crate::change::commits::Commits::begin
    ///
    /// # Errors
    /// [`Failure`]; then nothing has changed, except that the remote's commits may have been
    /// brought in.
    pub fn change(
        &self,
        changes: &Changes,
        wanted: &NoteChange<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Done, Failure> {
        let NoteChange { path, after, message, author, .. } = *wanted;
        let runner = self.runner(cancelled)?;
        let mut repository = Repository::open(&runner, self.folders(cancelled)?, &self.options)?;
        let found = match find(&mut repository, changes, wanted) {
            // A crash may have left on disk what the remote has.
            Err(Failure::Conflict(..))
                if wanted.if_match.is_none() && publish::bring_in(&mut repository).is_ok() =>
            {
                find(&mut repository, changes, wanted)?
            }
            found => found?,
        };
        repository.wait_for_index()?;
        changes.may_write(path, after.map_or(0, <[u8]>::len))?;
        if found.committed.is_none() && repository.ignored(&[&found.name])?.contains(&found.name) {
            return Err(Failure::Refused(format!(
                "{} is ignored by git (.gitignore)",
                path.as_str()
            )));
        }
        let entry = match after {
            Some(bytes) => {
                let blob = repository.hash(&found.name, bytes, true)?;
                Some(Entry::of(found.committed.as_ref(), blob))
            }
            None => None,
        };
        if found.is_committed && entry == found.committed {
            let etag = found.before.as_deref().map(etag);
            return Ok(Done { created: false, commit: None, pushed: false, trouble: None, etag });
        }
        let published = if entry == found.committed {
            // Only the disk differs from the branch, where the text is already.
            None
        } else {
            let (name, old) = (found.name.clone(), found.committed.clone());
            let file = File { name, old, new: entry };
            let built = commit::build(&repository, vec![file], &signed(message, author));
            let was_changed = repository.has_hook("pre-commit") && put_back(changes, path, &found)?;
            let built = built.and_then(|built| match was_changed {
                true => Err(reads_working_tree(path)),
                false => publish::publish(&mut repository, built),
            });
            match built {
                Ok(published) => Some(published),
                Err(Failure::Conflict(words, etag)) => {
                    let words = match publish::bring_in(&mut repository) {
                        Ok(()) => format!(
                            "{words}; the local copy has that version now: read it again, and \
                             repeat the change in it"
                        ),
                        Err(why) => {
                            format!("{words}, and it cannot be brought in: {why}")
                        }
                    };
                    let _ = changes.vault.refresh_now();
                    return Err(Failure::RolledBack(Box::new(Failure::Conflict(words, etag))));
                }
                Err(failure) => return Err(Failure::RolledBack(Box::new(failure))),
            }
        };
        let pushed = published.is_some() && repository.remote.is_some();
        repository.runner = runner.uncancellable(FINISHING);
        let landed = land(&mut repository, changes, path, &found, after, published.as_ref());
        if let (Err(failure), false) = (&landed, pushed) {
            let failure = Failure::Git(failure.to_string());
            return Err(Failure::RolledBack(Box::new(failure)));
        }
        let etag = landed.as_ref().ok().cloned().flatten().or(after.map(etag));
        Ok(Done {
            created: found.committed.is_none(),
            commit: published.map(|published| published.commit),
            pushed,
            trouble: landed
                .err()
                .map(|failure| format!("{failure}. The remote has the change; git pull brings it")),
            etag,
        })
    }
}

/// Looks at the note, and refuses what would lose a person's text.
fn find(
    repository: &mut Repository<'_>,
    changes: &Changes,
    wanted: &NoteChange<'_>,
) -> Result<Found, Failure> {
    let NoteChange { path, after, if_match, .. } = *wanted;
    let name = repository.name_of(path, &changes.vault)?;
    let before = changes.vault.bytes_if_any(path)?;
    let current_etag = before.as_deref().map(etag);
    if if_match.is_some() && current_etag.as_deref() != if_match {
        let words = match &current_etag {
            Some(etag) => format!("its etag is now {etag}; read it again"),
            None => "it does not exist any more".into(),
        };
        let words = format!("The note is not what was read: {words}");
        return Err(Failure::Conflict(words, current_etag));
    }
    repository.refuse_nested(&name)?;
    let committed = publish::unstaged_entries(repository, &[&name])?.remove(&name);
    if committed.as_ref().is_some_and(|entry| !entry.mode.starts_with("100")) {
        return Err(Failure::Refused(format!("{} is not a plain file in git", path.as_str())));
    }
    let is_committed = match (&before, &committed) {
        (Some(bytes), Some(committed)) => repository.is_same(&name, bytes, &committed.blob)?,
        (before, committed) => before.is_none() && committed.is_none(),
    };
    if before.is_none() && committed.is_none() && after.is_none() {
        return Err(Failure::Vault(vault::Error::NotFound {
            path: path.as_str().into(),
            hint: String::new(),
        }));
    }
    // A note that was deleted on disk needs no protection: the history has its text.
    if !is_committed && before.is_some() && before.as_deref() != after {
        if if_match.is_none() {
            let words = format!(
                "{} has uncommitted changes on disk. Read it, and pass its etag as if_match to \
                 replace or delete it all the same; or have them committed first.",
                path.as_str()
            );
            return Err(Failure::Conflict(words, current_etag));
        }
        if let (None, Some(text)) = (after, &before) {
            changes.copy_to_trash(path, text)?;
        }
    }
    Ok(Found { name, before, committed, is_committed })
}

/// Gives the note its old text again if a hook has changed it on disk; whether one has.
fn put_back(changes: &Changes, path: &VaultPath, found: &Found) -> Result<bool, Failure> {
    let now = changes.vault.bytes_if_any(path)?;
    if now == found.before {
        return Ok(false);
    }
    // It may be a person's, who has saved it meanwhile.
    if let Some(now) = &now {
        changes.copy_to_trash(path, now)?;
    }
    changes.replace_known(path, now.as_deref(), found.before.as_deref())?;
    Ok(true)
}

/// For hooks that change the file in the working tree, where the new text is not yet.
fn reads_working_tree(path: &VaultPath) -> Failure {
    Failure::Git(format!(
        "the pre-commit hook has changed {} in the working tree, where the new text is not yet: it \
         has to work on the index (git show :FILE). Changes by vault_edit and vault_write are on \
         disk before they are committed. What it had made of the file is in .trash",
        path.as_str()
    ))
}

/// Writes the note and moves branch and index to the commit. Gives its etag where the hooks have
/// changed its text.
fn land(
    repository: &mut Repository<'_>,
    changes: &Changes,
    path: &VaultPath,
    found: &Found,
    after: Option<&[u8]>,
    published: Option<&Built>,
) -> Result<Option<String>, Failure> {
    publish::refuse_if_used(repository)?;
    let new = published
        .and_then(|published| published.files.iter().find(|file| file.name == found.name))
        .and_then(|file| file.new.as_ref());
    let from_hooks = match (new, published, after) {
        (Some(new), Some(published), Some(bytes))
            if repository.has_hook("pre-commit")
                && repository.hash(&found.name, bytes, false)? != new.blob =>
        {
            Some(repository.text_of(&published.commit, &found.name)?)
        }
        _ => None,
    };
    let after = from_hooks.as_deref().or(after);
    let before = found.before.as_deref();
    // What another program has saved meanwhile stays, as a change on top of the commit.
    let written = if before == after { Ok(()) } else { changes.replace_known(path, before, after) };
    let is_replaced = match written {
        Ok(()) => true,
        Err(vault::Error::Conflict(_) | vault::Error::Busy) => false,
        Err(error) => return Err(error.into()),
    };
    if let Some(published) = published
        && let Err(failure) = publish::land(repository, published)
    {
        if is_replaced && before != after {
            changes.replace_known(path, after, before)?;
        }
        return Err(failure);
    }
    if is_replaced {
        Ok(from_hooks.as_deref().map(etag))
    } else {
        Err(Failure::Git(format!(
            "{} was changed on disk meanwhile, and is left as it is, on top of the commit",
            path.as_str()
        )))
    }
}
