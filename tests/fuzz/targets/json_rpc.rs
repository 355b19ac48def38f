//! A JSON-RPC message, its era, and the envelope of the modern one. What is accepted is answered under the same id.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::mcp::{era, methods, modern};
use vault_sync_mcp::rpc::{Incoming, Message, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses what the transport knows.
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let header = [None, Some("2026-07-28"), Some("2025-11-25"), Some("2025-03-26"), Some("1999-01-01")][usize::from(choice % 5)];
    let session = [None, Some(era::Revision::V2025_11_25), Some(era::Revision::V2025_03_26)][usize::from(choice / 5 % 3)];
    let incoming = match decode::decode(bytes) {
        Ok(incoming) => incoming,
        Err(error) => {
            assert!(serde_json::from_str::<serde_json::Value>(&error.to_json()).is_ok());
            return;
        }
    };
    if let Err(error) = era::classify(header, session, &incoming) {
        assert!(serde_json::from_str::<serde_json::Value>(&error.to_json()).is_ok());
    }
    let messages = match incoming {
        Incoming::One(message) => vec![message],
        Incoming::Batch(messages) => messages.into_iter().flatten().collect(),
    };
    for message in messages {
        if let Message::Request(request) = message {
            let answer: serde_json::Value = serde_json::from_str(&encode::result(&request.id, "{}")).expect("an answer is JSON");
            assert_eq!(answer["id"], request.id.to_value());
            let headers = modern::Headers { version: header, method: Some(&request.method), name: request.text("name").ok() };
            let _ = methods::check_modern(Some(headers), &request);
            let _ = methods::check_modern(None, &request);
        }
    }
});
