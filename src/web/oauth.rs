//! Forms, JSON and pages of the authorization server.

use super::{App, media_type};
use crate::clock::Now;
use crate::form::Form;
use crate::http::{Head, HeaderValue, Method, Reply, Response};
use crate::limits;
use crate::oauth::authorize::{Approval, AuthorizeRequest, PeerAddress};
use crate::oauth::error::AuthorizeError;
use crate::oauth::page::{self, Choice, FormInput, Notice};
use crate::oauth::{Error, Oauth};
use crate::principal::Access;
use crate::vault::{Folders, VaultPath};
use serde_json::Value;
use std::net::IpAddr;

/// A metadata document. Hosted Claude keeps it for five minutes anyway.
pub(super) fn document(document: &Value) -> Reply {
    Reply::Whole(Response::json(200, document.to_string()).header("Cache-Control", HeaderValue::fixed("public, max-age=300")))
}

/// A page.
pub(super) fn html(status: u16, page: String) -> Response {
    Response::with(status, "text/html; charset=utf-8", page)
}

/// The authorization endpoint: GET shows the login page, POST is its form.
pub(super) fn authorize(app: &App, head: &Head, body: &[u8], from: PeerAddress) -> Response {
    let (oauth, abilities) = (&app.oauth, app.mcp.abilities());
    let request = match Form::parse(&head.query) {
        Ok(query) => oauth.check(&query),
        Err(_) => Err(AuthorizeError::Show {
            why: "The address of this page is not one that an application makes.",
            advice: "Start the login again in the application.",
        }),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return cannot_authorize(oauth, error),
    };
    // The form goes where the page came from, query and all; everything in it is checked again.
    let action = format!("/oauth/authorize?{}", &head.query);
    if head.method != Method::Post {
        return html(
            200,
            page::login(
                &oauth.origin,
                &request,
                &action,
                FormInput { user: "", choice: if request.access == Access::Read { Choice::Read } else { Choice::Write } },
                &abilities,
                None,
            ),
        );
    }
    if head.text("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return html(403, page::error(&oauth.origin, "The form came from another web site.", "Start the login again in the application."));
    }
    let Some(form) = form_of(head, body) else {
        return html(400, page::error(&oauth.origin, "The form could not be read.", "Go back and try again."));
    };
    decide(app, &request, &form, &action, from)
}

fn decide(app: &App, request: &AuthorizeRequest, form: &Form, action: &str, from: PeerAddress) -> Response {
    let (oauth, abilities) = (&app.oauth, app.mcp.abilities());
    if form.get("decision") == Some("deny") {
        return see_other(&oauth.deny(request));
    }
    if let Some(proof) = form.get("login") {
        return choose_folders(app, request, form, action, proof, from);
    }
    let choice = Choice::of(form.get("access"));
    let access = match choice {
        Choice::Write => Some(Access::Write),
        Choice::Read => Some(Access::Read),
        Choice::Folders => None,
    };
    let (user, password) = (form.get("username").unwrap_or_default(), form.get("password").unwrap_or_default());
    match oauth.approve(request, user, password, access, from, Now::read()) {
        Ok(Approval::Granted(location)) => see_other(&location),
        Ok(Approval::Choose(proof)) => folders_page(app, request, action, &proof, ""),
        Ok(Approval::Refused) => {
            html(403, page::login(&oauth.origin, request, action, FormInput { user, choice }, &abilities, Some(Notice::WrongPassword)))
        }
        Ok(Approval::Busy) => {
            html(429, page::login(&oauth.origin, request, action, FormInput { user, choice }, &abilities, Some(Notice::Busy)))
                .header("Retry-After", HeaderValue::fixed("5"))
        }
        Err(error) => cannot_authorize(oauth, error),
    }
}

fn folders_page(app: &App, request: &AuthorizeRequest, action: &str, proof: &str, notice: &str) -> Response {
    let (folders, is_all) = app.mcp.folders(limits::FOLDERS_OFFERED);
    html(200, page::folders(&app.oauth.origin, request, action, proof, &folders, is_all, notice))
}

