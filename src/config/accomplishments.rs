//! The settings of toolset `accomplishments`.

use super::reader::Reader;
use crate::accomplishments::Options;
use crate::tools::Toolset;
use crate::vault::VaultPath;

impl Reader<'_> {
    /// The paths of toolset `accomplishments`, which has no sensible defaults for them.
    pub(super) fn projects(&mut self) -> Option<Options> {
        if !self.has_toolset(Toolset::Accomplishments) {
            return None;
        }
        for setting in ["ACCOMPLISHMENTS_FOLDER", "DEFAULT_CANVAS"] {
            if self.text(setting).is_none() {
                self.add_mistake(
                    setting,
                    "is required for toolset accomplishments: a path in the vault",
                );
            }
        }
        let folder = self.read("ACCOMPLISHMENTS_FOLDER", VaultPath::folder);
        let canvas = self.read("DEFAULT_CANVAS", VaultPath::file);
        let docs = self.read("CONTEXT_DOCS_FOLDER", VaultPath::folder);
        if canvas
            .as_ref()
            .is_some_and(|canvas| !canvas.as_str().to_lowercase().ends_with(".canvas"))
        {
            self.add_mistake("DEFAULT_CANVAS", "must be a file that ends in .canvas");
        }
        Some(Options { folder: folder?, canvas: canvas?, docs })
    }
}
