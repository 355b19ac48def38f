//! A change of several files, such as to all links to a file: planned from the index and made as
//! one. A dry run shows the same plan.

use crate::change::Changes;
use crate::change::step::Step;
use crate::limits;
use crate::links::Links;
use crate::links::index::LinkIndex;
use crate::links::list::shown_line;
use crate::markdown::edit::{Edit, apply_all};
use crate::markdown::parts::Note;
use crate::vault::entry::Entry;
use crate::vault::{Error, VaultPath};
use serde::Serialize;
use std::collections::BTreeMap;

/// How files are changed.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub update_links: bool,
    /// Nothing is changed; the result says what would be.
    pub dry_run: bool,
    /// The expected etag of the file to move.
    pub if_match: Option<&'a str>,
    /// Called with the files processed so far and their total; `false` cancels.
    pub proceed: &'a dyn Fn(usize, usize) -> bool,
}

/// What was done, or would be.
#[derive(Debug, Default)]
pub struct Rewritten {
    /// Old and new path, or path and heading.
    pub moved: Vec<(String, String)>,
    /// The new paths of the files or folders that were moved as a whole.
    pub renamed_to: Vec<VaultPath>,
    /// Links or tags.
    pub updated: usize,
    /// Number of files with changed text.
    pub files_changed: usize,
    pub changes: Vec<ChangedLine>,
    pub left_alone: Vec<LeftAlone>,
    /// How many are left alone in all.
    pub left_alone_total: usize,
}

#[derive(Debug, Serialize)]
pub struct ChangedLine {
    pub path: String,
    /// From 1.
    pub line: usize,
    pub before: String,
    pub after: String,
}

/// A mention of what was renamed that was not changed.
#[derive(Debug, Clone, Serialize)]
pub struct LeftAlone {
    pub path: String,
    /// From 1.
    pub line: usize,
    pub text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The current text of a file and the edits planned for it.
pub(crate) struct FilePlan {
    pub(crate) path: String,
    pub(super) text: String,
    pub(super) edits: Vec<Edit>,
    /// Offsets of mentions that are not changed, and why.
    pub(crate) left_alone: Vec<(usize, String)>,
}

impl FilePlan {
    /// Bytes of the new text.
    fn length(&self) -> usize {
        let (more, less) = self
            .edits
            .iter()
            .fold((0, 0), |(more, less), edit| (more + edit.text.len(), less + edit.range.len()));
        self.text.len() + more - less
    }
}

#[derive(Default)]
pub(crate) struct Plan {
    /// Old and new path of each file or folder that moves as a whole.
    pub(crate) renames: Vec<(VaultPath, VaultPath)>,
    /// Old and new path of every file that moves.
    pub(crate) moved: BTreeMap<String, String>,
    /// What the result lists as moved besides: empty folders, or a heading.
    pub(crate) moved_besides: Vec<(String, String)>,
    /// The files that change.
    pub(crate) files: Vec<FilePlan>,
    pub(crate) left_alone: Vec<LeftAlone>,
    /// How many more are left alone than are kept here.
    pub(super) more_left_alone: usize,
}

impl Links {
    /// Makes a plan from the link index and applies it as one change; replans if another
    /// program has changed one of the files since it was indexed. `plan` reads only. With `dry_run`
    /// nothing is locked or changed.
    pub(crate) fn rewrite(
        &self,
        changes: &Changes,
        options: Options<'_>,
        plan: &dyn Fn(&LinkIndex) -> Result<Plan, Error>,
    ) -> Result<Rewritten, Error> {
        for _ in 0..limits::EDIT_ATTEMPTS {
            let alone = (!options.dry_run).then(|| changes.alone());
            // Links that another program has just written are to be rewritten, too.
            if alone.is_some() {
                self.vault().refresh_now()?;
            }
            let plan = {
                let index = self.index(options.proceed)?;
                plan(&index)?
            };
            plan.check_size()?;
            let outcome = plan.outcome();
            match alone.map(|alone| alone.change(&plan.steps())) {
                None | Some(Ok(_)) => return Ok(outcome),
                Some(Err(Error::Busy)) => {}
                Some(Err(error)) => return Err(error),
            }
        }
        Err(Error::Busy)
    }

    /// The plan for a file: the edits, or, if it cannot be changed, why it is left alone.
    pub(crate) fn plan_file(&self, entry: &Entry, text: String, mut edits: Vec<Edit>) -> FilePlan {
        edits.retain(|edit| text.get(edit.range.clone()) != Some(&*edit.text));
        let path = entry.path.to_string();
        let mut plan = FilePlan { path, text, edits, left_alone: Vec::new() };
        if plan.edits.is_empty() {
            return plan;
        }
        let path = VaultPath::unchecked(&entry.path);
        let reason = match self.vault().jail.look_up(&path) {
            _ if !self.vault().jail.may_change(&entry.path) => Some("this login may not change it"),
            Ok((_, found)) if found.permissions().readonly() => Some("the file is read-only"),
            Ok(_) if plan.length() as u64 > limits::NOTE_BYTES => {
                Some("the file would be too large")
            }
            Ok(_) => None,
            Err(_) => Some("the file cannot be opened"),
        };
        let reason = reason.or_else(|| {
            let is_lossy = plan.text.contains('\u{fffd}')
                && self
                    .vault()
                    .bytes(&path)
                    .is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err());
            is_lossy.then_some("the file is not UTF-8")
        });
        if let Some(reason) = reason {
            let edits = std::mem::take(&mut plan.edits);
            plan.left_alone
                .extend(edits.into_iter().map(|edit| (edit.range.start, reason.to_owned())));
        }
        plan
    }
}

