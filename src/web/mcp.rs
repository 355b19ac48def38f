//! `/mcp`: Streamable HTTP (MCP, "Transports"). Turns bodies and headers into messages, outcomes
//! into statuses and streams.

use super::{App, accepts, media_type};
use crate::clock::Moment;
use crate::http::{EventStream, Events, Head, Peer, Reply, Response};
use crate::mcp::methods;
use crate::mcp::modern::Headers;
use crate::mcp::running::Running;
use crate::mcp::{
    Exchange, Listener, Outcome, Revision, Server, Session, Subscription, era, progress,
};
use crate::oauth::Oauth;
use crate::oauth::bearer::Challenge;
use crate::principal::{Access, Principal};
use crate::rpc::{Error, Id, Incoming, Message};
use crate::secret::SecretHash;
use std::sync::Arc;

/// The methods of the endpoint where GET is refused.
const NO_GET: &str = "HEAD, POST, DELETE, OPTIONS";

/// The 401 that starts every client's login.
pub(super) fn unauthorized(oauth: &Oauth, challenge: Challenge) -> Response {
    let message = match challenge {
        Challenge::NoToken => {
            "A bearer token is required; the WWW-Authenticate header says where to get one"
        }
        Challenge::InvalidToken | Challenge::InsufficientScope(_) => {
            "The access token is unknown, expired or revoked: log in again, or correct the API \
             token"
        }
    };
    Response::json(401, format!(r#"{{"error":{{"code":"AUTH_REQUIRED","message":"{message}"}}}}"#))
        .header("WWW-Authenticate", oauth.challenge(challenge))
}

/// Handles an authenticated request.
pub(super) fn serve(
    app: &App,
    head: &Head,
    body: &[u8],
    principal: Principal,
    token: SecretHash,
    peer: &Peer,
) -> Reply {
    let headers = head
        .single("mcp-protocol-version")
        .and_then(|version| Ok((version, head.single("mcp-session-id")?)));
    let Ok((version, session_id)) = headers else {
        return refused(
            400,
            &Error::invalid_request(
                "MCP-Protocol-Version or Mcp-Session-Id occurs twice, or is not text",
            ),
        );
    };
    let request =
        HttpRequest { app, head, principal, token, version, session_id, now: Moment::read() };
    match &*head.method {
        "GET" => request.get(),
        "DELETE" => Reply::Whole(request.delete()),
        "POST" => request.post(body, peer),
        // HEAD opens no stream; it only shows that the endpoint exists.
        _ => Reply::Whole(Response::with(200, "text/event-stream", Vec::new())),
    }
}

/// An authenticated request, with what its headers say.
struct HttpRequest<'a> {
    app: &'a App,
    head: &'a Head,
    principal: Principal,
    token: SecretHash,
    /// `MCP-Protocol-Version`.
    version: Option<&'a str>,
    /// `Mcp-Session-Id`.
    session_id: Option<&'a str>,
    now: Moment,
}

impl HttpRequest<'_> {
    fn post(&self, body: &[u8], peer: &Peer) -> Reply {
        if !media_type(self.head).eq_ignore_ascii_case("application/json") {
            return refused(415, &Error::invalid_request("Content-Type must be application/json"));
        }
        let takes_events = accepts(self.head, "text/event-stream");
        if !takes_events && !accepts(self.head, "application/json") {
            return refused(
                406,
                &Error::invalid_request("Accept must have application/json or text/event-stream"),
            );
        }
        let incoming = match crate::rpc::decode::decode(body) {
            Ok(incoming) => incoming,
            Err(error) => return refused(400, &error),
        };
        let session = self.session();
        let id = incoming.one().and_then(Message::id).cloned();
        let of_session =
            session.as_ref().ok().and_then(Option::as_ref).map(|session| session.revision);
        // An unknown session is reported before any other error, except for modern requests and
        // `initialize`, where the session id means nothing. (Hosted clients that were negotiated
        // down send the header 2026-07-28 too.)
        let stands_alone = |message: &Message| {
            is_initialize(message) || message.params().and_then(era::claim).is_some()
        };
        if let (Err(unknown), false) = (&session, incoming.one().is_some_and(stands_alone)) {
            return refused(404, &unknown.clone().answering(id));
        }
        let revision = match era::classify(self.version, of_session, &incoming) {
            Ok(revision) => revision,
            Err(error) => return refused(400, &error.answering(id)),
        };
        let session = session.ok().flatten().filter(|_| !revision.is_modern());
        match incoming {
            Incoming::One(message) if is_initialize(&message) => {
                self.one(None, revision, message, takes_events, peer)
            }
            Incoming::One(message) => self.one(session, revision, message, takes_events, peer),
            Incoming::Batch(messages) => {
                let answers = Server::batch(messages, |message| {
                    self.answer(session.as_ref(), revision, message, peer)
                });
                Reply::Whole(
                    answers.map_or_else(
                        || Response::empty(202),
                        |answers| Response::json(200, answers),
                    ),
                )
            }
        }
    }

    fn one(
        &self,
        session: Option<Arc<Session>>,
        revision: Revision,
        message: Message,
        takes_events: bool,
        peer: &Peer,
    ) -> Reply {
        // A request of 2026-07-28 is self-contained.
        if let (true, Message::Request { id, method, params }) = (revision.is_modern(), &message) {
            let mirrored = |name: &'static str| self.head.single(name).ok().flatten();
            let headers = Headers {
                version: self.version,
                method: mirrored("mcp-method"),
                name: mirrored("mcp-name"),
            };
            if let Err(error) = methods::check_modern(Some(headers), method, params) {
                let status = if error.code() == Error::METHOD_NOT_FOUND { 404 } else { 400 };
                return refused(status, &error.answering(Some(id.clone())));
            }
        }
        if takes_events && self.wants_events(&message) {
            return self.answer_with_progress(session, revision, message);
        }
        let answer = match self.answer(session.as_ref(), revision, &message, peer) {
            Outcome::Listen(id, subscription) if takes_events => {
                return self.open_stream(Some(id), subscription);
            }
            Outcome::Listen(id, _) => {
                let why = Error::invalid_request(
                    "Accept must have text/event-stream: the answer is a stream",
                );
                return refused(406, &why.answering(Some(id)));
            }
            Outcome::Nothing => Response::empty(202),
            Outcome::Answer(answer) => Response::json(200, answer),
            Outcome::Forbidden { needs, answer } => forbidden(&self.app.oauth, needs, answer),
            Outcome::Initialized(answer, revision) => {
                let session = self.app.mcp.sessions.open(&self.principal, revision, self.now);
                Response::json(200, answer).header("Mcp-Session-Id", session.id.clone())
            }
        };
        Reply::Whole(answer)
    }

    fn answer(
        &self,
        session: Option<&Arc<Session>>,
        revision: Revision,
        message: &Message,
        peer: &Peer,
    ) -> Outcome {
        handle(&self.app.mcp, &self.principal, session, revision, message, peer, &|_| {})
    }

    /// Whether notifications may precede the answer: the client asks for the progress of a call.
    fn wants_events(&self, message: &Message) -> bool {
        let Message::Request { method, params, .. } = message else { return false };
        let is_allowed = self.app.mcp.missing_access(&self.principal, method, params).is_none();
        method == "tools/call" && progress::token(params).is_some() && is_allowed
    }

    /// Answers a request with an event stream: notifications, then the answer.
    fn answer_with_progress(
        &self,
        session: Option<Arc<Session>>,
        revision: Revision,
        message: Message,
    ) -> Reply {
        let (engine, principal) = (Arc::clone(&self.app.mcp), self.principal.clone());
        let work = move |events: &Arc<EventStream>, peer: &Peer| {
            let notify = |message: &str| {
                events.send(message);
            };
            let outcome =
                handle(&engine, &principal, session.as_ref(), revision, &message, peer, &notify);
            if let Outcome::Answer(answer) = outcome {
                events.send(&answer);
            }
            None
        };
        Reply::Events(
            event_stream_head(),
            Events { may_continue: None, last_message: None, work: Box::new(work) },
        )
    }

    /// GET: the stream on which a session is notified of changes. There is one per session; a new
    /// one replaces it.
    fn get(&self) -> Reply {
        let session = match self.session() {
            Ok(Some(session)) => session,
            Err(unknown) => return refused(404, &unknown),
            Ok(None) if self.version.is_some_and(era::is_modern) => {
                return Reply::Whole(method_not_allowed(
                    "2026-07-28 has no such stream; use subscriptions/listen",
                    NO_GET,
                ));
            }
            Ok(None) => {
                return Reply::Whole(method_not_allowed(
                    "there is a stream only within a session; initialize first",
                    NO_GET,
                ));
            }
        };
        if !accepts(self.head, "text/event-stream") {
            return refused(406, &Error::invalid_request("Accept must have text/event-stream"));
        }
        if let Err(unknown) = self.check_version() {
            return refused(400, &unknown);
        }
        // Changes from now on are reported, also those before the client has the head of the
        // answer.
        session.subscription.record_current_state(&self.app.mcp);
        self.open_stream(None, Arc::clone(&session.subscription))
    }

    /// The event stream of a subscription, for as long as the token that opened it is valid. `id`
    /// is that of the request that asks for it.
    fn open_stream(&self, id: Option<Id>, subscription: Arc<Subscription>) -> Reply {
        let permit = match self.app.mcp.stream_permit(&self.principal) {
            Ok(permit) => permit,
            Err(busy) => {
                return Reply::Whole(
                    Response::json(503, busy.answering(id).to_json()).header("Retry-After", "30"),
                );
            }
        };
        let (engine, oauth, token) =
            (Arc::clone(&self.app.mcp), Arc::clone(&self.app.oauth), self.token);
        let may_continue = Box::new(move || oauth.holder(token, Moment::read()).is_some());
        let last_message = subscription.last_message();
        let work = Box::new(move |events: &Arc<EventStream>, _: &Peer| {
            engine.connect(&subscription, Arc::clone(events) as Arc<dyn Listener>);
            Some(Box::new((permit, subscription)) as Box<dyn Send>)
        });
        Reply::Events(
            event_stream_head(),
            Events { may_continue: Some(may_continue), last_message, work },
        )
    }

    /// DELETE: the client is done with its session.
    fn delete(&self) -> Response {
        if let Err(unknown) = self.check_version() {
            return Response::json(400, unknown.to_json());
        }
        match self.session_id {
            Some(id) if self.app.mcp.sessions.close(id, &self.principal) => Response::empty(204),
            None if self.version.is_some_and(era::is_modern) => {
                method_not_allowed("2026-07-28 has no sessions", "HEAD, POST, OPTIONS")
            }
            None => {
                Response::json(400, Error::invalid_request("Mcp-Session-Id is missing").to_json())
            }
            Some(_) => {
                Response::json(404, Error::invalid_request("unknown or expired session").to_json())
            }
        }
    }

    /// Whether the version in the header, if there is one, is supported; for requests that have no
    /// message to classify.
    fn check_version(&self) -> Result<(), Error> {
        let unknown = self.version.is_some_and(|name| Revision::named(name).is_none());
        if unknown {
            Err(Error::invalid_request("this MCP-Protocol-Version is not supported"))
        } else {
            Ok(())
        }
    }

    /// The live session that the request names, if it names one.
    fn session(&self) -> Result<Option<Arc<Session>>, Error> {
        let Some(id) = self.session_id else { return Ok(None) };
        let session = self.app.mcp.sessions.get(id, &self.principal, self.now);
        session
            .map(Some)
            .ok_or_else(|| Error::invalid_request("unknown or expired session; initialize again"))
    }
}

