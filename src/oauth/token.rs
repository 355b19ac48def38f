//! The token endpoint: codes and refresh tokens for access tokens.
//!
//! # Refresh tokens
//!
//! A refresh token is exchanged for its successor, and the successor is *computed* from it with a
//! key of the server ([`secret::keyed_hash`]), at most once within the window of [`super::Policy`].
//! So several processes of one client that refresh at once, and one whose answer was lost, all end
//! with the same working token, and no token has to be kept in readable form. Any other token of
//! the grant has been copied: the grant ends. Each names its grant, with a MAC
//! ([`secret::in_family`]), so that also a thief who has refreshed often is noticed when the client
//! comes back. Access tokens are not touched by a refresh; other processes are using them.

use super::client_auth::Authenticated;
use super::store::{AccessToken, Client, Exchanged, Grant};
use super::{Error, Logins, Oauth, resource};
use crate::clock::Moment;
use crate::form::Form;
use crate::limits;
use crate::object::without_nulls;
use crate::principal::Access;
use crate::secret::{self, SecretHash};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Lifetime of access tokens: opaque, looked up at each use, so revocation is immediate.
const ACCESS_TOKEN_LIFE: Duration = Duration::from_secs(24 * 3600);

const BAD_CODE: Error = Error::of(
    400,
    "invalid_grant",
    "the code is unknown, expired, used, meant for another client, or code_verifier does not fit",
);
const BAD_REFRESH: Error = Error::of(
    400,
    "invalid_grant",
    "the refresh token is unknown, expired or revoked; log in again",
);

/// RFC 6749 section 5.1.
fn issued(access_token: &str, refresh_token: Option<&str>, access: Access) -> Value {
    Value::Object(without_nulls(json!({
        "access_token": access_token,
        "token_type": "Bearer",
        "expires_in": ACCESS_TOKEN_LIFE.as_secs(),
        "scope": access.scope(),
        "refresh_token": refresh_token,
    })))
}

impl Oauth {
    /// Answers a token request (RFC 6749 sections 4.1.3, 4.4.2 and 6).
    ///
    /// # Errors
    /// As RFC 6749 section 5.2. What is refused changes nothing, except that a code or refresh
    /// token used by its own client when it must not be any more ends the grant.
    pub fn exchange(
        &self,
        authorization: Option<&str>,
        form: &Form,
        now: Moment,
    ) -> Result<Value, Error> {
        let kind = form
            .get("grant_type")
            .ok_or_else(|| Error::invalid_request("grant_type is missing"))?;
        if form.get("resource").is_some_and(|wanted| !resource::is_ours(&self.origin, wanted)) {
            return Err(Error::INVALID_TARGET);
        }
        let state = self.store.state();
        match (kind, self.authenticate_client(&state, authorization, form)?) {
            ("authorization_code", Authenticated::Registered(client)) => {
                self.exchange_code(&client, form, now)
            }
            ("refresh_token", Authenticated::Registered(client)) => {
                self.refresh(&client, form, now)
            }
            ("client_credentials", Authenticated::Machine(id, may)) => {
                self.machine(id, may, form, now)
            }
            ("authorization_code" | "refresh_token" | "client_credentials", _) => {
                Err(Error::UNAUTHORIZED_CLIENT)
            }
            _ => Err(Error::UNSUPPORTED_GRANT_TYPE),
        }
    }

    fn exchange_code(&self, client: &Client, form: &Form, now: Moment) -> Result<Value, Error> {
        let missing = |name: &str| Error::invalid_request(format!("{name} is missing"));
        let code = SecretHash::of(form.get("code").ok_or_else(|| missing("code"))?);
        let verifier = form.get("code_verifier").ok_or_else(|| missing("code_verifier"))?;
        let redirect_uri = form.get("redirect_uri");
        let (access_token, value, grant_id) =
            (secret::new_token(), secret::new_token(), secret::new_id());
        let state = self.store.state();
        let refresh_token = secret::in_family(&state.key, &value, &grant_id);
        // Looked up before the change, because a change copies the whole state under the writers'
        // lock: no anonymous request costs that.
        if !state.codes.contains_key(&code) {
            return Err(BAD_CODE);
        }
        let outcome = self.store.change(now, |state| {
            let known = state.codes.get(&code).ok_or(BAD_CODE)?;
            // Client, address and verifier before anything else: someone who has only seen the code
            // cannot use it up.
            let is_theirs = known.client == client.id
                && redirect_uri.is_none_or(|uri| uri == known.redirect_uri)
                && verifier_matches(verifier, &known.challenge);
            if !is_theirs {
                return Err(BAD_CODE);
            }
            if let Some(grant) = known.spent.clone() {
                // RFC 6749 section 4.1.2: used twice, it has leaked.
                state.end_grant(&grant);
                log::warn!(
                    "code used twice: grant={grant:?} of client={:?} ended",
                    client.short_id()
                );
                return Ok(None);
            }
            // The password was changed between the login and now.
            let fingerprint = self
                .logins
                .password_fingerprint(&known.user)
                .filter(|fingerprint| *fingerprint == known.fingerprint)
                .ok_or(BAD_CODE)?;
            let grant = Grant {
                id: grant_id.clone(),
                user: known.user.clone(),
                fingerprint,
                client: client.id.clone(),
                redirect_uri: known.redirect_uri.clone(),
                access: known.access,
                folders: known.folders.clone(),
                created: now.0,
                used: Arc::new(now.0.into()),
                refresh: SecretHash::of(&refresh_token),
                previous: None,
            };
            let access = grant.access;
            if let Some(known) = state.codes.get_mut(&code) {
                known.spent = Some(grant_id.clone());
            }
            state.add_client(client);
            if state.grants.len() >= limits::GRANTS {
                let oldest = state
                    .grants
                    .values()
                    .min_by_key(|grant| grant.last_use())
                    .map(|grant| grant.id.clone());
                oldest.inspect(|oldest| state.end_grant(oldest));
            }
            state.grants.insert(grant_id.clone(), grant);
            state.add_access_token(AccessToken {
                grant: Some(grant_id.clone()),
                ..access_token_of(&client.id, &access_token, access, now)
            });
            Ok(Some(access))
        })?;
        let access = outcome.ok_or(BAD_CODE)?;
        Ok(issued(&access_token, Some(&refresh_token), access))
    }

