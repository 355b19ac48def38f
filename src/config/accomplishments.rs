//! The settings of toolset `accomplishments`.

use super::reader::Reader;
use crate::accomplishments::Options;
use crate::tools::Toolset;
use crate::vault::{Error, VaultPath};

impl Reader<'_> {
    /// The places of toolset `accomplishments`, which has no sensible defaults for them.
    pub(super) fn projects(&mut self) -> Option<Options> {
        if !self.toolsets_named().any(|name| name == "all" || name == Toolset::Accomplishments.name()) {
            return None;
        }
        let folder = self.below_vault("ACCOMPLISHMENTS_FOLDER", true, VaultPath::folder);
        let canvas = self.below_vault("DEFAULT_CANVAS", true, VaultPath::file);
        let docs = self.below_vault("CONTEXT_DOCS_FOLDER", false, VaultPath::folder);
        if canvas.as_ref().is_some_and(|canvas| !canvas.as_str().to_lowercase().ends_with(".canvas")) {
            self.wrong("DEFAULT_CANVAS", "must be a file that ends in .canvas");
        }
        Some(Options { folder: folder?, canvas: canvas?, docs })
    }

    fn below_vault(&mut self, setting: &'static str, required: bool, parse: fn(&str) -> Result<VaultPath, Error>) -> Option<VaultPath> {
        let Some(text) = self.text(setting) else {
            if required {
                self.wrong(setting, "is required for toolset accomplishments: a path in the vault");
            }
            return None;
        };
        match parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                let why = error.to_string();
                self.wrong(setting, why);
                None
            }
        }
    }
}
