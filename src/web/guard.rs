//! Host and Origin, CORS, and the headers that every answer carries.

use super::routes::{Route, Row};
use crate::http::{Head, Response};
use crate::oauth::page;
use std::net::IpAddr;

/// Which names this server answers to, and which browser origins may call it.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The public origin.
    pub origin: String,
    /// Further origins that were configured; `*` allows all.
    pub allowed_origins: Vec<String>,
    /// Further names of this server that were configured, in lower case, with the port where they
    /// have one.
    pub allowed_hosts: Vec<String>,
}

/// Origins of Claude's own pages; its servers send no Origin.
const CLIENT_ORIGINS: [&str; 2] = ["https://claude.ai", "https://claude.com"];

impl Guard {
    /// A foreign web page must not reach a server in a private network by giving it a host name of
    /// its own (DNS rebinding): the Host must be ours, and the Origin, if there is one, must be
    /// allowed.
    ///
    /// # Errors
    /// Why the answer is 403.
    pub(super) fn check(&self, row: &Row, head: &Head) -> Result<(), &'static str> {
        // A value that is not UTF-8 is refused.
        let all = |name: &'static str, fine: &dyn Fn(&str) -> bool| {
            head.all(name).all(|value| std::str::from_utf8(value).is_ok_and(fine))
        };
        if !all("host", &|host| self.is_our_host(host)) {
            return Err("The Host header names another server. Behind a proxy, pass the Host on; \
                        see SERVER_URL. If it is a name of this one, add it to ALLOWED_HOSTS");
        }
        // The other endpoints are open to every origin (CORS *): they hold nothing that a page
        // could abuse.
        let is_form = matches!(row.route, Route::Authorize | Route::Account);
        let strict = is_form || row.route == Route::Mcp;
        // Our own pages have a no-referrer policy, with which browsers name no origin for a form.
        let fine = |origin: &str| match row.route {
            Route::Account => origin == self.origin || origin == "null",
            _ => self.is_allowed_origin(origin) || is_form && origin == "null",
        };
        if strict && !all("origin", &fine) {
            return Err(if is_form {
                "The form came from another web site."
            } else {
                "This Origin is not allowed; see ALLOWED_ORIGINS"
            });
        }
        Ok(())
    }

    /// The host of the public origin, a loopback name, or an address: rebinding needs a name.
    fn is_our_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let own = self.origin.split_once("://").map_or("", |(_, own)| own);
        let bare = without_port(&host);
        let address =
            bare.strip_prefix('[').and_then(|bare| bare.strip_suffix(']')).unwrap_or(bare);
        bare == without_port(own)
            || bare == "localhost"
            || address.parse::<IpAddr>().is_ok()
            || self.allowed_hosts.iter().any(|allowed| *allowed == host || allowed == bare)
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        let bare = without_port(origin.strip_prefix("http://").unwrap_or_default());
        origin == self.origin
            || CLIENT_ORIGINS.contains(&origin)
            || matches!(bare, "localhost" | "127.0.0.1" | "[::1]")
            || self.allowed_origins.iter().any(|allowed| allowed == origin || allowed == "*")
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The answer to a CORS preflight.
pub(super) fn preflight(row: &Row) -> Response {
    // `*` covers header names that cannot be listed in advance (Mcp-Param-…), but not
    // Authorization.
    const HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, \
                           Mcp-Session-Id, Last-Event-ID, Mcp-Method, Mcp-Name, *";
    let response = Response::empty(204).header("Allow", row.allow);
    if matches!(row.route, Route::Authorize | Route::Account) {
        return response;
    }
    response
        .header("Access-Control-Allow-Methods", row.allow)
        .header("Access-Control-Allow-Headers", HEADERS)
        .header("Access-Control-Max-Age", "86400")
}

/// Adds the headers that every answer of an endpoint carries.
pub(super) fn finish(row: Option<&Row>, response: Response) -> Response {
    let route = row.map(|row| row.route);
    let mut response = response
        .header("X-Content-Type-Options", "nosniff")
        .header("Referrer-Policy", "no-referrer");
    if !response.has("cache-control") {
        response = response.header("Cache-Control", "no-store");
    }
    if matches!(route, Some(Route::Authorize | Route::Account | Route::Home | Route::Open)) {
        return response
            .header("Content-Security-Policy", page::CONTENT_SECURITY_POLICY)
            .header("X-Frame-Options", "DENY");
    }
    response.header("Access-Control-Allow-Origin", "*").header(
        "Access-Control-Expose-Headers",
        "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins() {
        let guard = Guard {
            origin: "https://vault.example.com".into(),
            allowed_origins: vec!["https://app.example".into()],
            allowed_hosts: vec!["vault:8090".into(), "nas".into()],
        };
        for (host, expected) in [
            ("vault.example.com", true),
            ("VAULT.example.com:443", true),
            ("localhost:8090", true),
            ("127.0.0.1:8090", true),
            ("192.168.1.5:8090", true),
            ("[::1]:8090", true),
            ("vault:8090", true),
            ("vault:80", false),
            ("nas:8090", true),
            ("evil.example.com", false),
            ("vault.example.com.evil.example", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            assert_eq!(guard.is_our_host(host), expected, "{host}");
        }
        for (origin, expected) in [
            ("https://vault.example.com", true),
            ("https://app.example", true),
            ("https://claude.ai", true),
            ("http://localhost:6274", true),
            ("http://127.0.0.1", true),
            ("https://localhost", false),
            ("http://localhost.evil.example", false),
            ("http://localhost:1@evil.example", false),
            ("https://evil.example.com", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(guard.is_allowed_origin(origin), expected, "{origin}");
        }
    }
}