    fn refresh(&self, client: &Client, form: &Form, now: Moment) -> Result<Value, Error> {
        let token = form
            .get("refresh_token")
            .ok_or_else(|| Error::invalid_request("refresh_token is missing"))?;
        let access_token = secret::new_token();
        // As in `exchange_code`, an unknown token costs no write.
        if self.store.state().grant_of_refresh(token).is_none() {
            return Err(BAD_REFRESH);
        }
        let outcome = self.store.change(now, |state| {
            let known = state.grant_of_refresh(token).ok_or(BAD_REFRESH)?;
            if known.client != client.id {
                return Err(BAD_REFRESH);
            }
            let mut grant = known.clone();
            if !self.logins.has_same_password(&grant) {
                log::warn!(
                    "grant={:?} ended: its user was removed or has another password",
                    grant.id
                );
                state.end_grant(&grant.id);
                return Ok(None);
            }
            let Some(continued) =
                continuation(&mut grant, &state.key, token, self.policy.refresh_window, now)
            else {
                log::warn!(
                    "refresh token used long after its exchange: grant={:?} user={:?} client={:?} \
                     ended",
                    grant.id,
                    grant.user,
                    client.short_id()
                );
                state.end_grant(&grant.id);
                return Ok(None);
            };
            grant.used.store(now.0, Ordering::Relaxed);
            // RFC 6749 section 6: a narrower scope may be asked for; it narrows this access token
            // only.
            let asked = form.get("scope").and_then(Access::of_scope).unwrap_or(grant.access);
            let access = asked.min(grant.access);
            state.add_access_token(AccessToken {
                grant: Some(grant.id.clone()),
                ..access_token_of(&client.id, &access_token, access, now)
            });
            state.grants.insert(grant.id.clone(), grant);
            Ok(Some((continued, access)))
        })?;
        let (refresh_token, access) = outcome.ok_or(BAD_REFRESH)?;
        Ok(issued(&access_token, Some(&refresh_token), access))
    }

    fn machine(&self, id: &str, may: Access, form: &Form, now: Moment) -> Result<Value, Error> {
        let access_token = secret::new_token();
        let access = form.get("scope").and_then(Access::of_scope).unwrap_or(may).min(may);
        let fingerprint = self.logins.secret_fingerprint(id);
        self.store.change(now, |state| {
            state.add_access_token(AccessToken {
                fingerprint,
                ..access_token_of(id, &access_token, access, now)
            });
            Ok::<(), Error>(())
        })?;
        log::info!("machine login client={id:?} scope={:?}", access.scope());
        Ok(issued(&access_token, None, access))
    }
}

/// RFC 7636 section 4.1 and 4.6.
fn verifier_matches(verifier: &str, challenge: &str) -> bool {
    let is_verifier = (43..=128).contains(&verifier.len())
        && verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    is_verifier && secret::equal(&secret::s256(verifier), challenge)
}

/// The refresh token that the holder of `token` continues with: its successor, or `token` itself if
/// it is the valid one and was made within the window. `None` if it was exchanged before that.
fn continuation(
    grant: &mut Grant,
    key: &[u8; 32],
    token: &str,
    window: Duration,
    now: Moment,
) -> Option<String> {
    let hash = SecretHash::of(token);
    let successor = secret::in_family(key, &secret::keyed_hash(key, token), &grant.id);
    let within_window = grant.previous.filter(|previous| now.since(Moment(previous.at)) < window);
    if hash != grant.refresh {
        return within_window.filter(|previous| previous.hash == hash).map(|_| successor);
    }
    if within_window.is_some() {
        return Some(token.to_owned());
    }
    grant.previous = Some(Exchanged { hash, at: now.0 });
    grant.refresh = SecretHash::of(&successor);
    Some(successor)
}

/// An access token that belongs to nobody yet: to a grant, or to a machine client by the
/// fingerprint of its secret.
fn access_token_of(client: &str, token: &str, access: Access, now: Moment) -> AccessToken {
    AccessToken {
        hash: SecretHash::of(token),
        grant: None,
        client: client.to_owned(),
        fingerprint: None,
        access,
        expires: now.after(ACCESS_TOKEN_LIFE).0,
    }
}

impl Logins {
    /// Whether the user of a grant exists and still has the same password.
    pub fn has_same_password(&self, grant: &Grant) -> bool {
        self.password_fingerprint(&grant.user).as_ref() == Some(&grant.fingerprint)
    }
}
