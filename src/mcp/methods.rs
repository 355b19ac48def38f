//! THE table: every method, and the function behind it.

use super::{Exchange, Revision, Server, lifecycle, resources, tools};
use crate::principal::Access;
use crate::rpc::{Error, Params};

/// A request on its way through a method.
pub struct Call<'a> {
    /// The engine.
    pub server: &'a Server,
    /// Who asks.
    pub exchange: &'a Exchange<'a>,
    /// With what.
    pub params: Params,
    /// Whether the caller has lost interest.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Call<'_> {
    /// A parameter that has to be a string.
    ///
    /// # Errors
    /// -32602 naming it.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        let value = self.params.get(name).and_then(serde_json::Value::as_str);
        value.ok_or_else(|| Error::invalid_params(format!("params.{name} must be a string")))
    }

    /// The `cursor` of a list.
    ///
    /// # Errors
    /// -32602 if it is not a string.
    pub fn cursor(&self) -> Result<Option<&str>, Error> {
        match self.params.get("cursor") {
            None | Some(serde_json::Value::Null) => Ok(None),
            Some(_) => self.text("cursor").map(Some),
        }
    }
}

/// What a method gives.
pub enum Answer {
    /// A result as JSON text.
    Result(String),
    /// The result of `initialize`.
    Initialize(String, Revision),
    /// The caller's login does not allow it.
    Forbidden(Access),
}

/// A method.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Its function.
    pub run: fn(&Call<'_>) -> Result<Answer, Error>,
}

/// The methods, most used first.
pub static METHODS: [Row; 7] = [
    Row { name: "tools/call", run: tools::call },
    Row { name: "tools/list", run: tools::list },
    Row { name: "resources/read", run: resources::read },
    Row { name: "resources/list", run: resources::list },
    Row { name: "resources/templates/list", run: resources::templates },
    Row { name: "ping", run: lifecycle::ping },
    Row { name: "initialize", run: lifecycle::initialize },
];

/// The row of a method.
pub fn find(name: &str) -> Option<&'static Row> {
    METHODS.iter().find(|row| row.name == name)
}
