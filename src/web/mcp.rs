//! `/mcp`: Streamable HTTP (MCP, "Transports"). Turns bodies and headers into requests, answers
//! into statuses and streams.

use super::{App, accepts, guard, media_type};
use crate::clock::Moment;
use crate::http::events::StreamEnd;
use crate::http::{self, EventStream, Refusal, Reply, Response};
use crate::mcp::modern::Headers;
use crate::mcp::running::Running;
use crate::mcp::{
    Answer, Caller, Listener, Revision, Server, Session, Subscription, era, methods, progress,
};
use crate::oauth::Oauth;
use crate::oauth::bearer::Challenge;
use crate::principal::Principal;
use crate::rpc::{self, Error, Id, Incoming, Message, Request, encode};
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

/// Answers an authenticated request.
pub(super) fn serve(
    app: &App,
    request: &mut http::Request<'_>,
    body: &[u8],
    principal: Principal,
    token: SecretHash,
) -> Result<Reply, Refusal> {
    let head = &request.head;
    let headers = head
        .single("mcp-protocol-version")
        .and_then(|version| Ok((version, head.single("mcp-session-id")?)));
    let Ok((version, session_id)) = headers else {
        let why = "MCP-Protocol-Version or Mcp-Session-Id occurs twice, or is not text";
        return Ok(refused(400, &Error::invalid_request(why)));
    };
    let (version, session_id) = (version.map(str::to_owned), session_id.map(str::to_owned));
    let method = head.method.clone();
    let mut exchange = Exchange { app, request, principal, token, version, session_id };
    match &*method {
        "GET" => exchange.get(),
        "DELETE" => Ok(Reply::Whole(exchange.delete())),
        "POST" => exchange.post(body),
        // HEAD opens no stream; it only shows that the endpoint exists.
        _ => Ok(Reply::Whole(Response::with(200, "text/event-stream", Vec::new()))),
    }
}

/// An authenticated request, with what its headers say.
struct Exchange<'a, 'b> {
    app: &'a App,
    request: &'a mut http::Request<'b>,
    principal: Principal,
    token: SecretHash,
    /// `MCP-Protocol-Version`.
    version: Option<String>,
    /// `Mcp-Session-Id`.
    session_id: Option<String>,
}

impl Exchange<'_, '_> {
    fn post(&mut self, body: &[u8]) -> Result<Reply, Refusal> {
        let head = &self.request.head;
        if !media_type(head).eq_ignore_ascii_case("application/json") {
            let why = "Content-Type must be application/json";
            return Ok(refused(415, &Error::invalid_request(why)));
        }
        if !self.takes_events() && !accepts(head, "application/json") {
            let why = "Accept must have application/json or text/event-stream";
            return Ok(refused(406, &Error::invalid_request(why)));
        }
        let incoming = match rpc::decode::decode(body) {
            Ok(incoming) => incoming,
            Err(error) => return Ok(refused(400, &error)),
        };
        let session = self.session();
        let id = incoming.one().and_then(Message::id).cloned();
        // An unknown session is reported before any other error, except for modern requests and
        // `initialize`, where the session id means nothing. (Hosted clients that were negotiated
        // down send the header 2026-07-28 too.)
        let stands_alone = |message: &Message| {
            message.request().is_some_and(is_initialize)
                || message.params().and_then(era::claim).is_some()
        };
        if let (Err(unknown), false) = (&session, incoming.one().is_some_and(stands_alone)) {
            return Ok(refused(404, &unknown.clone().answering(id)));
        }
        let session = session.ok().flatten();
        let of_session = session.as_ref().map(|session| session.revision);
        let revision = match era::classify(self.version.as_deref(), of_session, &incoming) {
            Ok(revision) => revision,
            Err(error) => return Ok(refused(400, &error.answering(id))),
        };
        let session = session.filter(|_| !revision.is_modern());
        // Over HTTP a modern client cancels by hanging up.
        if let Some(session) = &session {
            for id in incoming.messages().filter_map(Message::cancelled_id) {
                session.requests.cancel(&id);
            }
        }
        Ok(Reply::Whole(match incoming {
            Incoming::One(Message::Request(request)) => {
                let session = session.filter(|_| !is_initialize(&request));
                return self.answer(session.as_ref(), revision, &request);
            }
            Incoming::One(_) => Response::empty(202),
            Incoming::Batch(messages) => {
                let handle =
                    |request: &Request| self.handle(session.as_ref(), revision, request, &|_| {});
                match Server::batch(&messages, handle) {
                    Some(answers) => Response::json(200, answers),
                    None => Response::empty(202),
                }
            }
        }))
    }

