//! `vault:` URIs: the name of a file of the vault in MCP.

use crate::percent;

const SCHEME: &str = "vault:///";

/// The URI of a path below the vault's root: `vault:///` and the path, everything but unreserved characters and `/`
/// percent-encoded (RFC 3986 section 2), so that every name comes back as it was.
pub fn of_path(path: &str) -> String {
    format!("{SCHEME}{}", percent::encode(path, "/"))
}

/// The path of a URI made by [`of_path`]; `None` for any other.
pub fn to_path(uri: &str) -> Option<String> {
    percent::decode(uri.strip_prefix(SCHEME)?, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_come_back_as_they_were() {
        for path in ["a.md", "100% uptime?.md", "C# & Rust.md", "Mara's \"to read\".md", "Cre\u{300}me 🎻.md", "a/b c/d+e.md", "%41.md"] {
            let uri = of_path(path);
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(to_path(&uri).as_deref(), Some(path));
        }
        assert_eq!(to_path("file:///etc/passwd"), None);
        assert_eq!(to_path("vault:///%FF"), None);
    }
}
