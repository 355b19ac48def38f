//! A request as a method handles it, and its outcome.

use super::progress::Progress;
use super::{Exchange, Revision, Server, Subscription};
use crate::rpc::{Error, Id, Params};
use crate::store::Store;
use crate::tools::Context;
use serde_json::Value;
use std::sync::Arc;

/// A request as a method handles it.
pub struct Call<'a> {
    /// The MCP server.
    pub server: &'a Server,
    /// Who sent it, how, and in which session.
    pub exchange: &'a Exchange<'a>,
    /// The request's id.
    pub id: &'a Id,
    /// Its parameters.
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

    /// The `arguments`; without them an empty object.
    ///
    /// # Errors
    /// -32602 if they are no object.
    pub fn arguments(&self) -> Result<Params, Error> {
        match self.params.get("arguments") {
            None | Some(Value::Null) => Ok(Params::new()),
            Some(Value::Object(arguments)) => Ok(arguments.clone()),
            Some(_) => Err(Error::invalid_params("params.arguments must be an object")),
        }
    }

    /// The vault as the caller sees it.
    pub fn store(&self) -> Store {
        self.server.store_of(self.exchange.principal)
    }

    /// What a tool or prompt works with: the vault as it may use it, and where it reports progress.
    pub(super) fn context<'b>(
        &'b self,
        store: &'b Store,
        progress: &'b Progress<'_>,
    ) -> Context<'b> {
        let Server { systems, options, .. } = self.server;
        Context {
            vault: store.vault(),
            search: store.search(),
            #[cfg(feature = "notes")]
            links: store.links(),
            changes: store.changes(),
            store,
            systems,
            principal: self.exchange.principal,
            options,
            requester: progress,
        }
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

/// The answer to a method that failed for a reason that only concerns the owner: it is logged.
pub(super) fn internal_error(method: &str, why: impl std::fmt::Display) -> Error {
    log::warn!("{method} failed: {why}");
    Error::internal()
}

/// What a method gives.
pub enum Answer {
    /// A result as JSON text, without a `_meta` of its own.
    Result(String),
    /// The result of `initialize`.
    Initialize(String, Revision),
    /// An answer that goes on until one side ends it.
    Listen(Arc<Subscription>),
}
