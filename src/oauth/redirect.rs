//! Redirect URIs: which may be registered, which match, and [`Redirect`], the only type that leads
//! back to a client.

use crate::limits;
use crate::percent;

/// Hosts of well-known clients; for others the login page warns.
const KNOWN_HOSTS: [&str; 6] = [
    "claude.ai",
    "claude.com",
    "chatgpt.com",
    "vscode.dev",
    "insiders.vscode.dev",
    "www.cursor.com",
];

/// Schemes of applications that register themselves with the operating system and are known to
/// speak MCP.
const KNOWN_SCHEMES: [&str; 4] = ["claude", "cursor", "vscode", "vscode-insiders"];

/// Schemes that browsers and operating systems handle themselves: no application gets an answer
/// there.
const RESERVED_SCHEMES: [&str; 17] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "ftp",
    "http",
    "https",
    "intent",
    "javascript",
    "mailto",
    "tel",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Where a redirect URI leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectTarget {
    /// A web site; its host.
    Web(String),
    /// A port on the user's own computer; the name used for it.
    Loopback(String),
    /// An application on the user's own computer; its scheme.
    Application(String),
}

impl RedirectTarget {
    /// Where an acceptable redirect URI leads; `None` for any other: plain http to another host,
    /// user names in it, fragments, odd characters, unknown schemes.
    pub fn of(uri: &str) -> Option<RedirectTarget> {
        let plain = uri.len() <= limits::URI_BYTES
            && uri
                .bytes()
                .all(|byte| (0x21..=0x7e).contains(&byte) && !b"\\\"<>`{}|^".contains(&byte));
        if !plain || uri.contains('#') {
            return None;
        }
        let (scheme, rest) = uri.split_once(':')?;
        let scheme = scheme.to_ascii_lowercase();
        // RFC 3986 section 3.1.
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if is_scheme && !RESERVED_SCHEMES.contains(&scheme.as_str()) {
            return Some(RedirectTarget::Application(scheme));
        }
        let (host, _) = split_authority(rest.strip_prefix("//")?)?;
        match scheme.as_str() {
            "https" => Some(RedirectTarget::Web(host)),
            "http" if is_loopback(&host) => Some(RedirectTarget::Loopback(host)),
            _ => None,
        }
    }
}

/// Whether a scheme is that of a well-known application.
pub fn is_known_scheme(scheme: &str) -> bool {
    KNOWN_SCHEMES.contains(&scheme)
}

/// Whether a host is that of a well-known client; for others the login page warns.
pub fn is_known_host(host: &str) -> bool {
    KNOWN_HOSTS.contains(&host)
}

/// Host (lower case, without port) and what follows the authority.
fn split_authority(rest: &str) -> Option<(String, &str)> {
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    // The colons of an IPv6 address are in brackets.
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_is_fine = !host.is_empty()
        && !address.unwrap_or(host).contains(['@', '%', '[', ']'])
        && (address.is_some() || !host.contains(':'));
    let port_is_fine = port.is_empty()
        || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    (host_is_fine && port_is_fine).then(|| (host.to_ascii_lowercase(), path))
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Whether a redirect URI of a request is one that was registered: the same text, or, on loopback,
/// the same but for the port (RFC 8252 section 7.3), because native clients listen on any free one.
pub fn matches(registered: &str, requested: &str) -> bool {
    let parts = |uri: &'_ str| {
        let (host, path) = split_authority(uri.strip_prefix("http://")?)?;
        is_loopback(&host).then(|| (host, path.to_owned()))
    };
    let is_same = registered == requested
        || parts(registered).is_some_and(|known| parts(requested) == Some(known));
    is_same && RedirectTarget::of(requested).is_some()
}

/// A redirect to a client that is proven: only [`Redirect::proven`] makes one, from a URI that
/// matches a registration.
#[derive(Debug, Clone)]
pub struct Redirect {
    uri: String,
    target: RedirectTarget,
    state: Option<String>,
}

