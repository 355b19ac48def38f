//! `/mcp`: Streamable HTTP (MCP, "Transports"). Bodies and headers to messages, outcomes to statuses and streams.

use super::{App, accepts, media_type};
use crate::clock::Now;
use crate::http::{EventStream, Events, Head, HeaderValue, Method, Reply, Response};
use crate::mcp::{Exchange, Listener, Outcome, Revision, Session, era};
use crate::oauth::Oauth;
use crate::oauth::bearer::Challenge;
use crate::principal::{Access, Principal};
use crate::rpc::{self, Incoming, Message};
use crate::secret::SecretHash;
use std::sync::Arc;

/// The 401 that starts every client's login, and its 403 sibling.
pub(super) fn unauthorized(oauth: &Oauth, challenge: Challenge) -> Response {
    let message = match challenge {
        Challenge::NoToken => "A bearer token is required; the WWW-Authenticate header says where to get one",
        Challenge::InvalidToken | Challenge::InsufficientScope(_) => "The access token is unknown, expired or revoked; log in again",
    };
    Response::json(401, format!(r#"{{"error":{{"code":"AUTH_REQUIRED","message":"{message}"}}}}"#))
        .header("WWW-Authenticate", HeaderValue::of(&oauth.challenge(challenge)))
}

/// Handles an authenticated request.
pub(super) fn serve(app: &App, head: &Head, body: &[u8], principal: &Principal, token: SecretHash) -> Reply {
    match head.method() {
        Method::Get => listen(app, head, principal, token),
        Method::Delete => Reply::Whole(end_session(app, head, principal)),
        Method::Post => Reply::Whole(post(app, head, body, principal)),
        // HEAD opens no stream; it says that there is something here.
        Method::Head | Method::Options | Method::Other => Reply::Whole(Response::with(200, "text/event-stream", Vec::new())),
    }
}

fn post(app: &App, head: &Head, body: &[u8], principal: &Principal) -> Response {
    if !media_type(head).eq_ignore_ascii_case("application/json") {
        return refused(415, &rpc::Error::invalid_request("Content-Type must be application/json"));
    }
    let accept = head.text("accept");
    let as_json = accepts(accept, "application/json");
    if !as_json && !accepts(accept, "text/event-stream") {
        return refused(406, &rpc::Error::invalid_request("Accept must have application/json or text/event-stream"));
    }
    let incoming = match rpc::decode::decode(body) {
        Ok(incoming) => incoming,
        Err(error) => return refused(400, &error),
    };
    let initialize = matches!(&incoming, Incoming::One(Message::Request { method, .. }) if method == "initialize");
    let now = Now::read();
    let session = match head.text("mcp-session-id").filter(|_| !initialize) {
        None => None,
        Some(id) => match app.mcp.sessions.get(id, principal, now) {
            Some(session) => Some(session),
            // The spec: 404, and the client initializes again.
            None => {
                return refused(
                    404,
                    &rpc::Error::invalid_request("unknown or expired session; initialize again").answering(id_of(&incoming)),
                );
            }
        },
    };
    let revision = match era::classify(head.text("mcp-protocol-version"), session.as_ref().map(|session| session.revision), initialize) {
        Ok(revision) => revision,
        Err(error) => return refused(400, &error.answering(id_of(&incoming))),
    };
    let exchange = Exchange { principal, session: session.as_ref() };
    match incoming {
        Incoming::One(message) => one(app, &exchange, message, as_json, now),
        Incoming::Batch(messages) if revision.has_batches() => batch(app, &exchange, messages, as_json),
        Incoming::Batch(_) => refused(400, &rpc::Error::invalid_request("batches ended with revision 2025-03-26; send one message")),
    }
}

fn one(app: &App, exchange: &Exchange<'_>, message: Message, as_json: bool, now: Now) -> Response {
    match app.mcp.handle(exchange, message) {
        Outcome::Nothing => Response::empty(202),
        Outcome::Answer(answer) => answered(answer, as_json),
        Outcome::Initialized(answer, revision) => opened(app, exchange.principal, answer, revision, as_json, now),
        Outcome::Forbidden { needs, answer } => forbidden(&app.oauth, needs, answer),
    }
}

/// 2025-03-26, "Batching": answers in one array; nothing but notifications and responses is 202.
fn batch(app: &App, exchange: &Exchange<'_>, messages: Vec<Result<Message, rpc::Error>>, as_json: bool) -> Response {
    let mut answers = Vec::new();
    for message in messages {
        match message {
            Err(error) => answers.push(error.to_json()),
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                answers.push(rpc::Error::invalid_request("initialize must not be in a batch").answering(Some(id)).to_json());
            }
            Ok(message) => match app.mcp.handle(exchange, message) {
                Outcome::Nothing => {}
                // One that is not allowed is that one's error: a 403 would hide the answers of those already done.
                Outcome::Answer(answer) | Outcome::Initialized(answer, _) | Outcome::Forbidden { answer, .. } => answers.push(answer),
            },
        }
    }
    if answers.is_empty() { Response::empty(202) } else { answered(format!("[{}]", answers.join(",")), as_json) }
}

fn opened(app: &App, principal: &Principal, answer: String, revision: Revision, as_json: bool, now: Now) -> Response {
    match app.mcp.sessions.open(principal, revision, now) {
        Ok(session) => answered(answer, as_json).header("Mcp-Session-Id", HeaderValue::of(&session.id)),
        // Without random numbers there is no session id that nobody can guess; everything works without a session too.
        Err(_) => answered(answer, as_json),
    }
}

/// RFC 6750 section 3.1. A 403 and not a tool error, so that the client can log in again for more.
fn forbidden(oauth: &Oauth, needs: Access, answer: String) -> Response {
    Response::json(403, answer).header("WWW-Authenticate", HeaderValue::of(&oauth.challenge(Challenge::InsufficientScope(needs))))
}

/// An answer as plain JSON, or as a stream of one event for a client that takes nothing else.
fn answered(answer: String, as_json: bool) -> Response {
    if as_json {
        return Response::json(200, answer);
    }
    Response::with(200, "text/event-stream", format!("event: message\ndata: {answer}\n\n"))
}

fn refused(status: u16, error: &rpc::Error) -> Response {
    Response::json(status, error.to_json())
}

fn id_of(incoming: &Incoming) -> Option<rpc::Id> {
    match incoming {
        Incoming::One(Message::Request { id, .. }) => Some(id.clone()),
        _ => None,
    }
}

/// GET: the stream on which a session hears that the vault changed.
fn listen(app: &App, head: &Head, principal: &Principal, token: SecretHash) -> Reply {
    let whole = |status, why: &str| Reply::Whole(refused(status, &rpc::Error::invalid_request(why)));
    if !accepts(head.text("accept"), "text/event-stream") {
        return whole(406, "Accept must have text/event-stream");
    }
    let Some(id) = head.text("mcp-session-id") else {
        let none = refused(405, &rpc::Error::invalid_request("there is a stream only within a session; initialize first"));
        return Reply::Whole(none.header("Allow", HeaderValue::fixed("POST, DELETE, OPTIONS")));
    };
    let Some(session) = app.mcp.sessions.get(id, principal, Now::read()) else {
        return whole(404, "unknown or expired session; initialize again");
    };
    if let Err(error) = era::classify(head.text("mcp-protocol-version"), Some(session.revision), false) {
        return Reply::Whole(refused(400, &error));
    }
    let Some(place) = app.mcp.sessions.take_stream_place(principal, session.is_listening()) else {
        let full = refused(503, &rpc::Error::invalid_request("too many streams are open"));
        return Reply::Whole(full.header("Retry-After", HeaderValue::fixed("30")));
    };
    let response = Response::with(200, "text/event-stream", Vec::new())
        .header("Cache-Control", HeaderValue::fixed("no-store, no-transform"))
        .header("X-Accel-Buffering", HeaderValue::fixed("no"));
    // What changes from this moment on is news, also while the head is still on its way.
    app.mcp.listening();
    let (engine, oauth) = (Arc::clone(&app.mcp), Arc::clone(&app.oauth));
    let attach = Box::new(move |stream| attach(&engine, &session, Stream { stream, oauth, token }));
    Reply::Events(response, Events { attach, place: Box::new(place) })
}

fn attach(engine: &crate::mcp::Server, session: &Session, stream: Stream) {
    // Something to read at once: a client, and every proxy on the way, sees that the stream is open.
    stream.stream.beat();
    session.listen(Arc::new(stream));
    engine.listening();
}

/// A session's event stream, for as long as the token that opened it is valid.
struct Stream {
    stream: Arc<EventStream>,
    oauth: Arc<Oauth>,
    token: SecretHash,
}

impl Listener for Stream {
    fn send(&self, message: &str) -> bool {
        if self.oauth.holder(self.token, Now::read()).is_none() {
            self.stream.end();
            return false;
        }
        self.stream.send(message)
    }

    fn is_open(&self) -> bool {
        self.stream.is_open()
    }

    fn end(&self) {
        self.stream.end();
    }
}

/// DELETE: the client is done with its session.
fn end_session(app: &App, head: &Head, principal: &Principal) -> Response {
    match head.text("mcp-session-id") {
        None => refused(400, &rpc::Error::invalid_request("Mcp-Session-Id is missing")),
        Some(id) if app.mcp.sessions.close(id, principal) => Response::empty(204),
        Some(_) => refused(404, &rpc::Error::invalid_request("unknown or expired session")),
    }
}
