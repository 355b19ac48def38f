//! What Obsidian's own settings in the vault say of names and folders. They are read and never served; where they are absent or
//! malformed, Obsidian's defaults hold.

use super::Vault;
use crate::disk;
use crate::limits;
use serde_json::Value;

/// Where notes of a day, week or month are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Periodic {
    pub(super) folder: String,
    /// A format of moment.js.
    pub(super) format: String,
    /// The path of the template, with or without `.md`.
    pub(super) template: Option<String>,
}

/// A kind of periodic notes: its name here and in the plugin's settings, its format by default.
pub(super) const PERIODS: [(&str, &str); 3] = [("daily", "YYYY-MM-DD"), ("weekly", "gggg-[W]ww"), ("monthly", "YYYY-MM")];

impl Vault {
    /// A file of `.obsidian` as JSON; null where it is absent or malformed.
    pub(super) fn obsidian(&self, name: &str) -> Value {
        let path = format!(".obsidian/{name}");
        let read = || {
            let on_disk = self.jail.hidden(&path).ok()?;
            on_disk.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
            let bytes = disk::read_at_most(&on_disk, limits::OBSIDIAN_BYTES).ok()?;
            let parsed = serde_json::from_slice(&bytes);
            if parsed.is_err() {
                log::warn!("{path} is not JSON; Obsidian's defaults are used");
            }
            parsed.ok()
        };
        read().unwrap_or_default()
    }

    /// Where the notes of a period are; `None` if they are not configured, which daily notes need not be.
    pub(super) fn periodic(&self, member: &str, default_format: &str) -> Option<Periodic> {
        let plugin = self.obsidian("plugins/periodic-notes/data.json");
        let own = plugin.get(member).filter(|own| own.get("enabled") == Some(&Value::Bool(true))).cloned();
        let settings = match own {
            Some(own) => own,
            None if member == "daily" => self.obsidian("daily-notes.json"),
            None => return None,
        };
        let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        Some(Periodic {
            folder: text("folder").unwrap_or_default().to_owned(),
            format: text("format").unwrap_or(default_format).to_owned(),
            template: text("template").or_else(|| text("templatePath")).map(str::to_owned),
        })
    }

    /// Whether a property of this name, in any case, is a list in every note.
    pub fn is_list_property(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let types = self.obsidian("types.json");
        let own = types.get("types").and_then(Value::as_object).into_iter().flatten().find(|(own, _)| own.to_lowercase() == name);
        let is_list = own.and_then(|(_, kind)| kind.as_str()).is_some_and(|kind| matches!(kind, "multitext" | "tags" | "aliases"));
        is_list || matches!(name.as_str(), "tags" | "aliases" | "cssclasses")
    }

    /// The folder in which a note that is named without a path is made.
    pub(super) fn new_note_folder(&self) -> String {
        let app = self.obsidian("app.json");
        let text = |name: &str| app.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("newFileLocation") == "folder" { text("newFileFolderPath").to_owned() } else { String::new() }
    }
}
