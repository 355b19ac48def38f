//! HTTP/1.1 (RFC 9110, RFC 9112) on blocking sockets: one thread for each connection, a bound on
//! everything.
//!
//! This module can be read as an HTTP server and nothing more; it knows no JSON, no MCP, no OAuth.
//!
//! | file | holds |
//! |---|---|
//! | [`head`], [`body`], [`response`], [`client_address`] | functions over bytes; incremental ones are tested with a cut at every byte |
//! | [`request`] | one request, as its handler sees it: head, body, worker, event stream |
//! | [`conn`], [`connection`], `socket` | one connection: read a head, have it handled, write, keep or close |
//! | [`events`] | an event stream that other threads write to |
//! | [`peer`] | a connection as the others see it: what it does, and whether its peer is still there |
//! | [`server`] | listener, bounded threads, eviction, shutdown |
//! | [`error`] | why the HTTP layer answers a request itself |
//!
//! A handler sees the head first, because the body of a request without a token is not worth
//! reading: it may answer at once (401, 404), or ask for a worker and for the body, within the
//! bound that the route allows.

pub mod body;
pub mod client_address;
pub mod conn;
pub mod connection;
pub mod error;
pub mod events;
pub mod head;
pub mod peer;
pub mod request;
pub mod response;
pub mod server;
mod socket;

pub use error::Refusal;
pub use events::EventStream;
pub use head::Head;
pub use peer::Peer;
pub use request::Request;
pub use response::Response;

/// What the program behind the HTTP layer does with requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. If it has a body that was not read, the connection closes afterwards.
    ///
    /// # Errors
    /// Why the HTTP layer has to answer it: most come from the [`Request`].
    fn handle(&self, request: &mut Request<'_>) -> Result<Reply, Refusal>;
}

/// What goes back to the peer.
pub enum Reply {
    /// A whole response.
    Whole(Response),
    /// Nothing more than what was written to the event stream ([`Request::stream`]).
    Streamed,
}