    fn answer(
        &mut self,
        session: Option<&Arc<Session>>,
        revision: Revision,
        request: &Request,
    ) -> Result<Reply, Refusal> {
        if revision.is_modern() {
            let mirrored = |name: &'static str| self.request.head.single(name).ok().flatten();
            let headers = Headers {
                version: self.version.as_deref(),
                method: mirrored("mcp-method"),
                name: mirrored("mcp-name"),
            };
            if let Err(error) = methods::check_modern(Some(headers), request) {
                let status = if error.code() == Error::METHOD_NOT_FOUND { 404 } else { 400 };
                return Ok(refused(status, &error.answering(Some(request.id.clone()))));
            }
        }
        let missing_access = self.app.mcp.missing_access(&self.principal, request);
        let wants_progress = request.method == "tools/call" && progress::token(request).is_some();
        if wants_progress && missing_access.is_none() && self.takes_events() {
            return self.answer_with_progress(session, revision, request);
        }
        let answer = self.handle(session, revision, request, &|_| {});
        Ok(Reply::Whole(match answer {
            Ok(Answer::Result(result)) => Response::json(200, encode::result(&request.id, &result)),
            Ok(Answer::Session(result, session)) => {
                Response::json(200, encode::result(&request.id, &result))
                    .header("Mcp-Session-Id", session.id.clone())
            }
            Ok(Answer::Listen(subscription)) if self.takes_events() => {
                return self.open_stream(Some(&request.id), &subscription);
            }
            Ok(Answer::Listen(_)) => {
                let why = "Accept must have text/event-stream: the answer is a stream";
                let error = Error::invalid_request(why).answering(Some(request.id.clone()));
                return Ok(refused(406, &error));
            }
            Ok(Answer::Cancelled) => Response::empty(202),
            Err(error) => match missing_access {
                // RFC 6750 section 3.1. Not a tool error, so that the client can log in again for
                // more.
                Some(needs) => Response::json(403, error.to_json()).header(
                    "WWW-Authenticate",
                    self.app.oauth.challenge(Challenge::InsufficientScope(needs)),
                ),
                None => Response::json(200, error.to_json()),
            },
        }))
    }

    /// Answers a request with an event stream: notifications, then the answer.
    fn answer_with_progress(
        &mut self,
        session: Option<&Arc<Session>>,
        revision: Revision,
        request: &Request,
    ) -> Result<Reply, Refusal> {
        let events = self.request.stream(event_stream_head(), StreamEnd::default())?;
        let notify = |message: &str| {
            events.send(message);
        };
        match self.handle(session, revision, request, &notify) {
            Ok(Answer::Result(result)) => events.send(&encode::result(&request.id, &result)),
            Err(error) => events.send(&error.to_json()),
            // A call has no other answer, unless it was cancelled.
            Ok(_) => true,
        };
        Ok(Reply::Streamed)
    }

