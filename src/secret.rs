//! Making, hashing and comparing secrets. [`SecretHash`] hides itself in `Debug`; tokens are plain
//! text and must not be logged.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// The SHA-256 of a secret: all that is ever kept of one. 32 bytes; written as 64 lower-case hex
/// digits.
///
/// The secrets made here have 256 random bits, so a plain hash is enough: there is nothing to
/// guess, and a slow hash would only make invalid tokens cost more CPU time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Hashes a secret as it came from a peer.
    pub fn of(secret: &str) -> SecretHash {
        SecretHash(Sha256::digest(secret.as_bytes()).into())
    }

    /// Reads 64 hex digits; `None` for anything else.
    pub fn from_hex(hex: &str) -> Option<SecretHash> {
        let mut bytes = [0_u8; 32];
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (slot, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *slot = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(SecretHash(bytes))
    }

    /// Reads the 32 bytes in base64url without padding; `None` for anything else.
    pub fn from_base64url(text: &str) -> Option<SecretHash> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(SecretHash)
    }

    /// 64 lower-case hex digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// The 32 bytes.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// Compares in constant time with the hash of what a peer sent.
    pub fn matches(&self, secret: &str) -> bool {
        self.0.ct_eq(&SecretHash::of(secret).0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// A new secret: 32 random bytes as 64 hex digits.
pub fn new_token() -> String {
    hex(&random::<32>())
}

/// A new identifier that need not be secret but must not collide or be guessed: 16 random bytes as
/// hex.
pub fn new_id() -> String {
    hex(&random::<16>())
}

/// Random bytes. Without them nothing of this program runs: std's maps need them too, and panic.
#[expect(
    clippy::expect_used,
    reason = "there is no answer without a secret, and the panic is one request's"
)]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    bytes
}

/// The PKCE challenge of a verifier with method S256: `BASE64URL(SHA256(verifier))` (RFC 7636
/// section 4.2).
pub fn s256(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Compares two texts of which one is secret, in constant time for equal lengths.
pub fn equal(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

/// `HEX(HMAC-SHA256(key, text))`. Of a refresh token it is the next one: everyone who holds the old
/// token gets the same, so two processes that refresh at once, or one whose answer was lost, all
/// end with the same working token; and without the key it cannot be computed.
pub fn keyed_hash(key: &[u8; 32], text: &str) -> String {
    // A key shorter than the hash's block is padded with zeros (RFC 2104 section 2).
    let mut block = [0_u8; 64];
    block.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    mac.update(text.as_bytes());
    hex(&mac.finalize().into_bytes())
}

/// A token that says which family of refresh tokens it belongs to: `VALUE.FAMILY.TAG`, the tag the
/// first 32 digits of `HEX(HMAC-SHA256(key, "line VALUE.FAMILY"))`. So any token of a family is
/// recognized while the key exists, however many followed it, without storing any.
pub fn in_family(key: &[u8; 32], value: &str, family: &str) -> String {
    format!("{value}.{family}.{}", family_tag(key, value, family))
}

/// The family of a token of [`in_family`]; `None` for any other text.
pub fn family_of<'a>(key: &[u8; 32], token: &'a str) -> Option<&'a str> {
    let (rest, tag) = token.rsplit_once('.')?;
    let (value, family) = rest.rsplit_once('.')?;
    equal(tag, &family_tag(key, value, family)).then_some(family)
}

fn family_tag(key: &[u8; 32], value: &str, family: &str) -> String {
    // Tokens contain no space, so this text is never a token, and its MAC never the one that a
    // successor is made from.
    let mut tag = keyed_hash(key, &format!("line {value}.{family}"));
    tag.truncate(32);
    tag
}

/// Lower-case hex digits of some bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkce_example_of_rfc_7636_appendix_b() {
        assert_eq!(
            s256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn successor_is_hmac_sha256_of_rfc_4231_case_1() {
        // The 20-byte key of the test case, padded as the RFC pads it.
        let mut key = [0_u8; 32];
        key[..20].fill(0x0b);
        assert_eq!(
            keyed_hash(&key, "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }

    #[test]
    fn hashes_survive_their_hex_form_and_nothing_else_is_read() {
        let hash = SecretHash::of("secret");
        assert_eq!(SecretHash::from_hex(&hash.to_hex()), Some(hash));
        assert!(hash.matches("secret") && !hash.matches("Secret"));
        for bad in ["", "zz", &"g".repeat(64), &"0".repeat(63), &"ä".repeat(32)] {
            assert_eq!(SecretHash::from_hex(bad), None);
        }
        assert!(!format!("{hash:?}").contains(&hash.to_hex()));
    }
}
