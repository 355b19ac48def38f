//! Settings whose values have a syntax of their own.

use super::Environment;
use crate::cli::Raw;
use crate::oauth::Secret;
use crate::principal::Access;
use crate::secret::SecretHash;
use crate::vault::{GrantedFolders, VaultPath};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `name:sha256`, and what may follow; folders are separated by `;`. `:read` reads all; `:read=A`
/// reads A; `:write=B` reads and changes B; `:read:write=B` reads all and changes B; nothing more:
/// everything.
pub(super) fn named_secret(entry: &str) -> Result<(&str, Secret), &'static str> {
    const SHAPE: &str = "is not name:sha256, name:sha256:read or \
                         name:sha256:read=FOLDER/;FOLDER/:write=FOLDER/ (64 hex digits; see \
                         generate-token)";
    let mut parts = entry.split(':');
    let (name, hash) = parts.next().zip(parts.next()).ok_or(SHAPE)?;
    let hash = SecretHash::from_hex(hash).filter(|_| is_name(name)).ok_or(SHAPE)?;
    let (mut reads_all, mut read, mut write) = (false, None, None);
    for part in parts {
        let folders = |list: &str| {
            let folders: Result<Vec<VaultPath>, _> =
                list.split(';').filter(|name| !name.is_empty()).map(VaultPath::file).collect();
            folders
                .ok()
                .filter(|folders| !folders.is_empty())
                .ok_or("has an empty or wrong list of folders")
        };
        match part.split_once('=') {
            None if part == "read" && !reads_all => reads_all = true,
            Some(("read", list)) if read.is_none() => read = Some(folders(list)?),
            Some(("write", list)) if write.is_none() => write = Some(folders(list)?),
            _ => return Err(SHAPE),
        }
    }
    if reads_all && read.is_some() {
        return Err(SHAPE);
    }
    let access =
        if write.is_some() || !reads_all && read.is_none() { Access::Write } else { Access::Read };
    let is_whole = write.is_none() && read.is_none();
    let read = if reads_all { None } else { Some(read.unwrap_or_default()) };
    let folders =
        (!is_whole).then(|| Arc::new(GrantedFolders { read, write: write.unwrap_or_default() }));
    Ok((name, Secret { hash, access, folders }))
}

/// Checks that an origin can be compared byte for byte, as clients do with the issuer.
pub(super) fn check_origin(text: &str) -> Result<(), &'static str> {
    let (scheme, authority) = text.split_once("://").ok_or("must start with https://")?;
    if authority.is_empty() || authority.contains(['/', '?', '#', '@', ' ', '\\', '"']) {
        return Err(
            "must be scheme, host and perhaps a port: no path, no query, no slash at the end",
        );
    }
    if text.chars().any(|c| c.is_ascii_uppercase() || !c.is_ascii_graphic()) {
        return Err(
            "must be in lower case and ASCII (write a non-ASCII host name in its xn-- form)",
        );
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_name = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_name && address.is_none_or(|address| address.parse::<Ipv6Addr>().is_err()) {
        return Err("has a host that is neither a name nor an address (IPv6 in brackets)");
    }
    if port.is_some_and(|port| {
        port.parse().map(|number: u16| number.to_string()).as_deref() != Ok(port)
    }) {
        return Err("has a port that is not a number");
    }
    match scheme {
        _ if without_default_port(text) != text => {
            Err("must not name the default port: clients leave it out")
        }
        "https" => Ok(()),
        "http" if matches!(host, "localhost" | "127.0.0.1" | "[::1]") => Ok(()),
        "http" => Err(
            "must be https unless the host is 127.0.0.1, [::1] or localhost: clients send their tokens to it. Put a TLS proxy (Caddy) in front, or a \
             tunnel (Tailscale, cloudflared), and give its https URL; to try it on this machine use http://localhost with the port",
        ),
        _ => Err("must start with https://"),
    }
}

/// The value of a setting without spaces around it, unless it is empty.
pub(super) fn set_text<'a>(raw: &'a Raw, setting: &str) -> Option<&'a str> {
    raw.get(setting).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// The state folder: the setting, or the first of those that systemd gives, separated by colons, or
/// one for this vault among the user's. `None` for the setting `none`, and where the user has none.
pub(crate) fn state_folder(raw: &Raw, environment: &Environment) -> Option<PathBuf> {
    let home = environment.home.as_deref();
    let given = || {
        environment
            .state_directory
            .as_deref()?
            .split(':')
            .next()
            .filter(|given| !given.is_empty())
            .map(PathBuf::from)
    };
    match set_text(raw, "STATE_DIR") {
        Some("none") => None,
        Some(text) => Some(expand_home(text, home)),
        None => given().or_else(|| {
            let vault = expand_home(set_text(raw, "VAULT_PATH")?, home).canonicalize().ok()?;
            let name = vault.file_name().unwrap_or_default().display().to_string();
            let id = crate::vault::etag(vault.as_os_str().as_encoded_bytes());
            let folder = Path::new("vault-sync-mcp").join(format!("{name}-{id}"));
            environment.state_home.as_deref().map(|state| state.join(folder))
        }),
    }
}

/// An origin without the default port of its scheme, which browsers and clients leave out.
pub(crate) fn without_default_port(origin: &str) -> &str {
    let port = match origin.split_once(':') {
        Some(("https", _)) => ":443",
        Some(("http", _)) => ":80",
        _ => "",
    };
    origin.strip_suffix(port).unwrap_or(origin)
}

pub(super) fn expand_home(text: &str, home: Option<&str>) -> PathBuf {
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(rest), Some(home)) if rest.starts_with('/') => PathBuf::from(format!("{home}{rest}")),
        _ => PathBuf::from(text),
    }
}

/// Whether this is a bcrypt hash, with a cost that a login can wait for.
pub(super) fn is_usable_bcrypt(hash: &str) -> bool {
    hash.parse::<bcrypt::HashParts>().is_ok_and(|parts| (4..=20).contains(&parts.get_cost()))
}

/// A name that is safe in a list, a log and a header.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn public_urls() {
        for (url, fine) in [
            ("https://vault.example.com", true),
            ("https://vault.example.com:8443", true),
            ("http://127.0.0.1:8090", true),
            ("http://localhost:8090", true),
            ("http://[::1]:8090", true),
            ("https://[2001:db8::1]", true),
            ("https://vault.example.com/", false),
            ("https://vault.example.com/mcp", false),
            ("https://vault.example.com:443", false),
            ("https://Vault.example.com", false),
            ("http://vault.example.com", false),
            ("http://192.168.1.5:8090", false),
            ("vault.example.com", false),
            ("ftp://vault.example.com", false),
            ("https://", false),
            ("https://a b", false),
            ("https://user@vault.example.com", false),
            ("https://vault.example.com:8443:9443", false),
            ("https://exa<mple", false),
            ("https://[::1", false),
            ("https://a,b", false),
            ("https://:8443", false),
        ] {
            assert_eq!(check_origin(url).is_ok(), fine, "{url}");
        }
    }

    #[test]
    fn home_is_expanded_only_at_the_start() {
        assert_eq!(expand_home("~/vault", Some("/home/a")), Path::new("/home/a/vault"));
        assert_eq!(expand_home("~", Some("/home/a")), Path::new("/home/a"));
        assert_eq!(expand_home("~bob/vault", Some("/home/a")), Path::new("~bob/vault"));
        assert_eq!(expand_home("/a~/b", Some("/home/a")), Path::new("/a~/b"));
    }
}
