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
/// How long an already exchanged refresh token yields its successor instead of revoking the grant, unless `--refresh-window` says
/// otherwise: legitimate clients share tokens between processes and were measured to be up to an hour late.
pub const REFRESH_WINDOW: Duration = Duration::from_secs(3600);
/// Exchanged refresh tokens remembered per grant.
pub const RETIRED_TOKENS: usize = 64;
/// Valid access tokens of one grant, or of one machine client (`client_credentials`); the least recently used is dropped.
pub const ACCESS_TOKENS: usize = 50;
/// Registered clients with a login; also the limit for those without one.
pub const CLIENTS: usize = 1_000;
/// A registration that never led to a grant is forgotten after this.
pub const UNUSED_CLIENT_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Grants in total; the least recently used is dropped.
pub const GRANTS: usize = 1_000;
/// Authorization codes outstanding.
pub const CODES: usize = 1_000;
/// Redirect URIs of one client; Cursor registers three.
pub const REDIRECT_URIS: usize = 8;
/// Bytes of one redirect URI; the longest of a known client has 70.
pub const REDIRECT_URI_BYTES: usize = 512;
/// Bytes of the file of registrations without a login: two lines for each of [`CLIENTS`], of the longest redirect URIs, each byte
/// of which JSON may write in six.
pub const REGISTRATIONS_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of the state file: twice what a thousand clients, grants and codes of the largest size take.
pub const STATE_BYTES: u64 = 64 * 1024 * 1024;
/// The window in which registrations from one address are counted.
pub const REGISTRATIONS_OVER: Duration = Duration::from_secs(10 * 60);
/// How often refused registrations are logged.
pub const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(60);
/// Registrations from one address within [`REGISTRATIONS_OVER`]. Claude registers up to twice per login; a thousand in a row
/// would be an attempt to displace the others.
pub const REGISTRATIONS_PER_SOURCE: u32 = 60;
/// Bytes of the redirect URI in an authorization request, or of `state`.
pub const URI_BYTES: usize = 2_000;
/// Characters of a client's name that are kept and shown.
pub const CLIENT_NAME_CHARS: usize = 80;
/// Passwords checked at the same time: by design, bcrypt takes a quarter of a second of one core.
pub const PASSWORD_CHECKS: usize = 2;
/// Logins waiting for a password check; further ones are asked to try again.
pub const PASSWORD_QUEUE: usize = 64;
/// Logins of one source that wait, so that one source cannot fill the queue.
pub const PASSWORD_QUEUE_PER_SOURCE: usize = 4;
/// Logins waiting from one address that several sources share: a proxy that is not trusted to identify its clients.
pub const PASSWORD_QUEUE_PER_PROXY: usize = 32;
/// How often a waiting login checks whether the delay of its source is over.
pub const PASSWORD_POLL: Duration = Duration::from_millis(100);
/// Bytes of a password: bcrypt reads no more, and truncating it silently would weaken the password.
pub const PASSWORD_BYTES: usize = 72;
/// Addresses whose failed logins are remembered.
pub const THROTTLED_SOURCES: usize = 10_000;
/// Sources remembered because of a successful login from them.
pub const KNOWN_SOURCES: usize = 256;
/// Failed logins whose responses are delayed at one time, each occupying a connection; further ones are asked to try again.
pub const THROTTLE_HELD: usize = 64;
/// The longest delay for an address that keeps failing.
pub const THROTTLE_MAX_DELAY: Duration = Duration::from_secs(4);
/// Failures of an address are forgotten after this long without another.
pub const THROTTLE_MEMORY: Duration = Duration::from_secs(15 * 60);
