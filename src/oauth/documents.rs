//! Client ID metadata documents of two clients, built in: the client's id is the URL of a document
//! about it. Documents of others are not fetched, because this program makes no network requests by
//! itself. Facts only, as published.

use super::store::Client;
use std::sync::{Arc, LazyLock};

/// The clients, in the form of one that registered.
static DOCUMENTS: LazyLock<[Arc<Client>; 2]> = LazyLock::new(|| {
    [
        client(
            "https://claude.ai/oauth/mcp-oauth-client-metadata",
            "Claude",
            &["https://claude.ai/api/mcp/auth_callback"],
        ),
        client(
            "https://claude.ai/oauth/claude-code-client-metadata",
            "Claude Code",
            &["http://localhost/callback", "http://127.0.0.1/callback"],
        ),
    ]
});

fn client(id: &str, name: &str, redirect_uris: &[&str]) -> Arc<Client> {
    Arc::new(Client {
        id: id.into(),
        name: name.into(),
        redirect_uris: redirect_uris.iter().map(|&uri| uri.into()).collect(),
        auth_method: "none".into(),
        secret: None,
        created: 0,
        granted: true,
    })
}

/// The client whose document this is.
pub fn find(url: &str) -> Option<Arc<Client>> {
    DOCUMENTS.iter().find(|client| client.id == url).cloned()
}

/// Whether an id is the URL of a document at all.
pub fn is_document(id: &str) -> bool {
    id.starts_with("https://")
}
