//! Forms, JSON and pages of the authorization server.

use super::{App, media_type};
use crate::clock::Moment;
use crate::form::Form;
use crate::http::{Head, Response};
use crate::limits;
use crate::oauth::authorize::AuthorizeRequest;
use crate::oauth::error::AuthorizeError;
use crate::oauth::page::{self, Choice};
use crate::oauth::password::Login;
use crate::oauth::{Error, Oauth};
use crate::principal::Access;
use crate::vault::{GrantedFolders, VaultPath};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;

/// Folders offered after the login: as many as fit into [`limits::FORM_FIELDS`] with the form's other
/// fields; any other can be typed.
const FOLDERS_OFFERED: usize = 300;

/// A metadata document. Hosted Claude keeps it for five minutes anyway.
pub(super) fn document(document: &Value) -> Response {
    Response::json(200, document.to_string()).header("Cache-Control", "public, max-age=300")
}

/// A page.
pub(super) fn html(status: u16, page: String) -> Response {
    Response::with(status, "text/html; charset=utf-8", page)
}

/// The authorization endpoint: GET shows the login page, POST is its form.
pub(super) fn authorize(app: &App, head: &Head, body: &[u8], from: IpAddr) -> Response {
    let (oauth, abilities) = (&app.oauth, app.mcp.abilities());
    let request = match Form::parse(&head.query) {
        // Where no tool writes, nothing more than reading is promised.
        Some(query) => oauth.check_authorization_request(&query).map(|mut request| {
            request.access = request.access.min(app.mcp.access());
            request
        }),
        None => Err(AuthorizeError::Show {
            why: "The address of this page is not a valid authorization request.",
            advice: "Start the login again in the application.",
        }),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return cannot_authorize(oauth, error),
    };
    if &*head.method != "POST" {
        let choice = match request.access {
            Access::Read => Choice::All(Access::Read),
            Access::Write => Choice::Open,
        };
        return html(200, page::login(&oauth.origin, &request, "", choice, &abilities, ""));
    }
    if head.text("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return html(
            403,
            page::error(
                &oauth.origin,
                "The form came from another web site.",
                "Start the login again in the application.",
            ),
        );
    }
    let Some(form) = form_of(head, body) else {
        return html(
            400,
            page::error(&oauth.origin, "The form could not be read.", "Go back and try again."),
        );
    };
    decide(app, head, &request, &form, from)
}

fn decide(
    app: &App,
    head: &Head,
    request: &AuthorizeRequest,
    form: &Form,
    from: IpAddr,
) -> Response {
    let (oauth, abilities) = (&app.oauth, app.mcp.abilities());
    if form.get("decision") == Some("deny") {
        if request.may_send_back {
            return see_other(&oauth.send_back(
                &request.redirect,
                "access_denied",
                "the request was denied",
            ));
        }
        return html(200, page::denied(&oauth.origin));
    }
    if let Some(proof) = form.get("login") {
        return choose_folders(app, request, form, proof, from);
    }
    // Any other value allows reading only.
    let choice = match form.get("access") {
        Some("write") => Choice::All(Access::Write),
        Some("folders") => Choice::Folders,
        _ => Choice::All(Access::Read),
    };
    let (user, password) =
        (form.get("username").unwrap_or_default(), form.get("password").unwrap_or_default());
    let now = Moment::read();
    let again = |status, notice| {
        html(status, page::login(&oauth.origin, request, user, choice, &abilities, notice))
    };
    match oauth.log_in(user, password, oauth.is_known_browser(&cookies_of(head), now)) {
        Login::Right => {
            let answer = match choice {
                Choice::All(access) => {
                    granted(oauth, oauth.issue_code(request, user, access, None, from, now))
                }
                Choice::Folders | Choice::Open => folders_page(
                    app,
                    request,
                    &oauth.proof_of_login(request, user, now.after(limits::CODE_LIFE)),
                    "",
                ),
            };
            answer.header("Set-Cookie", oauth.browser_cookie(now))
        }
        Login::Wrong => {
            // The name is not logged: people type passwords into the wrong field.
            log::warn!("login failed from={from} client={:?}", request.client.short_id());
            again(403, page::WRONG_PASSWORD)
        }
        Login::Busy => again(429, page::BUSY).header("Retry-After", "5"),
    }
}

fn granted(oauth: &Oauth, location: Result<String, AuthorizeError>) -> Response {
    location.map_or_else(|error| cannot_authorize(oauth, error), |location| see_other(&location))
}

fn folders_page(app: &App, request: &AuthorizeRequest, proof: &str, notice: &str) -> Response {
    let (folders, is_all) = app.mcp.folders(FOLDERS_OFFERED);
    html(200, page::folders(&app.oauth.origin, request, proof, &folders, is_all, notice))
}

