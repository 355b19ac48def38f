//! The guard of the MCP endpoint: from an Authorization header to a [`Principal`], or the challenge
//! to send.

use super::Oauth;
use crate::clock::Moment;
use crate::principal::{Access, Principal};
use crate::secret::SecretHash;

/// Why a request is refused (RFC 6750 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Challenge {
    /// No token was sent; then no error is named.
    NoToken,
    /// The token is unknown, expired or revoked.
    InvalidToken,
    /// The token does not allow what was tried; this access would.
    InsufficientScope(Access),
}

impl Oauth {
    /// Who is calling, and with which token. Tokens are taken from the header only, never from the
    /// URL.
    ///
    /// # Errors
    /// [`Challenge::NoToken`], [`Challenge::InvalidToken`].
    pub fn authenticate(
        &self,
        authorization: Option<&str>,
        now: Moment,
    ) -> Result<(Principal, SecretHash), Challenge> {
        let header = authorization.unwrap_or_default();
        let (scheme, token) = header.split_once(' ').ok_or(Challenge::NoToken)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Challenge::NoToken);
        }
        let hash = SecretHash::of(token.trim());
        self.holder(hash, now).map(|principal| (principal, hash)).ok_or(Challenge::InvalidToken)
    }

    /// The holder of a token that is valid now; records the use of the token.
    pub fn holder(&self, token: SecretHash, now: Moment) -> Option<Principal> {
        if let Some((name, secret)) =
            self.logins.tokens.iter().find(|(_, secret)| secret.hash == token)
        {
            let (subject, login) = (format!("token:{name}"), name.clone());
            return Some(Principal {
                subject,
                client: String::new(),
                login,
                access: secret.access,
                folders: secret.folders.clone(),
            });
        }
        let state = self.store.state();
        let known = state.access_tokens.get(&token).filter(|known| known.expires > now.0)?;
        let client = known.client.clone();
        let (subject, login, folders) = match &known.grant {
            None => {
                self.logins
                    .secret_fingerprint(&client)
                    .filter(|fingerprint| known.fingerprint.as_ref() == Some(fingerprint))?;
                let folders =
                    self.logins.machines.get(&client).and_then(|machine| machine.folders.clone());
                (format!("client:{client}"), client.clone(), folders)
            }
            Some(grant) => {
                let grant =
                    state.grants.get(grant).filter(|grant| self.logins.has_same_password(grant))?;
                self.note_use(grant, now);
                (grant.user.clone(), grant.short_id(), grant.folders.clone())
            }
        };
        Some(Principal { subject, client, login, access: known.access, folders })
    }

    /// The `WWW-Authenticate` header: one line, one scheme, the absolute URL of the metadata for
    /// `/mcp`.
    pub fn challenge(&self, challenge: Challenge) -> String {
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let all = Access::Write.scope();
        match challenge {
            Challenge::NoToken => {
                format!(r#"Bearer resource_metadata="{metadata}", scope="{all}""#)
            }
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