impl Redirect {
    /// A redirect, if `requested` matches one of the client's registered URIs.
    pub fn proven(registered: &[String], requested: &str, state: Option<&str>) -> Option<Redirect> {
        let target = RedirectTarget::of(requested)
            .filter(|_| registered.iter().any(|known| matches(known, requested)))?;
        Some(Redirect { uri: requested.to_owned(), target, state: state.map(str::to_owned) })
    }

    /// The redirect URI itself.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Where it leads.
    pub fn target(&self) -> &RedirectTarget {
        &self.target
    }

    /// The URL to send the browser to: the parameters, then `state` as it came, then `iss` (RFC
    /// 9207).
    pub fn location(&self, parameters: &[(&str, &str)], issuer: &str) -> String {
        let mut location = self.uri.clone();
        let state = self.state.as_deref().map(|state| ("state", state));
        for (name, value) in parameters.iter().copied().chain(state).chain([("iss", issuer)]) {
            location.push(if location.contains('?') { '&' } else { '?' });
            location.push_str(name);
            location.push('=');
            location.push_str(&percent::encode(value, ""));
        }
        location
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_redirects_that_a_person_can_recognise_are_accepted() {
        for (uri, expected) in [
            (
                "https://claude.ai/api/mcp/auth_callback",
                Some(RedirectTarget::Web("claude.ai".into())),
            ),
            ("https://EXAMPLE.com:8443/cb?x=1", Some(RedirectTarget::Web("example.com".into()))),
            ("http://127.0.0.1:33418/callback", Some(RedirectTarget::Loopback("127.0.0.1".into()))),
            ("http://localhost/callback", Some(RedirectTarget::Loopback("localhost".into()))),
            ("http://[::1]:1/cb", Some(RedirectTarget::Loopback("[::1]".into()))),
            (
                "cursor://anysphere.cursor-mcp/oauth/callback",
                Some(RedirectTarget::Application("cursor".into())),
            ),
            ("http://evil.example.com/", None),
            ("http://localhost.evil.example/", None),
            ("http://127.0.0.1@evil.example/", None),
            ("https://claude.ai@evil.example/", None),
            ("https://claude.ai\\@evil.example/", None),
            ("https:///nohost", None),
            ("https:claude.ai", None),
            ("https://a.example/#frag", None),
            ("https://a.example/\r\nSet-Cookie: x", None),
            ("https://a.example/ space", None),
            ("https://bücher.example/", None),
            ("https://a.example:99999/", None),
            ("https://[claude.ai]evil.example/", None),
            ("https://[claude.ai/", None),
            ("https://a]b:80/", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("//evil.example/", None),
            ("", None),
        ] {
            assert_eq!(RedirectTarget::of(uri), expected, "{uri}");
        }
    }

    #[test]
    fn a_uri_matches_exactly_or_on_loopback_with_another_port() {
        for (registered, requested, expected) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example/cb/", false),
            ("https://a.example/cb", "https://a.example/cb?x", false),
            ("https://a.example/cb", "https://a.example.evil.example/cb", false),
            ("https://a.example/cb", "https://A.example/cb", false),
            ("https://a.example/cb", "https://a.example:444/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:5000/cb", true),
            ("http://localhost:1/cb", "http://localhost/cb", true),
            ("http://localhost/cb", "http://127.0.0.1/cb", false),
            ("http://localhost/cb", "http://localhost:5/other", false),
            ("http://localhost/cb", "https://localhost/cb", false),
            ("http://evil.example/cb", "http://evil.example/cb", false),
            ("javascript:alert(1)", "javascript:alert(1)", false),
        ] {
            assert_eq!(matches(registered, requested), expected, "{registered} {requested}");
        }
    }

    #[test]
    fn a_location_carries_state_once_and_the_issuer_last() {
        let registered = ["https://a.example/cb?keep=1".to_owned()];
        let redirect = Redirect::proven(&registered, &registered[0], Some("a b&c=\r\n#")).unwrap();
        assert_eq!(
            redirect.location(&[("code", "abc")], "https://v.example"),
            "https://a.example/cb?keep=1&code=abc&state=a%20b%26c%3D%0D%0A%23&iss=https%3A%2F%2Fv.example"
        );
        assert!(Redirect::proven(&registered, "https://b.example/", None).is_none());
    }
}
