//! The settings of toolset `context`.

use super::reader::Reader;
use super::value::expand_home;
use crate::tools::Criteria;
use serde::Deserialize;
use std::path::Path;

/// The file that `CONTEXT_CONFIG` names. It may have other keys, which are ignored.
#[derive(Deserialize)]
struct ContextFile {
    vault_path: Option<String>,
    default_context: Option<Criteria>,
}

impl Reader<'_> {
    /// Reads the file in the format of the system that the `context` tools come from.
    pub(super) fn default_context(&mut self, vault: Option<&Path>) -> Option<Criteria> {
        let home = self.environment.home.as_deref();
        let file = self.read("CONTEXT_CONFIG", |path| {
            let text = std::fs::read_to_string(expand_home(path, home))
                .map_err(|error| format!("cannot be read: {error}"))?;
            let value =
                crate::yaml::parse(&text, 0).map_err(|why| format!("is malformed: it is {why}"))?;
            // Without the parser's words, which quote the text: this may be another file, with
            // secrets in it.
            let wrong = "is malformed: default_context may have properties (names with values) \
                         and tags (a list)";
            let file: ContextFile = serde_yaml::from_value(value).map_err(|_| wrong.to_owned())?;
            if file.default_context.as_ref() == Some(&Criteria::default()) {
                return Err("is malformed: default_context has neither properties nor tags, \
                            which would match the whole vault"
                    .to_owned());
            }
            Ok(file)
        })?;
        if file.vault_path.is_some_and(|path| Some(self.expand_home(&path).as_path()) != vault) {
            self.warnings.push(
                "CONTEXT_CONFIG has a vault_path that is not VAULT_PATH; it is ignored".into(),
            );
        }
        file.default_context
    }
}
