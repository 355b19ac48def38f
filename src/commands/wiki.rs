//! `init-wiki` and `lint`: the wiki of toolset `agent`, without a model.

use super::{FAILED, columns, fail, print};
use crate::config::Config;
use crate::vault::{Error, Vault};
use crate::wiki::lint::{self, Finding};
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

pub(super) fn check(config: Config) -> u8 {
    let vault = Vault::open_with(&config.vault_path, config.hidden);
    report(vault.map_err(Error::from).and_then(|vault| lint::lint(&vault)))
}

/// Prints findings; gives the exit code.
pub(super) fn report(found: Result<Vec<Finding>, Error>) -> u8 {
    match found {
        Ok(found) if found.is_empty() => print("The wiki keeps its rules.\n"),
        Ok(found) => {
            print(&table(&found));
            FAILED
        }
        Err(why) => fail(why, FAILED),
    }
}

pub(super) fn table(found: &[Finding]) -> String {
    let position = |finding: &Finding| {
        if finding.line == 0 {
            finding.page.clone()
        } else {
            format!("{}:{}", finding.page, finding.line)
        }
    };
    let rows: Vec<[String; 3]> = found
        .iter()
        .map(|finding| [position(finding), finding.rule.to_owned(), finding.what.clone()])
        .collect();
    format!(
        "{}\n{} finding{}.\n",
        columns(&rows),
        found.len(),
        if found.len() == 1 { "" } else { "s" }
    )
}
