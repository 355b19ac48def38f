//! Related changes to many files, such as to all links to a file: planned from the index and made
//! as one change. A dry run shows the same plan. Also renames tags and moves files to the
//! trash.

use super::change::step::Step;
use super::links::{LinkIndex, folder_of, shown_line};
use super::tag::TagRename;
use super::{Entry, Error, Vault, VaultPath};
use crate::limits;
use crate::markdown::blocks::Kind;
use crate::markdown::edit::{Edit, apply_all};
use crate::markdown::parts::Note;
use crate::markdown::resolve::Resolved;
use crate::text::fold::fold;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The languages of code blocks with queries: Obsidian's own, bases, and those of the plugins
/// Dataview and Tasks.
const QUERY_BLOCKS: [&str; 5] = ["query", "base", "dataview", "dataviewjs", "tasks"];

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
    /// Links or tags.
    pub updated: usize,
    /// Number of files with changed text.
    pub files_changed: usize,
    pub changes: Vec<ChangedLine>,
    pub left_alone: Vec<LeftAlone>,
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

/// Files that were moved to the trash.
#[derive(Debug)]
pub struct Deleted {
    /// Path, and path in the trash.
    pub files: Vec<(String, String)>,
    /// Number of links that led to one of them.
    pub broken_links: usize,
    pub broken: Vec<LeftAlone>,
}

/// The current text of a file and the edits planned for it.
pub(super) struct FilePlan {
    pub(super) path: String,
    text: String,
    edits: Vec<Edit>,
    /// Offsets of mentions that are not changed, and why.
    pub(super) left_alone: Vec<(usize, String)>,
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
pub(super) struct Plan {
    pub(super) rename: Option<(VaultPath, VaultPath)>,
    /// Old and new path of every file that moves.
    pub(super) moved: BTreeMap<String, String>,
    /// What the result lists as moved where no indexed file moves: an empty folder, or a heading.
    pub(super) moved_instead: Option<(String, String)>,
    /// The files that change.
    pub(super) files: Vec<FilePlan>,
    pub(super) left_alone: Vec<LeftAlone>,
}

impl Vault {
    /// Renames a tag and those nested below it in the properties and text of all notes. Both names
    /// are without `#`.
    ///
    /// # Errors
    /// As [`Vault::move_file`].
    pub fn rename_tag(
        &self,
        from: &str,
        to: &str,
        options: Options<'_>,
    ) -> Result<Rewritten, Error> {
        self.rewrite(options, &|_| self.plan_tag(from, to, options))
    }

