//! URIs of files: `vault:`, their name in MCP, and those that open them in Obsidian.

use crate::percent;

const SCHEME: &str = "vault:///";

/// The URI of a path below the vault's root: `vault:///` and the path, everything but unreserved
/// characters and `/` percent-encoded (RFC 3986 section 2), so that every name comes back as it
/// was.
pub fn of_path(path: &str) -> String {
    format!("{SCHEME}{}", percent::encode(path, "/"))
}

/// A URI that opens a file of a vault: `opener` is `obsidian://open`, or the page that leads there.
pub fn to_open(opener: &str, vault: &str, path: &str) -> String {
    format!("{opener}?vault={}&file={}", percent::encode(vault, ""), percent::encode(path, ""))
}

/// Where Obsidian opens a file.
pub const OBSIDIAN: &str = "obsidian://open";

/// The path of a URI made by [`of_path`]; `None` for any other.
pub fn to_path(uri: &str) -> Option<String> {
    let path = uri.strip_prefix(SCHEME)?;
    // [`of_path`] encodes these.
    if path.contains(['?', '#']) { None } else { percent::decode(path, false) }
}

/// The URI of the rest of a text, from a line and a character of it on, both counted from 1:
/// [`of_path`] with a query.
pub fn of_rest(path: &str, line: usize, column: usize) -> String {
    format!("{}?line={line}&column={column}", of_path(path))
}

/// Path, line and column of a URI made by [`of_path`] or [`of_rest`]; `None` for any other.
pub fn to_part(uri: &str) -> Option<(String, usize, usize)> {
    let Some((file, query)) = uri.split_once('?') else {
        return to_path(uri).map(|path| (path, 1, 1));
    };
    let (line, column) = query.strip_prefix("line=")?.split_once("&column=")?;
    let (path, line, column) = (to_path(file)?, line.parse().ok()?, column.parse().ok()?);
    // Only as [`of_rest`] writes it: no sign, no leading zeros.
    (query == format!("line={line}&column={column}")).then_some((path, line, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_come_back_as_they_were() {
        for path in [
            "a.md",
            "100% uptime?.md",
            "C# & Rust.md",
            "Mara's \"to read\".md",
            "Cre\u{300}me 🎻.md",
            "a/b c/d+e.md",
            "%41.md",
        ] {
            let uri = of_path(path);
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(to_path(&uri).as_deref(), Some(path));
        }
        for foreign in
            ["file:///etc/passwd", "vault:///%FF", "vault:///a?b", "vault:///a#b", "vault://a", ""]
        {
            assert_eq!(to_path(foreign), None, "{foreign}");
        }
    }

    /// No character is special: every one of them comes back, alone and among others.
    #[test]
    fn every_character_comes_back_as_it_was() {
        let odd = (1..=0x2ff)
            .chain([0x301, 0x2028, 0xfeff, 0xfffd, 0x1f3bb, 0x10ffff])
            .filter_map(char::from_u32);
        for c in odd {
            for path in [format!("{c}"), format!("a{c}%{c}/b {c}{c}.md")] {
                let uri = of_path(&path);
                assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
                assert_eq!(to_path(&uri), Some(path));
            }
        }
    }

    #[test]
    fn the_rest_of_a_file_has_a_uri_of_its_own() {
        let uri = of_rest("a?line=3 b.md", 12, 7);
        assert_eq!(uri, "vault:///a%3Fline%3D3%20b.md?line=12&column=7");
        assert_eq!(to_part(&uri), Some(("a?line=3 b.md".into(), 12, 7)));
        assert_eq!(to_part("vault:///a.md"), Some(("a.md".into(), 1, 1)));
        for wrong in [
            "vault:///a.md?",
            "vault:///a.md?line=1",
            "vault:///a.md?line=-1&column=1",
            "vault:///a.md?line=1&column=1&x=2",
            "vault:///a.md?line=+1&column=1",
            "vault:///a.md?line=01&column=1",
        ] {
            assert_eq!(to_part(wrong), None, "{wrong}");
        }
    }
}
