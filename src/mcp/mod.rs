//! The Model Context Protocol: methods, eras, sessions. Transports bring a decoded message and who sent it, and get an
//! [`Outcome`]; no socket, header or status code is known here.
//!
//! | file | holds |
//! |---|---|
//! | [`era`] | which revision a message is in; the only place that decides it |
//! | [`methods`] | the table of methods |
//! | [`lifecycle`], [`tools`], [`resources`] | what the methods do |
//! | [`session`] | legacy sessions: bounded, expiring, bound to one login |
//! | [`watch`] | tells listeners when the vault changes |

pub mod era;
pub mod lifecycle;
pub mod methods;
pub mod resources;
pub mod session;
pub mod tools;
pub mod watch;

pub use era::Revision;
pub use session::{Listener, Session, Sessions};

use crate::principal::{Access, Principal};
use crate::rpc::{self, Id, Message};
use crate::tools::{Tool, Toolset};
use crate::vault::Vault;
use std::sync::Arc;

/// The protocol engine, shared by all threads and transports.
pub struct Server {
    vault: Arc<Vault>,
    tools: Vec<&'static Tool>,
    read_lines: usize,
    /// The legacy sessions.
    pub sessions: Sessions,
    watch: watch::Watch,
}

/// Who sent a message, and in which conversation.
pub struct Exchange<'a> {
    /// The caller.
    pub principal: &'a Principal,
    /// The session, where there is one.
    pub session: Option<&'a Arc<Session>>,
}

/// What becomes of a message.
#[derive(Debug)]
pub enum Outcome {
    /// An answer, result or error, as JSON text.
    Answer(String),
    /// The answer to `initialize`; the transport opens a session of this revision.
    Initialized(String, Revision),
    /// No answer: a notification, or a request that was cancelled.
    Nothing,
    /// The caller's login does not allow this; over HTTP a 403, so that the client can ask for more.
    Forbidden {
        /// What would be needed.
        needs: Access,
        /// The error as JSON text, for transports without status codes.
        answer: String,
    },
}

impl Server {
    /// An engine over a vault, with the tools of some toolsets; without those that write if `read_only`.
    pub fn new(vault: Arc<Vault>, toolsets: &[Toolset], read_only: bool, read_lines: usize) -> Server {
        let tools = toolsets.iter().flat_map(|set| set.tools()).copied();
        let tools = tools.filter(|tool| !read_only || tool.needs() == Access::Read).collect();
        Server { vault, tools, read_lines, sessions: Sessions::default(), watch: watch::Watch::default() }
    }

    /// Handles one message.
    pub fn handle(&self, exchange: &Exchange<'_>, message: Message) -> Outcome {
        match message {
            Message::Request { id, method, params } => self.request(exchange, id, &method, params),
            Message::Notification { method, params } => {
                if let ("notifications/cancelled", Some(session)) = (method.as_str(), exchange.session)
                    && let Some(id) = params.get("requestId").and_then(Id::of)
                {
                    session.cancel(&id);
                }
                Outcome::Nothing
            }
            Message::Response => Outcome::Nothing,
        }
    }

    fn request(&self, exchange: &Exchange<'_>, id: Id, method: &str, params: rpc::Params) -> Outcome {
        let Some(row) = methods::find(method) else {
            return Outcome::Answer(rpc::Error::method_not_found(method).answering(Some(id)).to_json());
        };
        let running = exchange.session.map(|session| session.begin(&id));
        let cancelled = || running.as_ref().is_some_and(|running| running.is_cancelled());
        let call = methods::Call { server: self, exchange, params, cancelled: &cancelled };
        let answer = (row.run)(&call);
        if cancelled() {
            return Outcome::Nothing;
        }
        match answer {
            Ok(methods::Answer::Result(result)) => Outcome::Answer(rpc::encode::result(&id, &result)),
            Ok(methods::Answer::Initialize(result, revision)) => Outcome::Initialized(rpc::encode::result(&id, &result), revision),
            Ok(methods::Answer::Forbidden(needs)) => {
                let why = format!("this needs the scope {}", needs.scope());
                Outcome::Forbidden { needs, answer: rpc::Error::invalid_request(&why).answering(Some(id)).to_json() }
            }
            Err(error) => Outcome::Answer(error.answering(Some(id)).to_json()),
        }
    }
}
