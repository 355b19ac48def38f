//! THE table: every method, the eras it exists in, and the function behind it.

use super::modern::Cache;
use super::progress::Progress;
use super::subscription::Wanted;
use super::{Exchange, Revision, Server, completion, lifecycle, logging, prompts, resources, subscription, tools};
use crate::rpc::{Error, Id, Params};
use crate::tools::Context;
use crate::vault::Vault;
use serde_json::Value;

/// A request on its way through a method.
pub struct Call<'a> {
    /// The engine.
    pub server: &'a Server,
    /// Who asks, how, and in which conversation.
    pub exchange: &'a Exchange<'a>,
    /// The request's id.
    pub id: &'a Id,
    /// With what.
    pub params: &'a Params,
}

impl<'a> Call<'a> {
    /// A parameter that has to be a string.
    ///
    /// # Errors
    /// -32602 naming it.
    pub fn text(&self, name: &str) -> Result<&'a str, Error> {
        let value = self.params.get(name).and_then(Value::as_str);
        value.ok_or_else(|| Error::invalid_params(format!("params.{name} must be a string")))
    }

    /// The vault as the caller has it.
    ///
    /// # Errors
    /// As [`Server::vault_of`].
    pub fn vault(&self) -> Result<Vault, Error> {
        self.server.vault_of(self.exchange.principal)
    }

    /// What a tool or prompt works with: the vault, as it may change it, and where it says how far it is.
    pub(super) fn context<'b>(&'b self, vault: &'b Vault, progress: &'b Progress<'_>) -> Context<'b> {
        let Server { systems, options, .. } = self.server;
        Context { vault, systems, principal: self.exchange.principal, options, caller: progress }
    }

    /// The `cursor` of a list.
    ///
    /// # Errors
    /// -32602 if it is not a string.
    pub fn cursor(&self) -> Result<Option<&'a str>, Error> {
        match self.params.get("cursor") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text("cursor").map(Some),
        }
    }

    /// For lists that are always one page: there is no cursor but the empty one.
    ///
    /// # Errors
    /// -32602 for any other.
    pub fn no_cursor(&self) -> Result<(), Error> {
        match self.cursor()? {
            None | Some("") => Ok(()),
            Some(_) => Err(Error::invalid_params("Unknown cursor")),
        }
    }
}

/// What a method gives.
pub enum Answer {
    /// A result as JSON text, without a `_meta` of its own.
    Result(String),
    /// The result of `initialize`.
    Initialize(String, Revision),
    /// An answer that goes on until one side ends it.
    Listen(Wanted),
}

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
    /// How long a modern client may keep the result, for methods that have to say so.
    pub cache: Option<Cache>,
    /// Its function.
    pub run: fn(&Call<'_>) -> Result<Answer, Error>,
}

/// The methods, most used first.
#[rustfmt::skip]
pub static METHODS: [Row; 15] = [
    Row { name: "tools/call", eras: Eras::Both, cache: None, run: tools::call },
    Row { name: "tools/list", eras: Eras::Both, cache: Some(Cache::OF_THE_LOGIN), run: tools::list },
    Row { name: "resources/read", eras: Eras::Both, cache: Some(Cache::OF_THE_VAULT), run: resources::read },
    Row { name: "resources/list", eras: Eras::Both, cache: Some(Cache::OF_THE_VAULT), run: resources::list },
    Row { name: "resources/templates/list", eras: Eras::Both, cache: Some(Cache::SAME_FOR_ALL), run: resources::templates },
    Row { name: "prompts/list", eras: Eras::Both, cache: Some(Cache::OF_THE_LOGIN), run: prompts::list },
    Row { name: "prompts/get", eras: Eras::Both, cache: None, run: prompts::get },
    Row { name: "completion/complete", eras: Eras::Both, cache: None, run: completion::complete },
    Row { name: "server/discover", eras: Eras::Modern, cache: Some(Cache::OF_THE_LOGIN), run: lifecycle::discover },
    Row { name: "subscriptions/listen", eras: Eras::Modern, cache: None, run: subscription::listen },
    Row { name: "initialize", eras: Eras::Legacy, cache: None, run: lifecycle::initialize },
    Row { name: "ping", eras: Eras::Legacy, cache: None, run: lifecycle::ping },
    Row { name: "resources/subscribe", eras: Eras::Legacy, cache: None, run: subscription::subscribe },
    Row { name: "resources/unsubscribe", eras: Eras::Legacy, cache: None, run: subscription::unsubscribe },
    Row { name: "logging/setLevel", eras: Eras::Legacy, cache: None, run: logging::set_level },
];

/// The row of a method.
pub fn find(name: &str) -> Option<&'static Row> {
    METHODS.iter().find(|row| row.name == name)
}
