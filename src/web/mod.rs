//! HTTP on one side, OAuth and MCP on the other: routes, guards, and what each endpoint reads and
//! answers.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | THE route table |
//! | [`guard`] | Host and Origin, CORS, the headers every answer carries |
//! | [`mcp`] | `/mcp`: headers and bodies to calls, answers to statuses and streams |
//! | [`oauth`] | forms, JSON and pages of the authorization server |
//! | [`account`], `account_page` | the owner's page: logins, changes, taking back |

pub mod account;
mod account_page;
pub mod guard;
pub mod mcp;
pub mod oauth;
pub mod routes;

use crate::clock::Moment;
use crate::form::Form;
use crate::http::client_address::client_address;
use crate::http::{Handler, Head, Refusal, Reply, Request, Response};
use crate::mcp::Server;
use crate::network::Network;
use crate::oauth::bearer::Challenge;
use crate::oauth::{Oauth, metadata, page};
use crate::principal::{Access, Principal};
use crate::quota::Quota;
use crate::secret::SecretHash;
use crate::uri;
use guard::Guard;
use routes::{Route, Row};
use std::sync::Arc;

/// Body of a message of a login that may only read, bytes.
const READER_BYTES: usize = 1024 * 1024;

/// Everything behind the HTTP server.
pub struct App {
    /// The protocol engine.
    pub mcp: Arc<Server>,
    /// The authorization server.
    pub oauth: Arc<Oauth>,
    /// Which hosts and origins are allowed.
    pub guard: Guard,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// Whether there is a page for the owner.
    pub has_account: bool,
    /// Turns for its pages.
    pub account_turns: Arc<Quota>,
}

impl Handler for App {
    fn handle(&self, request: &mut Request<'_>) -> Result<Reply, Refusal> {
        let row = routes::find(&request.head.path);
        let reply = match row {
            Some(row) => self.answer(row, request)?,
            None => Reply::Whole(self.nothing(&request.head)),
        };
        Ok(match reply {
            Reply::Whole(response) => Reply::Whole(guard::finish(row, response)),
            Reply::Streamed => Reply::Streamed,
        })
    }
}

