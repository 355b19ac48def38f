//! Errors in the words of the RFCs.

use super::redirect::Redirect;
use super::store;
use serde_json::json;
use std::borrow::Cow;

/// An error of the token, registration or revocation endpoint (RFC 6749 section 5.2, RFC 7591
/// section 3.2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub status: u16,
    pub code: &'static str,
    pub why: Cow<'static, str>,
}

impl Error {
    /// The client may not use this grant.
    pub const UNAUTHORIZED_CLIENT: Error =
        Error::of(400, "unauthorized_client", "this client may not use this grant type");
    pub const UNSUPPORTED_GRANT_TYPE: Error = Error::of(
        400,
        "unsupported_grant_type",
        "supported: authorization_code, refresh_token, client_credentials",
    );
    /// The resource is not this server.
    pub const INVALID_TARGET: Error =
        Error::of(400, "invalid_target", "the resource is not this server");
    /// The client is known not to exist, or its secret is wrong. On a 401 clients register again,
    /// so this is never sent when the state cannot be looked up.
    pub const INVALID_CLIENT: Error =
        Error::of(401, "invalid_client", "unknown client or wrong client secret; register again");
    /// The state cannot be stored at the moment. Never `invalid_*`: clients would discard
    /// what is still valid.
    pub const UNAVAILABLE: Error =
        Error::of(503, "temporarily_unavailable", "try again in a moment");

    pub const fn of(status: u16, code: &'static str, why: &'static str) -> Error {
        Error { status, code, why: Cow::Borrowed(why) }
    }

    /// A parameter is missing, malformed or repeated.
    pub fn invalid_request(why: impl Into<Cow<'static, str>>) -> Error {
        Error { why: why.into(), ..Error::of(400, "invalid_request", "") }
    }

    /// `{"error":…,"error_description":…}`.
    pub fn to_json(&self) -> String {
        json!({ "error": self.code, "error_description": self.why }).to_string()
    }
}

impl From<store::NotStored> for Error {
    fn from(_: store::NotStored) -> Error {
        Error::UNAVAILABLE
    }
}

/// An error of the authorization endpoint. It may leave this server only through a [`Redirect`],
/// which exists only for a URI that the client has registered: an open redirect does not compile.
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
    SendBack { redirect: Redirect, code: &'static str, description: &'static str },
    /// Try again later.
    Unavailable,
}