/// The form of the second page: what was chosen for each folder.
fn choose_folders(app: &App, request: &AuthorizeRequest, form: &Form, action: &str, proof: &str, from: PeerAddress) -> Response {
    let now = Now::read();
    // Nothing of the vault is read before this.
    let Some(user) = app.oauth.logged_in(request, proof, now) else {
        let advice = "Start the login again in the application, and choose within a few minutes.";
        return html(403, page::error(&app.oauth.origin, "The login was too long ago.", advice));
    };
    let (offered, _) = app.mcp.folders(limits::FOLDERS_OFFERED);
    let of = |wanted: &'static str| {
        let chosen = form.beginning("folder:").filter(|(name, choice)| *choice == wanted && offered.iter().any(|folder| folder == name));
        chosen.filter_map(|(name, _)| VaultPath::file(name).ok()).collect::<Vec<VaultPath>>()
    };
    let write = if request.access == Access::Write { of("change") } else { Vec::new() };
    let folders = Folders { read: Some(of("read")), write };
    if folders == (Folders { read: Some(Vec::new()), write: Vec::new() }) {
        return folders_page(app, request, action, proof, "No folder was chosen. Choose at least one.");
    }
    match app.oauth.approve_folders(request, user, folders, from, now) {
        Ok(location) => see_other(&location),
        Err(error) => cannot_authorize(&app.oauth, error),
    }
}

fn cannot_authorize(oauth: &Oauth, error: AuthorizeError) -> Response {
    match error {
        AuthorizeError::Show { why, advice } => html(400, page::error(&oauth.origin, why, advice)),
        AuthorizeError::SendBack(redirect, code, description) => see_other(&oauth.send_back(&redirect, code, description)),
        AuthorizeError::Unavailable => {
            html(503, page::error(&oauth.origin, "The server cannot store the login at the moment.", "Please try again later."))
                .header("Retry-After", HeaderValue::fixed("5"))
        }
    }
}

/// 303, so that the browser goes on with GET and the password is not sent along.
fn see_other(location: &str) -> Response {
    Response::empty(303).header("Location", HeaderValue::of(location))
}

/// The token endpoint.
pub(super) fn token(app: &App, head: &Head, body: &[u8]) -> Response {
    let answer =
        form_of(head, body).ok_or_else(unreadable).and_then(|form| app.oauth.exchange(head.text("authorization"), &form, Now::read()));
    match answer {
        Ok(tokens) => Response::json(200, tokens.to_string()).header("Pragma", HeaderValue::fixed("no-cache")),
        Err(error) => failed(&error),
    }
}

/// The revocation endpoint.
pub(super) fn revoke(app: &App, head: &Head, body: &[u8]) -> Response {
    let outcome =
        form_of(head, body).ok_or_else(unreadable).and_then(|form| app.oauth.revoke(head.text("authorization"), &form, Now::read()));
    match outcome {
        Ok(()) => Response::json(200, "{}"),
        Err(error) => failed(&error),
    }
}

/// The registration endpoint.
pub(super) fn register(app: &App, body: &[u8], from: IpAddr) -> Response {
    match app.oauth.register(body, from, Now::read()) {
        Ok(client) => Response::json(201, client.to_string()),
        Err(error) => failed(&error),
    }
}

fn form_of(head: &Head, body: &[u8]) -> Option<Form> {
    if !media_type(head).eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    std::str::from_utf8(body).ok().and_then(|text| Form::parse(text).ok())
}

fn unreadable() -> Error {
    Error::InvalidRequest("the body must be application/x-www-form-urlencoded, each parameter once".into())
}

fn failed(error: &Error) -> Response {
    let response = Response::json(error.status(), error.to_json());
    match error {
        // RFC 6749 section 5.2: only if the client tried to authenticate that way.
        Error::InvalidClient { basic: true } => response.header("WWW-Authenticate", HeaderValue::fixed("Basic realm=\"vault-sync-mcp\"")),
        Error::Unavailable => response.header("Retry-After", HeaderValue::fixed("2")),
        Error::SlowDown => response.header("Retry-After", HeaderValue::fixed("600")),
        _ => response,
    }
}
