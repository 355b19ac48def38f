//! The documents by which clients discover the endpoints. They come from the configured origin
//! alone, never from a Host header.

use serde_json::{Value, json};

/// Protected resource metadata of the origin (RFC 9728).
pub fn protected_origin(origin: &str) -> Value {
    json!({ "resource": origin, "authorization_servers": [origin], "bearer_methods_supported": ["header"] })
}

/// The same for the MCP endpoint, for clients that want `resource` to equal the URL in use (RFC
/// 9728 section 3.3).
pub fn protected_endpoint(origin: &str) -> Value {
    json!({
        "resource": format!("{origin}/mcp"),
        "authorization_servers": [origin],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["vault:read", "vault:write"],
        "resource_name": "Obsidian vault",
    })
}

/// Authorization server metadata (RFC 8414). Clients refuse to go on without `S256`, or with any
/// null.
pub fn authorization_server(origin: &str) -> Value {
    let auth_methods = ["none", "client_secret_post", "client_secret_basic"];
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/oauth/authorize"),
        "token_endpoint": format!("{origin}/oauth/token"),
        "registration_endpoint": format!("{origin}/oauth/register"),
        "revocation_endpoint": format!("{origin}/oauth/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "client_credentials", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": auth_methods,
        "revocation_endpoint_auth_methods_supported": auth_methods,
        "scopes_supported": ["vault:read", "vault:write", "offline_access"],
        "authorization_response_iss_parameter_supported": true,
        "service_documentation": format!("{origin}/"),
    })
}
