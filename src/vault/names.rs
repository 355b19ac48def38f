//! How tools name a file: by its path, a wikilink or a name that Obsidian would find, `daily:today`
//! and the like.

use super::entry::name_of;
use super::media::{extension_of, is_note};
use super::obsidian::{PERIODS, Periodic};
use super::path::refused_elsewhere;
use super::{Entry, Error, Vault, VaultPath};
use crate::calendar::DateTime;
use crate::markdown::links::split_subpath;
use crate::markdown::resolve::{Files, Resolved, comparable_name, resolve};
use crate::slice::Part;
use crate::text::fold::fold;
use crate::{limits, percent};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The file that a text names.
#[derive(Debug)]
pub struct Named {
    pub path: VaultPath,
    /// What it begins with, if it is new.
    pub template: Option<Template>,
}

/// The template of a new note.
#[derive(Debug)]
pub struct Template {
    /// Its path, with or without `.md`.
    pub path: String,
    /// The moment that the note is for.
    pub at: DateTime,
    /// The format of the note's name, if it is a daily, weekly … note.
    pub name_format: Option<String>,
}

const WITHOUT_SUBPATH: &str = "Name the note without #; tools that take a heading or a block have \
                               an argument for it, such as vault_read_notes.";

impl Vault {
    /// The file that a text names. A path that exists always wins. With `creates`, a text that is
    /// neither a wikilink nor a period is a path.
    ///
    /// # Errors
    /// [`Error::Ambiguous`], [`Error::Invalid`], or those of [`VaultPath::file`].
    pub fn named(&self, text: &str, creates: bool, now: DateTime) -> Result<Named, Error> {
        let plain = |path| Named { path, template: None };
        let wikilink = text.trim().strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]"));
        let exists = |path: &VaultPath| self.exists(path);
        if wikilink.is_none() {
            let period = PERIODS.iter().find_map(|(name, format)| {
                Some((name, format, text.strip_prefix(name)?.strip_prefix(':')?))
            });
            let path = VaultPath::file(text);
            let note_of = |name: &str| VaultPath::unchecked(&format!("{name}.md"));
            if let Ok(path) = path.as_ref()
                && exists(path)
            {
                // Of a folder and the note of its name next to it, the note is the file, as in
                // links.
                let is_folder_note = |note: &VaultPath| {
                    self.view.get(path.as_str()).is_none() && exists(note) && self.is_folder(path)
                };
                let note =
                    Some(note_of(path.as_str())).filter(|note| !creates && is_folder_note(note));
                return Ok(plain(note.unwrap_or_else(|| path.clone())));
            }
            if let Some((name, format, when)) = period {
                return self.periodic_note(name, format, when.trim(), now);
            }
            if let Some(other) = self.in_other_form(text) {
                return self.named(&other, creates, now);
            }
            if creates || path.is_err() {
                let path = path?;
                if self.is_heading(path.as_str())? {
                    return Err(Error::Invalid(WITHOUT_SUBPATH.into()));
                }
                let note = note_of(path.as_str());
                if !is_note(path.name()) && exists(&note) {
                    return Err(Error::Invalid(format!(
                        "There is a note {}; include its extension.",
                        note.as_str()
                    )));
                }
                return Ok(plain(path));
            }
        }
        let target = wikilink.map_or(text, |inner| inner.split('|').next().unwrap_or(inner));
        let (target, subpath) =
            if wikilink.is_some() { split_subpath(target) } else { (target, None) };
        if subpath.is_some() {
            return Err(Error::Invalid(WITHOUT_SUBPATH.into()));
        }
        self.refresh()?;
        match self.resolve_from_root(target)? {
            Some(path) => Ok(plain(path)),
            None if wikilink.is_some() && creates => {
                let target = target.trim().trim_start_matches('/');
                let folder =
                    if target.contains('/') { String::new() } else { self.new_note_folder() };
                let ending = if is_note(target) { "" } else { ".md" };
                VaultPath::file(&format!("{folder}/{target}{ending}")).map(plain)
            }
            None if self.is_heading(target)? => Err(Error::Invalid(WITHOUT_SUBPATH.into())),
            None => VaultPath::file(target).map(plain),
        }
    }

    fn exists(&self, path: &VaultPath) -> bool {
        self.view.get(path.as_str()).is_some() || self.jail.existing(path).is_ok()
    }

    /// For a text that is no path of a file or folder that exists: such a path, if the text is one
    /// as in a Markdown link, or one with white space around it.
    pub fn in_other_form(&self, text: &str) -> Option<String> {
        let is_path = |text: &str| VaultPath::file(text).is_ok_and(|path| self.exists(&path));
        let trimmed = text.trim();
        // Most texts have no other form, and nothing is looked for.
        let mut others = std::iter::once(trimmed.to_owned())
            .chain(percent::decode(trimmed, false))
            .filter(|other| other != text);
        others.find(|other| is_path(other)).filter(|_| !is_path(text))
    }

    /// Whether a path means a heading or a block of a note: `Note.md#Heading`, or `Note#Heading`
    /// where there is such a note.
    fn is_heading(&self, path: &str) -> Result<bool, Error> {
        if !path.contains('#') {
            return Ok(false);
        }
        self.refresh()?;
        let has_ending = extension_of(path).is_some();
        Ok(path.match_indices('#').any(|(at, _)| {
            let (note, heading) = (path.part(..at), path.part(at + 1..));
            // `Issue #13`, `C#` and `C# notes` are names.
            let may_be = !has_ending && !note.ends_with(' ') && !heading.starts_with(' ');
            let is_there = || {
                is_note(note.trim_end())
                    || may_be && !matches!(self.resolve_from_root(note), Ok(None))
            };
            !note.is_empty() && !heading.is_empty() && is_there()
        }))
    }

    /// The file that a link in a note in the root resolves to.
    fn resolve_from_root(&self, target: &str) -> Result<Option<VaultPath>, Error> {
        let name = fold(target.trim().rsplit('/').next().unwrap_or(target));
        self.view.with_table(|table| {
            let may_be = |entry: &&Arc<Entry>| entry.folded_path().contains(&name);
            let mut files = Files::default();
            table.all().filter(may_be).for_each(|entry| files.insert(&entry.path));
            match resolve(target, "", &files) {
                Resolved::Missing => Ok(None),
                Resolved::One(path) => Ok(Some(VaultPath::unchecked(path))),
                Resolved::Several(paths) => Err(Error::Ambiguous {
                    what: format!("{target} is the name of several files"),
                    candidates: paths
                        .into_iter()
                        .take(limits::CANDIDATES_SHOWN)
                        .map(Into::into)
                        .collect(),
                }),
            }
        })
    }

    fn periodic_note(
        &self,
        name: &str,
        default_format: &str,
        when: &str,
        now: DateTime,
    ) -> Result<Named, Error> {
        let Some(Periodic { folder, format, template }) = self.periodic(name, default_format)
        else {
            return Err(Error::Invalid(format!(
                "The vault has no {name} notes: the plugin Periodic Notes is not configured for \
                 them."
            )));
        };
        let days = |days| Some(now.plus_days(days));
        let has_iso_weeks = has_iso_weeks(&format);
        let quarter = || {
            let (year, quarter) = when.split_once("-Q")?;
            let month =
                3 * quarter.parse::<u8>().ok().filter(|quarter| (1..=4).contains(quarter))?;
            DateTime::of_date(&format!("{year}-{month:02}-01"))
        };
        let day = match when.to_lowercase().as_str() {
            "today" => days(0),
            "yesterday" if name == "daily" => days(-1),
            "tomorrow" if name == "daily" => days(1),
            _ if name == "weekly" && when.contains("-W") => DateTime::of_week(when, has_iso_weeks),
            _ if name == "monthly" && when.len() == 7 => DateTime::of_date(&format!("{when}-01")),
            _ if name == "quarterly" && when.contains("-Q") => quarter(),
            _ if name == "yearly" && when.len() == 4 => DateTime::of_date(&format!("{when}-01-01")),
            _ => DateTime::of_date(when),
        };
        let forms = match name {
            "daily" => "daily:today, daily:yesterday, daily:tomorrow or daily:2026-11-22",
            "weekly" => "weekly:today, weekly:2026-W48 or a date in the week",
            "monthly" => "monthly:today, monthly:2026-11 or a date in the month",
            "quarterly" => "quarterly:today, quarterly:2026-Q4 or a date in the quarter",
            _ => "yearly:today, yearly:2026 or a date in the year",
        };
        let day = day.ok_or_else(|| {
            Error::Invalid(format!("{name}:{when} names no date; write {forms}."))
        })?;
        // As the plugin names and fills them: for the first day of their time.
        let (year, month, _) = day.date();
        let first = match name {
            "daily" => Some(day),
            "weekly" => Some(day.first_of_week(has_iso_weeks)),
            "monthly" => DateTime::of_date(&format!("{year:04}-{month:02}-01")),
            "quarterly" => {
                DateTime::of_date(&format!("{year:04}-{:02}-01", (month - 1) / 3 * 3 + 1))
            }
            _ => DateTime::of_date(&format!("{year:04}-01-01")),
        };
        let day = first.unwrap_or(day).with_time_of(now);
        let path =
            VaultPath::file(&format!("{folder}/{}.md", day.format(&format))).map_err(|error| {
                match error {
                    Error::NotAllowed { path, .. } => Error::NotAllowed {
                        path,
                        why: "Obsidian's settings for these notes name no served path",
                    },
                    other => other,
                }
            })?;
        // Where the name is the same a day, a month and a year later, the format has no date.
        if [1, 31, 366]
            .iter()
            .all(|days| day.format(&format) == day.plus_days(*days).format(&format))
        {
            return Err(Error::Invalid(format!(
                "The format {format:?} of the {name} notes names no date here (YYYY, MM, DD, ww \
                 and the like do); change it in Obsidian's settings, or give the path."
            )));
        }
        // `.obsidian` is often not synced; without its settings, the note of the day may be in any
        // folder.
        let has_settings = !folder.is_empty() || format != default_format || template.is_some();
        let elsewhere = if has_settings || self.view.get(path.as_str()).is_some() {
            None
        } else {
            self.refresh()?;
            self.resolve_from_root(&day.format(&format)).ok().flatten()
        };
        Ok(Named {
            path: elsewhere.unwrap_or(path),
            template: template.map(|path| Template { path, at: day, name_format: Some(format) }),
        })
    }

    /// Refuses a name that other systems do not allow, and one that differs from another only in
    /// case or in a no-break space: there, or for links, both would be the same file. `instead_of`
    /// is the file that is being renamed.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(crate) fn check_new_name(
        &self,
        path: &VaultPath,
        instead_of: Option<&VaultPath>,
    ) -> Result<(), Error> {
        let shown = path.as_str();
        if self.view.get(shown).is_some() {
            return Ok(());
        }
        let ends = shown.match_indices('/').map(|(at, _)| at).chain([shown.len()]);
        let is_missing = |above: &&str| self.jail.existing(&VaultPath::unchecked(above)).is_err();
        let Some(missing) = ends.map(|end| shown.part(..end)).find(is_missing) else {
            return Ok(());
        };
        let (folder, name) = missing.rsplit_once('/').unwrap_or(("", missing));
        for name in shown.part(missing.len() - name.len()..).split('/') {
            if let Some(why) = refused_elsewhere(name) {
                return Err(Error::Invalid(format!(
                    "{shown}: {name:?} {why}, which Windows and phones refuse; choose another \
                     name."
                )));
            }
        }
        // For other systems the two small letters sigma are one.
        let form = |name: &str| comparable_name(name).replace('ς', "σ");
        let wanted = form(name);
        let is_same = |other: &str| {
            if other.is_ascii() {
                other.eq_ignore_ascii_case(&wanted)
            } else {
                form(other) == wanted
            }
        };
        let old = instead_of.map(VaultPath::as_str);
        let twin = self.view.read(|entries| {
            let mut children = children_of(entries, folder);
            children
                .find(|child| {
                    name_of(child) != name && is_same(name_of(child)) && Some(*child) != old
                })
                .map(str::to_owned)
        });
        match twin {
            Some(twin) => Err(Error::Invalid(format!(
                "{missing} differs from {twin} only in upper and lower case or in a no-break \
                 space: links or other systems would take both for one file; use its spelling or \
                 [[its name]], or another name."
            ))),
            None => Ok(()),
        }
    }
}

/// Whether weeks begin on Monday and are numbered by ISO 8601, or from Sunday as in the US: by the
/// tokens of a format.
pub(crate) fn has_iso_weeks(format: &str) -> bool {
    !format.contains("ww") && !format.contains("gg")
}

/// The children of a folder: the paths of files, and of folders with files below them.
fn children_of<'a>(
    entries: &'a BTreeMap<Arc<str>, Arc<Entry>>,
    folder: &str,
) -> impl Iterator<Item = &'a str> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let from = |first: &str| entries.range::<str, _>((Bound::Included(first), Bound::Unbounded));
    let mut rest = from(&prefix);
    std::iter::from_fn(move || {
        let (path, _) = rest.next()?;
        let Some(end) = path.strip_prefix(prefix.as_str())?.find('/') else { return Some(&**path) };
        let child = path.part(..prefix.len() + end);
        // The first path behind those below this folder.
        rest = from(&format!("{child}0"));
        Some(child)
    })
}
