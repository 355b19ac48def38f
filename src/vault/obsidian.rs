//! The file names and folders configured in the vault's Obsidian settings. They are read but never
//! served; where they are missing or malformed, Obsidian's defaults apply.

use super::Vault;
use crate::{disk, limits};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// Bytes of one of Obsidian's settings files; real ones have a few hundred.
const OBSIDIAN_BYTES: u64 = 1024 * 1024;

/// Excluded paths that are looked at; each is compared with the path of each result.
const FILTERS: usize = 100;

/// Where daily, weekly … notes are kept, and how they are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Periodic {
    pub(crate) folder: String,
    /// A moment.js format.
    pub(crate) format: String,
    /// The path of the template, with or without `.md`.
    pub(crate) template: Option<String>,
}

/// The kinds of periodic notes: name, here and in the plugin's settings, and default format.
pub(crate) const PERIODS: [(&str, &str); 5] = [
    ("daily", "YYYY-MM-DD"),
    ("weekly", "gggg-[W]ww"),
    ("monthly", "YYYY-MM"),
    ("quarterly", "YYYY-[Q]Q"),
    ("yearly", "YYYY"),
];

/// Files that the owner has excluded in Obsidian ("Excluded files"): beginnings of paths, and
/// expressions between slashes.
#[derive(Debug, Default)]
pub(crate) struct Excluded {
    beginnings: Vec<String>,
    expressions: Vec<Regex>,
}

impl Excluded {
    pub(crate) fn is_empty(&self) -> bool {
        self.beginnings.is_empty() && self.expressions.is_empty()
    }

    pub(crate) fn covers(&self, path: &str) -> bool {
        self.beginnings.iter().any(|beginning| path.starts_with(beginning))
            || self.expressions.iter().any(|expression| expression.is_match(path))
    }
}

impl Vault {
    /// The files that the owner has excluded from search, tasks and suggestions.
    pub(crate) fn excluded(&self) -> Excluded {
        let app = self.obsidian("app.json");
        let filters = app.get("userIgnoreFilters").and_then(Value::as_array);
        let mut excluded = Excluded::default();
        for filter in filters.into_iter().flatten().take(FILTERS).filter_map(Value::as_str) {
            match filter.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
                Some(pattern) => {
                    let built = RegexBuilder::new(pattern).size_limit(limits::REGEX_BYTES).build();
                    excluded.expressions.extend(built);
                }
                None if filter.is_empty() => {}
                None => excluded.beginnings.push(filter.to_owned()),
            }
        }
        excluded
    }

    /// The folder of the templates, with a slash at its end.
    #[cfg(feature = "notes")]
    pub(crate) fn templates_folder(&self) -> Option<String> {
        let settings = self.obsidian("templates.json");
        let folder = settings.get("folder")?.as_str()?.trim_matches('/');
        (!folder.is_empty()).then(|| format!("{folder}/"))
    }

    /// A file in `.obsidian`, parsed as JSON; null if it is missing or malformed.
    pub(crate) fn obsidian(&self, name: &str) -> Value {
        let path = format!(".obsidian/{name}");
        let read = || {
            let on_disk = self.jail.own_or_obsidian_file(&path).ok()?;
            on_disk.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
            let bytes = disk::read_at_most(&on_disk, OBSIDIAN_BYTES).ok()?;
            let parsed = serde_json::from_slice(&bytes);
            if parsed.is_err() {
                log::warn!("{path} is not JSON; Obsidian's defaults are used");
            }
            parsed.ok()
        };
        read().unwrap_or_default()
    }

    /// The settings of one kind of periodic notes; `None` if it is not configured, which daily
    /// notes need not be.
    pub(crate) fn periodic(&self, member: &str, default_format: &str) -> Option<Periodic> {
        let plugin = self.obsidian("plugins/periodic-notes/data.json");
        let own = plugin
            .get(member)
            .filter(|own| own.get("enabled") == Some(&Value::Bool(true)))
            .cloned();
        let settings = match own {
            Some(own) => own,
            None if member == "daily" => self.obsidian("daily-notes.json"),
            None => return None,
        };
        let text = |name: &str| {
            settings
                .get(name)
                .and_then(Value::as_str)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        Some(Periodic {
            folder: text("folder").unwrap_or_default().to_owned(),
            format: text("format").unwrap_or(default_format).to_owned(),
            template: text("template").or_else(|| text("templatePath")).map(str::to_owned),
        })
    }

    /// The type that Obsidian gives a property (case-insensitive) in every note.
    pub fn property_type(&self, name: &str) -> Option<String> {
        let name = name.to_lowercase();
        let types = self.obsidian("types.json");
        let own =
            types.get("types")?.as_object()?.iter().find(|(own, _)| own.to_lowercase() == name);
        Some(own?.1.as_str()?.to_owned())
    }

    /// Whether Obsidian treats the property (case-insensitive) as a list in every note.
    pub fn is_list_property(&self, name: &str) -> bool {
        let kind = self.property_type(name);
        matches!(kind.as_deref(), Some("multitext" | "tags" | "aliases"))
            || matches!(name.to_lowercase().as_str(), "tags" | "aliases" | "cssclasses")
    }

    /// The folder in which a note named without a path is created.
    pub(crate) fn new_note_folder(&self) -> String {
        let app = self.obsidian("app.json");
        let text = |name: &str| app.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("newFileLocation") == "folder" {
            text("newFileFolderPath").to_owned()
        } else {
            String::new()
        }
    }
}
