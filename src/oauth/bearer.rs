//! The guard of the MCP endpoint: from an Authorization header to a [`Principal`], or the challenge to send.

use super::Oauth;
use super::store::{Grant, State};
use crate::clock::Now;
use crate::principal::{Access, Principal};
use crate::secret::SecretHash;

/// Why a request is not let in (RFC 6750 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Challenge {
    /// No token was sent; then no error is named.
    NoToken,
    /// The token is unknown, expired or revoked.
    InvalidToken,
    /// The token does not allow what was tried; what would.
    InsufficientScope(Access),
}

impl Oauth {
    /// Who is calling, and with which token. Tokens are taken from the header only, never from the URL.
    ///
    /// # Errors
    /// [`Challenge::NoToken`], [`Challenge::InvalidToken`].
    pub fn authenticate(&self, authorization: Option<&str>, now: Now) -> Result<(Principal, SecretHash), Challenge> {
        let header = authorization.unwrap_or_default();
        let (scheme, token) = header.split_once(' ').ok_or(Challenge::NoToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Challenge::NoToken);
        }
        let hash = SecretHash::of(token.trim());
        let state = self.store.look();
        let (principal, grant) = self.found(&state, hash, now).ok_or(Challenge::InvalidToken)?;
        if let Some(grant) = grant {
            self.note_use(grant, now);
        }
        Ok((principal, hash))
    }

    /// Whose token this is, if it is valid at this moment.
    pub fn holder(&self, token: SecretHash, now: Now) -> Option<Principal> {
        self.found(&self.store.look(), token, now).map(|(principal, _)| principal)
    }

    /// The same, with the grant that it belongs to, where there is one.
    fn found<'a>(&self, state: &'a State, token: SecretHash, now: Now) -> Option<(Principal, Option<&'a Grant>)> {
        if let Some((name, secret)) = self.logins.tokens.iter().find(|(_, secret)| secret.hash == token) {
            let (subject, login) = (format!("token:{name}"), name.clone());
            return Some((
                Principal { subject, client: String::new(), login, access: secret.access, folders: secret.folders.clone() },
                None,
            ));
        }
        let known = state.access_tokens.get(&token).filter(|known| known.expires > now.0)?;
        known.note_use();
        let grant = known.grant.as_ref().and_then(|grant| state.grants.get(grant));
        let subject = match &known.grant {
            None => {
                let mark = self.logins.machine_mark(&known.client).filter(|mark| known.mark.as_ref() == Some(mark));
                mark.map(|_| format!("client:{}", known.client))?
            }
            Some(_) => grant.filter(|grant| self.logins.stands(grant))?.user.clone(),
        };
        let login = grant.map_or_else(|| known.client.clone(), Grant::short_id);
        let machine = self.logins.machines.get(&known.client).and_then(|machine| machine.folders.clone());
        let folders = grant.map_or(machine, |grant| grant.folders.clone());
        Some((Principal { subject, client: known.client.clone(), login, access: known.access, folders }, grant))
    }

    /// The `WWW-Authenticate` header: one line, one scheme, the absolute URL of the metadata that fits `/mcp`.
    pub fn challenge(&self, challenge: Challenge) -> String {
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let all = Access::Write.scope();
        match challenge {
            Challenge::NoToken => format!(r#"Bearer resource_metadata="{metadata}", scope="{all}""#),
            Challenge::InvalidToken => format!(
                r#"Bearer error="invalid_token", error_description="The access token is unknown, expired or revoked", resource_metadata="{metadata}", scope="{all}""#
            ),
            Challenge::InsufficientScope(needs) => format!(
                r#"Bearer error="insufficient_scope", scope="{}", resource_metadata="{metadata}", error_description="This login may only read""#,
                needs.scope()
            ),
        }
    }
}
