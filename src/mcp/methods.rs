//! The table of methods: every method, the revisions that have it, and the function behind it.

use super::era::Revision;
use super::modern::{self, Cache, Headers};
use super::{Answer, Caller, Server};
use super::{completion, lifecycle, logging, prompts, resources, subscribe, tools};
use crate::rpc::{Error, Request};
use std::ops::RangeInclusive;

/// A method.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// The revisions that have it.
    pub revisions: RangeInclusive<Revision>,
    /// How long a modern client may cache the result, for methods that have to say so.
    pub cache: Option<Cache>,
    /// Its function.
    pub run: fn(&Server, &Caller<'_>, &Request) -> Result<Answer, Error>,
}

const ALL: RangeInclusive<Revision> = Revision::V2025_03_26..=Revision::V2026_07_28;
const LEGACY: RangeInclusive<Revision> = Revision::V2025_03_26..=Revision::V2025_11_25;
const MODERN: RangeInclusive<Revision> = Revision::V2026_07_28..=Revision::V2026_07_28;

/// The methods, most used first.
#[rustfmt::skip]
pub static METHODS: [Row; 15] = [
    Row { name: "tools/call", revisions: ALL, cache: None, run: tools::call },
    Row { name: "tools/list", revisions: ALL, cache: Some(Cache::OF_THE_LOGIN), run: tools::list },
    Row { name: "resources/read", revisions: ALL, cache: Some(Cache::OF_THE_VAULT), run: resources::read },
    Row { name: "resources/list", revisions: ALL, cache: Some(Cache::OF_THE_VAULT), run: resources::list },
    Row { name: "resources/templates/list", revisions: ALL, cache: Some(Cache::SAME_FOR_ALL), run: resources::templates },
    Row { name: "prompts/list", revisions: ALL, cache: Some(Cache::OF_THE_LOGIN), run: prompts::list },
    Row { name: "prompts/get", revisions: ALL, cache: None, run: prompts::get },
    Row { name: "completion/complete", revisions: ALL, cache: None, run: completion::complete },
    Row { name: "server/discover", revisions: MODERN, cache: Some(Cache::OF_THE_LOGIN), run: lifecycle::discover },
    Row { name: "subscriptions/listen", revisions: MODERN, cache: None, run: subscribe::listen },
    Row { name: "initialize", revisions: LEGACY, cache: None, run: lifecycle::initialize },
    Row { name: "ping", revisions: LEGACY, cache: None, run: lifecycle::ping },
    Row { name: "resources/subscribe", revisions: LEGACY, cache: None, run: subscribe::subscribe },
    Row { name: "resources/unsubscribe", revisions: LEGACY, cache: None, run: subscribe::unsubscribe },
    Row { name: "logging/setLevel", revisions: LEGACY, cache: None, run: logging::set_level },
];

/// The row of a method that exists in a revision.
pub fn find(name: &str, revision: Revision) -> Option<&'static Row> {
    METHODS.iter().find(|row| row.name == name && row.revisions.contains(&revision))
}

/// Checks a modern request before its parameters: envelope and headers, then that its method exists
/// in this era.
///
/// # Errors
/// Those of [`modern::check`]; -32601, with status 404.
pub fn check_modern(headers: Option<Headers<'_>>, request: &Request) -> Result<(), Error> {
    modern::check(headers, request)?;
    let row = find(&request.method, Revision::V2026_07_28);
    row.map(drop).ok_or_else(|| Error::method_not_found(&request.method))
}
