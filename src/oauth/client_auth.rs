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

/// An authenticated client.
#[derive(Debug)]
pub enum Authenticated<'a> {
    /// One that registered.
    Registered(Arc<Client>),
    /// One of `CLIENT_CREDENTIALS`, and what it may do.
    Machine(&'a str, Access),
}

impl Oauth {
    /// Finds the client that a request comes from, by the Authorization header and the form, and
    /// checks its secret. Both methods of sending a secret are accepted, whatever was registered,
    /// and the same `client_id` twice is fine: Python's SDK sends it in both.
    ///
    /// # Errors
    /// `invalid_request` when there is no `client_id`, or two that differ, or a malformed header;
    /// `invalid_client`.
    pub(super) fn authenticate_client<'a>(
        &'a self,
        state: &State,
        authorization: Option<&str>,
        form: &Form,
    ) -> Result<Authenticated<'a>, Error> {
        let (id, secrets) = credentials(authorization, form)?;
        let matches = |hash: &SecretHash| secrets.iter().any(|secret| hash.matches(secret));
        let refused = Error::INVALID_CLIENT;
        if let Some((id, secret)) = self.logins.machines.get_key_value(&id) {
            return if matches(&secret.hash) {
                Ok(Authenticated::Machine(id, secret.access))
            } else {
                Err(refused)
            };
        }
        let client = Oauth::client(state, &id).ok_or_else(|| refused.clone())?;
        if client.secret.as_ref().is_none_or(matches) {
            Ok(Authenticated::Registered(client))
        } else {
            Err(refused)
        }
    }
}

/// The client's id, and its secret in each form that may be meant; none if no secret was sent.
fn credentials(authorization: Option<&str>, form: &Form) -> Result<(String, Vec<String>), Error> {
    let in_body = form.get("client_id");
    // Claude Code revokes with its Bearer token when plain revocation failed; the client id is in
    // the body.
    let basic = authorization
        .and_then(|header| header.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let Some((_, value)) = basic else {
        let id = in_body.ok_or_else(|| Error::invalid_request("client_id is missing"))?;
        return Ok((id.into(), form.get("client_secret").map(str::to_owned).into_iter().collect()));
    };
    let unreadable = || Error::invalid_request("the Authorization header is not Basic");
    let pair = STANDARD
        .decode(value.trim())
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(unreadable)?;
    let (id, secret) = pair.split_once(':').ok_or_else(unreadable)?;
    // RFC 6749 section 2.3.1 wants both percent-encoded; the TypeScript SDK and curl do not. Ids
    // need no encoding; a secret that its owner chose may, so both forms are accepted.
    let id = percent::decode(id, true).unwrap_or_else(|| id.to_owned());
    if in_body.is_some_and(|body| body != id) {
        return Err(Error::invalid_request("two different client ids"));
    }
    Ok((id, percent::decode(secret, true).into_iter().chain([secret.to_owned()]).collect()))
}
