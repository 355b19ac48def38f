//! HTTP on one side, OAuth and MCP on the other: routes, guards, and what each endpoint reads and
//! answers.
//!
//! | file | holds |
//! |---|---|
//! | [`routes`] | THE route table |
//! | [`guard`] | Host and Origin, CORS, the headers every answer carries |
//! | [`mcp`] | `/mcp`: headers and bodies to calls, outcomes to statuses and streams |
//! | [`oauth`] | forms, JSON and pages of the authorization server |

pub mod guard;
pub mod mcp;
pub mod oauth;
pub mod routes;

use crate::clock::Moment;
use crate::form::Form;
use crate::http::client_address::client_address;
use crate::http::{Admission, Framing, Head, Peer, Reply, Response, Service};
use crate::mcp::Server;
use crate::network::Network;
use crate::oauth::{Oauth, metadata, page};
use crate::principal::Principal;
use crate::secret::SecretHash;
use crate::uri;
use guard::Guard;
use routes::{Route, Row};
use std::net::IpAddr;
use std::sync::Arc;

/// Body of a GET, HEAD or DELETE, which has no meaning and is discarded.
const IGNORED_BODY_BYTES: usize = 1024;

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
}

/// What is known of a request once its head was admitted.
pub struct Ticket {
    row: &'static Row,
    /// The caller and the token, on the MCP endpoint.
    caller: Option<(Principal, SecretHash)>,
    /// The client's address, for the log.
    from: IpAddr,
}

impl Service for App {
    type Ticket = Ticket;

    fn admit(&self, head: &Head, peer: IpAddr) -> Result<Admission<Ticket>, Box<Response>> {
        let route = routes::find(&head.path);
        let answer_now = |response: Response| Err(Box::new(guard::finish(route, response)));
        let Some(row) = route else {
            return answer_now(Response::json(
                404,
                r#"{"error":"not_found","error_description":"There is nothing at this address; the MCP endpoint is /mcp"}"#,
            ));
        };
        // A preflight carries no token: browsers send it before the request that does.
        if &*head.method == "OPTIONS" {
            return answer_now(guard::preflight(row));
        }
        // Without a valid token the answer is 401 before anything else is checked: clients probe
        // with odd requests.
        let caller = if row.route == Route::Mcp {
            match self.oauth.authenticate(head.text("authorization"), Moment::read()) {
                Ok(caller) => Some(caller),
                Err(challenge) => return answer_now(mcp::unauthorized(&self.oauth, challenge)),
            }
        } else {
            None
        };
        if row.route != Route::Health
            && let Err(why) = self.guard.check(row, head)
        {
            return answer_now(match row.route {
                // People see these.
                Route::Authorize => oauth::html(
                    403,
                    page::error(
                        &self.oauth.origin,
                        why,
                        "Start the login again in the application.",
                    ),
                ),
                Route::Home | Route::Open => oauth::html(
                    403,
                    page::error(
                        &self.oauth.origin,
                        why,
                        "Open the address that the owner of the server gave you.",
                    ),
                ),
                _ => Response::json(
                    403,
                    format!(r#"{{"error":"forbidden","error_description":"{why}"}}"#),
                ),
            });
        }
        if !row.allow.split(", ").any(|method| method == &*head.method) {
            return answer_now(
                Response::json(405, r#"{"error":"method_not_allowed"}"#).header("Allow", row.allow),
            );
        }
        // RFC 9110 section 9.3: content of other methods means nothing; a little of it is read and
        // dropped.
        let body_max = if &*head.method == "POST" { row.body_max } else { IGNORED_BODY_BYTES };
        if matches!(head.framing, Framing::Length(length) if length > body_max) {
            let why = format!(
                r#"{{"error":"content_too_large","error_description":"The limit is {body_max} bytes"}}"#
            );
            return answer_now(Response::json(413, why));
        }
        let from = client_address(peer, head, &self.trusted_proxies);
        let login = caller.as_ref().map(|(principal, _)| principal.key());
        Ok(Admission { body_max, login, ticket: Ticket { row, caller, from } })
    }

    fn serve(&self, head: &Head, body: Vec<u8>, ticket: Ticket, peer: &Peer) -> Reply {
        let reply = match (ticket.row.route, ticket.caller) {
            (Route::Mcp, Some((principal, token))) => {
                mcp::serve(self, head, &body, principal, token, peer)
            }
            // `admit` has refused such a request.
            (Route::Mcp, None) => Reply::Whole(mcp::unauthorized(
                &self.oauth,
                crate::oauth::bearer::Challenge::NoToken,
            )),
            (Route::Authorize, _) => Reply::Whole(oauth::authorize(self, head, &body, ticket.from)),
            (Route::Token, _) => Reply::Whole(oauth::token(self, head, &body)),
            (Route::Register, _) => Reply::Whole(oauth::register(self, &body, ticket.from)),
            (Route::Revoke, _) => Reply::Whole(oauth::revoke(self, head, &body)),
            (Route::ProtectedOrigin, _) => {
                oauth::document(&metadata::protected_origin(&self.oauth.origin))
            }
            (Route::ProtectedEndpoint, _) => {
                oauth::document(&metadata::protected_endpoint(&self.oauth.origin))
            }
            (Route::AuthorizationServer, _) => {
                oauth::document(&metadata::authorization_server(&self.oauth.origin))
            }
            (Route::Home, _) => Reply::Whole(oauth::html(200, page::home(&self.oauth.origin))),
            (Route::Open, _) => {
                let form = Form::parse(&head.query).unwrap_or_default();
                Reply::Whole(match (form.get("vault"), form.get("file")) {
                    (Some(vault), Some(file)) => oauth::html(
                        200,
                        page::open(
                            &self.oauth.origin,
                            vault,
                            file,
                            &uri::to_open(uri::OBSIDIAN, vault, file),
                        ),
                    ),
                    _ => oauth::html(
                        400,
                        page::error(
                            &self.oauth.origin,
                            "This address names no note.",
                            "Open the link again from the answer that has it.",
                        ),
                    ),
                })
            }
            (Route::Health, _) => {
                Reply::Whole(Response::with(200, "text/plain; charset=utf-8", "ok\n"))
            }
        };
        match reply {
            Reply::Whole(response) => Reply::Whole(guard::finish(Some(ticket.row), response)),
            Reply::Events(response, events) => {
                Reply::Events(guard::finish(Some(ticket.row), response), events)
            }
        }
    }

    fn panic_response(&self) -> Response {
        guard::finish(
            None,
            Response::json(
                500,
                r#"{"error":"server_error","error_description":"Internal error; the log of the server has the reason"}"#,
            ),
        )
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
