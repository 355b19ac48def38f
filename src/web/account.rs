//! `/account`, for the owner: the logins, what they have changed, and taking it back.
//!
//! Everything but the login form needs a session of this browser ([`crate::oauth::account`]); what
//! changes something is a POST of a form that carries the session's token. Tokens of `/mcp` mean
//! nothing here.

use super::App;
use super::account_page::{self as pages, CallRow, LoginRow, Overview};
use super::oauth::{cookies_of, form_of, html};
use crate::change::calls::Call;
use crate::change::log::Line;
use crate::change::undo::{Scope, Undone};
use crate::clock::Moment;
use crate::form::Form;
use crate::http::{Head, Response};
use crate::oauth::account::LoggedIn;
use crate::oauth::page;
use crate::oauth::password::Login;
use crate::oauth::store::{Grant, State};
use crate::quota::{Bounds, Quota};
use crate::secret;
use crate::vault::Error;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Calls on one page, and logins that are listed.
const CALLS_SHOWN: usize = 12;
const LOGINS_SHOWN: usize = 12;

/// Turns for those pages.
pub fn turns() -> Arc<Quota> {
    Quota::new(Bounds { total: 1, per_owner: 1, waiting: WAITING })
}

/// Pages that read the log of changes: one at a time, since it may be large.
const WAITING: usize = 8;
const WAIT: Duration = Duration::from_secs(60);

/// An answer to a person in a session.
struct Visit<'a> {
    app: &'a App,
    who: LoggedIn,
    state: Arc<State>,
    /// The ids of this person's logins; `None` for all: of a server with one user all are, API
    /// tokens and programs on the server's own computer too.
    own: Option<HashSet<String>>,
}

pub(super) fn account(app: &App, head: &Head, body: &[u8], from: IpAddr) -> Response {
    let (oauth, now) = (&app.oauth, Moment::read());
    let cookies = cookies_of(head);
    let who = oauth.account(&cookies, now);
    let log_in = |status, notice| html(status, pages::log_in(&oauth.origin, notice));
    if &*head.method != "POST" {
        let Some(who) = who else { return log_in(200, "") };
        let query = Form::parse(&head.query).unwrap_or_default();
        return Visit::of(app, who).show(&query, "");
    }
    // The cookie goes to this site alone, the login form has none.
    let is_own_page =
        head.text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let form = form_of(head, body).filter(|_| is_own_page);
    let Some(form) = form else {
        let why = "The form could not be read, or came from another web site.";
        return html(400, page::error(&oauth.origin, why, "Open /account again."));
    };
    if let Some(password) = form.get("password") {
        let user = form.get("username").unwrap_or_default();
        return match oauth.log_in(user, password, oauth.is_known_browser(&cookies, now)) {
            Login::Right => {
                log::info!("account: login user={user:?} from={from}");
                to_account()
                    .header("Set-Cookie", oauth.open_account(user, now))
                    .header("Set-Cookie", oauth.browser_cookie(now))
            }
            Login::Wrong => {
                // As at the login: fail2ban reads it.
                log::warn!("login failed from={from} client=\"account page\"");
                log_in(403, pages::WRONG_PASSWORD)
            }
            Login::Busy => log_in(429, page::BUSY).header("Retry-After", "5"),
        };
    }
    let token = form.get("token").unwrap_or_default();
    match who.filter(|who| secret::equal(token, &who.form_token)) {
        Some(who) if form.get("do") == Some("logout") => {
            to_account().header("Set-Cookie", oauth.close_account(&who.user))
        }
        Some(who) => Visit::of(app, who).act(&form),
        None => log_in(403, "Please log in again. Nothing was done."),
    }
}

fn to_account() -> Response {
    Response::empty(303).header("Location", "/account")
}

