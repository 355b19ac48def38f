//! The authorization endpoint: from a client's request to a code, once a person has logged in.
//!
//! There is no browser session: every approval takes the password, so a forged request (CSRF) finds
//! no session to use.

use super::error::AuthorizeError;
use super::redirect::{Redirect, RedirectTarget};
use super::store::{self, Client, Code};
use super::{Oauth, resource};
use crate::clock::Moment;
use crate::form::Form;
use crate::limits;
use crate::principal::Access;
use crate::secret::{self, SecretHash};
use crate::vault::GrantedFolders;
use std::net::IpAddr;
use std::sync::Arc;

/// A request that may be shown to a person.
#[derive(Debug)]
pub struct AuthorizeRequest {
    /// The client.
    pub client: Arc<Client>,
    /// The proven redirect.
    pub redirect: Redirect,
    /// What the client asks for; everything if it asks for nothing we know.
    pub access: Access,
    /// Whether the browser may be sent to the redirect before anybody has logged in: to an address
    /// that the owner knows. Anyone may register any URI of an application's scheme and, where
    /// `REDIRECT_HOSTS` is `*`, of any site; no person has agreed to be sent there yet (RFC 9700
    /// section 4.11.2).
    pub may_send_back: bool,
    challenge: String,
}

impl Oauth {
    /// Checks the parameters of a request. They are checked again when the form is sent, so nothing
    /// is stored in between.
    ///
    /// # Errors
    /// [`AuthorizeError::Show`] until client and redirect URI are proven,
    /// [`AuthorizeError::SendBack`] after.
    pub fn check_authorization_request(
        &self,
        query: &Form,
    ) -> Result<AuthorizeRequest, AuthorizeError> {
        const UNKNOWN: AuthorizeError = AuthorizeError::Show {
            why: "This application is not registered here (or no longer).",
            advice: "Remove the connector or server in the application and add it again: it then \
                     registers anew.",
        };
        const NO_REDIRECT: AuthorizeError = AuthorizeError::Show {
            why: "The application asked to be sent to an address that it has not registered, or \
                  that is not allowed.",
            advice: "If you did not start this yourself, close the page. Otherwise remove the \
                     connector and add it again.",
        };
        const UNREAD: AuthorizeError = AuthorizeError::Show {
            why: "The application identifies itself by a document on another web site, which this \
                  server does not fetch.",
            advice: "Let the application register itself here instead; with Claude, choose to \
                     register automatically.",
        };
        const NOT_OFFERED: AuthorizeError = AuthorizeError::Show {
            why: "The application asked for a kind of login that is not offered here.",
            advice: "It has to use response_type=code, a code_challenge with S256, and this \
                     server as resource. Otherwise close the page.",
        };
        const NOT_ALLOWED: AuthorizeError = AuthorizeError::Show {
            why: "The application wants you to be sent back to a web site or application that \
                  this server does not know.",
            advice: "If you trust it, the owner of the server can add its host, or the scheme of \
                     its address (warp:), to REDIRECT_HOSTS. Otherwise close the page.",
        };
        let state = self.store.state();
        let id = query.get("client_id").unwrap_or_default();
        // A client id metadata document (MCP, "Authorization") is named by its URL.
        let unknown = if id.starts_with("https://") { UNREAD } else { UNKNOWN };
        let client = Oauth::client(&state, id).ok_or(unknown)?;
        let requested = match (query.get("redirect_uri"), client.redirect_uris.as_slice()) {
            (Some(uri), _) => uri,
            // RFC 6749 section 3.1.2.3: it may be left out when exactly one is registered.
            (None, [only]) => only,
            (None, _) => return Err(NO_REDIRECT),
        };
        let redirect = Redirect::proven(&client.redirect_uris, requested, query.get("state"))
            .ok_or(NO_REDIRECT)?;
        if !self.policy.allows(redirect.target()) {
            return Err(NOT_ALLOWED);
        }
        let is_listed = match redirect.target() {
            RedirectTarget::Web(host) => self.policy.is_listed_host(host),
            RedirectTarget::Loopback(_) => true,
            RedirectTarget::Application(_) => false,
        };
        let may_send_back = state.clients.contains_key(&client.id) || is_listed;
        let back = |code, description| {
            Err(if may_send_back {
                AuthorizeError::SendBack { redirect: redirect.clone(), code, description }
            } else {
                NOT_OFFERED
            })
        };
        if query.get("state").is_some_and(|state| state.len() > limits::URI_BYTES) {
            return back("invalid_request", "state is too long");
        }
        if query.get("response_type") != Some("code") {
            return back("unsupported_response_type", "response_type must be code");
        }
        // RFC 7636 section 4.3: a missing method means plain, which is not offered.
        if query.get("code_challenge_method") != Some("S256") {
            return back("invalid_request", "code_challenge_method must be S256");
        }
        // BASE64URL of a SHA-256 has 43 characters.
        let is_digest = |text: &&str| {
            text.len() == 43
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let Some(challenge) = query.get("code_challenge").filter(is_digest) else {
            return back("invalid_request", "code_challenge must be a base64url SHA-256");
        };
        if query.get("resource").is_some_and(|wanted| !resource::is_ours(&self.origin, wanted)) {
            return back("invalid_target", "the resource is not this server");
        }
        let access = query.get("scope").and_then(Access::of_scope).unwrap_or(Access::Write);
        Ok(AuthorizeRequest {
            client,
            challenge: challenge.into(),
            access,
            may_send_back,
            redirect,
        })
    }

    /// Sends an error back to the client.
    pub fn send_back(&self, redirect: &Redirect, code: &str, description: &str) -> String {
        redirect.location(&[("error", code), ("error_description", description)], &self.origin)
    }

    /// A proof that a user has logged in for this request: `EXPIRES.MAC.USER`. It is invalid for
    /// any other request, after a change of the password, and after a restart: its key is in memory
    /// alone, so that nothing that is stored can make one.
    pub fn proof_of_login(
        &self,
        request: &AuthorizeRequest,
        user: &str,
        expires: Moment,
    ) -> String {
        let fingerprint = self.logins.password_fingerprint(user).unwrap_or_default();
        let authenticated = serde_json::json!([
            "login",
            user,
            fingerprint,
            request.client.id,
            request.redirect.uri(),
            request.challenge,
            request.access.scope(),
            expires.0
        ]);
        format!(
            "{}.{}.{user}",
            expires.0,
            secret::keyed_hash(&self.proof_key, &authenticated.to_string())
        )
    }

    /// The user that a proof of a login names; `None` when it is not, or no longer, valid for this
    /// request.
    pub fn logged_in<'a>(
        &self,
        request: &AuthorizeRequest,
        proof: &'a str,
        now: Moment,
    ) -> Option<&'a str> {
        let mut parts = proof.splitn(3, '.');
        let expires = Moment(parts.next()?.parse().ok()?);
        let user = parts.nth(1)?;
        self.logins.password_fingerprint(user)?;
        (expires.0 > now.0 && secret::equal(proof, &self.proof_of_login(request, user, expires)))
            .then_some(user)
    }

    /// Grants what a logged-in person allows, in the whole vault or in folders; gives the URL that
    /// takes the code to the client.
    ///
    /// # Errors
    /// [`AuthorizeError::Unavailable`] when the code cannot be stored.
    pub fn issue_code(
        &self,
        request: &AuthorizeRequest,
        user: &str,
        access: Access,
        folders: Option<Arc<GrantedFolders>>,
        from: IpAddr,
        now: Moment,
    ) -> Result<String, AuthorizeError> {
        let client = &request.client;
        let access = access.min(request.access);
        let code = secret::new_token();
        let in_folders = folders
            .as_ref()
            .map(|folders| format!(" folders={:?}", folders.to_string()))
            .unwrap_or_default();
        let record = Code {
            hash: SecretHash::of(&code),
            client: client.id.clone(),
            redirect_uri: request.redirect.uri().into(),
            challenge: request.challenge.clone(),
            user: user.into(),
            fingerprint: self.logins.password_fingerprint(user).unwrap_or_default(),
            access,
            folders,
            expires: now.after(limits::CODE_LIFE).0,
            spent: None,
        };
        let stored = self.store.change(now, |state| {
            state.add_code(record);
            Ok::<(), store::NotStored>(())
        });
        stored.map_err(|_| AuthorizeError::Unavailable)?;
        log::info!(
            "login ok user={user:?} client={:?} name={:?} scope={:?}{in_folders} redirect={:?} \
             from={}",
            client.short_id(),
            client.name,
            access.scope(),
            request.redirect.uri(),
            from
        );
        Ok(request.redirect.location(&[("code", &code)], &self.origin))
    }
}
