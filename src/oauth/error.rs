//! Errors in the words of the RFCs.

use super::redirect::Redirect;
use super::store;
use crate::secret::NoRandomness;
use serde_json::json;
use std::fmt;

/// An error of the token, registration or revocation endpoint (RFC 6749 section 5.2, RFC 7591 section 3.2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A parameter is missing, malformed or repeated.
    InvalidRequest(String),
    /// The client is known not to exist, or its secret is wrong. With status 401 clients register again, so this is never
    /// said when the state cannot be looked up.
    InvalidClient {
        /// Whether the client authenticated with the Authorization header.
        basic: bool,
    },
    /// The code or refresh token is not valid, any more or for this client.
    InvalidGrant(&'static str),
    /// The client may not use this grant.
    UnauthorizedClient,
    /// A grant type that is not offered.
    UnsupportedGrantType,
    /// The resource is not this server.
    InvalidTarget,
    /// A registration without an acceptable redirect URI.
    InvalidRedirectUri(String),
    /// A registration that is not one.
    InvalidClientMetadata(String),
    /// Too many registrations from one address.
    SlowDown,
    /// The state cannot be stored or a secret cannot be made at the moment. Never `invalid_*`: clients would throw
    /// away what is still good.
    Unavailable,
}

impl Error {
    /// The `error` code.
    pub fn code(&self) -> &'static str {
        match self {
            Error::InvalidRequest(_) => "invalid_request",
            Error::InvalidClient { .. } => "invalid_client",
            Error::InvalidGrant(_) => "invalid_grant",
            Error::UnauthorizedClient => "unauthorized_client",
            Error::UnsupportedGrantType => "unsupported_grant_type",
            Error::InvalidTarget => "invalid_target",
            Error::InvalidRedirectUri(_) => "invalid_redirect_uri",
            Error::InvalidClientMetadata(_) => "invalid_client_metadata",
            Error::SlowDown | Error::Unavailable => "temporarily_unavailable",
        }
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Error::InvalidClient { .. } => 401,
            Error::SlowDown => 429,
            Error::Unavailable => 503,
            _ => 400,
        }
    }

    /// `{"error":…,"error_description":…}`.
    pub fn to_json(&self) -> String {
        json!({ "error": self.code(), "error_description": self.to_string() }).to_string()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidRequest(why) | Error::InvalidRedirectUri(why) | Error::InvalidClientMetadata(why) => f.write_str(why),
            Error::InvalidClient { .. } => f.write_str("unknown client or wrong client secret; register again"),
            Error::InvalidGrant(why) => f.write_str(why),
            Error::UnauthorizedClient => f.write_str("this client may not use this grant type"),
            Error::UnsupportedGrantType => f.write_str("supported: authorization_code, refresh_token, client_credentials"),
            Error::InvalidTarget => f.write_str("the resource is not this server"),
            Error::SlowDown => f.write_str("too many registrations from this address; try again in ten minutes"),
            Error::Unavailable => f.write_str("try again in a moment"),
        }
    }
}

impl From<store::Failed> for Error {
    fn from(_: store::Failed) -> Error {
        Error::Unavailable
    }
}

impl From<NoRandomness> for Error {
    fn from(_: NoRandomness) -> Error {
        Error::Unavailable
    }
}

/// An error of the authorization endpoint. It may leave this server only through a [`Redirect`], which exists only for a
/// URI that the client has registered: an open redirect does not compile.
#[derive(Debug)]
pub enum AuthorizeError {
    /// Show a page; the request does not prove a redirect target.
    Show {
        /// What is wrong, for a person.
        why: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// Send back to the client with `error`, `state` and `iss`.
    SendBack(Redirect, &'static str, &'static str),
    /// Try again later.
    Unavailable,
}