impl<'a> Visit<'a> {
    fn of(app: &'a App, who: LoggedIn) -> Visit<'a> {
        let state = app.oauth.store.state();
        let own = state.grants.values().filter(|grant| grant.user == who.user);
        let own = (app.oauth.logins.users.len() > 1).then(|| own.map(Grant::short_id).collect());
        Visit { app, who, state, own }
    }

    /// Whether a change is of this person's logins, those that have ended too.
    fn is_own(&self, line: &Line) -> bool {
        let is_theirs = |own: &HashSet<String>| {
            line.user == self.who.user || line.user.is_empty() && own.contains(&line.by)
        };
        self.own.as_ref().is_none_or(is_theirs)
    }

    fn client_of(&self, grant: &Grant) -> String {
        self.state.clients.get(&grant.client).map(|client| client.name.clone()).unwrap_or_default()
    }

    /// What a login is called.
    fn name_of(&self, by: &str) -> String {
        let grant = self.state.grants.values().find(|grant| grant.short_id() == by);
        let client = grant.and_then(|grant| self.state.clients.get(&grant.client));
        let logins = &self.app.oauth.logins;
        match (client, by) {
            (Some(client), _) => format!("{} ({by})", client.name),
            (None, "local") => "a program on the server’s computer".into(),
            (None, "owner") => "you, taking back".into(),
            (None, by) if logins.tokens.contains_key(by) => format!("API token {by}"),
            (None, by) if logins.machines.contains_key(by) => format!("client {by}"),
            (None, by) => format!("login {by}"),
        }
    }

    /// A call in the address, or the overview.
    fn show(&self, query: &Form, notice: &str) -> Response {
        let Some(_turn) = self.app.account_turns.take("", WAIT) else {
            return self.failed(&Error::Overloaded);
        };
        let shown = match query.get("call") {
            Some(id) => self.call(id).and_then(|call| self.call_page(&call)),
            None => Ok(self.overview(query, notice)),
        };
        shown.unwrap_or_else(|error| self.failed(&error))
    }

    fn failed(&self, error: &Error) -> Response {
        html(400, page::error(&self.app.oauth.origin, &error.to_string(), "Open /account again."))
    }

    fn overview(&self, query: &Form, notice: &str) -> Response {
        let skip = query.get("from").and_then(|from| from.parse().ok()).unwrap_or(0);
        let changes = self.app.mcp.store().changes();
        let (calls, has_more, no_calls) =
            match changes.calls(&|line| self.is_own(line), skip, CALLS_SHOWN) {
                Ok((calls, has_more)) => (calls, has_more, String::new()),
                Err(error) => (Vec::new(), false, error.to_string()),
            };
        let mut grants: Vec<_> = self
            .state
            .grants
            .values()
            .filter(|grant| {
                grant.user == self.who.user && self.app.oauth.logins.has_same_password(grant)
            })
            .collect();
        grants.sort_unstable_by_key(|grant| (std::cmp::Reverse(grant.last_use()), &grant.id));
        let login = |grant: &&Grant| LoginRow {
            id: grant.id.clone(),
            name: self.client_of(grant),
            host: grant.sent_back_to(),
            allowed: pages::allowed(grant.access, grant.folders.as_deref()),
            since: Moment(grant.created),
            used: Moment(grant.last_use()),
        };
        let overview = Overview {
            user: &self.who.user,
            logins: grants.iter().take(LOGINS_SHOWN).map(login).collect(),
            more_logins: grants.len().saturating_sub(LOGINS_SHOWN),
            calls: calls.iter().map(|call| self.row(call)).collect(),
            no_calls,
            older: has_more.then_some(skip.saturating_add(CALLS_SHOWN)),
        };
        html(200, pages::overview(&self.app.oauth.origin, &overview, &self.who.form_token, notice))
    }

    fn row(&self, call: &Call) -> CallRow {
        let mut changes = call.changes();
        CallRow {
            id: call.id.clone(),
            first: changes.next().unwrap_or_default(),
            more: changes.count(),
            by: self.name_of(&call.by),
            tool: call.tool.clone(),
            at: call.at,
            is_undone: call.is_undone,
        }
    }

    fn call(&self, id: &str) -> Result<Call, Error> {
        let call = self.app.mcp.store().changes().call(&|line| self.is_own(line), id)?;
        call.ok_or_else(|| Error::Invalid("That change is not known any more.".into()))
    }

    fn call_page(&self, call: &Call) -> Result<Response, Error> {
        let files = self.app.mcp.store().changes().file_changes(call)?;
        let origin = &self.app.oauth.origin;
        Ok(html(200, pages::call(origin, &self.row(call), &files, &self.who.form_token)))
    }

    /// What a button does.
    fn act(&self, form: &Form) -> Response {
        let done = match (form.get("do"), form.get("grant"), form.get("call")) {
            (Some("revoke"), Some(id), _) => self.revoke(id),
            (Some("look"), _, Some(id)) => self.take_back(id, form, true),
            (Some("undo"), _, Some(id)) => self.take_back(id, form, false),
            _ => Err(Error::Invalid("The form is not one of this page.".into())),
        };
        done.unwrap_or_else(|error| self.failed(&error))
    }

    fn revoke(&self, id: &str) -> Result<Response, Error> {
        let own = self.state.grants.get(id).filter(|grant| grant.user == self.who.user);
        let grant = own.ok_or_else(|| Error::Invalid("That login has ended already.".into()))?;
        let notice = match self.app.oauth.store.end_grants(Some(id), Moment::read()) {
            Ok(_) => "The login has ended.",
            Err(_) => "The login has ended, but that cannot be stored: free space on the disk.",
        };
        log::info!("account: revoked login={:?} user={:?}", grant.short_id(), self.who.user);
        let visit = Visit::of(self.app, self.who.clone());
        Ok(visit.show(&Form::default(), notice))
    }

    /// Takes back a call, or all that its login has done since; or only says what that would do.
    fn take_back(&self, id: &str, form: &Form, dry_run: bool) -> Result<Response, Error> {
        let _turn = self.app.account_turns.take("", WAIT).ok_or(Error::Overloaded)?;
        let call = self.call(id)?;
        let is_all = form.get("all").is_some();
        // What was shown, and nothing that came after it.
        let until = if is_all { form.get("until") } else { Some(id) };
        let scope = Scope::From(id, until);
        let commits = self.app.mcp.systems.commits.as_deref();
        let changes = self.app.mcp.store().changes();
        let undone: Undone =
            changes.undo_for_owner(&self.who.user, &call.by, scope, dry_run, commits)?;
        if !dry_run {
            let (count, left) = (undone.done.len(), undone.left.len());
            log::info!("account: took back login={:?} {count} changes, {left} left", call.by);
        }
        let origin = &self.app.oauth.origin;
        let row = self.row(&call);
        let token = if dry_run { &self.who.form_token } else { "" };
        Ok(html(200, pages::taken_back(origin, &row, is_all, &undone, token)))
    }
}
