//! The authorization server and the guard of the resource server (OAuth 2.1), in one process. Decisions take plain
//! values and the time, so every attack can be a test; HTTP is elsewhere.
//!
//! ```text
//!  client                                              this room
//!  POST /mcp without a token            ─────────────▶ bearer::authenticate   401 + where the metadata is
//!  GET  /.well-known/oauth-…            ─────────────▶ metadata
//!  POST /oauth/register                 ─────────────▶ register::register     client_id, durable before the answer
//!  GET  /oauth/authorize?…              ─────────────▶ authorize::check       the login page, or an error page
//!  POST the login form                  ─────────────▶ authorize::approve     303 back with code, state, iss
//!  POST /oauth/token code + verifier    ─────────────▶ token::exchange        access and refresh token
//!  POST /oauth/token refresh_token      ─────────────▶ token::exchange        successor tokens
//!  POST /oauth/token client_credentials ─────────────▶ token::exchange        access token
//!  POST /oauth/revoke                   ─────────────▶ revoke::revoke
//! ```
//!
//! | document | where it is obeyed |
//! |---|---|
//! | RFC 6749, OAuth 2.1 | [`authorize`], [`token`] |
//! | RFC 6750 | [`bearer`] |
//! | RFC 7009 | [`revoke`] |
//! | RFC 7591 | [`register`] |
//! | RFC 7636 (S256 only) | [`authorize`], [`token`] |
//! | RFC 8252 section 7.3, loopback ports | [`redirect`] |
//! | RFC 8414, RFC 9728 | [`metadata`] |
//! | RFC 8707, resource indicators | [`resource`] |
//! | RFC 9207, `iss` | [`authorize`] |
//!
//! What is kept, and in which form, is in [`store`].

pub mod authorize;
pub mod bearer;
pub mod client_auth;
pub mod error;
pub mod metadata;
pub mod page;
pub mod password;
pub mod redirect;
pub mod register;
pub mod resource;
pub mod revoke;
pub mod store;
pub mod throttle;
pub mod token;

pub use error::Error;

use crate::principal::Access;
use crate::secret::SecretHash;
use password::Passwords;
use std::collections::BTreeMap;
use store::Store;
use throttle::Throttle;

/// Who may log in, as configured.
#[derive(Debug, Clone, Default)]
pub struct Logins {
    /// User name to bcrypt hash.
    pub users: BTreeMap<String, String>,
    /// Machine clients for the `client_credentials` grant: client id to hash of the secret.
    pub machines: BTreeMap<String, SecretHash>,
    /// API tokens: name, hash, what they may do.
    pub tokens: Vec<(String, SecretHash, Access)>,
}

impl Logins {
    /// A mark that changes with a user's password; a grant that carries another one has ended.
    pub fn mark(&self, user: &str) -> Option<String> {
        self.users.get(user).map(|hash| mark_of(hash))
    }

    /// The same for a machine client and its secret.
    pub fn machine_mark(&self, client: &str) -> Option<String> {
        self.machines.get(client).map(|hash| mark_of(&hash.to_hex()))
    }
}

/// Short, so that it tells two configured hashes apart and says nothing about either.
fn mark_of(configured: &str) -> String {
    SecretHash::of(configured).to_hex().chars().take(16).collect()
}

/// The authorization server.
pub struct Oauth {
    /// The public origin: issuer, and the start of every URL. No trailing slash.
    pub origin: String,
    /// Who may log in.
    pub logins: Logins,
    /// Clients, grants, codes and tokens.
    pub store: Store,
    passwords: Passwords,
    throttle: Throttle,
    registrations: throttle::Registrations,
}

impl Oauth {
    /// An authorization server for a public origin.
    pub fn new(origin: String, logins: Logins, store: Store) -> Oauth {
        let passwords = Passwords::new(&logins.users);
        Oauth { origin, logins, store, passwords, throttle: Throttle::default(), registrations: throttle::Registrations::default() }
    }
}
