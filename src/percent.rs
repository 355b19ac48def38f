//! Percent-encoding (RFC 3986 section 2.1).

/// Undoes percent-encoding, once; with `plus`, a `+` is a space as in forms. `None` for a broken
/// escape or bytes that are not UTF-8.
pub fn decode(text: &str, plus: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes everything but the unreserved characters of RFC 3986 section 2.3 and those in
/// `keep`.
pub fn encode(text: &str, keep: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || keep.as_bytes().contains(&byte)
        {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        for text in ["", "plain-._~", "a b+c/d?e&f=g%h#i", "Crème 🎻 Straße\u{301}"] {
            let encoded = encode(text, "");
            assert!(encoded.is_ascii());
            assert_eq!(decode(&encoded, false).as_deref(), Some(text));
        }
        assert_eq!(encode("a/b c", "/"), "a/b%20c");
    }
}