    /// Moves files to the trash, all of them or none. A folder can be deleted if each of its files
    /// is named, too.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`], [`Error::Invalid`] for a folder with other files,
    /// and those of [`super::change::apply::Alone::change`].
    pub fn delete(
        &self,
        paths: &[VaultPath],
        if_match: Option<&str>,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Deleted, Error> {
        let alone = self.alone();
        self.refresh_now()?;
        let mut wanted: Vec<VaultPath> = Vec::new();
        for path in paths {
            let (on_disk, found) = self.locate(path)?;
            self.check_etag(path, if_match)?;
            if found.is_dir() {
                let others: Vec<Arc<Entry>> = self
                    .view
                    .below(path, |entry| !paths.iter().any(|path| path.as_str() == &*entry.path));
                if let Some(other) = others.first() {
                    return Err(Error::Invalid(format!(
                        "{} has files that are not named ({}, such as {}); nothing was deleted. \
                         Name each file to delete, or move the folder.",
                        path.as_str(),
                        others.len(),
                        other.path
                    )));
                }
                if self.jail.has_hidden(path.as_str(), &on_disk, true, limits::DEPTH) {
                    return Err(Error::NotAllowed {
                        path: path.as_str().into(),
                        why: "it has hidden files, such as .git or .obsidian, which are not \
                              served; delete it by hand",
                    });
                }
            }
            self.movable(path)?;
            if !wanted.contains(path) {
                wanted.push(path.clone());
            }
        }
        // The contents of a folder are deleted before it.
        wanted.sort_by_key(|path| std::cmp::Reverse(path.segments().count()));
        let gone: BTreeSet<&str> = wanted.iter().map(VaultPath::as_str).collect();
        let (mut broken_links, mut broken) = (0, Vec::new());
        {
            let index = self.link_index(proceed)?;
            let sources = index.sources_of(&gone);
            for source in sources.iter().filter(|source| !gone.contains(source.as_str())) {
                let Some(entry) = self.view.get(source) else { continue };
                let (text, links) = self.links_in(&entry);
                let note = Note::of(&text);
                for link in links.iter().filter(|link| !link.path.is_empty()) {
                    let folder = folder_of(source);
                    let breaks = || index.resolve_without(&gone, link, folder) == Resolved::Missing;
                    if index.resolve(link, folder) != Resolved::Missing && breaks() {
                        broken_links += 1;
                        let at = link.range.start;
                        if broken.len() < limits::CHANGES_SHOWN {
                            broken.push(left_alone(source, &note, at, ""));
                        }
                    }
                }
            }
        }
        let steps: Vec<Step> = wanted.iter().cloned().map(Step::trash).collect();
        let trashed = alone.change(&steps)?.trashed;
        let files = wanted
            .iter()
            .zip(trashed)
            .map(|(path, trashed_to)| (path.as_str().to_owned(), trashed_to))
            .collect();
        Ok(Deleted { files, broken_links, broken })
    }

    /// Makes a plan from the link index and applies it as one change; replans if another
    /// program has changed one of the files since it was indexed. `plan` reads only. With `dry_run`
    /// nothing is locked or changed.
    pub(super) fn rewrite(
        &self,
        options: Options<'_>,
        plan: &dyn Fn(&LinkIndex) -> Result<Plan, Error>,
    ) -> Result<Rewritten, Error> {
        for _ in 0..limits::EDIT_ATTEMPTS {
            let alone = (!options.dry_run).then(|| self.alone());
            // Links that another program has just written are to be rewritten, too.
            if alone.is_some() {
                self.refresh_now()?;
            }
            let plan = {
                let index = self.link_index(options.proceed)?;
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
    pub(super) fn plan_file(&self, entry: &Entry, text: String, mut edits: Vec<Edit>) -> FilePlan {
        edits.retain(|edit| text.get(edit.range.clone()) != Some(&*edit.text));
        let path = entry.path.to_string();
        let mut plan = FilePlan { path, text, edits, left_alone: Vec::new() };
        if plan.edits.is_empty() {
            return plan;
        }
        let path = VaultPath::unchecked(&entry.path);
        let reason = match self.jail.look_up(&path) {
            _ if !self.jail.may_change(&entry.path) => Some("this login may not change it"),
            Ok((_, found)) if found.permissions().readonly() => Some("the file is read-only"),
            Ok(_) if plan.length() as u64 > limits::NOTE_BYTES => {
                Some("the file would be too large")
            }
            Ok(_) => None,
            Err(_) => Some("the file cannot be opened"),
        };
        let reason = reason.or_else(|| {
            let is_lossy = plan.text.contains('\u{fffd}')
                && self.bytes(&path).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err());
            is_lossy.then_some("the file is not UTF-8")
        });
        if let Some(reason) = reason {
            let edits = std::mem::take(&mut plan.edits);
            plan.left_alone
                .extend(edits.into_iter().map(|edit| (edit.range.start, reason.to_owned())));
        }
        plan
    }

    fn plan_tag(&self, from: &str, to: &str, options: Options<'_>) -> Result<Plan, Error> {
        let wanted = fold(from);
        let mut entries: Vec<Arc<Entry>> = self.view.read(|entries| {
            entries
                .values()
                .filter(|entry| entry.is_note() && entry.has_tag(&wanted))
                .cloned()
                .collect()
        });
        if entries.is_empty() {
            return Err(Error::NoTarget {
                what: format!("No note has the tag {from:?}"),
                known: Vec::new(),
            });
        }
        // Those whose frontmatter is not YAML have no tags in the index, and are listed as left
        // alone.
        let word_index = self.word_index();
        self.view.with_table(|table| {
            let having =
                self.files_that_may_have(&[&wanted], word_index.as_deref(), table).into_iter();
            entries
                .extend(having.filter(|entry| entry.is_note() && !entry.has_tag(&wanted)).cloned());
        });
        let rename = TagRename::new(from, to);
        let look = |entry: &Arc<Entry>| {
            let Ok(text) = self.text(entry) else {
                let left_alone = vec![(0, "the file cannot be read, or is too large".to_owned())];
                return FilePlan {
                    path: entry.path.to_string(),
                    text: String::new(),
                    edits: Vec::new(),
                    left_alone,
                };
            };
            let in_properties = rename.in_properties(&text);
            let is_done = in_properties.is_some();
            let edits = in_properties.into_iter().flatten().chain(rename.in_text(&text)).collect();
            let mut file = self.plan_file(entry, text, edits);
            if !is_done {
                file.left_alone
                    .push((0, "the tag in its properties cannot be replaced safely".into()));
            }
            file
        };
        let mut plan = Plan::default();
        self.map_parallel(&entries, &|entry| entry.search_cost(), &look, options.proceed)?
            .into_iter()
            .for_each(|file| plan.add(file));
        plan.left_alone.extend(self.mentions(from, options.proceed)?);
        Ok(plan)
    }

    /// Where bases and query blocks mention a name or tag.
    pub(super) fn mentions(
        &self,
        name: &str,
        proceed: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Vec<LeftAlone>, Error> {
        let wanted = fold(name);
        let word_index = self.word_index();
        let mut entries = self.files_below(&VaultPath::root(), ".base");
        self.view.with_table(|table| {
            for kind in QUERY_BLOCKS {
                let having = self
                    .files_that_may_have(&[&wanted, kind], word_index.as_deref(), table)
                    .into_iter();
                entries.extend(having.filter(|entry| entry.is_note()).cloned());
            }
        });
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
        let look = |entry: &Arc<Entry>| {
            let is_base = !entry.is_note();
            let folded = entry.folded_text();
            if !is_base && !["```", "~~~"].iter().any(|fence| folded.contains(fence)) {
                return Vec::new();
            }
            let text = self.text(entry).unwrap_or_default();
            let note = Note::of(&text);
            let mut is_query = is_base;
            let mut found = Vec::new();
            for (number, line) in note.lines.iter().enumerate() {
                let shown = note.line(number);
                if !is_base {
                    let info =
                        shown.trim_start_matches(['>', ' ', '\t']).trim_start_matches(['`', '~']);
                    is_query = line.kind == Kind::Code
                        && if line.opens { QUERY_BLOCKS.contains(&info.trim()) } else { is_query };
                }
                if is_query && has_word(&fold(shown), &wanted) {
                    let reason = if is_base { "a base" } else { "a query block" };
                    found.push(left_alone(
                        &entry.path,
                        &note,
                        line.range.start,
                        &format!("{reason}: change it by hand if it refers to this"),
                    ));
                }
            }
            found
        };
        Ok(self
            .map_parallel(&entries, &|entry| entry.search_cost(), &look, proceed)?
            .into_iter()
            .flatten()
            .collect())
    }
}

/// Whether a text contains a word that is not part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + word.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !behind.is_some_and(char::is_alphanumeric)
    })
}

fn left_alone(path: &str, note: &Note<'_>, at: usize, reason: &str) -> LeftAlone {
    LeftAlone {
        path: path.to_owned(),
        line: note.line_at(at) + 1,
        text: shown_line(note, at),
        reason: reason.to_owned(),
    }
}

impl Plan {
    pub(super) fn add(&mut self, file: FilePlan) {
        if !file.left_alone.is_empty() {
            let note = Note::of(&file.text);
            let first = file.left_alone.iter().take(limits::CHANGES_SHOWN);
            self.left_alone
                .extend(first.map(|(at, reason)| left_alone(&file.path, &note, *at, reason)));
        }
        if !file.edits.is_empty() {
            self.files.push(file);
        }
    }

    /// # Errors
    /// [`Error::Invalid`] for more than may be changed at once.
    pub(super) fn check_size(&self) -> Result<(), Error> {
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

    pub(super) fn steps(&self) -> Vec<Step> {
        let rename = self
            .rename
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
        rename.chain(replace).collect()
    }

    fn outcome(&self) -> Rewritten {
        let is_heading = self.rename.is_none() && self.moved_instead.is_some();
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
            moved: self.moved_instead.iter().cloned().chain(self.moved.clone()).collect(),
            // The heading itself is not a link.
            updated: edits - usize::from(is_heading),
            files_changed: self.files.len(),
            changes,
            left_alone: self.left_alone(),
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