pub(crate) fn left_alone(path: &str, note: &Note<'_>, at: usize, reason: &str) -> LeftAlone {
    LeftAlone {
        path: path.to_owned(),
        line: note.line_at(at) + 1,
        text: shown_line(note, at),
        reason: reason.to_owned(),
    }
}

impl Plan {
    pub(crate) fn add(&mut self, file: FilePlan) {
        if !file.left_alone.is_empty() {
            let note = Note::of(&file.text);
            let first = file.left_alone.iter().take(limits::CHANGES_SHOWN);
            self.more_left_alone += file.left_alone.len() - first.len();
            self.left_alone
                .extend(first.map(|(at, reason)| left_alone(&file.path, &note, *at, reason)));
        }
        if !file.edits.is_empty() {
            self.files.push(file);
        }
    }

    /// # Errors
    /// [`Error::Invalid`] for more than may be changed at once.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        let bytes: usize = self.files.iter().map(|file| file.text.len() + file.length()).sum();
        if bytes <= limits::CHANGE_BYTES {
            return Ok(());
        }
        // These are the old and the new texts: half of the bytes are those of the files.
        let (files, megabytes) = (self.files.len(), limits::CHANGE_BYTES >> 21);
        Err(Error::Invalid(format!(
            "This would change {files} files totalling more than {megabytes} MB, which is too \
             much at once; nothing was done. Move smaller parts."
        )))
    }

    /// The first mentions that are left alone, by path and line.
    fn left_alone(&self) -> Vec<LeftAlone> {
        let rows = self
            .left_alone
            .iter()
            .map(|left| LeftAlone { path: self.new_path(&left.path), ..left.clone() });
        let mut rows: Vec<LeftAlone> = rows.collect();
        rows.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
        rows.truncate(limits::CHANGES_SHOWN);
        rows
    }

    fn new_path(&self, path: &str) -> String {
        self.moved.get(path).map_or(path, String::as_str).to_owned()
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let renames = self
            .renames
            .iter()
            .map(|(from, to)| Step::Rename { from: from.clone(), to: to.clone() });
        let replace = self.files.iter().map(|file| {
            let (before, after) = (file.text.clone(), apply_all(&file.text, &file.edits));
            Step::write(
                VaultPath::unchecked(&self.new_path(&file.path)),
                Some(before.into_bytes()),
                after.into_bytes(),
            )
        });
        renames.chain(replace).collect()
    }

    fn outcome(&self) -> Rewritten {
        let is_heading = self.renames.is_empty() && !self.moved_besides.is_empty();
        let edits: usize = self.files.iter().map(|file| file.edits.len()).sum();
        let mut changes = Vec::new();
        for file in &self.files {
            if changes.len() >= limits::CHANGES_SHOWN {
                break;
            }
            changes.extend(changed_lines(&self.new_path(&file.path), &file.text, &file.edits));
        }
        changes.truncate(limits::CHANGES_SHOWN);
        Rewritten {
            moved: self.moved_besides.iter().cloned().chain(self.moved.clone()).collect(),
            renamed_to: self.renames.iter().map(|(_, to)| to.clone()).collect(),
            // The heading itself is not a link.
            updated: edits - usize::from(is_heading),
            files_changed: self.files.len(),
            changes,
            left_alone: self.left_alone(),
            left_alone_total: self.left_alone.len() + self.more_left_alone,
        }
    }
}

/// The lines in which edits begin. Only the edit of a list of tags may contain line breaks.
fn changed_lines(path: &str, text: &str, edits: &[Edit]) -> Vec<ChangedLine> {
    let after_text = apply_all(text, edits);
    let (before, after) = (Note::of(text), Note::of(&after_text));
    let mut starts: Vec<usize> = edits.iter().map(|edit| edit.range.start).collect();
    starts.sort_unstable();
    // Only the first edit of each line: the text before it is unchanged, so its column is the same
    // in both versions.
    starts.dedup_by_key(|at| before.line_at(*at));
    let row = |at: usize| {
        let number = before.line_at(at);
        let after_at = after.start(number) + at - before.start(number);
        ChangedLine {
            path: path.to_owned(),
            line: number + 1,
            before: shown_line(&before, at),
            after: shown_line(&after, after_at),
        }
    };
    starts.into_iter().map(row).collect()
}
