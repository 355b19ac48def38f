//! Client ids that carry what was registered, so that a registration stores nothing: `MAC.PAYLOAD`.
//!
//! The payload is `Registered` as JSON in base64url, the MAC the first 32 hex digits of
//! `HEX(HMAC-SHA256(key, "client PAYLOAD"))` with the key of the state. Whoever has the key can
//! make such an id, which gives no more than to register.

use super::store::Client;
use crate::secret::{self, SecretHash};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Bytes of a `client_id`, which carries what was registered: the longest of a known client has
/// 400.
const CLIENT_ID_BYTES: usize = 1_000;

/// A registration. Its JSON is the array of the members, which is shorter than the object.
#[derive(Deserialize)]
struct Registered {
    /// Tells clients apart that register the same in the same second.
    #[serde(rename = "nonce")]
    _nonce: String,
    created: u64,
    name: String,
    auth_method: String,
    /// Base64url of the secret's hash; empty without a secret.
    secret: String,
    redirect_uris: Vec<String>,
}

/// The id for a registration; `None` when it would be longer than [`CLIENT_ID_BYTES`].
pub(super) fn issue(key: &[u8; 32], client: &Client) -> Option<String> {
    let Client { created, name, auth_method, secret, redirect_uris, .. } = client;
    let secret_hash = secret.map(|hash| URL_SAFE_NO_PAD.encode(hash.bytes())).unwrap_or_default();
    let nonce = URL_SAFE_NO_PAD.encode(secret::random::<9>());
    let members = (nonce, created, name, auth_method, secret_hash, redirect_uris);
    let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&members).ok()?);
    let id = format!("{}.{payload}", mac(key, &payload));
    (id.len() <= CLIENT_ID_BYTES).then_some(id)
}

/// The client of an id that was issued with this key; `None` for any other text.
pub(super) fn read(key: &[u8; 32], id: &str) -> Option<Client> {
    let (given, payload) = id.split_once('.')?;
    if id.len() > CLIENT_ID_BYTES || !secret::equal(given, &mac(key, payload)) {
        return None;
    }
    let Registered { created, name, auth_method, secret, redirect_uris, .. } =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let hash = if secret.is_empty() { None } else { Some(SecretHash::from_base64url(&secret)?) };
    Some(Client { id: id.to_owned(), name, redirect_uris, auth_method, secret: hash, created })
}

fn mac(key: &[u8; 32], payload: &str) -> String {
    // Like the MAC of a family of refresh tokens, of a text with a space in it, which no token has.
    let mut mac = secret::keyed_hash(key, &format!("client {payload}"));
    mac.truncate(32);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(uri: &str) -> Client {
        Client {
            id: String::new(),
            name: "Claude ü".into(),
            redirect_uris: vec![uri.into(), "http://localhost/callback".into()],
            auth_method: "client_secret_post".into(),
            secret: Some(SecretHash::of("secret")),
            created: 1_795_167_300,
        }
    }

    #[test]
    fn an_id_is_read_as_it_was_issued_and_with_no_other_key() {
        let (key, other) = ([1; 32], [2; 32]);
        let id = issue(&key, &client("https://claude.ai/api/mcp/auth_callback")).unwrap();
        assert!(
            id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)),
            "{id}"
        );
        let read_back = read(&key, &id).unwrap();
        assert_eq!(
            (read_back.name.as_str(), read_back.auth_method.as_str(), read_back.created),
            ("Claude ü", "client_secret_post", 1_795_167_300)
        );
        assert_eq!(
            read_back.redirect_uris,
            ["https://claude.ai/api/mcp/auth_callback", "http://localhost/callback"]
        );
        assert!(read_back.secret.unwrap().matches("secret") && read_back.id == id);
        let (mac, payload) = id.split_once('.').unwrap();
        for forged in [
            format!("{mac}x.{payload}"),
            format!("{mac}.{payload}A"),
            format!(".{payload}"),
            payload.to_owned(),
            String::new(),
        ] {
            assert!(read(&key, &forged).is_none(), "{forged}");
        }
        assert!(read(&other, &id).is_none());
        assert!(
            issue(&key, &client(&format!("https://claude.ai/{}", "x".repeat(700)))).is_none(),
            "too long"
        );
    }
}
