//! JSON-RPC 2.0 as MCP uses it: messages in ([`decode`]), messages out ([`encode`]), errors
//! ([`error`]). This module knows no method and no transport.

pub mod decode;
pub mod encode;
pub mod error;

pub use error::Error;

use serde_json::{Map, Value};
use std::fmt;

/// JSON-RPC ids, bytes.
const ID_BYTES: usize = 256;

/// The id of a request: an integer, or a text of bounded length; echoed as it came. MCP forbids
/// null and fractions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(Value);

impl Id {
    /// The id in a message; `None` for anything that is not an id.
    pub fn of(value: &Value) -> Option<Id> {
        // Some clients write every number with a fraction: 1.0.
        let is_exact = |number: f64| number.fract() == 0.0 && number.abs() < (1_u64 << 53) as f64;
        let is_whole = value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_exact);
        let is_id = is_whole || value.as_str().is_some_and(|text| text.len() <= ID_BYTES);
        is_id.then(|| Id(value.clone()))
    }

    /// The id as it came.
    pub fn to_value(&self) -> Value {
        self.0.clone()
    }
}

/// The id as JSON.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Parameters of a request or notification; empty when there are none.
pub type Params = Map<String, Value>;

/// A request: it wants an answer.
#[derive(Debug)]
pub struct Request {
    /// To be echoed.
    pub id: Id,
    /// What is wanted.
    pub method: String,
    /// With what.
    pub params: Params,
}

impl Request {
    /// A parameter that has to be a string.
    ///
    /// # Errors
    /// -32602 naming it.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
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

    /// The `cursor` of a list; an empty one is none.
    ///
    /// # Errors
    /// -32602 if it is not a string.
    pub fn cursor(&self) -> Result<Option<&str>, Error> {
        match self.params.get("cursor") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => Ok(Some(self.text("cursor")?).filter(|cursor| !cursor.is_empty())),
        }
    }

    /// For lists that are always one page: there is no cursor.
    ///
    /// # Errors
    /// -32602 for any.
    pub fn no_cursor(&self) -> Result<(), Error> {
        match self.cursor()? {
            None => Ok(()),
            Some(_) => Err(Error::invalid_params("Unknown cursor")),
        }
    }
}

/// One message from the other side.
#[derive(Debug)]
pub enum Message {
    Request(Request),
    /// Wants no answer.
    Notification {
        /// What happened.
        method: String,
        /// The details.
        params: Params,
    },
    /// An answer to a request of ours.
    Response,
}

impl Message {
    /// The request, if it is one.
    pub fn request(&self) -> Option<&Request> {
        if let Message::Request(request) = self { Some(request) } else { None }
    }

    /// The parameters, of a message that has some.
    pub fn params(&self) -> Option<&Params> {
        match self {
            Message::Request(Request { params, .. }) | Message::Notification { params, .. } => {
                Some(params)
            }
            Message::Response => None,
        }
    }

    /// The id, of a message that wants an answer.
    pub fn id(&self) -> Option<&Id> {
        self.request().map(|request| &request.id)
    }

    /// Whether this is the notification of this name.
    pub fn is_notification(&self, name: &str) -> bool {
        matches!(self, Message::Notification { method, .. } if method == name)
    }

    /// The id of the request that this notification cancels.
    pub fn cancelled_id(&self) -> Option<Id> {
        match self {
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                params.get("requestId").and_then(Id::of)
            }
            _ => None,
        }
    }
}

/// What arrived in one body or line.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    One(Message),
    /// A batch (2025-03-26 only); each message by itself may be wrong.
    Batch(Vec<Result<Message, Error>>),
}

impl Incoming {
    /// The message, if it is not a batch.
    pub fn one(&self) -> Option<&Message> {
        if let Incoming::One(message) = self { Some(message) } else { None }
    }

    /// The message, or those of a batch that are not wrong.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        let of_batch = if let Incoming::Batch(messages) = self { messages.as_slice() } else { &[] };
        self.one().into_iter().chain(of_batch.iter().flatten())
    }
}
