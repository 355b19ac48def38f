//! The authorization server and the guard of the resource server (OAuth 2.1), in one process.
//! Decisions take plain values and the time, so every attack can be a test; HTTP is elsewhere.
//!
//! ```text
//!  client                                           this module
//!  POST /mcp without a token            ─────────────▶ bearer::authenticate   401 + where the metadata is
//!  GET  /.well-known/oauth-…            ─────────────▶ metadata
//!  POST /oauth/register                 ─────────────▶ register::register     client_id, which carries what was registered
//!  GET  /oauth/authorize?…              ─────────────▶ authorize::check_authorization_request: the login page, or an error page
//!  POST the login form                  ─────────────▶ password::log_in, authorize::issue_code: 303 back with code, state, iss
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

pub mod account;
pub mod authorize;
pub mod bearer;
pub mod client_auth;
pub mod client_id;
pub mod error;
pub mod metadata;
pub mod page;
pub mod password;
pub mod redirect;
pub mod register;
pub mod resource;
pub mod revoke;
pub mod store;
pub mod token;

pub use error::Error;

use crate::clock::Moment;
use crate::limits;
use crate::principal::Access;
use crate::secret::{self, SecretHash};
use crate::vault::GrantedFolders;
use account::AccountSessions;
use password::Passwords;
use redirect::RedirectTarget;
use register::LoggedRegistrations;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::{Client, State, Store};

/// How often the last use of a grant is saved.
const USE_NOTED_EVERY: Duration = Duration::from_secs(3600);

/// Who may log in, as configured.
#[derive(Debug, Clone, Default)]
pub struct Logins {
    /// User name to bcrypt hash.
    pub users: BTreeMap<String, String>,
    /// Machine clients for the `client_credentials` grant, by client id.
    pub machines: BTreeMap<String, Secret>,
    /// API tokens, by name.
    pub tokens: BTreeMap<String, Secret>,
}

/// A configured secret, and what its holder may do.
#[derive(Debug, Clone)]
pub struct Secret {
    pub hash: SecretHash,
    pub access: Access,
    /// In which folders; `None` for the whole vault.
    pub folders: Option<Arc<GrantedFolders>>,
}

impl Logins {
    /// A fingerprint that changes with a user's password; a grant that carries another fingerprint
    /// has ended.
    pub fn password_fingerprint(&self, user: &str) -> Option<String> {
        self.users.get(user).map(|hash| fingerprint_of(hash))
    }

    /// The same for a machine client and its secret.
    pub fn secret_fingerprint(&self, client: &str) -> Option<String> {
        self.machines.get(client).map(|secret| fingerprint_of(&secret.hash.to_hex()))
    }
}

/// 64 bits of a SHA-256: enough to tell two configured hashes apart, too few to reveal either.
fn fingerprint_of(configured: &str) -> String {
    SecretHash::of(configured).to_hex().chars().take(16).collect()
}

/// How strict the authorization server is.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How long an exchanged refresh token still yields its successor, instead of ending the
    /// login.
    pub refresh_window: Duration,
    /// Web sites and, with a colon, schemes of applications, besides the well-known ones, to which
    /// people may be sent back; `*` for all sites.
    pub redirect_hosts: Vec<String>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { refresh_window: limits::REFRESH_WINDOW, redirect_hosts: Vec::new() }
    }
}

impl Policy {
    /// Whether people may be sent back there.
    pub fn allows(&self, target: &RedirectTarget) -> bool {
        match target {
            RedirectTarget::Web(host) => {
                self.is_listed_host(host) || self.redirect_hosts.iter().any(|known| known == "*")
            }
            RedirectTarget::Loopback(_) => true,
            RedirectTarget::Application(scheme) => {
                let is_named = |named: &String| named.strip_suffix(':') == Some(scheme);
                redirect::is_known_scheme(scheme) || self.redirect_hosts.iter().any(is_named)
            }
        }
    }

    /// Whether a web site is well known, or named in the configuration.
    fn is_listed_host(&self, host: &str) -> bool {
        redirect::is_known_host(host) || self.redirect_hosts.iter().any(|known| known == host)
    }
}

/// The authorization server.
pub struct Oauth {
    /// The public origin: issuer, and the start of every URL. No trailing slash.
    pub origin: String,
    /// Who may log in.
    pub logins: Logins,
    /// How strict it is.
    pub policy: Policy,
    /// Clients, grants, codes and tokens.
    pub store: Store,
    passwords: Passwords,
    registrations_logged: LoggedRegistrations,
    account_sessions: AccountSessions,
    /// What proofs of a login are made with ([`Oauth::proof_of_login`]); another one after each
    /// start.
    proof_key: [u8; 32],
}

impl Oauth {
    /// An authorization server for a public origin.
    pub fn new(origin: String, logins: Logins, policy: Policy, store: Store) -> Oauth {
        let passwords = Passwords::new(&logins.users);
        let (registrations_logged, proof_key) = (LoggedRegistrations::default(), secret::random());
        let account_sessions = AccountSessions::default();
        Oauth {
            origin,
            logins,
            policy,
            store,
            passwords,
            registrations_logged,
            account_sessions,
            proof_key,
        }
    }

    /// Refuses all logins from now on, because the server stops; what is stored stays valid.
    pub fn stop(&self) {
        self.passwords.stop();
    }

    /// A client by its id.
    fn client(state: &State, id: &str) -> Option<Arc<Client>> {
        let stored = state.clients.get(id).cloned();
        stored.or_else(|| client_id::read(&state.key, id).map(Arc::new))
    }

    /// Records that a grant is used, to the hour: a list of grants should show which are no longer
    /// used.
    fn note_use(&self, grant: &store::Grant, now: Moment) {
        if now.since(Moment(grant.last_use())) >= USE_NOTED_EVERY {
            grant.used.store(now.0, Ordering::Relaxed);
            // `used` is shared by all copies of the state, so it has its value already; this only
            // writes it. If that fails, it is not retried with each request.
            let _ = self.store.change(now, |_| Ok::<(), store::NotStored>(()));
        }
    }
}
