//! Moving and renaming files and folders, with the links that this would break.

use crate::change::Changes;
use crate::links::Links;
use crate::links::index::{LinkIndex, folder_of, resolve_path};
use crate::links::plan::{Options, Plan, Rewritten};
use crate::markdown::edit::Edit;
use crate::markdown::links::{Link, Syntax, key_of};
use crate::markdown::resolve::{Among, Files, Resolved, is_relative, leads_to, relative};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::vault::entry::Entry;
use crate::vault::parallel::map_parallel;
use crate::vault::{Error, Vault, VaultPath};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What to do with a link.
enum Decision {
    Stays,
    /// It has to be rewritten to name this file.
    Changes(String),
    /// It matches several files, one of which moves, or from another folder; these are their paths.
    Ambiguous(String),
}

/// Which files get another path, and how links resolve afterwards.
struct Moves<'a> {
    index: &'a LinkIndex,
    moved: &'a BTreeMap<String, String>,
    /// The files that move, at their new paths.
    new_files: Files,
    /// `newLinkFormat` of Obsidian's settings.
    format: String,
}

impl<'a> Moves<'a> {
    fn of(vault: &Vault, index: &'a LinkIndex, moved: &'a BTreeMap<String, String>) -> Moves<'a> {
        let mut new_files = Files::default();
        moved.values().for_each(|path| new_files.insert(&path.as_str().into()));
        let format = vault
            .obsidian("app.json")
            .get("newLinkFormat")
            .and_then(|format| format.as_str())
            .unwrap_or("shortest")
            .to_owned();
        Moves { index, moved, new_files, format }
    }

    fn new_path<'b>(&'b self, path: &'b str) -> &'b str {
        self.moved.get(path).map_or(path, |path| path)
    }

    /// Looks something up among the files after the move.
    fn after<T>(&self, look: impl FnOnce(&Among<'_, '_>) -> T) -> T {
        look(&Among {
            layers: &[&self.index.files, &self.new_files],
            is_gone: &|file| self.moved.contains_key(file),
        })
    }

    /// Whether a link leads to a file after the move.
    fn leads_to_after(&self, path: &str, is_canvas_path: bool, folder: &str, file: &str) -> bool {
        self.after(|among| resolve_path(path, is_canvas_path, folder, among) == Resolved::One(file))
    }

    fn decide(&self, path: &str, is_canvas_path: bool, source: &str) -> Decision {
        let (folder, new_folder) = (folder_of(source), folder_of(self.new_path(source)));
        match self.index.resolve_path(path, is_canvas_path, folder) {
            Resolved::Missing => Decision::Stays,
            Resolved::Several(files)
                if files.iter().any(|file| self.moved.contains_key(*file))
                    || is_relative(path) && folder != new_folder =>
            {
                Decision::Ambiguous(files.join(", "))
            }
            Resolved::Several(_) => Decision::Stays,
            Resolved::One(file) => {
                let wanted = self.new_path(file);
                // Obsidian also finds a file to which a relative path does not lead; other programs
                // do not. A relative path that led to its file must still do so.
                let was_exact =
                    !is_canvas_path && is_relative(path) && leads_to(path, folder, file);
                let is_broken = was_exact && !leads_to(path, new_folder, wanted);
                if !is_broken && self.leads_to_after(path, is_canvas_path, new_folder, wanted) {
                    Decision::Stays
                } else {
                    Decision::Changes(wanted.to_owned())
                }
            }
        }
    }

    /// The path to write into a link in `source` (its old path) to name `wanted`: in the format of
    /// the settings, if that resolves.
    fn path_for(&self, link: &Link, source: &str, wanted: &str) -> String {
        if link.syntax == Syntax::CanvasPath {
            return wanted.to_owned();
        }
        let folder = folder_of(self.new_path(source));
        let has_extension = crate::vault::media::is_note(&link.path);
        let bare = wanted.strip_suffix(".md").filter(|_| !has_extension).unwrap_or(wanted);
        let near = relative(folder, bare);
        let preferred = match self.format.as_str() {
            "absolute" => Vec::new(),
            "relative" => vec![near.clone(), format!("./{near}")],
            _ => {
                // As Obsidian writes it, also where a nearer file of two would be found.
                let name = bare.rsplit('/').next().unwrap_or(bare).to_owned();
                Vec::from_iter(self.after(|among| among.is_unique(&name)).then_some(name))
            }
        };
        let is_meant = |path: &String| {
            link.write_path(path).is_some()
                && self.leads_to_after(path, false, folder, wanted)
                && (self.format != "relative"
                    || !is_relative(path)
                    || leads_to(path, folder, wanted))
        };
        preferred
            .into_iter()
            .chain([bare.to_owned()])
            .find(is_meant)
            .unwrap_or_else(|| wanted.to_owned())
    }
}