impl App {
    fn answer(&self, row: &Row, request: &mut Request<'_>) -> Result<Reply, Refusal> {
        let method = request.head.method.clone();
        // A preflight carries no token: browsers send it before the request that does.
        if &*method == "OPTIONS" {
            return Ok(Reply::Whole(guard::preflight(row)));
        }
        // Without a valid token the answer is 401 before anything else is checked: clients probe
        // with odd requests.
        let mut caller = None;
        if row.route == Route::Mcp {
            let authorization = request.head.text("authorization");
            match self.oauth.authenticate(authorization, Moment::read()) {
                Ok(authenticated) => caller = Some(authenticated),
                Err(challenge) => {
                    return Ok(Reply::Whole(mcp::unauthorized(&self.oauth, challenge)));
                }
            }
        }
        if row.route != Route::Health
            && let Err(why) = self.guard.check(row, &request.head)
        {
            return Ok(Reply::Whole(self.foreign(row.route, why)));
        }
        if !row.allow.split(", ").any(|allowed| allowed == &*method) {
            let answer = Response::json(405, r#"{"error":"method_not_allowed"}"#);
            return Ok(Reply::Whole(answer.header("Allow", row.allow)));
        }
        if caller.is_some() {
            request.note_login();
        }
        // Who may only read has nothing large to send; parsed, a body may take a hundred times its
        // size.
        let may_write =
            |(principal, _): &(Principal, SecretHash)| principal.access == Access::Write;
        let body_max = match &caller {
            Some(caller) if !may_write(caller) => READER_BYTES,
            _ => row.body_max,
        };
        let is_post = &*method == "POST";
        if is_post && request.content_length().is_some_and(|length| length > body_max) {
            let why = format!(
                r#"{{"error":"content_too_large","error_description":"The limit is {body_max} bytes"}}"#
            );
            return Ok(Reply::Whole(Response::json(413, why)));
        }
        // RFC 9110 section 9.3: content of other methods means nothing.
        let body = if is_post { request.body(body_max)? } else { Vec::new() };
        match caller {
            Some((principal, token)) => {
                request.take_worker(&principal.key())?;
                mcp::serve(self, request, &body, principal, token)
            }
            None => Ok(Reply::Whole(self.answer_anyone(row.route, request, &body))),
        }
    }

    /// The endpoints that need no token.
    fn answer_anyone(&self, route: Route, request: &Request<'_>, body: &[u8]) -> Response {
        let (head, origin) = (&request.head, &self.oauth.origin);
        let from = client_address(request.address(), head, &self.trusted_proxies);
        match route {
            Route::Authorize => oauth::authorize(self, head, body, from),
            Route::Token => oauth::token(self, head, body),
            Route::Register => oauth::register(self, body, from),
            Route::Revoke => oauth::revoke(self, head, body),
            Route::ProtectedOrigin => oauth::document(&metadata::protected_origin(origin)),
            Route::ProtectedEndpoint => oauth::document(&metadata::protected_endpoint(origin)),
            Route::AuthorizationServer => oauth::document(&metadata::authorization_server(origin)),
            Route::Home => oauth::html(200, page::home(origin, self.has_account())),
            Route::Account if self.has_account() => account::account(self, head, body, from),
            Route::Account => self.nothing(head),
            Route::Open => {
                let form = Form::parse(&head.query).unwrap_or_default();
                match (form.get("vault"), form.get("file")) {
                    (Some(vault), Some(file)) => {
                        let link = uri::to_open(uri::OBSIDIAN, vault, file);
                        oauth::html(200, page::open(origin, vault, file, &link))
                    }
                    _ => {
                        let advice = "Open the link again from the answer that has it.";
                        oauth::html(400, page::error(origin, "This address names no note.", advice))
                    }
                }
            }
            Route::Health => Response::with(200, "text/plain; charset=utf-8", "ok\n"),
            // Not without a token, which `answer` asks for.
            Route::Mcp => mcp::unauthorized(&self.oauth, Challenge::NoToken),
        }
    }

    /// Nobody can log in to it without a password.
    fn has_account(&self) -> bool {
        self.has_account && !self.oauth.logins.users.is_empty()
    }

    /// 404: a page for a browser, JSON for a program.
    fn nothing(&self, head: &Head) -> Response {
        let is_browser = head
            .all("accept")
            .any(|line| String::from_utf8_lossy(line).to_ascii_lowercase().contains("text/html"));
        if is_browser {
            let advice = "The server's start page says how to connect a client.";
            let why = "There is nothing at this address.";
            return oauth::html(404, page::error(&self.oauth.origin, why, advice));
        }
        Response::json(
            404,
            r#"{"error":"not_found","error_description":"There is nothing at this address; the MCP endpoint is /mcp"}"#,
        )
    }

    /// 403 for a request that has come by another name or from another site.
    fn foreign(&self, route: Route, why: &str) -> Response {
        // People see these.
        let advice = match route {
            Route::Authorize => "Start the login again in the application.",
            Route::Account => "Open /account at the address that the owner of the server gave you.",
            Route::Home | Route::Open => "Open the address that the owner of the server gave you.",
            _ => {
                let body = format!(r#"{{"error":"forbidden","error_description":"{why}"}}"#);
                return Response::json(403, body);
            }
        };
        oauth::html(403, page::error(&self.oauth.origin, why, advice))
    }
}

/// Whether the client accepts a media type: several `Accept` lines are one list; weights are not
/// read. Without `Accept` all are taken.
fn accepts(head: &Head, wanted: &str) -> bool {
    let mut lines = head.all("accept").peekable();
    let is_taken = |line: &[u8]| {
        let ranges = String::from_utf8_lossy(line).to_ascii_lowercase();
        ranges.split([',', ';']).any(|range| {
            let kind = range.trim().strip_suffix("/*");
            range.trim() == wanted
                || kind.is_some_and(|kind| kind == "*" || wanted.starts_with(&format!("{kind}/")))
        })
    };
    lines.peek().is_none() || lines.any(is_taken)
}

/// The media type of a body, without parameters.
fn media_type(head: &Head) -> &str {
    head.text("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