fn is_initialize(message: &Message) -> bool {
    matches!(message, Message::Request { method, .. } if method == "initialize")
}

/// RFC 6750 section 3.1. A 403 and not a tool error, so that the client can log in again for more.
fn forbidden(oauth: &Oauth, needs: Access, answer: String) -> Response {
    Response::json(403, answer)
        .header("WWW-Authenticate", oauth.challenge(Challenge::InsufficientScope(needs)))
}

fn refused(status: u16, error: &Error) -> Reply {
    Reply::Whole(Response::json(status, error.to_json()))
}

/// 405 for a method that the endpoint has, but not for this revision or this client; `allow` has
/// the others.
fn method_not_allowed(why: &str, allow: &'static str) -> Response {
    Response::json(405, Error::invalid_request(why).to_json()).header("Allow", allow)
}

fn event_stream_head() -> Response {
    Response::with(200, "text/event-stream", Vec::new())
        .header("Cache-Control", "no-store, no-transform")
        .header("X-Accel-Buffering", "no")
}

/// Handles a message; `notify` sends a notification that belongs to it.
fn handle(
    engine: &Server,
    principal: &Principal,
    session: Option<&Arc<Session>>,
    revision: Revision,
    message: &Message,
    peer: &Peer,
    notify: &dyn Fn(&str),
) -> Outcome {
    let running = session.zip(message.id()).map(|(session, id)| session.requests.begin(id));
    let peer = Some(peer).filter(|_| revision.is_modern() || engine.may_be_abandoned(message));
    let is_cancelled = || {
        running.as_ref().is_some_and(Running::is_cancelled) || peer.is_some_and(Peer::has_hung_up)
    };
    engine.handle(
        &Exchange { principal, revision, session, notify, is_cancelled: &is_cancelled },
        message,
    )
}

impl Listener for EventStream {
    fn send(&self, message: &str) -> bool {
        self.send(message)
    }

    fn is_open(&self) -> bool {
        self.is_open()
    }

    fn end(&self) {
        self.end();
    }
}