impl Links {
    /// Moves or renames files, or folders with all that is below them, each to its new path, and
    /// rewrites the links that would break; all or nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Exists`], [`Error::Conflict`], [`Error::Invalid`], and those
    /// of [`crate::change::apply::Alone::change`].
    pub fn move_files(
        &self,
        changes: &Changes,
        renames: &[(VaultPath, VaultPath)],
        options: Options<'_>,
    ) -> Result<Rewritten, Error> {
        for (at, (from, to)) in renames.iter().enumerate() {
            if from == to {
                return Err(Error::Invalid(format!("{} has this path already.", from.as_str())));
            }
            if from.contains(to.as_str()) {
                return Err(Error::Invalid(format!(
                    "{} cannot be moved into itself.",
                    from.as_str()
                )));
            }
            let others = renames.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (other, other_to)) in others {
                if other.covers(from.as_str()) || fold(other_to.as_str()) == fold(to.as_str()) {
                    return Err(Error::Invalid(format!(
                        "{} and {} cannot be moved together: one is in the other, or they would \
                         have the same path.",
                        other.as_str(),
                        from.as_str()
                    )));
                }
            }
        }
        self.rewrite(changes, options, &|index| self.plan_move(changes, index, renames, options))
    }

    /// The steps that move a file and rewrite the links that would break.
    ///
    /// # Errors
    /// As [`Links::move_files`].
    #[cfg(feature = "accomplishments")]
    pub fn steps_of_move(
        &self,
        changes: &Changes,
        from: &VaultPath,
        to: &VaultPath,
    ) -> Result<Vec<crate::change::step::Step>, Error> {
        let options =
            Options { update_links: true, dry_run: false, if_match: None, proceed: &|_, _| true };
        let index = self.index(options.proceed)?;
        let renames = [(from.clone(), to.clone())];
        let plan = self.plan_move(changes, &index, &renames, options)?;
        plan.check_size().map(|()| plan.steps())
    }

    fn plan_move(
        &self,
        changes: &Changes,
        index: &LinkIndex,
        renames: &[(VaultPath, VaultPath)],
        options: Options<'_>,
    ) -> Result<Plan, Error> {
        let mut plan = Plan { renames: renames.to_vec(), ..Plan::default() };
        let mut moved = BTreeMap::new();
        for (from, to) in renames {
            let before = moved.len();
            self.check_rename(changes, from, to, options)?;
            let below = self
                .vault()
                .view
                .below(from, |_| true)
                .into_iter()
                .chain(self.vault().view.get(from.as_str()));
            for entry in below {
                let rest = entry.path.part(from.as_str().len()..);
                let new = VaultPath::file(&format!("{}{rest}", to.as_str()))?;
                moved.insert(entry.path.to_string(), new.as_str().to_owned());
            }
            if moved.len() == before {
                plan.moved_besides.push((from.as_str().into(), to.as_str().into()));
            }
        }
        let moves = Moves::of(self.vault(), index, &moved);
        // A link may have to change if it has the old or new name of a moved file, or if the file
        // that contains it moves.
        let mut sources: BTreeSet<&str> = moved.keys().map(String::as_str).collect();
        let keys: BTreeSet<String> =
            moved.iter().flat_map(|(old, new)| [key_of(old), key_of(new)]).collect();
        for (path, is_canvas_path, source) in keys.iter().flat_map(|key| index.links_of_key(key)) {
            if !sources.contains(source)
                && !matches!(moves.decide(path, is_canvas_path, source), Decision::Stays)
            {
                sources.insert(source);
            }
        }
        let entries: Vec<Arc<Entry>> =
            sources.into_iter().filter_map(|source| self.vault().view.get(source)).collect();
        let look = |entry: &Arc<Entry>| {
            let (text, links) = self.links_in(entry);
            let (mut edits, mut left) = (Vec::new(), Vec::new());
            let mut leave = |link: &Link, reason: String| left.push((link.range.start, reason));
            for link in links.iter().filter(|link| !link.path.is_empty()) {
                match moves.decide(&link.path, link.syntax == Syntax::CanvasPath, &entry.path) {
                    Decision::Stays => {}
                    Decision::Ambiguous(files) => {
                        leave(link, format!("several files have this name: {files}"))
                    }
                    Decision::Changes(_) if !options.update_links => {
                        leave(link, "update_links is false".into())
                    }
                    Decision::Changes(wanted) => {
                        match link.write_path(&moves.path_for(link, &entry.path, &wanted)) {
                            Some(text) => edits.push(Edit { range: link.path_at.clone(), text }),
                            None => leave(
                                link,
                                "it no longer leads to the file: a link of this kind cannot have \
                                 the characters of the new name"
                                    .into(),
                            ),
                        }
                    }
                }
            }
            let mut file = self.plan_file(entry, text, edits);
            file.left_alone.append(&mut left);
            file
        };
        map_parallel(&entries, &|entry| entry.search_cost(), &look, options.proceed)?
            .into_iter()
            .for_each(|file| plan.add(file));
        drop(moves);
        for (from, _) in renames {
            // A base names a note by its name, and a folder by its path.
            let named = if moved.contains_key(from.as_str()) {
                key_of(from.as_str())
            } else {
                from.as_str().to_owned()
            };
            plan.left_alone.extend(self.mentions(&named, options.proceed)?);
            plan.left_alone.extend(self.outside_links(&named, options.proceed)?);
        }
        plan.moved = moved;
        Ok(plan)
    }

    /// Refuses what cannot be renamed, and a path that it cannot have.
    fn check_rename(
        &self,
        changes: &Changes,
        from: &VaultPath,
        to: &VaultPath,
        options: Options<'_>,
    ) -> Result<(), Error> {
        let (on_disk, _) = self.vault().locate(from)?;
        changes.check_etag(from, options.if_match)?;
        match self.vault().jail.existing(to) {
            Ok(found) if crate::disk::is_same_file(&found, &on_disk) => {}
            // The same name in another case, on a file system that takes both.
            Err(Error::NotAllowed { .. })
                if crate::disk::is_same_file(&self.vault().absolute(to.as_str()), &on_disk) => {}
            Ok(_) => return Err(Error::Exists(to.as_str().into())),
            Err(Error::NotFound { .. }) => changes.may_create(to)?,
            Err(error) => return Err(error),
        }
        self.vault().check_new_name(to, Some(from))?;
        changes.movable(from).map(drop)
    }
}
