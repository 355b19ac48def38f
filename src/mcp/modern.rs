//! Revision 2026-07-28: what every request has to carry, and what every result gets in addition.

use super::era::{self, PROTOCOL_VERSION};
use crate::rpc::{Error, Request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The severity of a message (RFC 5424), least first.
pub const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The member of `_meta` that says what the client can do. Nothing here needs any of it.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The member of `_meta` with the level of log messages that the client wants for this request.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The member of a result's `_meta` that names the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The headers of a modern request. A header that occurs twice, or is not text, counts as missing.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
}

/// Checks what a modern request carries, before anything is done for it. Over HTTP the transport
/// has checked path, token, Host, Origin, method, media types, size, JSON and the shape of the
/// message; what follows is the order of the rest (`fixtures/wire/order` has a conversation for
/// each step). On stdio there are no `headers`.
///
/// # Errors
/// With status 400. Parameters of the method itself come after this and are answered with 200.
pub fn check(headers: Option<Headers<'_>>, request: &Request) -> Result<(), Error> {
    let Request { method, params, .. } = request;
    // The envelope.
    let meta =
        params.get("_meta").and_then(Value::as_object).ok_or_else(|| missing("params._meta"))?;
    let claim = era::claim(params).ok_or_else(|| missing(PROTOCOL_VERSION))?;
    meta.get(CLIENT_CAPABILITIES)
        .filter(|capabilities| capabilities.is_object())
        .ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
    if let Some(level) = meta.get(LOG_LEVEL)
        && level.as_str().is_none_or(|level| !LEVELS.contains(&level))
    {
        return Err(Error::invalid_params(format!(
            "{LOG_LEVEL} must be one of: {}",
            LEVELS.join(", ")
        )));
    }
    // The version: first that header and body say the same, then that it is one we speak.
    if headers.is_some_and(|headers| headers.version != Some(claim)) {
        return Err(Error::header_mismatch(format!(
            "MCP-Protocol-Version must be {claim}, as in _meta"
        )));
    }
    if !era::is_modern(claim) {
        return Err(Error::unsupported_version(claim, &era::names()));
    }
    // The headers that mirror the body.
    if let Some(headers) = headers {
        if headers.method != Some(method.as_str()) {
            return Err(Error::header_mismatch("Mcp-Method must be the request's method"));
        }
        let mirrored = match method.as_str() {
            "tools/call" | "prompts/get" => params.get("name"),
            "resources/read" => params.get("uri"),
            _ => None,
        };
        // Without the parameter there is nothing to mirror; the method will miss it.
        if let Some(mirrored) = mirrored.and_then(Value::as_str)
            && headers.name.and_then(decoded).as_deref() != Some(mirrored)
        {
            return Err(Error::header_mismatch("Mcp-Name must be params.name or params.uri"));
        }
    }
    // Nothing else is checked: no tool mirrors arguments into headers (they are private), and none
    // needs a capability of the client.
    Ok(())
}

fn missing(what: &str) -> Error {
    Error::invalid_params(format!(
        "{what} is missing or malformed; a request of 2026-07-28 needs it"
    ))
}

/// A header value that may be wrapped as `=?base64?…?=`, because headers are ASCII. With only one
/// of the two marks it is taken literally.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
        return None;
    }
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(wrapped) => STANDARD
            .decode(wrapped)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(Cow::Owned),
    }
}

/// How long a client may keep a result (MCP, "Caching").
#[derive(Debug, Clone, Copy)]
pub struct Cache {
    ttl_ms: u64,
    scope: &'static str,
}

impl Cache {
    /// The same for every client, until another version of this program.
    pub(super) const SAME_FOR_ALL: Cache = Cache { ttl_ms: 3_600_000, scope: "public" };
    /// Depends on what the login may do.
    pub(super) const OF_THE_LOGIN: Cache = Cache { ttl_ms: 300_000, scope: "private" };
    /// Depends on the vault, which may change at any moment.
    pub(super) const OF_THE_VAULT: Cache = Cache { ttl_ms: 0, scope: "private" };
}

/// Adds what every modern result has. `result` is a JSON object without a `_meta` of its own;
/// `meta` has what belongs there besides the server's name.
pub(super) fn with_result_meta(
    result: &str,
    cache: Option<Cache>,
    mut meta: Map<String, Value>,
) -> String {
    let hints = cache
        .map(|cache| format!(r#","ttlMs":{},"cacheScope":"{}""#, cache.ttl_ms, cache.scope))
        .unwrap_or_default();
    meta.insert(
        SERVER_INFO.into(),
        json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") }),
    );
    let meta = Value::Object(meta);
    let members = result.strip_prefix('{').unwrap_or_default();
    let comma = if members.starts_with('}') { "" } else { "," };
    format!(r#"{{"resultType":"complete"{hints},"_meta":{meta}{comma}{members}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_header_values_are_unwrapped_and_others_are_not() {
        for (value, expected) in [
            ("vault_read", Some("vault_read")),
            ("=?base64?dmF1bHQ6Ly8vw6Q=?=", Some("vault:///ä")),
            ("=?base64?dmF1bHQ", Some("=?base64?dmF1bHQ")),
            ("dmF1bHQ?=", Some("dmF1bHQ?=")),
            ("=?BASE64?dmF1bHQ=?=", Some("=?BASE64?dmF1bHQ=?=")),
            ("=?base64?dmF1bHQ?=", None),
            ("=?base64?dm F1bHQ=?=", None),
            ("=?base64?/w==?=", None),
            ("ä", None),
            ("a\u{1}", None),
        ] {
            assert_eq!(decoded(value).as_deref(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_result_of_the_modern_era_has_the_fields_of_the_legacy_one() {
        for (result, cache) in [("{}", None), (r#"{"a":{"b":[]}}"#, Some(Cache::OF_THE_VAULT))] {
            let mut extended: Value =
                serde_json::from_str(&with_result_meta(result, cache, Map::new())).unwrap();
            let members = extended.as_object_mut().unwrap();
            assert_eq!(members.remove("resultType").unwrap(), "complete");
            assert_eq!(members.remove("_meta").unwrap()[SERVER_INFO]["name"], "vault-sync-mcp");
            assert_eq!(members.remove("cacheScope").is_some(), cache.is_some());
            assert_eq!(members.remove("ttlMs").is_some(), cache.is_some());
            assert_eq!(extended, serde_json::from_str::<Value>(result).unwrap());
        }
    }
}
