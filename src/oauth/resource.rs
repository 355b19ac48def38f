//! Resource indicators (RFC 8707): whether a token is requested for this server.

/// Whether a `resource` names this server: its origin or its MCP endpoint, as clients write them:
/// upper case in the host, the default port, a trailing slash, a query.
pub fn is_ours(origin: &str, resource: &str) -> bool {
    let resource = resource.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = resource.split_once("://") else { return false };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let scheme = scheme.to_ascii_lowercase();
    let authority = authority.to_ascii_lowercase();
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default_port).unwrap_or(&authority);
    format!("{scheme}://{authority}") == origin && matches!(path.trim_end_matches('/'), "" | "mcp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_server_are_recognised_and_no_other() {
        for (resource, expected) in [
            ("https://v.example", true),
            ("https://v.example/", true),
            ("https://v.example/mcp", true),
            ("https://v.example/mcp/", true),
            ("HTTPS://V.Example:443/mcp?x=1", true),
            ("https://v.example/other", false),
            ("https://v.example:8443/mcp", false),
            ("http://v.example/mcp", false),
            ("https://evil.example/mcp", false),
            ("https://v.example.evil.example/mcp", false),
            ("v.example", false),
            ("", false),
        ] {
            assert_eq!(is_ours("https://v.example", resource), expected, "{resource}");
        }
        assert!(is_ours("http://127.0.0.1:8090", "http://127.0.0.1:8090/mcp"));
    }
}
