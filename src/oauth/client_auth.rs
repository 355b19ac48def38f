//! Client authentication at the token and revocation endpoints (RFC 6749 section 2.3).

use super::store::{Client, State};
use super::{Error, Oauth};
use crate::form::Form;
use crate::percent;
use crate::principal::Access;
use crate::secret::SecretHash;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// What a client presented: `client_id`, and a secret if it has one, in the header or the body.
#[derive(Debug)]
pub struct Credentials {
    /// The id.
    pub id: String,
    /// The secret, as sent and percent-decoded; empty if none was sent.
    secrets: Vec<String>,
}

/// An authenticated client.
#[derive(Debug)]
pub enum Authenticated<'a> {
    /// One that registered.
    Registered(Arc<Client>),
    /// One of `CLIENT_CREDENTIALS`, and what it may do.
    Machine(&'a str, Access),
}

impl Credentials {
    /// Reads them from the Authorization header and the form. Both methods of sending a secret are accepted, whatever was
    /// registered, and the same `client_id` twice is fine: Python's SDK sends it in both.
    ///
    /// # Errors
    /// `invalid_request` when there are none, two that differ, or a header that is not Basic.
    pub fn of(authorization: Option<&str>, form: &Form) -> Result<Credentials, Error> {
        let in_body = form.get("client_id");
        let header = authorization.filter(|value| !value.is_empty());
        let Some(header) = header else {
            let id = in_body.ok_or_else(|| Error::invalid_request("client_id is missing"))?;
            return Ok(Credentials { id: id.into(), secrets: in_form(form) });
        };
        let unreadable = || Error::invalid_request("the Authorization header is not Basic");
        let (scheme, value) = header.split_once(' ').ok_or_else(unreadable)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            // Claude Code revokes with its Bearer token when plain revocation failed; the client id is in the body.
            let id = in_body.filter(|_| scheme.eq_ignore_ascii_case("bearer")).ok_or_else(unreadable)?;
            return Ok(Credentials { id: id.into(), secrets: in_form(form) });
        }
        let pair = STANDARD.decode(value.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(unreadable)?;
        let (id, secret) = pair.split_once(':').ok_or_else(unreadable)?;
        // RFC 6749 section 2.3.1 wants both percent-encoded; the TypeScript SDK and curl do not. Ids need no
        // encoding; a secret that its owner chose may, so both forms are accepted.
        let id = percent::decode(id, true).unwrap_or_else(|| id.to_owned());
        let secrets = percent::decode(secret, true).into_iter().chain([secret.to_owned()]).collect();
        if in_body.is_some_and(|body| body != id) {
            return Err(Error::invalid_request("two different client ids"));
        }
        Ok(Credentials { id, secrets })
    }

    /// Finds the client and checks its secret.
    ///
    /// # Errors
    /// `invalid_client`.
    pub(super) fn authenticate<'a>(&self, state: &State, oauth: &'a Oauth) -> Result<Authenticated<'a>, Error> {
        let refused = Error::INVALID_CLIENT;
        if let Some((id, secret)) = oauth.logins.machines.get_key_value(&self.id) {
            return if self.fits(&secret.hash) { Ok(Authenticated::Machine(id, secret.access)) } else { Err(refused) };
        }
        let client = oauth.client(state, &self.id).ok_or_else(|| refused.clone())?;
        if client.secret.as_ref().is_none_or(|hash| self.fits(hash)) { Ok(Authenticated::Registered(client)) } else { Err(refused) }
    }

    fn fits(&self, hash: &SecretHash) -> bool {
        self.secrets.iter().any(|secret| hash.matches(secret))
    }
}

fn in_form(form: &Form) -> Vec<String> {
    form.get("client_secret").map(str::to_owned).into_iter().collect()
}
