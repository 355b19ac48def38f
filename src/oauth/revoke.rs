//! Revocation (RFC 7009).

use super::client_auth::Authenticated;
use super::{Error, Oauth, store};
use crate::clock::Moment;
use crate::form::Form;
use crate::secret::SecretHash;

impl Oauth {
    /// Ends a token of the calling client: a refresh token with its whole grant, an access token
    /// alone. A token that is unknown, or another client's, changes nothing and is no error (RFC
    /// 7009 section 2.2).
    ///
    /// # Errors
    /// `invalid_request`, `invalid_client`, or that it cannot be stored.
    pub fn revoke(
        &self,
        authorization: Option<&str>,
        form: &Form,
        now: Moment,
    ) -> Result<(), Error> {
        let given = form.get("token").ok_or_else(|| Error::invalid_request("token is missing"))?;
        let token = SecretHash::of(given);
        let state = self.store.state();
        let client = match self.authenticate_client(&state, authorization, form)? {
            Authenticated::Registered(client) => client.id.clone(),
            Authenticated::Machine(id, _) => id.to_owned(),
        };
        let grant = state
            .grant_of_refresh(given)
            .filter(|grant| grant.client == client)
            .map(|grant| grant.id.clone());
        let access = state.access_tokens.get(&token).is_some_and(|known| known.client == client);
        if grant.is_none() && !access {
            return Ok(());
        }
        self.store.change(now, |state| {
            state.access_tokens.remove(&token);
            grant.iter().for_each(|grant| state.end_grant(grant));
            Ok::<(), Error>(())
        })?;
        log::info!(
            "revoked client={:?} grant={:?}",
            store::short_id(&client),
            grant.unwrap_or_default()
        );
        Ok(())
    }
}