    fn handle(
        &self,
        session: Option<&Arc<Session>>,
        revision: Revision,
        request: &Request,
        notify: &dyn Fn(&str),
    ) -> Result<Answer, Error> {
        let server = &self.app.mcp;
        let running = session.map(|session| session.requests.begin(&request.id));
        let ends_with_peer = revision.is_modern() || server.may_be_abandoned(request);
        let is_cancelled = || {
            running.as_ref().is_some_and(Running::is_cancelled)
                || ends_with_peer && self.request.peer().has_hung_up()
        };
        let principal = &self.principal;
        let caller = Caller { principal, revision, session, notify, is_cancelled: &is_cancelled };
        server.handle(&caller, request)
    }

    fn takes_events(&self) -> bool {
        accepts(&self.request.head, "text/event-stream")
    }

    /// GET: the stream on which a session is notified of changes. There is one per session; a new
    /// one replaces it.
    fn get(&mut self) -> Result<Reply, Refusal> {
        let session = match self.session() {
            Ok(Some(session)) => session,
            Err(unknown) => return Ok(refused(404, &unknown)),
            Ok(None) => {
                let why = if self.version.as_deref().is_some_and(era::is_modern) {
                    "2026-07-28 has no such stream; use subscriptions/listen"
                } else {
                    "there is a stream only within a session; initialize first"
                };
                return Ok(Reply::Whole(method_not_allowed(why, NO_GET)));
            }
        };
        if !self.takes_events() {
            let why = "Accept must have text/event-stream";
            return Ok(refused(406, &Error::invalid_request(why)));
        }
        if let Err(unknown) = self.check_version() {
            return Ok(refused(400, &unknown));
        }
        // Changes from now on are reported, also those before the client has the head of the
        // answer.
        session.subscription.record_current_state(&self.app.mcp);
        self.open_stream(None, &session.subscription)
    }

    /// The event stream of a subscription, for as long as the token that opened it is valid. `id`
    /// is that of the request that asks for it.
    fn open_stream(
        &mut self,
        id: Option<&Id>,
        subscription: &Arc<Subscription>,
    ) -> Result<Reply, Refusal> {
        let _permit = match self.app.mcp.stream_permit(&self.principal) {
            Ok(permit) => permit,
            Err(busy) => {
                let answer = Response::json(503, busy.answering(id.cloned()).to_json());
                return Ok(Reply::Whole(answer.header("Retry-After", "30")));
            }
        };
        let (oauth, token) = (Arc::clone(&self.app.oauth), self.token);
        let end = StreamEnd {
            may_continue: Some(Box::new(move || oauth.holder(token, Moment::read()).is_some())),
            last_message: subscription.last_message(),
        };
        let events = self.request.stream(event_stream_head(), end)?;
        self.app.mcp.connect(subscription, events as Arc<dyn Listener>);
        self.request.wait_for_hang_up();
        Ok(Reply::Streamed)
    }

    /// DELETE: the client is done with its session.
    fn delete(&self) -> Response {
        if let Err(unknown) = self.check_version() {
            return Response::json(400, unknown.to_json());
        }
        match &self.session_id {
            Some(id) if self.app.mcp.sessions.close(id, &self.principal) => Response::empty(204),
            None if self.version.as_deref().is_some_and(era::is_modern) => {
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
        match self.version.as_deref().map(Revision::named) {
            Some(None) => Err(Error::invalid_request("this MCP-Protocol-Version is not supported")),
            _ => Ok(()),
        }
    }

    /// The live session that the request names, if it names one.
    fn session(&self) -> Result<Option<Arc<Session>>, Error> {
        let Some(id) = &self.session_id else { return Ok(None) };
        let session = self.app.mcp.sessions.get(id, &self.principal, Moment::read());
        session
            .map(Some)
            .ok_or_else(|| Error::invalid_request("unknown or expired session; initialize again"))
    }
}

fn is_initialize(request: &Request) -> bool {
    request.method == "initialize"
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
    let head = Response::with(200, "text/event-stream", Vec::new())
        .header("Cache-Control", "no-store, no-transform")
        .header("X-Accel-Buffering", "no");
    guard::finish(None, head)
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
