//! The token endpoint: codes and refresh tokens for access tokens.
//!
//! # Refresh tokens
//!
//! A refresh token is exchanged for its successor, and the successor is *computed* from it with a
//! key of the server ([`secret::keyed_hash`]). So a client that presents an old token within the
//! window of [`super::Policy`] gets the newest of its family: several processes of one client that
//! refresh at once, and one whose answer was lost, all end with the same working token, and no
//! token has to be kept in readable form. A token that is presented later than that has been
//! copied: its grant ends. Each refresh token names its grant, with a MAC ([`secret::in_family`]).
//! Access tokens are not touched by a refresh; other processes are using them.

use super::client_auth::Authenticated;
use super::store::{AccessToken, Client, Grant, State};
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
/// Exchanged refresh tokens remembered per grant.
const RETIRED_TOKENS: usize = 64;

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
                retired: Vec::new(),
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
            add_access(state, &access_token, Holder::Grant(&grant_id), &client.id, access, now);
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
            let Some(newest) =
                newest_of_family(&mut grant, &state.key, token, self.policy.refresh_window, now)
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
            add_access(state, &access_token, Holder::Grant(&grant.id), &client.id, access, now);
            state.grants.insert(grant.id.clone(), grant);
            Ok(Some((newest, access)))
        })?;
        let (refresh_token, access) = outcome.ok_or(BAD_REFRESH)?;
        Ok(issued(&access_token, Some(&refresh_token), access))
    }

    fn machine(&self, id: &str, may: Access, form: &Form, now: Moment) -> Result<Value, Error> {
        let access_token = secret::new_token();
        let access = form.get("scope").and_then(Access::of_scope).unwrap_or(may).min(may);
        let fingerprint = self.logins.secret_fingerprint(id);
        self.store.change(now, |state| {
            add_access(state, &access_token, Holder::Machine(fingerprint), id, access, now);
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

/// The refresh token that the holder of `token` continues with: its successor, made now if `token`
/// is the valid one, else the last in the chain of successors; `token` itself while no more can be
/// remembered. `None` when it was exchanged too long ago.
fn newest_of_family(
    grant: &mut Grant,
    key: &[u8; 32],
    token: &str,
    window: Duration,
    now: Moment,
) -> Option<String> {
    let hash = SecretHash::of(token);
    let grant_id = grant.id.clone();
    let successor =
        |token: &str| secret::in_family(key, &secret::keyed_hash(key, token), &grant_id);
    if grant.refresh == hash {
        let full = grant.retired.len() >= RETIRED_TOKENS;
        if full
            && grant
                .retired
                .first()
                .is_some_and(|(_, exchanged)| now.since(Moment(*exchanged)) < window)
        {
            // The list is full of tokens that are still within the window. Dropping one would end
            // an honest client's grant, so `token` is not exchanged this time, and stays the valid
            // one.
            return Some(token.to_owned());
        }
        let next = successor(token);
        grant.retired.push((hash, now.0));
        if full {
            grant.retired.remove(0);
        }
        grant.refresh = SecretHash::of(&next);
        return Some(next);
    }
    let (_, exchanged) = *grant.retired.iter().find(|(old, _)| *old == hash)?;
    if now.since(Moment(exchanged)) >= window {
        return None;
    }
    let mut newest = successor(token);
    for _ in 0..RETIRED_TOKENS {
        if SecretHash::of(&newest) == grant.refresh {
            return Some(newest);
        }
        newest = successor(&newest);
    }
    None
}

/// Whose an access token is.
enum Holder<'a> {
    Grant(&'a str),
    /// With the fingerprint of its secret.
    Machine(Option<String>),
}

fn add_access(
    state: &mut State,
    token: &str,
    holder: Holder<'_>,
    client: &str,
    access: Access,
    now: Moment,
) {
    let (grant, fingerprint) = match holder {
        Holder::Grant(id) => (Some(id), None),
        Holder::Machine(fingerprint) => (None, fingerprint),
    };
    let token = AccessToken {
        hash: SecretHash::of(token),
        grant: grant.map(str::to_owned),
        client: client.into(),
        fingerprint,
        access,
        expires: now.after(ACCESS_TOKEN_LIFE).0,
        used: Arc::default(),
    };
    token.note_use();
    state.add_access_token(token);
}

impl Logins {
    /// Whether the user of a grant exists and still has the same password.
    pub(super) fn has_same_password(&self, grant: &Grant) -> bool {
        self.password_fingerprint(&grant.user).as_ref() == Some(&grant.fingerprint)
    }
}
