//! Cursors of paged lists: the last name of a page, so that a cursor stays valid when files are
//! added or removed, and across restarts. Base64, because cursors are opaque to clients (MCP).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The cursor of a page that ends with `last`.
pub fn after(last: &str) -> String {
    URL_SAFE_NO_PAD.encode(last)
}

/// The name that a cursor was made from; `None` for anything else.
pub fn last(cursor: &str) -> Option<String> {
    URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}
