//! THE route table: path, methods, size of body.

use crate::limits;

/// Body of a form or a client registration, bytes.
const FORM_BYTES: usize = 64 * 1024;

/// An endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The MCP endpoint, protected.
    Mcp,
    /// RFC 9728 for the origin.
    ProtectedOrigin,
    /// RFC 9728 for the MCP endpoint.
    ProtectedEndpoint,
    /// RFC 8414.
    AuthorizationServer,
    /// The login page and its form.
    Authorize,
    /// The token endpoint.
    Token,
    /// Dynamic client registration.
    Register,
    /// RFC 7009.
    Revoke,
    /// The owner's page.
    Account,
    /// A page for a person.
    Home,
    /// A page that opens a note in Obsidian.
    Open,
    /// For monitoring.
    Health,
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The paths, without a trailing slash.
    pub paths: &'static [&'static str],
    /// The endpoint.
    pub route: Route,
    /// Methods that are handled, as an Allow header.
    pub allow: &'static str,
    /// Bytes of body, for POST.
    pub body_max: usize,
}

const fn reading(paths: &'static [&'static str], route: Route) -> Row {
    Row { paths, route, allow: "GET, HEAD, OPTIONS", body_max: 0 }
}

const fn posting(paths: &'static [&'static str], route: Route) -> Row {
    Row { paths, route, allow: "POST, OPTIONS", body_max: FORM_BYTES }
}

/// The rows. The short OAuth paths are where clients of 2025-03-26 look when they find no metadata.
pub static ROUTES: [Row; 12] = [
    Row {
        paths: &["/mcp"],
        route: Route::Mcp,
        allow: "GET, HEAD, POST, DELETE, OPTIONS",
        body_max: limits::MCP_BYTES,
    },
    reading(&["/.well-known/oauth-protected-resource"], Route::ProtectedOrigin),
    reading(&["/.well-known/oauth-protected-resource/mcp"], Route::ProtectedEndpoint),
    reading(
        &["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"],
        Route::AuthorizationServer,
    ),
    Row {
        allow: "GET, HEAD, POST, OPTIONS",
        ..posting(&["/oauth/authorize", "/authorize"], Route::Authorize)
    },
    posting(&["/oauth/token", "/token"], Route::Token),
    posting(&["/oauth/register", "/register"], Route::Register),
    posting(&["/oauth/revoke", "/revoke"], Route::Revoke),
    Row { allow: "GET, HEAD, POST, OPTIONS", ..posting(&["/account"], Route::Account) },
    reading(&["/"], Route::Home),
    reading(&["/open"], Route::Open),
    reading(&["/healthz"], Route::Health),
];

/// The row of a path; one trailing slash is forgiven.
pub fn find(path: &str) -> Option<&'static Row> {
    let bare = path.strip_suffix('/').filter(|bare| !bare.is_empty()).unwrap_or(path);
    ROUTES.iter().find(|row| row.paths.contains(&bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_exact_but_for_one_slash() {
        for (path, expected) in [
            ("/mcp", Some(Route::Mcp)),
            ("/mcp/", Some(Route::Mcp)),
            ("/mcp//", None),
            ("//mcp", None),
            ("/MCP", None),
            ("/mcp/x", None),
            ("/%6dcp", None),
            ("/", Some(Route::Home)),
            ("/.well-known/openid-configuration", None),
            ("/.well-known/oauth-protected-resource/mcp/", Some(Route::ProtectedEndpoint)),
        ] {
            assert_eq!(find(path).map(|row| row.route), expected, "{path}");
        }
    }
}
