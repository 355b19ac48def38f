//! Another text for a heading, with the links to it.

use crate::change::Changes;
use crate::links::Links;
use crate::links::index::{LinkIndex, folder_of};
use crate::links::plan::{Options, Plan, Rewritten};
use crate::markdown::edit::Edit;
use crate::markdown::insert::Target;
use crate::markdown::parts::{
    Heading, Note, comparable_heading, heading_in_link, subpath_headings,
};
use crate::markdown::resolve::Resolved;
use crate::vault::{Error, VaultPath};
use std::collections::BTreeSet;

/// A heading of a note that gets another text.
struct RenamedHeading<'a> {
    headings: Vec<Heading>,
    /// Its number among them.
    number: usize,
    to: &'a str,
    edit: Edit,
}

impl<'a> RenamedHeading<'a> {
    /// `path` is that of the note, `text` its text.
    ///
    /// # Errors
    /// As [`Links::rename_heading`].
    fn of(path: &str, text: &str, from: &str, to: &'a str) -> Result<RenamedHeading<'a>, Error> {
        let note = Note::of(text);
        let headings = note.headings();
        let wanted = from
            .split('#')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" > ");
        let number = note
            .find_heading(&headings, &wanted, false)
            .map_err(|error| Error::of_part(Target::Heading(&wanted), error))?;
        let mut others = headings.iter().enumerate().filter(|(other, _)| *other != number);
        if others.any(|(_, heading)| comparable_heading(&heading.text) == comparable_heading(to)) {
            return Err(Error::Exists(format!("{path}#{to}")));
        }
        let Some(range) = note.heading_text(&headings, number) else {
            return Err(Error::Invalid(
                "A heading of several lines is changed with vault_edit.".into(),
            ));
        };
        if text.get(range.clone()) == Some(to) {
            return Err(Error::Invalid(format!("The heading is {to:?} already.")));
        }
        let edit = Edit { range, text: to.to_owned() };
        if Note::of(&edit.apply(text))
            .headings()
            .get(number)
            .is_none_or(|heading| heading.text != to)
        {
            return Err(Error::Invalid(format!("{to:?} would not be a heading there.")));
        }
        Ok(RenamedHeading { headings, number, to, edit })
    }

    /// The subpath to write into a link to the note; `None` if it does not name the heading.
    fn new_subpath(&self, subpath: &str) -> Option<String> {
        let parts = subpath_headings(&self.headings, subpath);
        parts.contains(&self.number).then(|| {
            let segments = subpath.trim_start_matches('#').split('#').zip(parts);
            let new = segments.map(|(old, heading)| {
                if heading == self.number { heading_in_link(self.to) } else { old.to_owned() }
            });
            new.map(|segment| format!("#{segment}")).collect()
        })
    }
}

impl Links {
    /// Renames a heading of a note, and rewrites the links to it.
    ///
    /// # Errors
    /// As [`Links::move_files`]; [`Error::NoTarget`], [`Error::Ambiguous`].
    pub fn rename_heading(
        &self,
        changes: &Changes,
        path: &VaultPath,
        from: &str,
        to: &str,
        options: Options<'_>,
    ) -> Result<Rewritten, Error> {
        let to = to.trim();
        if heading_in_link(to).is_empty() || to.contains(['\n', '\r']) || to.starts_with('#') {
            return Err(Error::Invalid(
                "The new heading must be one line of text that does not begin with #.".into(),
            ));
        }
        if from.starts_with('^') {
            return Err(Error::Invalid(
                "That is the id of a block; change it with vault_edit.".into(),
            ));
        }
        self.rewrite(changes, options, &|index| self.plan_heading(index, path, from, to, options))
    }

    fn plan_heading(
        &self,
        index: &LinkIndex,
        path: &VaultPath,
        from: &str,
        to: &str,
        options: Options<'_>,
    ) -> Result<Plan, Error> {
        let (text, now) = self.vault().note(path)?;
        self.vault().check_grant(path.as_str())?;
        crate::change::write::refuse_read_only(&self.vault().locate(path)?.1, path)?;
        if options.if_match.is_some_and(|wanted| wanted != now) {
            return Err(Error::Conflict(Some(now)));
        }
        let renamed = RenamedHeading::of(path.as_str(), &text, from, to)?;
        let mut plan = Plan {
            moved_besides: vec![(
                format!("{}#{from}", path.as_str()),
                format!("{}#{to}", path.as_str()),
            )],
            ..Plan::default()
        };
        let mut sources = index.sources_of(&BTreeSet::from([path.as_str()]));
        sources.insert(path.as_str().to_owned());
        for source in sources {
            let Some(entry) = self.vault().view.get(&source) else { continue };
            let (own_text, links) = self.links_in(&entry);
            let (mut edits, mut left): (Vec<Edit>, Vec<usize>) = (Vec::new(), Vec::new());
            if source == path.as_str() {
                if own_text != text {
                    return Err(Error::Busy);
                }
                edits.push(renamed.edit.clone());
            }
            for link in links {
                let is_meant = if link.path.is_empty() {
                    source == path.as_str()
                } else {
                    index.resolve(&link, folder_of(&source)) == Resolved::One(path.as_str())
                };
                let subpath = link.subpath.as_ref().filter(|_| is_meant);
                let Some(new) = subpath.and_then(|subpath| renamed.new_subpath(subpath)) else {
                    continue;
                };
                if options.update_links {
                    edits.push(Edit { range: link.subpath_at.clone(), text: link.write(&new) });
                } else {
                    left.push(link.range.start);
                }
            }
            let mut file = self.plan_file(&entry, own_text, edits);
            file.left_alone
                .extend(left.into_iter().map(|at| (at, "update_links is false".to_owned())));
            plan.add(file);
        }
        if !plan.files.iter().any(|file| file.path == path.as_str()) {
            let left = plan.left_alone.iter().find(|left| left.path == path.as_str());
            let reason = left.map(|left| format!(": {}", left.reason)).unwrap_or_default();
            return Err(Error::Invalid(format!("{} was not changed{reason}.", path.as_str())));
        }
        Ok(plan)
    }
}
