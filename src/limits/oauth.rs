//! Bounds on logins, clients, tokens and login attempts.

use std::time::Duration;

/// Lifetime of access tokens: opaque, looked up at each use, so revocation is immediate.
pub const ACCESS_TOKEN_LIFE: Duration = Duration::from_secs(24 * 3600);
/// Lifetime of authorization codes, from the end of the login to the client's exchange.
pub const CODE_LIFE: Duration = Duration::from_secs(5 * 60);
/// A refresh token expires if it is unused for this long (sliding).
pub const REFRESH_IDLE: Duration = Duration::from_secs(180 * 24 * 3600);
/// How long a starting server waits for the lock on the state folder.
pub const STATE_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How often the last use of a grant is saved.
pub const USE_NOTED_EVERY: Duration = Duration::from_secs(3600);
/// How long an already exchanged refresh token yields its successor instead of revoking the grant,
/// unless `--refresh-window` says otherwise: legitimate clients share tokens between processes and
/// were measured to be up to an hour late.
pub const REFRESH_WINDOW: Duration = Duration::from_secs(3600);
/// Exchanged refresh tokens remembered per grant.
pub const RETIRED_TOKENS: usize = 64;
/// Valid access tokens of one grant, or of one machine client (`client_credentials`); the least
/// recently used is dropped.
pub const ACCESS_TOKENS: usize = 50;
/// Clients with a login.
pub const CLIENTS: usize = 1_000;
/// A registration of an earlier version that never led to a grant is forgotten after this.
pub const UNUSED_CLIENT_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Grants in total; the least recently used is dropped.
pub const GRANTS: usize = 1_000;
/// Authorization codes outstanding.
pub const CODES: usize = 1_000;
/// Bytes of a `client_id`, which carries what was registered: the longest of a known client has
/// 400.
pub const CLIENT_ID_BYTES: usize = 1_000;
/// Registrations logged in one minute.
pub const REGISTRATIONS_LOGGED: u32 = 20;
/// Bytes of the file in which earlier versions kept registrations without a login.
pub const REGISTRATIONS_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of the state file: twice what a thousand clients, grants and codes of the largest size
/// take.
pub const STATE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of the redirect URI in an authorization request, or of `state`.
pub const URI_BYTES: usize = 2_000;
/// Characters of a client's name that are kept and shown.
pub const CLIENT_NAME_CHARS: usize = 80;
/// Logins of one lane that wait for their password to be checked; further ones are asked to try
/// again.
pub const PASSWORD_QUEUE: usize = 16;
/// How long a login waits at most: a full lane takes this long with the costliest common hash.
pub const PASSWORD_WAIT: Duration = Duration::from_secs(60);
/// How long a lane rests after a wrong password. With it an attacker has at most 86,400 guesses a
/// day, from however many addresses.
pub const FAILED_LOGIN_PAUSE: Duration = Duration::from_secs(1);
/// How long a browser is remembered from which somebody has logged in.
pub const BROWSER_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// Bytes of a password: bcrypt reads no more, and truncating it silently would weaken the password.
pub const PASSWORD_BYTES: usize = 72;
