//! Who changed a note, when and why; and what it said.

use super::repository::is_ancestor;
use super::{Failure, Git};
use crate::limits;
use crate::vault::VaultPath;

/// One version of a note.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    /// The commit, whole.
    pub commit: String,
    /// Who made it.
    pub author: String,
    /// When, RFC 3339 with the author's offset.
    pub date: String,
    /// The first line of the message.
    pub message: String,
    /// `added`, `modified` or `deleted`.
    pub change: &'static str,
}

impl Git {
    /// The versions of a note, the newest first, `limit` at most; and whether there are more.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn history(&self, path: &VaultPath, limit: usize, cancelled: &dyn Fn() -> bool) -> Result<(Vec<Version>, bool), Failure> {
        let runner = self.runner(cancelled);
        let count = format!("--max-count={}", limit + 1);
        // Separators that no message can have: a message may have everything else.
        let id = crate::secret::new_id().map_err(|error| Failure::Git(error.to_string()))?;
        let format = format!("--format={id}:%H{id},%an{id},%aI{id},%s");
        let output = runner.run(&["log", &count, &format, "--name-status", "--no-renames", "--no-show-signature", "--", path.as_str()])?;
        if !output.ok {
            // A branch without a commit has no history, which is no failure.
            return if output.stderr.contains("does not have any commits") {
                Ok((Vec::new(), false))
            } else {
                Err(Failure::Git(output.stderr))
            };
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut versions: Vec<Version> = text.split(&format!("{id}:")).filter_map(|text| version(text, &format!("{id},"))).collect();
        let more = versions.len() > limit;
        versions.truncate(limit);
        Ok((versions, more))
    }

    /// The bytes of a note in a commit, as they would be on disk.
    ///
    /// # Errors
    /// [`Failure::Refused`] when the commit or the note in it does not exist.
    pub fn version(&self, path: &VaultPath, commit: &str, cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, Failure> {
        let runner = self.runner(cancelled);
        // Only a commit of this branch: an object somebody once had is not everybody's to read.
        if !is_ancestor(&runner, commit, "HEAD")? {
            return Err(Failure::Refused(format!("There is no commit {commit} on this branch; vault_history lists those of a note")));
        }
        let output = runner.run(&["cat-file", "--filters", &format!("{commit}:./{}", path.as_str())])?;
        if !output.ok {
            return Err(Failure::Refused(format!("{} does not exist in commit {commit}", path.as_str())));
        }
        if output.stdout.len() as u64 > limits::NOTE_BYTES {
            return Err(Failure::Refused(format!("{} is too large in commit {commit}", path.as_str())));
        }
        Ok(output.stdout)
    }
}

fn version(text: &str, comma: &str) -> Option<Version> {
    let (head, rest) = text.split_once('\n')?;
    let mut fields = head.split(comma).map(|field| field.chars().filter(|c| !c.is_control()).collect::<String>());
    let (commit, author, date, message) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let change = match rest.trim_start().chars().next() {
        Some('A') => "added",
        Some('D') => "deleted",
        _ => "modified",
    };
    Some(Version { commit, author, date, message, change })
}
