//! The table of methods: every method, the eras it exists in, and the function behind it.

use super::call::{Answer, Call};
use super::era::Revision;
use super::modern::{self, Cache, Headers};
use super::{completion, lifecycle, logging, prompts, resources, subscribe, tools};
use crate::rpc::{Error, Params};

/// The eras in which a method exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eras {
    /// The 2025 revisions.
    Legacy,
    /// 2026-07-28.
    Modern,
    /// All.
    Both,
}

/// A method.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Where it exists.
    pub eras: Eras,
    /// Whether it reads the vault, so that its first answer waits for the first index.
    pub reads_vault: bool,
    /// How long a modern client may cache the result, for methods that have to say so.
    pub cache: Option<Cache>,
    /// Its function.
    pub run: fn(&Call<'_>) -> Result<Answer, Error>,
}

/// The methods, most used first.
#[rustfmt::skip]
pub static METHODS: [Row; 15] = [
    Row { name: "tools/call", eras: Eras::Both, reads_vault: true, cache: None, run: tools::call },
    Row { name: "tools/list", eras: Eras::Both, reads_vault: false, cache: Some(Cache::OF_THE_LOGIN), run: tools::list },
    Row { name: "resources/read", eras: Eras::Both, reads_vault: true, cache: Some(Cache::OF_THE_VAULT), run: resources::read },
    Row { name: "resources/list", eras: Eras::Both, reads_vault: true, cache: Some(Cache::OF_THE_VAULT), run: resources::list },
    Row { name: "resources/templates/list", eras: Eras::Both, reads_vault: false, cache: Some(Cache::SAME_FOR_ALL), run: resources::templates },
    Row { name: "prompts/list", eras: Eras::Both, reads_vault: false, cache: Some(Cache::OF_THE_LOGIN), run: prompts::list },
    Row { name: "prompts/get", eras: Eras::Both, reads_vault: true, cache: None, run: prompts::get },
    Row { name: "completion/complete", eras: Eras::Both, reads_vault: true, cache: None, run: completion::complete },
    Row { name: "server/discover", eras: Eras::Modern, reads_vault: false, cache: Some(Cache::OF_THE_LOGIN), run: lifecycle::discover },
    Row { name: "subscriptions/listen", eras: Eras::Modern, reads_vault: true, cache: None, run: subscribe::listen },
    Row { name: "initialize", eras: Eras::Legacy, reads_vault: false, cache: None, run: lifecycle::initialize },
    Row { name: "ping", eras: Eras::Legacy, reads_vault: false, cache: None, run: lifecycle::ping },
    Row { name: "resources/subscribe", eras: Eras::Legacy, reads_vault: true, cache: None, run: subscribe::subscribe },
    Row { name: "resources/unsubscribe", eras: Eras::Legacy, reads_vault: false, cache: None, run: subscribe::unsubscribe },
    Row { name: "logging/setLevel", eras: Eras::Legacy, reads_vault: false, cache: None, run: logging::set_level },
];

/// The row of a method that exists in a revision.
pub fn find(name: &str, revision: Revision) -> Option<&'static Row> {
    let era = if revision.is_modern() { Eras::Modern } else { Eras::Legacy };
    METHODS.iter().find(|row| row.name == name && [era, Eras::Both].contains(&row.eras))
}

/// Whether a method of any era reads the vault.
pub fn reads_vault(name: &str) -> bool {
    METHODS.iter().any(|row| row.name == name && row.reads_vault)
}

/// Checks a modern request before its parameters: envelope and headers, then that its method exists
/// in this era.
///
/// # Errors
/// Those of [`modern::check`]; -32601, with status 404.
pub fn check_modern(
    headers: Option<Headers<'_>>,
    method: &str,
    params: &Params,
) -> Result<(), Error> {
    modern::check(headers, method, params)?;
    find(method, Revision::V2026_07_28).map(drop).ok_or_else(|| Error::method_not_found(method))
}
