//! HTTP/1.1 (RFC 9110, RFC 9112) on blocking sockets: one thread for each connection, a bound on
//! everything.
//!
//! This module can be read as an HTTP server and nothing more; it knows no JSON, no MCP, no OAuth.
//!
//! | file | holds |
//! |---|---|
//! | [`head`], [`body`], [`response`], [`client_address`] | functions over bytes; incremental ones are tested with a cut at every byte |
//! | [`conn`], `socket` | one connection: read, admit, serve, write, keep or close |
//! | [`events`] | an event stream that other threads write to |
//! | [`peer`] | a connection as the others see it: what it does, and whether its peer is still there |
//! | [`server`] | listener, bounded threads, eviction, shutdown |
//! | [`error`] | why the HTTP layer answers a request itself |
//! | `shared` | what all connections of a server share |
//!
//! A request is handled in two steps, because the body of a request without a token is not worth
//! reading: [`Service::admit`] sees the head alone and may answer at once (401, 404, 413); only
//! then is the body read, within the bound that the route allows, and given to [`Service::serve`].

pub mod body;
pub mod client_address;
pub mod conn;
pub mod error;
pub mod events;
pub mod head;
pub mod peer;
pub mod response;
pub mod server;
mod shared;
mod socket;

pub use events::EventStream;
pub use head::{Framing, Head};
pub use peer::Peer;
pub use response::Response;

use std::net::IpAddr;
use std::sync::Arc;

/// What the program behind the HTTP layer does with requests.
pub trait Service: Send + Sync + 'static {
    /// What [`Service::admit`] found out and [`Service::serve`] needs: the route, the caller.
    type Ticket: Send;

    /// Looks at a request's head before its body is read. `peer` is the address at the other end of
    /// the socket.
    ///
    /// # Errors
    /// The answer, when the request is not to be read any further.
    fn admit(&self, head: &Head, peer: IpAddr) -> Result<Admission<Self::Ticket>, Box<Response>>;

    /// Answers a request that was admitted and has arrived whole. `peer` tells whether the answer
    /// is still wanted.
    fn serve(&self, head: &Head, body: Vec<u8>, ticket: Self::Ticket, peer: &Peer) -> Reply;

    /// The answer to a request whose handler panicked.
    fn panic_response(&self) -> Response;
}

/// What [`Service::admit`] allows.
#[derive(Debug)]
pub struct Admission<T> {
    /// Bytes of body that this route takes.
    pub body_max: usize,
    /// The login that it belongs to: then it waits for a worker, and its connection is evicted
    /// last. Other requests take no worker: the number of connections bounds them, and
    /// `oauth::password` the costly ones.
    pub login: Option<String>,
    /// Passed on to [`Service::serve`].
    pub ticket: T,
}

/// What goes back to the peer.
pub enum Reply {
    /// A whole response.
    Whole(Response),
    /// An event stream (`text/event-stream`): its head, and what writes to it.
    Events(Response, Events),
}

/// What writes to an event stream.
pub struct Events {
    /// Called before each event and heartbeat; `false` ends the stream.
    pub may_continue: Option<Box<dyn Fn() -> bool + Send>>,
    /// The last event, for a stream that this side ends.
    pub last_message: Option<String>,
    /// Runs on the connection's thread while the request holds a worker. What it returns is kept
    /// while others write to the stream, until that ends; if it returns nothing, the stream ends.
    pub work: Work,
}

pub type Work = Box<dyn FnOnce(&Arc<EventStream>, &Peer) -> Option<Box<dyn Send>> + Send>;
