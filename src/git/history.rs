//! Who changed a note, when and why; and its old versions.

use super::process::Output;
use super::publish::is_ancestor;
use super::{Failure, Git};
use crate::limits;
use crate::vault::VaultPath;

/// One version of a note.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    /// The full commit id.
    pub commit: String,
    /// Who made it: the login that the message names, or the author.
    pub by: String,
    /// The tool that made it.
    pub tool: Option<String>,
    /// When, RFC 3339 with the author's offset.
    pub date: String,
    /// The first line of the message.
    pub message: String,
    /// `added`, `modified`, `renamed` or `deleted`.
    pub change: &'static str,
    /// The note's path in the vault as of this commit; `None` where that was outside.
    pub path: Option<String>,
    /// Bytes of the note in this commit; `None` where it is not in it.
    pub bytes: Option<u64>,
}

impl Git {
    /// The versions of a note, the newest first, `limit` at most; and whether there are more. With
    /// `after` only those that are older than this commit, or all if it is none of them any more. A
    /// note that was renamed is followed to its earlier names.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn history(
        &self,
        path: &VaultPath,
        after: Option<&str>,
        limit: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Vec<Version>, bool), Failure> {
        let runner = self.runner(cancelled)?;
        if !self.changes.vault.shows(path.as_str()) {
            return Ok((Vec::new(), false));
        }
        let prefix = &self.folders(cancelled)?.prefix;
        // Without --max-count, which with -c and --follow also counts merges that did not change
        // the note.
        let name = format!("{prefix}{}", self.changes.vault.spelled(path));
        // Separators that occur in no message; any fixed ones might.
        let id = crate::secret::new_id();
        let trailer = |key: &str| format!("%(trailers:key={key},valueonly,separator=%x20)");
        let format = format!(
            "--format={id}:%H{id},%an{id},%aI{id},%s{id},{}{id},{}{id},",
            trailer("Login"),
            trailer("Tool")
        );
        let options = "-c log.showRoot=true log -z --follow -M -c --name-status \
                       --no-show-signature --encoding=UTF-8";
        let arguments: Vec<&str> = options.split(' ').chain([&*format, "--", &*name]).collect();
        let output = runner.run(&arguments)?;
        if !output.ok {
            // A branch without a commit has no history, which is no failure.
            return if output.stderr.contains("does not have any commits") {
                Ok((Vec::new(), false))
            } else {
                Err(Failure::Git(output.words()))
            };
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut versions: Vec<Version> = Vec::new();
        let mut after = after.filter(|after| text.contains(&format!("{id}:{after}{id},")));
        for text in text.split(&format!("{id}:")).skip(1) {
            let Some((version, history_continues)) = parse_version(text, &format!("{id},"), prefix)
            else {
                continue;
            };
            // What it was under a name that is not served is not shown either.
            if version.path.as_deref().is_some_and(|then| !self.changes.vault.shows(then)) {
                break;
            }
            match after {
                Some(last) => after = Some(last).filter(|last| version.commit != *last),
                None => versions.push(version),
            }
            if !history_continues || versions.len() > limit {
                break;
            }
        }
        let more = versions.len() > limit;
        versions.truncate(limit);
        let names: String = versions
            .iter()
            .map(|version| {
                format!(
                    "{}:{prefix}{}\n",
                    version.commit,
                    version.path.as_deref().unwrap_or_default()
                )
            })
            .collect();
        let sizes = runner.run_with(
            &["cat-file", "--batch-check=%(objecttype) %(objectsize)"],
            names.as_bytes(),
        )?;
        for (version, line) in
            versions.iter_mut().zip(String::from_utf8_lossy(&sizes.stdout).lines())
        {
            version.bytes = line.strip_prefix("blob ").and_then(|size| size.parse().ok());
        }
        Ok((versions, more))
    }

    /// The bytes of a note in a commit, as they would be on disk.
    ///
    /// # Errors
    /// [`Failure::Refused`] when the commit or the note in it does not exist.
    pub fn bytes_in(
        &self,
        path: &VaultPath,
        commit: &str,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Failure> {
        let runner = self.runner(cancelled)?;
        let missing = || {
            Failure::Refused(format!(
                "{} does not exist in commit {commit}; take another one of vault_history",
                path.as_str()
            ))
        };
        if !self.changes.vault.shows(path.as_str()) {
            return Err(missing());
        }
        let commit = &*commit.to_ascii_lowercase();
        // Only commits of this branch: clients must not read objects that were never on it.
        if !is_ancestor(&runner, commit, "HEAD")? {
            return Err(Failure::Refused(format!(
                "there is no commit {commit} on this branch; vault_history lists those of a note"
            )));
        }
        let prefix = &self.folders(cancelled)?.prefix;
        let in_commit = |name: &str| -> Result<Output, Failure> {
            let object = format!("{commit}:{prefix}{name}");
            // Of a folder, git would print the list with the names that are hidden.
            let kind = runner.run(&["cat-file", "-t", &object])?;
            if kind.stdout.trim_ascii() == b"blob" {
                runner.run(&["cat-file", "--filters", &object])
            } else {
                Ok(Output { ok: false, ..kind })
            }
        };
        let mut output = in_commit(&self.changes.vault.spelled(path))?;
        if !output.ok {
            let (versions, _) = self.history(path, None, usize::MAX, cancelled)?;
            let then = versions
                .into_iter()
                .find(|version| version.commit.starts_with(commit))
                .and_then(|version| version.path);
            if let Some(then) = then {
                output = in_commit(&then)?;
            }
        }
        if !output.ok {
            return Err(missing());
        }
        if output.stdout.len() as u64 > limits::NOTE_BYTES {
            return Err(Failure::Refused(format!(
                "{} is too large in commit {commit}",
                path.as_str()
            )));
        }
        Ok(output.stdout)
    }
}

/// One commit of `git log -z --name-status`, and whether earlier ones are about the same note.
fn parse_version(text: &str, separator: &str, prefix: &str) -> Option<(Version, bool)> {
    let mut fields = text
        .split(separator)
        .map(|field| field.chars().filter(|c| !c.is_control()).collect::<String>());
    let (commit, author, date, message) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let (login, tool) = (fields.next()?, fields.next()?);
    let (_, files) = text.rsplit_once(separator)?;
    // The status letter (for `R` and `C` followed by a percentage and the earlier name), then the
    // name.
    let names: Vec<&str> = files.split(['\0', '\n']).filter(|part| !part.is_empty()).collect();
    let (kind, name) = (names.first()?.chars().next()?, names.last()?);
    let (change, history_continues) = match kind {
        'A' => ("added", true),
        'D' => ("deleted", true),
        'R' => ("renamed", true),
        // Git continues with the source of the copy: a template, or any similar note.
        'C' => ("added", false),
        _ => ("modified", true),
    };
    let tool = Some(tool).filter(|tool| !tool.is_empty() && !login.is_empty());
    let by = if login.is_empty() { author } else { login };
    let path = name.strip_prefix(prefix).map(str::to_owned);
    Some((
        Version { commit, by, tool, date, message, change, path, bytes: None },
        history_continues,
    ))
}
