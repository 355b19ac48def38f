//! Strict decoding of what a peer sent.

use super::{Error, Id, Incoming, Message, Params, Request};
use serde_json::Value;
use std::borrow::Cow;

/// Messages in one JSON-RPC batch (2025-03-26 only).
const BATCH: usize = 100;

/// Decodes a body or line.
///
/// # Errors
/// Parse error (-32700) or invalid request (-32600), with the id of the message where it can be
/// read.
pub fn decode(bytes: &[u8]) -> Result<Incoming, Error> {
    let value: Value = serde_json::from_slice(&with_whole_characters(bytes))
        .map_err(|error| Error::parse(&error.to_string()))?;
    match value {
        Value::Array(messages) if messages.is_empty() => {
            Err(Error::invalid_request("the batch is empty"))
        }
        Value::Array(messages) if messages.len() > BATCH => {
            Err(Error::invalid_request("the batch is too long"))
        }
        Value::Array(messages) => Ok(Incoming::Batch(messages.into_iter().map(message).collect())),
        one => message(one).map(Incoming::One),
    }
}

/// JSON whose escapes are whole characters: half of a surrogate pair, as a client sends that cuts a
/// text between the two, becomes U+FFFD.
fn with_whole_characters(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut halves = Vec::new();
    let mut at = 0;
    // A backslash stands only in strings, where it escapes what follows.
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        let unit = escaped_unit(bytes, at);
        at += match unit {
            Some(0xd800..=0xdbff)
                if matches!(escaped_unit(bytes, at + 6), Some(0xdc00..=0xdfff)) =>
            {
                12
            }
            Some(0xd800..=0xdfff) => {
                halves.push(at + 2);
                6
            }
            Some(_) => 6,
            None => 2,
        };
    }
    if halves.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut whole = bytes.to_vec();
    for half in halves {
        if let Some(digits) = whole.get_mut(half..half + 4) {
            digits.copy_from_slice(b"fffd");
        }
    }
    Cow::Owned(whole)
}

/// The UTF-16 code unit of an escape such as `\u00e9` at this place.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    // A sign would be taken for a part of the number.
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

fn message(value: Value) -> Result<Message, Error> {
    let Value::Object(mut members) = value else {
        return Err(Error::invalid_request("a message is a JSON object"));
    };
    let id = members.remove("id");
    let known_id = id.as_ref().and_then(Id::of);
    let wrong = |what: &str| Err(Error::invalid_request(what).answering(known_id.clone()));
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("jsonrpc must be \"2.0\"");
    }
    let method = match members.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return wrong("method must be a string"),
        None if members.contains_key("result") || members.contains_key("error") => {
            return Ok(Message::Response);
        }
        None => return wrong("method is missing"),
    };
    let params = match members.remove("params") {
        None | Some(Value::Null) => Params::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(Error::invalid_params("params must be an object").answering(known_id));
        }
    };
    match (id, known_id) {
        (None, _) => Ok(Message::Notification { method, params }),
        (Some(_), Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (Some(_), None) => {
            Err(Error::invalid_request("id must be an integer or a string of at most 256 bytes"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_classified() {
        let one = |text: &str| match decode(text.as_bytes()).unwrap() {
            Incoming::One(message) => message,
            Incoming::Batch(_) => panic!("{text}"),
        };
        let Message::Request(Request { id, method, params }) =
            one(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#)
        else {
            panic!()
        };
        assert_eq!((id.to_string().as_str(), method.as_str(), params.len()), ("0", "ping", 0));
        let Message::Request(Request { id, .. }) =
            one(r#"{"jsonrpc":"2.0","id":"a\"b","method":"ping"}"#)
        else {
            panic!()
        };
        assert_eq!(id.to_string(), r#""a\"b""#);
        assert!(matches!(
            one(r#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#),
            Message::Notification { .. }
        ));
        assert!(matches!(one(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Message::Response));
        assert!(
            matches!(decode(br#"[{"jsonrpc":"2.0","method":"x"}]"#).unwrap(), Incoming::Batch(list) if list.len() == 1)
        );
    }

    #[test]
    fn half_a_character_is_a_replacement_character() {
        for (sent, read) in [
            (r"boiler \ud83d", "boiler \u{fffd}"),
            (r"\ud83d\ude00 \ude00\ud83dx", "\u{1f600} \u{fffd}\u{fffd}x"),
            (r"\\ud83d \u00e9", r"\ud83d \u{e9}"),
            (r"\uD83D\u0041", "\u{fffd}A"),
        ] {
            let read = read.replace(r"\u{e9}", "\u{e9}");
            let message = decode(
                format!(r#"{{"jsonrpc":"2.0","id":1.0,"method":"x","params":{{"a":"{sent}"}}}}"#)
                    .as_bytes(),
            )
            .unwrap();
            assert_eq!(message.one().unwrap().params().unwrap()["a"], *read, "{sent}");
        }
    }

    #[test]
    fn what_is_not_json_rpc_is_refused_with_the_id_where_there_is_one() {
        for (text, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            ("nul", -32700, None),
            ("\u{feff}{}", -32700, None),
            ("5", -32600, None),
            ("[]", -32600, None),
            (r#"{"id":1,"method":"x"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, Some("1")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":"i","method":"x","params":[1]}"#, -32602, Some("\"i\"")),
        ] {
            let error = decode(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), code, "{text}");
            assert_eq!(error.id.as_ref().map(ToString::to_string).as_deref(), id, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(decode(deep.as_bytes()).unwrap_err().code(), -32700, "nesting is bounded");
        let many = format!("[{}]", vec!["1"; BATCH + 1].join(","));
        assert_eq!(decode(many.as_bytes()).unwrap_err().code(), -32600);
    }
}
