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

/// One message from the other side.
#[derive(Debug)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// To be echoed.
        id: Id,
        /// What is wanted.
        method: String,
        /// With what.
        params: Params,
    },
    /// Wants none.
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
    /// The parameters, of a message that has some.
    pub fn params(&self) -> Option<&Params> {
        match self {
            Message::Request { params, .. } | Message::Notification { params, .. } => Some(params),
            Message::Response => None,
        }
    }

    /// The method, of a message that has one.
    pub fn method(&self) -> Option<&str> {
        match self {
            Message::Request { method, .. } | Message::Notification { method, .. } => Some(method),
            Message::Response => None,
        }
    }

    /// The id, of a message that wants an answer.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Message::Request { id, .. } => Some(id),
            Message::Notification { .. } | Message::Response => None,
        }
    }

    /// Whether this is the notification that cancels a request.
    pub fn is_cancellation(&self) -> bool {
        matches!(self, Message::Notification { method, .. } if method == "notifications/cancelled")
    }

    /// The id of the request that this notification cancels.
    pub fn cancelled_id(&self) -> Option<Id> {
        self.params().filter(|_| self.is_cancellation())?.get("requestId").and_then(Id::of)
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