/// The form of the second page: what was chosen for each folder.
fn choose_folders(
    app: &App,
    request: &AuthorizeRequest,
    form: &Form,
    proof: &str,
    from: IpAddr,
) -> Response {
    let now = Moment::read();
    // Nothing of the vault is read before this.
    let Some(user) = app.oauth.logged_in(request, proof, now) else {
        let advice = "Start the login again in the application, and choose within a few minutes.";
        return html(403, page::error(&app.oauth.origin, "The login was too long ago.", advice));
    };
    let (offered, _) = app.mcp.folders(FOLDERS_OFFERED);
    let of = |wanted: &'static str| {
        let chosen = form.with_prefix("folder:").filter(|(name, choice)| {
            *choice == wanted && offered.iter().any(|folder| folder == name)
        });
        chosen.filter_map(|(name, _)| VaultPath::file(name).ok()).collect::<Vec<VaultPath>>()
    };
    let (mut read, mut write) = (of("read"), of("change"));
    let typed = form.get("path").unwrap_or_default().trim().trim_matches('/');
    if !typed.is_empty() {
        match VaultPath::file(typed).ok().filter(|folder| app.mcp.has_folder(folder)) {
            None => return folders_page(app, request, proof, "There is no folder of this path."),
            Some(folder) => match form.get("path_access") {
                Some("read") => read.push(folder),
                Some("change") => write.push(folder),
                _ => {
                    let notice = "Choose what it may do in the folder that you typed.";
                    return folders_page(app, request, proof, notice);
                }
            },
        }
    }
    if request.access != Access::Write {
        write.clear();
    }
    let folders = GrantedFolders { read: Some(read), write };
    if folders == (GrantedFolders { read: Some(Vec::new()), write: Vec::new() }) {
        return folders_page(app, request, proof, "No folder was chosen. Choose at least one.");
    }
    let access = if folders.write.is_empty() { Access::Read } else { Access::Write };
    granted(
        &app.oauth,
        app.oauth.issue_code(request, user, access, Some(Arc::new(folders)), from, now),
    )
}

fn cannot_authorize(oauth: &Oauth, error: AuthorizeError) -> Response {
    match error {
        AuthorizeError::Show { why, advice } => html(400, page::error(&oauth.origin, why, advice)),
        AuthorizeError::SendBack { redirect, code, description } => {
            see_other(&oauth.send_back(&redirect, code, description))
        }
        AuthorizeError::Unavailable => html(
            503,
            page::error(
                &oauth.origin,
                "The server cannot store the login at the moment.",
                "Please try again later.",
            ),
        )
        .header("Retry-After", "5"),
    }
}

/// 303, so that the browser goes on with GET and the password is not sent along.
fn see_other(location: &str) -> Response {
    Response::empty(303).header("Location", location.to_owned())
}

/// The token endpoint.
pub(super) fn token(app: &App, head: &Head, body: &[u8]) -> Response {
    with_form(head, body, |authorization, form, now| {
        let tokens = app.oauth.exchange(authorization, form, now)?;
        Ok(Response::json(200, tokens.to_string()).header("Pragma", "no-cache"))
    })
}

/// The revocation endpoint.
pub(super) fn revoke(app: &App, head: &Head, body: &[u8]) -> Response {
    with_form(head, body, |authorization, form, now| {
        app.oauth.revoke(authorization, form, now).map(|()| Response::json(200, "{}"))
    })
}

/// The registration endpoint.
pub(super) fn register(app: &App, body: &[u8], from: IpAddr) -> Response {
    let registered = app
        .oauth
        .register(body, from, Moment::read())
        .map(|client| Response::json(201, client.to_string()));
    registered.unwrap_or_else(|error| failed(None, &error))
}

fn with_form(
    head: &Head,
    body: &[u8],
    answer: impl FnOnce(Option<&str>, &Form, Moment) -> Result<Response, Error>,
) -> Response {
    let unreadable = || {
        Error::invalid_request(
            "the body must be application/x-www-form-urlencoded, each parameter once",
        )
    };
    let authorization = head.text("authorization");
    let answered = form_of(head, body)
        .ok_or_else(unreadable)
        .and_then(|form| answer(authorization, &form, Moment::read()));
    answered.unwrap_or_else(|error| failed(authorization, &error))
}

/// All cookies, as one `Cookie` header.
pub(super) fn cookies_of(head: &Head) -> String {
    let lines = head.all("cookie").filter_map(|line| std::str::from_utf8(line).ok());
    lines.collect::<Vec<&str>>().join("; ")
}

pub(super) fn form_of(head: &Head, body: &[u8]) -> Option<Form> {
    if !media_type(head).eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    std::str::from_utf8(body).ok().and_then(Form::parse)
}

fn failed(authorization: Option<&str>, error: &Error) -> Response {
    let response = Response::json(error.status, error.to_json());
    // RFC 6749 section 5.2: only if the client used that method.
    let is_basic = authorization
        .and_then(|value| value.get(..6))
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic "));
    match error.status {
        401 if is_basic => response.header("WWW-Authenticate", "Basic realm=\"vault-sync-mcp\""),
        503 => response.header("Retry-After", "2"),
        _ => response,
    }
}
