//! `init-wiki`: the starter wiki of toolset `agent`.

use super::{FAILED, fail, print};
use crate::config::Config;
use crate::wiki::starter;

pub(super) fn init_wiki(config: Config) -> u8 {
    match starter::write(&config.vault_path) {
        Ok(done) => {
            let word = |is_new: bool| if is_new { "written" } else { "kept   " };
            let text: String =
                done.iter().map(|(path, is_new)| format!("{}  {path}\n", word(*is_new))).collect();
            let new = done.iter().filter(|(_, is_new)| *is_new).count();
            print(&format!("{text}\n{new} written, {} kept as they were.\n", done.len() - new))
        }
        Err((path, error)) => fail(format!("{path} cannot be written: {}", error.kind()), FAILED),
    }
}
